/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - claims about contexts and parallel loops. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "support.h"

enum { ITEMS = 100003, BLOCK = 1000 };

typedef struct work {
	unsigned threads;
	double partial[(ITEMS + BLOCK - 1) / BLOCK];
	atomic_uint visits[(ITEMS + BLOCK - 1) / BLOCK];
	atomic_uint strangers; /* thread numbers that are out of range */
} work;

static void add_block(void *user, size_t block, unsigned thread)
{
	work *w = user;
	size_t end = (block + 1) * BLOCK < ITEMS ? (block + 1) * BLOCK : ITEMS;
	double sum = 0;

	for (size_t i = block * BLOCK; i < end; i++)
		sum += 1 / (1 + (double)i);
	w->partial[block] = sum;
	atomic_fetch_add(&w->visits[block], 1);
	atomic_fetch_add(&w->strangers, thread >= w->threads);
}

static double sum_with(unsigned threads)
{
	work *w = calloc(1, sizeof *w);
	invar_context *ctx;
	double sum;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	w->threads = threads;
	inv_parallel(ctx, inv_blocks(ITEMS, BLOCK), add_block, w);
	for (size_t i = 0; i < inv_blocks(ITEMS, BLOCK); i++)
		assert_int_equal(w->visits[i], 1);
	assert_int_equal(w->strangers, 0);
	sum = inv_sum_in_order(w->partial, inv_blocks(ITEMS, BLOCK));
	invar_context_free(ctx);
	free(w);
	return sum;
}

static void one_to_four_threads_give_the_same_bits(void **state)
{
	double one = sum_with(1);

	(void)state;
	for (unsigned threads = 2; threads <= 4; threads++)
		for (int again = 0; again < 5; again++)
			assert_true(sum_with(threads) == one);
	assert_true(fabs(one - (log(ITEMS) + 0.5772156649015329 + 0.5 / ITEMS)) < 1e-9);
}

static void no_blocks_call_nothing(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(3, NULL, &ctx), INVAR_OK);
	inv_parallel(ctx, 0, add_block, NULL);
	assert_int_equal(inv_blocks(0, 10), 0);
	assert_int_equal(inv_blocks(1, 10), 1);
	assert_int_equal(inv_blocks(10, 10), 1);
	assert_int_equal(inv_blocks(11, 10), 2);
	assert_true(inv_sum_in_order(NULL, 0) == 0);
	invar_context_free(ctx);
}

static void a_context_has_the_threads_it_was_asked_for(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(3, NULL, &ctx), INVAR_OK);
	assert_int_equal(ctx->threads, 3);
	invar_context_free(ctx);
	assert_int_equal(invar_context_new(0, NULL, &ctx), INVAR_OK);
	assert_true(ctx->threads >= 1);
	invar_context_free(ctx);
	assert_int_equal(invar_context_new(100000, NULL, &ctx), INVAR_E_USE);
	assert_null(ctx);
	test_assert_error("100000 threads");
	invar_context_free(NULL);
}

static void the_environment_caps_the_kernels(void **state)
{
	invar_context *ctx;
	const char *name;

	(void)state;
	assert_int_equal(setenv("INVAR_CPU", "ref", 1), 0);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_string_equal(inv_context_cpu(ctx), "ref");
	invar_context_free(ctx);
	/* What is in use can be asked for by its name. */
	assert_int_equal(unsetenv("INVAR_CPU"), 0);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	name = inv_context_cpu(ctx);
	invar_context_free(ctx);
	assert_int_equal(setenv("INVAR_CPU", strcmp(name, "portable") ? name : "", 1), 0);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_string_equal(inv_context_cpu(ctx), name);
	invar_context_free(ctx);
	assert_int_equal(setenv("INVAR_CPU", "vax", 1), 0);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_E_USE);
#if defined(__x86_64__)
	test_assert_error("INVAR_CPU is 'vax' but must be ref, avx2 or avx512");
#else
	test_assert_error("INVAR_CPU is 'vax' but must be ref");
#endif
	assert_int_equal(unsetenv("INVAR_CPU"), 0);
}

typedef struct heard {
	char line[64];
	int level;
	uint64_t done;
	int answer;
} heard;

static void hear(void *user, int level, const char *line)
{
	heard *h = user;

	h->level = level;
	snprintf(h->line, sizeof h->line, "%s", line);
}

static int see(void *user, const char *stage, uint64_t done, uint64_t total)
{
	heard *h = user;

	(void)stage;
	(void)total;
	h->done = done;
	return h->answer;
}

static invar_status fail_from_third_on(void *user, size_t block, unsigned thread)
{
	unsigned char *seen = user;

	(void)thread;
	seen[block] = 1;
	return block < 3 ? INVAR_OK : inv_fail(INVAR_E_FORMAT, "block %zu is bad", block);
}

static void the_first_block_that_fails_is_told(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++)
		for (int turn = 0; turn < 50; turn++) {
			unsigned char seen[40] = {0};
			invar_context *ctx;

			assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
			assert_int_equal(inv_parallel_try(ctx, 3, fail_from_third_on, seen), INVAR_OK);
			assert_int_equal(inv_parallel_try(ctx, 40, fail_from_third_on, seen),
			                 INVAR_E_FORMAT);
			assert_string_equal(invar_last_error(), "block 3 is bad");
			assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
			invar_context_free(ctx);
		}
}

static void log_lines_name_options_as_the_program_spells_them(void **state)
{
	heard h = {.answer = 0};
	invar_hooks hooks = {.size = sizeof hooks, .user = &h, .log = hear};
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	inv_log(ctx, INVAR_LOG_INFO, "%s: @limit %d", "a@b", 5);
	assert_string_equal(h.line, "a@b: limit 5");
	invar_context_free(ctx);
	hooks.option_prefix = "--";
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	inv_log(ctx, INVAR_LOG_INFO, "%s: @limit %d", "a@b\n", 5);
	assert_string_equal(h.line, "a@b?: --limit 5");
	invar_context_free(ctx);
}

static void hooks_hear_lines_and_may_stop_the_work(void **state)
{
	heard h = {.answer = 0};
	const invar_hooks hooks = {
		.size = sizeof hooks, .user = &h, .log = hear, .progress = see};
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	inv_log(ctx, INVAR_LOG_INFO, "%d rows", 5);
	assert_string_equal(h.line, "5 rows");
	assert_int_equal(h.level, INVAR_LOG_INFO);
	assert_int_equal(inv_progress(ctx, "train", 3, 10), INVAR_OK);
	assert_int_equal(h.done, 3);
	h.answer = 1;
	assert_int_equal(inv_progress(ctx, "train", 4, 10), INVAR_E_CANCELLED);
	invar_context_free(ctx);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	inv_log(ctx, INVAR_LOG_INFO, "nobody listens");
	assert_int_equal(inv_progress(ctx, "train", 4, 10), INVAR_OK);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_to_four_threads_give_the_same_bits),
		cmocka_unit_test(no_blocks_call_nothing),
		cmocka_unit_test(a_context_has_the_threads_it_was_asked_for),
		cmocka_unit_test(the_environment_caps_the_kernels),
		cmocka_unit_test(the_first_block_that_fails_is_told),
		cmocka_unit_test(log_lines_name_options_as_the_program_spells_them),
		cmocka_unit_test(hooks_hear_lines_and_may_stop_the_work),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
