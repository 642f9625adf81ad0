/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - opening a data set, what its kind builds it with, and reading from it. */
#include "images/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"
#include "images/class_list.h"
#include "images/kinds/dataset_list.h"

enum { MAX_LIST = 16 << 20 }; /* bytes of a file of names */

/* ---- Kinds ------------------------------------------------------------------------ */

const inv_dataset_kind *inv_dataset_kind_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}

const char *inv_dataset_kind_about(size_t i, const char **place, const char **about)
{
	const inv_dataset_kind *kind = inv_dataset_kind_at(i);

	if (place)
		*place = kind ? kind->place : NULL;
	if (about)
		*about = kind ? kind->about : NULL;
	return kind ? kind->name : NULL;
}

/* ---- Options -------------------------------------------------------------------- */

static const invar_option choice_rows[] = {
	{"holdout", INVAR_OPTION_NUMBER, "0", .max = 1, .meta = "F", .group = "Images",
     .help = "if the data has no splits, use the last share F of each class as test and "
             "the rest, at least one image per class, as train"},
	{"limit", INVAR_OPTION_COUNT, "0", .meta = "N", .group = "Images",
     .help = "use N images per split: the first ones, or, if images are sorted by class, "
             "evenly from all classes; 0: all"},
	{"skip-broken", INVAR_OPTION_FLAG, .group = "Images",
     .help = "skip images that cannot be read instead of stopping; they are listed and "
             "counted"},
	{0},
};

/* Separate, because training has its own option split. */
static const invar_option split_rows[] = {
	{"split", INVAR_OPTION_TEXT, .meta = "NAMES", .group = "Images",
     .help = "only these splits, separated by commas; default: all"},
	{0},
};

invar_status inv_dataset_declare(invar_options *o)
{
	INV_TRY(inv_options_add_rows(o, inv_class_list_rows));
	INV_TRY(inv_options_add_rows(o, choice_rows));
	return inv_options_add_rows(o, split_rows);
}

invar_status inv_dataset_declare_part(invar_options *o, const char *selector)
{
	return inv_options_add_part(o, selector, NULL, choice_rows);
}

/* ---- For kinds --------------------------------------------------------------------- */

/* The path is on the stack, so that "no" cannot mean "no memory". */
bool inv_dataset_has(const invar_dataset *d, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%s", d->place, name);

	return length > 0 && length < PATH_MAX && inv_exists(path);
}

invar_status inv_dataset_enter(invar_dataset *d, const char *folder, const char *file)
{
	char *inner, *path = NULL;
	invar_status st;

	INV_TRY(inv_new_path(&inner, d->place, folder));
	INV_TRY_OR(end, inv_new_path(&path, inner, file));
	if (!inv_dataset_has(d, file) && inv_exists(path)) {
		inv_free(d->place);
		d->place = inner;
		inner = NULL;
	}
end:
	inv_free(inner);
	inv_free(path);
	return st;
}

invar_status inv_dataset_offer(invar_dataset *d, const char *split, bool part, bool *wanted)
{
	*wanted = d->opts.split ? inv_has_word(d->opts.split, ',', split) : !part;
	return inv_names_add(&d->split_names, split, strlen(split));
}

static invar_status add_images(invar_dataset *d, const char *split, inv_images images)
{
	if (!images.total)
		return inv_fail(INVAR_E_FORMAT, "%s: its split %s has no images", d->text, split);
	if (images.total >= UINT32_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its split %s has %" PRIu64
		                " images, but at most 2^32 are allowed",
		                d->text, split, images.total);
	if (d->split_count == INV_MAX_SPLITS)
		return inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits", d->text,
		                INV_MAX_SPLITS);
	INV_TRY(inv_new_text(&images.name, split));
	images.count = images.total;
	d->splits[d->split_count++] = images;
	return INVAR_OK;
}

invar_status inv_dataset_add(invar_dataset *d, const char *split, uint64_t total,
                             int32_t *labels, const void *store)
{
	inv_images images = {.total = total, .labels = labels, .store = store};
	invar_status st = add_images(d, split, images);

	if (st != INVAR_OK)
		inv_free(labels);
	return st;
}

invar_status inv_dataset_add_part(invar_dataset *d, const char *split, uint64_t total,
                                  uint32_t *source, int32_t *labels, const void *store)
{
	inv_images images = {.total = total,
	                     .source = source,
	                     .labels = labels,
	                     .labels_borrowed = true,
	                     .store = store};
	invar_status st = add_images(d, split, images);

	if (st != INVAR_OK)
		inv_free(source);
	return st;
}

invar_status inv_dataset_add_whole(invar_dataset *d, uint64_t total, int32_t *labels,
                                   const void *store)
{
	invar_status st = inv_names_add(&d->split_names, "train", strlen("train"));

	d->whole = true;
	if (st != INVAR_OK) {
		inv_free(labels);
		return st;
	}
	return inv_dataset_add(d, "train", total, labels, store);
}

invar_status inv_dataset_add_class(invar_dataset *d, const char *name)
{
	return inv_names_add(&d->classes, name, strlen(name));
}

invar_status inv_dataset_name_classes(invar_dataset *d, const char *file,
                                      const char *const *standard)
{
	char *path, *text = NULL;
	size_t want = 0, bytes;
	invar_status st;

	INV_TRY(inv_new_path(&path, d->place, file));
	if (inv_exists(path)) {
		INV_TRY_OR(end, inv_file_load(path, MAX_LIST, &text, &bytes));
		INV_TRY_OR(end, inv_names_add_lines(&d->classes, text));
	}
	while (standard[want])
		want++;
	if (d->classes.count && d->classes.count != want)
		INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT, "%s: lists %zu %s, expected %zu", path,
		                         d->classes.count,
		                         inv_noun(d->classes.count, "class", "classes"), want));
	for (size_t i = d->classes.count; i < want; i++)
		INV_TRY_OR(end, inv_dataset_add_class(d, standard[i]));
	st = INVAR_OK;
end:
	inv_free(text);
	inv_free(path);
	return st;
}

invar_status inv_dataset_byte_labels(const invar_dataset *d, const uint8_t *bytes,
                                     uint64_t count, uint64_t stride, unsigned first,
                                     const char *name, int32_t **out)
{
	INV_TRY(inv_new_array(out, count));
	for (uint64_t i = 0; i < count; i++) {
		unsigned label = bytes[i * stride];

		if (label < first || label - first >= d->classes.count) {
			inv_free(*out);
			*out = NULL;
			return inv_fail(INVAR_E_FORMAT,
			                "%s: label %" PRIu64 " is %u, expected %u to %zu", name, i,
			                label, first, first + d->classes.count - 1);
		}
		(*out)[i] = (int32_t)(label - first);
	}
	return INVAR_OK;
}

/* ---- Opening ---------------------------------------------------------------------- */

static const inv_dataset_kind *find_dataset_kind(const char *text)
{
	size_t length = strcspn(text, ":");
	const inv_dataset_kind *kind;

	for (size_t i = 0; (kind = inv_dataset_kind_at(i)); i++)
		if (strlen(kind->name) == length && strncmp(kind->name, text, length) == 0)
			return kind;
	return NULL;
}

/* A folder without a kind before it is taken as a folder of images. */
static invar_status choose_dataset_kind(const char *text, const inv_dataset_kind **out,
                                        bool *plain)
{
	static const char *const files[][3] = {{".csv", "csv", "a list of images"},
	                                       {".tar", "tar", "a tar file of images"},
	                                       {"", "npy", "a NumPy file of images"}};
	char kinds[256], words[256], hint[INV_HINT], begin[64];
	const char *dot = strrchr(text, '.');
	size_t used = 0, i = 0;
	struct stat info;

	*out = find_dataset_kind(text);
	*plain = !*out && inv_is_folder(text);
	if (*plain)
		*out = find_dataset_kind("folder:");
	if (*out)
		return INVAR_OK;
	if (stat(text, &info) != 0 && errno == EACCES)
		return inv_fail_errno(text, "cannot open");
	if (inv_exists(text)) { /* a file: the kind that its name suggests */
		while (*files[i][0] && (!dot || strcmp(dot, files[i][0]) != 0))
			i++;
		return inv_fail(INVAR_E_USE, "'%s' is a file, not a data set; for %s write %s:%s",
		                text, files[i][2], files[i][1], text);
	}
	for (; inv_dataset_kind_at(i) && used < sizeof kinds; i++)
		used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%s%s:", i ? "|" : "",
		                         inv_dataset_kind_at(i)->name);
	snprintf(begin, sizeof begin, "%.*s:", (int)strcspn(text, ":"), text);
	return inv_fail(
		INVAR_E_USE,
		"'%s' is not a data set: there is no such folder, and it does not start with %s%s",
		text, inv_list_words(kinds, words, sizeof words), inv_hint(begin, kinds, hint));
}

invar_status invar_dataset_open(invar_context *ctx, const char *text,
                                const invar_options *o, invar_dataset **out)
{
	const char *colon = strchr(text, ':'), *place;
	const inv_dataset_kind *kind;
	invar_dataset *d;
	bool plain, folder;
	invar_status st;

	*out = NULL;
	INV_TRY(choose_dataset_kind(text, &kind, &plain));
	INV_TRY(inv_new(&d));
	d->ctx = ctx;
	d->kind = kind;
	d->plain = plain;
	INV_TRY_OR(fail, inv_new_text(&d->text, text));
	INV_TRY_OR(fail, inv_options_pick(o, inv_dataset_declare, &d->options));
	d->opts =
		(inv_dataset_settings){.split = inv_option_text(d->options, "split"),
	                           .holdout = inv_option_number(d->options, "holdout"),
	                           .classes = inv_option_text(d->options, "classes"),
	                           .limit = inv_option_count(d->options, "limit"),
	                           .skip_broken = inv_option_flag(d->options, "skip-broken")};
	if (d->opts.holdout >= 1)
		INV_TRY_OR(fail, inv_fail(INVAR_E_USE, "@holdout is %.15g but must be below 1",
		                          d->opts.holdout));

	place = plain ? text : colon && colon[1] ? colon + 1 : kind->standard_place;
	if (!place)
		INV_TRY_OR(fail, inv_fail(INVAR_E_USE, "'%s' has no path; write %s:PATH", text,
		                          kind->name));
	INV_TRY_OR(fail, inv_new_text(&d->place, place));
	/* Kinds look for files by name and would report files without permission as absent. */
	folder = inv_is_folder(place);
	if (faccessat(AT_FDCWD, place, folder ? R_OK | X_OK : F_OK, AT_EACCESS) != 0 &&
	    errno == EACCES)
		INV_TRY_OR(
			fail, inv_fail_errno(place, folder ? "cannot read the folder" : "cannot open"));
	INV_TRY_OR(fail, kind->open(d));

	INV_TRY_OR(fail, inv_dataset_hold_out(d));
	INV_TRY_OR(fail, inv_dataset_check_split_names(d));
	INV_TRY_OR(fail, inv_dataset_choose_classes(d));
	INV_TRY_OR(fail, inv_dataset_limit(d));
	*out = d;
	return INVAR_OK;
fail:
	invar_dataset_close(d);
	return st;
}

void inv_images_clear(inv_images *s)
{
	inv_free(s->name);
	inv_free(s->source);
	inv_free(s->index);
	if (!s->labels_borrowed)
		inv_free(s->labels);
	*s = (inv_images){0};
}

void invar_dataset_close(invar_dataset *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->split_count; i++)
		inv_images_clear(&d->splits[i]);
	d->kind->close(d);
	inv_names_clear(&d->split_names);
	inv_names_clear(&d->classes);
	inv_names_clear(&d->titles);
	inv_free(d->renumber);
	inv_free(d->whole_labels);
	invar_options_free(d->options);
	inv_free(d->text);
	inv_free(d->place);
	inv_free(d);
}

/* ---- Asking ----------------------------------------------------------------------- */

const inv_images *inv_dataset_split(const invar_dataset *d, const char *name)
{
	for (size_t i = 0; i < d->split_count; i++)
		if (strcmp(d->splits[i].name, name) == 0)
			return &d->splits[i];
	return NULL;
}

invar_status inv_dataset_need_split(const invar_dataset *d, const char *name,
                                    const inv_images **out)
{
	*out = inv_dataset_split(d, name);
	return *out ? INVAR_OK : inv_fail(INVAR_E_USE, "%s: has no split %s", d->text, name);
}

uint64_t inv_images_index(const inv_images *s, uint64_t row)
{
	return s->index ? s->index[row] : row;
}

static uint64_t image_source(const inv_images *s, uint64_t row)
{
	uint64_t index = inv_images_index(s, row);

	return s->source ? s->source[index] : index;
}

int32_t inv_images_kind_label(const inv_images *s, uint64_t row)
{
	return s->labels ? s->labels[image_source(s, row)] : INV_NO_LABEL;
}

int32_t inv_images_label(const invar_dataset *d, const inv_images *s, uint64_t row)
{
	int32_t label = inv_images_kind_label(s, row);

	return label >= 0 && d->renumber ? d->renumber[label] : label;
}

const char *inv_images_name(const invar_dataset *d, const inv_images *s, uint64_t row)
{
	return d->kind->file ? d->kind->file(s, image_source(s, row)) : NULL;
}

static invar_status check_image_row(const invar_dataset *d, const inv_images *s,
                                    uint64_t row)
{
	if (row < s->count)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "%s: image %" PRIu64
	                " of the split %s was requested, but it has %" PRIu64,
	                d->text, row, s->name, s->count);
}

/* Of an image file, also one in an archive: what is asked for, from the same bytes. */
static invar_status examine_file(const invar_dataset *d, const inv_images *s,
                                 uint64_t source, inv_image *image, inv_fingerprint *print,
                                 uint32_t *width, uint32_t *height)
{
	const char *name;
	const void *bytes;
	uint64_t size;
	char *path = NULL;
	inv_map map = {0};
	invar_status st;

	if (d->kind->path) {
		INV_TRY(d->kind->path(s, source, &path));
		INV_TRY_OR(end, inv_image_map(path, &map));
		name = path;
		bytes = map.data;
		size = map.size;
	} else {
		INV_TRY(d->kind->bytes(s, source, &bytes, &size));
		name = d->kind->file(s, source);
	}
	if (image)
		INV_TRY_OR(end, inv_image_decode(bytes, size, name, image));
	if (width)
		INV_TRY_OR(end, inv_image_size(bytes, size, name, width, height));
	if (print)
		INV_TRY_OR(end, inv_fingerprint_bytes(bytes, size, print));
	st = INVAR_OK;
end:
	inv_map_close(&map);
	inv_free(path);
	return st;
}

invar_status inv_images_read(const invar_dataset *d, const inv_images *s, uint64_t row,
                             inv_image *out)
{
	INV_TRY(check_image_row(d, s, row));
	return d->kind->read ? d->kind->read(d, s, image_source(s, row), out)
	                     : examine_file(d, s, image_source(s, row), out, NULL, NULL, NULL);
}

invar_status inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                     uint64_t row, inv_image *out, inv_fingerprint *print)
{
	INV_TRY(check_image_row(d, s, row));
	if (!d->kind->read)
		return examine_file(d, s, image_source(s, row), out, print, NULL, NULL);
	INV_TRY(d->kind->read(d, s, image_source(s, row), out));
	return inv_fingerprint_bytes(out->pixels,
	                             (uint64_t)out->width * out->height * out->channels, print);
}

invar_status inv_images_fingerprint(const invar_dataset *d, const inv_images *s,
                                    uint64_t row, inv_image *scratch, inv_fingerprint *out)
{
	return inv_images_read_printed(d, s, row, d->kind->read ? scratch : NULL, out);
}

bool inv_images_file_id(const invar_dataset *d, const inv_images *s, uint64_t row,
                        inv_file_id *out)
{
	char *path;
	bool found;

	if (row >= s->count)
		return false;
	if (!d->kind->path)
		return d->kind->file_id && d->kind->file_id(s, image_source(s, row), out);
	if (d->kind->path(s, image_source(s, row), &path) != INVAR_OK)
		return false;
	found = inv_file_id_of(path, out);
	inv_free(path);
	return found;
}

invar_status inv_images_measure(const invar_dataset *d, const inv_images *s, uint64_t row,
                                uint32_t *width, uint32_t *height)
{
	INV_TRY(check_image_row(d, s, row));
	if (!d->kind->read)
		return examine_file(d, s, image_source(s, row), NULL, NULL, width, height);
	*width = *height = d->kind->side;
	if (d->kind->measure)
		d->kind->measure(s, width, height);
	return INVAR_OK;
}

bool inv_is_broken(invar_status st)
{
	return st == INVAR_E_FORMAT;
}

invar_status inv_refuse_broken(const invar_dataset *d, invar_status st, const char *why)
{
	bool image = inv_is_broken(st) && d->kind->file;

	if (!image)
		return inv_fail(st, "%.900s", why);
	return inv_fail(st, "%.900s; @skip-broken skips such images", why);
}

/* ---- The public names of the same ------------------------------------------------- */

size_t inv_dataset_splits(const invar_dataset *d)
{
	return d->split_count;
}

const char *inv_dataset_split_name(const invar_dataset *d, size_t i)
{
	return i < d->split_count ? d->splits[i].name : NULL;
}

uint64_t inv_dataset_count(const invar_dataset *d, const char *split)
{
	const inv_images *s = inv_dataset_split(d, split);

	return s ? s->count : 0;
}

int inv_dataset_has_labels(const invar_dataset *d, const char *split)
{
	const inv_images *s = inv_dataset_split(d, split);

	return s && s->labels;
}

size_t inv_dataset_classes(const invar_dataset *d)
{
	return d->classes.count;
}

const char *inv_dataset_class(const invar_dataset *d, size_t i)
{
	return i < d->classes.count ? inv_names_at(&d->classes, i) : NULL;
}

const char *inv_dataset_class_title(const invar_dataset *d, size_t i)
{
	return i < d->titles.count ? inv_names_at(&d->titles, i) : inv_dataset_class(d, i);
}

const char *inv_dataset_offered(const invar_dataset *d, size_t i)
{
	return i < d->split_names.count ? inv_names_at(&d->split_names, i) : NULL;
}

const char *inv_dataset_name(const invar_dataset *d, const char *split, uint64_t row)
{
	const inv_images *s = inv_dataset_split(d, split);

	return s && row < s->count ? inv_images_name(d, s, row) : NULL;
}

invar_status inv_dataset_labels(const invar_dataset *d, const char *split, int64_t *out)
{
	const inv_images *s;

	INV_TRY(inv_dataset_need_split(d, split, &s));
	for (uint64_t i = 0; i < s->count; i++)
		out[i] = inv_images_label(d, s, i);
	return INVAR_OK;
}

invar_status inv_dataset_read(const invar_dataset *d, const char *split, uint64_t row,
                              uint8_t **rgb, uint32_t *width, uint32_t *height)
{
	inv_image image = {0};
	const inv_images *s;
	invar_status st;

	*rgb = NULL;
	INV_TRY(inv_dataset_need_split(d, split, &s));
	if ((st = inv_images_read(d, s, row, &image)) != INVAR_OK) {
		inv_image_clear(&image);
		return st;
	}
	*rgb = image.pixels;
	*width = image.width;
	*height = image.height;
	return INVAR_OK;
}
