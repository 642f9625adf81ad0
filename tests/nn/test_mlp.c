/* SPDX-License-Identifier: Apache-2.0 */
/* test_mlp.c - the adapter against the definition, its gradients against differences. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/mlp.h"
#include "nn/packed_layers.h"

/* Odd on purpose; H = 40 > M = 13 cuts by columns, h = 7 < M by rows. */
static const inv_mlp_shape shapes[] = {{5, 40, 5}, {9, 7, 4}, {1, 1, 1}, {33, 17, 33}};

enum { M = 13 };

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(2, purpose, 0);
	float *x = inv_alloc((count + 1) * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

/* y = W2 relu(W0 x + b0) + b2 (+ x), one row, in double. */
static void plain_forward(inv_mlp_shape s, const double *params, const float *x,
                          bool residual, double *y)
{
	inv_mlp_block b[INV_MLP_BLOCKS];
	double hidden[64];

	inv_mlp_layout(s, b);
	for (size_t j = 0; j < s.h; j++) {
		hidden[j] = params[b[1].offset + j];
		for (size_t k = 0; k < s.d; k++)
			hidden[j] += params[b[0].offset + j * s.d + k] * x[k];
		hidden[j] = hidden[j] > 0 ? hidden[j] : 0;
	}
	for (size_t i = 0; i < s.w; i++) {
		y[i] = params[b[3].offset + i] + (residual ? (double)x[i] : 0);
		for (size_t j = 0; j < s.h; j++)
			y[i] += params[b[2].offset + i * s.h + j] * hidden[j];
	}
}

/* The loss of the gradient test: sum over rows of c . y, so dy = c. */
static double plain_loss(inv_mlp_shape s, const double *params, const float *x,
                         const float *c)
{
	double y[64], sum = 0;

	for (size_t r = 0; r < M; r++) {
		plain_forward(s, params, x + r * s.d, false, y);
		for (size_t i = 0; i < s.w; i++)
			sum += c[r * s.w + i] * y[i];
	}
	return sum;
}

/* The same parameters in double; free with inv_free. */
static double *widen(const float *params, size_t count)
{
	double *wide = inv_calloc(count, sizeof *wide);

	assert_non_null(wide);
	for (size_t i = 0; i < count; i++)
		wide[i] = params[i];
	return wide;
}

static void forward_and_apply_equal_the_definition(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
		for (int residual = 0; residual <= (shapes[n].d == shapes[n].w); residual++) {
			inv_mlp_shape s = shapes[n];
			float *params = inv_calloc(inv_mlp_floats(s), sizeof(float));
			float *x = draw("x", M * s.d), *y = draw("y", M * s.w), *z = draw("z", M * s.w);
			inv_layers *pass;
			double want[64], *wide;

			inv_mlp_init(s, 4, false, params);
			wide = widen(params, inv_mlp_floats(s));
			assert_int_equal(inv_mlp_pass_new(ctx, s, M, false, &pass), INVAR_OK);
			assert_int_equal(inv_layers_forward(pass, params, x, residual, y), INVAR_OK);
			assert_int_equal(inv_mlp_apply(ctx, s, params, residual, x, M, z), INVAR_OK);
			for (size_t r = 0; r < M; r++) {
				plain_forward(s, wide, x + r * s.d, residual, want);
				for (size_t i = 0; i < s.w; i++) {
					assert_true(fabs(y[r * s.w + i] - want[i]) <
					            1e-5 * (1 + fabs(want[i])));
					assert_true(fabs(z[r * s.w + i] - want[i]) <
					            1e-5 * (1 + fabs(want[i])));
				}
			}
			inv_layers_free(pass);
			inv_free(wide);
			inv_free(params);
			inv_free(x);
			inv_free(y);
			inv_free(z);
		}
	invar_context_free(ctx);
}

/* Central differences of the plain path in double, for every parameter of a block. */
static void check_block(inv_mlp_shape s, const inv_mlp_block *b, double *params,
                        const float *x, const float *c, const float *grads)
{
	const double step = 1e-6; /* small enough to stay on one side of every ReLU */

	for (size_t i = 0; i < b->count; i++) {
		double *p = params + b->offset + i, keep = *p, up, down, difference;

		*p = keep + step;
		up = plain_loss(s, params, x, c);
		*p = keep - step;
		down = plain_loss(s, params, x, c);
		*p = keep;
		difference = (up - down) / (2 * step);
		if (!(fabs(grads[b->offset + i] - difference) < 1e-5 * (1 + fabs(difference))))
			fail_msg("%s[%zu] is %g, differences say %g", b->name, i,
			         (double)grads[b->offset + i], difference);
	}
}

static void every_gradient_block_equals_finite_differences(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
		inv_mlp_shape s = shapes[n];
		inv_mlp_block b[INV_MLP_BLOCKS];
		float *params = inv_calloc(inv_mlp_floats(s), sizeof(float));
		float *grads = inv_calloc(inv_mlp_floats(s), sizeof(float));
		float *x = draw("x", M * s.d), *c = draw("c", M * s.w), *y = draw("y", M * s.w);
		inv_layers *pass;
		double *wide;

		inv_mlp_init(s, 9, false, params);
		wide = widen(params, inv_mlp_floats(s));
		inv_mlp_layout(s, b);
		assert_int_equal(inv_mlp_pass_new(ctx, s, M, true, &pass), INVAR_OK);
		assert_int_equal(inv_layers_forward(pass, params, x, false, y), INVAR_OK);
		assert_int_equal(inv_layers_backward(pass, 1, params, NULL, c, grads), INVAR_OK);
		assert_int_equal(inv_layers_backward(pass, 0, NULL, x, NULL, grads), INVAR_OK);
		for (int i = 0; i < INV_MLP_BLOCKS; i++)
			check_block(s, &b[i], wide, x, c, grads);
		inv_layers_free(pass);
		inv_free(wide);
		inv_free(params);
		inv_free(grads);
		inv_free(x);
		inv_free(c);
		inv_free(y);
	}
	invar_context_free(ctx);
}

/* Each row alone, all at once, and on another number of threads: the same bits. */
static void packed_rows_do_not_depend_on_others(void **state)
{
	static const size_t counts[] = {1, 2, 5, 6, 7, 16, 63, 64, 65, 200, 601};
	static const inv_layers_shape layers[] = {
		{2, {5, 40, 5}}, {2, {401, 530, 401}}, {1, {9, 7}}, {3, {33, 17, 60, 33}}};
	const size_t most = 601;

	(void)state;
	for (size_t n = 0; n < sizeof layers / sizeof *layers; n++) {
		const inv_layers_shape *s = &layers[n];
		size_t in = s->width[0], out = s->width[s->count];
		const inv_stream stream = inv_stream_of(3, "packed", 0);
		bool residual = in == out;
		float *params = inv_calloc(inv_layers_floats(s), sizeof *params);
		float *x = draw("x", most * in), *want = draw("y", most * out);
		float *plain = draw("p", most * out), *got = draw("z", most * out);

		inv_layers_init(s, &stream, params);
		for (unsigned threads = 1; threads <= 3; threads++) {
			invar_context *ctx;
			inv_packed_layers *p;

			assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
			if (!inv_packed_layers_usable(ctx)) {
				invar_context_free(ctx);
				skip();
			}
			assert_int_equal(inv_packed_layers_new(ctx, s, params, &p), INVAR_OK);
			if (threads == 1) {
				for (size_t i = 0; i < most; i++)
					assert_int_equal(
						inv_packed_layers_apply(p, residual, x + i * in, 1, want + i * out),
						INVAR_OK);
				assert_int_equal(inv_layers_apply(ctx, s, params, residual, x, most, plain),
				                 INVAR_OK);
				for (size_t i = 0; i < most * out; i++)
					assert_true(fabsf(want[i] - plain[i]) < 1e-5f * (1 + fabsf(plain[i])));
			}
			for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
				memset(got, 0, most * out * sizeof *got);
				assert_int_equal(inv_packed_layers_apply(p, residual, x, counts[i], got),
				                 INVAR_OK);
				assert_memory_equal(got, want, counts[i] * out * sizeof *got);
			}
			inv_packed_layers_free(p);
			invar_context_free(ctx);
		}
		for (size_t f = 0; f < 5; f++)
			inv_free((float *[]){params, x, want, plain, got}[f]);
	}
}

static void it_begins_like_pytorch(void **state)
{
	const inv_mlp_shape s = {100, 400, 100};
	inv_mlp_block b[INV_MLP_BLOCKS];
	float *p = inv_calloc(inv_mlp_floats(s), sizeof *p);
	double sum = 0, square = 0;

	(void)state;
	inv_mlp_layout(s, b);
	inv_mlp_init(s, 1, false, p);
	for (size_t i = 0; i < b[0].count; i++) {
		assert_true(fabsf(p[i]) <= 0.1f); /* 1 / sqrt(100) */
		sum += p[i];
		square += (double)p[i] * p[i];
	}
	assert_true(fabs(sum / (double)b[0].count) < 1e-3);
	assert_true(fabs(square / (double)b[0].count - 0.01 / 3) <
	            1e-4); /* variance of a uniform */
	for (size_t i = 0; i < b[2].count; i++)
		assert_true(fabsf(p[b[2].offset + i]) <= 0.05f); /* 1 / sqrt(400) */
	inv_mlp_init(s, 1, true, p);
	for (size_t i = b[2].offset; i < inv_mlp_floats(s); i++)
		assert_true(p[i] == 0); /* residual: the identity */
	inv_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward_and_apply_equal_the_definition),
		cmocka_unit_test(every_gradient_block_equals_finite_differences),
		cmocka_unit_test(packed_rows_do_not_depend_on_others),
		cmocka_unit_test(it_begins_like_pytorch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
