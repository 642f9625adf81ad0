/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.c - finding, reading and comparing golden cases.
 *
 * The rules of comparison are those of the manifest's conventions:
 *   a scalar:  |v - ref| <= abs + rel |ref|
 *   an array:  max |a - ref| <= abs + rel max |ref|, or element by element
 *              where the tolerance says "elementwise"
 *   a key of the tolerance that names an output overrides the case's own.
 * A NaN is never within a tolerance.
 */
#include "golden.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka needs the four headers above */
#include <cmocka.h>

#include "formats/npy.h"

enum { PATH_SIZE = 4096 };

struct piece {
	struct piece *next;
	double memory[]; /* aligned for every type used here */
};

struct golden {
	char root[PATH_SIZE / 2];
	json_t *manifest, *values;
	const json_t *entry; /* views the manifest */
	const char *folder;  /* views the manifest */
	struct piece *pieces;
};

struct tolerance {
	double rel, abs;
	bool elementwise;
};

const char *golden_source(void)
{
	const char *path = getenv("INVAR_SOURCE");

	return path && *path ? path : ".";
}

const char *golden_shared(void)
{
	static char beside[PATH_SIZE / 4];
	const char *path = getenv("INVAR_SHARED");

	snprintf(beside, sizeof beside, "%s/../shared", golden_source());
	return path && *path ? path : beside;
}

const char *const *golden_roots(void)
{
	static char own[PATH_SIZE / 2], shared[PATH_SIZE / 2], file[PATH_SIZE];
	static const char *roots[3];

	snprintf(own, sizeof own, "%s/tests/golden", golden_source());
	snprintf(shared, sizeof shared, "%s/golden", golden_shared());
	snprintf(file, sizeof file, "%s/manifest.json", shared);
	roots[0] = own;
	roots[1] = access(file, R_OK) == 0 ? shared : NULL;
	return roots;
}

/* Memory that lives as long as the case. */
static void *keep(golden *g, size_t bytes)
{
	struct piece *p = malloc(sizeof *p + (bytes ? bytes : 1));

	if (!p)
		fail_msg("not enough memory for %zu bytes of a golden case", bytes);
	p->next = g->pieces;
	g->pieces = p;
	return p->memory;
}

static json_t *load(const char *path)
{
	json_error_t error;
	json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (!value)
		fail_msg("%s: %s", path, error.text);
	return value;
}

static const json_t *find_case(const json_t *manifest, const char *name)
{
	const json_t *cases = json_object_get(manifest, "cases"), *entry;
	size_t i;

	json_array_foreach (cases, i, entry) {
		const char *found = json_string_value(json_object_get(entry, "name"));

		if (found && strcmp(found, name) == 0)
			return entry;
	}
	return NULL;
}

golden *golden_open(const char *root, const char *case_name)
{
	golden *g = calloc(1, sizeof *g);
	char path[PATH_SIZE];

	if (!g)
		fail_msg("not enough memory for a golden case");
	snprintf(g->root, sizeof g->root, "%s", root);
	snprintf(path, sizeof path, "%s/manifest.json", g->root);
	g->manifest = load(path);
	g->entry = find_case(g->manifest, case_name);
	if (!g->entry)
		fail_msg("%s has no case '%s'", path, case_name);
	g->folder = json_string_value(json_object_get(g->entry, "folder"));
	g->values = load(golden_path(g, "values.json"));
	return g;
}

golden *golden_open_folder(const char *folder)
{
	golden *g = calloc(1, sizeof *g);
	const json_t *value;
	const char *name;
	char full[64];

	if (!g)
		fail_msg("not enough memory for a golden case");
	snprintf(g->root, sizeof g->root, "%s", folder);
	g->folder = ".";
	g->entry = g->manifest = json_pack("{s:{s:f}}", "tolerance", "rel", 1e-4);
	g->values = load(golden_path(g, "values.json"));
	json_object_foreach (json_object_get(g->values, "terms"), name, value) {
		snprintf(full, sizeof full, "term_%s", name);
		json_object_set(g->values, full, (json_t *)(uintptr_t)value);
	}
	return g;
}

const char *const *golden_keep_folders(void)
{
	static char own[PATH_SIZE / 2], shared[PATH_SIZE / 2];
	static const char *folders[3];

	snprintf(own, sizeof own, "%s/tests/golden/losses/keep", golden_source());
	snprintf(shared, sizeof shared, "%s/golden/keep", golden_shared());
	folders[0] = own;
	folders[1] = access(shared, R_OK) == 0 ? shared : NULL;
	if (!folders[1])
		print_message("%s is not there and is skipped\n", shared);
	return folders;
}

void golden_close(golden *g)
{
	if (!g)
		return;
	while (g->pieces) {
		struct piece *next = g->pieces->next;

		free(g->pieces);
		g->pieces = next;
	}
	json_decref(g->values);
	json_decref(g->manifest);
	free(g);
}

const char *golden_path(golden *g, const char *file)
{
	char *path = keep(g, PATH_SIZE);

	snprintf(path, PATH_SIZE, "%s/%s/%s", g->root, g->folder, file);
	return path;
}

/* An input may live in another case's folder: train_mawa starts from mawa's. */
static const char *listed_input(golden *g, const char *file)
{
	const json_t *inputs = json_object_get(g->entry, "inputs"), *input;
	char *path = keep(g, PATH_SIZE);
	size_t i;

	json_array_foreach (inputs, i, input) {
		const char *listed = json_string_value(json_object_get(input, "file"));
		const char *slash = listed ? strrchr(listed, '/') : NULL;

		if (!slash || strcmp(slash + 1, file) != 0)
			continue;
		snprintf(path, PATH_SIZE, "%s/%s", g->root, listed);
		return path;
	}
	return NULL;
}

static inv_npy *open_array(golden *g, const char *name, size_t *shape)
{
	char file[PATH_SIZE / 4];
	const char *path;
	inv_npy *a;

	snprintf(file, sizeof file, "%s.npy", name);
	path = golden_path(g, file);
	if (access(path, R_OK) != 0)
		path = listed_input(g, file);
	if (!path)
		fail_msg("case %s has no array '%s'", g->folder, name);
	if (inv_npy_open(path, &a) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	for (unsigned i = 0; shape && i < GOLDEN_NDIM; i++)
		shape[i] = i < a->h.ndim ? (size_t)a->h.shape[i] : 1;
	return a;
}

const float *golden_f32(golden *g, const char *name, size_t *shape)
{
	inv_npy *a = open_array(g, name, shape);
	float *out = keep(g, (size_t)a->h.cells * sizeof *out);

	if (inv_npy_read(a, 0, a->h.cells, out) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	inv_npy_close(a);
	return out;
}

/* Doubles are read from the file directly: the reader would round to float. */
static double *read_f64(golden *g, const char *name, size_t *shape, size_t *count)
{
	inv_npy *a = open_array(g, name, shape);
	double *out = keep(g, (size_t)a->h.cells * sizeof *out);

	if (a->h.dtype != INV_F64 || a->h.swap || a->h.fortran)
		fail_msg("%s: golden outputs are little-endian float64 in C order", a->path);
	memcpy(out, a->data, (size_t)a->h.cells * sizeof *out);
	*count = (size_t)a->h.cells;
	inv_npy_close(a);
	return out;
}

const double *golden_f64(golden *g, const char *name, size_t *shape)
{
	size_t count;

	return read_f64(g, name, shape, &count);
}

const int64_t *golden_int(golden *g, const char *name, size_t *shape)
{
	inv_npy *a = open_array(g, name, shape);
	int64_t *out = keep(g, (size_t)a->h.cells * sizeof *out);

	if (inv_npy_read_int(a, 0, a->h.cells, out) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	inv_npy_close(a);
	return out;
}

double golden_value(golden *g, const char *name)
{
	const json_t *value = json_object_get(g->values, name);

	if (!json_is_number(value))
		fail_msg("case %s has no value '%s'", g->folder, name);
	return json_number_value(value);
}

static struct tolerance tolerance_of(const golden *g, const char *name)
{
	const json_t *rule = json_object_get(g->entry, "tolerance");
	const json_t *own = json_object_get(rule, name);

	if (json_is_object(own))
		rule = own;
	return (struct tolerance){
		.rel = json_number_value(json_object_get(rule, "rel")),
		.abs = json_number_value(json_object_get(rule, "abs")),
		.elementwise = json_is_true(json_object_get(rule, "elementwise")),
	};
}

static double largest(const double *a, size_t count)
{
	double max = 0;

	for (size_t i = 0; i < count; i++)
		max = fmax(max, fabs(a[i]));
	return max;
}

void golden_check_f64(golden *g, const char *name, const double *got, size_t count)
{
	struct tolerance t = tolerance_of(g, name);
	size_t cells;
	const double *want = read_f64(g, name, NULL, &cells);
	double size = largest(want, cells);

	if (cells != count)
		fail_msg("%s of %s/%s has %zu elements, not %zu", name, g->root, g->folder, cells,
		         count);
	for (size_t i = 0; i < count; i++) {
		double allowed = t.abs + t.rel * (t.elementwise ? fabs(want[i]) : size);

		if (!(fabs(got[i] - want[i]) <= allowed))
			fail_msg("%s[%zu] of %s/%s is %.9g, not %.9g (allowed %.3g)", name, i, g->root,
			         g->folder, got[i], want[i], allowed);
	}
}

void golden_check(golden *g, const char *name, const float *got, size_t count)
{
	double *wide = keep(g, count * sizeof *wide);

	for (size_t i = 0; i < count; i++)
		wide[i] = got[i];
	golden_check_f64(g, name, wide, count);
}

bool golden_allows(golden *g, const char *name, double got)
{
	struct tolerance t = tolerance_of(g, name);
	double want = golden_value(g, name);

	if (json_is_integer(json_object_get(g->values, name)))
		return got == want;
	return fabs(got - want) <= t.abs + t.rel * fabs(want); /* false for NaN */
}

void golden_check_value(golden *g, const char *name, double got)
{
	if (!golden_allows(g, name, got))
		fail_msg("%s of %s/%s is %.12g, not %.12g", name, g->root, g->folder, got,
		         golden_value(g, name));
}
