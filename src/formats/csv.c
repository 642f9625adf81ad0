/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - see csv.h for the invariants. */
#include "formats/csv.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_RECORD = 1 << 20 };

invar_status inv_csv_open(const void *data, uint64_t size, const char *name, inv_csv **out)
{
	size_t capacity = (size < MAX_RECORD ? (size_t)size : MAX_RECORD) + 2;
	invar_status st;
	inv_csv *c;

	*out = NULL;
	INV_TRY(inv_new(&c));
	*c = (inv_csv){.name = name, .data = data, .size = size, .next_line = 1};
	INV_TRY_OR(fail, inv_new_array(&c->text, capacity));
	if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
		c->at = 3;
	*out = c;
	return INVAR_OK;
fail:
	inv_csv_close(c);
	return st;
}

void inv_csv_close(inv_csv *c)
{
	if (c)
		inv_free(c->text);
	inv_free(c);
}

static invar_status fail_at_line(const inv_csv *c, uint64_t line, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: line %" PRIu64 " %s", c->name, line, what);
}

static bool at_line_end(const inv_csv *c)
{
	return c->data[c->at] == '\n' || c->data[c->at] == '\r';
}

/* CR LF is one line end. */
static void pass_line_end(inv_csv *c)
{
	if (c->data[c->at] == '\r' && c->at + 1 < c->size && c->data[c->at + 1] == '\n')
		c->at++;
	c->at++;
	c->next_line++;
}

static invar_status put_field_byte(inv_csv *c, uint8_t byte)
{
	if (!byte)
		return fail_at_line(c, c->next_line, "has a NUL byte; is it a text file?");
	if (c->used >= MAX_RECORD)
		return fail_at_line(c, c->line, "begins a record of more than 1 MB");
	c->text[c->used++] = (char)byte;
	return INVAR_OK;
}

static invar_status read_field(inv_csv *c)
{
	uint64_t began = c->next_line;
	bool quoted = c->at < c->size && c->data[c->at] == '"';

	if (c->count == INV_CSV_FIELDS)
		return fail_at_line(c, c->line, "has more than 1024 fields");
	c->field[c->count++] = c->text + c->used;
	for (c->at += quoted; quoted; c->at++) {
		if (c->at == c->size)
			return fail_at_line(c, began, "has a quoted field that does not end");
		if (c->data[c->at] == '"' && (++c->at == c->size || c->data[c->at] != '"'))
			break;
		c->next_line += c->data[c->at] == '\n';
		INV_TRY(put_field_byte(c, c->data[c->at]));
	}
	for (; c->at < c->size && c->data[c->at] != ',' && !at_line_end(c); c->at++) {
		if (quoted)
			return fail_at_line(c, c->next_line,
			                    "has text after the end of a quoted field");
		if (c->data[c->at] == '"')
			return fail_at_line(
				c, c->next_line,
				"has a quote inside a field; quote the whole field and double it");
		INV_TRY(put_field_byte(c, c->data[c->at]));
	}
	if (c->used >= MAX_RECORD)
		return fail_at_line(c, c->line, "begins a record of more than 1 MB");
	c->text[c->used++] = '\0';
	return INVAR_OK;
}

invar_status inv_csv_next(inv_csv *c, bool *more)
{
	while (c->at < c->size && at_line_end(c))
		pass_line_end(c);
	c->line = c->next_line;
	c->count = c->used = 0;
	*more = c->at < c->size;
	while (*more) {
		INV_TRY(read_field(c));
		if (c->at == c->size)
			return INVAR_OK;
		if (at_line_end(c)) {
			pass_line_end(c);
			return INVAR_OK;
		}
		c->at++; /* the comma: another field follows, if an empty one */
	}
	return INVAR_OK;
}
