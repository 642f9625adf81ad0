/* SPDX-License-Identifier: Apache-2.0 */
/* arpack_none.c - a build without ARPACK. */
#include "math/arpack.h"

invar_status inv_largest_eigenpairs(const inv_largest_spec *s, double *values,
                                    double *vectors)
{
	(void)values;
	(void)vectors;
	return inv_fail(
		INVAR_E_USE,
		"this invar was built without ARPACK, which the spectrum of a graph of %zu rows "
		"needs",
		s->n);
}
