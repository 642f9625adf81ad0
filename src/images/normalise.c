/* SPDX-License-Identifier: Apache-2.0 */
/* normalise.c - common constants, and bytes to floats. */
#include "images/normalise.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"

static const struct {
	const char *name;
	inv_normalisation n;
} known[] = {
	{"none", {1, {0}, {1}}},
	{"half", {1, {0.5f}, {0.5f}}},
	{"imagenet", {3, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}},
	{"clip",
     {3, {0.48145466f, 0.4578275f, 0.40821073f}, {0.26862954f, 0.26130258f, 0.27577711f}}},
	/* Pixels of 0 to 255 less their means, as Keras's ResNets and Caffe's networks take. */
	{"keras",
     {3,
      {123.68f / 255, 116.779f / 255, 103.939f / 255},
      {1.0f / 255, 1.0f / 255, 1.0f / 255}}},
	{"caffe",
     {3, {123.0f / 255, 117.0f / 255, 104.0f / 255}, {1.0f / 255, 1.0f / 255, 1.0f / 255}}},
	{"mnist", {1, {0.1307f}, {0.3081f}}},
	{"fashion-mnist", {1, {0.286f}, {0.353f}}},
	{"stl10", {3, {0.4467f, 0.4398f, 0.4066f}, {0.2603f, 0.2566f, 0.2713f}}},
	{"cifar10", {3, {0.4914f, 0.4822f, 0.4465f}, {0.247f, 0.243f, 0.261f}}},
};

const char *inv_normalisation_names(void)
{
	return "none|half|imagenet|clip|keras|caffe|mnist|fashion-mnist|stl10|cifar10";
}

/* How many numbers stand before `end`, separated by commas; 0 if it is not such a list. */
static size_t read_normalisation_list(const char *text, char end, float out[INV_NORMALISED])
{
	size_t count = 0;

	for (;;) {
		char *rest;
		double value = strtod(text, &rest);

		if (rest == text || count == INV_NORMALISED || !isfinite(value) ||
		    strpbrk(text, "xXnN") /* hexadecimal, inf, nan */)
			return 0;
		out[count++] = (float)value;
		if (*rest == end)
			return count;
		if (*rest != ',')
			return 0;
		text = rest + 1;
	}
}

static bool read_means_and_stds(const char *text, inv_normalisation *out)
{
	const char *slash = strchr(text, '/');
	size_t means = slash ? read_normalisation_list(text, '/', out->mean) : 0;
	size_t stds = means ? read_normalisation_list(slash + 1, '\0', out->std) : 0;

	if (!stds || (means != stds && means != 1 && stds != 1))
		return false;
	out->channels = means > stds ? means : stds;
	for (size_t c = 0; c < out->channels; c++) {
		out->mean[c] = out->mean[means == 1 ? 0 : c];
		out->std[c] = out->std[stds == 1 ? 0 : c];
		if (!(out->std[c] > 0))
			return false;
	}
	return true;
}

invar_status inv_normalisation_parse(const char *text, inv_normalisation *out)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before;
	char list[160], hint[INV_HINT];
	bool fine;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(text, known[i].name) == 0) {
			*out = known[i].n;
			if (plain)
				freelocale(plain);
			return INVAR_OK;
		}
	if (!plain)
		return inv_no_memory();
	before = uselocale(plain);
	fine = read_means_and_stds(text, out);
	uselocale(before);
	freelocale(plain);
	if (fine)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"the normalisation '%.60s' is neither %s nor MEANS/STDS such as 0.5/0.5%s", text,
		inv_list_words(inv_normalisation_names(), list, sizeof list),
		inv_hint(text, inv_normalisation_names(), hint));
}

void inv_normalise_bytes(const inv_normalisation *n, const uint8_t *in, size_t h, size_t w,
                         size_t stride, size_t channels, float *out)
{
	for (size_t c = 0; c < channels; c++) {
		size_t from = c < n->channels ? c : 0;
		float level[256];

		for (int i = 0; i < 256; i++)
			level[i] = ((float)i / 255 - n->mean[from]) / n->std[from];
		for (size_t v = 0; v < h; v++)
			for (size_t u = 0; u < w; u++)
				out[(c * h + v) * w + u] = level[in[(v * stride + u) * channels + c]];
	}
}
