/* SPDX-License-Identifier: Apache-2.0 */
/* exp_lanes.h - the exponential of a vector, for every instruction set. */
#ifndef INV_EXP_LANES_H
#define INV_EXP_LANES_H

#include "math/lanes.h"

/*
 * exp(x) for x <= 0, within 2 ulp; 0 below -87.3, where results would lose bits. x is split
 * into n log 2 + r, the exponential of r is a polynomial, n goes into the exponent. A NaN
 * stays a NaN: max returns its second argument if either is NaN.
 */
INLINE vec exp_of(vec x)
{
	const vec lowest = splat(-87.3f);
	const ints on = ~(x < lowest);
	vec n, r, y;

	x = max(lowest, x);
	n = nearest(x * 1.44269504f);
	r = madd(n, splat(-0.693359375f), x);
	r = madd(n, splat(2.12194440e-4f), r);
	y = splat(1.9875691500e-4f);
	y = madd(y, r, splat(1.3981999507e-3f));
	y = madd(y, r, splat(8.3334519073e-3f));
	y = madd(y, r, splat(4.1665795894e-2f));
	y = madd(y, r, splat(1.6666665459e-1f));
	y = madd(y, r, splat(5.0000001201e-1f));
	y = madd(r * r, y, r) + 1.0f;
	return keep(on, y * (vec)((to_ints(n) + 127) << 23));
}

#endif
