/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.c - see trial_table.h. */
#include "cli/trial_table.h"

#include <stdio.h>

#include "cli/command_options.h"
#include "report/line_text.h"
#include "report/results_table.h"
#include "run/results.h"

static void print_heading(const invar_results *r)
{
	char origin[INV_HEADING];

	inv_print_line(stdout,
	               "%strial on %.0f held-out images of the %.0f of %s; clean | augmented "
	               "queries",
	               inv_results_origin(r, origin), inv_results_about_number(r, "held_out"),
	               inv_results_about_number(r, "points"), invar_results_about(r, "split"));
	putchar('\n');
}

invar_status inv_print_trial(const invar_results *r)
{
	bool measured = inv_results_about_number(r, "held_out") > 0, written = true;

	if (measured) {
		inv_table *t = inv_results_table_short(r);

		print_heading(r);
		written = t && inv_table_write(t, "text", stdout);
		inv_table_free(t);
		putchar('\n');
	}
	if (!written)
		return inv_no_memory();
	printf("verdict: %s\n%s\n", invar_results_about(r, "verdict"),
	       invar_results_about(r, "why"));
	fflush(stdout);
	return INVAR_OK;
}
