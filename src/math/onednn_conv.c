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

static dnnl_status_t describe_maps(inv_desc *out, inv_maps m, bool plain)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)m.images, (dnnl_dim_t)m.channels,
	                          (dnnl_dim_t)m.height, (dnnl_dim_t)m.width};

	return inv_desc_tagged(out, 4, dims,
	                       plain            ? dnnl_nchw
	                       : wide_vectors() ? dnnl_nChw16c
	                                        : dnnl_nChw8c);
}

static dnnl_status_t describe_weights(inv_desc *out, const inv_conv_spec *s,
                                      dnnl_format_tag_t tag)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)s->outputs, (dnnl_dim_t)s->from.channels,
	                          (dnnl_dim_t)s->window.kernel, (dnnl_dim_t)s->window.kernel};

	return inv_desc_tagged(out, 4, dims, tag);
}

static dnnl_status_t lay_set(inv_onednn_conv *p, dnnl_primitive_t reorder,
                             const dnnl_exec_arg_t args[2], const float *from, void *to)
{
	dnnl_status_t code =
		inv_dnnl()->memory_set_data_handle(args[0].memory, (void *)(uintptr_t)from);

	if (code == dnnl_success)
		code = inv_dnnl()->memory_set_data_handle(args[1].memory, to);
	if (code == dnnl_success)
		code = inv_dnnl()->primitive_execute(reorder, p->lanes[0].stream, 2, args);
	if (code == dnnl_success)
		code = inv_dnnl()->stream_wait(p->lanes[0].stream);
	return code;
}

/* Reorders the weights as the primitive requires. */
static dnnl_status_t reorder_weights(inv_onednn_conv *p, inv_const_desc plain,
                                     inv_const_desc laid, const float *weights)
{
	const inv_conv_spec *s = &p->spec;
	size_t cells = s->outputs * s->from.channels * s->window.kernel * s->window.kernel;
	dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, NULL}, {DNNL_ARG_TO, NULL}};
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t reorder = NULL;
	dnnl_status_t code;

	if (!(p->weights = inv_alloc(p->sets * p->set)))
		return dnnl_out_of_memory;
	code = inv_dnnl()->memory_create(&args[0].memory, plain, p->engine, DNNL_MEMORY_NONE);
	if (code == dnnl_success)
		code =
			inv_dnnl()->memory_create(&args[1].memory, laid, p->engine, DNNL_MEMORY_NONE);
	if (code == dnnl_success)
		code = inv_dnnl()->reorder_primitive_desc_create(&pd, plain, p->engine, laid,
		                                                 p->engine, NULL);
	if (code == dnnl_success)
		code = inv_onednn_create(&reorder, pd);
	for (size_t i = 0; i < p->sets && code == dnnl_success; i++)
		code = lay_set(p, reorder, args, weights + i * cells, p->weights + i * p->set);
	if (reorder)
		inv_dnnl()->primitive_destroy(reorder);
	if (pd)
		inv_dnnl()->primitive_desc_destroy(pd);
	for (int i = 0; i < 2; i++)
		if (args[i].memory)
			inv_dnnl()->memory_destroy(args[i].memory);
	return code;
}

static inv_const_desc laid_weights(const inv_onednn_conv *p)
{
	return inv_dnnl()->primitive_desc_query_md(p->described, dnnl_query_weights_md, 0);
}

/* Are they ordered as in `like`, for as many sets of the same shape? */
static bool ordered_like(const inv_onednn_conv *p, const inv_onednn_conv *like)
{
	return p->sets == like->sets &&
	       inv_dnnl()->memory_desc_equal(laid_weights(p), laid_weights(like));
}

/* Without gaps between the sets, equal bytes mean that each set is where it should be. */
static bool same_bytes(const inv_onednn_conv *p, const inv_onednn_conv *like)
{
	return p->sets * p->set == like->sets * like->set &&
	       p->set == inv_dnnl()->memory_desc_get_size(laid_weights(p)) &&
	       like->set == inv_dnnl()->memory_desc_get_size(laid_weights(like)) &&
	       memcmp(p->weights, like->weights, p->sets * p->set) == 0;
}

static void share_weights(inv_onednn_conv *p, const inv_onednn_conv *like)
{
	inv_free(p->weights);
	p->weights = like->weights;
	p->shared = true;
}

static dnnl_status_t lay_weights(inv_onednn_conv *p, const float *weights,
                                 const inv_onednn_conv *like)
{
	inv_const_desc laid = laid_weights(p);
	inv_desc plain = NULL;
	dnnl_status_t code;

	p->set =
		(inv_dnnl()->memory_desc_get_size(laid) + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
	if (like && ordered_like(p, like)) {
		share_weights(p, like);
		return dnnl_success;
	}
	if (!weights)
		return dnnl_unimplemented;
	code = describe_weights(&plain, &p->spec, dnnl_oihw);
	if (code == dnnl_success)
		code = reorder_weights(p, plain, laid, weights);
	if (code == dnnl_success && like && same_bytes(p, like))
		share_weights(p, like);
	inv_desc_free(plain);
	return code;
}

static dnnl_status_t fill_lane(inv_onednn_conv *p, lane *l, const_dnnl_primitive_desc_t pd)
{
	static const int names[ARGS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
	                                DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
	const inv_const_desc d[ARGS] = {
		inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_src_md, 0),
		inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_weights_md, 0),
		inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
		inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
		inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)};
	void *const data[ARGS] = {DNNL_MEMORY_NONE, p->weights, p->bias, DNNL_MEMORY_NONE,
	                          DNNL_MEMORY_NONE};
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < ARGS && code == dnnl_success; i++) {
		code = inv_dnnl()->memory_create(&l->memory[i], d[i], p->engine, data[i]);
		l->args[i] = (dnnl_exec_arg_t){names[i], l->memory[i]};
	}
	return code;
}

static dnnl_status_t copy_bias(inv_onednn_conv *p, const float *bias)
{
	size_t count = p->sets * p->spec.outputs;

	if (!(p->bias = inv_alloc(count * sizeof *bias)))
		return dnnl_out_of_memory;
	for (size_t i = 0; i < count; i++)
		p->bias[i] = bias[i];
	return dnnl_success;
}

static dnnl_status_t build_lanes(inv_onednn_conv *p, const float *weights,
                                 const float *bias, const inv_onednn_conv *like)
{
	dnnl_status_t code = dnnl_success;

	p->scratch = inv_dnnl()->memory_desc_get_size(
		inv_dnnl()->primitive_desc_query_md(p->described, dnnl_query_scratchpad_md, 0));
	for (unsigned t = 0; t < p->threads && code == dnnl_success; t++)
		code = inv_dnnl()->stream_create(&p->lanes[t].stream, p->engine,
		                                 dnnl_stream_default_flags);
	if (code == dnnl_success)
		code = lay_weights(p, weights, like);
	if (code == dnnl_success)
		code = copy_bias(p, bias);
	for (unsigned t = 0; t < p->threads && code == dnnl_success; t++)
		code = fill_lane(p, &p->lanes[t], p->described);
	return code;
}

static dnnl_status_t describe(inv_onednn_conv *p, inv_desc d[ARGS])
{
	const inv_conv_spec *s = &p->spec;
	const dnnl_dims_t outputs = {(dnnl_dim_t)s->outputs};
	dnnl_status_t code = describe_maps(&d[FROM], s->from, s->plain);

	if (code == dnnl_success)
		code = describe_weights(&d[WEIGHTS], s, dnnl_format_tag_any);
	if (code == dnnl_success)
		code = inv_desc_tagged(&d[BIAS], 1, outputs, dnnl_a);
	if (code == dnnl_success)
		code = describe_maps(&d[TO], inv_conv_result(s), false);
	return code;
}

/* The last window ends here, before or beyond the end of the padding. */
static dnnl_dim_t padding_behind(inv_window w, size_t side)
{
	size_t end = (inv_window_places(w, side) - 1) * w.stride + w.kernel;

	return (dnnl_dim_t)end - (dnnl_dim_t)(side + w.padding);
}

static dnnl_status_t build(inv_onednn_conv *p, const float *weights, const float *bias,
                           const inv_onednn_conv *like)
{
	const inv_window w = p->spec.window;
	const dnnl_dims_t before = {(dnnl_dim_t)w.padding, (dnnl_dim_t)w.padding};
	const dnnl_dims_t after = {padding_behind(w, p->spec.from.height),
	                           padding_behind(w, p->spec.from.width)};
	inv_desc d[ARGS] = {0};
	dnnl_primitive_attr_t attr = NULL;
	dnnl_status_t code = inv_onednn_engine(&p->engine);

	if (code == dnnl_success)
		code = inv_onednn_attr(p->spec.add, p->spec.relu, &attr);
	if (code == dnnl_success)
		code = describe(p, d);
	if (code == dnnl_success)
		code = inv_onednn_convolution(&p->described, d[FROM], d[WEIGHTS], d[BIAS], d[TO],
		                              (dnnl_dim_t)w.stride, before, after, attr, p->engine);
	if (code == dnnl_success)
		code = inv_onednn_create(&p->primitive, p->described);
	if (code == dnnl_success)
		code = build_lanes(p, weights, bias, like);
	for (int i = 0; i < ARGS; i++)
		inv_desc_free(d[i]);
	if (attr)
		inv_dnnl()->primitive_attr_destroy(attr);
	return code;
}

invar_status inv_onednn_conv_new(const inv_conv_spec *s, size_t sets, const float *weights,
                                 const float *bias, unsigned threads,
                                 const inv_onednn_conv *like, inv_onednn_conv **out)
{
	inv_onednn_conv *p;
	dnnl_status_t code;
	invar_status st = inv_onednn_need();
	int before;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	p = inv_calloc(1, sizeof *p);
	if (!p || !(p->lanes = inv_calloc(threads, sizeof *p->lanes))) {
		inv_free(p);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a convolution");
	}
	p->spec = *s;
	p->sets = sets;
	p->threads = threads;
	before = inv_onednn_one_thread();
	code = build(p, weights, bias, like);
	inv_onednn_put_back(before);
	if (code != dnnl_success) {
		inv_onednn_conv_free(p);
		if (code == dnnl_unimplemented && !weights)
			return INVAR_OK; /* the caller has to give them */
		return inv_onednn_fail(code, "plan a convolution");
	}
	*out = p;
	return INVAR_OK;
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

static dnnl_status_t execute(const inv_onednn_conv *p, const lane *l, size_t set,
                             const float *from, float *to, void *scratch)
{
	dnnl_status_t code =
		inv_dnnl()->memory_set_data_handle(l->memory[FROM], (void *)(uintptr_t)from);

	if (code == dnnl_success)
		code = inv_dnnl()->memory_set_data_handle(l->memory[TO], to);
	if (code == dnnl_success && p->sets > 1)
		code = inv_dnnl()->memory_set_data_handle(l->memory[WEIGHTS],
		                                          p->weights + set * p->set);
	if (code == dnnl_success && p->sets > 1)
		code = inv_dnnl()->memory_set_data_handle(l->memory[BIAS],
		                                          p->bias + set * p->spec.outputs);
	if (code == dnnl_success && p->scratch)
		code = inv_dnnl()->memory_set_data_handle(l->memory[SCRATCH], scratch);
	if (code == dnnl_success)
		code = inv_dnnl()->primitive_execute(p->primitive, l->stream, ARGS, l->args);
	if (code == dnnl_success)
		code = inv_dnnl()->stream_wait(l->stream);
	return code;
}

invar_status inv_onednn_conv_run(const inv_onednn_conv *p, size_t set, const float *from,
                                 float *to, void *scratch, unsigned thread)
{
	int before = inv_onednn_one_thread();
	dnnl_status_t code = execute(p, &p->lanes[thread], set, from, to, scratch);

	inv_onednn_put_back(before);
	return code == dnnl_success ? INVAR_OK : inv_onednn_fail(code, "run a convolution");
}
