/* run.c - keeping the run folder, see run.h for its invariants. */
#include "adapter/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { MOST_LOG = 1 << 30 };

static const char *const owned[] = {"run.json",
                                    "log.jsonl",
                                    "checkpoint.safetensors",
                                    "adapter.safetensors",
                                    "decoder.safetensors",
                                    "metrics.json",
                                    "report.html"};

static bool set_paths(inv_run *r, const char *path)
{
	r->path = inv_strdup(path);
	r->json_path = inv_join(path, "run.json");
	r->log_path = inv_join(path, "log.jsonl");
	r->checkpoint_path = inv_join(path, "checkpoint.safetensors");
	r->adapter_path = inv_join(path, "adapter.safetensors");
	r->decoder_path = inv_join(path, "decoder.safetensors");
	r->clean_path = inv_join(path, "clean");
	return r->path && r->json_path && r->log_path && r->checkpoint_path &&
	       r->adapter_path && r->decoder_path && r->clean_path;
}

static bool is_part(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && strcmp(name + length - 5, ".part") == 0;
}

static bool is_leftover(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_part(name) ||
	       strcmp(name, "clean") == 0;
}

/* Empty but for what a program leaves that was killed before there was a run. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	while (dir && empty && (entry = readdir(dir)))
		empty = is_leftover(entry->d_name);
	if (dir)
		closedir(dir);
	return empty;
}

/* What run.json says of itself; "" where it is not the run.json of a run. */
static void read_state(const inv_run *r, char state[32])
{
	json_t *json = NULL;
	const char *format, *found;

	state[0] = '\0';
	if (!inv_exists(r->json_path) || inv_json_load(r->json_path, &json) != INVAR_OK)
		return;
	format = json_string_value(json_object_get(json, "format"));
	found = json_string_value(json_object_get(json, "state"));
	if (format && strcmp(format, "invar-run") == 0)
		snprintf(state, 32, "%s", found ? found : "unknown");
	json_decref(json);
}

/* A run that failed before it had anything to lose may simply be tried again. */
static bool has_failed_early(const inv_run *r)
{
	char state[32];

	read_state(r, state);
	return strcmp(state, "failed") == 0 && !inv_exists(r->checkpoint_path) &&
	       !inv_exists(r->adapter_path);
}

static invar_status check_replace(const inv_run *r)
{
	char state[32];

	read_state(r, state);
	if (*state)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_IO,
		"%s: holds files but no run.json of a run, so --force will not replace it; "
		"give another name",
		r->path);
}

static invar_status check_mode(inv_run *r, inv_run_mode mode)
{
	bool there = inv_exists(r->path), full = there && !is_empty(r->path);

	if (there && !inv_is_folder(r->path))
		return inv_fail(INVAR_E_IO, "%s: is a file, a run is a folder", r->path);
	if (mode == INV_RUN_RESUME && !inv_exists(r->json_path))
		return inv_fail(INVAR_E_IO,
		                "%s: %s, so there is nothing to resume; leave out --resume",
		                r->path, there ? "has no run.json" : "is not there");
	r->replace = full && (mode == INV_RUN_REPLACE || has_failed_early(r));
	if (mode == INV_RUN_REPLACE && full)
		return check_replace(r);
	if (mode == INV_RUN_FRESH && full && !r->replace)
		return inv_fail(INVAR_E_IO,
		                "%s: is there already; use --resume to go on with it, --force to "
		                "replace it, or another name",
		                r->path);
	if (mode == INV_RUN_RESUME)
		r->replace = false;
	return INVAR_OK;
}

static invar_status lock(inv_run *r)
{
	r->lock = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0)
		return inv_fail_errno(r->path, "cannot open the run");
	if (flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return INVAR_OK;
	return inv_fail(INVAR_E_IO, "%s: another invar is training in it", r->path);
}

static bool is_owned(const char *name)
{
	for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
		if (strcmp(owned[i], name) == 0)
			return true;
	return false;
}

static invar_status remove_in(const inv_run *r, const char *name)
{
	char *path = inv_join(r->path, name);
	invar_status st = INVAR_OK;

	if (!path || (unlink(path) != 0 && errno != ENOENT))
		st = inv_fail_errno(path ? path : r->path, "cannot remove");
	inv_free(path);
	return st;
}

/* Of the bank of clean features: files, folders of splits. */
static invar_status remove_tree(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL; /* a link is removed, not followed */
	struct dirent *entry;
	invar_status st = INVAR_OK;

	while (dir && st == INVAR_OK && (entry = readdir(dir))) {
		char *inner;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (!(inner = inv_join(path, entry->d_name)))
			st = inv_fail(INVAR_E_NOMEM, "%s: no memory to remove it", path);
		else
			st = remove_tree(inner);
		inv_free(inner);
	}
	if (dir)
		closedir(dir);
	if (st == INVAR_OK && remove(path) != 0 && errno != ENOENT)
		st = inv_fail_errno(path, "cannot remove");
	return st;
}

/* run.json goes last: until then, the old run can be told for what it is. */
invar_status inv_run_clear(inv_run *r)
{
	DIR *dir = r->replace ? opendir(r->path) : NULL;
	struct dirent *entry;
	invar_status st = INVAR_OK;

	while (dir && st == INVAR_OK && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, "run.json") != 0 && (is_owned(name) || is_part(name)))
			st = remove_in(r, name);
	}
	if (dir)
		closedir(dir);
	if (r->replace && st == INVAR_OK)
		st = remove_tree(r->clean_path);
	if (r->replace && st == INVAR_OK)
		st = remove_in(r, "run.json");
	if (st == INVAR_OK)
		r->replace = false;
	return st;
}

static invar_status check_format(const inv_run *r)
{
	const char *format = json_string_value(json_object_get(r->json, "format"));

	if (format && strcmp(format, "invar-run") == 0 &&
	    json_integer_value(json_object_get(r->json, "version")) == 1 &&
	    json_is_object(json_object_get(r->json, "options")))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: is not the run.json of an invar run, version 1",
	                r->json_path);
}

static invar_status prepare(inv_run *r, inv_run_mode mode)
{
	invar_status st = check_mode(r, mode);

	if (st == INVAR_OK) {
		r->made = !inv_exists(r->path);
		st = inv_make_folder(r->path);
	}
	if (st == INVAR_OK)
		st = lock(r);
	if (st == INVAR_OK)
		st = check_mode(r, mode); /* another may have been faster */
	if (st == INVAR_OK && mode == INV_RUN_RESUME) {
		st = inv_json_load(r->json_path, &r->json);
		return st == INVAR_OK ? check_format(r) : st;
	}
	if (st == INVAR_OK && !(r->json = json_object()))
		st = inv_fail(INVAR_E_NOMEM, "%s: no memory for run.json", r->path);
	return st;
}

invar_status inv_run_open(const char *path, inv_run_mode mode, inv_run **out)
{
	inv_run *r = inv_calloc(1, sizeof *r);
	invar_status st;

	*out = NULL;
	if (!r)
		return inv_fail(INVAR_E_NOMEM, "%s: no memory for the run", path);
	r->lock = -1;
	st = set_paths(r, path) ? prepare(r, mode)
	                        : inv_fail(INVAR_E_NOMEM, "%s: no memory for the run", path);
	if (st != INVAR_OK) {
		inv_run_close(r);
		return st;
	}
	*out = r;
	return INVAR_OK;
}

void inv_run_close(inv_run *r)
{
	if (!r)
		return;
	if (r->log)
		fclose(r->log);
	if (r->made)
		rmdir(r->path); /* which only an empty folder allows */
	if (r->lock >= 0)
		close(r->lock);
	json_decref(r->json);
	inv_free(r->path);
	inv_free(r->json_path);
	inv_free(r->log_path);
	inv_free(r->checkpoint_path);
	inv_free(r->adapter_path);
	inv_free(r->decoder_path);
	inv_free(r->clean_path);
	inv_free(r);
}

invar_status inv_run_save(inv_run *r)
{
	return inv_json_save(r->json_path, r->json);
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
	if ((st = inv_file_load(r->log_path, MOST_LOG, &text, &bytes)) != INVAR_OK)
		return st;
	st = inv_file_save(r->log_path, text, lines_length(text, bytes, epochs));
	inv_free(text);
	return st;
}

invar_status inv_run_open_log(inv_run *r, uint64_t epochs)
{
	invar_status st = cut_log(r, epochs);

	if (st != INVAR_OK)
		return st;
	r->log = fopen(r->log_path, "ae");
	return r->log ? INVAR_OK : inv_fail_errno(r->log_path, "cannot open");
}

invar_status inv_run_log(inv_run *r, const json_t *line)
{
	char *text = inv_json_text(line, 0);
	bool ok;

	if (!text)
		return inv_fail(INVAR_E_NOMEM, "%s: no memory for a line", r->log_path);
	ok = fprintf(r->log, "%s\n", text) > 0 && fflush(r->log) == 0;
	inv_free(text);
	return ok ? INVAR_OK : inv_fail_errno(r->log_path, "cannot write");
}

invar_status inv_run_sync_log(inv_run *r)
{
	return fsync(fileno(r->log)) == 0 ? INVAR_OK
	                                  : inv_fail_errno(r->log_path, "cannot flush to disk");
}
