/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - where a training gets its rows: clean features, and copies of them.
 *
 * The split of a bank is a source (bank_source.c): its copies are stored, and a step draws
 * among them. Images are another (image_source.c): their clean features are encoded once,
 * into a bank of their own, and their copies are made while the adapter trains, new ones in
 * every epoch. Training asks a source what it has and what it can do; only the source knows
 * where the rows come from.
 *
 * The life of a source: it is opened by its kind, a split is selected (possibly more than
 * once), and it is prepared if it needs that. From then on its rows can be read, from any
 * thread.
 */
#ifndef INV_SOURCE_H
#define INV_SOURCE_H

#include "bank/row_norms.h"
#include "base/rng.h"
#include "images/dataset.h"

enum { INV_MAX_SOURCES = 8 };

typedef struct inv_source inv_source;

/* What a step needs from a source. */
typedef struct inv_source_batch {
	const uint32_t *rows;    /* [N] of the split */
	uint32_t N, s;           /* s copies of each row */
	uint32_t epoch;          /* whose copies, if every epoch makes its own */
	const inv_stream *draws; /* for stored copies: which of them, keyed by row */
	uint32_t *drawn;         /* [s], memory to draw in */
} inv_source_batch;

/* What the kinds do differently. */
typedef struct inv_source_kind {
	invar_status (*select)(inv_source *s, const char *split, uint64_t copies);
	invar_status (*prepare)(inv_source *s, uint64_t seed, const char *folder,
	                        const char *called); /* NULL: its rows already exist */
	invar_status (*need_copies)(const inv_source *s);
	invar_status (*fill_copies)(const inv_source *s, const inv_source_batch *b, float *out);
	/* A hint to the system: what a later batch will read. NULL: nothing is stored. */
	void (*expect_copies)(const inv_source *s, const inv_source_batch *b);
	const char *(*path)(const inv_source *s);
	json_t *(*encoding)(const inv_source *s); /* NULL: not encoded here; likewise below */
	json_t *(*options)(const inv_source *s);
	void (*cancel)(inv_source *s);
	void (*close)(inv_source *s);
} inv_source_kind;

/* Read it freely; only its kind writes. */
struct inv_source {
	const inv_source_kind *kind;
	const invar_context *ctx;
	const char *name; /* for messages: the path of the bank, or the images */
	uint32_t dim;
	const char *split; /* NULL before one is selected; likewise the next three */
	uint64_t rows;     /* of images: unreadable ones count until it is prepared */
	uint32_t copies;   /* per row, to draw from; 0 if unlimited */
	bool unlimited; /* copies are made for a step, as many as it needs; none are stored to
	                   choose from or to fit a closed form to */
	/* The stored rows: the clean ones and, unless unlimited, the copies. NULL
	 * before it is prepared. */
	const invar_bank *bank;
	const inv_split *stored;
	bool unit; /* rows are divided by their norms: `bank` is the unit view below */
	invar_bank unit_bank;
};

/* A bank as a source; borrows it. Free with inv_source_close. */
invar_status inv_bank_source_open(const invar_bank *b, inv_source **out);
/*
 * Images as a source: borrows the encoder, the data set, and the texts in o about preparing
 * and augmenting.
 */
invar_status inv_image_source_open(invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, inv_source **out);
void inv_source_close(inv_source *s); /* accepts NULL */

/*
 * Chooses a split and, if copies are stored, its first `copies` copies; 0 is all. Borrows
 * the name until the source is prepared.
 */
invar_status inv_source_select(inv_source *s, const char *split, uint64_t copies);

/* Must its rows be made before they can be read? */
bool inv_source_is_encoded(const inv_source *s);
/*
 * Makes the clean rows in a folder, or opens what an earlier call made there; `called` is
 * the folder's final name, once the run folder has its own. Rows of images that could not
 * be read are left out.
 */
invar_status inv_source_prepare(inv_source *s, uint64_t seed, const char *folder,
                                const char *called);

/*
 * Adds the norms of some clean rows and of `copies` copies of each; see bank/row_norms.h.
 * Copies that are not stored are made, those of epoch 0. It must be prepared.
 */
invar_status inv_source_norms(const inv_source *s, uint32_t copies, inv_row_norms *n);
/* From now on its rows, stored or made, are unit(row); it must be prepared. */
void inv_source_normalise(inv_source *s);

/* How many of `wanted` distinct copies of a row it can give. */
uint32_t inv_source_samples(const inv_source *s, uint32_t wanted);
/* Fails, with advice, if it has no copies that a step could draw. */
invar_status inv_source_need_copies(const inv_source *s);
/* Fails unless both have the same clean rows. */
invar_status inv_source_check_same_rows(const inv_source *a, const inv_source *b);

/* The clean rows of a batch: out is [N, d]. */
invar_status inv_source_fill_clean(const inv_source *s, const inv_source_batch *b,
                                   float *out);
/* Its copies: out is [s, N, d]. */
invar_status inv_source_fill_copies(const inv_source *s, const inv_source_batch *b,
                                    float *out);
/* Running and later fills soon fail with INVAR_E_CANCELLED. */
void inv_source_cancel(inv_source *s);

/* Adds to out, for run.json: "bank", where its rows are, and "inputs", what they are. */
invar_status inv_source_describe(const inv_source *s, json_t *out);
/* What is encoded and how, as in bank.json; NULL for rows that already existed. Gives. */
json_t *inv_source_encoding(const inv_source *s);
/* Every option of that by its name, so that a run can be resumed; gives likewise. */
json_t *inv_source_options(const inv_source *s);

#endif
