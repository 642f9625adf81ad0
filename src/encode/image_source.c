/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_source.c - images as a source: copies are made while the adapter trains.
 *
 * Before it is prepared, it knows the width of the features and the images of its split,
 * including those that cannot be read. Preparing encodes the clean features into a bank,
 * whose rows are the source's rows from then on.
 */
#include "base/memory.h"
#include "base/options.h"
#include "encode/live_copies.h"
#include "encode/source.h"
#include "encoders/encoder.h"

typedef struct image_source {
	inv_source base;
	inv_live *live;
	invar_bank *clean; /* NULL before it is prepared */
	char *called;      /* the folder of `clean` once the run folder has its final name */
} image_source;

static image_source *of(const inv_source *s)
{
	return (image_source *)s;
}

/* From the bank of clean features if it exists, else from the data set. */
static invar_status select_images(inv_source *s, const char *split, uint64_t copies)
{
	const inv_split *stored;

	(void)copies; /* none are stored */
	if (!s->bank) {
		s->split = split;
		return inv_live_select(of(s)->live, split, &s->rows);
	}
	if (!(stored = inv_bank_split(s->bank, split)))
		return INVAR_E_MISMATCH;
	s->stored = stored;
	s->split = stored->name;
	s->rows = stored->rows;
	return INVAR_OK;
}

static invar_status prepare_clean(inv_source *s, uint64_t seed, const char *folder,
                                  const char *called)
{
	image_source *i = of(s);

	INV_TRY(inv_new_text(&i->called, called));
	i->live->of.opts.seed = seed; /* which may belong to a run that is resumed */
	INV_TRY(inv_live_encode_clean(i->live, folder, &i->clean));
	s->bank = i->clean;
	s->name = i->clean->path; /* where its rows are from now on */
	return inv_source_select(s, s->split, 0);
}

static invar_status need_augment(const inv_source *s)
{
	if (of(s)->live->of.augment)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "training on images needs an augmentation: set @augment SPEC");
}

static invar_status make_copies(const inv_source *s, const inv_source_batch *b, float *out)
{
	return inv_live_fill(of(s)->live, b->epoch, b->rows, b->N, b->s, out);
}

static const char *path_of_clean(const inv_source *s)
{
	return of(s)->called;
}

static json_t *encoding_of(const inv_source *s)
{
	return inv_encoding_json(&of(s)->live->of);
}

static json_t *options_of_images(const inv_source *s)
{
	return inv_live_options(of(s)->live);
}

static void cancel(inv_source *s)
{
	atomic_store(&of(s)->live->cancelled, true);
}

static void close_image_source(inv_source *s)
{
	image_source *i = of(s);

	invar_bank_close(i->clean);
	inv_live_close(i->live);
	inv_free(i->called);
	inv_free(i);
}

static const inv_source_kind image_source_kind = {
	.select = select_images,
	.prepare = prepare_clean,
	.need_copies = need_augment,
	.fill_copies = make_copies,
	.path = path_of_clean,
	.encoding = encoding_of,
	.options = options_of_images,
	.cancel = cancel,
	.close = close_image_source,
};

invar_status inv_image_source_open(invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, inv_source **out)
{
	image_source *i;
	invar_status st;

	*out = NULL;
	if (inv_options_text(o, "encoder-name", 0))
		return inv_fail(INVAR_E_USE,
		                "@encoder-name is for features that others made; with @data the "
		                "encoder is known, so leave it out");
	if (e->kind->by_caller) /* copies are made on another thread */
		return inv_fail(INVAR_E_USE,
		                "the encoder %.60s is a function of the calling program, which "
		                "cannot be called while an adapter trains; encode a bank and train "
		                "on it",
		                invar_encoder_name(e));
	INV_TRY(inv_new(&i));
	INV_TRY_OR(fail, inv_live_open(e, d, o, inv_option_count(o, "seed"), &i->live));
	i->base = (inv_source){.kind = &image_source_kind,
	                       .ctx = i->live->of.ctx,
	                       .name = d->text,
	                       .dim = (uint32_t)i->live->of.width,
	                       .unlimited = true};
	*out = &i->base;
	return INVAR_OK;
fail:
	inv_free(i);
	return st;
}
