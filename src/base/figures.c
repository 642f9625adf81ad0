/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - a few numbers that a call found out, by name. */
#include "base/figures.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

struct invar_figures {
	size_t count;
	inv_figure figure[];
};

invar_status inv_figures_new(const inv_figure *figures, size_t count, invar_figures **out)
{
	size_t bytes = sizeof **out + count * sizeof *figures;

	INV_TRY(inv_check_memory(*out = inv_alloc(bytes), bytes));
	(*out)->count = count;
	memcpy((*out)->figure, figures, count * sizeof *figures);
	return INVAR_OK;
}

double invar_figure(const invar_figures *f, const char *name)
{
	for (size_t i = 0; f && i < f->count; i++)
		if (strcmp(f->figure[i].name, name) == 0)
			return f->figure[i].value;
	return NAN;
}

const char *invar_figure_name(const invar_figures *f, size_t i)
{
	return f && i < f->count ? f->figure[i].name : NULL;
}

void invar_figures_free(invar_figures *f)
{
	inv_free(f);
}
