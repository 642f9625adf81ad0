/* SPDX-License-Identifier: Apache-2.0 */
/*
 * projected.h - two sets of rows along blocks of random directions, and the options of
 * sliced distances.
 *
 * Directions come in chunks that bound the memory: a chunk is drawn, both sets
 * are projected by two matrix products, and the caller reads the columns.
 */
#ifndef INV_PROJECTED_H
#define INV_PROJECTED_H

#include "base/options.h"
#include "math/directions.h"
#include "math/matmul.h"

typedef struct inv_sliced_settings {
	double p;
	uint64_t projections;
	uint64_t permutations; /* shuffled pairings; of invar_dependence alone */
	uint64_t seed;
	bool orthogonal;
} inv_sliced_settings;

invar_status inv_sliced_declare(invar_options *o);
/* Fails for options of another purpose, and for sizes that make no sense. */
invar_status inv_sliced_read(const invar_options *o, uint64_t rows, uint32_t width,
                             inv_sliced_settings *out);
/* The error for features so large that distances overflow. */
invar_status inv_sliced_overflow(void);

typedef struct inv_projected {
	const invar_context *ctx;
	struct inv_kernels kernels;
	size_t rows, chunk;   /* chunk: max directions at once, a multiple of 16 */
	inv_directions theta; /* of the chunk; its L is how many of them count */
	float *a, *b;         /* [rows, chunk] */
	inv_matmul *product_a, *product_b;
	char *scratch;
} inv_projected;

/*
 * Sets of `rows` rows, first and second wide. joint: a direction is one of the
 * joint space and has a section for each set; otherwise both sets use the same direction,
 * and first = second.
 */
invar_status inv_projected_new(const invar_context *ctx, size_t rows, size_t first,
                               size_t second, bool joint, size_t directions,
                               bool orthogonal, inv_projected *out);
/* Directions from .. from + count, count <= chunk, drawn or given [.., width]. */
invar_status inv_projected_run(inv_projected *p, const inv_stream *stream, size_t from,
                               size_t count, const float *given, const float *x,
                               const float *z);
void inv_projected_clear(inv_projected *p);

#endif
