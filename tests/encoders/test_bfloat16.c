/* SPDX-License-Identifier: Apache-2.0 */
/* test_bfloat16.c - features with products in bfloat16: near those of float32, and the same
 * bits for any instruction set, batch and number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden_encoders.h"
#include "support.h"

static const char *const families[] = {"vit", "clip", "resnet", "cifar", "squeeze", NULL};

/* Images one by one, or all together. */
static float *run_bfloat16(const char *cpu, unsigned threads, const golden_encoder *c,
                           bool one_by_one)
{
	uint64_t cells = c->shape[1] * c->shape[2] * c->shape[3];
	uint64_t shape[4] = {one_by_one ? 1 : c->shape[0], c->shape[1], c->shape[2],
	                     c->shape[3]};
	float *out = malloc((size_t)(c->shape[0] * c->width) * sizeof *out);
	invar_context *ctx;
	invar_encoder *e;

	assert_non_null(out);
	if (cpu)
		setenv("INVAR_CPU", cpu, 1);
	else
		unsetenv("INVAR_CPU");
	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	if (invar_encoder_open(ctx, c->weights,
	                       test_kept("features", "key", c->key, "heads",
	                                 test_text("%u", (unsigned)c->heads), "precision",
	                                 "bfloat16", NULL),
	                       &e) != INVAR_OK)
		fail_msg("%s: %s", c->name, invar_last_error());
	for (uint64_t i = 0; i < c->shape[0]; i += shape[0])
		if (invar_encoder_run(e, c->input + i * cells, shape, out + i * c->width) !=
		    INVAR_OK)
			fail_msg("%s: %s", c->name, invar_last_error());
	invar_encoder_close(e);
	invar_context_free(ctx);
	return out;
}

static void check_case(const golden_encoder *c, void *user)
{
	size_t count = (size_t)(c->shape[0] * c->width);
	float *whole = run_bfloat16(NULL, 1, c, false);
	const struct {
		const char *cpu;
		unsigned threads;
		bool one_by_one;
	} ways[] = {
		{NULL, 3, false},
		{NULL, 1, true},
		{NULL, 2, true},
		{"ref", 2, false},
#if defined(__x86_64__)
		{"avx2", 1, false},
#endif
	};
	double gap = 0, size = 0;

	(void)user;
	for (size_t i = 0; i < count; i++) {
		gap += pow((double)whole[i] - c->expected[i], 2);
		size += pow(c->expected[i], 2);
	}
	if (!(sqrt(gap / size) < 0.03 && gap > 0))
		fail_msg("%s: differs by %g", c->name, sqrt(gap / size));
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		float *same =
			run_bfloat16(ways[i].cpu, ways[i].threads, c, ways[i].one_by_one);

		if (memcmp(same, whole, count * sizeof *same) != 0)
			fail_msg("%s: other bits with INVAR_CPU=%s, %u threads, %s", c->name,
			         ways[i].cpu ? ways[i].cpu : "", ways[i].threads,
			         ways[i].one_by_one ? "one by one" : "together");
		free(same);
	}
	free(whole);
}

static void features_are_near_and_have_the_same_bits_everywhere(void **state)
{
	(void)state;
	assert_true(golden_encoders(families, check_case, NULL) > 0);
}

static void pixels_have_no_products(void **state)
{
	invar_context *ctx;
	invar_encoder *e;

	(void)state;
	unsetenv("INVAR_CPU");
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(
		invar_encoder_open(
			ctx, NULL,
			test_kept("features", "encoder", "pixels", "precision", "bfloat16", NULL), &e),
		INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "precision bfloat16 does not apply"));
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_near_and_have_the_same_bits_everywhere),
		cmocka_unit_test(pixels_have_no_products),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
