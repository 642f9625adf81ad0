/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - whether bytes are UTF-8: no overlong forms, no surrogates, up to U+10FFFF. */
#ifndef INV_UTF8_H
#define INV_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool inv_is_utf8(const char *text, size_t bytes);

#endif
