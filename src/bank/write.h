/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.h - making a bank, and adding splits and copies to one.
 *
 * Invariants of a bank while it grows:
 *   1. bank.json is written before the first array and describes all of them.
 *   2. An array appears complete or not at all. Labels, names and fingerprints come before
 *      the clean rows, the parameters of a copy before the copy: clean.npy means that the
 *      split is complete, aug/NNN.npy that the copy is. Views are made after all copies of
 *      a split.
 *   3. Existing arrays are not written again, so that copies can be added later.
 *   4. Nothing that is written depends on the time or on paths.
 *   5. An incomplete array is in its .part file, and the split's done.part
 *      says which blocks it has (block_map.h); the next run resumes from both.
 */
#ifndef INV_BANK_WRITE_H
#define INV_BANK_WRITE_H

#include <stdbool.h>

#include "base/json.h"
#include "formats/dtype.h"

typedef struct inv_bank_writer inv_bank_writer;

/*
 * Creates the folder, or opens the existing bank if `about` matches its bank.json; null
 * matches any description of copies. The bank.json of a bank without any split is not
 * compared. The folder is locked until the writer is closed.
 */
invar_status inv_bank_writer_open(const char *path, const json_t *about,
                                  inv_bank_writer **out);
void inv_bank_writer_close(inv_bank_writer *w); /* accepts NULL */

/* "BANK/split/name"; gives, inv_free. NULL if there is no memory. */
char *inv_bank_writer_path(const inv_bank_writer *w, const char *split, const char *name);

/* The finished arrays of a split. */
typedef struct inv_finished {
	bool clean;
	uint64_t rows, width; /* of the clean rows */
	uint64_t copies;      /* 000, 001 … without a gap */
	uint64_t views;       /* arrays that have views, clean rows first, without a gap */
} inv_finished;

/* Of the features that a bank.json describes: "float32", unless it says otherwise. Views.
 */
const char *inv_bank_precision(const json_t *about);

invar_status inv_bank_writer_find(const inv_bank_writer *w, const char *split,
                                  inv_finished *out);

/* The entry of a split in bank.json, or NULL; views. */
const json_t *inv_bank_writer_entry(const inv_bank_writer *w, const char *split);

/* Makes the folders of a split, with or without copies, and saves bank.json. */
invar_status inv_bank_writer_begin(inv_bank_writer *w, const char *split,
                                   const json_t *entry, bool copies);

invar_status inv_bank_writer_labels(const inv_bank_writer *w, const char *split,
                                    const int64_t *labels, uint64_t rows);

/* ---- Rows of one array ------------------------------------------------------------ */

enum { INV_ARRAY_NAME = 40 };

typedef enum inv_array_kind {
	INV_ROWS,         /* "clean.npy", "aug/003.npy": features */
	INV_BESIDE,       /* "fingerprints.npy", "aug/003.params.npy": what goes with them */
	INV_ROWS_OF_VIEWS /* "clean.views.npy", "aug/003.views.npy" */
} inv_array_kind;

const char *inv_array_name(int32_t copy, inv_array_kind kind, char name[INV_ARRAY_NAME]);

typedef struct inv_rows inv_rows;

typedef struct inv_rows_shape {
	inv_dtype dtype; /* float32, float16 or uint8 */
	uint64_t rows, width;
	uint64_t views; /* the array is [rows, views, width]; 0: [rows, width] */
} inv_rows_shape;

/*
 * Disk space is reserved now. With `kept` true, an existing part file of this shape keeps
 * its contents; *kept says whether there was one.
 */
invar_status inv_rows_open(const inv_bank_writer *w, const char *split, const char *name,
                           inv_rows_shape shape, bool *kept, inv_rows **out);
/*
 * Rows of an array that another process has opened, at "BANK/SPLIT/name": this one writes
 * others of them, and ends with inv_rows_leave(r, true).
 */
invar_status inv_rows_join(const char *bank, const char *split, const char *name,
                           inv_rows_shape shape, inv_rows **out);
/*
 * Writes rows at their offset, from any thread. NaN and Inf are errors that name file, row
 * and column.
 */
invar_status inv_rows_put(inv_rows *r, uint64_t first, const float *data, uint64_t rows);
/* The same for an array of uint8. */
invar_status inv_rows_put_bytes(inv_rows *r, uint64_t first, const uint8_t *data,
                                uint64_t rows);
invar_status inv_rows_sync(inv_rows *r); /* what was put is on the disk */
/* Only the first `rows` rows are kept; there must be some. */
invar_status inv_rows_shorten(inv_rows *r, uint64_t rows);
invar_status inv_rows_finish(inv_rows *r);   /* frees r; every row was put */
void inv_rows_leave(inv_rows *r, bool keep); /* frees r; accepts NULL */
/*
 * Removes all part files of a split; once it is finished, nothing can resume them. The
 * caller must hold the map of the split.
 */
invar_status inv_bank_writer_sweep(const inv_bank_writer *w, const char *split);
/* Removes the map of a complete split, unless arrays are unfinished. */
invar_status inv_bank_writer_end_map(const inv_bank_writer *w, const char *split);

#endif
