/* SPDX-License-Identifier: Apache-2.0 */
/* test_processes.c - exchanges between ranks, over sockets instead of MPI. */
#include "base/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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
	assert_int_equal(inv_call(ctx, "anything"), INVAR_OK);
	assert_int_equal(inv_agree(ctx, inv_fail(INVAR_E_USE, "x")), INVAR_E_USE);
	assert_true(inv_usage_of(ctx).peak_kb > 0);
	inv_processes_leave(p, 0);
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

static void ranks_end_with_the_result_of_rank_0(void **state)
{
	(void)state;
	for (unsigned size = 1; size <= 4; size++)
		test_ranks_close(test_ranks_open(size), 130);
}

static void usage_is_that_of_all_ranks(void **state)
{
	inv_processes *p = test_ranks_open(3);
	invar_context *ctx = context_of(p);
	inv_usage own, all;

	(void)state;
	ctx->processes = NULL;
	own = inv_usage_of(ctx);
	ctx->processes = p;
	all = inv_usage_of(ctx);
	assert_true(all.peak_kb >= own.peak_kb);
	assert_true(all.cpu_seconds >= own.cpu_seconds);
	invar_context_free(ctx);
	test_ranks_close(p, 0);
}

static void an_unknown_service_is_refused_and_serving_goes_on(void **state)
{
	inv_processes *p = test_ranks_open(3);
	invar_context *ctx = context_of(p);

	(void)state;
	assert_int_equal(inv_call(ctx, "no such service"), INVAR_E_MISMATCH);
	assert_non_null(strstr(invar_last_error(), "rank 1: has no service"));
	assert_true(inv_usage_of(ctx).peak_kb > 0);
	invar_context_free(ctx);
	test_ranks_close(p, 3);
}

static void a_shared_folder_is_seen_by_all(void **state)
{
	inv_processes *p = test_ranks_open(3);
	invar_context *ctx = context_of(p);

	(void)state;
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_OK);
	assert_false(test_has_part(test_folder()));
	assert_int_equal(inv_check_shared(ctx, "/nowhere"), INVAR_E_IO);
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_OK);
	invar_context_free(ctx);
	test_ranks_close(p, 0);
}

static void a_dead_rank_is_an_error_not_a_wait(void **state)
{
	inv_processes *p = test_ranks_open(3);
	invar_context *ctx = context_of(p);

	(void)state;
	kill(test_ranks_process(2), SIGKILL);
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "cannot exchange data"));
	assert_int_equal(inv_agree(ctx, INVAR_E_IO), INVAR_E_IO); /* no further exchange */
	test_ranks_kill();
	invar_context_free(ctx);
	inv_processes_leave(p, 1);
}

/* Noticed by its silence: SIGSTOP closes no socket. */
static void a_rank_that_hangs_is_an_error_not_a_wait(void **state)
{
	inv_processes *p;
	invar_context *ctx;

	(void)state;
	test_ranks_patience(3);
	p = test_ranks_open(3);
	ctx = context_of(p);
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_OK);
	kill(test_ranks_process(2), SIGSTOP);
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "rank 2 has not answered for 3 seconds"));
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_E_IO);
	assert_non_null(strstr(invar_last_error(), "rank 2 has not answered"));
	test_ranks_kill();
	invar_context_free(ctx);
	inv_processes_leave(p, 1);
	test_ranks_patience(0);
}

static void compute_for_long(inv_processes *p)
{
	double began = inv_wall_seconds();

	(void)p;
	while (inv_wall_seconds() - began < 4)
		;
}

static void a_rank_that_computes_for_long_is_waited_for(void **state)
{
	inv_processes *p;
	invar_context *ctx;

	(void)state;
	test_ranks_patience(3);
	p = test_ranks_open_with(2, compute_for_long);
	ctx = context_of(p);
	assert_int_equal(inv_check_shared(ctx, test_folder()), INVAR_OK);
	invar_context_free(ctx);
	test_ranks_close(p, 0);
	test_ranks_patience(0);
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

static void compare_as_others_do(inv_processes *p)
{
	invar_context *ctx = context_of(p);
	unsigned read;

	for (int way = 0; way < WAYS; way++)
		compare_items(ctx, way, &read);
	invar_context_free(ctx);
}

static void what_ranks_read_is_compared(void **state)
{
	inv_processes *p = test_ranks_open_with(3, compare_as_others_do);
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
	test_ranks_close(p, 0);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_process_needs_no_launcher),
		cmocka_unit_test(a_launcher_without_the_plugin_is_an_error),
		cmocka_unit_test(ranks_end_with_the_result_of_rank_0),
		cmocka_unit_test(usage_is_that_of_all_ranks),
		cmocka_unit_test(an_unknown_service_is_refused_and_serving_goes_on),
		cmocka_unit_test(a_shared_folder_is_seen_by_all),
		cmocka_unit_test(a_dead_rank_is_an_error_not_a_wait),
		cmocka_unit_test(a_rank_that_hangs_is_an_error_not_a_wait),
		cmocka_unit_test(a_rank_that_computes_for_long_is_waited_for),
		cmocka_unit_test(what_ranks_read_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
