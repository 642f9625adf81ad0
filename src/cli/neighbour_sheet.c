/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_sheet.c - finds the nearest images of augmented queries and draws them.
 *
 * Queries are the first image of each class or spread evenly, never those that look best.
 * With labels a green frame is the right class and a red one is not. Pictures are prepared
 * and augmented as bank.json says, with the parameters that the bank has kept, so that they
 * are what the encoder saw. The gallery is read in blocks.
 */
#include "cli/neighbour_sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_files.h"
#include "report/sheet.h"

enum { FRAME = 3, BLOCK = 2048, NORMALIZE = 256 };

static const uint8_t paper[3] = {251, 250, 248}, right[3] = {46, 139, 87},
					 wrong[3] = {200, 60, 50};

/* What one query finds, nearest first. */
typedef struct found {
	uint64_t row[INV_MAX_NEAREST];
	double distance[INV_MAX_NEAREST];
	size_t count;
} found;

typedef struct query {
	uint64_t row;
	int64_t label; /* -1: none */
	found by_f, by_e;
} query;

typedef struct picture_maker {
	invar_augment *augment; /* NULL: the bank does not say how copies were made */
	invar_array *params;    /* NULL: as above */
	char normalize[NORMALIZE];
	char side[24];
	double seed;
} picture_maker;

typedef struct sheet_maker {
	inv_session *s;
	const inv_neighbours *n;
	uint32_t dim;
	int64_t *label;  /* of the gallery; NULL: none */
	char **names[2]; /* of the rows of queries and gallery; NULL: none */
	query *query;
	size_t queries;
	picture_maker pictures;
	inv_sheet_cell *cell;
	size_t cells, across;
} sheet_maker;

/* ---- Queries ------------------------------------------------------------------------- */

static bool is_first_of_class(const int64_t *label, uint64_t row)
{
	for (uint64_t i = 0; i < row; i++)
		if (label[i] == label[row])
			return false;
	return label[row] >= 0;
}

static void choose_by_class(sheet_maker *m, const int64_t *label, uint64_t rows)
{
	for (uint64_t i = 0; i < rows && m->queries < m->n->queries; i++)
		if (is_first_of_class(label, i))
			m->query[m->queries++] = (query){.row = i, .label = label[i]};
}

static void choose_evenly(sheet_maker *m, uint64_t rows)
{
	size_t wanted = m->n->queries < rows ? m->n->queries : (size_t)rows;

	for (; m->queries < wanted; m->queries++)
		m->query[m->queries] =
			(query){.row = (uint64_t)m->queries * rows / wanted, .label = -1};
}

/* Gives the labels of a split, or NULL in *out where it has none. */
static invar_status read_labels(sheet_maker *m, const char *split, int64_t **out)
{
	uint64_t rows = invar_bank_rows(m->n->bank, split);

	*out = NULL;
	if (!invar_bank_has_labels(m->n->bank, split))
		return INVAR_OK;
	if (!(*out = malloc(rows * sizeof **out)))
		return inv_no_memory(m->s);
	return invar_bank_labels(m->n->bank, split, *out);
}

static invar_status choose_queries(sheet_maker *m)
{
	uint64_t rows = invar_bank_rows(m->n->bank, m->n->split);
	int64_t *label;
	invar_status st = read_labels(m, m->n->split, &label);

	if (st == INVAR_OK)
		st = read_labels(m, m->n->gallery, &m->label);
	if (st == INVAR_OK && label && m->label)
		choose_by_class(m, label, rows);
	if (st == INVAR_OK && !m->queries)
		choose_evenly(m, rows);
	free(label);
	return st;
}

/* ---- Nearest rows ---------------------------------------------------------------------
 */

static double squared_distance(const float *a, const float *b, uint32_t dim)
{
	double sum = 0;

	for (uint32_t i = 0; i < dim; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* Keeps the nearest in order; of equal ones the earlier row comes first. */
static void offer(found *f, size_t most, uint64_t row, double distance)
{
	size_t at;

	if (f->count == most && !(distance < f->distance[most - 1]))
		return;
	at = f->count < most ? f->count++ : most - 1;
	for (; at > 0 && distance < f->distance[at - 1]; at--) {
		f->distance[at] = f->distance[at - 1];
		f->row[at] = f->row[at - 1];
	}
	f->distance[at] = distance;
	f->row[at] = row;
}

/* z and e are [queries, dim]: the copies of the queries as they are, and after E. */
static void search_block(sheet_maker *m, const float *block, uint64_t first, uint64_t rows,
                         const float *z, const float *e)
{
	for (size_t q = 0; q < m->queries; q++)
		for (uint64_t i = 0; i < rows; i++) {
			const float *row = block + i * m->dim;

			offer(&m->query[q].by_f, m->n->nearest, first + i,
			      squared_distance(z + q * m->dim, row, m->dim));
			offer(&m->query[q].by_e, m->n->nearest, first + i,
			      squared_distance(e + q * m->dim, row, m->dim));
		}
}

static invar_status read_queries(sheet_maker *m, float *z, float *e)
{
	invar_status st = INVAR_OK;

	for (size_t q = 0; q < m->queries && st == INVAR_OK; q++)
		st = invar_bank_read(m->n->bank, m->n->split, (int32_t)m->n->copy, m->query[q].row,
		                     1, z + q * m->dim);
	return st == INVAR_OK ? invar_adapter_apply(m->n->adapter, z, m->queries, e) : st;
}

static invar_status search(sheet_maker *m)
{
	uint64_t rows = invar_bank_rows(m->n->bank, m->n->gallery);
	float *z = malloc(2 * m->queries * m->dim * sizeof *z), *e;
	float *block = malloc((size_t)BLOCK * m->dim * sizeof *block);
	invar_status st = z && block ? INVAR_OK : inv_no_memory(m->s);

	e = z ? z + m->queries * m->dim : NULL;
	if (st == INVAR_OK)
		st = read_queries(m, z, e);
	for (uint64_t first = 0; first < rows && st == INVAR_OK; first += BLOCK) {
		uint64_t count = rows - first < BLOCK ? rows - first : BLOCK;

		st = invar_bank_read(m->n->bank, m->n->gallery, INVAR_CLEAN, first, count, block);
		if (st == INVAR_OK)
			search_block(m, block, first, count, z, e);
	}
	free(block);
	free(z);
	return st;
}

/* ---- How pictures are made ------------------------------------------------------------
 */

/* "0.485,0.456,0.406/0.229,0.224,0.225"; "none" where bank.json does not say. */
static void spell_normalize(const json_t *preprocess, char out[NORMALIZE])
{
	static const char *const keys[] = {"mean", "std"};
	size_t length = 0;

	for (size_t k = 0; k < 2; k++) {
		const json_t *list = json_object_get(preprocess, keys[k]), *one;
		size_t i;

		json_array_foreach (list, i, one)
			if (length < NORMALIZE - 32)
				length += (size_t)snprintf(out + length, NORMALIZE - length, "%s%.9g",
				                           i   ? ","
				                           : k ? "/"
				                               : "",
				                           json_number_value(one));
	}
	if (!length || !strchr(out, '/'))
		snprintf(out, NORMALIZE, "none");
}

/* The parameters of the copies, where the bank has kept them. */
static invar_status open_params(sheet_maker *m)
{
	char *path;
	invar_status st = INVAR_OK;

	if (asprintf(&path, "%s/%s/aug/%03u.params.npy", m->n->bank_path, m->n->split,
	             (unsigned)m->n->copy) < 0)
		return inv_no_memory(m->s);
	if (access(path, R_OK) == 0)
		st = invar_array_open(m->s->ctx, path, &m->pictures.params);
	free(path);
	return st;
}

/* A SPEC with inside=1 takes pictures that are larger than the bank's size. */
static invar_status choose_side(sheet_maker *m, const json_t *preprocess)
{
	const json_t *size = json_object_get(preprocess, "size");
	json_int_t height = json_integer_value(json_array_get(size, 0));
	uint64_t seen[4] = {1, 3, (uint64_t)height, (uint64_t)height}, prepared[4];
	invar_status st = INVAR_OK;

	snprintf(m->pictures.side, sizeof m->pictures.side, "native");
	if (height < 1 || height != json_integer_value(json_array_get(size, 1)))
		return INVAR_OK;
	memcpy(prepared, seen, sizeof seen);
	if (m->pictures.augment)
		st = invar_augment_prepared(m->pictures.augment, seen, prepared);
	snprintf(m->pictures.side, sizeof m->pictures.side, "%llu",
	         (unsigned long long)prepared[2]);
	return st;
}

/* Old or foreign banks may not say how their copies were made: these are not shown then. */
static invar_status prepare_pictures(sheet_maker *m)
{
	const char *spec = invar_bank_field(m->n->bank, "augment");
	char *path = inv_path(m->n->bank_path, "bank.json");
	json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
	const json_t *preprocess = json_object_get(json, "preprocess");
	invar_status st = path ? open_params(m) : inv_no_memory(m->s);

	m->pictures.seed = json_number_value(json_object_get(json, "seed"));
	spell_normalize(preprocess, m->pictures.normalize);
	if (st == INVAR_OK && spec && m->pictures.params)
		st = invar_augment_parse(m->s->ctx, spec, &m->pictures.augment);
	if (st == INVAR_OK && m->pictures.augment)
		st = invar_augment_pixels(m->pictures.augment, m->pictures.normalize);
	if (st == INVAR_OK)
		st = choose_side(m, preprocess);
	json_decref(json);
	free(path);
	return st;
}

/* ---- Which image a row is --------------------------------------------------------------
 */

static invar_status read_names(sheet_maker *m)
{
	const char *const split[] = {m->n->split, m->n->gallery};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < 2 && st == INVAR_OK; i++)
		if (invar_bank_has_names(m->n->bank, split[i]))
			st = invar_bank_names(m->n->bank, split[i], &m->names[i]);
	return st;
}

/* By its name where the bank has names; else rows and images are in the same order. */
static invar_status find_image(sheet_maker *m, const invar_dataset *images,
                               const char *split, uint64_t row, uint64_t *out)
{
	uint64_t count = invar_dataset_count(images, split);
	char **names = m->names[strcmp(split, m->n->split) != 0];

	*out = row;
	if (!names)
		return count == invar_bank_rows(m->n->bank, split)
		           ? INVAR_OK
		           : inv_fault(m->s, INVAR_E_MISMATCH,
		                       "%s has %llu rows of %s, but the data set has %llu images; "
		                       "give the data set with the options of 'invar encode'",
		                       m->n->bank_path,
		                       (unsigned long long)invar_bank_rows(m->n->bank, split),
		                       split, (unsigned long long)count);
	for (*out = 0; *out < count; (*out)++) {
		const char *name = invar_dataset_name(images, split, *out);

		if (name && strcmp(name, names[row]) == 0)
			return INVAR_OK;
	}
	return inv_fault(
		m->s, INVAR_E_MISMATCH,
		"the data set has no image '%s', which row %llu of %s was made from; "
		"give the data set with the options of 'invar encode'",
		names[row], (unsigned long long)invar_bank_file_row(m->n->bank, split, row), split);
}

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

static invar_status set_draws(const sheet_maker *m, invar_options *o, uint64_t row)
{
	invar_status st = invar_options_set(o, "split", m->n->split);

	if (st == INVAR_OK)
		st = invar_options_set_number(o, "seed", m->pictures.seed);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "copy", m->n->copy);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "first", (double)row);
	return st;
}

/* The prepared picture as the encoder sees it: row's copy, or its centre; gives *out. */
static invar_status view_tensor(const sheet_maker *m, invar_options *o, bool augmented,
                                uint64_t row, const float *x, const uint64_t shape[4],
                                float **out, uint64_t seen[4])
{
	const invar_augment *a = m->pictures.augment;
	float *params = NULL;
	invar_status st = augmented ? invar_augment_result(a, shape, seen)
	                            : invar_augment_clean(a, x, shape, seen, NULL);

	if (st == INVAR_OK && !(*out = malloc(seen[1] * seen[2] * seen[3] * sizeof **out)))
		st = inv_no_memory(m->s);
	if (st == INVAR_OK && !augmented)
		return invar_augment_clean(a, x, shape, seen, *out);
	if (st == INVAR_OK &&
	    !(params = malloc((invar_augment_columns(a) + 1) * sizeof *params)))
		st = inv_no_memory(m->s);
	if (st == INVAR_OK)
		st = invar_array_read(m->pictures.params, row, 1, params);
	if (st == INVAR_OK)
		st = set_draws(m, o, row);
	if (st == INVAR_OK)
		st = invar_augment_apply(a, o, x, shape, params, *out);
	free(params);
	return st;
}

static invar_status fill_cell(sheet_maker *m, inv_sheet_cell *cell, const float *x,
                              const uint64_t shape[4], const uint8_t colour[3])
{
	uint8_t *rgb = NULL;
	invar_status st =
		invar_tensor_to_image(m->s->ctx, x, shape, m->pictures.normalize, &rgb);

	if (st != INVAR_OK)
		return st;
	cell->rgb = framed(rgb, (uint32_t)shape[3], (uint32_t)shape[2], colour);
	cell->width = (uint32_t)shape[3] + 2 * FRAME;
	cell->height = (uint32_t)shape[2] + 2 * FRAME;
	invar_free(rgb);
	return cell->rgb ? INVAR_OK : inv_no_memory(m->s);
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

static invar_status draw_picture(sheet_maker *m, const picture *p, invar_options *o,
                                 inv_sheet_cell *cell)
{
	uint8_t *rgb = NULL;
	float *tensor = NULL, *seen = NULL;
	uint32_t width, height;
	uint64_t image, shape[4], seen_shape[4];
	invar_status st = find_image(m, p->images, p->split, p->row, &image);

	if (st == INVAR_OK)
		st = invar_dataset_read(p->images, p->split, image, &rgb, &width, &height);
	if (st == INVAR_OK)
		st = invar_image_to_tensor(m->s->ctx, rgb, width, height, o, &tensor, shape);
	if (st == INVAR_OK && m->pictures.augment)
		st = view_tensor(m, o, p->augmented,
		                 invar_bank_file_row(m->n->bank, p->split, p->row), tensor, shape,
		                 &seen, seen_shape);
	if (st == INVAR_OK)
		st = fill_cell(m, cell, seen ? seen : tensor, seen ? seen_shape : shape, p->colour);
	invar_free(rgb);
	invar_free(tensor);
	free(seen);
	return st;
}

static invar_status add_picture(sheet_maker *m, const picture *p)
{
	inv_sheet_cell *cell = &m->cell[m->cells++];
	invar_options *o = NULL;
	invar_status st = invar_options_new("augment", &o);

	if (st == INVAR_OK)
		st = invar_options_set(o, "size", m->pictures.side);
	if (st == INVAR_OK)
		st = invar_options_set(o, "normalize", m->pictures.normalize);
	if (st == INVAR_OK)
		st = draw_picture(m, p, o, cell);
	invar_options_free(o);
	if (p->label >= 0 && (size_t)p->label < invar_dataset_classes(p->images))
		cell->caption = invar_dataset_class_title(p->images, (size_t)p->label);
	cell->detail = p->detail;
	return st;
}

static invar_status add_found(sheet_maker *m, const query *q, const found *f,
                              const char *detail)
{
	invar_status st = INVAR_OK;

	m->cells++; /* an empty place */
	for (size_t i = 0; i < f->count && st == INVAR_OK; i++) {
		int64_t label = m->label ? m->label[f->row[i]] : -1;
		const uint8_t *colour = q->label < 0 ? paper : label == q->label ? right : wrong;
		const picture p = {.images = m->n->gallery_images,
		                   .split = m->n->gallery,
		                   .row = f->row[i],
		                   .label = label,
		                   .colour = colour,
		                   .detail = detail};

		st = add_picture(m, &p);
	}
	m->cells += m->n->nearest - f->count;
	return st;
}

/* One row of the sheet: the image, its copy, neighbours by F, neighbours by E. */
static invar_status add_query(sheet_maker *m, const query *q)
{
	picture p = {.images = m->n->query_images,
	             .split = m->n->split,
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
	invar_status st;

	m->across = 4 + 2 * m->n->nearest;
	m->query = calloc(m->n->queries, sizeof *m->query);
	m->cell = calloc(m->n->queries * m->across, sizeof *m->cell);
	if (!m->query || !m->cell)
		return inv_no_memory(m->s);
	if ((st = choose_queries(m)) != INVAR_OK || (st = prepare_pictures(m)) != INVAR_OK ||
	    (st = read_names(m)) != INVAR_OK || (st = search(m)) != INVAR_OK)
		return st;
	for (size_t q = 0; q < m->queries && st == INVAR_OK; q++)
		st = add_query(m, &m->query[q]);
	return st;
}

static void free_sheet(sheet_maker *m)
{
	for (size_t i = 0; m->cell && i < m->cells; i++)
		free((void *)(uintptr_t)m->cell[i].rgb);
	free(m->cell);
	free(m->query);
	free(m->label);
	invar_free(m->names[0]);
	invar_free(m->names[1]);
	invar_array_close(m->pictures.params);
	invar_augment_close(m->pictures.augment);
}

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n, const char *path)
{
	sheet_maker m = {.s = s, .n = n, .dim = invar_bank_dim(n->bank)};
	invar_status st = fill_sheet(&m);

	if (st == INVAR_OK) {
		const inv_sheet sheet = {
			.title = "What an index of clean images finds for augmented ones",
			.subtitle = m.label
		                    ? "the nearest features by the encoder alone, then with the "
		                      "adapter behind it; the index is the same. Green: right class"
		                    : "the nearest features by the encoder alone, then with the "
		                      "adapter behind it; the index is the same",
			.cells = m.cell,
			.count = m.cells,
			.columns = m.across,
		};

		st = inv_sheet_write(s->ctx, path, &sheet, s->fault, sizeof s->fault);
	}
	free_sheet(&m);
	return st;
}
