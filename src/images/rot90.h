/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rot90.h - square images rotated by right angles: pixels change places, none is resampled.
 */
#ifndef INV_ROT90_H
#define INV_ROT90_H

#include <stddef.h>

/*
 * [planes, side, side] rotated counter-clockwise by 90 `quarters` degrees, as
 * numpy.rot90 and torch.rot90 do over the last two dimensions. `out` is another array.
 */
void inv_rot90(const float *in, size_t planes, size_t side, unsigned quarters, float *out);

#endif
