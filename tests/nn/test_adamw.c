/* SPDX-License-Identifier: Apache-2.0 */
/* test_adamw.c - AdamW and the cosine schedule against golden paths and FACTS. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "golden.h"
#include "nn/adamw.h"

static void follow(const char *root, const char *name, unsigned cpu)
{
	golden *g = golden_open(root, name);
	inv_adamw a = {golden_value(g, "beta1"), golden_value(g, "beta2"),
	               golden_value(g, "eps"), golden_value(g, "weight_decay")};
	double lr = golden_value(g, "lr");
	size_t shape[GOLDEN_NDIM];
	const float *grads = golden_f32(g, "grads", shape);
	size_t steps = shape[0], n = shape[1];
	float *p = inv_calloc(n, sizeof *p), *m = inv_calloc(n, sizeof *m);
	float *v = inv_calloc(n, sizeof *v), *path = inv_calloc(steps * n, sizeof *path);
	struct inv_kernels k;
	invar_context *ctx;

	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	inv_kernels_init(&k, ctx->cpu & cpu);
	memcpy(p, golden_f32(g, "start", NULL), n * sizeof *p);
	for (size_t t = 0; t < steps; t++) {
		inv_adamw_step(ctx, &k, &a, lr, t + 1, grads + t * n, n, p, m, v);
		memcpy(path + t * n, p, n * sizeof *p);
	}
	golden_check(g, "path", path, steps * n);
	golden_check(g, "m", m, n);
	golden_check(g, "v", v, n);
	inv_free(p);
	inv_free(m);
	inv_free(v);
	inv_free(path);
	invar_context_free(ctx);
	golden_close(g);
}

static void golden_paths_are_followed(void **state)
{
	static const char *const names[] = {"adam", "adamw", "adamw_strong_decay"};

	(void)state;
	for (const char *const *root = golden_roots(); *root; root++)
		for (size_t i = 0; i < 3; i++) {
			follow(*root, names[i], 0);
			follow(*root, names[i], ~0u);
		}
}

static void the_schedule_is_the_cosine(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "cosine_schedule");
		uint64_t epochs = (uint64_t)golden_value(g, "T_max");
		double rates[1024];

		assert_true(epochs < 1024);
		for (uint64_t e = 0; e <= epochs; e++)
			rates[e] = inv_cosine_rate(golden_value(g, "lr"), golden_value(g, "eta_min"), e,
			                           epochs);
		golden_check_f64(g, "rates", rates, epochs + 1);
		golden_close(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_paths_are_followed),
		cmocka_unit_test(the_schedule_is_the_cosine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
