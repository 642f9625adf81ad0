/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf.c - see protobuf.h. */
#include "formats/protobuf.h"

#include <string.h>

#include "base/memory.h"

enum { VARINT = 10, SMALLEST = 256, MAX_NUMBER = (1 << 29) - 1 };

/* ---- Writing ---------------------------------------------------------------------- */

/* `bytes` at the end of the message; NULL if there is no memory, or no space. */
static unsigned char *extend_message(inv_message *m, size_t bytes)
{
	size_t needed;

	if (!m->failed && bytes > INV_MESSAGE_MAX - m->size)
		m->failed = m->too_large = true;
	if (m->failed)
		return NULL;
	needed = m->size + bytes;
	if (needed > m->capacity) {
		size_t capacity = needed < SMALLEST ? SMALLEST : needed + needed / 2;
		unsigned char *longer = inv_alloc(capacity);

		if (!longer) {
			m->failed = true;
			return NULL;
		}
		if (m->size)
			memcpy(longer, m->data, m->size);
		inv_free(m->data);
		m->data = longer;
		m->capacity = capacity;
	}
	m->size += bytes;
	return m->data + m->size - bytes;
}

static void put_varint(inv_message *m, uint64_t value)
{
	unsigned char text[VARINT], *to;
	size_t used = 0;

	do {
		text[used++] = (unsigned char)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
	} while (value);
	if ((to = extend_message(m, used)))
		memcpy(to, text, used);
}

void inv_message_put_number(inv_message *m, uint32_t field, uint64_t value)
{
	put_varint(m, (uint64_t)field << 3 | INV_WIRE_NUMBER);
	put_varint(m, value);
}

void inv_message_put_fixed(inv_message *m, uint32_t field, const unsigned char bytes[4])
{
	unsigned char *to;

	put_varint(m, (uint64_t)field << 3 | INV_WIRE_32);
	if ((to = extend_message(m, 4)))
		memcpy(to, bytes, 4);
}

void inv_message_put_header(inv_message *m, uint32_t field, uint64_t size)
{
	put_varint(m, (uint64_t)field << 3 | INV_WIRE_BYTES);
	put_varint(m, size);
}

unsigned char *inv_message_put_space(inv_message *m, uint32_t field, size_t size)
{
	inv_message_put_header(m, field, size);
	return extend_message(m, size);
}

void inv_message_put_bytes(inv_message *m, uint32_t field, const void *data, size_t size)
{
	unsigned char *to = inv_message_put_space(m, field, size);

	if (to && size)
		memcpy(to, data, size);
}

void inv_message_put_text(inv_message *m, uint32_t field, const char *text)
{
	inv_message_put_bytes(m, field, text, strlen(text));
}

void inv_message_put(inv_message *m, uint32_t field, inv_message *part)
{
	m->too_large = m->too_large || part->too_large;
	if (part->failed)
		m->failed = true;
	else
		inv_message_put_bytes(m, field, part->data, part->size);
	inv_message_free(part);
}

void inv_message_free(inv_message *m)
{
	inv_free(m->data);
	*m = (inv_message){0};
}

/* ---- Reading ---------------------------------------------------------------------- */

static bool take_varint(inv_bytes *rest, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < VARINT && i < rest->size; i++) {
		unsigned char byte = rest->data[i];

		if (i == VARINT - 1 && byte > 1)
			return false;
		*out |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		rest->data += i + 1;
		rest->size -= i + 1;
		return true;
	}
	return false;
}

static bool take_wire_bytes(inv_bytes *rest, uint64_t size, inv_bytes *out)
{
	if (size > rest->size)
		return false;
	*out = (inv_bytes){rest->data, (size_t)size};
	rest->data += size;
	rest->size -= (size_t)size;
	return true;
}

inv_field_status inv_field_next(inv_bytes *rest, inv_field *out)
{
	const unsigned char *start = rest->data, *value;
	uint64_t tag, size;
	bool whole;

	*out = (inv_field){0};
	if (!rest->size)
		return INV_FIELD_END;
	if (!take_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > MAX_NUMBER)
		return INV_FIELD_BROKEN;
	out->number = (uint32_t)(tag >> 3);
	out->kind = (unsigned)(tag & 7);
	value = rest->data;
	switch (out->kind) {
	case INV_WIRE_NUMBER:
		whole = take_varint(rest, &out->value);
		out->part = (inv_bytes){value, (size_t)(rest->data - value)};
		break;
	case INV_WIRE_64:
		whole = take_wire_bytes(rest, 8, &out->part);
		break;
	case INV_WIRE_32:
		whole = take_wire_bytes(rest, 4, &out->part);
		break;
	default:
		whole = out->kind == INV_WIRE_BYTES && take_varint(rest, &size) &&
		        take_wire_bytes(rest, size, &out->part);
	}
	if (!whole)
		return INV_FIELD_BROKEN;
	out->whole = (inv_bytes){start, (size_t)(rest->data - start)};
	return INV_FIELD;
}

bool inv_bytes_are(inv_bytes b, const char *text)
{
	return b.size == strlen(text) && (!b.size || memcmp(b.data, text, b.size) == 0);
}
