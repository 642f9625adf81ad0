/* SPDX-License-Identifier: Apache-2.0 */
/* make_sets.h - small data sets on disk, for the tests of this room. */
#ifndef INV_MAKE_SETS_H
#define INV_MAKE_SETS_H

#include <stddef.h>
#include <stdint.h>

/* A folder below the test's own, with those above it; returns its path (rotating). */
const char *make_folder(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A file of `bytes` bytes, value(i) = first + step * i. */
void make_bytes(const char *path, size_t bytes, unsigned first, unsigned step);
/* A PNG of one colour, 5 x 4. */
void make_png(const char *path, uint8_t r, uint8_t g, uint8_t b);
/* An idx file of the given shape, its data as in make_bytes. */
void make_idx(const char *path, unsigned ndim, const uint32_t *shape, unsigned first,
              unsigned step);
/* A NumPy file of any type: descr as in NumPy ("|u1"), shape as text ("(2, 3)"). */
void make_npy(const char *path, const char *descr, const char *shape, const void *data,
              size_t bytes);
void make_text(const char *path, const char *text);

#endif
