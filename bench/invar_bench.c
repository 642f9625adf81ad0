/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invar_bench.c - invar's side of the benchmarks, driven by lines of text.
 *
 *     invar_bench --threads 2
 *     ready
 *     step waco 384 10         ->  seconds of 10 steps of a loss at d = 384
 *     sliced 1024 384 1000 4   ->  seconds of 4 sliced distances of 1,024 points along
 *                                  1,000 directions, drawn every time; `given`: given,
 *                                  `orthogonal`: in blocks of orthogonal ones
 *     deviation 1024 384 100 40   ->  relative standard deviation of such a distance
 *                                  over 40 draws
 *     structure 8000 384       ->  seconds of structure over 8,000 points
 *     graph 8000 384           ->  seconds of graph statistics before and after E
 *     collision 8000 8000 2048 ->  seconds of the raw rate, 8,000 points and copies
 *     neighbours 8000 384 50   ->  seconds of the 50 nearest other rows of each of 8,000
 *     probe nc 5000 384 2      ->  seconds of 2 epochs of NC on 5,000 rows; lc, ec too
 *     augment rotation 256 96 8   ->  seconds of 8 batches of 256 pictures, 96 x 96 x 3,
 *                                  new draws every time; affine, crop, noise too
 *     encode NET 96 8 5 FILE   ->  seconds of 5 batches of 8 tensors, 3 x 96 x 96, through
 *                                  the encoder of a weight file; NET is for the peers;
 *                                  "bfloat16" or "int8" after FILE: in this precision
 *     retrieval image 10000 2000 512   ->  seconds of the ranks of own rows, by image or by
 *                                  class
 *     apply 384 16 100         ->  seconds of 100 calls with 16 rows
 *     open 384 10              ->  seconds of opening that adapter 10 times
 *     profile waco 384 10      ->  the same, and the time of each part on standard error
 *
 * Data is made and code warmed up before the first timing of each size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/losses/loss.h"
#include "adapter/step.h"
#include "base/rng.h"
#include "images/augment/augment.h"
#include "images/prefetch.h"
#include "images/prepare.h"
#include "math/neighbours.h"
#include "math/places.h"
#include "measure/graph.h"
#include "nn/adamw.h"
#include "nn/classifier.h"

enum { PICTURES = 15 }; /* max kinds of batches */
enum { SAMPLES = 3, HIDDEN = 4096, KEEP_HIDDEN = 1024, CLASSES = 10, SIZES = 4 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(invar_status st)
{
	if (st == INVAR_OK)
		return;
	fprintf(stderr, "invar_bench: %s\n", invar_last_error());
	exit(1);
}

static float *normal_rows(size_t rows, size_t width, const char *purpose)
{
	inv_stream s = inv_stream_of(1, purpose, 0);
	float *x = inv_calloc(rows * width, sizeof *x);

	if (!x)
		exit(1);
	for (size_t i = 0; i < rows; i++)
		inv_fill_normal(&s, (uint32_t)i, x + i * width, width);
	return x;
}

/* ---- Training steps ------------------------------------------------------------ */

typedef struct bench_step {
	const inv_loss *loss;
	size_t d;
	invar_options *options;
	inv_step *step;
	float *rows; /* [(s + 1) N, d], the clean ones first */
} bench_step;

/* The batch is the loss's own: 256 images, or 1024 in two views for SimCLR; keep has the
 * units of its preset and is residual. */
static inv_step_spec step_spec(const inv_loss *loss, const invar_options *o, size_t d)
{
	size_t max = loss->max_samples;

	return (inv_step_spec){.shape = {d, loss->needs_scaled ? KEEP_HIDDEN : HIDDEN, d},
	                       .residual = loss->needs_scaled,
	                       .loss = loss,
	                       .options = o,
	                       .N = loss->batch,
	                       .s = max > 0 && max < SAMPLES ? max : SAMPLES,
	                       .frame = {.distance = 2 * (double)d},
	                       .update = true,
	                       .weight_decay = 1e-4};
}

static void drop_step(bench_step *b)
{
	inv_step_free(b->step);
	invar_options_free(b->options);
	inv_free(b->rows);
}

static void refuse_loss(const char *name)
{
	const char *other;

	fprintf(stderr, "invar_bench: no loss '%s'; there are:", name);
	for (size_t i = 0; (other = inv_loss_name_at(i)); i++)
		fprintf(stderr, " %s", other);
	fputc('\n', stderr);
	exit(1);
}

static bench_step *find_step(const invar_context *ctx, bench_step *known, const char *name,
                             size_t d)
{
	const inv_loss *loss = inv_loss_find(name);
	bench_step *at = known;
	inv_step_spec spec;
	inv_loss_value value;

	if (!loss)
		refuse_loss(name);
	while (at->step && (at->d != d || at->loss != loss) && at < known + SIZES - 1)
		at++;
	if (at->step && at->d == d && at->loss == loss)
		return at;
	drop_step(at);
	die(invar_options_new("loss", &at->options)); /* the paper's values by default */
	die(invar_options_set(at->options, "kind", name));
	spec = step_spec(loss, at->options, d);
	at->loss = loss;
	at->d = d;
	at->rows = normal_rows((spec.s + 1) * spec.N, d, "bench/rows");
	die(inv_step_new(ctx, &spec, &at->step));
	inv_mlp_init(spec.shape, 1, false, at->step->params);
	for (int i = 0; i < 3; i++)
		die(inv_step_run(at->step, at->rows, 1e-3, &value));
	return at;
}

static double time_steps(bench_step *b, int count)
{
	inv_loss_value value;
	double start = now();

	for (int i = 0; i < count; i++)
		die(inv_step_run(b->step, b->rows, 1e-3, &value));
	return now() - start;
}

enum { FORWARD, LOSS, UPDATE, PARTS };

/* Where a step spends its time: the same calls as step.c, one by one. */
static void profile_step(bench_step *b, double part[PARTS])
{
	inv_step *p = b->step;
	const inv_adamw adamw = {0.9, 0.999, 1e-8, 1e-4};
	const float *seen =
		b->rows + (b->loss->codes_clean(p->spec.options) ? 0 : p->spec.N * b->d);
	inv_loss_batch batch = {.clean = b->rows, .codes = p->codes, .step = p->t};
	inv_loss_value value = {0};
	double at[PARTS + 1] = {now()};

	if (p->inputs) { /* the rows of the batch are there from the first steps */
		float *vicinal = p->inputs + (p->spec.s + 1) * p->spec.N * b->d;

		b->loss->draw_vicinal(&p->loss_shape, p->loss_work.state, &batch, vicinal);
		batch.vicinal = vicinal;
		seen = p->inputs;
	}
	die(inv_mlp_steps_forward(p->mlp, p->params, seen, p->spec.residual, p->codes));
	at[1] = now();
	die(b->loss->evaluate(&p->loss_shape, p->loss_work.state, &batch, &value, p->d_codes));
	at[2] = now();
	die(inv_mlp_steps_update(p->mlp, seen, p->d_codes, &adamw, 1e-3, ++p->t));
	at[3] = now();
	for (int i = 0; i < PARTS; i++)
		part[i] += at[i + 1] - at[i];
}

static double profile_steps(bench_step *b, int count)
{
	double part[PARTS] = {0}, start = now();

	for (int i = 0; i < count; i++)
		profile_step(b, part);
	start = now() - start;
	fprintf(stderr,
	        "%s, d %zu, ms per step: forward %.2f, loss %.2f, backward and AdamW %.2f\n",
	        b->loss->name, b->d, part[FORWARD] / count * 1e3, part[LOSS] / count * 1e3,
	        part[UPDATE] / count * 1e3);
	return start;
}

/* ---- Sliced Wasserstein distance ------------------------------------------------- */

static invar_options *sliced_options(size_t L, const char *slices)
{
	invar_options *o;

	die(invar_options_new("dependence", &o));
	die(invar_options_set_number(o, "projections", (double)L));
	die(invar_options_set(o, "slices", slices));
	return o;
}

static double time_sliced(invar_context *ctx, size_t n, size_t d, size_t L, size_t count,
                          bool given, const char *slices)
{
	float *a = normal_rows(n, d, "bench/x"), *b = normal_rows(n, d, "bench/e");
	/* Their length does not affect the time. */
	float *directions = given ? normal_rows(L, d, "bench/directions") : NULL;
	invar_options *o = sliced_options(L, slices);
	double value, start = 0;

	for (size_t i = 0; i <= count; i++) {
		if (i == 1)
			start = now(); /* the first one warms up */
		die(invar_sliced_wasserstein(ctx, a, b, n, (uint32_t)d, directions, o, &value,
		                             NULL));
	}
	start = now() - start;
	invar_options_free(o);
	inv_free(a);
	inv_free(b);
	inv_free(directions);
	return start;
}

/* Two clouds like features: scales that decrease with the axis, one cloud moved and noisy.
 */
static void make_clouds(size_t n, size_t d, float *a, float *b)
{
	for (size_t i = 0; i < n * d; i++) {
		float scale = 1 / sqrtf((float)(i % d + 1));

		b[i] = scale * (0.5f * a[i] + b[i] + 0.3f);
		a[i] *= scale;
	}
}

/* Relative standard deviation of the distance over seeds of its directions. */
static double deviation_of_sliced(invar_context *ctx, size_t n, size_t d, size_t L,
                                  size_t count, const char *slices)
{
	float *a = normal_rows(n, d, "bench/x"), *b = normal_rows(n, d, "bench/e");
	double sum = 0, squares = 0;
	invar_options *o = sliced_options(L, slices);

	make_clouds(n, d, a, b);
	for (size_t seed = 0; seed < count; seed++) {
		double value;

		die(invar_options_set_number(o, "seed", (double)seed));
		die(invar_sliced_wasserstein(ctx, a, b, n, (uint32_t)d, NULL, o, &value, NULL));
		sum += value;
		squares += value * value;
	}
	invar_options_free(o);
	inv_free(a);
	inv_free(b);
	return sqrt((squares - sum * sum / (double)count) / (double)(count - 1)) /
	       (sum / (double)count);
}

/* ---- Structure ------------------------------------------------------------------- */

static double time_structure(invar_context *ctx, size_t n, size_t d)
{
	float *x = normal_rows(n, d, "bench/x"), *e = normal_rows(n, d, "bench/e");
	invar_results *result;
	double start;

	start = now();
	die(invar_structure(ctx, x, (uint32_t)d, e, (uint32_t)d, n, &result));
	start = now() - start;
	invar_results_free(result);
	inv_free(x);
	inv_free(e);
	return start;
}

/* ---- Graphs ---------------------------------------------------------------------- */

enum { CLOUDS = 20, FACTORS = 24 };

/* Clouds of few dimensions and some noise, as features are; the peer draws the same way. */
static float *clouded_rows(size_t n, size_t d)
{
	float *x = normal_rows(n, d, "bench/noise"), *z = normal_rows(n, FACTORS, "bench/z");
	float *centres = normal_rows(CLOUDS, d, "bench/centres");
	float *map = normal_rows(FACTORS, d, "bench/map");

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < d; j++) {
			float sum = 0.3f * x[i * d + j] + 0.5f * centres[i % CLOUDS * d + j];

			for (size_t f = 0; f < FACTORS; f++)
				sum += 0.2f * z[i * FACTORS + f] * map[f * d + j];
			x[i * d + j] = sum;
		}
	inv_free(z);
	inv_free(centres);
	inv_free(map);
	return x;
}

static double time_graph(invar_context *ctx, size_t n, size_t d)
{
	float *x = clouded_rows(n, d), *e = normal_rows(n, d, "bench/e");
	inv_graph_side before, after;
	double start;

	for (size_t i = 0; i < n * d; i++)
		e[i] = x[i] + 0.1f * e[i];
	start = now();
	die(inv_graph_side_new(n, &before));
	die(inv_graph_side_new(n, &after));
	die(inv_graph_measure(ctx, true, x, d, &before));
	die(inv_graph_measure(ctx, true, e, d, &after));
	for (size_t size = 0; size < INV_GRAPH_SIZES; size++) {
		inv_graph_spectral_distance(&before, &after, true, size);
		inv_graph_heat_distance(&before, &after, true, size);
	}
	start = now() - start;
	inv_graph_side_free(&before);
	inv_graph_side_free(&after);
	inv_free(x);
	inv_free(e);
	return start;
}

/* ---- Probes ------------------------------------------------------------------------ */

/* The whole training from initial weights; the last incomplete batch is dropped as usual.
 */
static double time_probe(const invar_context *ctx, char kind, size_t n, size_t d,
                         size_t epochs)
{
	const inv_classifier_spec spec = {.inputs = d,
	                                  .hidden = HIDDEN,
	                                  .classes = CLASSES,
	                                  .hidden_layers = kind == 'l'   ? 0
	                                                   : kind == 'n' ? 1
	                                                                 : 2,
	                                  .epochs = epochs,
	                                  .stage = "bench"};
	float *x = normal_rows(n, d, "bench/x");
	float *params = inv_calloc(inv_classifier_floats(&spec), sizeof *params);
	uint32_t *labels = inv_calloc(n, sizeof *labels);
	double start;

	if (!params || !labels)
		exit(1);
	for (size_t i = 0; i < n; i++)
		labels[i] = (uint32_t)(i % CLASSES);
	start = now();
	die(inv_classifier_train(ctx, &spec, x, labels, (uint32_t)n, params));
	start = now() - start;
	inv_free(x);
	inv_free(params);
	inv_free(labels);
	return start;
}

/* ---- Collisions ------------------------------------------------------------------ */

static double count_collisions(const invar_context *ctx, const float *clean, size_t n,
                               const float *aug, size_t m, size_t d, const uint32_t *labels,
                               double *own, double *other)
{
	inv_neighbours *gallery;
	double hits = 0;

	die(inv_neighbours_new(ctx, clean, n, d, labels, 1, &gallery));
	inv_nearest_by_class(gallery, aug, labels, NULL, m, own, other);
	for (size_t i = 0; i < m; i++)
		hits += other[i] < own[i];
	inv_neighbours_free(gallery);
	return hits / (double)m;
}

/* n clean points of ten classes, m <= n of them augmented by noise as large as themselves.
 */
static double time_collision(const invar_context *ctx, size_t n, size_t m, size_t d)
{
	float *clean = normal_rows(n, d, "bench/x"), *aug = normal_rows(m, d, "bench/e");
	uint32_t *labels = inv_calloc(n, sizeof *labels);
	double *near = inv_calloc(2 * m, sizeof *near), start;

	if (!labels || !near || m > n)
		exit(1);
	for (size_t i = 0; i < n; i++)
		labels[i] = (uint32_t)(i % 10);
	for (size_t i = 0; i < m * d; i++)
		aug[i] += clean[i];
	start = now();
	count_collisions(ctx, clean, n, aug, m, d, labels, near, near + m);
	start = now() - start;
	inv_free(clean);
	inv_free(aug);
	inv_free(labels);
	inv_free(near);
	return start;
}

/* ---- Neighbours -------------------------------------------------------------------- */

static double time_neighbours(const invar_context *ctx, size_t n, size_t d, size_t k)
{
	float *x = normal_rows(n, d, "bench/x");
	uint32_t *index = inv_calloc(n * k, sizeof *index);
	double *squared = inv_calloc(n * k, sizeof *squared), start;
	inv_neighbours *gallery;

	if (!index || !squared)
		exit(1);
	start = now();
	die(inv_neighbours_new(ctx, x, n, d, NULL, k, &gallery));
	inv_nearest_others(gallery, 0, n, index, squared);
	start = now() - start;
	inv_neighbours_free(gallery);
	inv_free(x);
	inv_free(index);
	inv_free(squared);
	return start;
}

/* ---- Retrieval -------------------------------------------------------------------- */

/* m <= n queries, copies of the first of n rows of ten classes. */
typedef struct bench_gallery {
	size_t n, m, d;
	float *clean, *aug;
	uint32_t *classes, *own;
} bench_gallery;

static void drop_gallery(bench_gallery *g)
{
	inv_free(g->clean);
	inv_free(g->aug);
	inv_free(g->classes);
	inv_free(g->own);
	*g = (bench_gallery){0};
}

static const bench_gallery *find_gallery(bench_gallery *g, size_t n, size_t m, size_t d)
{
	if (g->n == n && g->m == m && g->d == d)
		return g;
	drop_gallery(g);
	*g = (bench_gallery){.n = n,
	                     .m = m,
	                     .d = d,
	                     .clean = normal_rows(n, d, "bench/x"),
	                     .aug = normal_rows(m, d, "bench/e"),
	                     .classes = inv_calloc(n, sizeof *g->classes),
	                     .own = inv_calloc(m, sizeof *g->own)};
	if (!g->classes || !g->own || m > n)
		exit(1);
	for (size_t i = 0; i < n; i++)
		g->classes[i] = (uint32_t)(i % CLASSES);
	for (size_t i = 0; i < m; i++)
		g->own[i] = (uint32_t)i;
	for (size_t i = 0; i < m * d; i++)
		g->aug[i] += g->clean[i];
	return g;
}

/* By image or by class; packing the gallery is part of the time. */
static double time_retrieval(const invar_context *ctx, const char *task,
                             const bench_gallery *g)
{
	bool by_class = strcmp(task, "class") == 0;
	const inv_gallery gallery = {g->clean, g->n, g->d, by_class ? g->classes : NULL};
	const inv_place_queries queries = {.rows = g->aug,
	                                   .count = g->m,
	                                   .own = by_class ? NULL : g->own,
	                                   .classes = by_class ? g->classes : NULL};
	inv_place *places;
	inv_places *ranks;
	double start = now();

	die(inv_new_zeros(&places, g->m));
	die(inv_places_new(ctx, &gallery, INV_L2, 1, &ranks));
	inv_places_find(ranks, &queries, places);
	start = now() - start;
	inv_places_free(ranks);
	inv_free(places);
	return start;
}

/* ---- Applying an adapter ----------------------------------------------------------- */

typedef struct bench_adapter {
	size_t d;
	char path[100];
	invar_adapter *adapter;
} bench_adapter;

static void drop_adapter(bench_adapter *b)
{
	if (b->adapter)
		remove(b->path);
	invar_adapter_close(b->adapter);
	*b = (bench_adapter){0};
}

/* Saved to a temporary file and opened as a program would. */
static bench_adapter *find_adapter(invar_context *ctx, bench_adapter *b, size_t d)
{
	const inv_mlp_shape s = {d, HIDDEN, d};
	const inv_metadata residual = {"invar.residual", "1"};
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	char names[INV_MLP_BLOCKS][32];
	float *params;

	if (b->d == d)
		return b;
	drop_adapter(b);
	b->d = d;
	snprintf(b->path, sizeof b->path, "/tmp/invar_bench.%d.safetensors", (int)getpid());
	if (!(params = inv_calloc(inv_mlp_floats(s), sizeof *params)))
		exit(1);
	inv_mlp_init(s, 1, false, params);
	inv_mlp_tensors(s, params, "", names, tensors);
	die(inv_safetensors_save(b->path, tensors, INV_MLP_BLOCKS, &residual, 1));
	inv_free(params);
	die(invar_adapter_open(ctx, b->path, &b->adapter));
	return b;
}

static double time_apply(const bench_adapter *b, size_t rows, size_t count)
{
	float *x = normal_rows(rows, b->d, "bench/x"), *y = normal_rows(rows, b->d, "bench/y");
	double start;

	for (int i = 0; i < 3; i++)
		die(invar_adapter_apply(b->adapter, x, rows, y));
	start = now();
	for (size_t i = 0; i < count; i++)
		die(invar_adapter_apply(b->adapter, x, rows, y));
	start = now() - start;
	inv_free(x);
	inv_free(y);
	return start;
}

static double time_opening(invar_context *ctx, const bench_adapter *b, size_t count)
{
	double start = now();

	for (size_t i = 0; i < count; i++) {
		invar_adapter *e;

		die(invar_adapter_open(ctx, b->path, &e));
		invar_adapter_close(e);
	}
	return now() - start;
}

/* ---- Images ----------------------------------------------------------------------- */

typedef struct bench_images {
	inv_preparer *preparer[64];
	const char *name;
} bench_images;

static invar_status to_tensor(void *user, inv_image *image, const inv_prefetch_item *item,
                              unsigned worker)
{
	const bench_images *b = user;

	return inv_prepare(b->preparer[worker], image, b->name, item->data);
}

/* Reads each image once, as a training loop would. */
static double pass_over(const invar_context *ctx, const invar_dataset *d, size_t side,
                        bench_images *b)
{
	double sum = 0;

	for (size_t s = 0; s < d->split_count; s++) {
		const inv_images *images = &d->splits[s];
		const inv_prefetch_item *item;
		inv_prefetch *ahead;

		die(inv_prefetch_new(ctx, d, images, 0, images->count, to_tensor, b,
		                     3 * side * side * sizeof(float), &ahead));
		for (die(inv_prefetch_next(ahead, &item)); item;
		     die(inv_prefetch_next(ahead, &item)))
			sum += *(const float *)item->data;
		inv_prefetch_free(ahead);
	}
	return sum;
}

static double time_folder(invar_context *ctx, size_t side, size_t count, const char *text)
{
	inv_preparation how = {.side = side, .filter = INV_BILINEAR, .channels = 3};
	bench_images b = {.name = text};
	unsigned workers = inv_prefetch_workers(ctx);
	invar_dataset *d;
	double start;

	die(inv_normalisation_parse("imagenet", &how.normalisation));
	die(invar_dataset_open(ctx, text, NULL, &d));
	for (unsigned i = 0; i < workers && i < 64; i++)
		die(inv_preparer_new(ctx->cpu, &how, &b.preparer[i]));
	pass_over(ctx, d, side, &b);
	start = now();
	for (size_t i = 0; i < count; i++)
		pass_over(ctx, d, side, &b);
	start = now() - start;
	for (unsigned i = 0; i < workers && i < 64; i++)
		inv_preparer_free(b.preparer[i]);
	invar_dataset_close(d);
	return start;
}

static const char *slices_of(const char *line)
{
	return strstr(line, "orthogonal") ? "orthogonal" : "random";
}

/* ---- Augmentations ----------------------------------------------------------------- */

typedef struct bench_augment {
	invar_augment *augment;
	char spec[32];
	uint64_t shape[4];
	float *x, *out;
} bench_augment;

static bench_augment *find_augment(invar_context *ctx, bench_augment *known,
                                   const char *spec, size_t images, size_t side)
{
	bench_augment *at = known;
	size_t cells = images * 3 * side * side;
	inv_stream s = inv_stream_of(1, "bench/pictures", 0);

	while (at->augment &&
	       (strcmp(at->spec, spec) != 0 || at->shape[0] != images || at->shape[3] != side))
		at++;
	if (at->augment)
		return at;
	if (at == known + PICTURES)
		exit(1);
	die(invar_augment_parse(ctx, spec, &at->augment));
	snprintf(at->spec, sizeof at->spec, "%s", spec);
	memcpy(at->shape, (uint64_t[]){images, 3, side, side}, sizeof at->shape);
	at->x = inv_calloc(cells, sizeof *at->x);
	at->out = inv_calloc(cells, sizeof *at->out);
	if (!at->x || !at->out)
		exit(1);
	inv_fill_uniform(&s, 0, 0, 1, at->x, cells);
	return at;
}

static double time_augment(invar_context *ctx, bench_augment *known, const char *spec,
                           size_t images, size_t side, size_t repeats)
{
	bench_augment *b = find_augment(ctx, known, spec, images, side);
	inv_draw d = {.split = "train"};
	double start;

	start = now();
	for (size_t i = 0; i < repeats; i++, d.epoch++)
		die(inv_augment_apply(b->augment, &d, b->x, b->shape, NULL, b->out));
	return now() - start;
}

/* ---- Encoders ---------------------------------------------------------------------- */

typedef struct bench_encoder {
	invar_encoder *encoder;
	char path[300];
	const char *precision;
	uint64_t shape[4];
	float *x, *out;
} bench_encoder;

static void close_encoder(bench_encoder *b)
{
	invar_encoder_close(b->encoder);
	inv_free(b->x);
	inv_free(b->out);
}

/* Reuses the encoder of the previous call if it is the same; a new one runs a warm-up
 * batch. */
static void ready_encoder(invar_context *ctx, bench_encoder *b, const char *path,
                          const char *precision, size_t side, size_t batch)
{
	invar_options *o;
	uint64_t width;

	if (b->encoder && strcmp(b->path, path) == 0 &&
	    strcmp(b->precision, precision) == 0 && b->shape[0] == batch && b->shape[3] == side)
		return;
	close_encoder(b);
	die(invar_options_new("features", &o));
	die(invar_options_set(o, "precision", precision));
	die(invar_encoder_open(ctx, path, o, &b->encoder));
	invar_options_free(o);
	b->precision = precision;
	snprintf(b->path, sizeof b->path, "%s", path);
	memcpy(b->shape, (uint64_t[]){batch, 3, side, side}, sizeof b->shape);
	die(invar_encoder_width(b->encoder, b->shape, &width));
	b->x = normal_rows(batch, 3 * side * side, "bench/tensors");
	b->out = inv_calloc(batch * width, sizeof *b->out);
	if (!b->out)
		exit(1);
	die(invar_encoder_run(b->encoder, b->x, b->shape, b->out));
}

static double time_encoder(invar_context *ctx, bench_encoder *b, const char *path,
                           const char *precision, size_t side, size_t batch,
                           size_t count)
{
	double start;

	ready_encoder(ctx, b, path, precision, side, batch);
	start = now();
	for (size_t i = 0; i < count; i++)
		die(invar_encoder_run(b->encoder, b->x, b->shape, b->out));
	return now() - start;
}

int main(int argc, char **argv)
{
	unsigned threads = argc == 3 && strcmp(argv[1], "--threads") == 0
	                       ? (unsigned)strtoul(argv[2], NULL, 10)
	                       : 0;
	bench_step known[SIZES] = {0};
	bench_augment pictures[PICTURES + 1] = {0};
	bench_encoder encoder = {0};
	bench_gallery gallery = {0};
	bench_adapter adapter = {0};
	invar_context *ctx;
	char line[500], name[20], text[300];

	die(invar_context_new(threads, NULL, &ctx));
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		size_t a, b, c, count;
		char kind;

		if (sscanf(line, "step %19s %zu %zu", name, &a, &b) == 3)
			printf("%.9f\n", time_steps(find_step(ctx, known, name, a), (int)b));
		else if (sscanf(line, "profile %19s %zu %zu", name, &a, &b) == 3)
			printf("%.9f\n", profile_steps(find_step(ctx, known, name, a), (int)b));
		else if (sscanf(line, "probe %c%*c %zu %zu %zu", &kind, &a, &b, &c) == 4)
			printf("%.9f\n", time_probe(ctx, kind, a, b, c));
		else if (sscanf(line, "sliced %zu %zu %zu %zu", &a, &b, &c, &count) == 4)
			printf("%.9f\n", time_sliced(ctx, a, b, c, count, strstr(line, "given") != NULL,
			                             slices_of(line)));
		else if (sscanf(line, "deviation %zu %zu %zu %zu", &a, &b, &c, &count) == 4)
			printf("%.9f\n", deviation_of_sliced(ctx, a, b, c, count, slices_of(line)));
		else if (sscanf(line, "folder %zu %zu %299s", &a, &b, text) == 3)
			printf("%.9f\n", time_folder(ctx, a, b, text));
		else if (sscanf(line, "encode %*s %zu %zu %zu %299s", &a, &b, &c, text) == 4)
			printf("%.9f\n", time_encoder(ctx, &encoder, text,
			                              strstr(line, " bfloat16") ? "bfloat16"
			                              : strstr(line, " int8")   ? "int8"
			                                                        : "float32",
			                              a, b, c));
		else if (sscanf(line, "structure %zu %zu", &a, &b) == 2)
			printf("%.9f\n", time_structure(ctx, a, b));
		else if (sscanf(line, "graph %zu %zu", &a, &b) == 2)
			printf("%.9f\n", time_graph(ctx, a, b));
		else if (sscanf(line, "augment %19s %zu %zu %zu", name, &a, &b, &c) == 4)
			printf("%.9f\n", time_augment(ctx, pictures, name, a, b, c));
		else if (sscanf(line, "collision %zu %zu %zu", &a, &b, &c) == 3)
			printf("%.9f\n", time_collision(ctx, a, b, c));
		else if (sscanf(line, "neighbours %zu %zu %zu", &a, &b, &c) == 3)
			printf("%.9f\n", time_neighbours(ctx, a, b, c));
		else if (sscanf(line, "apply %zu %zu %zu", &a, &b, &c) == 3)
			printf("%.9f\n", time_apply(find_adapter(ctx, &adapter, a), b, c));
		else if (sscanf(line, "open %zu %zu", &a, &b) == 2)
			printf("%.9f\n", time_opening(ctx, find_adapter(ctx, &adapter, a), b));
		else if (sscanf(line, "retrieval %19s %zu %zu %zu", name, &a, &b, &c) == 4)
			printf("%.9f\n", time_retrieval(ctx, name, find_gallery(&gallery, a, b, c)));
		else
			puts("what?");
		fflush(stdout);
	}
	for (int i = 0; i < SIZES; i++)
		drop_step(&known[i]);
	for (bench_augment *p = pictures; p->augment; p++) {
		invar_augment_close(p->augment);
		inv_free(p->x);
		inv_free(p->out);
	}
	close_encoder(&encoder);
	drop_gallery(&gallery);
	drop_adapter(&adapter);
	invar_context_free(ctx);
	return 0;
}
