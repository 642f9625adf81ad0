/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_source.h - an array that is a file or comes through standard input, read from front
 * to back, and one that is written to a file or to standard output: "-" is the pipe.
 */
#ifndef INV_NPY_SOURCE_H
#define INV_NPY_SOURCE_H

#include "formats/npy.h"

typedef struct inv_npy_source {
	const char *name; /* for messages */
	const inv_npy_header *h;
	inv_npy *file; /* NULL: the stream */
	inv_npy_stream stream;
	uint64_t done; /* elements */
} inv_npy_source;

/* ctx is asked on a signal whether to stop. h points into the struct, which stays put. */
invar_status inv_npy_source_open(const invar_context *ctx, const char *path,
                                 inv_npy_source *out);
/* The next `count` elements in C order. */
invar_status inv_npy_source_read(inv_npy_source *in, uint64_t count, float *out);
invar_status inv_npy_source_end(inv_npy_source *in); /* fails if a pipe has more */
void inv_npy_source_close(inv_npy_source *in);

/* inv_npy_create, or for "-" the same on standard output. */
invar_status inv_npy_create_target(const char *path, inv_dtype dtype, unsigned rank,
                                   const uint64_t *shape, inv_npy_writer **out);

#endif
