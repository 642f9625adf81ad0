/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn_api.h - oneDNN, loaded on first use: where 2.6 and 3.x differ, and its threads.
 *
 * It is not linked, for the reasons of openblas.h: a linked oneDNN runs its initialisers
 * before main, in a process that may never encode an image, and ends the program by an
 * exception if they get no memory. The version is that of the headers, and a wheel brings
 * its own copy (-Dbundled=true). Its functions are called as inv_dnnl()->memory_create.
 *
 * oneDNN 3 replaced operation descriptors by direct constructors and made memory
 * descriptors opaque. This file hides the difference from onednn_conv.c.
 *
 * oneDNN takes its threads from the calling thread's OpenMP setting. Each piece of our work
 * belongs to one thread, so that setting is 1 while a primitive is created and run, and is
 * restored afterwards.
 */
#ifndef INV_ONEDNN_API_H
#define INV_ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#include "base/status.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t inv_desc;
typedef const_dnnl_memory_desc_t inv_const_desc;
#else
typedef dnnl_memory_desc_t *inv_desc;
typedef const dnnl_memory_desc_t *inv_const_desc;
#endif

/* Every function that is called, without dnnl_. */
#define INV_DNNL_FUNCTIONS(X)             \
	X(version)                            \
	X(get_effective_cpu_isa)              \
	X(engine_create)                      \
	X(engine_destroy)                     \
	X(stream_create)                      \
	X(stream_wait)                        \
	X(stream_destroy)                     \
	X(memory_create)                      \
	X(memory_set_data_handle)             \
	X(memory_destroy)                     \
	X(memory_desc_equal)                  \
	X(memory_desc_get_size)               \
	X(primitive_attr_create)              \
	X(primitive_attr_set_post_ops)        \
	X(primitive_attr_set_scratchpad_mode) \
	X(primitive_attr_destroy)             \
	X(post_ops_create)                    \
	X(post_ops_append_eltwise)            \
	X(post_ops_append_sum)                \
	X(post_ops_destroy)                   \
	X(reorder_primitive_desc_create)      \
	X(primitive_desc_query_md)            \
	X(primitive_desc_destroy)             \
	X(primitive_create)                   \
	X(primitive_execute)                  \
	X(primitive_destroy)                  \
	INV_DNNL_FUNCTIONS_OF_VERSION(X)

#if DNNL_VERSION_MAJOR >= 3
#define INV_DNNL_FUNCTIONS_OF_VERSION(X) \
	X(memory_desc_create_with_tag)       \
	X(memory_desc_destroy)               \
	X(convolution_forward_primitive_desc_create)
#else
#define INV_DNNL_FUNCTIONS_OF_VERSION(X) \
	X(memory_desc_init_by_tag)           \
	X(convolution_forward_desc_init)     \
	X(primitive_desc_create)
#endif

#define INV_DNNL_MEMBER(name) __typeof__(dnnl_##name) *name;
typedef struct inv_dnnl_table {
	INV_DNNL_FUNCTIONS(INV_DNNL_MEMBER)
} inv_dnnl_table;
#undef INV_DNNL_MEMBER

/* Call before any use, on any thread; cheap once it has succeeded. */
invar_status inv_onednn_need(void);
/* After inv_onednn_need has succeeded. */
const inv_dnnl_table *inv_dnnl(void);

/* "oneDNN failed at a convolution (status 3)" */
invar_status inv_onednn_check(dnnl_status_t code);

int inv_onednn_one_thread(void); /* returns the previous setting */
void inv_onednn_put_back(int before);

/* Descriptors of floats; inv_desc_free accepts NULL. */
invar_status inv_desc_tagged(inv_desc *out, int dimensions, const dnnl_dims_t dims,
                             dnnl_format_tag_t tag);
void inv_desc_free(inv_desc d);

/* The CPU engine, if there is enough memory for its work. */
invar_status inv_onednn_engine(dnnl_engine_t *out);
/*
 * dnnl_primitive_create, if there is memory for the machine code it writes: without that
 * memory oneDNN 2.6 crashes.
 */
invar_status inv_onednn_create(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd);

/* Attributes: scratch memory is ours; adds to the previous content, then max(0, .). */
invar_status inv_onednn_attr(bool add, bool relu, dnnl_primitive_attr_t *out);

/* bias may be NULL; `before` and `after` are the padding on each side, height and width. */
invar_status inv_onednn_convolution(dnnl_primitive_desc_t *out, inv_const_desc from,
                                    inv_const_desc weights, inv_const_desc bias,
                                    inv_const_desc to, dnnl_dim_t stride,
                                    const dnnl_dims_t before, const dnnl_dims_t after,
                                    dnnl_primitive_attr_t attr, dnnl_engine_t engine);

#endif
