/* SPDX-License-Identifier: Apache-2.0 */
/* plots.c - names the figures of documents and writes them. */
#include "cli/plots.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command_results.h"
#include "cli/outputs.h"
#include "cli/term.h"

/* Ids come from files: what is not a plain letter or digit becomes '-' in a file name. */
static void name_figure(const inv_figures *all, inv_named_figure *f)
{
	char plain[INV_FIGURE_ID];
	size_t i = 0;

	snprintf(plain, sizeof plain, "%s", f->figure.id);
	for (char *c = plain; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= '0' && *c <= '9') && *c != '_' && (*c != '.' || c == plain))
			*c = '-';
	snprintf(f->name, sizeof f->name, "%s", plain);
	for (unsigned k = 2; i < all->count; k++) {
		for (i = 0; i < all->count && strcmp(all->one[i].name, f->name) != 0;)
			i++;
		if (i < all->count)
			snprintf(f->name, sizeof f->name, "%s-%u", plain, k);
	}
}

invar_status inv_figures_add(inv_figures *all, const invar_results *r)
{
	inv_figure figure;

	for (size_t i = 0; inv_figure_find(r, i, &figure); i++) {
		inv_named_figure *grown = realloc(all->one, (all->count + 1) * sizeof *grown);

		if (!grown)
			return inv_no_memory();
		all->one = grown;
		grown[all->count] = (inv_named_figure){.results = r, .figure = figure};
		name_figure(all, &grown[all->count]);
		all->count++;
	}
	return INVAR_OK;
}

void inv_figures_free(inv_figures *all)
{
	free(all->one);
	*all = (inv_figures){0};
}

invar_status inv_figure_check(inv_session *s, const char *path, bool force)
{
	if (!inv_ends_in(path, ".svg") && !inv_can_draw())
		return inv_fail(INVAR_E_USE,
		                "%s: this program was built without librsvg and writes only SVG; "
		                "give a name that ends in .svg",
		                path);
	return inv_check_output(s, &(inv_output){
							   .path = path, .endings = ".png|.svg", .force = force});
}

invar_status inv_figure_save(inv_session *s, const inv_named_figure *f, const char *path,
                             bool dark)
{
	inv_svg svg;
	invar_status st;

	if (inv_figure_draw(f->results, &f->figure,
	                    &(inv_figure_form){.theme = dark ? INV_SVG_DARK : INV_SVG_LIGHT},
	                    &svg))
		st = inv_svg_save(s->ctx, &svg, path);
	else
		st = inv_no_memory();
	inv_svg_free(&svg);
	return st;
}

invar_status inv_figures_save(inv_session *s, const inv_figures *all, const char *folder,
                              bool force, bool dark)
{
	INV_TRY(inv_make_folder(folder));
	for (size_t i = 0; i < all->count; i++) {
		const inv_named_figure *f = &all->one[i];
		char name[sizeof f->name + 8], *path;
		invar_status st;

		snprintf(name, sizeof name, "%s.%s", f->name, inv_can_draw() ? "png" : "svg");
		INV_TRY(inv_new_path(&path, folder, name));
		if ((st = inv_figure_check(s, path, force)) == INVAR_OK)
			st = inv_figure_save(s, f, path, dark);
		if (st == INVAR_OK)
			inv_term_say(s->term, "%s: %s", path, f->figure.title);
		inv_free(path);
		INV_TRY(st);
	}
	return INVAR_OK;
}
