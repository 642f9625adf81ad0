/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_memory.c - a bank of arrays in the caller's memory.
 *
 * Its arrays are named as the files of a folder would be, SPLIT/clean.npy, aug.npy and
 * labels.npy, and have the hashes of the files that np.save would write. So its
 * fingerprints are those of a folder with the same rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "base/memory.h"

/* The caller's numbers as an array SPLIT/FILE. */
static invar_status wrap_array(const invar_bank *b, const inv_split *s, const char *file,
                               const void *data, inv_dtype dtype, unsigned ndim,
                               const uint64_t *shape, inv_npy **out)
{
	char name[200];

	snprintf(name, sizeof name, "%s/%.100s/%s", b->path, s->name, file);
	return inv_npy_wrap(data, dtype, ndim, shape, name, out);
}

invar_status invar_bank_add_split(invar_bank *b, const char *split, const float *clean,
                                  const float *copies, const int64_t *labels, uint64_t n,
                                  uint32_t c)
{
	const uint64_t shape[] = {n, b->dim}, stacked[] = {n, c, b->dim};
	inv_split s = {.rows = n, .copies = c};
	size_t at = b->split_count;
	invar_status st;

	if (!b->in_memory)
		return inv_fail(INVAR_E_USE,
		                "%s: is a folder; only a bank in memory can get another split",
		                b->path);
	if (!*split)
		return inv_fail(INVAR_E_USE, "%s: the name of a split is empty", b->path);
	if (inv_bank_has_split(b, split))
		return inv_fail(INVAR_E_USE, "%s: already has a split %s", b->path, split);
	if (b->split_count == INV_BANK_SPLITS)
		return inv_fail(INVAR_E_USE, "%s: has more than %d splits", b->path,
		                INV_BANK_SPLITS);
	if (!clean || !n || n >= UINT32_MAX || !b->dim || b->dim > INV_BANK_DIM)
		return inv_fail(INVAR_E_USE,
		                "%s: the clean rows of %s are [%" PRIu64 ", %" PRIu32
		                "], but a bank has 1 to 2^32 rows of 1 to 2^24 features",
		                b->path, split, clean ? n : 0, b->dim);
	if (c > INV_BANK_COPIES || (c && !copies))
		return inv_fail(INVAR_E_USE, "%s: %" PRIu32 " copies of %s were announced, but %s",
		                b->path, c, split,
		                copies ? "at most 100000 are allowed" : "they are NULL");

	INV_TRY_OR(fail, inv_new_text(&s.name, split));
	if (c)
		INV_TRY_OR(fail, inv_new(&s.aug));
	INV_TRY_OR(fail, wrap_array(b, &s, "clean.npy", clean, INV_F32, 2, shape, &s.clean));
	if (c)
		INV_TRY_OR(fail,
		           wrap_array(b, &s, "aug.npy", copies, INV_F32, 3, stacked, &s.aug[0]));
	s.aug_files = c != 0;
	if (labels)
		INV_TRY_OR(fail,
		           wrap_array(b, &s, "labels.npy", labels, INV_I64, 1, shape, &s.labels));

	/* By name, like the splits of a folder. */
	for (; at && strcmp(b->splits[at - 1].name, split) > 0; at--)
		b->splits[at] = b->splits[at - 1];
	b->splits[at] = s;
	b->split_count++;
	return INVAR_OK;
fail:
	inv_split_clear(&s);
	return st;
}

invar_status invar_bank_from_arrays(invar_context *ctx, const float *clean,
                                    const float *copies, const int64_t *labels, uint64_t n,
                                    uint32_t c, uint32_t d, invar_bank **out)
{
	invar_bank *b;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&b));
	b->ctx = ctx;
	b->dim = d;
	b->in_memory = true;
	inv_kernels_init(&b->kernels, ctx->cpu);
	INV_TRY_OR(fail, inv_new_text(&b->path, "the bank in memory")); /* for messages */
	INV_TRY_OR(fail, inv_new_zeros(&b->splits, INV_BANK_SPLITS));
	INV_TRY_OR(fail, invar_bank_add_split(b, "train", clean, copies, labels, n, c));
	*out = b;
	return INVAR_OK;
fail:
	invar_bank_close(b);
	return st;
}

invar_status invar_bank_set_field(invar_bank *b, const char *name, const char *text)
{
	json_t *value = json_string(text);

	if (!b->in_memory) {
		json_decref(value);
		return inv_fail(INVAR_E_USE, "%s: is a folder; its bank.json has the field %s",
		                b->path, name);
	}
	if (!value && *text)
		return inv_fail(INVAR_E_USE, "%s: the field %s is not UTF-8", b->path, name);
	if (!b->json)
		b->json = json_object();
	return json_object_set_new(b->json, name, value) == 0 ? INVAR_OK : inv_no_memory();
}
