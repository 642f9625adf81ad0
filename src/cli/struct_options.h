/* SPDX-License-Identifier: Apache-2.0 */
/* struct_options.h - options of the library that are still structs, seen by name. */
#ifndef INV_STRUCT_OPTIONS_H
#define INV_STRUCT_OPTIONS_H

#include "cli/command.h"

/* The fields of c->tables as options, with the defaults of c->defaults. */
invar_status inv_add_struct_options(const inv_command *c, invar_options *o);
/* The values of c's struct from the options, and the names of those that were set. */
invar_status inv_fill_struct(inv_session *s, void **values);
void inv_clear_struct(inv_session *s, void *values);

#endif
