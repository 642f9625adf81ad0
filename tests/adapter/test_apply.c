/* SPDX-License-Identifier: Apache-2.0 */
/* test_apply.c - adapters from files, applied to arrays and files. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "base/rng.h"
#include "base/threads.h"
#include "formats/npy.h"
#include "golden.h"
#include "nn/packed_layers.h"

enum { D = 3, H = 5, ROWS = 300 };

static const char *save_shape(const char *name, const char *residual, inv_mlp_shape s)
{
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);
	inv_metadata metadata[] = {{"invar.residual", residual}, {"invar.loss", "mawa"}};
	char names[INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[INV_MLP_BLOCKS];

	inv_mlp_init(s, 5, false, params);
	inv_mlp_tensors(s, params, "", names, tensors);
	assert_int_equal(
		inv_safetensors_save(test_path("%s", name), tensors, INV_MLP_BLOCKS, metadata, 2),
		INVAR_OK);
	inv_free(params);
	return test_path("%s", name);
}

static const char *save_adapter(const char *name, const char *residual, size_t w)
{
	return save_shape(name, residual, (inv_mlp_shape){D, H, w});
}

static void golden_codes(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "mawa");
		size_t shape[GOLDEN_NDIM];
		const float *clean = golden_f32(g, "clean", shape);
		float *codes = inv_calloc(shape[0] * shape[1], sizeof *codes);
		invar_adapter *e;

		assert_int_equal(
			invar_adapter_open(test_ctx, golden_path(g, "adapter.safetensors"), &e),
			INVAR_OK);
		assert_int_equal(invar_adapter_apply(e, clean, shape[0], codes), INVAR_OK);
		golden_check(g, "codes_clean", codes, shape[0] * shape[1]);
		inv_free(codes);
		invar_adapter_close(e);
		golden_close(g);
	}
}

static void files_of_both_ranks_equal_arrays(void **state)
{
	uint64_t flat[2] = {ROWS, D}, deep[3] = {ROWS / 4, 4, D};
	float *x = inv_calloc(ROWS * D, sizeof *x), *want = inv_calloc(ROWS * D, sizeof *want);
	float *got = inv_calloc(ROWS * D, sizeof *got);
	inv_stream s = inv_stream_of(3, "x", 0);
	invar_adapter *e;

	(void)state;
	inv_fill_normal(&s, 0, x, ROWS * D);
	assert_int_equal(
		invar_adapter_open(test_ctx, save_adapter("e.safetensors", "1", D), &e), INVAR_OK);
	assert_true(invar_adapter_residual(e));
	assert_string_equal(invar_adapter_metadata(e, "invar.loss"), "mawa");
	assert_null(invar_adapter_metadata(e, "invar.seed"));
	assert_int_equal(invar_adapter_apply(e, x, ROWS, want), INVAR_OK);
	for (int ndim = 2; ndim <= 3; ndim++) {
		invar_array *a;

		assert_int_equal(invar_array_write(test_ctx, test_path("in.npy"), x, (unsigned)ndim,
		                                   ndim == 2 ? flat : deep, INVAR_FLOAT32),
		                 INVAR_OK);
		assert_int_equal(inv_adapter_apply_file(e, test_path("in.npy"),
		                                        test_path("out.npy"), INVAR_FLOAT32),
		                 INVAR_OK);
		assert_int_equal(invar_array_open(test_ctx, test_path("out.npy"), &a), INVAR_OK);
		assert_int_equal(a->h.ndim, ndim);
		assert_int_equal(invar_array_read(a, 0, ROWS * D, got), INVAR_OK);
		assert_memory_equal(got, want, ROWS * D * sizeof *got);
		invar_array_close(a);
	}
	inv_free(x);
	inv_free(want);
	inv_free(got);
	invar_adapter_close(e);
}

static void nan_and_wrong_shapes_leave_no_output(void **state)
{
	uint64_t shape[2] = {4, D}, wide[2] = {3, D + 1};
	float x[16] = {0};
	invar_adapter *e;

	(void)state;
	assert_int_equal(
		invar_adapter_open(test_ctx, save_adapter("e.safetensors", "0", D), &e), INVAR_OK);
	x[2 * D + 1] = NAN;
	assert_int_equal(
		invar_array_write(test_ctx, test_path("nan.npy"), x, 2, shape, INVAR_FLOAT32),
		INVAR_OK);
	assert_int_equal(
		inv_adapter_apply_file(e, test_path("nan.npy"), test_path("no.npy"), INVAR_FLOAT32),
		INVAR_E_NUMERIC);
	test_assert_error("row 2, column 1 is NaN");
	assert_int_equal(
		invar_array_write(test_ctx, test_path("wide.npy"), x, 2, wide, INVAR_FLOAT32),
		INVAR_OK);
	assert_int_equal(inv_adapter_apply_file(e, test_path("wide.npy"), test_path("no.npy"),
	                                        INVAR_FLOAT32),
	                 INVAR_E_MISMATCH);
	test_assert_error("(3, 4)");
	assert_false(test_exists(test_path("no.npy")));
	assert_false(test_has_part(test_folder()));
	invar_adapter_close(e);
}

static void rows_that_are_not_finite_are_refused(void **state)
{
	float x[4 * D] = {0}, out[4 * D];
	invar_adapter *e;

	(void)state;
	assert_int_equal(
		invar_adapter_open(test_ctx, save_adapter("e.safetensors", "1", D), &e), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, 4, out), INVAR_OK);
	x[2 * D + 1] = NAN;
	assert_int_equal(invar_adapter_apply(e, x, 2, out), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, 4, out), INVAR_E_NUMERIC);
	test_assert_error("the features: row 2, column 1 is NaN");
	x[2 * D + 1] = INFINITY;
	assert_int_equal(invar_adapter_apply(e, x, 4, out), INVAR_E_NUMERIC);
	test_assert_error("the features: row 2, column 1 is infinite");
	invar_adapter_close(e);
}

static void codes_that_are_not_finite_are_refused(void **state)
{
	const float weight = 3e38f, zero = 0, x[2] = {0, 10};
	float out[2];
	invar_adapter *e;

	(void)state;
	assert_int_equal(
		invar_adapter_new(test_ctx, 1, 1, 1, 0, &weight, &zero, &weight, &zero, &e),
		INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, 2, out), INVAR_E_NUMERIC);
	test_assert_error("the codes: row 1, column 0 is infinite");
	invar_adapter_close(e);
}

static void what_is_no_adapter_is_refused(void **state)
{
	float x[4] = {0};
	inv_tensor_out odd = {"weight", 1, {4}, x};
	invar_adapter *e;

	(void)state;
	assert_int_equal(inv_safetensors_save(test_path("odd.safetensors"), &odd, 1, NULL, 0),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, test_path("odd.safetensors"), &e),
	                 INVAR_E_FORMAT);
	test_assert_error("no tensor 0.weight");
	assert_int_equal(invar_adapter_open(test_ctx, test_folder(), &e), INVAR_E_IO);
	test_assert_error("has no adapter.safetensors");
	assert_int_equal(
		invar_adapter_open(test_ctx, save_adapter("r.safetensors", "1", 2), &e),
		INVAR_E_FORMAT);
	test_assert_error("residual but maps 3 to 2");
	assert_null(e);
}

/* The same bits, however many threads work. */
static void codes_do_not_depend_on_the_threads(void **state)
{
	enum { BIG = 1000 };
	float *x = inv_calloc(BIG * D, sizeof *x), *all = inv_calloc(BIG * D, sizeof *all);
	float *one = inv_calloc(BIG * D, sizeof *one);
	inv_stream s = inv_stream_of(3, "x", 0);

	(void)state;
	inv_fill_normal(&s, 0, x, BIG * D);
	save_adapter("e.safetensors", "0", D);
	for (unsigned threads = 1; threads <= 3; threads++) {
		invar_context *other;
		invar_adapter *e;

		assert_int_equal(invar_context_new(threads, NULL, &other), INVAR_OK);
		assert_int_equal(invar_adapter_open(other, test_path("e.safetensors"), &e),
		                 INVAR_OK);
		assert_int_equal(invar_adapter_apply(e, x, BIG, threads == 1 ? all : one),
		                 INVAR_OK);
		if (threads > 1)
			assert_memory_equal(all, one, BIG * D * sizeof *all);
		invar_adapter_close(e);
		invar_context_free(other);
	}
	inv_free(x);
	inv_free(all);
	inv_free(one);
}

/* Threads that wait for each other make a row wait for any other busy process. */
static void a_few_rows_stay_on_the_calling_thread(void **state)
{
	enum { WIDTH = 64, MANY = 300 };
	float *x = inv_calloc(MANY * WIDTH, sizeof *x), *many, *one;
	inv_stream s = inv_stream_of(4, "x", 0);
	invar_context *ctx;
	invar_adapter *e;
	uint64_t before;

	(void)state;
	many = inv_calloc(MANY * WIDTH, sizeof *many);
	one = inv_calloc(MANY * WIDTH, sizeof *one);
	inv_fill_normal(&s, 0, x, MANY * WIDTH);
	assert_int_equal(invar_context_new(4, NULL, &ctx), INVAR_OK);
	if (!inv_packed_layers_usable(ctx))
		skip(); /* without kernels of our own, bits depend on the rows beside */
	assert_int_equal(invar_adapter_open(ctx,
	                                    save_shape("wide.safetensors", "1",
	                                               (inv_mlp_shape){WIDTH, 4096, WIDTH}),
	                                    &e),
	                 INVAR_OK);
	before = inv_threads_loops();
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(invar_adapter_apply(e, x + i * WIDTH, 1, one + i * WIDTH),
		                 INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x + 20 * WIDTH, 20, one + 20 * WIDTH),
	                 INVAR_OK);
	assert_int_equal(inv_threads_loops(), before);
	assert_int_equal(invar_adapter_apply(e, x, MANY, many), INVAR_OK);
	assert_true(inv_threads_loops() > before);
	assert_memory_equal(one, many, 40 * WIDTH * sizeof *one);
	invar_adapter_close(e);
	invar_context_free(ctx);
	inv_free(x);
	inv_free(many);
	inv_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_codes),
		cmocka_unit_test(files_of_both_ranks_equal_arrays),
		cmocka_unit_test(nan_and_wrong_shapes_leave_no_output),
		cmocka_unit_test(rows_that_are_not_finite_are_refused),
		cmocka_unit_test(codes_that_are_not_finite_are_refused),
		cmocka_unit_test(what_is_no_adapter_is_refused),
		cmocka_unit_test(codes_do_not_depend_on_the_threads),
		cmocka_unit_test(a_few_rows_stay_on_the_calling_thread),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
