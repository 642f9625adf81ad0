/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf.h - the wire format of protocol buffers: fields in order, written and read.
 *
 * A message is a sequence of fields: a tag (number << 3 | kind), then a varint, 4 or 8
 * bytes, or a length and that many bytes. Debian has the schema of ONNX only for C++, and
 * protoc-c reads a whole file into objects; to append to a foreign file, its bytes must
 * stay as they are. So the wire format is read and written here; the schema, with the
 * numbers of fields, is in onnx.h.
 *
 * Invariants of what is read:
 *   1. A field lies within its message: no length reaches beyond the end.
 *   2. A varint has at most 10 bytes, of which the last has no more than one bit.
 *   3. Field numbers are 1 to 2^29 - 1. Groups, which ONNX never had, are errors.
 */
#ifndef INV_PROTOBUF_H
#define INV_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- Writing ---------------------------------------------------------------------- */

#define INV_MESSAGE_MAX ((size_t)INT32_MAX) /* bytes; the limit of the format */

/* A message that grows; starts from {0}. After a failure it does not change any more. */
typedef struct inv_message {
	unsigned char *data;
	size_t size, capacity;
	bool failed;    /* memory was missing, or */
	bool too_large; /* it would have more than INV_MESSAGE_MAX bytes */
} inv_message;

void inv_message_put_number(inv_message *m, uint32_t field, uint64_t value);
/* 4 bytes, of a float or a fixed number. */
void inv_message_put_fixed(inv_message *m, uint32_t field, const unsigned char bytes[4]);
void inv_message_put_bytes(inv_message *m, uint32_t field, const void *data, size_t size);
void inv_message_put_text(inv_message *m, uint32_t field, const char *text);
/* A field of `size` bytes that the caller fills; NULL if there is no memory. */
unsigned char *inv_message_put_space(inv_message *m, uint32_t field, size_t size);
/* Appends a message as a field and frees it. */
void inv_message_put(inv_message *m, uint32_t field, inv_message *part);
/* Only the tag and length of a field whose `size` bytes are written elsewhere. */
void inv_message_put_header(inv_message *m, uint32_t field, uint64_t size);
void inv_message_free(inv_message *m);

/* ---- Reading ---------------------------------------------------------------------- */

typedef struct inv_bytes {
	const unsigned char *data;
	size_t size;
} inv_bytes;

enum { INV_WIRE_NUMBER = 0, INV_WIRE_64 = 1, INV_WIRE_BYTES = 2, INV_WIRE_32 = 5 };

typedef struct inv_field {
	uint32_t number;
	unsigned kind;  /* one of the four above */
	uint64_t value; /* of a number */
	inv_bytes part; /* what follows the tag, for bytes what follows the length */
	inv_bytes whole;
} inv_field;

typedef enum inv_field_status {
	INV_FIELD_END,
	INV_FIELD,
	INV_FIELD_BROKEN
} inv_field_status;

/* The next field of a message; *rest becomes what follows it. */
inv_field_status inv_field_next(inv_bytes *rest, inv_field *out);
bool inv_bytes_are(inv_bytes b, const char *text);

#endif
