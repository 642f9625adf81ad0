/* SPDX-License-Identifier: Apache-2.0 */
/* display_text.h - counts, times and foreign text as a person reads them. */
#ifndef INV_DISPLAY_TEXT_H
#define INV_DISPLAY_TEXT_H

#include <stddef.h>

#include "base/text.h"

enum { INV_SPELLED_TIME = 64 };

/* "1.2M/s", "12.5k/s", "340/s", "2.5/s", "4.5/min", "0.5/h"; returns out. */
const char *inv_rate_text(double per_second, char out[INV_SPELLED_TIME]);
/* "0.4 s", "59.9 s", "12 min 5 s", "2 h 30 min"; returns out. */
const char *inv_duration_text(double seconds, char out[INV_SPELLED_TIME]);
/* "0.25 MB", "40 MB", "12.5 GB", of NaN "?"; returns out. */
const char *inv_size_text(double bytes, char out[INV_SPELLED_TIME]);

/*
 * Anybody can write names and metadata: control characters, which would command a
 * terminal, come as \n or \x1b, hidden ones (report/line_text.h) as \u202e, and what does
 * not fit in room bytes ends in an ellipsis. Returns out.
 */
const char *inv_shown(const char *text, char *out, size_t size);

/*
 * A word of a command that users may copy: in single quotes where a shell needs them, cut
 * off at room bytes. Returns out.
 */
const char *inv_shell_word(const char *text, char *out, size_t size);

#endif
