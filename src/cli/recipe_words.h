/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_words.h - recipes for people and editors: defaults, schema, plan. */
#ifndef INV_RECIPE_WORDS_H
#define INV_RECIPE_WORDS_H

#include <stdio.h>

#include "cli/session.h"
#include "study/study_run.h"

/* Is a flag on unless it is set? */
bool inv_row_is_on(const invar_option *row);

/* A recipe with every key and option, its default and meaning, as comments. */
invar_status inv_print_recipe(FILE *out);
/* The JSON Schema of recipes. */
invar_status inv_print_recipe_schema(FILE *out);
/* What would run, how large it will be and how long it took before. */
invar_status inv_print_plan(inv_session *s, const inv_study *study);

#endif
