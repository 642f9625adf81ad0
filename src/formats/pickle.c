/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - the stack machine; see pickle.h.
 *
 * One function an opcode, one table for all. Protocol 0's text opcodes, extension
 * registries and everything else that PyTorch never writes are not in the table.
 */
#include "formats/pickle.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/utf8.h"

enum {
	CHUNK = 1 << 15,
	MAX_MEMORY = 128 << 20,
	MAX_MEMO = 1000000,
	MAX_ITEMS = 1 << 28, /* never reached: memory ends before */
	LEAST_PROTOCOL = 2,
	MAX_PROTOCOL = 5
};

/* ---- Memory ---- */

typedef struct chunk {
	struct chunk *next;
	size_t used, size;
} chunk;

static chunk *new_chunk(inv_pickle *p, size_t bytes)
{
	size_t size = bytes > CHUNK ? bytes : CHUNK;
	chunk *c;

	if (bytes > MAX_MEMORY || p->used + size > MAX_MEMORY) {
		p->used = MAX_MEMORY + 1; /* see inv_pickle_full */
		return NULL;
	}
	if (!(c = inv_alloc(INV_ALIGN + size)))
		return NULL;
	*c = (chunk){.next = p->chunks, .size = size};
	p->used += size;
	p->chunks = c;
	return c;
}

void *inv_pickle_take(inv_pickle *p, uint64_t count, size_t bytes)
{
	chunk *c = p->chunks;
	uint64_t want;
	char *piece;

	if (inv_mul_overflow(count, bytes, &want) || want > MAX_MEMORY)
		want = MAX_MEMORY + 1;
	want = (want + 15) / 16 * 16;
	if ((!c || want > c->size - c->used) && !(c = new_chunk(p, want)))
		return NULL;
	piece = (char *)c + INV_ALIGN + c->used;
	c->used += want;
	return memset(piece, 0, want);
}

invar_status inv_pickle_full(const inv_pickle *p)
{
	if (p->used > MAX_MEMORY)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its pickle needs more than %d MB of memory, which no real "
		                "weight file does",
		                p->path, MAX_MEMORY >> 20);
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its pickle", p->path);
}

void inv_pickle_free(inv_pickle *p)
{
	for (chunk *c = p->chunks, *next; c; c = next) {
		next = c->next;
		inv_free(c);
	}
	p->chunks = NULL;
}

/* Grows a list by at least one; the old block stays allocated in the arena. */
static invar_status grow(inv_pickle *p, void *list, size_t item, size_t count, size_t *size)
{
	size_t wider = *size ? *size * 2 : 4;
	void *old, *wide;

	if (count < *size)
		return INVAR_OK;
	while (wider <= count)
		wider *= 2;
	if (!(wide = inv_pickle_take(p, wider, item)))
		return inv_pickle_full(p);
	memcpy(&old, list, sizeof old);
	if (*size)
		memcpy(wide, old, *size * item);
	memcpy(list, &wide, sizeof wide);
	*size = wider;
	return INVAR_OK;
}

/* ---- Values and the stack ---- */

invar_status inv_pickle_bad(const inv_pickle *p, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: its pickle is damaged at byte %zu: %s", p->path,
	                p->at, what);
}

invar_status inv_pickle_new(inv_pickle *p, inv_py_kind kind, inv_py **out)
{
	if (!(*out = inv_pickle_take(p, 1, sizeof **out)))
		return inv_pickle_full(p);
	(*out)->kind = kind;
	return INVAR_OK;
}

invar_status inv_pickle_put(inv_pickle *p, inv_py *container, inv_py *item)
{
	size_t capacity = container->capacity;
	invar_status st;

	if (container->count >= MAX_ITEMS)
		return inv_pickle_bad(p, "a list is too long");
	st = grow(p, &container->of.items, sizeof item, container->count, &capacity);
	if (st != INVAR_OK)
		return st;
	container->capacity = (uint32_t)capacity;
	container->of.items[container->count++] = item;
	return INVAR_OK;
}

static invar_status push(inv_pickle *p, inv_py *value)
{
	invar_status st = grow(p, &p->stack, sizeof value, p->depth, &p->depth_room);

	if (st == INVAR_OK)
		p->stack[p->depth++] = value;
	return st;
}

static invar_status push_new(inv_pickle *p, inv_py_kind kind, inv_py **out)
{
	invar_status st = inv_pickle_new(p, kind, out);

	return st == INVAR_OK ? push(p, *out) : st;
}

/* Values above the last mark. */
static size_t above(const inv_pickle *p)
{
	return p->depth - (p->mark_count ? p->marks[p->mark_count - 1] : 0);
}

static invar_status need_values(const inv_pickle *p, size_t count)
{
	return above(p) < count
	           ? inv_pickle_bad(p, "its stack has fewer values than an opcode takes")
	           : INVAR_OK;
}

/* Takes the last mark; the values above it are *first and the next *count. */
static invar_status take_mark(inv_pickle *p, inv_py ***first, size_t *count)
{
	*first = NULL;
	*count = 0;
	if (!p->mark_count)
		return inv_pickle_bad(p, "an opcode needs a mark that is missing");
	*count = above(p);
	p->depth -= *count;
	*first = p->stack ? p->stack + p->depth : NULL; /* none: nothing was ever pushed */
	p->mark_count--;
	return INVAR_OK;
}

/* ---- The bytes ---- */

static invar_status need_bytes(const inv_pickle *p, uint64_t bytes)
{
	return bytes > p->size - p->at ? inv_pickle_bad(p, "it ends inside an opcode")
	                               : INVAR_OK;
}

/* A little-endian number of this many bytes. */
static invar_status get_number(inv_pickle *p, unsigned bytes, uint64_t *out)
{
	invar_status st = need_bytes(p, bytes);

	*out = 0;
	for (unsigned i = 0; i < bytes && st == INVAR_OK; i++)
		*out |= (uint64_t)p->bytes[p->at++] << 8 * i;
	return st;
}

/* A length of this many bytes, then that many bytes. */
static invar_status get_bytes(inv_pickle *p, unsigned width, const char **text,
                              uint64_t *length)
{
	invar_status st = get_number(p, width, length);

	*text = NULL;
	if (st != INVAR_OK || (st = need_bytes(p, *length)) != INVAR_OK)
		return st;
	if (*length > UINT32_MAX)
		return inv_pickle_bad(p, "a string is longer than 4 GB");
	*text = (const char *)p->bytes + p->at;
	p->at += *length;
	return INVAR_OK;
}

static invar_status get_line(inv_pickle *p, const char **text, size_t *length)
{
	const unsigned char *end =
		p->at < p->size ? memchr(p->bytes + p->at, '\n', p->size - p->at) : NULL;

	*text = NULL;
	*length = 0;
	if (!end)
		return inv_pickle_bad(p, "a name has no end");
	*text = (const char *)p->bytes + p->at;
	*length = (size_t)(end - p->bytes) - p->at;
	p->at += *length + 1;
	return INVAR_OK;
}

/* ---- Opcodes: numbers and texts ---- */

static invar_status op_proto(inv_pickle *p)
{
	uint64_t version;
	invar_status st = get_number(p, 1, &version);

	if (st == INVAR_OK && (version < LEAST_PROTOCOL || version > MAX_PROTOCOL))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its pickle is of protocol %" PRIu64 ", expected %d to %d",
		                p->path, version, LEAST_PROTOCOL, MAX_PROTOCOL);
	return st;
}

static invar_status op_frame(inv_pickle *p)
{
	uint64_t length;
	invar_status st = get_number(p, 8, &length);

	return st == INVAR_OK ? need_bytes(p, length) : st;
}

static invar_status op_none(inv_pickle *p)
{
	inv_py *v;

	return push_new(p, INV_PY_NONE, &v);
}

static invar_status push_int(inv_pickle *p, inv_py_kind kind, int64_t i)
{
	inv_py *v;
	invar_status st = push_new(p, kind, &v);

	if (st == INVAR_OK)
		v->of.i = i;
	return st;
}

static invar_status op_true(inv_pickle *p)
{
	return push_int(p, INV_PY_BOOL, 1);
}

static invar_status op_false(inv_pickle *p)
{
	return push_int(p, INV_PY_BOOL, 0);
}

/* Of 1 and 2 bytes they have no sign. */
static invar_status push_number(inv_pickle *p, unsigned bytes)
{
	uint64_t n;
	invar_status st = get_number(p, bytes, &n);

	return st == INVAR_OK ? push_int(p, INV_PY_INT, bytes == 4 ? (int32_t)n : (int64_t)n)
	                      : st;
}

static invar_status op_int1(inv_pickle *p)
{
	return push_number(p, 1);
}

static invar_status op_int2(inv_pickle *p)
{
	return push_number(p, 2);
}

static invar_status op_int4(inv_pickle *p)
{
	return push_number(p, 4);
}

/* Two's complement of any length. */
static invar_status push_long(inv_pickle *p, unsigned width)
{
	const char *bytes;
	uint64_t length, n;
	inv_py *v;
	invar_status st = get_bytes(p, width, &bytes, &length);

	if (st != INVAR_OK)
		return st;
	if (length > 8) {
		if ((st = push_new(p, INV_PY_BIG, &v)) == INVAR_OK) {
			v->of.text = bytes;
			v->count = (uint32_t)length;
		}
		return st;
	}
	n = length && (bytes[length - 1] & 0x80) ? UINT64_MAX : 0;
	memcpy(&n, bytes, length);
	return push_int(p, INV_PY_INT, (int64_t)n);
}

static invar_status op_long1(inv_pickle *p)
{
	return push_long(p, 1);
}

static invar_status op_long4(inv_pickle *p)
{
	return push_long(p, 4);
}

/* Big-endian, unlike everything else. */
static invar_status op_float(inv_pickle *p)
{
	uint64_t bits;
	inv_py *v;
	invar_status st = get_number(p, 8, &bits);

	if (st != INVAR_OK || (st = push_new(p, INV_PY_FLOAT, &v)) != INVAR_OK)
		return st;
	bits = __builtin_bswap64(bits);
	memcpy(&v->of.f, &bits, sizeof bits);
	return INVAR_OK;
}

static invar_status push_bytes(inv_pickle *p, unsigned width, inv_py_kind kind)
{
	const char *text;
	uint64_t length;
	inv_py *v;
	invar_status st = get_bytes(p, width, &text, &length);

	if (st != INVAR_OK)
		return st;
	if (kind == INV_PY_TEXT && !inv_is_utf8(text, length))
		return inv_pickle_bad(p, "a text is not UTF-8");
	if ((st = push_new(p, kind, &v)) == INVAR_OK) {
		v->of.text = text;
		v->count = (uint32_t)length;
	}
	return st;
}

/* Protocol 0's 'text': parsed only to report the names after it. */
static invar_status op_quoted(inv_pickle *p)
{
	const char *text;
	size_t length;
	inv_py *v;
	invar_status st = get_line(p, &text, &length);

	if (st != INVAR_OK)
		return st;
	if (length < 2 || (*text != '\'' && *text != '"') || text[length - 1] != *text ||
	    memchr(text, '\\', length) || !inv_is_utf8(text, length))
		return inv_pickle_bad(p, "a string is not in quotes, or not plain");
	if ((st = push_new(p, INV_PY_TEXT, &v)) == INVAR_OK) {
		v->of.text = text + 1;
		v->count = (uint32_t)(length - 2);
	}
	return st;
}

static invar_status op_text1(inv_pickle *p)
{
	return push_bytes(p, 1, INV_PY_TEXT);
}

static invar_status op_text4(inv_pickle *p)
{
	return push_bytes(p, 4, INV_PY_TEXT);
}

static invar_status op_text8(inv_pickle *p)
{
	return push_bytes(p, 8, INV_PY_TEXT);
}

static invar_status op_bytes1(inv_pickle *p)
{
	return push_bytes(p, 1, INV_PY_BYTES);
}

static invar_status op_bytes4(inv_pickle *p)
{
	return push_bytes(p, 4, INV_PY_BYTES);
}

static invar_status op_bytes8(inv_pickle *p)
{
	return push_bytes(p, 8, INV_PY_BYTES);
}

/* ---- Opcodes: the stack and the memo ---- */

static invar_status op_mark(inv_pickle *p)
{
	invar_status st = grow(p, &p->marks, sizeof *p->marks, p->mark_count, &p->mark_room);

	if (st == INVAR_OK)
		p->marks[p->mark_count++] = p->depth;
	return st;
}

static invar_status op_pop(inv_pickle *p)
{
	invar_status st = need_values(p, 1);

	if (st == INVAR_OK)
		p->depth--;
	return st;
}

static invar_status op_pop_mark(inv_pickle *p)
{
	inv_py **first;
	size_t count;

	return take_mark(p, &first, &count);
}

static invar_status op_dup(inv_pickle *p)
{
	invar_status st = need_values(p, 1);

	return st == INVAR_OK ? push(p, p->stack[p->depth - 1]) : st;
}

static invar_status put_memo(inv_pickle *p, uint64_t index)
{
	invar_status st = need_values(p, 1);

	if (st != INVAR_OK)
		return st;
	if (index >= MAX_MEMO)
		return inv_pickle_bad(p, "a memo index is over a million");
	if ((st = grow(p, &p->memo, sizeof *p->memo, index, &p->memo_room)) != INVAR_OK)
		return st;
	p->memo_count += !p->memo[index];
	p->memo[index] = p->stack[p->depth - 1];
	return INVAR_OK;
}

static invar_status get_memo(inv_pickle *p, uint64_t index)
{
	if (index >= p->memo_room || !p->memo[index])
		return inv_pickle_bad(p, "it reads a memo value that was never stored");
	return push(p, p->memo[index]);
}

/* Followed by a memo index, a number of this many bytes. */
static invar_status with_place(inv_pickle *p, unsigned bytes,
                               invar_status (*act)(inv_pickle *p, uint64_t index))
{
	uint64_t index;
	invar_status st = get_number(p, bytes, &index);

	return st == INVAR_OK ? act(p, index) : st;
}

static invar_status op_put1(inv_pickle *p)
{
	return with_place(p, 1, put_memo);
}

static invar_status op_put4(inv_pickle *p)
{
	return with_place(p, 4, put_memo);
}

static invar_status op_memoize(inv_pickle *p)
{
	return put_memo(p, p->memo_count);
}

static invar_status op_get1(inv_pickle *p)
{
	return with_place(p, 1, get_memo);
}

static invar_status op_get4(inv_pickle *p)
{
	return with_place(p, 4, get_memo);
}

/* ---- Opcodes: containers ---- */

static invar_status op_empty_tuple(inv_pickle *p)
{
	inv_py *v;

	return push_new(p, INV_PY_TUPLE, &v);
}

static invar_status op_empty_list(inv_pickle *p)
{
	inv_py *v;

	return push_new(p, INV_PY_LIST, &v);
}

static invar_status op_empty_dict(inv_pickle *p)
{
	inv_py *v;

	return push_new(p, INV_PY_DICT, &v);
}

/* The stack gives its place to the container that holds what stood there. */
static invar_status push_holding(inv_pickle *p, inv_py_kind kind, size_t count)
{
	inv_py *v, **items = NULL;
	invar_status st = inv_pickle_new(p, kind, &v);

	if (st != INVAR_OK)
		return st;
	if (count && !(items = inv_pickle_take(p, count, sizeof *items)))
		return inv_pickle_full(p);
	if (count)
		memcpy(items, p->stack + p->depth, count * sizeof *items);
	v->of.items = items;
	v->count = v->capacity = (uint32_t)count;
	return push(p, v);
}

static invar_status push_marked(inv_pickle *p, inv_py_kind kind)
{
	inv_py **first;
	size_t count;
	invar_status st = take_mark(p, &first, &count);

	return st == INVAR_OK ? push_holding(p, kind, count) : st;
}

static invar_status op_tuple(inv_pickle *p)
{
	return push_marked(p, INV_PY_TUPLE);
}

static invar_status op_list(inv_pickle *p)
{
	return push_marked(p, INV_PY_LIST);
}

static invar_status push_tuple(inv_pickle *p, size_t count)
{
	invar_status st = need_values(p, count);

	if (st != INVAR_OK)
		return st;
	p->depth -= count;
	return push_holding(p, INV_PY_TUPLE, count);
}

static invar_status op_tuple1(inv_pickle *p)
{
	return push_tuple(p, 1);
}

static invar_status op_tuple2(inv_pickle *p)
{
	return push_tuple(p, 2);
}

static invar_status op_tuple3(inv_pickle *p)
{
	return push_tuple(p, 3);
}

static invar_status append(inv_pickle *p, inv_py **items, size_t count)
{
	inv_py *list = items[-1];
	invar_status st = INVAR_OK;

	if (list->kind != INV_PY_LIST)
		return inv_pickle_bad(p, "it appends to something that is not a list");
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_pickle_put(p, list, items[i]);
	return st;
}

static invar_status op_append(inv_pickle *p)
{
	invar_status st = need_values(p, 2);

	return st == INVAR_OK ? append(p, p->stack + --p->depth, 1) : st;
}

static invar_status op_appends(inv_pickle *p)
{
	inv_py **first;
	size_t count;
	invar_status st = take_mark(p, &first, &count);

	if (st != INVAR_OK || (st = need_values(p, 1)) != INVAR_OK)
		return st;
	return append(p, first, count);
}

static bool is_key(const inv_py *v)
{
	return v->kind != INV_PY_LIST && v->kind != INV_PY_DICT && v->kind != INV_PY_BAG;
}

static invar_status set(inv_pickle *p, inv_py *dict, inv_py **items, size_t count)
{
	invar_status st = INVAR_OK;

	if (dict->kind != INV_PY_DICT)
		return inv_pickle_bad(p, "it sets an item of something that is not a dictionary");
	if (count % 2)
		return inv_pickle_bad(p, "a key of a dictionary has no value");
	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		if (i % 2 == 0 && !is_key(items[i]))
			return inv_pickle_bad(p, "a key of a dictionary is a container");
		st = inv_pickle_put(p, dict, items[i]);
	}
	return st;
}

static invar_status op_setitem(inv_pickle *p)
{
	invar_status st = need_values(p, 3);

	if (st != INVAR_OK)
		return st;
	p->depth -= 2;
	return set(p, p->stack[p->depth - 1], p->stack + p->depth, 2);
}

static invar_status op_setitems(inv_pickle *p)
{
	inv_py **first;
	size_t count;
	invar_status st = take_mark(p, &first, &count);

	if (st != INVAR_OK || (st = need_values(p, 1)) != INVAR_OK)
		return st;
	return set(p, first[-1], first, count);
}

static invar_status op_dict(inv_pickle *p)
{
	inv_py **first, *dict;
	size_t count;
	invar_status st = take_mark(p, &first, &count);

	if (st != INVAR_OK || (st = inv_pickle_new(p, INV_PY_DICT, &dict)) != INVAR_OK ||
	    (st = set(p, dict, first, count)) != INVAR_OK)
		return st;
	return push(p, dict);
}

/* ---- Opcodes: what would be calls ---- */

static invar_status op_global(inv_pickle *p)
{
	const char *module, *name;
	size_t module_length, name_length;
	inv_py *v;
	invar_status st;

	if ((st = get_line(p, &module, &module_length)) != INVAR_OK ||
	    (st = get_line(p, &name, &name_length)) != INVAR_OK ||
	    (st = inv_torch_global(p, module, module_length, name, name_length, &v)) !=
	        INVAR_OK)
		return st;
	return push(p, v);
}

/* The class of an object by its names: never in weights, but reported in the message. */
static invar_status op_inst(inv_pickle *p)
{
	invar_status st = op_global(p);

	return st == INVAR_OK
	           ? inv_pickle_bad(p, "it creates an object in a way that no weight file does")
	           : st;
}

static invar_status op_stack_global(inv_pickle *p)
{
	const inv_py *module, *name;
	inv_py *v;
	invar_status st = need_values(p, 2);

	if (st != INVAR_OK)
		return st;
	module = p->stack[p->depth - 2];
	name = p->stack[p->depth - 1];
	if (module->kind != INV_PY_TEXT || name->kind != INV_PY_TEXT)
		return inv_pickle_bad(p, "a name is not a string");
	st =
		inv_torch_global(p, module->of.text, module->count, name->of.text, name->count, &v);
	p->depth -= 2;
	return st == INVAR_OK ? push(p, v) : st;
}

/* REDUCE and NEWOBJ: both give an object for a name and a tuple of arguments. */
static invar_status op_reduce(inv_pickle *p)
{
	inv_py *v;
	invar_status st = need_values(p, 2);

	if (st != INVAR_OK)
		return st;
	p->depth -= 2;
	st = inv_torch_reduce(p, p->stack[p->depth], p->stack[p->depth + 1], &v);
	return st == INVAR_OK ? push(p, v) : st;
}

static invar_status op_build(inv_pickle *p)
{
	invar_status st = need_values(p, 2);

	if (st != INVAR_OK)
		return st;
	p->depth--;
	return inv_torch_build(p, p->stack[p->depth - 1], p->stack[p->depth]);
}

static invar_status op_persistent(inv_pickle *p)
{
	inv_py *v;
	invar_status st = need_values(p, 1);

	if (st != INVAR_OK)
		return st;
	if (!p->has_storages)
		return inv_pickle_bad(p, "it has a storage where none is expected");
	p->depth--;
	st = inv_torch_persistent(p, p->stack[p->depth], &v);
	return st == INVAR_OK ? push(p, v) : st;
}

static invar_status op_stop(inv_pickle *p)
{
	if (p->depth != 1 || p->mark_count)
		return inv_pickle_bad(p, "it ends without exactly one result");
	p->result = p->stack[0];
	return INVAR_OK;
}

/* ---- The machine ---- */

typedef invar_status op_fn(inv_pickle *p);

static op_fn *const ops[256] = {
	['S'] = op_quoted,     [0x80] = op_proto,        [0x95] = op_frame,
	['.'] = op_stop,       ['N'] = op_none,          [0x88] = op_true,
	[0x89] = op_false,     ['K'] = op_int1,          ['M'] = op_int2,
	['J'] = op_int4,       [0x8a] = op_long1,        [0x8b] = op_long4,
	['G'] = op_float,      [0x8c] = op_text1,        ['X'] = op_text4,
	[0x8d] = op_text8,     ['U'] = op_text1, /* Python 2's strings; non-ASCII bytes are
                                                rejected */
	['T'] = op_text4,      ['C'] = op_bytes1,        ['B'] = op_bytes4,
	[0x8e] = op_bytes8,    [0x96] = op_bytes8,       ['('] = op_mark,
	['0'] = op_pop,        ['1'] = op_pop_mark,      ['2'] = op_dup,
	['q'] = op_put1,       ['r'] = op_put4,          [0x94] = op_memoize,
	['h'] = op_get1,       ['j'] = op_get4,          [')'] = op_empty_tuple,
	[']'] = op_empty_list, ['}'] = op_empty_dict,    [0x8f] = op_empty_list, /* a set */
	['t'] = op_tuple,      [0x85] = op_tuple1,       [0x86] = op_tuple2,
	[0x87] = op_tuple3,    ['l'] = op_list,          ['a'] = op_append,
	['e'] = op_appends,    [0x90] = op_appends,      ['d'] = op_dict,
	['s'] = op_setitem,    ['u'] = op_setitems,      ['c'] = op_global,
	['i'] = op_inst,       [0x93] = op_stack_global, ['R'] = op_reduce,
	[0x81] = op_reduce,    ['b'] = op_build,         ['Q'] = op_persistent,
};

invar_status inv_pickle_run(inv_pickle *p, const unsigned char *bytes, size_t size,
                            inv_py **result)
{
	invar_status st = INVAR_OK;

	p->bytes = bytes;
	p->size = size;
	p->at = p->depth = p->mark_count = p->memo_count = 0;
	p->result = *result = NULL;
	if (p->memo_room)
		memset(p->memo, 0, p->memo_room * sizeof *p->memo);
	while (st == INVAR_OK && !p->result) {
		unsigned char op;

		if (p->at >= size)
			return inv_pickle_bad(p, "it ends before its last opcode");
		op = bytes[p->at];
		if (!ops[op])
			return inv_fail(INVAR_E_FORMAT,
			                "%s: its pickle has opcode 0x%02x at byte %zu, which no weight "
			                "file needs",
			                p->path, op, p->at);
		p->at++;
		st = ops[op](p);
	}
	*result = p->result;
	return st;
}
