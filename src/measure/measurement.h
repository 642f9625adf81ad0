/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measurement.h - the interface of the measurements of `invar eval`.
 *
 * A measurement sees the bank and one column of codes (F itself, or F then E) and puts its
 * values into the results. It declares its own options and metrics. A new measurement is
 * one file and one line in the list of meson.build: help, checks, tables, JSON and
 * metrics.json are made from what it declares.
 */
#ifndef INV_MEASUREMENT_H
#define INV_MEASUREMENT_H

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "base/options.h"
#include "base/pool.h"
#include "measure/bootstrap.h"
#include "measure/codes.h"
#include "measure/labels.h"
#include "run/results.h"

/* What a measurement needs of the bank; it is skipped with the reason if that is missing.
 */
enum {
	INV_NEEDS_LABELS = 1, /* of the measured split, and of train if that is needed */
	INV_NEEDS_COPIES = 2, /* of the measured split */
	INV_NEEDS_TRAIN = 4,
	INV_ONLY_F = 8,            /* depends on the bank alone: measured for the column F */
	INV_TAKES_VIEWS = 16,      /* also measured with queries of four views */
	INV_READS_ALL_SPLITS = 32, /* depends on the clean rows of all splits of the bank */
	INV_USES_LABELS = 64,      /* of both splits, for some figures, if there are any */
	INV_NEEDS_SPREAD = 128 /* clean features of the measured split that are not all equal */
};

typedef struct inv_outcomes inv_outcomes;

typedef struct inv_measure_input {
	const invar_context *ctx;
	struct inv_kernels kernels;
	const invar_bank *bank;          /* of the column: one of the next two */
	const invar_bank *rows;          /* of F and of adapters that do not normalise */
	const invar_bank *unit_rows;     /* of unit adapters */
	const inv_split *split;          /* what is measured */
	const inv_split *train;          /* NULL if the bank has none */
	inv_labels labels, train_labels; /* read if a measurement needs them */
	bool constant;                   /* all clean features of the split are equal */
	const invar_options *options;    /* of "eval" */
	uint64_t seed;
	const invar_adapter *adapter; /* NULL: the column of F itself */
	inv_codes *codes;             /* of the adapter */
	inv_outcomes *outcomes;       /* of the column, see outcomes.h */
	bool views;                   /* a query is four views of its image */
	uint32_t d, w;                /* width of features, of codes */
	inv_pool *scratch;            /* arrays until the running measurement is done */
	invar_results *results;
	const char *column, *title; /* its id and title in the results */
} inv_measure_input;

static inline uint64_t inv_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The rows of a split that a measurement uses: `points` of all rows, or of those that have
 * a label, spread evenly. Number i is row floor(i of / points) of these.
 */
typedef struct inv_selection {
	const inv_split *split;
	const inv_labels *labels; /* NULL: labelled or not */
	uint64_t of, points;
} inv_selection;

inv_selection inv_select_all(const inv_split *split);
inv_selection inv_select_labelled(const inv_split *split, const inv_labels *labels);
/* The same, but at most as many as the option points says. */
inv_selection inv_select_points(const inv_measure_input *in, inv_selection s);

/* The row of the split that number i is. */
uint64_t inv_selected_row(const inv_selection *s, uint64_t i);

/*
 * Those from `first` on in this column: codes [count, w], or with `raw` features
 * [count, d] as they are in the bank. Works in blocks; E is applied once per row and
 * column.
 */
invar_status inv_measure_rows(const inv_measure_input *in, const inv_selection *s,
                              int32_t copy, bool raw, uint64_t first, uint64_t count,
                              float *out);
/* Codes [count, INV_VIEWS, w] of rows that have views. */
invar_status inv_measure_views(const inv_measure_input *in, const inv_selection *s,
                               int32_t copy, uint64_t first, uint64_t count, float *out);
/*
 * The gallery of a search: the clean rows of all splits in the order of the bank. How many
 * there are, and where those of the measured split begin; then the rows themselves.
 */
invar_status inv_gallery_count(const inv_measure_input *in, uint64_t *rows,
                               uint64_t *first);
invar_status inv_measure_gallery(const inv_measure_input *in, bool raw, float *out);
/* The classes [points] of labelled rows, by the numbers that `known` gives them. */
void inv_measure_classes(const inv_selection *s, const inv_labels *known, uint32_t *out);

/* The labels [points] of rows of a split, labelled or not; -1: none. */
void inv_measure_labels(const inv_selection *s, const inv_labels *known, int64_t *out);

/* Why the bank lacks what `needs` asks for; NULL if it has everything. */
const char *inv_measure_lack(const inv_measure_input *in, unsigned needs, char *text,
                             size_t bytes);

/* Fails if codes are not as wide as features; `what` compares them. */
invar_status inv_measure_same_width(const inv_measure_input *in, const char *what);

/* Errors caused by the measured data; others would affect every measurement. */
static inline bool inv_is_unmeasurable(invar_status st)
{
	return st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC || st == INVAR_E_USE;
}

/* Fails if an adapter takes features of another width than those of a bank. */
invar_status inv_check_width(const invar_adapter *e, const char *title,
                             const invar_bank *bank);

/* Rows of a table of metrics; fractions are shown in percent with one decimal. */
#define INV_METRIC(MEASUREMENT, ID, ROW, PART, UNIT, BETTER, DIGITS)                  \
	{                                                                                 \
		.id = ID, .measurement = MEASUREMENT, .row = ROW, .part = PART, .unit = UNIT, \
		.better = BETTER, .digits = DIGITS                                            \
	}
#define INV_SHARE_METRIC(MEASUREMENT, ID, ROW, PART, BETTER) \
	INV_METRIC(MEASUREMENT, ID, ROW, PART, INVAR_UNIT_SHARE, BETTER, 1)
#define INV_NUMBER_METRIC(MEASUREMENT, ID, ROW, PART, BETTER, DIGITS) \
	INV_METRIC(MEASUREMENT, ID, ROW, PART, INVAR_UNIT_NUMBER, BETTER, DIGITS)

/* For the end of a call that gives results: frees them if it fails. Returns st. */
static inline invar_status inv_results_give(invar_status st, invar_results **out)
{
	if (st != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}

/* inv_results_describe of every key; takes about, NULL: no memory. */
invar_status inv_results_describe_all(invar_results *r, json_t *about);
/* Adds a measurement and its metrics, which end with one without an id. */
invar_status inv_results_declare(invar_results *r, const char *measurement,
                                 const char *title, const invar_metric *metrics);

typedef struct inv_measurement {
	const char *name;  /* as in the option metrics and in the results: "lc" */
	const char *title; /* for people: "LC" */
	const char *about; /* for help: a phrase without a full stop */
	const char *group; /* another word in metrics, for several measurements; or NULL */
	unsigned needs;
	bool on_request;             /* measured only if the option metrics requests it */
	const invar_option *options; /* its own, ended by a row without a name; or NULL */
	const char *shares;          /* options of others that matter for it, "a|b"; or NULL */
	const invar_metric *metrics; /* ended by one without an id; rows as in the table */
	/* The row title of its metrics if it depends on options; NULL: as declared. */
	void (*title_row)(const inv_measure_input *in, char *out, size_t size);
	/*
	 * Puts values and details (and series and scatters, which it adds to the results
	 * itself) once all of them are known: E_MISMATCH, E_NUMERIC and
	 * E_USE become the reason why it is skipped, other failures end the whole.
	 */
	invar_status (*measure)(const inv_measure_input *in);
} inv_measurement;

/* In the order of the table that people see; NULL past the last. */
const inv_measurement *inv_measurement_at(size_t i);

/* Name, title and phrase of measurement i; NULL past the last. */
const char *inv_measurement_about(size_t i, const char **title, const char **about);
/*
 * Which of the measurements that o, a list for "eval", requests are not in metrics.json of
 * a run for this bank with these options: their ids, separated by commas, "" if none. A
 * measurement that could not be made is not missing. Gives, free with invar_free.
 */
invar_status inv_eval_missing(const invar_bank *bank, const invar_options *o,
                              const char *run, char **metrics);

#endif
