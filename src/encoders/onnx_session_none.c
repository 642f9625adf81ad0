/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_session_none.c - a build without ONNX Runtime. */
#include "encoders/onnx_session.h"

invar_status inv_onnx_session_open(const char *path, const char *input, const char *output,
                                   inv_onnx_session **out)
{
	(void)input;
	(void)output;
	*out = NULL;
	return inv_fail(INVAR_E_USE,
	                "%s: this invar was built without ONNX Runtime; build it with "
	                "libonnxruntime-dev (Debian 13), or encode in Python with the package "
	                "onnxruntime",
	                path);
}

void inv_onnx_session_close(inv_onnx_session *s)
{
	(void)s;
}

const char *inv_onnx_session_version(const inv_onnx_session *s)
{
	(void)s;
	return NULL;
}

invar_status inv_onnx_session_run(const inv_onnx_session *s, const float *x,
                                  inv_extent shape, inv_onnx_result *out)
{
	(void)s;
	(void)x;
	(void)shape;
	(void)out;
	return INVAR_E_USE;
}

void inv_onnx_result_free(const inv_onnx_session *s, inv_onnx_result *r)
{
	(void)s;
	(void)r;
}
