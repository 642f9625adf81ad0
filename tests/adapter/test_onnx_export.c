/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_onnx_export.c - the ONNX files that are written, parsed and computed step by step.
 * What the onnx package and ONNX Runtime make of them: tests/parity/onnx.py.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "base/rng.h"
#include "formats/dtype.h"
#include "formats/onnx.h"

enum { D = 4, H = 6, ROWS = 3, TENSORS = 32, NAME = 64 };

/* ---- A small interpreter ---------------------------------------------------------- */

typedef struct tensor {
	char name[NAME];
	size_t rows, columns;
	float data[D * H + ROWS * H];
} tensor;

static tensor tensors[TENSORS];
static size_t known;

static tensor *add_tensor(inv_bytes name, size_t rows, size_t columns)
{
	tensor *t = &tensors[known++];

	assert_true(known <= TENSORS && name.size < NAME);
	memset(t, 0, sizeof *t);
	memcpy(t->name, name.data, name.size);
	t->rows = rows;
	t->columns = columns;
	return t;
}

static const tensor *find_tensor(inv_bytes name)
{
	for (size_t i = 0; i < known; i++)
		if (inv_bytes_are(name, tensors[i].name))
			return &tensors[i];
	fail_msg("no tensor %.*s", (int)name.size, name.data);
	return NULL;
}

static void read_tensor(inv_bytes rest, const inv_bytes *as)
{
	uint64_t dim[2] = {1, 1}, type = 0;
	inv_bytes name = {0}, raw = {0};
	unsigned ndim = 0;
	inv_field f;
	tensor *t;

	while (inv_field_next(&rest, &f) == INV_FIELD) {
		if (f.number == ONNX_TENSOR_DIM)
			dim[ndim++] = f.value;
		if (f.number == ONNX_TENSOR_TYPE)
			type = f.value;
		if (f.number == ONNX_TENSOR_NAME)
			name = f.part;
		if (f.number == ONNX_TENSOR_RAW)
			raw = f.part;
	}
	t = add_tensor(as ? *as : name, ndim == 1 ? 1 : dim[0], ndim == 1 ? dim[0] : dim[1]);
	assert_int_equal(raw.size, dim[0] * dim[1] * (type == ONNX_FLOAT ? 4 : 2));
	inv_widen(type == ONNX_FLOAT ? INV_F32 : INV_F16, false, raw.data, dim[0] * dim[1],
	          t->data);
}

static void compute(const char *operator, const tensor * a, const tensor *b, inv_bytes name)
{
	bool product = strcmp(operator, "MatMul") == 0;
	tensor *out = add_tensor(name, a->rows, product ? b->columns : a->columns);

	for (size_t i = 0; i < out->rows; i++)
		for (size_t j = 0; j < out->columns; j++) {
			float *y = &out->data[i * out->columns + j];

			*y = a->data[i * a->columns + j % a->columns];
			if (strcmp(operator, "Relu") == 0)
				*y = *y > 0 ? *y : 0;
			else if (strcmp(operator, "Abs") == 0)
				*y = fabsf(*y);
			else if (strcmp(operator, "Sqrt") == 0)
				*y = sqrtf(*y);
			else if (strcmp(operator, "Mul") == 0)
				*y *= b->data[i * b->columns + j];
			else if (strcmp(operator, "Div") == 0)
				*y /= b->data[i]; /* a column of norms */
			else if (strcmp(operator, "Add") == 0)
				*y += b->data[(b->rows == 1 ? 0 : i) * b->columns + j];
			else if (!product && strcmp(operator, "Flatten") != 0) /* of [n, d] */
				assert_string_equal(operator, "Cast");
			for (size_t k = 0; product && k < a->columns; k++)
				*y = (k ? *y : 0) +
				     a->data[i * a->columns + k] * b->data[k * b->columns + j];
		}
}

static void run_node(inv_bytes rest)
{
	inv_bytes input[2] = {{0}}, output = {0}, attribute, value = {0};
	char operator[16] = "";
	size_t inputs = 0;
	inv_field f, g;

	while (inv_field_next(&rest, &f) == INV_FIELD) {
		if (f.number == ONNX_NODE_INPUT)
			input[inputs++] = f.part;
		if (f.number == ONNX_NODE_OUTPUT)
			output = f.part;
		if (f.number == ONNX_NODE_OPERATOR)
			memcpy(operator, f.part.data, f.part.size < 15 ? f.part.size : 15);
		if (f.number == ONNX_NODE_ATTRIBUTE)
			for (attribute = f.part; inv_field_next(&attribute, &g) == INV_FIELD;)
				if (g.number == ONNX_ATTRIBUTE_TENSOR)
					value = g.part;
	}
	if (value.data)
		read_tensor(value, &output);
	else
		compute(operator, find_tensor(input[0]), inputs == 2 ? find_tensor(input[1]) : NULL,
		        output);
}

/* All initializers, then all nodes in their order; only ours with `from` > 0. */
static void run_graph(inv_bytes graph, size_t from)
{
	inv_bytes rest = {graph.data + from, graph.size - from};
	inv_field f;

	while (inv_field_next(&rest, &f) == INV_FIELD)
		if (f.number == ONNX_GRAPH_INITIALIZER)
			read_tensor(f.part, NULL);
	rest = (inv_bytes){graph.data + from, graph.size - from};
	while (inv_field_next(&rest, &f) == INV_FIELD)
		if (f.number == ONNX_GRAPH_NODE)
			run_node(f.part);
}

/* ---- Claims ----------------------------------------------------------------------- */

static float z[ROWS * D];

static invar_adapter *make(int form)
{
	inv_stream s = inv_stream_of(3, "onnx", 0);
	float W0[H * D], b0[H], W2[D * H], b2[D];
	invar_adapter *e;

	inv_fill_normal(&s, 0, W0, H * D);
	inv_fill_normal(&s, 1, b0, H);
	inv_fill_normal(&s, 2, W2, D * H);
	inv_fill_normal(&s, 3, b2, D);
	inv_fill_normal(&s, 4, z, ROWS * D);
	assert_int_equal(invar_adapter_new(test_ctx, D, H, D, form, W0, b0, W2, b2, &e),
	                 INVAR_OK);
	return e;
}

static void check_codes(const invar_adapter *e, const char *output, double tolerance)
{
	const tensor *codes =
		find_tensor((inv_bytes){(const unsigned char *)output, strlen(output)});
	float want[ROWS * D];

	assert_int_equal(invar_adapter_apply(e, z, ROWS, want), INVAR_OK);
	for (size_t i = 0; i < ROWS * D; i++)
		assert_true(fabs(codes->data[i] - want[i]) <= tolerance);
}

static void give_features(const char *name)
{
	known = 0;
	memcpy(
		add_tensor((inv_bytes){(const unsigned char *)name, strlen(name)}, ROWS, D)->data,
		z, sizeof z);
}

static void a_model_computes_what_the_adapter_does(void **state)
{
	static const char *const dtypes[] = {"float32", "float16"};

	(void)state;
	for (int i = 0; i < 8; i++) {
		invar_adapter *e = make(i % 4); /* residual, unit, both or none */
		const char *path = test_path("%d.onnx", i);
		invar_options *o = test_options("export", "dtype", dtypes[i / 4], NULL);
		size_t size, again;
		unsigned char *bytes, *second;
		inv_onnx m;

		assert_int_equal(invar_adapter_export(e, NULL, o, path), INVAR_OK);
		bytes = test_read(path, &size);
		assert_int_equal(inv_onnx_view(bytes, size, "model", &m), INVAR_OK);
		assert_int_equal(m.opset, 17);
		assert_true(inv_onnx_has_key(&m, "invar.residual"));
		assert_int_equal(inv_onnx_has_key(&m, "invar.unit"), i / 2 % 2);
		memset(z, 0, i / 2 % 2 * D * sizeof *z); /* unit(0) = 0 */
		give_features("features");
		run_graph(m.graph, 0);
		check_codes(e, "codes", i < 4 ? 1e-5 : 2e-2);
		assert_int_equal(invar_adapter_export(e, NULL, o, path), INVAR_OK);
		second = test_read(path, &again);
		assert_int_equal(again, size);
		assert_memory_equal(second, bytes, size);
		free(bytes);
		free(second);
		invar_options_free(o);
		invar_adapter_close(e);
	}
}

/* Every good file of the corpus: its graph is a prefix of the new one. */
static void a_foreign_model_stays_as_it_is_and_gets_an_output(void **state)
{
	static const char *const files[][2] = {
		{"plain", "invar/codes"},       {"half", "invar/codes"},
		{"patches", "invar/codes"},     {"no-shape", "invar/codes"},
		{"old", "invar/codes"},         {"nested", "invar/codes"},
		{"two-outputs", "invar/codes"}, {"named", "invar1/codes"},
		{"metadata", "invar/codes"}};
	enum { FILES = sizeof files / sizeof *files };

	(void)state;
	for (size_t k = 0; k < 2 * FILES; k++) {
		size_t i = k % FILES;
		invar_adapter *e = make(INVAR_RESIDUAL | (k < FILES ? 0 : INVAR_UNIT));
		bool named = strcmp(files[i][0], "named") == 0;
		const char *features = named ? "invar/codes" : "features";
		char onto[512], path[512];
		invar_options *o;
		size_t old, size;
		unsigned char *before, *after;
		inv_onnx m, n;

		snprintf(onto, sizeof onto, "%s", test_source("fuzz/corpus/onnx/%s", files[i][0]));
		snprintf(path, sizeof path, "%s", test_path("onto.onnx"));
		o = test_options("export", "onto", onto, "onto-output", features, NULL);
		assert_int_equal(invar_adapter_export(e, NULL, o, path), INVAR_OK);
		before = test_read(onto, &old);
		after = test_read(path, &size);
		assert_int_equal(inv_onnx_view(before, old, "before", &m), INVAR_OK);
		assert_int_equal(inv_onnx_view(after, size, "after", &n), INVAR_OK);
		assert_memory_equal(n.graph.data, m.graph.data, m.graph.size);
		give_features(features);
		run_graph(n.graph, m.graph.size);
		check_codes(e, files[i][1], 1e-5);
		free(before);
		free(after);
		invar_options_free(o);
		invar_adapter_close(e);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{"bad-width", "'features' has width 5, but the adapter takes features of width 4; "
	                  "choose another tensor with onto-output"},
		{"bad-rank", "'features' has 1 dimensions, but features have at least 2"},
		{"bad-type", "'features' does not have floating point numbers"},
	};
	invar_adapter *e = make(false);
	invar_options *o;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o = test_options("export", "onto", test_source("fuzz/corpus/onnx/%s", bad[i][0]),
		                 NULL);
		assert_int_equal(invar_adapter_export(e, NULL, o, test_path("bad.onnx")),
		                 INVAR_E_MISMATCH);
		assert_non_null(strstr(invar_last_error(), bad[i][1]));
		assert_false(test_exists(test_path("bad.onnx")));
		invar_options_free(o);
	}
	o = test_options("export", "onto-output", "features", NULL);
	assert_int_equal(invar_adapter_export(e, NULL, o, test_path("bad.onnx")), INVAR_E_USE);
	invar_options_free(o);
	invar_adapter_close(e);
}

static void numbers_too_large_for_float16_are_refused(void **state)
{
	const float W[D * D] = {70000}, b[D] = {0};
	invar_options *o = test_options("export", "dtype", "float16", NULL);
	invar_adapter *e;

	(void)state;
	assert_int_equal(invar_adapter_new(test_ctx, D, D, D, 0, W, b, W, b, &e), INVAR_OK);
	assert_int_equal(invar_adapter_export(e, NULL, o, test_path("large.onnx")),
	                 INVAR_E_NUMERIC);
	assert_string_equal(invar_last_error(), "adapter: a number of 0.weight is 70000, too "
	                                        "large for float16; use dtype float32");
	invar_adapter_close(e);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_computes_what_the_adapter_does),
		cmocka_unit_test(a_foreign_model_stays_as_it_is_and_gets_an_output),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(numbers_too_large_for_float16_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
