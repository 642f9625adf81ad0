/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn_conv.c - a convolution as a oneDNN primitive.
 *
 * The primitive and its weights are shared by all threads; each thread has its own stream
 * and memory objects, which contain the addresses of a run. The scratch memory comes from
 * the caller.
 *
 * The same weights are needed for other numbers of images and for parts of the outputs.
 * oneDNN orders them as the primitive requires, mostly in the same way whatever the shape
 * of the maps, and with the outputs outermost, so that parts follow each other as they do
 * in the whole. Where the bytes are the same they are stored once.
 */
#include "math/onednn_conv.h"

#include <string.h>

#include "base/memory.h"
#include "math/onednn_api.h"

enum { FROM, WEIGHTS, BIAS, TO, SCRATCH, ARGS };

typedef struct lane { /* what one thread runs with */
	dnnl_stream_t stream;
	dnnl_memory_t memory[ARGS];
	dnnl_exec_arg_t args[ARGS];
} lane;

struct inv_onednn_conv {
	inv_conv_spec spec;
	size_t sets, set; /* of weights; bytes of one */
	dnnl_engine_t engine;
	dnnl_primitive_desc_t described;
	dnnl_primitive_t primitive;
	char *weights; /* as the primitive reads them */
	bool shared;   /* the weights are another's */
	float *bias;   /* [sets, outputs] */
	size_t scratch;
	unsigned threads;
	lane *lanes;
};

/*
 * On x86-64, blocks of 8 select oneDNN's kernels for AVX2 even where there is AVX-512. Its
 * 1x1 kernels for AVX-512 cut the sum over the channels by the shape of the maps, so their
 * bits depend on how many images run together; those for AVX2 do not. On processors that
 * execute 512 bits as two halves (Zen 4) both reach the same speed, and our tiles of 3x3
 * convolutions, which blocks of 8 permit, are faster than either.
 */
static bool wide_vectors(void)
{
#if defined(__x86_64__)
	return false;
#else
	return inv_onednn_need() == INVAR_OK &&
	       inv_dnnl()->get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core;
#endif
}

bool inv_onednn_usable(void)
{
	return inv_onednn_need() != INVAR_OK ||
	       inv_dnnl()->version()->cpu_runtime == DNNL_RUNTIME_OMP;
}

size_t inv_onednn_block(void)
{
	return wide_vectors() ? 16 : 8;
}

/* ---- Making --------------------------------------------------------------------- */

static invar_status describe_maps(inv_desc *out, inv_maps m, bool plain)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)m.images, (dnnl_dim_t)m.channels,
	                          (dnnl_dim_t)m.height, (dnnl_dim_t)m.width};

	return inv_desc_tagged(out, 4, dims,
	                       plain            ? dnnl_nchw
	                       : wide_vectors() ? dnnl_nChw16c
	                                        : dnnl_nChw8c);
}

static invar_status describe_weights(inv_desc *out, const inv_conv_spec *s,
                                     dnnl_format_tag_t tag)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)s->outputs, (dnnl_dim_t)s->from.channels,
	                          (dnnl_dim_t)s->window.kernel, (dnnl_dim_t)s->window.kernel};

	return inv_desc_tagged(out, 4, dims, tag);
}

static inv_const_desc laid_weights(const inv_onednn_conv *p)
{
	return inv_dnnl()->primitive_desc_query_md(p->described, dnnl_query_weights_md, 0);
}

/* Reorders the weights as the primitive requires. */
static invar_status reorder_weights(inv_onednn_conv *p, const float *weights)
{
	const inv_conv_spec *s = &p->spec;
	const inv_dnnl_table *dnnl = inv_dnnl();
	const dnnl_stream_t stream = p->lanes[0].stream;
	size_t cells = s->outputs * s->from.channels * s->window.kernel * s->window.kernel;
	dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, NULL}, {DNNL_ARG_TO, NULL}};
	inv_const_desc laid = laid_weights(p);
	inv_desc plain = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t reorder = NULL;
	invar_status st;

	INV_TRY_OR(done, describe_weights(&plain, s, dnnl_oihw));
	INV_TRY_OR(done, inv_new_array(&p->weights, p->sets * p->set));
	INV_TRY_OR(done, inv_onednn_check(dnnl->memory_create(&args[0].memory, plain, p->engine,
	                                                      DNNL_MEMORY_NONE)));
	INV_TRY_OR(done, inv_onednn_check(dnnl->memory_create(&args[1].memory, laid, p->engine,
	                                                      DNNL_MEMORY_NONE)));
	INV_TRY_OR(done, inv_onednn_check(dnnl->reorder_primitive_desc_create(
						 &pd, plain, p->engine, laid, p->engine, NULL)));
	INV_TRY_OR(done, inv_onednn_create(&reorder, pd));
	for (size_t i = 0; i < p->sets; i++) {
		void *from = (void *)(uintptr_t)(weights + i * cells),
			 *to = p->weights + i * p->set;

		INV_TRY_OR(done,
		           inv_onednn_check(dnnl->memory_set_data_handle(args[0].memory, from)));
		INV_TRY_OR(done,
		           inv_onednn_check(dnnl->memory_set_data_handle(args[1].memory, to)));
		INV_TRY_OR(done,
		           inv_onednn_check(dnnl->primitive_execute(reorder, stream, 2, args)));
		INV_TRY_OR(done, inv_onednn_check(dnnl->stream_wait(stream)));
	}
done:
	if (reorder)
		dnnl->primitive_destroy(reorder);
	if (pd)
		dnnl->primitive_desc_destroy(pd);
	for (int i = 0; i < 2; i++)
		if (args[i].memory)
			dnnl->memory_destroy(args[i].memory);
	inv_desc_free(plain);
	return st;
}

/* Without gaps between the sets, equal bytes mean that each set is where it should be. */
static bool same_bytes(const inv_onednn_conv *p, const inv_onednn_conv *like)
{
	return p->sets * p->set == like->sets * like->set &&
	       p->set == inv_dnnl()->memory_desc_get_size(laid_weights(p)) &&
	       like->set == inv_dnnl()->memory_desc_get_size(laid_weights(like)) &&
	       memcmp(p->weights, like->weights, p->sets * p->set) == 0;
}

/* Leaves p->weights NULL if they are needed and not given. */
static invar_status lay_weights(inv_onednn_conv *p, const float *weights,
                                const inv_onednn_conv *like)
{
	size_t bytes = inv_dnnl()->memory_desc_get_size(laid_weights(p));
	bool ordered_alike = like && p->sets == like->sets &&
	                     inv_dnnl()->memory_desc_equal(laid_weights(p), laid_weights(like));

	p->set = (bytes + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
	if (!ordered_alike && !weights)
		return INVAR_OK;
	if (!ordered_alike)
		INV_TRY(reorder_weights(p, weights));
	if (ordered_alike || (like && same_bytes(p, like))) {
		inv_free(p->weights);
		p->weights = like->weights;
		p->shared = true;
	}
	return INVAR_OK;
}

/* The stream and the memory objects of each thread. */
static invar_status fill_lanes(inv_onednn_conv *p)
{
	static const int names[ARGS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
	                                DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
	static const struct {
		dnnl_query_t what;
		int index;
	} asked[ARGS] = {{dnnl_query_src_md, 0},
	                 {dnnl_query_weights_md, 0},
	                 {dnnl_query_weights_md, 1},
	                 {dnnl_query_dst_md, 0},
	                 {dnnl_query_scratchpad_md, 0}};
	void *const data[ARGS] = {DNNL_MEMORY_NONE, p->weights, p->bias, DNNL_MEMORY_NONE,
	                          DNNL_MEMORY_NONE};

	for (unsigned t = 0; t < p->threads; t++)
		for (int i = 0; i < ARGS; i++) {
			lane *l = &p->lanes[t];
			inv_const_desc d = inv_dnnl()->primitive_desc_query_md(
				p->described, asked[i].what, asked[i].index);

			INV_TRY(inv_onednn_check(
				inv_dnnl()->memory_create(&l->memory[i], d, p->engine, data[i])));
			l->args[i] = (dnnl_exec_arg_t){names[i], l->memory[i]};
		}
	return INVAR_OK;
}

/* The last window ends here, before or beyond the end of the padding. */
static dnnl_dim_t padding_behind(inv_window w, size_t side)
{
	size_t end = (inv_window_places(w, side) - 1) * w.stride + w.kernel;

	return (dnnl_dim_t)end - (dnnl_dim_t)(side + w.padding);
}

static invar_status create_primitive(inv_onednn_conv *p)
{
	const inv_conv_spec *s = &p->spec;
	const inv_window w = s->window;
	const dnnl_dims_t outputs = {(dnnl_dim_t)s->outputs};
	const dnnl_dims_t before = {(dnnl_dim_t)w.padding, (dnnl_dim_t)w.padding};
	const dnnl_dims_t after = {padding_behind(w, s->from.height),
	                           padding_behind(w, s->from.width)};
	inv_desc d[ARGS] = {0};
	dnnl_primitive_attr_t attr = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_onednn_engine(&p->engine));
	INV_TRY_OR(done, inv_onednn_attr(s->add, s->relu, &attr));
	INV_TRY_OR(done, describe_maps(&d[FROM], s->from, s->plain));
	INV_TRY_OR(done, describe_weights(&d[WEIGHTS], s, dnnl_format_tag_any));
	INV_TRY_OR(done, inv_desc_tagged(&d[BIAS], 1, outputs, dnnl_a));
	INV_TRY_OR(done, describe_maps(&d[TO], inv_conv_result(s), false));
	INV_TRY_OR(done, inv_onednn_convolution(&p->described, d[FROM], d[WEIGHTS], d[BIAS],
	                                        d[TO], (dnnl_dim_t)w.stride, before, after,
	                                        attr, p->engine));
	st = inv_onednn_create(&p->primitive, p->described);
done:
	for (int i = 0; i < ARGS; i++)
		inv_desc_free(d[i]);
	if (attr)
		inv_dnnl()->primitive_attr_destroy(attr);
	return st;
}

static invar_status build_conv(inv_onednn_conv *p, const float *weights, const float *bias,
                               const inv_onednn_conv *like)
{
	size_t biases = p->sets * p->spec.outputs;

	INV_TRY(create_primitive(p));
	p->scratch = inv_dnnl()->memory_desc_get_size(
		inv_dnnl()->primitive_desc_query_md(p->described, dnnl_query_scratchpad_md, 0));
	for (unsigned t = 0; t < p->threads; t++)
		INV_TRY(inv_onednn_check(inv_dnnl()->stream_create(&p->lanes[t].stream, p->engine,
		                                                   dnnl_stream_default_flags)));
	INV_TRY(lay_weights(p, weights, like));
	if (!p->weights)
		return INVAR_OK;
	INV_TRY(inv_new_array(&p->bias, biases));
	memcpy(p->bias, bias, biases * sizeof *bias);
	return fill_lanes(p);
}

invar_status inv_onednn_conv_new(const inv_conv_spec *s, size_t sets, const float *weights,
                                 const float *bias, unsigned threads,
                                 const inv_onednn_conv *like, inv_onednn_conv **out)
{
	inv_onednn_conv *p;
	invar_status st;
	int before;

	*out = NULL;
	INV_TRY(inv_onednn_need());
	INV_TRY(inv_new(&p));
	p->spec = *s;
	p->sets = sets;
	INV_TRY_OR(fail, inv_new_zeros(&p->lanes, threads));
	p->threads = threads;
	before = inv_onednn_one_thread();
	st = build_conv(p, weights, bias, like);
	inv_onednn_put_back(before);
	if (st == INVAR_OK && p->weights) {
		*out = p;
		return INVAR_OK;
	}
fail:
	inv_onednn_conv_free(p);
	return st;
}

void inv_onednn_conv_free(inv_onednn_conv *p)
{
	if (!p)
		return;
	for (unsigned t = 0; t < p->threads; t++) {
		for (int i = 0; i < ARGS; i++)
			if (p->lanes[t].memory[i])
				inv_dnnl()->memory_destroy(p->lanes[t].memory[i]);
		if (p->lanes[t].stream)
			inv_dnnl()->stream_destroy(p->lanes[t].stream);
	}
	if (p->primitive)
		inv_dnnl()->primitive_destroy(p->primitive);
	if (p->described)
		inv_dnnl()->primitive_desc_destroy(p->described);
	if (p->engine)
		inv_dnnl()->engine_destroy(p->engine);
	inv_free(p->lanes);
	if (!p->shared)
		inv_free(p->weights);
	inv_free(p->bias);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

size_t inv_onednn_conv_scratch(const inv_onednn_conv *p)
{
	return p->scratch;
}

invar_status inv_onednn_conv_run(const inv_onednn_conv *p, size_t set, const float *from,
                                 float *to, void *scratch, unsigned thread)
{
	const inv_dnnl_table *dnnl = inv_dnnl();
	const lane *l = &p->lanes[thread];
	void *const data[ARGS] = {[FROM] = (void *)(uintptr_t)from,
	                          [WEIGHTS] = p->sets > 1 ? p->weights + set * p->set : NULL,
	                          [BIAS] = p->sets > 1 ? p->bias + set * p->spec.outputs : NULL,
	                          [TO] = to,
	                          [SCRATCH] = p->scratch ? scratch : NULL};
	int before = inv_onednn_one_thread();
	invar_status st = INVAR_OK;

	for (int i = 0; i < ARGS; i++)
		if (data[i])
			INV_TRY_OR(done, inv_onednn_check(
								 dnnl->memory_set_data_handle(l->memory[i], data[i])));
	INV_TRY_OR(done, inv_onednn_check(
						 dnnl->primitive_execute(p->primitive, l->stream, ARGS, l->args)));
	st = inv_onednn_check(dnnl->stream_wait(l->stream));
done:
	inv_onednn_put_back(before);
	return st;
}
