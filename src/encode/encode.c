/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - from a data set to a bank.
 *
 * The description of the bank is built first and compared with an existing bank; then each
 * split gets its missing arrays: clean rows, labels, copies. An interrupted split resumes
 * where its block map says (block_map.h). Views are made once all copies of the split are
 * finished, by one more pass over the images, so that they can be added to any bank.
 *
 * Images that cannot be read are left out of all arrays of a split, and bank.json lists
 * them. They are found while the clean rows are made: until then a split is open, its
 * arrays are long enough for all images, and bank.json lists those found so far. In the end
 * the arrays are shortened; labels and names, which depend on the rows, are written then.
 * Several ranks have to know the rows before they start, so rank 0 decodes every image once
 * before.
 *
 * Of several ranks, rank 0 owns the bank: it alone creates, finishes and removes files. For
 * a pass over a split it prepares the part files and saves the map of blocks; then every
 * rank encodes a share of the missing blocks, writes its rows to their places in the same
 * part files, flushes them, and marks them in the map. Features depend on an image and its
 * index alone, so the bank has the same bytes for any number of ranks. Whatever kills a
 * rank, and whenever: rows without a mark are encoded again, rows with a mark are on the
 * disk, and a file gets its final name only after all ranks have finished.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rank_compare.h"
#include "base/text.h"
#include "encode/encode_options.h"
#include "encode/encode_pass.h"
#include "encode/encoding.h"
#include "formats/npy.h"
#include "images/prefetch.h"

typedef struct encoding {
	inv_encoding of;
	const char *path;
	json_t *about;         /* what bank.json says about all splits */
	inv_bank_writer *bank; /* NULL: rank 0 has it */
	inv_pipeline *walk;
	unsigned ranks; /* that encode, this one included */
	bool again;     /* images are compared even if nothing is missing */
} encoding;

/* ---- The rows of a split ---------------------------------------------------------- */

typedef struct split_job {
	const inv_images *split; /* as the data set has it */
	inv_images images;       /* without the images left out; borrows the rest */
	uint32_t *index;         /* owned; NULL if nothing is left out */
	json_t *left_out;        /* indices */
	json_t *entry;           /* what bank.json says about it */
	int64_t *labels;         /* NULL: none */
	char *map_path;
	bool begun; /* some blocks are there */
	bool open;  /* images that cannot be read are still being found */
	inv_lost lost;
	inv_finished there;
	uint64_t copies; /* wanted */
	bool views;      /* wanted */
	bool compared;   /* all ranks read the same images */
} split_job;

/* Of arrays that are being filled. */
static uint64_t rows_to_fill(const split_job *p)
{
	return p->open ? p->split->count : p->images.count;
}

/* "BANK/SPLIT/name"; gives, inv_free. */
static invar_status split_path(const encoding *k, const split_job *p, const char *name,
                               char **out)
{
	char *folder = inv_join(k->path, p->split->name);

	*out = folder ? inv_join(folder, name) : NULL;
	inv_free(folder);
	return *out ? INVAR_OK : inv_no_memory();
}

/* Only its size is checked; an image that cannot be prepared is broken as well. */
static invar_status check_image_size(void *user, inv_image *image,
                                     const inv_prefetch_item *item, unsigned worker)
{
	const encoding *k = user;
	size_t h, w;

	(void)item;
	(void)worker;
	return inv_prepared_size(&k->of.preparation, image->height, image->width,
	                         k->of.dataset->text, &h, &w);
}

static invar_status find_readable(encoding *k, split_job *p)
{
	const inv_images *s = p->split;
	const inv_prefetch_item *item;
	inv_prefetch *ahead;
	invar_status st;
	char stage[80];

	snprintf(stage, sizeof stage, "check %.60s", s->name);
	INV_TRY_OR(end, inv_prefetch_new(k->of.ctx, k->of.dataset, s, 0, s->count,
	                                 check_image_size, k, 1, &ahead));
	for (uint64_t next = 0; next < s->count;) {
		uint64_t readable;

		INV_TRY_OR(end, inv_prefetch_next(ahead, &item));
		readable = item ? item->row : s->count;
		for (; next < readable; next++) {
			json_t *index = json_integer((json_int_t)inv_images_index(s, next));

			if (json_array_append_new(p->left_out, index) != 0) {
				st = inv_no_memory();
				goto end;
			}
		}
		next++;
		if (next % 256 == 0)
			INV_TRY_OR(end, inv_progress(k->of.ctx, stage,
			                             next < s->count ? next : s->count, s->count));
	}
end:
	inv_prefetch_free(ahead);
	return st;
}

static invar_status leave_images_out(encoding *k, split_job *p)
{
	p->images = *p->split;
	if (!json_array_size(p->left_out))
		return INVAR_OK;
	INV_TRY(inv_images_without(p->split, p->left_out, &p->index, &p->images.count));
	p->images.index = p->index;
	return p->images.count
	           ? INVAR_OK
	           : inv_fail(INVAR_E_FORMAT, "%s: no image in its split %s can be read",
	                      k->of.dataset->text, p->split->name);
}

static json_t *split_entry(const split_job *p, uint64_t rows, json_t *left_out, bool open)
{
	return json_pack("{s:I, s:I, s:O, s:o*}", "images", (json_int_t)p->split->total, "rows",
	                 (json_int_t)rows, "left_out", left_out, "open",
	                 open ? json_true() : NULL);
}

/* Indices in order, those found now among those known before. */
static invar_status add_lost(const split_job *p, const inv_lost *lost, json_t *left_out)
{
	for (size_t i = 0; i < lost->count; i++) {
		json_int_t index = (json_int_t)inv_images_index(&p->images, lost->row[i]);
		size_t at = json_array_size(left_out);

		while (at && json_integer_value(json_array_get(left_out, at - 1)) > index)
			at--;
		if (json_array_insert_new(left_out, at, json_integer(index)) != 0)
			return inv_no_memory();
	}
	return INVAR_OK;
}

typedef struct keeper {
	encoding *k;
	const split_job *p;
} keeper;

/* What is known so far, in bank.json. */
static invar_status list_lost(void *user, const inv_lost *lost)
{
	const keeper *keep = user;
	const split_job *p = keep->p;
	json_t *left_out = json_deep_copy(p->left_out), *entry = NULL;
	invar_status st;

	INV_TRY_OR(end, left_out ? add_lost(p, lost, left_out) : inv_no_memory());
	entry = split_entry(p, p->images.count - lost->count, left_out, true);
	INV_TRY_OR(end, entry ? INVAR_OK : inv_no_memory());
	st = inv_bank_writer_begin(keep->k->bank, p->split->name, entry, p->copies > 0);
end:
	json_decref(left_out);
	json_decref(entry);
	return st;
}

/* ---- Existing rows must match ------------------------------------------------------- */

/* Sets p->labels; NULL if the split has none, or not for every row. */
static invar_status read_split_labels(const encoding *k, split_job *p)
{
	uint64_t rows = p->images.count, missing = 0;

	inv_free(p->labels);
	p->labels = NULL;
	if (!p->split->labels)
		return INVAR_OK;
	INV_TRY(inv_new_array(&p->labels, rows));
	for (uint64_t i = 0; i < rows; i++) {
		p->labels[i] = inv_images_label(k->of.dataset, &p->images, i);
		missing += p->labels[i] < 0;
	}
	if (!missing)
		return INVAR_OK;
	inv_log(k->of.ctx, INVAR_LOG_WARNING,
	        "%s: %" PRIu64 " %s of %s %s no label, so no labels are written",
	        k->of.dataset->text, missing, inv_noun(missing, "image", "images"),
	        p->split->name, inv_noun(missing, "has", "have"));
	inv_free(p->labels);
	p->labels = NULL;
	return INVAR_OK;
}

static invar_status check_split_labels(const encoding *k, const split_job *p)
{
	char *path, text[INV_ROW_TEXT];
	inv_npy *there = NULL;
	invar_status st;

	INV_TRY_OR(end, split_path(k, p, "labels.npy", &path));
	if (!p->labels || !inv_exists(path))
		goto end;
	INV_TRY_OR(end, inv_npy_open(path, &there));
	for (uint64_t i = 0; i < p->images.count; i++) {
		int64_t label = -1;

		if (i < there->h.cells)
			INV_TRY_OR(end, inv_npy_read_int(there, i, 1, &label));
		if (label == p->labels[i])
			continue;
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: label %s is %" PRId64 ", but the image now has label %" PRId64
		              "; copies can only be added for the same images",
		              path, inv_image_text(k->of.dataset, &p->images, i, text), label,
		              p->labels[i]);
		goto end;
	}
end:
	inv_npy_close(there);
	inv_free(path);
	return st;
}

static invar_status check_existing_split(const encoding *k, const split_job *p)
{
	const json_t *entry = inv_bank_writer_entry(k->bank, p->split->name);
	uint64_t rows = p->there.clean
	                    ? p->there.rows
	                    : (uint64_t)json_integer_value(json_object_get(entry, "rows"));
	char *names;
	invar_status st = INVAR_OK;

	if (rows != p->images.count)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its split %s has %" PRIu64 " %s but %" PRIu64
		                " %s selected; select the same images, or make another bank",
		                k->path, p->split->name, rows, inv_noun(rows, "row", "rows"),
		                p->images.count,
		                inv_noun(p->images.count, "image was", "images were"));
	if (p->there.clean && p->there.width != k->of.width)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its split %s has rows of %" PRIu64
		                " numbers, but the encoder computes %" PRIu64,
		                k->path, p->split->name, p->there.width, k->of.width);
	INV_TRY(check_split_labels(k, p));
	INV_TRY(split_path(k, p, "names.txt", &names));
	if (k->of.dataset->kind->file && inv_exists(names))
		st = inv_row_names_check(names, k->of.dataset, &p->images);
	inv_free(names);
	return st;
}

/* Compares existing rows with rows computed now. */
typedef struct comparison {
	const encoding *k;
	const split_job *p;
	const inv_npy *known;
	float *row;
} comparison;

static invar_status compare_rows(void *user, size_t array, uint64_t row, size_t rows,
                                 const float *out, const float *params)
{
	const comparison *c = user;
	size_t width = c->known->h.shape[1];
	char text[INV_ROW_TEXT];

	(void)array;
	(void)params;
	for (size_t i = 0; i < rows; i++) {
		const float *now = out + i * width;
		float *there = c->row + (row + i) * width, max = 0, gap = 0;

		INV_TRY(inv_npy_read(c->known, (row + i) * width, width, there));
		for (size_t j = 0; j < width; j++) {
			max = fmaxf(max, fabsf(there[j]));
			gap = fmaxf(gap, fabsf(there[j] - now[j]));
		}
		if (gap > 2e-3f * max)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: row %s no longer matches its image; copies can only be "
			                "added for the same images",
			                c->known->path,
			                inv_image_text(c->k->of.dataset, &c->p->images, row + i, text));
	}
	return INVAR_OK;
}

/*
 * Existing clean rows must be reproduced, or new rows would belong to other images. The
 * first group is enough to tell; float16 and other processors change the last digits.
 */
static invar_status check_clean_rows(encoding *k, const split_job *p, const char *name)
{
	char *path;
	inv_pipeline_plan plan = {.images = &p->images,
	                          .count =
	                              p->images.count < INV_GROUP ? p->images.count : INV_GROUP,
	                          .copy = {INVAR_CLEAN},
	                          .arrays = 1,
	                          .put = compare_rows};
	comparison c = {.k = k, .p = p};
	inv_npy *known = NULL;
	invar_status st;

	INV_TRY_OR(end, split_path(k, p, name, &path));
	INV_TRY_OR(end, inv_npy_open(path, &known));
	c.known = known;
	plan.user = &c;
	INV_TRY_OR(end, inv_new_array(&c.row, plan.count * k->of.width));
	st = inv_pipeline_run(k->walk, &plan);
end:
	inv_npy_close(known);
	inv_free(c.row);
	inv_free(path);
	return st;
}

/* Fingerprints of finished rows; *out is NULL if there are none. */
static invar_status open_split_prints(const encoding *k, const split_job *p,
                                      const char *name, inv_npy **out)
{
	char *path;
	invar_status st;

	INV_TRY(split_path(k, p, name, &path));
	st = inv_fingerprints_open(path, rows_to_fill(p), out);
	inv_free(path);
	return st;
}

/* ---- What rows belong to ---------------------------------------------------------- */

/*
 * The map of a split. An array is identified by the hash of everything its rows depend on;
 * clean rows do not depend on the SPEC. Images left out do not count, as they are found on
 * the way; bank.json has them.
 */
static invar_status open_map(const encoding *k, const split_job *p, size_t from, bool views,
                             inv_block_map **out)
{
	static const char *const of_copies[] = {"augment", "augment_space", "augment_params",
	                                        "seed"};
	char of_labels[INV_SHA256_HEX] = "", hex[2][INV_SHA256_HEX]; /* clean rows, copies */
	uint64_t rows = p->split->count;
	invar_status st;

	INV_TRY(inv_block_map_open(p->map_path, rows, p->copies + 1, out));
	if (p->labels) {
		int64_t *labels;

		INV_TRY(inv_new_array(&labels, rows));
		for (uint64_t i = 0; i < rows; i++)
			labels[i] = inv_images_label(k->of.dataset, p->split, i);
		st = inv_sha256(labels, rows * sizeof *labels, of_labels);
		inv_free(labels);
		INV_TRY(st);
	}
	for (int copies = 0; copies < 2; copies++) {
		json_t *about = json_copy(k->about), *none = json_array(), *all;
		char *text;

		for (size_t i = 0; !copies && i < sizeof of_copies / sizeof *of_copies; i++)
			json_object_del(about, of_copies[i]);
		all = json_pack("{s:o, s:o, s:s, s:I, s:o*}", "about", about, "split",
		                split_entry(p, rows, none, false), "labels", of_labels, "width",
		                (json_int_t)k->of.width, "views",
		                views ? json_integer(INV_VIEWS) : NULL);
		json_decref(none);
		text = all ? inv_json_text(all, 0) : NULL;
		json_decref(all);
		st = text ? inv_sha256(text, strlen(text), hex[copies]) : inv_no_memory();
		inv_free(text);
		INV_TRY(st);
	}
	for (size_t i = from; i <= p->copies; i++)
		INV_TRY(inv_block_map_expect(*out, i, hex[i > 0]));
	return INVAR_OK;
}

/* ---- One split -------------------------------------------------------------------- */

static bool has_split_file(const encoding *k, const split_job *p, const char *name)
{
	char *path;
	bool there = split_path(k, p, name, &path) == INVAR_OK && inv_exists(path);

	inv_free(path);
	return there;
}

/* The files beside it were finished just before the program ended. */
static bool has_beside(const encoding *k, const split_job *p, const inv_block_map *map,
                       int32_t copy)
{
	char name[INV_ARRAY_NAME];

	for (uint64_t b = 0; b < inv_pass_blocks(p->images.count); b++)
		if (!inv_block_map_has(map, (size_t)(copy + 1), b))
			return false;
	return has_split_file(k, p, inv_array_name(copy, INV_BESIDE, name));
}

static invar_status open_array(encoding *k, const split_job *p, inv_pass *pass,
                               inv_pass_array *a)
{
	char name[INV_ARRAY_NAME];
	size_t number = (size_t)(a->copy + 1);
	bool kept = inv_block_map_any(pass->map, number), kept_beside, beside;

	INV_TRY(inv_rows_open(
		k->bank, p->split->name,
		inv_array_name(a->copy, pass->views ? INV_ROWS_OF_VIEWS : INV_ROWS, name),
		inv_pass_shape(pass, rows_to_fill(p)), &kept, &a->rows));
	if (a->copy != INVAR_CLEAN)
		beside = k->of.columns && !has_beside(k, p, pass->map, a->copy);
	else /* rows started by an older version have no fingerprints, and get none */
		beside = !kept || has_split_file(k, p, "fingerprints.npy.part");
	if (!pass->views && beside) {
		kept_beside = kept;
		INV_TRY(inv_rows_open(k->bank, p->split->name,
		                      inv_array_name(a->copy, INV_BESIDE, name),
		                      inv_pass_shape_beside(&k->of, a->copy, rows_to_fill(p)),
		                      &kept_beside, &a->beside));
		kept = kept && kept_beside;
	}
	if (kept)
		return INVAR_OK;
	/* Without the clean rows it is unknown which images the copies come from. */
	for (size_t i = 0; i < inv_block_map_arrays(pass->map); i++)
		if (a->copy == INVAR_CLEAN || i == number)
			inv_block_map_forget(pass->map, i);
	return INVAR_OK;
}

/* The files beside rows are written first, so that existing rows always have them. */
static invar_status close_arrays(inv_pass *pass, invar_status st)
{
	for (size_t i = 0; i < pass->arrays; i++) {
		inv_pass_array *a = &pass->array[i];
		bool keep = inv_block_map_any(pass->map, (size_t)(a->copy + 1));

		if (st == INVAR_OK && a->beside) {
			st = inv_rows_finish(a->beside);
			a->beside = NULL;
		}
		if (st == INVAR_OK) {
			st = inv_rows_finish(a->rows);
			a->rows = NULL;
		}
		inv_rows_leave(a->beside, keep);
		inv_rows_leave(a->rows, keep);
	}
	return st;
}

static invar_status save_names(const encoding *k, const split_job *p)
{
	char *path;
	invar_status st;

	INV_TRY(split_path(k, p, "names.txt", &path));
	st = inv_row_names_save(path, k->of.dataset, &p->images);
	inv_free(path);
	return st;
}

/* bank.json, and what says of each row which image it comes from. */
static invar_status save_about_rows(encoding *k, const split_job *p)
{
	const json_t *known = inv_bank_writer_entry(k->bank, p->split->name);
	bool rows = !p->there.clean && !p->open;

	if ((p->views || json_object_get(known, "views")) &&
	    json_object_set_new(p->entry, "views", json_integer(INV_VIEWS)) != 0)
		return inv_no_memory();
	INV_TRY(inv_bank_writer_begin(k->bank, p->split->name, p->entry, p->copies > 0));
	if (p->labels && rows)
		INV_TRY(
			inv_bank_writer_labels(k->bank, p->split->name, p->labels, p->images.count));
	return k->of.dataset->kind->file && rows ? save_names(k, p) : INVAR_OK;
}

/* All images were read: the rows of the split are known, and all that follows from them. */
static invar_status settle_rows(encoding *k, split_job *p, const inv_pass *pass)
{
	INV_TRY(add_lost(p, &p->lost, p->left_out));
	inv_free(p->index);
	p->index = NULL;
	INV_TRY(leave_images_out(k, p));
	INV_TRY(read_split_labels(k, p));
	p->open = false;
	json_decref(p->entry);
	if (!(p->entry = split_entry(p, p->images.count, p->left_out, false)))
		return inv_no_memory();
	INV_TRY(save_about_rows(k, p));
	for (size_t i = 0; i < pass->arrays && p->images.count < p->split->count; i++) {
		INV_TRY(inv_rows_shorten(pass->array[i].rows, p->images.count));
		if (pass->array[i].beside)
			INV_TRY(inv_rows_shorten(pass->array[i].beside, p->images.count));
	}
	return INVAR_OK;
}

/* ---- Several ranks ------------------------------------------------------------------ */

/* What rank 0 has prepared for a pass. */
typedef struct prepared {
	uint64_t maps;
	bool known, beside[INV_WALK_ARRAYS];
} prepared;

/* The part files, on every rank; on others than rank 0 also the map and fingerprints. */
static invar_status join_pass(const encoding *k, const split_job *p, const prepared *by_0,
                              inv_pass *pass, inv_npy **known)
{
	const inv_rows_shape shape = inv_pass_shape(pass, p->images.count);
	char *map, name[INV_ARRAY_NAME];
	invar_status st;

	for (size_t i = 0; i < pass->arrays; i++)
		pass->array[i].rows = pass->array[i].beside = NULL;
	for (size_t i = 0; i < pass->arrays; i++) {
		inv_pass_array *a = &pass->array[i];

		inv_array_name(a->copy, pass->views ? INV_ROWS_OF_VIEWS : INV_ROWS, name);
		INV_TRY(inv_rows_join(k->path, p->split->name, name, shape, &a->rows));
		inv_array_name(a->copy, INV_BESIDE, name);
		if (by_0->beside[i])
			INV_TRY(inv_rows_join(k->path, p->split->name, name,
			                      inv_pass_shape_beside(&k->of, a->copy, shape.rows),
			                      &a->beside));
	}
	if (k->bank)
		return INVAR_OK;
	INV_TRY(split_path(k, p, "done.part", &map));
	st = inv_block_map_join(map, p->split->count, (size_t)by_0->maps, &pass->map);
	inv_free(map);
	INV_TRY(st);
	if (by_0->known)
		INV_TRY(open_split_prints(k, p, "fingerprints.npy", known));
	if (*known)
		pass->known = *known;
	return INVAR_OK;
}

_Static_assert((int)INV_COMPARED_BYTES == (int)INV_FINGERPRINT,
               "images are compared by it");

typedef struct compared_images {
	const invar_dataset *d;
	const inv_images *s;
	inv_image *scratch; /* one per thread */
} compared_images;

static bool identify_image(void *user, size_t item, inv_file_id *out)
{
	const compared_images *c = user;

	return inv_images_file_id(c->d, c->s, item, out);
}

/* An image that is broken on all ranks is passed over by all. */
static invar_status print_rank_image(void *user, size_t item, unsigned thread,
                                     unsigned char out[INV_COMPARED_BYTES])
{
	const compared_images *c = user;
	inv_fingerprint print = {{0}};
	invar_status st = inv_images_fingerprint(c->d, c->s, item, &c->scratch[thread], &print);

	if (c->d->opts.skip_broken && inv_is_broken(st))
		st = INVAR_OK;
	memcpy(out, print.byte, INV_COMPARED_BYTES);
	return st;
}

static invar_status refuse_image(void *user, size_t item)
{
	const compared_images *c = user;
	char image[INV_ROW_TEXT], text[INV_ROW_TEXT + 512];

	snprintf(text, sizeof text, "%.256s: image %s of %.100s", c->d->text,
	         inv_image_text(c->d, c->s, item, image), c->s->name);
	return inv_fail_other_file(text);
}

/* All ranks: do they see the same images? (base/rank_compare.h) */
static invar_status compare_images_of_ranks(const invar_dataset *d, const inv_images *s)
{
	compared_images images = {.d = d, .s = s};
	const inv_compared c = {.count = s->count,
	                        .user = &images,
	                        .file = identify_image,
	                        .print = print_rank_image,
	                        .differs = refuse_image};
	invar_status st;

	INV_TRY(inv_new_zeros(&images.scratch, d->ctx->threads));
	st = inv_ranks_compare(d->ctx, &c);
	for (unsigned i = 0; i < d->ctx->threads; i++)
		inv_image_clear(&images.scratch[i]);
	inv_free(images.scratch);
	return st;
}

/*
 * Equal descriptions: the same weights, preparation and classes on all ranks. The images
 * themselves are compared before they are encoded.
 */
static invar_status compare_about(const encoding *k)
{
	const char *weights = json_string_value(json_object_get(k->about, "weights_sha256"));
	const char *file = inv_option_text(k->of.encoder->options, "weights");
	char hex[INV_SHA256_HEX] = "", *text;
	invar_status st;

	snprintf(hex, sizeof hex, "%s", weights ? weights : "");
	INV_TRY(inv_ranks_same(k->of.ctx, hex, file ? file : k->of.dataset->text));
	if (!(text = inv_json_text(k->about, 0)))
		return inv_no_memory();
	INV_TRY_OR(end, inv_sha256(text, strlen(text), hex));
	st = inv_ranks_same(k->of.ctx, hex, k->of.dataset->text);
end:
	inv_free(text);
	return st;
}

/* The other ranks get what is there, and which images have rows, from rank 0. */
static invar_status follow_split(encoding *k, split_job *p)
{
	char *text = p->left_out ? inv_json_text(p->left_out, 0) : NULL;
	invar_status st;

	INV_TRY_OR(done, inv_await_rank_0(k->of.ctx));
	INV_TRY_OR(done, inv_broadcast(k->of.ctx, &p->there, sizeof p->there));
	INV_TRY_OR(done, inv_broadcast_text(k->of.ctx, &text));
	if (!k->bank && !(p->left_out = text ? json_loads(text, 0, NULL) : NULL))
		st = inv_no_memory();
	else if (!k->bank)
		st = leave_images_out(k, p);
done:
	inv_free(text);
	return st;
}

/* The share of this rank; returns once all have finished theirs. */
static invar_status encode_share(encoding *k, split_job *p, inv_pass *pass)
{
	inv_pass mine = *pass;
	inv_npy *known = NULL;
	prepared by_0 = {.known = pass->known};
	invar_status st;

	for (size_t i = 0; i < pass->arrays; i++)
		by_0.beside[i] = pass->array[i].beside;
	if (k->bank) {
		by_0.maps = inv_block_map_arrays(pass->map);
		INV_TRY(inv_block_map_save(pass->map));
		INV_TRY(inv_block_map_share(pass->map, true));
	}
	INV_TRY(inv_await_rank_0(k->of.ctx));
	INV_TRY(inv_broadcast(k->of.ctx, &by_0, sizeof by_0));
	mine.rank = inv_process_rank(k->of.ctx);
	mine.ranks = k->ranks;
	INV_TRY_OR(done, join_pass(k, p, &by_0, &mine, &known));
	if (!p->compared)
		INV_TRY_OR(done, compare_images_of_ranks(k->of.dataset, &p->images));
	p->compared = true;
	INV_TRY_OR(done, inv_pass_run(&mine));
	st = inv_agree(k->of.ctx, INVAR_OK);
done:
	for (size_t i = 0; i < mine.arrays; i++) {
		inv_rows_leave(mine.array[i].beside, true);
		inv_rows_leave(mine.array[i].rows, true);
	}
	if (!k->bank)
		inv_block_map_close(mine.map, false);
	inv_npy_close(known);
	pass->done = mine.done;
	pass->encoded = mine.encoded;
	return st;
}

/*
 * Rank 0 then encodes blocks that nobody has: a rank of an earlier run that was slow to end
 * may still have marked blocks while the ranks of this one read the map, and then their
 * shares leave blocks out.
 */
static invar_status run_together(encoding *k, split_job *p, inv_pass *pass)
{
	char text[1024];
	inv_pass rest;
	invar_status st = encode_share(k, p, pass), loaded;

	if (!k->bank)
		return st;
	inv_last_error_spelled(INV_MARKED, text, sizeof text);
	loaded = inv_block_map_load(pass->map);
	inv_block_map_share(pass->map, false);
	if (st != INVAR_OK)
		return inv_fail(st, "%s", text);
	INV_TRY(loaded);
	rest = *pass;
	rest.done = rest.encoded = 0;
	st = inv_pass_run(&rest);
	pass->encoded += rest.encoded;
	return st;
}

/* ---- Passes ----------------------------------------------------------------------- */

/* A pass that does not record fingerprints is checked against the existing ones. */
static invar_status encode_in_pass(encoding *k, split_job *p, inv_pass *pass)
{
	keeper keep = {k, p};
	inv_npy *known = NULL;
	invar_status st;

	if (!k->bank)
		return run_together(k, p, pass);
	p->lost.keep = list_lost;
	p->lost.user = &keep;
	pass->lost = p->open && k->of.dataset->opts.skip_broken ? &p->lost : NULL;

	if (pass->views || pass->array[0].copy != INVAR_CLEAN ||
	    has_beside(k, p, pass->map, INVAR_CLEAN))
		INV_TRY(open_split_prints(k, p, "fingerprints.npy", &known));
	pass->known = known;
	st = k->ranks > 1 ? run_together(k, p, pass) : inv_pass_run(pass);
	pass->known = NULL;
	inv_npy_close(known);
	INV_TRY(st);
	return p->open ? settle_rows(k, p, pass) : INVAR_OK;
}

/* Fills the arrays from number `from` on; 0 are the clean rows. */
static invar_status encode_arrays(encoding *k, split_job *p, inv_pass *pass, size_t from)
{
	int32_t copy = (int32_t)from + INVAR_CLEAN, copies = (int32_t)p->copies;
	invar_status st;

	pass->total = (uint64_t)(copies - copy) * p->images.count;
	while (copy < copies) {
		for (pass->arrays = 0; pass->arrays < INV_WALK_ARRAYS && copy < copies; copy++) {
			inv_pass_array *a = &pass->array[pass->arrays++];

			*a = (inv_pass_array){.copy = copy};
			if (k->bank)
				INV_TRY_OR(close, open_array(k, p, pass, a));
		}
		st = encode_in_pass(k, p, pass);
	close:
		INV_TRY(k->bank ? close_arrays(pass, st) : st);
	}
	return INVAR_OK;
}

/*
 * Every existing row must come from the image that is there now. Banks without fingerprints
 * are checked by their first rows only.
 */
static invar_status check_images(encoding *k, const split_job *p, const inv_block_map *map)
{
	const bool clean = p->there.clean,
			   finished = clean || has_beside(k, p, map, INVAR_CLEAN);
	uint64_t rows = p->images.count, step = clean ? rows : INV_BLOCK_ROWS;
	inv_npy *known = NULL;
	invar_status st;

	if (!clean && !inv_block_map_any(map, 0))
		return INVAR_OK;
	INV_TRY_OR(end,
	           open_split_prints(
				   k, p, finished ? "fingerprints.npy" : "fingerprints.npy.part", &known));
	for (uint64_t first = 0; known && first < rows; first += step)
		if (clean || inv_block_map_has(map, 0, first / INV_BLOCK_ROWS))
			INV_TRY_OR(end, inv_fingerprints_check(
								k->of.ctx, known, k->of.dataset, &p->images, first,
								rows - first < step ? rows - first : step));
	if (clean || inv_block_map_has(map, 0, 0))
		st = check_clean_rows(k, p, clean ? "clean.npy" : "clean.npy.part");
end:
	inv_npy_close(known);
	return st;
}

/* Clean rows and copies, or the views of both: what is missing of them. */
static invar_status fill_split(encoding *k, split_job *p, bool views)
{
	char stage[96] = "encode";
	inv_pass pass = {.of = &k->of,
	                 .walk = k->walk,
	                 .images = &p->images,
	                 .views = views,
	                 .stage = stage};
	size_t rows = p->there.clean ? (size_t)p->there.copies + 1 : 0;
	size_t from = views ? (size_t)p->there.views : rows;
	double began = inv_wall_seconds(), seconds = 0;
	invar_status st;

	if (!k->bank)
		return encode_arrays(k, p, &pass, from);
	snprintf(stage, sizeof stage, "encode %.60s, %s%" PRIu64 " %s", p->split->name,
	         views ? "views of " : "", p->copies, inv_noun(p->copies, "copy", "copies"));
	INV_TRY_OR(end, open_map(k, p, from, views, &pass.map));
	/* A pass for views compares every image with its fingerprint. */
	INV_TRY_OR(end,
	           views ? check_clean_rows(k, p, "clean.npy") : check_images(k, p, pass.map));
	INV_TRY_OR(end, encode_arrays(k, p, &pass, from));
	seconds = inv_wall_seconds() - began;
	st = inv_bank_writer_sweep(k->bank, p->split->name);
end:
	inv_block_map_close(pass.map, st == INVAR_OK);
	INV_TRY(st);
	pass.encoded *= views ? INV_ROTATED : 1;
	inv_log(k->of.ctx, INVAR_LOG_INFO,
	        "%s: %s%" PRIu64 " %s, %" PRIu64 " %s; %" PRIu64 " encoded, %.0f per second",
	        p->split->name, views ? "views of " : "", p->images.count,
	        inv_noun(p->images.count, "image", "images"), p->copies,
	        inv_noun(p->copies, "copy", "copies"), pass.encoded,
	        (double)pass.encoded / (seconds > 0 ? seconds : 1));
	return INVAR_OK;
}

/*
 * Rows made before banks had names get them, if they come from these images. The file is
 * optional: a bank that cannot be written to does without it.
 */
static invar_status add_names(encoding *k, const split_job *p)
{
	bool missing;
	char *path;
	invar_status st;

	INV_TRY(split_path(k, p, "names.txt", &path));
	missing = !inv_exists(path);
	inv_free(path);
	if (!missing || !k->of.dataset->kind->file)
		return INVAR_OK;
	INV_TRY(check_clean_rows(k, p, "clean.npy"));
	if ((st = save_names(k, p)) == INVAR_E_IO) {
		inv_log(k->of.ctx, INVAR_LOG_DETAIL, "%s: names.txt was not added: %s",
		        p->split->name, invar_last_error());
		return INVAR_OK;
	}
	INV_TRY(st);
	inv_log(k->of.ctx, INVAR_LOG_INFO, "%s: added names.txt, with the file of each row",
	        p->split->name);
	return INVAR_OK;
}

static invar_status begin_arrays(encoding *k, const split_job *p)
{
	INV_TRY(save_about_rows(k, p));
	if (p->begun)
		inv_log(k->of.ctx, INVAR_LOG_INFO, "%s: resuming after an interruption",
		        p->split->name);
	return INVAR_OK;
}

/* Of all rows of the split, which are finished by now. */
static invar_status add_views(encoding *k, split_job *p)
{
	if (k->bank)
		INV_TRY(inv_bank_writer_find(k->bank, p->split->name, &p->there));
	INV_TRY(inv_await_rank_0(k->of.ctx));
	INV_TRY(inv_broadcast(k->of.ctx, &p->there, sizeof p->there));
	p->copies = p->there.copies;
	if (p->there.views > p->copies) {
		inv_log(k->of.ctx, INVAR_LOG_INFO,
		        "%s: already exists, with views and %" PRIu64 " %s; nothing to do",
		        p->split->name, p->copies, inv_noun(p->copies, "copy", "copies"));
		return INVAR_OK;
	}
	if (k->bank) {
		p->begun = inv_block_map_is_begun(p->map_path);
		INV_TRY(begin_arrays(k, p));
	}
	return fill_split(k, p, true);
}

/* Rank 0: what is there, and which images have rows. */
static invar_status begin_split(encoding *k, split_job *p)
{
	const json_t *entry = inv_bank_writer_entry(k->bank, p->split->name);
	json_t *known = json_object_get(entry, "left_out");
	bool open = json_is_true(json_object_get(entry, "open")), old;
	bool skip = k->of.dataset->opts.skip_broken;

	INV_TRY(inv_bank_writer_find(k->bank, p->split->name, &p->there));
	INV_TRY(split_path(k, p, "done.part", &p->map_path));
	p->begun = inv_block_map_is_begun(p->map_path);

	/* Images left out when the split was started stay left out. */
	old = p->there.clean || p->begun;
	p->open = !p->there.clean && k->ranks == 1 && (p->begun ? open : skip);
	if (k->ranks > 1 && open)
		old = p->begun = false; /* one process has started it, and knew fewer */
	p->left_out = old && json_is_array(known) ? json_deep_copy(known) : json_array();
	if (!p->left_out)
		return inv_no_memory();
	if (!old && !p->open && skip)
		INV_TRY(find_readable(k, p));
	INV_TRY(leave_images_out(k, p));
	if (!(p->entry = split_entry(p, p->images.count, p->left_out, p->open)))
		return inv_no_memory();

	INV_TRY(read_split_labels(k, p));
	if (p->there.clean || p->begun)
		INV_TRY(check_existing_split(k, p));
	return p->there.clean ? add_names(k, p) : INVAR_OK;
}

static invar_status encode_split(encoding *k, split_job *p)
{
	if (k->bank)
		INV_TRY(begin_split(k, p));
	if (k->ranks > 1)
		INV_TRY(follow_split(k, p));
	if (p->there.clean && p->there.copies >= p->copies) {
		if (k->again)
			INV_TRY(check_images(k, p, NULL));
		if (p->begun)
			INV_TRY(inv_bank_writer_end_map(k->bank, p->split->name));
		if (!p->views)
			inv_log(k->of.ctx, INVAR_LOG_INFO,
			        "%s: already exists, with %" PRIu64 " %s; nothing to do",
			        p->split->name, p->there.copies,
			        inv_noun(p->there.copies, "copy", "copies"));
	} else {
		if (k->bank)
			INV_TRY(begin_arrays(k, p));
		INV_TRY(fill_split(k, p, false));
	}
	return p->views ? add_views(k, p) : INVAR_OK;
}

invar_status inv_encode_into(invar_encoder *e, const invar_dataset *d,
                             const inv_encode_settings *o, const char *bank, bool again)
{
	encoding k = {.path = bank, .again = again};
	const inv_encoding *of = &k.of;
	const inv_normalisation *n = &k.of.preparation.normalisation;
	char centre[64] = "";
	invar_status st;

	INV_TRY_OR(done, inv_encoding_open(e, d, o, &k.of));
	k.ranks = inv_process_count(of->ctx);
	k.about = inv_encoding_json(of);
	INV_TRY_OR(done, k.about ? INVAR_OK : inv_no_memory());
	if (k.ranks > 1)
		INV_TRY_OR(done, compare_about(&k));
	if (inv_process_rank(of->ctx) == 0)
		INV_TRY_OR(done, inv_bank_writer_open(bank, k.about, &k.bank));
	INV_TRY_OR(done, inv_pipeline_new(of, &k.walk));

	/* Two networks of one shape may need different pixels, so the input of F is logged. */
	if (of->pixel_space)
		n = &of->pending;
	if (of->clean.h < of->shape.h)
		snprintf(centre, sizeof centre, ", the centre of %zu x %zu", of->shape.w,
		         of->shape.h);
	inv_log(of->ctx, INVAR_LOG_INFO,
	        "%s: images of %zu x %zu%s, %zu channel%s, mean %.4g to %.4g, std %.4g to %.4g",
	        invar_encoder_name(e), of->clean.w, of->clean.h, centre, of->clean.c,
	        of->clean.c == 1 ? "" : "s", (double)n->mean[0],
	        (double)n->mean[n->channels - 1], (double)n->std[0],
	        (double)n->std[n->channels - 1]);

	for (size_t i = 0; i < d->split_count; i++) {
		split_job p = {.split = &d->splits[i],
		               .copies = inv_encode_copies(o, d->splits[i].name),
		               .views = inv_encode_views(o, d->splits[i].name)};

		INV_TRY_OR(done, inv_encoding_check_weights(&k.of));
		st = encode_split(&k, &p);
		json_decref(p.left_out);
		json_decref(p.entry);
		inv_free(p.index);
		inv_free(p.labels);
		inv_free(p.map_path);
		inv_free(p.lost.row);
		INV_TRY_OR(done, st);
	}
done:
	inv_pipeline_free(k.walk);
	inv_bank_writer_close(k.bank);
	json_decref(k.about);
	inv_encoding_close(&k.of);
	return st;
}

invar_status invar_encode(invar_encoder *e, const invar_dataset *d, const invar_options *o,
                          const char *bank)
{
	invar_options *kept;
	inv_encode_settings settings;
	invar_status st;

	INV_TRY_OR(end, inv_encode_read(o, &kept, &settings));
	st = inv_encode_into(e, d, &settings, bank, false);
end:
	invar_options_free(kept);
	return st;
}

invar_status inv_encode_check(invar_encoder *e, const invar_dataset *d,
                              const invar_options *o, uint32_t *width)
{
	inv_encode_settings settings;
	invar_options *kept;
	inv_encoding of = {0};
	invar_status st;

	INV_TRY_OR(end, inv_encode_read(o, &kept, &settings));
	st = inv_encoding_open(e, d, &settings, &of);
end:
	*width = (uint32_t)of.width;
	inv_encoding_close(&of);
	invar_options_free(kept);
	return st;
}
