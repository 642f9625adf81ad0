/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rot90.c - see rot90.h.
 *
 * Where a pixel [y, x] of the result comes from: for a quarter turn [x, n - 1 - y], for two
 * [n - 1 - y, n - 1 - x], for three [n - 1 - x, y].
 */
#include "images/rot90.h"

#include <string.h>

void inv_rot90(const float *in, size_t planes, size_t side, unsigned quarters, float *out)
{
	size_t last = side - 1, plane = side * side;

	if (quarters % 4 == 0) {
		memcpy(out, in, planes * plane * sizeof *out);
		return;
	}
	for (size_t p = 0; p < planes; p++, in += plane)
		for (size_t y = 0; y < side; y++)
			for (size_t x = 0; x < side; x++)
				*out++ = quarters % 4 == 1   ? in[x * side + last - y]
				         : quarters % 4 == 2 ? in[(last - y) * side + last - x]
				                             : in[(last - x) * side + y];
}
