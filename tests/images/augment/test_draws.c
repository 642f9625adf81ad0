/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_draws.c - every random parameter against its definition, noise against the
 * normal distribution, and the same bits whatever the threads and batches.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/augment/augment.h"

enum { DRAWS = 20000 };

static invar_augment *parse(const char *spec)
{
	invar_augment *a;

	if (invar_augment_parse(test_ctx, spec, &a) != INVAR_OK)
		fail_msg("%s: %s", spec, invar_last_error());
	return a;
}

static inv_draw key(uint64_t seed)
{
	return (inv_draw){.seed = seed, .split = "train"};
}

/* [DRAWS, columns] of pictures of a size. */
static float *draw_rows(const char *spec, size_t h, size_t w, size_t *columns)
{
	const uint64_t shape[4] = {DRAWS, 3, h, w};
	invar_augment *a = parse(spec);
	inv_draw d = key(17);
	float *rows;

	*columns = invar_augment_columns(a);
	rows = malloc(DRAWS * *columns * sizeof *rows);
	assert_int_equal(inv_augment_draw(a, &d, shape, rows), INVAR_OK);
	invar_augment_close(a);
	return rows;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Kolmogorov's distance to U(low, high) times sqrt(n): above 1.95 once in a thousand.
 * Seeds are fixed, so a failure is a change and not chance.
 */
static void assert_uniform(const char *what, const double *x, size_t count, double low,
                           double high)
{
	double *sorted = malloc(count * sizeof *sorted), worst = 0;

	memcpy(sorted, x, count * sizeof *x);
	qsort(sorted, count, sizeof *sorted, by_size);
	for (size_t i = 0; i < count; i++) {
		double share = (sorted[i] - low) / (high - low), n = (double)count;

		worst = fmax(worst,
		             fmax(fabs(share - (double)i / n), fabs(share - (double)(i + 1) / n)));
	}
	assert_true(sorted[0] >= low && sorted[count - 1] <= high);
	free(sorted);
	if (worst * sqrt((double)count) > 1.95)
		fail_msg("%s: Kolmogorov's distance is %.3g of sqrt(n)", what,
		         worst * sqrt((double)count));
}

static void check_column(const char *spec, size_t h, size_t w, size_t column, double low,
                         double high)
{
	size_t columns;
	float *rows = draw_rows(spec, h, w, &columns);
	double *x = malloc(DRAWS * sizeof *x);

	for (size_t i = 0; i < DRAWS; i++)
		x[i] = (double)rows[i * columns + column];
	assert_uniform(spec, x, DRAWS, low, high);
	free(x);
	free(rows);
}

static void numbers_are_uniform(void **state)
{
	(void)state;
	check_column("rotation", 96, 96, 0, -180, 180);
	check_column("rotation:degrees=10..30", 96, 96, 0, 10, 30);
	check_column("affine", 64, 48, 0, -30, 30);
	check_column("affine", 64, 48, 1, 0.8, 1.2);
	check_column("affine", 64, 48, 2, -0.2 * 48, 0.2 * 48);
	check_column("affine", 64, 48, 3, -0.2 * 64, 0.2 * 64);
	check_column("affine", 64, 48, 4, -15, 15);
	check_column("noise:mean=-1..1,std=0.5..2", 8, 8, 0, -1, 1);
	check_column("noise:mean=-1..1,std=0.5..2", 8, 8, 1, 0.5, 2);
	check_column("blur", 8, 8, 0, 0.1, 2);
	check_column("brightness", 8, 8, 0, 0.6, 1.4);
	check_column("contrast", 8, 8, 0, 0.6, 1.4);
}

static void nothing_that_should_not_be_is_drawn(void **state)
{
	size_t columns;
	float *rows = draw_rows("affine", 64, 48, &columns);

	(void)state;
	for (size_t i = 0; i < DRAWS; i++)
		assert_true(rows[i * columns + 5] == 0); /* shear along y */
	free(rows);
	rows = draw_rows("jpeg:quality=30..33", 8, 8, &columns);
	for (size_t i = 0; i < DRAWS; i++)
		assert_true(rows[i] >= 30 && rows[i] <= 33 && rows[i] == floorf(rows[i]));
	free(rows);
}

/* Columns of one operation, of two, and of neighbouring images do not correlate. */
static void numbers_are_independent(void **state)
{
	size_t columns;
	float *rows = draw_rows("affine+rotation", 64, 48, &columns);

	(void)state;
	for (size_t a = 0; a < columns; a++)
		for (size_t b = 0; b < columns; b++)
			for (size_t lag = a < b ? 0 : 1; lag < 3 && a != 5 && b != 5; lag++) {
				double sum = 0, aa = 0, bb = 0, ma = 0, mb = 0, n = DRAWS - (double)lag;

				for (size_t i = lag; i < DRAWS; i++) {
					ma += (double)rows[i * columns + a] / n;
					mb += (double)rows[(i - lag) * columns + b] / n;
				}
				for (size_t i = lag; i < DRAWS; i++) {
					double x = (double)rows[i * columns + a] - ma;
					double y = (double)rows[(i - lag) * columns + b] - mb;

					sum += x * y;
					aa += x * x;
					bb += y * y;
				}
				if (fabs(sum / sqrt(aa * bb)) > 4 / sqrt(n))
					fail_msg("columns %zu and %zu, %zu apart: correlation %.3g", a, b, lag,
					         sum / sqrt(aa * bb));
			}
	free(rows);
}

/*
 * The box against an independent rejection of the definition: area share and log
 * ratio of large pictures are uniform except for the rounding of sides, and the corner
 * is uniform over the possible places.
 */
static void boxes_follow_the_definition(void **state)
{
	enum { SIDE = 4000 };
	size_t columns;
	float *rows = draw_rows("crop", SIDE, SIDE, &columns);
	double *area = malloc(DRAWS * sizeof *area), *ratio = malloc(DRAWS * sizeof *ratio);
	double *left = malloc(DRAWS * sizeof *left), *top = malloc(DRAWS * sizeof *top);

	(void)state;
	for (size_t i = 0; i < DRAWS; i++) {
		const float *r = rows + i * columns;
		double w = (double)r[2], h = (double)r[3];

		assert_true(r[0] >= 0 && r[0] + r[2] <= SIDE && r[1] >= 0 && r[1] + r[3] <= SIDE);
		area[i] = fmin(fmax(w * h / SIDE / SIDE, 0.5), 0.7);
		ratio[i] = fmin(fmax(log(w / h), log(0.75)), log(1.33));
		left[i] = ((double)r[0] + 0.5) / (SIDE - w + 1);
		top[i] = ((double)r[1] + 0.5) / (SIDE - h + 1);
	}
	assert_uniform("area", area, DRAWS, 0.5, 0.7);
	assert_uniform("log ratio", ratio, DRAWS, log(0.75), log(1.33));
	assert_uniform("x0", left, DRAWS, 0, 1);
	assert_uniform("y0", top, DRAWS, 0, 1);
	free(rows);
	free(area);
	free(ratio);
	free(left);
	free(top);
}

/* If no candidate fits: the largest box of the smallest ratio, its corner drawn. */
static void a_box_falls_back(void **state)
{
	size_t columns;
	float *rows = draw_rows("crop:scale=1,ratio=0.5", 10, 40, &columns);

	(void)state;
	for (size_t i = 0; i < DRAWS; i++)
		assert_true(rows[4 * i + 2] == 20 && rows[4 * i + 3] == 10 &&
		            rows[4 * i + 1] == 0 && rows[4 * i] <= 20);
	free(rows);
	rows = draw_rows("crop", 1, 1, &columns);
	assert_true(rows[2] == 1 && rows[3] == 1);
	free(rows);
}

static void chains_and_p_have_their_shares(void **state)
{
	size_t columns;
	float *rows = draw_rows("3*rotation:p=0.25|id", 8, 8, &columns);
	double rotations = 0, on = 0;

	(void)state;
	for (size_t i = 0; i < DRAWS; i++) {
		const float *r = rows + i * columns;

		rotations += r[0] == 0;
		on += (double)r[1];
		if (r[1] == 0)
			assert_true(r[2] == 0);
	}
	assert_true(fabs(rotations / DRAWS - 0.75) < 4 * sqrt(0.75 * 0.25 / DRAWS));
	assert_true(fabs(on / rotations - 0.25) < 4 * sqrt(0.25 * 0.75 / rotations));
	free(rows);
}

static void a_batch_may_share_its_draw(void **state)
{
	size_t columns;
	float *rows = draw_rows("rotation:same_on_batch=1", 8, 8, &columns);

	(void)state;
	for (size_t i = 0; i < DRAWS; i++)
		assert_true(rows[i] == rows[i / 256 * 256]);
	assert_true(rows[0] != rows[256]);
	free(rows);
}

/* ---- Noise ------------------------------------------------------------------------- */

enum { IMAGES = 24, CELLS = 3 * 32 * 32 };

static float *noise(uint64_t seed, const char *split, uint32_t epoch, uint32_t copy,
                    const char *spec)
{
	const uint64_t shape[4] = {IMAGES, 3, 32, 32};
	float *x = calloc(IMAGES * CELLS, sizeof *x), *y = malloc(IMAGES * CELLS * sizeof *y);
	invar_augment *a = parse(spec);
	inv_draw d = key(seed);

	d.split = split;
	d.epoch = epoch;
	d.copy = copy;
	assert_int_equal(inv_augment_apply(a, &d, x, shape, NULL, y), INVAR_OK);
	invar_augment_close(a);
	free(x);
	return y;
}

static double correlation(const float *x, const float *y, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)x[i] * (double)y[i];
	return sum / (double)count;
}

static void noise_is_standard_normal(void **state)
{
	float *y = noise(1, "train", 0, 0, "noise");
	double n = IMAGES * CELLS, mean = 0, square = 0;
	double *share = malloc(IMAGES * CELLS * sizeof *share);

	(void)state;
	for (size_t i = 0; i < IMAGES * CELLS; i++) {
		mean += (double)y[i] / n;
		square += (double)y[i] * (double)y[i] / n;
		share[i] = 0.5 * erfc(-(double)y[i] / M_SQRT2);
	}
	assert_true(fabs(mean) < 4 / sqrt(n));
	assert_true(fabs(square - 1) < 4 * sqrt(2 / n));
	assert_uniform("noise", share, IMAGES * CELLS, 0, 1);
	free(share);
	free(y);
	y = noise(1, "train", 0, 0, "noise:mean=0.25,std=0.1");
	for (mean = 0, square = 0; square < n; square++)
		mean += (double)y[(size_t)square] / n;
	assert_true(fabs(mean - 0.25) < 0.4 / sqrt(n));
	free(y);
}

/* Across pixels, channels, images, copies, epochs, splits and seeds. */
static void noise_is_independent(void **state)
{
	float *y = noise(1, "train", 0, 0, "noise"), *other;
	size_t all = IMAGES * CELLS;
	const size_t apart[] = {1, 2, 3, 4, 8, 32, 1024, CELLS, 2 * CELLS};

	(void)state;
	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		assert_true(fabs(correlation(y, y + apart[i], all - apart[i])) <
		            4 / sqrt((double)all));
	for (int k = 0; k < 5; k++) {
		other = noise(k == 0 ? 2 : 1, k == 1 ? "test" : "train", k == 2, k == 3,
		              k == 4 ? "id+noise" : "noise");
		assert_true(fabs(correlation(y, other, all)) < 4 / sqrt((double)all));
		free(other);
	}
	other = noise(1, "train", 0, 0, "noise:same_on_batch=1");
	assert_memory_equal(other, other + CELLS, CELLS * sizeof *other);
	free(other);
	free(y);
}

/* ---- The same bits ------------------------------------------------------------------- */

static float *augment(unsigned threads, const char *spec, const float *x, size_t images,
                      size_t batch)
{
	uint64_t shape[4] = {images, 3, 20, 28}, one = 3 * 20 * 28;
	float *out = malloc(images * one * sizeof *out);
	inv_draw d = key(9);
	invar_context *own;
	invar_augment *a;

	assert_int_equal(invar_context_new(threads, NULL, &own), INVAR_OK);
	assert_int_equal(invar_augment_parse(own, spec, &a), INVAR_OK);
	for (size_t i = 0; i < images; i += batch) {
		shape[0] = images - i < batch ? images - i : batch;
		d.first = 1000 + i;
		if (inv_augment_apply(a, &d, x + i * one, shape, NULL, out + i * one) != INVAR_OK)
			fail_msg("%s: %s", spec, invar_last_error());
	}
	invar_augment_close(a);
	invar_context_free(own);
	return out;
}

static void threads_and_batches_change_nothing(void **state)
{
	static const char *const specs[] = {
		"rotation",   "affine:fill=mean",
		"crop",       "noise",
		"flip:p=0.5", "blur",
		"brightness", "contrast",
		"jpeg",       "rotation+crop+noise:p=0.5|2*affine:same_on_batch=1|id+jpeg"};
	size_t images = 300, bytes = images * 3 * 20 * 28 * sizeof(float);
	inv_stream s = inv_stream_of(4, "pictures", 0);
	float *x = malloc(bytes);

	(void)state;
	inv_fill_uniform(&s, 0, 0, 1, x, bytes / sizeof *x);
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		float *a = augment(1, specs[i], x, images, 256);
		float *b = augment(2, specs[i], x, images, 256);
		float *c = augment(3, specs[i], x, images, 1);

		if (memcmp(a, b, bytes) != 0 || memcmp(a, c, bytes) != 0)
			fail_msg("%s depends on threads or batches", specs[i]);
		free(a);
		free(b);
		free(c);
	}
	free(x);
}

/* A row that was drawn, saved and loaded gives the picture of the draw. */
static void rows_repeat_pictures(void **state)
{
	static const char *const specs[] = {
		"rotation:p=0.5",
		"affine",
		"crop:p=0.5,size=24x20",
		"noise",
		"flip:p=0.5",
		"blur:p=0.5",
		"brightness",
		"contrast",
		"jpeg",
		"rotation+crop:p=0.5|noise:p=0.5+flip|id|jpeg+blur"};
	const uint64_t shape[4] = {40, 3, 20, 28};
	size_t cells = 40 * 3 * 24 * 28;
	inv_stream s = inv_stream_of(4, "pictures", 0);
	float *x = malloc(cells * sizeof *x), *a = malloc(cells * sizeof *a);
	float *b = malloc(cells * sizeof *b), rows[40 * 32], again[40 * 32];

	(void)state;
	inv_fill_uniform(&s, 0, 0, 1, x, cells);
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		invar_augment *t = parse(specs[i]);
		const invar_options *d = test_kept("augment", "seed", "5", NULL);
		const char *path = test_path("params.json");
		uint64_t to[4];

		assert_int_equal(invar_augment_result(t, shape, to), INVAR_OK);
		assert_int_equal(invar_augment_draw(t, d, shape, rows), INVAR_OK);
		if (inv_augment_params_save(t, d, shape, rows, path) != INVAR_OK ||
		    inv_augment_params_load(t, path, shape, again) != INVAR_OK)
			fail_msg("%s: %s", specs[i], invar_last_error());
		assert_memory_equal(rows, again, 40 * invar_augment_columns(t) * sizeof *rows);
		assert_int_equal(invar_augment_apply(t, d, x, shape, NULL, a), INVAR_OK);
		assert_int_equal(invar_augment_apply(t, d, x, shape, again, b), INVAR_OK);
		assert_memory_equal(a, b, to[0] * to[1] * to[2] * to[3] * sizeof *a);
		invar_augment_close(t);
	}
	free(x);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_uniform),
		cmocka_unit_test(nothing_that_should_not_be_is_drawn),
		cmocka_unit_test(numbers_are_independent),
		cmocka_unit_test(boxes_follow_the_definition),
		cmocka_unit_test(a_box_falls_back),
		cmocka_unit_test(chains_and_p_have_their_shares),
		cmocka_unit_test(a_batch_may_share_its_draw),
		cmocka_unit_test(noise_is_standard_normal),
		cmocka_unit_test(noise_is_independent),
		cmocka_unit_test(threads_and_batches_change_nothing),
		cmocka_unit_test(rows_repeat_pictures),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
