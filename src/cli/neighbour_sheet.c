/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_sheet.c - draws what a search finds, a row per query: the image, its augmented
 * copy, and the nearest images of the gallery by F alone and by E behind it.
 *
 * With labels a green frame is the right class and a red one is not; a blue frame is the
 * same image. Pictures are what the encoder saw (pictures.h).
 */
#include "cli/neighbour_search.h"

#include <stdio.h>
#include <string.h>

#include "cli/pictures.h"
#include "images/dataset.h"
#include "report/sheet.h"

enum { FRAME = 3 };

static const uint8_t paper[3] = {251, 250, 248}, right[3] = {46, 139, 87},
					 wrong[3] = {200, 60, 50}, same[3] = {40, 90, 200};

typedef struct sheet_maker {
	const inv_neighbours *n;
	inv_answers answers;
	inv_pictures pictures;
	inv_sheet_cell *cell;
	size_t cells, across;
} sheet_maker;

/* One image of a split, clean or as the copy that was looked up, in a frame. */
static invar_status add_picture(sheet_maker *m, const char *split, uint64_t row,
                                int64_t label, bool augmented, const uint8_t *colour,
                                const char *detail)
{
	const invar_dataset *images = m->n->images;
	inv_sheet_cell *cell = &m->cell[m->cells++];
	uint8_t *rgb = NULL, *framed = NULL;
	uint32_t width, height, outer;
	invar_status st;

	INV_TRY(inv_pictures_draw(&m->pictures, images, split, row, augmented, &rgb, &width,
	                          &height));
	outer = cell->width = width + 2 * FRAME;
	cell->height = height + 2 * FRAME;
	INV_TRY_OR(end, inv_new_array(&framed, (uint64_t)outer * cell->height * 3));
	for (size_t i = 0; i < (size_t)outer * cell->height; i++)
		memcpy(framed + 3 * i, colour, 3);
	for (uint32_t y = 0; y < height; y++)
		memcpy(framed + ((size_t)(y + FRAME) * outer + FRAME) * 3,
		       rgb + (size_t)y * width * 3, (size_t)width * 3);
	cell->rgb = framed;
	if (label >= 0 && (size_t)label < inv_dataset_classes(images))
		cell->caption = inv_dataset_class_title(images, (size_t)label);
	cell->detail = detail;
end:
	invar_free(rgb);
	return st;
}

static invar_status add_found(sheet_maker *m, const inv_query *q, const inv_found *f,
                              const char *detail)
{
	m->cells++; /* an empty place */
	for (size_t i = 0; i < f->count; i++) {
		int64_t label = m->answers.label ? m->answers.label[f->row[i]] : -1;
		bool found = inv_search_is_same(&m->n->search, q, f->row[i]);
		uint64_t row = f->row[i];
		const char *split = inv_search_split(&m->n->search, &row);

		INV_TRY(add_picture(m, split, row, label, false,
		                    found               ? same
		                    : q->label < 0      ? paper
		                    : label == q->label ? right
		                                        : wrong,
		                    found ? "same image" : detail));
	}
	m->cells += m->n->search.nearest - f->count;
	return INVAR_OK;
}

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n, const char *path)
{
	const inv_search *search = &n->search;
	sheet_maker m = {.n = n};
	char subtitle[160];
	invar_status st;

	INV_TRY_OR(end, inv_search_run(s, search, &m.answers));
	m.across = 4 + 2 * search->nearest;
	INV_TRY_OR(end, inv_new_zeros(&m.cell, search->queries * m.across));
	INV_TRY_OR(
		end, inv_pictures_open(s, search->bank, search->split, search->copy, &m.pictures));
	for (size_t i = 0; i < m.answers.queries; i++) {
		const inv_query *q = &m.answers.query[i];

		INV_TRY_OR(end,
		           add_picture(&m, search->split, q->row, q->label, false, paper, "clean"));
		if (m.pictures.augment)
			INV_TRY_OR(end, add_picture(&m, search->split, q->row, q->label, true, paper,
			                            "as looked up"));
		else
			m.cells++;
		INV_TRY_OR(end, add_found(&m, q, &q->by_f, "by F alone"));
		INV_TRY_OR(end, add_found(&m, q, &q->by_e, n->title));
	}
	snprintf(
		subtitle, sizeof subtitle,
		"the nearest features by the encoder alone, then with the adapter behind it; the "
		"index is the same. Blue: same image%s",
		m.answers.label ? ", green: right class" : "");
	st = inv_sheet_write(
		s->ctx, path,
		&(inv_sheet){.title = "What an index of clean images finds for augmented ones",
	                 .subtitle = subtitle,
	                 .cells = m.cell,
	                 .count = m.cells,
	                 .columns = m.across});
end:
	for (size_t i = 0; m.cell && i < m.cells; i++)
		inv_free((void *)(uintptr_t)m.cell[i].rgb);
	inv_free(m.cell);
	inv_answers_clear(&m.answers);
	inv_pictures_close(&m.pictures);
	return st;
}
