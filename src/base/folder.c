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

/* A file or folder of the owner must be one; links and devices are foreign. */
static invar_status classify(const walker *w, const char *entry, inv_ownership *out)
{
	struct stat info;
	char *path;

	INV_TRY(inv_new_path(&path, w->root, entry));
	*out = w->owner.claim(w->owner.user, entry);
	if (lstat(path, &info) != 0 || (*out == INV_OWN_FILE && !S_ISREG(info.st_mode)) ||
	    (*out == INV_OWN_FOLDER && !S_ISDIR(info.st_mode)))
		*out = INV_FOREIGN;
	inv_free(path);
	return INVAR_OK;
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
static invar_status walk_folder(walker *w, const char *folder)
{
	struct dirent **entries = NULL;
	char *path, *entry = NULL;
	inv_ownership kind;
	invar_status st;
	int count;

	INV_TRY(folder ? inv_new_path(&path, w->root, folder) : inv_new_text(&path, w->root));
	count = scandir(path, &entries, is_entry, by_bytes);
	if (count < 0)
		INV_TRY_OR(done, inv_fail_errno(path, "cannot read the folder"));
	st = INVAR_OK;
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		inv_free(entry);
		INV_TRY_OR(done, folder ? inv_new_path(&entry, folder, name)
		                        : inv_new_text(&entry, name));
		INV_TRY_OR(done, classify(w, entry, &kind));
		if (kind == INV_OWN_FOLDER)
			INV_TRY_OR(done, walk_folder(w, entry));
		INV_TRY_OR(done, w->visit(w, entry, kind));
	}
done:
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	inv_free(entry);
	inv_free(path);
	return st;
}

/* ---- What is done with entries ---------------------------------------------------- */

static invar_status note_foreign(walker *w, const char *entry, inv_ownership kind)
{
	if (kind != INV_FOREIGN || w->foreign)
		return INVAR_OK;
	return inv_new_text(&w->foreign, entry);
}

invar_status inv_folder_find_foreign(const char *path, inv_owner owner, char **out)
{
	walker w = {.root = path, .owner = owner, .visit = note_foreign};
	invar_status st = walk_folder(&w, NULL);

	*out = w.foreign;
	if (st != INVAR_OK) {
		inv_free(w.foreign);
		*out = NULL;
	}
	return st;
}

static invar_status remove_own(walker *w, const char *entry, inv_ownership kind)
{
	invar_status st = INVAR_OK;
	char *path;

	if (w->last && strcmp(entry, w->last) == 0)
		return INVAR_OK;
	INV_TRY(inv_new_path(&path, w->root, entry));
	inv_test_stop("folder:remove %s", path);
	if (kind == INV_OWN_FILE && unlink(path) != 0 && errno != ENOENT)
		st = inv_fail_errno(path, "cannot remove");
	if (kind == INV_OWN_FOLDER && rmdir(path) != 0 && errno != ENOENT &&
	    errno != ENOTEMPTY && errno != EEXIST)
		st = inv_fail_errno(path, "cannot remove");
	inv_free(path);
	return st;
}

invar_status inv_folder_remove_own(const char *path, inv_owner owner, const char *last)
{
	walker w = {.root = path, .owner = owner, .visit = remove_own, .last = last};
	inv_ownership kind;

	INV_TRY(walk_folder(&w, NULL));
	INV_TRY(classify(&w, last, &kind));
	w.last = NULL;
	return remove_own(&w, last, kind);
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
	char *from = NULL, *to = NULL;
	invar_status st;

	if (kind != INV_FOREIGN)
		return INVAR_OK;
	INV_TRY_OR(done, inv_new_path(&from, w->root, entry));
	INV_TRY_OR(done, inv_new_path(&to, w->to, entry));
	for (char *slash = to + strlen(w->to); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0'; /* the folders above it, one by one */
		INV_TRY_OR(done, inv_make_folder(to));
		*slash = '/';
	}
	if (!rename_if_free(from, to))
		st = inv_fail(INVAR_E_IO, "%s: cannot be moved to %s; move it by hand", from, to);
done:
	inv_free(from);
	inv_free(to);
	return st;
}

invar_status inv_folder_move_foreign(const char *from, const char *to, inv_owner owner)
{
	walker w = {.root = from, .owner = owner, .visit = move_foreign, .to = to};

	return walk_folder(&w, NULL);
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

char *inv_folder_name_part(const char *place)
{
	char *name;

	(void)inv_new_name(&name, place, ".part");
	return name;
}

char *inv_folder_name_aside(const char *place)
{
	char *name;

	(void)inv_new_name(&name, place, ".old.part");
	return name;
}

char *inv_folder_place(const char *path)
{
	char real[PATH_MAX], *place = inv_strdup(path);
	const char *slash, *name;
	struct stat info;

	for (size_t end = place ? strlen(place) : 0; end > 1 && place[end - 1] == '/'; end--)
		place[end - 1] = '\0';
	if (!place)
		return NULL;
	slash = strrchr(place, '/');
	name = slash ? slash + 1 : place;
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    (lstat(place, &info) != 0 || !S_ISLNK(info.st_mode)))
		return place;
	if (!realpath(place, real))
		return place;
	inv_free(place);
	return inv_strdup(real);
}

invar_status inv_folder_exchange(const char *a, const char *b, const char *aside)
{
	invar_status st;

	inv_test_stop("folder:exchange %s", b);
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0) {
		inv_test_stop("folder:exchanged %s", b);
		return INVAR_OK;
	}
	if ((errno != EINVAL && errno != ENOSYS) || !rename_if_free(a, aside))
		return inv_fail_errno(b, "cannot replace the old folder");
	if (rename(b, a) != 0) {
		st = inv_fail_errno(b, "cannot replace the old folder");
		(void)rename_if_free(aside, a);
		return st;
	}
	return rename(aside, b) == 0 ? INVAR_OK : inv_fail_errno(aside, "cannot rename");
}
