/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - see support.h. */
#include "support.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "invar.h"

enum { LENGTH = 4096, BUFFERS = 8 };

static char folder[LENGTH];
static pid_t owner;

static char *next_buffer(void)
{
	static char buffers[BUFFERS][LENGTH];
	static unsigned turn;

	return buffers[turn++ % BUFFERS];
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == owner) /* a forked child leaves it to its parent */
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void)
{
	const char *base = getenv("TMPDIR");

	if (*folder)
		return folder;
	snprintf(folder, sizeof folder, "%s/invar-test-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(1);
	}
	owner = getpid();
	atexit(remove_folder);
	return folder;
}

static const char *join(const char *base, const char *format, va_list args)
{
	char name[LENGTH / 2];
	char *path = next_buffer();

	vsnprintf(name, sizeof name, format, args);
	snprintf(path, LENGTH, "%.2000s/%s", base, name);
	return path;
}

const char *test_path(const char *format, ...)
{
	const char *path;
	va_list args;

	va_start(args, format);
	path = join(test_folder(), format, args);
	va_end(args);
	return path;
}

static const char *source_root(void)
{
	const char *root = getenv("INVAR_SOURCE");

	return root && *root ? root : ".";
}

const char *test_source(const char *format, ...)
{
	const char *path;
	va_list args;

	va_start(args, format);
	path = join(source_root(), format, args);
	va_end(args);
	return path;
}

const char *test_shared(const char *format, ...)
{
	const char *shared = getenv("INVAR_SHARED");
	char beside[LENGTH];
	const char *path;
	va_list args;

	snprintf(beside, sizeof beside, "%s/../shared", source_root());
	va_start(args, format);
	path = join(shared && *shared ? shared : beside, format, args);
	va_end(args);
	return path;
}

const char *test_text(const char *format, ...)
{
	char *text = next_buffer();
	va_list args;

	va_start(args, format);
	vsnprintf(text, LENGTH, format, args);
	va_end(args);
	return text;
}

static void set_pairs(invar_options *o, va_list pairs)
{
	const char *name;

	while ((name = va_arg(pairs, const char *)) != NULL) {
		const char *text = va_arg(pairs, const char *);

		if ((text ? invar_options_set(o, name, text) : inv_options_unset(o, name)) !=
		    INVAR_OK)
			fail_msg("%s", invar_last_error());
	}
}

invar_options *test_options(const char *command, ...)
{
	invar_options *o;
	va_list pairs;

	assert_int_equal(invar_options_new(command, &o), INVAR_OK);
	va_start(pairs, command);
	set_pairs(o, pairs);
	va_end(pairs);
	return o;
}

typedef struct kept {
	invar_options *options;
	struct kept *before;
} kept;

static kept *last_kept;

static void free_kept(void)
{
	for (kept *k = last_kept, *before; k; k = before) {
		before = k->before;
		invar_options_free(k->options);
		free(k);
	}
}

static const invar_options *keep(invar_options *o)
{
	kept *k = malloc(sizeof *k);

	assert_non_null(k);
	if (!last_kept)
		atexit(free_kept);
	*k = (kept){o, last_kept};
	last_kept = k;
	return o;
}

const invar_options *test_kept(const char *command, ...)
{
	invar_options *o;
	va_list pairs;

	assert_int_equal(invar_options_new(command, &o), INVAR_OK);
	va_start(pairs, command);
	set_pairs(o, pairs);
	va_end(pairs);
	return keep(o);
}

const invar_options *test_pixels(void)
{
	static const invar_options *pixels;

	if (!pixels)
		pixels = test_kept("features", "encoder", "pixels", NULL);
	return pixels;
}

invar_options *test_set(invar_options *o, ...)
{
	va_list pairs;

	va_start(pairs, o);
	set_pairs(o, pairs);
	va_end(pairs);
	return o;
}

void test_assert_same_file(const char *a, const char *b, const char *file)
{
	size_t na, nb;
	char *x = test_read(test_path("%s/%s", a, file), &na);
	char *y = test_read(test_path("%s/%s", b, file), &nb);

	if (na != nb || memcmp(x, y, na) != 0)
		fail_msg("%s of %s and of %s differ", file, a, b);
	free(x);
	free(y);
}

bool test_exists(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

void test_write(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) {
		perror(path);
		fail();
	}
}

void *test_read(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	struct stat info;
	char *data;

	if (!f || fstat(fileno(f), &info) != 0) {
		perror(path);
		fail();
	}
	data = malloc((size_t)info.st_size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)info.st_size, f), info.st_size);
	data[info.st_size] = '\0';
	if (bytes)
		*bytes = (size_t)info.st_size;
	fclose(f);
	return data;
}

bool test_has_part(const char *path)
{
	DIR *d = opendir(path);
	bool found = false;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		size_t n = strlen(e->d_name);

		found |= n >= 5 && strcmp(e->d_name + n - 5, ".part") == 0;
	}
	closedir(d);
	return found;
}

void test_assert_error(const char *word)
{
	const char *sentence = invar_last_error();

	if (!strstr(sentence, word) || strchr(sentence, '\n'))
		fail_msg("\"%s\" is not one sentence with \"%s\"", sentence, word);
}

const char *test_need_shared(const char *name)
{
	const char *path = test_shared("%s", name);

	if (!test_exists(path)) {
		print_message("skipped: %s is not there\n", path);
		skip();
	}
	return path;
}

bool test_is_emulated(void)
{
	return getenv("INVAR_EMULATED") != NULL;
}

invar_context *test_ctx;

int test_context_open(void **state)
{
	(void)state;
	return invar_context_new(2, NULL, &test_ctx) != INVAR_OK;
}

int test_context_close(void **state)
{
	(void)state;
	invar_context_free(test_ctx);
	test_ctx = NULL;
	return 0;
}
