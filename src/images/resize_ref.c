/* SPDX-License-Identifier: Apache-2.0 */
/* resize_ref.c - the two passes over bytes in plain C. */
#include "base/context.h"
#include "images/resize_kernels.h"

static uint8_t to_byte(int32_t sum)
{
	int32_t level = (sum + (1 << (INV_WEIGHT_BITS - 1))) >> INV_WEIGHT_BITS;

	return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

static void resize_row_ref(const inv_fixed_taps *t, const uint8_t *in, size_t channels,
                           uint8_t *out)
{
	for (size_t i = 0; i < t->out; i++)
		for (size_t c = 0; c < channels; c++) {
			const uint8_t *p = in + (size_t)t->first[i] * channels + c;
			const int32_t *weight = t->weight + i * t->stride;
			int32_t sum = 0;

			for (int32_t j = 0; j < t->count[i]; j++)
				sum += weight[j] * p[(size_t)j * channels];
			out[i * channels + c] = to_byte(sum);
		}
}

static void resize_column_ref(const inv_fixed_taps *t, size_t i, const uint8_t *in,
                              size_t bytes, uint8_t *out)
{
	const uint8_t *p = in + (size_t)t->first[i] * bytes;
	const int32_t *weight = t->weight + i * t->stride;

	for (size_t b = 0; b < bytes; b++) {
		int32_t sum = 0;

		for (int32_t j = 0; j < t->count[i]; j++)
			sum += weight[j] * p[(size_t)j * bytes + b];
		out[b] = to_byte(sum);
	}
}

void inv_resize_kernels_ref(struct inv_resize_kernels *k)
{
	*k = (struct inv_resize_kernels){.row = resize_row_ref, .column = resize_column_ref};
}

void inv_resize_kernels_init(struct inv_resize_kernels *k, unsigned cpu)
{
	inv_resize_kernels_ref(k);
#if defined(__x86_64__)
	if (cpu & INV_CPU_AVX2)
		inv_resize_kernels_avx2(k);
#elif defined(__aarch64__)
	if (cpu & INV_CPU_NEON)
		inv_resize_kernels_neon(k);
#else
	(void)cpu;
#endif
}
