/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - words of a message that depend on a number. */
#ifndef INV_TEXT_H
#define INV_TEXT_H

#include <stdint.h>

/* "%zu %s", n, inv_noun(n, "copy", "copies") */
static inline const char *inv_noun(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

#endif
