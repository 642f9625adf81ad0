/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bounds.c - no kernel reads or writes beyond its arrays, whatever their size.
 *
 * Every array of a call has its exact size and ends right before an inaccessible page or
 * begins right after it, with NaN on its other side. Other tests of this folder check the
 * numbers; here results must be finite.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "fence.h"
#include "math/bfloat16.h"
#include "math/kernels.h"
#include "math/panels.h"
#include "math/sliced.h"
#include "math/sort.h"
#include "math/winograd.h"

enum { FENCES = 8, MOST = 70, ROOM = 1 << 18 };

static struct inv_kernels k;
static test_fence fence[FENCES];
static float numbers[1 << 14];
static bool before; /* whether the inaccessible page comes first */

/* Array `which` of a call: `count` numbers between 0.1 and 1. */
static float *floats(size_t which, size_t count)
{
	assert_true(count <= sizeof numbers / sizeof *numbers);
	return test_fenced_copy(&fence[which], before, numbers, count * sizeof(float));
}

static void *bytes_of(size_t which, size_t bytes)
{
	return test_fenced(&fence[which], before, bytes);
}

static void *zeros(size_t which, size_t bytes)
{
	return memset(bytes_of(which, bytes), 0, bytes);
}

static void assert_finite(const float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_true(isfinite(x[i]));
}

static void check_both(void (*check)(size_t n), size_t from, size_t to)
{
	for (int side = 0; side < 2; side++)
		for (size_t n = from; n <= to; n++) {
			before = side;
			check(n);
		}
}

/* ---- One array after another --------------------------------------------------------- */

static void check_vectors(size_t n)
{
	const inv_adamw_rates r = {.keep = 1, .root = 1, .eps = 1, .step = 0.1f};
	float *x = floats(0, n), *y = floats(1, n), *m = floats(2, n), *v = floats(3, n);
	uint16_t *half = zeros(4, n * sizeof *half);
	uint32_t *counts = zeros(5, sizeof *counts << 16);

	assert_true(k.all_finite(x, n));
	k.widen_half(half, n, y);
	k.add(x, n, y);
	assert_true(isfinite(k.squared_error(x, y, n, 2, m)));
	k.adamw(&r, x, n, y, m, v);
	assert_finite(y, n);
	assert_true(isfinite(k.squared_distance(x, y, n)));
	assert_true(isfinite(k.dot(x, y, n)));
	assert_true(n == 0 || isfinite(k.largest(x, n)));
	k.count_upper(x, n, counts);
	k.count_lower(x, n, 0x3f00, counts);
}

static void vectors_of_every_length(void **state)
{
	(void)state;
	check_both(check_vectors, 0, MOST);
}

static void check_exponentials(size_t n)
{
	float *x = floats(0, n), *weight = floats(1, n);

	assert_true(isfinite(k.exp_shifted(2, 1, n, x)));
	assert_true(isfinite(k.exp_weighted(weight, 1, n, x)));
	k.squares_of_products(1, weight, 1e-3f, n, x);
	assert_finite(x, n);
}

static void exponentials_of_every_length(void **state)
{
	(void)state;
	check_both(check_exponentials, 0, MOST);
}

static void check_whole_numbers(size_t n)
{
	const float *x = floats(0, n), *centre = floats(1, n);
	int16_t *out = bytes_of(2, n * sizeof *out);

	assert_true(isfinite(k.quantise(x, centre, n, 0.01, out)));
}

static void check_dot_tile(size_t pairs)
{
	const int16_t *a = zeros(0, 2 * INV_DOT_ROWS * pairs * sizeof *a);
	const int16_t *b = zeros(1, 2 * INV_DOT_COLS * pairs * sizeof *b);
	int32_t *sums = zeros(2, INV_DOT_ROWS * INV_DOT_COLS * sizeof *sums);

	k.dot_tile(a, b, pairs, sums);
	assert_int_equal(sums[0], 0);
}

static void check_near_columns(size_t n)
{
	const inv_near t = {0.02f, 1.5f, 3, 0.9f, 1.1f};
	const int32_t *dots = zeros(0, INV_DOT_COLS * sizeof *dots);
	const uint32_t *labels = zeros(1, INV_DOT_COLS * sizeof *labels);
	const float *scales = floats(2, INV_DOT_COLS), *squares = floats(3, INV_DOT_COLS);
	float *near = bytes_of(4, INV_DOT_COLS * sizeof *near);

	(void)n;
	k.near_columns(&t, dots, scales, squares, labels, near);
	assert_finite(near, INV_DOT_COLS);
}

static void whole_numbers_and_their_tiles(void **state)
{
	(void)state;
	check_both(check_whole_numbers, 0, MOST);
	check_both(check_dot_tile, 0, 20);
	check_both(check_near_columns, 0, 0);
}

static void check_draws(size_t n)
{
	const inv_stream s = inv_stream_of(3, "bounds", 0);
	float *normal = bytes_of(1, n * sizeof *normal);

	k.normal(&s, 1, normal, n);
	assert_finite(normal, n);
	if (k.add_normal) {
		float *x = zeros(2, n * sizeof *x), *out = bytes_of(3, n * sizeof *out);

		k.add_normal(&s, 1, x, 0, 1, out, n);
		assert_finite(out, n);
	}
}

static void draws_of_every_length(void **state)
{
	(void)state;
	check_both(check_draws, 0, 2 * MOST);
}

/* ---- Rows and columns ------------------------------------------------------------ */

enum { ROWS = 3, GAP = 5 };

/* Floats of `rows` rows, `stride` apart, without the gap after the last one. */
static size_t strided(size_t rows, size_t width, size_t stride)
{
	return rows ? (rows - 1) * stride + width : 0;
}

static void check_tokens(size_t n)
{
	size_t wide = strided(ROWS, n, n + GAP);
	inv_layer_norm norm = {.width = n, .eps = 1e-3f};
	float *x = floats(0, wide), *y = floats(1, wide), *rows = floats(5, ROWS * n);
	float *sums = floats(6, n);

	norm.weight = floats(2, n);
	norm.bias = floats(3, n);
	norm.then = floats(4, n);
	k.layer_norm(&norm, ROWS, n + GAP, n + GAP, x, y);
	norm.then = NULL;
	k.layer_norm(&norm, ROWS, n + GAP, n + GAP, x, y);
	k.add_bias(norm.bias, ROWS, n, n + GAP, y);
	assert_finite(y, wide);
	k.bias_gelu(norm.bias, ROWS, n, rows);
	k.bias_quick_gelu(norm.bias, ROWS, n, rows);
	k.bias_tanh_gelu(norm.bias, ROWS, n, rows);
	k.bias_silu(norm.bias, ROWS, n, rows);
	k.bias_multiply(norm.bias, rows, ROWS, n, rows);
	k.rotate(norm.weight, norm.bias, ROWS, n / 2, rows);
	k.column_sums(rows, ROWS, n, sums);
	k.relu_backward(y, ROWS, n, n + GAP, x, sums);
	assert_finite(rows, ROWS * n);
	assert_finite(sums, n);
}

static void tokens_of_every_width(void **state)
{
	(void)state;
	check_both(check_tokens, 1, MOST);
}

static void check_turns(size_t rows)
{
	for (size_t cols = 1; cols <= 19; cols++) {
		const float *x = floats(0, strided(rows, cols, cols + GAP));
		float *out = bytes_of(1, strided(cols, rows, rows + 1) * sizeof *out);

		k.transpose(x, rows, cols, cols + GAP, rows + 1, out);
		for (size_t j = 0; j < cols; j++)
			assert_finite(out + j * (rows + 1), rows);
	}
}

static void check_mirrors(size_t rows)
{
	for (size_t cols = 1; cols <= 19; cols++) {
		size_t stride = rows > cols ? rows : cols;
		const float *row_scale = floats(0, rows), *col_scale = floats(1, cols);
		float *x = floats(2, strided(rows, cols, stride));
		float *y = floats(3, strided(cols, rows, stride));

		k.add_mirrored(row_scale, col_scale, rows, cols, stride, x, y);
		assert_finite(y, rows);
		if (rows == cols)
			k.add_mirrored(row_scale, col_scale, rows, cols, stride, x, x);
	}
}

static void tiles_of_every_shape(void **state)
{
	(void)state;
	check_both(check_turns, 1, 19);
	check_both(check_mirrors, 1, 19);
}

static void check_pairs(size_t d)
{
	const float *points[INV_PAIR_COLS], *own = floats(0, d);
	const float *x = floats(1, strided(INV_PAIR_ROWS, d, d));
	float *packed = bytes_of(2, d * INV_PAIR_COLS * sizeof *packed);
	float *out = bytes_of(3, INV_PAIR_ROWS * INV_PAIR_COLS * sizeof *out);
	inv_pair_sums s = {.d_min = INFINITY, .ratio_min = INFINITY};

	for (size_t i = 0; i < INV_PAIR_COLS; i++)
		points[i] = own;
	k.pack_points(points, d, packed);
	k.pair_distances(x, packed, d, d, out);
	assert_finite(out, INV_PAIR_ROWS * INV_PAIR_COLS);
	k.pair_sums(floats(4, d), floats(5, d), d, 0.5, 0.5, &s);
	assert_true(isfinite(s.d) && s.pairs == d);
}

static void pairs_of_every_width(void **state)
{
	(void)state;
	check_both(check_pairs, 0, MOST);
}

/* ---- Panels ---------------------------------------------------------------------- */

enum { STRIPS = 2 }; /* extra floats that pack_strips may write */

static void check_product(size_t rows, size_t sum, size_t columns)
{
	size_t strips = (rows + INV_STRIP_ROWS - 1) / INV_STRIP_ROWS * INV_STRIP_ROWS;
	size_t panels = (columns + INV_PANEL_COLS - 1) / INV_PANEL_COLS;
	const float *a = floats(0, strided(rows, sum, sum + GAP));
	float *packed = bytes_of(1, (strips * sum + STRIPS) * sizeof *packed);
	inv_panel_product p = {.strips = packed,
	                       .panel = floats(2, panels * sum * INV_PANEL_COLS),
	                       .rows = rows,
	                       .k = sum,
	                       .columns = columns,
	                       .c = floats(3, strided(rows, columns, columns + GAP)),
	                       .stride = columns + GAP};

	k.pack_strips(a, sum + GAP, rows, sum, packed);
	for (int add = 0; add < 2; add++) {
		p.add = add;
		p.bias = add ? floats(4, columns) : NULL;
		p.mask = add ? floats(5, strided(rows, columns, columns + 1)) : NULL;
		p.mask_stride = columns + 1;
		p.sums = add ? floats(6, columns) : NULL;
		k.panel_product(&p);
		assert_finite(p.c, strided(rows, columns, columns + GAP));
	}
}

static void check_packing(size_t rows, size_t sum)
{
	size_t strips = (rows + INV_STRIP_ROWS - 1) / INV_STRIP_ROWS * INV_STRIP_ROWS;
	size_t panels = (rows + INV_PANEL_COLS - 1) / INV_PANEL_COLS;
	size_t floats_of_panels = panels * sum * INV_PANEL_COLS;
	const float *a = floats(0, strided(sum, rows, rows + GAP));
	float *packed = bytes_of(1, (strips * sum + STRIPS) * sizeof *packed);
	float *filled = bytes_of(2, floats_of_panels * sizeof *filled);

	k.pack_strips_turned(a, rows + GAP, rows, sum, packed);
	for (size_t i = 0; i < rows; i++)
		for (size_t l = 0; l < sum; l++)
			assert_true(packed[i / INV_STRIP_ROWS * INV_STRIP_ROWS * sum +
			                   l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] ==
			            a[l * (rows + GAP) + i]);
	k.fill_panels(a, rows + GAP, sum, rows, filled, sum * INV_PANEL_COLS);
	assert_finite(filled, floats_of_panels);
}

static void check_products(size_t rows)
{
	for (size_t sum = 1; sum <= 19; sum++)
		check_packing(rows, sum);
	for (size_t sum = 1; sum <= 19; sum++)
		for (size_t columns = 1; columns <= 2 * INV_PANEL_COLS + 1; columns++)
			check_product(rows, sum, columns);
}

static void panels_of_every_shape(void **state)
{
	(void)state;
	check_both(check_products, 1, 2 * INV_STRIP_ROWS + 1);
}

/* ---- Slices ---------------------------------------------------------------------- */

static uint32_t *in_order(size_t which, size_t n)
{
	uint32_t *rows = bytes_of(which, n * sizeof *rows);

	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)(n - 1 - i);
	return rows;
}

static void check_slices(size_t n)
{
	const uint32_t *rows = in_order(2, n);
	inv_side side = {.a = floats(0, n * INV_SLICES),
	                 .b = floats(1, n * INV_SLICES),
	                 .stride_a = INV_SLICES,
	                 .stride_b = INV_SLICES,
	                 .rows_a = rows,
	                 .rows_b = rows,
	                 .M = n};
	size_t size = inv_sort_room(n) * INV_SLICES;
	double *p = bytes_of(3, size * sizeof *p), *q = bytes_of(4, size * sizeof *q);
	float *u = bytes_of(5, n * INV_SLICES * sizeof *u);
	float *v = bytes_of(6, n * INV_SLICES * sizeof *v), *out;
	double sums[INV_SLICES] = {0};

	k.join_keys(&side, 0, p);
	side.b = NULL;
	k.join_keys(&side, 0, q);
	k.sort_keys(p, n);
	k.sort_keys(q, n);
	k.compare_keys(p, q, n, 1, sums, u, v);
	out = bytes_of(7, strided(n, INV_SLICES, INV_SLICES + GAP) * sizeof *out);
	k.spread(u, v, rows, n, out, INV_SLICES + GAP);
	for (size_t r = 0; r < n; r++)
		assert_finite(out + r * (INV_SLICES + GAP), INV_SLICES);
	if (n % 2 == 0)
		k.compare_keys(p, q, n, 2, sums, NULL, NULL);
	assert_true(isfinite(sums[0]));
}

static void slices_of_every_length(void **state)
{
	(void)state;
	check_both(check_slices, 1, 2 * MOST);
}

/* ---- Tiles of convolutions ------------------------------------------------------- */

enum { BLOCK = INV_MAP_BLOCK, PRODUCTS = INV_WINOGRAD_PRODUCTS };

/* Floats, or ones of bfloat16. */
static void *map_of(size_t which, size_t count, bool halves)
{
	uint16_t *x;

	if (!halves)
		return floats(which, count);
	x = bytes_of(which, count * sizeof *x);
	for (size_t i = 0; i < count; i++)
		x[i] = inv_to_bfloat16(1);
	return x;
}

static void assert_finite_map(const void *x, size_t count, bool halves)
{
	for (size_t i = 0; i < count; i++)
		assert_true(isfinite(halves ? inv_from_bfloat16(((const uint16_t *)x)[i])
		                            : ((const float *)x)[i]));
}

static void check_tile(const void *map, void *to, inv_tile t)
{
	void *v = map_of(2, PRODUCTS * BLOCK, t.halves);
	const float *m = floats(3, PRODUCTS * BLOCK), *bias = floats(4, BLOCK);
	inv_tile outer = t;

	outer.top--;
	outer.left--;
	k.largest_of(t.halves, (const void *[]){map, v}, 2, BLOCK, map_of(5, BLOCK, t.halves));
	k.tile_in(&outer, map, BLOCK, v, BLOCK);
	assert_finite_map(v, PRODUCTS * BLOCK, t.halves);
	k.tile_out(&t, m, BLOCK, BLOCK, bias, true, true, to);
}

static void check_maps(size_t height)
{
	for (size_t i = 2; i < 22; i++) {
		size_t width = i / 2, cells = height * width * BLOCK;
		const void *map = map_of(0, cells, i % 2);
		void *to = map_of(1, cells, i % 2);
		inv_tile t = {
			.height = (long)height, .width = (long)width, .step = BLOCK, .halves = i % 2};

		for (; t.top < t.height; t.top += INV_WINOGRAD_TILE)
			for (t.left = 0; t.left < t.width; t.left += INV_WINOGRAD_TILE)
				check_tile(map, to, t);
		assert_finite_map(to, cells, t.halves);
	}
}

static void maps_of_every_shape(void **state)
{
	(void)state;
	check_both(check_maps, 1, 10);
}

/* ------------------------------------------------------------------------------------- */

static int prepare(void **state)
{
	inv_stream s = inv_stream_of(1, "numbers", 0);

	if (test_context_open(state) != 0)
		return 1;
	inv_kernels_init(&k, test_ctx->cpu);
	inv_fill_uniform(&s, 0, 0.1f, 1, numbers, sizeof numbers / sizeof *numbers);
	for (size_t i = 0; i < FENCES; i++)
		fence[i] = test_fence_new(ROOM);
	return 0;
}

static int finish(void **state)
{
	for (size_t i = 0; i < FENCES; i++)
		test_fence_free(&fence[i]);
	return test_context_close(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_every_length),
		cmocka_unit_test(exponentials_of_every_length),
		cmocka_unit_test(whole_numbers_and_their_tiles),
		cmocka_unit_test(draws_of_every_length),
		cmocka_unit_test(tokens_of_every_width),
		cmocka_unit_test(tiles_of_every_shape),
		cmocka_unit_test(pairs_of_every_width),
		cmocka_unit_test(panels_of_every_shape),
		cmocka_unit_test(slices_of_every_length),
		cmocka_unit_test(maps_of_every_shape),
	};

	return cmocka_run_group_tests(tests, prepare, finish);
}
