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
static invar_status add_picture(sheet_maker *m, const char *split, uint64_t row,
                                int64_t label, bool augmented, const uint8_t *colour,
                                const char *detail)
{
	const invar_dataset *images = m->n->images;
	inv_sheet_cell *cell = &m->cell[m->cells++];
	uint8_t *rgb = NULL;
	uint32_t width, height;

	INV_TRY(inv_pictures_draw(&m->pictures, images, split, row, augmented, &rgb, &width,
	                          &height));
	cell->rgb = framed(rgb, width, height, colour);
	cell->width = width + 2 * FRAME;
	cell->height = height + 2 * FRAME;
	invar_free(rgb);
	if (label >= 0 && (size_t)label < inv_dataset_classes(images))
		cell->caption = inv_dataset_class_title(images, (size_t)label);
	cell->detail = detail;
	return cell->rgb ? INVAR_OK : inv_no_memory();
}

static invar_status add_found(sheet_maker *m, const inv_query *q, const inv_found *f,
                              const char *detail)
{
	m->cells++; /* an empty place */
	for (size_t i = 0; i < f->count; i++) {
		int64_t label = m->answers.label ? m->answers.label[f->row[i]] : -1;

		INV_TRY(add_picture(m, m->n->search.gallery, f->row[i], label, false,
		                    q->label < 0        ? paper
		                    : label == q->label ? right
		                                        : wrong,
		                    detail));
	}
	m->cells += m->n->search.nearest - f->count;
	return INVAR_OK;
}

/* One row of the sheet per query: the image, its copy, neighbours by F, neighbours by E. */
static invar_status fill_sheet(sheet_maker *m)
{
	const inv_search *n = &m->n->search;

	INV_TRY(inv_search_run(m->s, n, &m->answers));
	m->across = 4 + 2 * n->nearest;
	if (!(m->cell = calloc(n->queries * m->across, sizeof *m->cell)))
		return inv_no_memory();
	INV_TRY(inv_pictures_open(m->s, n->bank, n->split, n->copy, &m->pictures));
	for (size_t i = 0; i < m->answers.queries; i++) {
		const inv_query *q = &m->answers.query[i];

		INV_TRY(add_picture(m, n->split, q->row, q->label, false, paper, "clean"));
		if (m->pictures.augment)
			INV_TRY(
				add_picture(m, n->split, q->row, q->label, true, paper, "as looked up"));
		else
			m->cells++;
		INV_TRY(add_found(m, q, &q->by_f, "by F alone"));
		INV_TRY(add_found(m, q, &q->by_e, m->n->title));
	}
	return INVAR_OK;
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
