/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_augment.c - Kornia's stored cases through the program, as a user types it.
 *
 *     golden_augment INVAR SHARED
 *
 * Each case: the SPEC of its parameters, the input as a NumPy file, --params, and the
 * output within the manifest's tolerance; then the parameters that --params-out wrote give
 * the same bytes again. Exit 77 if the cases are absent.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../images/augment/golden_spec.h"
#include "formats/npy.h"
#include "invar.h"

static invar_context *ctx;
static const char *program, *folder;
static char work[] = "/tmp/invar-golden-XXXXXX";

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static float *load(const char *path, uint64_t shape[4])
{
	invar_array *a;
	float *out;

	if (invar_array_open(ctx, path, &a) != INVAR_OK)
		die(path, invar_last_error());
	memcpy(shape, a->h.shape, 4 * sizeof *shape);
	out = malloc(a->h.cells * sizeof *out);
	if (invar_array_read(a, 0, a->h.cells, out) != INVAR_OK)
		die(path, invar_last_error());
	invar_array_close(a);
	return out;
}

static size_t cells(const uint64_t shape[4])
{
	return shape[0] * shape[1] * shape[2] * shape[3];
}

/* Some inputs hold one image for five. */
static void write_input(const json_t *item)
{
	uint64_t shape[4], repeat;
	char path[700];
	float *x, *all;

	snprintf(path, sizeof path, "%s/%s", folder,
	         json_string_value(json_object_get(item, "input")));
	x = load(path, shape);
	repeat = (uint64_t)json_integer_value(json_object_get(item, "input_repeat_batch"));
	all = malloc(cells(shape) * repeat * sizeof *all);
	for (uint64_t i = 0; i < repeat; i++)
		memcpy(all + i * cells(shape), x, cells(shape) * sizeof *x);
	shape[0] *= repeat;
	snprintf(path, sizeof path, "%s/in.npy", work);
	if (invar_array_write(ctx, path, all, 4, shape, INVAR_FLOAT32) != INVAR_OK)
		die(path, invar_last_error());
	free(x);
	free(all);
}

static float *run(const char *spec, const char *params, const char *more, uint64_t shape[4])
{
	char line[3000], path[100];

	snprintf(line, sizeof line,
	         "'%s' augment '%s' %s/in.npy -o %s/out.npy -q --params '%s' %s", program, spec,
	         work, work, params, more);
	if (system(line) != 0)
		die(line, "failed");
	snprintf(path, sizeof path, "%s/out.npy", work);
	return load(path, shape);
}

static void check(const json_t *item)
{
	const char *name = json_string_value(json_object_get(item, "name"));
	char path[700], params[700], spec[400], more[100];
	uint64_t shape[4], want_shape[4], again_shape[4];
	float *want, *got, *again;
	double worst = 0;
	json_t *json;

	snprintf(params, sizeof params, "%s/%s", folder,
	         json_string_value(json_object_get(item, "params")));
	snprintf(path, sizeof path, "%s/%s", folder,
	         json_string_value(json_object_get(item, "output")));
	json = json_load_file(params, 0, NULL);
	golden_spec(json, spec, sizeof spec);
	json_decref(json);
	write_input(item);
	snprintf(more, sizeof more, "--params-out %s/drawn.json", work);
	got = run(spec, params, more, shape);
	want = load(path, want_shape);
	if (memcmp(shape, want_shape, sizeof shape) != 0)
		die(name, "has another shape");
	for (size_t i = 0; i < cells(shape); i++)
		worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
	printf("%s: %.2g\n", name, worst);
	if (!(worst <= json_number_value(json_object_get(item, "tolerance_abs"))))
		die(name, "differs");
	snprintf(params, sizeof params, "%s/drawn.json", work);
	again = run(spec, params, "", again_shape);
	if (memcmp(got, again, cells(shape) * sizeof *got) != 0)
		die(name, "is not repeated by its own parameters");
	free(got);
	free(want);
	free(again);
}

int main(int argc, char **argv)
{
	char path[600], clean[100];
	json_t *manifest, *item;
	size_t i;

	if (argc != 3 || !mkdtemp(work) || invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	program = argv[1];
	snprintf(path, sizeof path, "%s/golden/augment",
	         getenv("INVAR_SHARED") ? getenv("INVAR_SHARED") : argv[2]);
	folder = strdup(path);
	strcat(path, "/manifest.json");
	if (!(manifest = json_load_file(path, 0, NULL))) {
		printf("skipped: there is no %s\n", path);
		rmdir(work);
		return 77;
	}
	json_array_foreach (json_object_get(manifest, "cases"), i, item)
		check(item);
	json_decref(manifest);
	invar_context_free(ctx);
	snprintf(clean, sizeof clean, "rm -r '%s'", work);
	return system(clean) != 0 || i < 27;
}
