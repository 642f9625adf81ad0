/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - invar check: does new data look like what an adapter was certified on? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "cli/arrays.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
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
     1, 1},
	{"NEW", "a bank, or features [n, d] as a NumPy file; labels are not needed", 1, 1},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "also write the results to this file, as JSON")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status check_bank(inv_session *s, const invar_adapter *e, invar_results **out)
{
	invar_bank *bank = NULL;
	invar_status st = inv_bank_open(s->ctx, s->argument[1], &bank);

	if (st == INVAR_OK)
		st = invar_check(e, bank, s->options, out);
	invar_bank_close(bank);
	return st;
}

static invar_status check_array(inv_session *s, const invar_adapter *e, invar_results **out)
{
	inv_given_array a = {0};
	invar_bank *bank = NULL;
	const uint64_t *shape;
	invar_status st = inv_array_look(s, s->argument[1], &a);

	if (st == INVAR_OK) {
		shape = a.array->h.shape;
		if (a.array->h.rank != 2 || shape[1] != invar_adapter_input(e))
			st = inv_fail(INVAR_E_MISMATCH, "%s: its shape is %s but %s takes [n, %u]",
			              a.path, a.shape, invar_adapter_path(e), invar_adapter_input(e));
	}
	if (st == INVAR_OK)
		st = inv_array_take(&a);
	if (st == INVAR_OK)
		st = invar_bank_from_arrays(s->ctx, a.data, NULL, NULL, shape[0], 0,
		                            (uint32_t)shape[1], &bank);
	if (st == INVAR_OK)
		st = invar_check(e, bank, s->options, out);
	invar_bank_close(bank);
	inv_array_drop(&a);
	return st;
}

static invar_status show_results(inv_session *s, const invar_results *r)
{
	const char *verdict = invar_results_about(r, "verdict");
	inv_table *t;
	bool written;

	s->result = strcmp(verdict, "drift") == 0 ? DRIFT : 0;
	if (s->common->json)
		return inv_print_results(r);
	t = inv_results_table(r);
	written = t && inv_table_write(t, "text", stdout);
	inv_table_free(t);
	if (!written)
		return inv_no_memory();
	putchar('\n');
	inv_print_line(stdout, "%s: %s", verdict, invar_results_about(r, "why"));
	return INVAR_OK;
}

static invar_status check_output(inv_session *s)
{
	inv_reads(s, s->argument[0], "the adapter");
	inv_reads_all(s, s->argument[1], "the features");
	return inv_check_output_option(s, &inv_kind_results);
}

static invar_status run_check(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_adapter *e = NULL;
	invar_results *r = NULL;
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK)
		st = check_output(s);
	if (st == INVAR_OK)
		st = invar_adapter_open(s->ctx, s->argument[0], &e);
	if (st == INVAR_OK)
		st = inv_path_is_folder(s->argument[1]) ? check_bank(s, e, &r)
		                                        : check_array(s, e, &r);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	if (st == INVAR_OK)
		st = show_results(s, r);
	if (st == INVAR_OK && output)
		st = inv_save_results(s, output, r);
	invar_results_free(r);
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
	.run = run_check,
};
