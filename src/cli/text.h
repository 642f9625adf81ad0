/* text.h - counts with their nouns, and foreign text, as a person reads them. */
#ifndef INV_CLI_TEXT_H
#define INV_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { INV_COUNTED = 64 };

/* "1 copy", "3 copies"; returns out. */
const char *inv_counted(char out[INV_COUNTED], uint64_t count, const char *one,
                        const char *many);

/*
 * Anybody can write names and metadata: control characters, which would command a
 * terminal, come as \n or \x1b, and what does not fit in room bytes ends in an ellipsis.
 * Returns out.
 */
const char *inv_shown(const char *text, char *out, size_t room);

#endif
