/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h - the operations that kernels are written over, for every instruction set.
 *
 * Files that end in _lanes.c are compiled once per set, with its flags. Vectors of floats
 * and of 32-bit integers have LANES elements: 8 with AVX2, 16 with AVX-512, 4 with NEON.
 * They are the compiler's own, so + - * / & | ^ ~ << >> and comparisons, which give -1 or 0
 * in every lane, need no function; a scalar operand stands for a vector of it. Sums whose
 * order matters are made of eight or sixteen floats side by side, PARTS or 2 PARTS vectors,
 * or of `four` doubles, whatever the set: all sets give the same bits.
 *
 * madd(a, b, c)          a b + c, rounded once
 * max(a, b), min(a, b)   a > b ? a : b, a < b ? a : b; so b if either is NaN
 * nearest(x)             to the nearest whole number, the even one of two
 * words_to_floats(x)     unsigned words, rounded once
 * blend(on, a, b)        a where `on`, which is -1 or 0 in every lane, else b
 * blend_negative(x, …)   a where the highest bit of x is set, else b
 * lane_bits(on)          a bit per lane of a comparison
 * load_where(on, x)      reads only where `on`, 0 elsewhere; store_where writes only there
 * quad_of(x, i)          floats 4 i to 4 i + 3 of the vectors at x
 * load_twos              the first ones of two floats at x + step at[i] each, the second
 * load_pairs             pairs of 16-bit numbers
 * add_products           adds their products with the pair a to PAIR_VECTORS sums
 * load_upper(x)          LANES bfloat16 as floats; store_upper rounds
 * round_pairs(x)         2 LANES floats as LANES pairs of bfloat16
 * store_bytes(x, v)      16 numbers from 0 to 255, rounded to the nearest whole one
 * dot_bytes(a, x, sum)   sum + a0 x0 + … + a3 x3 in 32-bit integers, for the four unsigned
 *                        bytes at a and LANES fours of signed ones
 * dot_pairs(a, x, sum)   sum + a1 x1, rounded, + a0 x0, rounded, for the pair at a and LANES
 *                        pairs x, numbers below the smallest normal one being 0: what
 *                        AVX-512 BF16 computes; without it, between flush_small() and
 *                        restore_small()
 */
#ifndef INV_LANES_H
#define INV_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#define INV_OF_SET(name) name##_neon
enum { LANES = 4, PARTS = 2, PAIR_VECTORS = 2 };
#else
#include <immintrin.h>
#if defined(__AVX512BF16__)
#define INV_OF_SET(name) name##_bf16
#elif defined(__AVX512F__)
#define INV_OF_SET(name) name##_avx512
#endif
#if defined(__AVX512F__)
#define X86(name) _mm512_##name
typedef __m512i raw; /* integers of any size */
enum { LANES = 16, PAIR_VECTORS = 1 };
#else
#define INV_OF_SET(name) name##_avx2
#define X86(name) _mm256_##name
typedef __m256i raw;
enum { LANES = 8, PARTS = 1, PAIR_VECTORS = 1 };
#endif
#endif

#define INLINE static inline __attribute__((always_inline))
#define OP(type, name, arguments, result) \
	INLINE type name arguments            \
	{                                     \
		return result;                    \
	}
#define DO(name, arguments, statement) \
	INLINE void name arguments         \
	{                                  \
		statement;                     \
	}

#define VECTOR(type, bytes) type __attribute__((vector_size(bytes)))
#define LOOSE(type, bytes) type __attribute__((vector_size(bytes), may_alias, aligned(1)))
typedef VECTOR(float, 4 * LANES) vec;
typedef VECTOR(int32_t, 4 * LANES) ints;
typedef VECTOR(uint32_t, 4 * LANES) words;
typedef VECTOR(int16_t, 4 * LANES) short_lanes;
typedef VECTOR(float, 16) quad; /* the floats that `four` comes from */
typedef LOOSE(float, 4 * LANES) loose_vec;
typedef LOOSE(int32_t, 4 * LANES) loose_ints;
typedef LOOSE(float, 16) loose_quad;

/* ---- Floats and integers ------------------------------------------------------------ */

OP(vec, load, (const float *x), *(const loose_vec *)(const void *)x)
OP(ints, load_ints, (const void *x), *(const loose_ints *)x)
OP(quad, load_quad, (const float *x), *(const loose_quad *)(const void *)x)
DO(store, (float *x, vec v), *(loose_vec *)(void *)x = v)
DO(store_ints, (void *x, ints v), *(loose_ints *)x = v)
DO(store_quad, (float *x, quad v), *(loose_quad *)(void *)x = v)
OP(vec, splat, (float x), x - (vec){0}) /* a sum would lose the sign of -0 */
OP(vec, to_floats, (ints x), __builtin_convertvector(x, vec))
OP(ints, to_ints, (vec x), __builtin_convertvector(x, ints)) /* of whole numbers */
OP(vec, keep, (ints on, vec x), (vec)(on &(ints)x))          /* x where `on`, else 0 */

#if defined(__aarch64__)

OP(ints, lane_numbers, (void), ((ints){0, 1, 2, 3}))
OP(vec, madd, (vec a, vec b, vec c), vfmaq_f32(c, a, b))
OP(vec, blend, (ints on, vec a, vec b), vbslq_f32((words)on, a, b))
OP(vec, blend_negative, (ints x, vec a, vec b), blend(x >> 31, a, b))
OP(vec, root, (vec x), vsqrtq_f32(x))
OP(vec, max, (vec a, vec b), blend(a > b, a, b))
OP(vec, min, (vec a, vec b), blend(a < b, a, b))
OP(vec, nearest, (vec x), vrndnq_f32(x))
OP(vec, floor_of, (vec x), vrndmq_f32(x))
OP(vec, words_to_floats, (words x), vcvtq_f32_u32(x))
OP(unsigned, lane_bits, (ints on), vaddvq_u32((words)on &(words){1, 2, 4, 8}))
OP(quad, quad_of, (const vec *x, const size_t i), x[i])
OP(vec, load_half, (const uint16_t *x), vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))))
OP(vec, even_twos, (vec a, vec b), (vec)vtrn1q_f64((float64x2_t)a, (float64x2_t)b))
OP(vec, odd_twos, (vec a, vec b), (vec)vtrn2q_f64((float64x2_t)a, (float64x2_t)b))

__attribute__((noinline, unused)) static vec load_where(ints on, const float *x)
{
	vec v;

	for (int i = 0; i < LANES; i++)
		v[i] = on[i] ? x[i] : 0;
	return v;
}

__attribute__((noinline, unused)) static void store_where(ints on, float *x, vec v)
{
	for (int i = 0; i < LANES; i++)
		if (on[i])
			x[i] = v[i];
}

INLINE void load_twos(const float *x, const ptrdiff_t step, const int32_t at[LANES],
                      vec *first, vec *second)
{
	vec even = vcombine_f32(vld1_f32(x + step * at[0]), vld1_f32(x + step * at[1]));
	vec odd = vcombine_f32(vld1_f32(x + step * at[2]), vld1_f32(x + step * at[3]));

	*first = vuzp1q_f32(even, odd);
	*second = vuzp2q_f32(even, odd);
}

typedef int16x8x2_t short_pairs;
OP(short_pairs, load_pairs, (const int16_t *x), vld2q_s16(x))

INLINE void add_products(ints sum[PAIR_VECTORS], short_pairs x, const int16_t a[2])
{
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		sum[0] = vmlal_n_s16(sum[0], vget_low_s16(x.val[i]), a[i]);
		sum[1] = vmlal_high_n_s16(sum[1], x.val[i], a[i]);
	}
}

/* LANES rows of a square. */
INLINE void transpose_block(vec r[LANES])
{
	vec a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]);
	vec c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);

	r[0] = even_twos(a, c);
	r[1] = even_twos(b, d);
	r[2] = odd_twos(a, c);
	r[3] = odd_twos(b, d);
}

#else /* AVX2 and AVX-512 */

OP(vec, madd, (vec a, vec b, vec c), X86(fmadd_ps)(a, b, c))
OP(vec, root, (vec x), X86(sqrt_ps)(x))
OP(vec, max, (vec a, vec b), X86(max_ps)(a, b))
OP(vec, min, (vec a, vec b), X86(min_ps)(a, b))

typedef ints short_pairs;
OP(short_pairs, load_pairs, (const int16_t *x), load_ints(x))

INLINE void add_products(ints sum[PAIR_VECTORS], short_pairs x, const int16_t a[2])
{
	int32_t both;

	memcpy(&both, a, sizeof both);
#if defined(__AVX512F__)
	sum[0] = (ints)_mm512_dpwssd_epi32((raw)sum[0], (raw)x, _mm512_set1_epi32(both));
#else
	sum[0] += (ints)_mm256_madd_epi16((raw)x, _mm256_set1_epi32(both));
#endif
}

enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

#if defined(__AVX512F__)

OP(ints, lane_numbers, (void),
   ((ints){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}))
OP(__mmask16, negative, (ints x), _mm512_cmplt_epi32_mask((raw)x, _mm512_setzero_si512()))
OP(vec, blend_negative, (ints x, vec a, vec b), _mm512_mask_mov_ps(b, negative(x), a))
OP(vec, nearest, (vec x), _mm512_roundscale_ps(x, NEAREST))
OP(vec, words_to_floats, (words x), _mm512_cvtepu32_ps((raw)x))
OP(vec, load_where, (ints on, const float *x), _mm512_maskz_loadu_ps(negative(on), x))
DO(store_where, (ints on, float *x, vec v), _mm512_mask_storeu_ps(x, negative(on), v))

/* The instruction takes constants alone. */
INLINE quad quad_of(const vec *x, const size_t i)
{
	const vec v = x[i / 4];

	return i % 4 == 0   ? _mm512_castps512_ps128(v)
	       : i % 4 == 1 ? _mm512_extractf32x4_ps(v, 1)
	       : i % 4 == 2 ? _mm512_extractf32x4_ps(v, 2)
	                    : _mm512_extractf32x4_ps(v, 3);
}

#else

OP(ints, lane_numbers, (void), ((ints){0, 1, 2, 3, 4, 5, 6, 7}))
OP(vec, blend, (ints on, vec a, vec b), _mm256_blendv_ps(b, a, (vec)on))
OP(vec, blend_negative, (ints x, vec a, vec b), blend(x, a, b))
OP(vec, nearest, (vec x), _mm256_round_ps(x, NEAREST))
OP(vec, floor_of, (vec x), _mm256_floor_ps(x))
OP(unsigned, lane_bits, (ints on), (unsigned)_mm256_movemask_ps((vec)on))
OP(vec, load_where, (ints on, const float *x), _mm256_maskload_ps(x, (raw)on))
DO(store_where, (ints on, float *x, vec v), _mm256_maskstore_ps(x, (raw)on, v))

/* In two halves, so that nothing rounds twice. */
INLINE vec words_to_floats(words x)
{
	return madd(to_floats((ints)(x >> 16)), splat(0x1p16f), to_floats((ints)(x & 0xffff)));
}

INLINE vec load_half(const uint16_t *x)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
}

INLINE quad quad_of(const vec *x, const size_t i)
{
	return i % 2 ? _mm256_extractf128_ps(x[i / 2], 1) : _mm256_castps256_ps128(x[i / 2]);
}

INLINE quad two_twos(const float *x, const float *y)
{
	quad low = (quad)_mm_loadl_epi64((const __m128i *)(const void *)x);

	return _mm_loadh_pi(low, (const __m64 *)(const void *)y);
}

INLINE void load_twos(const float *x, const ptrdiff_t step, const int32_t at[LANES],
                      vec *first, vec *second)
{
	vec even = _mm256_set_m128(two_twos(x + step * at[4], x + step * at[5]),
	                           two_twos(x + step * at[0], x + step * at[1]));
	vec odd = _mm256_set_m128(two_twos(x + step * at[6], x + step * at[7]),
	                          two_twos(x + step * at[2], x + step * at[3]));

	*first = _mm256_shuffle_ps(even, odd, 0x88);
	*second = _mm256_shuffle_ps(even, odd, 0xdd);
}

/* Pairs, then quads, then halves swap. */
INLINE void transpose_block(vec r[LANES])
{
	vec t[LANES];

#pragma GCC unroll 4
	for (int i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
#pragma GCC unroll 2
	for (int i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
		t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		r[i] = t[i];
}

#endif
#endif

/* ---- Pairs of bfloat16, see bfloat16.h ------------------------------------------------ */

OP(ints, upper_halves, (words x), (ints)(x & 0xffff0000u))

#if defined(__AVX512BF16__)

OP(unsigned, flush_small, (void), 0)
DO(restore_small, (unsigned mode), (void)mode)

INLINE vec dot_pairs(const float *a, vec x, vec sum)
{
	int32_t both;

	memcpy(&both, a, sizeof both);
	return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)_mm512_set1_epi32(both));
}

#else

INLINE vec dot_pairs(const float *a, vec x, vec sum)
{
	uint32_t both;
	words pair;

	memcpy(&both, a, sizeof both);
	pair = both - (words){0};
	sum = madd((vec)upper_halves(pair), (vec)upper_halves((words)x), sum);
	return madd((vec)(pair << 16), (vec)((words)x << 16), sum);
}

#if defined(__aarch64__)

INLINE uint64_t flush_small(void)
{
	uint64_t mode;

	__asm__ volatile("mrs %0, fpcr" : "=r"(mode));
	__asm__ volatile("msr fpcr, %0" : : "r"(mode | 1u << 24));
	return mode;
}

DO(restore_small, (uint64_t mode), __asm__ volatile("msr fpcr, %0" : : "r"(mode)))

#else

INLINE unsigned flush_small(void)
{
	unsigned mode = _mm_getcsr();

	_mm_setcsr(mode | _MM_FLUSH_ZERO_ON | 0x40); /* results and operands */
	return mode;
}

DO(restore_small, (unsigned mode), _mm_setcsr(mode))

#endif
#endif

/* In the upper half of each word. */
INLINE words round_to_halves(vec x)
{
	const words bits = (words)x;
	const ints magnitude = (ints)(bits & 0x7fffffffu);
	const words small = (words)(magnitude < 0x00800000);
	const words nan = (words)(magnitude > 0x7f800000);
	const words rounded = bits + 0x7fff + (bits >> 16 & 1);

	return ((rounded & ~nan) | ((bits | 0x400000u) & nan)) & ~(small & 0x7fffffffu);
}

INLINE vec round_pairs(const float *x)
{
	const words low = round_to_halves(load(x)) >> 16,
				high = round_to_halves(load(x + LANES)) >> 16;

#if defined(__aarch64__)
	return (vec)vcombine_u16(vmovn_u32(low), vmovn_u32(high));
#elif defined(__AVX512F__)
	return (vec)_mm512_inserti64x4(
		_mm512_castsi256_si512(_mm512_cvtepi32_epi16((raw)low)),
		_mm512_cvtepi32_epi16((raw)high), 1);
#else
	return (vec)_mm256_permute4x64_epi64(_mm256_packus_epi32((raw)low, (raw)high), 0xd8);
#endif
}

INLINE void store_upper(uint16_t *x, vec v)
{
#if defined(__AVX512BF16__)
	_mm256_storeu_si256((__m256i *)(void *)x, (__m256i)_mm512_cvtneps_pbh(v));
#else
	const words halves = round_to_halves(v) >> 16;
#if defined(__aarch64__)
	vst1_u16(x, vmovn_u32(halves));
#elif defined(__AVX512F__)
	_mm256_storeu_si256((__m256i *)(void *)x, _mm512_cvtepi32_epi16((raw)halves));
#else
	_mm_storeu_si128((__m128i *)(void *)x,
	                 _mm256_castsi256_si128(_mm256_permute4x64_epi64(
						 _mm256_packus_epi32((raw)halves, (raw)halves), 0xd8)));
#endif
#endif
}

INLINE vec load_upper(const uint16_t *x)
{
#if defined(__aarch64__)
	return (vec)vshll_n_u16(vld1_u16(x), 16);
#elif defined(__AVX512F__)
	return (vec)((words)_mm512_cvtepu16_epi32(
					 _mm256_loadu_si256((const __m256i *)(const void *)x))
	             << 16);
#else
	return (vec)((words)_mm256_cvtepu16_epi32(
					 _mm_loadu_si128((const __m128i *)(const void *)x))
	             << 16);
#endif
}

/* ---- Fours of bytes ------------------------------------------------------------------- */

#if defined(__AVX512F__)

INLINE vec dot_bytes(const float *a, vec x, vec sum)
{
	int32_t four;

	memcpy(&four, a, sizeof four);
	return (vec)_mm512_dpbusd_epi32((raw)sum, _mm512_set1_epi32(four), (raw)x);
}

#else

/* a0 x0 + a1 x1 of pairs */
INLINE ints dot_shorts(short_lanes a, short_lanes x)
{
#if defined(__aarch64__)
	return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(x)), vmull_high_s16(a, x));
#else
	return (ints)_mm256_madd_epi16((raw)a, (raw)x);
#endif
}

/* Widened: the products of bytes that AVX2 has saturate. */
INLINE vec dot_bytes(const float *a, vec x, vec sum)
{
	uint32_t four;

	memcpy(&four, a, sizeof four);
	return (vec)((ints)sum +
	             dot_shorts((short_lanes)((four & 0xff00ff) - (words){0}),
	                        (short_lanes)x << 8 >> 8) +
	             dot_shorts((short_lanes)((four >> 8 & 0xff00ff) - (words){0}),
	                        (short_lanes)x >> 8));
}

#endif

INLINE void store_bytes(uint8_t *x, const vec v[16 / LANES])
{
#if defined(__aarch64__)
	uint16x8_t low = vcombine_u16(vmovn_u32(vcvtnq_u32_f32(v[0])),
	                              vmovn_u32(vcvtnq_u32_f32(v[1])));
	uint16x8_t high = vcombine_u16(vmovn_u32(vcvtnq_u32_f32(v[2])),
	                               vmovn_u32(vcvtnq_u32_f32(v[3])));

	vst1q_u8(x, vcombine_u8(vmovn_u16(low), vmovn_u16(high)));
#elif defined(__AVX512F__)
	_mm_storeu_si128((__m128i *)(void *)x, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v[0])));
#else
	raw both = _mm256_permute4x64_epi64(
		_mm256_packs_epi32(_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1])), 0xd8);

	_mm_storeu_si128((__m128i *)(void *)x,
	                 _mm_packus_epi16(_mm256_castsi256_si128(both),
	                                  _mm256_extracti128_si256(both, 1)));
#endif
}

/* Which of the numbers from `at` on come before `end`. */
INLINE ints lanes_before(size_t end, size_t at)
{
	size_t count = end > at ? end - at : 0;

	return lane_numbers() < (int32_t)(count < LANES ? count : LANES);
}

#if !defined(__AVX512F__)

INLINE float sum_eight(const vec x[PARTS])
{
	quad q = quad_of(x, 0) + quad_of(x, 1);

	return (q[0] + q[2]) + (q[1] + q[3]);
}

#endif

/* ---- Four doubles ------------------------------------------------------------------- */

#if defined(__aarch64__)

typedef struct four {
	float64x2_t low, high;
} four;

#define UNARY4(name, x86, neon) \
	OP(four, name, (four a), ((four){neon(a.low), neon(a.high)}))
#define BINARY4(name, x86, neon) \
	OP(four, name, (four a, four b), ((four){neon(a.low, b.low), neon(a.high, b.high)}))
#define TERNARY4(name, x86, neon)            \
	OP(four, name, (four a, four b, four c), \
	   ((four){neon(a.low, b.low, c.low), neon(a.high, b.high, c.high)}))
#define AND4(a, b) ((float64x2_t)((uint64x2_t)(a) & (uint64x2_t)(b)))
#define OR4(a, b) ((float64x2_t)((uint64x2_t)(a) | (uint64x2_t)(b)))
#define NONZERO4(a) ((float64x2_t)((a) != 0))
#define MADD4(a, b, c) vfmaq_f64(c, a, b)
#define BLEND4(on, a, b) vbslq_f64((uint64x2_t)(on), a, b)
#define NEAREST4 vrndnq_f64

OP(four, splat4, (double x), ((four){vdupq_n_f64(x), vdupq_n_f64(x)}))
OP(four, load4, (const double *x), ((four){vld1q_f64(x), vld1q_f64(x + 2)}))
OP(four, widen4, (quad x), ((four){vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)}))
OP(quad, narrow4, (four a), vcvt_high_f32_f64(vcvt_f32_f64(a.low), a.high))
OP(int32x2_t, whole2, (float64x2_t a), vmovn_s64(vcvtq_s64_f64(a)))
OP(int16x4_t, shorts4, (four a), vqmovn_s32(vcombine_s32(whole2(a.low), whole2(a.high))))

INLINE void store4(double *x, four a)
{
	vst1q_f64(x, a.low);
	vst1q_f64(x + 2, a.high);
}

/* Eight whole numbers, of 16 bits each. */
INLINE void store_shorts(int16_t *x, four a, four b)
{
	vst1q_s16(x, vcombine_s16(shorts4(a), shorts4(b)));
}

#else

typedef __m256d four;

#define UNARY4(name, x86, neon) OP(four, name, (four a), x86(a))
#define BINARY4(name, x86, neon) OP(four, name, (four a, four b), x86(a, b))
#define TERNARY4(name, x86, neon) OP(four, name, (four a, four b, four c), x86(a, b, c))
#define NONZERO4(a) _mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_NEQ_UQ)
#define BLEND4(on, a, b) _mm256_blendv_pd(b, a, on)
#define NEAREST4(a) _mm256_round_pd(a, NEAREST)

OP(four, splat4, (double x), _mm256_set1_pd(x))
OP(four, load4, (const double *x), _mm256_loadu_pd(x))
DO(store4, (double *x, four a), _mm256_storeu_pd(x, a))
OP(four, widen4, (quad x), _mm256_cvtps_pd(x))
OP(quad, narrow4, (four a), _mm256_cvtpd_ps(a))

INLINE void store_shorts(int16_t *x, four a, four b)
{
	_mm_storeu_si128((__m128i *)(void *)x,
	                 _mm_packs_epi32(_mm256_cvtpd_epi32(a), _mm256_cvtpd_epi32(b)));
}

#endif

BINARY4(add4, _mm256_add_pd, vaddq_f64)
BINARY4(sub4, _mm256_sub_pd, vsubq_f64)
BINARY4(mul4, _mm256_mul_pd, vmulq_f64)
BINARY4(div4, _mm256_div_pd, vdivq_f64)
BINARY4(min4, _mm256_min_pd, vminnmq_f64) /* of numbers; of a NaN, or two zeros, either */
BINARY4(max4, _mm256_max_pd, vmaxnmq_f64)
BINARY4(and4, _mm256_and_pd, AND4)
BINARY4(or4, _mm256_or_pd, OR4)
UNARY4(root4, _mm256_sqrt_pd, vsqrtq_f64)
UNARY4(nearest4, NEAREST4, NEAREST4)
UNARY4(nonzero4, NONZERO4, NONZERO4) /* all bits set, or none */
TERNARY4(madd4, _mm256_fmadd_pd, MADD4)
TERNARY4(blend4, BLEND4, BLEND4) /* b where a has all bits set, c where none */

/* The same bits in every lane. */
INLINE four bits4(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return splat4(x);
}

INLINE double sum4(four a)
{
	double lane[4];

	store4(lane, a);
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

#endif
