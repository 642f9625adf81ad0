/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_waco.c - WaCo: golden values and gradients, finite differences of a plain
 * form in double, its properties, and several augmentations.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "math/directions.h"
#include "one_loss.h"

extern const inv_loss inv_loss_waco;

static const char *const pairs[3] = {"xz", "xx", "zz"};

static invar_options *waco_options(size_t projections)
{
	return test_options("loss", "kind", "waco", "projections",
	                    test_text("%zu", projections), NULL);
}

/* ---- Golden cases, at the codes -------------------------------------------------- */

static inv_loss_draws golden_draws(golden *g, const char *prefix, uint32_t *size, size_t M)
{
	inv_loss_draws draws;
	char name[64];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%sdirections_%s", prefix, pairs[i]);
		draws.directions[i] = golden_f32(g, name, NULL);
		for (int half = 0; half < 2; half++) {
			const int64_t *given;
			uint32_t *to = size + (size_t)(2 * i + half) * M;

			snprintf(name, sizeof name, "%sperm_%s_%d", prefix, pairs[i], half + 1);
			given = golden_int(g, name, NULL);
			for (size_t r = 0; r < M; r++)
				to[r] = (uint32_t)given[r];
			draws.permutations[i][half] = to;
		}
	}
	return draws;
}

static void check_terms(golden *g, const inv_loss_value *v, size_t groups)
{
	for (size_t i = 0; i < groups; i++)
		for (int t = 0; inv_loss_waco.terms[t]; t++) {
			char name[32];

			snprintf(name, sizeof name, groups > 1 ? "%s_%zu" : "%s",
			         inv_loss_waco.terms[t], i + 1);
			golden_check_value(g, name, v->term[i * 4 + (size_t)t]);
		}
}

/* Rows k N + i of clean features and copies, through the adapter of the case. */
static void golden_rows(golden *g, size_t n, size_t s, size_t d, float *codes)
{
	float *rows = malloc((s + 1) * n * d * sizeof *rows);
	const float *aug = s ? golden_f32(g, "aug", NULL) : NULL;
	invar_adapter *e;

	memcpy(rows, golden_f32(g, "clean", NULL), n * d * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((k + 1) * n + i) * d, aug + (i * s + k) * d, d * sizeof *rows);
	assert_int_equal(
		invar_adapter_open(test_ctx, golden_path(g, "adapter.safetensors"), &e), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, rows, (s + 1) * n, codes), INVAR_OK);
	invar_adapter_close(e);
	free(rows);
}

static void check_codes_case(const char *root, const char *name)
{
	golden *g = golden_open(root, name);
	size_t in[GOLDEN_NDIM], out[GOLDEN_NDIM], s;
	const float *clean = golden_f32(g, "clean", in);
	size_t rows = (golden_f64(g, "grad_codes", out), out[0]), w = out[1];
	invar_options *o = waco_options((size_t)golden_value(g, "L"));
	uint32_t *size = malloc(6 * rows * sizeof *size);
	float *z = malloc(rows * w * sizeof *z), *grad = malloc(rows * w * sizeof *grad);
	inv_loss_draws draws = golden_draws(g, "", size, rows);
	inv_loss_batch b = {.clean = clean, .codes = z, .draws = &draws};
	inv_loss_value v;

	s = rows / in[0] - 1;
	golden_rows(g, in[0], s, in[1], z);
	v = one_loss(&inv_loss_waco,
	             (inv_loss_shape){
					 .ctx = test_ctx, .options = o, .N = in[0], .s = s, .d = in[1], .w = w},
	             &b, grad);
	golden_check_value(g, "loss", v.value);
	check_terms(g, &v, 1);
	golden_check(g, "grad_codes", grad, rows * w);
	invar_options_free(o);
	free(size);
	free(z);
	free(grad);
	golden_close(g);
}

static void golden_codes(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_codes_case(*root, "waco");
		check_codes_case(*root, "waco_reduce");
		check_codes_case(*root, "waco_identity");
	}
}

/* ---- A plain form in double ------------------------------------------------------ */

enum { N = 6, S = 2, M = (S + 1) * N, D = 5, W = 3, L = 7 };

typedef struct cloud {
	float clean[N * D], codes[M * W], grad[M * W];
	float directions[3][L * 2 * D];
	uint32_t perms[3][2][M];
	inv_loss_draws draws;
} cloud;

static void fill_cloud(cloud *c)
{
	inv_stream s = inv_stream_of(4, "cloud", 0);
	const size_t width[3] = {D + W, 2 * D, 2 * W};

	inv_fill_normal(&s, 0, c->clean, N * D);
	inv_fill_normal(&s, 1, c->codes, M * W);
	for (uint32_t i = 0; i < 3; i++) {
		inv_fill_normal(&s, 2 + i, c->directions[i], L * width[i]);
		c->draws.directions[i] = c->directions[i];
		for (uint32_t half = 0; half < 2; half++) {
			inv_permutation(&s, 10 + 2 * i + half, c->perms[i][half], M);
			c->draws.permutations[i][half] = c->perms[i][half];
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* SW_p of the rows (a_r, b_r) and the same shuffled, by the definition. */
static double plain_distance(const double *a, size_t wa, const double *b, size_t wb,
                             const float *theta, const uint32_t perm[2][M], double p)
{
	double mean = 0;

	for (size_t l = 0; l < L; l++) {
		double joint[M], apart[M];

		for (size_t r = 0; r < M; r++) {
			joint[r] = apart[r] = 0;
			for (size_t k = 0; k < wa; k++) {
				joint[r] += a[r * wa + k] * theta[l * (wa + wb) + k];
				apart[r] += a[perm[0][r] * wa + k] * theta[l * (wa + wb) + k];
			}
			for (size_t k = 0; k < wb; k++) {
				joint[r] += b[r * wb + k] * theta[l * (wa + wb) + wa + k];
				apart[r] += b[perm[1][r] * wb + k] * theta[l * (wa + wb) + wa + k];
			}
		}
		qsort(joint, M, sizeof *joint, by_value);
		qsort(apart, M, sizeof *apart, by_value);
		for (size_t r = 0; r < M; r++)
			mean += pow(fabs(joint[r] - apart[r]), p) / (M * L);
	}
	return pow(mean, 1 / p);
}

static double plain_loss(const cloud *c, const double *z, double p)
{
	double x[M * D];

	for (size_t i = 0; i < M * D; i++)
		x[i] = c->clean[i % (N * D)];
	return -plain_distance(x, D, z, W, c->directions[0], c->perms[0], p) /
	       pow(plain_distance(x, D, x, D, c->directions[1], c->perms[1], p) *
	                   plain_distance(z, W, z, W, c->directions[2], c->perms[2], p) +
	               1e-10,
	           1 / p);
}

static double our_loss(cloud *c, double p)
{
	invar_options *o = test_set(waco_options(L), "p", test_text("%g", p), NULL);
	inv_loss_batch b = {.clean = c->clean, .codes = c->codes, .draws = &c->draws};
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W};
	double value = one_loss(&inv_loss_waco, shape, &b, c->grad).value;

	invar_options_free(o);
	return value;
}

static void values_and_differences_of_the_plain_form(void **state)
{
	static const double powers[] = {2, 1, 1.5, 3};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		double p = powers[i], z[M * W], step = 1e-7, value;
		cloud c;

		fill_cloud(&c);
		value = our_loss(&c, p);
		for (size_t k = 0; k < M * W; k++)
			z[k] = c.codes[k];
		assert_true(fabs(value - plain_loss(&c, z, p)) < 1e-6);
		for (size_t k = 0; k < M * W; k++) {
			double up, down, kept = z[k];

			z[k] = kept + step;
			up = plain_loss(&c, z, p);
			z[k] = kept - step;
			down = plain_loss(&c, z, p);
			z[k] = kept;
			assert_true(fabs(c.grad[k] - (up - down) / (2 * step)) < 2e-6);
		}
	}
}

/* ---- Properties ------------------------------------------------------------------ */

/* Z = X with the same directions and permutations everywhere: 1 up to the 1e-10. */
static void a_variable_correlates_with_itself_by_one(void **state)
{
	cloud c;
	invar_options *o = waco_options(L);
	float z[M * D];
	inv_loss_batch b = {.clean = c.clean, .codes = z, .draws = &c.draws};
	inv_loss_value v;

	(void)state;
	fill_cloud(&c);
	for (int i = 0; i < 3; i++) {
		c.draws.directions[i] = c.directions[1];
		for (int half = 0; half < 2; half++)
			c.draws.permutations[i][half] = c.perms[1][half];
	}
	for (size_t i = 0; i < M * D; i++)
		z[i] = c.clean[i % (N * D)];
	v = one_loss(
		&inv_loss_waco,
		(inv_loss_shape){.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = D}, &b,
		NULL);
	assert_true(fabs(v.value + 1) < 1e-6);
	assert_true(v.term[1] == v.term[2] || fabs(v.term[1] - v.term[2]) < 1e-6);
	invar_options_free(o);
}

static double gaussian_correlation(double scale, bool orthogonal, bool second)
{
	enum { n = 4000, d = 8, REPEATS = 5 };
	invar_options *o =
		test_set(waco_options(300), "slices", orthogonal ? "orthogonal" : "random",
	             "shuffle", second ? "second" : "both", NULL);
	float *x = malloc(n * d * sizeof *x), *z = malloc(n * d * sizeof *z);
	inv_stream s = inv_stream_of(1, "gauss", 0);
	inv_loss_batch b = {.clean = x, .codes = z, .seed = 3};
	double sum = 0;

	inv_fill_normal(&s, 0, x, n * d);
	for (size_t i = 0; i < n * d; i++)
		z[i] = (float)scale * x[i];
	for (; b.step < REPEATS; b.step++)
		sum -= one_loss(
				   &inv_loss_waco,
				   (inv_loss_shape){.ctx = test_ctx, .options = o, .N = n, .d = d, .w = d},
				   &b, NULL)
		           .value;
	invar_options_free(o);
	free(x);
	free(z);
	return sum / REPEATS;
}

/* FACTS A.3: about sqrt(2c / (1 + c^2)) for Z = cX. */
static void scaling_follows_its_law(void **state)
{
	(void)state;
	for (int orthogonal = 0; orthogonal < 2; orthogonal++) {
		assert_true(fabs(gaussian_correlation(2, orthogonal, false) - 0.894) < 0.05);
		if (test_is_emulated())
			continue;
		assert_true(fabs(gaussian_correlation(1, orthogonal, false) - 1) < 0.05);
		assert_true(fabs(gaussian_correlation(10, orthogonal, false) - 0.445) < 0.05);
		assert_true(fabs(gaussian_correlation(1, orthogonal, true) - 1) < 0.05);
	}
}

/* --shuffle second leaves the first half of XX and ZZ in place, and XZ as it is. */
static void shuffling_the_second_half_changes_xx_and_zz_alone(void **state)
{
	cloud c;
	inv_loss_value v[2];

	(void)state;
	fill_cloud(&c);
	for (int second = 0; second < 2; second++) {
		invar_options *o =
			test_set(waco_options(L), "shuffle", second ? "second" : "both", NULL);
		inv_loss_batch b = {.clean = c.clean, .codes = c.codes, .seed = 1};

		v[second] = one_loss(
			&inv_loss_waco,
			(inv_loss_shape){.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W},
			&b, NULL);
		invar_options_free(o);
	}
	assert_true(v[0].term[1] == v[1].term[1]);
	assert_true(fabs(v[0].term[2] - v[1].term[2]) > 1e-3);
	assert_true(fabs(v[0].term[3] - v[1].term[3]) > 1e-3);
}

static void repeat_directions(const float *given, size_t count, size_t width, float *out)
{
	for (size_t l = 0; l < 6; l++) {
		const float *from = given + l % count * width;
		double sum = 0;

		for (size_t k = 0; k < width; k++)
			sum += (double)from[k] * from[k];
		for (size_t k = 0; k < width; k++)
			out[l * width + k] = (float)(from[k] / sqrt(sum));
	}
}

/* FACTS section I; its 3, 2 and 2 directions are repeated to 6, which changes no mean. */
static void the_worked_example(void **state)
{
	enum { n = 6, d = 3, w = 2 };
	static const float xz[] = {1, 2, -1, 1, 0.5f, 0, 1, 1, -2, 1, 2, -1, 0.5f, 0, 1};
	static const float xx[] = {1, 0, 2, -1, 1, 0.5f, 0.5f, 1, -1, 0, 2, 1};
	static const float zz[] = {1, -1, 0.5f, 2, 0, 1, 1, 1};
	static const uint32_t kept[] = {0, 1, 2, 3, 4, 5}, one[] = {3, 0, 5, 1, 4, 2},
						  two[] = {1, 4, 2, 5, 0, 3};
	static const double slopes[n * w] = {
		-0.229756721, -0.153544860, 0.169739121, -0.352461702, -0.015759363, -0.321120880,
		-0.122044316, 0.306925335,  0.468200957, 0.327276836,  -0.270379678, 0.192925271};
	float x[n * d], z[n * w], grad[n * w], theta[3][36];
	invar_options *o = waco_options(6);
	inv_loss_draws draws = {.directions = {theta[0], theta[1], theta[2]},
	                        .permutations = {{one, two}, {kept, one}, {kept, two}}};
	inv_loss_batch b = {.clean = x, .codes = z, .draws = &draws};
	inv_loss_value v;

	(void)state;
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < d; j++)
			x[i * d + j] = (float)sin(1 + i + 2 * j);
		for (int j = 0; j < w; j++)
			z[i * w + j] = (float)cos(2 + 3 * i + j);
	}
	repeat_directions(xz, 3, d + w, theta[0]);
	repeat_directions(xx, 2, 2 * d, theta[1]);
	repeat_directions(zz, 2, 2 * w, theta[2]);
	v = one_loss(&inv_loss_waco,
	             (inv_loss_shape){.ctx = test_ctx, .options = o, .N = n, .d = d, .w = w},
	             &b, grad);
	assert_true(fabs(v.term[0] - 1.012693998472) < 2e-6);
	assert_true(fabs(v.term[1] - 0.306730110043) < 1e-6);
	assert_true(fabs(v.term[2] - 0.246464412277) < 1e-6);
	assert_true(fabs(v.term[3] - 0.372222077587) < 1e-6);
	for (size_t i = 0; i < n * w; i++)
		assert_true(fabs(grad[i] + slopes[i]) < 5e-6);
	invar_options_free(o);
}

/* ---- Several augmentations, threads ---------------------------------------------- */

/* Two groups at once equal each alone: -log SC, and the clean rows' gradients add. */
static void several_augmentations_add_their_logarithms(void **state)
{
	cloud a, b;
	float codes[(2 * S + 1) * N * W], grad[(2 * S + 1) * N * W];
	invar_options *o = waco_options(L);
	inv_loss_draws draws[2];
	inv_loss_batch batch = {.codes = codes, .draws = draws};
	inv_loss_value v;
	double one, two;

	(void)state;
	fill_cloud(&a);
	fill_cloud(&b);
	for (size_t i = N * W; i < M * W; i++)
		b.codes[i] = 0.5f * a.codes[i] + 0.1f * (float)(i % 7);
	for (int i = 0; i < 3; i++) /* other draws for the second */
		b.draws.permutations[i][0] = b.perms[(i + 1) % 3][1];
	memcpy(codes, a.codes, M * W * sizeof(float));
	memcpy(codes + M * W, b.codes + N * W, S * N * W * sizeof(float));
	draws[0] = a.draws;
	draws[1] = b.draws;
	batch.clean = a.clean;
	one = our_loss(&a, 2);
	two = our_loss(&b, 2);
	v = one_loss(
		&inv_loss_waco,
		(inv_loss_shape){
			.ctx = test_ctx, .options = o, .N = N, .s = S, .groups = 2, .d = D, .w = W},
		&batch, grad);
	assert_true(fabs(v.value + log(-one) + log(-two)) < 1e-6);
	assert_true(fabs(v.term[4] + two) < 1e-6);
	for (size_t i = 0; i < N * W; i++)
		assert_true(fabs(grad[i] - (a.grad[i] / -one + b.grad[i] / -two)) < 1e-6);
	for (size_t i = N * W; i < M * W; i++) {
		assert_true(fabs(grad[i] - a.grad[i] / -one) < 1e-6);
		assert_true(fabs(grad[i + S * N * W] - b.grad[i] / -two) < 1e-6);
	}
	invar_options_free(o);
}

static void check_threads(size_t projections)
{
	enum { n = 40, s = 3, d = 33, w = 17 };
	static float clean[n * d], codes[(s + 1) * n * w], grad[2][(s + 1) * n * w];
	inv_stream stream = inv_stream_of(1, "threads", 0);
	invar_options *o = waco_options(projections);
	inv_loss_batch b = {.clean = clean, .codes = codes, .seed = 1, .step = 2};
	double value[2];

	inv_fill_normal(&stream, 0, clean, n * d);
	inv_fill_normal(&stream, 1, codes, (s + 1) * n * w);
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *own;
		int at = threads > 1;

		assert_int_equal(invar_context_new(threads, NULL, &own), INVAR_OK);
		value[at] = one_loss(&inv_loss_waco,
		                     (inv_loss_shape){
								 .ctx = own, .options = o, .N = n, .s = s, .d = d, .w = w},
		                     &b, grad[at])
		                .value;
		assert_memory_equal(&value[at], &value[0], sizeof value[0]);
		assert_memory_equal(grad[at], grad[0], sizeof grad[0]);
		invar_context_free(own);
	}
	invar_options_free(o);
}

static void threads_change_no_bit(void **state)
{
	(void)state;
	check_threads(130);
	check_threads(2100);
}

/* ---- Blocks of directions -------------------------------------------------------- */

enum { MANY = 2300 }; /* directions, more than two blocks */

/* What the loss draws by its keys, as given draws. */
typedef struct drawn {
	float *directions[3];
	uint32_t *permutations[3][2];
	inv_loss_draws draws;
} drawn;

static void draw_part(const inv_loss_batch *b, size_t part, const size_t width[2],
                      size_t rows, bool orthogonal, drawn *out)
{
	const char *which = pairs[part];
	size_t wide = width[0] + width[1];
	inv_stream shuffle =
		inv_stream_of(b->seed, test_text("waco/shuffle/%s/0", which), (uint32_t)b->step);
	inv_directions set = {.L = MANY, .first = wide, .orthogonal = orthogonal};
	struct inv_kernels k;
	void *scratch;

	inv_kernels_init(&k, test_ctx->cpu);
	set.a = out->directions[part] = malloc(MANY * wide * sizeof(float));
	set.stream =
		inv_stream_of(b->seed, test_text("waco/directions/%s/0", which), (uint32_t)b->step);
	scratch = malloc(inv_directions_scratch(test_ctx, &set, 1));
	assert_int_equal(inv_directions_fill(test_ctx, &k, &set, 1, scratch), INVAR_OK);
	free(scratch);
	out->draws.directions[part] = out->directions[part];
	for (uint32_t half = 0; half < 2; half++) {
		out->permutations[part][half] = malloc(rows * sizeof(uint32_t));
		inv_permutation(&shuffle, half, out->permutations[part][half], (uint32_t)rows);
		out->draws.permutations[part][half] = out->permutations[part][half];
	}
}

static void free_drawn(drawn *d)
{
	for (int i = 0; i < 3; i++) {
		free(d->directions[i]);
		free(d->permutations[i][0]);
		free(d->permutations[i][1]);
	}
}

/* Frames are smaller than a block, and larger. */
static void blocks_draw_what_one_draw_of_all_directions_gives(void **state)
{
	enum { n = 3, s = 1, rows = (s + 1) * n, widest = 700 };
	static const size_t widths[][2] = {{5, 3}, {widest, 450}};
	static float clean[n * widest], codes[rows * widest], grad[2][rows * widest];
	inv_stream stream = inv_stream_of(2, "blocks", 0);

	(void)state;
	inv_fill_normal(&stream, 0, clean, n * widest);
	inv_fill_normal(&stream, 1, codes, rows * widest);
	for (size_t i = 0; i < 4; i++) {
		size_t d = widths[i / 2][0], w = widths[i / 2][1];
		const size_t halves[3][2] = {{d, w}, {d, d}, {w, w}};
		invar_options *o =
			test_set(waco_options(MANY), "slices", i % 2 ? "orthogonal" : "random", NULL);
		inv_loss_shape shape = {
			.ctx = test_ctx, .options = o, .N = n, .s = s, .d = d, .w = w};
		inv_loss_batch b = {.clean = clean, .codes = codes, .seed = 5, .step = 7};
		inv_loss_value v[2];
		drawn all = {0};

		for (size_t part = 0; part < 3; part++)
			draw_part(&b, part, halves[part], rows, i % 2, &all);
		v[0] = one_loss(&inv_loss_waco, shape, &b, grad[0]);
		b.draws = &all.draws;
		v[1] = one_loss(&inv_loss_waco, shape, &b, grad[1]);
		assert_memory_equal(&v[0], &v[1], sizeof v[0]);
		assert_memory_equal(grad[0], grad[1], rows * w * sizeof(float));
		free_drawn(&all);
		invar_options_free(o);
	}
}

/* The same directions over and over change no mean, wherever the blocks begin. */
static void blocks_add_up(void **state)
{
	enum { times = MANY / L + 1 };
	const size_t width[3] = {D + W, 2 * D, 2 * W};
	float *given[3], grad[M * W];
	cloud c;
	invar_options *o = waco_options(times * L);
	inv_loss_batch b = {.clean = c.clean, .codes = c.codes, .draws = &c.draws};
	double value;

	(void)state;
	fill_cloud(&c);
	value = our_loss(&c, 2);
	memcpy(grad, c.grad, sizeof grad);
	for (int i = 0; i < 3; i++) {
		given[i] = malloc(times * L * width[i] * sizeof(float));
		for (size_t t = 0; t < times; t++)
			memcpy(given[i] + t * L * width[i], c.directions[i],
			       L * width[i] * sizeof(float));
		c.draws.directions[i] = given[i];
	}
	value -= one_loss(&inv_loss_waco,
	                  (inv_loss_shape){
						  .ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W},
	                  &b, c.grad)
	             .value;
	assert_true(fabs(value) < 1e-12);
	for (size_t i = 0; i < M * W; i++)
		assert_true(fabsf(c.grad[i] - grad[i]) < 1e-6f);
	for (int i = 0; i < 3; i++)
		free(given[i]);
	invar_options_free(o);
}

static size_t bytes_of(size_t projections, const char *slices)
{
	invar_options *o = test_set(waco_options(projections), "slices", slices, NULL);
	struct inv_kernels kernels;
	inv_loss_shape shape = {.ctx = test_ctx,
	                        .kernels = &kernels,
	                        .options = o,
	                        .N = 64,
	                        .s = 3,
	                        .groups = 1,
	                        .d = 512,
	                        .w = 512};
	inv_loss_work work = {0};

	inv_kernels_init(&kernels, test_ctx->cpu);
	assert_int_equal(inv_loss_waco.prepare(&shape, &work), INVAR_OK);
	inv_loss_waco.release(work.state);
	invar_options_free(o);
	return work.bytes;
}

/* Three doubles per direction, and a status per 16 of them. */
static void memory_does_not_grow_with_the_directions(void **state)
{
	(void)state;
	for (int orthogonal = 0; orthogonal < 2; orthogonal++) {
		const char *slices = orthogonal ? "orthogonal" : "random";
		size_t some = bytes_of(1024, slices), many = bytes_of(102400, slices);

		assert_true(many > some && many - some < 101400 * 25);
	}
}

/* Equal rows, constant features: finite, and no gradient without a distance. */
static void nothing_to_tell_apart_stays_finite(void **state)
{
	cloud c;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		double value;

		fill_cloud(&c);
		for (size_t i = 0; i < N * D && kind != 1; i++)
			c.clean[i] = 3;
		for (size_t i = 0; i < M * W && kind != 0; i++)
			c.codes[i] = -2;
		value = our_loss(&c, 2);
		assert_true(isfinite(value));
		for (size_t i = 0; i < M * W; i++)
			assert_true(isfinite(c.grad[i]) && (kind == 0 || fabsf(c.grad[i]) < 1));
	}
}

/* With one augmentation and with several, whose logarithm has a floor. */
static void what_is_no_number_is_seen(void **state)
{
	enum { G = 2, ROWS = (G * S + 1) * N };
	invar_options *o = waco_options(L);
	inv_stream s = inv_stream_of(9, "faults", 0);
	float clean[N * D], codes[ROWS * W], grad[ROWS * W];
	inv_loss_batch b = {.clean = clean, .codes = codes};

	(void)state;
	for (size_t row = 0; row < ROWS; row++)
		for (size_t groups = 1; groups <= G; groups++) {
			inv_loss_shape shape = {
				.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W};

			shape.groups = groups;
			inv_fill_normal(&s, 0, clean, N * D);
			inv_fill_normal(&s, 1, codes, ROWS * W);
			codes[row % (inv_loss_rows(&inv_loss_waco, &shape)) * W] =
				row % 2 ? NAN : 3e38f;
			codes[row % (inv_loss_rows(&inv_loss_waco, &shape)) * W + 1] = 3e38f;
			assert_false(isfinite(one_loss(&inv_loss_waco, shape, &b, grad).value));
		}
	inv_fill_normal(&s, 1, codes, ROWS * W);
	for (size_t i = 0; i < N * D; i++)
		clean[i] = i % 2 ? 3e38f : -3e38f;
	assert_false(isfinite(
		one_loss(
			&inv_loss_waco,
			(inv_loss_shape){.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W},
			&b, grad)
			.value));
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_codes),
		cmocka_unit_test(values_and_differences_of_the_plain_form),
		cmocka_unit_test(a_variable_correlates_with_itself_by_one),
		cmocka_unit_test(scaling_follows_its_law),
		cmocka_unit_test(shuffling_the_second_half_changes_xx_and_zz_alone),
		cmocka_unit_test(the_worked_example),
		cmocka_unit_test(several_augmentations_add_their_logarithms),
		cmocka_unit_test(threads_change_no_bit),
		cmocka_unit_test(blocks_draw_what_one_draw_of_all_directions_gives),
		cmocka_unit_test(blocks_add_up),
		cmocka_unit_test(memory_does_not_grow_with_the_directions),
		cmocka_unit_test(nothing_to_tell_apart_stays_finite),
		cmocka_unit_test(what_is_no_number_is_seen),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
