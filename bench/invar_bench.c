/*
 * invar_bench.c - invar's side of the benchmarks, driven by lines of text.
 *
 *     invar_bench --threads 2
 *     ready
 *     step 384 10           ->  seconds of 10 MaWa steps at d = 384
 *     structure 8000 384    ->  seconds of structure over 8,000 points
 *     collision 8000 8000 2048   ->  seconds of the raw rate, 8,000 clean points and copies
 *     probe nc 5000 384 2   ->  seconds of 2 epochs of NC on 5,000 rows; lc, ec too
 *     profile 384 10        ->  seconds by part, on standard error
 *
 * Data is made and code warmed up before the first timing of each size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapter/adamw.h"
#include "adapter/step.h"
#include "base/rng.h"
#include "math/neighbours.h"
#include "measure/classifier.h"

enum { IMAGES = 256, SAMPLES = 3, HIDDEN = 4096, CLASSES = 10, SIZES = 4 };

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
	size_t d;
	inv_step *step;
	float *rows;
} bench_step;

static bench_step *find_step(const invar_context *ctx, bench_step *known, size_t d)
{
	inv_step_spec spec = {.shape = {d, HIDDEN, d},
	                      .loss = inv_loss_find("mawa"),
	                      .opts = {.anchor = 1},
	                      .N = IMAGES,
	                      .s = SAMPLES,
	                      .update = true,
	                      .weight_decay = 1e-4};
	bench_step *at = known;
	inv_loss_value value;

	while (at->step && at->d != d && at < known + SIZES - 1)
		at++;
	if (at->step && at->d == d)
		return at;
	inv_step_free(at->step);
	inv_free(at->rows);
	at->d = d;
	at->rows = normal_rows((SAMPLES + 1) * IMAGES, d, "bench/rows");
	die(inv_step_new(ctx, &spec, &at->step));
	inv_mlp_init(spec.shape, 1, false, at->step->params);
	for (int i = 0; i < 3; i++)
		die(inv_step_run(at->step, at->rows, 1e-3, &value));
	return at;
}

static double time_steps(const invar_context *ctx, bench_step *known, size_t d, int count)
{
	bench_step *b = find_step(ctx, known, d);
	inv_loss_value value;
	double start = now();

	for (int i = 0; i < count; i++)
		die(inv_step_run(b->step, b->rows, 1e-3, &value));
	return now() - start;
}

/* Where a step spends its time: the same calls as step.c, one by one. */
static double profile_steps(const invar_context *ctx, bench_step *known, size_t d,
                            int count)
{
	bench_step *b = find_step(ctx, known, d);
	inv_step *p = b->step;
	const inv_adamw adamw = {0.9, 0.999, 1e-8, 1e-4};
	double part[4] = {0}, total = now();
	inv_loss_value value;

	for (int i = 0; i < count; i++) {
		double t0 = now(), t1, t2, t3;

		die(inv_step_measure(p, p->params, b->rows, 0, &value));
		t1 = now();
		die(inv_mlp_backward_last(p->pass, p->params, p->d_codes, p->grads));
		t2 = now();
		die(inv_mlp_backward_first(p->pass, b->rows, p->grads));
		t3 = now();
		inv_adamw_step(ctx, &p->kernels, &adamw, 1e-3, ++p->t, p->grads, p->floats,
		               p->params, p->m, p->v);
		part[0] += t1 - t0;
		part[1] += t2 - t1;
		part[2] += t3 - t2;
		part[3] += now() - t3;
	}
	fprintf(stderr,
	        "d %zu, ms a step: forward and loss %.2f, second layer back %.2f, "
	        "first layer back %.2f, AdamW %.2f\n",
	        d, part[0] / count * 1e3, part[1] / count * 1e3, part[2] / count * 1e3,
	        part[3] / count * 1e3);
	return now() - total;
}

/* ---- Structure ------------------------------------------------------------------- */

static double time_structure(invar_context *ctx, size_t n, size_t d)
{
	float *x = normal_rows(n, d, "bench/x"), *e = normal_rows(n, d, "bench/e");
	invar_structure_result result;
	double start;

	start = now();
	die(invar_structure(ctx, x, (uint32_t)d, e, (uint32_t)d, n, &result));
	start = now() - start;
	inv_free(x);
	inv_free(e);
	return start;
}

/* ---- Probes ------------------------------------------------------------------------ */

/* The whole training, from the first weights on; its last batch is dropped as usual. */
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

/* n clean points of ten classes, m <= n of them augmented by noise of their own size. */
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

int main(int argc, char **argv)
{
	unsigned threads = argc == 3 && strcmp(argv[1], "--threads") == 0
	                       ? (unsigned)strtoul(argv[2], NULL, 10)
	                       : 0;
	bench_step known[SIZES] = {0};
	invar_context *ctx;
	char line[200];

	die(invar_context_new(threads, NULL, &ctx));
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		size_t a, b, c;
		char kind;

		if (sscanf(line, "step %zu %zu", &a, &b) == 2)
			printf("%.9f\n", time_steps(ctx, known, a, (int)b));
		else if (sscanf(line, "profile %zu %zu", &a, &b) == 2)
			printf("%.9f\n", profile_steps(ctx, known, a, (int)b));
		else if (sscanf(line, "probe %c%*c %zu %zu %zu", &kind, &a, &b, &c) == 4)
			printf("%.9f\n", time_probe(ctx, kind, a, b, c));
		else if (sscanf(line, "structure %zu %zu", &a, &b) == 2)
			printf("%.9f\n", time_structure(ctx, a, b));
		else if (sscanf(line, "collision %zu %zu %zu", &a, &b, &c) == 3)
			printf("%.9f\n", time_collision(ctx, a, b, c));
		else
			puts("what?");
		fflush(stdout);
	}
	for (int i = 0; i < SIZES; i++) {
		inv_step_free(known[i].step);
		inv_free(known[i].rows);
	}
	invar_context_free(ctx);
	return 0;
}
