/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_row_names.c - any bytes as a bank's names.txt; the first is the number of rows.
 *
 * What is accepted gives as many names as rows, none longer than its line.
 */
#include <string.h>

#include "bank/row_names.h"
#include "base/memory.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t total = 0;
	char **names;

	if (!size || inv_row_names_parse((const char *)data + 1, size - 1, "fuzz.txt", *data,
	                                 &names) != INVAR_OK)
		return 0;
	for (size_t i = 0; i < *data; i++)
		total += strlen(names[i]) + 1;
	require(total <= size);
	inv_free(names);
	return 0;
}
