/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_augment_file.c - a file of tensors in blocks: the bytes of one call on all of them,
 * in memory that does not depend on their number.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rng.h"
#include "formats/npy.h"
#include "images/augment/augment.h"

enum {
	C = 3,
	SIDE = 160,
	CELLS = C * SIDE * SIDE
}; /* 300 KB; 54 images of both fill a block */

static void write_images(const char *path, uint64_t n)
{
	uint64_t shape[4] = {n, C, SIDE, SIDE};
	inv_stream s = inv_stream_of(1, "pictures", 0);
	float *x = malloc(CELLS * sizeof *x);
	inv_npy_writer *w;

	assert_int_equal(inv_npy_create(path, INV_F32, 4, shape, &w), INVAR_OK);
	for (uint64_t i = 0; i < n; i++) {
		inv_fill_uniform(&s, (uint32_t)i, 0, 1, x, CELLS);
		assert_int_equal(inv_npy_put(w, x, CELLS), INVAR_OK);
	}
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
	free(x);
}

static float *read_all(const char *path, uint64_t cells)
{
	float *x = malloc(cells * sizeof *x);
	inv_npy *a;

	assert_int_equal(inv_npy_open(path, &a), INVAR_OK);
	assert_int_equal(a->h.cells, cells);
	assert_int_equal(inv_npy_read(a, 0, cells, x), INVAR_OK);
	inv_npy_close(a);
	return x;
}

/* Drawn, drawn and saved, and with what was saved; the last block is not full. */
static void blocks_give_the_bytes_of_one_call(void **state)
{
	enum { n = 131 };
	const char *in = test_path("in.npy"), *out = test_path("out.npy"),
			   *params = test_path("params.json");
	uint64_t shape[4] = {n, C, SIDE, SIDE};
	const invar_options *o = test_kept("augment", "first", "11", "seed", "4", NULL);
	float *x, *want = malloc(n * CELLS * sizeof *want);
	invar_augment *a;

	(void)state;
	write_images(in, n);
	x = read_all(in, n * CELLS);
	assert_int_equal(
		invar_augment_parse(test_ctx, "rotation:same_on_batch=1+noise:p=0.5,std=0..1", &a),
		INVAR_OK);
	assert_int_equal(invar_augment_apply(a, o, x, shape, NULL, want), INVAR_OK);
	for (int i = 0; i < 3; i++) {
		float *got;

		assert_int_equal(inv_augment_apply_file(a, o, in, i == 2 ? params : NULL, out,
		                                        i == 1 ? params : NULL),
		                 INVAR_OK);
		got = read_all(out, n * CELLS);
		assert_memory_equal(got, want, n * CELLS * sizeof *got);
		free(got);
	}
	invar_augment_close(a);
	free(x);
	free(want);
}

/* In a process of its own, whose peak counts from its start. */
static long peak_of(const char *in, const char *out)
{
	int ends[2];
	long peak = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		struct rusage usage;
		invar_context *own;
		invar_augment *a;
		bool worked = invar_context_new(1, NULL, &own) == INVAR_OK &&
		              invar_augment_parse(own, "noise", &a) == INVAR_OK &&
		              inv_augment_apply_file(a, NULL, in, NULL, out, NULL) == INVAR_OK;

		getrusage(RUSAGE_SELF, &usage);
		peak = worked ? usage.ru_maxrss : 0;
		_exit(write(ends[1], &peak, sizeof peak) != (ssize_t)sizeof peak);
	}
	assert_true(child > 0);
	assert_int_equal(read(ends[0], &peak, sizeof peak), sizeof peak);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	assert_true(peak > 0);
	return peak;
}

static void memory_does_not_grow_with_the_images(void **state)
{
	const char *in = test_path("in.npy"), *out = test_path("out.npy");
	long some, many;

	(void)state;
	write_images(in, 60);
	some = peak_of(in, out);
	write_images(in, 400); /* 100 MB more in, and out */
	many = peak_of(in, out);
	assert_true(many - some < 20 * 1024);
}

static void faults_leave_no_file(void **state)
{
	const char *in = test_path("in.npy"), *out = test_path("new.npy");
	uint64_t shape[4] = {60, C, SIDE, SIDE};
	float *x = calloc(60 * CELLS, sizeof *x);
	inv_npy_writer *w;
	invar_augment *a;

	(void)state;
	x[57 * CELLS + 5] = 1.0f / 0.0f;
	assert_int_equal(inv_npy_create(in, INV_F32, 4, shape, &w), INVAR_OK);
	assert_int_equal(inv_npy_put(w, x, 60 * CELLS), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
	assert_int_equal(invar_augment_parse(test_ctx, "noise", &a), INVAR_OK);
	assert_int_equal(inv_augment_apply_file(a, NULL, in, NULL, out, NULL), INVAR_E_NUMERIC);
	assert_non_null(
		strstr(invar_last_error(), "image 57 has a pixel that is infinite (element 5)"));
	assert_int_not_equal(access(out, F_OK), 0);
	invar_augment_close(a);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_give_the_bytes_of_one_call),
		cmocka_unit_test(memory_does_not_grow_with_the_images),
		cmocka_unit_test(faults_leave_no_file),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
