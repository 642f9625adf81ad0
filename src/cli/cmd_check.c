/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - invar check: does new data look like what an adapter was certified on? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "base/file.h"
#include "cli/arrays.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/term.h"
#include "measure/check.h"
#include "report/line_text.h"
#include "report/results_table.h"

enum { DRIFT = 3 }; /* exit code */

static const inv_example examples[] = {
	{"invar check run bank", "the split test of a bank against the adapter's certificate"},
	{"invar check adapter.safetensors tonight.npy --json -o check.json",
     "a nightly job: features of today's images; exit 3 means drift"},
	{0},
};

static const inv_argument arguments[] = {
	{"ADAPTER", "a safetensors file or a run folder, certified by 'invar eval --certify'",
     1, 1, INV_READS_FILE},
	{"NEW", "a bank, or features [n, d] as a NumPy file; labels are not needed", 1, 1,
     INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "also write the results to this file, as JSON")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status run_check(inv_session *s)
{
	const char *output = inv_text(s, "output"), *verdict;
	inv_given_array a = {0};
	const uint64_t *shape;
	invar_bank *bank = NULL;
	invar_adapter *e = NULL;
	invar_results *r = NULL;
	invar_status st;

	INV_TRY_OR(end, invar_adapter_open(s->ctx, s->argument[0], &e));
	if (inv_is_folder(s->argument[1])) {
		INV_TRY_OR(end, inv_bank_open(s->ctx, s->argument[1], &bank));
	} else { /* a NumPy file becomes a bank in memory, whose only split is test */
		INV_TRY_OR(end, inv_array_look(s, s->argument[1], &a));
		shape = a.array->h.shape;
		if (a.array->h.ndim != 2 || shape[1] != invar_adapter_input(e)) {
			st = inv_fail(INVAR_E_MISMATCH, "%s: its shape is %s but %s takes [n, %u]",
			              a.path, a.shape, invar_adapter_path(e), invar_adapter_input(e));
			goto end;
		}
		INV_TRY_OR(end, inv_array_take(&a));
		INV_TRY_OR(end, invar_bank_from_arrays(s->ctx, a.data, NULL, NULL, shape[0], 0,
		                                       (uint32_t)shape[1], &bank));
	}
	INV_TRY_OR(end, invar_check(e, bank, s->options, &r));
	inv_term_clear(s->term);
	verdict = invar_results_about(r, "verdict");
	s->result = strcmp(verdict, "drift") == 0 ? DRIFT : 0;
	if (s->json) {
		INV_TRY_OR(end, inv_print_results(r));
	} else {
		INV_TRY_OR(end, inv_put_table(inv_results_table(r, true), "text", stdout));
		putchar('\n');
		inv_print_line(stdout, "%s: %s", verdict, invar_results_about(r, "why"));
	}
	if (output)
		st = inv_save_results(s, output, r);
end:
	invar_results_free(r);
	invar_bank_close(bank);
	inv_array_drop(&a);
	invar_adapter_close(e);
	return st;
}

const inv_command inv_cmd_check = {
	.name = "check",
	.purpose = "tells whether new data looks like what an adapter was certified on",
	.usage = "ADAPTER NEW [options]",
	.about =
		"Compares clean features of new images with the certificate that 'invar eval "
		"--certify' wrote into the adapter, without labels: how far the features and their "
		"norms are shifted (the sliced Wasserstein distance in units of the old spread, "
		"held against what chance makes of so many rows), whether the adapter keeps the "
		"structure of the new features as it did, how far it moves them, and, if the bank "
		"has copies of the certified augmentation, how much of their displacement it "
		"removes. The verdict is 'fine', exit 0, or 'drift', exit 3. docs/CHECK.md has the "
		"rules.",
	.examples = examples,
	.arguments = arguments,
	.options = "check",
	.own = own,
	.without = "seed",
	.output = INV_OUTPUT_FILE,
	.endings = ".json",
	.is_basic = true,
	.is_timed = true,
	.run = run_check,
};
