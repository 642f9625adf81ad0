/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_degenerate.c - data on which a careless loss divides by zero.
 *
 * Every loss trains for 10,000 steps on rows that repeat, features that are
 * constant and a single tight class, and on rows that are all the same; the loss
 * and the weights are finite after every step.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "adapter/step.h"
#include "base/rng.h"

enum { N = 16, S = 2, D = 32, H = 64, SLICES = 50, GROUPS = 2 };

#ifdef __SANITIZE_ADDRESS__
enum { STEPS = 500 };
#else
enum { STEPS = 10000 };
#endif

static invar_context *ctx;

static int make_context(void **state)
{
	(void)state;
	return invar_context_new(1, NULL, &ctx) != INVAR_OK;
}

static int free_context(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

/* One class, every row twice, the even features constant, copies that move nothing. */
static void fill_repeated(float *rows, size_t count)
{
	inv_stream s = inv_stream_of(11, "degenerate", 0);

	inv_fill_normal(&s, 0, rows, N * D);
	for (size_t i = 0; i < N * D; i++)
		rows[i] = i % D % 2 ? 3 + 0.1f * rows[i] : 7;
	for (size_t i = 1; i < N; i += 2)
		memcpy(rows + i * D, rows + (i - 1) * D, D * sizeof *rows);
	for (size_t row = N; row < count; row++)
		memcpy(rows + row * D, rows + row % N * D, D * sizeof *rows);
}

static void fill_equal(float *rows, size_t count)
{
	for (size_t i = 0; i < count * D; i++)
		rows[i] = (float)(i % D) / D;
}

static void fill_zero(float *rows, size_t count)
{
	memset(rows, 0, count * D * sizeof *rows);
}

typedef void fill_fn(float *rows, size_t count);

static void train(const inv_loss *loss, fill_fn *fill, size_t groups, const char *what)
{
	invar_options *o = test_options("loss", "projections", test_text("%d", SLICES), NULL);
	inv_step_spec spec = {.shape = {D, H, D},
	                      .loss = loss,
	                      .options = o,
	                      .N = N,
	                      .s = S,
	                      .groups = groups,
	                      .frame = {.distance = 2 * D},
	                      .alpha = 1,
	                      .beta = 1,
	                      .update = true,
	                      .weight_decay = 1e-4};
	size_t count = (groups * S + 1) * N;
	float *rows = inv_calloc(count * D, sizeof *rows);
	inv_loss_value value;
	inv_step *p;

	assert_non_null(rows);
	fill(rows, count);
	if (!loss->no_decoder)
		spec.decoder = (inv_mlp_shape){D, H, D};
	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	inv_mlp_init(spec.shape, 0, false, p->params);
	if (spec.decoder.h)
		inv_decoder_init(spec.decoder, 0, p->params + p->adapter_floats);
	for (int t = 0; t < (test_is_emulated() ? STEPS / 25 : STEPS); t++) {
		if (inv_step_run(p, rows, 1e-3, &value) != INVAR_OK)
			fail_msg("%s on %s, step %d: %s", loss->name, what, t, invar_last_error());
		if (!p->kernels.all_finite(p->params, p->floats))
			fail_msg("%s on %s, step %d: a weight is not finite", loss->name, what, t);
	}
	inv_step_free(p);
	invar_options_free(o);
	inv_free(rows);
}

static void every_loss_stays_finite(void **state)
{
	static const struct {
		const char *what;
		fill_fn *fill;
	} data[] = {{"rows that repeat", fill_repeated},
	            {"rows that are equal", fill_equal},
	            {"rows of zeros", fill_zero}};
	const inv_loss *loss;

	(void)state;
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		for (size_t k = 0; k < sizeof data / sizeof *data; k++)
			for (size_t groups = 1; groups <= (loss->several && !k ? GROUPS : 1); groups++)
				train(loss, data[k].fill, groups, data[k].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_loss_stays_finite)};

	return cmocka_run_group_tests(tests, make_context, free_context);
}
