/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grown_sets.c - the option sets of a later library: train has options at either end that
 * its callers do not know.
 */
#include "adapter/train_options.h"
#include "base/options.h"

#ifndef INVAR_GROWN
#error "the grown header must come before the plain one"
#endif

static const invar_option first[] = {
	{.name = "grown-first",
     .type = INVAR_OPTION_COUNT,
     .initial = "7",
     .help = "comes before all others",
     .grown_text = "later"},
	{0},
};

static const invar_option last[] = {
	{.name = "grown-last", .type = INVAR_OPTION_TEXT, .initial = "x", .choices = "x|y"},
	{0},
};

static invar_status declare_grown(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, first);

	if (st == INVAR_OK)
		st = inv_train_declare(o);
	return st == INVAR_OK ? inv_options_add_rows(o, last) : st;
}

#define inv_train_declare declare_grown
#include "study/option_sets.c"
