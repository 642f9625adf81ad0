/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.h - arrays with a page beside them that may not be touched.
 *
 * A kernel that reads or writes one byte too many ends the test, in any build. One
 * fence serves many arrays in turn, so that a test over hundreds of sizes stays quick.
 */
#ifndef INV_FENCE_H
#define INV_FENCE_H

#include "support.h"

typedef struct test_fence {
	char *first, *last; /* first byte that may be used, first one that may not */
	char *map;
	size_t bytes;
} test_fence;

/* Room for arrays of up to `bytes` bytes. */
test_fence test_fence_new(size_t bytes);
void test_fence_free(test_fence *f);

/*
 * An array of `bytes` bytes, of set bits throughout (NaN where it holds floats), as is what
 * lies beside it: with `before` it begins right behind the forbidden page in front, else it
 * ends right before the one behind.
 */
void *test_fenced(const test_fence *f, bool before, size_t bytes);

/* The same with a copy of `from`. */
void *test_fenced_copy(const test_fence *f, bool before, const void *from, size_t bytes);

#endif
