/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c - see inside.h. */
#include "images/augment/inside.h"

#include <math.h>
#include <string.h>

#define MAX_SIDE ((double)(1 << 24)) /* far beyond any picture that can be prepared */

size_t inv_side_around(size_t seen, double least)
{
	size_t side = (size_t)fmin(ceil(least), MAX_SIDE);

	if (side <= seen)
		return seen;
	return side + ((side - seen) & 1);
}

/* ---- One operation ---------------------------------------------------------------- */

/* The side needed grows strictly with the visible side, so bisection finds it. */
static size_t side_inside(inv_around around, const inv_value *v, size_t in)
{
	size_t odd = in & 1, low = 0, high = in / 2; /* halves of sides, rounded down */

	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (around(v, 2 * middle + odd) <= in)
			low = middle;
		else
			high = middle - 1;
	}
	return around(v, 2 * low + odd) <= in ? 2 * low + odd : 0;
}

inv_extent inv_extent_inside(inv_around around, const inv_value *v, inv_extent in)
{
	size_t side = side_inside(around, v, in.h);

	return (inv_extent){in.c, side, side};
}

/* ---- Chains and sets -------------------------------------------------------------- */

static size_t chain_prepared(const inv_spec *s, size_t chain, size_t seen)
{
	for (size_t i = s->first[chain + 1]; i > s->first[chain]; i--)
		if (s->op[i - 1].inside)
			seen = s->op[i - 1].op->around(s->op[i - 1].value, seen);
	return seen;
}

size_t inv_spec_prepared_side(const inv_spec *s, size_t seen)
{
	size_t largest = seen;

	for (size_t chain = 0; chain < s->chains; chain++) {
		size_t side = chain_prepared(s, chain, seen);

		largest = side > largest ? side : largest;
	}
	return largest;
}

size_t inv_spec_seen_side(const inv_spec *s, size_t prepared)
{
	size_t least = prepared;

	for (size_t chain = 0; chain < s->chains; chain++) {
		size_t side = prepared;

		for (size_t i = s->first[chain]; i < s->first[chain + 1]; i++)
			if (s->op[i].inside)
				side = side_inside(s->op[i].op->around, s->op[i].value, side);
		least = side < least ? side : least;
	}
	return least;
}

inv_extent inv_spec_seen(const inv_spec *s, inv_extent prepared)
{
	size_t side = s->inside ? inv_spec_seen_side(s, prepared.h) : 0;

	return s->inside ? (inv_extent){prepared.c, side, side} : prepared;
}

inv_extent inv_spec_start(const inv_spec *s, size_t chain, inv_extent prepared)
{
	size_t side;

	if (!s->inside)
		return prepared;
	side = chain_prepared(s, chain, inv_spec_seen_side(s, prepared.h));
	return (inv_extent){prepared.c, side, side};
}

invar_status inv_inside_check(const inv_spec *s, inv_extent prepared)
{
	if (!s->inside)
		return INVAR_OK;
	if (prepared.h != prepared.w)
		return inv_fail(INVAR_E_USE,
		                "%s needs square images, but these have %zu x %zu pixels",
		                s->canonical, prepared.w, prepared.h);
	if (!inv_spec_seen_side(s, prepared.h)) {
		size_t least = inv_spec_prepared_side(s, 2 - (prepared.h & 1));

		return inv_fail(
			INVAR_E_USE,
			"%s needs images of at least %zu x %zu pixels, but these have %zu x "
			"%zu",
			s->canonical, least, least, prepared.w, prepared.h);
	}
	return INVAR_OK;
}

/* ---- Pixels ----------------------------------------------------------------------- */

void inv_cut_centre(const float *in, inv_extent shape, inv_extent centre, float *out)
{
	size_t top = (shape.h - centre.h) / 2, left = (shape.w - centre.w) / 2;

	for (size_t c = 0; c < shape.c; c++)
		for (size_t y = 0; y < centre.h; y++)
			memcpy(out + (c * centre.h + y) * centre.w,
			       in + (c * shape.h + top + y) * shape.w + left, centre.w * sizeof *out);
}
