/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scaled.c - the scale-free residual: trained as a plain residual of normalised
 * features, written as an adapter for the features as they are.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/scaled.h"
#include "bank/bank.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/rng.h"

enum { ROWS = 60, DIM = 8, COPIES = 3, HIDDEN = 24, EPOCHS = 5 };

static invar_bank *bank;

static int open_bank(void **state)
{
	test_context_open(state);
	return invar_bank_synthesize(test_ctx,
	                             test_kept("synthetic", "rows", test_text("%d", ROWS),
	                                       "test-rows", "10", "dim", "8", "copies", "3",
	                                       NULL),
	                             test_path("bank")) != INVAR_OK ||
	       inv_bank_open(test_ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	invar_bank_close(bank);
	return test_context_close(state);
}

static invar_options *options(void)
{
	return test_options("train", "preset", "paper", "batch-size", "16", "hidden",
	                    test_text("%d", HIDDEN), "epochs", test_text("%d", EPOCHS), NULL);
}

static void train(invar_bank *b, invar_options *o, const char *run)
{
	if (invar_train(&b, 1, o, test_path("%s", run)) != INVAR_OK)
		fail_msg("%s: %s", run, invar_last_error());
	invar_options_free(o);
}

/* The bank whose rows are (z - mean) times `by`. */
static invar_bank *move_bank(const char *name, const double mean[DIM], double by)
{
	uint64_t shape[2] = {ROWS, DIM};
	float x[ROWS * DIM];
	invar_bank *moved;

	assert_int_equal(inv_make_folder(test_path("%s", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train/aug", name)), INVAR_OK);
	for (int32_t c = INVAR_CLEAN; c < COPIES; c++) {
		const char *file =
			c == INVAR_CLEAN ? "clean.npy" : test_text("aug/%03d.npy", (int)c);

		assert_int_equal(invar_bank_read(bank, "train", c, 0, ROWS, x), INVAR_OK);
		for (size_t i = 0; i < ROWS * DIM; i++)
			x[i] = (float)((x[i] - mean[i % DIM]) * by);
		assert_int_equal(invar_array_write(test_ctx, test_path("%s/train/%s", name, file),
		                                   x, 2, shape, INVAR_FLOAT32),
		                 INVAR_OK);
	}
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &moved), INVAR_OK);
	return moved;
}

static inv_clean_statistics statistics_of(const invar_bank *b)
{
	uint32_t images[ROWS];
	inv_clean_statistics c;

	for (uint32_t i = 0; i < ROWS; i++)
		images[i] = i;
	assert_int_equal(
		inv_clean_statistics_of(b, inv_bank_split(b, "train"), images, ROWS, &c), INVAR_OK);
	return c;
}

static double logged(const char *run, size_t line, const char *key)
{
	char *text = test_read(test_path("%s/log.jsonl", run), NULL), *at = text;
	json_t *json;
	double value;

	for (size_t i = 0; i < line && at; i++)
		at = strchr(at, '\n') + 1;
	json = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
	value = json_number_value(json_object_get(json, key));
	json_decref(json);
	free(text);
	return value;
}

/* E of the clean rows of a bank. */
static void apply(const char *run, const float *x, size_t rows, float *out)
{
	invar_adapter *e;

	assert_int_equal(invar_adapter_open(test_ctx, test_path("%s", run), &e), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, rows, out), INVAR_OK);
	invar_adapter_close(e);
}

static void assert_close(const float *a, const float *b, size_t count, double share)
{
	double error = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		error = fmax(error, fabs((double)a[i] - b[i]));
		size = fmax(size, fabs((double)a[i]));
	}
	if (!(error <= share * size))
		fail_msg("differs by %g of %g", error, size);
}

/* ---- What is written ------------------------------------------------------------- */

static double unit_value(const float *params, inv_mlp_shape s,
                         const inv_mlp_block blocks[INV_MLP_BLOCKS], const double *u,
                         size_t j)
{
	double sum = params[blocks[3].offset + j];

	for (size_t i = 0; i < s.h; i++) {
		double hidden = params[blocks[1].offset + i];

		for (size_t l = 0; l < s.d; l++)
			hidden += params[blocks[0].offset + i * s.d + l] * u[l];
		sum += params[blocks[2].offset + j * s.h + i] * fmax(hidden, 0);
	}
	return sum;
}

/* z + sigma MLP((z - mu) / sigma) in double, and what was folded, in single precision. */
static void folded_weights_are_the_training_form(void **state)
{
	enum { D = 17, H = 70, N = 20 };
	const inv_mlp_shape s = {D, H, D};
	const inv_stream stream = inv_stream_of(2, "scaled", 0);
	double mean[D], u[D];
	inv_clean_statistics c = {.mean = mean, .sigma = 37.5};
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);
	float *folded = inv_calloc(inv_mlp_floats(s), sizeof *folded);
	float z[N * D], out[N * D], expected[N * D];
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	(void)state;
	inv_mlp_layout(s, blocks);
	inv_fill_normal(&stream, 0, z, N * D);
	for (size_t l = 0; l < D; l++)
		mean[l] = 40 + 5 * (double)l;
	for (size_t i = 0; i < N * D; i++)
		z[i] = (float)(z[i] * c.sigma + mean[i % D]);
	for (int residual = 0; residual < 2; residual++) {
		inv_mlp_init(s, 4, false, params);
		memcpy(folded, params, inv_mlp_floats(s) * sizeof *folded);
		inv_scaled_fold(&c, s, residual, folded);
		assert_int_equal(inv_mlp_apply(test_ctx, s, folded, residual, z, N, out), INVAR_OK);
		for (size_t i = 0; i < N * D; i++) {
			const float *row = z + i / D * D;

			for (size_t l = 0; l < D; l++)
				u[l] = (row[l] - mean[l]) / c.sigma;
			expected[i] = (float)((residual ? z[i] : mean[i % D]) +
			                      c.sigma * unit_value(params, s, blocks, u, i % D));
		}
		assert_close(expected, out, N * D, 1e-6);
	}
	inv_free(params);
	inv_free(folded);
}

/* ---- Training ------------------------------------------------------------------------ */

/* A scaled training equals the plain residual training on a normalised bank. */
static void it_is_the_residual_on_a_bank_in_its_own_units(void **state)
{
	inv_clean_statistics c = statistics_of(bank);
	invar_bank *units = move_bank("units", c.mean, 1 / c.sigma);
	float x[ROWS * DIM], y[ROWS * DIM], u[ROWS * DIM], v[ROWS * DIM];

	(void)state;
	train(bank, test_set(options(), "scaled", "1", NULL), "scaled");
	train(units, test_set(options(), "residual", "1", NULL), "residual");
	for (size_t e = 0; e < EPOCHS; e++)
		assert_true(fabs(logged("scaled", e, "loss") - logged("residual", e, "loss")) <
		            1e-6 * logged("residual", e, "loss"));
	assert_int_equal(invar_bank_read(bank, "train", 0, 0, ROWS, x), INVAR_OK);
	assert_int_equal(invar_bank_read(units, "train", 0, 0, ROWS, u), INVAR_OK);
	apply("scaled", x, ROWS, y);
	apply("residual", u, ROWS, v);
	for (size_t i = 0; i < ROWS * DIM; i++)
		v[i] = (float)(v[i] * c.sigma + c.mean[i % DIM]);
	assert_close(v, y, ROWS * DIM, 1e-5);
	inv_clean_statistics_clear(&c);
	invar_bank_close(units);
}

/*
 * Features that are 1000 times as large and translated give the corresponding E. Cosines
 * depend on the mean, so keep is trained without them.
 */
static void every_encoder_has_the_same_scale(void **state)
{
	static const char *const losses[] = {"mawa", "waco", "hsic", "keep"};
	const double away[DIM] = {-1, 2, 0.5, 0, 3, -2, 1, 1}, by = 1000;
	invar_bank *far = move_bank("far", away, by);
	float x[ROWS * DIM], y[ROWS * DIM], fx[ROWS * DIM], fy[ROWS * DIM];

	(void)state;
	assert_int_equal(invar_bank_read(bank, "train", 0, 0, ROWS, x), INVAR_OK);
	assert_int_equal(invar_bank_read(far, "train", 0, 0, ROWS, fx), INVAR_OK);
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		invar_options *o =
			test_set(options(), "scaled", "1", "loss", losses[i], "epochs", "2", NULL);
		invar_options *same =
			test_set(options(), "scaled", "1", "loss", losses[i], "epochs", "2", NULL);

		if (strcmp(losses[i], "keep") == 0) { /* two contrast terms are cosines */
			test_set(o, "contrast", "0", NULL);
			test_set(same, "contrast", "0", NULL);
		}
		train(bank, o, test_text("near-%s", losses[i]));
		train(far, same, test_text("far-%s", losses[i]));
		apply(test_text("near-%s", losses[i]), x, ROWS, y);
		apply(test_text("far-%s", losses[i]), fx, ROWS, fy);
		for (size_t k = 0; k < ROWS * DIM; k++)
			y[k] = (float)((y[k] - away[k % DIM]) * by);
		assert_close(y, fy, ROWS * DIM, 1e-3);
	}
	invar_bank_close(far);
}

/* simclr depends on the directions of unscaled features, and so on the encoder's mean. */
static void simclr_sees_features_not_their_units(void **state)
{
	const double zero[DIM] = {0};
	invar_bank *large = move_bank("large", zero, 1000);

	(void)state;
	train(bank,
	      test_set(options(), "scaled", "1", "loss", "simclr", "lr", "1e-9", "lr-min", "0",
	               "epochs", "1", NULL),
	      "simclr");
	train(large,
	      test_set(options(), "residual", "1", "loss", "simclr", "lr", "1e-9", "lr-min",
	               "0", "epochs", "1", NULL),
	      "simclr-raw"); /* at the identity, as E begins */
	assert_true(fabs(logged("simclr", 0, "loss") - logged("simclr-raw", 0, "loss")) <
	            1e-6 * logged("simclr-raw", 0, "loss"));
	invar_bank_close(large);
}

/* The first loss is that of F itself over sigma^2, and mu and sigma are those of the
 * training images, without held-out rows. */
static void it_begins_at_the_identity(void **state)
{
	invar_options *o =
		test_set(options(), "scaled", "1", "validation", "0.2", "keep", "best", "lr",
	             "1e-9", "lr-min", "0", "epochs", "1", "samples", "3", NULL);
	json_t *run, *frame;
	inv_clean_statistics all = statistics_of(bank);
	float x[ROWS * DIM], y[ROWS * DIM];

	(void)state;
	train(bank, o, "start");
	assert_int_equal(invar_bank_read(bank, "train", 1, 0, ROWS, x), INVAR_OK);
	apply("start", x, ROWS, y);
	assert_close(x, y, ROWS * DIM, 1e-6);
	run = json_load_file(test_path("start/run.json"), 0, NULL);
	frame = json_object_get(run, "frame");
	assert_true(json_number_value(json_object_get(frame, "sigma")) > 0);
	assert_true(json_number_value(json_object_get(frame, "sigma")) != all.sigma);
	assert_true(isfinite(logged("start", 0, "validation")));
	json_decref(run);
	inv_clean_statistics_clear(&all);
}

static void a_decoder_rebuilds_features_as_they_are(void **state)
{
	const double away[DIM] = {-50, 20, 5, 0, 30, -20, 10, 10};
	invar_bank *far = move_bank("away", away, 10);
	invar_options *o = test_set(options(), "scaled", "1", "decoder", "1", "epochs", "150",
	                            "lr", "3e-3", "lr-min", "3e-3", NULL);
	float x[ROWS * DIM], z[ROWS * DIM], y[ROWS * DIM];
	inv_clean_statistics c = statistics_of(far);
	double error = 0;

	(void)state;
	train(far, o, "decoder");
	assert_int_equal(invar_bank_read(far, "train", INVAR_CLEAN, 0, ROWS, x), INVAR_OK);
	apply("decoder", x, ROWS, z);
	apply("decoder/decoder.safetensors", z, ROWS, y);
	for (size_t i = 0; i < ROWS * DIM; i++)
		error += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
	assert_true(error < 0.1 * c.sigma * c.sigma * ROWS * DIM);
	inv_clean_statistics_clear(&c);
	invar_bank_close(far);
}

static void closed_forms_are_the_same_maps_in_units(void **state)
{
	static const char *const forms[] = {"identity", "rigid", "ridge", "features"};
	float x[ROWS * DIM], y[ROWS * DIM], z[ROWS * DIM];

	(void)state;
	assert_int_equal(invar_bank_read(bank, "train", 2, 0, ROWS, x), INVAR_OK);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const char *plain = test_text("plain-%s", forms[i]);
		const char *scaled = test_text("scaled-%s", forms[i]);

		train(bank, test_set(options(), "loss", "none", "init", forms[i], NULL), plain);
		train(bank,
		      test_set(options(), "loss", "none", "init", forms[i], "scaled", "1", NULL),
		      scaled);
		apply(plain, x, ROWS, y);
		apply(scaled, x, ROWS, z);
		assert_close(y, z, ROWS * DIM, i ? 1e-5 : 0);
		train(bank, test_set(options(), "init", forms[i], "scaled", "1", NULL),
		      test_text("from-%s", forms[i]));
	}
}

static void what_has_no_scale_is_refused(void **state)
{
	const double zero[DIM] = {0};
	invar_bank *flat = move_bank("flat", zero, 0);
	invar_options *o = test_set(options(), "scaled", "1", NULL);

	(void)state;
	assert_int_equal(invar_train(&flat, 1, o, test_path("none")), INVAR_E_NUMERIC);
	test_assert_error("are equal, so they have no scale");
	test_set(o, "width", "4", "loss", "waco", NULL);
	assert_int_equal(invar_train(&bank, 1, o, test_path("none")), INVAR_E_USE);
	test_assert_error(
		"scaled needs codes as wide as the features: width is 4, but the bank has 8");
	invar_options_free(o);
	invar_bank_close(flat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_weights_are_the_training_form),
		cmocka_unit_test(it_is_the_residual_on_a_bank_in_its_own_units),
		cmocka_unit_test(every_encoder_has_the_same_scale),
		cmocka_unit_test(simclr_sees_features_not_their_units),
		cmocka_unit_test(it_begins_at_the_identity),
		cmocka_unit_test(a_decoder_rebuilds_features_as_they_are),
		cmocka_unit_test(closed_forms_are_the_same_maps_in_units),
		cmocka_unit_test(what_has_no_scale_is_refused),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
