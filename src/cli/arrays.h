/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.h - NumPy files given to a command: shapes are checked before data is read. */
#ifndef INV_CLI_ARRAYS_H
#define INV_CLI_ARRAYS_H

#include "cli/session.h"
#include "formats/npy.h"

typedef struct inv_given_array {
	const char *path;
	invar_array *array; /* NULL if it was not given */
	float *data;        /* NULL before it is taken */
	char shape[128];    /* "[4, 3, 8]" for sentences */
} inv_given_array;

/* Opens the file and spells its shape; a path of NULL is fine and leaves it empty. */
invar_status inv_array_look(inv_session *s, const char *path, inv_given_array *out);
/* The same for rows [n, width]. */
invar_status inv_array_look_rows(inv_session *s, const char *path, inv_given_array *out);
/* "FILE has shape [4, 3], but …" */
invar_status inv_array_refuse(const inv_given_array *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reads it; NaN and Inf are errors that name the element. */
invar_status inv_array_take(inv_given_array *a);
void inv_array_drop(inv_given_array *a);

#endif
