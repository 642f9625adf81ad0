/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_header.c - the header of a NumPy file, a Python dict literal.
 *
 * NumPy evaluates the literal with Python's own parser. We need so little of
 * that language (three known keys; a string, a truth value, a tuple of counts)
 * that a parser of exactly this is shorter than the list of what to forbid.
 * There is no nesting, so there is no recursion to bound.
 *
 * Below: the fixed bytes before the dict, the type in descr, the tuple in
 * shape, the dict, and the products of the shape.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/npy.h"

enum { MAX_HEADER = 1 << 16, WORD = 32 };
enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4 };

/* The rest of the dict, and the name of its file. */
typedef struct cursor {
	const unsigned char *from, *at, *end;
	const char *name;
} cursor;

const char *inv_shape_text(unsigned ndim, const uint64_t *shape, char text[INV_SHAPE_TEXT])
{
	size_t n = (size_t)snprintf(text, INV_SHAPE_TEXT, "(");

	for (unsigned i = 0; i < ndim && i < INV_NPY_NDIM; i++)
		n += (size_t)snprintf(text + n, INV_SHAPE_TEXT - n, "%s%" PRIu64, i ? ", " : "",
		                      shape[i]);
	snprintf(text + n, INV_SHAPE_TEXT - n, ndim == 1 ? ",)" : ")");
	return text;
}

invar_status inv_npy_prelude(const unsigned char *bytes, uint64_t size, const char *name,
                             uint64_t *data_from)
{
	uint32_t length;
	unsigned fixed;

	if (size == 0)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a NumPy file", name);
	if (memcmp(bytes, "\x93NUMPY", size < 6 ? size : 6) != 0)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is not a NumPy file (it does not start with \\x93NUMPY)",
		                name);
	if (size < INV_NPY_PRELUDE)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: ends after %" PRIu64 " bytes, inside its NumPy header", name,
		                size);
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is of NumPy format version %u.%u, expected 1.0, 2.0 or 3.0",
		                name, bytes[6], bytes[7]);
	length = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
	if (bytes[6] >= 2)
		length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
	fixed = bytes[6] == 1 ? 10 : 12;
	if (length > MAX_HEADER || length < INV_NPY_PRELUDE - fixed)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: claims a header of %" PRIu32 " bytes, expected %d to %d", name,
		                length, INV_NPY_PRELUDE - fixed, MAX_HEADER);
	*data_from = fixed + length;
	return INVAR_OK;
}

/* Reports what was found instead of `what`. */
static invar_status expected(const cursor *c, const char *what)
{
	size_t where = (size_t)(c->at - c->from);

	if (c->at == c->end)
		return inv_fail(INVAR_E_FORMAT, "%s: its header is incomplete, expected %s",
		                c->name, what);
	if (*c->at > ' ' && *c->at < 0x7f)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its header has '%c' at position %zu, expected %s", c->name,
		                *c->at, where, what);
	return inv_fail(INVAR_E_FORMAT,
	                "%s: its header has byte 0x%02x at position %zu, expected %s", c->name,
	                *c->at, where, what);
}

static void skip_space(cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n'))
		c->at++;
}

/* Steps over one byte and the space around it, if it is next. */
static bool accept(cursor *c, char byte)
{
	skip_space(c);
	if (c->at == c->end || *c->at != (unsigned char)byte)
		return false;
	c->at++;
	skip_space(c);
	return true;
}

static bool accept_word(cursor *c, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
		return false;
	c->at += length;
	return true;
}

/* A short quoted word; NumPy writes no escapes, so none are read. */
static invar_status read_string(cursor *c, const char *what, char word[WORD])
{
	unsigned char quote = c->at < c->end ? *c->at : 0;
	size_t n = 0;

	if (quote != '\'' && quote != '"')
		return expected(c, what);
	for (c->at++; c->at < c->end && *c->at != quote; c->at++) {
		if (*c->at < ' ' || *c->at >= 0x7f || *c->at == '\\' || n == WORD - 1)
			return expected(c, "a short plain word");
		word[n++] = (char)*c->at;
	}
	word[n] = '\0';
	if (c->at == c->end)
		return expected(c, "a closing quote");
	c->at++;
	return INVAR_OK;
}

static const char *kind_text(char kind)
{
	switch (kind) {
	case 'O':
		return "Python objects";
	case 'U':
	case 'S':
	case 'a':
		return "text";
	case 'c':
		return "complex numbers";
	case 'V':
		return "raw bytes";
	case 'b':
		return "truth values";
	case 'M':
	case 'm':
		return "dates";
	default:
		return "an unknown type";
	}
}

static invar_status read_descr(cursor *c, inv_npy_header *h)
{
	static const struct {
		const char *text;
		inv_dtype dtype;
	} known[] = {{"f2", INV_F16}, {"f4", INV_F32}, {"f8", INV_F64}, {"i1", INV_I8},
	             {"i2", INV_I16}, {"i4", INV_I32}, {"i8", INV_I64}, {"u1", INV_U8},
	             {"u2", INV_U16}, {"u4", INV_U32}, {"u8", INV_U64}};
	char word[WORD];

	if (c->at < c->end && (*c->at == '[' || *c->at == '('))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a structured array, expected plain numbers such as '<f4'",
		                c->name);
	INV_TRY(read_string(c, "the type as a string", word));
	for (size_t i = 0; *word && i < sizeof known / sizeof *known; i++) {
		if (!strchr("<>=|", *word) || strcmp(word + 1, known[i].text) != 0)
			continue;
		/* '|' says that order does not matter, true of single bytes only. */
		if (*word == '|' && inv_dtype_size(known[i].dtype) > 1)
			break;
		h->dtype = known[i].dtype;
		h->swap = *word == '>' && inv_dtype_size(h->dtype) > 1;
		return INVAR_OK;
	}
	return inv_fail(INVAR_E_FORMAT,
	                "%s: contains %s (descr '%s'), expected numbers such as '<f4'", c->name,
	                kind_text(*word ? word[1] : '\0'), word);
}

static bool is_digit(const cursor *c)
{
	return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* (), (3,), (3, 2) or (3, 2,); (3) is a number to Python, not a tuple. */
static invar_status read_shape(cursor *c, inv_npy_header *h)
{
	const unsigned char *first;
	bool comma = true;
	uint64_t n;

	if (!accept(c, '('))
		return expected(c, "a tuple for shape");
	for (h->ndim = 0; comma && !accept(c, ')'); h->ndim++) {
		if (h->ndim == INV_NPY_NDIM)
			return inv_fail(INVAR_E_FORMAT, "%s: has more than %d dimensions", c->name,
			                INV_NPY_NDIM);
		if (!is_digit(c))
			return expected(c, "a count of shape");
		for (first = c->at, n = 0; is_digit(c); c->at++)
			if (inv_mul_overflow(n, 10, &n) || inv_add_overflow(n, *c->at - '0', &n))
				return inv_fail(INVAR_E_FORMAT, "%s: a count in its shape is over 2^64",
				                c->name);
		if (*first == '0' && c->at - first > 1) {
			c->at = first;
			return expected(c, "a count without leading zeros");
		}
		if (c->at < c->end && *c->at == 'L') /* as Python 2 wrote long integers */
			c->at++;
		h->shape[h->ndim] = n;
		comma = accept(c, ',');
		if (!comma && (h->ndim == 0 || !accept(c, ')')))
			return expected(c, "a comma in shape");
	}
	return INVAR_OK;
}

static invar_status read_dict(cursor *c, inv_npy_header *h)
{
	unsigned seen = 0, bit;
	bool comma = true;
	char key[WORD];

	if (c->at == c->end || *c->at != '{')
		return expected(c, "a dict in braces");
	accept(c, '{');
	while (!accept(c, '}')) {
		if (!comma)
			return expected(c, "a comma or a closing brace");
		INV_TRY(read_string(c, "a key", key));
		if (!accept(c, ':'))
			return expected(c, "a colon");
		bit = strcmp(key, "descr") == 0           ? SEEN_DESCR
		      : strcmp(key, "fortran_order") == 0 ? SEEN_ORDER
		      : strcmp(key, "shape") == 0         ? SEEN_SHAPE
		                                          : 0;
		if (!bit)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: its header has the key '%s', expected only descr, "
			                "fortran_order and shape",
			                c->name, key);
		if (seen & bit)
			return inv_fail(INVAR_E_FORMAT, "%s: its header has '%s' twice", c->name, key);
		seen |= bit;
		if (bit == SEEN_ORDER) {
			h->fortran = accept_word(c, "True");
			if (!h->fortran && !accept_word(c, "False"))
				return expected(c, "True or False for fortran_order");
		} else {
			INV_TRY(bit == SEEN_DESCR ? read_descr(c, h) : read_shape(c, h));
		}
		comma = accept(c, ',');
	}
	if (c->at != c->end)
		return expected(c, "nothing more");
	if (c->end[-1] != '\n')
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its header ends with byte 0x%02x, expected a newline", c->name,
		                c->end[-1]);
	if (seen == (SEEN_DESCR | SEEN_ORDER | SEEN_SHAPE))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: its header has no '%s'", c->name,
	                !(seen & SEEN_DESCR)   ? "descr"
	                : !(seen & SEEN_ORDER) ? "fortran_order"
	                                       : "shape");
}

/*
 * Zeros count as ones for the overflow, as in NumPy: then the check does not depend on the
 * position of the zero, and every partial product fits as well.
 */
bool inv_shape_cells(unsigned ndim, const uint64_t *shape, size_t item, uint64_t *cells)
{
	uint64_t product = item;
	bool empty = false;

	for (unsigned i = 0; i < ndim; i++) {
		empty |= shape[i] == 0;
		if (inv_mul_overflow(product, shape[i] ? shape[i] : 1, &product))
			return false;
	}
	*cells = empty ? 0 : product / item;
	return product <= INT64_MAX;
}

invar_status inv_npy_parse(const unsigned char *bytes, uint64_t size, const char *name,
                           inv_npy_header *out)
{
	cursor c = {.name = name};
	char text[INV_SHAPE_TEXT];

	*out = (inv_npy_header){0};
	INV_TRY(inv_npy_prelude(bytes, size, name, &out->data_from));
	if (out->data_from > size)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: ends after %" PRIu64
		                " bytes, but its header alone needs %" PRIu64,
		                name, size, out->data_from);
	c.from = c.at = bytes + (bytes[6] == 1 ? 10 : 12);
	c.end = bytes + out->data_from;
	INV_TRY(read_dict(&c, out));
	out->fortran = out->fortran && out->ndim >= 2;
	if (!inv_shape_cells(out->ndim, out->shape, inv_dtype_size(out->dtype), &out->cells))
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: its shape %s needs more than 2^63 - 1 bytes, the maximum size of a file",
			name, inv_shape_text(out->ndim, out->shape, text));
	return INVAR_OK;
}
