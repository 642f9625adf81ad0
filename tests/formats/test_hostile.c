/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hostile.c - every hostile array, tensor, checkpoint and image behaves as its list
 * says.
 *
 * The files are in $INVAR_SHARED/golden/hostile; without them the test is
 * skipped. A hostile call that were executed would create /tmp/invar-pwned.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/pixels.h"
#include "formats/safetensors.h"
#include "formats/weights.h"
#include "support.h"

static bool ends_in(const char *name, const char *end)
{
	size_t a = strlen(name), b = strlen(end);

	return a >= b && strcmp(name + a - b, end) == 0;
}

static invar_status read_npy(const char *path)
{
	float *out;
	inv_npy *a;
	invar_status st = inv_npy_open(path, &a);

	if (st != INVAR_OK)
		return st;
	out = malloc(a->h.cells * sizeof *out + 1);
	st = inv_npy_read(a, 0, a->h.cells, out);
	free(out);
	inv_npy_close(a);
	return st;
}

static invar_status read_safetensors(const char *path)
{
	inv_safetensors *f;
	invar_status st = inv_safetensors_open(path, &f);

	for (size_t i = 0; st == INVAR_OK && i < inv_safetensors_count(f); i++) {
		const inv_tensor *t = inv_safetensors_at(f, i);
		float *out = malloc(t->cells * sizeof *out + 1);

		st = inv_safetensors_read(f, t, out);
		free(out);
	}
	inv_safetensors_close(f);
	return st;
}

typedef invar_status decode_fn(const void *bytes, uint64_t size, const char *name,
                               inv_image *out);

static invar_status read_image(const char *path, decode_fn *decode)
{
	inv_image image = {0};
	inv_map map;
	invar_status st = inv_map_open(path, &map);

	if (st == INVAR_OK)
		st = decode(map.data, map.size, path, &image);
	inv_map_close(&map);
	inv_image_clear(&image);
	return st;
}

static invar_status read_png(const char *path)
{
	return read_image(path, inv_png_decode);
}

static invar_status read_jpeg(const char *path)
{
	return read_image(path, inv_jpeg_decode);
}

static invar_status read_idx(const char *path)
{
	inv_idx *x;
	invar_status st = inv_idx_open(path, &x);

	inv_idx_close(x);
	return st;
}

static invar_status read_weights(const char *path)
{
	inv_weights *w;
	invar_status st = inv_weights_open(NULL, path, NULL, &w);

	for (size_t i = 0; st == INVAR_OK && i < inv_weights_count(w); i++) {
		const inv_weight_about *t = inv_weights_at(w, i);
		float *out = malloc(t->cells * sizeof *out + 1);

		st = inv_weights_read(w, t, out);
		free(out);
	}
	inv_weights_close(w);
	return st;
}

static const struct reader {
	const char *ending;
	invar_status (*read)(const char *path);
} readers[] = {
	{".npy", read_npy},       {".safetensors", read_safetensors},
	{".png", read_png},       {".jpg", read_jpeg},
	{".idx", read_idx},       {".gz", read_idx},
	{"idx1-ubyte", read_idx}, {"idx3-ubyte", read_idx},
	{".pth", read_weights},
};

/* Faults of a pair of files are tested where pairs are read. */
static const struct reader *reader_of(const char *name)
{
	if (strcmp(name, "idx_labels_more.idx") == 0 ||
	    strcmp(name, "idx_rank_1_as_images.idx") == 0)
		return NULL;
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (ends_in(name, readers[i].ending))
			return &readers[i];
	return NULL;
}

static void check(const char *name, const char *expected)
{
	const char *path = test_shared("golden/hostile/%s", name);
	clock_t start = clock();
	invar_status st = reader_of(name)->read(path);

	if (clock() - start > 5 * CLOCKS_PER_SEC) /* of a processor, busy or not */
		fail_msg("%s took more than 5 seconds", name);

	if (strncmp(expected, "accepted", 8) == 0 && st != INVAR_OK)
		fail_msg("not accepted: %s", invar_last_error());
	if (strncmp(expected, "refused", 7) == 0 && !strstr(expected, ", or ") &&
	    st == INVAR_OK)
		fail_msg("%s was accepted", name);
	if (st != INVAR_OK)
		test_assert_error(name);
}

static void every_listed_file_behaves_as_listed(void **state)
{
	json_t *list =
		json_load_file(test_need_shared("golden/hostile/manifest.json"), 0, NULL);
	const char *standard, *group;
	json_t *files, *file;
	size_t i, checked = 0;

	(void)state;
	assert_non_null(list);
	standard = json_string_value(json_object_get(list, "default_expected"));
	json_object_foreach (json_object_get(list, "groups"), group, files) {
		json_array_foreach (files, i, file) {
			const char *name = json_string_value(json_object_get(file, "name"));
			const char *expected = json_string_value(json_object_get(file, "expected"));

			if (!reader_of(name))
				continue;
			check(name, expected ? expected : standard);
			checked++;
		}
	}
	json_decref(list);
	assert_true(checked > 270);
}

/* The peak of all readers together, including the program. */
static void little_memory_was_taken(void **state)
{
	struct rusage usage;

	(void)state;
	getrusage(RUSAGE_SELF, &usage);
	assert_true(usage.ru_maxrss < 200 * 1024);
}

static void nothing_was_executed(void **state)
{
	(void)state;
	assert_false(test_exists("/tmp/invar-pwned"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_listed_file_behaves_as_listed),
		cmocka_unit_test(little_memory_was_taken),
		cmocka_unit_test(nothing_was_executed),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
