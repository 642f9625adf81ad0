/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_file.h - files and folders in memory, for readers that need a path.
 */
#ifndef INV_FUZZ_FILE_H
#define INV_FUZZ_FILE_H

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

enum { FUZZ_PATH = 64 };

static inline void write_all(int fd, const void *data, size_t size)
{
	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
}

/* An unnamed file; close the descriptor that it returns. */
static inline int memory_file(const void *data, size_t size, char path[FUZZ_PATH])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	write_all(fd, data, size);
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

static char memory_folder_path[FUZZ_PATH];

static inline int remove_entry(const char *path, const struct stat *info, int kind,
                               struct FTW *at)
{
	(void)info, (void)kind, (void)at;
	return remove(path);
}

static inline void remove_memory_folder(void)
{
	nftw(memory_folder_path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The same folder at every call, removed at the end; in memory if the system supports that.
 */
static inline const char *memory_folder(void)
{
	if (*memory_folder_path)
		return memory_folder_path;
	strcpy(memory_folder_path, "/dev/shm/invar-fuzz-XXXXXX");
	if (!mkdtemp(memory_folder_path)) {
		strcpy(memory_folder_path, "/tmp/invar-fuzz-XXXXXX");
		require(mkdtemp(memory_folder_path));
	}
	atexit(remove_memory_folder);
	return memory_folder_path;
}

static inline void put_file(const char *name, const void *data, size_t size)
{
	char path[2 * FUZZ_PATH];
	int fd;

	snprintf(path, sizeof path, "%s/%s", memory_folder(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	write_all(fd, data, size);
	close(fd);
}

#endif
