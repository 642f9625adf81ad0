/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_weights.c - claims about weight files: PyTorch's, TorchScript's, and saving.
 *
 * The files in torch/ were made with PyTorch (make_torch.py): element i of a tensor
 * holds (i - 5) / 4, truncated for integers, whatever its layout in the storage.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/weights.h"
#include "support.h"

static inv_weights *open_made(const char *name, const char *key)
{
	inv_weights *w;

	if (inv_weights_open(NULL, test_source("tests/formats/torch/%s", name), key, &w) !=
	    INVAR_OK)
		fail_msg("%s", invar_last_error());
	return w;
}

static void assert_refused(const char *name, const char *key, const char *word)
{
	inv_weights *w;

	assert_int_not_equal(
		inv_weights_open(NULL, test_source("tests/formats/torch/%s", name), key, &w),
		INVAR_OK);
	assert_null(w);
	test_assert_error(word);
}

static float *read_floats(const inv_weights *w, const inv_weight_about *t,
                          invar_status want)
{
	float *out = malloc(t->cells * sizeof *out + 1);

	assert_int_equal(inv_weights_read(w, t, out), want);
	return out;
}

static bool is_float(const char *type)
{
	return strchr(type, 'F') != NULL;
}

static float expected(const char *type, uint64_t i)
{
	double v = ((double)i - 5) / 4;

	v = is_float(type) ? v : trunc(v);
	return (float)(*type == 'U' && v < 0 ? 0 : v);
}

static void assert_ramp(const inv_weights *w, const inv_weight_about *t)
{
	bool other = strcmp(t->type, "BOOL") == 0 || strcmp(t->type, "U16") == 0;
	float *out = read_floats(w, t, other ? INVAR_E_FORMAT : INVAR_OK);

	for (uint64_t i = 0; i < t->cells && !other; i++)
		if (out[i] != expected(t->type, i))
			fail_msg("%s: %s[%d] is %g", w->path, t->name, (int)i, (double)out[i]);
	free(out);
}

static void every_type_and_layout_is_read(void **state)
{
	static const char *const names[] = {"zip.pth", "legacy.pth", "deflated.pth"};
	static const char *const formats[] = {"torch zip", "torch legacy", "torch zip"};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		inv_weights *w = open_made(names[k], NULL);

		assert_string_equal(inv_weights_format_name(w), formats[k]);
		assert_string_equal(inv_weights_key(w), "");
		assert_string_equal(inv_weights_keys(w), "");
		assert_int_equal(inv_weights_count(w), k == 1 ? 19 : 20);
		for (size_t i = 0; i < inv_weights_count(w); i++) {
			const inv_weight_about *t = inv_weights_at(w, i);

			assert_ptr_equal(inv_weights_find(w, t->name), t);
			assert_ramp(w, t);
		}
		assert_string_equal(inv_weights_find(w, "num_batches_tracked")->type, "I64");
		assert_int_equal(inv_weights_find(w, "num_batches_tracked")->ndim, 0);
		assert_int_equal(inv_weights_find(w, "last")->shape[3], 2);
		assert_int_equal(inv_weights_find(w, "empty")->cells, 0);
		assert_null(inv_weights_find(w, "not a tensor"));
		inv_weights_close(w);
	}
}

/* A tensor that is stored uncompressed costs no memory. */
static void stored_tensors_stay_in_the_mapped_file(void **state)
{
	inv_weights *w = open_made("zip.pth", NULL);

	(void)state;
	for (size_t i = 0; i < w->count; i++) {
		assert_true(w->list[i].data >= w->map.data);
		assert_true(w->list[i].data <= w->map.data + w->map.size);
	}
	assert_ptr_equal(
		((const inv_weight *)(const void *)inv_weights_find(w, "tied.a"))->data,
		((const inv_weight *)(const void *)inv_weights_find(w, "tied.b"))->data);
	inv_weights_close(w);
}

static void the_teacher_is_picked_unless_a_key_is_given(void **state)
{
	inv_weights *w = open_made("nested.pth", NULL);

	(void)state;
	assert_string_equal(inv_weights_key(w), "teacher");
	assert_string_equal(inv_weights_keys(w), "student|teacher|optimizer");
	assert_string_equal(inv_weights_at(w, 0)->name, "backbone.b");
	assert_string_equal(inv_weights_at(w, 1)->name, "backbone.w");
	inv_weights_close(w);
	w = open_made("nested.pth", "student");
	assert_string_equal(inv_weights_key(w), "student");
	assert_string_equal(inv_weights_at(w, 1)->name, "module.backbone.w");
	inv_weights_close(w);
	w = open_made("nested.pth", "optimizer");
	assert_string_equal(inv_weights_at(w, 0)->name, "state.0.exp_avg");
	inv_weights_close(w);
	assert_refused("nested.pth", "epoch", "'epoch'; it has student|teacher|optimizer");
	assert_refused("zip.pth", "teacher", "leave out key teacher");
	assert_refused("script.pt", "teacher", "leave out key teacher");
}

static void torchscript_modules_give_names_with_dots(void **state)
{
	inv_weights *w = open_made("script.pt", NULL);

	(void)state;
	assert_string_equal(inv_weights_format_name(w), "torchscript");
	assert_int_equal(inv_weights_count(w), 4);
	assert_string_equal(inv_weights_at(w, 3)->name, "seq.2.weight");
	for (size_t i = 0; i < 4; i++)
		assert_ramp(w, inv_weights_at(w, i));
	inv_weights_close(w);
}

static void what_a_refused_file_wants_is_named(void **state)
{
	(void)state;
	assert_refused("call.pth", NULL, "posix.system");
	assert_refused("module.pth", NULL, "torch.nn.modules.linear.Linear");
	assert_refused("one_tensor.pth", NULL, "expected a dictionary of tensors");
	assert_false(test_exists("/tmp/invar-pwned"));
}

/* ---- Memory and time ---- */

static void names_do_not_double_without_end(void **state)
{
	(void)state;
	assert_refused("doubled.pth", NULL, "key: a|b");
	assert_refused("doubled.pth", "a", "more than");
}

static void a_pickle_cannot_fill_memory(void **state)
{
	enum { BYTES = 16 << 20 };
	static const char opcodes[] = {'}', '(', 'N', '2'};
	char *bytes = malloc(BYTES);
	inv_weights *w;

	(void)state;
	for (size_t k = 0; k < sizeof opcodes; k++) {
		memset(bytes, opcodes[k], BYTES);
		memcpy(bytes, "\x80\x02}", 3);
		assert_int_equal(inv_weights_view(bytes, BYTES, "bomb.pth", NULL, &w),
		                 INVAR_E_FORMAT);
		test_assert_error("128 MB");
	}
	free(bytes);
}

/* ---- Damage ---- */

/* Opens and reads everything; true if it was rejected. */
static bool is_refused(const void *bytes, size_t size)
{
	inv_weights *w;
	invar_status st = inv_weights_view(bytes, size, "damaged.pth", NULL, &w);

	if (st != INVAR_OK) {
		assert_null(w);
		test_assert_error("damaged.pth: ");
		return true;
	}
	for (size_t i = 0; i < inv_weights_count(w); i++) {
		const inv_weight_about *t = inv_weights_at(w, i);
		float *out = malloc(t->cells * sizeof *out + 1);

		inv_weights_read(w, t, out);
		free(out);
	}
	inv_weights_close(w);
	return false;
}

/* The copy has exactly its size, so that the sanitizer guards its end. */
static void cut(const unsigned char *bytes, size_t size, size_t places)
{
	for (size_t k = 0; k < places; k++) {
		size_t left = size * k / places;
		unsigned char *copy = malloc(left ? left : 1);

		memcpy(copy, bytes, left);
		if (!is_refused(copy, left))
			fail_msg("cut to %zu of %zu bytes it was accepted", left, size);
		free(copy);
	}
}

static size_t flip(unsigned char *bytes, size_t size, size_t places)
{
	size_t refused = 0;

	for (size_t k = 0; k < places; k++) {
		size_t bit = (size_t)((double)size * 8 * (double)k / (double)places);

		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		refused += is_refused(bytes, size);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	return refused;
}

static void damaged_files_are_refused_or_harmless(void **state)
{
	static const char *const names[] = {"zip.pth", "legacy.pth", "deflated.pth",
	                                    "nested.pth", "script.pt"};

	(void)state;
	for (size_t k = 0; k < 5; k++) {
		size_t size;
		unsigned char *bytes =
			test_read(test_source("tests/formats/torch/%s", names[k]), &size);

		cut(bytes, size, size);
		assert_true(flip(bytes, size, size * 8 / 11) > size / 20); /* each bit in turn */
		free(bytes);
	}
}

static void a_real_checkpoint_survives_damage(void **state)
{
	static const char *const names[] = {"dino_vit.pth", "dino_vit_legacy.pth",
	                                    "clip_w64_jit.pt"};

	(void)state;
	test_need_shared("golden/encoders/dino_vit.pth");
	for (size_t k = 0; k < 3; k++) {
		size_t size;
		unsigned char *bytes =
			test_read(test_shared("golden/encoders/%s", names[k]), &size);

		cut(bytes, size, 100);
		flip(bytes, size, 1000);
		free(bytes);
	}
}

static void nan_is_refused_when_read(void **state)
{
	static const uint32_t nan_bits = 0x7fc00000;
	const inv_weight_about *t;
	inv_weights *w;
	unsigned char *bytes;
	float out[16];
	size_t size, at;

	(void)state;
	bytes = test_read(test_source("tests/formats/torch/legacy.pth"), &size);
	assert_int_equal(inv_weights_view(bytes, size, "nan.pth", NULL, &w), INVAR_OK);
	t = inv_weights_find(w, "tied.a");
	at = (size_t)(((const inv_weight *)(const void *)t)->data - bytes);
	memcpy(bytes + at + 8, &nan_bits, 4);
	assert_int_equal(inv_weights_read(w, t, out), INVAR_E_NUMERIC);
	test_assert_error("tensor 'tied.a': element 2 is not a finite number");
	inv_weights_close(w);
	free(bytes);
}

/* ---- What the older layout says of a storage ---- */

/* Offsets in the pickle of legacy.pth after the class of the tensor f64's storage. */
enum { ELEMENTS = 26, VIEW = 27, OFFSET = 33, ROWS = 35, ROW_STRIDE = 42 };

/* The file, and the offset after a text in it. */
static unsigned char *read_legacy(const char *text, size_t *size, size_t *at)
{
	unsigned char *bytes = test_read(test_source("tests/formats/torch/legacy.pth"), size);
	size_t length = strlen(text);

	for (*at = 0; memcmp(bytes + *at, text, length) != 0;)
		assert_true(++*at + length < *size);
	*at += length;
	return bytes;
}

static void assert_legacy_refused(const char *text, size_t from, unsigned char value,
                                  size_t also, const char *sentence)
{
	size_t size, at;
	unsigned char *bytes = read_legacy(text, &size, &at);
	inv_weights *w;

	bytes[at + from] = value;
	if (also)
		bytes[at + also] = 0;
	assert_int_equal(inv_weights_view(bytes, size, "legacy.pth", NULL, &w), INVAR_E_FORMAT);
	test_assert_error(sentence);
	free(bytes);
}

static void storages_and_byte_order_are_checked(void **state)
{
	static const char class[] = "torch\nDoubleStorage\n";

	(void)state;
	assert_legacy_refused("little_endian", 2, 0x89, 0, "does not say that it is little");
	assert_legacy_refused(class, ELEMENTS, 7, 0,
	                      "has 6 elements, but 7 according to the pickle");
	assert_legacy_refused(class, OFFSET, 1, 0, "a tensor leaves its storage");
	assert_legacy_refused(class, ROW_STRIDE, 4, 0, "a tensor leaves its storage");
	assert_legacy_refused(class, ROWS, 3, ROW_STRIDE, "more elements than its storage");
}

/* Very old files: a storage that is elements 1 to 4 of another. */
static void a_view_of_a_storage_begins_where_it_says(void **state)
{
	static const unsigned char view[] = {'X', 1, 0, 0, 0, 'v', 'K', 1, 'K', 4, 0x87};
	size_t size, at, more = sizeof view - 1;
	unsigned char *bytes = read_legacy("torch\nDoubleStorage\n", &size, &at), *longer;
	inv_weights *whole = open_made("legacy.pth", NULL), *w;
	float *all = read_floats(whole, inv_weights_find(whole, "f64"), INVAR_OK), *part;

	(void)state;
	assert_non_null(longer = malloc(size + more));
	bytes[at + ROWS] = 1;
	memcpy(longer, bytes, at + VIEW);
	memcpy(longer + at + VIEW, view, sizeof view);
	memcpy(longer + at + VIEW + sizeof view, bytes + at + VIEW + 1, size - at - VIEW - 1);
	assert_int_equal(inv_weights_view(longer, size + more, "view.pth", NULL, &w), INVAR_OK);
	part = read_floats(w, inv_weights_find(w, "f64"), INVAR_OK);
	assert_memory_equal(part, all + 1, 3 * sizeof *part);
	inv_weights_close(w);
	inv_weights_close(whole);
	free(part);
	free(all);
	free(longer);
	free(bytes);
}

static void a_flipped_weight_is_seen_by_its_crc(void **state)
{
	inv_weights *w;
	size_t size, at;
	unsigned char *bytes = test_read(test_source("tests/formats/torch/zip.pth"), &size);

	(void)state;
	assert_int_equal(inv_weights_view(bytes, size, "zip.pth", NULL, &w), INVAR_OK);
	at = (size_t)(((const inv_weight *)(const void *)inv_weights_find(w, "f64"))->data -
	              bytes);
	inv_weights_close(w);
	bytes[at] ^= 1;
	assert_int_equal(inv_weights_view(bytes, size, "zip.pth", NULL, &w), INVAR_E_FORMAT);
	test_assert_error("its CRC-32 differs from the directory");
	free(bytes);
}

/* ---- Saving ---- */

static void assert_same(const inv_weights *a, const inv_weights *b)
{
	assert_int_equal(inv_weights_count(a), inv_weights_count(b));
	for (size_t i = 0; i < inv_weights_count(a); i++) {
		const inv_weight_about *s = inv_weights_at(a, i), *t = inv_weights_at(b, i);

		assert_string_equal(s->name, t->name);
		assert_string_equal(s->type, t->type);
		assert_int_equal(s->ndim, t->ndim);
		assert_memory_equal(s->shape, t->shape, s->ndim * sizeof *s->shape);
		assert_ramp(b, t);
	}
}

static void assert_equal_files(const char *a, const char *b)
{
	size_t m, n;
	void *x = test_read(a, &m), *y = test_read(b, &n);

	assert_int_equal(m, n);
	assert_memory_equal(x, y, m);
	free(x);
	free(y);
}

static void a_saved_file_holds_the_same(void **state)
{
	static const char *const names[] = {"zip.pth", "legacy.pth", "deflated.pth",
	                                    "nested.pth", "script.pt"};

	(void)state;
	for (size_t k = 0; k < 5; k++) {
		inv_weights *w = open_made(names[k], NULL), *back;

		assert_int_equal(inv_weights_save(w, test_path("a.safetensors")), INVAR_OK);
		assert_int_equal(inv_weights_open(NULL, test_path("a.safetensors"), NULL, &back),
		                 INVAR_OK);
		assert_string_equal(inv_weights_format_name(back), "safetensors");
		assert_same(w, back);
		assert_int_equal(inv_weights_save(back, test_path("b.safetensors")), INVAR_OK);
		assert_equal_files(test_path("a.safetensors"), test_path("b.safetensors"));
		inv_weights_close(back);
		inv_weights_close(w);
	}
}

static void a_missing_folder_is_told_when_saving(void **state)
{
	inv_weights *w = open_made("zip.pth", NULL);

	(void)state;
	assert_int_equal(inv_weights_save(w, test_path("no/such/a.safetensors")), INVAR_E_IO);
	inv_weights_close(w);
}

/* ---- The shared set ---- */

static bool is_weights(const char *name)
{
	return strstr(name, ".pth") || strstr(name, ".pt") || strstr(name, ".safetensors");
}

static void every_shared_encoder_is_read(void **state)
{
	DIR *d = opendir(test_need_shared("golden/encoders"));
	size_t count = 0;

	(void)state;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		inv_weights *w;

		if (!is_weights(e->d_name))
			continue;
		if (inv_weights_open(NULL, test_shared("golden/encoders/%s", e->d_name), NULL,
		                     &w) != INVAR_OK)
			fail_msg("%s", invar_last_error());
		assert_true(inv_weights_count(w) > 20);
		for (size_t i = 0; i < inv_weights_count(w); i++)
			free(read_floats(w, inv_weights_at(w, i), INVAR_OK));
		inv_weights_close(w);
		count++;
	}
	closedir(d);
	assert_true(count >= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_and_layout_is_read),
		cmocka_unit_test(stored_tensors_stay_in_the_mapped_file),
		cmocka_unit_test(the_teacher_is_picked_unless_a_key_is_given),
		cmocka_unit_test(torchscript_modules_give_names_with_dots),
		cmocka_unit_test(what_a_refused_file_wants_is_named),
		cmocka_unit_test(names_do_not_double_without_end),
		cmocka_unit_test(a_pickle_cannot_fill_memory),
		cmocka_unit_test(damaged_files_are_refused_or_harmless),
		cmocka_unit_test(a_real_checkpoint_survives_damage),
		cmocka_unit_test(nan_is_refused_when_read),
		cmocka_unit_test(storages_and_byte_order_are_checked),
		cmocka_unit_test(a_view_of_a_storage_begins_where_it_says),
		cmocka_unit_test(a_flipped_weight_is_seen_by_its_crc),
		cmocka_unit_test(a_saved_file_holds_the_same),
		cmocka_unit_test(a_missing_folder_is_told_when_saving),
		cmocka_unit_test(every_shared_encoder_is_read),
	};

	return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
