/* SPDX-License-Identifier: Apache-2.0 */
/* command_files.c - names and folders, as the commands need them. */
#include "cli/command_files.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *inv_path(const char *folder, const char *name)
{
	size_t length = strlen(folder);
	char *path;

	if (asprintf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/",
	             name) < 0)
		return NULL;
	return path;
}

bool inv_path_is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

invar_status inv_folder_make(const char *path)
{
	if (mkdir(path, 0777) == 0 || (errno == EEXIST && inv_path_is_folder(path)))
		return INVAR_OK;
	if (errno == EEXIST)
		return inv_fail(INVAR_E_IO, "%s: is a file, expected a folder", path);
	return inv_fail(INVAR_E_IO, "%s: cannot create the folder: %s", path, strerror(errno));
}

invar_status inv_check_writable(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	invar_status st = INVAR_OK;

	if (!folder)
		return inv_no_memory();
	if (inv_path_is_folder(path))
		st = inv_fail(INVAR_E_IO, "%s: is a folder, expected a file", path);
	else if (access(folder, F_OK) == 0 && !inv_path_is_folder(folder))
		st = inv_fail(INVAR_E_IO, "%s: cannot write: %s is not a folder", path, folder);
	else if (access(folder, W_OK | X_OK) != 0)
		st = inv_fail(INVAR_E_IO, "%s: cannot write: %s", path, strerror(errno));
	free(folder);
	return st;
}

invar_status inv_save_results(inv_session *s, const char *path, const invar_results *r)
{
	char *text;
	invar_status st = invar_results_json(r, &text);

	if (st == INVAR_OK)
		st = inv_file_write(s->ctx, path, text, strlen(text));
	invar_free(text);
	return st;
}

invar_status inv_print_results(const invar_results *r)
{
	char *text;
	invar_status st = invar_results_json(r, &text);

	if (st == INVAR_OK) {
		fputs(text, stdout);
		if (ferror(stdout))
			putchar('\n'); /* finds the reason again when stdout is closed */
	}
	invar_free(text);
	return st;
}

json_t *inv_last_json_line(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	json_t *last = NULL;

	while (file && getline(&line, &size, file) > 0) {
		json_t *now = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		if (now) {
			json_decref(last);
			last = now;
		}
	}
	free(line);
	if (file)
		fclose(file);
	return last;
}

json_t *inv_name_json(const char *text)
{
	json_t *string = json_string(text);
	char *plain;

	if (string || !(plain = strdup(text)))
		return string;
	for (char *at = plain; *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	string = json_string(plain);
	free(plain);
	return string;
}
