/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.h - named tensors in one file: strict reader, atomic writer.
 *
 * Invariants of what is accepted:
 *   1. 8 bytes of header length, at most 100,000,000 and within the file; the
 *      header is UTF-8 JSON, begins with '{', has no duplicate keys and may be
 *      padded with trailing spaces.
 *   2. Sorted by offset, the tensors cover the data exactly: no gap, no overlap,
 *      no byte left over.
 *   3. Each tensor's bytes are the product of its shape times its item size,
 *      computed without overflow.
 *   4. __metadata__, if present, maps strings to strings.
 * F16, BF16, F32 and F64 are read; reading another dtype as floats is an error
 * that names it, and an unknown dtype is one when the file is opened.
 */
#ifndef INV_SAFETENSORS_H
#define INV_SAFETENSORS_H

#include "base/status.h"
#include "formats/dtype.h"

enum { INV_TENSOR_NDIM = 8 };

typedef struct inv_tensor {
	const char *name; /* views the file */
	const char *type; /* as in the file: "F32", "I64" */
	unsigned ndim;
	uint64_t shape[INV_TENSOR_NDIM];
	uint64_t cells;
	const unsigned char *data; /* any alignment */
} inv_tensor;

typedef struct inv_safetensors inv_safetensors;

typedef struct inv_metadata {
	const char *key, *value;
} inv_metadata;

invar_status inv_safetensors_open(const char *path, inv_safetensors **out);
/* The same from memory, which must outlive the file. */
invar_status inv_safetensors_view(const unsigned char *bytes, uint64_t size,
                                  const char *name, inv_safetensors **out);
size_t inv_safetensors_count(const inv_safetensors *f);
const inv_tensor *inv_safetensors_at(const inv_safetensors *f,
                                     size_t i); /* by name order */
const inv_tensor *inv_safetensors_find(const inv_safetensors *f, const char *name);
const char *inv_safetensors_metadata(const inv_safetensors *f, const char *key);
/* All of it, *count rows. Gives, inv_free; the texts are views. */
invar_status inv_safetensors_all_metadata(const inv_safetensors *f, inv_metadata **out,
                                          size_t *count);
/* NaN and Inf are errors that name file, tensor and element. */
invar_status inv_safetensors_read(const inv_safetensors *f, const inv_tensor *t,
                                  float *out);
void inv_safetensors_close(inv_safetensors *f);

/* What is written: F32 tensors by name order, metadata by key order, header padded to 8. */
typedef struct inv_tensor_out {
	const char *name;
	unsigned ndim;
	uint64_t shape[INV_TENSOR_NDIM];
	const float *data;
} inv_tensor_out;

/* Equal tensors and metadata give equal bytes, in this call and the next. */
invar_status inv_safetensors_save(const char *path, const inv_tensor_out *tensors,
                                  size_t count, const inv_metadata *metadata,
                                  size_t metadata_count);

/* Any tensor: of a type that safetensors have, in any layout. */
typedef struct inv_tensor_stored {
	const char *name, *type;
	unsigned ndim;
	uint64_t shape[INV_TENSOR_NDIM];
	int64_t stride[INV_TENSOR_NDIM]; /* in elements */
	const void *data;                /* the first element; any alignment */
} inv_tensor_stored;

/* Each in its own type, dense; wide types first, so that numbers are aligned. */
invar_status inv_safetensors_store(const char *path, const inv_tensor_stored *tensors,
                                   size_t count, const inv_metadata *metadata,
                                   size_t metadata_count);
/* Bits of an element of this type; 0: there is no such type. */
unsigned inv_safetensors_bits(const char *type);

#endif
