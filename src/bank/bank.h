/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bank.h - a folder of features: clean rows, augmented copies, labels, by split.
 *
 * Invariants of an open bank:
 *   1. Every split has clean rows [n, d]; n < 2^32, d is the same in all splits.
 *   2. Its copies are aug/000.npy, 001.npy … without a gap, each [n, d], or one
 *      aug.npy [n, c, d]; not both.
 *   3. Labels, if present, are n integers >= 0.
 *   4. Views are optional, for each array on its own: clean.views.npy and
 *      aug/NNN.views.npy are [n, 3, d] of float32 or float16, the features of the same
 *      rows rotated by 90, 180 and 270 degrees. A copy must exist to have views.
 *   5. names.txt (row_names.h) and fingerprints.npy (fingerprints.h) are not read
 *      here.
 *   6. bank.json is optional; if present it is a JSON object whose format is
 *      "invar-bank" and whose version is 1.
 *   7. Files are mapped, never loaded: a bank may be larger than memory.
 *   8. A class view (class_view.h) has the rows of some classes. Rows are numbered in the
 *      view everywhere except in files and in messages that name a row of a file.
 *   9. A bank in memory (in_memory.c) has the caller's arrays instead of files: its path
 *      is a name for messages, and it has no names, fingerprints or parameters.
 *  10. A unit view (row_norms.h) is a copy of the struct of an open bank: it is not
 *      closed, and its rows are divided by their norms as they are read.
 */
#ifndef INV_BANK_H
#define INV_BANK_H

#include "base/context.h"
#include "base/json.h"
#include "base/sha256.h"
#include "formats/npy.h"
#include "math/kernels.h"

/* Views of a row: the row itself, and its image rotated by 90, 180 and 270 degrees. */
enum { INV_VIEWS = 4, INV_ROTATED = INV_VIEWS - 1 };

enum { INV_BANK_SPLITS = 64, INV_BANK_COPIES = 100000, INV_BANK_DIM = 1 << 24 };

typedef struct inv_split {
	char *name;
	uint64_t rows;
	uint32_t copies;
	inv_npy *clean;
	inv_npy **aug; /* one per copy, or a single [n, c, d] array */
	size_t aug_files;
	inv_npy *clean_views; /* [n, INV_ROTATED, d]; NULL if there are none */
	inv_npy **aug_views;  /* [copies], NULL for copies without; NULL if none has any */
	inv_npy *labels;      /* NULL if there are none */
	uint32_t *row; /* [rows] of a view: where its rows are in the files; NULL: the same */
} inv_split;

/* The classes of a view. */
typedef struct inv_class_view {
	uint32_t count;
	int64_t *label;           /* [count] in the files, ascending */
	uint32_t *number;         /* [count] what each of them is in the view */
	char hex[INV_SHA256_HEX]; /* of the rows and their numbering; "": no view */
} inv_class_view;

struct invar_bank {
	const invar_context *ctx;
	struct inv_kernels kernels;
	char *path;
	uint32_t dim;
	size_t split_count;
	inv_split *splits;   /* by name; after them those that a view leaves out */
	size_t hidden_count; /* of the latter */
	json_t *json;        /* bank.json, or NULL; of a view, with its classes */
	inv_class_view view;
	bool unit;      /* rows are given as unit(row); row_norms.h */
	bool in_memory; /* arrays of the caller; path is not a folder */
};

/* All of its classes; invar_bank_open also knows options. */
invar_status inv_bank_open(invar_context *ctx, const char *path, invar_bank **out);

/* Closes its arrays; those that it does not have are NULL. */
void inv_split_clear(inv_split *s);

/* Where a row of a split is in its files. */
static inline uint64_t inv_file_row(const inv_split *s, uint64_t row)
{
	return s->row ? s->row[row] : row;
}

/* How many rows its files have. */
static inline uint64_t inv_file_rows(const inv_split *s)
{
	return s->clean->h.shape[0];
}

/* NULL if there is no such split; sets the error message. */
const inv_split *inv_bank_split(const invar_bank *b, const char *name);

/* One row as float; NaN and Inf are errors that name file and row. Thread-safe. */
invar_status inv_bank_row(const invar_bank *b, const inv_split *s, int32_t copy,
                          uint64_t row, float *out);

/* The same for a view: 0 is the row itself, v its image rotated by 90 v degrees. */
invar_status inv_bank_view_row(const invar_bank *b, const inv_split *s, int32_t copy,
                               unsigned view, uint64_t row, float *out);

/* The views of an array, NULL if it has none; copy may be INVAR_CLEAN. */
const inv_npy *inv_split_views(const inv_split *s, int32_t copy);
/* Whether there are copies and all of them have views. */
bool inv_split_copies_have_views(const inv_split *s);

/* Bytes of its clean rows and copies on disk. */
uint64_t inv_split_bytes(const inv_split *s);

/* Tells the system that a row will be read soon. */
void inv_bank_will_need(const invar_bank *b, const inv_split *s, int32_t copy,
                        uint64_t row);

/*
 * Rows first … last were read and are not read again soon: their pages no longer count as
 * memory of the process. Reading them again is allowed.
 */
void inv_bank_wont_need(const invar_bank *b, const inv_split *s, int32_t copy,
                        uint64_t first, uint64_t last);

/* Rows will be read in random order. */
void inv_bank_expect_random(const inv_split *s);

/*
 * Identifies the rows of a split, for run.json: file names, sizes, SHA-256; for a view also
 * its number of rows and the hash of which rows they are.
 */
invar_status inv_bank_fingerprint(const invar_bank *b, const inv_split *s, json_t **out);

/* Appends the same for the files with its views, if there are any. */
invar_status inv_bank_fingerprint_views(const inv_split *s, json_t *list);

/*
 * Does the split have the files of such a list? What the list says of views of rows is not
 * compared, as these are made when a bank is opened. A list without files has no rows.
 */
invar_status inv_bank_has_files(const invar_bank *b, const char *split, const json_t *list,
                                bool *out);

/* Fails if the clean rows of two splits differ, naming the first that does. */
invar_status inv_bank_check_same_rows(const invar_bank *a, const inv_split *s,
                                      const invar_bank *b, const inv_split *other);

/* Reads a bank.json; fails if it has another format. *out is set in any case. */
invar_status inv_bank_load_json(const char *path, json_t **out);

/* Whether a value of bank.json is absent or null, so that nothing is known. */
static inline bool inv_json_is_unknown(const json_t *value)
{
	return !value || json_is_null(value);
}

/* The options of invar_bank_synthesize. */
invar_status inv_synthetic_declare(invar_options *o);

int inv_bank_has_split(const invar_bank *b, const char *split);
/* The number of a row in the split's files; it differs only if classes were chosen. */
uint64_t inv_bank_file_row(const invar_bank *b, const char *split, uint64_t row);
/* The name of a class as bank.json has it; NULL if it has none. Views. */
const char *inv_bank_class(const invar_bank *b, int64_t label);
/* Whether the split has names.txt, with the image file of each row. */
int inv_bank_has_names(const invar_bank *b, const char *split);

/*
 * All ranks: compares the files of the clean rows and of the first `copies` copies
 * (base/rank_compare.h).
 */
invar_status inv_bank_agree(const invar_context *ctx, const inv_split *s, uint64_t copies);

#endif
