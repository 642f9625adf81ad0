/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_text.h - foreign text on one line of a terminal, in a cell, in a page.
 *
 * Anybody can write names and metadata. Control characters, which would command a terminal,
 * are shown as '?'; characters that have no shape of their own or change the direction of
 * the text around them, such as U+202E, as \u202e: a name looks like what it is.
 */
#ifndef INV_LINE_TEXT_H
#define INV_LINE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The code point and the bytes of a hidden character that text begins with; 0: none. */
uint32_t inv_hidden_character(const char *text, size_t *bytes);

/* Gives, free() it; NULL if there is no memory. */
char *inv_line_text(const char *text);

/* printf of such a text, with the line's end, in one write. */
void inv_print_line(FILE *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void inv_print_line_of(FILE *out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Characters of `text` escaped for XML and HTML, at most `max` of them. */
void inv_xml_text(FILE *out, const char *text, size_t max);
size_t inv_count_characters(const char *text);

#endif
