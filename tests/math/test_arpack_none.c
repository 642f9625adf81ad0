/* SPDX-License-Identifier: Apache-2.0 */
/* test_arpack_none.c - a build without ARPACK: small graphs have a spectrum, others a
 * message. */
#include "support.h"

#include "base/memory.h"
#include "math/laplacian.h"

enum { WANT = 20 };

static invar_status go_on(void *user)
{
	(void)user;
	return INVAR_OK;
}

/* `rings` rings of `each` rows: row i lists the next one of its ring. */
static invar_status solve_rings(size_t each, size_t rings, double *values)
{
	const size_t n = each * rings;
	uint32_t *index = inv_calloc(n, sizeof *index);
	double *squared = inv_calloc(n, sizeof *squared);
	double *vectors = inv_calloc(WANT * n, sizeof *vectors);
	const inv_lists l = {
		.n = n, .count = 1, .stride = 1, .index = index, .squared = squared, .loops = true};
	inv_graph g;
	const inv_laplacian_spec s = {.g = &g, .want = WANT, .check = go_on};
	size_t components;
	invar_status st;

	for (size_t i = 0; i < n; i++)
		index[i] = (uint32_t)(i / each * each + (i + 1) % each);
	assert_int_equal(inv_graph_union(&l, &g), INVAR_OK);
	st = inv_laplacian_smallest(&s, values, vectors, &components);
	inv_graph_free(&g);
	inv_free(index);
	inv_free(squared);
	inv_free(vectors);
	return st;
}

/* Up to 256 rows LAPACK does the work. */
static void larger_graphs_need_arpack(void **state)
{
	double values[WANT];

	(void)state;
	assert_int_equal(solve_rings(60, 1, values), INVAR_OK);
	assert_true(values[0] == 0 && values[1] > 0 && values[2] - values[1] < 1e-12);
	assert_int_equal(solve_rings(60, 4, values), INVAR_OK);
	assert_true(values[3] == 0 && values[4] > 0 && values[5] - values[4] < 1e-12);
	assert_int_equal(solve_rings(300, 1, values), INVAR_E_USE);
	test_assert_error("built without ARPACK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(larger_graphs_need_arpack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
