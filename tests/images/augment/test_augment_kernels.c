/* SPDX-License-Identifier: Apache-2.0 */
/* test_augment_kernels.c - each fast loop over pixels gives the bits of its plain one. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "images/augment/warp.h"

enum { MOST = 70 };

static struct inv_augment_kernels ref, fast;

static void draw(const char *purpose, uint32_t index, float *x, size_t count)
{
	inv_stream s = inv_stream_of(11, purpose, 0);

	inv_fill_normal(&s, index, x, count);
}

/* Sides, maps and fills at random; every result of both, bit for bit. */
static void warps_agree(void **state)
{
	inv_stream s = inv_stream_of(3, "shapes", 0);
	float *x = malloc(5 * MOST * MOST * sizeof *x);
	float *a = malloc(5 * MOST * MOST * sizeof *a),
		  *b = malloc(5 * MOST * MOST * sizeof *b);

	(void)state;
	draw("picture", 0, x, 5 * MOST * MOST);
	for (uint32_t i = 0; i < 600; i++) {
		inv_cursor c = inv_cursor_of(&s, i);
		inv_extent in = {1 + inv_next_below(&c, 5), 1 + inv_next_below(&c, MOST),
		                 1 + inv_next_below(&c, MOST)};
		inv_extent out = {in.c, 1 + inv_next_below(&c, MOST), 1 + inv_next_below(&c, MOST)};
		inv_warp w = {.align_corners = inv_next_below(&c, 2),
		              .exact = inv_next_below(&c, 2),
		              .fill = (int)inv_next_below(&c, 4),
		              .circle = inv_next_below(&c, 4) == 0};
		size_t bytes = inv_extent_cells(out) * sizeof *a;

		for (int k = 0; k < 6; k++)
			w.m[k] = (double)inv_next_uniform(&c) * 4 - 2;
		w.m[2] *= 10;
		w.m[5] *= 10;
		w.m[8] = 1;
		if (i % 50 == 0)
			w.m[0] = w.m[1] = 0; /* singular: must not crash, whatever the result */
		inv_warp_apply(&ref, &w, x, in, out, a);
		inv_warp_apply(&fast, &w, x, in, out, b);
		if (memcmp(a, b, bytes) != 0)
			fail_msg("draw %u: %zu x %zu x %zu to %zu x %zu differs", i, in.c, in.h, in.w,
			         out.h, out.w);
	}
	free(x);
	free(a);
	free(b);
}

static void rows_agree(void **state)
{
	float x[MOST + 1], y[MOST], share[MOST], a[MOST], b[MOST];
	int32_t at[MOST];
	inv_stream s = inv_stream_of(5, "places", 0);

	(void)state;
	draw("x", 0, x, MOST + 1);
	draw("y", 1, y, MOST);
	inv_fill_uniform(&s, 0, 0, 1, share, MOST);
	for (uint32_t i = 0; i < MOST; i++)
		at[i] = (int32_t)(i * 37 % MOST);
	for (size_t n = 0; n <= MOST; n++) {
		ref.stretch_row(x, at, share, n, a);
		fast.stretch_row(x, at, share, n, b);
		assert_memory_equal(a, b, n * sizeof *a);
		ref.mix_rows(x, y, 0.3f, n, a);
		fast.mix_rows(x, y, 0.3f, n, b);
		assert_memory_equal(a, b, n * sizeof *a);
		ref.scale(x, 0.7f, 0.1f, -0.4f, 0.5f, n, a);
		fast.scale(x, 0.7f, 0.1f, -0.4f, 0.5f, n, b);
		assert_memory_equal(a, b, n * sizeof *a);
		memcpy(a, y, sizeof y);
		memcpy(b, y, sizeof y);
		ref.add_scaled(x, 0.7f, n, a);
		fast.add_scaled(x, 0.7f, n, b);
		assert_memory_equal(a, b, sizeof a);
		ref.add_field(x, 0.2f, 1.7f, n, a);
		fast.add_field(x, 0.2f, 1.7f, n, b);
		assert_memory_equal(a, b, sizeof a);
	}
}

static int choose(void **state)
{
	invar_context *ctx;

	(void)state;
	if (invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	inv_augment_kernels_init(&ref, 0);
	inv_augment_kernels_init(&fast, ctx->cpu);
	invar_context_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warps_agree),
		cmocka_unit_test(rows_agree),
	};

	return cmocka_run_group_tests(tests, choose, NULL);
}
