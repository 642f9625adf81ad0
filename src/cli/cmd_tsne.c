/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_tsne.c - invar tsne: features as points in the plane.
 *
 * Arrays are embedded together, one after the other. What is written follows from the
 * names of the outputs: all points as a NumPy file, results, or a picture.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/options.h"
#include "cli/arrays.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/plots.h"
#include "cli/term.h"
#include "formats/npy.h"
#include "report/line_text.h"
#include "run/results.h"

static const inv_example examples[] = {
	{"invar tsne features.npy -o map.npy", "one point per row, [n, 2]"},
	{"invar tsne features.npy --labels labels.npy -o map.npy -o map.png",
     "also a plot, coloured by class"},
	{"invar tsne clean.npy rotated.npy --labels labels.npy -o map.json",
     "clean and augmented rows together, as results for 'invar plot'; the labels serve "
     "both"},
	{"invar tsne big.npy --perplexity 50 --init random --seed 1 -o map.npy",
     "more neighbours, and a random start"},
	{0},
};

static const inv_argument arguments[] = {
	{"IN.npy", "features [n, d], as many arrays of one width as you like", 1, INV_MANY,
     INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(
		LIST, "output", "OUT", "Result",
		"file to write: points [n, 2] if its name ends in .npy, results in .json, a plot "
		"in .png or .svg")},
	{INV_ROW(LIST, "labels", "FILE", "Result",
             "classes of the rows [n] as a NumPy file, one file per array or one for all; "
             "negative for none")},
	{INV_ROW(TEXT, "class-names", "FILE", "Result",
             "text file with the names of the labels 0, 1 …, one per line")},
	{INV_FORCE_ROW},
	{0},
};

enum { MAX_NAMES = 16 << 20 }; /* bytes of --class-names */

typedef struct tsne_call {
	inv_given_array *in; /* [s->arguments] */
	uint64_t *rows;      /* of each array */
	char **titles;
	float *joined; /* all rows, where there are several arrays */
	int64_t *labels;
	char *names, **classes; /* a text, and where its lines begin; NULL past the last */
	float *points;
	uint64_t total;
	uint32_t dim;
} tsne_call;

/* The shapes of all arrays, before any of them is read. */
static invar_status open_arrays(inv_session *s, tsne_call *c)
{
	INV_TRY(inv_new_zeros(&c->in, s->arguments));
	INV_TRY(inv_new_zeros(&c->rows, s->arguments));
	INV_TRY(inv_new_zeros(&c->titles, s->arguments));
	for (size_t i = 0; i < s->arguments; i++) {
		inv_given_array *a = &c->in[i];
		const char *slash = strrchr(s->argument[i], '/');
		const uint64_t *shape;

		INV_TRY(inv_array_look_rows(s, s->argument[i], a));
		shape = a->array->h.shape;
		if (i && shape[1] != c->dim)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s has shape %s and %s has shape %s, but arrays that are "
			                "embedded together "
			                "need the same width",
			                c->in[0].path, c->in[0].shape, a->path, a->shape);
		c->dim = (uint32_t)shape[1];
		c->rows[i] = shape[0];
		c->total += shape[0];
		INV_TRY(inv_new_text(&c->titles[i], slash ? slash + 1 : a->path));
		if (inv_ends_in(c->titles[i], ".npy") && strlen(c->titles[i]) > 4)
			c->titles[i][strlen(c->titles[i]) - 4] = '\0';
	}
	return INVAR_OK;
}

static invar_status read_tsne_labels(inv_session *s, tsne_call *c)
{
	size_t files = 0;
	uint64_t at = 0;

	while (inv_options_text(s->options, "labels", files))
		files++;
	if (!files)
		return INVAR_OK;
	if (files != 1 && files != s->arguments)
		return inv_fail(INVAR_E_USE,
		                "--labels was given %zu times for %zu arrays; give it once for all "
		                "or once for each",
		                files, s->arguments);
	INV_TRY(inv_new_array(&c->labels, c->total));
	for (size_t i = 0; i < s->arguments; i++) {
		const char *path = inv_options_text(s->options, "labels", files == 1 ? 0 : i);
		inv_given_array a = {0};
		invar_status st;

		INV_TRY(inv_array_look(s, path, &a));
		if (a.array->h.ndim != 1 || a.array->h.shape[0] != c->rows[i])
			st = inv_fail(INVAR_E_MISMATCH,
			              "--labels %s has shape %s, but must be [%llu] to label %s", path,
			              a.shape, (unsigned long long)c->rows[i], c->in[i].path);
		else
			st = inv_npy_read_int(a.array, 0, c->rows[i], c->labels + at);
		inv_array_drop(&a);
		INV_TRY(st);
		at += c->rows[i];
	}
	return INVAR_OK;
}

/* One name per line; c->classes points into one text. */
static invar_status read_class_names(inv_session *s, tsne_call *c)
{
	const char *path = inv_text(s, "class-names");
	char *text, *line;
	size_t bytes, lines = 1;

	if (!path)
		return INVAR_OK;
	INV_TRY(inv_file_load(path, MAX_NAMES, &text, &bytes));
	for (size_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	if (inv_new_zeros(&c->classes, lines + 2) != INVAR_OK) {
		inv_free(text);
		return inv_no_memory();
	}
	c->names = text;
	for (size_t k = 0; (line = strsep(&text, "\n")) && (text || *line); k++) {
		line[strcspn(line, "\r")] = '\0';
		c->classes[k] = line;
	}
	return INVAR_OK;
}

static bool is_picture(const char *path)
{
	return inv_ends_in(path, ".png") || inv_ends_in(path, ".svg");
}

static invar_status write_tsne_output(inv_session *s, const tsne_call *c,
                                      const invar_results *r, const char *path)
{
	inv_figures figures = {0};
	invar_status st;

	if (inv_ends_in(path, ".npy"))
		return invar_array_write(s->ctx, path, c->points, 2, (uint64_t[]){c->total, 2},
		                         INVAR_FLOAT32);
	if (!is_picture(path))
		return inv_save_results(s, path, r);
	INV_TRY_OR(end, inv_figures_add(&figures, r));
	st = inv_figure_save(s, &figures.one[0], path, false);
end:
	inv_figures_free(&figures);
	return st;
}

static invar_status print_tsne(inv_session *s, const tsne_call *c, const invar_results *r)
{
	const double kl = invar_results_value(r, "tsne.kl", "tsne")->value;
	const double iterations = invar_results_value(r, "tsne.iterations", "tsne")->value;
	json_t *inputs, *outputs;
	const char *text;

	if (!s->json) {
		printf("%llu %s of %zu %s, width %u\n", (unsigned long long)c->total,
		       inv_noun(c->total, "row", "rows"), s->arguments,
		       inv_noun(s->arguments, "array", "arrays"), c->dim);
		printf("KL divergence %.4f after %.0f iterations\n", kl, iterations);
		for (size_t i = 0; (text = inv_results_note_at(r, i)); i++)
			inv_print_line(stdout, "%s", text);
		return INVAR_OK;
	}
	inputs = json_array();
	outputs = json_array();
	for (size_t i = 0; i < s->arguments; i++)
		json_array_append_new(inputs,
		                      json_pack("{s:o, s:I}", "path", inv_json_path(c->in[i].path),
		                                "rows", (json_int_t)c->rows[i]));
	for (size_t i = 0; (text = inv_options_text(s->options, "output", i)); i++)
		json_array_append_new(outputs, inv_json_path(text));
	return inv_print_json(json_pack("{s:f, s:I, s:I, s:I, s:o, s:o}", "kl", kl,
	                                "iterations", (json_int_t)iterations, "rows",
	                                (json_int_t)c->total, "dim", (json_int_t)c->dim,
	                                "inputs", inputs, "outputs", outputs));
}

static invar_status run_tsne(inv_session *s)
{
	tsne_call c = {0};
	invar_results *r = NULL;
	const char *path;
	uint64_t at = 0;
	invar_status st;

	for (size_t i = 0; (path = inv_options_text(s->options, "output", i)); i++) {
		if (!is_picture(path) && !inv_ends_in(path, ".npy") && !inv_ends_in(path, ".json"))
			return inv_fail(
				INVAR_E_USE,
				"-o %s must end in .npy (points), .json (results), .png or .svg "
				"(a plot)",
				path);
		INV_TRY(is_picture(path)
		            ? inv_figure_check(s, path, inv_flag(s, "force"))
		            : inv_check_output(s, &(inv_output){.option = "-o",
		                                                .path = path,
		                                                .endings = ".npy|.json",
		                                                .force = inv_flag(s, "force")}));
	}
	INV_TRY_OR(end, open_arrays(s, &c));
	INV_TRY_OR(end, read_tsne_labels(s, &c));
	INV_TRY_OR(end, read_class_names(s, &c));

	/* Several arrays are copied one behind the other; one alone stays where it is. */
	if (s->arguments > 1)
		INV_TRY_OR(end, inv_new_array(&c.joined, c.total * c.dim));
	for (size_t i = 0; i < s->arguments; i++) {
		INV_TRY_OR(end, inv_array_take(&c.in[i]));
		if (!c.joined)
			break;
		memcpy(c.joined + at * c.dim, c.in[i].data,
		       (size_t)c.rows[i] * c.dim * sizeof *c.joined);
		at += c.rows[i];
		inv_free(c.in[i].data);
		c.in[i].data = NULL;
	}
	INV_TRY_OR(end, inv_new_array(&c.points, c.total * 2));
	INV_TRY_OR(end,
	           invar_tsne(s->ctx,
	                      &(invar_tsne_rows){.size = sizeof(invar_tsne_rows),
	                                         .rows = c.joined ? c.joined : c.in[0].data,
	                                         .count = c.total,
	                                         .dim = c.dim,
	                                         .labels = c.labels,
	                                         .classes = (const char *const *)c.classes,
	                                         .parts = s->arguments,
	                                         .part_rows = c.rows,
	                                         .part_titles = (const char *const *)c.titles},
	                      s->options, c.points, &r));
	for (size_t i = 0; (path = inv_options_text(s->options, "output", i)); i++) {
		INV_TRY_OR(end, write_tsne_output(s, &c, r, path));
		inv_term_say(s->term, "%s is written", path);
	}
	st = print_tsne(s, &c, r);
end:
	invar_results_free(r);
	for (size_t i = 0; i < s->arguments && c.titles; i++) {
		inv_array_drop(&c.in[i]);
		inv_free(c.titles[i]);
	}
	inv_free(c.in);
	inv_free(c.rows);
	inv_free(c.titles);
	inv_free(c.classes);
	inv_free(c.names);
	inv_free(c.joined);
	inv_free(c.labels);
	inv_free(c.points);
	return st;
}

const inv_command inv_cmd_tsne = {
	.name = "tsne",
	.purpose = "embeds features in the plane by t-SNE",
	.usage = "IN.npy… -o OUT [options]",
	.about = "Rows that are near each other stay near each other. Several arrays, such as "
			 "clean and augmented features, are embedded together, one after the other in "
			 "the output. Neighbours are exact; repulsion between all points is "
			 "interpolated on a grid and convolved by FFT, which takes time in proportion "
			 "to the rows. Defaults are those of scikit-learn. The same seed gives the "
			 "same bytes on any number of threads. KL is the divergence that is "
			 "minimised: compare it only between runs of the same perplexity and rows.",
	.examples = examples,
	.arguments = arguments,
	.options = "tsne",
	.own = own,
	.reads = "labels|class-names",
	.needs_output = true,
	.is_timed = true,
	.run = run_tsne,
};
