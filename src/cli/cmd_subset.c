/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_subset.c - invar subset: classes that are far apart, as a list for --classes.
 *
 * Standard output is the list and nothing else, so that it can go into a file.
 */
#include <stdio.h>

#include "bank/bank.h"
#include "cli/command_options.h"
#include "measure/subset.h"

static const inv_example examples[] = {
	{"invar subset bank -k 50 > classes.txt", "the 50 classes that are farthest apart"},
	{"invar encode photos -o small --classes classes.txt --encoder pixels",
     "a bank of these classes alone"},
	{"invar eval bank run --classes classes.txt",
     "the same classes of the bank itself, without encoding them again"},
	{"invar subset bank -k 5 --json", "with their distances"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with labels: train/clean.npy, train/labels.npy", 1, 1,
     INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(COUNT, "count", "K", "Classes", "number of classes"), .initial = "10",
     .min = 2, .max = 1 << 20},
	{INV_ROW(TEXT, "split", "NAME", "Classes", "split whose class means are compared"),
     .initial = "train"},
	{0},
};

static invar_status run_subset(inv_session *s)
{
	const uint32_t count = (uint32_t)inv_number(s, "count");
	invar_bank *b = NULL;
	json_t *list = json_array();
	int64_t *label = NULL;
	double *distance = NULL;
	invar_status st;

	INV_TRY_OR(end, invar_bank_open(s->ctx, s->argument[0], s->options, &b));
	INV_TRY_OR(end, inv_new_zeros(&label, count));
	INV_TRY_OR(end, inv_new_zeros(&distance, count));
	INV_TRY_OR(end, inv_subset(b, inv_text(s, "split"), count, label, distance));
	for (uint32_t i = 0; i < count; i++) {
		const char *name = inv_bank_class(b, label[i]), *at = name;

		while (at && (unsigned char)*at >= ' ' && *at != 127)
			at++;
		if (s->json)
			json_array_append_new(list, json_pack("{s:I, s:s*, s:f}", "label",
			                                      (json_int_t)label[i], "name", name,
			                                      "distance", distance[i]));
		else if (name && *name && !*at) /* a line of text */
			printf("%s\n", name);
		else
			printf("%lld\n", (long long)label[i]);
	}
	if (s->json)
		st = inv_print_json(
			json_pack("{s:s, s:O}", "split", inv_text(s, "split"), "classes", list));
end:
	invar_bank_close(b);
	json_decref(list);
	inv_free(label);
	inv_free(distance);
	return st;
}

const inv_command inv_cmd_subset = {
	.name = "subset",
	.purpose = "chooses the classes of a bank that are farthest apart",
	.usage = "BANK -k K [options]",
	.about = "Prints a list for --classes, one class per line: its name if bank.json has "
			 "one, else its label. The two classes whose mean clean features are farthest "
			 "apart come first, then each time the class whose nearest chosen one is "
			 "farthest.",
	.examples = examples,
	.arguments = arguments,
	.options = "bank",
	.own = own,
	.without = "seed",
	.is_timed = true,
	.run = run_subset,
};
