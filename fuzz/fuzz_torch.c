/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_torch.c - any bytes as a weight file: zip or legacy checkpoint, TorchScript.
 *
 * What is accepted must keep what weights.h promises: tensors in name order, found by
 * their names, every element readable. A checksum would keep the engine from reaching the
 * code behind it, so a zip archive is also tried with its CRC-32s corrected.
 */
#include <string.h>
#include <zlib.h>

#include "formats/weights.h"
#include "fuzz.h"

static void read_tensor(const inv_weights *w, const inv_weight_about *t)
{
	invar_status st;
	float *out;

	require(inv_weights_find(w, t->name) == t);
	require(t->cells <= 100 * w->map.size); /* what may be inflated */
	out = malloc(t->cells * sizeof *out + 1);
	st = inv_weights_read(w, t, out);
	require(st == INVAR_OK || st == INVAR_E_FORMAT || st == INVAR_E_NUMERIC);
	free(out);
}

static void run(const uint8_t *data, size_t size, const char *key)
{
	enum {
		READ = 200
	}; /* of the first tensors; a hundred views of everything would be slow */
	inv_weights *w;
	bool accepted = inv_weights_view(data, size, "fuzz.pth", key, &w) == INVAR_OK;

	require(accepted == (w != NULL));
	for (size_t i = 0; accepted && i < inv_weights_count(w); i++) {
		const inv_weight_about *t = inv_weights_at(w, i);

		require(i == 0 || strcmp(inv_weights_at(w, i - 1)->name, t->name) < 0);
		if (i < READ)
			read_tensor(w, t);
	}
	inv_weights_close(w);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The offset of an entry's CRC-32: in the local header, or after the data. */
static size_t crc_place(const uint8_t *data, size_t size, size_t at, size_t end)
{
	if (!(data[at + 6] & 8) || get32(data + at + 22))
		return at + 14;
	return end + 16 <= size && memcmp(data + end, "PK\7\10", 4) == 0 ? end + 4 : at + 14;
}

/* i is a record of the directory. */
static void repair_entry(uint8_t *data, size_t size, size_t i)
{
	size_t at = get32(data + i + 42), bytes = get32(data + i + 20), begin;
	uint32_t lengths, crc;

	if (at + 30 > size || memcmp(data + at, "PK\3\4", 4) != 0 || data[i + 10])
		return;
	lengths = get32(data + at + 26);
	begin = at + 30 + (lengths & 0xffff) + (lengths >> 16);
	if (begin > size || bytes > size - begin)
		return;
	crc = (uint32_t)crc32_z(0, data + begin, bytes);
	memcpy(data + i + 16, &crc, sizeof crc);
	memcpy(data + crc_place(data, size, at, begin + bytes), &crc, sizeof crc);
}

static void repair(uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 46 <= size; i++)
		if (memcmp(data + i, "PK\1\2", 4) == 0)
			repair_entry(data, size, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	run(data, size, NULL);
	run(data, size, "student");
	if (size > 4 && memcmp(data, "PK", 2) == 0 && (copy = malloc(size))) {
		memcpy(copy, data, size);
		repair(copy, size);
		run(copy, size, NULL);
		free(copy);
	}
	return 0;
}
