/* SPDX-License-Identifier: Apache-2.0 */
/* models_list.c - invar models list: what is known by name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/help.h"
#include "cli/models.h"
#include "encoders/encoder.h"

enum { SOME = 64, SHOWN_DIGITS = 8 };

static const char *images_text(const inv_known_model *m, char text[SOME])
{
	if (!m->side)
		return "native";
	if (m->resize == m->side)
		snprintf(text, SOME, "%u, %s", m->side, m->filter);
	else
		snprintf(text, SOME, "%u of %u, %s", m->side, m->resize, m->filter);
	return text;
}

/* The table of docs/reference/MODELS.md, and the list that follows it. */
void inv_models_markdown(FILE *out)
{
	char images[SOME], options[SOME];
	const char *family, *about;

	fputs("| name | network | width | images | normalised | not in the weights | file "
	      "|\n|---|---|---:|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < inv_model_count(); i++) {
		const inv_known_model *m = inv_model_at(i);
		size_t used = 0;

		/* "heads=6,eps=1e-6" as "heads 6, eps 1e-6". */
		for (const char *at = m->options ? m->options : ""; *at && used + 3 < SOME; at++) {
			options[used++] = *at == '=' ? ' ' : *at;
			if (*at == ',')
				options[used++] = ' ';
		}
		options[used] = '\0';
		fprintf(out, "| `%s` | %s | ", m->name, m->about);
		if (m->width)
			fprintf(out, "%u", m->width);
		fprintf(out, " | %s | %s | %s | ", images_text(m, images),
		        m->normalize ? m->normalize : "as the data", options);
		if (m->file)
			fprintf(out, "`%s`", m->file);
		if (m->bytes)
			fprintf(out, ", %" PRIu64 " bytes", m->bytes);
		if (m->sha256)
			fprintf(out, ", SHA-256 %s%s", m->sha256,
			        strlen(m->sha256) < INV_SHA256_DIGITS ? "…" : "");
		fputs(" |\n", out);
	}
	fputs("\nFamilies of networks, recognised by the tensors of a file:\n\n", out);
	for (size_t i = 0; (family = inv_encoder_family(i, &about)); i++)
		fprintf(out, "- `%s`: %s\n", family, about);
}

invar_status inv_models_list(inv_session *s)
{
	static const char *const heads[] = {"name",       "width", "images",
	                                    "normalised", "file",  "SHA-256"};
	enum { COLUMNS = sizeof heads / sizeof *heads };
	json_t *all = json_array();
	inv_table *t = inv_table_new(COLUMNS);
	char text[SOME];

	for (size_t k = 0; t && k < COLUMNS; k++) {
		if (k != 1)
			inv_table_left(t, k);
		inv_table_cell(t, "%s", heads[k]);
	}
	for (size_t i = 0; t && i < inv_model_count(); i++) {
		const inv_known_model *m = inv_model_at(i);

		json_array_append_new(
			all, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s?, s:s?, s:o, s:s?}",
		                   "name", m->name, "family", m->family, "about", m->about, "width",
		                   (json_int_t)m->width, "resize", (json_int_t)m->resize, "side",
		                   (json_int_t)m->side, "filter", m->filter, "normalize",
		                   m->normalize, "file", m->file, "bytes",
		                   m->bytes ? json_integer((json_int_t)m->bytes) : json_null(),
		                   "sha256", m->sha256));
		inv_table_cell(t, "%s", m->name);
		if (m->width)
			inv_table_count(t, m->width);
		else
			inv_table_cell(t, "-");
		inv_table_cell(t, "%s", images_text(m, text));
		inv_table_cell(t, "%s", m->normalize ? m->normalize : "as the data");
		inv_table_cell(t, "%s", m->file ? m->file : "-");
		inv_table_cell(t, "%.*s%s", SHOWN_DIGITS, m->sha256 ? m->sha256 : "-",
		               m->sha256 && strlen(m->sha256) > SHOWN_DIGITS ? "…" : "");
	}
	if (!s->json) {
		json_decref(all);
		return inv_put_table(t, "text", stdout);
	}
	inv_table_free(t);
	return inv_print_json(json_pack("{s:o}", "models", all));
}
