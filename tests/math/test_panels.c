/* SPDX-License-Identifier: Apache-2.0 */
/* test_panels.c - products with panels against the definition; cuts change no bit. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "math/bfloat16.h"
#include "math/panels.h"

enum { ROWS = 200, COLS = 70, SUM = 800, STRIDE = 90 };

static struct inv_kernels plain, fast;
static float a[ROWS * SUM], w[SUM * STRIDE], c[ROWS * STRIDE], other[ROWS * STRIDE];
static float bias[STRIDE];
static float *panels, *room;
static unsigned cpu;

static void fill(float *x, size_t count, uint32_t index)
{
	inv_stream s = inv_stream_of(9, "panels", 0);

	inv_fill_normal(&s, index, x, count);
}

/* Floats after the result must stay; a sum of k terms is off by a few ulps of its size. */
static void check_product(size_t rows, size_t n, size_t k, size_t stride, bool add)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < stride; j++) {
			double sum = add ? other[i * stride + j] : 0, size = fabs(sum) + 1;
			double got = c[i * stride + j];

			for (size_t l = 0; l < k && j < n; l++) {
				sum += (double)a[i * SUM + l] * w[l * STRIDE + j];
				size += fabs((double)a[i * SUM + l] * w[l * STRIDE + j]);
			}
			if (j >= n ? got != other[i * stride + j] : !(fabs(got - sum) <= 1e-6 * size))
				fail_msg("%zu x %zu x %zu: [%zu, %zu] is %g, not %g", rows, n, k, i, j, got,
				         sum);
		}
}

static void check_shape(const struct inv_kernels *kernels, size_t rows, size_t n, size_t k,
                        bool turned)
{
	static float x[SUM * STRIDE];
	const inv_panels p = inv_panels_of(k, n, panels);

	assert_true(inv_panels_floats(k, n) <= SUM * STRIDE);
	memset(panels, 0xff, SUM * STRIDE * sizeof *panels); /* NaN, where nothing is written */
	if (turned) {
		for (size_t l = 0; l < k; l++)
			for (size_t j = 0; j < n; j++)
				x[j * (k + 3) + l] = w[l * STRIDE + j];
		inv_panels_fill_turned(kernels, &p, x, k + 3);
	} else {
		inv_panels_fill(kernels, &p, w, STRIDE);
	}
	for (int add = 0; add < 2; add++) {
		memcpy(c, other, sizeof c);
		inv_panels_multiply(kernels, &p, rows, a, SUM, add, c, STRIDE, room);
		check_product(rows, n, k, STRIDE, add);
	}
}

/* A stored [k, rows], bias and ReLU, and sums kept apart from c: the bits of the plain way.
 */
static void check_rows(const struct inv_kernels *kernels, size_t rows, size_t n, size_t k,
                       bool relu)
{
	static float turned[SUM * ROWS], want[ROWS * STRIDE], sums[ROWS * STRIDE];
	const inv_panels p = inv_panels_of(k, n, panels);
	inv_panels_rows r = {.rows = rows,
	                     .a = turned,
	                     .a_stride = ROWS,
	                     .turned = true,
	                     .add = relu,
	                     .bias = bias,
	                     .relu = relu,
	                     .c = c,
	                     .c_stride = STRIDE};

	for (size_t l = 0; l < k; l++)
		for (size_t i = 0; i < rows; i++)
			turned[l * ROWS + i] = a[i * SUM + l];
	inv_panels_fill(kernels, &p, w, STRIDE);
	memcpy(want, other, sizeof want);
	inv_panels_multiply(kernels, &p, rows, a, SUM, relu, want, STRIDE, room);
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < n; j++) {
			float *x = &want[i * STRIDE + j];

			*x += bias[j];
			*x = relu && *x < 0 ? 0 : *x;
		}
	for (int apart = 0; apart < 2; apart++) {
		r.sums = apart ? sums : NULL;
		r.sums_stride = STRIDE - 1;
		memcpy(c, other, sizeof c);
		inv_panels_multiply_rows(kernels, &p, &r, room);
		assert_memory_equal(c, want, sizeof want);
	}
}

static void turned_rows_bias_and_relu(void **state)
{
	static const size_t rows[] = {1, 5, 6, 7, 8, 12, 13, 199, 200},
						ks[] = {1, 7, 8, 9, 385, 800};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t l = 0; l < sizeof ks / sizeof *ks; l++)
			for (size_t n = 15; n < 70; n += 1 + (i + l + n) % 17) {
				check_rows(&fast, rows[i], n, ks[l], (i + n) % 2);
				check_rows(&plain, rows[i], n, ks[l], (i + n) % 2);
			}
}

/* What an instruction set adds changes no bit. */
static void avx512_has_the_bits_of_avx2(void **state)
{
	static float want[ROWS * STRIDE];
	struct inv_kernels avx2;
	const inv_panels p = inv_panels_of(SUM, COLS, panels);

	(void)state;
	if (!(cpu & INV_CPU_AVX512))
		skip();
	inv_kernels_init(&avx2, cpu & ~(unsigned)INV_CPU_AVX512);
	assert_true(avx2.panel_product != fast.panel_product);
	inv_panels_fill(&fast, &p, w, STRIDE);
	for (size_t rows = 1; rows <= 27; rows++) {
		memcpy(c, other, sizeof c);
		memcpy(want, other, sizeof want);
		inv_panels_multiply(&avx2, &p, rows, a, SUM, rows % 2, want, STRIDE, room);
		inv_panels_multiply(&fast, &p, rows, a, SUM, rows % 2, c, STRIDE, room);
		assert_memory_equal(c, want, sizeof want);
	}
}

/* Any columns come back, also those that begin inside a panel. */
static void matrices_come_back(void **state)
{
	const size_t k = 500, n = 70;
	const inv_panels p = inv_panels_of(k, n, panels);

	(void)state;
	inv_panels_fill(&fast, &p, w, STRIDE);
	for (size_t first = 0; first < n; first += 23) {
		size_t columns = n - first < 30 ? n - first : 30;

		inv_panels_read(&p, first, columns, other);
		for (size_t i = 0; i < k * columns; i++)
			assert_true(other[i] == w[i / columns * STRIDE + first + i % columns]);
	}
}

static void products_are_right(void **state)
{
	static const size_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 13, 200};
	static const size_t columns[] = {1, 8, 15, 16, 17, 33, 48, 64, 70};
	static const size_t sums[] = {1, 7, 8, 64, 383};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
			for (size_t l = 0; l < sizeof sums / sizeof *sums; l++) {
				check_shape(&fast, rows[i], columns[j], sums[l], (i + j + l) % 2);
				check_shape(&plain, rows[i], columns[j], sums[l], (i + j + l) % 2);
			}
}

static void long_sums_are_right(void **state)
{
	static const size_t sums[] = {384, 385, 768, 769, 800};

	(void)state;
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		for (int turned = 0; turned < 2; turned++) {
			check_shape(&fast, 11, 37, sums[i], turned);
			check_shape(&plain, 11, 37, sums[i], turned);
		}
}

/* Any split of the rows, and any subset of panels, gives the bits of the whole. */
static void cuts_change_no_bit(void **state)
{
	const inv_panels p = inv_panels_of(SUM, COLS, panels);
	const inv_panels part = inv_panels_columns(&p, 32, COLS - 32);

	(void)state;
	inv_panels_fill(&fast, &p, w, STRIDE);
	inv_panels_multiply(&fast, &p, ROWS, a, SUM, false, c, STRIDE, room);
	for (size_t step = 1; step < ROWS; step += 1 + step / 2) {
		float cut[ROWS * STRIDE] = {0};

		for (size_t i = 0; i < ROWS; i += step) {
			size_t rows = ROWS - i < step ? ROWS - i : step;

			inv_panels_multiply(&fast, &part, rows, a + i * SUM, SUM, false,
			                    cut + i * STRIDE + 32, STRIDE, room);
		}
		for (size_t i = 0; i < ROWS; i++)
			assert_memory_equal(cut + i * STRIDE + 32, c + i * STRIDE + 32,
			                    (COLS - 32) * sizeof *c);
	}
}

/* ---- Pairs of bfloat16 ------------------------------------------------------------- */

static void multiply_pairs(const struct inv_kernels *kernels, size_t rows, size_t n,
                           size_t k, bool turned, bool add)
{
	static float x[SUM * STRIDE];
	const inv_panels p = inv_pair_panels_of(k, n, panels);

	assert_true(inv_pair_panels_floats(k, n) <= SUM * STRIDE);
	memset(panels, 0xff, SUM * STRIDE * sizeof *panels);
	for (size_t l = 0; turned && l < k; l++)
		for (size_t j = 0; j < n; j++)
			x[j * (k + 3) + l] = w[l * STRIDE + j];
	if (turned)
		inv_panels_fill_turned(kernels, &p, x, k + 3);
	else
		inv_panels_fill(kernels, &p, w, STRIDE);
	memcpy(c, other, sizeof c);
	inv_panels_multiply(kernels, &p, rows, a, SUM, add, c, STRIDE, room);
}

/* Of rounded numbers; sums of floats are off by a few ulps of their size. */
static void check_pair_product(size_t rows, size_t n, size_t k, bool add)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < n; j++) {
			double sum = add ? other[i * STRIDE + j] : 0, size = fabs(sum) + 1;

			for (size_t l = 0; l < k; l++) {
				double term = (double)inv_from_bfloat16(inv_to_bfloat16(a[i * SUM + l])) *
				              inv_from_bfloat16(inv_to_bfloat16(w[l * STRIDE + j]));

				sum += term;
				size += fabs(term);
			}
			if (!(fabs(c[i * STRIDE + j] - sum) <= 1e-6 * size))
				fail_msg("%zu x %zu x %zu: [%zu, %zu] is %g, not %g", rows, n, k, i, j,
				         c[i * STRIDE + j], sum);
		}
}

/* With every instruction set there is, and in plain C. */
static void pairs_have_the_same_bits_everywhere(void **state)
{
	static const size_t rows[] = {1, 2, 5, 6, 7, 12, 13, 25};
	static const size_t columns[] = {1, 8, 15, 16, 17, 48, 64, 70};
	static const size_t sums[] = {1, 2, 7, 16, 33, 64, 767, 769, 800};
	static float want[ROWS * STRIDE];
	const unsigned sets[] = {cpu, cpu & ~(unsigned)INV_CPU_BFLOAT16,
	                         cpu & ~(unsigned)(INV_CPU_BFLOAT16 | INV_CPU_AVX512)};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
			for (size_t l = 0; l < sizeof sums / sizeof *sums; l++) {
				bool turned = (i + j + l) % 2, add = (i + l) % 3 == 0;

				multiply_pairs(&plain, rows[i], columns[j], sums[l], turned, add);
				check_pair_product(rows[i], columns[j], sums[l], add);
				memcpy(want, c, sizeof want);
				for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
					struct inv_kernels kernels;

					inv_kernels_init(&kernels, sets[set]);
					multiply_pairs(&kernels, rows[i], columns[j], sums[l], turned, add);
					assert_memory_equal(c, want, sizeof want);
				}
			}
}

/* Numbers around the smallest normal float, infinity and NaN round alike everywhere. */
static void pairs_of_any_floats(void **state)
{
	static float x[1024], rounded[512], want[512];
	const inv_stream s = inv_stream_of(9, "bits", 0);
	uint32_t bits[1024];
	const float special[] = {0.0f,          -0.0f,         INFINITY,
	                         -INFINITY,     NAN,           FLT_MIN,
	                         -FLT_MIN,      FLT_MIN / 2,   0x1.fffffep-127f,
	                         FLT_MAX,       0x1.010000p0f, 0x1.030000p0f,
	                         0x1.010002p0f, 1e-45f};

	(void)state;
	for (uint32_t i = 0; i < 256; i++)
		inv_words(&s, i, 0, bits + 4 * i);
	memcpy(x, bits, sizeof x);
	memcpy(x + 100, special, sizeof special);
	for (size_t count = 1000; count <= 1024; count++) {
		memset(rounded, 0, sizeof rounded);
		memset(want, 0, sizeof want);
		plain.to_pairs(x, count, want);
		fast.to_pairs(x, count, rounded);
		assert_memory_equal(rounded, want, sizeof want);
	}
}

/* Sums that become smaller than the smallest normal float are 0 everywhere. */
static void small_sums_are_flushed(void **state)
{
	static float want[ROWS * STRIDE];
	float *saved = malloc(sizeof a + sizeof w);
	const unsigned sets[] = {cpu, cpu & ~(unsigned)INV_CPU_BFLOAT16,
	                         cpu & ~(unsigned)(INV_CPU_BFLOAT16 | INV_CPU_AVX512)};

	(void)state;
	assert_non_null(saved);
	memcpy(saved, a, sizeof a);
	memcpy(saved + ROWS * SUM, w, sizeof w);
	for (size_t i = 0; i < ROWS * SUM; i++)
		a[i] *= 1e-19f;
	for (size_t i = 0; i < SUM * STRIDE; i++)
		w[i] *= 1e-19f;
	multiply_pairs(&plain, 13, 48, 12, false, false);
	memcpy(want, c, sizeof want);
	for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
		struct inv_kernels kernels;

		inv_kernels_init(&kernels, sets[set]);
		multiply_pairs(&kernels, 13, 48, 12, false, false);
		assert_memory_equal(c, want, sizeof want);
	}
	memcpy(a, saved, sizeof a);
	memcpy(w, saved + ROWS * SUM, sizeof w);
	free(saved);
}

/* ---- Bytes ------------------------------------------------------------------------- */

enum { BYTE_ROWS = 25, BYTES = 4 * SUM };

static void fill_bytes(void *x, size_t count, uint32_t slot)
{
	const inv_stream s = inv_stream_of(9, "bytes", 0);
	uint32_t words[4];

	for (size_t i = 0; i < count; i += sizeof words) {
		inv_words(&s, (uint32_t)(i / sizeof words), slot, words);
		memcpy((char *)x + i, words, sizeof words);
	}
}

static void pack_cells(const void *user, size_t row, size_t cell, size_t rows, size_t cells,
                       float *strips)
{
	plain.pack_strips((const float *)user + row * SUM + cell, SUM, rows, cells, strips);
}

static void multiply_bytes(const struct inv_kernels *kernels, size_t rows, size_t n,
                           size_t k, bool relu, const float *x, const float *turned)
{
	const inv_panels p = inv_byte_panels_of(k, n, panels);
	const inv_panels_rows r = {.rows = rows,
	                           .pack = pack_cells,
	                           .user = x,
	                           .bias = bias,
	                           .relu = relu,
	                           .c = c,
	                           .c_stride = STRIDE,
	                           .row_scale = a,
	                           .column_scale = w};

	memset(panels, 0xff, SUM * STRIDE * sizeof *panels);
	inv_panels_fill_turned(kernels, &p, turned, SUM);
	memcpy(c, other, sizeof c);
	inv_panels_multiply_rows(kernels, &p, &r, room);
}

/* The largest sums too: the products of bytes that AVX2 has would saturate. */
static void bytes_have_the_bits_of_the_definition(void **state)
{
	static const size_t rows[] = {1, 2, 5, 6, 7, 12, 13, 25};
	static const size_t columns[] = {1, 8, 15, 16, 17, 48, 70};
	static const size_t sums[] = {1, 3, 4, 5, 33, 64, 1535, 1537, 3199, 3200};
	static float x[BYTE_ROWS * SUM], all[STRIDE * SUM], turned[STRIDE * SUM];
	static float want[ROWS * STRIDE];
	const unsigned sets[] = {0, cpu, cpu & ~(unsigned)INV_CPU_BFLOAT16,
	                         cpu & ~(unsigned)(INV_CPU_BFLOAT16 | INV_CPU_AVX512)};
	const uint8_t *left = (const uint8_t *)x;
	const int8_t *right = (const int8_t *)turned;

	(void)state;
	fill_bytes(x, sizeof x, 0);
	fill_bytes(all, sizeof all, 1);
	memset(x, 255, BYTES);
	memset(all, -127, BYTES);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
			for (size_t l = 0; l < sizeof sums / sizeof *sums; l++) {
				size_t n = columns[j], k = sums[l];
				bool relu = (i + j + l) % 2;

				memset(turned, 0, sizeof turned);
				for (size_t m = 0; m < n; m++)
					memcpy(turned + m * SUM, all + m * SUM, k);
				memcpy(want, other, sizeof want);
				for (size_t r = 0; r < rows[i]; r++)
					for (size_t m = 0; m < n; m++) {
						int32_t sum = 0;
						float *to = &want[r * STRIDE + m];

						for (size_t t = 0; t < k; t++)
							sum += left[r * BYTES + t] * right[m * BYTES + t];
						*to = (float)sum * w[m] * a[r];
						*to += bias[m];
						*to = relu && *to < 0 ? 0 : *to;
					}
				for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
					struct inv_kernels kernels;

					inv_kernels_init(&kernels, sets[set]);
					multiply_bytes(&kernels, rows[i], n, k, relu, x, turned);
					if (memcmp(c, want, sizeof want) != 0)
						fail_msg("%zu x %zu x %zu differs with set %zu", rows[i], n, k,
						         set);
				}
			}
}

/* Negative numbers, infinity and NaN among them. */
static void numbers_become_the_same_bytes_everywhere(void **state)
{
	static const float scales[] = {0, 1, 3.7f, 1e-3f, 1e30f};
	enum { COUNT = 16 * 67 };
	static uint16_t x[COUNT];
	static uint8_t want[COUNT], got[COUNT];
	const unsigned sets[] = {cpu, cpu & ~(unsigned)INV_CPU_BFLOAT16,
	                         cpu & ~(unsigned)(INV_CPU_BFLOAT16 | INV_CPU_AVX512)};

	(void)state;
	fill_bytes(x, sizeof x, 2);
	for (uint16_t i = 0; i < COUNT / 2; i++) /* from 0.5 to 8, some with ties */
		x[i] = (uint16_t)(0x3f00 + i);
	for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
		struct inv_kernels kernels;

		inv_kernels_init(&kernels, sets[set]);
		for (size_t count = 16; count <= COUNT; count += 48)
			assert_int_equal(kernels.largest_half(x + COUNT - count, count),
			                 plain.largest_half(x + COUNT - count, count));
		for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
			plain.halves_to_bytes(x, COUNT, scales[i], want);
			kernels.halves_to_bytes(x, COUNT, scales[i], got);
			assert_memory_equal(got, want, COUNT);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrices_come_back),
		cmocka_unit_test(products_are_right),
		cmocka_unit_test(long_sums_are_right),
		cmocka_unit_test(cuts_change_no_bit),
		cmocka_unit_test(turned_rows_bias_and_relu),
		cmocka_unit_test(avx512_has_the_bits_of_avx2),
		cmocka_unit_test(pairs_have_the_same_bits_everywhere),
		cmocka_unit_test(pairs_of_any_floats),
		cmocka_unit_test(small_sums_are_flushed),
		cmocka_unit_test(bytes_have_the_bits_of_the_definition),
		cmocka_unit_test(numbers_become_the_same_bytes_everywhere),
	};
	invar_context *ctx;
	int failed;

	if (invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	inv_kernels_init(&plain, 0);
	cpu = ctx->cpu;
	inv_kernels_init(&fast, cpu);
	invar_context_free(ctx);
	fill(a, ROWS * SUM, 1);
	fill(w, SUM * STRIDE, 2);
	fill(other, ROWS * STRIDE, 3);
	fill(bias, STRIDE, 4);
	/* Of their exact sizes, so that a sanitizer catches reads past them. */
	panels = malloc(SUM * STRIDE * sizeof *panels);
	room = malloc(inv_panels_room() * sizeof *room);
	failed = panels && room ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	free(panels);
	free(room);
	return failed;
}
