/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit.c - vision transformers: from images to features, in float32 or with products in
 * bfloat16.
 *
 * Letters: n images of a group, T tokens of an image (class, registers, patches), D the
 * width. Tokens x [n T, D] pass through the blocks
 *
 *     x += out(attention(norm1 x)),  x += fc2(gelu(fc1(norm2 x)))
 *
 * Products whose result goes to x accumulate into it directly; their bias is added when the
 * preceding norm has read x. Layer scale is in the weights (vit_load.c). The last block
 * computes only the tokens that the feature reads: if that is the class token, its queries
 * and its MLP run on one row per image.
 *
 * Rotary positions rotate queries and keys of the patches. A gated MLP is
 * fc2(silu(gate x) fc1 x). SigLIP's pooling is one more block after the final norm: its
 * single query per image is a constant, and its sum starts at 0 instead of x.
 *
 * Everything except attention works on each token separately. So a block is two steps:
 * attention, cut by image and head, and the work between two attentions, cut into chunks of
 * rows that stay in the cache from one product to the next. No cut changes a bit
 * (panels.h), so a group of images may be one thread's work, and one image the work of all
 * threads.
 */
#include "encoders/vit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/threads.h"
#include "math/attention.h"

enum {
	ROWS = 800, /* max of a group, if it has more than one image */
	CHUNK = 192 /* of a chunk */
};

/* Buffers of a thread. */
typedef struct space {
	float *x, *y;   /* [n T, D] of its group */
	float *qkv;     /* [n T, 3 D] */
	float *scratch; /* of attention; or of a product, with `hidden` after it */
	/* [CHUNK, max(hidden, patch)]: patches, or the hidden layer of an MLP; its gate after
	 * it
	 */
	float *hidden;
} space;

typedef struct vit_plan {
	size_t rows, cols, tokens; /* patches down and across, tokens of an image */
	float *start;              /* [T, D]: positions, bias of the patches, class token */
	float *cosines, *sines;    /* [patches, head / 2] of rotary positions */
	inv_arena memory;
	space *spaces; /* one per thread */
} vit_plan;

/* ---- Opening ---------------------------------------------------------------------- */

static void describe_vit(const inv_vit *v, char *out)
{
	char text[4][64] = {"", "", "", ""};

	if (v->registers)
		snprintf(text[0], sizeof *text, ", %zu %s", v->registers,
		         inv_noun(v->registers, "register", "registers"));
	if (v->rotary > 0)
		snprintf(text[1], sizeof *text, "rotary positions");
	else
		snprintf(text[1], sizeof *text, "positions %zu x %zu resized as in %s", v->grid,
		         v->grid,
		         v->pos == INV_POS_DINO ? "DINO"
		         : v->pos == INV_POS_HF ? "Hugging Face"
		                                : "timm");
	if (v->projected)
		snprintf(text[2], sizeof *text, ", projected to %zu", v->projected);
	if (v->mean || v->pooled)
		snprintf(text[3], sizeof *text,
		         v->mean ? ", mean of the patches" : ", pooled by attention");
	snprintf(out, INV_ABOUT, "ViT, patch %zu, %zu %s of width %zu%s, %zu %s, %s%s%s%s",
	         v->patch, v->depth, inv_noun(v->depth, "block", "blocks"), v->width,
	         v->gated ? " with gated MLPs" : "", v->heads,
	         inv_noun(v->heads, "head", "heads"), text[1], text[0], text[2], text[3]);
}

static invar_status open_vit(invar_encoder *e, inv_parameters *p)
{
	inv_vit *v;

	INV_TRY(inv_new(&v));
	e->own = v;
	inv_kernels_init(&v->kernels, e->ctx->cpu);
	v->bfloat16 = inv_encoder_is_in(e, "bfloat16");
	INV_TRY(inv_vit_load(v, e, p));
	describe_vit(v, e->about);
	return INVAR_OK;
}

static void close_vit(invar_encoder *e)
{
	inv_vit *v = e->own;

	if (v)
		inv_arena_free(&v->memory);
	inv_free(v);
}

/* ---- Planning --------------------------------------------------------------------- */

static size_t patch_cells(const inv_vit *v)
{
	return v->channels * v->patch * v->patch;
}

static inv_attention attention_of(const inv_encoder_plan *p, size_t queries)
{
	const inv_vit *v = p->encoder->own;
	const vit_plan *plan = p->own;

	return (inv_attention){.kernels = &v->kernels,
	                       .queries = queries,
	                       .tokens = plan->tokens,
	                       .heads = v->heads,
	                       .width = v->width / v->heads,
	                       .q_stride = 3 * v->width,
	                       .kv_stride = 3 * v->width,
	                       .out_stride = v->width,
	                       .pairs = v->bfloat16};
}

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_spaces(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	vit_plan *plan = p->own;
	inv_arena *a = &plan->memory;
	const inv_attention attention = attention_of(p, plan->tokens);
	uint64_t rows = (uint64_t)p->group * plan->tokens;
	uint64_t hidden = (v->gated ? 2 : 1) * (uint64_t)v->hidden;
	uint64_t wide = hidden < patch_cells(v) ? patch_cells(v) : hidden;
	uint64_t angles =
		v->rotary > 0 ? (uint64_t)plan->rows * plan->cols * (v->width / v->heads / 2) : 0;
	uint64_t floats = inv_attention_room(&attention), product = inv_panels_room();

	floats = floats < product + CHUNK * wide ? product + CHUNK * wide : floats;
	plan->start = inv_arena_take(a, (uint64_t)plan->tokens * v->width, sizeof(float));
	plan->cosines = inv_arena_take(a, angles, sizeof(float));
	plan->sines = inv_arena_take(a, angles, sizeof(float));
	plan->spaces = inv_arena_take(a, p->encoder->ctx->threads, sizeof *plan->spaces);
	for (unsigned t = 0; t < p->encoder->ctx->threads; t++) {
		space none, *s = a->base ? &plan->spaces[t] : &none;

		s->x = inv_arena_take(a, rows * v->width, sizeof(float));
		s->y = inv_arena_take(a, rows * v->width, sizeof(float));
		s->qkv = inv_arena_take(a, rows * 3 * v->width, sizeof(float));
		s->scratch = inv_arena_take(a, floats, sizeof(float));
		s->hidden = a->base ? s->scratch + product : NULL;
	}
}

/* The start of x, to which the products of the patches are added. */
static invar_status fill_start(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	const vit_plan *plan = p->own;
	size_t d = v->width, patches = plan->rows * plan->cols;
	const float *trained = v->positions + v->other_positions * d;
	float *first = plan->start + inv_vit_others(v) * d;

	if (v->has_class)
		memcpy(plan->start, v->class_token, d * sizeof(float));
	if (v->registers)
		memcpy(plan->start + v->has_class * d, v->register_tokens,
		       v->registers * d * sizeof(float));
	for (size_t i = 0; i < v->other_positions * d; i++)
		plan->start[i] += v->positions[i];
	if (v->rotary > 0) {
		memset(first, 0, patches * d * sizeof(float));
		inv_positions_rotary(v->rotary, d / v->heads / 2, plan->rows, plan->cols,
		                     plan->cosines, plan->sines);
	} else if (inv_positions_differ(v->pos, v->grid, plan->rows, plan->cols, p->shape.h,
	                                p->shape.w))
		INV_TRY(
			inv_positions_fit(v->pos, trained, v->grid, d, plan->rows, plan->cols, first));
	else
		memcpy(first, trained, patches * d * sizeof(float));
	for (size_t i = 0; i < patches; i++)
		for (size_t j = 0; j < d; j++)
			first[i * d + j] += v->patches.bias[j];
	return INVAR_OK;
}

static invar_status check_vit_images(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	size_t side = p->encoder->input.side, h = p->shape.h, w = p->shape.w;

	if (p->shape.c != v->channels)
		return inv_fail(INVAR_E_USE,
		                "%s: takes images with %zu %s, not %zu; use other images",
		                p->encoder->weights, v->channels,
		                inv_noun(v->channels, "channel", "channels"), p->shape.c);
	if (h < v->patch || w < v->patch)
		return inv_fail(INVAR_E_USE,
		                "%s: images of %zu x %zu are smaller than one patch of %zu x %zu; "
		                "use larger images",
		                p->encoder->weights, w, h, v->patch, v->patch);
	if (v->one_size && (h / v->patch != v->grid || w / v->patch != v->grid))
		return inv_fail(INVAR_E_USE,
		                "%s: is a %s model for images of %zu x %zu, not %zu x %zu; "
		                "resize the images, or set @pos to resize its positions",
		                p->encoder->weights, v->pooled ? "SigLIP" : "CLIP", side, side, w,
		                h);
	return INVAR_OK;
}

static invar_status plan_vit(inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	vit_plan *plan;

	INV_TRY(check_vit_images(p));
	INV_TRY(inv_new(&plan));
	p->own = plan;
	plan->rows = p->shape.h / v->patch;
	plan->cols = p->shape.w / v->patch;
	plan->tokens = inv_vit_others(v) + plan->rows * plan->cols;
	p->width = v->projected ? v->projected : v->width;
	/* Enough images to fill the products' tiles while the tokens stay in the cache. */
	for (p->group = INV_GROUP; p->group > 1 && p->group * plan->tokens > ROWS;)
		p->group /= 2;
	place_spaces(p);
	INV_TRY(inv_arena_commit(&plan->memory));
	place_spaces(p);
	return fill_start(p);
}

const float *inv_vit_start(const inv_encoder_plan *p, size_t *tokens)
{
	const vit_plan *plan = p->own;

	*tokens = plan->tokens;
	return plan->start;
}

const float *inv_vit_rotary(const inv_encoder_plan *p, const float **sines)
{
	const inv_vit *v = p->encoder->own;
	const vit_plan *plan = p->own;

	*sines = v->rotary > 0 ? plan->sines : NULL;
	return v->rotary > 0 ? plan->cosines : NULL;
}

static void unplan_vit(inv_encoder_plan *p)
{
	vit_plan *plan = p->own;

	if (plan)
		inv_arena_free(&plan->memory);
	inv_free(plan);
}

/* ---- Running ---------------------------------------------------------------------- */

typedef struct pass {
	const inv_encoder_plan *p;
	const inv_vit *v;
	const vit_plan *plan;
	const float *images;
	size_t n;
	float *x, *y, *qkv; /* of the group */
	bool together;      /* all threads; else this one: */
	unsigned thread;
	/* Of the step under way: */
	const inv_vit_block *done, *next; /* previous and next block; NULL: none */
	size_t rows, chunk_rows;          /* of x, and of a chunk of it */
	size_t chunks;                    /* of an image's patches */
	size_t queries;                   /* tokens of an image that `next` computes */
} pass;

static void run_each(pass *r, size_t count, inv_block_fn *step)
{
	if (r->together)
		inv_parallel(r->p->encoder->ctx, count, step, r);
	else
		for (size_t i = 0; i < count; i++)
			step(r, i, r->thread);
}

/* c [rows, n] (+)= a [rows, k] W; the strides of a and c are in floats. */
static void multiply_tokens(const pass *r, unsigned thread, inv_panels by, size_t rows,
                            const float *a, size_t a_stride, bool add, float *c,
                            size_t c_stride)
{
	inv_panels_multiply(&r->v->kernels, &by, rows, a, a_stride, add, c, c_stride,
	                    r->plan->spaces[thread].scratch);
}

static void norm_rows(const pass *r, inv_vit_norm by, const float *then, size_t rows,
                      float *x, float *y)
{
	const inv_layer_norm n = {.width = r->v->width,
	                          .weight = by.weight,
	                          .bias = by.bias,
	                          .eps = r->v->eps,
	                          .then = then};

	r->v->kernels.layer_norm(&n, rows, r->v->width, r->v->width, x, y);
}

/* Some patches of an image [c, h, w] as rows, without left-over pixels at the border. */
static void cut_patches(const pass *r, const float *image, size_t first, size_t count,
                        float *out)
{
	const inv_vit *v = r->v;
	size_t P = v->patch, w = r->p->shape.w, plane = r->p->shape.h * w;

	for (size_t i = first; i < first + count; i++) {
		const float *corner = image + i / r->plan->cols * P * w + i % r->plan->cols * P;

		for (size_t c = 0; c < v->channels; c++)
			for (size_t y = 0; y < P; y++, out += P)
				memcpy(out, corner + c * plane + y * w, P * sizeof *out);
	}
}

/* x of one chunk of an image; the first also has the class token and the registers. */
static void embed_chunk(void *user, size_t index, unsigned thread)
{
	const pass *r = user;
	const inv_vit *v = r->v;
	size_t T = r->plan->tokens, D = v->width, others = inv_vit_others(v), now;
	size_t image = index / r->chunks, chunk = index % r->chunks;
	size_t each = inv_blocks(T - others, r->chunks), first = others + chunk * each, end,
		   row;
	float *x = r->x + image * T * D, *patches = r->plan->spaces[thread].hidden;

	first = first < T ? first : T; /* there may be more chunks than patches */
	end = T - first < each ? T : first + each;
	row = chunk ? first : 0;
	memcpy(x + row * D, r->plan->start + row * D, (end - row) * D * sizeof *x);
	for (size_t i = first; i < end; i += now) {
		now = end - i < CHUNK ? end - i : CHUNK;
		cut_patches(r, r->images + image * inv_extent_cells(r->p->shape), i - others, now,
		            patches);
		multiply_tokens(r, thread, v->patches.weight, now, patches, v->patches.weight.k,
		                true, x + i * D, D);
	}
	if (v->pre_norm)
		norm_rows(r, v->before, NULL, end - row, x + row * D, x + row * D);
}

/* y of one head of one image, of `queries` tokens */
static void attend(void *user, size_t index, unsigned thread)
{
	const pass *r = user;
	size_t T = r->plan->tokens, D = r->v->width, image = index / r->v->heads;
	const inv_attention a = attention_of(r->p, r->queries);
	const float *qkv = r->qkv + image * T * 3 * D;

	inv_attention_head(&a, index % r->v->heads, qkv, qkv + D, qkv + 2 * D,
	                   r->plan->spaces[thread].scratch, r->y + image * r->queries * D);
}

/* h [rows, hidden] = activation(h + bias) */
static void activate_rows(const inv_vit *v, const float *bias, size_t rows, float *h)
{
	switch (v->activation) {
	case INV_VIT_GELU:
		v->kernels.bias_gelu(bias, rows, v->hidden, h);
		break;
	case INV_VIT_QUICK_GELU:
		v->kernels.bias_quick_gelu(bias, rows, v->hidden, h);
		break;
	case INV_VIT_TANH_GELU:
		v->kernels.bias_tanh_gelu(bias, rows, v->hidden, h);
		break;
	case INV_VIT_SILU:
		v->kernels.bias_silu(bias, rows, v->hidden, h);
		break;
	}
}

/* x += out(y), x += fc2(gelu(fc1(norm2 x))) of some rows */
static void finish_block(const pass *r, const inv_vit_block *b, size_t rows,
                         unsigned thread, float *x, float *y)
{
	const inv_vit *v = r->v;
	size_t D = v->width, H = v->hidden;
	float *h = r->plan->spaces[thread].hidden, *gate = h + rows * H;

	multiply_tokens(r, thread, b->out.weight, rows, y, D, true, x, D);
	norm_rows(r, b->norm2, b->fc2.bias, rows, x, y);
	multiply_tokens(r, thread, b->fc1.weight, rows, y, D, false, h, H);
	if (v->gated) {
		multiply_tokens(r, thread, b->gate.weight, rows, y, D, false, gate, H);
		activate_rows(v, b->gate.bias, rows, gate);
		v->kernels.bias_multiply(b->fc1.bias, gate, rows, H, h);
	} else
		activate_rows(v, b->fc1.bias, rows, h);
	multiply_tokens(r, thread, b->fc2.weight, rows, h, H, true, x, D);
}

/* Columns of q, k and v from `first` on, of every `apart`-th row. */
static void make_qkv(const pass *r, const inv_vit_block *b, unsigned thread, size_t first,
                     size_t columns, size_t rows, size_t apart, const float *y, float *qkv)
{
	size_t D = r->v->width, stride = apart * 3 * D;

	multiply_tokens(r, thread, inv_panels_columns(&b->qkv.weight, first, columns), rows, y,
	                apart * D, false, qkv + first, stride);
	r->v->kernels.add_bias(b->qkv.bias + first, rows, columns, stride, qkv + first);
}

/* The patches' queries, unless they are left out, and keys, of rows from `first` on. */
static void rotate_rows(const pass *r, size_t first, size_t rows, bool keys_only)
{
	const inv_vit *v = r->v;
	size_t T = r->plan->tokens, D = v->width, others = inv_vit_others(v);
	size_t half = D / v->heads / 2;

	for (size_t i = first; i < first + rows; i++) {
		size_t token = i % T, at = (token - others) * half;
		float *q = r->qkv + i * 3 * D;

		if (token < others)
			continue;
		/* Heads of the queries and of the keys follow each other. */
		v->kernels.rotate(r->plan->cosines + at, r->plan->sines + at,
		                  keys_only ? v->heads : 2 * v->heads, half, keys_only ? q + D : q);
	}
}

/* Whether only one query per image is computed; only whole panels can be skipped. */
static bool queries_one(const pass *r)
{
	return r->queries < r->plan->tokens && r->v->width % INV_PANEL_COLS == 0;
}

static bool is_pooling(const pass *r, const inv_vit_block *b)
{
	return b == &r->v->blocks[r->v->depth];
}

/* The work on a chunk of the rows from one attention to the next. */
static void run_chunk(void *user, size_t chunk, unsigned thread)
{
	const pass *r = user;
	size_t D = r->v->width, first = chunk * r->chunk_rows, left = r->rows - first;
	size_t rows = left < r->chunk_rows ? left : r->chunk_rows,
		   start = queries_one(r) ? D : 0;
	float *x = r->x + first * D, *y = r->y + first * D;

	if (r->done)
		finish_block(r, r->done, rows, thread, x, y);
	if (!r->next)
		return;
	norm_rows(r, r->next->norm1, r->next->out.bias, rows, x, y);
	make_qkv(r, r->next, thread, start, 3 * D - start, rows, 1, y, r->qkv + first * 3 * D);
	if (r->v->rotary > 0)
		rotate_rows(r, first, rows, start > 0);
}

/*
 * Chunks of the same size; if all threads work, at least one per thread. For one thread
 * they are whole strips, as a partial strip costs more than its rows; for all threads they
 * are equally long, because the longest one determines the time.
 */
static void run_between(pass *r, const inv_vit_block *done, const inv_vit_block *next)
{
	size_t threads = r->together ? r->p->encoder->ctx->threads : 1;
	size_t chunks = inv_blocks(r->rows, CHUNK);

	r->done = done;
	r->next = next;
	chunks = chunks < threads ? threads : chunks;
	r->chunk_rows = inv_blocks(r->rows, chunks);
	if (threads == 1)
		r->chunk_rows = inv_blocks(r->chunk_rows, INV_STRIP_ROWS) * INV_STRIP_ROWS;
	run_each(r, inv_blocks(r->rows, r->chunk_rows), run_chunk);
	if (next && is_pooling(r, next))
		for (size_t i = 0; i < r->n; i++)
			memcpy(r->qkv + i * r->plan->tokens * 3 * r->v->width, r->v->query,
			       r->v->width * sizeof *r->qkv);
	else if (next && queries_one(r))
		make_qkv(r, next, r->thread, 0, r->v->width, r->n, r->plan->tokens, r->y, r->qkv);
}

/* From here on x has one row per image: the class token's, or the start of a pooled sum. */
static void keep_one_row(pass *r, const inv_vit_block *b)
{
	size_t T = r->plan->tokens, D = r->v->width;

	for (size_t i = 0; i < r->n; i++)
		if (is_pooling(r, b))
			memcpy(r->x + i * D, b->out.bias, D * sizeof *r->x);
		else if (i)
			memcpy(r->x + i * D, r->x + i * T * D, D * sizeof *r->x);
	r->rows = r->n;
}

/* x [n, D] = mean of the patches of x [n T, D] */
static void average_patches(const pass *r)
{
	size_t T = r->plan->tokens, D = r->v->width, first = inv_vit_others(r->v);

	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < D; j++) {
			double sum = 0;

			for (size_t t = first; t < T; t++)
				sum += r->x[(i * T + t) * D + j];
			r->y[i * D + j] = (float)(sum / (double)(T - first));
		}
	memcpy(r->x, r->y, r->n * D * sizeof *r->x);
}

static void run_blocks(pass *r)
{
	const inv_vit *v = r->v;

	size_t blocks = v->depth + v->pooled;

	for (size_t i = 0; i <= blocks; i++) {
		const inv_vit_block *done = i > 0 ? &v->blocks[i - 1] : NULL;

		if (done)
			run_each(r, r->n * v->heads, attend);
		if (done && r->queries < r->plan->tokens)
			keep_one_row(r, done);
		r->queries = i + 1 == blocks && !v->mean ? 1 : r->plan->tokens;
		run_between(r, done, i < blocks ? &v->blocks[i] : NULL);
	}
}

static void run_vit_pass(pass *r, float *out)
{
	const inv_vit *v = r->v;

	run_each(r, r->n * r->chunks, embed_chunk);
	run_blocks(r);
	if (v->mean)
		average_patches(r);
	if (v->pooled) {
		memcpy(out, r->x, r->n * v->width * sizeof *out);
		return;
	}
	norm_rows(r, v->after, NULL, r->n, r->x, v->projected ? r->y : out);
	if (v->projected)
		multiply_tokens(r, r->thread, v->projection, r->n, r->y, v->width, false, out,
		                v->projected);
}

static pass new_pass(const inv_encoder_plan *p, const float *images, size_t n,
                     unsigned thread)
{
	const vit_plan *plan = p->own;
	const space *s = &plan->spaces[thread];

	return (pass){.p = p,
	              .v = p->encoder->own,
	              .plan = plan,
	              .images = images,
	              .n = n,
	              .x = s->x,
	              .y = s->y,
	              .qkv = s->qkv,
	              .thread = thread,
	              .rows = n * plan->tokens,
	              .chunks = 1};
}

static invar_status run_vit(const inv_encoder_plan *p, const float *images, size_t n,
                            unsigned thread, float *out)
{
	pass r = new_pass(p, images, n, thread);

	run_vit_pass(&r, out);
	return INVAR_OK;
}

static invar_status run_vit_together(const inv_encoder_plan *p, const float *images,
                                     size_t n, float *out)
{
	pass r = new_pass(p, images, n, 0);

	r.together = true;
	r.chunks = p->encoder->ctx->threads;
	run_vit_pass(&r, out);
	return INVAR_OK;
}

/* What the shapes of the tensors do not determine; vit_shape.c reads them. */
static const invar_option vit_rows[] = {
	{"heads", INVAR_OPTION_COUNT, "0", .max = 1024, .flags = INVAR_OPTION_EXPERT,
     .meta = "N", .group = "Encoder",
     .help = "number of attention heads, which the weights do not contain; 0: width / 64, "
             "or the value in config.json"},
	{"eps", INVAR_OPTION_NUMBER, "0", .max = 1, .flags = INVAR_OPTION_EXPERT, .meta = "F",
     .group = "Encoder", .help = "epsilon of layer norms; 0: the model's default"},
	{"pos", INVAR_OPTION_TEXT, .flags = INVAR_OPTION_EXPERT, .choices = "dino|timm|hf",
     .meta = "WORD", .group = "Encoder",
     .help = "how a ViT's position embeddings are resized for other image sizes: as in "
             "DINO, timm or Hugging Face"},
	{"gelu", INVAR_OPTION_TEXT, .choices = "exact|quick|tanh", .meta = "WORD",
     .group = "Encoder",
     .help = "which GELU a ViT's MLPs use, which the weights do not contain; default: the "
             "value in config.json or open_clip_config.json, else the model's"},
	{0},
};

#define VIT_KIND                                                                 \
	.options = vit_rows, .open = open_vit, .close = close_vit, .plan = plan_vit, \
	.unplan = unplan_vit, .run = run_vit, .run_together = run_vit_together,      \
	.bfloat16 = true, .onnx = inv_vit_onnx

const inv_encoder_kind inv_encoder_vit = {
	.family = "vit",
	.about = "vision transformers: DINO's, timm's, DINOv2's, DINOv3's, Hugging Face's",
	.recognise = inv_vit_recognise,
	VIT_KIND,
};

const inv_encoder_kind inv_encoder_clip = {
	.family = "clip",
	.about = "the image encoder of CLIP: OpenAI's, OpenCLIP's, Hugging Face's",
	.recognise = inv_clip_recognise,
	VIT_KIND,
};

const inv_encoder_kind inv_encoder_siglip = {
	.family = "siglip",
	.about = "the image encoder of SigLIP and SigLIP 2 of fixed resolution (not NaFlex)",
	.recognise = inv_siglip_recognise,
	VIT_KIND,
};
