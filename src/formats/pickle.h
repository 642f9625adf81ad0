/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.h - the values in a pickle of PyTorch, found without executing anything.
 *
 * A pickle is a program for a stack machine that may call any function of Python. This
 * machine has no functions: it produces numbers, strings, containers, tensors over
 * storages, and bags of attributes; a name that is not in the list of pickle_torch.c is an
 * error that names it.
 *
 * Bounds: protocols 2 to 5, the opcodes of the table in pickle.c; a million memo entries;
 * tensors of at most INV_WEIGHT_NDIM dimensions that stay within their storage and do
 * not repeat its elements; 128 MB for everything. Values are shared, never copied, so a
 * value that is referenced twice costs nothing; code that walks values must count steps.
 */
#ifndef INV_PICKLE_H
#define INV_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/weights.h"

typedef struct inv_torch_type {
	const char *name;    /* "float32" */
	const char *storage; /* "FloatStorage"; NULL: none */
	const char *type;    /* "F32" */
	unsigned bytes;
} inv_torch_type;

/* Elements under a key; the reader of the file fills in where they are. */
typedef struct inv_torch_storage {
	const char *key; /* views, without a final NUL */
	size_t key_length;
	const inv_torch_type *type; /* NULL: bytes */
	uint64_t all;               /* elements under this key */
	uint64_t first, count;      /* those of this storage */
	const unsigned char *data;  /* of element 0 of all; NULL: not known yet */
	struct inv_torch_storage *next;
} inv_torch_storage;

/* Checked to be within its storage. */
typedef struct inv_torch_tensor {
	inv_torch_storage *storage;
	const inv_torch_type *type;
	uint64_t offset; /* in elements of its type */
	uint64_t cells;
	unsigned ndim;
	uint64_t shape[INV_WEIGHT_NDIM];
	int64_t stride[INV_WEIGHT_NDIM];
} inv_torch_tensor;

typedef enum inv_py_kind {
	INV_PY_NONE,
	INV_PY_BOOL,
	INV_PY_INT,
	INV_PY_BIG, /* an integer that takes more than 64 bits, as in the file */
	INV_PY_FLOAT,
	INV_PY_TEXT, /* UTF-8 */
	INV_PY_BYTES,
	INV_PY_TUPLE,
	INV_PY_LIST, /* or a set */
	INV_PY_DICT, /* key, value, key, value, … */
	INV_PY_BAG,  /* an object's attributes: `inside`, a dictionary, or NULL */
	INV_PY_GLOBAL,
	INV_PY_STORAGE,
	INV_PY_TENSOR
} inv_py_kind;

typedef struct inv_py {
	uint8_t kind;
	uint8_t mark;    /* of torch_collect.c; 0 at first */
	uint8_t holds;   /* likewise */
	uint8_t role;    /* of a global */
	uint32_t height; /* likewise */
	uint32_t count;  /* items, keys and values, bytes */
	uint32_t capacity;
	union {
		int64_t i;
		double f;
		const char *text;
		struct inv_py **items;
		struct inv_py *inside;
		const inv_torch_type *type;
		inv_torch_storage *storage;
		inv_torch_tensor *tensor;
	} of;
} inv_py;

typedef struct inv_pickle {
	const char *path;  /* for messages; borrowed */
	bool modules;      /* __torch__.* is a bag, as in TorchScript */
	bool has_storages; /* persistent ids are expected */
	const unsigned char *bytes;
	size_t size, at;
	void *chunks; /* all memory of all runs */
	size_t used;
	inv_py **stack, **memo;
	size_t *marks;
	size_t depth, mark_count, memo_count;
	size_t stack_capacity, mark_capacity, memo_capacity;
	inv_torch_storage *storages; /* the last one first */
	inv_py *result;
} inv_pickle;

/*
 * Runs one pickle at the beginning of the bytes, which must outlive p; *result lives
 * until inv_pickle_free. Start from an inv_pickle with only path, modules and has_storages;
 * several can be run in one. p->at is then the byte after it.
 */
invar_status inv_pickle_run(inv_pickle *p, const unsigned char *bytes, size_t size,
                            inv_py **result);
void inv_pickle_free(inv_pickle *p);

/* Memory that lives as long as the values; NULL: inv_pickle_full reports why. */
void *inv_pickle_take(inv_pickle *p, uint64_t count, size_t bytes);
invar_status inv_pickle_full(const inv_pickle *p);

/* ---- Between pickle.c and pickle_torch.c ------------------------------------------ */

invar_status inv_pickle_bad(const inv_pickle *p, const char *what);
invar_status inv_pickle_new(inv_pickle *p, inv_py_kind kind, inv_py **out);
invar_status inv_pickle_put(inv_pickle *p, inv_py *container, inv_py *item);

/* What a module and a name refer to; fails for names that weights do not need. */
invar_status inv_torch_global(inv_pickle *p, const char *module, size_t module_length,
                              const char *name, size_t name_length, inv_py **out);
invar_status inv_torch_reduce(inv_pickle *p, const inv_py *callee, const inv_py *arguments,
                              inv_py **out);
invar_status inv_torch_build(inv_pickle *p, inv_py *object, inv_py *state);
invar_status inv_torch_persistent(inv_pickle *p, const inv_py *id, inv_py **out);

/*
 * ---- From values to a sorted list of named tensors (torch_collect.c) ---------------
 *
 * A state dictionary is a dictionary of tensors, perhaps within another, perhaps with
 * dictionaries in it, or a TorchScript module with its attributes; names are the keys on
 * the way, joined by dots. Values that are not tensors are skipped.
 *
 * Bounds: containers within each other 100 deep and never within themselves, a million
 * steps, 100,000 tensors, names of 1,000 bytes.
 */

/* Fills in s->data; called for storages of tensors that are wanted. */
typedef invar_status inv_torch_place(void *user, inv_torch_storage *s);

/* The last value of that key, as in Python; NULL: none, or it is not a dictionary. */
inv_py *inv_torch_find(const inv_py *dict, const char *key);

/* Fills list, count, key and keys of w; names live as long as p. */
invar_status inv_torch_collect(inv_weights *w, inv_pickle *p, inv_py *root,
                               inv_torch_place *place, void *user);

#endif
