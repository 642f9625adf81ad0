/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - a table of words and numbers, written for people or for papers.
 *
 * A table is filled cell by cell, row by row; the first row has the headings.
 */
#ifndef INV_TABLE_H
#define INV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define INV_TABLE_FORMATS "text|markdown|csv|latex"

typedef struct inv_table inv_table;

/* NULL if there is no memory. The first column is left-aligned, the others right. */
inv_table *inv_table_new(size_t columns);
void inv_table_free(inv_table *t);

/* A column of words is left-aligned too; the first 64 columns can be. */
void inv_table_left(inv_table *t, size_t column);

/* A failure to allocate is kept in the table and reported by inv_table_write. */
void inv_table_cell(inv_table *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A number with four significant digits or decimals, a dash for NaN. */
void inv_table_number(inv_table *t, double value);
void inv_table_count(inv_table *t, unsigned long long value);

/* What a cell has in HTML besides its text. Rows are marked by their first cell. */
typedef enum inv_look {
	INV_LOOK_NAME = 1,    /* text from outside: shortened, with a direction of its own */
	INV_LOOK_BEST = 2,    /* the best of its row */
	INV_LOOK_HASH = 4,    /* many digits, in small letters */
	INV_LOOK_BEGINS = 8,  /* a row that begins a group of rows */
	INV_LOOK_HEADS = 16,  /* the same with the title of the group, which spans the row */
	INV_LOOK_DIFFERS = 32 /* a row whose cells differ */
} inv_look;

/* Of the last cell; small is a second, smaller text, or NULL. */
void inv_table_look(inv_table *t, unsigned look, const char *small);
/* The last cell begins with markup of our own, in HTML, and has a class; takes html. */
void inv_table_markup(inv_table *t, const char *class, char *html);

/* A note below the table about missing values; in CSV a separate row. */
void inv_table_note(inv_table *t, const char *text);

/* format is one of INV_TABLE_FORMATS; false if memory ran out on the way. */
bool inv_table_write(const inv_table *t, const char *format, FILE *out);

/* With a class of page.css; nothing if memory ran out on the way. */
void inv_table_write_html(const inv_table *t, const char *class, FILE *out);

/* Text in Markdown, and a cell of a CSV file, which no spreadsheet takes for a formula. */
void inv_markdown_text(const char *text, FILE *out);
void inv_csv_text(const char *text, FILE *out);

/* Columns a UTF-8 text takes on a terminal. */
size_t inv_text_width(const char *text);

#endif
