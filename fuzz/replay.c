/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - runs files through a fuzz target without any engine.
 *
 *     replay_npy crash-1234 fuzz/corpus/npy
 *
 * A folder means all files in it. Crashes if the target does, and prints how many files
 * it ran.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

/* The copy has exactly the size of the file, so the sanitizer guards its end. */
static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat info;
	uint8_t *data;
	size_t size;

	if (!f || fstat(fileno(f), &info) != 0) {
		perror(path);
		exit(1);
	}
	size = (size_t)info.st_size;
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, f) != size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int run(const char *path)
{
	DIR *d = opendir(path);
	int count = 0;

	if (!d)
		return run_file(path);
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char name[4096];

		if (*e->d_name == '.')
			continue;
		snprintf(name, sizeof name, "%.3000s/%s", path, e->d_name);
		count += run_file(name);
	}
	closedir(d);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++)
		count += run(argv[i]);
	printf("%d files\n", count);
	return count ? 0 : 1;
}
