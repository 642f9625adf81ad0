/* SPDX-License-Identifier: Apache-2.0 */
/* stage_stamp.c - stamps of files; see stage_stamp.h. */
#include "study/stage_stamp.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/pool.h"

typedef struct file_list {
	inv_pool pool;
	const char *root;
	char **path;
	size_t count;
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
	INV_TRY(inv_pool_more(&l->pool, &l->path, l->count));
	INV_TRY(inv_pool_print(&l->pool, &l->path[l->count++], "%s", path));
	return json_array_append_new(l->about, json_pack("[o, I, I, I, I]", name_below(l, path),
	                                                 (json_int_t)info.st_size,
	                                                 (json_int_t)nanoseconds(info.st_mtim),
	                                                 (json_int_t)nanoseconds(info.st_ctim),
	                                                 (json_int_t)info.st_ino)) == 0
	           ? INVAR_OK
	           : inv_no_memory();
}

static void free_list(file_list *l)
{
	inv_pool_free(&l->pool);
	json_decref(l->about);
}

/* The files, and the hash of what the system says about them. */
static invar_status list_files(invar_context *ctx, const char *path, inv_stage_list *list,
                               file_list *l, char about[INV_SHA256_HEX])
{
	*l = (file_list){.root = path, .about = json_array()};
	INV_TRY(list ? list(ctx, path, add_file, l) : add_file(l, path));
	return inv_json_sha256(l->about, about);
}

static invar_status hash_files(const invar_context *ctx, const file_list *l,
                               char hex[INV_SHA256_HEX])
{
	json_t *all = json_array();
	char of_file[INV_SHA256_HEX];
	invar_status st;

	for (size_t i = 0; i < l->count; i++) {
		INV_TRY_OR(done, inv_progress(ctx, "check files", i, l->count));
		INV_TRY_OR(done, inv_sha256_file(l->path[i], of_file));
		json_array_append_new(all, json_pack("[o, s]", name_below(l, l->path[i]), of_file));
	}
	st = json_array_size(all) == l->count ? inv_json_sha256(all, hex) : inv_no_memory();
done:
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

invar_status inv_stamp_new(invar_context *ctx, const char *path, inv_stage_list *list,
                           json_t **out)
{
	char hex[INV_SHA256_HEX], about[INV_SHA256_HEX];
	file_list l;
	invar_status st;

	*out = NULL;
	INV_TRY_OR(done, list_files(ctx, path, list, &l, about));
	INV_TRY_OR(done, hash_files(ctx, &l, hex));
	st = make_stamp(&l, hex, about, out);
done:
	free_list(&l);
	return st;
}

const char *inv_stamp_sha256(const json_t *stamp)
{
	return json_string_value(json_object_get(stamp, "sha256"));
}

/*
 * A file that changed in the tick of the clock in which the record was saved may change
 * once more in it, and look the same.
 */
invar_status inv_stamp_check(invar_context *ctx, const char *path, inv_stage_list *list,
                             const json_t *stamp, int64_t recorded, bool *same,
                             json_t **fresh)
{
	char hex[INV_SHA256_HEX], about[INV_SHA256_HEX];
	bool looks_same;
	file_list l;
	invar_status st;

	*same = false;
	*fresh = NULL;
	INV_TRY_OR(done, list_files(ctx, path, list, &l, about));
	looks_same = inv_json_is(stamp, "stat", about);
	if (looks_same && l.newest < recorded) {
		*same = true;
	} else if ((json_int_t)l.bytes == json_integer_value(json_object_get(stamp, "bytes"))) {
		INV_TRY_OR(done, hash_files(ctx, &l, hex));
		*same = inv_json_is(stamp, "sha256", hex);
		if (*same && !looks_same)
			st = make_stamp(&l, hex, about, fresh);
	}
done:
	free_list(&l);
	return st == INVAR_E_NOMEM || st == INVAR_E_CANCELLED ? st : INVAR_OK;
}

/* A file that a bank may do without. */
static invar_status list_if_there(const char *path, inv_stage_file *each, void *user)
{
	return inv_exists(path) ? each(user, path) : INVAR_OK;
}

static invar_status list_split(const char *bank, const inv_split *s, inv_stage_file *each,
                               void *user)
{
	inv_pool pool = {0};
	char *path;
	invar_status st;

	INV_TRY_OR(done, each(user, s->clean->path));
	if (s->labels)
		INV_TRY_OR(done, each(user, s->labels->path));
	INV_TRY_OR(done, inv_pool_print(&pool, &path, "%s/%s/names.txt", bank, s->name));
	INV_TRY_OR(done, list_if_there(path, each, user));
	INV_TRY_OR(done, inv_pool_print(&pool, &path, "%s/%s/fingerprints.npy", bank, s->name));
	INV_TRY_OR(done, list_if_there(path, each, user));
	for (size_t i = 0; i < s->aug_files; i++) {
		const char *copy =
			s->aug[i]->path; /* "aug/003.params.npy" is beside "aug/003.npy" */

		INV_TRY_OR(done, each(user, copy));
		INV_TRY_OR(done, inv_pool_print(&pool, &path, "%.*s.params.npy",
		                                (int)(strlen(copy) - strlen(".npy")), copy));
		INV_TRY_OR(done, list_if_there(path, each, user));
	}
	for (int32_t i = INVAR_CLEAN; i < (int32_t)s->copies; i++)
		if (inv_split_views(s, i))
			INV_TRY_OR(done, each(user, inv_split_views(s, i)->path));
done:
	inv_pool_free(&pool);
	return st;
}

invar_status inv_stamp_list_bank(invar_context *ctx, const char *path, inv_stage_file *each,
                                 void *user)
{
	char *about = inv_join(path, "bank.json");
	invar_bank *bank = NULL;
	invar_status st;

	if (!about)
		return inv_no_memory();
	INV_TRY_OR(done, inv_bank_open(ctx, path, &bank));
	INV_TRY_OR(done, list_if_there(about, each, user));
	for (size_t i = 0; i < invar_bank_splits(bank); i++)
		INV_TRY_OR(done, list_split(path, inv_bank_split(bank, invar_bank_split(bank, i)),
		                            each, user));
done:
	inv_free(about);
	invar_bank_close(bank);
	return st;
}
