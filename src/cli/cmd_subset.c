/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_subset.c - invar subset: classes that are far apart, as a list for --classes.
 *
 * Standard output is the list and nothing else, so that it can go into a file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bank/bank.h"
#include "cli/command_options.h"
#include "cli/term.h"
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
	{"BANK", "folder of features with labels: train/clean.npy, train/labels.npy", 1, 1},
	{0},
};

static const invar_option own[] = {
	{.name = "count",
     .type = INVAR_OPTION_COUNT,
     .initial = "10",
     .min = 2,
     .max = 1 << 20,
     .meta = "K",
     .group = "Choice",
     .help = "number of classes"},
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "NAME",
     .group = "Choice",
     .help = "split whose class means are compared"},
	{0},
};

typedef struct subset {
	uint32_t count;
	int64_t *label;
	double *distance;
} subset;

/* A line holds a name unless the bank has none, or one that is not a line. */
static const char *line_of(const invar_bank *b, int64_t label, char number[24])
{
	const char *name = inv_bank_class(b, label);

	for (const char *at = name; at && (*at || at == name); at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			name = NULL;
	snprintf(number, 24, "%lld", (long long)label);
	return name ? name : number;
}

static void print_list(const invar_bank *b, const subset *c)
{
	char number[24];

	for (uint32_t i = 0; i < c->count; i++)
		printf("%s\n", line_of(b, c->label[i], number));
}

static invar_status print_json(inv_session *s, const invar_bank *b, const subset *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->count; i++) {
		const char *name = inv_bank_class(b, c->label[i]);

		json_array_append_new(list, json_pack("{s:I, s:s*, s:f}", "label",
		                                      (json_int_t)c->label[i], "name", name,
		                                      "distance", c->distance[i]));
	}
	return inv_print_json(
		json_pack("{s:s, s:o}", "split", inv_text(s, "split"), "classes", list));
}

static invar_status choose(inv_session *s, const invar_bank *b, subset *c)
{
	invar_status st;

	c->label = calloc(c->count, sizeof *c->label);
	c->distance = calloc(c->count, sizeof *c->distance);
	if (!c->label || !c->distance)
		return inv_no_memory();
	st = inv_subset(b, inv_text(s, "split"), c->count, c->label, c->distance);
	if (st != INVAR_OK)
		return st;
	inv_term_close(s->term);
	if (s->common->json)
		return print_json(s, b, c);
	print_list(b, c);
	return INVAR_OK;
}

static invar_status run_subset(inv_session *s)
{
	subset c = {.count = (uint32_t)inv_number(s, "count")};
	invar_bank *bank = NULL;
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK)
		st = invar_bank_open(s->ctx, s->argument[0], s->options, &bank);
	if (st == INVAR_OK)
		st = choose(s, bank, &c);
	invar_bank_close(bank);
	free(c.label);
	free(c.distance);
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
	.run = run_subset,
};
