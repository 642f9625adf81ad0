/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsne.c - invar_tsne: an embedding in the plane that keeps neighbours together.
 *
 * Steps: the 3 perplexity nearest neighbours of every row, exactly (math/neighbours.h);
 * P from them (math/affinity.h); a start from the first two principal components or from
 * random numbers, with a standard deviation of 1e-4; the descent.
 * Defaults are scikit-learn's.
 *
 * Repulsion is by interpolation on a grid and FFT (math/repulsion.h), not by
 * Barnes and Hut's tree: its cost per iteration is linear in the points and small, its
 * error is the same everywhere and falls with the spacing of nodes, and its sums
 * have a fixed order without a tree being built on one thread in every iteration.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/threads.h"
#include "math/affinity.h"
#include "math/kernels.h"
#include "math/neighbours.h"
#include "math/principal.h"
#include "math/repulsion.h"
#include "measure/eval_options.h"

enum { BLOCK = 2048 }; /* rows between two calls of the hooks */

static const double start_deviation = 1e-4;

static const invar_option rows_of_options[] = {
	{"perplexity", INVAR_OPTION_NUMBER, "30", .min = 1, .max = 1e6,
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE, .meta = "F", .group = "Embedding",
     .help = "effective number of neighbours of a row"},
	{"iterations", INVAR_OPTION_COUNT, "1000", .min = 1, .max = 1e6,
     .flags = INVAR_OPTION_RESULT, .meta = "N", .group = "Embedding",
     .help = "at most so many, the exaggerated ones included"},
	{"exaggeration", INVAR_OPTION_NUMBER, "12", .min = 1, .max = 1e4,
     .flags = INVAR_OPTION_RESULT, .meta = "F", .group = "Embedding",
     .help = "factor of attraction in the early iterations"},
	{"early-iterations", INVAR_OPTION_COUNT, "250", .max = 1e6,
     .flags = INVAR_OPTION_RESULT, .meta = "N", .group = "Embedding",
     .help = "number of exaggerated iterations"},
	{"learning-rate", INVAR_OPTION_NUMBER, "0", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "F", .group = "Embedding",
     .help = "step size; 0: rows / exaggeration / 4, at least 50"},
	{"init", INVAR_OPTION_TEXT, "pca", .choices = "pca|random",
     .flags = INVAR_OPTION_RESULT, .meta = "WORD", .group = "Embedding",
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

static invar_status check_input(const tsne_job *j)
{
	const invar_tsne_rows *in = j->in;
	double perplexity = inv_option_number(j->o, "perplexity");
	size_t bytes = in->dim * sizeof *in->rows;
	struct inv_kernels kernels;
	uint64_t total = 0, differ = 0;

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
	for (size_t i = 0; i < in->parts; i++)
		total += in->part_rows[i];
	if (in->parts && total != in->count)
		return inv_fail(INVAR_E_USE,
		                "the parts have %" PRIu64 " rows in all, but there are %" PRIu64,
		                total, in->count);
	inv_kernels_init(&kernels, j->ctx->cpu);
	for (uint64_t i = 0; i < in->count; i++) {
		const float *row = in->rows + i * in->dim;

		if (!kernels.all_finite(row, in->dim))
			return inv_fail(INVAR_E_NUMERIC,
			                "row %" PRIu64 " is not finite; remove or repair it", i);
		differ += memcmp(in->rows, row, bytes) != 0;
	}
	if (!differ)
		return inv_fail(INVAR_E_NUMERIC,
		                "all %" PRIu64 " rows are equal, so there is nothing to embed",
		                in->count);
	return INVAR_OK;
}

/* Neighbours and distances are freed once p is known: they are the larger half. */
static invar_status find_joint(tsne_job *j)
{
	uint32_t *index = NULL;
	float *p = NULL;
	double *squared = NULL;
	bool *reached = NULL;
	inv_neighbours *gallery = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_new_array(&index, j->n * j->k));
	INV_TRY_OR(end, inv_new_array(&p, j->n * j->k));
	INV_TRY_OR(end, inv_new_array(&squared, j->n * j->k));
	INV_TRY_OR(end, inv_new_array(&reached, j->n));
	INV_TRY_OR(end, inv_neighbours_new(j->ctx, j->in->rows, j->n, j->in->dim, NULL, j->k,
	                                   &gallery));
	for (size_t first = 0; first < j->n; first += BLOCK) {
		INV_TRY_OR(end, inv_progress(j->ctx, "neighbours", first, j->n));
		inv_nearest_others(gallery, first, inv_min(j->n - first, BLOCK),
		                   index + first * j->k, squared + first * j->k);
	}
	inv_neighbours_free(gallery);
	gallery = NULL;
	inv_conditional(j->ctx, squared, j->n, j->k, inv_option_number(j->o, "perplexity"), p,
	                NULL, reached);
	inv_free(squared);
	squared = NULL;
	for (size_t i = 0; i < j->n; i++)
		j->crowded += !reached[i];
	st = inv_affinity_join(j->n, j->k, index, p, &j->joint);
end:
	inv_neighbours_free(gallery);
	inv_free(index);
	inv_free(p);
	inv_free(squared);
	inv_free(reached);
	return st;
}

/* ---- The start ------------------------------------------------------------------- */

static double score_deviation(const double *scores, size_t n, size_t column)
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
	double *scores, first;
	invar_status st;

	INV_TRY(inv_new_array(&scores, 2 * j->n));
	INV_TRY_OR(end, inv_principal(j->ctx, j->in->rows, j->n, j->in->dim, 2,
	                              inv_option_count(j->o, "seed"), scores));
	first = score_deviation(scores, j->n, 0);
	for (size_t c = 0; c < 2 && first > 0; c++) {
		bool varies = score_deviation(scores, j->n, c) > 1e-6 * first;

		for (size_t i = 0; i < j->n && varies; i++)
			j->y[2 * i + c] = (float)(start_deviation / first * scores[2 * i + c]);
	}
end:
	inv_free(scores);
	return st;
}

/* ---- The descent --------------------------------------------------------------------- */

/*
 * dKL/dy_i = 4 sum_j (P_ij - Q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2). Momentum, gains and
 * when to stop are scikit-learn's: P is exaggerated at first, with momentum 0.5, then a
 * second phase begins anew with momentum 0.8.
 */
typedef struct descent_settings {
	double exaggeration;
	double learning_rate;
	uint64_t early, iterations; /* exaggerated ones, all of them */
} descent_settings;

enum {
	STEP = 4096,   /* coordinates per block */
	CHECK = 50,    /* iterations between two looks at the divergence */
	PATIENCE = 300 /* iterations without progress that end a phase */
};

static const float least_gain = 0.01f;
static const double least_gradient = 1e-7; /* norm of a gradient that ends a phase */

typedef struct descent {
	const invar_context *ctx;
	const inv_affinity *joint;
	const descent_settings *o;
	inv_repulsion *repulsion;
	size_t values; /* 2 n */
	float *y, *pull, *update, *gains;
	double *push, *norms; /* [values], [blocks] */
	double z;
	float momentum;
	double exaggeration; /* of the running phase */
} descent;

static void step_block(void *user, size_t block, unsigned thread)
{
	const descent *d = user;
	size_t end = (block + 1) * STEP < d->values ? (block + 1) * STEP : d->values;
	double norm = 0;

	(void)thread;
	for (size_t i = block * STEP; i < end; i++) {
		float g = (float)(4 * (d->exaggeration * d->pull[i] - d->push[i] / d->z));
		float gain = d->update[i] * g < 0 ? d->gains[i] + 0.2f : d->gains[i] * 0.8f;

		d->gains[i] = gain > least_gain ? gain : least_gain;
		g *= d->gains[i];
		norm += (double)g * g;
		d->update[i] = d->momentum * d->update[i] - (float)d->o->learning_rate * g;
		d->y[i] += d->update[i];
	}
	d->norms[block] = norm;
}

/* Repulsion fails by E_NUMERIC where coordinates are not finite. */
static invar_status find_repulsion(descent *d, uint64_t iteration)
{
	invar_status st = inv_repulsion_find(d->repulsion, d->y, d->push, &d->z);

	if (st != INVAR_E_NUMERIC)
		return st;
	return inv_fail(INVAR_E_NUMERIC,
	                "the embedding diverged at iteration %" PRIu64 "; lower @learning-rate",
	                iteration);
}

/* Iterations from *done on, up to `end` or until there is nothing to gain. */
static invar_status run_phase(descent *d, double exaggeration, float momentum, uint64_t end,
                              uint64_t *done)
{
	size_t blocks = inv_blocks(d->values, STEP);
	double best = INFINITY, kl;
	uint64_t best_at = *done;

	d->exaggeration = exaggeration;
	d->momentum = momentum;
	memset(d->update, 0, d->values * sizeof *d->update);
	for (size_t i = 0; i < d->values; i++)
		d->gains[i] = 1;
	while (*done < end) {
		bool look = (*done + 1) % CHECK == 0;

		INV_TRY(inv_progress(d->ctx, "t-SNE", *done, d->o->iterations));
		inv_affinity_attract(d->ctx, d->joint, d->y, d->pull);
		INV_TRY(find_repulsion(d, *done));
		if (look)
			INV_TRY(inv_affinity_divergence(d->ctx, d->joint, d->y, d->z, &kl));
		inv_parallel(d->ctx, blocks, step_block, d);
		++*done;
		if (!look)
			continue;
		if (kl < best) {
			best = kl;
			best_at = *done;
		}
		if (*done - best_at > PATIENCE ||
		    sqrt(inv_sum_in_order(d->norms, blocks)) <= least_gradient)
			break;
	}
	return INVAR_OK;
}

/* y [n, 2] is the start and becomes the embedding; *done: iterations, *kl: divergence. */
static invar_status descend_tsne(const invar_context *ctx, const inv_affinity *joint,
                                 const descent_settings *o, float *y, uint64_t *done,
                                 double *kl)
{
	size_t values = 2 * joint->n;
	uint64_t early = o->early < o->iterations ? o->early : o->iterations;
	descent d = {.ctx = ctx, .joint = joint, .o = o, .values = values, .y = y};
	inv_pool scratch = {0};
	invar_status st;

	*done = 0;
	*kl = NAN;
	INV_TRY(inv_repulsion_new(ctx, joint->n, &d.repulsion));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &d.pull, values));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &d.update, values));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &d.gains, values));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &d.push, values));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &d.norms, inv_blocks(values, STEP)));
	INV_TRY_OR(end, run_phase(&d, o->exaggeration, 0.5f, early, done));
	INV_TRY_OR(end, run_phase(&d, 1, 0.8f, o->iterations, done));
	INV_TRY_OR(end, find_repulsion(&d, *done));
	st = inv_affinity_divergence(ctx, joint, y, d.z, kl);
end:
	inv_repulsion_free(d.repulsion);
	inv_pool_free(&scratch);
	return st;
}

/* ---- Results ------------------------------------------------------------------------- */

/* Classes are those of the labels there are, by name or by number. */
typedef struct naming {
	inv_labels labels;
	char (*text)[INV_CLASS_TEXT];
	const char **name;
} naming;

static invar_status name_classes(const invar_tsne_rows *in, inv_pool *scratch, naming *out)
{
	uint64_t labelled = 0, names = 0;
	int64_t *known;

	INV_TRY(inv_pool_zeros(scratch, &known, in->count));
	for (uint64_t i = 0; i < in->count && in->labels; i++)
		if (in->labels[i] >= 0)
			known[labelled++] = in->labels[i];
	INV_TRY(inv_labels_take(known, labelled, &out->labels));
	INV_TRY(inv_pool_zeros(scratch, &out->text, out->labels.classes));
	INV_TRY(inv_pool_zeros(scratch, &out->name, out->labels.classes + 1));
	while (in->classes && in->classes[names])
		names++;
	for (uint32_t c = 0; c < out->labels.classes; c++) {
		int64_t label = out->labels.class_label[c];

		out->name[c] = inv_class_text((uint64_t)label < names ? in->classes[label] : NULL,
		                              label, out->text[c]);
	}
	return INVAR_OK;
}

/* What a picture can show: all points, or INV_MAX_PLOTTED of them, evenly. */
static invar_status put_tsne_points(const tsne_job *j, const naming *names,
                                    inv_pool *scratch, invar_results *r)
{
	const invar_tsne_rows *in = j->in;
	size_t count = (size_t)inv_min(j->n, INV_MAX_PLOTTED);
	double *x, *y;
	int32_t *class, *mark;
	inv_points points = {.count = count, .total = j->n};

	INV_TRY(inv_pool_zeros(scratch, &x, count));
	INV_TRY(inv_pool_zeros(scratch, &y, count));
	INV_TRY(inv_pool_zeros(scratch, &class, count));
	INV_TRY(inv_pool_zeros(scratch, &mark, count));
	for (size_t i = 0; i < count; i++) {
		size_t row = i * j->n / count;
		uint64_t rest = row;
		int64_t label = in->labels ? in->labels[row] : -1;

		x[i] = j->y[2 * row];
		y[i] = j->y[2 * row + 1];
		class[i] = label < 0 ? -1 : (int32_t)inv_labels_class(&names->labels, label);
		while ((size_t)mark[i] + 1 < in->parts && rest >= in->part_rows[mark[i]])
			rest -= in->part_rows[mark[i]++];
	}
	points.x = x;
	points.y = y;
	points.label = names->labels.classes ? class : NULL;
	points.mark = in->parts > 1 ? mark : NULL;
	return inv_results_put_points(r, "tsne", "tsne", &points);
}

static invar_status put_scatter(const tsne_job *j, invar_results *r)
{
	const inv_axis across = {.title = ""}, up = {.title = ""};
	inv_pool scratch = {0};
	naming names = {0};
	char title[64];
	inv_scatter scatter = {.id = "tsne",
	                       .measurement = "tsne",
	                       .title = title,
	                       .x = &across,
	                       .y = &up,
	                       .marks = j->in->part_titles,
	                       .mark_count = j->in->parts > 1 ? j->in->parts : 0};
	invar_status st;

	snprintf(title, sizeof title, "embedding by t-SNE, perplexity %g",
	         inv_option_number(j->o, "perplexity"));
	INV_TRY_OR(end, name_classes(j->in, &scratch, &names));
	scatter.classes = names.name;
	scatter.class_count = names.labels.classes;
	INV_TRY_OR(end, inv_results_add_scatter(r, &scatter));
	st = put_tsne_points(j, &names, &scratch, r);
end:
	inv_labels_clear(&names.labels);
	inv_pool_free(&scratch);
	return st;
}

static const invar_metric metrics[] = {
	INV_NUMBER_METRIC("tsne", "tsne.kl", "KL divergence", NULL, -1, 4),
	{.id = "tsne.iterations",
     .measurement = "tsne",
     .row = "iterations",
     .unit = INVAR_UNIT_COUNT},
	{0},
};

invar_status invar_tsne(invar_context *ctx, const invar_tsne_rows *in,
                        const invar_options *o, float *points, invar_results **out)
{
	invar_tsne_rows given = {0};
	tsne_job j = {.ctx = ctx, .in = &given, .o = o, .n = in->count, .y = points};
	descent_settings settings;
	invar_status st;
	inv_stream s;
	char sentence[200];

	*out = NULL;
	memcpy(&given, in, in->size < sizeof given ? in->size : sizeof given);
	INV_TRY(inv_options_expect(o, "tsne"));
	INV_TRY(check_input(&j));
	j.k = (size_t)inv_min((uint64_t)(3 * inv_option_number(o, "perplexity") + 1), j.n - 1);
	settings = (descent_settings){.exaggeration = inv_option_number(o, "exaggeration"),
	                              .learning_rate = inv_option_number(o, "learning-rate"),
	                              .early = inv_option_count(o, "early-iterations"),
	                              .iterations = inv_option_count(o, "iterations")};
	if (!(settings.learning_rate > 0))
		settings.learning_rate = fmax((double)j.n / settings.exaggeration / 4, 50);

	INV_TRY_OR(end, find_joint(&j));
	s = inv_stream_of(inv_option_count(j.o, "seed"), "tsne/start", 0);
	for (size_t i = 0; i < j.n; i++) {
		float z[2];

		inv_fill_normal(&s, (uint32_t)i, z, 2);
		j.y[2 * i] = (float)(start_deviation * z[0]);
		j.y[2 * i + 1] = (float)(start_deviation * z[1]);
	}
	if (inv_option_is(o, "init", "pca"))
		INV_TRY_OR(end, start_at_components(&j));
	INV_TRY_OR(end, descend_tsne(ctx, &j.joint, &settings, j.y, &j.iterations, &j.kl));
	INV_TRY_OR(end, inv_results_new(out));
	INV_TRY_OR(end, inv_results_describe(*out, "points", json_integer((json_int_t)j.n)));
	INV_TRY_OR(end, inv_results_describe(*out, "dim", json_integer(j.in->dim)));
	INV_TRY_OR(end, inv_results_add_column(*out, "tsne", "t-SNE", NULL));
	INV_TRY_OR(end, inv_results_declare(*out, "tsne", "t-SNE", metrics));
	INV_TRY_OR(end, inv_put_number(*out, "tsne.kl", "tsne", j.kl, 0));
	INV_TRY_OR(end,
	           inv_put_number(*out, "tsne.iterations", "tsne", (double)j.iterations, 0));
	INV_TRY_OR(
		end, inv_results_options(*out, "tsne", inv_options_json(j.o, INVAR_OPTION_RESULT)));
	if (j.crowded) {
		snprintf(sentence, sizeof sentence,
		         "%" PRIu64
		         " row%s more than %g equally near neighbours, such as duplicates, and "
		         "treat%s them alike",
		         j.crowded, j.crowded == 1 ? " has" : "s have",
		         inv_option_number(j.o, "perplexity"), j.crowded == 1 ? "s" : "");
		INV_TRY_OR(end, inv_results_note(*out, sentence));
	}
	st = put_scatter(&j, *out);
end:
	inv_affinity_clear(&j.joint);
	return inv_results_give(st, out);
}
