/* SPDX-License-Identifier: Apache-2.0 */
/* image_ranks.c - see image_ranks.h. */
#include "encode/image_ranks.h"

#include <stdio.h>
#include <string.h>

#include "bank/row_names.h"
#include "base/memory.h"
#include "base/rank_compare.h"

_Static_assert((int)INV_COMPARED_BYTES == (int)INV_FINGERPRINT,
               "images are compared by it");

typedef struct compared_images {
	const invar_dataset *d;
	const inv_images *s;
	inv_image *scratch; /* one per thread */
} compared_images;

static bool identify_image(void *user, size_t item, inv_file_id *out)
{
	const compared_images *c = user;

	return inv_images_file_id(c->d, c->s, item, out);
}

/* An image that is broken on all ranks is passed over by all. */
static invar_status print_rank_image(void *user, size_t item, unsigned thread,
                                     unsigned char out[INV_COMPARED_BYTES])
{
	const compared_images *c = user;
	inv_fingerprint print = {{0}};
	invar_status st = inv_images_fingerprint(c->d, c->s, item, &c->scratch[thread], &print);

	if (c->d->opts.skip_broken && inv_is_broken(st))
		st = INVAR_OK;
	memcpy(out, print.byte, INV_COMPARED_BYTES);
	return st;
}

static invar_status refuse_image(void *user, size_t item)
{
	const compared_images *c = user;
	char image[INV_ROW_TEXT], text[INV_ROW_TEXT + 512];

	snprintf(text, sizeof text, "%.256s: image %s of %.100s", c->d->text,
	         inv_image_text(c->d, c->s, item, image), c->s->name);
	return inv_fail_other_file(text);
}

invar_status inv_images_agree(const invar_dataset *d, const inv_images *s)
{
	compared_images images = {.d = d, .s = s};
	const inv_compared c = {.count = s->count,
	                        .user = &images,
	                        .file = identify_image,
	                        .print = print_rank_image,
	                        .differs = refuse_image};
	invar_status st;

	if (!(images.scratch = inv_calloc(d->ctx->threads, sizeof *images.scratch)))
		return inv_dataset_no_memory(d);
	st = inv_ranks_compare(d->ctx, &c);
	for (unsigned i = 0; i < d->ctx->threads; i++)
		inv_image_clear(&images.scratch[i]);
	inv_free(images.scratch);
	return st;
}
