/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - a product as a oneDNN primitive with bias and ReLU fused. */
#include "math/onednn.h"

#include "base/memory.h"
#include "math/onednn_api.h"

enum { ARG_A, ARG_B, ARG_C, ARG_BIAS, MATRICES, ARG_SCRATCH = MATRICES, ARGS };

struct inv_onednn {
	inv_matmul_spec spec;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_t primitive;
	void *scratch; /* ours, so that a primitive may run on any thread */
	dnnl_memory_t memory[ARGS];
	dnnl_exec_arg_t args[ARGS];
	int arg_count;
};

/* ---- Building a plan ---------------------------------------------------------- */

static dnnl_status_t build_scratch(inv_onednn *p, const_dnnl_primitive_desc_t pd)
{
	inv_const_desc d = inv_dnnl()->primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	dnnl_status_t code;

	p->scratch = inv_alloc(inv_dnnl()->memory_desc_get_size(d));
	if (!p->scratch)
		return dnnl_out_of_memory;
	code = inv_dnnl()->memory_create(&p->memory[ARG_SCRATCH], d, p->engine, p->scratch);
	p->args[p->arg_count++] =
		(dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->memory[ARG_SCRATCH]};
	return code;
}

static dnnl_status_t build_arguments(inv_onednn *p, const inv_desc d[MATRICES])
{
	static const int names[MATRICES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
	                                    DNNL_ARG_BIAS};
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < MATRICES && d[i] && code == dnnl_success; i++) {
		code = inv_dnnl()->memory_create(&p->memory[i], d[i], p->engine, DNNL_MEMORY_NONE);
		p->args[p->arg_count++] = (dnnl_exec_arg_t){names[i], p->memory[i]};
	}
	return code;
}

static dnnl_status_t build_primitive(inv_onednn *p, const inv_desc d[MATRICES])
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t code = inv_onednn_attr(false, p->spec.relu, &attr);

	if (code == dnnl_success)
		code = inv_onednn_matmul(&pd, d[ARG_A], d[ARG_B], d[ARG_BIAS], d[ARG_C], attr,
		                         p->engine);
	if (code == dnnl_success)
		code = inv_onednn_create(&p->primitive, pd);
	if (code == dnnl_success)
		code = build_arguments(p, d);
	if (code == dnnl_success)
		code = build_scratch(p, pd);
	if (pd)
		inv_dnnl()->primitive_desc_destroy(pd);
	if (attr)
		inv_dnnl()->primitive_attr_destroy(attr);
	return code;
}

/* [rows, cols], with rows (or columns, if transposed) `apart` floats apart. */
static dnnl_status_t new_matrix(inv_desc *out, size_t rows, size_t cols, size_t apart,
                                bool transposed)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
	const dnnl_dims_t by_row = {(dnnl_dim_t)apart, 1}, by_column = {1, (dnnl_dim_t)apart};

	return inv_desc_strided(out, 2, dims, transposed ? by_column : by_row);
}

static dnnl_status_t build(inv_onednn *p, size_t lda, size_t ldb, size_t ldc)
{
	const inv_matmul_spec *s = &p->spec;
	inv_desc d[MATRICES] = {0};
	dnnl_status_t code = inv_onednn_engine(&p->engine);

	if (code == dnnl_success)
		code = inv_dnnl()->stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
	if (code == dnnl_success)
		code = new_matrix(&d[ARG_A], s->m, s->k, lda, s->transpose_a);
	if (code == dnnl_success)
		code = new_matrix(&d[ARG_B], s->k, s->n, ldb, s->transpose_b);
	if (code == dnnl_success)
		code = new_matrix(&d[ARG_C], s->m, s->n, ldc, false);
	if (code == dnnl_success && s->bias)
		code = new_matrix(&d[ARG_BIAS], 1, s->n, s->n, false);
	if (code == dnnl_success)
		code = build_primitive(p, d);
	for (int i = 0; i < MATRICES; i++)
		inv_desc_free(d[i]);
	return code;
}

invar_status inv_onednn_new(const inv_matmul_spec *s, size_t lda, size_t ldb, size_t ldc,
                            inv_onednn **out)
{
	inv_onednn *p;
	dnnl_status_t code;
	invar_status st = inv_onednn_need();
	int before;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(p = inv_calloc(1, sizeof *p)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a matrix product");
	p->spec = *s;
	before = inv_onednn_one_thread();
	code = build(p, lda, ldb, ldc);
	inv_onednn_put_back(before);
	if (code != dnnl_success) {
		inv_onednn_free(p);
		return inv_onednn_fail(code, "plan a matrix product");
	}
	*out = p;
	return INVAR_OK;
}

void inv_onednn_free(inv_onednn *p)
{
	if (!p)
		return;
	for (int i = 0; i < ARGS; i++)
		if (p->memory[i])
			inv_dnnl()->memory_destroy(p->memory[i]);
	if (p->primitive)
		inv_dnnl()->primitive_destroy(p->primitive);
	if (p->stream)
		inv_dnnl()->stream_destroy(p->stream);
	if (p->engine)
		inv_dnnl()->engine_destroy(p->engine);
	inv_free(p->scratch);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

static dnnl_status_t execute(inv_onednn *p, const void *const data[MATRICES])
{
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < MATRICES && p->memory[i] && code == dnnl_success; i++)
		code = inv_dnnl()->memory_set_data_handle(p->memory[i], (void *)(uintptr_t)data[i]);
	if (code == dnnl_success)
		code =
			inv_dnnl()->primitive_execute(p->primitive, p->stream, p->arg_count, p->args);
	if (code == dnnl_success)
		code = inv_dnnl()->stream_wait(p->stream);
	return code;
}

invar_status inv_onednn_run(inv_onednn *p, const float *a, const float *b,
                            const float *bias, float *c)
{
	const void *const data[MATRICES] = {a, b, c, bias};
	int before = inv_onednn_one_thread();
	dnnl_status_t code = execute(p, data);

	inv_onednn_put_back(before);
	return code == dnnl_success ? INVAR_OK : inv_onednn_fail(code, "run a matrix product");
}

invar_status inv_onednn_version(int *major, int *minor, int *patch)
{
	const dnnl_version_t *v;
	invar_status st = inv_onednn_need();

	if (st != INVAR_OK)
		return st;
	v = inv_dnnl()->version();
	*major = v->major;
	*minor = v->minor;
	*patch = v->patch;
	return INVAR_OK;
}

bool inv_onednn_usable(void)
{
	return inv_onednn_need() != INVAR_OK ||
	       inv_dnnl()->version()->cpu_runtime == DNNL_RUNTIME_OMP;
}
