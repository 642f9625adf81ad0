/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h - what an adapter can be expected to do on a bank, before any training.
 *
 * A fifth of the images is held out. Closed forms (rigid, ridge, random features) are
 * fitted to the others in seconds and measured on copies of the held-out ones, beside the
 * copies as they are (F). From these figures follows a verdict, by the rules of
 * diagnose_rules.c. The split `test` is not used.
 *
 * The share of the displacement that a map removes does not show whether it learned
 * anything: if copies are features of random other images, a regression maps all of them
 * to the mean and removes half of their squared displacement. So what counts is the share
 * of the variance of clean features that the mapped copies explain,
 *
 *     q = 1 - sum |E(copy) - clean|² / sum |clean - mean|²,
 *
 * which is 0 for the map to the mean and 1 for a map of every copy to its clean feature.
 */
#ifndef INV_DIAGNOSE_H
#define INV_DIAGNOSE_H

#include "adapter/closed_forms/closed_form.h"
#include "measure/bootstrap.h"
#include "nn/classifier.h"

invar_status inv_diagnose_declare(invar_options *o);

/* ---- The images ------------------------------------------------------------------ */

/* The images that take part, read once; the held-out ones come last. */
typedef struct inv_diagnosis_rows {
	const invar_bank *bank;
	const inv_split *split;
	uint64_t seed;
	size_t d;
	uint32_t n, fitted, held; /* n = fitted + held */
	uint32_t *images;         /* [n]: rows of the split */
	float *clean;             /* [n, d] */
	double *mean;             /* [d] of the held-out clean rows */
	double *variance;         /* [held]: |clean - mean|² */
	uint32_t *classes;        /* [n]; INV_RANKS_NO_CLASS: unlabelled; NULL: not measured */
	inv_classifier_spec
		spec;          /* of the linear classifier trained on the fitted clean rows */
	float *classifier; /* NULL if there are no classes */
} inv_diagnosis_rows;

/*
 * Of `points` images spread evenly over the split (0: all), a fifth drawn by the seed is
 * held out. Fails for a split without copies or with too few images, and if all clean
 * features are equal. Free with clear, also after a failure.
 */
invar_status inv_diagnosis_read(const invar_bank *bank, const inv_split *split,
                                uint64_t points, uint64_t seed, inv_diagnosis_rows *out);
/*
 * Adds classes, and the classifier of the fitted rows. INVAR_E_MISMATCH if labels do not
 * allow that: the message is the reason.
 */
invar_status inv_diagnosis_label(inv_diagnosis_rows *r);
void inv_diagnosis_rows_clear(inv_diagnosis_rows *r);

/* ---- A column -------------------------------------------------------------------- */

/* F has no closed form. */
typedef struct inv_diagnosis_map {
	const char *id, *title;
	inv_closed_form form;
	inv_mlp_shape shape; /* of the MLP that holds a form with hidden units */
	float *params;       /* NULL: a form without */
	bool is_F;
} inv_diagnosis_map;

/* Shares of the copies of an image; the last is of its clean row. */
typedef enum inv_diagnosis_figure {
	INV_DIAGNOSIS_SAME_L2,
	INV_DIAGNOSIS_SAME_COSINE,
	INV_DIAGNOSIS_NEAREST,
	INV_DIAGNOSIS_KEPT,
	INV_DIAGNOSIS_KEPT_CLEAN,
	INV_DIAGNOSIS_FIGURES
} inv_diagnosis_figure;

typedef struct inv_diagnosis_column {
	double *share[INV_DIAGNOSIS_FIGURES]; /* [held]; NaN: of an image without label */
	double *before, *after; /* [held]: squared displacement of F and now, over copies */
	double norm;            /* mean of the mapped copies */
	double structure;       /* R² of the distances of clean rows before and after */
	double spread;          /* of the mapped copies over that of the clean rows */
	double shrunk; /* q of the same copies, scaled toward the mean by the best factor */
} inv_diagnosis_column;

/* Free with clear, also after a failure. */
invar_status inv_diagnosis_measure(const inv_diagnosis_rows *r, const inv_diagnosis_map *m,
                                   inv_diagnosis_column *out);
void inv_diagnosis_clear(inv_diagnosis_column *c);

/* ---- The verdict ----------------------------------------------------------------- */

enum { INV_DIAGNOSIS_F, INV_DIAGNOSIS_RIGID, INV_DIAGNOSIS_RIDGE, INV_DIAGNOSIS_FEATURES };
enum { INV_DIAGNOSIS_MAPS = 4, INV_VERDICT_WHY = 800 };

typedef struct inv_diagnosis_facts {
	double explained[INV_DIAGNOSIS_MAPS]; /* q */
	double shrunk;                        /* of F */
	double structure[INV_DIAGNOSIS_MAPS]; /* R² */
	/* Value of each map, and its gain over F with an interval; value NaN: not measured. */
	double figure[INV_DIAGNOSIS_MAPS][INV_DIAGNOSIS_FIGURES];
	inv_interval gain[INV_DIAGNOSIS_MAPS][INV_DIAGNOSIS_FIGURES];
} inv_diagnosis_facts;

typedef struct inv_verdict {
	const char *word; /* "keep", "instant" or "none" */
	char why[INV_VERDICT_WHY];
} inv_verdict;

void inv_diagnosis_judge(const inv_diagnosis_facts *f, inv_verdict *out);

#endif
