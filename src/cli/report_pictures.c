/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_pictures.c - draws the pictures of a page and makes them small.
 *
 * Pictures are what the encoder saw (pictures.h), shrunk by means over areas and written as
 * JPEG. Thumbnails of an embedding share one file, which is made smaller until it fits its
 * part of the page.
 */
#include "cli/report_pictures.h"

#include <stdlib.h>
#include <string.h>

#include "bank/bank.h"
#include "cli/neighbour_search.h"
#include "cli/pictures.h"
#include "formats/pixels.h"
#include "images/dataset.h"
#include "run/results.h"

enum {
	SIDE = 112, /* pixels of a picture at most */
	QUALITY = 82,
	SHEET_IMAGES = 4,
	SHEET_COPIES = 5,
	QUERIES = 8,
	FEW_QUERIES = 3,
	NEAREST = 3,
	MAX_ROWS = 60,   /* single images of lists */
	PER_LIST = 10,   /* of each */
	ATLAS_SIDE = 56, /* of a thumbnail, at first */
	ATLAS_LEAST = 24,
	ATLAS_QUALITY = 70,
	ATLAS_BYTES = 560000
};

typedef struct maker {
	inv_session *s;
	const inv_picture_request *q;
	inv_pictures pictures;
	int64_t *label; /* of the split; NULL: none */
	inv_page_pictures *out;
} maker;

/*
 * Means over the areas that the pixels of the smaller picture cover, into out
 * [to_h, stride, 3], of which to_w pixels are filled; also makes larger.
 */
static void resize(const uint8_t *rgb, uint32_t width, uint32_t height, uint32_t to_w,
                   uint32_t to_h, uint8_t *out, size_t stride)
{
	for (uint32_t i = 0; i < to_w * to_h * 3; i++) {
		uint32_t c = i % 3, x = i / 3 % to_w, y = i / 3 / to_w;
		uint32_t x0 = (uint32_t)((uint64_t)x * width / to_w);
		uint32_t x1 = (uint32_t)((uint64_t)(x + 1) * width / to_w);
		uint32_t y0 = (uint32_t)((uint64_t)y * height / to_h);
		uint32_t y1 = (uint32_t)((uint64_t)(y + 1) * height / to_h);
		uint64_t sum = 0, count;

		x1 = x1 > x0 ? x1 : x0 + 1;
		y1 = y1 > y0 ? y1 : y0 + 1;
		count = (uint64_t)(x1 - x0) * (y1 - y0);
		for (uint32_t v = y0; v < y1; v++)
			for (uint32_t u = x0; u < x1; u++)
				sum += rgb[((size_t)v * width + u) * 3 + c];
		out[(y * stride + x) * 3 + c] = (uint8_t)((sum + count / 2) / count);
	}
}

/* A row's picture as a small JPEG. */
static invar_status draw(maker *m, const char *split, uint64_t row, bool augmented,
                         inv_page_picture *out)
{
	uint8_t *rgb = NULL, *small = NULL;
	uint32_t width, height, longer;
	invar_status st;

	out->right = -1;
	INV_TRY(inv_pictures_draw(&m->pictures, m->q->images, split, row, augmented, &rgb,
	                          &width, &height));
	longer = width > height ? width : height;
	out->width = longer > SIDE ? (width * SIDE + longer - 1) / longer : width;
	out->height = longer > SIDE ? (height * SIDE + longer - 1) / longer : height;
	INV_TRY_OR(end, inv_new_array(&small, (size_t)out->width * out->height * 3));
	resize(rgb, width, height, out->width, out->height, small, out->width);
	st = inv_jpeg_encode(small, out->width, out->height, QUALITY, &out->bytes, &out->size);
end:
	inv_free(small);
	invar_free(rgb);
	return st;
}

/* The class of a label; NULL without one, or without memory for it. */
static char *class_caption(const maker *m, int64_t label)
{
	const char *name = label >= 0 ? inv_bank_class(m->q->bank, label) : NULL;
	char *number;

	if (name)
		return strdup(name);
	return label >= 0 && asprintf(&number, "class %lld", (long long)label) >= 0 ? number
	                                                                            : NULL;
}

static invar_status draw_copies_sheet(maker *m)
{
	uint64_t rows = invar_bank_rows(m->q->bank, m->q->split);
	uint32_t copies = invar_bank_copies(m->q->bank, m->q->split);
	size_t images = rows < SHEET_IMAGES ? (size_t)rows : SHEET_IMAGES;

	if (!m->pictures.augment || !copies)
		return INVAR_OK;
	copies = copies < SHEET_COPIES ? copies : SHEET_COPIES;
	m->out->per_image = 1 + copies;
	if (!(m->out->sheet = calloc(images * (1 + copies), sizeof *m->out->sheet)))
		return inv_no_memory();
	m->out->sheet_count = images * (1 + copies);
	for (size_t i = 0; i < images; i++) {
		uint64_t row = (2 * i + 1) * rows / (2 * images);
		inv_page_picture *first = m->out->sheet + i * (1 + copies);

		INV_TRY(draw(m, m->q->split, row, false, first));
		first->caption = class_caption(m, m->label ? m->label[row] : -1);
		for (m->pictures.copy = 0; m->pictures.copy < copies; m->pictures.copy++)
			INV_TRY(draw(m, m->q->split, row, true, first + 1 + m->pictures.copy));
	}
	m->pictures.copy = 0;
	return INVAR_OK;
}

static invar_status draw_search(maker *m)
{
	bool train = inv_bank_has_split(m->q->bank, "train") &&
	             inv_dataset_count(m->q->images, "train") > 0;
	const inv_search search = {.bank = m->q->bank,
	                           .split = m->q->split,
	                           .gallery = train ? "train" : m->q->split,
	                           .adapter = m->q->adapter,
	                           .queries = m->q->search_only ? FEW_QUERIES : QUERIES,
	                           .nearest = NEAREST};
	inv_page_pictures *out = m->out;
	inv_answers a = {0};
	invar_status st;

	if (!m->q->adapter || !invar_bank_copies(m->q->bank, m->q->split))
		return INVAR_OK;
	INV_TRY_OR(end, inv_search_run(m->s, &search, &a));
	out->query_title = strdup(m->q->title);
	if (!(out->query = calloc(a.queries + 1, sizeof *out->query))) {
		st = inv_no_memory();
		goto end;
	}
	for (size_t i = 0; i < a.queries; i++) {
		const inv_query *q = &a.query[i];
		inv_page_query *to = &out->query[out->query_count++];

		to->nearest = NEAREST;
		INV_TRY_OR(end, draw(m, m->q->split, q->row, false, &to->clean));
		to->clean.caption = class_caption(m, q->label);
		if (m->pictures.augment) {
			INV_TRY_OR(end, draw(m, m->q->split, q->row, true, &to->augmented));
			to->augmented.caption = strdup("as looked up");
		}
		for (size_t k = 0; k < 2; k++) { /* found by F, then by E */
			const inv_found *f = k ? &q->by_e : &q->by_f;
			inv_page_picture *found = calloc(NEAREST, sizeof *found);

			*(k ? &to->by_e : &to->by_f) = found;
			if (!found) {
				st = inv_no_memory();
				goto end;
			}
			for (size_t j = 0; j < f->count; j++, found++) {
				int64_t label = a.label ? a.label[f->row[j]] : -1;
				uint64_t row = f->row[j];
				const char *split = inv_search_split(&search, &row);

				INV_TRY_OR(end, draw(m, split, row, false, found));
				found->same = inv_search_is_same(&search, q, f->row[j]);
				found->caption =
					found->same ? strdup("same image") : class_caption(m, label);
				found->right = q->label < 0 ? -1 : label == q->label;
			}
		}
	}
end:
	inv_answers_clear(&a);
	return st;
}

/* Every list of images in the details of every measurement; an image of several once. */
static invar_status draw_lists(maker *m)
{
	json_t *all = (json_t *)(uintptr_t)inv_results_all_details(m->q->results);
	uint64_t rows = invar_bank_rows(m->q->bank, m->q->split);
	const char *measurement, *column, *what;
	json_t *details, *of, *list, *image;
	inv_page_pictures *out = m->out;
	size_t i;

	out->row = calloc(MAX_ROWS, sizeof *out->row);
	out->row_number = calloc(MAX_ROWS, sizeof *out->row_number);
	if (!out->row || !out->row_number)
		return inv_no_memory();
	json_object_foreach (all, measurement, details)
		json_object_foreach (details, column, of)
			json_object_foreach (of, what, list)
				json_array_foreach (list, i, image) {
					const json_t *number = json_object_get(image, "row");
					uint64_t row = (uint64_t)json_integer_value(number);
					size_t k = 0;

					while (k < out->row_count && out->row_number[k] != row)
						k++;
					if (!json_is_integer(number) || row >= rows || i >= PER_LIST ||
					    k < out->row_count || k == MAX_ROWS)
						continue;
					out->row_number[k] = row;
					out->row_count++;
					INV_TRY(draw(m, m->q->split, row, false, &out->row[k]));
				}
	return INVAR_OK;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The rows of the first scatter that has some: each once, ascending, with their names. */
static invar_status list_rows(maker *m)
{
	const invar_results *r = m->q->results;
	uint64_t rows = invar_bank_rows(m->q->bank, m->q->split);
	inv_page_atlas *a = &m->out->atlas;
	const inv_points *p = NULL;
	const inv_scatter *s;
	char **names = NULL;

	for (size_t i = 0; !p && (s = inv_results_scatter(r, i)); i++)
		for (size_t c = 0; !p && c < invar_results_columns(r); c++) {
			p = inv_results_points(r, s->id, invar_results_column(r, c)->id);
			p = p && p->rows ? p : NULL;
		}
	if (!p)
		return INVAR_OK;
	if (!(a->row = malloc((p->count + 1) * sizeof *a->row)))
		return inv_no_memory();
	memcpy(a->row, p->rows, p->count * sizeof *a->row);
	qsort(a->row, p->count, sizeof *a->row, by_number);
	for (size_t i = 0; i < p->count; i++)
		if (a->row[i] < rows && (!a->count || a->row[a->count - 1] != a->row[i]))
			a->row[a->count++] = a->row[i];

	if (!inv_bank_has_names(m->q->bank, m->q->split))
		return INVAR_OK;
	INV_TRY(invar_bank_names(m->q->bank, m->q->split, &names));
	if ((a->name = calloc(a->count + 1, sizeof *a->name)))
		for (size_t i = 0; i < a->count; i++)
			a->name[i] = strndup(names[a->row[i]], 120);
	invar_free(names);
	return a->name ? INVAR_OK : inv_no_memory();
}

/*
 * Thumbnails of all rows in one picture [lines * side, across * side, 3], of smaller ones
 * if these would not fit their place in the page.
 */
static invar_status draw_atlas(maker *m)
{
	inv_page_atlas *a = &m->out->atlas;
	const size_t cell = ATLAS_SIDE * ATLAS_SIDE * 3;
	uint8_t *cells, *all = NULL;
	uint32_t lines;
	invar_status st;

	INV_TRY(list_rows(m));
	if (!a->row)
		return INVAR_OK;
	a->across = 32;
	lines = (uint32_t)((a->count + a->across - 1) / a->across);
	INV_TRY(inv_new_array(&cells, (a->count + 1) * cell));
	for (size_t i = 0; i < a->count; i++) {
		uint8_t *rgb = NULL;
		uint32_t width, height;

		INV_TRY_OR(end, inv_pictures_draw(&m->pictures, m->q->images, m->q->split,
		                                  a->row[i], false, &rgb, &width, &height));
		resize(rgb, width, height, ATLAS_SIDE, ATLAS_SIDE, cells + i * cell, ATLAS_SIDE);
		invar_free(rgb);
	}
	for (uint32_t side = ATLAS_SIDE; side >= ATLAS_LEAST; side -= 8) {
		size_t width = (size_t)a->across * side;

		inv_free(all);
		invar_free(a->bytes);
		a->bytes = NULL;
		a->side = side;
		INV_TRY_OR(end, inv_new_zeros(&all, width * lines * side * 3));
		for (size_t i = 0; i < a->count; i++)
			resize(cells + i * cell, ATLAS_SIDE, ATLAS_SIDE, side, side,
			       all + (i / a->across * side * width + i % a->across * side) * 3, width);
		INV_TRY_OR(end, inv_jpeg_encode(all, (uint32_t)width, lines * side, ATLAS_QUALITY,
		                                &a->bytes, &a->size));
		if (a->size <= ATLAS_BYTES)
			break;
	}
end:
	inv_free(all);
	inv_free(cells);
	return st;
}

invar_status inv_report_pictures(inv_session *s, const inv_picture_request *q,
                                 inv_page_pictures *out)
{
	maker m = {.s = s, .q = q, .out = out};
	invar_status st;

	*out = (inv_page_pictures){0};
	INV_TRY_OR(end, inv_pictures_open(s, q->bank, q->split, 0, &m.pictures));
	if (invar_bank_has_labels(q->bank, q->split)) {
		INV_TRY_OR(end, inv_new_array(&m.label, invar_bank_rows(q->bank, q->split) + 1));
		INV_TRY_OR(end, invar_bank_labels(q->bank, q->split, m.label));
	}
	if (!q->search_only)
		INV_TRY_OR(end, draw_copies_sheet(&m));
	INV_TRY_OR(end, draw_search(&m));
	if (!q->search_only) {
		INV_TRY_OR(end, draw_lists(&m));
		st = draw_atlas(&m);
	}
end:
	inv_free(m.label);
	inv_pictures_close(&m.pictures);
	return st;
}

static void clear_pictures(inv_page_picture *p, size_t count)
{
	for (size_t i = 0; p && i < count; i++) {
		invar_free(p[i].bytes);
		free(p[i].caption);
	}
}

void inv_page_pictures_clear(inv_page_pictures *p)
{
	for (size_t i = 0; i < p->query_count; i++) {
		inv_page_query *q = &p->query[i];

		clear_pictures(&q->clean, 1);
		clear_pictures(&q->augmented, 1);
		clear_pictures(q->by_f, q->nearest);
		clear_pictures(q->by_e, q->nearest);
		free(q->by_f);
		free(q->by_e);
	}
	clear_pictures(p->sheet, p->sheet_count);
	clear_pictures(p->row, p->row_count);
	for (size_t i = 0; p->atlas.name && i < p->atlas.count; i++)
		free(p->atlas.name[i]);
	invar_free(p->atlas.bytes);
	free(p->atlas.row);
	free(p->atlas.name);
	free(p->query);
	free(p->query_title);
	free(p->sheet);
	free(p->row);
	free(p->row_number);
	*p = (inv_page_pictures){0};
}
