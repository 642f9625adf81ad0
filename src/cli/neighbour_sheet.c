/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_sheet.c - draws what a search finds.
 *
 * With labels a green frame is the right class and a red one is not. Pictures are what the
 * encoder saw (pictures.h).
 */
#include "cli/neighbour_sheet.h"

#include <stdlib.h>
#include <string.h>

#include "cli/pictures.h"
#include "images/dataset.h"
#include "report/sheet.h"

enum { FRAME = 3 };

static const uint8_t paper[3] = {251, 250, 248}, right[3] = {46, 139, 87},
					 wrong[3] = {200, 60, 50};

typedef struct sheet_maker {
	inv_session *s;
	const inv_neighbours *n;
	inv_answers answers;
	inv_pictures pictures;
	inv_sheet_cell *cell;
	size_t cells, across;
} sheet_maker;

/* ---- Cells ------------------------------------------------------------------------------
 */

/* The picture in the middle of a frame; gives, free() it. NULL if there is no memory. */
static uint8_t *framed(const uint8_t *rgb, uint32_t width, uint32_t height,
                       const uint8_t colour[3])
{
	uint32_t outer = width + 2 * FRAME;
	uint8_t *out = malloc((size_t)outer * (height + 2 * FRAME) * 3);

	if (!out)
		return NULL;
	for (size_t i = 0; i < (size_t)outer * (height + 2 * FRAME); i++)
		memcpy(out + 3 * i, colour, 3);
	for (uint32_t y = 0; y < height; y++)
		memcpy(out + ((size_t)(y + FRAME) * outer + FRAME) * 3, rgb + (size_t)y * width * 3,
		       (size_t)width * 3);
	return out;
}

/* One image of a split, clean or as the copy that was looked up. */
typedef struct picture {
	const invar_dataset *images;
	const char *split;
	uint64_t row;
	int64_t label; /* -1: none */
	bool augmented;
	const uint8_t *colour;
	const char *detail;
} picture;

static invar_status add_picture(sheet_maker *m, const picture *p)
{
	inv_sheet_cell *cell = &m->cell[m->cells++];
	uint8_t *rgb = NULL;
	uint32_t width, height;
	invar_status st = inv_pictures_draw(&m->pictures, p->images, p->split, p->row,
	                                    p->augmented, &rgb, &width, &height);

	if (st == INVAR_OK) {
		cell->rgb = framed(rgb, width, height, p->colour);
		cell->width = width + 2 * FRAME;
		cell->height = height + 2 * FRAME;
		st = cell->rgb ? INVAR_OK : inv_no_memory();
	}
	invar_free(rgb);
	if (p->label >= 0 && (size_t)p->label < inv_dataset_classes(p->images))
		cell->caption = inv_dataset_class_title(p->images, (size_t)p->label);
	cell->detail = p->detail;
	return st;
}

static invar_status add_found(sheet_maker *m, const inv_query *q, const inv_found *f,
                              const char *detail)
{
	invar_status st = INVAR_OK;

	m->cells++; /* an empty place */
	for (size_t i = 0; i < f->count && st == INVAR_OK; i++) {
		int64_t label = m->answers.label ? m->answers.label[f->row[i]] : -1;
		const uint8_t *colour = q->label < 0 ? paper : label == q->label ? right : wrong;
		const picture p = {.images = m->n->gallery_images,
		                   .split = m->n->search.gallery,
		                   .row = f->row[i],
		                   .label = label,
		                   .colour = colour,
		                   .detail = detail};

		st = add_picture(m, &p);
	}
	m->cells += m->n->search.nearest - f->count;
	return st;
}

/* One row of the sheet: the image, its copy, neighbours by F, neighbours by E. */
static invar_status add_query(sheet_maker *m, const inv_query *q)
{
	picture p = {.images = m->n->query_images,
	             .split = m->n->search.split,
	             .row = q->row,
	             .label = q->label,
	             .colour = paper,
	             .detail = "clean"};
	invar_status st = add_picture(m, &p);

	p.augmented = true;
	p.detail = "as looked up";
	if (st == INVAR_OK && m->pictures.augment)
		st = add_picture(m, &p);
	else
		m->cells++;
	if (st == INVAR_OK)
		st = add_found(m, q, &q->by_f, "by F alone");
	if (st == INVAR_OK)
		st = add_found(m, q, &q->by_e, m->n->title);
	return st;
}

/* ---- The sheet -------------------------------------------------------------------------
 */

static invar_status fill_sheet(sheet_maker *m)
{
	const inv_search *n = &m->n->search;
	invar_status st = inv_search_run(m->s, n, &m->answers);

	m->across = 4 + 2 * n->nearest;
	m->cell = calloc(n->queries * m->across, sizeof *m->cell);
	if (st == INVAR_OK && !m->cell)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_pictures_open(m->s, m->n->bank_path, n->bank, n->split, n->copy,
		                       &m->pictures);
	for (size_t q = 0; q < m->answers.queries && st == INVAR_OK; q++)
		st = add_query(m, &m->answers.query[q]);
	return st;
}

static void free_sheet(sheet_maker *m)
{
	for (size_t i = 0; m->cell && i < m->cells; i++)
		free((void *)(uintptr_t)m->cell[i].rgb);
	free(m->cell);
	inv_answers_clear(&m->answers);
	inv_pictures_close(&m->pictures);
}

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n, const char *path)
{
	sheet_maker m = {.s = s, .n = n};
	invar_status st = fill_sheet(&m);

	if (st == INVAR_OK) {
		const inv_sheet sheet = {
			.title = "What an index of clean images finds for augmented ones",
			.subtitle = m.answers.label
		                    ? "the nearest features by the encoder alone, then with the "
		                      "adapter behind it; the index is the same. Green: right class"
		                    : "the nearest features by the encoder alone, then with the "
		                      "adapter behind it; the index is the same",
			.cells = m.cell,
			.count = m.cells,
			.columns = m.across,
		};

		st = inv_sheet_write(s->ctx, path, &sheet);
	}
	free_sheet(&m);
	return st;
}
