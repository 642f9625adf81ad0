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

static const invar_option option_rows[] = {
	{.name = "rows",
     .type = INVAR_OPTION_COUNT,
     .initial = "2000",
     .min = 2,
     .max = 4e9,
     .meta = "N",
     .group = "Synthetic bank",
     .help = "images of the train split"},
	{.name = "test-rows",
     .type = INVAR_OPTION_COUNT,
     .initial = "1000",
     .max = 4e9,
     .meta = "N",
     .group = "Synthetic bank",
     .help = "images of the test split; 0: no test split"},
	{.name = "dim",
     .type = INVAR_OPTION_COUNT,
     .initial = "64",
     .min = 1,
     .max = 1 << 24,
     .meta = "D",
     .group = "Synthetic bank",
     .help = "width of a feature"},
	{.name = "classes",
     .type = INVAR_OPTION_COUNT,
     .initial = "10",
     .min = 1,
     .max = 1e6,
     .meta = "N",
     .group = "Synthetic bank",
     .help = "number of clusters, which are the labels"},
	{.name = "copies",
     .type = INVAR_OPTION_COUNT,
     .initial = "5",
     .max = 1000,
     .meta = "N",
     .group = "Synthetic bank",
     .help = "displaced copies per image"},
	{.name = "spread",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0.6",
     .max = 1e6,
     .meta = "F",
     .group = "Synthetic bank",
     .help = "standard deviation of a cluster; cluster centres are N(0, 1)"},
	{.name = "shift",
     .type = INVAR_OPTION_NUMBER,
     .initial = "2",
     .max = 1e6,
     .meta = "F",
     .group = "Synthetic bank",
     .help = "how far a copy is displaced"},
	{.name = "half",
     .type = INVAR_OPTION_FLAG,
     .group = "Synthetic bank",
     .help = "write float16"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_synthetic_declare(invar_options *o)
{
	return inv_options_add_rows(o, option_rows);
}

typedef struct settings {
	uint64_t rows, test_rows, dim, classes, copies, seed;
	double spread, shift;
	bool half;
} settings;

static invar_status read_synthetic_options(const invar_options *o, settings *out)
{
	invar_options *mine;

	INV_TRY(inv_options_pick(o, inv_synthetic_declare, &mine));
	*out = (settings){.rows = inv_option_count(mine, "rows"),
	                  .test_rows = inv_option_count(mine, "test-rows"),
	                  .dim = inv_option_count(mine, "dim"),
	                  .classes = inv_option_count(mine, "classes"),
	                  .copies = inv_option_count(mine, "copies"),
	                  .seed = inv_option_count(mine, "seed"),
	                  .spread = inv_option_number(mine, "spread"),
	                  .shift = inv_option_number(mine, "shift"),
	                  .half = inv_option_flag(mine, "half")};
	invar_options_free(mine);
	return INVAR_OK;
}

typedef struct maker {
	const invar_context *ctx;
	const settings *o;
	const char *split;
	inv_stream centre, image, place, jitter;
	float *direction; /* [DIRECTIONS, d], unit */
	float *row, *draw;
} maker;

static inv_stream synthetic_stream(const maker *k, const char *what, uint32_t epoch)
{
	char name[NAME];

	snprintf(name, sizeof name, "synthetic/%s/%s", what, k->split);
	return inv_stream_of(k->o->seed, name, epoch);
}

static void draw_displacements(maker *k)
{
	inv_stream s = inv_stream_of(k->o->seed, "synthetic/direction", 0);
	size_t d = k->o->dim;

	for (uint32_t a = 0; a < DIRECTIONS; a++) {
		float *v = k->direction + a * d;
		double norm = 0;

		inv_fill_normal(&s, a, v, d);
		for (size_t j = 0; j < d; j++)
			norm += (double)v[j] * v[j];
		for (size_t j = 0; j < d; j++)
			v[j] = (float)(v[j] / sqrt(norm));
	}
}

static uint32_t synthetic_label(const maker *k, uint32_t image)
{
	return (uint32_t)(image % k->o->classes);
}

static void make_clean(maker *k, uint32_t image)
{
	size_t d = k->o->dim;

	inv_fill_normal(&k->centre, synthetic_label(k, image), k->row, d);
	inv_fill_normal(&k->image, image, k->draw, d);
	for (size_t j = 0; j < d; j++)
		k->row[j] += (float)k->o->spread * k->draw[j];
}

/*
 * Every direction moves by an amount that depends on one hidden angle, as a
 * rotation of the image would have it: a closed curve through feature space.
 */
static void displace(maker *k, uint32_t image)
{
	size_t d = k->o->dim;
	inv_cursor c = inv_cursor_of(&k->place, image);
	double angle = 2 * M_PI * inv_next_uniform(&c);
	double scale = k->o->shift * sqrt((double)d) / 8;
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
	uint64_t shape[2] = {rows, k->o->dim};
	char *path;
	inv_npy_writer *w = NULL;
	invar_status st;

	INV_TRY(inv_new_path(&path, folder, file));
	st = inv_npy_create(path, k->o->half ? INV_F16 : INV_F32, 2, shape, &w);
	inv_free(path);
	INV_TRY(st);
	k->place = synthetic_stream(k, "place", (uint32_t)copy);
	k->jitter = synthetic_stream(k, "jitter", (uint32_t)copy);
	for (uint64_t i = 0; i < rows; i++) {
		make_clean(k, (uint32_t)i);
		if (copy >= 0)
			displace(k, (uint32_t)i);
		INV_TRY_OR(fail, inv_npy_put(w, k->row, k->o->dim));
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
	if (k->o->copies)
		INV_TRY_OR(done, inv_make_folder(aug));
	for (uint64_t c = 0; c < k->o->copies; c++) {
		char file[NAME];

		snprintf(file, sizeof file, "%03" PRIu64 ".npy", c);
		INV_TRY_OR(done, write_synthetic_rows(k, aug, file, (int32_t)c, rows));
	}
done:
	inv_free(aug);
	inv_free(folder);
	return st;
}

static invar_status write_json(const settings *o, const char *bank)
{
	json_t *json =
		json_pack("{s:s, s:i, s:s, s:s, s:I, s:s}", "format", "invar-bank", "version", 1,
	              "encoder", "synthetic", "augment", "coherent displacement", "seed",
	              (json_int_t)o->seed, "source", "made-up features");
	char *path = inv_join(bank, "bank.json");
	invar_status st = json && path ? inv_json_save(path, json) : inv_no_memory();

	inv_free(path);
	json_decref(json);
	return st;
}

invar_status invar_bank_synthesize(invar_context *ctx, const invar_options *o,
                                   const char *path)
{
	size_t size = strlen(path) + sizeof INV_PART;
	settings all;
	maker k = {.ctx = ctx, .o = &all};
	char *part = NULL;
	invar_status st;

	INV_TRY(read_synthetic_options(o, &all));
	if (inv_exists(path))
		return inv_fail(INVAR_E_IO,
		                "%s: already exists; choose another name for the new bank", path);
	INV_TRY(inv_new_zeros(&k.direction, (DIRECTIONS + 2) * all.dim));
	k.row = k.direction + DIRECTIONS * all.dim;
	k.draw = k.row + all.dim;
	k.centre = inv_stream_of(all.seed, "synthetic/centre", 0);
	draw_displacements(&k);

	/* Written to PATH.invar.part and renamed when it is complete. */
	INV_TRY_OR(done, inv_new_array(&part, size));
	snprintf(part, size, "%s" INV_PART, path);
	INV_TRY_OR(done, inv_make_folder(part));
	INV_TRY_OR(done, write_json(&all, part));
	k.split = "train";
	INV_TRY_OR(done, write_split(&k, part, all.rows));
	k.split = "test";
	if (all.test_rows)
		INV_TRY_OR(done, write_split(&k, part, all.test_rows));
	if (rename(part, path) != 0)
		st = inv_fail_errno(path, "cannot rename its part folder to it");
done:
	inv_free(part);
	inv_free(k.direction);
	return st;
}
