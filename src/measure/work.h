/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - how much work a measurement is, from the sizes of a bank that need not exist.
 *
 * Work is counted in operations of large matrix products, a multiplication and an addition
 * being two, so that the measured speed of one product turns it into seconds. What takes
 * longer per operation counts as many times more; the factors are in work.c. Expect a
 * factor of two.
 */
#ifndef INV_WORK_H
#define INV_WORK_H

#include <stdbool.h>

#include "base/options.h"

typedef struct inv_work_sizes {
	const invar_options *options; /* of "eval" */
	double rows, copies;          /* of the measured split */
	double points;                /* rows, or as many as the option points leaves */
	double train, train_copies;
	double gallery; /* clean rows of all splits */
	double classes;
	double d, w;
	bool adapter; /* false: the column of F */
	bool views;   /* a query is four views of its image */
	bool cached;  /* what depends on the bank alone is in its cache */
	/* What measurements before this one leave for others; estimates update it. */
	bool linear;       /* a linear classifier of features was trained */
	unsigned outcomes; /* bits of those that were found for this column, see outcomes.h */
} inv_work_sizes;

/* Of one column. */
typedef struct inv_work {
	double operations;
	double bytes; /* of its results as JSON */
} inv_work;

/* The nearest of `gallery` rows for each of `queries`. */
double inv_work_search(double queries, double gallery, double width);
/* The rank of each query's own row, or of all rows of its class, by one distance. */
double inv_work_rank(double queries, double gallery, double width, bool by_class);
/* All pairs of n rows, of both widths. */
double inv_work_pairs(double n, double d, double w);
/* Intervals of `figures` shares over n images. */
double inv_work_intervals(double n, double figures);
/* A classifier trained on `examples` rows for the epochs of the options, one seed. */
double inv_work_classifier(const inv_work_sizes *s, double examples, double inputs,
                           double layers);
/* The one on features that several measurements share: 0 if it was trained before. */
double inv_work_linear(inv_work_sizes *s);
/* Its answers for `rows` rows. */
double inv_work_answers(const inv_work_sizes *s, double rows, double inputs, double layers);
/* A rigid map between pairs of rows: their products, and a decomposition. */
double inv_work_rigid(double pairs, double width);
/* t-SNE of n rows. */
double inv_work_tsne(double n, double width);
/* Spectra of three neighbour graphs of n rows. */
double inv_work_graphs(double n, double width);
/* A pass over rows that are read, or written as text. */
double inv_work_pass(double rows, double width);

#endif
