/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h - for every test: temporary folders, files, and the paths of the
 * sources and the shared data. Include it instead of cmocka.h.
 */
#ifndef INV_SUPPORT_H
#define INV_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "invar.h"

/*
 * A new empty folder of this program, removed with its contents when the program
 * exits. The text is valid until then.
 */
const char *test_folder(void);

/*
 * The three below return one of a few rotating buffers: valid for a few calls;
 * copy what you keep.
 */
const char *test_path(const char *format, ...) /* in the folder of this program */
	__attribute__((format(printf, 1, 2)));
const char *test_source(const char *format, ...) /* INVAR_SOURCE, else "." */
	__attribute__((format(printf, 1, 2)));
const char *test_shared(const char *format, ...) /* INVAR_SHARED, else ../shared */
	__attribute__((format(printf, 1, 2)));

bool test_exists(const char *path);
void test_write(const char *path, const void *data, size_t bytes);
/* The whole file, followed by a NUL; free() it. bytes may be NULL. */
void *test_read(const char *path, size_t *bytes);
/* Whether any name in the folder ends in .part. */
bool test_has_part(const char *folder);

/* Under an emulator (`./dev arm` sets INVAR_EMULATED), cases of many minutes are cut. */
bool test_is_emulated(void);

/* A context of two threads for a group of tests: cmocka_run_group_tests(tests, …_open,
 * …_close). */
extern invar_context *test_ctx;
int test_context_open(void **state);
int test_context_close(void **state);

/*
 * The options of a command ("train", "loss") with these set: name, text, …, NULL. Free
 * them with invar_options_free. test_set sets more of them and returns them; a text of
 * NULL unsets its option.
 */
invar_options *test_options(const char *command, ...) __attribute__((sentinel));
invar_options *test_set(invar_options *o, ...) __attribute__((sentinel));
/* The same, freed when the program ends; and those of the encoder pixels. */
const invar_options *test_kept(const char *command, ...) __attribute__((sentinel));
const invar_options *test_pixels(void);
/* A formatted value, in one of the rotating buffers. */
const char *test_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The folders a and b of the test's own hold the same bytes in `file`. */
void test_assert_same_file(const char *a, const char *b, const char *file);

/* The last error is one sentence that holds `word`; prints it if not. */
void test_assert_error(const char *word);

/* Skips the test with a message if the shared file is absent. */
const char *test_need_shared(const char *name);

#endif
