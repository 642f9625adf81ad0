/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h - the interface of the losses.
 *
 * A loss gets the clean features of a batch and the codes of its rows, and computes its
 * value, its terms by name, and the gradient with respect to the codes; it does not know E,
 * the bank or the optimiser. A new loss is one file NAME.c that defines inv_loss_NAME, and
 * its name in the list of meson.build.
 *
 * Letters: N images; G augmentations (one per bank), s samples of each;
 * k0 = 0 if the clean rows are among the loss's codes and 1 if they are
 * not; R = (G s + 1 - k0) N rows of codes; row (k - k0) N + i is sample k of
 * image i, k = 0 the clean one, k = 1 + g s + j sample j of augmentation g. If the loss
 * draws vicinal rows, N more rows follow, one for each image.
 * d features, w code width.
 */
#ifndef INV_LOSS_H
#define INV_LOSS_H

#include <stdbool.h>

#include "base/context.h"
#include "base/options.h"
#include "math/kernels.h"

enum {
	INV_LOSS_TERMS = 6, /* of one augmentation */
	INV_MAX_LOSS_GROUPS = 8,
	INV_VALUE_TERMS = INV_LOSS_TERMS * INV_MAX_LOSS_GROUPS + 1 /* and the decoder's */
};

/*
 * Distance and origin of the rows of a scaled training, which are u = (z - mu) / sigma.
 * Distances do not depend on the origin; a loss of directions first adds it to codes and
 * clean features.
 */
typedef struct inv_loss_frame {
	double distance;     /* mean squared distance of two different clean rows */
	const float *origin; /* [d] mu / sigma, borrowed; NULL: zeros */
} inv_loss_frame;

/* What stays the same from batch to batch. */
typedef struct inv_loss_shape {
	const invar_context *ctx;
	const struct inv_kernels *kernels;
	const invar_options *options; /* read once, by prepare */
	size_t N, s, groups, d, w;
	inv_loss_frame frame; /* zeros unless training is scaled */
} inv_loss_shape;

/* Directions and permutations from outside, for checking; in the order XZ, XX, ZZ. */
typedef struct inv_loss_draws {
	const float *directions[3];         /* [projections, d + w], 2 d and 2 w wide */
	const uint32_t *permutations[3][2]; /* of the M rows, numbered from 0 */
} inv_loss_draws;

typedef struct inv_loss_batch {
	const float *clean;          /* [N, d] */
	const float *codes;          /* [R, w] */
	const float *vicinal;        /* [N, d] inputs of the last N codes; NULL: none */
	uint64_t seed, step;         /* keys of what a loss draws; step counts over the run */
	size_t group;                /* number of its first augmentation, also a key */
	const inv_loss_draws *draws; /* one per augmentation; NULL: drawn by the keys */
} inv_loss_batch;

typedef struct inv_loss_value {
	double value;
	double term[INV_VALUE_TERMS]; /* those of augmentation 0, then of 1, … */
} inv_loss_value;

/* Plans and memory of a loss, made once; evaluating allocates nothing. */
typedef struct inv_loss_work {
	void *state;
	size_t bytes;
} inv_loss_work;

typedef struct inv_loss {
	const char *name;
	const char *summary;                   /* a phrase for the help */
	const char *terms[INV_LOSS_TERMS + 1]; /* NULL-terminated */
	bool same_width;                       /* needs w = d */
	bool needs_scaled;                     /* rows must be in units; uses shape->frame */
	bool by_epochs; /* the length of a training is a number of epochs: few steps suffice */
	bool no_decoder;
	bool several;         /* accepts several augmentations, as -sum log(-L) over their L */
	unsigned min_samples; /* copies per image and step */
	unsigned max_samples; /* 0: no limit */
	unsigned batch;       /* default number of images per step */
	const invar_option *options; /* its own, ended by a NULL name; NULL: none */
	const char *shares;          /* options of training that it also uses, "no-identity" */

	/* Checks that a table of options cannot express; may be NULL. */
	invar_status (*check)(const invar_options *o);
	/* Are the clean rows among the codes, under these options? */
	bool (*codes_clean)(const invar_options *o);
	invar_status (*prepare)(const inv_loss_shape *shape, inv_loss_work *out);
	/*
	 * Draws out [N, d] from the clean rows of b, keyed by its seed and step: inputs that E
	 * maps to codes besides the clean rows and the copies. NULL: there are none.
	 */
	void (*draw_vicinal)(const inv_loss_shape *shape, void *state, const inv_loss_batch *b,
	                     float *out);
	/* grad [R, w] is written, not added to; NULL if only the value is needed. */
	invar_status (*evaluate)(const inv_loss_shape *shape, void *state,
	                         const inv_loss_batch *b, inv_loss_value *out, float *grad);
	void (*release)(void *state);
} inv_loss;

/* NULL if there is no such loss. */
const inv_loss *inv_loss_find(const char *name);
const inv_loss *inv_loss_at(size_t i); /* NULL past the last */
const char *inv_loss_name_at(size_t i); /* NULL past the last */

/* Adds the options of all losses; `selector` is the option that names the loss. */
invar_status inv_loss_declare(invar_options *o, const char *selector);

/* For losses that leave out the clean rows with no-identity. */
bool inv_loss_keeps_identity(const invar_options *o);

/* R above; M is that of one augmentation. */
static inline size_t inv_loss_rows(const inv_loss *loss, const inv_loss_shape *s)
{
	return (s->groups * s->s + loss->codes_clean(s->options) +
	        (loss->draw_vicinal != NULL)) *
	       s->N;
}

#endif
