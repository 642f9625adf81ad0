/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.h - which adapter serves a goal: candidates, compared on held-out images.
 *
 * A fifth of the images of the split (100 to 2,000) are held out, by the seed; candidates
 * are fitted to the others. Queries are the copies of held-out images, the gallery is the
 * clean rows of all images. No other split is used.
 *
 * Many candidates are compared on one such fold. The best few closed forms are then fitted
 * and measured on every fold, up to five that share no held-out image, and the figure over
 * all of them decides: one fold of 300 images is too noisy to tell neighbours apart, and
 * the best of fifty candidates is flattered by it. The parts:
 *
 *   choose_rows.c        folds; held-out images, queries and gallery as arrays
 *   choose_figures.c     the figure of a goal, R2 and the displacement removed
 *   choose_bases.c       fitted maps: what a candidate is before spread and strength
 *   choose_codes.c       codes of the rows: of a base, with a spread, with a strength
 *   choose_search.c      which candidates are tried on the first fold, in which order
 *   choose_confirm.c     the best few on all folds
 *   choose_table.c       the list as a table and for run.json
 *   choose_plots.c       the frontier as what a plot renders
 *   choose.c             all of it, from the options to the options of a training
 *
 * What was chosen is a list of options, which is trained on all images like any other; so a
 * run can be repeated from its options, and resuming does not choose again.
 */
#ifndef INV_CHOOSE_H
#define INV_CHOOSE_H

#include "adapter/closed_forms/feature_ridge.h"
#include "adapter/compose.h"
#include "adapter/goal.h"
#include "encode/source.h"
#include "math/fit_pairs.h"
#include "measure/bootstrap.h"

/* ---- Rows --------------------------------------------------------------------------- */

typedef struct inv_choice_rows {
	const invar_context *ctx;
	const invar_bank *bank;
	inv_source *source; /* ours */
	size_t d;
	uint32_t *images; /* fitted ones, then held-out ones */
	uint32_t fitted, held;
	uint32_t fold, folds; /* this one, of so many; all hold out as many images */
	uint64_t gallery;     /* rows of `clean`, held-out images first */
	uint32_t copies;      /* queries per held-out image */
	uint64_t queries;     /* copies * held; query k * held + i is copy k of image i */
	float *clean;         /* [gallery, d] */
	float *query;         /* [queries, d] */
	uint32_t *class;      /* [gallery]; NULL unless the goal needs it */
	uint32_t *own;        /* [queries] */
	uint32_t *own_class;  /* [queries]; NULL likewise */
} inv_choice_rows;

/* Selects split and copies as the options say. Free with inv_choice_rows_clear. */
invar_status inv_choice_rows_open(const invar_bank *bank, const invar_options *o,
                                  const inv_goal *g, uint32_t fold, inv_choice_rows *out);
void inv_choice_rows_clear(inv_choice_rows *r);

/* ---- Figures ------------------------------------------------------------------------ */

/* Figures of codes on held-out images. */
typedef struct inv_choice_figures {
	double value;  /* the figure of the goal */
	double second; /* decides between equal values; higher is better */
	double r2;     /* of distances of held-out clean images */
	double gone;   /* share of the squared displacement of copies that is removed */
} inv_choice_figures;

/* A figure is sum part / sum whole over images; for distances, its root. */
typedef struct inv_choice_shares {
	double *part, *whole; /* [held], or [folds * held] */
} inv_choice_shares;

bool inv_choice_shares_new(size_t images, inv_choice_shares *out);
void inv_choice_shares_clear(inv_choice_shares *s);
/* The figure over these images; NaN if they have nothing to say. */
double inv_choice_figure(const inv_goal *g, const inv_choice_shares *s, size_t images);

/* Number of clean codes: the gallery if it is re-indexed, else the held-out images. */
uint64_t inv_choice_clean_rows(const inv_choice_rows *r, const inv_goal *g);
invar_status inv_choice_measure(const inv_choice_rows *r, const inv_goal *g,
                                const float *query, const float *clean,
                                inv_choice_shares *shares, inv_choice_figures *out);
/* R2 of codes of held-out clean images, [held, d]; 0 if all codes are equal. */
invar_status inv_choice_structure(const inv_choice_rows *r, const float *clean,
                                  const float *codes, double *r2);
/* Higher is better, whatever the goal. */
double inv_choice_score(const inv_goal *g, const inv_choice_figures *f);
/* "same image among the first 10 of the old index, L2" */
void inv_choice_figure_name(const inv_goal *g, char *out, size_t size);

/* ---- Candidates --------------------------------------------------------------------- */

typedef enum inv_base_kind {
	INV_BASE_NONE, /* F itself */
	INV_BASE_RIGID,
	INV_BASE_RIDGE,
	INV_BASE_FEATURES,
	INV_BASE_TRAINED, /* by a preset of ours */
	INV_BASE_OWN,     /* by the options as they are */
	INV_BASES
} inv_base_kind;

/* As run.json has them. */
extern const char *const inv_base_names[INV_BASES];

/* A fitted map. */
typedef struct inv_base {
	inv_base_kind kind;
	double lambda, anchor; /* 0: none */
	const char *preset;    /* of trained ones */
	double contrast;       /* of the loss keep; 0: its default */
	uint64_t epochs;       /* 0: as the options say */
} inv_base;

typedef enum inv_spread_kind {
	INV_SPREAD_NONE,
	INV_SPREAD_SCALE,
	INV_SPREAD_TRANSPORT,
	INV_SPREADS
} inv_spread_kind;

extern const char *const inv_spread_name[INV_SPREADS];

typedef struct inv_candidate {
	inv_base base;
	inv_spread_kind spread;
	double wanted, strength;    /* before and after the dial made it weaker */
	inv_choice_figures figures; /* on the first fold */
	inv_choice_figures all;     /* on all folds, if folds > 1; R2 is their mean */
	uint32_t folds;             /* that it was measured on */
	bool allowed;               /* keeps the requested structure */
	bool frontier;
} inv_candidate;

typedef struct inv_choice_maker {
	const invar_options *options;
	inv_goal goal;
	inv_choice_rows rows;
	inv_feature_ridge *features; /* sums of the fitted rows, made when first needed */
	inv_pairs *ridge;
	uint32_t *sample; /* fitted images that spread is measured on */
	uint32_t sampled;
	inv_candidate *list;
	size_t count, allocated;
	inv_choice_shares f, now, top; /* of F, of the latest and of the best that is not F */
	size_t top_at;                 /* where that is; 0: there is none yet */
	float *code_q, *code_c;        /* codes of a base: [queries, d], [clean rows, d] */
	float *spread_q, *spread_c;    /* with a spread */
	float *moved_q, *moved_c;      /* with a strength */
	double started;                /* clock */
	inv_interval own, none, gain;  /* the figure of the best, of F, and the difference */
} inv_choice_maker;

/* Options of a training that makes this candidate from all images; gives. */
invar_status inv_base_options(const inv_choice_maker *m, const inv_base *b,
                              invar_options **out);
invar_status inv_candidate_options(const inv_choice_maker *m, const inv_candidate *c,
                                   invar_options **out);
/* Fits it to the fitted images; gives out->params. */
invar_status inv_base_fit(inv_choice_maker *m, const inv_base *b, inv_mlp_form *out);
void inv_base_clear(inv_choice_maker *m);

/* Opens the rows of a fold in place of those that are open. */
invar_status inv_choice_use_fold(inv_choice_maker *m, uint32_t fold);

/* Codes of queries and clean rows: code_q and code_c, then spread_, then moved_. */
invar_status inv_choice_code(inv_choice_maker *m, const inv_mlp_form *e);

/* The spread that was set, or that the preset has. */
inv_spread_kind inv_choice_own_spread(const inv_choice_maker *m);
invar_status inv_choice_spread(inv_choice_maker *m, const inv_mlp_form *e,
                               inv_spread_kind kind);
void inv_choice_move(inv_choice_maker *m, double strength);
/* z + strength (code - z) */
void inv_choice_move_rows(const float *z, const float *code, uint64_t cells,
                          double strength, float *out);

/* The largest strength up to *w that `structure` says keeps what the goal asks for. */
typedef invar_status inv_structure_at(void *user, double w, double *r2);
invar_status inv_choice_land(const inv_goal *g, inv_structure_at *structure, void *user,
                             double *w);

bool inv_choice_better(const inv_goal *g, const inv_choice_figures *a,
                       const inv_choice_figures *b);
bool inv_base_same(const inv_base *a, const inv_base *b);
/* Takes a candidate whose shares are m->now into the list. */
invar_status inv_choice_add(inv_choice_maker *m, const inv_candidate *c);

/* Tries candidates until the list is complete; m->top_at is the best of them. */
invar_status inv_choice_search(inv_choice_maker *m);
/* Chooses among the best closed forms of the list by all folds; leaves the first open. */
invar_status inv_choice_confirm(inv_choice_maker *m);

/* ---- Words -------------------------------------------------------------------------- */

enum { INV_CANDIDATE_WORDS = 160 };
void inv_candidate_describe(const inv_candidate *c, char *out, size_t size);
void inv_choice_log(inv_choice_maker *m, size_t chosen);
/* For run.json; gives. */
json_t *inv_choice_json(const inv_choice_maker *m, size_t chosen);
/* The same to draw: adds series and scatters. */
invar_status inv_choice_add_plots(const inv_choice_maker *m, size_t chosen, json_t *choice);

/* ---- The whole ---------------------------------------------------------------------- */

#define INV_NO_ADAPTER "no-adapter"

/*
 * Chooses for a goal that inv_goal_wanted; gives the options of the training to run and
 * what run.json says of the choice. INVAR_E_MISMATCH, with this topic, if no adapter helps.
 */
invar_status inv_choose_adapter(const invar_bank *bank, const invar_options *o,
                                invar_options **chosen, json_t **about);

#endif
