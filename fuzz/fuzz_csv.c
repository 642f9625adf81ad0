/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_csv.c - any bytes as a CSV file, and as a list of images.
 *
 * Fields lie within the text of their record, in order; every label of the list is one of
 * its classes, and every image of a split has a name.
 */
#include "formats/csv.h"

#include "fuzz_dataset.h"

static void read_records(const uint8_t *data, size_t size)
{
	inv_csv *c;
	bool more = true;

	require(inv_csv_open(data, size, "fuzz.csv", &c) == INVAR_OK);
	while (inv_csv_next(c, &more) == INVAR_OK && more) {
		const char *at = c->text;

		require(c->count > 0 && c->line < c->next_line + 1);
		for (size_t i = 0; i < c->count; i++) {
			require(c->field[i] == at);
			at += strlen(at) + 1;
		}
		require(at == c->text + c->used && c->used <= size + 2);
	}
	inv_csv_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_records(data, size);
	fuzz_dataset("csv", data, size);
	return 0;
}
