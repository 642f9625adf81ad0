/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fingerprints.c - any bytes as a bank's fingerprints.npy; the first is the number
 * of rows.
 *
 * What is accepted has 16 bytes for every row, all of them within the file.
 */
#include "bank/fingerprints.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile unsigned char sink = 0;
	inv_npy *known;

	if (!size ||
	    inv_fingerprints_view(data + 1, size - 1, "fuzz.npy", *data, &known) != INVAR_OK)
		return 0;
	require(known->data >= data + 1 &&
	        (size_t)(data + size - known->data) >= *data * (size_t)INV_FINGERPRINT);
	for (size_t i = 0; i < *data * (size_t)INV_FINGERPRINT; i++)
		sink = (unsigned char)(sink ^ known->data[i]);
	inv_npy_close(known);
	return 0;
}
