/* SPDX-License-Identifier: Apache-2.0 */
/* strides.c - see strides.h. */
#include "formats/strides.h"

bool inv_is_dense(unsigned rank, const uint64_t *shape, const int64_t *stride)
{
	int64_t dense = 1;

	for (unsigned i = 0; i < rank; i++)
		if (shape[i] == 0)
			return true;
	for (unsigned i = rank; i-- > 0; dense *= (int64_t)shape[i])
		if (shape[i] > 1 && stride[i] != dense)
			return false;
	return true;
}

void inv_next_cell(unsigned rank, const uint64_t *shape, const int64_t *stride, inv_cell *c)
{
	for (unsigned axis = rank; axis-- > 0;) {
		c->offset += stride[axis];
		if (++c->at[axis] < shape[axis])
			return;
		c->offset -= (int64_t)c->at[axis] * stride[axis];
		c->at[axis] = 0;
	}
}
