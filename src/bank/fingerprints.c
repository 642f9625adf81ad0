/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprints.c - see fingerprints.h. */
#include "bank/fingerprints.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bank/row_names.h"
#include "base/memory.h"
#include "base/threads.h"

enum { CHUNK = 4096, BLOCK = 16 }; /* images between two reports, images per block */

/* ---- The file --------------------------------------------------------------------- */

/* Takes *out, which is closed if it fails. */
static invar_status check_fingerprint_array(uint64_t rows, inv_npy **out)
{
	const inv_npy *a = *out;
	const inv_npy_header *h = &a->h;
	char shape[INV_SHAPE_TEXT];

	if (h->dtype == INV_U8 && h->ndim == 2 && h->shape[0] == rows &&
	    h->shape[1] == INV_FINGERPRINT && !h->fortran)
		return INVAR_OK;
	inv_fail(INVAR_E_FORMAT,
	         "%s: is %s %s%s but uint8 (%" PRIu64
	         ", %d) was expected; remove the file to compare only the first rows "
	         "with their images",
	         a->path, inv_dtype_name(h->dtype), inv_shape_text(h->ndim, h->shape, shape),
	         h->fortran ? " in Fortran order" : "", rows, INV_FINGERPRINT);
	inv_npy_close(*out);
	*out = NULL;
	return INVAR_E_FORMAT;
}

invar_status inv_fingerprints_open(const char *path, uint64_t rows, inv_npy **out)
{
	*out = NULL;
	if (!inv_exists(path))
		return INVAR_OK;
	INV_TRY(inv_npy_open(path, out));
	return check_fingerprint_array(rows, out);
}

invar_status inv_fingerprints_view(const unsigned char *bytes, uint64_t size,
                                   const char *name, uint64_t rows, inv_npy **out)
{
	INV_TRY(inv_npy_view(bytes, size, name, out));
	return check_fingerprint_array(rows, out);
}

/* ---- Comparing -------------------------------------------------------------------- */

invar_status inv_fingerprints_compare(const inv_npy *known, uint64_t row,
                                      const invar_dataset *d, const inv_images *s,
                                      uint64_t image, const inv_fingerprint *now)
{
	const unsigned char *then = known->data + row * INV_FINGERPRINT;
	char text[INV_ROW_TEXT];

	if (memcmp(then, now->byte, INV_FINGERPRINT) == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: image %s of %s has changed since its row was encoded; restore the "
	                "old image, or use another bank",
	                known->path, inv_image_text(d, s, image, text), s->name);
}

typedef struct comparison {
	const inv_npy *known;
	const invar_dataset *dataset;
	const inv_images *images;
	uint64_t first, count; /* of the chunk */
	inv_image *scratch;    /* one per thread */
} comparison;

static invar_status compare_block(void *user, size_t block, unsigned thread)
{
	const comparison *c = user;
	uint64_t row = c->first + block * BLOCK, end = row + BLOCK;
	uint64_t last = c->first + c->count;

	for (; row < end && row < last; row++) {
		inv_fingerprint now;

		INV_TRY(
			inv_images_fingerprint(c->dataset, c->images, row, &c->scratch[thread], &now));
		INV_TRY(inv_fingerprints_compare(c->known, row, c->dataset, c->images, row, &now));
	}
	return INVAR_OK;
}

invar_status inv_fingerprints_check(const invar_context *ctx, const inv_npy *known,
                                    const invar_dataset *d, const inv_images *s,
                                    uint64_t first, uint64_t count)
{
	comparison c = {.known = known, .dataset = d, .images = s, .first = first};
	uint64_t end = first + count;
	char title[80];
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_zeros(&c.scratch, ctx->threads));
	snprintf(title, sizeof title, "compare %.60s", s->name);
	for (; c.first < end; c.first += c.count) {
		c.count = end - c.first < CHUNK ? end - c.first : CHUNK;
		INV_TRY_OR(done, inv_progress(ctx, title, c.first, s->count));
		INV_TRY_OR(done,
		           inv_parallel_try(ctx, inv_blocks(c.count, BLOCK), compare_block, &c));
	}
done:
	for (unsigned i = 0; i < ctx->threads; i++)
		inv_image_clear(&c.scratch[i]);
	inv_free(c.scratch);
	return st;
}
