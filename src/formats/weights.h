/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.h - named tensors of a weight file, whatever its format.
 *
 * A format is one file with one inv_weights_format and a line in the table of weights.c:
 * it says by the first bytes whether a file is its own, and opens it. What comes out are
 * tensors with a name, a type, a shape and strides over a storage that stays where the
 * file is mapped; several tensors may view one storage, and none is copied until it is
 * read. The public calls are invar_weights_* of invar.h.
 */
#ifndef INV_WEIGHTS_H
#define INV_WEIGHTS_H

#include <stdbool.h>

#include "base/context.h"
#include "base/file.h"
#include "formats/dtype.h"

/* A tensor within its file. */
typedef struct inv_weight {
	invar_weight of;
	const unsigned char *data;         /* its first element; any alignment */
	int64_t stride[INVAR_WEIGHT_RANK]; /* in elements; checked to stay within the storage */
} inv_weight;

typedef struct inv_weights_format {
	const char *name; /* "safetensors" */
	bool (*recognise)(const inv_map *file);
	/* Fills list, count, key, keys and own of w; close follows if it fails. */
	invar_status (*open)(invar_weights *w);
	void (*close)(invar_weights *w);
} inv_weights_format;

extern const inv_weights_format inv_weights_safetensors, inv_weights_torch_legacy,
	inv_weights_torch_zip;

struct invar_weights {
	const invar_context *ctx;
	char *path;
	const char *wanted_key; /* of the call that opens; NULL: not given */
	inv_map map;
	bool borrowed; /* the map is of bytes that are somebody else's */
	const inv_weights_format *format;
	char *key, *keys; /* NULL: "" */
	size_t count;
	inv_weight *list; /* by name; given by the format, freed by weights.c */
	void *own;        /* the format's own */
};

/* invar_weights_open of bytes in memory, which must outlive *out. */
invar_status inv_weights_view(const void *bytes, uint64_t size, const char *name,
                              const char *key, invar_weights **out);

#endif
