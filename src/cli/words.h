/* words.h - words that depend on a count; as base/words.h, which commands do not see. */
#ifndef INV_CLI_WORDS_H
#define INV_CLI_WORDS_H

#include <stdint.h>

/* The word for so many of a thing; one is "1 copy", none is "0 copies". */
static inline const char *inv_plural(uint64_t count, const char *one, const char *more)
{
	return count == 1 ? one : more;
}

#endif
