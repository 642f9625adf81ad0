/* SPDX-License-Identifier: Apache-2.0 */
/* stage_stamp.c - stamps of files; see stage_stamp.h. */
#include "study/stage_stamp.h"

#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"

/* ---- Lists of files -------------------------------------------------------- */

typedef struct file_list {
	const char *root;
	char **path;
	size_t count, allocated;
	json_t *about; /* [[name, bytes, times, inode], …] */
	uint64_t bytes;
	int64_t newest;
} file_list;

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* "train/clean.npy" of a folder, "" of the file itself. */
static json_t *name_below(const file_list *l, const char *path)
{
	const char *rest = path + strlen(l->root);

	return inv_json_path(rest + strspn(rest, "/"));
}

static bool append_path(file_list *l, const char *path)
{
	if (l->count == l->allocated) {
		size_t wanted = 2 * l->allocated + 16;
		char **grown = inv_calloc(wanted, sizeof *grown);

		if (!grown)
			return false;
		if (l->count)
			memcpy(grown, l->path, l->count * sizeof *grown);
		inv_free(l->path);
		l->path = grown;
		l->allocated = wanted;
	}
	if (!(l->path[l->count] = inv_strdup(path)))
		return false;
	l->count++;
	return true;
}

static invar_status add_file(void *user, const char *path)
{
	file_list *l = user;
	struct stat info;

	if (stat(path, &info) != 0)
		return inv_fail_errno(path, "cannot read");
	if (!S_ISREG(info.st_mode))
		return inv_fail(INVAR_E_IO, "%s: is not a file", path);
	l->bytes += (uint64_t)info.st_size;
	if (nanoseconds(info.st_ctim) > l->newest)
		l->newest = nanoseconds(info.st_ctim);
	if (!append_path(l, path) ||
	    json_array_append_new(l->about, json_pack("[o, I, I, I, I]", name_below(l, path),
	                                              (json_int_t)info.st_size,
	                                              (json_int_t)nanoseconds(info.st_mtim),
	                                              (json_int_t)nanoseconds(info.st_ctim),
	                                              (json_int_t)info.st_ino)) != 0)
		return inv_no_memory();
	return INVAR_OK;
}

static void free_list(file_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		inv_free(l->path[i]);
	inv_free(l->path);
	json_decref(l->about);
}

/* The files, and the hash of what the system says about them. */
static invar_status list_files(const char *path, inv_stage_list *list, void *own,
                               file_list *l, char about[INV_SHA256_HEX])
{
	*l = (file_list){.root = path, .about = json_array()};
	INV_TRY(list ? list(own, path, add_file, l) : add_file(l, path));
	return inv_json_sha256(l->about, about);
}

/* ---- Contents -------------------------------------------------------------- */

static invar_status hash_files(const invar_context *ctx, const file_list *l,
                               char hex[INV_SHA256_HEX])
{
	json_t *all = json_array();
	char of_file[INV_SHA256_HEX];
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < l->count && st == INVAR_OK; i++) {
		st = inv_progress(ctx, "check files", i, l->count);
		if (st == INVAR_OK)
			st = inv_sha256_file(l->path[i], of_file);
		if (st == INVAR_OK &&
		    json_array_append_new(
				all, json_pack("[o, s]", name_below(l, l->path[i]), of_file)) != 0)
			st = inv_no_memory();
	}
	if (st == INVAR_OK)
		st = inv_json_sha256(all, hex);
	json_decref(all);
	return st;
}

static invar_status make_stamp(const file_list *l, const char *hex, const char *about,
                               json_t **out)
{
	*out = json_pack("{s:I, s:I, s:s, s:s}", "files", (json_int_t)l->count, "bytes",
	                 (json_int_t)l->bytes, "sha256", hex, "stat", about);
	return *out ? INVAR_OK : inv_no_memory();
}

invar_status inv_stamp_new(const invar_context *ctx, const char *path, inv_stage_list *list,
                           void *own, json_t **out)
{
	char hex[INV_SHA256_HEX], about[INV_SHA256_HEX];
	file_list l;
	invar_status st = list_files(path, list, own, &l, about);

	*out = NULL;
	if (st == INVAR_OK)
		st = hash_files(ctx, &l, hex);
	if (st == INVAR_OK)
		st = make_stamp(&l, hex, about, out);
	free_list(&l);
	return st;
}

const char *inv_stamp_sha256(const json_t *stamp)
{
	return json_string_value(json_object_get(stamp, "sha256"));
}

static bool has_text(const json_t *stamp, const char *key, const char *text)
{
	const char *found = json_string_value(json_object_get(stamp, key));

	return found && strcmp(found, text) == 0;
}

/*
 * A file that changed in the tick of the clock in which the record was saved may change
 * once more in it, and look the same.
 */
invar_status inv_stamp_check(const invar_context *ctx, const char *path,
                             inv_stage_list *list, void *own, const json_t *stamp,
                             int64_t recorded, bool *same, json_t **fresh)
{
	char hex[INV_SHA256_HEX], about[INV_SHA256_HEX];
	file_list l;
	invar_status st = list_files(path, list, own, &l, about);

	*same = false;
	if (fresh)
		*fresh = NULL;
	if (st == INVAR_OK && has_text(stamp, "stat", about) && l.newest < recorded)
		*same = true;
	else if (st == INVAR_OK &&
	         (json_int_t)l.bytes == json_integer_value(json_object_get(stamp, "bytes")) &&
	         (st = hash_files(ctx, &l, hex)) == INVAR_OK &&
	         (*same = has_text(stamp, "sha256", hex)) && !has_text(stamp, "stat", about) &&
	         fresh)
		st = make_stamp(&l, hex, about, fresh);
	free_list(&l);
	return st == INVAR_E_NOMEM || st == INVAR_E_CANCELLED ? st : INVAR_OK;
}

/* ---- Banks ----------------------------------------------------------------- */

/* A file that a bank may do without. */
static invar_status list_if_there(const char *folder, const char *name,
                                  inv_stage_file *each, void *user)
{
	char *path = inv_join(folder, name);
	invar_status st = path ? INVAR_OK : inv_no_memory();

	if (path && inv_exists(path))
		st = each(user, path);
	inv_free(path);
	return st;
}

/* "aug/003.params.npy" beside "aug/003.npy". */
static invar_status list_params(const inv_npy *copy, inv_stage_file *each, void *user)
{
	static const char end[] = ".params.npy";
	size_t length = strlen(copy->path) - strlen(".npy");
	char *path = inv_alloc(length + sizeof end);
	invar_status st = path ? INVAR_OK : inv_no_memory();

	if (path) {
		memcpy(path, copy->path, length);
		memcpy(path + length, end, sizeof end);
		if (inv_exists(path))
			st = each(user, path);
	}
	inv_free(path);
	return st;
}

static invar_status list_split(const char *bank, const inv_split *s, inv_stage_file *each,
                               void *user)
{
	char *folder = inv_join(bank, s->name);
	invar_status st = folder ? each(user, s->clean->path) : inv_no_memory();

	if (st == INVAR_OK && s->labels)
		st = each(user, s->labels->path);
	if (st == INVAR_OK)
		st = list_if_there(folder, "names.txt", each, user);
	if (st == INVAR_OK)
		st = list_if_there(folder, "fingerprints.npy", each, user);
	for (size_t i = 0; i < s->aug_files && st == INVAR_OK; i++)
		if ((st = each(user, s->aug[i]->path)) == INVAR_OK)
			st = list_params(s->aug[i], each, user);
	for (int32_t i = INVAR_CLEAN; i < (int32_t)s->copies && st == INVAR_OK; i++)
		if (inv_split_views(s, i))
			st = each(user, inv_split_views(s, i)->path);
	inv_free(folder);
	return st;
}

invar_status inv_stamp_list_bank(void *own, const char *path, inv_stage_file *each,
                                 void *user)
{
	invar_bank *bank;
	invar_status st = inv_bank_open(own, path, &bank);

	if (st == INVAR_OK)
		st = list_if_there(path, "bank.json", each, user);
	for (size_t i = 0; st == INVAR_OK && i < invar_bank_splits(bank); i++)
		st = list_split(path, inv_bank_split(bank, invar_bank_split(bank, i)), each, user);
	invar_bank_close(bank);
	return st;
}
