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

static invar_status no_memory(const char *path)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to write the bank", path);
}

char *inv_bank_writer_path(const inv_bank_writer *w, const char *split, const char *name)
{
	char *folder = inv_join(w->path, split), *path = folder ? inv_join(folder, name) : NULL;

	inv_free(folder);
	return path;
}

/* ---- What is there ---------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

typedef struct contents {
	bool split, other; /* some split, finished or started; anything else except *.part */
} contents;

static invar_status look_at(void *user, const char *path, const struct dirent *entry)
{
	contents *out = user;
	const char *name = entry->d_name;
	char *folder = inv_join(path, name), *clean = NULL, *map = NULL;

	if (folder && (clean = inv_join(folder, "clean.npy")))
		map = inv_join(folder, "done.part");
	if (map && (inv_exists(clean) || inv_block_map_is_begun(map)))
		out->split = true;
	else if (!ends_in(name, ".part"))
		out->other = true;
	inv_free(folder);
	inv_free(clean);
	inv_free(map);
	return map ? INVAR_OK : no_memory(path);
}

static invar_status look_into(const char *path, contents *out)
{
	*out = (contents){0};
	return inv_folder_each(path, look_at, out);
}

/* The arrays of a kind from copy `first` on, up to the first that is missing. */
static invar_status count_arrays(const inv_bank_writer *w, const char *split,
                                 inv_array_kind kind, int32_t first, uint64_t *count)
{
	for (*count = 0; *count < MAX_COPIES; ++*count) {
		char name[INV_ARRAY_NAME];
		char *path = inv_bank_writer_path(
			w, split, inv_array_name(first + (int32_t)*count, kind, name));
		bool there = path && inv_exists(path);

		inv_free(path);
		if (!path)
			return no_memory(w->path);
		if (!there)
			break;
	}
	return INVAR_OK;
}

invar_status inv_bank_writer_find(const inv_bank_writer *w, const char *split,
                                  inv_finished *out)
{
	char *path = inv_bank_writer_path(w, split, "clean.npy");
	inv_npy *clean = NULL;
	invar_status st = path ? INVAR_OK : no_memory(w->path);

	*out = (inv_finished){0};
	if (st == INVAR_OK && inv_exists(path)) {
		st = inv_npy_open(path, &clean);
		if (st == INVAR_OK && clean->h.rank != 2)
			st = inv_fail(INVAR_E_FORMAT, "%s: has %u %s, expected 2", path, clean->h.rank,
			              inv_noun(clean->h.rank, "dimension", "dimensions"));
	}
	if (st == INVAR_OK && clean) {
		out->clean = true;
		out->rows = clean->h.shape[0];
		out->width = clean->h.shape[1];
		st = count_arrays(w, split, INV_ROWS, 0, &out->copies);
		if (st == INVAR_OK)
			st = count_arrays(w, split, INV_ROWS_OF_VIEWS, INVAR_CLEAN, &out->views);
	}
	inv_npy_close(clean);
	inv_free(path);
	return st;
}

/* ---- What it says of itself ------------------------------------------------------- */

static bool is_null(const json_t *value)
{
	return !value || json_is_null(value);
}

/* These come with the first copy, so a bank without copies says null. */
static bool describes_copies(const char *key)
{
	return strncmp(key, "augment", 7) == 0 || strcmp(key, "seed") == 0;
}

static invar_status check_value(const char *path, const char *key, const json_t *theirs,
                                const json_t *ours)
{
	char a[INV_SPELLED], b[INV_SPELLED];

	if (inv_json_same(theirs, ours))
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: was made with %s %s, not %s; use another bank for these features",
	                path, key, is_null(theirs) ? "not known" : inv_json_spell(theirs, a),
	                is_null(ours) ? "none" : inv_json_spell(ours, b));
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
	if (!(spec = inv_alloc(sizeof *spec)))
		return no_memory(path);
	same =
		inv_spec_parse(text, spec) == INVAR_OK && strcmp(spec->canonical, canonical) == 0;
	inv_free(spec);
	return same ? INVAR_OK : check_value(path, "augment", theirs, ours);
}

static bool knows_copies(const json_t *theirs, const json_t *ours, const char *key)
{
	return !is_null(json_object_get(theirs, key)) && !is_null(json_object_get(ours, key));
}

static invar_status check_about(const char *path, const json_t *theirs, const json_t *about)
{
	invar_status st = INVAR_OK;
	const char *key;
	json_t *ours;

	/* A SPEC may change how images are prepared, so it is named before them. */
	if (knows_copies(theirs, about, "augment"))
		st = check_augment(path, json_object_get(theirs, "augment"),
		                   json_object_get(about, "augment"));
	if (st != INVAR_OK)
		return st;
	json_object_foreach ((json_t *)(uintptr_t)about, key, ours) {
		const json_t *other = json_object_get(theirs, key);

		if (strcmp(key, "augment") == 0 ||
		    (describes_copies(key) && !knows_copies(theirs, about, key)))
			continue;
		if (json_is_object(ours) && json_is_object(other))
			st = check_about(path, other, ours);
		else
			st = check_value(path, key, other, ours);
		if (st != INVAR_OK)
			break;
	}
	return st;
}

/* What was null and is known now. */
static bool learn(json_t *json, const json_t *about)
{
	const char *key;
	json_t *ours;
	bool fine = true;

	json_object_foreach ((json_t *)(uintptr_t)about, key, ours)
		if (is_null(json_object_get(json, key)))
			fine = json_object_set(json, key, ours) == 0 && fine;
	return fine;
}

static json_t *say_anew(const json_t *about)
{
	json_t *json = json_pack("{s:s, s:i}", "format", "invar-bank", "version", 1);
	json_t *splits = json_object();
	bool fine = json && splits && json_object_update(json, (json_t *)(uintptr_t)about) == 0;

	if (fine && json_object_set(json, "splits", splits) == 0) {
		json_decref(splits);
		return json;
	}
	json_decref(splits);
	json_decref(json);
	return NULL;
}

static invar_status save(const inv_bank_writer *w)
{
	char *path = inv_join(w->path, "bank.json");
	invar_status st = path ? inv_json_save(path, w->json) : no_memory(w->path);

	inv_free(path);
	return st;
}

static invar_status take_up(inv_bank_writer *w, const char *json, const json_t *about)
{
	json_t *splits;
	invar_status st = inv_bank_load_json(json, &w->json);

	if (st == INVAR_OK)
		st = check_about(json, w->json, about);
	if (st != INVAR_OK)
		return st;
	splits = json_object_get(w->json, "splits");
	if (!json_is_object(splits) &&
	    json_object_set_new(w->json, "splits", json_object()) != 0)
		return no_memory(w->path);
	return learn(w->json, about) ? INVAR_OK : no_memory(w->path);
}

static invar_status find_or_begin(inv_bank_writer *w, const json_t *about)
{
	char *json = inv_join(w->path, "bank.json");
	bool described = json && inv_exists(json);
	contents found = {0};
	invar_status st = json ? look_into(w->path, &found) : no_memory(w->path);

	if (st == INVAR_OK && !described && (found.split || found.other))
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: already exists without a bank.json that says how it was made; "
		              "choose another name for the new bank",
		              w->path);
	else if (st == INVAR_OK && found.split)
		st = take_up(w, json, about);
	else if (st == INVAR_OK && !(w->json = say_anew(about)))
		st = no_memory(w->path);
	inv_free(json);
	return st;
}

/* Two programs starting the same bank would both find it empty. Some file systems have no
 * locks. */
static invar_status lock(inv_bank_writer *w)
{
	w->lock = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->lock < 0 || flock(w->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return INVAR_OK;
	return inv_fail(INVAR_E_IO,
	                "%s: another process is writing this bank; wait until it has finished",
	                w->path);
}

invar_status inv_bank_writer_open(const char *path, const json_t *about,
                                  inv_bank_writer **out)
{
	inv_bank_writer *w = inv_calloc(1, sizeof *w);
	invar_status st;

	*out = NULL;
	if (!w || !(w->path = inv_strdup(path))) {
		inv_free(w);
		return no_memory(path);
	}
	w->lock = -1;
	st = inv_make_folder(path);
	if (st == INVAR_OK)
		st = lock(w);
	if (st == INVAR_OK)
		st = find_or_begin(w, about);
	if (st != INVAR_OK) {
		inv_bank_writer_close(w);
		return st;
	}
	*out = w;
	return INVAR_OK;
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

static invar_status make_folders(const inv_bank_writer *w, const char *split, bool copies)
{
	char *folder = inv_join(w->path, split);
	char *aug = folder ? inv_join(folder, "aug") : NULL;
	invar_status st = aug ? inv_make_folder(folder) : no_memory(w->path);

	if (st == INVAR_OK && copies)
		st = inv_make_folder(aug);
	inv_free(aug);
	inv_free(folder);
	return st;
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

/* bank.json first: a folder without it is not taken for a bank. */
invar_status inv_bank_writer_begin(inv_bank_writer *w, const char *split,
                                   const json_t *entry, bool copies)
{
	json_t *splits = json_object_get(w->json, "splits");
	invar_status st;

	if (json_object_set(splits, split, (json_t *)(uintptr_t)entry) != 0 ||
	    json_object_set_new(w->json, "splits", sort_splits(splits)) != 0)
		return no_memory(w->path);
	st = save(w);
	return st == INVAR_OK ? make_folders(w, split, copies) : st;
}

invar_status inv_bank_writer_labels(const inv_bank_writer *w, const char *split,
                                    const int64_t *labels, uint64_t rows)
{
	char *path = inv_bank_writer_path(w, split, "labels.npy");
	inv_npy_writer *npy = NULL;
	invar_status st =
		path ? inv_npy_create(path, INV_I64, 1, &rows, &npy) : no_memory(w->path);

	inv_free(path);
	if (st == INVAR_OK)
		st = inv_npy_put_int(npy, labels, rows);
	if (st == INVAR_OK)
		return inv_npy_commit(npy);
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

static char *part_of(const char *path)
{
	size_t size = strlen(path) + 6;
	char *part = inv_alloc(size);

	if (part)
		snprintf(part, size, "%s.part", path);
	return part;
}

/* The unfinished array, if it has the right shape. */
static bool can_be_kept(const char *part, inv_dtype dtype, unsigned rank,
                        const uint64_t *shape)
{
	inv_npy *there = NULL;
	bool same = inv_exists(part) && inv_npy_open(part, &there) == INVAR_OK &&
	            there->h.dtype == dtype && there->h.rank == rank &&
	            memcmp(there->h.shape, shape, rank * sizeof *shape) == 0;

	inv_npy_close(there);
	return same;
}

invar_status inv_rows_open(const inv_bank_writer *w, const char *split, const char *name,
                           inv_rows_shape of, bool *kept, inv_rows **out)
{
	uint64_t shape[3];
	unsigned rank = npy_shape(of, shape);
	inv_rows *r = inv_calloc(1, sizeof *r);
	char *part = NULL;
	invar_status st;

	*out = NULL;
	if (r && (r->path = inv_bank_writer_path(w, split, name)))
		part = part_of(r->path);
	if (!part) {
		inv_rows_leave(r, true);
		return no_memory(w->path);
	}
	r->of = of;
	r->cells = of.width * (of.views ? of.views : 1);
	*kept = *kept && can_be_kept(part, of.dtype, rank, shape);
	st = inv_npy_take_up(r->path, of.dtype, rank, shape, *kept, &r->npy);
	inv_free(part);
	if (st != INVAR_OK) {
		inv_rows_leave(r, true);
		return st;
	}
	*out = r;
	return INVAR_OK;
}

invar_status inv_rows_join(const char *bank, const char *split, const char *name,
                           inv_rows_shape of, inv_rows **out)
{
	const inv_bank_writer w = {.path = (char *)(uintptr_t)bank};
	uint64_t shape[3];
	unsigned rank = npy_shape(of, shape);
	inv_rows *r = inv_calloc(1, sizeof *r);
	invar_status st;

	*out = NULL;
	if (!r || !(r->path = inv_bank_writer_path(&w, split, name))) {
		inv_free(r);
		return no_memory(bank);
	}
	r->of = of;
	r->cells = of.width * (of.views ? of.views : 1);
	if ((st = inv_npy_join(r->path, of.dtype, rank, shape, &r->npy)) == INVAR_OK)
		*out = r;
	else
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
	unsigned rank = npy_shape(r->of, shape);

	r->of.rows = rows;
	return inv_npy_shorten(r->npy, rank, shape, rows);
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
	while (st == INVAR_OK && (entry = readdir(dir)))
		if (is_part(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) != 0)
			st = inv_fail_errno(folder, "cannot remove an unfinished array");
	closedir(dir);
	return st;
}

invar_status inv_bank_writer_sweep(const inv_bank_writer *w, const char *split)
{
	char *folder = inv_join(w->path, split);
	char *aug = folder ? inv_join(folder, "aug") : NULL;
	invar_status st = aug ? sweep_folder(folder) : no_memory(w->path);

	if (st == INVAR_OK)
		st = sweep_folder(aug);
	inv_free(aug);
	inv_free(folder);
	return st;
}

/* A program that was killed between its last array and the map's end left the map. */
invar_status inv_bank_writer_end_map(const inv_bank_writer *w, const char *split)
{
	char *folder = inv_join(w->path, split);
	char *aug = folder ? inv_join(folder, "aug") : NULL;
	char *map = folder ? inv_join(folder, "done.part") : NULL;
	invar_status st = aug && map ? INVAR_OK : no_memory(w->path);

	if (st == INVAR_OK && !has_parts(folder) && !has_parts(aug) && unlink(map) != 0 &&
	    errno != ENOENT && errno != EROFS && errno != EACCES)
		st = inv_fail_errno(map, "cannot remove");
	inv_free(map);
	inv_free(aug);
	inv_free(folder);
	return st;
}
