/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - keeping the run folder, see run.h for its invariants.
 *
 * Opening checks first, then locks, then checks again: nothing is created if the check
 * fails, and another program may have opened the run meanwhile.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/run_contents.h"

enum { MAX_LOG = 1 << 30 };

static const char run_busy[] = "another process is training in it";

/* ---- Names ------------------------------------------------------------------------ */

static void free_paths(inv_run *r)
{
	inv_free(r->folder);
	inv_free(r->json_path);
	inv_free(r->log_path);
	inv_free(r->checkpoint_path);
	inv_free(r->adapter_path);
	inv_free(r->decoder_path);
	inv_free(r->clean_path);
}

/* The names of the files in the folder that is filled. */
static invar_status set_folder(inv_run *r, const char *folder)
{
	if (r->folder && strcmp(r->folder, folder) == 0)
		return INVAR_OK;
	free_paths(r);
	r->folder = inv_strdup(folder);
	r->json_path = inv_join(folder, INV_RUN_JSON);
	r->log_path = inv_join(folder, INV_RUN_LOG);
	r->checkpoint_path = inv_join(folder, INV_RUN_CHECKPOINT);
	r->adapter_path = inv_join(folder, INV_RUN_ADAPTER);
	r->decoder_path = inv_join(folder, INV_RUN_DECODER);
	r->clean_path = inv_join(folder, INV_RUN_CLEAN);
	return r->folder && r->json_path && r->log_path && r->checkpoint_path &&
	               r->adapter_path && r->decoder_path && r->clean_path
	           ? INVAR_OK
	           : inv_no_memory();
}

static invar_status name_run_folders(inv_run *r, const char *path)
{
	r->path = inv_strdup(path);
	r->place = inv_folder_place(path);
	r->stage = r->place ? inv_folder_name_part(r->place) : NULL;
	r->aside = r->place ? inv_folder_name_aside(r->place) : NULL;
	return r->path && r->stage && r->aside ? INVAR_OK : inv_no_memory();
}

static bool is_same_folder(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

/* ---- What is there ----------------------------------------------------------------- */

/* A run, and the one that is to replace it or was replaced by it. */
typedef struct view {
	inv_run_contents place, stage;
	bool there; /* the place */
} view;

static invar_status look_at_both(const inv_run *r, view *v)
{
	invar_status place = inv_run_look(r->place, &v->place);
	invar_status stage = inv_run_look(r->stage, &v->stage);

	v->there = inv_exists(r->place);
	return place != INVAR_OK ? place : stage;
}

static void forget_both(view *v)
{
	inv_run_forget(&v->place);
	inv_run_forget(&v->stage);
}

/* ---- What an earlier exchange left ------------------------------------------------ */

/* The old run may have been moved aside if a program was killed between two renames. */
static invar_status put_run_back(const inv_run *r)
{
	const char *to = !inv_exists(r->place) ? r->place : r->stage;
	inv_run_contents old;
	invar_status st;
	int lock = -1;

	INV_TRY_OR(end, inv_run_look(r->aside, &old));
	if (!old.json || inv_exists(to))
		goto end;
	INV_TRY_OR(end, inv_folder_lock(r->aside, run_busy, &lock));
	if (rename(r->aside, to) != 0)
		st = inv_fail_errno(r->aside, "cannot rename");
end:
	if (lock >= 0)
		close(lock);
	inv_run_forget(&old);
	return st;
}

/* Removes a run that was replaced; what else is in its folder moves to the new one. */
static invar_status remove_replaced(const inv_run *r)
{
	inv_run_contents old;
	invar_status st;

	INV_TRY_OR(end, inv_run_look(r->stage, &old));
	INV_TRY_OR(end, inv_folder_move_foreign(r->stage, r->place, inv_run_owner(&old)));
	INV_TRY_OR(end, inv_folder_remove_own(r->stage, inv_run_owner(&old), INV_RUN_JSON));
	if (rmdir(r->stage) != 0 && errno != ENOENT)
		st = inv_fail_errno(r->stage, "cannot remove");
end:
	inv_run_forget(&old);
	return st;
}

/* What is left to do after an exchange; the run in its place says so until then. */
static invar_status finish_exchange(inv_run *r)
{
	char *path = inv_join(r->place, INV_RUN_JSON);
	view v;
	int place = -1, stage = -1;
	invar_status st;

	INV_TRY_OR(end, look_at_both(r, &v));
	INV_TRY_OR(end, path ? INVAR_OK : inv_no_memory());
	if (!v.place.is_replacing)
		goto end;
	INV_TRY_OR(end, inv_folder_lock(r->place, run_busy, &place));
	if (v.stage.json && !v.stage.is_replacing) {
		INV_TRY_OR(end, inv_folder_lock(r->stage, run_busy, &stage));
		INV_TRY_OR(end, remove_replaced(r));
	}
	if (json_object_del(v.place.json, INV_RUN_REPLACES) == 0)
		st = inv_json_save(path, v.place.json);
end:
	forget_both(&v);
	inv_free(path);
	if (place >= 0)
		close(place);
	if (stage >= 0)
		close(stage);
	return st;
}

/* ---- May it be opened? ------------------------------------------------------------ */

static invar_status check_fresh(inv_run *r, const view *v)
{
	if (v->stage.is_replacing && !v->there)
		return inv_fail(INVAR_E_IO,
		                "%s: holds a replacement of %s that was interrupted; use @resume "
		                "to continue it, @force to start again, or choose another name",
		                r->stage, r->path);
	if (v->place.json && !v->place.failed_early)
		return inv_fail(INVAR_E_IO,
		                "%s: already exists; use @resume to continue it, @force to replace "
		                "it, or choose another name",
		                r->path);
	r->leftover = v->there;
	return v->there ? inv_run_refuse_foreign(&v->place, r->path,
	                                         "move it away, or choose another name")
	                : INVAR_OK;
}

/* The stage must be a name beside the run that can take its place. */
static invar_status check_stage(const inv_run *r, const view *v)
{
	if (is_same_folder(r->place, "."))
		return inv_fail(INVAR_E_IO,
		                "%s: @force cannot replace the current folder; run the command "
		                "from another folder",
		                r->path);
	if (inv_exists(r->stage) && !inv_is_folder(r->stage))
		return inv_fail(INVAR_E_IO,
		                "%s: is a file, but @force writes the new run to a folder of this "
		                "name first; move it away",
		                r->stage);
	if (v->stage.json && !v->stage.is_replacing)
		return inv_fail(INVAR_E_IO,
		                "%s: is another run, but @force writes the new run to a "
		                "folder of this name first; move it away",
		                r->stage);
	return inv_exists(r->stage)
	           ? inv_run_refuse_foreign(&v->stage, r->stage,
	                                    "move it away: @force writes the new run there "
	                                    "first")
	           : INVAR_OK;
}

static invar_status check_replace(inv_run *r, const view *v)
{
	if (v->there)
		INV_TRY(inv_run_refuse_foreign(&v->place, r->path,
		                               "move it away, or choose another name"));
	r->staged = v->place.json || v->stage.is_replacing;
	r->leftover = r->staged ? inv_exists(r->stage) : v->there;
	return r->staged ? check_stage(r, v) : INVAR_OK;
}

static invar_status check_resume(inv_run *r, const view *v)
{
	char *json = inv_join(r->place, INV_RUN_JSON);
	bool there = json && inv_exists(json);

	inv_free(json);
	if (!json)
		return inv_no_memory();
	r->staged = v->stage.is_replacing;
	r->leftover = false;
	if (r->staged || there)
		return INVAR_OK;
	return inv_fail(INVAR_E_IO, "%s: %s, so there is nothing to resume; leave out @resume",
	                r->path, v->there ? "has no run.json" : "does not exist");
}

static invar_status check_mode(inv_run *r, inv_run_mode mode)
{
	view v;
	invar_status st;

	if (inv_exists(r->place) && !inv_is_folder(r->place))
		return inv_fail(INVAR_E_IO, "%s: is a file, but a run is a folder", r->path);
	INV_TRY_OR(end, look_at_both(r, &v));
	INV_TRY_OR(end, mode == INV_RUN_FRESH    ? check_fresh(r, &v)
	                : mode == INV_RUN_RESUME ? check_resume(r, &v)
	                                         : check_replace(r, &v));
	st = set_folder(r, r->staged ? r->stage : r->place);
end:
	forget_both(&v);
	return st;
}

/* ---- Opening ---------------------------------------------------------------------- */

/* The new folder is as open to others as the one that it replaces. */
static invar_status adopt_mode(const inv_run *r)
{
	struct stat old, new;

	if (stat(r->place, &old) != 0 || stat(r->stage, &new) != 0)
		return INVAR_OK;
	if (old.st_dev != new.st_dev)
		return inv_fail(
			INVAR_E_IO,
			"%s: is a mount point, so @force cannot replace it; choose another name",
			r->path);
	if (old.st_gid != new.st_gid)
		(void)!chown(r->stage, (uid_t)-1, old.st_gid);
	return chmod(r->stage, old.st_mode & 07777) == 0
	           ? INVAR_OK
	           : inv_fail_errno(r->stage, "cannot set its mode");
}

static invar_status read_run_json(inv_run *r)
{
	const char *format;

	INV_TRY(inv_json_load(r->json_path, &r->json));
	format = json_string_value(json_object_get(r->json, "format"));
	if (format && strcmp(format, INV_RUN_FORMAT) == 0 &&
	    json_integer_value(json_object_get(r->json, "version")) == 1 &&
	    json_is_object(json_object_get(r->json, "options")))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: is not the run.json of an invar run (version 1)",
	                r->json_path);
}

/* The format comes first: it marks a run.json even if the rest was not written. */
static invar_status begin_run_json(inv_run *r)
{
	r->json = json_pack("{s:s, s:i}", "format", INV_RUN_FORMAT, "version", 1);
	if (r->json &&
	    (!r->staged || json_object_set_new(r->json, INV_RUN_REPLACES, json_true()) == 0))
		return INVAR_OK;
	return inv_no_memory();
}

invar_status inv_run_open(const char *path, inv_run_mode mode, inv_run **out)
{
	inv_run *r;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&r));
	r->lock = r->old_lock = -1;
	INV_TRY_OR(fail, name_run_folders(r, path));
	INV_TRY_OR(fail, put_run_back(r));
	if (mode != INV_RUN_FRESH)
		INV_TRY_OR(fail, finish_exchange(r));
	INV_TRY_OR(fail, check_mode(r, mode));
	if (r->staged && inv_exists(r->place))
		INV_TRY_OR(fail, inv_folder_lock(r->place, run_busy, &r->old_lock));
	r->made = !inv_exists(r->folder);
	INV_TRY_OR(fail, inv_make_folder(r->folder));
	if (r->made && r->staged)
		INV_TRY_OR(fail, adopt_mode(r));
	INV_TRY_OR(fail, inv_folder_lock(r->folder, run_busy, &r->lock));
	INV_TRY_OR(fail,
	           check_mode(r, mode)); /* another program may have opened it meanwhile */
	INV_TRY_OR(fail, mode == INV_RUN_RESUME ? read_run_json(r) : begin_run_json(r));
	*out = r;
	return INVAR_OK;
fail:
	inv_run_close(r);
	return st;
}

invar_status invar_run_check_new(const char *run, int replacing)
{
	inv_run *r = NULL;
	invar_status st = inv_run_open(run, replacing ? INV_RUN_REPLACE : INV_RUN_FRESH, &r);

	inv_run_close(r);
	return st;
}

/* ---- Clearing, publishing, closing ------------------------------------------------ */

/* Of a training on images: do both encode the same? Their options may be in other words. */
static bool is_same_about(const json_t *a, const json_t *b)
{
	json_t *x = json_copy((json_t *)(uintptr_t)a), *y = json_copy((json_t *)(uintptr_t)b);
	bool same;

	json_object_del(x, "options");
	json_object_del(y, "options");
	same = x && y && json_equal(x, y);
	json_decref(x);
	json_decref(y);
	return same;
}

invar_status inv_run_clear(inv_run *r, const json_t *images)
{
	inv_run_contents old;
	invar_status st;

	if (!r->leftover)
		return INVAR_OK;
	INV_TRY_OR(end, inv_run_look(r->folder, &old));
	if (images && is_same_about(images, json_object_get(old.json, "images"))) {
		json_decref(old.clean); /* no longer of the old run, so it stays */
		old.clean = NULL;
		old.clean_begun = false;
	}
	INV_TRY_OR(end, inv_folder_remove_own(r->folder, inv_run_owner(&old), INV_RUN_JSON));
	r->leftover = false;
end:
	inv_run_forget(&old);
	return st;
}

invar_status inv_run_save(inv_run *r)
{
	return inv_json_save(r->json_path, r->json);
}

/* The stage takes the name of the place; the lock on it goes along. */
static invar_status take_place(const inv_run *r)
{
	INV_TRY(inv_sync_folder(r->stage));
	if (inv_exists(r->place))
		return inv_folder_exchange(r->place, r->stage, r->aside);
	return rename(r->stage, r->place) == 0 ? INVAR_OK
	                                       : inv_fail_errno(r->stage, "cannot rename");
}

invar_status inv_run_publish(inv_run *r)
{
	invar_status st;
	char *above;

	if (!r->staged)
		return INVAR_OK;
	if ((st = take_place(r)) != INVAR_OK)
		return inv_context(st, "the new run is finished; use @resume to try again");
	r->staged = false;
	INV_TRY(set_folder(r, r->place));
	above = inv_join(r->place, "..");
	st = above ? inv_sync_folder(above) : inv_no_memory();
	inv_free(above);
	INV_TRY(st);
	if (r->old_lock >= 0)
		INV_TRY(remove_replaced(r));
	json_object_del(r->json, INV_RUN_REPLACES); /* now that the old run is gone */
	return inv_run_save(r);
}

static bool has_failed(const inv_run *r)
{
	const char *state = json_string_value(json_object_get(r->json, "state"));

	return state && strcmp(state, "failed") == 0;
}

void inv_run_close(inv_run *r)
{
	if (!r)
		return;
	if (r->log)
		fclose(r->log);
	if (r->staged && r->lock >= 0 && has_failed(r) && !inv_exists(r->checkpoint_path)) {
		r->leftover = r->made = true;
		(void)inv_run_clear(r, NULL);
	}
	if (r->made && r->folder)
		rmdir(r->folder); /* which only an empty folder allows */
	if (r->lock >= 0)
		close(r->lock);
	if (r->old_lock >= 0)
		close(r->old_lock);
	json_decref(r->json);
	inv_free(r->made_with);
	free_paths(r);
	inv_free(r->path);
	inv_free(r->place);
	inv_free(r->stage);
	inv_free(r->aside);
	inv_free(r);
}

int inv_run_is_begun(const char *run, int replacing)
{
	inv_run r = {0};
	view v;
	bool begun = false;

	if (name_run_folders(&r, run) == INVAR_OK) {
		(void)look_at_both(&r, &v);
		begun = v.stage.is_replacing || (!replacing && v.place.json);
		forget_both(&v);
	}
	inv_free(r.path);
	inv_free(r.place);
	inv_free(r.stage);
	inv_free(r.aside);
	return begun;
}

/* ---- The log -------------------------------------------------------------------- */

/* Bytes of the first `lines` complete lines. */
static size_t lines_length(const char *text, size_t bytes, uint64_t lines)
{
	size_t at = 0;

	while (lines-- > 0) {
		const char *end = memchr(text + at, '\n', bytes - at);

		if (!end)
			break;
		at = (size_t)(end - text) + 1;
	}
	return at;
}

static invar_status cut_log(inv_run *r, uint64_t epochs)
{
	char *text = NULL;
	size_t bytes = 0;
	invar_status st;

	if (!inv_exists(r->log_path) || !epochs)
		return inv_file_save(r->log_path, "", 0);
	INV_TRY(inv_file_load(r->log_path, MAX_LOG, &text, &bytes));
	st = inv_file_save(r->log_path, text, lines_length(text, bytes, epochs));
	inv_free(text);
	return st;
}

invar_status inv_run_open_log(inv_run *r, uint64_t epochs)
{
	INV_TRY(cut_log(r, epochs));
	r->log = fopen(r->log_path, "ae");
	return r->log ? INVAR_OK : inv_fail_errno(r->log_path, "cannot open");
}

invar_status inv_run_log(inv_run *r, const json_t *line)
{
	char *text = inv_json_text(line, 0);
	bool ok;

	if (!text)
		return inv_no_memory();
	ok = fprintf(r->log, "%s\n", text) > 0 && fflush(r->log) == 0;
	inv_free(text);
	return ok ? INVAR_OK : inv_fail_errno(r->log_path, "cannot write");
}

invar_status inv_run_sync_log(inv_run *r)
{
	return fsync(fileno(r->log)) == 0 ? INVAR_OK
	                                  : inv_fail_errno(r->log_path, "cannot flush to disk");
}
