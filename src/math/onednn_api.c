/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_api.c - see onednn_api.h. */
#include "math/onednn_api.h"

#include <omp.h>

#include "base/memory.h"

enum { CODE_BYTES = 16 << 20 }; /* more than the kernels of any primitive need */

invar_status inv_onednn_fail(dnnl_status_t code, const char *what)
{
	if (code == dnnl_out_of_memory)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for oneDNN to %s", what);
	return inv_fail(INVAR_E_NUMERIC, "oneDNN failed to %s (status %d)", what, (int)code);
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
dnnl_status_t inv_onednn_engine(dnnl_engine_t *out)
{
	if (!inv_can_map(CODE_BYTES))
		return dnnl_out_of_memory;
	return dnnl_engine_create(out, dnnl_cpu, 0);
}

dnnl_status_t inv_onednn_create(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd)
{
	if (!inv_can_map(CODE_BYTES))
		return dnnl_out_of_memory;
	return dnnl_primitive_create(out, pd);
}

/* ---- Versions ------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t inv_desc_strided(inv_desc *out, int rank, const dnnl_dims_t dims,
                               const dnnl_dims_t strides)
{
	return dnnl_memory_desc_create_with_strides(out, rank, dims, dnnl_f32, strides);
}

dnnl_status_t inv_desc_tagged(inv_desc *out, int rank, const dnnl_dims_t dims,
                              dnnl_format_tag_t tag)
{
	return dnnl_memory_desc_create_with_tag(out, rank, dims, dnnl_f32, tag);
}

void inv_desc_free(inv_desc d)
{
	if (d)
		dnnl_memory_desc_destroy(d);
}

dnnl_status_t inv_onednn_matmul(dnnl_primitive_desc_t *out, inv_const_desc a,
                                inv_const_desc b, inv_const_desc bias, inv_const_desc c,
                                dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	return dnnl_matmul_primitive_desc_create(out, engine, a, b, bias, c, attr);
}

dnnl_status_t inv_onednn_convolution(dnnl_primitive_desc_t *out, inv_const_desc from,
                                     inv_const_desc weights, inv_const_desc bias,
                                     inv_const_desc to, dnnl_dim_t stride,
                                     const dnnl_dims_t before, const dnnl_dims_t after,
                                     dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	const dnnl_dims_t strides = {stride, stride}, dilates = {0, 0};

	return dnnl_convolution_forward_primitive_desc_create(
		out, engine, dnnl_forward_inference, dnnl_convolution_direct, from, weights, bias,
		to, strides, dilates, before, after, attr);
}

static dnnl_status_t append_add(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_f32);
}

static dnnl_status_t append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
}

#else

dnnl_status_t inv_desc_strided(inv_desc *out, int rank, const dnnl_dims_t dims,
                               const dnnl_dims_t strides)
{
	*out = inv_alloc(sizeof **out);
	if (!*out)
		return dnnl_out_of_memory;
	return dnnl_memory_desc_init_by_strides(*out, rank, dims, dnnl_f32, strides);
}

dnnl_status_t inv_desc_tagged(inv_desc *out, int rank, const dnnl_dims_t dims,
                              dnnl_format_tag_t tag)
{
	*out = inv_alloc(sizeof **out);
	if (!*out)
		return dnnl_out_of_memory;
	return dnnl_memory_desc_init_by_tag(*out, rank, dims, dnnl_f32, tag);
}

void inv_desc_free(inv_desc d)
{
	inv_free(d);
}

dnnl_status_t inv_onednn_matmul(dnnl_primitive_desc_t *out, inv_const_desc a,
                                inv_const_desc b, inv_const_desc bias, inv_const_desc c,
                                dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	dnnl_matmul_desc_t op;
	dnnl_status_t code = dnnl_matmul_desc_init(&op, a, b, bias, c);

	if (code != dnnl_success)
		return code;
	return dnnl_primitive_desc_create(out, &op, attr, engine, NULL);
}

dnnl_status_t inv_onednn_convolution(dnnl_primitive_desc_t *out, inv_const_desc from,
                                     inv_const_desc weights, inv_const_desc bias,
                                     inv_const_desc to, dnnl_dim_t stride,
                                     const dnnl_dims_t before, const dnnl_dims_t after,
                                     dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	const dnnl_dims_t strides = {stride, stride};
	dnnl_convolution_desc_t op;
	dnnl_status_t code = dnnl_convolution_forward_desc_init(
		&op, dnnl_forward_inference, dnnl_convolution_direct, from, weights, bias, to,
		strides, before, after);

	if (code != dnnl_success)
		return code;
	return dnnl_primitive_desc_create(out, &op, attr, engine, NULL);
}

static dnnl_status_t append_add(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1);
}

static dnnl_status_t append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
}

#endif

/* ---- Attributes ------------------------------------------------------------- */

static dnnl_status_t append_post_ops(bool add, bool relu, dnnl_primitive_attr_t attr)
{
	dnnl_post_ops_t ops;
	dnnl_status_t code = dnnl_post_ops_create(&ops);

	if (code != dnnl_success)
		return code;
	if (add)
		code = append_add(ops);
	if (code == dnnl_success && relu)
		code = append_relu(ops);
	if (code == dnnl_success)
		code = dnnl_primitive_attr_set_post_ops(attr, ops);
	dnnl_post_ops_destroy(ops);
	return code;
}

dnnl_status_t inv_onednn_attr(bool add, bool relu, dnnl_primitive_attr_t *out)
{
	dnnl_status_t code = dnnl_primitive_attr_create(out);

	if (code == dnnl_success)
		code = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
	if (code == dnnl_success && (add || relu))
		code = append_post_ops(add, relu, *out);
	return code;
}
