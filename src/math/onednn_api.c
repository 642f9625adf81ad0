/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_api.c - see onednn_api.h. */
#include "math/onednn_api.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include "base/memory.h"

#ifdef INV_BUNDLED
#define LIBRARY "libdnnl-invar.so" /* see tools/make_wheel */
#else
#define LIBRARY INV_DNNL_SONAME /* of the library that belongs to the headers */
#endif

enum {
	LIBRARY_BYTES = 64 << 20, /* the file itself, and what its initialisers allocate */
	CODE_BYTES = 16 << 20     /* more than the kernels of any primitive need */
};

/* ---- Loading --------------------------------------------------------------------- */

/* Per process, like the library. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static inv_dnnl_table table;
static bool loaded;

static bool find_functions(void *library, inv_dnnl_table *t)
{
#define FOUND(name) &&(*(void **)&t->name = dlsym(library, "dnnl_" #name))
	return true INV_DNNL_FUNCTIONS(FOUND);
#undef FOUND
}

static invar_status load_onednn(void)
{
	void *library;

	if (!inv_can_map(LIBRARY_BYTES))
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory: oneDNN needs %d MB more address space",
		                LIBRARY_BYTES >> 20);
	if (!(library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)))
		return inv_fail(INVAR_E_IO, "cannot load oneDNN: %.300s; install this library",
		                dlerror());
	if (!find_functions(library, &table))
		return inv_fail(INVAR_E_IO,
		                "%s is not the oneDNN that invar was built with: %.300s", LIBRARY,
		                dlerror());
	loaded = true;
	return INVAR_OK;
}

invar_status inv_onednn_need(void)
{
	invar_status st = INVAR_OK;

	pthread_mutex_lock(&lock);
	if (!loaded)
		st = load_onednn();
	pthread_mutex_unlock(&lock);
	return st;
}

const inv_dnnl_table *inv_dnnl(void)
{
	return &table;
}

/* ---- Threads, failures, memory --------------------------------------------------- */

invar_status inv_onednn_check(dnnl_status_t code)
{
	if (code == dnnl_success)
		return INVAR_OK;
	if (code == dnnl_out_of_memory)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for oneDNN's convolutions");
	return inv_fail(INVAR_E_NUMERIC, "oneDNN failed at a convolution (status %d)",
	                (int)code);
}

int inv_onednn_one_thread(void)
{
	int before = omp_get_max_threads();

	if (before != 1)
		omp_set_num_threads(1);
	return before;
}

void inv_onednn_put_back(int before)
{
	if (before != 1)
		omp_set_num_threads(before);
}

/* Without memory oneDNN 3 ends the program by an exception, so an allocation is tried
 * first. */
invar_status inv_onednn_engine(dnnl_engine_t *out)
{
	return inv_onednn_check(inv_can_map(CODE_BYTES)
	                            ? inv_dnnl()->engine_create(out, dnnl_cpu, 0)
	                            : dnnl_out_of_memory);
}

invar_status inv_onednn_create(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd)
{
	return inv_onednn_check(inv_can_map(CODE_BYTES) ? inv_dnnl()->primitive_create(out, pd)
	                                                : dnnl_out_of_memory);
}

/* ---- Versions ------------------------------------------------------------- */

invar_status inv_desc_tagged(inv_desc *out, int dimensions, const dnnl_dims_t dims,
                             dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
	return inv_onednn_check(
		inv_dnnl()->memory_desc_create_with_tag(out, dimensions, dims, dnnl_f32, tag));
#else
	INV_TRY(inv_new(out));
	return inv_onednn_check(
		inv_dnnl()->memory_desc_init_by_tag(*out, dimensions, dims, dnnl_f32, tag));
#endif
}

void inv_desc_free(inv_desc d)
{
#if DNNL_VERSION_MAJOR >= 3
	if (d)
		inv_dnnl()->memory_desc_destroy(d);
#else
	inv_free(d);
#endif
}

invar_status inv_onednn_convolution(dnnl_primitive_desc_t *out, inv_const_desc from,
                                    inv_const_desc weights, inv_const_desc bias,
                                    inv_const_desc to, dnnl_dim_t stride,
                                    const dnnl_dims_t before, const dnnl_dims_t after,
                                    dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	const dnnl_dims_t strides = {stride, stride};
#if DNNL_VERSION_MAJOR >= 3
	const dnnl_dims_t dilates = {0, 0};

	return inv_onednn_check(inv_dnnl()->convolution_forward_primitive_desc_create(
		out, engine, dnnl_forward_inference, dnnl_convolution_direct, from, weights, bias,
		to, strides, dilates, before, after, attr));
#else
	dnnl_convolution_desc_t op;

	INV_TRY(inv_onednn_check(inv_dnnl()->convolution_forward_desc_init(
		&op, dnnl_forward_inference, dnnl_convolution_direct, from, weights, bias, to,
		strides, before, after)));
	return inv_onednn_check(
		inv_dnnl()->primitive_desc_create(out, &op, attr, engine, NULL));
#endif
}

/* The last arguments of oneDNN 3 are the first one, or have defaults, in 2.6. */
#if DNNL_VERSION_MAJOR >= 3
#define APPEND_SUM(ops) post_ops_append_sum(ops, 1, 0, dnnl_f32)
#define APPEND_RELU(ops) post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0)
#else
#define APPEND_SUM(ops) post_ops_append_sum(ops, 1)
#define APPEND_RELU(ops) post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0)
#endif

invar_status inv_onednn_attr(bool add, bool relu, dnnl_primitive_attr_t *out)
{
	dnnl_post_ops_t ops = NULL;
	invar_status st;

	INV_TRY(inv_onednn_check(inv_dnnl()->primitive_attr_create(out)));
	INV_TRY(inv_onednn_check(
		inv_dnnl()->primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user)));
	if (!add && !relu)
		return INVAR_OK;
	INV_TRY(inv_onednn_check(inv_dnnl()->post_ops_create(&ops)));
	if (add)
		INV_TRY_OR(done, inv_onednn_check(inv_dnnl()->APPEND_SUM(ops)));
	if (relu)
		INV_TRY_OR(done, inv_onednn_check(inv_dnnl()->APPEND_RELU(ops)));
	st = inv_onednn_check(inv_dnnl()->primitive_attr_set_post_ops(*out, ops));
done:
	inv_dnnl()->post_ops_destroy(ops);
	return st;
}
