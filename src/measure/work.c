/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - parts that measurements are made of, in operations of large products. */
#include "measure/work.h"

#include "measure/bootstrap.h"

/*
 * How much slower than in a large matrix product an operation is, as measured on a Zen 3
 * (2026-11) by commands that make one measurement each, README.md.
 */
static const double slow_search = 1, slow_rank = 1.6, slow_class_rank = 3;
/* Of a query and a row of the gallery, beside their product: what decides for few columns.
 */
static const double per_searched = 150, per_ranked = 100, per_class_ranked = 1000;
static const double slow_pair = 4; /* computed directly, without a product */
static const double slow_train = 1.5;
static const double per_logit = 700; /* of an example and a class, beside products */
static const double per_example = 1e5;
static const double svd_cube = 30, svd_square = 2e4; /* of the width */
static const double per_draw = 800;                  /* of a resample */
static const double per_parameter = 60;              /* of an optimiser's step */
static const double per_point = 1.1e4;               /* of an iteration of t-SNE */
static const double per_iteration = 1.5e8;           /* its grid; of a few points: */
static const double few = 256, per_pair = 300;
static const double per_graph_row = 1e7; /* eigenpairs of three graphs */
static const double per_value = 30;      /* of a row that is read and looked at */

enum { ITERATIONS = 1000, BATCH = 256, TRAINED = 3 };

double inv_work_search(double queries, double gallery, double width)
{
	return queries * gallery * (slow_search * 2 * width + per_searched);
}

double inv_work_rank(double queries, double gallery, double width, bool by_class)
{
	double slow = by_class ? slow_class_rank : slow_rank;

	return queries * gallery *
	       (slow * 2 * width + (by_class ? per_class_ranked : per_ranked));
}

double inv_work_pairs(double n, double d, double w)
{
	return slow_pair * 2 * n * n / 2 * (d + w);
}

double inv_work_intervals(double n, double figures)
{
	return per_draw * INV_RESAMPLES * n * figures;
}

/* Weights of a classifier: one layer, or hidden layers of equal width between two others.
 */
static double weights_of(const inv_work_sizes *s, double inputs, double layers)
{
	double hidden = layers ? (double)inv_option_count(s->options, "probe-hidden") : inputs;

	if (!layers)
		return inputs * s->classes;
	return hidden * (inputs + (layers - 1) * hidden + s->classes);
}

double inv_work_classifier(const inv_work_sizes *s, double examples, double inputs,
                           double layers)
{
	double weights = weights_of(s, inputs, layers);
	double epochs = (double)inv_option_count(s->options, "probe-epochs");

	return epochs * examples *
	       (weights * (TRAINED * 2 * (layers ? 1 : slow_train) + per_parameter / BATCH) +
	        s->classes * per_logit + per_example);
}

double inv_work_linear(inv_work_sizes *s)
{
	if (s->linear)
		return 0;
	s->linear = true;
	return inv_work_classifier(s, s->train, s->d, 0);
}

double inv_work_answers(const inv_work_sizes *s, double rows, double inputs, double layers)
{
	return rows * (2 * weights_of(s, inputs, layers) + per_value * inputs);
}

double inv_work_rigid(double pairs, double width)
{
	return 2 * pairs * width * width + (svd_cube * width + svd_square) * width * width;
}

double inv_work_tsne(double n, double width)
{
	double grid = n > few ? per_iteration : per_pair * n * n;

	return inv_work_search(n, n, width) + ITERATIONS * (per_point * n + grid);
}

double inv_work_graphs(double n, double width)
{
	return inv_work_search(n, n, width) + per_graph_row * n;
}

double inv_work_pass(double rows, double width)
{
	return per_value * rows * width;
}
