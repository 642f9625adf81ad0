/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_zip.c - the invariants of zip.h, each broken alone in an archive written here.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "formats/weights.h"
#include "formats/zip.h"
#include "support.h"

enum { ROOM = 1 << 20, DIRECTORY = 4096, STORED = 0, DEFLATED = 8, SIZES_FOLLOW = 8 };

typedef struct archive {
	unsigned char bytes[ROOM], directory[DIRECTORY];
	size_t used, listed;
	unsigned count;
} archive;

typedef struct entry {
	const char *name;
	const void *data;
	size_t size;
	unsigned method;
	unsigned descriptor; /* bytes behind the data: 0, 12, 16, 20, 24 */
	bool other_crc;      /* in the local header, or in the descriptor where there is one */
	bool wide;           /* its size is all ones, and stands nowhere else */
} entry;

static void put(unsigned char *to, size_t *used, uint64_t number, size_t bytes)
{
	memcpy(to + *used, &number, bytes);
	*used += bytes;
}

static size_t pack(const entry *e, unsigned char *to, size_t size)
{
	z_stream s = {.next_in = (unsigned char *)(uintptr_t)e->data,
	              .avail_in = (unsigned)e->size,
	              .next_out = to,
	              .avail_out = (unsigned)size};

	assert_true(e->size <= size);
	if (e->method == STORED) {
		memcpy(to, e->data, e->size);
		return e->size;
	}
	deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
	deflateEnd(&s);
	return s.total_out;
}

/* Version, flags, method, time, CRC-32, sizes, length of the name, no extra field. */
static void put_head(unsigned char *to, size_t *used, const entry *e, uint32_t crc,
                     uint64_t packed, uint64_t size)
{
	put(to, used, 20, 2);
	put(to, used, e->descriptor ? SIZES_FOLLOW : 0, 2);
	put(to, used, e->method, 2);
	put(to, used, 0, 4);
	put(to, used, crc, 4);
	put(to, used, packed, 4);
	put(to, used, size, 4);
	put(to, used, strlen(e->name), 2);
	put(to, used, 0, 2);
}

static void put_name(unsigned char *to, size_t *used, const char *name)
{
	memcpy(to + *used, name, strlen(name));
	*used += strlen(name);
}

static void add(archive *a, entry e)
{
	static unsigned char packed[ROOM];
	size_t bytes = pack(&e, packed, sizeof packed), at = a->used;
	uint32_t crc = (uint32_t)crc32_z(0, e.data, e.size), told = crc + e.other_crc;
	size_t width = e.descriptor >= 20 ? 8 : 4;

	put(a->bytes, &a->used, 0x04034b50, 4);
	if (e.descriptor)
		put_head(a->bytes, &a->used, &e, 0, 0, 0);
	else
		put_head(a->bytes, &a->used, &e, told, bytes, e.wide ? UINT32_MAX : e.size);
	put_name(a->bytes, &a->used, e.name);
	memcpy(a->bytes + a->used, packed, bytes);
	a->used += bytes;
	if (e.descriptor == 16 || e.descriptor == 24)
		put(a->bytes, &a->used, 0x08074b50, 4);
	if (e.descriptor) {
		put(a->bytes, &a->used, told, 4);
		put(a->bytes, &a->used, bytes, width);
		put(a->bytes, &a->used, e.size, width);
	}
	put(a->directory, &a->listed, 0x02014b50, 4);
	put(a->directory, &a->listed, 20, 2);
	put_head(a->directory, &a->listed, &e, crc, bytes, e.wide ? UINT32_MAX : e.size);
	put(a->directory, &a->listed, 0, 8); /* no comment, disk 0, no attributes */
	put(a->directory, &a->listed, 0, 2);
	put(a->directory, &a->listed, at, 4);
	put_name(a->directory, &a->listed, e.name);
	a->count++;
}

static void finish(archive *a)
{
	size_t at = a->used;

	memcpy(a->bytes + a->used, a->directory, a->listed);
	a->used += a->listed;
	put(a->bytes, &a->used, 0x06054b50, 4);
	put(a->bytes, &a->used, 0, 4);
	put(a->bytes, &a->used, a->count, 2);
	put(a->bytes, &a->used, a->count, 2);
	put(a->bytes, &a->used, a->listed, 4);
	put(a->bytes, &a->used, at, 4);
	put(a->bytes, &a->used, 0, 2);
}

/* Opens it and reads every entry; NULL: fine, else the message. */
static const char *read_archive(const archive *a)
{
	inv_zip z;
	invar_status st = inv_zip_open(a->bytes, a->used, "made.zip", &z);

	for (size_t i = 0; st == INVAR_OK && i < z.count; i++) {
		const unsigned char *data;
		void *own;

		st = inv_zip_read(&z, &z.entries[i], &data, &own);
		inv_free(own);
	}
	inv_zip_close(&z);
	return st == INVAR_OK ? NULL : invar_last_error();
}

static void assert_entry(entry e, const char *words)
{
	static archive a;
	const char *sentence;

	a.used = a.listed = a.count = 0;
	add(&a, e);
	finish(&a);
	sentence = read_archive(&a);
	if (!words && sentence)
		fail_msg("%s", sentence);
	if (words && (!sentence || !strstr(sentence, words)))
		fail_msg("'%s' was expected, not '%s'", words, sentence ? sentence : "success");
}

/* ---- Claims ---- */

static void sizes_may_follow_in_four_ways(void **state)
{
	static const unsigned ways[] = {0, 12, 16, 20, 24};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		entry e = {.name = "top/a", .data = "abc", .size = 3, .descriptor = ways[i]};

		assert_entry(e, NULL);
		e.other_crc = true;
		assert_entry(e, ways[i] ? "other data" : "differ from those in the directory");
	}
	assert_entry((entry){.name = "top/a", .data = "abc", .size = 3, .wide = true},
	             "ZIP64 sizes are missing");
}

static void the_directory_has_as_many_entries_as_it_says(void **state)
{
	static archive a;

	(void)state;
	for (int more = -1; more <= 1; more++) {
		a.used = a.listed = a.count = 0;
		add(&a, (entry){.name = "top/a", .data = "a", .size = 1});
		add(&a, (entry){.name = "top/b", .data = "b", .size = 1});
		a.count = (unsigned)((int)a.count + more);
		finish(&a);
		if (more)
			assert_non_null(read_archive(&a));
		else
			assert_null(read_archive(&a));
	}
}

/* The first `random` bytes of so many that do not deflate, zeros behind them. */
static unsigned char *half_random(size_t random, size_t size)
{
	unsigned char *data = calloc(size, 1);
	uint32_t x = 1;

	for (size_t i = 0; i < random; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24);
	}
	return data;
}

static void what_inflates_too_far_is_refused(void **state)
{
	enum { SIZE = 200000 };
	unsigned char *far = half_random(500, SIZE), *near = half_random(15000, SIZE),
				  *middle = half_random(5000, SIZE);
	entry e = {.name = "top/a", .data = far, .size = SIZE, .method = DEFLATED};

	(void)state;
	assert_entry(e, "compressed more than 100 times"); /* 280 times */
	e.data = middle;
	assert_entry(e, "more than 16 times its size"); /* 38 times */
	e.data = near;
	assert_entry(e, NULL); /* 13 times */
	free(far);
	free(near);
	free(middle);
}

/* {"t": a tensor of two floats} */
static const char pickle[] = "\x80\x02}U\1tctorch._utils\n_rebuild_tensor_v2\n((U\7storage"
							 "ctorch\nFloatStorage\nU\1"
							 "0U\3cpuK\2tQM\0\0K\2\x85K\1\x85\x89NtRs.";

static bool opens(size_t pickle_bytes, size_t storage_bytes)
{
	static archive a;
	static const float zeros[3];
	inv_weights *w;
	bool fine;

	a.used = a.listed = a.count = 0;
	add(&a, (entry){.name = "top/data.pkl", .data = pickle, .size = pickle_bytes});
	add(&a, (entry){.name = "top/data/0", .data = zeros, .size = storage_bytes});
	finish(&a);
	fine = inv_weights_view(a.bytes, a.used, "made.pth", NULL, &w) == INVAR_OK;
	inv_weights_close(w);
	return fine;
}

static void a_checkpoint_is_as_long_as_its_pickle_says(void **state)
{
	(void)state;
	assert_true(opens(sizeof pickle - 1, 8));
	assert_false(opens(sizeof pickle - 1, 4));
	test_assert_error("differs from its pickle");
	assert_false(opens(sizeof pickle - 1, 12));
	test_assert_error("differs from its pickle");
	assert_false(opens(sizeof pickle, 8));
	test_assert_error("extra data after its pickle");
	assert_false(opens(sizeof pickle - 2, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_may_follow_in_four_ways),
		cmocka_unit_test(the_directory_has_as_many_entries_as_it_says),
		cmocka_unit_test(what_inflates_too_far_is_refused),
		cmocka_unit_test(a_checkpoint_is_as_long_as_its_pickle_says),
	};

	return cmocka_run_group_tests_name("zip", tests, NULL, NULL);
}
