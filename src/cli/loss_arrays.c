/* SPDX-License-Identifier: Apache-2.0 */
/* loss_arrays.c - reading arrays, augmentations and draws for invar loss. */
#include "cli/loss_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/display_text.h"
#include "formats/npy.h"

typedef unsigned long long whole;

size_t inv_list_length(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* ---- Augmentations ----------------------------------------------------------------- */

static invar_status check_aug(const inv_given_array *clean, const inv_given_array *aug,
                              const inv_given_augs *so_far)
{
	const uint64_t *x = clean->array->h.shape, *a = aug->array->h.shape;

	if (aug->array->h.rank != 3 || a[0] != x[0] || a[2] != x[1] || a[1] > 1 << 20)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s has shape %s, but with %s of shape %s it must be [%llu, s, %llu]",
			aug->path, aug->shape, clean->path, clean->shape, (whole)x[0], (whole)x[1]);
	if (so_far->groups && a[1] != so_far->samples)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but the first --aug has %llu %s per image",
		                aug->path, aug->shape, (whole)so_far->samples,
		                inv_noun(so_far->samples, "sample", "samples"));
	return INVAR_OK;
}

static invar_status append_aug(const inv_given_array *clean, inv_given_array *aug,
                               inv_given_augs *out)
{
	invar_status st = check_aug(clean, aug, out);
	size_t count = st == INVAR_OK ? (size_t)aug->array->h.cells : 0;
	float *longer;

	if (st == INVAR_OK)
		st = inv_array_take(aug);
	if (st != INVAR_OK)
		return st;
	longer = realloc(out->data, ((out->groups + 1) * count + 1) * sizeof *longer);
	if (!longer)
		return inv_no_memory();
	memcpy(longer + out->groups * count, aug->data, count * sizeof *longer);
	out->data = longer;
	out->samples = aug->array->h.shape[1];
	out->groups++;
	return INVAR_OK;
}

invar_status inv_augs_load(inv_session *s, const char *const *paths,
                           const inv_given_array *clean, inv_given_augs *out)
{
	invar_status st = INVAR_OK;

	*out = (inv_given_augs){0};
	for (; paths && *paths && st == INVAR_OK; paths++) {
		inv_given_array aug = {0};

		st = inv_array_look(s, *paths, &aug);
		if (st == INVAR_OK)
			st = append_aug(clean, &aug, out);
		inv_array_drop(&aug);
	}
	return st;
}

void inv_augs_free(inv_given_augs *a)
{
	free(a->data);
	*a = (inv_given_augs){0};
}

/* ---- Directions and permutations ------------------------------------------------- */

static const char *const parts[3] = {"xz", "xx", "zz"};

/* Each of the six options as often as there are augmentations, or none of them at all. */
static invar_status check_counts(const inv_draw_files *f, size_t groups, bool *any)
{
	size_t max = 0;

	for (int i = 0; i < 6; i++) {
		size_t n = inv_list_length(i < 3 ? f->directions[i] : f->permutations[i - 3]);

		max = n > max ? n : max;
	}
	*any = max > 0;
	for (int i = 0; i < 6 && max; i++) {
		const char *kind = i < 3 ? "directions" : "perm";
		size_t n = inv_list_length(i < 3 ? f->directions[i] : f->permutations[i - 3]);

		if (!n)
			return inv_fail(INVAR_E_USE,
			                "--%s-%s is missing: give directions and permutations for all "
			                "of xz, xx and zz, or for none",
			                kind, parts[i % 3]);
		if (n != groups)
			return inv_fail(INVAR_E_USE, "--%s-%s: %zu given, but there are %zu --aug",
			                kind, parts[i % 3], n, groups);
	}
	return INVAR_OK;
}

static invar_status read_directions(inv_session *s, const char *path, uint64_t width,
                                    inv_given_draws *g, inv_given_array *out)
{
	const uint64_t *shape;
	invar_status st = inv_array_look(s, path, out);

	if (st != INVAR_OK)
		return st;
	shape = out->array->h.shape;
	if (out->array->h.rank != 2 || shape[1] != width || !shape[0])
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [L, %llu]", path,
		                out->shape, (whole)width);
	if (g->projections && shape[0] != g->projections)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but the first array of directions has %llu", path,
		                out->shape, (whole)g->projections);
	g->projections = shape[0];
	return inv_array_take(out);
}

static invar_status to_numbers(const inv_given_array *g, uint64_t M, uint32_t *out)
{
	if (g->array->h.rank != 1 || g->array->h.cells != M)
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [%llu]", g->path,
		                g->shape, (whole)M);
	for (uint64_t i = 0; i < M; i++) {
		if (g->data[i] < 0 || g->data[i] != floorf(g->data[i]) || g->data[i] >= (float)M)
			return inv_fail(
				INVAR_E_MISMATCH,
				"%s: element [%llu] is %g, but each of 0 to %llu must occur once", g->path,
				(whole)i, (double)g->data[i], (whole)(M - 1));
		out[i] = (uint32_t)g->data[i];
	}
	return INVAR_OK;
}

static invar_status read_numbers(inv_session *s, const char *path, uint64_t M,
                                 uint32_t **out)
{
	inv_given_array g = {0};
	invar_status st = inv_array_look(s, path, &g);

	if (st == INVAR_OK)
		st = inv_array_take(&g);
	if (st == INVAR_OK && !(*out = malloc((M + 1) * sizeof **out)))
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = to_numbers(&g, M, *out);
	inv_array_drop(&g);
	return st;
}

/* "P1.npy,P2.npy" */
static invar_status read_pair(inv_session *s, const char *text, int part, uint64_t M,
                              uint32_t *out[2])
{
	const char *comma = strchr(text, ',');
	char *first;
	invar_status st;

	if (!comma || strchr(comma + 1, ',') || comma == text || !comma[1])
		return inv_fail(INVAR_E_USE,
		                "--perm-%s is '%s' but must be two files: P1.npy,P2.npy",
		                parts[part], text);
	if (!(first = strndup(text, (size_t)(comma - text))))
		return inv_no_memory();
	st = read_numbers(s, first, M, &out[0]);
	free(first);
	return st == INVAR_OK ? read_numbers(s, comma + 1, M, &out[1]) : st;
}

static invar_status read_group(inv_session *s, const inv_draw_files *f, size_t group,
                               uint64_t M, const uint64_t width[3], inv_given_draws *g)
{
	inv_loss_draws *draws = &g->draws[group];
	invar_status st = INVAR_OK;

	for (int i = 0; i < 3 && st == INVAR_OK; i++) {
		inv_given_array *array = &g->arrays[group * 3 + (size_t)i];
		uint32_t **pair = &g->numbers[(group * 3 + (size_t)i) * 2];

		st = read_directions(s, f->directions[i][group], width[i], g, array);
		if (st == INVAR_OK)
			st = read_pair(s, f->permutations[i][group], i, M, pair);
		draws->directions[i] = array->data;
		draws->permutations[i][0] = pair[0];
		draws->permutations[i][1] = pair[1];
	}
	return st;
}

invar_status inv_draws_load(inv_session *s, const inv_draw_files *files, size_t groups,
                            uint64_t M, uint64_t d, uint64_t w, inv_given_draws *out)
{
	const uint64_t width[3] = {d + w, 2 * d, 2 * w};
	bool any;
	invar_status st;

	*out = (inv_given_draws){.groups = groups};
	if ((st = check_counts(files, groups, &any)) != INVAR_OK || !any)
		return st;
	out->draws = calloc(groups, sizeof *out->draws);
	out->arrays = calloc(groups * 3, sizeof *out->arrays);
	out->numbers = calloc(groups * 6, sizeof *out->numbers);
	if (!out->draws || !out->arrays || !out->numbers)
		return inv_no_memory();
	for (size_t g = 0; g < groups && st == INVAR_OK; g++)
		st = read_group(s, files, g, M, width, out);
	return st;
}

void inv_draws_free(inv_given_draws *g)
{
	for (size_t i = 0; g->arrays && i < g->groups * 3; i++)
		inv_array_drop(&g->arrays[i]);
	for (size_t i = 0; g->numbers && i < g->groups * 6; i++)
		free(g->numbers[i]);
	free(g->draws);
	free(g->arrays);
	free(g->numbers);
	*g = (inv_given_draws){0};
}
