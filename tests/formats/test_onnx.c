/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx.c - foreign models: what is found in them, and which are refused, and how. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "formats/onnx.h"

/* Of fuzz/corpus/onnx, which make_onnx.py makes; free() the bytes. */
static unsigned char *load(const char *name, size_t *size)
{
	return test_read(test_source("fuzz/corpus/onnx/%s", name), size);
}

static void outputs_and_tensors_inside_are_found(void **state)
{
	static const struct {
		const char *file, *wanted, *name;
		uint64_t element, width;
		unsigned ndim;
	} want[] = {
		{"plain", NULL, "features", ONNX_FLOAT, 4, 2},
		{"plain", "hidden", "hidden", 0, 0, 0},
		{"two-outputs", "second", "second", ONNX_FLOAT, 4, 2},
		{"half", NULL, "features", ONNX_FLOAT16, 4, 2},
		{"patches", NULL, "features", ONNX_FLOAT, 4, 3},
		{"pixel", NULL, "features", ONNX_FLOAT, 1, 4},
		{"no-shape", NULL, "features", ONNX_FLOAT, 0, 0},
		{"nested", NULL, "features", ONNX_FLOAT, 4, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		size_t size;
		unsigned char *bytes = load(want[i].file, &size);
		inv_onnx_value v;
		inv_onnx m;

		assert_int_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
		assert_int_equal(inv_onnx_find(&m, want[i].wanted, "model", &v), INVAR_OK);
		assert_true(inv_bytes_are(v.name, want[i].name));
		assert_int_equal(v.element, want[i].element);
		assert_int_equal(v.ndim, want[i].ndim);
		assert_int_equal(v.width, want[i].width);
		assert_int_equal(v.pixel_width, strcmp(want[i].file, "pixel") == 0 ? 4 : 0);
		free(bytes);
	}
}

static void versions_and_metadata_are_read(void **state)
{
	size_t size;
	unsigned char *bytes = load("old", &size);
	inv_onnx m;

	(void)state;
	assert_int_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
	assert_int_equal(m.ir, 3);
	assert_int_equal(m.opset, 7);
	assert_false(inv_onnx_has_key(&m, "invar.residual"));
	free(bytes);
	bytes = load("metadata", &size);
	assert_int_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
	assert_true(inv_onnx_has_key(&m, "invar.residual"));
	assert_false(inv_onnx_has_key(&m, "invar.residua"));
	free(bytes);
}

static void what_an_encoder_needs_is_found(void **state)
{
	static const struct {
		const char *file, *inputs, *outputs, *external;
		uint64_t axes[2];
	} want[] = {
		{"plain", "x", "features", NULL, {0, 3}},
		{"old", "x", "features", NULL, {0, 3}}, /* its weights are inputs, too */
		{"two-outputs", "x", "features, second", NULL, {0, 3}},
		{"bad-external", "x", "features", "weights.bin", {0, 3}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		char listed[INV_ONNX_LISTED];
		size_t size, files = 0;
		unsigned char *bytes = load(want[i].file, &size);
		inv_bytes rest, file;
		uint64_t axes[2];
		inv_onnx_value v;
		inv_onnx m;

		assert_int_equal(inv_onnx_view_beside(bytes, size, "model", &m), INVAR_OK);
		assert_int_equal(inv_onnx_inputs(&m, listed, &v), 1);
		assert_string_equal(listed, want[i].inputs);
		inv_onnx_axes(&v, axes, 2);
		assert_int_equal(axes[0], want[i].axes[0]);
		assert_int_equal(axes[1], want[i].axes[1]);
		inv_onnx_outputs(&m, listed);
		assert_string_equal(listed, want[i].outputs);
		assert_true(inv_onnx_output(&m, "features", &v));
		assert_false(inv_onnx_output(&m, "hidden", &v));
		for (rest = m.graph; inv_onnx_next_external(&rest, &file); files++)
			assert_true(inv_bytes_are(file, want[i].external));
		assert_int_equal(files, want[i].external != NULL);
		free(bytes);
	}
}

static void hostile_models_are_refused_with_a_reason(void **state)
{
	static const char *const bad[][2] = {
		{"bad-nested", "model: its graphs are nested more than 16 deep"},
		{"bad-external", "model: keeps weights in another file; save it as one file first "
	                     "(onnx.save without save_as_external_data)"},
		{"bad-opset", "model: uses opset 6; convert it to 7 or later first "
	                  "(onnx.version_converter)"},
		{"bad-two-graphs", "model: has more than one graph"},
		{"bad-truncated", "model: is not an ONNX model, or is truncated: a field does not "
	                      "fit in its message"},
		{"bad-group", "model: is not an ONNX model, or is truncated: a field does not fit "
	                  "in its message"},
		{"bad-length", "model: is not an ONNX model, or is truncated: a field does not fit "
	                   "in its message"},
		{"bad-empty", "model: is not an ONNX model: it has no version"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		size_t size;
		unsigned char *bytes = load(bad[i][0], &size);
		inv_onnx m;

		assert_int_not_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
		assert_string_equal(invar_last_error(), bad[i][1]);
		free(bytes);
	}
}

/* A file of 2 GB is refused by its size, before a byte of it is read. */
static void more_than_2_GB_are_refused_unread(void **state)
{
	inv_onnx m;

	(void)state;
	assert_int_equal(inv_onnx_view(NULL, INV_MESSAGE_MAX + 1, "model", &m), INVAR_E_FORMAT);
	assert_string_equal(
		invar_last_error(),
		"model: has 2147483648 bytes, but an ONNX file can have at most 2 GB");
}

static void every_truncation_is_refused_or_a_model(void **state)
{
	size_t size, accepted = 0;
	unsigned char *bytes = load("nested", &size);

	(void)state;
	for (size_t n = 0; n < size; n++) {
		unsigned char *copy = test_malloc(n ? n : 1);
		inv_onnx m;

		memcpy(copy, bytes, n);
		accepted += inv_onnx_view(copy, n, "model", &m) == INVAR_OK;
		test_free(copy);
	}
	assert_true(accepted <= 1); /* only at the end of a field of the model itself */
	free(bytes);
}

static void tensors_that_do_not_exist_are_refused(void **state)
{
	size_t size;
	unsigned char *bytes = load("two-outputs", &size);
	inv_onnx_value v;
	inv_onnx m;

	(void)state;
	assert_int_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
	assert_int_equal(inv_onnx_find(&m, NULL, "model", &v), INVAR_E_USE);
	assert_string_equal(
		invar_last_error(),
		"model: has 2 outputs (features, second); choose one with onto-output");
	assert_int_equal(inv_onnx_find(&m, "third", "model", &v), INVAR_E_USE);
	assert_string_equal(
		invar_last_error(),
		"model: computes no tensor 'third'; its outputs are features, second");
	assert_int_equal(inv_onnx_find(&m, "", "model", &v), INVAR_E_USE);
	assert_int_equal(inv_onnx_find(&m, "x", "model", &v), INVAR_E_USE);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs_and_tensors_inside_are_found),
		cmocka_unit_test(versions_and_metadata_are_read),
		cmocka_unit_test(what_an_encoder_needs_is_found),
		cmocka_unit_test(hostile_models_are_refused_with_a_reason),
		cmocka_unit_test(more_than_2_GB_are_refused_unread),
		cmocka_unit_test(every_truncation_is_refused_or_a_model),
		cmocka_unit_test(tensors_that_do_not_exist_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
