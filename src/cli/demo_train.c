/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_train.c - the second part of the demo: adapters on the bank.
 *
 * Ridge is the closed form that training has to beat, robust the default of `invar train`;
 * MaWa in both its forms and WaCo are the paper's. All are smaller and trained for fewer
 * epochs than by default, which the messages say.
 */
#include <stdio.h>
#include <string.h>

#include "cli/demo.h"

enum { HIDDEN = 512, EPOCHS = 20 };

const char *const inv_demo_column[DEMO_COLUMNS] = {"F",    "ridge",    "robust",
                                                   "mawa", "residual", "waco"};

/* What each run differs in from the defaults of `invar train`. */
static const struct recipe {
	const char *title, *preset, *loss, *init;
	int residual;
} recipes[DEMO_ADAPTERS] = {
	{"ridge", "paper", "none", "ridge", 0},
	{"robust", "robust", "mawa", "random", 1},
	{"the paper's MaWa", "paper", "mawa", "random", 0},
	{"the paper's MaWa, residual", "paper", "mawa", "random", 1},
	{"WaCo", "paper", "waco", "random", 0},
};

/* A linear map needs 2 d hidden units: ReLU(z) - ReLU(-z) carries it. */
static uint64_t hidden_units(const inv_demo *d)
{
	uint64_t least = 2 * (uint64_t)invar_bank_dim(d->bank);

	return least > HIDDEN ? least : HIDDEN;
}

static void announce(const inv_demo *d, const struct recipe *r, char *out, size_t size)
{
	if (strcmp(r->loss, "none") == 0)
		snprintf(out, size, "Solving %s, which training has to beat.", r->title);
	else
		snprintf(out, size, "Training %s: %d epochs, %llu hidden units.", r->title, EPOCHS,
		         (unsigned long long)hidden_units(d));
}

static invar_status set_options(const inv_demo *d, size_t i, invar_options *o)
{
	const struct recipe *r = &recipes[i];
	invar_status st = invar_options_set(o, "preset", r->preset);

	if (st == INVAR_OK)
		st = invar_options_set(o, "loss", r->loss);
	if (st == INVAR_OK)
		st = invar_options_set(o, "init", r->init);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "residual", r->residual);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "hidden", (double)hidden_units(d));
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "epochs", EPOCHS);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "seed", (double)d->v->common.seed);
	return st;
}

static invar_status add_training(inv_demo *d, size_t i)
{
	char says[200];
	invar_options *o;
	invar_status st = invar_options_new("train", &o);

	announce(d, &recipes[i], says, sizeof says);
	if (st == INVAR_OK)
		st = set_options(d, i, o);
	if (st == INVAR_OK)
		st = invar_stages_add_train(d->stages, inv_demo_column[1 + i], says, d->bank_path,
		                            o, d->run_path[i]);
	invar_options_free(o);
	return st;
}

invar_status inv_demo_train(inv_demo *d)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < DEMO_ADAPTERS && st == INVAR_OK; i++)
		st = add_training(d, i);
	return st;
}
