/* SPDX-License-Identifier: Apache-2.0 */
/* golden_encoders.c - see golden_encoders.h. */
#include "golden_encoders.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "golden.h"
#include "support.h"

enum { PATH = 2048 };

static float *read_array(const char *folder, const char *file, uint64_t *shape,
                         unsigned ndim)
{
	char path[PATH];
	uint64_t cells = 1;
	inv_npy *a;
	float *out;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	if (inv_npy_open(path, &a) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	if (a->h.ndim != ndim)
		fail_msg("%s: has %u dimensions, not %u", path, a->h.ndim, ndim);
	for (unsigned i = 0; i < ndim; i++)
		cells *= shape[i] = a->h.shape[i];
	out = malloc((size_t)cells * sizeof *out);
	assert_non_null(out);
	if (inv_npy_read(a, 0, cells, out) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	inv_npy_close(a);
	return out;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool wanted(const char *family, const char *const *families)
{
	for (; *families; families++)
		if (strncmp(family, *families, strlen(*families)) == 0)
			return true;
	return false;
}

static void run_case(const char *folder, const json_t *entry, const json_t *arch,
                     golden_encoder_fn *fn, void *user)
{
	char path[PATH];
	uint64_t out[2];
	golden_encoder c = {
		.name = text_of(entry, "name"),
		.family = text_of(arch, "family"),
		.weights = path,
		.heads = (uint64_t)json_integer_value(json_object_get(arch, "heads")),
		.tolerance = json_number_value(json_object_get(entry, "tolerance_abs"))};

	if (strncmp(text_of(entry, "key_prefix"), "student", strlen("student")) == 0)
		c.key = "student";
	snprintf(path, sizeof path, "%s/%s", folder, text_of(entry, "weights"));
	c.input = read_array(folder, text_of(entry, "input"), c.shape, 4);
	c.expected = read_array(folder, text_of(entry, "expected"), out, 2);
	assert_int_equal(out[0], c.shape[0]);
	c.width = out[1];
	fn(&c, user);
	free(c.input);
	free(c.expected);
}

static unsigned run_folder(const char *folder, const char *const *families,
                           golden_encoder_fn *fn, void *user)
{
	char path[PATH];
	json_error_t error;
	json_t *manifest, *entry;
	const json_t *all;
	unsigned count = 0;
	size_t i;

	snprintf(path, sizeof path, "%s/manifest.json", folder);
	if (!test_exists(path)) {
		print_message("[  SKIPPED ] %s is not there\n", path);
		return 0;
	}
	if (!(manifest = json_load_file(path, 0, &error)))
		fail_msg("%s: %s", path, error.text);
	all = json_object_get(manifest, "architectures");
	json_array_foreach (json_object_get(manifest, "cases"), i, entry) {
		const json_t *arch = json_object_get(all, text_of(entry, "weights"));

		if (wanted(text_of(arch, "family"), families)) {
			run_case(folder, entry, arch, fn, user);
			count++;
		}
	}
	json_decref(manifest);
	return count;
}

unsigned golden_encoders(const char *const *families, golden_encoder_fn *fn, void *user)
{
	static const char *const own[] = {"vit", "transformers"};
	char folder[PATH];
	unsigned count = 0;

	for (size_t i = 0; i < 2; i++) {
		snprintf(folder, sizeof folder, "%s/tests/golden/encoders/%s", golden_source(),
		         own[i]);
		count += run_folder(folder, families, fn, user);
	}
	snprintf(folder, sizeof folder, "%s/golden/encoders", golden_shared());
	return count + run_folder(folder, families, fn, user);
}

invar_encoder *golden_encoder_open(invar_context *ctx, const golden_encoder *c)
{
	invar_encoder *e;

	if (invar_encoder_open(ctx, c->weights,
	                       test_kept("features", "key", c->key, "heads",
	                                 test_text("%u", (unsigned)c->heads), NULL),
	                       &e) != INVAR_OK)
		fail_msg("%s: %s", c->name, invar_last_error());
	return e;
}

double golden_encoder_gap(invar_encoder *e, const golden_encoder *c)
{
	uint64_t width, cells = c->shape[0] * c->width;
	double max = 0;
	float *out;

	if (invar_encoder_width(e, c->shape, &width) != INVAR_OK)
		fail_msg("%s: %s", c->name, invar_last_error());
	assert_int_equal(width, c->width);
	out = malloc((size_t)cells * sizeof *out);
	assert_non_null(out);
	if (invar_encoder_run(e, c->input, c->shape, out) != INVAR_OK)
		fail_msg("%s: %s", c->name, invar_last_error());
	for (uint64_t i = 0; i < cells; i++) {
		double gap = fabs((double)out[i] - c->expected[i]);

		max = gap <= max ? max : gap; /* NaN stays */
	}
	free(out);
	return max;
}
