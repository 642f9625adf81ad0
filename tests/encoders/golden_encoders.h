/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_encoders.h - tiny encoders with the features they must give.
 *
 * A folder with a manifest.json: cases that name a weight file, an input, the expected
 * features and a tolerance; heads are listed with the architecture of the weight file.
 * Our own are tests/golden/encoders/vit and transformers, a larger one may be in
 * $INVAR_SHARED/golden/encoders.
 */
#ifndef INV_GOLDEN_ENCODERS_H
#define INV_GOLDEN_ENCODERS_H

#include <stdbool.h>
#include <stdint.h>

#include "invar.h"

typedef struct golden_encoder {
	const char *name, *family;
	const char *weights; /* path */
	const char *key;     /* "student", or NULL */
	uint64_t heads;      /* 0: unknown */
	uint64_t shape[4];
	float *input, *expected; /* [n, c, h, w], [n, width] */
	uint64_t width;
	double tolerance;
} golden_encoder;

/*
 * Calls fn for every case of these folders whose family begins with one of the words
 * (ended by NULL); returns how many there were. Unreadable files fail the test.
 */
typedef void golden_encoder_fn(const golden_encoder *c, void *user);
unsigned golden_encoders(const char *const *families, golden_encoder_fn *fn, void *user);

/* Opens with the case's key and heads; fails the test with a message. */
invar_encoder *golden_encoder_open(invar_context *ctx, const golden_encoder *c);
/* Runs and compares: the largest difference. */
double golden_encoder_gap(invar_encoder *e, const golden_encoder *c);

#endif
