/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_session.h - ONNX Runtime, loaded on first use: one model, one image per call.
 *
 * It is not linked, so that the program starts without it, and where its headers are
 * missing (Debian 12 has none) onnx_session_none.c takes the place of onnx_session.c. The
 * interface is versioned: any library of the headers' version or later will do.
 *
 * A session has no threads of its own: a call computes in the thread that makes it, and
 * several threads may make calls at once. The batch is always one image. So no feature
 * depends on the number of threads or on other images.
 */
#ifndef INV_ONNX_SESSION_H
#define INV_ONNX_SESSION_H

#include "base/status.h"
#include "images/augment/op.h"

enum { INV_ONNX_NDIM = 8 };

typedef struct inv_onnx_session inv_onnx_session;

/* What a call computed. */
typedef struct inv_onnx_result {
	unsigned ndim;
	uint64_t shape[INV_ONNX_NDIM];
	const float *x; /* NULL: not float32; views value */
	void *value;    /* the runtime's own */
} inv_onnx_result;

/* Borrows the names of input and output, which must outlive the session. */
invar_status inv_onnx_session_open(const char *path, const char *input, const char *output,
                                   inv_onnx_session **out);
void inv_onnx_session_close(inv_onnx_session *s);                /* accepts NULL */
const char *inv_onnx_session_version(const inv_onnx_session *s); /* "1.21.0"; views */

/* One image [c, h, w]. Free the result, after a failure too. */
invar_status inv_onnx_session_run(const inv_onnx_session *s, const float *x,
                                  inv_extent shape, inv_onnx_result *out);
void inv_onnx_result_free(const inv_onnx_session *s, inv_onnx_result *r);

#endif
