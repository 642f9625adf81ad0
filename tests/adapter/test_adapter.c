/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter.c - claims about adapters from files, from bytes and from parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "support.h"

enum { D = 2, H = 3, W = 2 };

static const float weight_0[H * D] = {1, 0, 0, 1, -1, 2}, bias_0[H] = {0, 0.5f, -1};
static const float weight_2[W * H] = {1, 1, 0, 0, -1, 2}, bias_2[W] = {0.25f, 0};
static const float z[D] = {2, 3};

static invar_adapter *make(int residual)
{
	invar_adapter *e;

	assert_int_equal(invar_adapter_new(test_ctx, D, H, W, residual, weight_0, bias_0,
	                                   weight_2, bias_2, &e),
	                 INVAR_OK);
	return e;
}

static void assert_applies(const invar_adapter *e, float first, float second)
{
	float out[W];

	assert_int_equal(invar_adapter_apply(e, z, 1, out), INVAR_OK);
	assert_float_equal(out[0], first, 1e-6);
	assert_float_equal(out[1], second, 1e-6);
}

/* relu(W0 z + b0) = (2, 3.5, 3); W2 of it + b2 = (5.75, 2.5). */
static void parameters_make_an_adapter(void **state)
{
	invar_adapter *plain = make(0), *residual = make(1);

	(void)state;
	assert_applies(plain, 5.75f, 2.5f);
	assert_applies(residual, 7.75f, 5.5f);
	assert_int_equal(invar_adapter_input(plain), D);
	assert_int_equal(invar_adapter_hidden(plain), H);
	assert_null(invar_adapter_metadata(plain, "invar.loss"));
	invar_adapter_close(plain);
	invar_adapter_close(residual);
}

static void a_saved_adapter_comes_back_from_its_file_and_from_its_bytes(void **state)
{
	const char *path = test_path("made.safetensors");
	invar_adapter *e = make(1), *opened, *held;
	size_t size;
	char *bytes;

	(void)state;
	assert_int_equal(invar_adapter_save(e, path), INVAR_OK);
	invar_adapter_close(e);
	assert_int_equal(invar_adapter_open(test_ctx, path, &opened), INVAR_OK);
	assert_int_equal(invar_adapter_residual(opened), 1);
	assert_applies(opened, 7.75f, 5.5f);
	bytes = test_read(path, &size);
	assert_int_equal(invar_adapter_from_memory(test_ctx, bytes, size, &held), INVAR_OK);
	memset(bytes, 0, size);
	free(bytes); /* borrowed only for the call */
	assert_applies(held, 7.75f, 5.5f);
	assert_string_equal(invar_adapter_metadata(held, "format"), "pt");
	assert_string_equal(invar_adapter_path(held), "adapter");
	invar_adapter_close(opened);
	invar_adapter_close(held);
}

/* An adapter that invar has trained keeps its metadata, and so its bytes. */
static void saving_keeps_every_byte_of_a_trained_adapter(void **state)
{
	const char *golden = test_source("fuzz/corpus/adapter/mawa.safetensors");
	const char *copy = test_path("copy.safetensors");
	size_t size, copied;
	char *before = test_read(golden, &size), *after;
	invar_adapter *e;

	(void)state;
	assert_int_equal(invar_adapter_from_memory(test_ctx, before, size, &e), INVAR_OK);
	assert_non_null(invar_adapter_metadata(e, "invar.loss"));
	assert_int_equal(invar_adapter_save(e, copy), INVAR_OK);
	after = test_read(copy, &copied);
	assert_int_equal(copied, size);
	assert_memory_equal(after, before, size);
	invar_adapter_close(e);
	free(before);
	free(after);
}

static void what_is_no_adapter_is_refused(void **state)
{
	float broken[H * D] = {1, 2, NAN};
	invar_adapter *e = (invar_adapter *)(uintptr_t)1;

	(void)state;
	assert_int_equal(invar_adapter_from_memory(test_ctx, "{}", 2, &e), INVAR_E_FORMAT);
	assert_null(e);
	assert_int_equal(
		invar_adapter_new(test_ctx, D, H, W, 0, broken, bias_0, weight_2, bias_2, &e),
		INVAR_E_NUMERIC);
	test_assert_error("element 2 of 0.weight");
	assert_int_equal(
		invar_adapter_new(test_ctx, D, H, 1, 1, weight_0, bias_0, weight_2, bias_2, &e),
		INVAR_E_USE);
	test_assert_error("is residual but maps 2 to 1");
	assert_int_equal(
		invar_adapter_new(test_ctx, D, 0, W, 0, weight_0, bias_0, weight_2, bias_2, &e),
		INVAR_E_USE);
	assert_null(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_make_an_adapter),
		cmocka_unit_test(a_saved_adapter_comes_back_from_its_file_and_from_its_bytes),
		cmocka_unit_test(saving_keeps_every_byte_of_a_trained_adapter),
		cmocka_unit_test(what_is_no_adapter_is_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
