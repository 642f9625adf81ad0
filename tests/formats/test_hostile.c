/*
 * test_hostile.c - every hostile npy and safetensors file behaves as its list says.
 *
 * The files stand under $INVAR_SHARED/golden/hostile; without them the test is
 * skipped. A hostile call that took effect would create /tmp/invar-pwned.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "formats/safetensors.h"
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

static void check(const char *name, const char *expected)
{
	const char *path = test_shared("golden/hostile/%s", name);
	invar_status st = ends_in(name, ".npy") ? read_npy(path) : read_safetensors(path);

	if (strncmp(expected, "accepted", 8) == 0 && st != INVAR_OK)
		fail_msg("not accepted: %s", invar_last_error());
	if (strncmp(expected, "refused", 7) == 0 && st == INVAR_OK)
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

			if (!ends_in(name, ".npy") && !ends_in(name, ".safetensors"))
				continue;
			check(name, expected ? expected : standard);
			checked++;
		}
	}
	json_decref(list);
	assert_true(checked > 50);
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
		cmocka_unit_test(nothing_was_executed),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
