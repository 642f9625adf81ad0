/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vit.c - vision transformers against golden features, positions against worked
 * examples, and equal bits for any number of threads and any batch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "encoders/encoder.h"
#include "encoders/positions.h"
#include "encoders/vit.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/weights.h"
#include "golden_encoders.h"
#include "support.h"

static const char *const families[] = {"dino_vit",  "dinov2",      "timm_vit", "hf_vit",
                                       "hf_dinov2", "openai_clip", "hf_clip",  "hf_dinov3",
                                       "hf_siglip", "open_clip",   NULL};

static invar_context *context_of(unsigned threads, bool plain)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	if (plain)
		ctx->cpu = 0;
	return ctx;
}

/* ---- Features --------------------------------------------------------------------- */

static void check_features(const golden_encoder *c, void *user)
{
	invar_encoder *e = golden_encoder_open(user, c);
	double gap = golden_encoder_gap(e, c);

	if (!(gap <= c->tolerance))
		fail_msg("%s: off by %g where %g is allowed", c->name, gap, c->tolerance);
	invar_encoder_close(e);
}

static void features_agree(void **state)
{
	invar_context *fast = context_of(2, false), *plain = context_of(2, true);
	unsigned cases;

	(void)state;
	cases = golden_encoders(families, check_features, fast);
	assert_int_equal(golden_encoders(families, check_features, plain), cases);
	invar_context_free(fast);
	invar_context_free(plain);
	assert_true(cases >= 27); /* of our own */
}

enum { MANY = 21 };

/* The first image of a case, moved a little from image to image. */
static float *make_images(const golden_encoder *c)
{
	size_t cells = (size_t)(c->shape[1] * c->shape[2] * c->shape[3]);
	float *x = malloc(MANY * cells * sizeof *x);

	assert_non_null(x);
	for (size_t i = 0; i < MANY * cells; i++)
		x[i] = c->input[i % cells] + 0.01f * (float)(i / cells);
	return x;
}

static void run_many(invar_context *ctx, const golden_encoder *c, const float *x,
                     size_t at_once, float *out)
{
	invar_encoder *e = golden_encoder_open(ctx, c);
	size_t cells = (size_t)(c->shape[1] * c->shape[2] * c->shape[3]);

	for (size_t i = 0; i < MANY; i += at_once) {
		uint64_t shape[4] = {MANY - i < at_once ? MANY - i : at_once, c->shape[1],
		                     c->shape[2], c->shape[3]};

		assert_int_equal(invar_encoder_run(e, x + i * cells, shape, out + i * c->width),
		                 INVAR_OK);
	}
	invar_encoder_close(e);
}

static void check_cuts(const golden_encoder *c, void *user)
{
	size_t count = (size_t)(MANY * c->width);
	float *x = make_images(c), *one = malloc(count * sizeof *one);
	float *other = malloc(count * sizeof *other);

	(void)user;
	assert_true(one && other);
	for (unsigned threads = 1; threads <= 4; threads++) {
		static const size_t at_once[] = {MANY, 1, 3};
		invar_context *ctx = context_of(threads, false);

		for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
			bool first = threads == 1 && i == 0;

			run_many(ctx, c, x, at_once[i], first ? one : other);
			if (!first && memcmp(one, other, count * sizeof *one) != 0)
				fail_msg("%s: other bits with %u threads and %zu images at once", c->name,
				         threads, at_once[i]);
		}
		invar_context_free(ctx);
	}
	free(x);
	free(one);
	free(other);
}

static void neither_threads_nor_batch_change_a_bit(void **state)
{
	(void)state;
	assert_true(golden_encoders(families, check_cuts, NULL) >= 27);
}

/* ---- Positions -------------------------------------------------------------------- */

static double largest_gap(const float *a, const float *b, size_t count)
{
	double max = 0;

	for (size_t i = 0; i < count; i++)
		max = fmax(max, fabs((double)a[i] - b[i]));
	return max;
}

static void positions_of_a_wave(void **state)
{
	enum { G = 28, N = 12 };
	static const size_t at[5][2] = {{0, 0}, {0, 11}, {5, 7}, {11, 0}, {11, 11}};
	static const double dino[] = {0.544355, -0.367074, 0.250623, 0.910138, 0.849329};
	static const double timm[] = {0.639491, -0.253409, 0.099281, 0.770151, 0.817162};
	float table[G * G], out[N * N];

	(void)state;
	for (size_t u = 0; u < G; u++)
		for (size_t v = 0; v < G; v++)
			table[u * G + v] = (float)sin(0.3 * (double)u + 0.7 * (double)v);
	assert_int_equal(inv_positions_fit(INV_POS_DINO, table, G, 1, N, N, out), INVAR_OK);
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(out[at[i][0] * N + at[i][1]] - dino[i]) < 2e-6);
	assert_int_equal(inv_positions_fit(INV_POS_TIMM, table, G, 1, N, N, out), INVAR_OK);
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(out[at[i][0] * N + at[i][1]] - timm[i]) < 2e-6);
}

static void positions_stay_where_nothing_changes(void **state)
{
	(void)state;
	assert_false(inv_positions_differ(INV_POS_DINO, 4, 4, 4, 32, 32));
	assert_true(inv_positions_differ(INV_POS_DINO, 4, 4, 4, 33, 32));
	assert_true(inv_positions_differ(INV_POS_HF, 4, 2, 8, 16, 64));
	assert_false(inv_positions_differ(INV_POS_TIMM, 4, 4, 4, 33, 32));
	assert_true(inv_positions_differ(INV_POS_TIMM, 4, 4, 5, 32, 40));
}

/* A table of another size, row by row in the file that holds it with the class token. */
static void positions_of_golden_tables(void **state)
{
	static const struct {
		const char *weights, *name, *expected;
		inv_pos way;
		size_t grid, rows, cols, width;
	} cases[] = {
		{"dino_vit.safetensors", "pos_embed", "aux_dino_pos_48x40.npy", INV_POS_DINO, 4, 6,
	     5, 48},
		{"dinov2.pth", "pos_embed", "aux_dinov2_pos_70x56.npy", INV_POS_DINO, 4, 5, 4, 32},
		{"dinov2_reg.pth", "pos_embed", "aux_dinov2_reg_pos_70x56.npy", INV_POS_TIMM, 4, 5,
	     4, 32},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		float table[17 * 48], out[30 * 48], want[31 * 48];
		char path[1024];
		const inv_weight_about *t;
		inv_weights *w;
		inv_npy *a;
		double gap;

		snprintf(path, sizeof path, "golden/encoders/%s", cases[i].weights);
		assert_int_equal(inv_weights_open(test_ctx, test_need_shared(path), NULL, &w),
		                 INVAR_OK);
		assert_non_null(t = inv_weights_find(w, cases[i].name));
		assert_int_equal(t->cells, 17 * cases[i].width);
		assert_int_equal(inv_weights_read(w, t, table), INVAR_OK);
		snprintf(path, sizeof path, "golden/encoders/%s", cases[i].expected);
		assert_int_equal(inv_npy_open(test_need_shared(path), &a), INVAR_OK);
		assert_int_equal(
			inv_npy_read(a, 0, (cases[i].rows * cases[i].cols + 1) * cases[i].width, want),
			INVAR_OK);
		assert_int_equal(inv_positions_fit(cases[i].way, table + cases[i].width,
		                                   cases[i].grid, cases[i].width, cases[i].rows,
		                                   cases[i].cols, out),
		                 INVAR_OK);
		gap = largest_gap(out, want + cases[i].width,
		                  cases[i].rows * cases[i].cols * cases[i].width);
		if (!(gap < 3e-6)) /* those tables were fitted in float */
			fail_msg("%s: off by %g", cases[i].expected, gap);
		inv_npy_close(a);
		inv_weights_close(w);
	}
}

/* ---- What is refused -------------------------------------------------------------- */

/* One of our own files with some bytes of its header replaced, as many by as many. */
static const char *changed(const char *file, const char *from, const char *to)
{
	const char *path = test_path("changed.safetensors");
	size_t bytes, length = strlen(from);
	char *data = test_read(test_source("tests/golden/encoders/vit/%s", file), &bytes);
	bool found = false;

	assert_int_equal(length, strlen(to));
	for (size_t i = 8; i + length <= bytes; i++)
		if (memcmp(data + i, from, length) == 0) {
			memcpy(data + i, to, length);
			found = true;
		}
	assert_true(found);
	test_write(path, data, bytes);
	free(data);
	return path;
}

static void assert_refused(const char *path, uint64_t heads, const char *word)
{
	invar_encoder *e;

	assert_int_not_equal(
		invar_encoder_open(
			test_ctx, path,
			test_kept("features", "heads", test_text("%u", (unsigned)heads), NULL), &e),
		INVAR_OK);
	assert_null(e);
	test_assert_error(word);
}

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	assert_refused(changed("dino.safetensors", "1.norm2.bias", "1.norm9.bias"), 2,
	               "has no tensor 'blocks.1.norm2.bias'");
	assert_refused(changed("dino.safetensors", ".cls_token", ".cls_taken"), 2,
	               "has no tensor 'cls_token'");
	assert_refused(changed("dinov2_reg_chunked.safetensors", "mask_token", "blocks.zzz"), 2,
	               "has a tensor 'blocks.zzz', which no known ViT has");
	assert_refused(
		changed("dino.safetensors", "\"shape\":[1,10,12]", "\"shape\":[1,12,10]"), 2,
		"not a square of patches");
	assert_refused(changed("dino.safetensors", "\"shape\":[12,20]", "\"shape\":[20,12]"), 2,
	               "fc2.weight' has shape [20, 12] but must have shape [12, 20]");
	assert_refused(changed("dino.safetensors", "mlp.fc1.weight", "mlp.w12.weight"), 2,
	               "has no tensor 'blocks.0.mlp.w12.bias'");
	assert_refused(test_source("tests/golden/encoders/vit/dino.safetensors"), 0,
	               "set heads N");
	assert_refused(test_source("tests/golden/encoders/vit/dino.safetensors"), 5,
	               "set heads N");
}

enum { MAX_TENSORS = 64 };

static bool is_among(const inv_tensor_stored *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return true;
	return false;
}

/* One of our own files with tensors in place of those of their names, or beside them. */
static const char *rewritten_with(const char *file, const inv_tensor_stored *others,
                                  size_t other_count)
{
	const char *path = test_path("rewritten.safetensors");
	inv_tensor_stored list[MAX_TENSORS];
	inv_safetensors *f;
	size_t count = 0;

	assert_int_equal(
		inv_safetensors_open(test_source("tests/golden/encoders/vit/%s", file), &f),
		INVAR_OK);
	assert_true(inv_safetensors_count(f) + other_count <= MAX_TENSORS);
	for (size_t i = 0; i < inv_safetensors_count(f); i++) {
		const inv_tensor *t = inv_safetensors_at(f, i);
		inv_tensor_stored *to = &list[count];
		int64_t stride = 1;

		*to = (inv_tensor_stored){
			.name = t->name, .type = t->type, .ndim = t->ndim, .data = t->data};
		for (unsigned k = t->ndim; k-- > 0; stride *= (int64_t)t->shape[k]) {
			to->shape[k] = t->shape[k];
			to->stride[k] = stride;
		}
		count += !is_among(others, other_count, t->name);
	}
	for (size_t i = 0; i < other_count; i++)
		list[count++] = others[i];
	assert_int_equal(inv_safetensors_store(path, list, count, NULL, 0), INVAR_OK);
	inv_safetensors_close(f);
	return path;
}

static const char *rewritten(const char *file, const inv_tensor_stored *other)
{
	return rewritten_with(file, other, other != NULL);
}

/* A projection of no rows and so many columns that 12 times as many are 2^64 + 8. */
static void sizes_that_wrap_are_refused(void **state)
{
	const inv_tensor_stored wraps = {.name = "visual.proj",
	                                 .type = "U8",
	                                 .ndim = 2,
	                                 .shape = {0, UINT64_MAX / 12 + 1},
	                                 .stride = {1, 1}};

	(void)state;
	assert_refused(rewritten("clip.safetensors", &wraps), 2,
	               "its width of a projection is 1537228672809129302, more than");
}

/* Leading ones of a shape are ignored, but a zero there is an empty tensor. */
static void a_tensor_of_nothing_is_not_taken(void **state)
{
	static const float zeros[12];
	inv_tensor_stored token = {.name = "module.backbone.cls_token",
	                           .type = "F32",
	                           .ndim = 3,
	                           .shape = {1, 1, 12},
	                           .stride = {12, 12, 1},
	                           .data = zeros};
	invar_options *o = test_options("features", "heads", "2", NULL);
	invar_encoder *e;

	(void)state;
	assert_int_equal(
		invar_encoder_open(test_ctx, rewritten("dino.safetensors", &token), o, &e),
		INVAR_OK);
	invar_encoder_close(e);
	token.shape[1] = 0;
	assert_refused(rewritten("dino.safetensors", &token), 2,
	               "has shape [1, 0, 12] but must have shape [12]");
	invar_options_free(o);
}

/* ---- What no shape tells ---------------------------------------------------------- */

static void assert_switches(const char *path, const invar_options *o, float eps,
                            inv_pos pos, bool quick)
{
	const inv_vit *v;
	invar_encoder *e;

	if (invar_encoder_open(test_ctx, path, o, &e) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	v = e->own;
	assert_float_equal(v->eps, eps, 0);
	assert_int_equal(v->pos, pos);
	assert_int_equal(v->activation == INV_VIT_QUICK_GELU, quick);
	assert_int_equal(v->heads, 2);
	invar_encoder_close(e);
}

static void families_have_defaults_and_options_win(void **state)
{
	static const float zeros[36];
	const inv_tensor_stored head = {.name = "head.weight",
	                                .type = "F32",
	                                .ndim = 2,
	                                .shape = {3, 12},
	                                .stride = {12, 1},
	                                .data = zeros};
	static const char config[] = "{\"vision_config\": {\"hidden_act\": \"gelu\"}}";
	const invar_options *none = test_kept("features", "heads", "2", NULL);
	const invar_options *some =
		test_kept("features", "heads", "2", "eps", "0.25", "pos", "hf", NULL);

	(void)state;
	assert_switches(rewritten("dino.safetensors", NULL), none, 1e-6f, INV_POS_DINO, false);
	assert_switches(rewritten("dino.safetensors", NULL), some, 0.25f, INV_POS_HF, false);
	assert_switches(rewritten("dino.safetensors", &head), none, 1e-6f, INV_POS_TIMM, false);
	assert_switches(rewritten("hf_vit/model.safetensors", NULL), none, 1e-12f, INV_POS_HF,
	                false);
	assert_switches(rewritten("hf_clip/model.safetensors", NULL), none, 1e-5f, INV_POS_HF,
	                true);
	test_write(test_path("config.json"), config, strlen(config));
	assert_switches(rewritten("hf_clip/model.safetensors", NULL), none, 1e-5f, INV_POS_HF,
	                false);
	remove(test_path("config.json"));
}

/* timm's CLIPs have a norm before the first block, and CLIP's eps in all. */
static void a_norm_before_the_blocks_is_timms_and_has_another_eps(void **state)
{
	static const float zeros[12];
	const inv_tensor_stored norm[] = {{.name = "module.backbone.norm_pre.weight",
	                                   .type = "F32",
	                                   .ndim = 1,
	                                   .shape = {12},
	                                   .stride = {1},
	                                   .data = zeros},
	                                  {.name = "module.backbone.norm_pre.bias",
	                                   .type = "F32",
	                                   .ndim = 1,
	                                   .shape = {12},
	                                   .stride = {1},
	                                   .data = zeros}};
	const invar_options *none = test_kept("features", "heads", "2", NULL);
	const invar_options *some = test_kept("features", "heads", "2", "eps", "0.25", NULL);

	(void)state;
	assert_switches(rewritten_with("dino.safetensors", norm, 2), none, 1e-5f, INV_POS_TIMM,
	                false);
	assert_switches(rewritten_with("dino.safetensors", norm, 2), some, 0.25f, INV_POS_TIMM,
	                false);
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
	const uint64_t small[4] = {1, 3, 3, 12}, grey[4] = {1, 1, 12, 12},
				   large[4] = {1, 3, 16, 16};
	invar_options *o = test_options("features", "heads", "2", NULL);
	invar_encoder *e;
	uint64_t width;

	(void)state;
	assert_int_equal(
		invar_encoder_open(
			test_ctx, test_source("tests/golden/encoders/vit/clip.safetensors"), o, &e),
		INVAR_OK);
	assert_string_equal(invar_encoder_name(e), "clip");
	assert_string_equal(e->input.normalisation, "clip");
	assert_int_equal(invar_encoder_width(e, small, &width), INVAR_E_USE);
	test_assert_error("smaller than one patch");
	assert_int_equal(invar_encoder_width(e, grey, &width), INVAR_E_USE);
	test_assert_error("3 channels");
	assert_int_equal(invar_encoder_width(e, large, &width), INVAR_E_USE);
	test_assert_error("a CLIP model for images of 12 x 12, not 16 x 16");
	invar_encoder_close(e);
	test_set(o, "pos", "timm", NULL);
	assert_int_equal(
		invar_encoder_open(
			test_ctx, test_source("tests/golden/encoders/vit/clip.safetensors"), o, &e),
		INVAR_OK);
	assert_int_equal(invar_encoder_width(e, large, &width), INVAR_OK);
	assert_int_equal(width, 7);
	invar_encoder_close(e);
	invar_options_free(o);
}

static void constants_beside_the_weights_are_read(void **state)
{
	static const char said[] =
		"{\"image_mean\": [0.5, 0.25, 0.125], \"image_std\": [0.5, 0.5, 1]}";
	size_t bytes;
	void *data = test_read(
		test_source("tests/golden/encoders/vit/hf_vit/model.safetensors"), &bytes);
	invar_options *o = test_options("features", "heads", "2", NULL);
	invar_encoder *e;

	(void)state;
	test_write(test_path("model.safetensors"), data, bytes);
	test_write(test_path("preprocessor_config.json"), said, strlen(said));
	unlink(test_path("config.json"));
	free(data);
	assert_int_equal(invar_encoder_open(test_ctx, test_path("model.safetensors"), o, &e),
	                 INVAR_OK);
	assert_string_equal(e->input.normalisation, "0.5,0.25,0.125/0.5,0.5,1");
	assert_int_equal(e->input.side, 12);
	assert_string_equal(invar_encoder_about(e),
	                    "ViT, patch 4, 2 blocks of width 12, 2 heads, positions 3 x 3 "
	                    "resized as in Hugging Face");
	invar_encoder_close(e);
	invar_options_free(o);
}

/* Nothing of them is ignored silently: the features would differ. */
static void what_is_said_beside_the_weights_must_fit(void **state)
{
	static const struct {
		const char *file, *text, *error;
	} cases[] = {
		{"config.json", "{\"num_attention_heads\": 0}", "expected 1 to 1024"},
		{"config.json", "{\"num_attention_heads\": -1}", "set heads N"},
		{"config.json", "{\"num_attention_heads\": 1000000000}", "num_attention_heads"},
		{"config.json", "{\"num_attention_heads\": \"2\"}", "num_attention_heads"},
		{"config.json", "{\"layer_norm_eps\": -1}", "layer_norm_eps"},
		{"config.json", "{\"layer_norm_eps\": \"x\"}", "set eps F"},
		{"config.json", "{\"hidden_act\": 3}", "hidden_act"},
		{"config.json", "[]", "is not a JSON object"},
		{"preprocessor_config.json",
	     "{\"image_mean\": [\"a\", 0, 0], \"image_std\": [1, 1, 1]}", "3 numbers each"},
		{"preprocessor_config.json",
	     "{\"image_mean\": [0, 0, 0], \"image_std\": [1, 0, 1]}", "above 0"},
		{"preprocessor_config.json", "{\"image_std\": [1, 1, 1]}",
	     "fix or remove the file"},
	};
	size_t bytes;
	void *data = test_read(
		test_source("tests/golden/encoders/vit/hf_vit/model.safetensors"), &bytes);
	invar_encoder *e;

	(void)state;
	test_write(test_path("model.safetensors"), data, bytes);
	free(data);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *heads = "{\"num_attention_heads\": 2}";

		unlink(test_path("preprocessor_config.json"));
		test_write(test_path("config.json"), heads, strlen(heads));
		assert_int_equal(
			invar_encoder_open(test_ctx, test_path("model.safetensors"), NULL, &e),
			INVAR_OK);
		invar_encoder_close(e);
		test_write(test_path("%s", cases[i].file), cases[i].text, strlen(cases[i].text));
		assert_int_not_equal(
			invar_encoder_open(test_ctx, test_path("model.safetensors"), NULL, &e),
			INVAR_OK);
		test_assert_error(cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_agree),
		cmocka_unit_test(neither_threads_nor_batch_change_a_bit),
		cmocka_unit_test(positions_of_a_wave),
		cmocka_unit_test(positions_stay_where_nothing_changes),
		cmocka_unit_test(positions_of_golden_tables),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(sizes_that_wrap_are_refused),
		cmocka_unit_test(a_tensor_of_nothing_is_not_taken),
		cmocka_unit_test(families_have_defaults_and_options_win),
		cmocka_unit_test(a_norm_before_the_blocks_is_timms_and_has_another_eps),
		cmocka_unit_test(shapes_that_do_not_fit_are_refused),
		cmocka_unit_test(constants_beside_the_weights_are_read),
		cmocka_unit_test(what_is_said_beside_the_weights_must_fit),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
