/* SPDX-License-Identifier: Apache-2.0 */
/* struct_options.c - options of the library that are still structs, seen by name. */
#include "cli/struct_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INITIAL = 64 };

static void spell_default(const invar_field *f, const char *at, char out[INITIAL])
{
	const char *text = NULL;

	out[0] = '\0';
	if (f->type == INVAR_FIELD_COUNT)
		snprintf(out, INITIAL, "%llu",
		         (unsigned long long)*(const uint64_t *)(const void *)at);
	else if (f->type == INVAR_FIELD_NUMBER)
		snprintf(out, INITIAL, "%.15g", *(const double *)(const void *)at);
	else if (f->type == INVAR_FIELD_TEXT)
		text = *(const char *const *)(const void *)at;
	if (text)
		snprintf(out, INITIAL, "%s", text);
}

static invar_status add_field(invar_options *o, const invar_field *f, const char *at)
{
	char initial[INITIAL];
	invar_option row = {.name = f->name,
	                    .type = (invar_option_type)f->type,
	                    .min = f->min,
	                    .max = f->max,
	                    .flags = f->flags & 3,
	                    .choices = f->choices,
	                    .meta = f->meta,
	                    .group = f->group,
	                    .help = f->help};

	spell_default(f, at, initial);
	row.initial = *initial ? initial : NULL;
	return invar_options_add(o, &row, sizeof row);
}

invar_status inv_add_struct_options(const inv_command *c, invar_options *o)
{
	char *values = calloc(1, c->values ? c->values : 1);
	invar_status st = INVAR_OK;

	if (values && c->defaults)
		c->defaults(values);
	for (const inv_option_table *t = c->tables; values && t && t->fields; t++) {
		size_t count;
		const invar_field *f = t->fields(&count);

		for (size_t i = 0; i < count && st == INVAR_OK; i++)
			st = add_field(o, &f[i], values + t->offset + f[i].offset);
	}
	free(values);
	return values ? st : INVAR_E_NOMEM;
}

static invar_status fill_list(const invar_options *o, const char *name, const char ***out)
{
	size_t count = 0;

	while (invar_options_text(o, name, count))
		count++;
	*out = count ? calloc(count + 1, sizeof **out) : NULL;
	for (size_t i = 0; i < count && *out; i++)
		(*out)[i] = invar_options_text(o, name, i);
	return *out || !count ? INVAR_OK : INVAR_E_NOMEM;
}

static invar_status fill_field(const invar_options *o, const invar_field *f, void *at)
{
	switch (f->type) {
	case INVAR_FIELD_FLAG:
		*(int *)at = invar_options_number(o, f->name) > 0;
		return INVAR_OK;
	case INVAR_FIELD_COUNT:
		*(uint64_t *)at = (uint64_t)invar_options_number(o, f->name);
		return INVAR_OK;
	case INVAR_FIELD_NUMBER:
		*(double *)at = invar_options_number(o, f->name);
		return INVAR_OK;
	case INVAR_FIELD_TEXT:
		*(const char **)at = invar_options_text(o, f->name, 0);
		return INVAR_OK;
	case INVAR_FIELD_LIST:
		return fill_list(o, f->name, at);
	}
	return INVAR_OK;
}

static invar_status list_given(inv_session *s)
{
	size_t count = invar_options_count(s->options), given = 0;

	s->given = calloc(count + 1, sizeof *s->given);
	for (size_t i = 0; i < count && s->given; i++) {
		const char *name = invar_options_at(s->options, i)->name;

		if (invar_options_is_set(s->options, name))
			s->given[given++] = name;
	}
	return s->given ? INVAR_OK : INVAR_E_NOMEM;
}

/* A name that stands in two structs is filled in both where both are the library's. */
invar_status inv_fill_struct(inv_session *s, void **values)
{
	const inv_command *c = s->command;
	char *filled = *values = calloc(1, c->values ? c->values : sizeof(inv_common));
	invar_status st = filled ? list_given(s) : INVAR_E_NOMEM;

	if (filled && c->defaults)
		c->defaults(filled);
	for (const inv_option_table *t = c->tables; st == INVAR_OK && t && t->fields; t++) {
		size_t count;
		const invar_field *f = t->fields(&count);

		for (size_t i = 0; i < count && st == INVAR_OK; i++) {
			bool first = true;

			for (const inv_option_table *u = c->tables; u < t; u++) {
				size_t others;
				const invar_field *g = u->fields(&others);

				for (size_t k = 0; k < others; k++)
					first = first && strcmp(g[k].name, f[i].name) != 0;
			}
			if (first)
				st = fill_field(s->options, &f[i], filled + t->offset + f[i].offset);
		}
	}
	return st == INVAR_OK ? st : inv_no_memory(s);
}

void inv_clear_struct(inv_session *s, void *values)
{
	for (const inv_option_table *t = s->command->tables; values && t && t->fields; t++) {
		size_t count;
		const invar_field *f = t->fields(&count);

		for (size_t i = 0; i < count; i++)
			if (f[i].type == INVAR_FIELD_LIST)
				free(*(void **)((char *)values + t->offset + f[i].offset));
	}
	free(s->given);
	free(values);
}
