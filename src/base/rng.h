/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.h - random numbers as a function of what they are for.
 *
 * A draw is Philox4x32-10 (Random123) of key = seed and counter = (slot, index,
 * epoch, purpose). Nothing is remembered between draws, so any image's draw can
 * be repeated alone, on any number of threads, after any resume.
 *
 * purpose is a word, with the split where it matters ("order/train").
 */
#ifndef INV_RNG_H
#define INV_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct inv_stream {
	uint32_t key[2];
	uint32_t purpose;
	uint32_t epoch;
} inv_stream;

inv_stream inv_stream_of(uint64_t seed, const char *purpose, uint32_t epoch);

/* Four words of the stream of `index`, number 4*slot to 4*slot+3. */
void inv_words(const inv_stream *s, uint32_t index, uint32_t slot, uint32_t out[4]);

/* Words number 0, 1, … of one index, taken one after the other. */
typedef struct inv_cursor {
	inv_stream stream;
	uint32_t index, slot;
	unsigned left;
	uint32_t words[4];
} inv_cursor;

inv_cursor inv_cursor_of(const inv_stream *s, uint32_t index);
uint32_t inv_next(inv_cursor *c);
float inv_next_uniform(inv_cursor *c);              /* [0, 1), 24 bits */
uint32_t inv_next_below(inv_cursor *c, uint32_t n); /* unbiased; n > 0 */

void inv_fill_uniform(const inv_stream *s, uint32_t index, float low, float high,
                      float *out, size_t count);
void inv_fill_normal(const inv_stream *s, uint32_t index, float *out, size_t count);
/* A uniform permutation of 0 … count-1. */
void inv_permutation(const inv_stream *s, uint32_t index, uint32_t *out, uint32_t count);
/* `count` <= n distinct numbers below n, in the order drawn; meant for few. */
void inv_choose(const inv_stream *s, uint32_t index, uint32_t n, uint32_t *out,
                uint32_t count);

#endif
