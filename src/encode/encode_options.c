/* SPDX-License-Identifier: Apache-2.0 */
/* encode_options.c - the table of options of encoding, and what they mean together. */
#include "encode/encode_options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"

enum { MOST_COPIES = 10000, TEST_COPIES = 5, OTHER_COPIES = 10, WORD = 64 };

#define AT(member) offsetof(invar_encode_opts, member)
#define RESULT INVAR_FIELD_RESULT
#define MAYBE (INVAR_FIELD_RESULT | INVAR_FIELD_OPTIONAL)

static const invar_field fields[] = {
	{"augment", INVAR_FIELD_TEXT, AT(augment), 0, 0, MAYBE, NULL, "SPEC", "Copies",
     "how copies are made, such as rotation or 'affine+noise:std=0.5'; none without it"},
	{"augment-space", INVAR_FIELD_TEXT, AT(augment_space), 0, 0, RESULT, "normalized|pixel",
     "WORD", "Copies",
     "augment the normalised tensor, as in the paper, or pixels from 0 to 1"},
	{"size", INVAR_FIELD_TEXT, AT(side), 0, 0, MAYBE, NULL, "native|N", "Preparation",
     "the shorter side becomes N, of that the centre N x N is taken; native keeps images "
     "as they are; the encoder's own if not given (pixels: native)"},
	{"resize", INVAR_FIELD_COUNT, AT(resize), 0, INV_MOST_SIDE, RESULT, NULL, "N",
     "Preparation",
     "the shorter side before the centre of --size is cut out; 0: --size if that is given, "
     "else the encoder's own"},
	{"normalize", INVAR_FIELD_TEXT, AT(normalize), 0, 0, MAYBE, NULL, "NAME|MEANS/STDS",
     "Preparation",
     "none, half, imagenet, clip, keras, caffe, mnist, fashion-mnist, stl10, cifar10, or "
     "numbers such as "
     "0.5/0.5; the encoder's own if not given (pixels: the data set's; where it has none, "
     "imagenet, or half for grey images)"},
	{"mean", INVAR_FIELD_TEXT, AT(mean), 0, 0, MAYBE, NULL, "F,…", "Preparation",
     "one number or one a channel, of pixels from 0 to 1; overrides --normalize"},
	{"std", INVAR_FIELD_TEXT, AT(std), 0, 0, MAYBE, NULL, "F,…", "Preparation",
     "the same for the divisor"},

	/* The last three are those of a bank alone. */
	{"copies", INVAR_FIELD_TEXT, AT(copies), 0, 0, MAYBE, NULL, "N|SPLIT=N,…", "Copies",
     "copies of every image, in each split or in those named; 5 of test and 10 of the "
     "others if not given; those that are there are kept"},
	{"dtype", INVAR_FIELD_TEXT, AT(dtype), 0, 0, RESULT, "float32|float16", "WORD",
     "Result", "numbers of the features; float16 takes half the room"},
	{"seed", INVAR_FIELD_COUNT, AT(seed), 0, 0x1p53, RESULT, NULL, "N", "Common",
     "key of every random draw"},
};

void invar_encode_defaults(invar_encode_opts *o)
{
	*o = (invar_encode_opts){
		.size = sizeof *o, .augment_space = "normalized", .dtype = "float32"};
}

const invar_field *invar_encode_fields(size_t *count)
{
	*count = sizeof fields / sizeof *fields;
	return fields;
}

const invar_field *invar_images_fields(size_t *count)
{
	*count = sizeof fields / sizeof *fields - 3;
	return fields;
}

invar_status inv_encode_take(const invar_encode_opts *o, invar_encode_opts *all)
{
	invar_status st;

	invar_encode_defaults(all);
	if (o)
		memcpy(all, o, o->size < sizeof *all ? o->size : sizeof *all);
	st = inv_fields_check((inv_fields){fields, sizeof fields / sizeof *fields}, all);
	if (st == INVAR_OK && all->copies && !all->augment)
		st = inv_fail(INVAR_E_USE,
		              "--copies %.60s: say how they are made, as in --augment rotation",
		              all->copies);
	return st;
}

/* ---- --copies --------------------------------------------------------------------- */

/* A number and nothing behind it but the end or a comma. */
static bool read_count(const char *text, uint64_t *count)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*count = strtoull(text, &end, 10);
	return (*end == '\0' || *end == ',') && *count <= MOST_COPIES;
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

invar_status inv_encode_check_copies(const invar_encode_opts *o, const invar_dataset *d)
{
	const char *at = o->copies;
	uint64_t count;

	if (!at || (!strchr(at, '=') && !strchr(at, ',') && read_count(at, &count)))
		return INVAR_OK;
	for (;;) {
		size_t length = strcspn(at, "=,");

		if (at[length] != '=' || !read_count(at + length + 1, &count))
			return inv_fail(INVAR_E_USE,
			                "--copies %.60s: must be a number up to %d, or such as "
			                "train=10,test=5",
			                o->copies, MOST_COPIES);
		if (!is_offered(d, at, length))
			return inv_fail(INVAR_E_USE, "--copies %.60s: %s has no split '%.*s'",
			                o->copies, d->text, (int)(length < WORD ? length : WORD), at);
		at = strchr(at, ',');
		if (!at)
			return INVAR_OK;
		at++;
	}
}

uint64_t inv_encode_copies(const invar_encode_opts *o, const char *split)
{
	size_t length = strlen(split);
	uint64_t count = 0;

	if (!o->augment)
		return 0;
	if (!o->copies)
		return strcmp(split, "test") == 0 ? TEST_COPIES : OTHER_COPIES;
	if (!strchr(o->copies, '='))
		return read_count(o->copies, &count) ? count : 0;
	for (const char *at = o->copies; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, split, length) == 0 && at[length] == '=')
			read_count(at + length + 1, &count);
	return count;
}

/* ---- Preparation ------------------------------------------------------------------ */

static const char *standard_normalisation(const invar_encoder *e, const invar_dataset *d)
{
	if (e->input.normalisation)
		return e->input.normalisation;
	if (d->kind->normalisation)
		return d->kind->normalisation;
	return d->grey ? "half" : "imagenet";
}

/* One of --mean and --std: "%s/1" or "0/%s" read as a normalisation. */
static invar_status read_numbers(const char *option, const char *format, const char *text,
                                 size_t channels, inv_normalisation *out)
{
	char both[INV_NORMALISED * 32];
	int length = snprintf(both, sizeof both, format, text);

	if (strchr(text, '/') || length >= (int)sizeof both ||
	    inv_normalisation_parse(both, out) != INVAR_OK ||
	    (out->channels != 1 && out->channels < channels))
		return inv_fail(INVAR_E_USE,
		                "--%s %.60s: must be one number, or one a channel separated by "
		                "commas%s",
		                option, text, strcmp(option, "std") == 0 ? ", above 0" : "");
	return INVAR_OK;
}

static void widen(inv_normalisation *n, size_t channels)
{
	for (size_t c = n->channels; c < channels; c++) {
		n->mean[c] = n->mean[0];
		n->std[c] = n->std[0];
	}
	n->channels = n->channels < channels ? channels : n->channels;
}

static invar_status read_normalisation(const invar_encode_opts *o, const char *named,
                                       inv_normalisation *n)
{
	inv_normalisation mean, std;
	invar_status st = inv_normalisation_parse(named, n);

	if (st == INVAR_OK && o->mean) {
		st = read_numbers("mean", "%s/1", o->mean, n->channels, &mean);
		if (st == INVAR_OK && mean.channels > n->channels)
			widen(n, mean.channels);
		for (size_t c = 0; st == INVAR_OK && c < n->channels; c++)
			n->mean[c] = mean.mean[c < mean.channels ? c : 0];
	}
	if (st == INVAR_OK && o->std) {
		st = read_numbers("std", "0/%s", o->std, n->channels, &std);
		if (st == INVAR_OK && std.channels > n->channels)
			widen(n, std.channels);
		for (size_t c = 0; st == INVAR_OK && c < n->channels; c++)
			n->std[c] = std.std[c < std.channels ? c : 0];
	}
	return st;
}

static invar_status check_channels(const inv_preparation *p, const invar_dataset *d)
{
	size_t found = p->normalisation.channels;

	if (found == 1 || found == p->channels)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "the normalisation is for %zu channels but the images of %s have %zu; "
	                "give another --normalize, or --mean and --std",
	                found, d->text, p->channels);
}

static invar_status refuse_resize(const invar_encode_opts *o, const inv_preparation *p)
{
	if (!p->side)
		return inv_fail(INVAR_E_USE,
		                "--resize %" PRIu64 ": images stay as large as they are without "
		                "--size N, the centre that is cut out",
		                o->resize);
	return inv_fail(INVAR_E_USE,
	                "--resize %" PRIu64
	                ": is less than the %zu x %zu pixels of --size that "
	                "are cut out of it",
	                o->resize, p->side, p->side);
}

invar_status inv_encode_preparation(const invar_encode_opts *o, const invar_encoder *e,
                                    const invar_dataset *d, inv_preparation *out)
{
	const char *named = o->normalize ? o->normalize : standard_normalisation(e, d);
	invar_status st;

	*out = (inv_preparation){.resize = e->input.resize,
	                         .side = e->input.side,
	                         .filter = e->input.filter,
	                         .channels = d->grey && e->input.keeps_grey ? 1 : INV_RGB};
	if (o->side && (st = inv_side_parse(o->side, &out->side)) != INVAR_OK)
		return st;
	if (o->side || o->resize)
		out->resize = o->resize;
	if (o->resize && o->resize < (out->side ? out->side : SIZE_MAX))
		return refuse_resize(o, out);
	if ((st = read_normalisation(o, named, &out->normalisation)) != INVAR_OK ||
	    (st = check_channels(out, d)) != INVAR_OK)
		return st;
	widen(&out->normalisation, out->channels);
	return INVAR_OK;
}
