/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.h - arrays with an inaccessible page beside them.
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

/* For arrays of up to `bytes` bytes. */
test_fence test_fence_new(size_t bytes);
void test_fence_free(test_fence *f);

/*
 * An array of `bytes` bytes with all bits set (NaN as floats), like the memory beside it.
 * With `before` it begins right after an inaccessible page, else it ends right before one.
 */
void *test_fenced(const test_fence *f, bool before, size_t bytes);

/* The same with a copy of `from`. */
void *test_fenced_copy(const test_fence *f, bool before, const void *from, size_t bytes);

#endif
