/* SPDX-License-Identifier: Apache-2.0 */
/* plots.c - names the figures of documents and writes them. */
#include "cli/plots.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "report/draw_svg.h"

static bool is_taken(const inv_figures *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->one[i].name, name) == 0)
			return true;
	return false;
}

/* Ids come from files: what is not a plain letter or digit becomes '-' in a file name. */
static void name_figure(const inv_figures *all, inv_named_figure *f)
{
	char plain[INV_FIGURE_ID];
	size_t length = strlen(f->figure.id);

	for (size_t i = 0; i <= length; i++) {
		char c = f->figure.id[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		            (c >= '0' && c <= '9') || c == '_' || (c == '.' && i > 0) || c == '\0';

		plain[i] = fits ? c : '-';
	}
	snprintf(f->name, sizeof f->name, "%s", plain);
	for (unsigned k = 2; is_taken(all, f->name); k++)
		snprintf(f->name, sizeof f->name, "%s-%u", plain, k);
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
	if (inv_sheet_kind(path) == &inv_kind_png && !inv_can_draw())
		return inv_fail(INVAR_E_USE,
		                "%s: this program was built without librsvg and writes only SVG; "
		                "give a name that ends in .svg",
		                path);
	return inv_check_output(
		s, &(inv_output){.path = path, .kind = inv_sheet_kind(path), .force = force});
}

invar_status inv_figure_save(inv_session *s, const inv_named_figure *f, const char *path,
                             bool dark)
{
	inv_svg svg;
	invar_status st;

	if (inv_figure_draw(f->results, &f->figure, dark ? INV_SVG_DARK : INV_SVG_LIGHT, &svg))
		st = inv_svg_save(s->ctx, &svg, path);
	else
		st = inv_no_memory();
	inv_svg_free(&svg);
	return st;
}

static invar_status save_in(inv_session *s, const inv_named_figure *f, const char *folder,
                            bool force, bool dark)
{
	char name[sizeof f->name + 8];
	char *path;
	invar_status st;

	snprintf(name, sizeof name, "%s.%s", f->name, inv_can_draw() ? "png" : "svg");
	if (!(path = inv_path(folder, name)))
		return inv_no_memory();
	if ((st = inv_figure_check(s, path, force)) == INVAR_OK)
		st = inv_figure_save(s, f, path, dark);
	if (st == INVAR_OK)
		inv_term_say(s->term, "%s: %s", path, f->figure.title);
	free(path);
	return st;
}

invar_status inv_figures_save(inv_session *s, const inv_figures *all, const char *folder,
                              bool force, bool dark)
{
	invar_status st = inv_folder_make(folder);

	for (size_t i = 0; i < all->count && st == INVAR_OK; i++)
		st = save_in(s, &all->one[i], folder, force, dark);
	return st;
}
