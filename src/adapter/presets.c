/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.c - the table of presets, one row each.
 *
 * keep trains for 20 epochs, whatever the number of images: more costs structure, and clean
 * images on the smallest banks. Its vicinal rows weigh 4, not 1.5 as in the loss itself: with
 * 1.5, clean images of encoders with few features no longer all find themselves. What was
 * compared is in docs/design/KEEP.md.
 *
 * instant stretches what it fits: a regression pulls copies toward the mean of all, which
 * costs 1 to 7 points of 1-NN accuracy in an index of clean features (docs/ADAPTERS.md).
 */
#include "adapter/presets.h"

#include <string.h>

enum { VALUES = 12 };

typedef struct preset {
	const char *name, *summary;
	struct {
		const char *option, *text;
	} value[VALUES]; /* ended by a NULL option */
	bool residual;   /* scaled or init make E residual: residual=true asks for no more */
} preset;

static const preset presets[] = {
	{"keep",
     "KEEP: copies find their image, and the space stays as it is",
     {{"loss", "keep"},
      {"init", "random"},
      {"scaled", "true"},
      {"vicinal-weight", "4"},
      {"hidden", "1024"},
      {"epochs", "20"},
      {"lr", "1e-3"},
      {"lr-min", "4e-4"}},
     .residual = true},
	{"paper",
     "MaWa on a plain MLP, exactly as published, 100 epochs",
     {{"loss", "mawa"},
      {"init", "random"},
      {"residual", "false"},
      {"scaled", "false"},
      {"hidden", "4096"},
      {"epochs", "100"},
      {"lr", "1e-3"},
      {"lr-min", "4e-4"},
      {"weight-decay", "1e-4"}},
     .residual = false},
	{"instant",
     "ridge regression on random features, in seconds",
     {{"loss", "none"}, {"init", "features"}, {"spread", "scale"}},
     .residual = true},
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

/* Options that say what is trained: a preset fits only its own values of these. */
static const char *const method[] = {"loss", "init", "residual", "scaled", "width"};

enum { METHOD = sizeof method / sizeof *method };

static const char *preset_value(const preset *p, const char *option)
{
	for (size_t i = 0; i < VALUES && p->value[i].option; i++)
		if (strcmp(p->value[i].option, option) == 0)
			return p->value[i].text;
	return p->residual && strcmp(option, "residual") == 0 ? "true" : NULL;
}

static const char *find_conflict(const invar_options *o, const preset *p)
{
	for (size_t i = 0; i < METHOD; i++) {
		const char *value = preset_value(p, method[i]);

		if (inv_option_is_set(o, method[i]) &&
		    !(value ? inv_option_has_value(o, method[i], value)
		            : inv_option_is_default(o, method[i])))
			return method[i];
	}
	return NULL;
}

const char *inv_preset_conflict(const invar_options *o)
{
	size_t i = 0;

	while (strcmp(presets[i].name, INV_DEFAULT_PRESET) != 0)
		i++;
	return find_conflict(o, &presets[i]);
}

/* The default if it fits, else a preset of the loss that was set, else the first. */
static const char *choose_preset(const invar_options *o)
{
	if (!inv_preset_conflict(o))
		return INV_DEFAULT_PRESET;
	for (size_t i = 0; i < PRESETS && inv_option_is_set(o, "loss"); i++)
		if (!find_conflict(o, &presets[i]))
			return presets[i].name;
	return INV_FIRST_PRESET;
}

invar_status inv_preset_declare(invar_options *o, const char *selector)
{
	const inv_option_default fitting = {.name = selector, .choose = choose_preset};

	INV_TRY(inv_options_add_default(o, &fitting));
	for (const preset *p = presets; p < presets + PRESETS; p++)
		for (size_t i = 0; i < VALUES && p->value[i].option; i++) {
			const inv_option_default rule = {selector, p->name, p->value[i].option,
			                                 p->value[i].text, NULL};

			INV_TRY(inv_options_add_default(o, &rule));
		}
	return INVAR_OK;
}
