/*
 * onednn.c - the wrapper around oneDNN: a primitive with bias and ReLU fused.
 *
 * oneDNN takes its threads from the calling thread's OpenMP setting. A tile
 * belongs to one thread, so that setting is 1 while a primitive is made and
 * run, and is put back afterwards.
 */
#include "math/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "base/memory.h"

enum { ARG_A, ARG_B, ARG_C, ARG_BIAS, MATRICES, ARG_SCRATCH = MATRICES, ARGS };

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t desc;
typedef const_dnnl_memory_desc_t const_desc;
#else
typedef dnnl_memory_desc_t *desc;
typedef const dnnl_memory_desc_t *const_desc;
#endif

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

static invar_status fail_onednn(dnnl_status_t code, const char *what)
{
	return inv_fail(code == dnnl_out_of_memory ? INVAR_E_NOMEM : INVAR_E_NUMERIC,
	                "oneDNN could not %s a matrix product (its status is %d)", what,
	                (int)code);
}

static int use_one_thread(void)
{
	int before = omp_get_max_threads();

	if (before != 1)
		omp_set_num_threads(1);
	return before;
}

static void put_back(int before)
{
	if (before != 1)
		omp_set_num_threads(before);
}

/* ---- Versions ------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t new_desc(desc *out, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_create_with_strides(out, 2, dims, dnnl_f32, strides);
}

static void free_desc(desc d)
{
	if (d)
		dnnl_memory_desc_destroy(d);
}

static dnnl_status_t new_primitive_desc(dnnl_primitive_desc_t *out, const desc d[MATRICES],
                                        dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	return dnnl_matmul_primitive_desc_create(out, engine, d[ARG_A], d[ARG_B], d[ARG_BIAS],
	                                         d[ARG_C], attr);
}

static dnnl_status_t append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
}

#else

static dnnl_status_t new_desc(desc *out, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	*out = inv_alloc(sizeof **out);
	if (!*out)
		return dnnl_out_of_memory;
	return dnnl_memory_desc_init_by_strides(*out, 2, dims, dnnl_f32, strides);
}

static void free_desc(desc d)
{
	inv_free(d);
}

static dnnl_status_t new_primitive_desc(dnnl_primitive_desc_t *out, const desc d[MATRICES],
                                        dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
	dnnl_matmul_desc_t op;
	dnnl_status_t code =
		dnnl_matmul_desc_init(&op, d[ARG_A], d[ARG_B], d[ARG_BIAS], d[ARG_C]);

	if (code != dnnl_success)
		return code;
	return dnnl_primitive_desc_create(out, &op, attr, engine, NULL);
}

static dnnl_status_t append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
}

#endif

/* ---- Building a plan ---------------------------------------------------------- */

static dnnl_status_t new_attr(bool relu, dnnl_primitive_attr_t *out)
{
	dnnl_post_ops_t ops;
	dnnl_status_t code = dnnl_primitive_attr_create(out);

	if (code == dnnl_success)
		code = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
	if (code != dnnl_success || !relu)
		return code;
	if ((code = dnnl_post_ops_create(&ops)) != dnnl_success)
		return code;
	if ((code = append_relu(ops)) == dnnl_success)
		code = dnnl_primitive_attr_set_post_ops(*out, ops);
	dnnl_post_ops_destroy(ops);
	return code;
}

static dnnl_status_t build_scratch(inv_onednn *p, const_dnnl_primitive_desc_t pd)
{
	const_desc d = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	dnnl_status_t code;

	p->scratch = inv_alloc(dnnl_memory_desc_get_size(d));
	if (!p->scratch)
		return dnnl_out_of_memory;
	code = dnnl_memory_create(&p->memory[ARG_SCRATCH], d, p->engine, p->scratch);
	p->args[p->arg_count++] =
		(dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->memory[ARG_SCRATCH]};
	return code;
}

static dnnl_status_t build_arguments(inv_onednn *p, const desc d[MATRICES])
{
	static const int names[MATRICES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
	                                    DNNL_ARG_BIAS};
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < MATRICES && d[i] && code == dnnl_success; i++) {
		code = dnnl_memory_create(&p->memory[i], d[i], p->engine, DNNL_MEMORY_NONE);
		p->args[p->arg_count++] = (dnnl_exec_arg_t){names[i], p->memory[i]};
	}
	return code;
}

static dnnl_status_t build_primitive(inv_onednn *p, const desc d[MATRICES])
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t code = new_attr(p->spec.relu, &attr);

	if (code == dnnl_success)
		code = new_primitive_desc(&pd, d, attr, p->engine);
	if (code == dnnl_success)
		code = dnnl_primitive_create(&p->primitive, pd);
	if (code == dnnl_success)
		code = build_arguments(p, d);
	if (code == dnnl_success)
		code = build_scratch(p, pd);
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	return code;
}

/* [rows, cols], stored with `apart` floats between rows, or between columns. */
static dnnl_status_t new_matrix(desc *out, size_t rows, size_t cols, size_t apart,
                                bool transposed)
{
	const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
	const dnnl_dims_t by_row = {(dnnl_dim_t)apart, 1}, by_column = {1, (dnnl_dim_t)apart};

	return new_desc(out, dims, transposed ? by_column : by_row);
}

static dnnl_status_t build(inv_onednn *p, size_t lda, size_t ldb, size_t ldc)
{
	const inv_matmul_spec *s = &p->spec;
	desc d[MATRICES] = {0};
	dnnl_status_t code = dnnl_engine_create(&p->engine, dnnl_cpu, 0);

	if (code == dnnl_success)
		code = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
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
		free_desc(d[i]);
	return code;
}

invar_status inv_onednn_new(const inv_matmul_spec *s, size_t lda, size_t ldb, size_t ldc,
                            inv_onednn **out)
{
	inv_onednn *p = inv_calloc(1, sizeof *p);
	dnnl_status_t code;
	int before;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "no memory for a matrix product");
	p->spec = *s;
	before = use_one_thread();
	code = build(p, lda, ldb, ldc);
	put_back(before);
	if (code != dnnl_success) {
		inv_onednn_free(p);
		return fail_onednn(code, "plan");
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
			dnnl_memory_destroy(p->memory[i]);
	if (p->primitive)
		dnnl_primitive_destroy(p->primitive);
	if (p->stream)
		dnnl_stream_destroy(p->stream);
	if (p->engine)
		dnnl_engine_destroy(p->engine);
	inv_free(p->scratch);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

static dnnl_status_t execute(inv_onednn *p, const void *const data[MATRICES])
{
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < MATRICES && p->memory[i] && code == dnnl_success; i++)
		code = dnnl_memory_set_data_handle(p->memory[i], (void *)(uintptr_t)data[i]);
	if (code == dnnl_success)
		code = dnnl_primitive_execute(p->primitive, p->stream, p->arg_count, p->args);
	if (code == dnnl_success)
		code = dnnl_stream_wait(p->stream);
	return code;
}

invar_status inv_onednn_run(inv_onednn *p, const float *a, const float *b,
                            const float *bias, float *c)
{
	const void *const data[MATRICES] = {a, b, c, bias};
	int before = use_one_thread();
	dnnl_status_t code = execute(p, data);

	put_back(before);
	return code == dnnl_success ? INVAR_OK : fail_onednn(code, "run");
}

void inv_onednn_version(int *major, int *minor, int *patch)
{
	const dnnl_version_t *v = dnnl_version();

	*major = v->major;
	*minor = v->minor;
	*patch = v->patch;
}

bool inv_onednn_usable(void)
{
	return dnnl_version()->cpu_runtime == DNNL_RUNTIME_OMP;
}
