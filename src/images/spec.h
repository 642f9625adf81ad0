/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.h - the text that describes an augmentation.
 *
 *     set   = [weight*]chain {"|" [weight*]chain}     one chain is drawn per image
 *     chain = op {"+" op}                             from left to right
 *     op    = name [":" key=value {"," key=value}]
 *     value = number | a..b | HxW | word
 *
 * Spaces around names, signs and values are ignored. Keys that are not given keep
 * their defaults, the paper's values.
 */
#ifndef INV_SPEC_H
#define INV_SPEC_H

#include "images/augment/op.h"

enum { INV_MAX_OPS = 16, INV_MAX_CHAINS = 16 };
/* A number may become a range and lose its exponent, so the canonical text is longer. */
enum { INV_SPEC_TEXT = 4096, INV_SPEC_CANONICAL = 4 * INV_SPEC_TEXT };

typedef struct inv_spec_op {
	const inv_op *op;
	inv_value value[INV_MAX_KEYS];
	size_t chain;
	size_t column; /* of its first column, `on` included, in the row of the set */
	bool has_on;   /* p < 1: its columns begin with `on` */
	bool inside;   /* inside=1: its result is a part of its input (augment/inside.h) */
} inv_spec_op;

typedef struct inv_spec {
	size_t chains, ops;
	double weight[INV_MAX_CHAINS];
	size_t first[INV_MAX_CHAINS + 1]; /* ops of chain i: first[i] to first[i + 1] */
	inv_spec_op op[INV_MAX_OPS];      /* of all chains, in order */
	size_t columns;
	bool inside;                        /* some operation has inside=1 */
	char canonical[INV_SPEC_CANONICAL]; /* the shortest text that means the same */
} inv_spec;

invar_status inv_spec_parse(const char *text, inv_spec *out);

/* The name of a column: "chain", "angle", "1.on"; out has 32 places. */
void inv_spec_column(const inv_spec *s, size_t column, char out[32]);
/* The operation of a column other than "chain". */
size_t inv_spec_op_of(const inv_spec *s, size_t column);

/* The chain of a row of parameters; the number of chains if there is no such chain. */
size_t inv_spec_chain(const inv_spec *s, const float *row);
/* Whether operation i acts on the image of this row. */
bool inv_spec_acts(const inv_spec *s, const float *row, size_t i);

/*
 * A sentence for copies of `rotation` with empty corners, which E would learn to repair:
 * what inside=1 is and when to use it. NULL for other augmentations, and for text that is
 * not a SPEC.
 */
const char *inv_augment_corner_note(const char *spec);

const char *inv_augment_help(const char *operation); /* a phrase */
/* Key k of an operation with its default, "degrees=-180..180", in out; NULL past the last.
 */
const char *inv_augment_key(const char *operation, size_t k, char out[128]);
/* The words that this key accepts, "a|b"; NULL if it takes numbers. */
const char *inv_augment_key_words(const char *operation, size_t k);

#endif
