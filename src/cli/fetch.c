/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c - see fetch.h. */
#include "cli/fetch.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "cli/models.h"
#include "cli/term.h"

enum {
	CONNECT_SECONDS = 30,
	SILENT_SECONDS = 60,
	REDIRECTIONS = 10,
	WHOLE_FILE = 200, /* answers to a request for the rest of one */
	REST = 206,
	NOTHING_MORE = 416,
	LEFT_FREE = 16, /* a sixteenth of what is free on the disk stays so */
	VERSION = 512   /* bytes of an ETag or a date, with its NUL */
};

/* What an answer says about the version of the file; "" if it does not. */
typedef struct answer_headers {
	long code;
	char etag[VERSION], modified[VERSION], date[VERSION];
} answer_headers;

typedef struct transfer {
	inv_session *s;
	inv_fetch *f;
	char *part;            /* PATH.invar.part */
	char *version_file;    /* PATH.invar.part.version */
	char version[VERSION]; /* in it, for If-Range; "" if unknown */
	answer_headers headers;
	bool changed; /* the server has another version */
	int fd;
	uint64_t from;       /* bytes that were there before */
	uint64_t written;    /* and since */
	uint64_t free_bytes; /* for more on the disk */
	bool too_large;      /* more would have come than it may have, or than there is room */
	int write_error;     /* errno of a write that failed */
	char reason[CURL_ERROR_SIZE];
} transfer;

/* The maximum for this transfer; get_all has restarted if from > max. */
static uint64_t bytes_to_come(const transfer *t)
{
	uint64_t rest = t->f->max - t->from;

	return rest < t->free_bytes ? rest : t->free_bytes;
}

static size_t take_bytes(char *data, size_t one, size_t count, void *user)
{
	transfer *t = user;
	size_t left = one * count;

	if (left > bytes_to_come(t) - t->written) {
		t->too_large = true;
		return CURL_WRITEFUNC_ERROR;
	}
	while (left) {
		ssize_t now = write(t->fd, data, left);

		if (now < 0 && errno == EINTR)
			continue;
		if (now < 0) {
			t->write_error = errno;
			return CURL_WRITEFUNC_ERROR;
		}
		data += now;
		left -= (size_t)now;
		t->written += (uint64_t)now;
	}
	return one * count;
}

/* The value of a header without blanks around it, if the line is one of this name. */
static void take_header(const char *line, size_t length, const char *name,
                        char out[VERSION])
{
	size_t n = strlen(name);

	if (length <= n || strncasecmp(line, name, n) != 0)
		return;
	line += n;
	length -= n;
	for (; length && isspace((unsigned char)*line); line++)
		length--;
	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	if (length < VERSION && !memchr(line, 0, length))
		snprintf(out, VERSION, "%.*s", (int)length, line);
}

/*
 * One line of the headers; those of redirections come first, and are replaced. If-Range
 * needs what identifies this version: an ETag that is not weak, or the time of the last
 * change, if the answer is later, as a file may change twice in a second.
 */
static size_t take_header_line(char *line, size_t one, size_t count, void *user)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	transfer *t = user;
	answer_headers *h = &t->headers;
	size_t length = one * count, etag;
	const char *version = "", *now;
	time_t modified;
	int fd;

	if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
		const char *blank = memchr(line, ' ', length);

		*h = (answer_headers){.code = blank ? strtol(blank, NULL, 10) : 0};
	}
	take_header(line, length, "ETag:", h->etag);
	take_header(line, length, "Last-Modified:", h->modified);
	take_header(line, length, "Date:", h->date);
	if (!length || (line[0] != '\r' && line[0] != '\n')) /* more headers follow */
		return length;

	if (t->from && (h->code == REST || h->code == WHOLE_FILE)) {
		/* A server may send a rest of another version all the same. */
		now = *t->version == '"' ? h->etag : h->modified;
		t->changed = *t->version && *now && strcmp(now, t->version) != 0;
		return t->changed ? 0 : length; /* 0 ends the transfer */
	}
	if (t->from || h->code != WHOLE_FILE)
		return length;
	etag = strlen(h->etag);
	modified = curl_getdate(h->modified, NULL);
	if (etag > 2 && h->etag[0] == '"' && h->etag[etag - 1] == '"')
		version = h->etag;
	else if (modified >= 0 && curl_getdate(h->date, NULL) > modified)
		version = h->modified;
	/* A failure is no reason to stop: then the next transfer starts from the beginning. */
	unlink(t->version_file);
	if (*version && (fd = open(t->version_file, flags, 0666)) >= 0) {
		if (write(fd, version, strlen(version)) != (ssize_t)strlen(version))
			unlink(t->version_file);
		close(fd);
	}
	return length;
}

static int check_progress(void *user, curl_off_t total, curl_off_t done,
                          curl_off_t up_total, curl_off_t up)
{
	transfer *t = user;
	invar_hooks hooks = inv_term_hooks(t->s->term);

	(void)up_total;
	(void)up;
	return hooks.progress(hooks.user, "pull", t->from + (uint64_t)done,
	                      total > 0 ? t->from + (uint64_t)total : 0);
}

static CURLcode set_curl_options(CURL *c, transfer *t, struct curl_slist *condition)
{
	CURLcode bad = CURLE_OK;

	bad |= curl_easy_setopt(c, CURLOPT_URL, t->f->url);
	bad |= curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https,file");
	bad |= curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	bad |= curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	bad |= curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTIONS);
	bad |= curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
	bad |= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	bad |= curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	bad |= curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
	bad |= curl_easy_setopt(c, CURLOPT_USERAGENT, "invar/" INVAR_VERSION);
	bad |= curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->reason);
	bad |= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_bytes);
	bad |= curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	bad |= curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header_line);
	bad |= curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
	bad |= curl_easy_setopt(c, CURLOPT_HTTPHEADER, condition);
	bad |= curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, check_progress);
	bad |= curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
	bad |= curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	bad |= curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->from);
	/* A server that announces too large a size fails before the transfer. */
	bad |= curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)bytes_to_come(t));
	return bad;
}

static void remove_download(const transfer *t)
{
	unlink(t->part);
	unlink(t->version_file);
}

static invar_status explain_failure(transfer *t, CURLcode code, long answer)
{
	const char *url = t->f->url;

	if (t->too_large || code == CURLE_FILESIZE_EXCEEDED) {
		if (t->written)
			remove_download(t);
		if (t->free_bytes >= t->f->max - t->from)
			return inv_fail(INVAR_E_IO, "%s: has more than %" PRIu64 " bytes; %s", url,
			                t->f->max, t->f->advice);
		return inv_fail(
			INVAR_E_IO,
			"%s: the download does not fit on the disk of %s, which has %" PRIu64
			" MB free; free some space, or choose another place with -o",
			url, t->f->path, t->free_bytes >> 20);
	}
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return inv_fail(INVAR_E_CANCELLED,
		                "interrupted; the part downloaded so far is in %s, and the same "
		                "command resumes it",
		                t->part);
	if (t->write_error)
		return inv_fail(INVAR_E_IO, "%s: cannot write: %s", t->part,
		                strerror(t->write_error));
	if (code == CURLE_HTTP_RETURNED_ERROR)
		return inv_fail(INVAR_E_IO, "%s: the server answered %ld%s", url, answer,
		                answer == 404   ? ": no such file"
		                : answer == 401 ? ": a password is required"
		                : answer == 403 ? ", it refuses"
		                                : "");
	if (code == CURLE_UNSUPPORTED_PROTOCOL)
		return inv_fail(INVAR_E_USE,
		                "--url %s: must start with http://, https:// or file://, and can "
		                "only redirect to http or https",
		                url);
	if (t->from + t->written)
		return inv_fail(INVAR_E_IO,
		                "%s: interrupted after %" PRIu64
		                " bytes (%s); the same command resumes from %s",
		                url, t->from + t->written,
		                *t->reason ? t->reason : curl_easy_strerror(code), t->part);
	return inv_fail(INVAR_E_IO, "%s: cannot be downloaded: %s", url,
	                *t->reason ? t->reason : curl_easy_strerror(code));
}

/* If the file system does not report it, a failing write will. */
static uint64_t measure_free_bytes(int fd)
{
	struct statvfs disk;
	uint64_t free_bytes;

	if (fstatvfs(fd, &disk) != 0 || !disk.f_blocks)
		return INT64_MAX;
	free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	return free_bytes - free_bytes / LEFT_FREE;
}

static invar_status start_over(transfer *t)
{
	t->from = t->written = t->f->resumed_from = 0;
	*t->version = '\0';
	unlink(t->version_file);
	if (ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0) {
		t->free_bytes = measure_free_bytes(t->fd);
		return INVAR_OK;
	}
	return inv_fail(INVAR_E_IO, "%s: cannot be emptied: %s", t->part, strerror(errno));
}

static invar_status perform(transfer *t, bool *no_rest)
{
	CURL *c = curl_easy_init();
	CURLcode code = CURLE_OUT_OF_MEMORY;
	struct curl_slist *condition = NULL;
	char line[VERSION + 16];
	long answer = 0;

	*no_rest = t->changed = false;
	t->reason[0] = '\0';
	t->headers = (answer_headers){0};
	if (t->from && *t->version) {
		snprintf(line, sizeof line, "If-Range: %s", t->version);
		if (!(condition = curl_slist_append(NULL, line))) {
			curl_easy_cleanup(c);
			return inv_no_memory();
		}
	}
	if (c && set_curl_options(c, t, condition) == CURLE_OK) {
		code = curl_easy_perform(c);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answer);
	}
	curl_easy_cleanup(c);
	curl_slist_free_all(condition);
	if (code == CURLE_OK)
		return INVAR_OK;
	if (t->from && !t->written &&
	    (t->changed || code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME ||
	     answer == NOTHING_MORE ||
	     (code == CURLE_FILESIZE_EXCEEDED && answer == WHOLE_FILE))) {
		*no_rest = true;
		return INVAR_OK;
	}
	return explain_failure(t, code, answer);
}

static bool is_expected(const inv_fetch *f)
{
	return !f->sha256 || inv_hash_agrees(f->hex, f->sha256);
}

static invar_status get_all(transfer *t)
{
	struct stat info;
	const char *wrong = NULL;
	ssize_t length;
	bool no_rest;
	int fd;

	t->fd = open(t->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (t->fd < 0)
		return inv_fail(INVAR_E_IO, "%s: cannot be opened: %s", t->part,
		                errno == ELOOP ? "it is a link; remove it" : strerror(errno));
	if (flock(t->fd, LOCK_EX | LOCK_NB) != 0)
		wrong = "another program is writing this file";
	else if (fstat(t->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
	         lseek(t->fd, 0, SEEK_END) < 0)
		wrong = "is not a regular file";
	else if (info.st_nlink != 1)
		wrong = "is a hard link; remove it";
	if (wrong) {
		close(t->fd);
		t->fd = -1; /* it is not ours to remove */
		return inv_fail(INVAR_E_IO, "%s: %s", t->part, wrong);
	}
	t->from = (uint64_t)info.st_size;
	t->free_bytes = measure_free_bytes(t->fd);

	/* A part that is all there already needs no server. */
	if (t->from && t->f->sha256 &&
	    inv_file_sha256(t->s->ctx, t->part, t->f->hex) == INVAR_OK && is_expected(t->f))
		return INVAR_OK;
	/* A part that is longer than the whole may be is of something else. */
	if (t->from > t->f->max)
		INV_TRY(start_over(t));
	/* The version that the part is of: one line of printable characters. */
	fd = open(t->version_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	length = fd < 0 ? 0 : read(fd, t->version, VERSION - 1);
	if (fd >= 0)
		close(fd);
	t->version[length > 0 ? length : 0] = '\0';
	for (const char *at = t->version; *at; at++)
		if (!isprint((unsigned char)*at))
			*t->version = '\0';
	if (t->from && !*t->version && !t->f->sha256) {
		inv_term_say(t->s->term,
		             "%s: may be of another version of the file, as the server names none; "
		             "starting from the beginning",
		             t->part);
		INV_TRY(start_over(t));
	}

	t->f->resumed_from = t->from;
	INV_TRY(perform(t, &no_rest));
	if (!no_rest)
		return INVAR_OK;
	inv_term_say(t->s->term, "%s: the %s; starting from the beginning", t->part,
	             t->changed ? "file on the server has changed" : "server cannot resume");
	INV_TRY(start_over(t));
	return perform(t, &no_rest);
}

static invar_status finish_download(transfer *t)
{
	inv_fetch *f = t->f;
	const char *slash = strrchr(f->path, '/');
	char *folder;
	struct stat info;
	int bad;

	if (fsync(t->fd) != 0 || fstat(t->fd, &info) != 0)
		return inv_fail_errno(t->part, "cannot write");
	f->bytes = (uint64_t)info.st_size;
	if (f->bytes == 0) {
		remove_download(t);
		return inv_fail(INVAR_E_IO, "%s: is empty, expected a weight file; check the URL",
		                f->url);
	}
	INV_TRY(inv_file_sha256(t->s->ctx, t->part, f->hex));
	if (!is_expected(f)) {
		remove_download(t);
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its SHA-256 is %s but should be %s; the download was deleted",
		                f->url, f->hex, f->sha256);
	}
	/* Does not replace a file created in the meantime, if the file system supports that. */
	bad = renameat2(AT_FDCWD, t->part, AT_FDCWD, f->path, (unsigned)RENAME_NOREPLACE);
	if (bad && (errno == EINVAL || errno == ENOSYS))
		bad = rename(t->part, f->path);
	if (bad)
		return inv_fail(INVAR_E_IO, "%s: cannot be renamed to %s: %s", t->part, f->path,
		                strerror(errno));
	unlink(t->version_file);
	if (!(folder = slash ? strndup(f->path, (size_t)(slash - f->path) + 1) : strdup(".")))
		return inv_no_memory();
	(void)inv_sync_folder(folder); /* a file system may not support it */
	free(folder);
	return INVAR_OK;
}

char *inv_fetch_local(const char *url)
{
	CURLU *parts = curl_url();
	char *scheme = NULL, *path = NULL, *local = NULL;

	if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    strcmp(scheme, "file") == 0 &&
	    curl_url_get(parts, CURLUPART_PATH, &path, CURLU_URLDECODE) == CURLUE_OK)
		local = strdup(path);
	curl_free(scheme);
	curl_free(path);
	curl_url_cleanup(parts);
	return local;
}

invar_status inv_fetch_file(inv_session *s, inv_fetch *f)
{
	transfer t = {.s = s, .f = f, .fd = -1};
	struct stat info;
	invar_status st;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return inv_fail(INVAR_E_NOMEM, "libcurl could not be started");
	if (asprintf(&t.part, "%s.invar.part", f->path) < 0)
		t.part = NULL;
	if (!t.part || asprintf(&t.version_file, "%s.version", t.part) < 0) {
		t.version_file = NULL;
		st = inv_no_memory();
		goto end;
	}
	INV_TRY_OR(end, get_all(&t));
	st = finish_download(&t);
end:
	/* A transfer that brought nothing leaves nothing. */
	if (st != INVAR_OK && t.fd >= 0 && fstat(t.fd, &info) == 0 && info.st_size == 0 &&
	    info.st_nlink > 0)
		remove_download(&t);
	if (t.fd >= 0)
		close(t.fd);
	free(t.part);
	free(t.version_file);
	curl_global_cleanup();
	return st;
}
