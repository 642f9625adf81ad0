/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c - see tar.h for the invariants. */
#include "formats/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum {
	BLOCK = 512,
	MAX_PAX = 1 << 20,
	NAME = 100, /* bytes of the field; the offsets of the others follow */
	SIZE_AT = 124,
	SIZE = 12,
	SUM_AT = 148,
	SUM = 8,
	TYPE_AT = 156,
	TARGET_AT = 157,
	TARGET = 100,
	MAGIC_AT = 257,
	PREFIX_AT = 345,
	PREFIX = 155
};

/* What special members say about the next one. */
typedef struct pending {
	bool has_path, has_target, has_size, sparse;
	uint64_t size;
} pending;

static invar_status fail_damaged_tar(const inv_tar *t, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: is a damaged tar file: %s at byte %" PRIu64,
	                t->name, what, t->at);
}

invar_status inv_tar_open(const void *data, uint64_t size, const char *name, inv_tar *out)
{
	static const struct {
		size_t length;
		const char *bytes, *tool;
	} packed[] = {{2, "\x1f\x8b", "gunzip"},
	              {3, "BZh", "bunzip2"},
	              {6,
	               "\xfd"
	               "7zXZ\0",
	               "unxz"},
	              {4, "\x28\xb5\x2f\xfd", "unzstd"}};

	*out = (inv_tar){.name = name, .data = data, .size = size};
	if (!size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a tar file", name);
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
		if (size >= packed[i].length &&
		    memcmp(data, packed[i].bytes, packed[i].length) == 0)
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: is compressed, but images are read in place; decompress it "
				"with %s",
				name, packed[i].tool);
	return INVAR_OK;
}

/* ---- Numbers ---------------------------------------------------------------------- */

/* Octal digits between blanks, or GNU's binary numbers, whose first bit is set. */
static bool read_field_number(const uint8_t *field, size_t length, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	if (field[0] & 0x80) {
		for (i = 0; i < length; i++) {
			if (*out >> 55)
				return false;
			*out = *out << 8 | (i ? field[i] : field[i] & 0x7fu);
		}
		return true;
	}
	while (i < length && field[i] == ' ')
		i++;
	for (; i < length && field[i] >= '0' && field[i] <= '7'; i++)
		*out = *out << 3 | (uint64_t)(field[i] - '0'); /* 12 digits at most */
	return i == length || field[i] == ' ' || !field[i];
}

static bool read_decimal(const uint8_t *text, size_t length, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < length; i++)
		if (text[i] < '0' || text[i] > '9' || inv_mul_overflow(*out, 10, out) ||
		    inv_add_overflow(*out, (uint64_t)(text[i] - '0'), out))
			return false;
	return length > 0;
}

/* Some old programs added signed bytes. */
static bool sum_fits(const uint8_t *header)
{
	uint64_t said;
	int64_t plain = 0, with_sign = 0;

	for (size_t i = 0; i < BLOCK; i++) {
		uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM ? ' ' : header[i];

		plain += byte;
		with_sign += (int8_t)byte;
	}
	return read_field_number(header + SUM_AT, SUM, &said) &&
	       ((int64_t)said == plain || (int64_t)said == with_sign);
}

static bool is_zero_block(const uint8_t *block)
{
	for (size_t i = 0; i < BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

/* ---- Names ------------------------------------------------------------------------ */

/* A path or the target of a link. */
static invar_status set_path(const inv_tar *t, char out[INV_TAR_PATH], const uint8_t *text,
                             size_t length, bool *has)
{
	if (!length || length >= INV_TAR_PATH || memchr(text, 0, length))
		return fail_damaged_tar(t, "a path that is empty or too long");
	memcpy(out, text, length);
	out[length] = '\0';
	*has = true;
	return INVAR_OK;
}

/* Records "LENGTH KEY=VALUE\n"; the length counts all of it. */
static invar_status take_pax(inv_tar *t, const uint8_t *text, uint64_t bytes, pending *next)
{
	if (bytes > MAX_PAX)
		return fail_damaged_tar(t, "a pax header of more than 1 MB");
	while (bytes && *text) {
		const uint8_t *blank = memchr(text, ' ', bytes), *equal;
		uint64_t length;
		size_t value;

		if (!blank || !read_decimal(text, (size_t)(blank - text), &length) ||
		    length > bytes || length < (uint64_t)(blank - text) + 3 ||
		    text[length - 1] != '\n' ||
		    !(equal = memchr(blank, '=', (size_t)(text + length - blank))))
			return fail_damaged_tar(t, "a pax header that cannot be read");
		value = (size_t)(text + length - 1 - equal - 1);
		if (strncmp((const char *)blank, " path=", 6) == 0) {
			INV_TRY(set_path(t, t->path, equal + 1, value, &next->has_path));
		} else if (strncmp((const char *)blank, " linkpath=", 10) == 0) {
			INV_TRY(set_path(t, t->target, equal + 1, value, &next->has_target));
		} else if (strncmp((const char *)blank, " size=", 6) == 0) {
			if (!read_decimal(equal + 1, value, &next->size))
				return fail_damaged_tar(t, "a size that is not a number");
			next->has_size = true;
		} else if (strncmp((const char *)blank, " GNU.sparse.", 12) == 0) {
			next->sparse = true;
		}
		text += length;
		bytes -= length;
	}
	return INVAR_OK;
}

/* ---- Members ---------------------------------------------------------------------- */

/* The data of the member at t->at, which must be in the file; *end: the next header. */
static invar_status find_data(inv_tar *t, const uint8_t *header, const pending *next,
                              uint64_t *end)
{
	char type = (char)header[TYPE_AT];
	uint64_t blocks;

	t->offset = t->at + BLOCK;
	if (type >= '1' && type <= '6') /* links, devices, folders: nothing follows */
		t->bytes = 0;
	else if (next->has_size)
		t->bytes = next->size;
	else if (!read_field_number(header + SIZE_AT, SIZE, &t->bytes))
		return fail_damaged_tar(t, "a size that is not a number");
	if (t->bytes > t->size - t->offset)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a truncated or damaged tar file: a member of %" PRIu64
		                " bytes at byte %" PRIu64 " of %" PRIu64,
		                t->name, t->bytes, t->offset, t->size);
	blocks = (t->bytes + BLOCK - 1) / BLOCK * BLOCK;
	*end = blocks > t->size - t->offset ? t->size : t->offset + blocks;
	return INVAR_OK;
}

invar_status inv_tar_next(inv_tar *t, bool *more)
{
	const pending none = {0};
	pending next = {0};
	const uint8_t *header, *text;
	size_t length, prefix = 0;
	uint64_t end;
	char type;

	*more = false;
	for (;;) {
		if (t->at == t->size)
			return INVAR_OK;
		header = t->data + t->at;
		if (t->size - t->at < BLOCK)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: is %s: %" PRIu64 " bytes at byte %" PRIu64
			                " instead of a header",
			                t->name, t->at ? "a truncated tar file" : "not a tar file",
			                t->size - t->at, t->at);
		if (is_zero_block(header))
			return INVAR_OK;
		if (!sum_fits(header))
			return t->at ? fail_damaged_tar(t, "a header with a wrong checksum")
			             : inv_fail(INVAR_E_FORMAT, "%s: is not a tar file", t->name);
		type = (char)header[TYPE_AT];
		if (!type || !strchr("LKxXg", type))
			break;

		/* About the next member: pax records, or GNU's long path (L) or target (K). */
		INV_TRY(find_data(t, header, &none, &end)); /* they have sizes of their own */
		text = t->data + t->offset;
		length = strnlen((const char *)text,
		                 t->bytes < INV_TAR_PATH ? (size_t)t->bytes : INV_TAR_PATH);
		if (type == 'x' || type == 'X')
			INV_TRY(take_pax(t, text, t->bytes, &next));
		else if (type == 'L')
			INV_TRY(set_path(t, t->path, text, length, &next.has_path));
		else if (type == 'K')
			INV_TRY(set_path(t, t->target, text, length, &next.has_target));
		t->at = end;
	}
	if (type == 'S')
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has a sparse file, which is not supported; write the tar "
		                "file without --sparse",
		                t->name);

	/* A POSIX header has the folders of a long path in a field of its own. */
	if (!next.has_path) {
		if (memcmp(header + MAGIC_AT, "ustar\0", 6) == 0)
			prefix = strnlen((const char *)header + PREFIX_AT, PREFIX);
		snprintf(t->path, sizeof t->path, "%.*s%s%.*s", (int)prefix,
		         (const char *)header + PREFIX_AT, prefix ? "/" : "", NAME,
		         (const char *)header);
	}
	/* The first tar programs wrote a folder as a file whose name ends in a slash. */
	length = strlen(t->path);
	if (type == '1' || type == '2')
		t->type = type == '1' ? INV_TAR_HARD : INV_TAR_SYMBOLIC;
	else if ((type && type != '0' && type != '7') || next.sparse ||
	         (length && t->path[length - 1] == '/'))
		t->type = INV_TAR_OTHER;
	else
		t->type = INV_TAR_FILE;
	if (t->type != INV_TAR_HARD && t->type != INV_TAR_SYMBOLIC)
		*t->target = '\0';
	else if (!next.has_target)
		snprintf(t->target, sizeof t->target, "%.*s", TARGET,
		         (const char *)header + TARGET_AT);
	INV_TRY(find_data(t, header, &next, &t->at));
	*more = true;
	return INVAR_OK;
}
