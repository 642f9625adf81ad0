/* SPDX-License-Identifier: Apache-2.0 */
/* test_decoder.c - the reconstruction against its definition and against differences. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "adapter/step.h"
#include "base/rng.h"

enum { N = 11, MOST = 64 };

/* D's own shapes (w, hidden, d): narrow codes, wide codes, odd sizes. */
static const inv_mlp_shape shapes[] = {{3, 19, 9}, {9, 5, 9}, {17, 33, 5}, {1, 1, 1}};

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(3, purpose, 0);
	float *x = inv_alloc((count + 1) * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

static double *widen(const float *x, size_t count)
{
	double *wide = inv_calloc(count, sizeof *wide);

	assert_non_null(wide);
	for (size_t i = 0; i < count; i++)
		wide[i] = x[i];
	return wide;
}

/* y = W2 relu(W0 z + b0) + b2, one row. */
static void plain_mlp(inv_mlp_shape s, const double *params, const double *z, double *y)
{
	inv_mlp_block b[INV_MLP_BLOCKS];
	double hidden[MOST];

	inv_mlp_layout(s, b);
	for (size_t j = 0; j < s.h; j++) {
		hidden[j] = params[b[1].offset + j];
		for (size_t k = 0; k < s.d; k++)
			hidden[j] += params[b[0].offset + j * s.d + k] * z[k];
		hidden[j] = hidden[j] > 0 ? hidden[j] : 0;
	}
	for (size_t i = 0; i < s.w; i++) {
		y[i] = params[b[3].offset + i];
		for (size_t j = 0; j < s.h; j++)
			y[i] += params[b[2].offset + i * s.h + j] * hidden[j];
	}
}

/* R of Eq. 32, in double. */
static double plain(inv_mlp_shape s, const double *params, const float *x, const double *z)
{
	double y[MOST], sum = 0;

	for (size_t r = 0; r < N; r++) {
		plain_mlp(s, params, z + r * s.d, y);
		for (size_t i = 0; i < s.w; i++)
			sum += (x[r * s.w + i] - y[i]) * (x[r * s.w + i] - y[i]);
	}
	return sum / N;
}

typedef struct problem {
	inv_mlp_shape s;
	float *params, *x, *z;
	double *wide_params, *wide_z;
} problem;

static problem pose(inv_mlp_shape s)
{
	problem p = {.s = s,
	             .params = inv_calloc(inv_mlp_floats(s), sizeof(float)),
	             .x = draw("x", N * s.w),
	             .z = draw("z", N * s.d)};

	inv_decoder_init(s, 7, p.params);
	p.wide_params = widen(p.params, inv_mlp_floats(s));
	p.wide_z = widen(p.z, N * s.d);
	return p;
}

static void drop(problem *p)
{
	inv_free(p->params);
	inv_free(p->x);
	inv_free(p->z);
	inv_free(p->wide_params);
	inv_free(p->wide_z);
}

static void check(const problem *p, double *at, double scale, float got, const char *what)
{
	const double step = 1e-6; /* small enough to stay on one side of every ReLU */
	double keep = *at, up, down, want;

	*at = keep + step;
	up = plain(p->s, p->wide_params, p->x, p->wide_z);
	*at = keep - step;
	down = plain(p->s, p->wide_params, p->x, p->wide_z);
	*at = keep;
	want = scale * (up - down) / (2 * step);
	if (!(fabs(got - want) < 2e-5 * (1 + fabs(want))))
		fail_msg("%s is %g, differences say %g", what, (double)got, want);
}

static void value_and_gradients_equal_differences(void **state)
{
	const double alpha = 0.3;

	(void)state;
	for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
		problem p = pose(shapes[n]);
		size_t codes = N * p.s.d;
		float *grads = inv_calloc(inv_mlp_floats(p.s), sizeof(float));
		float *dz = inv_calloc(codes, sizeof(float));
		inv_mlp_block b[INV_MLP_BLOCKS];
		struct inv_kernels kernels;
		inv_decoder *d;
		double value, want;

		inv_kernels_init(&kernels, test_ctx->cpu);
		inv_mlp_layout(p.s, b);
		for (size_t i = 0; i < codes; i++)
			dz[i] = 1; /* the gradient is added to this */
		assert_int_equal(inv_decoder_new(test_ctx, &kernels, p.s, N, true, &d), INVAR_OK);
		assert_int_equal(inv_decoder_forward(d, p.params, p.x, p.z, alpha, &value),
		                 INVAR_OK);
		want = plain(p.s, p.wide_params, p.x, p.wide_z);
		assert_true(fabs(value - want) < 1e-5 * want);
		assert_int_equal(inv_decoder_backward(d, p.params, p.z, grads, dz), INVAR_OK);
		for (int k = 0; k < INV_MLP_BLOCKS; k++)
			for (size_t i = b[k].offset; i < b[k].offset + b[k].count; i++)
				check(&p, p.wide_params + i, alpha, grads[i], b[k].name);
		for (size_t i = 0; i < codes; i++)
			check(&p, p.wide_z + i, alpha, dz[i] - 1, "a code");
		inv_decoder_free(d);
		inv_free(grads);
		inv_free(dz);
		drop(&p);
	}
}

/* ---- In a step ------------------------------------------------------------------ */

enum { D = 6, W = 6, S = 2, ROWS = (S + 1) * N };

static const inv_mlp_shape E = {D, 13, W}, back = {W, 10, D};

/* alpha R + beta MaWa of E and D, in double. */
static double plain_step(const double *params, const float *rows, bool no_identity)
{
	double y[MOST], codes[N * W], sum = 0;
	float clean[N * D];

	memcpy(clean, rows, sizeof clean);
	for (size_t r = 0; r < ROWS; r++) {
		double x[D];

		for (size_t i = 0; i < D; i++)
			x[i] = rows[r * D + i];
		plain_mlp(E, params, x, y);
		if (r < N)
			memcpy(codes + r * W, y, W * sizeof *y);
		for (size_t i = 0; i < W && !(no_identity && r < N); i++)
			sum += (y[i] - clean[r % N * D + i]) * (y[i] - clean[r % N * D + i]);
	}
	sum /= no_identity ? S * N : ROWS;
	return 0.4 * plain(back, params + inv_mlp_floats(E), clean, codes) + 1.7 * sum;
}

static void a_step_adds_it_to_any_loss(void **state)
{
	(void)state;
	for (int no_identity = 0; no_identity < 2; no_identity++) {
		invar_options *o =
			test_options("loss", "no-identity", no_identity ? "1" : "0", NULL);
		inv_step_spec spec = {.shape = E,
		                      .loss = inv_loss_find("mawa"),
		                      .options = o,
		                      .N = N,
		                      .s = S,
		                      .decoder = back,
		                      .alpha = 0.4,
		                      .beta = 1.7,
		                      .update = true};
		float *rows = draw("rows", ROWS * D);
		inv_loss_value value;
		inv_step *p;
		double *wide;

		assert_int_equal(inv_step_new(test_ctx, &spec, &p), INVAR_OK);
		assert_string_equal(p->terms[p->term_count - 1], "reconstruction");
		inv_mlp_init(E, 1, false, p->params);
		inv_decoder_init(back, 1, p->params + p->adapter_floats);
		wide = widen(p->params, p->floats);
		assert_int_equal(inv_step_gradients(p, rows, &value), INVAR_OK);
		assert_true(fabs(value.value - plain_step(wide, rows, no_identity)) < 1e-4);
		for (size_t i = 0; i < p->floats; i++) {
			double keep = wide[i], up, down, want;

			wide[i] = keep + 1e-6;
			up = plain_step(wide, rows, no_identity);
			wide[i] = keep - 1e-6;
			down = plain_step(wide, rows, no_identity);
			wide[i] = keep;
			want = (up - down) / 2e-6;
			if (p->params[i] != 0 && !(fabs(p->grads[i] - want) < 3e-5 * (1 + fabs(want))))
				fail_msg("gradient %zu is %g, differences say %g", i, (double)p->grads[i],
				         want);
		}
		inv_step_free(p);
		invar_options_free(o);
		inv_free(wide);
		inv_free(rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_and_gradients_equal_differences),
		cmocka_unit_test(a_step_adds_it_to_any_loss),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
