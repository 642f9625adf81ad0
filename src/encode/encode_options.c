/* SPDX-License-Identifier: Apache-2.0 */
/* encode_options.c - the table of options of encoding, and what they mean together. */
#include "encode/encode_options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

enum { MAX_COPIES = 10000, DEFAULT_COPIES = 4, WORD = 64, VIEWS = 4 };

/* Those that make tensors of images and augment them. bank.json records those with the flag
 * INVAR_OPTION_RESULT by name, and others as what follows from them. */
static const invar_option tensor_rows[] = {
	{.name = "augment",
     .type = INVAR_OPTION_TEXT,
     .meta = "SPEC",
     .group = "Copies",
     .help = "how copies are made, such as rotation or 'affine+noise:std=0.5'; default: no "
             "copies"},
	{.name = "augment-space",
     .type = INVAR_OPTION_TEXT,
     .initial = "normalized",
     .flags = INVAR_OPTION_EXPERT,
     .choices = "normalized|pixel",
     .meta = "WORD",
     .group = "Copies",
     .help = "augment the normalised tensor, as in the paper, or pixels from 0 to 1"},
	{.name = "size",
     .type = INVAR_OPTION_TEXT,
     .meta = "native|N",
     .group = "Preparation",
     .help = "resize the shorter side to N and crop the centre N x N, or stretch images to "
             "N x N where the encoder does; native keeps images as they are; default: the "
             "encoder's own size (pixels: native)"},
	{.name = "resize",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = INV_MAX_SIDE,
     .flags = INVAR_OPTION_EXPERT,
     .meta = "N",
     .group = "Preparation",
     .help = "length of the shorter side before the centre is cropped; 0: the size if "
             "given, else the encoder's own"},
	{.name = "normalize",
     .type = INVAR_OPTION_TEXT,
     .flags = INVAR_OPTION_EXPERT,
     .meta = "NAME|MEANS/STDS",
     .group = "Preparation",
     .help = "none, half, imagenet, clip, keras, caffe, mnist, fashion-mnist, stl10, "
             "cifar10, or numbers such as 0.5/0.5; default: the encoder's own (pixels: the "
             "data set's, else imagenet, or half for grey images)"},
	{.name = "mean",
     .type = INVAR_OPTION_TEXT,
     .flags = INVAR_OPTION_EXPERT,
     .meta = "F,…",
     .group = "Preparation",
     .help = "mean of pixels from 0 to 1, one number or one per channel; overrides the "
             "normalisation"},
	{.name = "std",
     .type = INVAR_OPTION_TEXT,
     .flags = INVAR_OPTION_EXPERT,
     .meta = "F,…",
     .group = "Preparation",
     .help = "standard deviation, given like the mean"},
	{0},
};

/* Those of a bank alone. */
static const invar_option bank_rows[] = {
	{.name = "copies",
     .type = INVAR_OPTION_TEXT,
     .meta = "N|SPLIT=N,…",
     .group = "Copies",
     .help = "copies per image, for all splits or by split; default: 4; existing copies are "
             "kept"},
	{.name = "views",
     .type = INVAR_OPTION_TEXT,
     .meta = "4|SPLIT=4,…",
     .group = "Copies",
     .help =
         "also store features of images and copies rotated by 90, 180 and 270 degrees, to "
         "compare with four encodings per query; 4: in test, else in the splits listed; "
         "default: none"},
	{.name = "dtype",
     .type = INVAR_OPTION_TEXT,
     .initial = "float32",
     .choices = "float32|float16",
     .flags = INVAR_OPTION_EXPERT,
     .meta = "WORD",
     .group = "Result",
     .help = "number type of the features; float16 takes half the disk space"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_encode_declare(invar_options *o)
{
	INV_TRY(inv_options_add_rows(o, tensor_rows));
	return inv_options_add_rows(o, bank_rows);
}

invar_status inv_encode_declare_part(invar_options *o, const char *selector)
{
	return inv_options_add_part(o, selector, NULL, tensor_rows);
}

invar_status inv_encode_read(const invar_options *o, invar_options **kept,
                             inv_encode_settings *out)
{
	const invar_options *all;

	*out = (inv_encode_settings){0};
	INV_TRY(inv_options_pick(o, inv_encode_declare, kept));
	all = *kept;
	*out = (inv_encode_settings){.all = all,
	                             .augment = inv_option_text(all, "augment"),
	                             .copies = inv_option_text(all, "copies"),
	                             .views = inv_option_text(all, "views"),
	                             .augment_space = inv_option_text(all, "augment-space"),
	                             .side = inv_option_text(all, "size"),
	                             .normalize = inv_option_text(all, "normalize"),
	                             .mean = inv_option_text(all, "mean"),
	                             .std = inv_option_text(all, "std"),
	                             .dtype = inv_option_text(all, "dtype"),
	                             .seed = inv_option_count(all, "seed"),
	                             .resize = inv_option_count(all, "resize")};
	if (out->copies && !out->augment)
		return inv_fail(INVAR_E_USE,
		                "@copies %.60s needs @augment, such as @augment rotation",
		                out->copies);
	return INVAR_OK;
}

json_t *inv_encode_json(const inv_encode_settings *o, unsigned flags)
{
	json_t *all = o->all ? inv_options_json(o->all, flags) : json_object();

	for (const invar_option *row = bank_rows; row->name; row++)
		json_object_del(all, row->name);
	return all;
}

/* ---- Copies ----------------------------------------------------------------------- */

/* A number followed by the end or a comma. */
static bool read_split_count(const char *text, uint64_t *count)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*count = strtoull(text, &end, 10);
	return *end == '\0' || *end == ',';
}

/* The number that "train=10,test=5" has for a split; 0: none. */
static uint64_t count_of_split(const char *list, const char *split)
{
	size_t length = strlen(split);
	uint64_t count = 0;

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, split, length) == 0 && at[length] == '=')
			read_split_count(at + length + 1, &count);
	return count;
}

static bool is_offered(const invar_dataset *d, const char *name, size_t length)
{
	for (size_t i = 0; i < d->split_names.count; i++) {
		const char *there = inv_names_at(&d->split_names, i);

		if (strncmp(there, name, length) == 0 && !there[length])
			return true;
	}
	return false;
}

/* "N", or "SPLIT=N,…" of splits that the data set has, with numbers from min to max. */
static invar_status check_counts(const char *option, const char *list,
                                 const invar_dataset *d, uint64_t min, uint64_t max,
                                 const char *expected)
{
	uint64_t count = 0;

	if (!strchr(list, '=') && !strchr(list, ',') && read_split_count(list, &count) &&
	    count >= min && count <= max)
		return INVAR_OK;
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t length = strcspn(at, "=,");

		if (at[length] != '=' || !read_split_count(at + length + 1, &count) ||
		    count < min || count > max)
			return inv_fail(INVAR_E_USE, "@%s %.60s: must be %s", option, list, expected);
		if (!is_offered(d, at, length))
			return inv_fail(INVAR_E_USE, "@%s %.60s: %s has no split '%.*s'", option, list,
			                d->text, (int)(length < WORD ? length : WORD), at);
	}
	return INVAR_OK;
}

invar_status inv_encode_check_copies(const inv_encode_settings *o, const invar_dataset *d)
{
	return o->copies ? check_counts("copies", o->copies, d, 0, MAX_COPIES,
	                                "a number up to 10000, or numbers by split such as "
	                                "train=10,test=5")
	                 : INVAR_OK;
}

uint64_t inv_encode_copies(const inv_encode_settings *o, const char *split)
{
	uint64_t count = 0;

	if (!o->augment)
		return 0;
	if (!o->copies)
		return DEFAULT_COPIES;
	if (!strchr(o->copies, '='))
		return read_split_count(o->copies, &count) ? count : 0;
	return count_of_split(o->copies, split);
}

/* ---- Views ------------------------------------------------------------------------ */

invar_status inv_encode_check_views(const inv_encode_settings *o, const invar_dataset *d)
{
	if (!o->views)
		return INVAR_OK;
	INV_TRY(check_counts("views", o->views, d, VIEWS, VIEWS,
	                     "4, or by split such as val=4,test=4"));
	if (!strchr(o->views, '=') && !is_offered(d, "test", 4))
		return inv_fail(INVAR_E_USE,
		                "@views 4: %s has no split test; name the splits to store views "
		                "of, such as val=4",
		                d->text);
	return INVAR_OK;
}

bool inv_encode_views(const inv_encode_settings *o, const char *split)
{
	if (!o->views)
		return false;
	return strchr(o->views, '=') ? count_of_split(o->views, split) > 0
	                             : strcmp(split, "test") == 0;
}

/* ---- Preparation ------------------------------------------------------------------ */

static void widen_channels(inv_normalisation *n, size_t channels)
{
	for (size_t c = n->channels; c < channels; c++) {
		n->mean[c] = n->mean[0];
		n->std[c] = n->std[0];
	}
	n->channels = n->channels < channels ? channels : n->channels;
}

/* One of mean and std, if given: read as the normalisation "text/1" or "0/text". */
static invar_status read_per_channel(const char *option, const char *text,
                                     inv_normalisation *n)
{
	bool is_std = strcmp(option, "std") == 0;
	char both[INV_NORMALISED * 32];
	inv_normalisation found = {0};
	int length;

	if (!text)
		return INVAR_OK;
	length = snprintf(both, sizeof both, is_std ? "0/%s" : "%s/1", text);
	if (strchr(text, '/') || length >= (int)sizeof both ||
	    inv_normalisation_parse(both, &found) != INVAR_OK ||
	    (found.channels != 1 && found.channels < n->channels))
		return inv_fail(INVAR_E_USE,
		                "@%s %.60s: must be one number, or one per channel separated by "
		                "commas%s",
		                option, text, is_std ? ", above 0" : "");
	widen_channels(&found, n->channels);
	widen_channels(n, found.channels);
	memcpy(is_std ? n->std : n->mean, is_std ? found.std : found.mean, sizeof n->std);
	return INVAR_OK;
}

invar_status inv_encode_preparation(const inv_encode_settings *o, const invar_encoder *e,
                                    const invar_dataset *d, inv_preparation *out)
{
	const char *name = e->weights ? e->weights : invar_encoder_name(e);
	inv_normalisation *n = &out->normalisation;

	if (e->input.asks_size && !o->side)
		return inv_fail(
			INVAR_E_USE,
			"%s: takes images of any size; say which one with @size N, or @size native",
			name);
	if (e->input.asks_normalisation && !o->normalize && !(o->mean && o->std))
		return inv_fail(
			INVAR_E_USE,
			"%s: does not say how images are normalised; use @normalize "
			"(imagenet for most networks, none if the model does it itself), or "
			"@mean and @std",
			name);
	*out = (inv_preparation){.resize = e->input.resize,
	                         .side = e->input.side,
	                         .stretch = e->input.stretch && !o->resize,
	                         .filter = e->input.filter,
	                         .channels = d->grey && e->input.keeps_grey ? 1 : INV_RGB};
	if (o->side)
		INV_TRY(inv_side_parse(o->side, &out->side));
	if (o->side || o->resize)
		out->resize = o->resize;
	if (o->resize && !out->side)
		return inv_fail(
			INVAR_E_USE,
			"@resize %" PRIu64
			": needs @size N, the centre to crop; without it images keep their size",
			o->resize);
	if (o->resize && o->resize < out->side)
		return inv_fail(INVAR_E_USE,
		                "@resize %" PRIu64
		                ": is smaller than the centre of %zu x %zu pixels that @size crops",
		                o->resize, out->side, out->side);

	INV_TRY(inv_normalisation_parse(o->normalize             ? o->normalize
	                                : e->input.normalisation ? e->input.normalisation
	                                : d->kind->normalisation ? d->kind->normalisation
	                                : d->grey                ? "half"
	                                                         : "imagenet",
	                                n));
	INV_TRY(read_per_channel("mean", o->mean, n));
	INV_TRY(read_per_channel("std", o->std, n));
	if (n->channels != 1 && n->channels != out->channels)
		return inv_fail(INVAR_E_USE,
		                "the normalisation is for %zu channels but the images of %s have "
		                "%zu; use another @normalize, or @mean and @std",
		                n->channels, d->text, out->channels);
	widen_channels(n, out->channels);
	return INVAR_OK;
}
