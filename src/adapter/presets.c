/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.c - the table of presets, one row each.
 *
 * robust and search have a rate of 5e-4 that falls to the same share as the paper's (0.4).
 * In PyTorch, on features of SqueezeNet (1300 images, 5 steps per epoch), what counted was
 * rate times epochs: 1e-3 for 30 epochs and 3e-4 for 100 end alike, ahead of the paper's
 * MaWa in structure and within its accuracy, and 3e-4 for 30 stops short of it. 5e-4 for 60
 * is the same product. More images make more steps per epoch, and errors that fall faster
 * than structure is lost.
 */
#include "adapter/presets.h"

enum { VALUES = 12 };

typedef struct preset {
	const char *name, *summary;
	struct {
		const char *option, *text;
	} value[VALUES]; /* ended by a NULL option */
} preset;

static const preset presets[] = {
	{"paper",
     "MaWa on a plain MLP, exactly as published",
     {{"loss", "mawa"},
      {"init", "random"},
      {"residual", "false"},
      {"scaled", "false"},
      {"hidden", "4096"},
      {"epochs", "100"},
      {"lr", "1e-3"},
      {"lr-min", "4e-4"},
      {"weight-decay", "1e-4"}}},
	{"robust",
     "MaWa on the scaled residual, which needs no tuning and keeps more structure",
     {{"loss", "mawa"},
      {"scaled", "true"},
      {"epochs", "60"},
      {"lr", "5e-4"},
      {"lr-min", "2e-4"}}},
	{"search",
     "anco on the scaled residual, for an existing index that is not rebuilt",
     {{"loss", "anco"},
      {"scaled", "true"},
      {"epochs", "60"},
      {"lr", "5e-4"},
      {"lr-min", "2e-4"}}},
	{"instant",
     "ridge regression on random features, in seconds and without training",
     {{"loss", "none"}, {"init", "features"}}},
};

enum { PRESETS = sizeof presets / sizeof *presets };

const char *inv_preset_name_at(size_t i)
{
	return i < PRESETS ? presets[i].name : NULL;
}

const char *inv_preset_summary_at(size_t i)
{
	return i < PRESETS ? presets[i].summary : NULL;
}

static invar_status add_values(invar_options *o, const char *selector, const preset *p)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < VALUES && p->value[i].option && st == INVAR_OK; i++) {
		const inv_option_default rule = {selector, p->name, p->value[i].option,
		                                 p->value[i].text};

		st = inv_options_add_default(o, &rule);
	}
	return st;
}

invar_status inv_preset_declare(invar_options *o, const char *selector)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < PRESETS && st == INVAR_OK; i++)
		st = add_values(o, selector, &presets[i]);
	return st;
}
