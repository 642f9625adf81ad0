/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - see outputs.h for the rules. */
#include "cli/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
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

static void add_input(inv_session *s, const char *path, size_t length, const char *what,
                      bool all)
{
	char *copy = strndup(path, length);
	struct inv_input *longer = realloc(s->inputs, (s->input_count + 1) * sizeof *longer);

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
	if (path)
		add_input(s, path, strlen(path), what, false);
}

void inv_reads_all(inv_session *s, const char *folder, const char *what)
{
	if (folder)
		add_input(s, folder, strlen(folder), what, true);
}

void inv_reads_list(inv_session *s, const char *list, const char *what)
{
	while (list) {
		const char *comma = strchr(list, ',');

		inv_reads_all(s, list, what);
		if (comma)
			add_input(s, list, (size_t)(comma - list), what, true);
		list = comma ? comma + 1 : NULL;
	}
}

void inv_reads_dataset(inv_session *s, const char *dataset)
{
	const char *colon = dataset ? strpbrk(dataset, ":/") : NULL;

	if (!colon || *colon == '/' || inv_path_is_folder(dataset))
		inv_reads_all(s, dataset, "the images");
	else
		inv_reads_list(s, colon + 1, "the images");
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

static bool is_of_input(const struct stat *file, const struct inv_input *in)
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
	return found || (in->all && is_among(file, in->path));
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

/* Neither a file nor a folder is made among data that is read. */
static invar_status check_place(const inv_session *s, const char *option, const char *path)
{
	char *home = home_of(path);
	const struct inv_input *in = NULL;

	for (size_t i = 0; home && i < s->input_count && !in; i++)
		if (s->inputs[i].all && lies_in(home, s->inputs[i].path))
			in = &s->inputs[i];
	free(home);
	if (!in)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"%s%s%s is inside %s, among %s that this command reads; choose another place",
		option ? option : "", option ? " " : "", path, in->path, in->what);
}

/* ---- Kinds ------------------------------------------------------------------------ */

const inv_file_kind inv_kind_npy = {"a NumPy file", {"\x93NUMPY"}, 0};
const inv_file_kind inv_kind_safetensors = {"a safetensors file", {"{\""}, 8};
const inv_file_kind inv_kind_png = {"a PNG picture", {"\x89PNG\r\n"}, 0};
const inv_file_kind inv_kind_svg = {"an SVG picture", {"<svg", "<?xml"}, 0};
const inv_file_kind inv_kind_results = {
	"a JSON file of results", {"{\n  \"format\": \"invar-results\""}, 0};
/* Its first heading is empty, the second is F. */
const inv_file_kind inv_kind_table = {
	"a table of 'invar eval'", {",F", "|  | F ", "\\begin{tabular}"}, 0};
const inv_file_kind inv_kind_params = {
	"a JSON file of parameters", {"{\n \"augment\": ", "{\"augment\": "}, 0};
const inv_file_kind inv_kind_page = {"a page of 'invar report'", {INV_REPORT_MARK}, 0};

const inv_file_kind *inv_sheet_kind(const char *path)
{
	size_t length = strlen(path);

	return length >= 4 && strcmp(path + length - 4, ".svg") == 0 ? &inv_kind_svg
	                                                             : &inv_kind_png;
}

static bool is_of_kind(const inv_output *o)
{
	char text[64] = "";
	int fd = open(o->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? pread(fd, text, sizeof text - 1, (off_t)o->kind->after) : -1;

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; bytes > 0 && i < 3 && o->kind->begins[i]; i++)
		if (strncmp(text, o->kind->begins[i], strlen(o->kind->begins[i])) == 0)
			return true;
	return false;
}

/* ---- The rules -------------------------------------------------------------------- */

static invar_status check_inputs(const inv_session *s, const inv_output *o,
                                 const char *path, const struct stat *file)
{
	for (size_t i = 0; i < s->input_count; i++)
		if (is_of_input(file, &s->inputs[i]))
			return inv_fail(
				INVAR_E_USE,
				"%s%s%s would replace %s that this command reads; choose another file",
				o->option ? o->option : "", o->option ? " " : "", path, s->inputs[i].what);
	return INVAR_OK;
}

/* Its part file must not be an input either. */
static invar_status check_part(const inv_session *s, const inv_output *o)
{
	char *real = realpath(o->path, NULL), *part;
	struct stat file;
	invar_status st = INVAR_OK;

	if (asprintf(&part, "%s.invar.part", real ? real : o->path) < 0)
		part = NULL;
	if (part && stat(part, &file) == 0 && S_ISREG(file.st_mode))
		st = check_inputs(s, o, part, &file);
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

static invar_status check_existing(const inv_output *o, const struct stat *file)
{
	if (!o->kind || o->force)
		return INVAR_OK;
	if (file->st_size > 0 && !is_of_kind(o)) /* an empty file has nothing to lose */
		return inv_fail(INVAR_E_IO,
		                "%s: already exists and is not %s; choose another file, or replace "
		                "it with --force",
		                o->path, o->kind->name);
	if (access(o->path, W_OK) != 0 && errno == EACCES)
		return inv_fail(
			INVAR_E_IO,
			"%s: is write-protected; choose another file, or replace it with --force",
			o->path);
	return INVAR_OK;
}

invar_status inv_check_output(inv_session *s, const inv_output *o)
{
	struct stat file;
	bool exists;

	if (!o->path || (o->stream && strcmp(o->path, "-") == 0) ||
	    inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	if (s->inputs_missing)
		return inv_no_memory();
	if (!*o->path || strcmp(o->path, "-") == 0)
		return inv_fail(INVAR_E_USE,
		                "'%s' is not a file name, and the result cannot go to standard "
		                "output; give a file name",
		                o->path);
	exists = stat(o->path, &file) == 0;
	if (exists) {
		INV_TRY(check_regular(o, &file));
		INV_TRY(check_inputs(s, o, o->path, &file));
	}
	INV_TRY(check_place(s, o->option, o->path));
	INV_TRY(check_part(s, o));
	if (exists)
		INV_TRY(check_existing(o, &file));
	return inv_check_writable(o->path);
}

invar_status inv_check_output_option(inv_session *s, const inv_file_kind *kind)
{
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = inv_text(s, "output"),
	                                         .kind = kind,
	                                         .force = inv_flag(s, "force")});
}

invar_status inv_check_output_folder(inv_session *s, const char *option, const char *path)
{
	if (!path || inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	if (s->inputs_missing)
		return inv_no_memory();
	if (!*path || strcmp(path, "-") == 0)
		return inv_fail(INVAR_E_USE,
		                "'%s' is not a folder name, and the result cannot go to standard "
		                "output; give a folder name",
		                path);
	return check_place(s, option, path);
}
