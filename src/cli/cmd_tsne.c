/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_tsne.c - invar tsne: features as points in the plane.
 *
 * Arrays are embedded together, one after the other. What is written follows from the
 * names of the outputs: all points as a NumPy file, results, or a picture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/arrays.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/outputs.h"
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
	{"IN.npy", "features [n, d], as many arrays of one width as you like", 1, INV_MANY},
	{0},
};

static const invar_option own[] = {
	{.name = "output",
     .type = INVAR_OPTION_LIST,
     .meta = "OUT",
     .group = "Result",
     .help =
         "file to write: points [n, 2] if its name ends in .npy, results in .json, a plot "
         "in .png or .svg"},
	{.name = "labels",
     .type = INVAR_OPTION_LIST,
     .meta = "FILE",
     .group = "Result",
     .help = "classes of the rows [n] as a NumPy file, one file per array or one for all; "
             "negative for none"},
	{.name = "class-names",
     .type = INVAR_OPTION_TEXT,
     .meta = "FILE",
     .group = "Result",
     .help = "text file with the names of the labels 0, 1 …, one per line"},
	{INV_FORCE_ROW},
	{0},
};

typedef struct tsne_call {
	inv_given_array *in; /* [s->arguments] */
	uint64_t *rows;      /* of each array */
	char **titles;
	float *joined; /* all rows, where there are several arrays */
	int64_t *labels;
	char **classes;
	float *points;
	uint64_t total;
	uint32_t dim;
} tsne_call;

/* ---- Inputs ---------------------------------------------------------------------------
 */

/* The last part of a path without .npy; gives. */
static char *title_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
		length -= 4;
	return strndup(name, length);
}

static invar_status look_at_array(inv_session *s, tsne_call *c, size_t i)
{
	inv_given_array *a = &c->in[i];
	const uint64_t *shape;
	invar_status st = inv_array_look(s, s->argument[i], a);

	if (st != INVAR_OK)
		return st;
	shape = a->array->h.shape;
	if (a->array->h.rank != 2 || !shape[0] || !shape[1] || shape[1] > UINT32_MAX)
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [n, width]",
		                a->path, a->shape);
	if (i && shape[1] != c->dim)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s and %s has shape %s, but arrays that are embedded "
		                "together need the same width",
		                c->in[0].path, c->in[0].shape, a->path, a->shape);
	c->dim = (uint32_t)shape[1];
	c->rows[i] = shape[0];
	c->total += shape[0];
	return (c->titles[i] = title_of(a->path)) ? INVAR_OK : inv_no_memory();
}

/* Several arrays are copied one behind the other; one alone stays where it is. */
static invar_status take_arrays(inv_session *s, tsne_call *c)
{
	uint64_t at = 0;
	invar_status st;

	if (s->arguments == 1)
		return inv_array_take(&c->in[0]);
	if (c->total > SIZE_MAX / sizeof(float) / c->dim ||
	    !(c->joined = malloc((size_t)c->total * c->dim * sizeof *c->joined)))
		return inv_no_memory();
	for (size_t i = 0; i < s->arguments; i++) {
		if ((st = inv_array_take(&c->in[i])) != INVAR_OK)
			return st;
		memcpy(c->joined + at * c->dim, c->in[i].data,
		       (size_t)c->rows[i] * c->dim * sizeof *c->joined);
		at += c->rows[i];
		free(c->in[i].data);
		c->in[i].data = NULL;
	}
	return INVAR_OK;
}

static invar_status read_labels_of(inv_session *s, const char *path, const char *array,
                                   uint64_t rows, int64_t *out)
{
	inv_given_array a = {0};
	invar_status st = inv_array_look(s, path, &a);

	if (st == INVAR_OK && (a.array->h.rank != 1 || a.array->h.shape[0] != rows))
		st = inv_fail(INVAR_E_MISMATCH,
		              "--labels %s has shape %s, but must be [%llu] to label %s", path,
		              a.shape, (unsigned long long)rows, array);
	if (st == INVAR_OK)
		st = inv_npy_read_int(a.array, 0, rows, out);
	inv_array_drop(&a);
	return st;
}

static size_t count_of(const inv_session *s, const char *list)
{
	size_t count = 0;

	while (inv_options_text(s->options, list, count))
		count++;
	return count;
}

static invar_status read_labels(inv_session *s, tsne_call *c)
{
	size_t files = count_of(s, "labels");
	uint64_t at = 0;
	invar_status st = INVAR_OK;

	if (!files)
		return INVAR_OK;
	if (files != 1 && files != s->arguments)
		return inv_fail(INVAR_E_USE,
		                "--labels was given %zu times for %zu arrays; give it once for all "
		                "or once for each",
		                files, s->arguments);
	if (!(c->labels = malloc((size_t)c->total * sizeof *c->labels)))
		return inv_no_memory();
	for (size_t i = 0; i < s->arguments && st == INVAR_OK; i++) {
		const char *path = inv_options_text(s->options, "labels", files == 1 ? 0 : i);

		st = read_labels_of(s, path, c->in[i].path, c->rows[i], c->labels + at);
		at += c->rows[i];
	}
	return st;
}

static invar_status read_class_names(inv_session *s, tsne_call *c)
{
	const char *path = inv_text(s, "class-names");
	FILE *f = path ? fopen(path, "r") : NULL;
	char *line = NULL;
	size_t size = 0, count = 0;
	ssize_t length;
	bool enough = true;

	if (!f)
		return path ? inv_fail(INVAR_E_IO, "%s: cannot open: %s", path, strerror(errno))
		            : INVAR_OK;
	while (enough && (length = getline(&line, &size, f)) >= 0) {
		char **more = realloc(c->classes, (count + 2) * sizeof *more);

		while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
			line[--length] = 0;
		enough = more && (c->classes = more, more[count] = strdup(line));
		if (enough)
			more[++count] = NULL;
	}
	free(line);
	fclose(f);
	return enough ? INVAR_OK : inv_no_memory();
}

/* ---- Outputs --------------------------------------------------------------------------
 */

static bool ends_in(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);

	return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool is_picture(const char *path)
{
	return ends_in(path, ".png") || ends_in(path, ".svg");
}

static invar_status check_output(inv_session *s, const char *path)
{
	bool points = ends_in(path, ".npy"), force = inv_flag(s, "force");

	if (is_picture(path))
		return inv_figure_check(s, path, force);
	if (!points && !ends_in(path, ".json"))
		return inv_fail(INVAR_E_USE,
		                "-o %s must end in .npy (points), .json (results), .png or .svg "
		                "(a plot)",
		                path);
	return inv_check_output(
		s, &(inv_output){.option = "-o",
	                     .path = path,
	                     .kind = points ? &inv_kind_npy : &inv_kind_results,
	                     .force = force});
}

static invar_status check_outputs(inv_session *s)
{
	const char *path;
	invar_status st = inv_need(inv_options_text(s->options, "output", 0),
	                           "the file for the result is missing: -o OUT.npy");

	for (size_t i = 0; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "the features");
	for (size_t i = 0; (path = inv_options_text(s->options, "labels", i)); i++)
		inv_reads(s, path, "the labels");
	inv_reads(s, inv_text(s, "class-names"), "the names");
	for (size_t i = 0; st == INVAR_OK && (path = inv_options_text(s->options, "output", i));
	     i++)
		st = check_output(s, path);
	return st;
}

static invar_status draw_points(inv_session *s, const invar_results *r, const char *path)
{
	inv_figures figures = {0};
	invar_status st = inv_figures_add(&figures, r);

	if (st == INVAR_OK)
		st = inv_figure_save(s, &figures.one[0], path, false);
	inv_figures_free(&figures);
	return st;
}

static invar_status write_output(inv_session *s, const tsne_call *c, const invar_results *r,
                                 const char *path)
{
	const uint64_t shape[2] = {c->total, 2};

	if (is_picture(path))
		return draw_points(s, r, path);
	if (ends_in(path, ".npy"))
		return invar_array_write(s->ctx, path, c->points, 2, shape, INVAR_FLOAT32);
	return inv_save_results(s, path, r);
}

static invar_status write_outputs(inv_session *s, const tsne_call *c,
                                  const invar_results *r)
{
	const char *path;
	invar_status st = INVAR_OK;

	for (size_t i = 0; st == INVAR_OK && (path = inv_options_text(s->options, "output", i));
	     i++) {
		st = write_output(s, c, r, path);
		if (st == INVAR_OK)
			inv_term_say(s->term, "%s is written", path);
	}
	return st;
}

static double number(const invar_results *r, const char *metric)
{
	return invar_results_value(r, metric, "tsne")->value;
}

static invar_status print_json(inv_session *s, const tsne_call *c, const invar_results *r)
{
	json_t *inputs = json_array(), *outputs = json_array();
	const char *path;

	for (size_t i = 0; i < s->arguments; i++)
		json_array_append_new(inputs,
		                      json_pack("{s:o, s:I}", "path", inv_name_json(c->in[i].path),
		                                "rows", (json_int_t)c->rows[i]));
	for (size_t i = 0; (path = inv_options_text(s->options, "output", i)); i++)
		json_array_append_new(outputs, inv_name_json(path));
	return inv_print_json(json_pack(
		"{s:f, s:I, s:I, s:I, s:o, s:o}", "kl", number(r, "tsne.kl"), "iterations",
		(json_int_t)number(r, "tsne.iterations"), "rows", (json_int_t)c->total, "dim",
		(json_int_t)c->dim, "inputs", inputs, "outputs", outputs));
}

static void print_text(const inv_session *s, const tsne_call *c, const invar_results *r)
{
	const char *note;

	printf("%llu %s of %zu %s, width %u\n", (unsigned long long)c->total,
	       inv_noun(c->total, "row", "rows"), s->arguments,
	       inv_noun(s->arguments, "array", "arrays"), c->dim);
	printf("KL divergence %.4f after %.0f iterations\n", number(r, "tsne.kl"),
	       number(r, "tsne.iterations"));
	for (size_t i = 0; (note = inv_results_note_at(r, i)); i++)
		inv_print_line(stdout, "%s", note);
}

/* ---- The command -------------------------------------------------------------------- */

static invar_status embed(inv_session *s, tsne_call *c)
{
	const invar_tsne_rows in = {.size = sizeof in,
	                            .rows = c->joined ? c->joined : c->in[0].data,
	                            .count = c->total,
	                            .dim = c->dim,
	                            .labels = c->labels,
	                            .classes = (const char *const *)c->classes,
	                            .parts = s->arguments,
	                            .part_rows = c->rows,
	                            .part_titles = (const char *const *)c->titles};
	invar_results *r;
	invar_status st;

	if (!(c->points = malloc((size_t)c->total * 2 * sizeof *c->points)))
		return inv_no_memory();
	if ((st = invar_tsne(s->ctx, &in, s->options, c->points, &r)) != INVAR_OK)
		return st;
	st = write_outputs(s, c, r);
	if (st == INVAR_OK && s->common->json)
		st = print_json(s, c, r);
	else if (st == INVAR_OK)
		print_text(s, c, r);
	invar_results_free(r);
	return st;
}

static void free_call(tsne_call *c, size_t arrays)
{
	for (size_t i = 0; i < arrays && c->in; i++)
		inv_array_drop(&c->in[i]);
	for (size_t i = 0; i < arrays && c->titles; i++)
		free(c->titles[i]);
	for (size_t i = 0; c->classes && c->classes[i]; i++)
		free(c->classes[i]);
	free(c->in);
	free(c->rows);
	free(c->titles);
	free(c->classes);
	free(c->joined);
	free(c->labels);
	free(c->points);
}

static invar_status run_tsne(inv_session *s)
{
	tsne_call c = {0};
	invar_status st;

	if ((st = check_outputs(s)) != INVAR_OK || (st = inv_session_start(s)) != INVAR_OK)
		return st;
	c.in = calloc(s->arguments, sizeof *c.in);
	c.rows = calloc(s->arguments, sizeof *c.rows);
	c.titles = calloc(s->arguments, sizeof *c.titles);
	if (!c.in || !c.rows || !c.titles)
		st = inv_no_memory();
	for (size_t i = 0; i < s->arguments && st == INVAR_OK; i++)
		st = look_at_array(s, &c, i);
	if (st == INVAR_OK && (st = read_labels(s, &c)) == INVAR_OK &&
	    (st = read_class_names(s, &c)) == INVAR_OK && (st = take_arrays(s, &c)) == INVAR_OK)
		st = embed(s, &c);
	free_call(&c, s->arguments);
	if (st == INVAR_OK)
		inv_term_close(s->term);
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
	.run = run_tsne,
};
