/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_arrays.h - reads and checks the arrays of invar loss.
 *
 * A shape that does not match is an error that names the file and both shapes.
 */
#ifndef INV_LOSS_ARRAYS_H
#define INV_LOSS_ARRAYS_H

#include "adapter/losses/loss.h"
#include "cli/arrays.h"

/* The number of texts in a list. */
size_t inv_list_length(const char *const *list);

/* Several arrays [N, s, d], concatenated. */
typedef struct inv_given_augs {
	float *data; /* [groups, N, s, d] */
	size_t groups;
	uint64_t samples;
} inv_given_augs;

/* Each must have N images of width d and the s of the first. */
invar_status inv_augs_load(inv_session *s, const char *const *paths,
                           const inv_given_array *clean, inv_given_augs *out);
void inv_augs_free(inv_given_augs *a);

/* Directions and permutations of every augmentation, in the order xz, xx, zz. */
typedef struct inv_draw_files {
	const char *const *directions[3];
	const char *const *permutations[3]; /* "P1.npy,P2.npy" */
} inv_draw_files;

typedef struct inv_given_draws {
	size_t groups;
	uint64_t projections;
	inv_loss_draws *draws;   /* [groups]; NULL if none were given */
	inv_given_array *arrays; /* [groups][3] directions */
	uint32_t **numbers;      /* [groups][3][2] permutations */
} inv_given_draws;

/* All six files of each of the groups, or none; M rows, widths d and w. */
invar_status inv_draws_load(inv_session *s, const inv_draw_files *files, size_t groups,
                            uint64_t M, uint64_t d, uint64_t w, inv_given_draws *out);
void inv_draws_free(inv_given_draws *g);

#endif
