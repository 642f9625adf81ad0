/* SPDX-License-Identifier: Apache-2.0 */
/* command_results.c - see command_results.h. */
#include "cli/command_results.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "report/line_text.h"
#include "report/results_table.h"
#include "run/results.h"

invar_status inv_put_table(inv_table *t, const char *format, FILE *out)
{
	bool written = t && inv_table_write(t, format, out);

	inv_table_free(t);
	return written ? INVAR_OK : inv_no_memory();
}

invar_status inv_print_results(const invar_results *r)
{
	char *text;

	INV_TRY(invar_results_json(r, &text));
	fputs(text, stdout);
	if (ferror(stdout))
		putchar('\n'); /* finds the reason again when stdout is closed */
	invar_free(text);
	return INVAR_OK;
}

invar_status inv_save_results(inv_session *s, const char *path, const invar_results *r)
{
	char *text;
	invar_status st;

	INV_TRY(invar_results_json(r, &text));
	st = inv_file_write(s->ctx, path, text, strlen(text));
	invar_free(text);
	return st;
}

invar_status inv_print_trial(const invar_results *r)
{
	char origin[INV_HEADING];
	double held_out = inv_results_about_number(r, "held_out");

	if (held_out > 0) {
		inv_print_line(
			stdout, "%strial on %.0f held-out images of the %.0f of %s; clean | augmented queries",
			inv_results_origin(r, origin), held_out, inv_results_about_number(r, "points"),
			invar_results_about(r, "split"));
		putchar('\n');
		INV_TRY(inv_put_table(inv_results_table(r, false), "text", stdout));
		putchar('\n');
	}
	printf("verdict: %s\n%s\n", invar_results_about(r, "verdict"),
	       invar_results_about(r, "why"));
	fflush(stdout);
	return INVAR_OK;
}

bool inv_ends_in(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);

	return length >= tail && strcmp(path + length - tail, ending) == 0;
}
