/*
 * loss.h - what every loss looks like to the trainer.
 *
 * A loss sees the clean features of a batch and the codes of its rows, and
 * gives its value, its terms by name, and the gradient of the codes; it knows
 * nothing of E, the bank or the optimiser. A new loss is one file and one line
 * in table.c.
 *
 * Letters: N images, s samples of each, k0 = 0 where the clean rows are among
 * the codes and 1 where they are not; R = (s + 1 - k0) N rows of codes; row
 * (k - k0) N + i is sample k of image i. d features, w code width.
 */
#ifndef INV_LOSS_H
#define INV_LOSS_H

#include <stdbool.h>

#include "base/context.h"
#include "math/kernels.h"

enum { INV_LOSS_TERMS = 8 };

/* The options of all losses; each takes what concerns it. */
typedef struct inv_loss_opts {
	double anchor;
	bool no_identity;
} inv_loss_opts;

typedef struct inv_loss_batch {
	const invar_context *ctx;
	const struct inv_kernels *kernels;
	const inv_loss_opts *opts;
	size_t N, s, d, w;
	const float *clean;  /* [N, d] */
	const float *codes;  /* [R, w] */
	void *scratch;       /* as many bytes as the loss asked for */
	uint64_t seed, step; /* keys of what a loss draws; step counts over the run */
} inv_loss_batch;

typedef struct inv_loss_value {
	double value;
	double term[INV_LOSS_TERMS]; /* in the order of the loss's term names */
} inv_loss_value;

typedef struct inv_loss {
	const char *name;
	const char *terms[INV_LOSS_TERMS + 1]; /* NULL-terminated */
	bool same_width;                       /* needs w = d */
	unsigned fewest_samples;               /* copies a step needs at least */

	/* Are the clean rows among the codes, under these options? */
	bool (*codes_clean)(const inv_loss_opts *o);
	size_t (*scratch)(size_t N, size_t s, size_t d, size_t w, const inv_loss_opts *o);
	/* grad [R, w] is written, not added to. */
	invar_status (*evaluate)(const inv_loss_batch *b, inv_loss_value *out, float *grad);
} inv_loss;

/* The names of table.c, as a field's choices. */
#define INV_LOSS_KINDS "mawa"

/* NULL where there is no such loss. */
const inv_loss *inv_loss_find(const char *name);

#endif
