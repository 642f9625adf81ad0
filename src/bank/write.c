/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - see write.h for the invariants of a bank that grows. */
#include "bank/write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/block_map.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/npy.h"
#include "images/spec.h"

enum { MAX_COPIES = 100000 };

struct inv_bank_writer {
	char *path;
	json_t *json;
	int lock; /* the folder itself, -1 without */
};

char *inv_bank_writer_path(const inv_bank_writer *w, const char *split, const char *name)
{
	char *path;

	(void)inv_new_path_in(&path, w->path, split, name);
	return path;
}

/* ---- What exists ------------------------------------------------------------------ */

typedef struct contents {
	bool split, other; /* some split, finished or started; anything else except *.part */
} contents;

static invar_status inspect_entry(void *user, const char *path, const struct dirent *entry)
{
	contents *out = user;
	const char *name = entry->d_name, *dot = strrchr(name, '.');
	char *clean = NULL, *map = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_path_in(&clean, path, name, "clean.npy"));
	INV_TRY_OR(done, inv_new_path_in(&map, path, name, "done.part"));
	if (inv_exists(clean) || inv_block_map_is_begun(map))
		out->split = true;
	else if (!dot || strcmp(dot, ".part") != 0)
		out->other = true;
done:
	inv_free(clean);
	inv_free(map);
	return st;
}

/* The arrays of a kind from copy `first` on, up to the first that is missing. */
static invar_status count_arrays(const inv_bank_writer *w, const char *split,
                                 inv_array_kind kind, int32_t first, uint64_t *count)
{
	bool there = true;

	for (*count = 0; *count < MAX_COPIES; ++*count) {
		char name[INV_ARRAY_NAME], *path;

		inv_array_name(first + (int32_t)*count, kind, name);
		INV_TRY(inv_new_path_in(&path, w->path, split, name));
		there = inv_exists(path);
		inv_free(path);
		if (!there)
			break;
	}
	return INVAR_OK;
}

invar_status inv_bank_writer_find(const inv_bank_writer *w, const char *split,
                                  inv_finished *out)
{
	char *path;
	inv_npy *clean = NULL;
	invar_status st = INVAR_OK;

	*out = (inv_finished){0};
	INV_TRY(inv_new_path_in(&path, w->path, split, "clean.npy"));
	if (!inv_exists(path))
		goto done;
	INV_TRY_OR(done, inv_npy_open(path, &clean));
	if (clean->h.ndim != 2)
		INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT, "%s: has %u %s, expected 2", path,
		                          clean->h.ndim,
		                          inv_noun(clean->h.ndim, "dimension", "dimensions")));
	out->clean = true;
	out->rows = clean->h.shape[0];
	out->width = clean->h.shape[1];
	INV_TRY_OR(done, count_arrays(w, split, INV_ROWS, 0, &out->copies));
	st = count_arrays(w, split, INV_ROWS_OF_VIEWS, INVAR_CLEAN, &out->views);
done:
	inv_npy_close(clean);
	inv_free(path);
	return st;
}

/* ---- Its description -------------------------------------------------------------- */

static invar_status check_value(const char *path, const char *key, const json_t *theirs,
                                const json_t *ours)
{
	char a[INV_SPELLED], b[INV_SPELLED];

	if (inv_json_same(theirs, ours))
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: was made with %s %s, not %s; use another bank for these features",
	                path, key,
	                inv_json_is_unknown(theirs) ? "not known" : inv_json_spell(theirs, a),
	                inv_json_is_unknown(ours) ? "none" : inv_json_spell(ours, b));
}

/* "rotation:degrees=-180..180" is "rotation"; ours is canonical. */
static invar_status check_augment(const char *path, const json_t *theirs,
                                  const json_t *ours)
{
	const char *text = json_string_value(theirs), *canonical = json_string_value(ours);
	inv_spec *spec;
	bool same;

	if (!text || !canonical || strcmp(text, canonical) == 0)
		return check_value(path, "augment", theirs, ours);
	INV_TRY(inv_new(&spec));
	same =
		inv_spec_parse(text, spec) == INVAR_OK && strcmp(spec->canonical, canonical) == 0;
	inv_free(spec);
	return same ? INVAR_OK : check_value(path, "augment", theirs, ours);
}

static bool knows_copies(const json_t *theirs, const json_t *ours, const char *key)
{
	return !inv_json_is_unknown(json_object_get(theirs, key)) &&
	       !inv_json_is_unknown(json_object_get(ours, key));
}

const char *inv_bank_precision(const json_t *about)
{
	const json_t *options = json_object_get(about, "encoder_options");
	const char *text = json_string_value(json_object_get(options, "precision"));

	return text ? text : "float32";
}

static invar_status check_about(const char *path, const json_t *theirs, const json_t *about)
{
	const char *key;
	json_t *ours;

	/* A SPEC may change how images are prepared, so it is reported first. */
	if (knows_copies(theirs, about, "augment"))
		INV_TRY(check_augment(path, json_object_get(theirs, "augment"),
		                      json_object_get(about, "augment")));
	json_object_foreach ((json_t *)(uintptr_t)about, key, ours) {
		const json_t *other = json_object_get(theirs, key);
		/* These come with the first copy, so a bank without copies has null. */
		bool of_copies = strncmp(key, "augment", 7) == 0 || strcmp(key, "seed") == 0;

		if (strcmp(key, "augment") == 0 || (of_copies && !knows_copies(theirs, about, key)))
			continue;
		INV_TRY(json_is_object(ours) && json_is_object(other)
		            ? check_about(path, other, ours)
		            : check_value(path, key, other, ours));
	}
	return INVAR_OK;
}

/* The description of a bank that exists, with what was unknown and is known now. */
static invar_status load_description(inv_bank_writer *w, const char *json,
                                     const json_t *about)
{
	const char *is, *wanted = inv_bank_precision(about), *key;
	json_t *ours;

	INV_TRY(inv_bank_load_json(json, &w->json));
	is = inv_bank_precision(w->json);
	if (strcmp(is, wanted) != 0)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: was made with precision %.20s, not %.20s; use another bank "
		                "for these features",
		                json, is, wanted);
	INV_TRY(check_about(json, w->json, about));
	if (!json_is_object(json_object_get(w->json, "splits")))
		INV_TRY(inv_json_put(w->json, "splits", json_object()));
	json_object_foreach ((json_t *)(uintptr_t)about, key, ours)
		if (inv_json_is_unknown(json_object_get(w->json, key)))
			INV_TRY(inv_json_put(w->json, key, json_incref(ours)));
	return INVAR_OK;
}

static invar_status find_or_begin(inv_bank_writer *w, const json_t *about)
{
	char *json;
	contents found = {0};
	invar_status st;

	INV_TRY(inv_new_path(&json, w->path, "bank.json"));
	INV_TRY_OR(done, inv_folder_each(w->path, inspect_entry, &found));
	if (!inv_exists(json) && (found.split || found.other))
		INV_TRY_OR(done, inv_fail(INVAR_E_MISMATCH,
		                          "%s: already exists without a bank.json that says how it "
		                          "was made; choose another name for the new bank",
		                          w->path));
	if (found.split) {
		st = load_description(w, json, about);
	} else {
		w->json = json_pack("{s:s, s:i}", "format", "invar-bank", "version", 1);
		if (!w->json || json_object_update(w->json, (json_t *)(uintptr_t)about) != 0)
			INV_TRY_OR(done, inv_no_memory());
		st = inv_json_put(w->json, "splits", json_object());
	}
done:
	inv_free(json);
	return st;
}

invar_status inv_bank_writer_open(const char *path, const json_t *about,
                                  inv_bank_writer **out)
{
	inv_bank_writer *w;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&w));
	w->lock = -1;
	INV_TRY_OR(fail, inv_new_text(&w->path, path));
	INV_TRY_OR(fail, inv_make_folder(path));
	/* Two programs that start the same bank would both find it empty. Without a lock (some
	 * file systems have none) the bank is written all the same. */
	w->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->lock >= 0 && flock(w->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		INV_TRY_OR(fail, inv_fail(INVAR_E_IO,
		                          "%s: another process is writing this bank; wait until it "
		                          "has finished",
		                          path));
	INV_TRY_OR(fail, find_or_begin(w, about));
	*out = w;
	return INVAR_OK;
fail:
	inv_bank_writer_close(w);
	return st;
}

void inv_bank_writer_close(inv_bank_writer *w)
{
	if (!w)
		return;
	if (w->lock >= 0)
		close(w->lock);
	json_decref(w->json);
	inv_free(w->path);
	inv_free(w);
}

/* ---- Splits ----------------------------------------------------------------------- */

const json_t *inv_bank_writer_entry(const inv_bank_writer *w, const char *split)
{
	return json_object_get(json_object_get(w->json, "splits"), split);
}

/* SPLIT and SPLIT/aug; the caller frees both, also if it fails. */
static invar_status split_folders(const inv_bank_writer *w, const char *split,
                                  char **folder, char **aug)
{
	*aug = NULL;
	INV_TRY(inv_new_path(folder, w->path, split));
	return inv_new_path(aug, *folder, "aug");
}

/* Train, val, test, unlabeled, then the others by byte order. */
static int compare_splits(const char *a, const char *b)
{
	static const char *const first[] = {"train", "val", "test", "unlabeled"};

	for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
		bool is_a = strcmp(a, first[i]) == 0, is_b = strcmp(b, first[i]) == 0;

		if (is_a || is_b)
			return is_b - is_a;
	}
	return strcmp(a, b);
}

/* In a fixed order, so that it does not matter which was made first. */
static json_t *sort_splits(json_t *splits)
{
	json_t *sorted = json_object(), *value;
	const char *key, *least = "";

	while (least && sorted) {
		least = NULL;
		json_object_foreach (splits, key, value)
			if (!json_object_get(sorted, key) && (!least || compare_splits(key, least) < 0))
				least = key;
		if (least && json_object_set(sorted, least, json_object_get(splits, least)) != 0) {
			json_decref(sorted);
			return NULL;
		}
	}
	return sorted;
}

/* bank.json first: a folder without it is not a bank. */
invar_status inv_bank_writer_begin(inv_bank_writer *w, const char *split,
                                   const json_t *entry, bool copies)
{
	json_t *splits = json_object_get(w->json, "splits");
	char *json = NULL, *folder = NULL, *aug = NULL;
	invar_status st;

	if (json_object_set(splits, split, (json_t *)(uintptr_t)entry) != 0 ||
	    json_object_set_new(w->json, "splits", sort_splits(splits)) != 0)
		return inv_no_memory();
	INV_TRY_OR(done, inv_new_path(&json, w->path, "bank.json"));
	INV_TRY_OR(done, inv_json_save(json, w->json));
	INV_TRY_OR(done, split_folders(w, split, &folder, &aug));
	INV_TRY_OR(done, inv_make_folder(folder));
	if (copies)
		INV_TRY_OR(done, inv_make_folder(aug));
done:
	inv_free(aug);
	inv_free(folder);
	inv_free(json);
	return st;
}

invar_status inv_bank_writer_labels(const inv_bank_writer *w, const char *split,
                                    const int64_t *labels, uint64_t rows)
{
	char *path;
	inv_npy_writer *npy = NULL;
	invar_status st;

	INV_TRY(inv_new_path_in(&path, w->path, split, "labels.npy"));
	st = inv_npy_create(path, INV_I64, 1, &rows, &npy);
	inv_free(path);
	INV_TRY(st);
	INV_TRY_OR(fail, inv_npy_put_int(npy, labels, rows));
	return inv_npy_commit(npy);
fail:
	inv_npy_abort(npy);
	return st;
}

/* ---- Rows of one array ------------------------------------------------------------ */

struct inv_rows {
	inv_npy_writer *npy;
	char *path;
	inv_rows_shape of;
	uint64_t cells; /* of a row */
};

const char *inv_array_name(int32_t copy, inv_array_kind kind, char name[INV_ARRAY_NAME])
{
	static const char *const of_clean[] = {"clean", "fingerprints", "clean.views"};
	static const char *const of_copy[] = {"", ".params", ".views"};

	if (copy == INVAR_CLEAN)
		snprintf(name, INV_ARRAY_NAME, "%s.npy", of_clean[kind]);
	else
		snprintf(name, INV_ARRAY_NAME, "aug/%03" PRId32 "%s.npy", copy, of_copy[kind]);
	return name;
}

/* The shape as NumPy has it, and its number of dimensions. */
static unsigned npy_shape(inv_rows_shape of, uint64_t shape[3])
{
	shape[0] = of.rows;
	shape[1] = of.views ? of.views : of.width;
	shape[2] = of.width;
	return of.views ? 3 : 2;
}

static void free_rows(inv_rows *r)
{
	inv_free(r->path);
	inv_free(r);
}

void inv_rows_leave(inv_rows *r, bool keep)
{
	if (!r)
		return;
	if (keep)
		inv_npy_leave(r->npy);
	else
		inv_npy_abort(r->npy);
	free_rows(r);
}

/* Rows of BANK/SPLIT/NAME that are not open yet. */
static invar_status new_rows(const char *bank, const char *split, const char *name,
                             inv_rows_shape of, inv_rows **out)
{
	char *path;
	invar_status st;

	INV_TRY(inv_new_path_in(&path, bank, split, name));
	INV_TRY_OR(fail, inv_new(out));
	**out =
		(inv_rows){.path = path, .of = of, .cells = of.width * (of.views ? of.views : 1)};
	return INVAR_OK;
fail:
	inv_free(path);
	return st;
}

invar_status inv_rows_open(const inv_bank_writer *w, const char *split, const char *name,
                           inv_rows_shape of, bool *kept, inv_rows **out)
{
	uint64_t shape[3];
	unsigned dims = npy_shape(of, shape);
	inv_npy *there = NULL;
	inv_rows *r;
	char *part = NULL;
	invar_status st;

	*out = NULL;
	INV_TRY(new_rows(w->path, split, name, of, &r));
	INV_TRY_OR(fail, inv_new_name(&part, r->path, INV_BANK_PART));
	/* Only an unfinished array of this shape can be resumed. */
	*kept = *kept && inv_exists(part) && inv_npy_open(part, &there) == INVAR_OK &&
	        there->h.dtype == of.dtype && there->h.ndim == dims &&
	        memcmp(there->h.shape, shape, dims * sizeof *shape) == 0;
	inv_npy_close(there);
	INV_TRY_OR(fail, inv_npy_take_up(r->path, of.dtype, dims, shape, *kept, &r->npy));
	inv_free(part);
	*out = r;
	return INVAR_OK;
fail:
	inv_free(part);
	inv_rows_leave(r, true);
	return st;
}

invar_status inv_rows_join(const char *bank, const char *split, const char *name,
                           inv_rows_shape of, inv_rows **out)
{
	uint64_t shape[3];
	unsigned dims = npy_shape(of, shape);
	inv_rows *r;
	invar_status st;

	*out = NULL;
	INV_TRY(new_rows(bank, split, name, of, &r));
	INV_TRY_OR(fail, inv_npy_join(r->path, of.dtype, dims, shape, &r->npy));
	*out = r;
	return INVAR_OK;
fail:
	free_rows(r);
	return st;
}

invar_status inv_rows_put(inv_rows *r, uint64_t first, const float *data, uint64_t rows)
{
	for (uint64_t i = 0; i < rows * r->cells; i++)
		if (!isfinite(data[i]))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: element [%" PRIu64 ", %" PRIu64 "] would be %s", r->path,
			                first + i / r->cells, i % r->cells,
			                isnan(data[i]) ? "NaN" : "Inf");
	return inv_npy_put_at(r->npy, first * r->cells, data, rows * r->cells);
}

invar_status inv_rows_put_bytes(inv_rows *r, uint64_t first, const uint8_t *data,
                                uint64_t rows)
{
	return inv_npy_put_bytes_at(r->npy, first * r->cells, data, rows * r->cells);
}

invar_status inv_rows_sync(inv_rows *r)
{
	return inv_npy_sync(r->npy);
}

invar_status inv_rows_shorten(inv_rows *r, uint64_t rows)
{
	uint64_t shape[3];
	unsigned dims = npy_shape(r->of, shape);

	r->of.rows = rows;
	return inv_npy_shorten(r->npy, dims, shape, rows);
}

invar_status inv_rows_finish(inv_rows *r)
{
	invar_status st = inv_npy_commit(r->npy);

	free_rows(r);
	return st;
}

/* ---- Leftover part files ---------------------------------------------------------- */

/* "clean.npy.part", "012.npy.part", "012.params.npy.part" …: what encoding leaves. */
static bool is_part(const char *name)
{
	static const char *const of_clean[] = {"clean.npy.part", "fingerprints.npy.part",
	                                       "clean.views.npy.part"};
	static const char *const of_copy[] = {".npy.part", ".params.npy.part",
	                                      ".views.npy.part"};
	size_t digits = strspn(name, "0123456789");
	bool found = false;

	for (size_t i = 0; i < sizeof of_copy / sizeof *of_copy; i++)
		found = found || strcmp(name + digits, digits ? of_copy[i] : of_clean[i]) == 0;
	return found;
}

static bool has_parts(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = is_part(entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

static invar_status sweep_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	invar_status st = INVAR_OK;

	if (!dir)
		return errno == ENOENT ? INVAR_OK
		                       : inv_fail_errno(folder, "cannot read the folder");
	while ((entry = readdir(dir)))
		if (is_part(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) != 0)
			INV_TRY_OR(done, inv_fail_errno(folder, "cannot remove an unfinished array"));
done:
	closedir(dir);
	return st;
}

invar_status inv_bank_writer_sweep(const inv_bank_writer *w, const char *split)
{
	char *folder, *aug;
	invar_status st;

	INV_TRY_OR(done, split_folders(w, split, &folder, &aug));
	INV_TRY_OR(done, sweep_folder(folder));
	st = sweep_folder(aug);
done:
	inv_free(aug);
	inv_free(folder);
	return st;
}

/* A program that was killed after its last array leaves the map behind. */
invar_status inv_bank_writer_end_map(const inv_bank_writer *w, const char *split)
{
	char *folder, *aug, *map = NULL;
	invar_status st;

	INV_TRY_OR(done, split_folders(w, split, &folder, &aug));
	INV_TRY_OR(done, inv_new_path(&map, folder, "done.part"));
	if (!has_parts(folder) && !has_parts(aug) && unlink(map) != 0 && errno != ENOENT &&
	    errno != EROFS && errno != EACCES)
		st = inv_fail_errno(map, "cannot remove");
done:
	inv_free(map);
	inv_free(aug);
	inv_free(folder);
	return st;
}
