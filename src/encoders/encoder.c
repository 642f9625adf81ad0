/* encoder.c - opening an encoder by its name, and running it group by group. */
#include "encoders/encoder.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/threads.h"

#define MOST_CELLS ((uint64_t)1 << 30) /* of one image */

void invar_encoder_defaults(invar_encoder_opts *o)
{
	*o = (invar_encoder_opts){.size = sizeof *o, .encoder = "pixels"};
}

static invar_status find_kind(const char *name, const inv_encoder_kind **out)
{
	char list[256], hint[INV_HINT];

	for (size_t i = 0; name && inv_encoder_kinds[i]; i++)
		if (strcmp(inv_encoder_kinds[i]->name, name) == 0) {
			*out = inv_encoder_kinds[i];
			return INVAR_OK;
		}
	return inv_fail(INVAR_E_USE, "the encoder is '%.60s' but must be %s%s",
	                name ? name : "",
	                inv_list_words(invar_encoder_names(), list, sizeof list),
	                inv_hint(name ? name : "", invar_encoder_names(), hint));
}

invar_status invar_encoder_open(invar_context *ctx, const char *weights,
                                const invar_encoder_opts *o, invar_encoder **out)
{
	invar_encoder_opts all;
	invar_encoder *e;
	invar_status st;

	*out = NULL;
	invar_encoder_defaults(&all);
	if (o)
		memcpy(&all, o, o->size < sizeof all ? o->size : sizeof all);
	if (!(e = inv_calloc(1, sizeof *e)))
		return inv_fail(INVAR_E_NOMEM, "no memory for an encoder");
	e->ctx = ctx;
	st = find_kind(all.encoder, &e->kind);
	if (st == INVAR_OK && e->kind->open)
		st = e->kind->open(e, weights);
	else if (st == INVAR_OK && weights)
		st = inv_fail(INVAR_E_USE, "%s: the encoder %s takes no weights; leave them out",
		              weights, e->kind->name);
	if (st != INVAR_OK) {
		invar_encoder_close(e);
		return st;
	}
	*out = e;
	return INVAR_OK;
}

void invar_encoder_close(invar_encoder *e)
{
	if (!e)
		return;
	if (e->kind && e->kind->close)
		e->kind->close(e);
	inv_free(e->weights_sha256);
	inv_free(e);
}

const char *invar_encoder_name(const invar_encoder *e)
{
	return e->kind->name;
}

static invar_status take_shape(const uint64_t shape[4], inv_extent *out)
{
	uint64_t cells = 0, all;

	if (!shape[1] || !shape[2] || !shape[3] ||
	    inv_mul_overflow(shape[1], shape[2], &cells) ||
	    inv_mul_overflow(cells, shape[3], &cells) || cells > MOST_CELLS ||
	    inv_mul_overflow(cells, shape[0], &all) || all > SIZE_MAX / sizeof(float))
		return inv_fail(INVAR_E_USE,
		                "images of shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
		                "] cannot be encoded: an image must have 1 to %" PRIu64 " values",
		                shape[0], shape[1], shape[2], shape[3], MOST_CELLS);
	*out = (inv_extent){(size_t)shape[1], (size_t)shape[2], (size_t)shape[3]};
	return INVAR_OK;
}

invar_status invar_encoder_width(const invar_encoder *e, const uint64_t shape[4],
                                 uint64_t *width)
{
	inv_extent one;
	invar_status st = take_shape(shape, &one);

	*width = 0;
	return st == INVAR_OK ? e->kind->width(e, one, width) : st;
}

typedef struct job {
	const invar_encoder *e;
	const float *x;
	size_t images;
	inv_extent shape;
	uint64_t width;
	float *out;
} job;

static invar_status run_group(void *user, size_t group, unsigned thread)
{
	job *j = user;
	size_t first = group * INV_GROUP, left = j->images - first;

	return j->e->kind->run(j->e, j->x + first * inv_extent_cells(j->shape),
	                       left < INV_GROUP ? left : INV_GROUP, j->shape, thread,
	                       j->out + first * j->width);
}

invar_status invar_encoder_run(invar_encoder *e, const float *nchw, const uint64_t shape[4],
                               float *out)
{
	job j = {.e = e, .x = nchw, .images = (size_t)shape[0], .out = out};
	invar_status st = take_shape(shape, &j.shape);

	if (st == INVAR_OK)
		st = e->kind->width(e, j.shape, &j.width);
	if (st != INVAR_OK)
		return st;
	return inv_parallel_try(e->ctx, inv_blocks(j.images, INV_GROUP), run_group, &j);
}
