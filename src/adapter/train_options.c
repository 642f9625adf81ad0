/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.c - the options of training: their table and checks of combinations. */
#include "adapter/train_options.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "adapter/closed_forms/closed_form.h"
#include "adapter/option_rows.h"
#include "adapter/presets.h"
#include "adapter/spread.h"
#include "bank/class_view.h"
#include "bank/feature_name.h"
#include "base/options.h"
#include "base/text.h"
#include "base/words.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "images/dataset.h"

static const char *loss_choice(size_t i)
{
	size_t losses = 0;

	while (inv_loss_at(losses))
		losses++;
	return i == losses ? "none" : inv_loss_name_at(i);
}

static const char *loss_summary(size_t i)
{
	return inv_loss_at(i) ? inv_loss_at(i)->summary
	                      : "trains nothing: the closed form of init";
}

static const char *init_choice(size_t i)
{
	return i ? inv_closed_form_name_at(i - 1) : "random";
}

static const invar_option method_rows[] = {
	{INV_RESULT_ROW("preset", TEXT, INV_DEFAULT_PRESET, "Method",
                    "default values for a purpose; default: " INV_DEFAULT_PRESET
                    ", or the one that fits the loss, init and width that are set"),
     .choice = inv_preset_name_at, .choice_help = inv_preset_summary_at, .meta = "WORD"},
	{INV_RESULT_ROW("loss", TEXT, "mawa", "Method", "the loss to minimise"),
     .choice = loss_choice, .choice_help = loss_summary, .meta = "WORD"},
	{INV_EXPERT_ROW("init", TEXT, "random", "Method",
                    "initial E; identity, rigid and ridge need hidden to be at least twice "
                    "the feature width; features is residual"),
     .choice = init_choice, .meta = "WORD"},
	{INV_EXPERT_ROW("residual", FLAG, NULL, "Method",
                    "E(z) = z + MLP(z), which starts at the identity; unless scaled, try "
                    "it with a learning rate of 1e-4")},
	{INV_EXPERT_ROW("scaled", FLAG, NULL, "Method",
                    "train the residual in units of the spread of clean features about "
                    "their mean, so that one learning rate suits every encoder; implies "
                    "residual")},
	{INV_RESULT_ROW("unit", FLAG, NULL, "Method",
                    "divide features and codes by their norms, for cosine indexes; by "
                    "itself where all rows have norm 1, unless there is a decoder")},
	{INV_EXPERT_ROW("no-identity", FLAG, NULL, "Method", "leave out the clean rows")},
	{INV_EXPERT_ROW("samples", COUNT, "3", "Method",
                    "copies per image and step; simclr always uses 2"),
     .max = 1000, .meta = "N"},
	{INV_RESULT_ROW("hidden", COUNT, "4096", "Method",
                    "width of the hidden layer; of init features, random features"),
     .min = 1, .max = 1 << 20, .meta = "N"},
	{INV_EXPERT_ROW("width", COUNT, "0", "Method",
                    "width of the codes; 0: the feature width, the only choice for mawa "
                    "and keep"),
     .max = 1 << 20, .meta = "N"},
	{0},
};

static const invar_option training_rows[] = {
	{INV_EXPERT_ROW("strength", NUMBER, "1", "Method",
                    "how far features move: z + W (E(z) - z); 1 is E itself, less keeps "
                    "more of the structure"),
     .max = 10, .meta = "W"},
	{INV_EXPERT_ROW("decoder", FLAG, NULL, "Loss",
                    "train a decoder beside E that rebuilds clean features from their "
                    "codes")},
	{INV_EXPERT_ROW("split", TEXT, "train", "Data", "split to train on"), .meta = "NAME"},
	{INV_EXPERT_ROW("copies", COUNT, "0", "Data",
                    "use only the first N copies of the bank; 0: all"),
     .max = 1e6, .meta = "N"},
	{INV_EXPERT_ROW("validation", NUMBER, "0", "Data",
                    "share of the images to hold out for validation after each epoch"),
     .max = 0.9, .meta = "F"},
	{INV_EXPERT_ROW("keep", TEXT, "last", "Data",
                    "which epoch becomes the adapter; best is the one with the lowest "
                    "validation loss"),
     .choices = "last|best", .meta = "WORD"},
	{INV_RESULT_ROW("epochs", COUNT, "100", "Optimiser", "passes over the images"),
     .min = 1, .max = 1e6, .meta = "N"},
	{INV_EXPERT_ROW("batch-size", COUNT, "0", "Optimiser",
                    "images per step; an incomplete last batch is dropped; 0: the default "
                    "of the loss, 256, or 1024 for simclr"),
     .max = 1 << 20, .meta = "N"},
	{INV_OPTION_ROW("lr", NUMBER, "1e-3",
                    INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE | INVAR_OPTION_EXPERT,
                    "Optimiser", "learning rate of the first epoch (AdamW)"),
     .max = 1e3, .meta = "F"},
	{INV_EXPERT_ROW("lr-min", NUMBER, "4e-4", "Optimiser",
                    "learning rate at the end of the cosine annealing; a default above lr "
                    "is lowered to it"),
     .max = 1e3, .meta = "F"},
	{INV_EXPERT_ROW("weight-decay", NUMBER, "1e-4", "Optimiser",
                    "decoupled weight decay, applied to biases too"),
     .max = 1e3, .meta = "F"},
	{INV_OPTION_ROW("checkpoint-seconds", NUMBER, "60", INVAR_OPTION_EXPERT, "Run",
                    "minimum time between checkpoints, which are saved at the end of an "
                    "epoch"),
     .max = 1e9, .meta = "F"},
	{INV_OPTION_ROW("resume", FLAG, NULL, 0, "Run",
                    "continue an interrupted run with its options")},
	{INV_OPTION_ROW("force", FLAG, NULL, 0, "Run",
                    "replace an existing run, once the new one is finished")},
	{INV_SEED_ROW, .flags = INVAR_OPTION_RESULT},
	{0},
};

/* Those that only the steps of a training read, and a closed form does not. */
static const char of_steps[] = "samples|validation|keep|epochs|batch-size|lr|lr-min|"
							   "weight-decay|checkpoint-seconds";

static const invar_option decoder_rows[] = {
	{INV_EXPERT_ROW("alpha", NUMBER, "1", "Loss", "weight of the decoder's squared error"),
     .max = 1e9, .meta = "W"},
	{INV_EXPERT_ROW("beta", NUMBER, "1", "Loss",
                    "weight of the loss itself if there is a decoder"),
     .max = 1e9, .meta = "W"},
	{0},
};

/* Of the trial (measure/trial.h), which comes before a training and is not part of it. */
static const invar_option trial_rows[] = {
	{INV_RESULT_ROW("trial", FLAG, NULL, "Trial",
                    "first fit without a fifth of the images and measure on these whether "
                    "the adapter helps; default: for the presets " INV_DEFAULT_PRESET
                    " and instant and with keep-structure")},
	{INV_RESULT_ROW("keep-structure", NUMBER, "0", "Trial",
                    "the largest strength that keeps R2 of distances between held-out "
                    "clean images at least at this; 0: off"),
     .max = 1, .meta = "R2"},
	{INV_RESULT_ROW("even-if-worse", FLAG, NULL, "Trial",
                    "write the adapter even if the trial finds harm or no gain")},
	{0},
};

/*
 * What people use is tried first: the default preset and instant. Another method that is
 * asked for by name is an experiment.
 */
static const char *choose_trial(const invar_options *o)
{
	bool set = inv_option_is_set(o, "preset"), usual;

	if (set && inv_option_is(o, "preset", "instant"))
		usual = !inv_option_is_set(o, "loss") || inv_option_is(o, "loss", "none");
	else
		usual = (!set || inv_option_is(o, "preset", INV_DEFAULT_PRESET)) &&
		        !inv_preset_conflict(o);
	if (inv_option_is_set(o, "keep-structure") &&
	    inv_option_number(o, "keep-structure") > 0)
		usual = true;
	return usual ? "true" : "false";
}

static const invar_option image_rows[] = {
	{INV_OPTION_ROW("data", TEXT, NULL, 0, "Images",
                    "instead of a bank: encode the images of this data set and new copies "
                    "of them in every epoch; options as of encode"),
     .meta = "DATASET"},
	{0},
};

invar_status inv_train_declare(invar_options *o)
{
	const inv_option_default trial = {.name = "trial", .choose = choose_trial};

	INV_TRY(inv_train_declare_method(o));
	INV_TRY(inv_options_add_rows(o, trial_rows));
	INV_TRY(inv_options_add_default(o, &trial));
	INV_TRY(inv_options_add_rows(o, image_rows));
	INV_TRY(inv_bank_declare(o)); /* of a bank or of images: neither part */
	INV_TRY(inv_dataset_declare_part(o, "data"));
	INV_TRY(inv_encoder_declare_part(o, "data"));
	return inv_encode_declare_part(o, "data");
}

invar_status inv_train_declare_method(invar_options *o)
{
	inv_option_default rule = {"loss", NULL, "scaled", "true", NULL};
	const inv_loss *loss;

	INV_TRY(inv_options_add_rows(o, method_rows));
	INV_TRY(inv_loss_declare(o, "loss"));
	INV_TRY(inv_closed_form_declare(o, "init"));
	INV_TRY(inv_spread_declare(o));
	INV_TRY(inv_options_add_rows(o, training_rows));
	INV_TRY(inv_options_idle(o, "strength", "1", "strength"));
	INV_TRY(inv_feature_name_declare(o)); /* here, as a run that is resumed keeps it */
	INV_TRY(inv_options_idle(o, "loss", "none", of_steps));
	INV_TRY(inv_options_add_part(o, "decoder", "true", decoder_rows));
	INV_TRY(inv_preset_declare(o, "preset"));

	/* After the presets, so that scaled and residual are recorded with what is in force. */
	for (size_t i = 0; (loss = inv_loss_at(i)); i++) {
		rule.value = loss->name;
		if (loss->needs_scaled)
			INV_TRY(inv_options_add_default(o, &rule));
	}
	rule = (inv_option_default){"scaled", "true", "residual", "true", NULL};
	INV_TRY(inv_options_add_default(o, &rule));
	rule.selector = "init";
	for (size_t i = 0; (rule.value = inv_closed_form_name_at(i)); i++)
		if (inv_closed_form_find(rule.value)->residual)
			INV_TRY(inv_options_add_default(o, &rule));
	return INVAR_OK;
}

void inv_train_read(const invar_options *o, inv_train_settings *out)
{
	*out = (inv_train_settings){
		.options = o,
		.preset = inv_option_text(o, "preset"),
		.loss = inv_option_text(o, "loss"),
		.init = inv_option_text(o, "init"),
		.split = inv_option_text(o, "split"),
		.keep = inv_option_text(o, "keep"),
		.epochs = inv_option_count(o, "epochs"),
		.batch = inv_option_count(o, "batch-size"),
		.samples = inv_option_count(o, "samples"),
		.copies = inv_option_count(o, "copies"),
		.hidden = inv_option_count(o, "hidden"),
		.width = inv_option_count(o, "width"),
		.seed = inv_option_count(o, "seed"),
		.residual = inv_option_flag(o, "residual") || inv_option_flag(o, "scaled"),
		.scaled = inv_option_flag(o, "scaled"),
		.unit = inv_option_flag(o, "unit"),
		.unit_known = inv_option_is_set(o, "unit"),
		.no_identity = inv_option_flag(o, "no-identity"),
		.decoder = inv_option_flag(o, "decoder"),
		.resume = inv_option_flag(o, "resume"),
		.force = inv_option_flag(o, "force"),
		.lr = inv_option_number(o, "lr"),
		.weight_decay = inv_option_number(o, "weight-decay"),
		.validation = inv_option_number(o, "validation"),
		.checkpoint_seconds = inv_option_number(o, "checkpoint-seconds"),
		.alpha = inv_option_number(o, "alpha"),
		.beta = inv_option_number(o, "beta"),
	};
	/* The default ends the annealing at 4e-4; it does not let a smaller rate rise. */
	out->lr_min = fmin(inv_option_number(o, "lr-min"), out->lr);
}

static invar_status check_sources(const inv_train_settings *o, inv_train_plan *p)
{
	inv_source **source = p->source;

	INV_TRY(inv_source_select(source[0], o->split, o->copies));
	if (p->sources > 1 && !(p->loss && p->loss->several))
		return inv_fail(INVAR_E_USE,
		                "@loss %s takes one bank, but %" PRIu32
		                " are given: the second one is %s",
		                o->loss, p->sources, source[1]->name);
	for (uint32_t g = 1; g < p->sources; g++) {
		INV_TRY(inv_source_select(source[g], o->split, o->copies));
		INV_TRY(inv_source_check_same_rows(source[0], source[g]));
	}
	if (!source[0]->unlimited)
		return INVAR_OK;
	/* Every epoch makes its own copies, so options that select stored ones are errors. */
	if (o->copies)
		return inv_fail(
			INVAR_E_USE,
			"@copies %" PRIu64
			" selects copies of a bank, but with @data %s every epoch makes its own",
			o->copies, source[0]->name);
	if (!p->loss || (p->closed && p->closed->needs_copies))
		return inv_fail(INVAR_E_USE, "@%s %s needs a bank with copies, not @data %s",
		                p->loss ? "init" : "loss", p->loss ? o->init : o->loss,
		                source[0]->name);
	return INVAR_OK;
}

/* s is limited by the copies of every source and by the loss. */
static invar_status check_samples(const inv_train_settings *o, inv_train_plan *p)
{
	const inv_loss *loss = p->loss;
	const char *copies = loss ? inv_noun(loss->min_samples, "copy", "copies") : "";

	if (!loss)
		return INVAR_OK;
	p->s = (uint32_t)o->samples;
	if (loss->max_samples && p->s > loss->max_samples)
		p->s = loss->max_samples;
	for (uint32_t g = 0; g < p->sources; g++) {
		const inv_source *from = p->source[g];

		if (inv_source_samples(from, loss->min_samples) < loss->min_samples)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: @loss %s needs %u %s per image, but %s has %" PRIu32,
			                from->name, o->loss, loss->min_samples, copies, from->split,
			                from->copies);
		if (o->samples)
			INV_TRY(inv_source_need_copies(from));
		p->s = inv_source_samples(from, p->s);
	}
	if (!p->s && p->sources > 1)
		return inv_fail(INVAR_E_USE, "@samples 0 would not use the banks after the first");
	if (p->s < loss->min_samples)
		return inv_fail(INVAR_E_USE,
		                "@loss %s needs %u %s per image, but @samples is %" PRIu64, o->loss,
		                loss->min_samples, copies, o->samples);
	if (!p->s && o->no_identity)
		return inv_fail(INVAR_E_USE,
		                "@loss %s without the clean rows needs augmented copies, but "
		                "@samples is %" PRIu64,
		                o->loss, o->samples);
	return INVAR_OK;
}

/* A closed form maps d features to d features and needs 2d hidden units. */
static invar_status check_closed(const inv_train_settings *o, const inv_train_plan *p)
{
	const inv_source *from = p->source[0];
	const inv_closed_form_kind *closed = p->closed;

	if (!closed)
		return INVAR_OK;
	if (closed->check)
		INV_TRY(closed->check(o->options, p->shape.d));
	if (p->shape.h < 2 * p->shape.d)
		return inv_fail(INVAR_E_USE,
		                "@init %s needs two hidden units for each feature: @hidden is %zu, "
		                "the bank has %zu %s, so at least %zu",
		                o->init, p->shape.h, p->shape.d,
		                inv_noun(p->shape.d, "feature", "features"), 2 * p->shape.d);
	if (closed->needs_copies && p->sources && !from->copies)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has no augmented copies (aug/000.npy …), which @init %s "
		                "is fitted to; encode it again with @augment to add them",
		                from->name, from->split, o->init);
	if (closed->needs_copies && p->sources > 1)
		return inv_fail(INVAR_E_USE,
		                "@init %s is fitted to the copies of one bank, but %" PRIu32
		                " are given",
		                o->init, p->sources);
	return INVAR_OK;
}

static invar_status check_residual(const inv_train_settings *o, const inv_train_plan *p)
{
	bool needs_scaled = p->loss && p->loss->needs_scaled;

	if (needs_scaled && !o->scaled)
		return inv_fail(
			INVAR_E_USE,
			"@loss %s is computed in units of the scaled residual, so @scaled cannot "
			"be false; leave it out",
			o->loss);
	/* Only if it was set; a run from before this rule may have recorded false. */
	if (!p->residual || !inv_option_is_set(o->options, "residual") ||
	    inv_option_flag(o->options, "residual"))
		return INVAR_OK;
	if (needs_scaled)
		return inv_fail(INVAR_E_USE,
		                "@loss %s trains a residual, so @residual cannot be false; leave "
		                "it out",
		                o->loss);
	if (o->scaled)
		return inv_fail(INVAR_E_USE, "@scaled trains a residual, so @residual cannot "
		                             "be false; set @scaled to false too");
	return inv_fail(INVAR_E_USE,
	                "@init %s is residual, so @residual cannot be false; leave it out",
	                o->init);
}

/* The first of what needs codes as wide as the features, if they are not. */
static invar_status check_width(const inv_train_settings *o, const inv_train_plan *p)
{
	double strength = inv_option_number(o->options, "strength");
	size_t w = p->shape.w, d = p->shape.d;
	char who[64];

	if (w == d)
		return INVAR_OK;
	if (p->closed)
		snprintf(who, sizeof who, "init %s", o->init);
	else if (p->loss && p->loss->same_width)
		snprintf(who, sizeof who, "loss %s", o->loss);
	else if (o->scaled && !inv_option_is_set(o->options, "scaled"))
		return inv_fail(INVAR_E_USE,
		                "@preset %s needs codes as wide as the features: @width is %zu, "
		                "but the bank has %zu; @preset " INV_FIRST_PRESET
		                " has no such need",
		                o->preset, w, d);
	else if (p->residual)
		snprintf(who, sizeof who, "%s", o->scaled ? "scaled" : "residual");
	else if (inv_spread_wanted(o->options))
		snprintf(who, sizeof who, "spread %s", inv_option_text(o->options, "spread"));
	else if (strength != 1)
		snprintf(who, sizeof who, "strength %g", strength);
	else
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"@%s needs codes as wide as the features: @width is %zu, but the bank has %zu", who,
		w, d);
}

static invar_status check_decoder(const inv_train_settings *o, inv_train_plan *p)
{
	double strength = inv_option_number(o->options, "strength");

	if (!o->decoder)
		return INVAR_OK;
	p->decoder = (inv_mlp_shape){p->shape.w, o->hidden, p->shape.d};
	if (!p->loss)
		return inv_fail(INVAR_E_USE, "@loss none trains nothing, so it cannot "
		                             "train a @decoder");
	if (p->loss->no_decoder)
		return inv_fail(INVAR_E_USE,
		                "@loss %s cannot train a @decoder; choose another @loss", o->loss);
	if (o->unit)
		return inv_fail(INVAR_E_USE,
		                "@unit normalises the codes, but a @decoder is trained on codes as "
		                "they are; use only one of them");
	if (inv_spread_wanted(o->options))
		return inv_fail(INVAR_E_USE,
		                "@spread %s changes the codes that a @decoder was trained on; "
		                "leave one of them out",
		                inv_option_text(o->options, "spread"));
	if (strength != 1)
		return inv_fail(INVAR_E_USE,
		                "@strength %g changes the codes that a @decoder was trained on; "
		                "leave one of them out",
		                strength);
	return INVAR_OK;
}

/* The networks that the options ask for, for features of d numbers. */
static invar_status choose_shape(const inv_train_settings *o, size_t d, inv_train_plan *out)
{
	out->loss = inv_loss_find(o->loss);
	out->closed = inv_closed_form_find(o->init);
	out->shape = (inv_mlp_shape){d, inv_closed_form_hidden(out->closed, d, o->hidden),
	                             o->width ? o->width : d};
	out->residual = o->residual || (out->closed && out->closed->residual);
	return out->loss && out->loss->check ? out->loss->check(o->options) : INVAR_OK;
}

static invar_status check_shape(const inv_train_settings *o, inv_train_plan *p)
{
	double min = inv_option_number(o->options, "lr-min");
	char forms[256];

	if (!p->closed && !p->loss) { /* the choices of init after the first, random */
		const char *choices = inv_options_find(o->options, "init")->choices;

		return inv_fail(INVAR_E_USE,
		                "@loss none trains nothing, so it needs a closed form: @init %s",
		                inv_list_words(strchr(choices, '|') + 1, forms, sizeof forms));
	}
	INV_TRY(check_residual(o, p));
	INV_TRY(check_width(o, p));
	INV_TRY(check_closed(o, p));
	INV_TRY(check_decoder(o, p));
	if (inv_spread_wanted(o->options) && p->sources && !p->source[0]->copies)
		return inv_fail(INVAR_E_USE,
		                "@spread %s is measured on augmented copies, and %s has none: it "
		                "needs a bank with copies",
		                inv_option_text(o->options, "spread"), p->source[0]->name);
	/* A minimum that was set must be below the rate; only the default is lowered. */
	if (inv_option_is_set(o->options, "lr-min") && min > o->lr)
		return inv_fail(INVAR_E_USE,
		                "@lr-min %g is above @lr %g, so the learning rate could not be "
		                "annealed to it",
		                min, o->lr);
	return INVAR_OK;
}

invar_status inv_train_check(const inv_train_settings *o, inv_source *const *sources,
                             size_t count, inv_train_plan *p)
{
	uint64_t rows;

	INV_TRY(inv_options_check_parts(o->options));
	memcpy(p->source, sources, count * sizeof *sources);
	p->sources = (uint32_t)count;
	INV_TRY(choose_shape(o, sources[0]->dim, p));
	INV_TRY(check_sources(o, p));
	INV_TRY(check_samples(o, p));
	INV_TRY(check_shape(o, p));

	rows = sources[0]->rows;
	p->images = (uint32_t)rows;
	if (!p->loss) /* options of the optimiser are not checked */
		return INVAR_OK;
	p->held_out = (uint32_t)(o->validation * (double)rows);
	if (o->validation > 0 && !p->held_out)
		return inv_fail(INVAR_E_USE, "@validation %g of %" PRIu64 " %s holds out no image",
		                o->validation, rows, inv_noun(rows, "image", "images"));
	if (strcmp(o->keep, "best") == 0 && !p->held_out)
		return inv_fail(INVAR_E_USE, "@keep best needs a @validation share above 0");
	p->images -= p->held_out;
	p->batch = o->batch ? o->batch : p->loss->batch;
	p->N = p->batch < p->images ? (uint32_t)p->batch : p->images;
	p->held_out_N = p->N < p->held_out ? p->N : p->held_out;
	return INVAR_OK;
}

invar_status inv_train_check_options(const invar_options *o, uint32_t d)
{
	inv_train_settings settings;
	inv_train_plan plan = {0};

	INV_TRY(inv_options_expect(o, "train"));
	INV_TRY(inv_options_check_parts(o));
	inv_train_read(o, &settings);
	INV_TRY(choose_shape(&settings, d, &plan));
	return check_shape(&settings, &plan);
}
