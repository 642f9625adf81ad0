/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pickle.c - the bounds of the machine that reads pickles, from both sides.
 *
 * Pickles are written here opcode by opcode, so that a bound is met exactly: the limit
 * itself is accepted, one more is rejected.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/pickle.h"
#include "formats/weights.h"
#include "support.h"

/* ---- Writing a pickle ---- */

typedef struct script {
	unsigned char bytes[64 << 10];
	size_t used;
} script;

static void put(script *s, const void *bytes, size_t count)
{
	assert_true(count <= sizeof s->bytes - s->used);
	memcpy(s->bytes + s->used, bytes, count);
	s->used += count;
}

static void ops(script *s, const char *opcodes)
{
	put(s, opcodes, strlen(opcodes));
}

static void op4(script *s, char opcode, uint32_t number)
{
	put(s, &opcode, 1);
	put(s, &number, sizeof number);
}

static void text(script *s, const char *text)
{
	op4(s, 'X', (uint32_t)strlen(text));
	ops(s, text);
}

static void begin(script *s)
{
	s->used = 0;
	ops(s, "\x80\x02");
}

/* A tensor over a storage of so many floats. */
typedef struct tensor {
	uint32_t all, offset, size[2], stride[2];
} tensor;

static void put_tensor(script *s, tensor t)
{
	ops(s, "ctorch._utils\n_rebuild_tensor_v2\n((");
	text(s, "storage");
	ops(s, "ctorch\nFloatStorage\n");
	text(s, "0");
	text(s, "cpu");
	op4(s, 'J', t.all);
	ops(s, "tQ");
	op4(s, 'J', t.offset);
	op4(s, 'J', t.size[0]);
	op4(s, 'J', t.size[1]);
	ops(s, "\x86");
	op4(s, 'J', t.stride[0]);
	op4(s, 'J', t.stride[1]);
	ops(s, "\x86\x89NtR");
}

static const tensor one = {1, 0, {1, 1}, {1, 1}};

/* ---- Reading it ---- */

static invar_status place(void *user, inv_torch_storage *s)
{
	static const float zero[64];

	(void)user;
	s->data = (const unsigned char *)zero;
	return INVAR_OK;
}

/* The number of resulting tensors, or -1 if it is rejected. */
static int read_script(const script *s)
{
	inv_pickle p = {.path = "made.pkl", .has_storages = true};
	inv_weights w = {.path = (char[]){"made.pkl"}};
	inv_py *root;
	bool fine = inv_pickle_run(&p, s->bytes, s->used, &root) == INVAR_OK &&
	            inv_torch_collect(&w, &p, root, place, NULL) == INVAR_OK;

	inv_free(w.list);
	inv_free(w.key);
	inv_free(w.keys);
	inv_pickle_free(&p);
	return fine ? (int)w.count : -1;
}

static void assert_reads(const script *s, int tensors)
{
	int found = read_script(s);

	if (found != tensors)
		fail_msg("%d tensors, expected %d: %s", found, tensors, invar_last_error());
}

static void assert_refuses(const script *s, const char *words)
{
	assert_int_equal(read_script(s), -1);
	test_assert_error(words);
}

/* ---- Claims ---- */

/* A dictionary of a tensor and a thousand numbers, reachable in 2^levels ways. */
static void doubled(script *s, unsigned levels)
{
	begin(s);
	ops(s, "}(");
	text(s, "t");
	put_tensor(s, one);
	for (uint32_t i = 0; i < 1000; i++) {
		op4(s, 'J', i);
		ops(s, "N");
	}
	ops(s, "u");
	for (uint32_t i = 0; i < levels; i++) {
		op4(s, 'r', i);
		ops(s, "0}(");
		text(s, "a");
		op4(s, 'j', i);
		text(s, "b");
		op4(s, 'j', i);
		ops(s, "u");
	}
	op4(s, 'r', levels);
	ops(s, "0}");
	text(s, "model");
	op4(s, 'j', levels);
	ops(s, "s.");
}

static void names_are_counted_on_every_way_to_them(void **state)
{
	static script s;

	(void)state;
	doubled(&s, 9);
	assert_reads(&s, 512);
	doubled(&s, 10);
	assert_refuses(&s, "more than 1000000 names");
}

static void nested(script *s, unsigned deep)
{
	begin(s);
	ops(s, "}(");
	text(s, "t");
	put_tensor(s, one);
	text(s, "lists");
	for (unsigned i = 0; i < deep; i++)
		ops(s, "](");
	for (unsigned i = 0; i < deep; i++)
		ops(s, "e");
	ops(s, "u.");
}

static void containers_are_so_deep_and_no_deeper(void **state)
{
	static script s;

	(void)state;
	nested(&s, 100);
	assert_reads(&s, 1);
	nested(&s, 101);
	assert_refuses(&s, "more than 100 deep");
}

/* A name of two parts, the first `outer` long, and a dot between them. */
static void named(script *s, size_t outer, size_t inner)
{
	char name[1100];

	memset(name, 'n', sizeof name);
	begin(s);
	ops(s, "}");
	name[outer] = '\0';
	if (outer) {
		text(s, "model");
		ops(s, "}");
		text(s, name);
		ops(s, "}");
	}
	name[outer] = 'n';
	name[inner] = '\0';
	text(s, name);
	put_tensor(s, one);
	ops(s, outer ? "sss." : "s.");
}

static void names_are_so_long_and_no_longer(void **state)
{
	static script s;

	(void)state;
	named(&s, 0, 1000);
	assert_reads(&s, 1);
	named(&s, 0, 1001);
	assert_refuses(&s, "longer than 1000 bytes");
	named(&s, 500, 499);
	assert_reads(&s, 1);
	named(&s, 500, 500);
	assert_refuses(&s, "longer than 1000 bytes");
}

static void memoised(script *s, uint32_t place)
{
	begin(s);
	ops(s, "}");
	text(s, "t");
	put_tensor(s, one);
	op4(s, 'r', place);
	ops(s, "0");
	op4(s, 'j', place);
	ops(s, "s.");
}

static void the_memo_has_a_million_places(void **state)
{
	static script s;

	(void)state;
	memoised(&s, 999999);
	assert_reads(&s, 1);
	memoised(&s, 1000000);
	assert_refuses(&s, "over a million");
}

static void a_place_of_the_memo_is_what_was_put_there(void **state)
{
	static const struct {
		const char *put, *get;
	} ways[] = {{"q\x07", "h\x07"}, {"r\x07\x01\x01\x01", "h\x07"}, {"q\x07", "h\x06"}};
	static script s;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		begin(&s);
		ops(&s, "}");
		text(&s, "t");
		put_tensor(&s, one);
		ops(&s, ways[i].put);
		ops(&s, "0");
		ops(&s, ways[i].get);
		ops(&s, "s.");
		if (i == 0)
			assert_reads(&s, 1);
		else
			assert_int_equal(read_script(&s), -1);
	}
}

static void protocols_are_two_to_five(void **state)
{
	static script s;

	(void)state;
	for (unsigned char version = 0; version < 8; version++) {
		begin(&s);
		s.bytes[1] = version;
		ops(&s, "}");
		text(&s, "t");
		put_tensor(&s, one);
		ops(&s, "s.");
		if (version >= 2 && version <= 5)
			assert_reads(&s, 1);
		else
			assert_refuses(&s, "expected 2 to 5");
	}
}

static void tensors_stay_within_their_storage(void **state)
{
	static const struct {
		tensor is;
		const char *refused;
	} cases[] = {
		{{12, 0, {3, 4}, {4, 1}}, NULL},
		{{12, 0, {4, 3}, {1, 4}}, NULL},
		{{11, 0, {3, 4}, {4, 1}}, "leaves its storage"},
		{{12, 1, {3, 4}, {4, 1}}, "leaves its storage"},
		{{13, 1, {3, 4}, {4, 1}}, NULL},
		{{12, 11, {1, 1}, {9, 9}}, NULL},
		{{12, 12, {1, 1}, {1, 1}}, "leaves its storage"},
		{{12, 12, {0, 5}, {1, 1}}, NULL},
		{{12, 13, {0, 5}, {1, 1}}, "leaves its storage"},
		{{12, 0, {3, 4}, {0, 1}}, NULL},
		{{11, 0, {3, 4}, {0, 1}}, "more elements than its storage"},
	};
	static script s;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin(&s);
		ops(&s, "}");
		text(&s, "t");
		put_tensor(&s, cases[i].is);
		ops(&s, "s.");
		if (cases[i].refused)
			assert_refuses(&s, cases[i].refused);
		else
			assert_reads(&s, 1);
	}
}

/* A tensor of two of four floats, made of the parts that are given. */
static void made_of(script *s, const char *function, const char *view, const char *rest)
{
	begin(s);
	ops(s, "}");
	text(s, "t");
	ops(s, "ctorch._utils\n");
	ops(s, function);
	ops(s, "\n((");
	text(s, "storage");
	ops(s, "ctorch\nFloatStorage\n");
	text(s, "0");
	text(s, "cpu");
	ops(s, "K\4");
	ops(s, view);
	ops(s, "tQM");
	put(s, "\0\0", 2);
	ops(s, "K\2\x85K\1\x85\x89N");
	ops(s, rest);
	ops(s, "tRs.");
}

#define VIEW(first, count) "(U\1vK" first "K" count "t"

static void storages_that_view_others_stay_within_them(void **state)
{
	static script s;

	(void)state;
	made_of(&s, "_rebuild_tensor_v2", "N", "");
	assert_reads(&s, 1);
	made_of(&s, "_rebuild_tensor_v2", VIEW("\1", "\3"), "");
	assert_reads(&s, 1);
	made_of(&s, "_rebuild_tensor_v2", VIEW("\2", "\3"), "");
	assert_refuses(&s, "views elements outside");
	made_of(&s, "_rebuild_tensor_v2", VIEW("\5", "\1"), "");
	assert_refuses(&s, "views elements outside");
	made_of(&s, "_rebuild_tensor_v2", VIEW("\3", "\1"), "");
	assert_refuses(&s, "leaves its storage");
}

/* Negated or conjugated values would be read wrongly. */
static void tensors_with_properties_of_their_own_are_refused(void **state)
{
	static script s;

	(void)state;
	made_of(&s, "_rebuild_tensor_v2", "", "}");
	assert_reads(&s, 1);
	made_of(&s, "_rebuild_tensor_v2", "", "}U\3neg\x88s");
	assert_refuses(&s, "unknown extra properties");
	made_of(&s, "_rebuild_tensor_v2", "", "}N");
	assert_refuses(&s, "wrong number of arguments");
	made_of(&s, "_rebuild_tensor_v3", "", "ctorch\nfloat32\n");
	assert_reads(&s, 1);
	made_of(&s, "_rebuild_tensor_v3", "", "ctorch\nfloat32\n}U\3neg\x88s");
	assert_refuses(&s, "unknown extra properties");
	made_of(&s, "_rebuild_tensor_v3", "", "ctorch\nfloat64\n");
	assert_refuses(&s, "different types");
}

/* ---- Pickles one after the other: checkpoints of the older layout ---- */

static void put_tensor_of(script *s, const char *name, const char *storage, uint32_t all)
{
	text(s, name);
	ops(s, "ctorch._utils\n_rebuild_tensor_v2\n((");
	text(s, "storage");
	ops(s, "ctorch\n");
	ops(s, storage);
	ops(s, "\n");
	text(s, "0");
	text(s, "cpu");
	op4(s, 'J', all);
	ops(s, "tQM");
	put(s, "\0\0", 2);
	ops(s, "K\1\x85K\1\x85\x89NtRs");
}

/* Two tensors over storage 0 of two floats; the second says this of it. */
static bool legacy_opens(const char *storage, uint32_t all, size_t more)
{
	static script s;
	const uint64_t count = 2, zeros[2] = {0};
	inv_weights *w;
	bool fine;

	begin(&s);
	ops(&s, "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
	ops(&s, "\x80\x02M\xe9\x03.");
	ops(&s, "\x80\x02}U\x0dlittle_endian\x88s.");
	ops(&s, "\x80\x02}");
	put_tensor_of(&s, "a", "FloatStorage", 2);
	put_tensor_of(&s, "b", storage, all);
	ops(&s, ".\x80\x02]U\1"
	        "0a.");
	put(&s, &count, sizeof count);
	put(&s, zeros, 8 + more);
	fine = inv_weights_view(s.bytes, s.used, "made.pth", NULL, &w) == INVAR_OK;
	inv_weights_close(w);
	return fine;
}

static void storages_of_one_key_say_the_same_and_end_the_file(void **state)
{
	(void)state;
	if (!legacy_opens("FloatStorage", 2, 0))
		fail_msg("%s", invar_last_error());
	assert_false(legacy_opens("FloatStorage", 1, 0));
	test_assert_error("two different types or sizes");
	assert_false(legacy_opens("IntStorage", 2, 0));
	test_assert_error("two different types or sizes");
	assert_false(legacy_opens("FloatStorage", 2, 1));
	test_assert_error("extra data after its last storage");
}

/* A mark as the first opcode: there is no stack below it yet. */
static void a_mark_on_nothing_is_a_mark(void **state)
{
	static const struct {
		const char *opcodes, *refused;
	} cases[] = {{"(u.", "fewer values"},   {"(e.", "fewer values"},
	             {"(1.", "one result"},     {"(t.", "a single value"},
	             {"(l.", "a single value"}, {"(d.", "no dictionary of tensors"}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		script s;

		begin(&s);
		ops(&s, cases[i].opcodes);
		assert_refuses(&s, cases[i].refused);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_counted_on_every_way_to_them),
		cmocka_unit_test(containers_are_so_deep_and_no_deeper),
		cmocka_unit_test(names_are_so_long_and_no_longer),
		cmocka_unit_test(the_memo_has_a_million_places),
		cmocka_unit_test(a_place_of_the_memo_is_what_was_put_there),
		cmocka_unit_test(protocols_are_two_to_five),
		cmocka_unit_test(tensors_stay_within_their_storage),
		cmocka_unit_test(storages_that_view_others_stay_within_them),
		cmocka_unit_test(tensors_with_properties_of_their_own_are_refused),
		cmocka_unit_test(a_mark_on_nothing_is_a_mark),
		cmocka_unit_test(storages_of_one_key_say_the_same_and_end_the_file),
	};

	return cmocka_run_group_tests_name("pickle", tests, NULL, NULL);
}
