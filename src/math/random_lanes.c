/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_lanes.c - Philox4x32-10 for many counters at once, and normals from it.
 *
 * The words equal Random123's. Normals are Box-Muller in float, CHAINS vectors at a time;
 * they agree with inv_fill_normal to a few roundings of a float, in the tails and next to 0
 * too.
 *
 * A processor looks only some 60 instructions ahead of one that waits, and a logarithm is
 * longer than that, so the steps of four of them are written side by side.
 */
#include <Random123/philox.h>

#include "math/kernels.h"
#include "math/lanes.h"

/* Slots of a block, and its words. */
enum { GROUPS = 2, SLOTS = GROUPS * LANES, BLOCK = 4 * SLOTS };
enum { ROUNDS = 10, CHAINS = 2 * GROUPS }; /* CHAINS: logarithms side by side */

/* ---- Philox ----------------------------------------------------------------- */

#if defined(__aarch64__)

typedef words slots; /* a word of each of LANES slots */
typedef struct product {
	words low, high;
} product;

INLINE slots slots_from(uint32_t slot)
{
	return slot + (words)lane_numbers();
}

INLINE product multiply(slots a, uint32_t by)
{
	words first = (words)vmull_n_u32(vget_low_u32(a), by);
	words second = (words)vmull_high_n_u32(a, by);

	return (product){vuzp1q_u32(first, second), vuzp2q_u32(first, second)};
}

INLINE slots low_of(product p)
{
	return p.low;
}

INLINE slots high_of(product p)
{
	return p.high;
}

INLINE slots add_bits(slots a, slots b, uint32_t c)
{
	return a ^ b ^ c;
}

INLINE words words_of(slots a)
{
	return a;
}

/* Four vectors by word to four vectors in the order of the stream. */
INLINE void in_order(vec w[4])
{
	transpose_block(w);
}

#else

/*
 * A word is in the low half of a 64-bit lane, where products are made, and the high half is
 * of no use; the slots lie so that in_order moves nothing between quarters of a vector.
 */
typedef uint64_t longs __attribute__((vector_size(4 * LANES)));
typedef struct slots {
	longs half[2];
} slots;
typedef slots product;

INLINE slots slots_from(uint32_t slot)
{
#if defined(__AVX512F__)
	const longs lane = {0, 4, 1, 5, 2, 6, 3, 7};
#else
	const longs lane = {0, 2, 1, 3};
#endif

	return (slots){{lane + slot, lane + (slot + LANES / 2)}};
}

INLINE product multiply(slots a, uint32_t by)
{
	const longs all = (longs){0} + by;

	return (product){{(longs)X86(mul_epu32)((raw)a.half[0], (raw)all),
	                  (longs)X86(mul_epu32)((raw)a.half[1], (raw)all)}};
}

INLINE slots low_of(product p)
{
	return p;
}

INLINE slots high_of(product p)
{
	return (slots){{p.half[0] >> 32, p.half[1] >> 32}};
}

INLINE slots add_bits(slots a, slots b, uint32_t c)
{
	const longs all = (longs)((words){0} + c);

	return (slots){{a.half[0] ^ (b.half[0] ^ all), a.half[1] ^ (b.half[1] ^ all)}};
}

INLINE words words_of(slots a)
{
	return (words)X86(shuffle_ps)((vec)a.half[0], (vec)a.half[1], 0x88);
}

INLINE void in_order(vec w[4])
{
	vec a = X86(unpacklo_ps)(w[0], w[1]), b = X86(unpacklo_ps)(w[2], w[3]);
	vec c = X86(unpackhi_ps)(w[0], w[1]), d = X86(unpackhi_ps)(w[2], w[3]);

	w[0] = X86(shuffle_ps)(a, b, 0x44);
	w[1] = X86(shuffle_ps)(a, b, 0xee);
	w[2] = X86(shuffle_ps)(c, d, 0x44);
	w[3] = X86(shuffle_ps)(c, d, 0xee);
}

#endif

/*
 * What all slots of an index share: the keys of the rounds, and what the first two rounds,
 * in which only one product depends on the slot, make of the other words.
 */
typedef struct philox {
	uint32_t key[ROUNDS][2];
	uint32_t first;        /* round 0: for word 2 */
	uint32_t second[2];    /* round 1: for words 0 and 2 */
	uint32_t second_third; /* round 1: word 3 */
} philox;

static philox philox_of(const inv_stream *s, uint32_t index)
{
	uint64_t by_epoch = (uint64_t)PHILOX_M4x32_1 * s->epoch, by_word;
	philox p;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		p.key[r][0] = s->key[0] + r * PHILOX_W32_0;
		p.key[r][1] = s->key[1] + r * PHILOX_W32_1;
	}
	by_word = (uint64_t)PHILOX_M4x32_0 * ((uint32_t)(by_epoch >> 32) ^ index ^ p.key[0][0]);
	p.first = s->purpose ^ p.key[0][1];
	p.second[0] = (uint32_t)by_epoch ^ p.key[1][0];
	p.second[1] = (uint32_t)(by_word >> 32) ^ p.key[1][1];
	p.second_third = (uint32_t)by_word;
	return p;
}

/* Words w[g] of LANES slots each, from `slot` on: one vector per word. */
INLINE void many_slots(const philox *p, uint32_t slot, words w[GROUPS][4])
{
	const slots none = {0};
	slots a[GROUPS], b[GROUPS], c[GROUPS], d[GROUPS];

#pragma GCC unroll 2
	for (uint32_t g = 0; g < GROUPS; g++) {
		product first = multiply(slots_from(slot + g * LANES), PHILOX_M4x32_0);
		product second = multiply(add_bits(high_of(first), none, p->first), PHILOX_M4x32_1);

		a[g] = add_bits(high_of(second), none, p->second[0]);
		b[g] = low_of(second);
		c[g] = add_bits(low_of(first), none, p->second[1]);
		d[g] = add_bits(none, none, p->second_third);
	}
#pragma GCC unroll 8
	for (int r = 2; r < ROUNDS; r++)
#pragma GCC unroll 2
		for (int g = 0; g < GROUPS; g++) {
			product ma = multiply(a[g], PHILOX_M4x32_0),
					mc = multiply(c[g], PHILOX_M4x32_1);

			a[g] = add_bits(high_of(mc), b[g], p->key[r][0]);
			c[g] = add_bits(high_of(ma), d[g], p->key[r][1]);
			b[g] = low_of(mc);
			d[g] = low_of(ma);
		}
#pragma GCC unroll 2
	for (int g = 0; g < GROUPS; g++) {
		w[g][0] = words_of(a[g]);
		w[g][1] = words_of(b[g]);
		w[g][2] = words_of(c[g]);
		w[g][3] = words_of(d[g]);
	}
}

/* ---- Box and Muller ---------------------------------------------------------- */

/* log(1 + f) = f - f^2 / 2 + f^3 (c0 + c1 f + …), for f in [-0.293, 0.415] */
enum { LOG_TERMS = 9 };
static const float log_series[LOG_TERMS] = {3.3333331e-1f,  -2.4999994e-1f, 2.0000714e-1f,
                                            -1.6668057e-1f, 1.4249323e-1f,  -1.2420141e-1f,
                                            1.1676998e-1f,  -1.1514610e-1f, 7.0376836e-2f};

/* sin x = x + x^3 (s0 + s1 x^2 + …), cos x = 1 - x^2 / 2 + x^4 (c0 + …), up to an eighth
 * of a turn */
enum { TURN_TERMS = 3 };
static const float sine_series[TURN_TERMS] = {-1.6666655e-1f, 8.3321609e-3f,
                                              -1.9515296e-4f};
static const float cosine_series[TURN_TERMS] = {4.1666646e-2f, -1.3887316e-3f,
                                                2.4433157e-5f};

/* c[0] + x (c[1] + x (…)) */
INLINE vec polynomial(vec x, const float *c, int count)
{
	vec sum = splat(c[count - 1]);

#pragma GCC unroll 9
	for (int i = count - 2; i >= 0; i--)
		sum = madd(sum, x, splat(c[i]));
	return sum;
}

/*
 * The fraction (word + 1) / 2^32 is 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), e <= 0;
 * with e = 0, f is the difference to 1, counted in integer words, so that small logarithms
 * are as exact as large ones. These words have the highest bit set, so the difference fits
 * into a signed integer.
 */
INLINE vec split_fraction(words word, vec *e)
{
	vec x = (words_to_floats(word) + 1.0f) * 0x1p-32f;
	vec rest = to_floats((ints)~word) * -0x1p-32f;
	ints power = (ints)(((words)x + (0x3f800000 - 0x3f3504f3)) >> 23) - 127;
	vec m = (vec)((ints)x - (power << 23));

	*e = to_floats(power);
	return blend_negative(power, m - 1.0f, rest);
}

#define EACH_CHAIN _Pragma("GCC unroll 4") for (int c = 0; c < CHAINS; c++)

/* log((word + 1) / 2^32) */
INLINE void logs_of(const words word[CHAINS], vec out[CHAINS])
{
	vec f[CHAINS], e[CHAINS], sum[CHAINS];

	EACH_CHAIN
	{
		f[c] = split_fraction(word[c], &e[c]);
		sum[c] = splat(log_series[LOG_TERMS - 1]);
	}
#pragma GCC unroll 8
	for (int i = LOG_TERMS - 2; i >= 0; i--)
		EACH_CHAIN sum[c] = madd(sum[c], f[c], splat(log_series[i]));
	EACH_CHAIN
	{
		vec f2 = f[c] * f[c], tail = f2 * f[c] * sum[c];
		vec log_m = f[c] + madd(f2, splat(-0.5f), tail);

		out[c] = madd(e[c], splat(0x1.62e43p-1f), log_m);
	}
}

/*
 * cos and sin of 2 pi word / 2^32: the nearest quarter turn is subtracted in integer words,
 * and the rest, at most an eighth, goes through two series.
 */
INLINE vec cos_sin(words word, vec *sine)
{
	const words eighth = (words){0} + (1u << 29), sign = eighth << 2;
	/* Its two highest bits are the number of the nearest quarter. */
	words turn = word + eighth;
	vec x = to_floats((ints)((turn & 0x3fffffff) - eighth)) * 0x1.921fb6p-30f, x2 = x * x;
	vec s = madd(x2 * x, polynomial(x2, sine_series, TURN_TERMS), x);
	vec c = madd(x2 * x2, polynomial(x2, cosine_series, TURN_TERMS),
	             madd(x2, splat(-0.5f), splat(1)));
	ints odd = (ints)(turn << 1);

	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	*sine = (vec)((words)blend_negative(odd, c, s) ^ (turn & sign));
	return (vec)((words)blend_negative(odd, s, c) ^ ((turn + (1u << 30)) & sign));
}

/*
 * out = n, or x + (std n + mean), computed while x and out come from memory. Words 0 and 1
 * of a slot are a pair, and so are 2 and 3; chain c has pair c % 2.
 */
INLINE void block_of_normals(const philox *p, uint32_t slot, const bool add, const float *x,
                             float mean, float std, float out[BLOCK])
{
	words w[GROUPS][4], word[CHAINS];
	vec n[GROUPS][4], radius[CHAINS];

	many_slots(p, slot, w);
	EACH_CHAIN word[c] = w[c / 2][c % 2 * 2];
	logs_of(word, radius);
	EACH_CHAIN radius[c] = root(radius[c] * -2.0f);
	EACH_CHAIN
	{
		vec *pair = &n[c / 2][c % 2 * 2];
		vec sine, cosine = cos_sin(w[c / 2][c % 2 * 2 + 1], &sine);

		pair[0] = radius[c] * cosine;
		pair[1] = radius[c] * sine;
	}
#pragma GCC unroll 8
	for (int i = 0; i < GROUPS * 4; i++) {
		if (i % 4 == 0)
			in_order(n[i / 4]);
		if (add)
			n[i / 4][i % 4] =
				load(x + i * LANES) + madd(splat(std), n[i / 4][i % 4], splat(mean));
		store(out + i * LANES, n[i / 4][i % 4]);
	}
}

INLINE void fill_normals(const inv_stream *s, uint32_t index, const bool add_to,
                         const float *x, float mean, float std, float *out, size_t count)
{
	const philox p = philox_of(s, index);
	float rest[BLOCK] = {0};
	size_t i = 0;

	for (; i + BLOCK <= count; i += BLOCK)
		block_of_normals(&p, (uint32_t)(i / 4), add_to, x + i, mean, std, out + i);
	if (i < count) {
		if (add_to)
			memcpy(rest, x + i, (count - i) * sizeof *rest);
		block_of_normals(&p, (uint32_t)(i / 4), add_to, rest, mean, std, rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

static void normal(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	fill_normals(s, index, false, out, 0, 1, out, count);
}

static void add_normal(const inv_stream *s, uint32_t index, const float *x, float mean,
                       float std, float *out, size_t count)
{
	fill_normals(s, index, true, x, mean, std, out, count);
}

void INV_OF_SET(inv_kernels_random)(struct inv_kernels *k)
{
	k->normal = normal;
	k->add_normal = add_normal;
}
