/* SPDX-License-Identifier: Apache-2.0 */
/* rank_folder.c - do all ranks see the same folder? */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/processes_inside.h"

enum { TOKEN = 16, PATIENCE = 15 /* seconds that a file server may take */ };

static bool has_token(const char *path, const unsigned char token[TOKEN])
{
	unsigned char found[TOKEN];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool same =
		fd >= 0 && read(fd, found, TOKEN) == TOKEN && memcmp(found, token, TOKEN) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

static invar_status look_for_token(const char *path, const unsigned char token[TOKEN])
{
	double began = inv_wall_seconds();
	char host[256] = "?";

	while (!has_token(path, token)) {
		if (inv_wall_seconds() - began > PATIENCE) {
			gethostname(host, sizeof host - 1);
			return inv_fail(INVAR_E_IO,
			                "%.600s: is not seen on %.100s; all ranks must share the file "
			                "system of the folder",
			                path, host);
		}
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	return INVAR_OK;
}

static invar_status serve_shared(const invar_context *ctx)
{
	unsigned char token[TOKEN];
	char *path = NULL;
	invar_status st = inv_broadcast_text(ctx, NULL, &path);

	if (st == INVAR_OK)
		st = inv_broadcast(ctx, token, sizeof token);
	if (st == INVAR_OK)
		st = inv_agree(ctx, look_for_token(path, token));
	inv_free(path);
	return st;
}

const inv_service inv_check_shared_service = {.name = "shared folder",
                                              .serve = serve_shared};

static invar_status write_token(const char *path, unsigned char token[TOKEN])
{
	struct timespec now;
	int fd;
	bool written;

	clock_gettime(CLOCK_REALTIME, &now);
	memset(token, 0, TOKEN);
	snprintf((char *)token, TOKEN, "%lx%lx", (unsigned long)now.tv_nsec,
	         (unsigned long)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return inv_fail_errno(path, "cannot write");
	written = write(fd, token, TOKEN) == TOKEN;
	return close(fd) == 0 && written ? INVAR_OK : inv_fail_errno(path, "cannot write");
}

invar_status inv_check_shared(const invar_context *ctx, const char *folder)
{
	unsigned char token[TOKEN];
	char *path, *none;
	invar_status st;

	if (inv_process_count(ctx) == 1)
		return INVAR_OK;
	if (!(path = inv_join(folder, "ranks.part")))
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory", folder);
	if ((st = write_token(path, token)) == INVAR_OK &&
	    (st = inv_call(ctx, inv_check_shared_service.name)) == INVAR_OK) {
		st = inv_broadcast_text(ctx, path, &none);
		if (st == INVAR_OK)
			st = inv_broadcast(ctx, token, sizeof token);
		if (st == INVAR_OK)
			st = inv_agree(ctx, INVAR_OK);
	}
	unlink(path);
	inv_free(path);
	return st;
}
