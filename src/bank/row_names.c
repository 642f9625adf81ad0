/* SPDX-License-Identifier: Apache-2.0 */
/* row_names.c - see row_names.h for what the file looks like. */
#include "bank/row_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#define FILE_NAME "names.txt"

/* ---- One name as a line ----------------------------------------------------------- */

/* Bytes of the UTF-8 character at the start of a text, and its number; 0: not UTF-8. */
static size_t read_character(const unsigned char *text, uint32_t *number)
{
	static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = *text < 0x80   ? 1
	               : *text < 0xc0 ? 0
	               : *text < 0xe0 ? 2
	               : *text < 0xf0 ? 3
	               : *text < 0xf8 ? 4
	                              : 0;

	*number = bytes > 1 ? *text & (0x7fu >> bytes) : *text;
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80) /* the NUL at the end as well */
			return 0;
		*number = *number << 6 | (text[i] & 0x3f);
	}
	if (*number < min[bytes] || *number > 0x10ffff ||
	    (*number >= 0xd800 && *number < 0xe000))
		return 0;
	return bytes;
}

/* One byte of a line: as it is, \\ or \xHH; returns how many bytes that takes. */
static size_t put_byte(unsigned char byte, bool plain, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const char coded[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
	size_t length = plain ? 1 : byte == '\\' ? 2 : 4;

	if (out && plain)
		*out = (char)byte;
	else if (out)
		memcpy(out, byte == '\\' ? "\\\\" : coded, length);
	return length;
}

/* Writes the line without its end and returns its length; `out` NULL: only the length. */
static size_t escape_name(const char *name, char *out)
{
	const unsigned char *at = (const unsigned char *)name;
	size_t fill = 0;

	while (*at) {
		uint32_t number;
		size_t bytes = read_character(at, &number), taken = bytes ? bytes : 1;
		bool plain = bytes && number >= 0x20 && number != '\\' &&
		             (number < 0x7f || number >= 0xa0) && number != 0x2028 &&
		             number != 0x2029;

		for (size_t i = 0; i < taken; i++)
			fill += put_byte(*at++, plain, out ? out + fill : NULL);
	}
	if (out)
		out[fill] = '\0';
	return fill;
}

/* Memory for the longest line of a split, with its newline or NUL; gives. */
static invar_status new_line(const invar_dataset *d, const inv_images *s, char **out)
{
	size_t max = 0;

	for (uint64_t row = 0; row < s->count; row++) {
		size_t length = escape_name(inv_images_name(d, s, row), NULL);

		max = length > max ? length : max;
	}
	return inv_new_array(out, max + 2);
}

/* ---- Writing and comparing -------------------------------------------------------- */

uint64_t inv_row_names_bytes(const invar_dataset *d, const inv_images *s)
{
	uint64_t bytes = 0;

	for (uint64_t row = 0; row < s->count; row++)
		bytes += escape_name(inv_images_name(d, s, row), NULL) + 1;
	return bytes;
}

invar_status inv_row_names_save(const char *path, const invar_dataset *d,
                                const inv_images *s)
{
	char *line;
	inv_writer *w = NULL;
	invar_status st;

	INV_TRY(new_line(d, s, &line));
	INV_TRY_OR(fail, inv_writer_open(path, 0, &w));
	for (uint64_t row = 0; row < s->count; row++) {
		size_t length = escape_name(inv_images_name(d, s, row), line);

		line[length] = '\n';
		INV_TRY_OR(fail, inv_writer_put(w, line, length + 1));
	}
	inv_free(line);
	return inv_writer_commit(w);
fail:
	inv_free(line);
	if (w)
		inv_writer_abort(w);
	return st;
}

invar_status inv_row_names_check(const char *path, const invar_dataset *d,
                                 const inv_images *s)
{
	const char *at, *end;
	char *line;
	inv_map map = {0};
	invar_status st;

	INV_TRY(new_line(d, s, &line));
	INV_TRY_OR(done, inv_map_open(path, &map));
	at = (const char *)map.data;
	end = at + map.size;
	for (uint64_t row = 0; row < s->count; row++) {
		const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		size_t there = (size_t)((newline ? newline : end) - at);
		size_t length = escape_name(inv_images_name(d, s, row), line);

		if (!newline || there != length || memcmp(at, line, length) != 0)
			INV_TRY_OR(done,
			           inv_fail(INVAR_E_MISMATCH,
			                    "%s: row %" PRIu64
			                    " was made from %.*s, but that image is now %.200s; "
			                    "copies can only be added for the same images",
			                    path, row, there ? (int)(there < 200 ? there : 200) : 7,
			                    there ? at : "no file", line));
		at = newline + 1;
	}
	if (at < end)
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: has more lines than the %" PRIu64
		              " images; copies can only be added for the same images",
		              path, s->count);
done:
	inv_map_close(&map);
	inv_free(line);
	return st;
}

/* ---- Reading ---------------------------------------------------------------------- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a line to a name with a NUL; returns its end, or NULL if it is not valid. */
static char *unescape_name(const char *line, const char *end, char *out)
{
	while (line < end) {
		if (*line == '\0')
			return NULL;
		if (*line != '\\') {
			*out++ = *line++;
		} else if (end - line >= 2 && line[1] == '\\') {
			*out++ = '\\';
			line += 2;
		} else if (end - line >= 4 && line[1] == 'x' && hex_digit(line[2]) >= 0 &&
		           hex_digit(line[3]) >= 0 && hex_digit(line[2]) + hex_digit(line[3])) {
			*out++ = (char)(16 * hex_digit(line[2]) + hex_digit(line[3]));
			line += 4;
		} else {
			return NULL;
		}
	}
	*out++ = '\0';
	return out;
}

static uint64_t count_lines(const char *text, uint64_t bytes)
{
	uint64_t lines = 0;

	for (const char *at = text, *end = text + bytes; at < end; lines++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	return lines;
}

invar_status inv_row_names_parse(const char *text, uint64_t bytes, const char *path,
                                 uint64_t rows, char ***out)
{
	const char *at = text, *end = text + bytes;
	uint64_t lines = bytes ? count_lines(text, bytes) : 0;
	char **names, *fill;

	*out = NULL;
	if (lines != rows)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: has %" PRIu64 " %s but the split has %" PRIu64 " %s", path,
		                lines, inv_noun(lines, "line", "lines"), rows,
		                inv_noun(rows, "row", "rows"));
	/* Each newline becomes a NUL; the last line may have none. */
	names = inv_alloc(rows * sizeof *names + bytes + 1);
	INV_TRY(inv_check_memory(names, rows * sizeof *names + bytes + 1));
	fill = (char *)(names + rows);
	for (uint64_t row = 0; row < rows; row++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		names[row] = fill;
		if (!(fill = unescape_name(at, newline ? newline : end, fill))) {
			inv_free(names);
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: line %" PRIu64
				" contains a NUL, or a backslash that starts neither \\\\ nor \\xHH",
				path, row + 1);
		}
		at = newline ? newline + 1 : end;
	}
	*out = names;
	return INVAR_OK;
}

/* NULL for a bank in memory, and if memory is missing. */
static char *names_path(const invar_bank *b, const inv_split *s)
{
	char *path = NULL;

	if (!b->in_memory)
		(void)inv_new_path_in(&path, b->path, s->name, FILE_NAME);
	return path;
}

int inv_bank_has_names(const invar_bank *b, const char *split)
{
	const inv_split *s = inv_bank_split(b, split);
	char *path = s ? names_path(b, s) : NULL;
	bool there = path && inv_exists(path);

	inv_free(path);
	return there;
}

invar_status invar_bank_names(const invar_bank *b, const char *split, char ***out)
{
	const inv_split *s = inv_bank_split(b, split);
	char *path;
	inv_map map = {0};
	invar_status st = INVAR_OK;

	*out = NULL;
	if (!s)
		return INVAR_E_MISMATCH;
	if (b->in_memory)
		return INVAR_OK;
	if (!(path = names_path(b, s)))
		return inv_no_memory();
	if (!inv_exists(path))
		goto done;
	INV_TRY_OR(done, inv_map_open(path, &map));
	INV_TRY_OR(done, inv_row_names_parse((const char *)map.data, map.size, path,
	                                     inv_file_rows(s), out));
	for (uint64_t i = 0; i < s->rows; i++)
		(*out)[i] = (*out)[inv_file_row(s, i)]; /* which is never below i */
done:
	inv_map_close(&map);
	inv_free(path);
	return st;
}

/* ---- A row in a message ----------------------------------------------------------- */

static const char *spell_row(uint64_t row, const char *line, size_t length,
                             char text[INV_ROW_TEXT])
{
	bool cut = length > INV_ROW_TEXT - 40;

	if (line && length)
		snprintf(text, INV_ROW_TEXT, "%" PRIu64 " (%.*s%s)", row,
		         (int)(cut ? INV_ROW_TEXT - 40 : length), line, cut ? "…" : "");
	else
		snprintf(text, INV_ROW_TEXT, "%" PRIu64, row);
	return text;
}

const char *inv_row_text(const invar_bank *b, const inv_split *s, uint64_t row,
                         char text[INV_ROW_TEXT])
{
	char *path = names_path(b, s);
	const char *line = NULL, *end, *newline;
	size_t length = 0;
	inv_map map = {0};

	row = inv_file_row(s, row);
	if (path && inv_exists(path) && inv_map_open(path, &map) == INVAR_OK && map.size &&
	    count_lines((const char *)map.data, map.size) == inv_file_rows(s)) {
		line = (const char *)map.data;
		end = line + map.size;
		for (uint64_t i = 0; i < row; i++)
			line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		newline = memchr(line, '\n', (size_t)(end - line));
		length = (size_t)((newline ? newline : end) - line);
	}
	spell_row(row, line, length, text);
	inv_map_close(&map);
	inv_free(path);
	return text;
}

const char *inv_image_text(const invar_dataset *d, const inv_images *s, uint64_t row,
                           char text[INV_ROW_TEXT])
{
	const char *name = inv_images_name(d, s, row);
	char *line = name ? inv_alloc(escape_name(name, NULL) + 1) : NULL;

	spell_row(row, line, line ? escape_name(name, line) : 0, text);
	inv_free(line);
	return text;
}
