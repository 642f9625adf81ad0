/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openblas.c - loading OpenBLAS late, with one thread and with its memory reserved.
 *
 * Threads: Debian's usual flavour starts one per core that the loading thread may
 * run on. That thread is therefore pinned to its current core during loading. An
 * environment variable would have the same effect, but a library must not change the
 * environment: another thread may be reading it.
 *
 * Memory: each caller works in a buffer that OpenBLAS maps on first use and keeps; if
 * mapping fails it retries forever. So all buffers are mapped here, after a trial with the
 * same number of bytes. If there is memory for fewer buffers than threads, fewer threads
 * run from then on, which changes no result.
 */
#include "math/openblas.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include "base/memory.h"
#include "base/threads.h"

#ifdef INV_BUNDLED
#define LIBRARY "libopenblas-invar.so" /* see tools/make_wheel */
#else
#define LIBRARY "libopenblas.so.0"
#endif

static const size_t buffer_bytes = ((size_t)128 << 20) + 65536; /* on x86-64 and arm64 */
static const size_t spare_bytes = (size_t)64 << 20;
static const size_t library_bytes = (size_t)48 << 20; /* the file itself */

enum { MAX_BUFFERS = 64 }; /* as many threads as Debian builds it for */

/* Per process, like the library. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static inv_openblas table;
static bool loaded;
static unsigned asked, reserved; /* buffers */

/* ---- Loading --------------------------------------------------------------------- */

static void *load_on_one_core(const char *name)
{
	cpu_set_t before, one;
	bool tied = sched_getaffinity(0, sizeof before, &before) == 0;
	int core = sched_getcpu(), threads = omp_get_max_threads();
	void *library;

	omp_set_num_threads(1);
	CPU_ZERO(&one);
	if (core >= 0 && core < CPU_SETSIZE)
		CPU_SET(core, &one);
	tied = tied && sched_setaffinity(0, sizeof one, &one) == 0;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (tied)
		sched_setaffinity(0, sizeof before, &before);
	omp_set_num_threads(threads);
	return library;
}

/* A function's address, which C does not let us convert from dlsym's, by its bytes. */
static bool find(void *library, const char *name, void *address)
{
	void *found = dlsym(library, name);

	*(void **)address = found;
	return found;
}

static invar_status load_openblas(void)
{
	void *library = load_on_one_core(LIBRARY);
	inv_openblas t = {0};

	if (!library)
		return inv_fail(INVAR_E_IO, "cannot load OpenBLAS: %.300s", dlerror());
	if (!find(library, "cblas_sgemm", &t.sgemm) ||
	    !find(library, "cblas_dgemm", &t.dgemm) ||
	    !find(library, "cblas_dtrsm", &t.dtrsm) || !find(library, "dgesdd_", &t.dgesdd) ||
	    !find(library, "dgesvd_", &t.dgesvd) || !find(library, "dgeqrf_", &t.dgeqrf) ||
	    !find(library, "dormqr_", &t.dormqr) || !find(library, "dpotrf_", &t.dpotrf) ||
	    !find(library, "dsyevd_", &t.dsyevd) || !find(library, "sgeqrf_", &t.sgeqrf) ||
	    !find(library, "sorgqr_", &t.sorgqr) ||
	    !find(library, "openblas_get_config", &t.config) ||
	    !find(library, "openblas_get_num_threads", &t.get_threads) ||
	    !find(library, "openblas_set_num_threads", &t.set_threads))
		return inv_fail(INVAR_E_IO, "this %s was built without CBLAS or LAPACK: %.300s",
		                LIBRARY, dlerror());
	if (!find(library, "blas_memory_free", &t.give_buffer) ||
	    !find(library, "blas_memory_alloc", &t.take_buffer))
		t.take_buffer = NULL;
	table = t;
	loaded = true;
	return INVAR_OK;
}

/* ---- Memory ------------------------------------------------------------------------ */

static invar_status check_memory(size_t bytes)
{
	if (inv_can_map(bytes))
		return INVAR_OK;
	return inv_fail(INVAR_E_NOMEM,
	                "not enough memory: OpenBLAS needs %zu MB more address space",
	                bytes >> 20);
}

static invar_status make_ready(unsigned threads)
{
	void *buffer[MAX_BUFFERS];
	unsigned count = threads;
	invar_status st;

	if (!loaded) { /* since 0.3.29 it maps one buffer while it is loaded */
		INV_TRY(check_memory(library_bytes + buffer_bytes));
		INV_TRY(load_openblas());
	}
	/* As many buffers as can be mapped while some memory is left for other uses. */
	while (count > reserved + 1 &&
	       !inv_can_map((count - reserved) * buffer_bytes + spare_bytes))
		count--;
	st = check_memory((count - reserved) * buffer_bytes);
	if (st != INVAR_OK && !reserved)
		return st;
	if (st != INVAR_OK)
		count = reserved;
	for (unsigned i = 0; i < count && table.take_buffer; i++)
		buffer[i] = table.take_buffer(0);
	for (unsigned i = 0; i < count && table.take_buffer; i++)
		if (buffer[i])
			table.give_buffer(buffer[i]);
	if (count < threads)
		inv_threads_limit(count);
	reserved = count;
	asked = threads;
	return INVAR_OK;
}

/* ---- The calls ---------------------------------------------------------------------- */

invar_status inv_openblas_need(unsigned threads)
{
	invar_status st = INVAR_OK;

	if (threads > MAX_BUFFERS)
		threads = MAX_BUFFERS;
	pthread_mutex_lock(&lock);
	if (threads > asked)
		st = make_ready(threads);
	if (st == INVAR_OK && table.get_threads() != 1)
		table.set_threads(1);
	pthread_mutex_unlock(&lock);
	return st;
}

invar_status inv_openblas_need_for(const invar_context *ctx)
{
	static bool reported;
	unsigned fewer;

	if (!ctx->cpu)
		return INVAR_OK;
	INV_TRY(inv_openblas_need(ctx->threads));
	pthread_mutex_lock(&lock);
	fewer = !reported && reserved < asked ? reserved : 0;
	reported = reported || fewer;
	pthread_mutex_unlock(&lock);
	if (fewer)
		inv_log(ctx, INVAR_LOG_WARNING,
		        "memory allows only %u of %u threads for matrix products", fewer,
		        ctx->threads);
	return INVAR_OK;
}

void *inv_openblas_load(const char *name)
{
	void *library;

	pthread_mutex_lock(&lock);
	library = load_on_one_core(name);
	pthread_mutex_unlock(&lock);
	return library;
}

const inv_openblas *inv_openblas_get(void)
{
	return &table;
}
