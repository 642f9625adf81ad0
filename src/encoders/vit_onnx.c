/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_onnx.c - a vision transformer as nodes of an ONNX graph, for images of one size.
 *
 * The steps are those of vit.c, on tokens x [n, T, D]: patches are a convolution whose
 * stride is its kernel; queries, keys and values are three products, as a node has one
 * result here; the fitted positions and the patches' bias are one table; layer scale is in
 * the weights. Rotary positions multiply by tables that are 1 and 0 for the other tokens.
 * Nothing depends on n.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "encoders/vit.h"
#include "formats/onnx_nodes.h"

enum { NAME = 64 };

typedef struct name {
	char text[NAME];
} name;

typedef struct writing {
	const inv_vit *v;
	const char *where; /* for messages */
	inv_message *graph;
	bool half;
	invar_status status; /* the first failure */
	float *matrix;       /* the largest one, as MatMul takes it */
	size_t block;
	name x; /* the tokens so far */
} writing;

static const inv_onnx_attribute axis_0[] = {{.name = "axis", .value = {0}, .count = 1},
                                            {0}};
static const inv_onnx_attribute axis_1[] = {{.name = "axis", .value = {1}, .count = 1},
                                            {0}};
static const inv_onnx_attribute axis_3[] = {{.name = "axis", .value = {3}, .count = 1},
                                            {0}};
static const inv_onnx_attribute axis_last[] = {
	{.name = "axis", .value = {UINT64_MAX}, .count = 1}, {0}};

/* ---- Nodes and weights ------------------------------------------------------------ */

static name in_block(const writing *w, const char *what)
{
	name n;

	snprintf(n.text, NAME, "encoder/blocks.%zu.%s", w->block, what);
	return n;
}

static name ending(name n, const char *what)
{
	name out;

	snprintf(out.text, NAME, "%.40s.%s", n.text, what);
	return out;
}

static name named(const char *text)
{
	name n;

	snprintf(n.text, NAME, "%s", text);
	return n;
}

static name put_operator(const writing *w, const char *operator, name a, const char *b,
                         const inv_onnx_attribute *attributes, name out)
{
	inv_onnx_put_node(w->graph, operator, inv_onnx_name(a.text), b, attributes, out.text);
	return out;
}

static void put_floats(writing *w, const inv_onnx_floats *f)
{
	if (w->status == INVAR_OK)
		w->status = inv_onnx_put_floats(w->graph, f, w->where);
}

/* A vector if columns are 0; `small` numbers stay float32. */
static name put_weight(writing *w, name n, const float *x, size_t rows, size_t columns,
                       bool small)
{
	const inv_onnx_floats f = {.name = n.text,
	                           .x = x,
	                           .shape = {rows, columns},
	                           .ndim = columns ? 2 : 1,
	                           .half = w->half && !small};

	put_floats(w, &f);
	return n;
}

static name put_shared_number(writing *w, const char *text, double x)
{
	const float number = (float)x;

	return put_weight(w, named(text), &number, 1, 0, true);
}

static name put_norm(writing *w, name x, inv_vit_norm by, name n, name out)
{
	const inv_onnx_attribute attributes[] = {
		{.name = "axis", .value = {UINT64_MAX}, .count = 1}, /* -1: the last */
		{.name = "epsilon", .is_real = true, .real = w->v->eps},
		{0}};
	name weight = put_weight(w, ending(n, "weight"), by.weight, w->v->width, 0, false);
	name bias = put_weight(w, ending(n, "bias"), by.bias, w->v->width, 0, false);
	const char *inputs[3] = {x.text, weight.text, bias.text};

	inv_onnx_put_joined(w->graph, "LayerNormalization", inputs, 3, attributes, out.text);
	return out;
}

/* x W + b, of some columns of W; bias NULL: none. */
static name put_linear(writing *w, name x, const inv_panels *by, size_t first,
                       size_t columns, const float *bias, name n, name out)
{
	name weight = ending(n, "weight");

	inv_panels_read(by, first, columns, w->matrix);
	put_weight(w, weight, w->matrix, by->k, columns, false);
	if (!bias)
		return put_operator(w, "MatMul", x, weight.text, NULL, out);
	put_weight(w, ending(n, "bias"), bias + first, columns, 0, false);
	x = put_operator(w, "MatMul", x, weight.text, NULL, ending(n, "product"));
	return put_operator(w, "Add", x, ending(n, "bias").text, NULL, out);
}

static name put_block_linear(writing *w, name x, const inv_vit_linear *by, const char *what)
{
	name n = in_block(w, what);

	return put_linear(w, x, &by->weight, 0, by->weight.n, by->bias, n, n);
}

static name put_transposed(const writing *w, name x, const uint64_t *order, size_t count,
                           name out)
{
	inv_onnx_attribute attributes[] = {{.name = "perm", .count = count, .list = true}, {0}};

	memcpy(attributes[0].value, order, count * sizeof *order);
	return put_operator(w, "Transpose", x, NULL, attributes, out);
}

/* ---- The network ------------------------------------------------------------------ */

/* Shapes and numbers that all blocks share. */
static void put_shared(writing *w, size_t others)
{
	const inv_vit *v = w->v;
	const int64_t D = (int64_t)v->width, heads = (int64_t)v->heads;
	const int64_t apart[] = {0, 0, heads, D / heads}, joined[] = {0, 0, D};
	const int64_t patches[] = {0, D, -1}, tokens[] = {(int64_t)others, D};
	const int64_t first[] = {0};

	inv_onnx_put_integers(w->graph, "encoder/shape.heads", apart, 4);
	inv_onnx_put_integers(w->graph, "encoder/shape.joined", joined, 3);
	inv_onnx_put_integers(w->graph, "encoder/shape.patches", patches, 3);
	inv_onnx_put_integers(w->graph, "encoder/shape.tokens", tokens, 2);
	inv_onnx_put_integers(w->graph, "encoder/first", first, 1);
	put_shared_number(w, "encoder/scale", 1 / sqrt((double)v->width / (double)v->heads));
	switch (v->activation) {
	case INV_VIT_QUICK_GELU:
		put_shared_number(w, "encoder/steepness", 1.702);
		break;
	case INV_VIT_TANH_GELU:
		put_shared_number(w, "encoder/steepness", sqrt(8 / M_PI));
		put_shared_number(w, "encoder/cubic", 0.044715);
		break;
	case INV_VIT_GELU:
		put_shared_number(w, "encoder/root", sqrt(0.5));
		put_shared_number(w, "encoder/one", 1);
		put_shared_number(w, "encoder/half", 0.5);
		break;
	case INV_VIT_SILU:
		break;
	}
}

/*
 * [tokens, 1, head]: the cosines; and the sines, minus for the first half of a head, which
 * are multiplied by the halves exchanged.
 */
static void put_rotary(writing *w, const inv_encoder_plan *plan, size_t others,
                       size_t tokens)
{
	const float *sines, *cosines = inv_vit_rotary(plan, &sines);
	const size_t head = w->v->width / w->v->heads, half = head / 2;
	float *cos_table = w->matrix, *sin_table = w->matrix + tokens * head;
	int64_t *exchanged = (int64_t *)(void *)(w->matrix + 2 * tokens * head);
	const inv_onnx_floats tables[] = {
		{.name = "encoder/cosines", .x = cos_table, .shape = {tokens, 1, head}, .ndim = 3},
		{.name = "encoder/sines", .x = sin_table, .shape = {tokens, 1, head}, .ndim = 3}};

	for (size_t i = 0; i < tokens * head; i++) {
		size_t token = i / head, at = i % half;
		bool patch = token >= others;
		float sine = patch ? sines[(token - others) * half + at] : 0;

		cos_table[i] = patch ? cosines[(token - others) * half + at] : 1;
		sin_table[i] = i % head < half ? -sine : sine;
	}
	put_floats(w, &tables[0]);
	put_floats(w, &tables[1]);
	for (size_t i = 0; i < head; i++)
		exchanged[i] = (int64_t)((i + half) % head);
	inv_onnx_put_integers(w->graph, "encoder/exchanged", exchanged, head);
}

/* The patches, and before them the class token and registers, for every image. */
static void put_tokens(writing *w, const char *images, const float *start, size_t others,
                       size_t tokens)
{
	static const inv_onnx_attribute batch[] = {{.name = "start", .value = {0}, .count = 1},
	                                           {.name = "end", .value = {1}, .count = 1},
	                                           {0}};
	static const uint64_t axes[] = {0, 2, 1};
	const inv_vit *v = w->v;
	const uint64_t P = v->patch;
	const size_t D = v->width, cells = v->channels * v->patch * v->patch;
	const inv_onnx_attribute attributes[] = {
		{.name = "kernel_shape", .value = {P, P}, .count = 2, .list = true},
		{.name = "strides", .value = {P, P}, .count = 2, .list = true},
		{0}};
	const inv_onnx_floats kernel = {.name = "encoder/patches.weight",
	                                .x = w->matrix,
	                                .shape = {D, v->channels, P, P},
	                                .ndim = 4,
	                                .half = w->half};
	float *rows = w->matrix + cells * D; /* there is space for two */
	name x, shape;

	/* The panels are [c P P, D], a kernel is [D, c, P, P]. */
	inv_panels_read(&v->patches.weight, 0, D, rows);
	for (size_t i = 0; i < cells; i++)
		for (size_t j = 0; j < D; j++)
			w->matrix[j * cells + i] = rows[i * D + j];
	put_floats(w, &kernel);
	x = put_operator(w, "Conv", named(images), kernel.name, attributes,
	                 named("encoder/patches"));
	x = put_operator(w, "Reshape", x, "encoder/shape.patches", NULL, ending(x, "rows"));
	x = put_transposed(w, x, axes, 3, named("encoder/patches.transposed"));
	put_weight(w, named("encoder/positions"), start + others * D, tokens - others, D,
	           false);
	w->x = put_operator(w, "Add", x, "encoder/positions", NULL, named("encoder/placed"));
	if (!others)
		return;

	put_weight(w, named("encoder/tokens"), start, others, D, false);
	shape = put_operator(w, "Shape", named(images), NULL, batch, named("encoder/batch"));
	shape = put_operator(w, "Concat", shape, "encoder/shape.tokens", axis_0,
	                     ending(shape, "shape"));
	x = put_operator(w, "Expand", named("encoder/tokens"), shape.text, NULL,
	                 named("encoder/tokens.expanded"));
	w->x = put_operator(w, "Concat", x, w->x.text, axis_1, named("encoder/embedded"));
	if (v->pre_norm)
		w->x = put_norm(w, w->x, v->before, named("encoder/before"),
		                named("encoder/before.norm"));
}

/* Queries, keys or values of y as [n, heads, …]: `which` is 0, 1 or 2. */
static name put_heads(writing *w, const inv_vit_block *b, name y, size_t which)
{
	static const char *const parts[] = {"query", "key", "value"};
	static const uint64_t axes[][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 2, 1, 3}};
	size_t D = w->v->width;
	name n = in_block(w, parts[which]);
	name x = put_linear(w, y, &b->qkv.weight, which * D, D, b->qkv.bias, n, n);

	if (which == 0)
		x = put_operator(w, "Mul", x, "encoder/scale", NULL, ending(n, "scaled"));
	x = put_operator(w, "Reshape", x, "encoder/shape.heads", NULL, ending(n, "heads"));
	if (which < 2 && w->v->rotary > 0) {
		name other = put_operator(w, "Gather", x, "encoder/exchanged", axis_3,
		                          ending(n, "exchanged"));

		other = put_operator(w, "Mul", other, "encoder/sines", NULL, ending(n, "sines"));
		x = put_operator(w, "Mul", x, "encoder/cosines", NULL, ending(n, "cosines"));
		x = put_operator(w, "Add", x, other.text, NULL, ending(n, "rotated"));
	}
	return put_transposed(w, x, axes[which], 4, ending(n, "transposed"));
}

static void put_attention(writing *w, const inv_vit_block *b)
{
	static const uint64_t axes[] = {0, 2, 1, 3};
	const inv_vit *v = w->v;
	const size_t head = v->width / v->heads;
	bool pooling = w->block == v->depth;
	name y = put_norm(w, w->x, b->norm1, in_block(w, "norm1"), in_block(w, "norm1"));
	name q, k, values, x;

	if (pooling) { /* a query that is the same for all images */
		for (size_t i = 0; i < v->width; i++)
			w->matrix[i] = v->query[i] / sqrtf((float)head);
		q = named("encoder/query");
		put_floats(w, &(inv_onnx_floats){.name = q.text,
		                                 .x = w->matrix,
		                                 .shape = {v->heads, 1, head},
		                                 .ndim = 3});
	} else {
		q = put_heads(w, b, y, 0);
	}
	k = put_heads(w, b, y, 1);
	values = put_heads(w, b, y, 2);
	x = put_operator(w, "MatMul", q, k.text, NULL, in_block(w, "scores"));
	x = put_operator(w, "Softmax", x, NULL, axis_last, in_block(w, "weights"));
	x = put_operator(w, "MatMul", x, values.text, NULL, in_block(w, "mixed"));
	x = put_transposed(w, x, axes, 4, in_block(w, "mixed.transposed"));
	x = put_operator(w, "Reshape", x, "encoder/shape.joined", NULL,
	                 in_block(w, "mixed.joined"));
	x = put_block_linear(w, x, &b->out, "out");
	w->x =
		pooling ? x : put_operator(w, "Add", w->x, x.text, NULL, in_block(w, "attended"));
}

/* x sigmoid(a) with a = 1.702 x, sqrt(8 / pi) (x + 0.044715 x^3) or x; x (1 + erf(x / sqrt
 * 2)) / 2 */
static name put_activation(const writing *w, name x)
{
	name y = x;

	if (w->v->activation == INV_VIT_GELU) {
		y = put_operator(w, "Mul", x, "encoder/root", NULL, in_block(w, "root"));
		y = put_operator(w, "Erf", y, NULL, NULL, in_block(w, "erf"));
		y = put_operator(w, "Add", y, "encoder/one", NULL, in_block(w, "gate"));
		y = put_operator(w, "Mul", x, y.text, NULL, in_block(w, "gated"));
		return put_operator(w, "Mul", y, "encoder/half", NULL, in_block(w, "gelu"));
	}
	if (w->v->activation == INV_VIT_TANH_GELU) {
		y = put_operator(w, "Mul", x, x.text, NULL, in_block(w, "square"));
		y = put_operator(w, "Mul", y, x.text, NULL, in_block(w, "cube"));
		y = put_operator(w, "Mul", y, "encoder/cubic", NULL, in_block(w, "cubic"));
		y = put_operator(w, "Add", y, x.text, NULL, in_block(w, "bent"));
	}
	if (w->v->activation != INV_VIT_SILU)
		y = put_operator(w, "Mul", y, "encoder/steepness", NULL, in_block(w, "steep"));
	y = put_operator(w, "Sigmoid", y, NULL, NULL, in_block(w, "gate"));
	return put_operator(w, "Mul", x, y.text, NULL, in_block(w, "gelu"));
}

static void put_mlp(writing *w, const inv_vit_block *b)
{
	name y = put_norm(w, w->x, b->norm2, in_block(w, "norm2"), in_block(w, "norm2"));
	name x = put_block_linear(w, y, &b->fc1, "fc1");

	if (w->v->gated) {
		y = put_block_linear(w, y, &b->gate, "fc1.gate");
		x = put_operator(w, "Mul", x, put_activation(w, y).text, NULL,
		                 in_block(w, "fc1.gated"));
	} else
		x = put_activation(w, x);
	x = put_block_linear(w, x, &b->fc2, "fc2");
	w->x = put_operator(w, "Add", w->x, x.text, NULL, in_block(w, "tokens"));
}

static void put_network(writing *w, const inv_encoder_onnx *to,
                        const inv_encoder_plan *plan)
{
	static const inv_onnx_attribute mean[] = {
		{.name = "axes", .value = {1}, .count = 1, .list = true},
		{.name = "keepdims", .value = {0}, .count = 1},
		{0}};
	const inv_vit *v = w->v;
	size_t others = inv_vit_others(v), tokens, blocks = v->depth + v->pooled;
	const float *start = inv_vit_start(plan, &tokens);
	const int64_t from[] = {(int64_t)others}, end[] = {INT64_MAX}, along[] = {1};
	name out = named(to->output), x;

	put_shared(w, others);
	if (v->rotary > 0)
		put_rotary(w, plan, others, tokens);
	put_tokens(w, to->input, start, others, tokens);
	for (w->block = 0; w->block < blocks && w->status == INVAR_OK; w->block++) {
		put_attention(w, &v->blocks[w->block]);
		put_mlp(w, &v->blocks[w->block]);
	}

	/* [n, 1, D] of the pooling block; or the mean of the patches; or the class token. */
	if (v->pooled) {
		put_operator(w, "Flatten", w->x, NULL, axis_1, out);
		return;
	}
	if (v->mean) {
		const char *inputs[4] = {w->x.text, "encoder/slice.start", "encoder/slice.end",
		                         "encoder/slice.axis"};

		inv_onnx_put_integers(w->graph, inputs[1], from, 1);
		inv_onnx_put_integers(w->graph, inputs[2], end, 1);
		inv_onnx_put_integers(w->graph, inputs[3], along, 1);
		inv_onnx_put_joined(w->graph, "Slice", inputs, 4, NULL, "encoder/last");
		x = put_operator(w, "ReduceMean", named("encoder/last"), NULL, mean,
		                 named("encoder/mean"));
	} else {
		x = put_operator(w, "Gather", w->x, "encoder/first", axis_1,
		                 named("encoder/class"));
		x = put_operator(w, "Flatten", x, NULL, axis_1, named("encoder/class.row"));
	}
	x = put_norm(w, x, v->after, named("encoder/after"),
	             v->projected ? named("encoder/after") : out);
	if (v->projected)
		put_linear(w, x, &v->projection, 0, v->projected, NULL, named("encoder/projection"),
		           out);
}

invar_status inv_vit_onnx(const invar_encoder *e, inv_encoder_onnx *to)
{
	const inv_vit *v = e->own;
	bool trained = e->input.side / v->patch == v->grid; /* 384 for patches of 14 */
	size_t side = trained ? e->input.side : v->grid * v->patch, tokens, tables;
	size_t rows = v->width, patches = 2 * v->channels * v->patch * v->patch;
	inv_encoder_plan *plan;
	writing w = {.v = v, .where = e->weights, .graph = to->graph, .half = to->half};
	invar_status st;

	to->images.c = v->channels;
	if (!to->images.h)
		to->images.h = to->images.w = side;
	INV_TRY(inv_encoder_plan_new(e, to->images, &plan));
	inv_vit_start(plan, &tokens);

	/* The largest matrix, that of the patches twice, or both rotary tables. */
	rows = rows < v->hidden ? v->hidden : rows;
	rows = rows < v->projected ? v->projected : rows;
	rows = rows < patches ? patches : rows;
	tables = 2 * (tokens + 1) * (v->width / v->heads);
	INV_TRY_OR(done, inv_new_array(&w.matrix,
	                               rows * v->width < tables ? tables : rows * v->width));
	put_network(&w, to, plan);
	st = w.status;
done:
	inv_free(w.matrix);
	inv_encoder_plan_free(plan);
	return st;
}
