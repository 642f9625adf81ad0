/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - will an adapter help, and what does it cost? Measured before it is promised.
 *
 * A fifth of the images is held out, the adapter is fitted to the others as a training with
 * the same options would fit it, and the clean rows and copies of held-out images become
 * queries to the clean rows of all images. Every figure of E stands beside that of F, and
 * the difference of both has an interval of its own, as they are measured on the same
 * images. No other split is read.
 *
 *   trial_rows.c     which images are held out; queries and gallery as arrays
 *   trial_figures.c  the figures of a column, with intervals
 *   trial_rules.c    from figures to a verdict and the sentence that explains it
 *   trial.c          fitting, the strength that is taken, the results
 *   diagnose.c       the same for a list of presets
 */
#ifndef INV_TRIAL_H
#define INV_TRIAL_H

#include "adapter/train_options.h"
#include "base/pool.h"
#include "math/places.h"
#include "measure/bootstrap.h"

/* ---- Rows ---------------------------------------------------------------------------- */

enum { INV_TRIAL_MIN_IMAGES = 50 }; /* with fewer, a trial cannot tell */

/* Held-out images and what they are measured with. Codes are [rows, w] of the last fit. */
typedef struct inv_trial_fold {
	uint32_t *images;     /* [images]: fitted ones, then held-out ones */
	float *clean, *query; /* [gallery, d], held-out images first; [queries, d] */
	float *code_clean, *code_query;
	uint32_t *own;         /* [queries]: rows of the gallery */
	uint32_t *class;       /* [gallery]; NULL: there are no labels */
	uint32_t *query_class; /* [queries]; likewise */
} inv_trial_fold;

enum { INV_TRIAL_MAX_FOLDS = 5, INV_TRIAL_REASON = 200 };

typedef struct inv_trial_rows {
	const invar_context *ctx;
	const invar_bank *bank;
	inv_source *source; /* ours, with split and copies selected */
	uint64_t seed;
	size_t d;
	uint32_t images, held, fitted; /* of the split; of every fold */
	uint32_t folds, copies;        /* copies: queries per held-out image */
	uint64_t gallery, queries;     /* rows of every fold */
	double majority; /* fraction of the largest class, which guessing reaches */
	bool labelled;
	char no_labels[INV_TRIAL_REASON]; /* why there are no classes */
	inv_trial_fold fold[INV_TRIAL_MAX_FOLDS];
	inv_pool scratch; /* what folds have, except codes */
} inv_trial_rows;

/*
 * The rows of a trial of trainings with these options, made for "train". Takes the source,
 * also if it fails; it has INV_TRIAL_MIN_IMAGES rows and at least one copy. Free with
 * inv_trial_rows_clear.
 */
invar_status inv_trial_rows_open(inv_source *source, const invar_options *o,
                                 inv_trial_rows *out);
void inv_trial_rows_clear(inv_trial_rows *r);

/* ---- Figures ------------------------------------------------------------------------- */

typedef enum inv_trial_sought {
	INV_TRIAL_AT_1, /* the same image first */
	INV_TRIAL_AT_10,
	INV_TRIAL_CLASS, /* of the nearest neighbour, the same image left out */
	INV_TRIAL_SOUGHT
} inv_trial_sought;

enum { INV_TRIAL_OLD, INV_TRIAL_NEW, INV_TRIAL_INDEXES };
enum { INV_TRIAL_CLEAN, INV_TRIAL_AUGMENTED, INV_TRIAL_SETS };
enum {
	INV_TRIAL_FIGURES =
		INV_TRIAL_INDEXES * INV_TRIAL_SOUGHT * INV_DISTANCES * INV_TRIAL_SETS
};

static inline int inv_trial_figure(int index, int sought, int distance, int set)
{
	return ((index * INV_TRIAL_SOUGHT + sought) * INV_DISTANCES + distance) *
	           INV_TRIAL_SETS +
	       set;
}

/* F, or an adapter at one strength. */
typedef struct inv_trial_column {
	double *fraction; /* [INV_TRIAL_FIGURES, folds * held]: of the queries of an image;
	                     NaN: it has no label */
	inv_interval value[INV_TRIAL_FIGURES];
	inv_interval gain[INV_TRIAL_FIGURES]; /* over F; images 0: not measured */
	/* Of clean images, the same image @1, over 99 % of F's, in the index that counts. */
	inv_interval kept[INV_DISTANCES];
	inv_interval r2, cvrmsd; /* of held-out clean rows; value NaN: there is none */
} inv_trial_column;

/* What the codes of the folds are. */
typedef struct inv_trial_codes {
	size_t w;
	bool own_space;  /* they cannot be compared with features: only the new index */
	double strength; /* of z + strength (code - z); 1: the codes themselves */
} inv_trial_codes;

/* NULL: F itself. f is the column of F, or NULL for F. Clear it, also if it fails. */
invar_status inv_trial_measure(const inv_trial_rows *r, const inv_trial_codes *c,
                               const inv_trial_column *f, inv_trial_column *out);
void inv_trial_column_clear(inv_trial_column *c);
/* Mean R2 of the folds alone. */
invar_status inv_trial_structure(const inv_trial_rows *r, const inv_trial_codes *c,
                                 double *r2);

/* ---- The verdict --------------------------------------------------------------------- */

typedef enum inv_trial_word {
	INV_TRIAL_HELPS,
	INV_TRIAL_NONE,
	INV_TRIAL_HARM,
	INV_TRIAL_UNKNOWN
} inv_trial_word;

extern const char *const inv_trial_words[]; /* "helps", "none", "harm", "unknown" */

enum { INV_TRIAL_WHY = 700 };

typedef struct inv_trial_verdict {
	inv_trial_word word;
	char why[INV_TRIAL_WHY]; /* a sentence without a full stop */
} inv_trial_verdict;

/* Fractions that guessing reaches, by what is sought. */
void inv_trial_guess(const inv_trial_rows *r, double guess[INV_TRIAL_SOUGHT]);
/* The rules are at the top of trial_rules.c. */
void inv_trial_judge(const inv_trial_column *f, const inv_trial_column *e, bool own_space,
                     const double guess[INV_TRIAL_SOUGHT], inv_trial_verdict *out);

/* ---- Attempts ------------------------------------------------------------------------ */

enum { INV_TRIAL_MAX_ATTEMPTS = 4, INV_TRIAL_TITLE = 64 };

typedef struct inv_trial_attempt {
	char id[INV_TRIAL_TITLE];
	bool own_space;
	inv_trial_column first, weaker; /* weaker: at the strength taken, if it is another */
	double first_strength, strength;
	inv_trial_verdict verdict; /* of the strength taken */
} inv_trial_attempt;

typedef struct inv_trial {
	inv_trial_rows rows;
	inv_trial_column f;
	inv_trial_attempt attempt[INV_TRIAL_MAX_ATTEMPTS];
	size_t attempts;
	inv_trial_verdict unknown; /* of a bank that cannot be tried; its why is "" otherwise */
} inv_trial;

/*
 * Checks the training, holds images out and measures F. A bank that cannot be tried is no
 * error: t->unknown says why.
 */
invar_status inv_trial_begin(const invar_bank *bank, const invar_options *o, inv_trial *t);
/* Fits what the options of a training say, and measures it as a column with this id. */
invar_status inv_trial_try(inv_trial *t, const invar_options *o, const char *id);
/* The figures of all attempts as results; gives. */
invar_status inv_trial_results(const inv_trial *t, invar_results **out);
void inv_trial_clear(inv_trial *t);

#define INV_NO_ADAPTER "no-adapter" /* topic of the error where a trial refuses */

invar_status inv_diagnose_declare(invar_options *o);

#endif
