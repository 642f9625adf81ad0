/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - see outputs.h for the rules. */
#include "cli/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "run/run.h"

/* ---- What is read ----------------------------------------------------------------- */

struct inv_input {
	char *path;
	const char *what;
	bool all; /* of a folder, every file is read */
};

/* In a run or in a folder of weights. */
static const char *const known_names[] = {"adapter.safetensors",
                                          "decoder.safetensors",
                                          "checkpoint.safetensors",
                                          "run.json",
                                          "log.jsonl",
                                          "metrics.json",
                                          "model.safetensors",
                                          "pytorch_model.bin",
                                          "config.json",
                                          "preprocessor_config.json"};

static void add_input(inv_session *s, const char *path, const char *what, bool all)
{
	struct inv_input *longer;
	char *copy;

	if (!path)
		return;
	copy = strdup(path);
	longer = realloc(s->inputs, (s->input_count + 1) * sizeof *longer);
	if (longer)
		s->inputs = longer;
	if (!copy || !longer) {
		free(copy);
		s->inputs_missing = true;
		return;
	}
	longer[s->input_count++] = (struct inv_input){copy, what, all};
}

void inv_reads(inv_session *s, const char *path, const char *what)
{
	add_input(s, path, what, false);
}

void inv_reads_all(inv_session *s, const char *folder, const char *what)
{
	add_input(s, folder, what, true);
}

void inv_reads_arrays(inv_session *s, const char *text)
{
	const char *comma = strrchr(text, ',');
	char *first = comma ? strndup(text, (size_t)(comma - text)) : NULL;

	if (comma && !first)
		s->inputs_missing = true;
	inv_reads(s, text, "an array");
	inv_reads(s, first, "an array");
	inv_reads(s, comma ? comma + 1 : NULL, "an array");
	free(first);
}

/* Files separated by commas; a file whose own name has commas is the first of them. */
static void reads_list(inv_session *s, const char *text)
{
	inv_reads(s, text, "the images");
	while (text && strchr(text, ',')) {
		const char *comma = strchr(text, ',');
		char *part = strndup(text, (size_t)(comma - text));

		if (!part)
			s->inputs_missing = true;
		inv_reads(s, part, "the images");
		inv_reads(s, comma + 1, "the images");
		free(part);
		text = comma + 1;
	}
}

void inv_reads_dataset(inv_session *s, const char *dataset)
{
	/* Those whose every file is an image; other kinds know the names of their files. */
	static const char *const of_images[] = {"folder:", "tiny-imagenet:"};
	const char *colon = dataset ? strpbrk(dataset, ":/") : NULL;

	if (colon && (*colon == '/' || inv_path_is_folder(dataset))) /* a plain folder */
		colon = NULL;
	for (size_t i = 0; colon && i < sizeof of_images / sizeof *of_images; i++)
		if (strncmp(dataset, of_images[i], strlen(of_images[i])) == 0) {
			inv_reads_all(s, colon + 1, "the images");
			return;
		}
	if (colon && strncmp(dataset, "npy:", 4) == 0)
		inv_reads_arrays(s, colon + 1);
	else if (colon && strncmp(dataset, "tar:", 4) == 0)
		reads_list(s, colon + 1);
	else if (colon)
		inv_reads(s, colon + 1, "the images");
	else
		inv_reads_all(s, dataset, "the images");
}

void inv_reads_clear(inv_session *s)
{
	for (size_t i = 0; i < s->input_count; i++)
		free(s->inputs[i].path);
	free(s->inputs);
}

/* ---- One file, by any names ------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool is_named(const struct stat *file, const char *folder, const char *name)
{
	char *path = inv_path(folder, name);
	struct stat info;
	bool same = path && stat(path, &info) == 0 && is_same(&info, file);

	free(path);
	return same;
}

/* A folder of images may contain links to other places, so every file is checked. */
static bool is_among(const struct stat *file, char *folder)
{
	char *const roots[] = {folder, NULL};
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	bool found = false;

	for (FTSENT *e; walk && !found && (e = fts_read(walk));)
		found = e->fts_info == FTS_F && is_same(e->fts_statp, file);
	if (walk)
		fts_close(walk);
	return found;
}

static bool is_of_input(const struct stat *file, const struct inv_input *in, bool walk)
{
	struct stat info;
	bool found;

	if (strcmp(in->path, "-") == 0)
		return fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode) &&
		       is_same(&info, file);
	if (stat(in->path, &info) != 0)
		return false;
	found = is_same(&info, file);
	if (!S_ISDIR(info.st_mode))
		return found;
	for (size_t i = 0; i < sizeof known_names / sizeof *known_names && !found; i++)
		found = is_named(file, in->path, known_names[i]);
	return found || (in->all && walk && is_among(file, in->path));
}

/* ---- Where it would be ------------------------------------------------------------ */

/* The nearest folder that exists, without links; gives, or NULL. */
static char *home_of(const char *path)
{
	char *folder = realpath(path, NULL), *text = folder ? NULL : strdup(path);
	char *slash;

	if (folder && !inv_path_is_folder(folder) && (slash = strrchr(folder, '/')))
		slash[slash == folder] = '\0';
	while (text && !folder) {
		slash = strrchr(text, '/');
		if (slash)
			slash[slash == text] = '\0';
		folder = realpath(slash ? text : ".", NULL);
		if (!slash || slash == text)
			break;
	}
	free(text);
	return folder;
}

/* `home` has no links, so its folders are found by cutting it. */
static bool lies_in(const char *home, const char *folder)
{
	char *at = strdup(home), *slash;
	struct stat info, around;
	bool inside = false;

	if (at && stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
		for (;;) {
			if ((inside = stat(at, &around) == 0 && is_same(&around, &info)))
				break;
			slash = strrchr(at, '/');
			if (!slash || !slash[1])
				break;
			slash[slash == at] = '\0';
		}
	free(at);
	return inside;
}

static const struct inv_input *find_around(const inv_session *s, const char *path, bool all)
{
	char *home = home_of(path);
	const struct inv_input *found = NULL;

	for (size_t i = 0; home && i < s->input_count && !found; i++)
		if ((!all || s->inputs[i].all) && strcmp(s->inputs[i].path, "-") != 0 &&
		    lies_in(home, s->inputs[i].path))
			found = &s->inputs[i];
	free(home);
	return found;
}

/* ---- Kinds ------------------------------------------------------------------------ */

enum { BEGINNING = 512 };

static bool is_npy(const char *text, size_t bytes, const char *path)
{
	(void)path;
	return bytes >= 6 && memcmp(text, "\x93NUMPY", 6) == 0;
}

static bool is_safetensors(const char *text, size_t bytes, const char *path)
{
	(void)path;
	return bytes > 8 && text[8] == '{' && text[7] == 0 && text[6] == 0;
}

/* The version of the format, 3 to 31, comes first in every writer's models. */
static bool is_onnx(const char *text, size_t bytes, const char *path)
{
	(void)path;
	return bytes > 2 && text[0] == 0x08 && text[1] > 2 && text[1] < 32;
}

static bool is_card(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	(void)path;
	return strncmp(text, "---\n", 4) == 0 && strstr(text, "\nlibrary_name: invar\n");
}

static bool is_png(const char *text, size_t bytes, const char *path)
{
	(void)path;
	return bytes >= 8 && memcmp(text, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static bool is_svg(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	(void)path;
	return strstr(text, "<svg");
}

static bool has_key(const char *path, const char *key)
{
	json_t *json = json_load_file(path, 0, NULL);
	bool found = json_object_get(json, key);

	json_decref(json);
	return found;
}

static bool is_results(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	return strchr(text, '{') && has_key(path, "measurements");
}

/* Its first heading is empty, the second is F. */
static bool is_table(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	(void)path;
	return strncmp(text, ",F", 2) == 0 || strncmp(text, "|  | F ", 7) == 0 ||
	       strncmp(text, "\\begin{tabular}", 15) == 0;
}

static bool is_params(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	return strchr(text, '{') && has_key(path, "stages");
}

/* One of ours: any other page may be somebody's work. */
static bool is_page(const char *text, size_t bytes, const char *path)
{
	(void)bytes;
	(void)path;
	return strncmp(text, INV_REPORT_MARK, strlen(INV_REPORT_MARK)) == 0;
}

static const struct {
	const char *name;
	bool (*fits)(const char *beginning, size_t bytes, const char *path);
} kinds[] = {
	[INV_OUTPUT_NPY] = {"a NumPy file", is_npy},
	[INV_OUTPUT_SAFETENSORS] = {"a safetensors file", is_safetensors},
	[INV_OUTPUT_ONNX] = {"an ONNX model", is_onnx},
	[INV_OUTPUT_CARD] = {"a model card of 'invar export'", is_card},
	[INV_OUTPUT_PNG] = {"a PNG picture", is_png},
	[INV_OUTPUT_SVG] = {"an SVG picture", is_svg},
	[INV_OUTPUT_RESULTS] = {"a JSON file of results", is_results},
	[INV_OUTPUT_TABLE] = {"a table of 'invar eval'", is_table},
	[INV_OUTPUT_PARAMS] = {"a JSON file of parameters", is_params},
	[INV_OUTPUT_HTML] = {"a page of 'invar report'", is_page},
};

inv_output_kind inv_sheet_kind(const char *path)
{
	size_t length = strlen(path);

	return length >= 4 && strcmp(path + length - 4, ".svg") == 0 ? INV_OUTPUT_SVG
	                                                             : INV_OUTPUT_PNG;
}

/* An empty file has nothing to lose. */
static bool fits_kind(const inv_output *o, const struct stat *file)
{
	char text[BEGINNING + 1] = "";
	int fd = open(o->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, text, BEGINNING) : -1;

	if (fd >= 0)
		close(fd);
	return file->st_size == 0 ||
	       (bytes > 0 && kinds[o->kind].fits(text, (size_t)bytes, o->path));
}

/* ---- The rules -------------------------------------------------------------------- */

static invar_status check_name(const inv_output *o)
{
	if (*o->path && strcmp(o->path, "-") != 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "'%s' is not a file name, and the result cannot go to standard "
	                "output; give a file name",
	                o->path);
}

static invar_status refuse_input(const inv_output *o, const struct inv_input *in)
{
	return inv_fail(INVAR_E_USE,
	                "%s%s%s would replace %s that this command reads; choose another file",
	                o->option ? o->option : "", o->option ? " " : "", o->path, in->what);
}

static invar_status check_inputs(inv_session *s, const inv_output *o,
                                 const struct stat *file, bool walk)
{
	for (size_t i = 0; i < s->input_count; i++)
		if (is_of_input(file, &s->inputs[i], walk))
			return refuse_input(o, &s->inputs[i]);
	return INVAR_OK;
}

/* Its part file must not be an input either. */
static invar_status check_part(inv_session *s, const inv_output *o)
{
	char *real = realpath(o->path, NULL), *part;
	struct stat file;
	invar_status st = INVAR_OK;

	if (asprintf(&part, "%s.invar.part", real ? real : o->path) < 0)
		part = NULL;
	if (part && stat(part, &file) == 0 && S_ISREG(file.st_mode)) {
		inv_output first = *o;

		first.path = part;
		st = check_inputs(s, &first, &file, true);
	}
	free(part);
	free(real);
	return part ? st : inv_no_memory();
}

static invar_status check_regular(const inv_output *o, const struct stat *file)
{
	struct stat out;

	if (S_ISDIR(file->st_mode))
		return inv_fail(INVAR_E_IO, "%s: is a folder, expected a file", o->path);
	if (!S_ISREG(file->st_mode))
		return inv_fail(INVAR_E_IO, "%s: is a pipe or a device, expected a file%s", o->path,
		                o->stream ? "; '-o -' is standard output" : "");
	if (fstat(STDOUT_FILENO, &out) == 0 && is_same(&out, file))
		return inv_fail(INVAR_E_USE,
		                "%s%s%s is already standard output; choose another file%s",
		                o->option ? o->option : "", o->option ? " " : "", o->path,
		                o->stream ? ", or '-o -'" : "");
	return INVAR_OK;
}

static invar_status check_place(inv_session *s, const inv_output *o)
{
	const struct inv_input *around = find_around(s, o->path, true);

	if (!around || o->force)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"%s%s%s is inside %s, among %s that this command reads; choose another place%s",
		o->option ? o->option : "", o->option ? " " : "", o->path, around->path,
		around->what, o->kind == INV_OUTPUT_NEW ? "" : ", or give --force");
}

static invar_status check_kind(inv_session *s, const inv_output *o, bool fits)
{
	bool among = find_around(s, o->path, false);

	if (!fits && (!o->force || among))
		return inv_fail(INVAR_E_IO,
		                "%s: already exists and is not %s; choose another file%s", o->path,
		                kinds[o->kind].name, among ? "" : ", or replace it with --force");
	if (!o->force && access(o->path, W_OK) != 0 && errno == EACCES)
		return inv_fail(
			INVAR_E_IO,
			"%s: is write-protected; choose another file, or replace it with --force",
			o->path);
	return INVAR_OK;
}

/* No bank or data set contains files of these kinds. */
static bool is_no_data(inv_output_kind kind)
{
	return kind == INV_OUTPUT_RESULTS || kind == INV_OUTPUT_TABLE ||
	       kind == INV_OUTPUT_PARAMS || kind == INV_OUTPUT_SVG || kind == INV_OUTPUT_HTML;
}

static invar_status check_existing(inv_session *s, const inv_output *o,
                                   const struct stat *file)
{
	invar_status st = check_regular(o, file);
	bool fits = st == INVAR_OK && (o->kind == INV_OUTPUT_NEW || fits_kind(o, file));

	if (st == INVAR_OK)
		st = check_inputs(s, o, file, !(fits && is_no_data(o->kind)));
	if (st == INVAR_OK)
		st = check_place(s, o);
	return st == INVAR_OK && o->kind != INV_OUTPUT_NEW ? check_kind(s, o, fits) : st;
}

invar_status inv_check_output(inv_session *s, const inv_output *o)
{
	struct stat file;
	invar_status st;

	if (!o->path || (o->stream && strcmp(o->path, "-") == 0) ||
	    inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	if (s->inputs_missing)
		return inv_no_memory();
	if ((st = check_name(o)) != INVAR_OK)
		return st;
	st = stat(o->path, &file) == 0 ? check_existing(s, o, &file) : check_place(s, o);
	if (st == INVAR_OK)
		st = check_part(s, o);
	return st == INVAR_OK ? inv_check_writable(o->path) : st;
}

invar_status inv_check_output_option(inv_session *s, inv_output_kind kind)
{
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = inv_text(s, "output"),
	                                         .kind = kind,
	                                         .force = inv_flag(s, "force")});
}

invar_status inv_check_output_folder(inv_session *s, const char *option, const char *path)
{
	const struct inv_input *around;

	if (!path || inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	if (s->inputs_missing)
		return inv_no_memory();
	if (!*path || strcmp(path, "-") == 0)
		return inv_fail(INVAR_E_USE,
		                "'%s' is not a folder name, and the result cannot go to standard "
		                "output; give a folder name",
		                path);
	around = find_around(s, path, true);
	if (!around)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"%s %s is inside %s, among %s that this command reads; choose another place",
		option, path, around->path, around->what);
}
