/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsne.c - invar_tsne: an embedding in the plane that keeps neighbours together.
 *
 * Steps: the 3 perplexity nearest neighbours of every row, exactly (math/neighbours.h);
 * P from them (math/affinity.h); a start from the first two principal components or from
 * random numbers, with a standard deviation of 1e-4; the descent (tsne_descent.h).
 * Defaults are scikit-learn's.
 *
 * Repulsion is by interpolation on a grid and FFT (math/repulsion.h), not by
 * Barnes and Hut's tree: its cost per iteration is linear in the points and small, its
 * error is the same everywhere and falls with the spacing of nodes, and its sums
 * have a fixed order without a tree being built on one thread in every iteration.
 */
#include "measure/tsne.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/affinity.h"
#include "math/kernels.h"
#include "math/neighbours.h"
#include "math/principal.h"
#include "measure/labels.h"
#include "measure/tsne_descent.h"
#include "run/results.h"

enum { BLOCK = 2048 }; /* rows between two looks at the hooks */

static const double start_deviation = 1e-4;

static const invar_option rows_of_options[] = {
	{.name = "perplexity",
     .type = INVAR_OPTION_NUMBER,
     .initial = "30",
     .min = 1,
     .max = 1e6,
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE,
     .meta = "F",
     .group = "Embedding",
     .help = "effective number of neighbours of a row"},
	{.name = "iterations",
     .type = INVAR_OPTION_COUNT,
     .initial = "1000",
     .min = 1,
     .max = 1e6,
     .flags = INVAR_OPTION_RESULT,
     .meta = "N",
     .group = "Embedding",
     .help = "at most so many, the exaggerated ones included"},
	{.name = "exaggeration",
     .type = INVAR_OPTION_NUMBER,
     .initial = "12",
     .min = 1,
     .max = 1e4,
     .flags = INVAR_OPTION_RESULT,
     .meta = "F",
     .group = "Embedding",
     .help = "factor of attraction in the early iterations"},
	{.name = "early-iterations",
     .type = INVAR_OPTION_COUNT,
     .initial = "250",
     .max = 1e6,
     .flags = INVAR_OPTION_RESULT,
     .meta = "N",
     .group = "Embedding",
     .help = "number of exaggerated iterations"},
	{.name = "learning-rate",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1e9,
     .flags = INVAR_OPTION_RESULT,
     .meta = "F",
     .group = "Embedding",
     .help = "step size; 0: rows / exaggeration / 4, at least 50"},
	{.name = "init",
     .type = INVAR_OPTION_TEXT,
     .initial = "pca",
     .choices = "pca|random",
     .flags = INVAR_OPTION_RESULT,
     .meta = "WORD",
     .group = "Embedding",
     .help = "start from principal components or from random points"},
	{INV_SEED_ROW, .flags = INVAR_OPTION_RESULT},
	{0},
};

invar_status inv_tsne_declare(invar_options *o)
{
	return inv_options_add_rows(o, rows_of_options);
}

typedef struct tsne_job {
	const invar_context *ctx;
	const invar_tsne_rows *in;
	const invar_options *o;
	size_t n, k;
	inv_affinity joint;
	uint64_t crowded; /* rows whose perplexity duplicates put out of reach */
	float *y;         /* [n, 2] */
	uint64_t iterations;
	double kl;
} tsne_job;

/* ---- What is embedded -------------------------------------------------------------- */

static bool all_rows_equal(const invar_tsne_rows *in)
{
	for (uint64_t i = 1; i < in->count; i++)
		if (memcmp(in->rows, in->rows + i * in->dim, in->dim * sizeof *in->rows) != 0)
			return false;
	return true;
}

static invar_status check_finite(const invar_context *ctx, const invar_tsne_rows *in)
{
	struct inv_kernels kernels;

	inv_kernels_init(&kernels, ctx->cpu);
	for (uint64_t i = 0; i < in->count; i++)
		if (!kernels.all_finite(in->rows + i * in->dim, in->dim))
			return inv_fail(INVAR_E_NUMERIC,
			                "row %" PRIu64 " is not finite; remove or repair it", i);
	return INVAR_OK;
}

static invar_status check_parts(const invar_tsne_rows *in)
{
	uint64_t total = 0;

	for (size_t i = 0; i < in->parts; i++)
		total += in->part_rows[i];
	if (in->parts && total != in->count)
		return inv_fail(INVAR_E_USE,
		                "the parts have %" PRIu64 " rows in all, but there are %" PRIu64,
		                total, in->count);
	return INVAR_OK;
}

static invar_status check_input(const tsne_job *j)
{
	const invar_tsne_rows *in = j->in;
	double perplexity = inv_option_number(j->o, "perplexity");
	invar_status st;

	if (in->count < 4 || !in->dim)
		return inv_fail(
			INVAR_E_USE,
			"an embedding needs at least 4 rows that are not empty, not %" PRIu64,
			in->count);
	if (in->count >= UINT32_MAX)
		return inv_fail(INVAR_E_USE, "%" PRIu64 " rows are too many; at most %" PRIu32,
		                in->count, UINT32_MAX - 1);
	if (!(perplexity < (double)(in->count - 1)))
		return inv_fail(INVAR_E_USE,
		                "@perplexity %g is too large for %" PRIu64
		                " rows; it must be below %" PRIu64,
		                perplexity, in->count, in->count - 1);
	if ((st = check_parts(in)) != INVAR_OK || (st = check_finite(j->ctx, in)) != INVAR_OK)
		return st;
	if (all_rows_equal(in))
		return inv_fail(INVAR_E_NUMERIC,
		                "all %" PRIu64 " rows are equal, so there is nothing to embed",
		                in->count);
	return INVAR_OK;
}

/* ---- Neighbours and P --------------------------------------------------------------- */

static invar_status find_neighbours(const tsne_job *j, uint32_t *index, double *squared)
{
	inv_neighbours *p;
	invar_status st =
		inv_neighbours_new(j->ctx, j->in->rows, j->n, j->in->dim, NULL, j->k, &p);

	for (size_t first = 0; first < j->n && st == INVAR_OK; first += BLOCK) {
		size_t count = j->n - first < BLOCK ? j->n - first : BLOCK;

		if ((st = inv_progress(j->ctx, "neighbours", first, j->n)) == INVAR_OK)
			inv_nearest_others(p, first, count, index + first * j->k,
			                   squared + first * j->k);
	}
	inv_neighbours_free(p);
	return st;
}

static invar_status no_memory(const tsne_job *j)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu neighbours of %zu rows", j->k,
	                j->n);
}

/* Distances are needed only until p is known, and are the larger half. */
static invar_status find_conditional(tsne_job *j, uint32_t *index, float *p)
{
	double *squared = inv_alloc(j->n * j->k * sizeof *squared);
	bool *reached = inv_alloc(j->n * sizeof *reached);
	invar_status st =
		squared && reached ? find_neighbours(j, index, squared) : no_memory(j);

	if (st == INVAR_OK)
		inv_conditional(j->ctx, squared, j->n, j->k, inv_option_number(j->o, "perplexity"),
		                p, NULL, reached);
	for (size_t i = 0; i < j->n && st == INVAR_OK; i++)
		j->crowded += !reached[i];
	inv_free(squared);
	inv_free(reached);
	return st;
}

static invar_status find_joint(tsne_job *j)
{
	uint32_t *index = inv_alloc(j->n * j->k * sizeof *index);
	float *p = inv_alloc(j->n * j->k * sizeof *p);
	invar_status st = index && p ? find_conditional(j, index, p) : no_memory(j);

	if (st == INVAR_OK)
		st = inv_affinity_join(j->ctx, j->n, j->k, index, p, &j->joint);
	inv_free(index);
	inv_free(p);
	return st;
}

/* ---- The start ------------------------------------------------------------------- */

static void start_at_random(const tsne_job *j)
{
	inv_stream s = inv_stream_of(inv_option_count(j->o, "seed"), "tsne/start", 0);

	for (size_t i = 0; i < j->n; i++) {
		float z[2];

		inv_fill_normal(&s, (uint32_t)i, z, 2);
		j->y[2 * i] = (float)(start_deviation * z[0]);
		j->y[2 * i + 1] = (float)(start_deviation * z[1]);
	}
}

static double deviation_of(const double *scores, size_t n, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += scores[2 * i + column] * scores[2 * i + column];
	return sqrt(sum / (double)n);
}

/*
 * The first component gets the deviation, and the second follows in proportion. One that
 * has no variance stays random: a line would never leave itself.
 */
static invar_status start_at_components(const tsne_job *j)
{
	double *scores = inv_alloc(2 * j->n * sizeof *scores), first;
	invar_status st;

	if (!scores)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for principal components");
	st = inv_principal(j->ctx, j->in->rows, j->n, j->in->dim, 2,
	                   inv_option_count(j->o, "seed"), scores);
	first = st == INVAR_OK ? deviation_of(scores, j->n, 0) : 0;
	for (size_t c = 0; c < 2 && first > 0; c++) {
		bool varies = deviation_of(scores, j->n, c) > 1e-6 * first;

		for (size_t i = 0; i < j->n && varies; i++)
			j->y[2 * i + c] = (float)(start_deviation / first * scores[2 * i + c]);
	}
	inv_free(scores);
	return st;
}

static invar_status find_start(const tsne_job *j)
{
	start_at_random(j);
	return inv_option_is(j->o, "init", "pca") ? start_at_components(j) : INVAR_OK;
}

/* ---- Results ------------------------------------------------------------------------- */

static invar_status put_number(invar_results *r, const char *id, const char *row,
                               double number, unsigned digits, int better)
{
	const invar_metric metric = {.id = id,
	                             .measurement = "tsne",
	                             .row = row,
	                             .unit = digits ? INVAR_UNIT_NUMBER : INVAR_UNIT_COUNT,
	                             .digits = digits,
	                             .better = better};
	const invar_value value = {.value = number, .low = NAN, .high = NAN};
	invar_status st = inv_results_add_metric(r, &metric);

	return st == INVAR_OK ? inv_results_put(r, id, "tsne", &value) : st;
}

/* Classes are those of the labels there are, by name or by number. */
typedef struct naming {
	inv_labels labels;
	char (*text)[INV_CLASS_TEXT];
	const char **name;
} naming;

static invar_status name_classes(const invar_tsne_rows *in, naming *out)
{
	int64_t *known = inv_calloc(in->count, sizeof *known);
	uint64_t labelled = 0, names = 0;
	invar_status st;

	for (uint64_t i = 0; i < in->count && known && in->labels; i++)
		if (in->labels[i] >= 0)
			known[labelled++] = in->labels[i];
	st = known ? inv_labels_take(known, labelled, &out->labels)
	           : inv_fail(INVAR_E_NOMEM, "not enough memory for labels");
	inv_free(known);
	if (st != INVAR_OK)
		return st;
	out->text = inv_calloc(out->labels.classes + 1, sizeof *out->text);
	out->name = inv_calloc(out->labels.classes + 1, sizeof *out->name);
	if (!out->text || !out->name)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for names of classes");
	while (in->classes && in->classes[names])
		names++;
	for (uint32_t c = 0; c < out->labels.classes; c++) {
		int64_t label = out->labels.class_label[c];

		out->name[c] = inv_class_text((uint64_t)label < names ? in->classes[label] : NULL,
		                              label, out->text[c]);
	}
	return INVAR_OK;
}

static int32_t part_of(const invar_tsne_rows *in, uint64_t row)
{
	int32_t part = 0;

	while ((size_t)part + 1 < in->parts && row >= in->part_rows[part])
		row -= in->part_rows[part++];
	return part;
}

/* What a picture can show: all points, or INV_MAX_PLOTTED of them, evenly. */
static invar_status put_points(const tsne_job *j, const naming *names, invar_results *r)
{
	const invar_tsne_rows *in = j->in;
	size_t count = j->n < INV_MAX_PLOTTED ? j->n : INV_MAX_PLOTTED;
	double *x = inv_calloc(2 * count, sizeof *x);
	int32_t *number = inv_calloc(2 * count, sizeof *number);
	inv_points points = {.count = count, .total = j->n, .x = x, .y = x + count};
	invar_status st = INVAR_OK;

	if (!x || !number)
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for %zu points", count);
	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		size_t row = i * j->n / count;
		int64_t label = in->labels ? in->labels[row] : -1;

		x[i] = j->y[2 * row];
		x[count + i] = j->y[2 * row + 1];
		number[i] = label < 0 ? -1 : (int32_t)inv_labels_class(&names->labels, label);
		number[count + i] = part_of(in, row);
	}
	points.label = names->labels.classes ? number : NULL;
	points.mark = in->parts > 1 ? number + count : NULL;
	if (st == INVAR_OK)
		st = inv_results_put_points(r, "tsne", "tsne", &points);
	inv_free(x);
	inv_free(number);
	return st;
}

static invar_status put_scatter(const tsne_job *j, invar_results *r)
{
	const inv_axis across = {.title = ""}, up = {.title = ""};
	naming names = {0};
	char title[64];
	invar_status st = name_classes(j->in, &names);
	const inv_scatter scatter = {.id = "tsne",
	                             .measurement = "tsne",
	                             .title = title,
	                             .x = &across,
	                             .y = &up,
	                             .classes = names.name,
	                             .class_count = names.labels.classes,
	                             .marks = j->in->part_titles,
	                             .mark_count = j->in->parts > 1 ? j->in->parts : 0};

	snprintf(title, sizeof title, "embedding by t-SNE, perplexity %g",
	         inv_option_number(j->o, "perplexity"));
	if (st == INVAR_OK)
		st = inv_results_add_scatter(r, &scatter);
	if (st == INVAR_OK)
		st = put_points(j, &names, r);
	inv_labels_clear(&names.labels);
	inv_free(names.text);
	inv_free(names.name);
	return st;
}

static invar_status note_crowded(const tsne_job *j, invar_results *r)
{
	char sentence[200];

	if (!j->crowded)
		return INVAR_OK;
	snprintf(sentence, sizeof sentence,
	         "%" PRIu64
	         " row%s more than %g equally near neighbours, such as duplicates, and "
	         "treat%s them alike",
	         j->crowded, j->crowded == 1 ? " has" : "s have",
	         inv_option_number(j->o, "perplexity"), j->crowded == 1 ? "s" : "");
	return inv_results_note(r, sentence);
}

static invar_status put_results(const tsne_job *j, invar_results *r)
{
	invar_status st;

	if ((st = inv_results_describe(r, "points", json_integer((json_int_t)j->n))) !=
	        INVAR_OK ||
	    (st = inv_results_describe(r, "dim", json_integer(j->in->dim))) != INVAR_OK ||
	    (st = inv_results_add_column(r, "tsne", "t-SNE", NULL)) != INVAR_OK ||
	    (st = inv_results_add_measurement(r, "tsne", "t-SNE")) != INVAR_OK ||
	    (st = put_number(r, "tsne.kl", "KL divergence", j->kl, 4, -1)) != INVAR_OK ||
	    (st = put_number(r, "tsne.iterations", "iterations", (double)j->iterations, 0,
	                     0)) != INVAR_OK ||
	    (st = inv_results_options(
			 r, "tsne", inv_options_json(j->o, INVAR_OPTION_RESULT))) != INVAR_OK ||
	    (st = note_crowded(j, r)) != INVAR_OK)
		return st;
	return put_scatter(j, r);
}

/* ---- The whole ---------------------------------------------------------------------- */

static invar_status embed(tsne_job *j)
{
	double auto_rate = (double)j->n / inv_option_number(j->o, "exaggeration") / 4;
	inv_descent o = {.exaggeration = inv_option_number(j->o, "exaggeration"),
	                 .learning_rate = inv_option_number(j->o, "learning-rate"),
	                 .early = inv_option_count(j->o, "early-iterations"),
	                 .iterations = inv_option_count(j->o, "iterations")};
	invar_status st;

	if (!(o.learning_rate > 0))
		o.learning_rate = auto_rate > 50 ? auto_rate : 50;
	if ((st = find_joint(j)) == INVAR_OK && (st = find_start(j)) == INVAR_OK)
		st = inv_tsne_descend(j->ctx, &j->joint, &o, j->y, &j->iterations, &j->kl);
	inv_affinity_clear(&j->joint);
	return st;
}

static size_t neighbours_for(double perplexity, size_t n)
{
	size_t k = (size_t)(3 * perplexity + 1);

	return k < n - 1 ? k : n - 1;
}

invar_status invar_tsne(invar_context *ctx, const invar_tsne_rows *in,
                        const invar_options *o, float *points, invar_results **out)
{
	invar_tsne_rows given = {0};
	tsne_job j = {.ctx = ctx, .in = &given, .o = o, .n = in->count, .y = points};
	invar_status st;

	*out = NULL;
	memcpy(&given, in, in->size < sizeof given ? in->size : sizeof given);
	if ((st = inv_options_expect(o, "tsne")) != INVAR_OK ||
	    (st = check_input(&j)) != INVAR_OK)
		return st;
	j.k = neighbours_for(inv_option_number(o, "perplexity"), j.n);
	if ((st = embed(&j)) != INVAR_OK || (st = inv_results_new(out)) != INVAR_OK)
		return st;
	if ((st = put_results(&j, *out)) != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}
