/* SPDX-License-Identifier: Apache-2.0 */
/* test_arpack_none.c - a build without ARPACK: few rows have a spectrum, many a message. */
#include "support.h"

#include "base/memory.h"
#include "math/laplacian.h"

/* A ring: row i lists the next one. */
static invar_status solve_ring(size_t n, double *values)
{
	uint32_t *index = inv_calloc(n, sizeof *index);
	double *squared = inv_calloc(n, sizeof *squared);
	double *vectors = inv_calloc(3 * n, sizeof *vectors);
	const inv_lists l = {
		.n = n, .count = 1, .stride = 1, .index = index, .squared = squared};
	inv_graph g;
	const inv_laplacian_spec s = {.g = &g, .want = 3, .check = go_on};
	size_t components;
	invar_status st;

	for (size_t i = 0; i < n; i++)
		index[i] = (uint32_t)((i + 1) % n);
	assert_int_equal(inv_graph_union(&l, &g), INVAR_OK);
	st = inv_laplacian_smallest(test_ctx, &s, values, vectors, &components);
	inv_graph_free(&g);
	inv_free(index);
	inv_free(squared);
	inv_free(vectors);
	return st;
}

static void many_rows_need_arpack(void **state)
{
	double values[3];

	(void)state;
	assert_int_equal(solve_ring(60, values), INVAR_OK);
	assert_true(values[0] == 0 && values[1] > 0 && values[2] - values[1] < 1e-12);
	assert_int_equal(solve_ring(300, values), INVAR_E_USE);
	test_assert_error("built without ARPACK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_rows_need_arpack),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
