/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps_lanes.c - the work on maps besides products, LANES channels at a time: the largest
 * of a window, and the two transforms of F(4x4, 3x3), see winograd.h.
 *
 * Maps and the numbers of tiles are floats, or bfloat16, rounded once per transform. With
 * INV_PLAIN this is plain C: one lane.
 */
#include "math/kernels.h"
#include "math/winograd.h"

#if defined(INV_PLAIN)
#include "math/bfloat16.h"

#define INLINE static inline
#define INV_OF_SET(name) name##_ref
typedef float vec;
enum { LANES = 1 };

INLINE vec load(const float *x)
{
	return *x;
}

INLINE void store(float *x, vec v)
{
	*x = v;
}

INLINE vec load_upper(const uint16_t *x)
{
	return inv_from_bfloat16(*x);
}

INLINE void store_upper(uint16_t *x, vec v)
{
	*x = inv_to_bfloat16(v);
}

INLINE vec max(vec a, vec b)
{
	return a > b ? a : b;
}

INLINE vec cut(vec x)
{
	return x < 0 ? 0 : x;
}
#else
#include "math/lanes.h"

OP(vec, cut, (vec x), keep(~(x < 0.0f), x)) /* NaN stays */
#endif

/* A map or the numbers of tiles; here and below `halves`, of bfloat16, is a constant. */
INLINE vec get(const bool halves, const void *x, size_t i)
{
	return halves ? load_upper((const uint16_t *)x + i) : load((const float *)x + i);
}

INLINE void put(const bool halves, void *x, size_t i, vec v)
{
	if (halves)
		store_upper((uint16_t *)x + i, v);
	else
		store((float *)x + i, v);
}

/* ---- Windows ------------------------------------------------------------------------ */

INLINE void find_largest(const bool halves, const void *const *x, size_t count,
                         size_t channels, void *out)
{
	for (size_t c = 0; c < channels; c += LANES) {
		vec most = get(halves, x[0], c);

		for (size_t i = 1; i < count; i++)
			most = max(get(halves, x[i], c), most);
		put(halves, out, c, most);
	}
}

static void largest_of(bool halves, const void *const *x, size_t count, size_t channels,
                       void *out)
{
	if (halves)
		find_largest(true, x, count, channels, out);
	else
		find_largest(false, x, count, channels, out);
}

/* ---- Tiles -------------------------------------------------------------------------- */

enum { TILE = INV_WINOGRAD_TILE, WINDOW = INV_WINOGRAD_WINDOW };

/* Powers of the two points, each exact. */
static const float a = INV_WINOGRAD_A, a2 = INV_WINOGRAD_A * INV_WINOGRAD_A,
				   a3 = INV_WINOGRAD_A * INV_WINOGRAD_A * INV_WINOGRAD_A;
static const float b = INV_WINOGRAD_B, b2 = INV_WINOGRAD_B * INV_WINOGRAD_B,
				   b3 = INV_WINOGRAD_B * INV_WINOGRAD_B * INV_WINOGRAD_B;

/* Bt d of one column or row. */
INLINE void transform_in(const vec d[WINDOW], vec out[WINDOW])
{
	vec even_a = d[4] - b2 * d[2], odd_a = a * (d[3] - b2 * d[1]);
	vec even_b = d[4] - a2 * d[2], odd_b = b * (d[3] - a2 * d[1]);

	out[0] = a2 * b2 * d[0] - (a2 + b2) * d[2] + d[4];
	out[1] = even_a + odd_a;
	out[2] = even_a - odd_a;
	out[3] = even_b + odd_b;
	out[4] = even_b - odd_b;
	out[5] = a2 * b2 * d[1] - (a2 + b2) * d[3] + d[5];
}

/* At m of one column or row. */
INLINE void transform_out(const vec m[WINDOW], vec out[TILE])
{
	vec even_a = m[1] + m[2], odd_a = m[1] - m[2];
	vec even_b = m[3] + m[4], odd_b = m[3] - m[4];

	out[0] = m[0] + even_a + even_b;
	out[1] = a * odd_a + b * odd_b;
	out[2] = a2 * even_a + b2 * even_b;
	out[3] = a3 * odd_a + b3 * odd_b + m[5];
}

/* LANES channels from c on; `inside`, a constant: all pixels are of the map. */
INLINE void read_tile(const bool halves, const bool inside, const inv_tile *t,
                      const void *map, size_t c, void *v, size_t apart)
{
	vec half[WINDOW][WINDOW]; /* [column][row] */

	for (long x = 0; x < WINDOW; x++) {
		vec d[WINDOW];

#pragma GCC unroll 6
		for (long y = 0; y < WINDOW; y++) {
			long row = t->top + y, col = t->left + x;

			d[y] = inside || (row >= 0 && col >= 0 && row < t->height && col < t->width)
			           ? get(halves, map, (size_t)(row * t->width + col) * t->step + c)
			           : (vec){0};
		}
		transform_in(d, half[x]);
	}
	for (size_t y = 0; y < WINDOW; y++) {
		vec d[WINDOW], out[WINDOW];

#pragma GCC unroll 6
		for (size_t x = 0; x < WINDOW; x++)
			d[x] = half[x][y];
		transform_in(d, out);
#pragma GCC unroll 6
		for (size_t x = 0; x < WINDOW; x++)
			put(halves, v, (y * WINDOW + x) * apart + c, out[x]);
	}
}

INLINE void read_channels(const bool halves, const inv_tile *t, const void *map,
                          size_t channels, void *v, size_t apart)
{
	const inv_tile own = *t; /* which no store changes */

	if (t->top >= 0 && t->left >= 0 && t->top + WINDOW <= t->height &&
	    t->left + WINDOW <= t->width)
		for (size_t c = 0; c < channels; c += LANES)
			read_tile(halves, true, &own, map, c, v, apart);
	else
		for (size_t c = 0; c < channels; c += LANES)
			read_tile(halves, false, &own, map, c, v, apart);
}

/* LANES channels from c on. */
INLINE void write_tile(const bool halves, const inv_tile *t, const float *m, size_t apart,
                       size_t c, vec bias, bool add, bool relu, void *map)
{
	const long rows = t->height - t->top < TILE ? t->height - t->top : TILE;
	const long cols = t->width - t->left < TILE ? t->width - t->left : TILE;
	vec half[WINDOW][TILE]; /* [column][row] */

	for (size_t x = 0; x < WINDOW; x++) {
		vec d[WINDOW];

#pragma GCC unroll 6
		for (size_t y = 0; y < WINDOW; y++)
			d[y] = load(m + (y * WINDOW + x) * apart + c);
		transform_out(d, half[x]);
	}
	for (long y = 0; y < rows; y++) {
		size_t at = (size_t)((t->top + y) * t->width + t->left) * t->step + c;
		vec d[WINDOW], out[TILE];

#pragma GCC unroll 6
		for (size_t x = 0; x < WINDOW; x++)
			d[x] = half[x][y];
		transform_out(d, out);
		for (long x = 0; x < cols; x++, at += t->step) {
			vec sum = out[x] + bias;

			if (add)
				sum += get(halves, map, at);
			put(halves, map, at, relu ? cut(sum) : sum);
		}
	}
}

static void tile_in(const inv_tile *t, const void *map, size_t channels, void *v,
                    size_t apart)
{
	if (t->halves)
		read_channels(true, t, map, channels, v, apart);
	else
		read_channels(false, t, map, channels, v, apart);
}

static void tile_out(const inv_tile *t, const float *m, size_t apart, size_t outputs,
                     const float *bias, bool add, bool relu, void *map)
{
	const inv_tile own = *t;

	for (size_t c = 0; c < outputs; c += LANES)
		if (t->halves)
			write_tile(true, &own, m, apart, c, load(bias + c), add, relu, map);
		else
			write_tile(false, &own, m, apart, c, load(bias + c), add, relu, map);
}

void INV_OF_SET(inv_kernels_maps)(struct inv_kernels *k)
{
	k->largest_of = largest_of;
	k->tile_in = tile_in;
	k->tile_out = tile_out;
}
