/*
 * vit.c - vision transformers: from images to features, in float32.
 *
 * Letters: n images of a group, T tokens of an image (class, registers, patches), D the
 * width. Tokens x [n T, D] pass through the blocks
 *
 *     x += out(attention(norm1 x)),  x += fc2(gelu(fc1(norm2 x)))
 *
 * Products that end in x are added to it by the product itself; their bias is added when
 * the norm before has read x. Layer scale is in the weights (vit_names.c). The last block
 * computes the tokens that the feature reads: where that is the class token, its queries
 * and its MLP are those of one row an image.
 *
 * A group is computed by one thread in a working space that was planned once.
 */
#include "encoders/vit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "math/attention.h"
#include "math/matmul.h"

enum { ROWS = 800 }; /* of a group at most, if it has more than one image */

typedef struct space {
	float *x, *y;     /* [n T, D] */
	float *wide;      /* [n T, max(3 D, hidden, patch)]: patches, then qkv or hidden */
	float *attention; /* what attention needs */
} space;

typedef struct vit_plan {
	size_t rows, cols, tokens; /* patches down and across, tokens of an image */
	float *start;              /* [T, D]: positions, bias of the patches, class token */
	inv_arena memory;
	space *spaces; /* one a thread */
} vit_plan;

/* ---- Opening ---------------------------------------------------------------------- */

static void describe(const inv_vit *v, char *out)
{
	int used =
		snprintf(out, INV_ABOUT,
	             "ViT, patch %zu, %zu blocks of width %zu, %zu heads, positions %zu x "
	             "%zu as %s fits them",
	             v->patch, v->depth, v->width, v->heads, v->grid, v->grid,
	             v->pos == INV_POS_DINO ? "DINO"
	             : v->pos == INV_POS_HF ? "Hugging Face"
	                                    : "timm");

	if (v->registers && used < INV_ABOUT)
		used +=
			snprintf(out + used, INV_ABOUT - (size_t)used, ", %zu registers", v->registers);
	if (v->projected && used < INV_ABOUT)
		used += snprintf(out + used, INV_ABOUT - (size_t)used, ", projected to %zu",
		                 v->projected);
	if (v->mean && used < INV_ABOUT)
		snprintf(out + used, INV_ABOUT - (size_t)used, ", mean of the patches");
}

static invar_status open_vit(invar_encoder *e, inv_parameters *p)
{
	inv_vit *v = inv_calloc(1, sizeof *v);
	invar_status st;

	if (!v)
		return inv_fail(INVAR_E_NOMEM, "%s: no memory for a ViT", inv_parameters_path(p));
	e->own = v;
	inv_kernels_init(&v->kernels, e->ctx->cpu);
	if ((st = inv_vit_load(v, e, p)) != INVAR_OK)
		return st;
	describe(v, e->about);
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

	return (inv_attention){.ctx = p->encoder->ctx,
	                       .kernels = &v->kernels,
	                       .queries = queries,
	                       .tokens = plan->tokens,
	                       .heads = v->heads,
	                       .width = v->width / v->heads,
	                       .q_stride = 3 * v->width,
	                       .kv_stride = 3 * v->width,
	                       .out_stride = v->width};
}

/* Twice: to add up, and to give out. */
static void place_spaces(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	vit_plan *plan = p->own;
	inv_arena *a = &plan->memory;
	const inv_attention attention = attention_of(p, plan->tokens);
	uint64_t rows = (uint64_t)p->group * plan->tokens;
	size_t wide = 3 * v->width;

	wide = wide < v->hidden ? v->hidden : wide;
	wide = wide < patch_cells(v) ? patch_cells(v) : wide;
	plan->start = inv_arena_take(a, (uint64_t)plan->tokens * v->width, sizeof(float));
	plan->spaces = inv_arena_take(a, p->encoder->ctx->threads, sizeof *plan->spaces);
	for (unsigned t = 0; t < p->encoder->ctx->threads; t++) {
		space none, *s = a->base ? &plan->spaces[t] : &none;

		s->x = inv_arena_take(a, rows * v->width, sizeof(float));
		s->y = inv_arena_take(a, rows * v->width, sizeof(float));
		s->wide = inv_arena_take(a, rows * wide, sizeof(float));
		s->attention = inv_arena_take(a, inv_attention_room(&attention), sizeof(float));
	}
}

/* What the patches' products are added to. */
static invar_status fill_start(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	const vit_plan *plan = p->own;
	size_t d = v->width, patches = plan->rows * plan->cols;
	const float *trained = v->positions + v->other_positions * d;
	float *first = plan->start + (1 + v->registers) * d;
	invar_status st = INVAR_OK;

	memcpy(plan->start, v->class_token, d * sizeof(float));
	memcpy(plan->start + d, v->register_tokens, v->registers * d * sizeof(float));
	for (size_t i = 0; i < v->other_positions * d; i++)
		plan->start[i] += v->positions[i];
	if (inv_positions_differ(v->pos, v->grid, plan->rows, plan->cols, p->shape.h,
	                         p->shape.w))
		st = inv_positions_fit(v->pos, trained, v->grid, d, plan->rows, plan->cols, first);
	else
		memcpy(first, trained, patches * d * sizeof(float));
	for (size_t i = 0; i < patches; i++)
		for (size_t j = 0; j < d; j++)
			first[i * d + j] += v->patches.bias[j];
	return st;
}

static invar_status check_shape(const inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	size_t side = v->grid * v->patch, h = p->shape.h, w = p->shape.w;

	if (p->shape.c != v->channels)
		return inv_fail(INVAR_E_USE,
		                "%s: takes images of %zu channels, not of %zu; give others",
		                p->encoder->weights, v->channels, p->shape.c);
	if (h < v->patch || w < v->patch)
		return inv_fail(INVAR_E_USE,
		                "%s: images of %zu x %zu are smaller than one patch of %zu x %zu; "
		                "give larger ones",
		                p->encoder->weights, w, h, v->patch, v->patch);
	if (v->one_size && (h / v->patch != v->grid || w / v->patch != v->grid))
		return inv_fail(INVAR_E_USE,
		                "%s: is a CLIP for images of %zu x %zu, not of %zu x %zu; resize "
		                "them, or say with --pos how its positions are to be fitted",
		                p->encoder->weights, side, side, w, h);
	return INVAR_OK;
}

/* As many images as fill the products' tiles and leave the tokens in the cache. */
static size_t group_of(size_t tokens)
{
	size_t group = INV_GROUP;

	while (group > 1 && group * tokens > ROWS)
		group /= 2;
	return group;
}

static invar_status plan_vit(inv_encoder_plan *p)
{
	const inv_vit *v = p->encoder->own;
	vit_plan *plan;
	invar_status st = check_shape(p);

	if (st != INVAR_OK)
		return st;
	if (!(plan = p->own = inv_calloc(1, sizeof *plan)))
		return inv_fail(INVAR_E_NOMEM, "no memory to plan a ViT");
	plan->rows = p->shape.h / v->patch;
	plan->cols = p->shape.w / v->patch;
	plan->tokens = 1 + v->registers + plan->rows * plan->cols;
	p->width = v->projected ? v->projected : v->width;
	p->group = group_of(plan->tokens);
	place_spaces(p);
	if ((st = inv_arena_commit(&plan->memory)) != INVAR_OK)
		return st;
	place_spaces(p);
	return fill_start(p);
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
	space s;
	size_t n;
} pass;

/* W [in, out], or some columns of it. */
typedef struct matrix {
	const float *at;
	size_t in, out, stride;
} matrix;

/* c [rows, out] (+)= a [rows, in] W, rows of a and c so many floats apart. */
static void multiply(const pass *r, size_t rows, const float *a, size_t a_stride, matrix by,
                     bool add, float *c, size_t c_stride)
{
	const inv_matmul_spec spec = {.m = rows, .n = by.out, .k = by.in};

	inv_gemm_strided(r->p->encoder->ctx, &spec,
	                 &(inv_strides){a_stride, by.stride, c_stride}, add, a, by.at, c);
}

static void norm(const pass *r, inv_vit_linear by, const float *then, size_t rows, float *x,
                 float *y)
{
	const inv_layer_norm n = {.width = r->v->width,
	                          .weight = by.weight,
	                          .bias = by.bias,
	                          .eps = r->v->eps,
	                          .then = then};

	r->v->kernels.layer_norm(&n, rows, r->v->width, r->v->width, x, y);
}

/* One image [c, h, w] as rows of patches; what is left at the border is not used. */
static void cut_patches(const pass *r, const float *image, float *out)
{
	const inv_vit *v = r->v;
	size_t P = v->patch, w = r->p->shape.w, plane = r->p->shape.h * w;

	for (size_t i = 0; i < r->plan->rows; i++)
		for (size_t j = 0; j < r->plan->cols; j++)
			for (size_t c = 0; c < v->channels; c++)
				for (size_t y = 0; y < P; y++, out += P)
					memcpy(out, image + c * plane + (i * P + y) * w + j * P,
					       P * sizeof *out);
}

static void embed(const pass *r, const float *images)
{
	const inv_vit *v = r->v;
	size_t T = r->plan->tokens, D = v->width, cells = patch_cells(v),
		   first = 1 + v->registers;

	for (size_t i = 0; i < r->n; i++) {
		float *patches = r->s.wide, *x = r->s.x + i * T * D;

		cut_patches(r, images + i * inv_extent_cells(r->p->shape), patches);
		memcpy(x, r->plan->start, T * D * sizeof *x);
		multiply(r, T - first, patches, cells, (matrix){v->patches.weight, cells, D, D},
		         true, x + first * D, D);
	}
	if (v->pre_norm)
		norm(r, v->before, NULL, r->n * T, r->s.x, r->s.x);
}

/* qkv of all tokens, or k and v of all and q of the first of each image. */
static void make_qkv(const pass *r, const inv_vit_block *b, bool all)
{
	size_t T = r->plan->tokens, D = r->v->width, rows = r->n * T;
	float *qkv = r->s.wide;
	const float *y = r->s.y, *W = b->qkv.weight;

	if (all) {
		multiply(r, rows, y, D, (matrix){W, D, 3 * D, 3 * D}, false, qkv, 3 * D);
		r->v->kernels.add_bias(b->qkv.bias, rows, 3 * D, 3 * D, qkv);
		return;
	}
	multiply(r, rows, y, D, (matrix){W + D, D, 2 * D, 3 * D}, false, qkv + D, 3 * D);
	r->v->kernels.add_bias(b->qkv.bias + D, rows, 2 * D, 3 * D, qkv + D);
	multiply(r, r->n, y, T * D, (matrix){W, D, D, 3 * D}, false, qkv, T * 3 * D);
	r->v->kernels.add_bias(b->qkv.bias, r->n, D, T * 3 * D, qkv);
}

/* x += out(attention(norm1 x)); of `queries` tokens an image, which x holds afterwards. */
static void attend(const pass *r, const inv_vit_block *b, size_t queries)
{
	size_t T = r->plan->tokens, D = r->v->width;
	const inv_attention a = attention_of(r->p, queries);
	float *x = r->s.x, *y = r->s.y;

	norm(r, b->norm1, b->out.bias, r->n * T, x, y);
	make_qkv(r, b, queries == T);
	for (size_t i = 0; i < r->n; i++) {
		const float *qkv = r->s.wide + i * T * 3 * D;

		inv_attention_run(&a, qkv, qkv + D, qkv + 2 * D, r->s.attention,
		                  y + i * queries * D);
	}
	for (size_t i = 1; queries < T && i < r->n; i++)
		memcpy(x + i * D, x + i * T * D, D * sizeof *x);
	multiply(r, r->n * queries, y, D, (matrix){b->out.weight, D, D, D}, true, x, D);
}

/* x += fc2(gelu(fc1(norm2 x))) */
static void think(const pass *r, const inv_vit_block *b, size_t rows)
{
	const inv_vit *v = r->v;
	float *x = r->s.x, *y = r->s.y, *h = r->s.wide;
	size_t D = v->width, H = v->hidden;

	norm(r, b->norm2, b->fc2.bias, rows, x, y);
	multiply(r, rows, y, D, (matrix){b->fc1.weight, D, H, H}, false, h, H);
	if (v->quick)
		v->kernels.bias_quick_gelu(b->fc1.bias, rows, v->hidden, h);
	else
		v->kernels.bias_gelu(b->fc1.bias, rows, v->hidden, h);
	multiply(r, rows, h, H, (matrix){b->fc2.weight, H, D, D}, true, x, D);
}

/* y [n, D] = mean of the patches of x [n T, D] */
static void average(const pass *r)
{
	size_t T = r->plan->tokens, D = r->v->width, first = 1 + r->v->registers;

	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < D; j++) {
			double sum = 0;

			for (size_t t = first; t < T; t++)
				sum += r->s.x[(i * T + t) * D + j];
			r->s.y[i * D + j] = (float)(sum / (double)(T - first));
		}
	memcpy(r->s.x, r->s.y, r->n * D * sizeof(float));
}

static invar_status run_vit(const inv_encoder_plan *p, const float *images, size_t n,
                            unsigned thread, float *out)
{
	const inv_vit *v = p->encoder->own;
	const vit_plan *plan = p->own;
	const pass r = {.p = p, .v = v, .plan = plan, .s = plan->spaces[thread], .n = n};

	embed(&r, images);
	for (size_t i = 0; i < v->depth; i++) {
		size_t kept = i + 1 == v->depth && !v->mean ? 1 : plan->tokens;

		attend(&r, &v->blocks[i], kept);
		think(&r, &v->blocks[i], n * kept);
	}
	if (v->mean)
		average(&r);
	norm(&r, v->after, NULL, n, r.s.x, v->projected ? r.s.y : out);
	if (v->projected)
		multiply(&r, n, r.s.y, v->width,
		         (matrix){v->projection, v->width, v->projected, v->projected}, false, out,
		         v->projected);
	return INVAR_OK;
}

const inv_encoder_kind inv_vit_kind = {
	.family = "vit",
	.heeds = INV_OF_ATTENTION,
	.recognise = inv_vit_recognise,
	.open = open_vit,
	.close = close_vit,
	.plan = plan_vit,
	.unplan = unplan_vit,
	.run = run_vit,
};

const inv_encoder_kind inv_clip_kind = {
	.family = "clip",
	.heeds = INV_OF_ATTENTION,
	.recognise = inv_clip_recognise,
	.open = open_vit,
	.close = close_vit,
	.plan = plan_vit,
	.unplan = unplan_vit,
	.run = run_vit,
};
