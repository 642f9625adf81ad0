/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokens.c - norms, activations and attention against their plain forms. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "math/attention.h"

enum { ROWS = 5, WIDE = 70, STRIDE = 77 };

static struct inv_kernels plain, fast;

static void fill(float *x, size_t count, uint32_t index, float scale)
{
	inv_stream s = inv_stream_of(9, "tokens", 0);

	inv_fill_normal(&s, index, x, count);
	for (size_t i = 0; i < count; i++)
		x[i] *= scale;
}

static void assert_near(const float *got, const float *want, size_t count, double abs)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)got[i] - want[i]) <= abs * (1 + fabs((double)want[i]))))
			fail_msg("value %zu: %.9g, not %.9g", i, got[i], want[i]);
}

static void norms_are_right(void **state)
{
	float weight[WIDE], bias[WIDE], then[WIDE], a[ROWS * STRIDE], b[ROWS * STRIDE];
	float y[ROWS * STRIDE] = {0}, want[ROWS * STRIDE] = {0};

	(void)state;
	fill(weight, WIDE, 1, 1);
	fill(bias, WIDE, 2, 1);
	fill(then, WIDE, 3, 1);
	for (size_t width = 1; width <= WIDE; width++) {
		inv_layer_norm n = {width, weight, bias, 1e-6f, width % 3 ? then : NULL};

		fill(a, ROWS * STRIDE, (uint32_t)(10 + width), 3);
		for (size_t i = 0; i < ROWS * STRIDE; i++)
			b[i] = a[i] += 2;
		plain.layer_norm(&n, ROWS, STRIDE, STRIDE - 1, a, want);
		fast.layer_norm(&n, ROWS, STRIDE, STRIDE - 1, b, y);
		/* One value is its own mean: what is left is rounding over sqrt(eps). */
		assert_near(y, want, ROWS * STRIDE, width < 3 ? 1e-3 : 2e-6);
		assert_memory_equal(a, b, sizeof a);
	}
}

static void a_constant_row_becomes_the_bias(void **state)
{
	float x[16], y[16], one[16], bias[16];
	const inv_layer_norm n = {16, one, bias, 1e-12f, NULL};

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		x[i] = 3.25f;
		one[i] = 1;
		bias[i] = (float)i;
	}
	fast.layer_norm(&n, 1, 16, 16, x, y);
	assert_memory_equal(y, bias, sizeof y);
}

static void biases_are_added(void **state)
{
	float bias[WIDE], a[ROWS * STRIDE], b[ROWS * STRIDE];

	(void)state;
	fill(bias, WIDE, 4, 1);
	for (size_t width = 1; width <= WIDE; width++) {
		fill(a, ROWS * STRIDE, (uint32_t)(100 + width), 3);
		memcpy(b, a, sizeof a);
		plain.add_bias(bias, ROWS, width, STRIDE, a);
		fast.add_bias(bias, ROWS, width, STRIDE, b);
		assert_memory_equal(a, b, sizeof a);
	}
}

/* Off by a share of |t| at most. */
static void assert_activation(const float *got, const float *want, const float *t,
                              size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)got[i] - want[i]) <= 2e-7 * fabs((double)t[i])))
			fail_msg("of %.9g: %.9g, not %.9g", t[i], got[i], want[i]);
}

typedef void activation(const float *bias, size_t rows, size_t width, float *x);

enum { ACTIVATIONS = 4 };

static activation *activation_of(const struct inv_kernels *k, size_t i)
{
	activation *const all[ACTIVATIONS] = {k->bias_gelu, k->bias_quick_gelu,
	                                      k->bias_tanh_gelu, k->bias_silu};

	return all[i];
}

static void activations_are_right(void **state)
{
	enum { COUNT = 4001 };
	static float t[COUNT], a[COUNT], b[COUNT], none[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		t[i] = (float)((double)i - 2000) * 0.004f;
	for (size_t i = 0; i < ACTIVATIONS; i++) {
		memcpy(a, t, sizeof t);
		memcpy(b, t, sizeof t);
		activation_of(&plain, i)(none, 1, COUNT, a);
		activation_of(&fast, i)(none, 1, COUNT, b);
		assert_activation(b, a, t, COUNT);
	}
}

/* PyTorch's, in double. */
static void activations_of_known_values(void **state)
{
	static const float zero[4];
	static const double want[ACTIVATIONS][4] = {{0.841344746069, -0.154268769363, 1000, 0},
	                                            {0.845795765933, -0.149611563394, 1000, 0},
	                                            {0.841191990608, -0.154285990175, 1000, 0},
	                                            {0.731058578630, -0.188770334399, 1000, 0}};
	struct inv_kernels *const flavours[] = {&plain, &fast};

	(void)state;
	for (size_t i = 0; i < 2 * ACTIVATIONS; i++) {
		const double *is = want[i / 2];
		float a[4] = {1, -0.5f, 1000, -1000};

		activation_of(flavours[i % 2], i / 2)(zero, 1, 4, a);
		for (size_t j = 0; j < 4; j++)
			assert_true(fabs(a[j] - is[j]) <= 2e-7 * (1 + fabs(is[j])));
	}
}

static void activations_take_biases_by_row(void **state)
{
	float bias[WIDE], a[ROWS * WIDE], b[ROWS * WIDE];

	(void)state;
	fill(bias, WIDE, 5, 1);
	for (size_t width = 1; width <= WIDE; width++)
		for (size_t i = 0; i < ACTIVATIONS; i++) {
			fill(a, ROWS * WIDE, (uint32_t)(200 + width), 3);
			memcpy(b, a, sizeof a);
			activation_of(&plain, i)(bias, ROWS, width, a);
			activation_of(&fast, i)(bias, ROWS, width, b);
			assert_near(b, a, ROWS * WIDE, 2e-6);
		}
}

static void a_nan_stays_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ACTIVATIONS; i++) {
		float bias[9] = {0}, x[9] = {0};

		x[3] = x[8] = NAN;
		activation_of(&fast, i)(bias, 1, 9, x);
		assert_true(isnan(x[3]) && isnan(x[8]) && x[0] == 0);
	}
}

static void gates_multiply(void **state)
{
	float bias[WIDE], by[ROWS * WIDE], a[ROWS * WIDE], b[ROWS * WIDE];

	(void)state;
	fill(bias, WIDE, 6, 1);
	fill(by, ROWS * WIDE, 7, 1);
	for (size_t width = 1; width <= WIDE; width++) {
		fill(a, ROWS * WIDE, (uint32_t)(400 + width), 3);
		memcpy(b, a, sizeof a);
		plain.bias_multiply(bias, by, ROWS, width, a);
		fast.bias_multiply(bias, by, ROWS, width, b);
		assert_memory_equal(a, b, sizeof a);
	}
}

static void rotations_are_right(void **state)
{
	enum { TURNED = 3 };
	float cos_of[WIDE], sin_of[WIDE], a[2 * TURNED * WIDE], b[2 * TURNED * WIDE];
	float quarter[2] = {3, 4}, zero = 0, one = 1;

	(void)state;
	fast.rotate(&zero, &one, 1, 1, quarter); /* by 90 degrees */
	assert_true(quarter[0] == -4 && quarter[1] == 3);
	for (size_t j = 0; j < WIDE; j++) {
		cos_of[j] = (float)cos((double)j);
		sin_of[j] = (float)sin((double)j);
	}
	for (size_t half = 1; half <= WIDE; half++) {
		fill(a, 2 * TURNED * WIDE, (uint32_t)(500 + half), 3);
		memcpy(b, a, sizeof a);
		plain.rotate(cos_of, sin_of, TURNED, half, a);
		fast.rotate(cos_of, sin_of, TURNED, half, b);
		assert_near(b, a, 2 * TURNED * WIDE, 1e-6);
	}
}

/* ---- Attention -------------------------------------------------------------------- */

enum { MOST = 150, HEADS = 3, HEAD = 65 };

static void check_attention(invar_context *ctx, size_t queries, size_t tokens, size_t width)
{
	static float qkv[MOST * 3 * HEADS * HEAD], got[MOST * HEADS * HEAD];
	static float want[MOST * HEADS * HEAD], size[1 << 18];
	static double scores[MOST];
	struct inv_kernels k;
	size_t d = HEADS * width;
	const inv_attention a = {.kernels = &k,
	                         .queries = queries,
	                         .tokens = tokens,
	                         .heads = HEADS,
	                         .width = width,
	                         .q_stride = 3 * d,
	                         .kv_stride = 3 * d,
	                         .out_stride = d};

	inv_kernels_init(&k, ctx->cpu);
	assert_true(inv_attention_room(&a) <= sizeof size / sizeof *size);
	fill(qkv, tokens * 3 * d, (uint32_t)(300 + tokens), 0.7f);
	memset(got, 0, sizeof got);
	memset(want, 0, sizeof want);
	for (size_t h = 0; h < HEADS; h++)
		inv_attention_head(&a, h, qkv, qkv + d, qkv + 2 * d, size, got);
	inv_attention_ref(&a, qkv, qkv + d, qkv + 2 * d, scores, want);
	assert_near(got, want, sizeof got / sizeof *got, 5e-6);
}

static void attention_is_right(void **state)
{
	static const size_t tokens[] = {1, 2, 5, 16, 17, 63, 64, 65, 129, 145};
	static const size_t widths[] = {1, 12, 16, 31, 64, 65};
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	for (int flavour = 0; flavour < 2; flavour++, ctx->cpu = 0)
		for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
			for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
				check_attention(ctx, tokens[i], tokens[i], widths[j]);
				check_attention(ctx, 1, tokens[i], widths[j]);
			}
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(norms_are_right),
		cmocka_unit_test(a_constant_row_becomes_the_bias),
		cmocka_unit_test(biases_are_added),
		cmocka_unit_test(activations_are_right),
		cmocka_unit_test(activations_of_known_values),
		cmocka_unit_test(activations_take_biases_by_row),
		cmocka_unit_test(a_nan_stays_one),
		cmocka_unit_test(gates_multiply),
		cmocka_unit_test(rotations_are_right),
		cmocka_unit_test(attention_is_right),
	};
	invar_context *ctx;

	if (invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	inv_kernels_init(&plain, 0);
	inv_kernels_init(&fast, ctx->cpu);
	invar_context_free(ctx);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
