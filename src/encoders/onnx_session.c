/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_session.c - see onnx_session.h. */
#include "encoders/onnx_session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <onnxruntime_c_api.h>

#include "base/memory.h"

enum { MESSAGE = 300 };

struct inv_onnx_session {
	const char *path, *input, *output;
	OrtSession *session;
	OrtMemoryInfo *memory;
};

/* ---- Loading ---------------------------------------------------------------------- */

/* Per process, like the library. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const OrtApiBase *base;
static const OrtApi *api;
static OrtEnv *env;

/* The runtime's message without line ends, as ours is one sentence. */
static invar_status check_call(const char *path, OrtStatus *failed, const char *what)
{
	char text[MESSAGE];

	if (!failed)
		return INVAR_OK;
	strncpy(text, api->GetErrorMessage(failed), MESSAGE - 1);
	text[MESSAGE - 1] = '\0';
	api->ReleaseStatus(failed);
	text[strcspn(text, "\r\n")] = '\0';
	return inv_fail(INVAR_E_FORMAT, "%s: ONNX Runtime cannot %s: %s", path, what, text);
}

static invar_status load_runtime(const char *path)
{
	/* Of the headers; as others than Debian name it. */
	static const char *const names[] = {INV_ONNXRUNTIME_SONAME, "libonnxruntime.so.1",
	                                    "libonnxruntime.so"};
	const OrtApiBase *(*get_base)(void);
	void *library = NULL, *found;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return inv_fail(INVAR_E_IO,
		                "%s: cannot load ONNX Runtime (%s); install it, on Debian 13 with "
		                "apt-get install libonnxruntime-dev",
		                path, INV_ONNXRUNTIME_SONAME);
	found = dlsym(library, "OrtGetApiBase");
	memcpy(&get_base, &found, sizeof found);
	base = found ? get_base() : NULL;
	api = base ? base->GetApi(ORT_API_VERSION) : NULL;
	if (!api)
		return inv_fail(INVAR_E_IO,
		                "%s: ONNX Runtime %s is older than version 1.%d, which invar was "
		                "built with; install that or a later one",
		                path, base ? base->GetVersionString() : "", ORT_API_VERSION);
	/* What it logs is in its messages, too. */
	return check_call(path, api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "invar", &env),
	                  "start");
}

static invar_status need_runtime(const char *path)
{
	invar_status st = INVAR_OK;

	pthread_mutex_lock(&lock);
	if (!env)
		st = load_runtime(path);
	pthread_mutex_unlock(&lock);
	return st;
}

/* ---- Sessions --------------------------------------------------------------------- */

/*
 * Debian 13's ONNX Runtime (1.21.0) prints hundreds of lines about operators that are
 * registered already when it loads its first model, in any program. Standard error is
 * replaced for that time; what matters comes back as a status.
 */
static OrtStatus *load_quietly(const char *path, OrtSessionOptions *options,
                               OrtSession **out)
{
	OrtStatus *failed;
	int nowhere, kept;

	pthread_mutex_lock(&lock);
	fflush(stderr);
	kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	nowhere = kept < 0 ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
	failed = api->CreateSession(env, path, options, out);
	if (nowhere >= 0) {
		dup2(kept, STDERR_FILENO);
		close(nowhere);
	}
	if (kept >= 0)
		close(kept);
	pthread_mutex_unlock(&lock);
	return failed;
}

invar_status inv_onnx_session_open(const char *path, const char *input, const char *output,
                                   inv_onnx_session **out)
{
	OrtSessionOptions *options = NULL;
	inv_onnx_session *s;
	invar_status st;

	*out = NULL;
	INV_TRY(need_runtime(path));
	INV_TRY(inv_new(&s));
	*s = (inv_onnx_session){.path = path, .input = input, .output = output};

	INV_TRY_OR(fail, check_call(s->path, api->CreateSessionOptions(&options), "start"));
	INV_TRY_OR(fail, check_call(s->path, api->SetIntraOpNumThreads(options, 1), "start"));
	INV_TRY_OR(fail, check_call(s->path, api->SetInterOpNumThreads(options, 1), "start"));
	INV_TRY_OR(fail, check_call(s->path, load_quietly(path, options, &s->session),
	                            "load the model"));
	INV_TRY_OR(fail, check_call(s->path,
	                            api->CreateCpuMemoryInfo(OrtDeviceAllocator,
	                                                     OrtMemTypeDefault, &s->memory),
	                            "start"));
	api->ReleaseSessionOptions(options);
	*out = s;
	return INVAR_OK;
fail:
	if (options)
		api->ReleaseSessionOptions(options);
	inv_onnx_session_close(s);
	return st;
}

void inv_onnx_session_close(inv_onnx_session *s)
{
	if (!s)
		return;
	if (s->memory)
		api->ReleaseMemoryInfo(s->memory);
	if (s->session)
		api->ReleaseSession(s->session);
	inv_free(s);
}

const char *inv_onnx_session_version(const inv_onnx_session *s)
{
	(void)s;
	return base->GetVersionString();
}

/* ---- Running ---------------------------------------------------------------------- */

static invar_status read_result(const inv_onnx_session *s, inv_onnx_result *r)
{
	OrtTensorTypeAndShapeInfo *info = NULL;
	ONNXTensorElementDataType type;
	int64_t shape[INV_ONNX_NDIM];
	size_t ndim = 0;
	void *data = NULL;
	invar_status st;

	INV_TRY(check_call(s->path, api->GetTensorTypeAndShape(r->value, &info),
	                   "read its output"));
	INV_TRY_OR(
		done, check_call(s->path, api->GetTensorElementType(info, &type), "read its type"));
	INV_TRY_OR(done,
	           check_call(s->path, api->GetDimensionsCount(info, &ndim), "read its shape"));
	if (ndim > INV_ONNX_NDIM) {
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: its output %.60s has %zu axes, at most %d are "
		              "supported",
		              s->path, s->output, ndim, INV_ONNX_NDIM);
		goto done;
	}
	INV_TRY_OR(
		done, check_call(s->path, api->GetDimensions(info, shape, ndim), "read its shape"));
	r->ndim = (unsigned)ndim;
	for (size_t i = 0; i < ndim; i++)
		r->shape[i] = (uint64_t)shape[i];
	if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
		INV_TRY_OR(done, check_call(s->path, api->GetTensorMutableData(r->value, &data),
		                            "give it"));
		r->x = data;
	}
done:
	api->ReleaseTensorTypeAndShapeInfo(info);
	return st;
}

invar_status inv_onnx_session_run(const inv_onnx_session *s, const float *x,
                                  inv_extent shape, inv_onnx_result *out)
{
	const int64_t axes[4] = {1, (int64_t)shape.c, (int64_t)shape.h, (int64_t)shape.w};
	void *pixels = (void *)(uintptr_t)x; /* which the runtime only reads */
	OrtValue *image = NULL, *result = NULL;
	char what[64];
	invar_status st;

	*out = (inv_onnx_result){0};
	INV_TRY(check_call(s->path,
	                   api->CreateTensorWithDataAsOrtValue(
						   s->memory, pixels, inv_extent_cells(shape) * sizeof *x, axes, 4,
						   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &image),
	                   "take an image"));
	snprintf(what, sizeof what, "encode images of %zu x %zu", shape.w, shape.h);
	st = check_call(s->path,
	                api->Run(s->session, NULL, &s->input, (const OrtValue *const *)&image,
	                         1, &s->output, 1, &result),
	                what);
	api->ReleaseValue(image);
	out->value = result;
	return st == INVAR_OK ? read_result(s, out) : st;
}

void inv_onnx_result_free(const inv_onnx_session *s, inv_onnx_result *r)
{
	(void)s;
	if (r->value)
		api->ReleaseValue(r->value);
	r->value = NULL;
}
