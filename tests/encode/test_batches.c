/* SPDX-License-Identifier: Apache-2.0 */
/* test_batches.c - the batches of a training: order, copies, prefetching, resuming. */
#include "bank/bank.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "encode/batches.h"

enum { ROWS = 37, DIM = 2, COPIES = 4, N = 8, S = 3, EPOCHS = 3, M = (S + 1) * N };

static invar_context *ctx;
static invar_bank *bank, *second; /* the same clean rows, copies of its own */
static inv_source *source[2];
static uint32_t images[ROWS];

/* Feature 0 is the image, feature 1 the copy (0 for clean). */
static void write_copy(const char *path, int copy)
{
	uint64_t shape[2] = {ROWS, DIM};
	float x[ROWS * DIM];

	for (size_t i = 0; i < ROWS; i++) {
		x[i * DIM] = (float)i;
		x[i * DIM + 1] = (float)(copy + 1);
	}
	assert_int_equal(invar_array_write(ctx, path, x, 2, shape, INVAR_FLOAT32), INVAR_OK);
}

/* Copies are numbered from `first`, so that their bank can be recognised. */
static int write_bank(const char *name, int first, int copies, invar_bank **out)
{
	assert_int_equal(inv_make_folder(test_path("%s", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train/aug", name)), INVAR_OK);
	write_copy(test_path("%s/train/clean.npy", name), -1);
	for (int c = 0; c < copies; c++)
		write_copy(test_path("%s/train/aug/%03d.npy", name, c), first + c);
	return inv_bank_open(ctx, test_path("%s", name), out) != INVAR_OK;
}

static int open_bank(void **state)
{
	(void)state;
	if (invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	for (uint32_t i = 0; i < ROWS; i++)
		images[i] = i;
	return write_bank("b", 0, COPIES, &bank) || write_bank("b2", 100, 7, &second);
}

static int close_bank(void **state)
{
	(void)state;
	inv_source_close(source[0]);
	inv_source_close(source[1]);
	invar_bank_close(bank);
	invar_bank_close(second);
	invar_context_free(ctx);
	return 0;
}

/* Closed with the bank. */
static inv_source *source_of(const invar_bank *b)
{
	inv_source **s = &source[b == second];

	if (!*s) {
		assert_int_equal(inv_bank_source_open(b, s), INVAR_OK);
		assert_int_equal(inv_source_select(*s, "train", 0), INVAR_OK);
	}
	return *s;
}

static inv_batches *batches(bool alike, uint32_t epoch, uint32_t step)
{
	inv_batch_plan plan = {.source = {source_of(bank)},
	                       .sources = 1,
	                       .images = images,
	                       .image_count = ROWS,
	                       .N = N,
	                       .s = S,
	                       .seed = 5,
	                       .purpose = "train",
	                       .same_every_epoch = alike,
	                       .epochs = EPOCHS};
	inv_batches *b;

	assert_int_equal(inv_batches_new(&plan, &b), INVAR_OK);
	assert_int_equal(inv_batches_steps(b), ROWS / N);
	assert_int_equal(inv_batches_start(b, epoch, step), INVAR_OK);
	return b;
}

static void every_row_is_a_sample_of_its_image(void **state)
{
	inv_batches *b = batches(false, 0, 0);
	const float *x;

	(void)state;
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		bool seen[ROWS] = {false};

		for (int step = 0; step < ROWS / N; step++) {
			assert_int_equal(inv_batches_next(b, &x), INVAR_OK);
			for (size_t i = 0; i < N; i++) {
				size_t image = (size_t)x[i * DIM];

				assert_false(seen[image]);
				seen[image] = true;
				assert_true(x[i * DIM + 1] == 0);
				for (size_t k = 1; k <= S; k++) {
					const float *row = x + (k * N + i) * DIM;

					assert_true(row[0] == x[i * DIM] && row[1] >= 1 && row[1] <= COPIES);
					for (size_t other = 1; other < k; other++) /* distinct copies */
						assert_true(row[1] != x[(other * N + i) * DIM + 1]);
				}
			}
		}
	}
	inv_batches_free(b);
}

/* All batches of three epochs, then the same from every starting point. */
static void starting_anywhere_gives_the_same_batches(void **state)
{
	enum { STEPS = ROWS / N, ALL = STEPS * EPOCHS };
	static float want[ALL][M * DIM];
	inv_batches *b = batches(false, 0, 0);
	const float *x;

	(void)state;
	for (int i = 0; i < ALL; i++) {
		assert_int_equal(inv_batches_next(b, &x), INVAR_OK);
		memcpy(want[i], x, sizeof want[i]);
	}
	inv_batches_free(b);
	assert_memory_not_equal(want[0], want[STEPS], sizeof want[0]); /* epochs differ */
	for (int from = 0; from < ALL; from++) {
		b = batches(false, (uint32_t)from / STEPS, (uint32_t)from % STEPS);
		for (int i = from; i < ALL; i++) {
			assert_int_equal(inv_batches_next(b, &x), INVAR_OK);
			assert_memory_equal(want[i], x, sizeof want[i]);
		}
		inv_batches_free(b);
	}
}

static void validation_sees_the_same_rows_every_epoch(void **state)
{
	inv_batches *b = batches(true, 0, 0);
	float first[M * DIM];
	const float *x;

	(void)state;
	for (int i = 0; i < ROWS / N * EPOCHS; i++) {
		assert_int_equal(inv_batches_next(b, &x), INVAR_OK);
		if (i == 0)
			memcpy(first, x, sizeof first);
		if (i % (ROWS / N) == 0)
			assert_memory_equal(first, x, sizeof first);
	}
	inv_batches_free(b);
}

static void each_source_gives_copies_of_its_own(void **state)
{
	inv_batch_plan plan = {.source = {source_of(bank), source_of(second)},
	                       .sources = 2,
	                       .images = images,
	                       .image_count = ROWS,
	                       .N = N,
	                       .s = S,
	                       .seed = 5,
	                       .purpose = "train",
	                       .epochs = 1};
	inv_batches *both, *alone = batches(false, 0, 0);
	const float *x, *y;
	unsigned alike = 0;

	(void)state;
	assert_int_equal(inv_batches_new(&plan, &both), INVAR_OK);
	assert_int_equal(inv_batches_start(both, 0, 0), INVAR_OK);
	for (int step = 0; step < ROWS / N; step++) {
		assert_int_equal(inv_batches_next(both, &x), INVAR_OK);
		assert_int_equal(inv_batches_next(alone, &y), INVAR_OK);
		/* A second bank does not change the rows of the first. */
		assert_memory_equal(x, y, M * DIM * sizeof *x);
		for (size_t i = M; i < M + S * N; i++) {
			assert_true(x[i * DIM] == x[i % N * DIM]);
			assert_true(x[i * DIM + 1] > 100 && x[i * DIM + 1] <= 107);
			alike += x[i * DIM + 1] - 100 == x[(i - S * N) * DIM + 1];
		}
	}
	assert_true(alike < ROWS / N * S * N); /* drawn with a different key */
	inv_batches_free(both);
	inv_batches_free(alone);
}

static void other_clean_rows_are_refused_by_name_and_row(void **state)
{
	uint64_t shape[2] = {ROWS, DIM};
	float x[ROWS * DIM];
	invar_bank *other;

	(void)state;
	assert_int_equal(inv_bank_check_same_rows(bank, bank->splits, second, second->splits),
	                 INVAR_OK);
	assert_int_equal(invar_bank_read(bank, "train", INVAR_CLEAN, 0, ROWS, x), INVAR_OK);
	x[23 * DIM + 1] += 1;
	assert_int_equal(inv_make_folder(test_path("b3")), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("b3/train")), INVAR_OK);
	assert_int_equal(
		invar_array_write(ctx, test_path("b3/train/clean.npy"), x, 2, shape, INVAR_FLOAT32),
		INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("b3"), &other), INVAR_OK);
	assert_int_equal(inv_bank_check_same_rows(bank, bank->splits, other, other->splits),
	                 INVAR_E_MISMATCH);
	test_assert_error("b3/train/clean.npy: row 23 differs from that of");
	invar_bank_close(other);
	shape[0]--;
	assert_int_equal(
		invar_array_write(ctx, test_path("b3/train/clean.npy"), x, 2, shape, INVAR_FLOAT32),
		INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("b3"), &other), INVAR_OK);
	assert_int_equal(inv_bank_check_same_rows(bank, bank->splits, other, other->splits),
	                 INVAR_E_MISMATCH);
	test_assert_error("is [36, 2] but");
	invar_bank_close(other);
}

static void stopping_early_is_quiet(void **state)
{
	inv_batches *b = batches(false, 0, 0);
	const float *x;

	(void)state;
	assert_int_equal(inv_batches_next(b, &x), INVAR_OK);
	inv_batches_free(b); /* while the reader waits for a free buffer */
	inv_batches_free(batches(false, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_a_sample_of_its_image),
		cmocka_unit_test(starting_anywhere_gives_the_same_batches),
		cmocka_unit_test(validation_sees_the_same_rows_every_epoch),
		cmocka_unit_test(each_source_gives_copies_of_its_own),
		cmocka_unit_test(other_clean_rows_are_refused_by_name_and_row),
		cmocka_unit_test(stopping_early_is_quiet),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
