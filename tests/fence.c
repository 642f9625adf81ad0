/* SPDX-License-Identifier: Apache-2.0 */
/* fence.c - see fence.h. */
#include "fence.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BESIDE = 1024 }; /* bytes beside an array that are set with it */

test_fence test_fence_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t inside = (bytes + page) / page * page; /* never none */
	test_fence f = {.bytes = inside + 2 * page};

	f.map = mmap(NULL, f.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f.map != MAP_FAILED);
	f.first = f.map + page;
	f.last = f.first + inside;
	assert_int_equal(mprotect(f.first, inside, PROT_READ | PROT_WRITE), 0);
	return f;
}

void test_fence_free(test_fence *f)
{
	munmap(f->map, f->bytes);
	*f = (test_fence){0};
}

void *test_fenced(const test_fence *f, bool before, size_t bytes)
{
	size_t size = (size_t)(f->last - f->first), all = bytes + BESIDE;

	assert_true(bytes <= size);
	all = all < size ? all : size;
	memset(before ? f->first : f->last - all, 0xff, all);
	return before ? f->first : f->last - bytes;
}

void *test_fenced_copy(const test_fence *f, bool before, const void *from, size_t bytes)
{
	void *at = test_fenced(f, before, bytes);

	if (bytes)
		memcpy(at, from, bytes);
	return at;
}
