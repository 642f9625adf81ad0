/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c - features with products in bfloat16 and int8: near those of float32,
 * and the same bits for any instruction set, batch and number of threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden_encoders.h"
#include "support.h"

typedef struct precision {
	const char *name;
	double most; /* that features may differ by */
	const char *families[6];
} precision;

static const precision half = {"bfloat16", 0.03, {"resnet", "hf_", "dino", "timm", "open"}};
static const precision bytes = {"int8", 0.1, {"resnet", "hf_resnet"}};
static const char *const transformers[] = {"dino", "timm", "open", "hf_vit", NULL};

static invar_status open_in(invar_context *ctx, const golden_encoder *c, const char *name,
                            invar_encoder **e)
{
	return invar_encoder_open(ctx, c->weights,
	                          test_kept("features", "key", c->key, "heads",
	                                    test_text("%u", (unsigned)c->heads), "precision",
	                                    name, NULL),
	                          e);
}

/* Images one by one, or all together. */
static float *run_in(const char *name, const char *cpu, unsigned threads,
                     const golden_encoder *c, bool one_by_one)
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
	if (open_in(ctx, c, name, &e) != INVAR_OK)
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
	const precision *p = user;
	float *whole = run_in(p->name, NULL, 1, c, false);
	const struct {
		const char *cpu;
		unsigned threads;
		bool one_by_one;
	} ways[] = {
		{NULL, 3, false},
		{NULL, 1, true},
		{NULL, 2, true},
#if defined(__x86_64__)
		{"avx2", 1, false},
#endif
		{"ref", 2, false}, /* not of ViTs: sums between their products have another order */
	};
	size_t way_count = sizeof ways / sizeof *ways - !strstr(c->family, "resnet");
	double gap = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		gap += pow((double)whole[i] - c->expected[i], 2);
		size += pow(c->expected[i], 2);
	}
	if (!(sqrt(gap / size) < p->most && gap > 0))
		fail_msg("%s in %s: differs by %g", c->name, p->name, sqrt(gap / size));
	for (size_t i = 0; i < way_count; i++) {
		float *same = run_in(p->name, ways[i].cpu, ways[i].threads, c, ways[i].one_by_one);

		if (memcmp(same, whole, count * sizeof *same) != 0)
			fail_msg("%s in %s: other bits with INVAR_CPU=%s, %u threads, %s", c->name,
			         p->name, ways[i].cpu ? ways[i].cpu : "", ways[i].threads,
			         ways[i].one_by_one ? "one by one" : "together");
		free(same);
	}
	free(whole);
}

static void features_are_near_and_have_the_same_bits_everywhere(void **state)
{
	precision *p = *state;

	assert_true(golden_encoders(p->families, check_case, p) > 0);
}

static void check_refused(const golden_encoder *c, void *user)
{
	invar_encoder *e;

	assert_int_equal(open_in(user, c, "int8", &e), INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "precision int8 does not apply"));
	assert_non_null(strstr(invar_last_error(), "use bfloat16, or leave it out"));
}

static void vits_have_no_bytes(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_true(golden_encoders(transformers, check_refused, ctx) > 0);
	invar_context_free(ctx);
}

static void keep_message(void *user, int level, const char *line)
{
	(void)level;
	snprintf(user, 300, "%s", line);
}

static void check_message(const golden_encoder *c, void *user)
{
	static const char *const names[] = {"bfloat16", "int8"};
	char said[300];
	const invar_hooks hooks = {.size = sizeof hooks, .user = said, .log = keep_message};
	invar_context *ctx;
	invar_encoder *e;

	(void)user;
	setenv("INVAR_CPU", "ref", 1);
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	for (size_t i = 0; i < 2; i++) {
		*said = '\0';
		assert_int_equal(open_in(ctx, c, names[i], &e), INVAR_OK);
		assert_non_null(strstr(said, "no bfloat16 instructions"));
		invar_encoder_close(e);
	}
	invar_context_free(ctx);
	unsetenv("INVAR_CPU");
}

static void slow_processors_are_reported(void **state)
{
	(void)state;
	assert_true(golden_encoders(bytes.families, check_message, NULL) > 0);
}

static void pixels_have_no_products(void **state)
{
	invar_context *ctx;
	invar_encoder *e;

	(void)state;
	unsetenv("INVAR_CPU");
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_encoder_open(ctx, NULL,
	                                    test_kept("features", "encoder", "pixels",
	                                              "precision", "bfloat16", NULL),
	                                    &e),
	                 INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "precision bfloat16 does not apply"));
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"bfloat16", features_are_near_and_have_the_same_bits_everywhere, NULL, NULL,
	     (void *)(uintptr_t)&half},
		{"int8", features_are_near_and_have_the_same_bits_everywhere, NULL, NULL,
	     (void *)(uintptr_t)&bytes},
		cmocka_unit_test(vits_have_no_bytes),
		cmocka_unit_test(slow_processors_are_reported),
		cmocka_unit_test(pixels_have_no_products),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
