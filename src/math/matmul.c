/*
 * matmul.c - the wrapper around oneDNN.
 *
 * oneDNN 3 replaced operation descriptors by direct constructors and made
 * memory descriptors opaque; the four functions under "versions" hide that.
 *
 * oneDNN takes its threads from the calling thread's OpenMP setting, so each
 * call sets that to the context's threads and puts it back afterwards.
 */
#include "math/matmul.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

#include "base/memory.h"

enum { ARG_A, ARG_B, ARG_C, ARG_BIAS, ARGS };

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t desc;
#else
typedef dnnl_memory_desc_t *desc;
#endif

struct inv_matmul {
	inv_matmul_spec spec;
	bool plain; /* INVAR_CPU=ref */
	int threads;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_t primitive;
	dnnl_memory_t memory[ARGS];
	dnnl_exec_arg_t args[ARGS];
	int arg_count;
};

static invar_status fail_dnnl(dnnl_status_t code, const char *what)
{
	return inv_fail(code == dnnl_out_of_memory ? INVAR_E_NOMEM : INVAR_E_NUMERIC,
	                "oneDNN could not %s a matrix product (its status is %d)", what,
	                (int)code);
}

static int enter_threads(int threads)
{
	int before = omp_get_max_threads();

	if (before != threads)
		omp_set_num_threads(threads);
	return before;
}

static void leave_threads(int before)
{
	if (omp_get_max_threads() != before)
		omp_set_num_threads(before);
}

/* ---- Versions ------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t new_desc(desc *out, size_t rows, size_t cols, bool transposed)
{
	dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};

	return dnnl_memory_desc_create_with_tag(out, 2, dims, dnnl_f32,
	                                        transposed ? dnnl_ba : dnnl_ab);
}

static void free_desc(desc d)
{
	if (d)
		dnnl_memory_desc_destroy(d);
}

static dnnl_status_t new_memory(dnnl_memory_t *out, desc d, dnnl_engine_t engine)
{
	return dnnl_memory_create(out, d, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t new_primitive_desc(dnnl_primitive_desc_t *out, const desc d[ARGS],
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

static dnnl_status_t new_desc(desc *out, size_t rows, size_t cols, bool transposed)
{
	dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};

	*out = inv_alloc(sizeof **out);
	if (!*out)
		return dnnl_out_of_memory;
	return dnnl_memory_desc_init_by_tag(*out, 2, dims, dnnl_f32,
	                                    transposed ? dnnl_ba : dnnl_ab);
}

static void free_desc(desc d)
{
	inv_free(d);
}

static dnnl_status_t new_memory(dnnl_memory_t *out, desc d, dnnl_engine_t engine)
{
	return dnnl_memory_create(out, d, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t new_primitive_desc(dnnl_primitive_desc_t *out, const desc d[ARGS],
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

	if (code != dnnl_success || !relu)
		return code;
	if ((code = dnnl_post_ops_create(&ops)) != dnnl_success)
		return code;
	if ((code = append_relu(ops)) == dnnl_success)
		code = dnnl_primitive_attr_set_post_ops(*out, ops);
	dnnl_post_ops_destroy(ops);
	return code;
}

static dnnl_status_t build_primitive(inv_matmul *p, const desc d[ARGS])
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t code = new_attr(p->spec.relu, &attr);

	if (code == dnnl_success)
		code = new_primitive_desc(&pd, d, attr, p->engine);
	if (code == dnnl_success)
		code = dnnl_primitive_create(&p->primitive, pd);
	if (pd)
		dnnl_primitive_desc_destroy(pd);
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	return code;
}

static dnnl_status_t build_arguments(inv_matmul *p, const desc d[ARGS])
{
	static const int names[ARGS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
	                                DNNL_ARG_BIAS};
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < ARGS && d[i] && code == dnnl_success; i++) {
		code = new_memory(&p->memory[i], d[i], p->engine);
		p->args[i] = (dnnl_exec_arg_t){names[i], p->memory[i]};
		p->arg_count++;
	}
	return code;
}

static dnnl_status_t build(inv_matmul *p)
{
	const inv_matmul_spec *s = &p->spec;
	desc d[ARGS] = {0};
	dnnl_status_t code = dnnl_engine_create(&p->engine, dnnl_cpu, 0);

	if (code == dnnl_success)
		code = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
	if (code == dnnl_success)
		code = new_desc(&d[ARG_A], s->m, s->k, s->transpose_a);
	if (code == dnnl_success)
		code = new_desc(&d[ARG_B], s->k, s->n, s->transpose_b);
	if (code == dnnl_success)
		code = new_desc(&d[ARG_C], s->m, s->n, false);
	if (code == dnnl_success && s->bias)
		code = new_desc(&d[ARG_BIAS], 1, s->n, false);
	if (code == dnnl_success)
		code = build_primitive(p, d);
	if (code == dnnl_success)
		code = build_arguments(p, d);
	for (int i = 0; i < ARGS; i++)
		free_desc(d[i]);
	return code;
}

invar_status inv_matmul_new(const invar_context *ctx, const inv_matmul_spec *spec,
                            inv_matmul **out)
{
	inv_matmul *p = inv_calloc(1, sizeof *p);
	dnnl_status_t code;
	int before;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "no memory for a matrix product");
	p->spec = *spec;
	p->plain = !ctx->cpu;
	p->threads = (int)ctx->threads;
	if (!p->plain) {
		before = enter_threads(p->threads);
		code = build(p);
		leave_threads(before);
		if (code != dnnl_success) {
			inv_matmul_free(p);
			return fail_dnnl(code, "plan");
		}
	}
	*out = p;
	return INVAR_OK;
}

void inv_matmul_free(inv_matmul *p)
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
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

static dnnl_status_t execute(inv_matmul *p, const void *const data[ARGS])
{
	dnnl_status_t code = dnnl_success;

	for (int i = 0; i < p->arg_count && code == dnnl_success; i++)
		code = dnnl_memory_set_data_handle(p->memory[i], (void *)(uintptr_t)data[i]);
	if (code == dnnl_success)
		code = dnnl_primitive_execute(p->primitive, p->stream, p->arg_count, p->args);
	if (code == dnnl_success)
		code = dnnl_stream_wait(p->stream);
	return code;
}

invar_status inv_matmul_run(inv_matmul *p, const float *a, const float *b,
                            const float *bias, float *c)
{
	const void *const data[ARGS] = {a, b, c, bias};
	dnnl_status_t code;
	int before;

	if (p->plain) {
		inv_matmul_ref(&p->spec, a, b, bias, c);
		return INVAR_OK;
	}
	before = enter_threads(p->threads);
	code = execute(p, data);
	leave_threads(before);
	return code == dnnl_success ? INVAR_OK : fail_dnnl(code, "run");
}

static void add_bias_relu(const inv_matmul_spec *s, const float *bias, float *c)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			float y = c[i * s->n + j] + (s->bias ? bias[j] : 0);

			c[i * s->n + j] = s->relu && y < 0 ? 0 : y;
		}
}

invar_status inv_gemm(const invar_context *ctx, const inv_matmul_spec *s, const float *a,
                      const float *b, const float *bias, float *c)
{
	dnnl_status_t code;
	int before;

	if (!ctx->cpu) {
		inv_matmul_ref(s, a, b, bias, c);
		return INVAR_OK;
	}
	before = enter_threads((int)ctx->threads);
	code = dnnl_sgemm(s->transpose_a ? 'T' : 'N', s->transpose_b ? 'T' : 'N',
	                  (dnnl_dim_t)s->m, (dnnl_dim_t)s->n, (dnnl_dim_t)s->k, 1, a,
	                  (dnnl_dim_t)(s->transpose_a ? s->m : s->k), b,
	                  (dnnl_dim_t)(s->transpose_b ? s->k : s->n), 0, c, (dnnl_dim_t)s->n);
	leave_threads(before);
	if (code != dnnl_success)
		return fail_dnnl(code, "run");
	if (s->bias || s->relu)
		add_bias_relu(s, bias, c);
	return INVAR_OK;
}

void inv_matmul_version(char *text, size_t bytes)
{
	const dnnl_version_t *v = dnnl_version();

	snprintf(text, bytes, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
}
