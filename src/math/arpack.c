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

static bool find(void *library, const char *name, void *address)
{
	void *found = dlsym(library, name);

	memcpy(address, &found, sizeof found);
	return found;
}

static invar_status load_arpack(void)
{
	invar_status st = inv_openblas_need(1);
	void *library;

	if (st != INVAR_OK || iterate)
		return st;
	if (!(library = inv_openblas_load(LIBRARY)))
		return inv_fail(INVAR_E_IO, "cannot load ARPACK: %.300s", dlerror());
	if (!find(library, "dseupd_c", &extract) || !find(library, "dsaupd_c", &iterate)) {
		iterate = NULL;
		return inv_fail(INVAR_E_IO, "this %s was built without its C interface: %.300s",
		                LIBRARY, dlerror());
	}
	return INVAR_OK;
}

/* ---- Iterating ------------------------------------------------------------------- */

typedef struct lanczos {
	const inv_largest_spec *s;
	int n, want, basis, work_size;
	int parameters[11], pointers[11];
	int ido, info;
	inv_arena arena;
	double *residual; /* [n], first the start vector */
	double *v;        /* [basis, n] */
	double *products; /* [3, n] */
	double *work;     /* [work_size] */
	double *values;   /* [want], ascending */
	int *selected;    /* [basis], unused: all are wanted */
} lanczos;

static invar_status allocate_lanczos(lanczos *l)
{
	const size_t n = l->s->n, basis = (size_t)l->basis;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		l->residual = inv_arena_take(&l->arena, n, sizeof *l->residual);
		l->v = inv_arena_take(&l->arena, basis * n, sizeof *l->v);
		l->products = inv_arena_take(&l->arena, 3 * n, sizeof *l->products);
		l->work = inv_arena_take(&l->arena, (size_t)l->work_size, sizeof *l->work);
		l->values = inv_arena_take(&l->arena, (size_t)l->want, sizeof *l->values);
		l->selected = inv_arena_take(&l->arena, basis, sizeof *l->selected);
		if (!round && (st = inv_arena_commit(&l->arena)) != INVAR_OK)
			return st;
	}
	memcpy(l->residual, l->s->start, n * sizeof *l->residual);
	return INVAR_OK;
}

static invar_status iterate_until_done(lanczos *l)
{
	invar_status st = INVAR_OK;

	l->parameters[0] = 1; /* exact shifts */
	l->parameters[2] = MAX_RESTARTS;
	l->parameters[3] = 1;
	l->parameters[6] = 1; /* mode 1: A x = lambda x */
	l->info = 1;          /* start from residual */
	while (st == INVAR_OK && l->ido != DONE) {
		iterate(&l->ido, "I", l->n, "LA", l->want, l->s->tolerance, l->residual, l->basis,
		        l->v, l->n, l->parameters, l->pointers, l->products, l->work, l->work_size,
		        &l->info);
		if (l->ido == MORE_PRODUCTS || l->ido == -MORE_PRODUCTS)
			st = l->s->multiply(l->s->user, l->products + l->pointers[0] - 1,
			                    l->products + l->pointers[1] - 1);
	}
	if (st != INVAR_OK || l->info == 0)
		return st;
	if (l->info == 1)
		return inv_fail(INVAR_E_NUMERIC,
		                "only %d of %d eigenvalues converged after %d restarts of ARPACK",
		                l->parameters[4], l->want, MAX_RESTARTS);
	return inv_fail(INVAR_E_NUMERIC, "ARPACK (dsaupd) failed with code %d", l->info);
}

/* Eigenvectors replace the basis: [want, n], their values ascending. */
static invar_status extract_pairs(lanczos *l, double *values, double *vectors)
{
	const size_t n = l->s->n, want = l->s->want;

	extract(1, "A", l->selected, l->values, l->v, l->n, 0, "I", l->n, "LA", l->want,
	        l->s->tolerance, l->residual, l->basis, l->v, l->n, l->parameters, l->pointers,
	        l->products, l->work, l->work_size, &l->info);
	if (l->info)
		return inv_fail(INVAR_E_NUMERIC, "ARPACK (dseupd) failed with code %d", l->info);
	for (size_t i = 0; i < want; i++) {
		values[i] = l->values[want - 1 - i];
		memcpy(vectors + i * n, l->v + (want - 1 - i) * n, n * sizeof *vectors);
	}
	return INVAR_OK;
}

/* Twice as many vectors as wanted, as ARPACK advises: more cost more than they save. */
static int basis_of(const inv_largest_spec *s)
{
	size_t basis = 2 * s->want + 1 > MIN_BASIS ? 2 * s->want + 1 : MIN_BASIS;

	return (int)(basis < s->n ? basis : s->n);
}

static invar_status find_pairs(const inv_largest_spec *s, double *values, double *vectors)
{
	lanczos l = {.s = s, .n = (int)s->n, .want = (int)s->want, .basis = basis_of(s)};
	invar_status st;

	l.work_size = l.basis * (l.basis + 8);
	if ((st = allocate_lanczos(&l)) == INVAR_OK &&
	    (st = iterate_until_done(&l)) == INVAR_OK)
		st = extract_pairs(&l, values, vectors);
	inv_arena_free(&l.arena);
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
