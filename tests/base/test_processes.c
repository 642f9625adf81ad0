/* SPDX-License-Identifier: Apache-2.0 */
/* test_processes.c - exchanges between ranks, over sockets instead of MPI. */
#include "base/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/rank_compare.h"
#include "ranks.h"
#include "support.h"

static invar_context *context_of(inv_processes *p)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	inv_context_share(ctx, p);
	return ctx;
}

static void a_single_process_needs_no_launcher(void **state)
{
	inv_processes *p = (inv_processes *)&p;
	invar_context *ctx;

	(void)state;
	unsetenv("OMPI_COMM_WORLD_SIZE");
	assert_int_equal(inv_processes_join(&p), INVAR_OK);
	assert_null(p);
	assert_int_equal(inv_processes_rank(p), 0);
	assert_int_equal(inv_processes_size(p), 1);
	ctx = context_of(p);
	assert_int_equal(inv_process_count(ctx), 1);
	assert_int_equal(inv_agree(ctx, inv_fail(INVAR_E_USE, "x")), INVAR_E_USE);
	assert_int_equal(inv_processes_leave(p, INVAR_OK), INVAR_OK);
	inv_processes_close(p, 0);
	invar_context_free(ctx);
}

/* Several processes without the plugin must not each write the same files. */
static void a_launcher_without_the_plugin_is_an_error(void **state)
{
	inv_processes *p;

	(void)state;
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	setenv("INVAR_MPI_PLUGIN", "/nowhere/invar_mpi.so", 1);
	assert_int_equal(inv_processes_join(&p), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "INVAR_RANKS=1"));
	setenv("INVAR_RANKS", "1", 1);
	assert_int_equal(inv_processes_join(&p), INVAR_OK);
	assert_null(p);
	unsetenv("INVAR_RANKS");
	unsetenv("INVAR_MPI_PLUGIN");
	unsetenv("OMPI_COMM_WORLD_SIZE");
}

/* ---- Failures ------------------------------------------------------------------------ */

static invar_status do_nothing(inv_processes *p)
{
	(void)p;
	return INVAR_OK;
}

static void ranks_wait_for_each_other(void **state)
{
	(void)state;
	for (unsigned size = 1; size <= 4; size++)
		assert_int_equal(test_ranks_close(test_ranks_open(size, do_nothing), INVAR_OK),
		                 INVAR_OK);
}

static invar_status agree_once(inv_processes *p)
{
	invar_context *ctx = context_of(p);
	invar_status st = inv_agree(ctx, INVAR_OK);

	invar_context_free(ctx);
	return st;
}

static invar_status fail_on_rank_2(inv_processes *p)
{
	return inv_processes_rank(p) == 2 ? inv_fail(INVAR_E_FORMAT, "cannot read it")
	                                  : agree_once(p);
}

/* It is told to ranks that wait for it, and to those that compute. */
static void the_failure_of_a_rank_is_that_of_all(void **state)
{
	inv_processes *p;
	invar_context *ctx;
	invar_status st;

	(void)state;
	p = test_ranks_open(3, fail_on_rank_2);
	st = agree_once(p);
	assert_int_equal(st, INVAR_E_FORMAT);
	assert_string_equal(invar_last_error(), "rank 2: cannot read it");
	test_ranks_close(p, st);

	p = test_ranks_open(3, fail_on_rank_2);
	ctx = context_of(p);
	while ((st = inv_progress(ctx, "computing", 0, 1)) == INVAR_OK)
		;
	assert_string_equal(invar_last_error(), "rank 2: cannot read it");
	assert_int_equal(inv_agree(ctx, INVAR_OK), INVAR_E_FORMAT); /* without an exchange */
	invar_context_free(ctx);
	test_ranks_close(p, st);
}

static void a_cancelled_rank_0_ends_all(void **state)
{
	inv_processes *p = test_ranks_open(3, agree_once);

	(void)state;
	assert_int_equal(test_ranks_close(p, inv_fail(INVAR_E_CANCELLED, "interrupted")),
	                 INVAR_E_CANCELLED);
}

static invar_status stop_rank_2(inv_processes *p)
{
	if (inv_processes_rank(p) == 2)
		raise(SIGSTOP);
	return agree_once(p);
}

static void a_dead_rank_is_an_error_not_a_wait(void **state)
{
	inv_processes *p = test_ranks_open(3, stop_rank_2);
	invar_context *ctx = context_of(p);

	(void)state;
	kill(test_ranks_process(2), SIGKILL);
	assert_int_equal(inv_agree(ctx, INVAR_OK), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "cannot exchange data"));
	assert_int_equal(inv_agree(ctx, INVAR_OK), INVAR_E_IO); /* no further exchange */
	assert_true(inv_processes_is_lost(p));
	test_ranks_kill();
	invar_context_free(ctx);
	inv_processes_close(p, 1);
}

/* SIGSTOP closes no socket. */
static void a_rank_that_hangs_is_found_by_the_time_limit(void **state)
{
	inv_processes *p;

	(void)state;
	setenv("INVAR_RANKS_TIMEOUT", "2", 1);
	p = test_ranks_open(3, stop_rank_2);
	unsetenv("INVAR_RANKS_TIMEOUT");
	assert_int_equal(agree_once(p), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "no answer for 2 seconds"));
	test_ranks_kill();
	inv_processes_close(p, 1);
}

static invar_status wait_for_rank_0(inv_processes *p)
{
	invar_context *ctx = context_of(p);
	invar_status st = inv_await_rank_0(ctx);

	invar_context_free(ctx);
	return st;
}

static void work_of_rank_0_alone_has_no_limit(void **state)
{
	double began = inv_wall_seconds();
	inv_processes *p;

	(void)state;
	setenv("INVAR_RANKS_TIMEOUT", "1", 1);
	p = test_ranks_open(2, wait_for_rank_0);
	unsetenv("INVAR_RANKS_TIMEOUT");
	while (inv_wall_seconds() - began < 2.5)
		;
	assert_int_equal(wait_for_rank_0(p), INVAR_OK);
	assert_int_equal(test_ranks_close(p, INVAR_OK), INVAR_OK);
}

/* ---- Collective calls ---------------------------------------------------------------- */

enum { ITEMS_SHARED = 11, SUMMED = 7, BLOCKS = 5 };

/* Every rank checks what it gets. */
static invar_status exchange_all(inv_processes *p)
{
	invar_context *ctx = context_of(p);
	unsigned rank = inv_process_rank(ctx), ranks = inv_process_count(ctx);
	inv_shares shares = inv_shares_of(ctx, ITEMS_SHARED, 2);
	uint32_t items[ITEMS_SHARED] = {0}, word = rank ? 0 : 77;
	char *text = rank ? inv_strdup("mine") : inv_strdup("a text of rank 0");
	inv_block_sums *sums;
	double *total, peak, cpu;

	assert_int_equal(inv_broadcast(ctx, &word, sizeof word), INVAR_OK);
	assert_int_equal(word, 77);
	assert_int_equal(inv_broadcast_text(ctx, &text), INVAR_OK);
	assert_string_equal(text, "a text of rank 0");
	inv_free(text);
	for (size_t i = 0; i < inv_own_count(&shares); i++)
		items[inv_own_first(&shares) + i] = (uint32_t)(100 + inv_own_first(&shares) + i);
	assert_int_equal(inv_gather(ctx, &shares, items, sizeof *items), INVAR_OK);
	for (uint32_t i = 0; i < ITEMS_SHARED; i++)
		assert_int_equal(items[i], 100 + i);

	assert_int_equal(inv_block_sums_new(ctx, SUMMED, &sums), INVAR_OK);
	for (int again = 1; again <= 2; again++) {
		for (int b = 0; b < BLOCKS; b++) {
			double *to = inv_block_sums_next(sums);

			assert_true(!to == !inv_block_sums_own(sums));
			for (int i = 0; to && i < SUMMED; i++)
				to[i] += 1.0 / (1 + b + i);
			assert_int_equal(inv_block_sums_end(sums), INVAR_OK);
		}
		assert_int_equal(inv_block_sums_total(sums, &total), INVAR_OK);
		for (int i = 0; i < SUMMED; i++) {
			double want = 0;

			for (int b = 0; b < again * BLOCKS; b++)
				want += 1.0 / (1 + b % BLOCKS + i);
			assert_true(total[i] == want);
		}
	}
	inv_block_sums_free(sums);
	assert_int_equal(inv_context_usage(ctx, &peak, &cpu), INVAR_OK);
	assert_true(peak > 0 && cpu >= 0);
	assert_int_equal(ranks, inv_processes_size(p));
	invar_context_free(ctx);
	return INVAR_OK;
}

static void collective_calls_give_all_ranks_the_same(void **state)
{
	(void)state;
	for (unsigned size = 1; size <= 4; size++) {
		inv_processes *p = test_ranks_open(size, exchange_all);

		exchange_all(p);
		assert_int_equal(test_ranks_close(p, INVAR_OK), INVAR_OK);
	}
}

/* ---- Comparing what ranks read ------------------------------------------------------- */

enum { ITEMS = 700, ODD_ITEM = 600 };

/* What a rank sees: the same file; copies of it; one that differs, or is shorter, on
 * rank 2.
 */
enum { SAME_FILE, COPIES_OF_IT, OTHER_BYTES, FEWER_ITEMS, WAYS };

typedef struct seen_items {
	unsigned rank;
	int way;
	_Atomic unsigned read;
} seen_items;

static bool see_file(void *user, size_t item, inv_file_id *out)
{
	const seen_items *s = user;

	*out = (inv_file_id){.inode = s->way == SAME_FILE ? 7 : 7 + s->rank, .bytes = item};
	return s->way != COPIES_OF_IT || item != 3;
}

static invar_status see_bytes(void *user, size_t item, unsigned thread,
                              unsigned char out[INV_COMPARED_BYTES])
{
	seen_items *s = user;

	(void)thread;
	s->read++;
	memset(out, (int)item, INV_COMPARED_BYTES);
	out[5] = s->way == OTHER_BYTES && s->rank == 2 && item >= ODD_ITEM;
	return INVAR_OK;
}

static invar_status see_difference(void *user, size_t item)
{
	(void)user;
	return inv_fail(INVAR_E_MISMATCH, "item %zu", item);
}

static invar_status compare_items(const invar_context *ctx, int way, unsigned *read)
{
	seen_items s = {.rank = inv_process_rank(ctx), .way = way};
	const inv_compared c = {.count = ITEMS - (way == FEWER_ITEMS && s.rank == 2),
	                        .user = &s,
	                        .file = see_file,
	                        .print = see_bytes,
	                        .differs = see_difference};
	invar_status st = inv_ranks_compare(ctx, &c);

	*read = s.read;
	return st;
}

static invar_status compare_as_others_do(inv_processes *p)
{
	invar_context *ctx = context_of(p);
	unsigned read;

	for (int way = 0; way < WAYS; way++)
		compare_items(ctx, way, &read);
	invar_context_free(ctx);
	return INVAR_OK;
}

static void what_ranks_read_is_compared(void **state)
{
	inv_processes *p = test_ranks_open(3, compare_as_others_do);
	invar_context *ctx = context_of(p);
	unsigned read;

	(void)state;
	assert_int_equal(compare_items(ctx, SAME_FILE, &read), INVAR_OK);
	assert_int_equal(read, 0);
	assert_int_equal(compare_items(ctx, COPIES_OF_IT, &read), INVAR_OK);
	assert_int_equal(read, ITEMS);
	assert_int_equal(compare_items(ctx, OTHER_BYTES, &read), INVAR_E_MISMATCH);
	assert_string_equal(invar_last_error(), "rank 2: item 600");
	assert_int_equal(compare_items(ctx, FEWER_ITEMS, &read), INVAR_E_MISMATCH);
	assert_string_equal(invar_last_error(), "rank 2: item 0");
	assert_int_equal(read, 0);
	assert_int_equal(test_ranks_close(p, INVAR_OK), INVAR_OK);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_process_needs_no_launcher),
		cmocka_unit_test(a_launcher_without_the_plugin_is_an_error),
		cmocka_unit_test(ranks_wait_for_each_other),
		cmocka_unit_test(the_failure_of_a_rank_is_that_of_all),
		cmocka_unit_test(a_cancelled_rank_0_ends_all),
		cmocka_unit_test(a_dead_rank_is_an_error_not_a_wait),
		cmocka_unit_test(a_rank_that_hangs_is_found_by_the_time_limit),
		cmocka_unit_test(work_of_rank_0_alone_has_no_limit),
		cmocka_unit_test(collective_calls_give_all_ranks_the_same),
		cmocka_unit_test(what_ranks_read_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
