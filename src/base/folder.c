/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - see folder.h for whose files are whose. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/test_stop.h"

enum { MAX_MARK = 256 };

bool inv_is_own_name(const char *name, const char *own)
{
	size_t length = strlen(own);

	return strncmp(name, own, length) == 0 &&
	       (!name[length] || strcmp(name + length, INV_PART) == 0);
}

bool inv_file_begins(const char *path, const char *text)
{
	char found[MAX_MARK];
	size_t bytes, length = strlen(text);
	struct stat info;
	FILE *file;

	if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode) || !(file = fopen(path, "re")))
		return false;
	bytes = fread(found, 1, length < sizeof found ? length : sizeof found, file);
	fclose(file);
	return memcmp(found, text, bytes) == 0;
}

invar_status inv_folder_each(const char *path,
                             invar_status (*each)(void *user, const char *path,
                                                  const struct dirent *entry),
                             void *user)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	invar_status st = INVAR_OK;

	if (!dir)
		return inv_fail_errno(path, "cannot read the folder");
	while (st == INVAR_OK && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			st = each(user, path, entry);
	closedir(dir);
	return st;
}

/* ---- Traversal ------------------------------------------------------------------- */

typedef struct walker {
	const char *root;
	inv_owner owner;
	invar_status (*visit)(struct walker *w, const char *entry, inv_ownership kind);
	const char *last; /* entry that is left for the end */
	const char *to;   /* where foreign entries go */
	char *foreign;    /* the first that was found */
} walker;

static invar_status no_memory(const char *path)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to look into the folder", path);
}

/* A file or folder of the owner must be one; links and devices are foreign. */
static invar_status classify(const walker *w, const char *entry, inv_ownership *out)
{
	char *path = inv_join(w->root, entry);
	struct stat info;

	if (!path)
		return no_memory(w->root);
	*out = w->owner.claim(w->owner.user, entry);
	if (lstat(path, &info) != 0 || (*out == INV_OWN_FILE && !S_ISREG(info.st_mode)) ||
	    (*out == INV_OWN_FOLDER && !S_ISDIR(info.st_mode)))
		*out = INV_FOREIGN;
	inv_free(path);
	return INVAR_OK;
}

static invar_status walk(walker *w, const char *folder);

static invar_status visit_entry(walker *w, const char *folder, const char *name)
{
	char *entry = folder ? inv_join(folder, name) : inv_strdup(name);
	inv_ownership kind;
	invar_status st = entry ? classify(w, entry, &kind) : no_memory(w->root);

	if (st == INVAR_OK && kind == INV_OWN_FOLDER)
		st = walk(w, entry);
	if (st == INVAR_OK)
		st = w->visit(w, entry, kind);
	inv_free(entry);
	return st;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Entries in byte order, the contents of a folder before the folder itself. */
static invar_status walk(walker *w, const char *folder)
{
	char *path = folder ? inv_join(w->root, folder) : inv_strdup(w->root);
	struct dirent **entries = NULL;
	int count = path ? scandir(path, &entries, is_entry, by_bytes) : 0;
	invar_status st = path ? INVAR_OK : no_memory(w->root);

	if (count < 0)
		st = inv_fail_errno(path, "cannot read the folder");
	for (int i = 0; i < count; i++) {
		if (st == INVAR_OK)
			st = visit_entry(w, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	inv_free(path);
	return st;
}

/* ---- What is done with entries ---------------------------------------------------- */

static invar_status note_foreign(walker *w, const char *entry, inv_ownership kind)
{
	if (kind != INV_FOREIGN || w->foreign)
		return INVAR_OK;
	w->foreign = inv_strdup(entry);
	return w->foreign ? INVAR_OK : no_memory(w->root);
}

invar_status inv_folder_find_foreign(const char *path, inv_owner owner, char **out)
{
	walker w = {.root = path, .owner = owner, .visit = note_foreign};
	invar_status st = walk(&w, NULL);

	*out = w.foreign;
	if (st != INVAR_OK) {
		inv_free(w.foreign);
		*out = NULL;
	}
	return st;
}

static invar_status remove_entry(const char *root, const char *entry, inv_ownership kind)
{
	char *path = inv_join(root, entry);
	invar_status st = INVAR_OK;

	if (!path)
		return no_memory(root);
	inv_test_stop("folder:remove %s", path);
	if (kind == INV_OWN_FILE && unlink(path) != 0 && errno != ENOENT)
		st = inv_fail_errno(path, "cannot remove");
	if (kind == INV_OWN_FOLDER && rmdir(path) != 0 && errno != ENOENT &&
	    errno != ENOTEMPTY && errno != EEXIST)
		st = inv_fail_errno(path, "cannot remove");
	inv_free(path);
	return st;
}

static invar_status remove_own(walker *w, const char *entry, inv_ownership kind)
{
	return strcmp(entry, w->last) == 0 ? INVAR_OK : remove_entry(w->root, entry, kind);
}

invar_status inv_folder_remove_own(const char *path, inv_owner owner, const char *last)
{
	walker w = {.root = path, .owner = owner, .visit = remove_own, .last = last};
	invar_status st = walk(&w, NULL);
	inv_ownership kind;

	if (st == INVAR_OK)
		st = classify(&w, last, &kind);
	return st == INVAR_OK ? remove_entry(path, last, kind) : st;
}

/* The folders above "a/b/c" below another root. */
static invar_status make_folders_above(const char *root, const char *entry)
{
	invar_status st = INVAR_OK;

	for (const char *slash = strchr(entry, '/'); slash && st == INVAR_OK;
	     slash = strchr(slash + 1, '/')) {
		char *path = inv_join(root, entry);

		if (!path)
			return no_memory(root);
		path[strlen(path) - strlen(slash)] = '\0';
		st = inv_make_folder(path);
		inv_free(path);
	}
	return st;
}

/* Not all file systems can refuse to replace a file, so this is checked before as well. */
static bool rename_if_free(const char *from, const char *to)
{
	if (inv_exists(to)) {
		errno = EEXIST;
		return false;
	}
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ||
	       ((errno == EINVAL || errno == ENOSYS) && rename(from, to) == 0);
}

static invar_status move_foreign(walker *w, const char *entry, inv_ownership kind)
{
	char *from, *to;
	invar_status st;

	if (kind != INV_FOREIGN)
		return INVAR_OK;
	from = inv_join(w->root, entry);
	to = inv_join(w->to, entry);
	st = from && to ? make_folders_above(w->to, entry) : no_memory(w->root);
	if (st == INVAR_OK && !rename_if_free(from, to))
		st = inv_fail(INVAR_E_IO, "%s: cannot be moved to %s; move it by hand", from, to);
	inv_free(from);
	inv_free(to);
	return st;
}

invar_status inv_folder_move_foreign(const char *from, const char *to, inv_owner owner)
{
	walker w = {.root = from, .owner = owner, .visit = move_foreign, .to = to};

	return walk(&w, NULL);
}

/* ---- Locks and names -------------------------------------------------------------- */

/* A folder may change its name between opening and locking; then it is tried again. */
invar_status inv_folder_lock(const char *path, const char *busy, int *fd)
{
	struct stat ours, named;

	for (;;) {
		*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*fd < 0)
			return inv_fail_errno(path, "cannot open the folder");
		if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
			close(*fd);
			*fd = -1;
			return inv_fail(INVAR_E_IO, "%s: %s", path, busy);
		}
		if (fstat(*fd, &ours) != 0 || stat(path, &named) != 0 ||
		    (ours.st_ino == named.st_ino && ours.st_dev == named.st_dev))
			return INVAR_OK;
		close(*fd);
	}
}

static char *append(const char *path, const char *end)
{
	size_t length = strlen(path) + strlen(end) + 1;
	char *whole = inv_alloc(length);

	if (whole)
		snprintf(whole, length, "%s%s", path, end);
	return whole;
}

char *inv_folder_name_part(const char *place)
{
	return append(place, ".part");
}

char *inv_folder_name_aside(const char *place)
{
	return append(place, ".old.part");
}

/* Whether another folder is meant than one of this name: a link, or "..". */
static bool is_elsewhere(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat info;

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	       (lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
}

char *inv_folder_place(const char *path)
{
	char real[PATH_MAX], *place = inv_strdup(path);

	for (size_t end = place ? strlen(place) : 0; end > 1 && place[end - 1] == '/'; end--)
		place[end - 1] = '\0';
	if (!place || !is_elsewhere(place) || !realpath(place, real))
		return place;
	inv_free(place);
	return inv_strdup(real);
}

static invar_status cannot_exchange(const char *b)
{
	return inv_fail_errno(b, "cannot replace the old folder");
}

static invar_status exchange_by_three(const char *a, const char *b, const char *aside)
{
	invar_status st;

	if (!rename_if_free(a, aside))
		return cannot_exchange(b);
	if (rename(b, a) != 0) {
		st = cannot_exchange(b);
		(void)rename_if_free(aside, a);
		return st;
	}
	return rename(aside, b) == 0 ? INVAR_OK : inv_fail_errno(aside, "cannot rename");
}

invar_status inv_folder_exchange(const char *a, const char *b, const char *aside)
{
	inv_test_stop("folder:exchange %s", b);
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0) {
		inv_test_stop("folder:exchanged %s", b);
		return INVAR_OK;
	}
	if (errno == EINVAL || errno == ENOSYS)
		return exchange_by_three(a, b, aside);
	return cannot_exchange(b);
}
