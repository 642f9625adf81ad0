/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - shared by the fuzz targets: the entry point and a check. */
#ifndef INV_FUZZ_H
#define INV_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assertion that release builds keep; the engine reports the abort as a crash. */
#define require(claim)                                                          \
	do {                                                                        \
		if (!(claim)) {                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
			abort();                                                            \
		}                                                                       \
	} while (0)

#endif
