/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - atomic saving and mapped reading, see file.h for the invariants. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/test_stop.h"

enum { PAUSE_MS = 10, MAX_WAIT_MS = 30000 };

struct inv_writer {
	int fd;
	bool busy; /* another program holds the part file */
	char *path, *part;
	bool replaces; /* a file of that name, which was this one: */
	struct stat old;
	uint64_t written; /* bytes that the buffer has passed on */
	size_t fill;
	char buffer[1 << 16];
};

char *inv_join(const char *folder, const char *name)
{
	size_t a = strlen(folder), b = strlen(name);
	char *path = inv_alloc(a + b + 2);

	if (path)
		snprintf(path, a + b + 2, "%s%s%s", folder, a && folder[a - 1] == '/' ? "" : "/",
		         name);
	return path;
}

invar_status inv_new_path(char **out, const char *folder, const char *name)
{
	*out = inv_join(folder, name);
	return inv_check_memory(*out, strlen(folder) + strlen(name) + 2);
}

invar_status inv_new_path_in(char **out, const char *folder, const char *below,
                             const char *name)
{
	char *inner;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new_path(&inner, folder, below));
	st = inv_new_path(out, inner, name);
	inv_free(inner);
	return st;
}

invar_status inv_new_name(char **out, const char *path, const char *suffix)
{
	size_t size = strlen(path) + strlen(suffix) + 1;

	INV_TRY(inv_new_array(out, size));
	snprintf(*out, size, "%s%s", path, suffix);
	return INVAR_OK;
}

bool inv_is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool inv_exists(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

invar_status inv_make_folder(const char *path)
{
	if (mkdir(path, 0777) == 0 || (errno == EEXIST && inv_is_folder(path)))
		return INVAR_OK;
	return inv_fail_errno(path, "cannot create the folder");
}

uint64_t inv_free_bytes(const char *path)
{
	char *at = inv_strdup(path), *slash;
	struct statvfs disk;
	bool found;

	/* The path itself, or the nearest folder above it that exists. */
	while (at && !inv_exists(at) && (slash = strrchr(at, '/')))
		slash[slash == at] = '\0';
	found = at && statvfs(inv_exists(at) ? at : ".", &disk) == 0;
	inv_free(at);
	return found ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

invar_status inv_sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int bad;

	if (fd < 0)
		return inv_fail_errno(path, "cannot open the folder");
	/* Some file systems have nothing to flush for a folder. */
	bad = fsync(fd) != 0 && errno != EINVAL && errno != EROFS;
	close(fd);
	return bad ? inv_fail_errno(path, "cannot sync the folder") : INVAR_OK;
}

void inv_writer_leave(inv_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	inv_free(w->path);
	inv_free(w->part);
	inv_free(w);
}

void inv_writer_abort(inv_writer *w)
{
	if (w && w->fd >= 0)
		unlink(w->part);
	inv_writer_leave(w);
}

/* ---- The part file ------------------------------------------------------------------ */

/* Why an existing part file cannot be opened. */
static invar_status refuse_part(const char *part)
{
	int error = errno;
	struct stat info;

	if (lstat(part, &info) == 0 && !S_ISREG(info.st_mode))
		return inv_fail(INVAR_E_IO,
		                "%s: is %s, but a temporary file must be written there; remove it",
		                part, S_ISLNK(info.st_mode) ? "a link" : "not a regular file");
	errno = error;
	return inv_fail_errno(part, "cannot write");
}

/* Opens an existing file, never through a link and never blocking on a pipe; -1 in *fd if
 * it is gone. */
static invar_status open_existing(const char *part, int mode, int *fd)
{
	struct stat info;

	*fd = open(part, mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT ? INVAR_OK : refuse_part(part);
	if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode))
		return INVAR_OK;
	close(*fd);
	*fd = -1;
	return refuse_part(part);
}

/* Some file systems have no locks; if locking works, another writer has this one. */
static bool is_locked(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static bool is_still_named(int fd, const char *part)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(part, &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static invar_status refuse_second(inv_writer *w)
{
	w->busy = true;
	return inv_fail(INVAR_E_IO, "%s: another program is writing this file", w->path);
}

/* What a killed program left loses its name; its bytes stay if they have another one. */
static invar_status remove_leftover(inv_writer *w)
{
	invar_status st = INVAR_OK;
	int fd;

	INV_TRY(open_existing(w->part, O_RDONLY, &fd));
	if (fd < 0)
		return INVAR_OK;
	if (is_locked(fd))
		st = refuse_second(w);
	else if (is_still_named(fd, w->part) && unlink(w->part) != 0)
		st = inv_fail_errno(w->part, "cannot remove");
	close(fd);
	return st;
}

/*
 * Makes and locks the part file. Its name may be taken or renamed away between the
 * two by a writer that was faster; then the lock is on the wrong file, and we try again.
 */
static invar_status create_part(inv_writer *w)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	mode_t mode = w->old.st_mode & 0777;

	while ((w->fd = open(w->part, flags, w->replaces ? 0600 : 0666)) < 0 ||
	       is_locked(w->fd) || !is_still_named(w->fd, w->part)) {
		if (w->fd >= 0)
			close(w->fd); /* and it is not ours to remove */
		else if (errno != EEXIST)
			return inv_fail_errno(w->path, "cannot write");
		w->fd = -1;
		INV_TRY(remove_leftover(w));
	}
	if (!w->replaces)
		return INVAR_OK;
	/* As private as the file it replaces, and from its first byte. */
	if (fchown(w->fd, w->old.st_uid, w->old.st_gid) != 0 &&
	    fchown(w->fd, (uid_t)-1, w->old.st_gid) != 0)
		mode = (mode & 0707) | (mode & 07) << 3; /* of another group: no more than all */
	(void)fchmod(w->fd, mode);                   /* some disks have no modes */
	return INVAR_OK;
}

/* The part file of an earlier program, with its contents. */
static invar_status keep_part(inv_writer *w)
{
	struct stat info;

	INV_TRY(open_existing(w->part, O_WRONLY, &w->fd));
	if (w->fd < 0)
		return create_part(w);
	if (is_locked(w->fd) || !is_still_named(w->fd, w->part))
		return refuse_second(w);
	if (fstat(w->fd, &info) != 0 || info.st_nlink != 1)
		return inv_fail(INVAR_E_IO, "%s: is a hard link; remove it", w->part);
	return INVAR_OK;
}

/* ---- Writing ------------------------------------------------------------------------ */

/*
 * A writer whose files have their names. Links are followed; only a regular file can be
 * replaced. One that failed is the caller's to end.
 */
static invar_status new_writer(const char *path, const char *suffix, inv_writer **out)
{
	struct stat info;
	char *real = NULL;
	inv_writer *w;
	invar_status st;

	INV_TRY(inv_new(out));
	w = *out;
	w->fd = -1;
	if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && !(real = realpath(path, NULL)))
		return inv_fail_errno(path, "cannot follow the link");
	st = inv_new_text(&w->path, real ? real : path);
	free(real);
	INV_TRY(st);
	w->replaces = stat(w->path, &w->old) == 0;
	if (w->replaces && S_ISDIR(w->old.st_mode))
		return inv_fail(INVAR_E_IO, "%s: is a folder, expected a file", path);
	if (w->replaces && !S_ISREG(w->old.st_mode))
		return inv_fail(INVAR_E_IO, "%s: is not a regular file and will not be replaced",
		                path);
	return inv_new_name(&w->part, w->path, suffix);
}

/*
 * The same with its part file open and of its size. If it fails the part file is removed,
 * unless its contents were to be kept; *busy: another program writes it.
 */
static invar_status begin_part(const char *path, const char *suffix, uint64_t bytes,
                               bool keep, bool *busy, inv_writer **out)
{
	invar_status st;
	int error = 0;

	INV_TRY_OR(fail, new_writer(path, suffix, out));
	INV_TRY_OR(fail, keep ? keep_part(*out) : create_part(*out));
	/* Finds out now, not after an hour of work, that the disk is too small. */
	do
		if (bytes)
			error =
				bytes > INT64_MAX ? EFBIG : posix_fallocate((*out)->fd, 0, (off_t)bytes);
	while (error == EINTR);
	if (!error || error == EOPNOTSUPP || error == EINVAL)
		return INVAR_OK;
	errno = error;
	st = inv_fail_errno((*out)->path, "cannot reserve disk space for it");
fail:
	if (busy)
		*busy = *out && (*out)->busy;
	(keep ? inv_writer_leave : inv_writer_abort)(*out);
	*out = NULL;
	return st;
}

invar_status inv_writer_open(const char *path, uint64_t bytes, inv_writer **out)
{
	return begin_part(path, INV_PART, bytes, false, NULL, out);
}

invar_status inv_writer_open_in_turn(const invar_context *ctx, const char *path,
                                     inv_writer **out)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};

	for (int waited = 0;; waited += PAUSE_MS) {
		bool busy;
		invar_status st = begin_part(path, INV_PART, 0, false, &busy, out);

		if (st == INVAR_OK || !busy || waited >= MAX_WAIT_MS)
			return st;
		INV_TRY(inv_progress(ctx, "wait", 0, 0));
		inv_test_stop("file:locked %s", path);
		nanosleep(&pause, NULL);
	}
}

invar_status inv_writer_shorten(inv_writer *w, uint64_t bytes)
{
	return ftruncate(w->fd, (off_t)bytes) == 0
	           ? INVAR_OK
	           : inv_fail_errno(w->path, "cannot reserve disk space for it");
}

invar_status inv_writer_take_up(const char *path, uint64_t bytes, bool keep,
                                inv_writer **out)
{
	invar_status st;

	INV_TRY(begin_part(path, INV_BANK_PART, bytes, keep, NULL, out));
	/* Even if space cannot be reserved, the file gets its size. */
	if ((st = inv_writer_shorten(*out, bytes)) != INVAR_OK) {
		(keep ? inv_writer_leave : inv_writer_abort)(*out);
		*out = NULL;
	}
	return st;
}

/*
 * A client of NFS may write a whole page of which only some bytes are new, and so put old
 * bytes where another client has written; not so with O_DSYNC.
 */
invar_status inv_writer_join(const char *path, uint64_t bytes, inv_writer **out)
{
	struct statfs disk;
	struct stat info;
	invar_status st;
	bool nfs;

	INV_TRY_OR(fail, new_writer(path, INV_BANK_PART, out));
	nfs = statfs((*out)->part, &disk) == 0 && disk.f_type == NFS_SUPER_MAGIC;
	INV_TRY_OR(fail,
	           open_existing((*out)->part, O_WRONLY | (nfs ? O_DSYNC : 0), &(*out)->fd));
	if ((*out)->fd >= 0 && fstat((*out)->fd, &info) == 0 && (uint64_t)info.st_size == bytes)
		return INVAR_OK;
	st = inv_fail(INVAR_E_IO,
	              "%s: is not the file that another rank has prepared; all ranks must "
	              "share the file system",
	              (*out)->part);
fail:
	inv_writer_leave(*out);
	*out = NULL;
	return st;
}

invar_status inv_writer_put_at(inv_writer *w, uint64_t at, const void *data, size_t bytes)
{
	const char *from = data;

	while (bytes) {
		ssize_t done = pwrite(w->fd, from, bytes, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return inv_fail_errno(w->path, "cannot write");
		from += done;
		at += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return INVAR_OK;
}

invar_status inv_writer_sync(inv_writer *w)
{
	return fdatasync(w->fd) == 0 ? INVAR_OK
	                             : inv_fail_errno(w->path, "cannot flush to disk");
}

/* The buffer, then data that would not fit into it. */
static invar_status write_on(inv_writer *w, const void *data, size_t bytes)
{
	INV_TRY(inv_writer_put_at(w, w->written, w->buffer, w->fill));
	w->written += w->fill;
	w->fill = 0;
	INV_TRY(inv_writer_put_at(w, w->written, data, bytes));
	w->written += bytes;
	return INVAR_OK;
}

invar_status inv_writer_put(inv_writer *w, const void *data, size_t bytes)
{
	bool is_long = bytes > sizeof w->buffer;

	if (w->fill + bytes > sizeof w->buffer)
		INV_TRY(write_on(w, data, is_long ? bytes : 0));
	if (is_long)
		return INVAR_OK;
	memcpy(w->buffer + w->fill, data, bytes);
	w->fill += bytes;
	return INVAR_OK;
}

invar_status inv_writer_commit(inv_writer *w)
{
	char *slash = strrchr(w->path, '/');
	invar_status st;

	INV_TRY_OR(fail, write_on(w, NULL, 0));
	if (fsync(w->fd) != 0)
		INV_TRY_OR(fail, inv_fail_errno(w->path, "cannot flush to disk"));
	inv_test_stop("file:written %s", w->path);
	if (rename(w->part, w->path) != 0)
		INV_TRY_OR(fail, inv_fail_errno(w->path, "cannot rename its part file to it"));
	inv_test_stop("file:saved %s", w->path);
	/* The file is whole, so a folder that cannot be flushed is no fault. */
	if (slash)
		slash[slash == w->path] = '\0';
	inv_sync_folder(slash ? w->path : ".");
	inv_writer_leave(w);
	return INVAR_OK;
fail:
	inv_writer_abort(w);
	return st;
}

invar_status inv_file_remove_part(const char *path)
{
	inv_writer *w;
	invar_status st = new_writer(path, INV_PART, &w);

	if (st == INVAR_OK)
		st = remove_leftover(w);
	inv_writer_abort(w);
	return st;
}

invar_status inv_file_save(const char *path, const void *data, size_t bytes)
{
	inv_writer *w;
	invar_status st;

	INV_TRY(inv_writer_open(path, 0, &w));
	if ((st = inv_writer_put(w, data, bytes)) != INVAR_OK) {
		inv_writer_abort(w);
		return st;
	}
	return inv_writer_commit(w);
}

invar_status inv_file_write(invar_context *ctx, const char *path, const void *data,
                            size_t bytes)
{
	(void)ctx;
	return inv_file_save(path, data, bytes);
}

static inv_file_id file_id(const struct stat *info)
{
	const struct timespec m = info->st_mtim, c = info->st_ctim;

	return (inv_file_id){.inode = info->st_ino,
	                     .bytes = (uint64_t)info->st_size,
	                     .written = (int64_t)m.tv_sec * 1000000000 + m.tv_nsec,
	                     .changed = (int64_t)c.tv_sec * 1000000000 + c.tv_nsec};
}

bool inv_file_id_of(const char *path, inv_file_id *out)
{
	struct stat info;
	bool found = stat(path, &info) == 0;

	*out = found ? file_id(&info) : (inv_file_id){0};
	return found;
}

/* Opens a regular file for reading; anything else could block or never end. */
static invar_status open_regular(const char *path, int *fd, inv_file_id *id)
{
	struct stat info = {0};

	*id = (inv_file_id){0};
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return inv_fail_errno(path, "cannot open");
	if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
		*id = file_id(&info);
		return INVAR_OK;
	}
	close(*fd);
	return inv_fail(INVAR_E_IO, "%s: is %s, expected a file", path,
	                S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
}

invar_status inv_map_open(const char *path, inv_map *out)
{
	invar_status st = INVAR_OK;
	inv_file_id id;
	void *data = NULL;
	int fd;

	*out = (inv_map){0};
	INV_TRY(open_regular(path, &fd, &id));
	if (id.bytes)
		data = (size_t)id.bytes != id.bytes
		           ? MAP_FAILED
		           : mmap(NULL, id.bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		st = inv_fail_errno(path, "cannot map");
	else if (data)
		*out = (inv_map){.data = data, .size = id.bytes, .id = id};
	close(fd);
	return st;
}

void inv_map_let_go(const inv_map *m, const void *data, uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGE_SIZE);
	uintptr_t start = (uintptr_t)m->data, first = (uintptr_t)data;

	if (!m->data || first < start || first - start > m->size ||
	    bytes > m->size - (first - start))
		return; /* not of this file */
	bytes += first % page;
	(void)madvise((void *)(first - first % page), bytes, MADV_DONTNEED);
}

void inv_map_close(inv_map *m)
{
	if (m->data)
		munmap((void *)(uintptr_t)m->data, m->size);
	*m = (inv_map){0};
}

invar_status inv_file_load(const char *path, size_t max, char **text, size_t *bytes)
{
	invar_status st;
	inv_file_id id;
	int fd;

	*text = NULL;
	INV_TRY(open_regular(path, &fd, &id));
	if (id.bytes > max) {
		st = inv_fail(INVAR_E_FORMAT, "%s: has %llu bytes, expected at most %zu", path,
		              (unsigned long long)id.bytes, max);
		goto fail;
	}
	INV_TRY_OR(fail, inv_new_array(text, id.bytes + 1));
	for (size_t done = 0; done < id.bytes;) {
		ssize_t got = read(fd, *text + done, id.bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			st = got < 0 ? inv_fail_errno(path, "cannot read")
			             : inv_fail(INVAR_E_IO,
			                        "%s: became shorter while it was being read", path);
			goto fail;
		}
		done += (size_t)got;
	}
	(*text)[id.bytes] = '\0';
	*bytes = id.bytes;
	close(fd);
	return INVAR_OK;
fail:
	close(fd);
	inv_free(*text);
	*text = NULL;
	return st;
}
