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

enum { MAX_LIST = 16 << 20 }; /* bytes of a file of names */

/* ---- Options -------------------------------------------------------------------- */

static const invar_option choice_rows[] = {
	{.name = "holdout",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1,
     .meta = "F",
     .group = "Images",
     .help = "if the data has no splits, use the last share F of each class as test and "
             "the rest, at least one image per class, as train"},
	{.name = "limit",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .meta = "N",
     .group = "Images",
     .help =
         "use N images per split, taken evenly from all classes if images are sorted by "
         "class, as in class folders, else the first N; 0: all"},
	{.name = "skip-broken",
     .type = INVAR_OPTION_FLAG,
     .group = "Images",
     .help = "skip images that cannot be read instead of stopping; they are listed and "
             "counted"},
	{0},
};

/* Separate, because training has its own option split. */
static const invar_option split_rows[] = {
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .meta = "NAMES",
     .group = "Images",
     .help = "only these splits, separated by commas; default: all"},
	{0},
};

invar_status inv_dataset_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, inv_class_list_rows);

	if (st == INVAR_OK)
		st = inv_options_add_rows(o, choice_rows);
	return st == INVAR_OK ? inv_options_add_rows(o, split_rows) : st;
}

invar_status inv_dataset_declare_part(invar_options *o, const char *selector)
{
	return inv_options_add_part(o, selector, NULL, choice_rows);
}

/* A copy of the options, which are needed later. */
static invar_status take_options(invar_dataset *d, const invar_options *o)
{
	invar_status st = inv_options_pick(o, inv_dataset_declare, &d->options);

	if (st != INVAR_OK)
		return st;
	d->opts =
		(inv_dataset_settings){.split = inv_option_text(d->options, "split"),
	                           .holdout = inv_option_number(d->options, "holdout"),
	                           .classes = inv_option_text(d->options, "classes"),
	                           .limit = inv_option_count(d->options, "limit"),
	                           .skip_broken = inv_option_flag(d->options, "skip-broken")};
	if (d->opts.holdout >= 1)
		return inv_fail(INVAR_E_USE, "@holdout is %.15g but must be below 1",
		                d->opts.holdout);
	return INVAR_OK;
}

/* ---- For kinds --------------------------------------------------------------------- */

invar_status inv_dataset_no_memory(const invar_dataset *d)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to open the data set", d->text);
}

char *inv_dataset_path(const invar_dataset *d, const char *name)
{
	return inv_join(d->place, name);
}

/* The path is on the stack, so that "no" cannot mean "no memory". */
bool inv_dataset_has(const invar_dataset *d, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%s", d->place, name);

	return length > 0 && length < PATH_MAX && inv_exists(path);
}

invar_status inv_dataset_enter(invar_dataset *d, const char *folder, const char *file)
{
	char *inner = inv_dataset_path(d, folder), *path = inner ? inv_join(inner, file) : NULL;
	bool enter = path && !inv_dataset_has(d, file) && inv_exists(path);

	if (!path) {
		inv_free(inner);
		return inv_dataset_no_memory(d);
	}
	inv_free(path);
	if (!enter) {
		inv_free(inner);
		return INVAR_OK;
	}
	inv_free(d->place);
	d->place = inner;
	return INVAR_OK;
}

invar_status inv_dataset_offer(invar_dataset *d, const char *split, bool part, bool *wanted)
{
	*wanted = d->opts.split ? inv_has_word(d->opts.split, ',', split) : !part;
	return inv_names_add(&d->split_names, split, strlen(split));
}

static invar_status check_count(const invar_dataset *d, const char *split, uint64_t total)
{
	if (!total)
		return inv_fail(INVAR_E_FORMAT, "%s: its split %s has no images", d->text, split);
	if (total >= UINT32_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its split %s has %" PRIu64
		                " images, but at most 2^32 are allowed",
		                d->text, split, total);
	if (d->split_count == INV_MAX_SPLITS)
		return inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits", d->text,
		                INV_MAX_SPLITS);
	return INVAR_OK;
}

static invar_status add(invar_dataset *d, const char *split, inv_images images)
{
	invar_status st = check_count(d, split, images.total);

	images.name = st == INVAR_OK ? inv_strdup(split) : NULL;
	images.count = images.total;
	if (st == INVAR_OK && !images.name)
		st = inv_dataset_no_memory(d);
	if (st == INVAR_OK)
		d->splits[d->split_count++] = images;
	return st;
}

invar_status inv_dataset_add(invar_dataset *d, const char *split, uint64_t total,
                             int32_t *labels, const void *store)
{
	invar_status st =
		add(d, split, (inv_images){.total = total, .labels = labels, .store = store});

	if (st != INVAR_OK)
		inv_free(labels);
	return st;
}

invar_status inv_dataset_add_part(invar_dataset *d, const char *split, uint64_t total,
                                  uint32_t *source, int32_t *labels, const void *store)
{
	invar_status st = add(d, split,
	                      (inv_images){.total = total,
	                                   .source = source,
	                                   .labels = labels,
	                                   .labels_borrowed = true,
	                                   .store = store});

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

static invar_status add_lines(invar_dataset *d, const char *path)
{
	size_t bytes;
	char *text;
	invar_status st = inv_file_load(path, MAX_LIST, &text, &bytes);

	if (st == INVAR_OK)
		st = inv_names_add_lines(&d->classes, text);
	inv_free(text);
	return st;
}

invar_status inv_dataset_name_classes(invar_dataset *d, const char *file,
                                      const char *const *standard)
{
	char *path = inv_dataset_path(d, file);
	invar_status st = path ? INVAR_OK : inv_dataset_no_memory(d);
	size_t want = 0;

	if (st == INVAR_OK && inv_exists(path))
		st = add_lines(d, path);
	while (standard[want])
		want++;
	if (st == INVAR_OK && d->classes.count && d->classes.count != want)
		st = inv_fail(INVAR_E_FORMAT, "%s: lists %zu %s, expected %zu", path,
		              d->classes.count, inv_noun(d->classes.count, "class", "classes"),
		              want);
	for (size_t i = d->classes.count; i < want && st == INVAR_OK; i++)
		st = inv_dataset_add_class(d, standard[i]);
	inv_free(path);
	return st;
}

invar_status inv_dataset_byte_labels(const invar_dataset *d, const uint8_t *bytes,
                                     uint64_t count, uint64_t stride, unsigned first,
                                     const char *name, int32_t **out)
{
	uint64_t capacity;

	*out = NULL;
	if (inv_mul_overflow(count, sizeof **out, &capacity) || !(*out = inv_alloc(capacity)))
		return inv_dataset_no_memory(d);
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

static const inv_dataset_kind *find_kind(const char *text)
{
	size_t length = strcspn(text, ":");

	const inv_dataset_kind *kind;

	for (size_t i = 0; (kind = inv_dataset_kind_at(i)); i++)
		if (strlen(kind->name) == length && strncmp(kind->name, text, length) == 0)
			return kind;
	return NULL;
}

/* "stl10:|mnist:|…" */
static void list_kinds(char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; inv_dataset_kind_at(i) && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s:", i ? "|" : "",
		                         inv_dataset_kind_at(i)->name);
}

/* A file without a kind before it: the kind that its name suggests. */
static invar_status refuse_file(const char *text)
{
	static const char *const kinds[][3] = {{".csv", "csv", "a list of images"},
	                                       {".tar", "tar", "a tar file of images"},
	                                       {"", "npy", "a NumPy file of images"}};
	const char *dot = strrchr(text, '.');
	size_t i = 0;

	while (*kinds[i][0] && (!dot || strcmp(dot, kinds[i][0]) != 0))
		i++;
	return inv_fail(INVAR_E_USE, "'%s' is a file, not a data set; for %s write %s:%s", text,
	                kinds[i][2], kinds[i][1], text);
}

static invar_status unknown_kind(const char *text)
{
	char kinds[256], words[256], hint[INV_HINT], begin[64];

	if (inv_exists(text))
		return refuse_file(text);
	list_kinds(kinds, sizeof kinds);
	snprintf(begin, sizeof begin, "%.*s:", (int)strcspn(text, ":"), text);
	return inv_fail(
		INVAR_E_USE,
		"'%s' is not a data set: there is no such folder, and it does not start with %s%s",
		text, inv_list_words(kinds, words, sizeof words), inv_hint(begin, kinds, hint));
}

/* A folder without a kind before it is taken as a folder of images. */
static invar_status choose_kind(const char *text, const inv_dataset_kind **out, bool *plain)
{
	struct stat info;

	*out = find_kind(text);
	*plain = !*out && inv_is_folder(text);
	if (*plain)
		*out = find_kind("folder:");
	if (*out)
		return INVAR_OK;
	if (stat(text, &info) != 0 && errno == EACCES)
		return inv_fail_errno(text, "cannot open");
	return unknown_kind(text);
}

/* Kinds look for files by name and would report files without permission as absent. */
static invar_status check_access(const char *place)
{
	int wanted = inv_is_folder(place) ? R_OK | X_OK : F_OK;

	if (faccessat(AT_FDCWD, place, wanted, AT_EACCESS) == 0 || errno != EACCES)
		return INVAR_OK;
	return inv_fail_errno(place,
	                      inv_is_folder(place) ? "cannot read the folder" : "cannot open");
}

static invar_status find_place(invar_dataset *d)
{
	const char *colon = strchr(d->text, ':');
	const char *place = d->plain            ? d->text
	                    : colon && colon[1] ? colon + 1
	                                        : d->kind->standard_place;

	if (!place)
		return inv_fail(INVAR_E_USE, "'%s' has no path; write %s:PATH", d->text,
		                d->kind->name);
	d->place = inv_strdup(place);
	return d->place ? check_access(d->place) : inv_dataset_no_memory(d);
}

static invar_status build(invar_dataset *d, const invar_options *o)
{
	invar_status st = take_options(d, o);

	if (st == INVAR_OK)
		st = find_place(d);
	if (st == INVAR_OK)
		st = d->kind->open(d);
	if (st == INVAR_OK)
		st = inv_dataset_hold_out(d);
	if (st == INVAR_OK)
		st = inv_dataset_check_split_names(d);
	if (st == INVAR_OK)
		st = inv_dataset_choose_classes(d);
	return st == INVAR_OK ? inv_dataset_limit(d) : st;
}

invar_status invar_dataset_open(invar_context *ctx, const char *text,
                                const invar_options *o, invar_dataset **out)
{
	const inv_dataset_kind *kind;
	invar_dataset *d;
	bool plain;
	invar_status st = choose_kind(text, &kind, &plain);

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	d = inv_calloc(1, sizeof *d);
	if (!d)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to open the data set", text);
	d->ctx = ctx;
	d->kind = kind;
	d->plain = plain;
	d->text = inv_strdup(text);
	st = d->text ? build(d, o) : inv_fail(INVAR_E_NOMEM, "%s: not enough memory", text);
	if (st != INVAR_OK) {
		invar_dataset_close(d);
		return st;
	}
	*out = d;
	return INVAR_OK;
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

static uint64_t source_of(const inv_images *s, uint64_t row)
{
	uint64_t index = inv_images_index(s, row);

	return s->source ? s->source[index] : index;
}

int32_t inv_images_kind_label(const inv_images *s, uint64_t row)
{
	return s->labels ? s->labels[source_of(s, row)] : INV_NO_LABEL;
}

int32_t inv_images_label(const invar_dataset *d, const inv_images *s, uint64_t row)
{
	int32_t label = inv_images_kind_label(s, row);

	return label >= 0 && d->renumber ? d->renumber[label] : label;
}

const char *inv_images_name(const invar_dataset *d, const inv_images *s, uint64_t row)
{
	return d->kind->file ? d->kind->file(s, source_of(s, row)) : NULL;
}

static invar_status check_row(const invar_dataset *d, const inv_images *s, uint64_t row)
{
	if (row < s->count)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "%s: image %" PRIu64
	                " of the split %s was requested, but it has %" PRIu64,
	                d->text, row, s->name, s->count);
}

invar_status inv_images_read(const invar_dataset *d, const inv_images *s, uint64_t row,
                             inv_image *out)
{
	invar_status st = check_row(d, s, row);

	return st == INVAR_OK ? d->kind->read(d, s, source_of(s, row), out) : st;
}

invar_status inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                     uint64_t row, inv_image *out, inv_fingerprint *print)
{
	invar_status st = check_row(d, s, row);

	if (st != INVAR_OK)
		return st;
	if (d->kind->fingerprint)
		return d->kind->fingerprint(d, s, source_of(s, row), out, print);
	st = d->kind->read(d, s, source_of(s, row), out);
	return st == INVAR_OK ? inv_fingerprint_pixels(out, print) : st;
}

invar_status inv_images_fingerprint(const invar_dataset *d, const inv_images *s,
                                    uint64_t row, inv_image *scratch, inv_fingerprint *out)
{
	return inv_images_read_printed(d, s, row, d->kind->fingerprint ? NULL : scratch, out);
}

bool inv_images_file_id(const invar_dataset *d, const inv_images *s, uint64_t row,
                        inv_file_id *out)
{
	return d->kind->file_id && row < s->count &&
	       d->kind->file_id(s, source_of(s, row), out);
}

invar_status inv_images_measure(const invar_dataset *d, const inv_images *s, uint64_t row,
                                uint32_t *width, uint32_t *height)
{
	invar_status st = check_row(d, s, row);

	return st == INVAR_OK ? d->kind->measure(d, s, source_of(s, row), width, height) : st;
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
	invar_status st = inv_dataset_need_split(d, split, &s);

	for (uint64_t i = 0; st == INVAR_OK && i < s->count; i++)
		out[i] = inv_images_label(d, s, i);
	return st;
}

invar_status inv_dataset_indices(const invar_dataset *d, const char *split, uint64_t *out)
{
	const inv_images *s;
	invar_status st = inv_dataset_need_split(d, split, &s);

	for (uint64_t i = 0; st == INVAR_OK && i < s->count; i++)
		out[i] = inv_images_index(s, i);
	return st;
}

invar_status inv_dataset_read(const invar_dataset *d, const char *split, uint64_t row,
                              uint8_t **rgb, uint32_t *width, uint32_t *height)
{
	inv_image image = {0};
	const inv_images *s;
	invar_status st = inv_dataset_need_split(d, split, &s);

	*rgb = NULL;
	if (st == INVAR_OK)
		st = inv_images_read(d, s, row, &image);
	if (st != INVAR_OK) {
		inv_image_clear(&image);
		return st;
	}
	*rgb = image.pixels;
	*width = image.width;
	*height = image.height;
	return INVAR_OK;
}
