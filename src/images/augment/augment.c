/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment.c - draws rows of parameters and augments images one by one.
 *
 * Images are independent: a block of work is a few whole images, fewer if they are large.
 * A chain of operations passes a picture between two buffers per thread; the last
 * operation that acts writes the result.
 */
#include "images/augment/augment.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "images/augment/inside.h"

enum { BLOCK_CELLS = 1 << 16, MAX_COPIES = 1 << 26 };
#define MAX_CELLS ((uint64_t)1 << 30)

/* ---- Opening ---------------------------------------------------------------------- */

invar_status invar_augment_parse(invar_context *ctx, const char *spec, invar_augment **out)
{
	invar_augment *a;
	invar_status st;

	*out = NULL;
	if (!ctx || !spec)
		return inv_fail(INVAR_E_USE, "an augmentation needs a context and a SPEC");
	INV_TRY(inv_new(&a));
	a->ctx = ctx;
	INV_TRY_OR(fail, inv_spec_parse(spec, &a->spec));
	INV_TRY_OR(fail, inv_new_zeros(&a->names, a->spec.columns + 1));
	for (size_t i = 0; i < a->spec.columns; i++)
		inv_spec_column(&a->spec, i, a->names[i]);
	inv_augment_kernels_init(&a->image, ctx->cpu);
	inv_kernels_init(&a->math, ctx->cpu);
	a->tools = (inv_tools){
		.image = &a->image, .math = &a->math, .mean = a->pixels.mean, .std = a->pixels.std};
	*out = a;
	return INVAR_OK;
fail:
	invar_augment_close(a);
	return st;
}

void invar_augment_close(invar_augment *a)
{
	if (!a)
		return;
	inv_free(a->names);
	inv_free(a);
}

const char *inv_augment_spec(const invar_augment *a)
{
	return a->spec.canonical;
}

size_t invar_augment_columns(const invar_augment *a)
{
	return a->spec.columns;
}

const char *inv_augment_column(const invar_augment *a, size_t column)
{
	return column < a->spec.columns ? a->names[column] : NULL;
}

const char *inv_augment_names(void)
{
	return inv_op_names();
}

void inv_augment_pixels(invar_augment *a, const inv_normalisation *n)
{
	a->pixels = *n;
	a->tools.channels = n->channels;
}

invar_status invar_augment_pixels(invar_augment *a, const char *normalize)
{
	inv_normalisation n;

	INV_TRY(inv_normalisation_parse(normalize, &n));
	inv_augment_pixels(a, &n);
	return INVAR_OK;
}

static const invar_option draw_option_rows[] = {
	{INV_SEED_ROW},
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "WORD",
     .group = "Draws",
     .help = "reproduce the draws of this split"},
	{.name = "epoch",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = UINT32_MAX,
     .meta = "N",
     .group = "Draws",
     .help = "reproduce the draws of this epoch; banks use 0"},
	{.name = "copy",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = MAX_COPIES,
     .meta = "N",
     .group = "Draws",
     .help = "reproduce the draws of this copy"},
	{.name = "first",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = UINT32_MAX,
     .meta = "N",
     .group = "Draws",
     .help = "index of the first image in its split"},
	{0},
};

invar_status inv_draw_declare(invar_options *o)
{
	return inv_options_add_rows(o, draw_option_rows);
}

invar_status inv_draw_read(const invar_options *o, invar_options **kept, inv_draw *out)
{
	*out = (inv_draw){0};
	INV_TRY(inv_options_pick(o, inv_draw_declare, kept));
	*out = (inv_draw){.seed = inv_option_count(*kept, "seed"),
	                  .split = inv_option_text(*kept, "split"),
	                  .epoch = inv_option_count(*kept, "epoch"),
	                  .copy = inv_option_count(*kept, "copy"),
	                  .first = inv_option_count(*kept, "first")};
	return INVAR_OK;
}

/* ---- Shapes ----------------------------------------------------------------------- */

invar_status inv_augment_shape(const uint64_t shape[4], inv_extent *out)
{
	uint64_t cells = 0, all = 0;

	if (!shape[1] || !shape[2] || !shape[3] || shape[2] > INT32_MAX ||
	    inv_mul_overflow(shape[1], shape[2], &cells) ||
	    inv_mul_overflow(cells, shape[3], &cells) || cells > MAX_CELLS ||
	    inv_mul_overflow(cells, shape[0], &all) || all > SIZE_MAX / sizeof(float))
		return inv_fail(INVAR_E_USE,
		                "images of shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
		                "] cannot be augmented: an image must have 1 to %" PRIu64 " values",
		                shape[0], shape[1], shape[2], shape[3], MAX_CELLS);
	*out = (inv_extent){(size_t)shape[1], (size_t)shape[2], (size_t)shape[3]};
	return INVAR_OK;
}

static inv_extent op_result(const inv_spec_op *o, inv_extent in)
{
	return o->op->result ? o->op->result(o->value, in) : in;
}

inv_extent inv_augment_input(const invar_augment *a, inv_extent in, size_t i)
{
	const inv_spec *s = &a->spec;

	in = inv_spec_start(s, s->op[i].chain, in);
	for (size_t j = s->first[s->op[i].chain]; j < i; j++)
		in = op_result(&s->op[j], in);
	return in;
}

invar_status inv_augment_result(const invar_augment *a, inv_extent in, inv_extent *out)
{
	const inv_spec *s = &a->spec;

	INV_TRY(inv_inside_check(s, in));
	for (size_t chain = 0; chain < s->chains; chain++) {
		inv_extent to = inv_spec_start(s, chain, in);

		for (size_t i = s->first[chain]; i < s->first[chain + 1]; i++) {
			const inv_op *op = s->op[i].op;
			const char *reason = op->refuse ? op->refuse(s->op[i].value, to) : NULL;

			if (reason)
				return inv_fail(INVAR_E_USE, "%s cannot be applied to %zu x %zu x %zu: %s",
				                op->name, to.c, to.h, to.w, reason);
			to = op_result(&s->op[i], to);
			if (inv_extent_cells(to) > MAX_CELLS)
				return inv_fail(INVAR_E_USE,
				                "%s gives images of more than %" PRIu64 " values", op->name,
				                MAX_CELLS);
		}
		if (chain && (to.h != out->h || to.w != out->w))
			return inv_fail(INVAR_E_USE,
			                "the chains of %s produce %zu x %zu and %zu x %zu pixels; make "
			                "them the same size",
			                s->canonical, out->h, out->w, to.h, to.w);
		*out = chain ? *out : to;
	}
	return INVAR_OK;
}

invar_status invar_augment_result(const invar_augment *a, const uint64_t shape[4],
                                  uint64_t out[4])
{
	inv_extent in, result;

	INV_TRY(inv_augment_shape(shape, &in));
	INV_TRY(inv_augment_result(a, in, &result));
	out[0] = shape[0];
	out[1] = result.c;
	out[2] = result.h;
	out[3] = result.w;
	return inv_augment_shape(out, &result);
}

invar_status inv_augment_prepared(const invar_augment *a, const uint64_t seen[4],
                                  uint64_t out[4])
{
	inv_extent s;

	INV_TRY(inv_augment_shape(seen, &s));
	memcpy(out, seen, 4 * sizeof *out);
	if (!a->spec.inside)
		return INVAR_OK;
	if (s.h != s.w)
		return inv_inside_check(&a->spec, s);
	out[2] = out[3] = inv_spec_prepared_side(&a->spec, s.h);
	return inv_augment_shape(out, &s);
}

invar_status inv_augment_clean(const invar_augment *a, const float *x,
                               const uint64_t shape[4], uint64_t clean[4], float *out)
{
	inv_extent s, seen;

	INV_TRY(inv_augment_shape(shape, &s));
	INV_TRY(inv_inside_check(&a->spec, s));
	seen = inv_spec_seen(&a->spec, s);
	memcpy(clean, (uint64_t[4]){shape[0], seen.c, seen.h, seen.w}, 4 * sizeof *clean);
	for (uint64_t i = 0; out && i < shape[0]; i++)
		inv_cut_centre(x + i * inv_extent_cells(s), s, seen,
		               out + i * inv_extent_cells(seen));
	return INVAR_OK;
}

/* ---- Drawing ---------------------------------------------------------------------- */

/* Streams of all operations, prepared once per call; the last one draws the chain. */
typedef struct streams {
	inv_stream row[INV_MAX_OPS + 1], field[INV_MAX_OPS + 1];
} streams;

/*
 * One stream per copy, operation and kind of draw: the step between purposes is odd, so
 * their numbers differ modulo 2^32 within a split.
 */
static streams prepare_streams(const inv_draw *d)
{
	char purpose[256];
	streams s;

	snprintf(purpose, sizeof purpose, "augment/%s", d->split);
	for (uint32_t i = 0; i <= INV_MAX_OPS; i++) {
		uint32_t number = 2 * ((uint32_t)d->copy * (INV_MAX_OPS + 1) + i);

		s.row[i] = s.field[i] = inv_stream_of(d->seed, purpose, (uint32_t)d->epoch);
		s.row[i].purpose += 2654435761u * number;
		s.field[i].purpose += 2654435761u * (number + 1);
	}
	return s;
}

static invar_status check_draw(const inv_draw *d, uint64_t images)
{
	if (d->epoch > UINT32_MAX || d->copy > MAX_COPIES)
		return inv_fail(INVAR_E_USE, "epochs must be below 2^32 and copies below 2^26");
	if (d->first > UINT32_MAX || images > UINT32_MAX - d->first)
		return inv_fail(INVAR_E_USE, "image indices must be below 2^32");
	return INVAR_OK;
}

static uint32_t index_for(const inv_spec_op *o, uint32_t image)
{
	return inv_value_is(o->value[INV_KEY_SAME], 1) ? image / INV_BATCH_INDICES : image;
}

/* Columns of operations that the row's chain does not have stay 0. */
static void draw_row(const invar_augment *a, const streams *t, inv_extent in,
                     uint32_t image, float *row)
{
	const inv_spec *s = &a->spec;
	inv_cursor c = inv_cursor_of(&t->row[INV_MAX_OPS], image);
	size_t chain = 0;
	double total = 0, at;

	memset(row, 0, s->columns * sizeof *row);
	if (s->chains > 1) {
		for (size_t i = 0; i < s->chains; i++)
			total += s->weight[i];
		at = (double)inv_next_uniform(&c) * total;
		while (chain + 1 < s->chains && at >= s->weight[chain])
			at -= s->weight[chain++];
		row[0] = (float)chain;
	}
	in = inv_spec_start(s, chain, in);
	for (size_t i = s->first[chain]; i < s->first[chain + 1]; i++) {
		const inv_spec_op *o = &s->op[i];
		float *own = row + o->column + o->has_on;
		bool on;

		c = inv_cursor_of(&t->row[i], index_for(o, image));
		on = inv_next_uniform(&c) < (float)o->value[INV_KEY_P].low;
		if (o->has_on)
			row[o->column] = on;
		if (on && o->op->draw)
			o->op->draw(o->value, in, &c, own);
		else if (!on && o->op->still)
			o->op->still(in, own);
		in = op_result(o, in);
	}
}

invar_status inv_augment_draw(const invar_augment *a, const inv_draw *d,
                              const uint64_t shape[4], float *params)
{
	inv_extent in, result;
	streams t;

	INV_TRY(inv_augment_shape(shape, &in));
	INV_TRY(inv_augment_result(a, in, &result));
	INV_TRY(check_draw(d, shape[0]));
	t = prepare_streams(d);
	for (uint64_t i = 0; i < shape[0]; i++)
		draw_row(a, &t, in, (uint32_t)(d->first + i), params + i * a->spec.columns);
	return INVAR_OK;
}

/* ---- Rows from outside --------------------------------------------------------------- */

invar_status inv_augment_check_row(const invar_augment *a, inv_extent in, const float *row,
                                   uint64_t image)
{
	const inv_spec *s = &a->spec;
	size_t chain;

	if (s->chains > 1 &&
	    !(row[0] >= 0 && row[0] < (float)s->chains && row[0] == floorf(row[0])))
		return inv_fail(INVAR_E_USE, "image %" PRIu64 ": chain is %g but must be 0 to %zu",
		                image, (double)row[0], s->chains - 1);
	chain = inv_spec_chain(s, row);
	in = inv_spec_start(s, chain, in);
	for (size_t i = s->first[chain]; i < s->first[chain + 1];
	     in = op_result(&s->op[i++], in)) {
		const inv_spec_op *o = &s->op[i];
		const float *own = inv_augment_own(o, row);
		const char *reason = NULL;

		if (o->has_on && row[o->column] != 0 && row[o->column] != 1)
			return inv_fail(INVAR_E_USE, "image %" PRIu64 ": on is %g but must be 0 or 1",
			                image, (double)row[o->column]);
		if (o->has_on && row[o->column] == 0 && !o->op->still)
			continue;
		for (size_t k = 0; k < o->op->column_count && !reason; k++)
			if (!isfinite(own[k]))
				reason = "a parameter is not a finite number";
		if (!reason && o->op->refuse_row)
			reason = o->op->refuse_row(o->value, in, own);
		if (reason)
			return inv_fail(INVAR_E_USE, "image %" PRIu64 ", %s: %s", image, o->op->name,
			                reason);
	}
	return INVAR_OK;
}

/* ---- Applying ------------------------------------------------------------------------ */

/* The first failed block of a thread and its message, which is thread-local. */
typedef struct augment_fault {
	size_t block;
	invar_status status;
	char text[512];
} augment_fault;

typedef struct augmenting {
	const invar_augment *a;
	const inv_draw *d;
	streams t;
	inv_extent in, result;
	size_t images, per_block;
	const float *x, *params;
	float *out;
	size_t capacity;       /* cells of one buffer */
	float *buffers;        /* [threads, 2, capacity] */
	augment_fault *faults; /* [threads] */
} augmenting;

static bool must_run(const inv_spec_op *o, const float *row, inv_extent in)
{
	inv_extent to = op_result(o, in);

	return !o->has_on || row[o->column] != 0 || to.h != in.h || to.w != in.w;
}

static invar_status run_chain(const augmenting *j, const float *row, uint32_t image,
                              const float *x, float *out, float *buffers)
{
	const inv_spec *s = &j->a->spec;
	size_t chain = inv_spec_chain(s, row), turn = 0;
	inv_extent start = inv_spec_start(s, chain, j->in);
	size_t last = SIZE_MAX; /* the last operation that must run */
	inv_op_call call = {.tools = &j->a->tools, .in = x, .shape = start};
	inv_extent at = start;

	for (size_t i = s->first[chain]; i < s->first[chain + 1];
	     at = op_result(&s->op[i++], at))
		if (must_run(&s->op[i], row, at))
			last = i;
	if (last == SIZE_MAX) {
		inv_cut_centre(x, j->in, start, out);
		return INVAR_OK;
	}
	if (start.h != j->in.h) {
		inv_cut_centre(x, j->in, start, buffers);
		call.in = buffers;
		turn++;
	}
	for (size_t i = s->first[chain]; i <= last; i++) {
		const inv_spec_op *o = &s->op[i];
		bool off = o->has_on && row[o->column] == 0;
		float *to = i == last ? out : buffers + (turn & 1) * j->capacity;

		if (!must_run(o, row, call.shape))
			continue;
		call.v = o->value;
		call.row = inv_augment_own(o, row);
		call.field = j->t.field[i];
		call.index = index_for(o, image);
		call.result = op_result(o, call.shape);
		/* When off, the image is unchanged, or its centre if the size changes. */
		if (off && !o->op->still)
			inv_cut_centre(call.in, call.shape, call.result, to);
		else
			INV_TRY(o->op->apply(&call, to));
		call.in = to;
		call.shape = call.result;
		turn++;
	}
	return INVAR_OK;
}

static void run_augment_block(void *user, size_t block, unsigned thread)
{
	augmenting *j = user;
	const inv_spec *s = &j->a->spec;
	augment_fault *f = &j->faults[thread];
	size_t from = block * j->per_block, to = from + j->per_block;
	size_t in = inv_extent_cells(j->in), out = inv_extent_cells(j->result);
	float drawn[INV_MAX_OPS * (INV_MAX_COLUMNS + 1) + 1];
	invar_status st;

	for (size_t i = from; i < to && i < j->images; i++) {
		uint32_t image = (uint32_t)(j->d->first + i);
		const float *row = j->params ? j->params + i * s->columns : drawn;

		if (!j->params)
			draw_row(j->a, &j->t, j->in, image, drawn);
		INV_TRY_OR(fail, run_chain(j, row, image, j->x + i * in, j->out + i * out,
		                           j->buffers + 2 * thread * j->capacity));
	}
	return;
fail:
	if (f->status != INVAR_OK && f->block <= block)
		return;
	f->block = block;
	f->status = st;
	snprintf(f->text, sizeof f->text, "%s", invar_last_error());
}

invar_status inv_augment_apply(const invar_augment *a, const inv_draw *d, const float *x,
                               const uint64_t shape[4], const float *params, float *out)
{
	augmenting j = {.a = a, .d = d, .x = x, .params = params, .out = out};
	const inv_spec *s = &a->spec;
	const augment_fault *first = NULL;
	size_t cells, threads = a->ctx->threads;
	invar_status st;

	INV_TRY(inv_augment_shape(shape, &j.in));
	INV_TRY(inv_augment_result(a, j.in, &j.result));
	INV_TRY(check_draw(d, shape[0]));
	j.images = (size_t)shape[0];
	for (size_t i = 0; i < j.images && params; i++)
		INV_TRY(inv_augment_check_row(a, j.in, params + i * s->columns, i));
	j.t = prepare_streams(d);

	/* A buffer holds the largest image between two operations. */
	for (size_t i = 0; i < s->ops; i++) {
		inv_extent given = inv_augment_input(a, j.in, i);

		cells = inv_extent_cells(given);
		if ((i > s->first[s->op[i].chain] || given.h != j.in.h) && cells > j.capacity)
			j.capacity = cells;
	}
	cells = inv_extent_cells(j.in);
	j.per_block = cells < BLOCK_CELLS ? BLOCK_CELLS / cells : 1;
	INV_TRY_OR(end, inv_new_array(&j.buffers, 2 * threads * j.capacity + 1));
	INV_TRY_OR(end, inv_new_zeros(&j.faults, threads));
	inv_parallel(a->ctx, inv_blocks(j.images, j.per_block), run_augment_block, &j);
	for (size_t i = 0; i < threads; i++)
		if (j.faults[i].status != INVAR_OK && (!first || j.faults[i].block < first->block))
			first = &j.faults[i];
	st = first ? inv_fail(first->status, "%s", first->text) : INVAR_OK;
end:
	inv_free(j.buffers);
	inv_free(j.faults);
	return st;
}

/* ---- The public names of the same ------------------------------------------------- */

invar_status invar_augment_draw(const invar_augment *a, const invar_options *o,
                                const uint64_t shape[4], float *params)
{
	invar_options *kept;
	inv_draw d;
	invar_status st;

	INV_TRY(inv_draw_read(o, &kept, &d));
	st = inv_augment_draw(a, &d, shape, params);
	invar_options_free(kept);
	return st;
}

invar_status invar_augment_apply(const invar_augment *a, const invar_options *o,
                                 const float *x, const uint64_t shape[4],
                                 const float *params, float *out)
{
	invar_options *kept;
	inv_draw d;
	invar_status st;

	INV_TRY(inv_draw_read(o, &kept, &d));
	st = inv_augment_apply(a, &d, x, shape, params, out);
	invar_options_free(kept);
	return st;
}
