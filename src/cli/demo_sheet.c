/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_sheet.c - a picture for the eye: what an old index answers for rotated images.
 *
 * One row per class: its first test image, the same rotated as the bank's copy 0 is, and
 * the nearest upright images of train, by F alone and by F then MaWa. The index holds
 * F(train) as it was in both cases. A green frame is the right class, a red one is not.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/demo.h"
#include "cli/term.h"
#include "report/sheet.h"

enum {
	NEIGHBOURS = 3,
	ACROSS = 4 + 2 * NEIGHBOURS, /* with two empty places that part the groups */
	MAX_CLASSES = 10,
	FRAME = 2,
	SHOWN = 1, /* of the adapters: robust */
};

static const uint8_t paper[3] = {251, 250, 248}, right[3] = {46, 139, 87},
					 wrong[3] = {200, 60, 50};

typedef struct gallery {
	const inv_demo *d;
	uint64_t trains;
	uint32_t dim;
	float *index; /* [trains, dim], F(train) */
	int64_t *label, *test_label;
	invar_array *params; /* [tests, 1], angles of copy 0 */
	invar_augment *augment;
	invar_adapter *adapter;
	inv_sheet_cell cell[MAX_CLASSES * ACROSS];
	size_t count;
} gallery;

/* ---- Pictures -------------------------------------------------------------------- */

/* The picture in the middle of a frame; gives, free() it. NULL if there is no memory. */
static uint8_t *framed(const uint8_t *rgb, uint32_t side, const uint8_t colour[3])
{
	uint32_t outer = side + 2 * FRAME;
	uint8_t *out = malloc((size_t)outer * outer * 3);

	if (!out)
		return NULL;
	for (size_t i = 0; i < (size_t)outer * outer; i++)
		memcpy(out + 3 * i, colour, 3);
	for (uint32_t y = 0; y < side; y++)
		memcpy(out + ((size_t)(y + FRAME) * outer + FRAME) * 3, rgb + (size_t)y * side * 3,
		       (size_t)side * 3);
	return out;
}

/* Turns the tensor by the angle that the bank has for this row; takes *tensor. */
static invar_status rotate_picture(const gallery *g, uint64_t row, const uint64_t shape[4],
                                   float **tensor)
{
	float *rotated = malloc(shape[1] * shape[2] * shape[3] * sizeof *rotated);
	float angle;
	invar_status st = rotated ? INVAR_OK : inv_no_memory(g->d->s);

	if (st == INVAR_OK)
		st = invar_array_read(g->params, row, 1, &angle);
	if (st == INVAR_OK)
		st = invar_augment_apply(g->augment, NULL, *tensor, shape, &angle, rotated);
	if (st == INVAR_OK)
		memcpy(*tensor, rotated, shape[1] * shape[2] * shape[3] * sizeof *rotated);
	free(rotated);
	return st;
}

typedef struct picture {
	const invar_dataset *from;
	const char *split;
	uint64_t row;
	int64_t label;
	bool rotated;
	const uint8_t *colour;
} picture;

static invar_status add_tensor(gallery *g, const picture *p, float **tensor,
                               const uint64_t shape[4])
{
	inv_sheet_cell *cell = &g->cell[g->count];
	uint8_t *rgb = NULL;
	invar_status st = p->rotated ? rotate_picture(g, p->row, shape, tensor) : INVAR_OK;

	if (st == INVAR_OK)
		st = invar_tensor_to_image(g->d->s->ctx, *tensor, shape, "none", &rgb);
	if (st != INVAR_OK)
		return st;
	cell->rgb = framed(rgb, (uint32_t)shape[3], p->colour);
	cell->width = cell->height = (uint32_t)shape[3] + 2 * FRAME;
	invar_free(rgb);
	return cell->rgb ? INVAR_OK : inv_no_memory(g->d->s);
}

static invar_status add_cell(gallery *g, const picture *p, const char *detail)
{
	invar_options *o = NULL;
	uint8_t *rgb = NULL;
	float *tensor = NULL;
	uint32_t width, height;
	uint64_t shape[4];
	invar_status st = invar_dataset_read(p->from, p->split, p->row, &rgb, &width, &height);

	if (st == INVAR_OK)
		st = invar_options_new("augment", &o);
	if (st == INVAR_OK)
		st = invar_options_set(o, "size", DEMO_SIDE);
	if (st == INVAR_OK)
		st = invar_options_set(o, "normalize", "none");
	if (st == INVAR_OK)
		st = invar_image_to_tensor(g->d->s->ctx, rgb, width, height, o, &tensor, shape);
	invar_options_free(o);
	if (st == INVAR_OK)
		st = add_tensor(g, p, &tensor, shape);
	g->cell[g->count].caption = invar_dataset_class_title(p->from, (size_t)p->label);
	g->cell[g->count++].detail = detail;
	invar_free(rgb);
	invar_free(tensor);
	return st;
}

/* ---- Neighbours --------------------------------------------------------------------- */

static double squared_distance(const float *a, const float *b, uint32_t dim)
{
	double sum = 0;

	for (uint32_t i = 0; i < dim; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* The rows of the index that are nearest, by insertion into a short list. */
static void find_nearest(const gallery *g, const float *query, uint64_t row[NEIGHBOURS])
{
	double best[NEIGHBOURS];
	size_t found = 0;

	for (uint64_t i = 0; i < g->trains; i++) {
		double distance = squared_distance(query, g->index + i * g->dim, g->dim);
		size_t at = found < NEIGHBOURS ? found++ : NEIGHBOURS - 1;

		if (i >= NEIGHBOURS && distance >= best[at])
			continue;
		for (; at > 0 && distance < best[at - 1]; at--) {
			best[at] = best[at - 1];
			row[at] = row[at - 1];
		}
		best[at] = distance;
		row[at] = i;
	}
}

static invar_status add_neighbours(gallery *g, const float *query, int64_t label,
                                   const char *detail)
{
	uint64_t row[NEIGHBOURS] = {0};
	invar_status st = INVAR_OK;

	g->count++; /* an empty place */
	find_nearest(g, query, row);
	for (size_t i = 0; i < NEIGHBOURS && st == INVAR_OK; i++) {
		int64_t found = g->label[row[i]];
		picture p = {g->d->train, "train", row[i],
		             found,       false,   found == label ? right : wrong};

		st = add_cell(g, &p, detail);
	}
	return st;
}

/* One row of the sheet: upright, rotated, neighbours by F, neighbours by MaWa. */
static invar_status add_row(gallery *g, uint64_t row, int64_t label)
{
	picture p = {g->d->test, "test", row, label, false, paper};
	float *z = malloc(2 * (size_t)g->dim * sizeof *z), *code = z + g->dim;
	invar_status st = z ? add_cell(g, &p, "upright") : inv_no_memory(g->d->s);

	p.rotated = true;
	if (st == INVAR_OK)
		st = add_cell(g, &p, "rotated");
	if (st == INVAR_OK)
		st = invar_bank_read(g->d->bank, "test", 0, row, 1, z);
	if (st == INVAR_OK)
		st = invar_adapter_apply(g->adapter, z, 1, code);
	if (st == INVAR_OK)
		st = add_neighbours(g, z, label, "by F alone");
	if (st == INVAR_OK)
		st = add_neighbours(g, code, label, "by F, then MaWa");
	free(z);
	return st;
}

/* ---- The sheet -------------------------------------------------------------------- */

static invar_status load(gallery *g)
{
	const inv_demo *d = g->d;
	uint64_t tests = invar_bank_rows(d->bank, "test");
	char *path = inv_path(d->bank_path, "test/aug/000.params.npy");
	invar_status st = path ? INVAR_OK : inv_no_memory(d->s);

	g->trains = invar_bank_rows(d->bank, "train");
	g->dim = invar_bank_dim(d->bank);
	g->index = malloc(g->trains * g->dim * sizeof *g->index);
	g->label = malloc(g->trains * sizeof *g->label);
	g->test_label = malloc(tests * sizeof *g->test_label);
	if (!g->index || !g->label || !g->test_label)
		st = inv_no_memory(d->s);
	if (st == INVAR_OK)
		st = invar_bank_read(d->bank, "train", INVAR_CLEAN, 0, g->trains, g->index);
	if (st == INVAR_OK)
		st = invar_bank_labels(d->bank, "train", g->label);
	if (st == INVAR_OK)
		st = invar_bank_labels(d->bank, "test", g->test_label);
	if (st == INVAR_OK)
		st = invar_array_open(d->s->ctx, path, &g->params);
	if (st == INVAR_OK)
		st = invar_augment_parse(d->s->ctx, DEMO_AUGMENT, &g->augment);
	if (st == INVAR_OK)
		st = invar_adapter_open(d->s->ctx, d->run_path[SHOWN], &g->adapter);
	free(path);
	return st;
}

static void unload(gallery *g)
{
	for (size_t i = 0; i < g->count; i++)
		free((void *)(uintptr_t)g->cell[i].rgb);
	free(g->index);
	free(g->label);
	free(g->test_label);
	invar_array_close(g->params);
	invar_augment_close(g->augment);
	invar_adapter_close(g->adapter);
}

/* The first test image of each class, not the one that looks best. */
static invar_status add_classes(gallery *g)
{
	uint64_t tests = invar_bank_rows(g->d->bank, "test");
	invar_status st = INVAR_OK;

	for (int64_t label = 0; label < MAX_CLASSES && st == INVAR_OK; label++) {
		uint64_t row = 0;

		while (row < tests && g->test_label[row] != label)
			row++;
		if (row < tests)
			st = add_row(g, row, label);
	}
	return st;
}

static invar_status write_sheet(void *user)
{
	const inv_demo *d = user;
	gallery g = {.d = d};
	invar_status st = load(&g);

	if (st == INVAR_OK)
		st = add_classes(&g);
	if (st == INVAR_OK) {
		const inv_sheet sheet = {
			.title = "What an index of upright images finds for rotated ones",
			.subtitle =
				"the three nearest features by the encoder alone, then with the "
				"adapter robust behind it; the index is the same. Green: right class",
			.cells = g.cell,
			.count = g.count,
			.columns = ACROSS,
		};

		st = inv_sheet_write(d->s->ctx, d->sheet_path, &sheet, d->s->fault,
		                     sizeof d->s->fault);
	}
	unload(&g);
	return st;
}

invar_status inv_demo_sheet(inv_demo *d)
{
	const char *const inputs[] = {d->bank_path, d->run_path[SHOWN], NULL};
	const invar_stage stage = {.size = sizeof stage,
	                           .user = d,
	                           .name = "sheet",
	                           .inputs = inputs,
	                           .output = d->sheet_path,
	                           .run = write_sheet};

	return invar_stages_add(d->stages, &stage);
}
