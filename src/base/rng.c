/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - Philox streams: uniform, normal, permutations. */
#include "base/rng.h"

#include <Random123/philox.h>
#include <assert.h>
#include <math.h>

inv_stream inv_stream_of(uint64_t seed, const char *purpose, uint32_t epoch)
{
	uint32_t hash = 2166136261u;

	/* FNV-1a: purposes are a handful of fixed words, checked distinct by a test. */
	for (; *purpose; purpose++)
		hash = (hash ^ (unsigned char)*purpose) * 16777619u;
	return (inv_stream){
		.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .purpose = hash, .epoch = epoch};
}

void inv_words(const inv_stream *s, uint32_t index, uint32_t slot, uint32_t out[4])
{
	philox4x32_ctr_t counter = {{slot, index, s->epoch, s->purpose}};
	philox4x32_key_t key = {{s->key[0], s->key[1]}};
	philox4x32_ctr_t words = philox4x32(counter, key);

	for (int i = 0; i < 4; i++)
		out[i] = words.v[i];
}

inv_cursor inv_cursor_of(const inv_stream *s, uint32_t index)
{
	return (inv_cursor){.stream = *s, .index = index};
}

uint32_t inv_next(inv_cursor *c)
{
	if (!c->left) {
		inv_words(&c->stream, c->index, c->slot++, c->words);
		c->left = 4;
	}
	return c->words[4 - c->left--];
}

static float to_uniform(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}

float inv_next_uniform(inv_cursor *c)
{
	return to_uniform(inv_next(c));
}

/* Lemire's multiplication, with the rejection that makes it exact. */
uint32_t inv_next_below(inv_cursor *c, uint32_t n)
{
	uint32_t threshold = (uint32_t)(-n) % n;
	uint64_t product;

	do
		product = (uint64_t)inv_next(c) * n;
	while ((uint32_t)product < threshold);
	return (uint32_t)(product >> 32);
}

void inv_fill_uniform(const inv_stream *s, uint32_t index, float low, float high,
                      float *out, size_t count)
{
	uint32_t words[4];

	for (size_t i = 0; i < count; i++) {
		if (i % 4 == 0)
			inv_words(s, index, (uint32_t)(i / 4), words);
		out[i] = low + to_uniform(words[i % 4]) * (high - low);
	}
}

/* Box-Muller on pairs of words; the first uniform is in (0, 1]. */
static void normal_pair(uint32_t a, uint32_t b, float out[2])
{
	double radius = sqrt(-2 * log(((double)a + 1) * 0x1p-32));
	double angle = 2 * M_PI * (double)b * 0x1p-32;

	out[0] = (float)(radius * cos(angle));
	out[1] = (float)(radius * sin(angle));
}

void inv_fill_normal(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	uint32_t words[4];
	float four[4];

	for (size_t i = 0; i < count; i++) {
		if (i % 4 == 0) {
			inv_words(s, index, (uint32_t)(i / 4), words);
			normal_pair(words[0], words[1], four);
			normal_pair(words[2], words[3], four + 2);
		}
		out[i] = four[i % 4];
	}
}

void inv_permutation(const inv_stream *s, uint32_t index, uint32_t *out, uint32_t count)
{
	inv_cursor c = inv_cursor_of(s, index);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = inv_next_below(&c, i + 1);

		if (j != i)
			out[i] = out[j];
		out[j] = i;
	}
}

/* Drawing again on duplicates keeps every order equally likely. */
void inv_choose(const inv_stream *s, uint32_t index, uint32_t n, uint32_t *out,
                uint32_t count)
{
	inv_cursor c = inv_cursor_of(s, index);

	assert(count <= n);
	for (uint32_t k = 0, same; k < count; k++)
		do {
			out[k] = inv_next_below(&c, n);
			for (same = 0; out[same] != out[k];)
				same++;
		} while (same < k);
}
