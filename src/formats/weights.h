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

/*
 * The tensors of a weight file: safetensors, PyTorch checkpoints (zip and the older
 * layout), TorchScript archives. Nothing in a file is executed. Descriptions of tensors
 * are views, valid until the weights are closed. path may be a folder with
 * model.safetensors or pytorch_model.bin.
 */
typedef struct inv_weights inv_weights;

enum { INV_WEIGHT_NDIM = 8 };

typedef struct inv_weight_about {
	const char *name; /* within the selected dictionary; views */
	const char *type; /* "F32", "F16", "I64", as in safetensors; views */
	unsigned ndim;
	uint64_t shape[INV_WEIGHT_NDIM];
	uint64_t cells;
} inv_weight_about;

/* A tensor within its file. */
typedef struct inv_weight {
	inv_weight_about of;
	const unsigned char *data;       /* its first element; any alignment */
	int64_t stride[INV_WEIGHT_NDIM]; /* in elements; checked to stay within the storage */
} inv_weight;

typedef struct inv_weights_format {
	const char *name; /* "safetensors" */
	bool (*recognise)(const inv_map *file);
	/* Fills list, count, key, keys and own of w; close follows if it fails. */
	invar_status (*open)(inv_weights *w);
	void (*close)(inv_weights *w);
} inv_weights_format;

extern const inv_weights_format inv_weights_torch_legacy, inv_weights_torch_zip;

struct inv_weights {
	char *path;
	const char *wanted_key; /* of the call that opens; NULL: not given */
	inv_map map;
	bool borrowed; /* the map views bytes of the caller */
	const inv_weights_format *format;
	char *key, *keys; /* NULL: "" */
	size_t count;
	inv_weight *list; /* by name; given by the format, freed by weights.c */
	void *own;        /* the format's own */
};

/* inv_weights_open of bytes in memory, which must outlive *out. */
invar_status inv_weights_view(const void *bytes, uint64_t size, const char *name,
                              const char *key, inv_weights **out);

/*
 * A checkpoint may have several dictionaries of tensors; key selects one. NULL selects the
 * teacher's, or the only one.
 */
invar_status inv_weights_open(invar_context *ctx, const char *path, const char *key,
                              inv_weights **out);
/* "safetensors", "torch zip", "torch legacy", "torchscript"; views. */
const char *inv_weights_format_name(const inv_weights *w);
/* The selected dictionary, "" if the file is just one; and all of them, "a|b". */
const char *inv_weights_key(const inv_weights *w);
const char *inv_weights_keys(const inv_weights *w);
const char *inv_weights_path(const inv_weights *w); /* the file itself */
size_t inv_weights_count(const inv_weights *w);
const inv_weight_about *inv_weights_at(const inv_weights *w, size_t i); /* by name */
/* NULL if there is no such tensor. */
const inv_weight_about *inv_weights_find(const inv_weights *w, const char *name);
/* As floats, in C order; NaN and Inf are errors that name file, tensor and element. */
invar_status inv_weights_read(const inv_weights *w, const inv_weight_about *t, float *out);
/* Saves as safetensors, each tensor in its own type. */
invar_status inv_weights_save(const inv_weights *w, const char *path);
void inv_weights_close(inv_weights *w);

#endif
