/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic.c - a bank of synthetic features, for demonstrations and tests.
 *
 * Class centres are N(0, 1); an image is its centre plus N(0, spread^2). A copy
 * is displaced along DIRECTIONS fixed unit vectors by its own amounts, as a rotated image
 * moves coherently through feature space, plus a little noise. Rows are drawn by (seed,
 * split, copy, image), so a bank of any size can be written in one pass and its first rows
 * do not depend on its length.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"

enum { DIRECTIONS = 4, NAME = 64 };

static const double noise = 0.05;

#define SYNTHETIC_ROW(option, kind, value, text) \
	INV_OPTION_ROW(option, kind, value, 0, "Synthetic bank", text)

static const invar_option option_rows[] = {
	{SYNTHETIC_ROW("rows", COUNT, "2000", "images of the train split"), .min = 2,
     .max = 4e9, .meta = "N"},
	{SYNTHETIC_ROW("test-rows", COUNT, "1000",
                   "images of the test split; 0: no test split"),
     .max = 4e9, .meta = "N"},
	{SYNTHETIC_ROW("dim", COUNT, "64", "width of a feature"), .min = 1, .max = 1 << 24,
     .meta = "D"},
	{SYNTHETIC_ROW("classes", COUNT, "10", "number of clusters, which are the labels"),
     .min = 1, .max = 1e6, .meta = "N"},
	{SYNTHETIC_ROW("copies", COUNT, "5", "displaced copies per image"), .max = 1000,
     .meta = "N"},
	{SYNTHETIC_ROW("spread", NUMBER, "0.6",
                   "standard deviation of a cluster; cluster centres are N(0, 1)"),
     .max = 1e6, .meta = "F"},
	{SYNTHETIC_ROW("shift", NUMBER, "2", "how far a copy is displaced"), .max = 1e6,
     .meta = "F"},
	{SYNTHETIC_ROW("half", FLAG, NULL, "write float16")},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_synthetic_declare(invar_options *o)
{
	return inv_options_add_rows(o, option_rows);
}

typedef struct maker {
	const invar_context *ctx;
	uint64_t dim, classes, copies, seed;
	double spread, shift;
	inv_dtype dtype;
	const char *split;
	inv_stream centre, image, place, jitter;
	float *direction; /* [DIRECTIONS, d], unit */
	float *row, *draw;
} maker;

static inv_stream synthetic_stream(const maker *k, const char *what, uint32_t epoch)
{
	char name[NAME];

	snprintf(name, sizeof name, "synthetic/%s/%s", what, k->split);
	return inv_stream_of(k->seed, name, epoch);
}

static uint32_t synthetic_label(const maker *k, uint32_t image)
{
	return (uint32_t)(image % k->classes);
}

/*
 * Every direction moves by an amount that depends on one hidden angle, as a
 * rotation of the image would have it: a closed curve through feature space.
 */
static void displace(maker *k, uint32_t image)
{
	size_t d = k->dim;
	inv_cursor c = inv_cursor_of(&k->place, image);
	double angle = 2 * M_PI * inv_next_uniform(&c);
	double scale = k->shift * sqrt((double)d) / 8;
	double amount[DIRECTIONS] = {1 - cos(angle), sin(angle), 0.5 * sin(2 * angle),
	                             0.5 * (1 - cos(2 * angle))};

	inv_fill_normal(&k->jitter, image, k->draw, d);
	for (size_t j = 0; j < d; j++) {
		double move = noise * k->draw[j];

		for (int a = 0; a < DIRECTIONS; a++)
			move += scale * amount[a] * k->direction[(size_t)a * d + j];
		k->row[j] += (float)move;
	}
}

static invar_status write_synthetic_rows(maker *k, const char *folder, const char *file,
                                         int32_t copy, uint64_t rows)
{
	uint64_t shape[2] = {rows, k->dim};
	char *path;
	inv_npy_writer *w = NULL;
	invar_status st;

	INV_TRY(inv_new_path(&path, folder, file));
	st = inv_npy_create(path, k->dtype, 2, shape, &w);
	inv_free(path);
	INV_TRY(st);
	k->place = synthetic_stream(k, "place", (uint32_t)copy);
	k->jitter = synthetic_stream(k, "jitter", (uint32_t)copy);
	for (uint64_t i = 0; i < rows; i++) {
		inv_fill_normal(&k->centre, synthetic_label(k, (uint32_t)i), k->row, k->dim);
		inv_fill_normal(&k->image, (uint32_t)i, k->draw, k->dim);
		for (size_t j = 0; j < k->dim; j++)
			k->row[j] += (float)k->spread * k->draw[j];
		if (copy >= 0)
			displace(k, (uint32_t)i);
		INV_TRY_OR(fail, inv_npy_put(w, k->row, k->dim));
		if (i % 256 == 0)
			INV_TRY_OR(fail, inv_progress(k->ctx, "make a bank", i, rows));
	}
	return inv_npy_commit(w);
fail:
	inv_npy_abort(w);
	return st;
}

static invar_status write_labels(const maker *k, const char *folder, uint64_t rows)
{
	char *path;
	inv_npy_writer *w = NULL;
	invar_status st;

	INV_TRY(inv_new_path(&path, folder, "labels.npy"));
	st = inv_npy_create(path, INV_I64, 1, &rows, &w);
	inv_free(path);
	INV_TRY(st);
	for (uint64_t i = 0; i < rows; i++) {
		int64_t label = synthetic_label(k, (uint32_t)i);

		INV_TRY_OR(fail, inv_npy_put_int(w, &label, 1));
	}
	return inv_npy_commit(w);
fail:
	inv_npy_abort(w);
	return st;
}

static invar_status write_split(maker *k, const char *bank, uint64_t rows)
{
	char *folder = NULL, *aug = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_path(&folder, bank, k->split));
	INV_TRY_OR(done, inv_new_path(&aug, folder, "aug"));
	INV_TRY_OR(done, inv_make_folder(folder));
	k->image = synthetic_stream(k, "image", 0);
	INV_TRY_OR(done, write_synthetic_rows(k, folder, "clean.npy", INVAR_CLEAN, rows));
	INV_TRY_OR(done, write_labels(k, folder, rows));
	if (k->copies)
		INV_TRY_OR(done, inv_make_folder(aug));
	for (uint64_t c = 0; c < k->copies; c++) {
		char file[NAME];

		snprintf(file, sizeof file, "%03" PRIu64 ".npy", c);
		INV_TRY_OR(done, write_synthetic_rows(k, aug, file, (int32_t)c, rows));
	}
done:
	inv_free(aug);
	inv_free(folder);
	return st;
}

/* Written to PATH.invar.part and renamed when it is complete. */
static invar_status write_bank(maker *k, const invar_options *o, const char *path)
{
	json_t *json =
		json_pack("{s:s, s:i, s:s, s:s, s:I, s:s}", "format", "invar-bank", "version", 1,
	              "encoder", "synthetic", "augment", "coherent displacement", "seed",
	              (json_int_t)k->seed, "source", "made-up features");
	char *part = NULL, *file = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_name(&part, path, INV_PART));
	INV_TRY_OR(done, inv_new_path(&file, part, "bank.json"));
	INV_TRY_OR(done, inv_make_folder(part));
	INV_TRY_OR(done, json ? inv_json_save(file, json) : inv_no_memory());
	k->split = "train";
	INV_TRY_OR(done, write_split(k, part, inv_option_count(o, "rows")));
	k->split = "test";
	if (inv_option_count(o, "test-rows"))
		INV_TRY_OR(done, write_split(k, part, inv_option_count(o, "test-rows")));
	if (rename(part, path) != 0)
		st = inv_fail_errno(path, "cannot rename its part folder to it");
done:
	json_decref(json);
	inv_free(file);
	inv_free(part);
	return st;
}

invar_status invar_bank_synthesize(invar_context *ctx, const invar_options *options,
                                   const char *path)
{
	invar_options *o;
	maker k = {.ctx = ctx};
	inv_stream directions;
	invar_status st;

	INV_TRY(inv_options_pick(options, inv_synthetic_declare, &o));
	k.dim = inv_option_count(o, "dim");
	k.classes = inv_option_count(o, "classes");
	k.copies = inv_option_count(o, "copies");
	k.seed = inv_option_count(o, "seed");
	k.spread = inv_option_number(o, "spread");
	k.shift = inv_option_number(o, "shift");
	k.dtype = inv_option_flag(o, "half") ? INV_F16 : INV_F32;
	if (inv_exists(path))
		INV_TRY_OR(done,
		           inv_fail(INVAR_E_IO,
		                    "%s: already exists; choose another name for the new bank",
		                    path));
	INV_TRY_OR(done, inv_new_zeros(&k.direction, (DIRECTIONS + 2) * k.dim));
	k.row = k.direction + DIRECTIONS * k.dim;
	k.draw = k.row + k.dim;
	k.centre = inv_stream_of(k.seed, "synthetic/centre", 0);
	directions = inv_stream_of(k.seed, "synthetic/direction", 0);
	for (uint32_t a = 0; a < DIRECTIONS; a++) {
		float *v = k.direction + a * k.dim;
		double norm = 0;

		inv_fill_normal(&directions, a, v, k.dim);
		for (size_t j = 0; j < k.dim; j++)
			norm += (double)v[j] * v[j];
		for (size_t j = 0; j < k.dim; j++)
			v[j] = (float)(v[j] / sqrt(norm));
	}
	st = write_bank(&k, o, path);
done:
	inv_free(k.direction);
	invar_options_free(o);
	return st;
}
