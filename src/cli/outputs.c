/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - see outputs.h for the rules. */
#include "cli/outputs.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "base/words.h"
#include "cli/command_options.h"
#include "cli/command_results.h"

struct inv_input {
	char *path;
	inv_reading reading;
};

static invar_status add_input(inv_session *s, const char *path, size_t length,
                              inv_reading reading)
{
	struct inv_input *longer = realloc(s->inputs, (s->input_count + 1) * sizeof *longer);

	if (longer)
		s->inputs = longer;
	if (!longer || !(longer[s->input_count].path = strndup(path, length)))
		return inv_no_memory();
	longer[s->input_count++].reading = reading;
	return INVAR_OK;
}

invar_status inv_reads(inv_session *s, const char *text, inv_reading reading)
{
	const char *colon = text ? strpbrk(text, ":/") : NULL;

	if (!text || reading == INV_READS_NOTHING)
		return INVAR_OK;
	INV_TRY(add_input(s, text, strlen(text), reading));
	for (text = colon && *colon == ':' ? colon + 1 : text; *text;) {
		size_t length = strcspn(text, ",");

		INV_TRY(add_input(s, text, length, reading));
		text += length + (text[length] == ',');
	}
	return INVAR_OK;
}

void inv_reads_clear(inv_session *s)
{
	for (size_t i = 0; i < s->input_count; i++)
		free(s->inputs[i].path);
	free(s->inputs);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool is_input(const struct stat *file, const struct inv_input *in)
{
	/* In a run or in a folder of weights. */
	static const char *const names[] = {"adapter.safetensors",
	                                    "decoder.safetensors",
	                                    "checkpoint.safetensors",
	                                    "run.json",
	                                    "log.jsonl",
	                                    "metrics.json",
	                                    "model.safetensors",
	                                    "pytorch_model.bin",
	                                    "config.json",
	                                    "preprocessor_config.json"};
	struct stat info;
	bool same;

	if (strcmp(in->path, "-") == 0)
		return fstat(STDIN_FILENO, &info) == 0 && is_same(&info, file);
	if (stat(in->path, &info) != 0)
		return false;
	same = is_same(&info, file);
	for (size_t i = 0; S_ISDIR(info.st_mode) && i < sizeof names / sizeof *names; i++) {
		char *path = inv_join(in->path, names[i]);
		struct stat inside;

		same = same || (path && stat(path, &inside) == 0 && is_same(&inside, file));
		inv_free(path);
	}
	if (S_ISDIR(info.st_mode) && in->reading == INV_READS_DATA && !same) {
		/* Folders of images may have links to other places. */
		FTS *tree =
			fts_open((char *const[]){in->path, NULL}, FTS_LOGICAL | FTS_NOCHDIR, NULL);

		for (FTSENT *e; tree && !same && (e = fts_read(tree));)
			same = e->fts_info == FTS_F && is_same(e->fts_statp, file);
		if (tree)
			fts_close(tree);
	}
	return same;
}

/* The nearest folder above `path` that exists, without links; gives, NULL: no memory. */
static char *existing_folder_of(const char *path)
{
	char *folder = realpath(path, NULL), *text = folder ? NULL : strdup(path), *slash;

	if (folder && !inv_is_folder(folder) && (slash = strrchr(folder, '/')))
		slash[slash == folder] = '\0';
	while (text && !folder) {
		if ((slash = strrchr(text, '/')))
			slash[slash == text] = '\0';
		folder = realpath(slash ? text : ".", NULL);
		if (!slash || slash == text)
			break;
	}
	free(text);
	return folder;
}

/* Whether `folder`, a path without links, is the folder `outer` or below it. */
static bool lies_in(const char *folder, const char *outer)
{
	char *place = realpath(outer, NULL);
	size_t length = place ? strlen(place) : 0;
	bool inside = place && inv_is_folder(place) && strncmp(folder, place, length) == 0 &&
	              (length == 1 || !folder[length] || folder[length] == '/');

	free(place);
	return inside;
}

static bool reads_file(const inv_session *s, const struct stat *file)
{
	for (size_t i = 0; i < s->input_count; i++)
		if (is_input(file, &s->inputs[i]))
			return true;
	return false;
}

/* An output is written to its part file first. */
static bool reads_part_of(const inv_session *s, const char *path)
{
	char *real = realpath(path, NULL), *part = NULL;
	struct stat file;
	bool reads;

	if (asprintf(&part, "%s" INV_PART, real ? real : path) < 0)
		part = NULL;
	reads = part && stat(part, &file) == 0 && S_ISREG(file.st_mode) && reads_file(s, &file);
	free(part);
	free(real);
	return reads;
}

invar_status inv_check_writable(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	invar_status st = INVAR_OK;

	if (!folder)
		return inv_no_memory();
	if (access(folder, F_OK) == 0 && !inv_is_folder(folder))
		st = inv_fail(INVAR_E_IO, "%s: cannot write: %s is not a folder", path, folder);
	else if (access(folder, W_OK | X_OK) != 0)
		st = inv_fail_errno(path, "cannot write");
	free(folder);
	return st;
}

invar_status inv_check_output(inv_session *s, const inv_output *o)
{
	const char *option = o->option ? o->option : "", *blank = o->option ? " " : "";
	const char *hint = o->stream ? "; '-o -' is standard output" : "";
	char *folder;
	const char *endings = o->endings;
	char ending[INV_WORD];
	struct stat file, out;
	bool exists, named = false;

	if (!o->path || inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	if (o->stream && strcmp(o->path, "-") == 0)
		return s->json
		           ? inv_fail(
						 INVAR_E_USE,
						 "--json and '-o -' both write to standard output; use only one")
		           : INVAR_OK;
	if (!*o->path || strcmp(o->path, "-") == 0)
		return inv_fail(
			INVAR_E_USE,
			"'%s' is not a %s name, and the result cannot go to standard output; "
			"give a %s name",
			o->path, o->folder ? "folder" : "file", o->folder ? "folder" : "file");
	exists = !o->folder && stat(o->path, &file) == 0;
	if (exists && S_ISDIR(file.st_mode))
		return inv_fail(INVAR_E_IO, "%s: is a folder, expected a file", o->path);
	if (exists && !S_ISREG(file.st_mode))
		return inv_fail(INVAR_E_IO, "%s: is a pipe or a device, expected a file%s", o->path,
		                hint);
	if (exists && fstat(STDOUT_FILENO, &out) == 0 && is_same(&out, &file))
		return inv_fail(INVAR_E_USE,
		                "%s%s%s is already standard output; choose another file%s", option,
		                blank, o->path, hint);

	if ((exists && reads_file(s, &file)) || (!o->folder && reads_part_of(s, o->path)))
		return inv_fail(
			INVAR_E_USE,
			"%s%s%s would replace a file that this command reads; choose another file",
			option, blank, o->path);
	if (!(folder = existing_folder_of(o->path)))
		return inv_no_memory();
	for (size_t i = 0; i < s->input_count; i++)
		if (s->inputs[i].reading == INV_READS_DATA && lies_in(folder, s->inputs[i].path)) {
			free(folder);
			return inv_fail(
				INVAR_E_USE,
				"%s%s%s is inside %s, which this command reads; choose another place",
				option, blank, o->path, s->inputs[i].path);
		}
	free(folder);
	if (o->folder)
		return INVAR_OK;

	while (inv_next_word(&endings, '|', ending))
		named = named || inv_ends_in(o->path, ending);
	if (exists && file.st_size > 0 && !named && !o->force)
		return inv_fail(
			INVAR_E_IO,
			"%s: already exists; choose another file, or replace it with --force", o->path);
	if (exists && !o->force && access(o->path, W_OK) != 0 && errno == EACCES)
		return inv_fail(
			INVAR_E_IO,
			"%s: is write-protected; choose another file, or replace it with --force",
			o->path);
	return inv_check_writable(o->path);
}

invar_status inv_check_files(inv_session *s)
{
	const inv_command *c = s->command;
	const inv_argument *a = c->arguments;
	const invar_option *output = inv_options_find(s->options, "output"), *row;
	size_t of_argument = 0;

	for (size_t i = 0; i < s->arguments && a && a->name; i++) {
		INV_TRY(inv_reads(s, s->argument[i], a->reads));
		if (++of_argument == a->max) {
			of_argument = 0;
			a++;
		}
	}
	for (size_t i = 0; (row = invar_options_at(s->options, i)); i++) {
		bool data = strcmp(row->name, "data") == 0 || strcmp(row->name, "bank") == 0;
		const char *text;

		if (!inv_has_word(c->reads, '|', row->name))
			continue;
		for (size_t k = 0; (text = inv_options_text(s->options, row->name, k)); k++) {
			INV_TRY(inv_reads(s, text, data ? INV_READS_DATA : INV_READS_FILE));
			if (row->type != INVAR_OPTION_LIST)
				break;
		}
	}
	if (c->needs_output && !inv_options_text(s->options, "output", 0))
		return inv_fail(INVAR_E_USE, "the output is missing: -o %s", output->meta);
	if (c->output == INV_OUTPUT_NONE)
		return INVAR_OK;
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = inv_text(s, "output"),
	                                         .endings = c->endings,
	                                         .force = inv_flag(s, "force"),
	                                         .stream = c->output == INV_OUTPUT_STREAM,
	                                         .folder = c->output == INV_OUTPUT_FOLDER});
}
