/*
 * encoder.h - the frozen network F behind one small interface: tensors to features.
 *
 * An encoder is one file with one inv_encoder_kind, and one line in table.c. It says
 * how images are to be prepared for it, how wide its features are, and turns a group
 * of prepared images into rows. Features are computed in groups of INV_GROUP images,
 * cut by their place alone, each on one thread, so that no bit of them depends on the
 * number of threads or on how many images were passed at once.
 */
#ifndef INV_ENCODER_H
#define INV_ENCODER_H

#include <stdbool.h>

#include "base/context.h"
#include "images/augment/op.h"
#include "images/prepare.h"

enum { INV_GROUP = 16 };

typedef struct inv_encoder_kind {
	const char *name;
	/*
	 * How images become tensors, where the user does not say otherwise. Without a
	 * normalisation of its own it is the data set's.
	 */
	size_t side; /* 0: native */
	inv_filter filter;
	const char *normalisation; /* NULL: the data set's */
	bool keeps_grey;           /* images of one channel stay so; else they get three */

	/* From weights; NULL where there are none. close follows if it fails. */
	invar_status (*open)(invar_encoder *e, const char *weights);
	void (*close)(invar_encoder *e);
	/* Of images of this shape; refuses shapes that it cannot take. */
	invar_status (*width)(const invar_encoder *e, inv_extent shape, uint64_t *width);
	/* x is [n, c, h, w], out [n, width], n <= INV_GROUP; `thread` below ctx->threads. */
	invar_status (*run)(const invar_encoder *e, const float *x, size_t n, inv_extent shape,
	                    unsigned thread, float *out);
} inv_encoder_kind;

extern const inv_encoder_kind *const inv_encoder_kinds[]; /* ended by NULL */

struct invar_encoder {
	invar_context *ctx;
	const inv_encoder_kind *kind;
	char *weights_sha256; /* NULL without weights */
	void *own;            /* the kind's own */
};

#endif
