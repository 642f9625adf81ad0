/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arpack.c - loading ARPACK, and the loop of products that it asks for.
 *
 * OpenBLAS is made ready first: Debian's BLAS is then the copy in use, with one thread, so
 * that sums do not depend on the number of cores. A BLAS from elsewhere is used as it is.
 *
 * The start vector is the caller's. ARPACK draws a vector of its own only if the space
 * that it has built is closed under the operator, as it is for a graph of equal cliques.
 */
#include "math/arpack.h"

#include <arpack.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "math/openblas.h"

#ifdef INV_BUNDLED
#define LIBRARY "libarpack-invar.so" /* see tools/make_wheel */
#else
#define LIBRARY "libarpack.so.2"
#endif

enum { MAX_RESTARTS = 3000, MIN_BASIS = 24 };
enum { MORE_PRODUCTS = 1, DONE = 99 }; /* values of ido */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of ARPACK's state, and these */
static __typeof__(dsaupd_c) *iterate;
static __typeof__(dseupd_c) *extract;

/* ---- Loading --------------------------------------------------------------------- */

static invar_status load_arpack(void)
{
	invar_status st = inv_openblas_need(1);
	void *library, *first, *second;

	if (st != INVAR_OK || iterate)
		return st;
	if (!(library = inv_openblas_load(LIBRARY)))
		return inv_fail(INVAR_E_IO, "cannot load ARPACK: %.300s", dlerror());
	if (!(first = dlsym(library, "dsaupd_c")) || !(second = dlsym(library, "dseupd_c")))
		return inv_fail(INVAR_E_IO, "this %s was built without its C interface: %.300s",
		                LIBRARY, dlerror());
	memcpy(&iterate, &first, sizeof first);
	memcpy(&extract, &second, sizeof second);
	return INVAR_OK;
}

/* ---- Iterating ------------------------------------------------------------------- */

/* Twice as many vectors as wanted, as ARPACK advises: more cost more than they save. */
static invar_status find_pairs(const inv_largest_spec *s, double *values, double *vectors)
{
	const size_t n = s->n, wide = 2 * s->want + 1 > MIN_BASIS ? 2 * s->want + 1 : MIN_BASIS;
	const int rows = (int)n, want = (int)s->want, basis = (int)(wide < n ? wide : n);
	int work_size = basis * (basis + 8), ido = 0, info = 1; /* 1: start from residual */
	int parameters[11] = {[0] = 1 /* exact shifts */,
	                      [2] = MAX_RESTARTS,
	                      [3] = 1,
	                      [6] = 1 /* mode 1: A x = lambda x */},
		pointers[11] = {0}, *selected; /* [basis], unused: all are wanted */
	/* [n], first the start vector; [basis, n]; [3, n]; and the values [want], ascending. */
	double *residual, *v, *products, *work, *found;
	inv_arena arena = {0};
	invar_status st;

	for (int round = 0; round < 2; round++) {
		residual = inv_arena_take(&arena, n, sizeof *residual);
		v = inv_arena_take(&arena, (size_t)basis * n, sizeof *v);
		products = inv_arena_take(&arena, 3 * n, sizeof *products);
		work = inv_arena_take(&arena, (size_t)work_size, sizeof *work);
		found = inv_arena_take(&arena, s->want, sizeof *values);
		selected = inv_arena_take(&arena, (size_t)basis, sizeof *selected);
		if (!round)
			INV_TRY(inv_arena_commit(&arena));
	}
	memcpy(residual, s->start, n * sizeof *residual);
	while (ido != DONE) {
		iterate(&ido, "I", rows, "LA", want, s->tolerance, residual, basis, v, rows,
		        parameters, pointers, products, work, work_size, &info);
		if (ido == MORE_PRODUCTS || ido == -MORE_PRODUCTS)
			INV_TRY_OR(done, s->multiply(s->user, products + pointers[0] - 1,
			                             products + pointers[1] - 1));
	}
	if (info) {
		st = info == 1
		         ? inv_fail(INVAR_E_NUMERIC,
		                    "only %d of %d eigenvalues converged after %d restarts of "
		                    "ARPACK",
		                    parameters[4], want, MAX_RESTARTS)
		         : inv_fail(INVAR_E_NUMERIC, "ARPACK (dsaupd) failed with code %d", info);
		goto done;
	}
	/* Eigenvectors replace the basis: [want, n], their values ascending. */
	extract(1, "A", selected, found, v, rows, 0, "I", rows, "LA", want, s->tolerance,
	        residual, basis, v, rows, parameters, pointers, products, work, work_size,
	        &info);
	st = info ? inv_fail(INVAR_E_NUMERIC, "ARPACK (dseupd) failed with code %d", info)
	          : INVAR_OK;
	for (size_t i = 0; i < s->want && st == INVAR_OK; i++) {
		values[i] = found[s->want - 1 - i];
		memcpy(vectors + i * n, v + (s->want - 1 - i) * n, n * sizeof *vectors);
	}
done:
	inv_arena_free(&arena);
	return st;
}

invar_status inv_largest_eigenpairs(const inv_largest_spec *s, double *values,
                                    double *vectors)
{
	invar_status st;

	if (s->n > INT_MAX)
		return inv_fail(INVAR_E_USE, "%zu rows are more than ARPACK can count", s->n);
	pthread_mutex_lock(&lock);
	if ((st = load_arpack()) == INVAR_OK)
		st = find_pairs(s, values, vectors);
	pthread_mutex_unlock(&lock);
	return st;
}
