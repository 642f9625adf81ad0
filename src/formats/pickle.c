/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - the stack machine; see pickle.h.
 *
 * run_opcode at the end lists the opcodes that are read. Protocol 0's text opcodes,
 * extension registries and everything else that PyTorch never writes are errors.
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

#define MARKED SIZE_MAX /* instead of a number of values: those above the last mark */

/* ---- Memory ----------------------------------------------------------------------- */

typedef struct chunk {
	struct chunk *next;
	size_t used, size;
} chunk;

void *inv_pickle_take(inv_pickle *p, uint64_t count, size_t bytes)
{
	chunk *c = p->chunks;
	uint64_t want;
	size_t size;
	char *piece;

	if (inv_mul_overflow(count, bytes, &want) || want > MAX_MEMORY)
		want = MAX_MEMORY + 1;
	want = (want + 15) / 16 * 16;
	if (!c || want > c->size - c->used) {
		size = want > CHUNK ? want : CHUNK;
		if (p->used + size > MAX_MEMORY) {
			p->used = MAX_MEMORY + 1; /* see inv_pickle_full */
			return NULL;
		}
		if (!(c = inv_alloc(INV_ALIGN + size)))
			return NULL;
		*c = (chunk){.next = p->chunks, .size = size};
		p->used += size;
		p->chunks = c;
	}
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
	return inv_no_memory();
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
static invar_status grow_list(inv_pickle *p, void *list, size_t item, size_t count,
                              size_t *size)
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

/* ---- Values and the stack --------------------------------------------------------- */

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

	if (container->count >= MAX_ITEMS)
		return inv_pickle_bad(p, "a list is too long");
	INV_TRY(grow_list(p, &container->of.items, sizeof item, container->count, &capacity));
	container->capacity = (uint32_t)capacity;
	container->of.items[container->count++] = item;
	return INVAR_OK;
}

static invar_status push(inv_pickle *p, inv_py *value)
{
	INV_TRY(grow_list(p, &p->stack, sizeof value, p->depth, &p->stack_capacity));
	p->stack[p->depth++] = value;
	return INVAR_OK;
}

static invar_status push_new(inv_pickle *p, inv_py_kind kind, inv_py **out)
{
	INV_TRY(inv_pickle_new(p, kind, out));
	return push(p, *out);
}

static invar_status need_values(const inv_pickle *p, size_t count)
{
	size_t mark = p->mark_count ? p->marks[p->mark_count - 1] : 0;

	return p->depth - mark < count
	           ? inv_pickle_bad(p, "its stack has fewer values than an opcode takes")
	           : INVAR_OK;
}

/*
 * Pops `wanted` values, or with MARKED the last mark and all above it: *first and the
 * next *count. `below` more must be under them.
 */
static invar_status take_values(inv_pickle *p, size_t wanted, size_t below, inv_py ***first,
                                size_t *count)
{
	*first = NULL;
	*count = wanted;
	if (wanted == MARKED) {
		if (!p->mark_count)
			return inv_pickle_bad(p, "an opcode needs a mark that is missing");
		*count = p->depth - p->marks[--p->mark_count];
		p->depth -= *count;
		INV_TRY(need_values(p, below));
	} else {
		INV_TRY(need_values(p, wanted + below));
		p->depth -= wanted;
	}
	if (p->stack) /* else nothing was ever pushed */
		*first = p->stack + p->depth;
	return INVAR_OK;
}

/* ---- The bytes -------------------------------------------------------------------- */

static invar_status need_bytes(const inv_pickle *p, uint64_t bytes)
{
	return bytes > p->size - p->at ? inv_pickle_bad(p, "it ends inside an opcode")
	                               : INVAR_OK;
}

/* A little-endian number of this many bytes. */
static invar_status get_number(inv_pickle *p, unsigned bytes, uint64_t *out)
{
	*out = 0;
	INV_TRY(need_bytes(p, bytes));
	for (unsigned i = 0; i < bytes; i++)
		*out |= (uint64_t)p->bytes[p->at++] << 8 * i;
	return INVAR_OK;
}

/* A length of this many bytes, then that many bytes. */
static invar_status get_bytes(inv_pickle *p, unsigned width, const char **text,
                              uint64_t *length)
{
	*text = NULL;
	INV_TRY(get_number(p, width, length));
	INV_TRY(need_bytes(p, *length));
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

/* ---- Opcodes: numbers and texts --------------------------------------------------- */

static invar_status check_protocol(inv_pickle *p)
{
	uint64_t version;

	INV_TRY(get_number(p, 1, &version));
	if (version < LEAST_PROTOCOL || version > MAX_PROTOCOL)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its pickle is of protocol %" PRIu64 ", expected %d to %d",
		                p->path, version, LEAST_PROTOCOL, MAX_PROTOCOL);
	return INVAR_OK;
}

static invar_status check_frame(inv_pickle *p)
{
	uint64_t length;

	INV_TRY(get_number(p, 8, &length));
	return need_bytes(p, length);
}

static invar_status push_empty(inv_pickle *p, inv_py_kind kind)
{
	inv_py *v;

	return push_new(p, kind, &v);
}

static invar_status push_int(inv_pickle *p, inv_py_kind kind, int64_t i)
{
	inv_py *v;

	INV_TRY(push_new(p, kind, &v));
	v->of.i = i;
	return INVAR_OK;
}

/* Numbers of 1 and 2 bytes have no sign. */
static invar_status push_number(inv_pickle *p, unsigned bytes)
{
	uint64_t n;

	INV_TRY(get_number(p, bytes, &n));
	return push_int(p, INV_PY_INT, bytes == 4 ? (int32_t)n : (int64_t)n);
}

static invar_status push_view(inv_pickle *p, inv_py_kind kind, const char *text,
                              uint64_t length)
{
	inv_py *v;

	INV_TRY(push_new(p, kind, &v));
	v->of.text = text;
	v->count = (uint32_t)length;
	return INVAR_OK;
}

/* Two's complement of any length, which is a number of `width` bytes. */
static invar_status push_long(inv_pickle *p, unsigned width)
{
	const char *bytes;
	uint64_t length, n;

	INV_TRY(get_bytes(p, width, &bytes, &length));
	if (length > 8)
		return push_view(p, INV_PY_BIG, bytes, length);
	n = length && (bytes[length - 1] & 0x80) ? UINT64_MAX : 0;
	memcpy(&n, bytes, length);
	return push_int(p, INV_PY_INT, (int64_t)n);
}

/* Big-endian, unlike everything else. */
static invar_status push_float(inv_pickle *p)
{
	uint64_t bits;
	inv_py *v;

	INV_TRY(get_number(p, 8, &bits));
	INV_TRY(push_new(p, INV_PY_FLOAT, &v));
	bits = __builtin_bswap64(bits);
	memcpy(&v->of.f, &bits, sizeof bits);
	return INVAR_OK;
}

/* A text or bytes, after a length of `width` bytes. */
static invar_status push_bytes(inv_pickle *p, unsigned width, inv_py_kind kind)
{
	const char *text;
	uint64_t length;

	INV_TRY(get_bytes(p, width, &text, &length));
	if (kind == INV_PY_TEXT && !inv_is_utf8(text, length))
		return inv_pickle_bad(p, "a text is not UTF-8");
	return push_view(p, kind, text, length);
}

/* Protocol 0's 'text': parsed only to report the names after it. */
static invar_status push_quoted(inv_pickle *p)
{
	const char *text;
	size_t length;

	INV_TRY(get_line(p, &text, &length));
	if (length < 2 || (*text != '\'' && *text != '"') || text[length - 1] != *text ||
	    memchr(text, '\\', length) || !inv_is_utf8(text, length))
		return inv_pickle_bad(p, "a string is not in quotes, or not plain");
	return push_view(p, INV_PY_TEXT, text + 1, length - 2);
}

/* ---- Opcodes: the stack and the memo ---------------------------------------------- */

static invar_status push_mark(inv_pickle *p)
{
	INV_TRY(grow_list(p, &p->marks, sizeof *p->marks, p->mark_count, &p->mark_capacity));
	p->marks[p->mark_count++] = p->depth;
	return INVAR_OK;
}

static invar_status pop(inv_pickle *p, size_t wanted)
{
	inv_py **first;
	size_t count;

	return take_values(p, wanted, 0, &first, &count);
}

static invar_status duplicate(inv_pickle *p)
{
	INV_TRY(need_values(p, 1));
	return push(p, p->stack[p->depth - 1]);
}

static invar_status put_memo(inv_pickle *p, uint64_t index)
{
	INV_TRY(need_values(p, 1));
	if (index >= MAX_MEMO)
		return inv_pickle_bad(p, "a memo index is over a million");
	INV_TRY(grow_list(p, &p->memo, sizeof *p->memo, index, &p->memo_capacity));
	p->memo_count += !p->memo[index];
	p->memo[index] = p->stack[p->depth - 1];
	return INVAR_OK;
}

/* The memo index is a number of this many bytes. */
static invar_status put_memo_at(inv_pickle *p, unsigned bytes)
{
	uint64_t index;

	INV_TRY(get_number(p, bytes, &index));
	return put_memo(p, index);
}

static invar_status push_memo_at(inv_pickle *p, unsigned bytes)
{
	uint64_t index;

	INV_TRY(get_number(p, bytes, &index));
	if (index >= p->memo_capacity || !p->memo[index])
		return inv_pickle_bad(p, "it reads a memo value that was never stored");
	return push(p, p->memo[index]);
}

/* ---- Opcodes: containers ---------------------------------------------------------- */

/* A container of values from the stack; see take_values. */
static invar_status push_container(inv_pickle *p, inv_py_kind kind, size_t wanted)
{
	inv_py *v, **first, **items = NULL;
	size_t count;

	INV_TRY(take_values(p, wanted, 0, &first, &count));
	INV_TRY(inv_pickle_new(p, kind, &v));
	if (count && !(items = inv_pickle_take(p, count, sizeof *items)))
		return inv_pickle_full(p);
	if (count)
		memcpy(items, first, count * sizeof *items);
	v->of.items = items;
	v->count = v->capacity = (uint32_t)count;
	return push(p, v);
}

static invar_status append_values(inv_pickle *p, size_t wanted)
{
	inv_py **items;
	size_t count;

	INV_TRY(take_values(p, wanted, 1, &items, &count));
	if (items[-1]->kind != INV_PY_LIST)
		return inv_pickle_bad(p, "it appends to something that is not a list");
	for (size_t i = 0; i < count; i++)
		INV_TRY(inv_pickle_put(p, items[-1], items[i]));
	return INVAR_OK;
}

static invar_status set_items(inv_pickle *p, inv_py *dict, inv_py **items, size_t count)
{
	if (dict->kind != INV_PY_DICT)
		return inv_pickle_bad(p, "it sets an item of something that is not a dictionary");
	if (count % 2)
		return inv_pickle_bad(p, "a key of a dictionary has no value");
	for (size_t i = 0; i < count; i++) {
		uint8_t kind = items[i]->kind;

		if (i % 2 == 0 &&
		    (kind == INV_PY_LIST || kind == INV_PY_DICT || kind == INV_PY_BAG))
			return inv_pickle_bad(p, "a key of a dictionary is a container");
		INV_TRY(inv_pickle_put(p, dict, items[i]));
	}
	return INVAR_OK;
}

static invar_status set_values(inv_pickle *p, size_t wanted)
{
	inv_py **first;
	size_t count;

	INV_TRY(take_values(p, wanted, 1, &first, &count));
	return set_items(p, first[-1], first, count);
}

static invar_status push_dict(inv_pickle *p)
{
	inv_py **first, *dict;
	size_t count;

	INV_TRY(take_values(p, MARKED, 0, &first, &count));
	INV_TRY(inv_pickle_new(p, INV_PY_DICT, &dict));
	INV_TRY(set_items(p, dict, first, count));
	return push(p, dict);
}

/* ---- Opcodes: what would be calls ------------------------------------------------- */

static invar_status push_global(inv_pickle *p)
{
	const char *module, *name;
	size_t module_length, name_length;
	inv_py *v;

	INV_TRY(get_line(p, &module, &module_length));
	INV_TRY(get_line(p, &name, &name_length));
	INV_TRY(inv_torch_global(p, module, module_length, name, name_length, &v));
	return push(p, v);
}

/* The class of an object by its names: never in weights, but reported in the message. */
static invar_status reject_instance(inv_pickle *p)
{
	INV_TRY(push_global(p));
	return inv_pickle_bad(p, "it creates an object in a way that no weight file does");
}

static invar_status push_stack_global(inv_pickle *p)
{
	const inv_py *module, *name;
	inv_py *v;

	INV_TRY(need_values(p, 2));
	module = p->stack[p->depth - 2];
	name = p->stack[p->depth - 1];
	if (module->kind != INV_PY_TEXT || name->kind != INV_PY_TEXT)
		return inv_pickle_bad(p, "a name is not a string");
	INV_TRY(inv_torch_global(p, module->of.text, module->count, name->of.text, name->count,
	                         &v));
	p->depth -= 2;
	return push(p, v);
}

/* REDUCE and NEWOBJ: both give an object for a name and a tuple of arguments. */
static invar_status push_reduced(inv_pickle *p)
{
	inv_py *v;

	INV_TRY(need_values(p, 2));
	p->depth -= 2;
	INV_TRY(inv_torch_reduce(p, p->stack[p->depth], p->stack[p->depth + 1], &v));
	return push(p, v);
}

static invar_status set_state(inv_pickle *p)
{
	INV_TRY(need_values(p, 2));
	p->depth--;
	return inv_torch_build(p, p->stack[p->depth - 1], p->stack[p->depth]);
}

static invar_status push_persistent(inv_pickle *p)
{
	inv_py *v;

	INV_TRY(need_values(p, 1));
	if (!p->has_storages)
		return inv_pickle_bad(p, "it has a storage where none is expected");
	p->depth--;
	INV_TRY(inv_torch_persistent(p, p->stack[p->depth], &v));
	return push(p, v);
}

static invar_status stop(inv_pickle *p)
{
	if (p->depth != 1 || p->mark_count)
		return inv_pickle_bad(p, "it ends without exactly one result");
	p->result = p->stack[0];
	return INVAR_OK;
}

/* ---- The machine ------------------------------------------------------------------ */

/* The opcodes by their names in Python's pickletools. */
static invar_status run_opcode(inv_pickle *p, unsigned char op)
{
	/* clang-format off */
	switch (op) {
	case 0x80: return check_protocol(p);                       /* PROTO */
	case 0x95: return check_frame(p);                          /* FRAME */
	case '.':  return stop(p);                                 /* STOP */
	case 'N':  return push_empty(p, INV_PY_NONE);              /* NONE */
	case 0x88: return push_int(p, INV_PY_BOOL, 1);             /* NEWTRUE */
	case 0x89: return push_int(p, INV_PY_BOOL, 0);             /* NEWFALSE */
	case 'K':  return push_number(p, 1);                       /* BININT1 */
	case 'M':  return push_number(p, 2);                       /* BININT2 */
	case 'J':  return push_number(p, 4);                       /* BININT */
	case 0x8a: return push_long(p, 1);                         /* LONG1 */
	case 0x8b: return push_long(p, 4);                         /* LONG4 */
	case 'G':  return push_float(p);                           /* BINFLOAT */
	case 'S':  return push_quoted(p);                          /* STRING */
	case 0x8c: return push_bytes(p, 1, INV_PY_TEXT);           /* SHORT_BINUNICODE */
	case 'X':  return push_bytes(p, 4, INV_PY_TEXT);           /* BINUNICODE */
	case 0x8d: return push_bytes(p, 8, INV_PY_TEXT);           /* BINUNICODE8 */
	case 'U':  return push_bytes(p, 1, INV_PY_TEXT);           /* SHORT_BINSTRING, of Python 2: */
	case 'T':  return push_bytes(p, 4, INV_PY_TEXT);           /* BINSTRING; only UTF-8 is read */
	case 'C':  return push_bytes(p, 1, INV_PY_BYTES);          /* SHORT_BINBYTES */
	case 'B':  return push_bytes(p, 4, INV_PY_BYTES);          /* BINBYTES */
	case 0x8e: return push_bytes(p, 8, INV_PY_BYTES);          /* BINBYTES8 */
	case 0x96: return push_bytes(p, 8, INV_PY_BYTES);          /* BYTEARRAY8 */
	case '(':  return push_mark(p);                            /* MARK */
	case '0':  return pop(p, 1);                               /* POP */
	case '1':  return pop(p, MARKED);                          /* POP_MARK */
	case '2':  return duplicate(p);                            /* DUP */
	case 'q':  return put_memo_at(p, 1);                       /* BINPUT */
	case 'r':  return put_memo_at(p, 4);                       /* LONG_BINPUT */
	case 0x94: return put_memo(p, p->memo_count);              /* MEMOIZE */
	case 'h':  return push_memo_at(p, 1);                      /* BINGET */
	case 'j':  return push_memo_at(p, 4);                      /* LONG_BINGET */
	case ')':  return push_empty(p, INV_PY_TUPLE);             /* EMPTY_TUPLE */
	case ']':  return push_empty(p, INV_PY_LIST);              /* EMPTY_LIST */
	case '}':  return push_empty(p, INV_PY_DICT);              /* EMPTY_DICT */
	case 0x8f: return push_empty(p, INV_PY_LIST);              /* EMPTY_SET */
	case 't':  return push_container(p, INV_PY_TUPLE, MARKED); /* TUPLE */
	case 0x85: return push_container(p, INV_PY_TUPLE, 1);      /* TUPLE1 */
	case 0x86: return push_container(p, INV_PY_TUPLE, 2);      /* TUPLE2 */
	case 0x87: return push_container(p, INV_PY_TUPLE, 3);      /* TUPLE3 */
	case 'l':  return push_container(p, INV_PY_LIST, MARKED);  /* LIST */
	case 'd':  return push_dict(p);                            /* DICT */
	case 'a':  return append_values(p, 1);                     /* APPEND */
	case 'e':  return append_values(p, MARKED);                /* APPENDS */
	case 0x90: return append_values(p, MARKED);                /* ADDITEMS */
	case 's':  return set_values(p, 2);                        /* SETITEM */
	case 'u':  return set_values(p, MARKED);                   /* SETITEMS */
	case 'c':  return push_global(p);                          /* GLOBAL */
	case 0x93: return push_stack_global(p);                    /* STACK_GLOBAL */
	case 'i':  return reject_instance(p);                      /* INST */
	case 'R':  return push_reduced(p);                         /* REDUCE */
	case 0x81: return push_reduced(p);                         /* NEWOBJ */
	case 'b':  return set_state(p);                            /* BUILD */
	case 'Q':  return push_persistent(p);                      /* BINPERSID */
	}
	/* clang-format on */
	return inv_fail(INVAR_E_FORMAT,
	                "%s: its pickle has opcode 0x%02x at byte %zu, which no weight "
	                "file needs",
	                p->path, op, p->at - 1);
}

invar_status inv_pickle_run(inv_pickle *p, const unsigned char *bytes, size_t size,
                            inv_py **result)
{
	p->bytes = bytes;
	p->size = size;
	p->at = p->depth = p->mark_count = p->memo_count = 0;
	p->result = *result = NULL;
	if (p->memo_capacity)
		memset(p->memo, 0, p->memo_capacity * sizeof *p->memo);
	while (!p->result) {
		if (p->at >= size)
			return inv_pickle_bad(p, "it ends before its last opcode");
		INV_TRY(run_opcode(p, bytes[p->at++]));
	}
	*result = p->result;
	return INVAR_OK;
}
