/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoder.c - encoders by name; pixels are the tensor itself. */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "encoders/encoder.h"
#include "support.h"

static void names_are_found_and_mistyped_ones_refused(void **state)
{
	invar_options *o;
	invar_context *ctx;
	invar_encoder *e;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_encoder_open(ctx, NULL, NULL, &e), INVAR_E_USE);
	test_assert_error("the encoder is missing: give its weights, or encoder pixels");
	assert_int_equal(invar_encoder_open(ctx, NULL, test_pixels(), &e), INVAR_OK);
	assert_string_equal(invar_encoder_name(e), "pixels");
	invar_encoder_close(e);
	invar_encoder_close(NULL);
	o = test_options("features", NULL);
	test_set(o, "encoder", "pixel", NULL);
	assert_int_equal(invar_encoder_open(ctx, NULL, o, &e), INVAR_E_USE);
	assert_null(e);
	test_assert_error("there is no encoder 'pixel'; did you mean pixels?");
	test_set(o, "encoder", "pixels", NULL);
	test_set(o, "key", "teacher", NULL);
	assert_int_equal(invar_encoder_open(ctx, NULL, o, &e), INVAR_E_USE);
	test_assert_error("key teacher: the encoder pixels has no checkpoint");
	test_set(o, "key", NULL, NULL);
	assert_int_equal(invar_encoder_open(ctx, "w.safetensors", o, &e), INVAR_E_USE);
	test_assert_error("takes no weights");
	invar_options_free(o);
	invar_context_free(ctx);
}

static void assert_not_read(const char *weights, const invar_options *o,
                            const char *sentence)
{
	invar_context *ctx;
	invar_encoder *e;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_encoder_open(ctx, weights, o, &e), INVAR_E_USE);
	assert_null(e);
	test_assert_error(sentence);
	invar_context_free(ctx);
}

/* A ResNet has no heads, and basic blocks have no 1x1 stride to move. */
static void options_that_say_nothing_are_refused(void **state)
{
	const char *folder = "tests/golden/encoders/convnets/%s.safetensors";
	const invar_options *heads = test_kept("features", "heads", "2", NULL);
	const invar_options *eps = test_kept("features", "bn-eps", "1e-3", NULL);
	const invar_options *stride = test_kept("features", "stride", "1x1", NULL);

	(void)state;
	assert_not_read(NULL, test_kept("features", "encoder", "pixels", "heads", "2", NULL),
	                "heads does not apply to the encoder pixels; leave it");
	assert_not_read(test_source(folder, "bottleneck"), heads,
	                "heads does not apply to the encoder resnet in ");
	assert_not_read(test_source(folder, "squeeze"), eps, "bn-eps does not apply to");
	assert_not_read(test_source(folder, "cifar"), stride, "stride does not apply to");
	assert_not_read(test_source(folder, "basic"), stride, "has basic blocks");
	assert_not_read(test_source("tests/golden/encoders/vit/dino.safetensors"), eps,
	                "bn-eps does not apply to the encoder vit in ");
}

/* The list that is shown and the table that is searched are the same. */
static void every_encoder_is_listed(void **state)
{
	const char *at = inv_encoder_names();

	(void)state;
	for (size_t i = 0; i < inv_model_count(); i++) {
		size_t length = strlen(inv_model_at(i)->name);

		assert_true(strncmp(at, inv_model_at(i)->name, length) == 0);
		assert_true(at[length] == '|' || !at[length]);
		at += length + (at[length] == '|');
	}
	assert_int_equal(*at, '\0');
}

static bool is_family(const char *name)
{
	for (size_t i = 0; inv_encoder_kind_at(i); i++)
		if (strcmp(inv_encoder_kind_at(i)->family, name) == 0)
			return true;
	return false;
}

static bool has_option(const inv_encoder_kind *kind, const char *name)
{
	for (const invar_option *row = kind->options; row && row->name; row++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

/* A run records them as if they had been set, and uses them when it resumes. */
static void a_family_heeds_what_its_models_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < inv_model_count(); i++) {
		const inv_known_model *m = inv_model_at(i);
		const char *list = m->options;
		char word[INV_WORD];
		size_t k = 0;

		while (strcmp(inv_encoder_kind_at(k)->family, m->family) != 0)
			k++;
		while (inv_next_word(&list, ',', word)) {
			char *value = strchr(word, '=');

			assert_non_null(value);
			*value++ = '\0';
			assert_true(has_option(inv_encoder_kind_at(k), word));
			test_kept("features", word, value, NULL);
		}
	}
}

static void every_name_has_a_family_and_a_normalisation(void **state)
{
	(void)state;
	for (size_t i = 0; i < inv_model_count(); i++) {
		const inv_known_model *m = inv_model_at(i);
		inv_normalisation n;

		assert_true(is_family(m->family));
		assert_non_null(m->about);
		assert_true(strcmp(m->filter, "bicubic") == 0 ||
		            strcmp(m->filter, "bilinear") == 0);
		assert_true(m->resize >= m->side);
		if (m->normalize)
			assert_int_equal(inv_normalisation_parse(m->normalize, &n), INVAR_OK);
		if (m->sha256)
			assert_int_equal(strspn(m->sha256, "0123456789abcdef"), strlen(m->sha256));
	}
}

static void pixels_are_the_tensor(void **state)
{
	enum { N = 2 * INV_GROUP + 3, CELLS = 3 * 2 * 5 };
	uint64_t shape[4] = {N, 3, 2, 5}, wrong[4] = {N, 0, 2, 5},
			 huge[4] = {1, 1u << 31, 4, 1};
	float x[N * CELLS], out[N * CELLS];
	invar_context *ctx;
	invar_encoder *e;
	uint64_t width;

	(void)state;
	for (size_t i = 0; i < N * CELLS; i++)
		x[i] = (float)i - 100;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_encoder_open(ctx, NULL, test_pixels(), &e), INVAR_OK);
	assert_int_equal(invar_encoder_width(e, shape, &width), INVAR_OK);
	assert_int_equal(width, CELLS);
	assert_int_equal(invar_encoder_run(e, x, shape, out), INVAR_OK);
	assert_memory_equal(x, out, sizeof x);
	assert_int_equal(invar_encoder_run(e, x, wrong, out), INVAR_E_USE);
	assert_int_equal(invar_encoder_width(e, huge, &width), INVAR_E_USE);
	invar_encoder_close(e);
	invar_context_free(ctx);
}

/* A checkpoint of the older layout whose tensors all view one storage of 2^14 floats. */
static const char *with_shared_storage(unsigned tensors)
{
	static const char head[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
							   "\x80\2M\xe9\x03.\x80\2}U\x0dlittle_endian\x88s."
							   "\x80\2}ctorch._utils\n_rebuild_tensor_v2\nq\1"
							   "0(U\7storagectorch\nFloatStorage\nU\1"
							   "0U\3cpuM\0\x40tQq\2"
							   "0";
	static const char tail[] = ".\x80\2]U\1"
							   "0a.\0\x40\0\0\0\0\0\0";
	static const float zeros[1 << 14];
	const char *path = test_path("shared.pth");
	FILE *f = fopen(path, "wb");

	fwrite(head, 1, sizeof head - 1, f);
	for (unsigned i = 0; i < tensors; i++) {
		fprintf(f, "U\6t%05uh\1(h\2", i);
		fwrite("K\0M\0\x40\x85K\1\x85\x89NtRs", 1, 14, f);
	}
	fwrite(tail, 1, sizeof tail - 1, f);
	fwrite(zeros, 1, sizeof zeros, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void a_small_file_does_not_become_a_large_network(void **state)
{
	invar_context *ctx;
	invar_encoder *e;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_encoder_open(ctx, with_shared_storage(4096), NULL, &e),
	                 INVAR_E_MISMATCH);
	test_assert_error("do not match any known encoder");
	assert_int_equal(invar_encoder_open(ctx, with_shared_storage(4097), NULL, &e),
	                 INVAR_E_FORMAT);
	test_assert_error("share their storage and would need 256 MB");
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_and_mistyped_ones_refused),
		cmocka_unit_test(options_that_say_nothing_are_refused),
		cmocka_unit_test(every_encoder_is_listed),
		cmocka_unit_test(a_family_heeds_what_its_models_say),
		cmocka_unit_test(every_name_has_a_family_and_a_normalisation),
		cmocka_unit_test(pixels_are_the_tensor),
		cmocka_unit_test(a_small_file_does_not_become_a_large_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
