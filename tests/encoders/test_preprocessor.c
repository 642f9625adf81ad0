/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_preprocessor.c - what the JSON files beside weights say: how images are prepared,
 * and what no tensor shows; and what is wrong in them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoders/encoder.h"
#include "encoders/vit.h"
#include "images/prepare.h"
#include "support.h"

/* A golden network, alone in a folder of its own with these files beside it. */
static void put_network(const char *name)
{
	static const char *const beside[] = {"config.json", "preprocessor_config.json",
	                                     "open_clip_config.json"};
	size_t bytes;
	void *data = test_read(
		test_source("tests/golden/encoders/transformers/%s/model.safetensors", name),
		&bytes);

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
		unlink(test_path("%s", beside[i]));
	test_write(test_path("model.safetensors"), data, bytes);
	free(data);
}

static void put_beside(const char *file, const char *text)
{
	test_write(test_path("%s", file), text, strlen(text));
}

static invar_encoder *open_network(const invar_options *o)
{
	invar_encoder *e;

	if (invar_encoder_open(test_ctx, test_path("model.safetensors"), o, &e) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return e;
}

/* ---- How images are prepared ------------------------------------------------------ */

#define SIGLIP_CONFIG "{\"num_attention_heads\": 2, \"image_size\": 14}"

static void sizes_and_filters_are_read(void **state)
{
	static const struct {
		const char *text;
		size_t resize, side;
		bool stretch;
		inv_filter filter;
		const char *normalisation;
	} cases[] = {
		{"{}", 14, 14, true, INV_BICUBIC, "half"},
		{"{\"size\": {\"height\": 384, \"width\": 384}, \"resample\": 2}", 384, 384, true,
	     INV_BILINEAR, "half"},
		{"{\"size\": 32}", 32, 32, true, INV_BICUBIC, "half"},
		{"{\"size\": 32, \"do_center_crop\": true, \"crop_size\": 28}", 32, 28, false,
	     INV_BICUBIC, "half"},
		{"{\"size\": {\"shortest_edge\": 256}, \"do_center_crop\": true, "
	     "\"crop_size\": {\"height\": 224, \"width\": 224}, \"resample\": 3}",
	     256, 224, false, INV_BICUBIC, "half"},
		{"{\"size\": {\"shortest_edge\": 224}, \"crop_pct\": 0.875}", 256, 224, false,
	     INV_BICUBIC, "half"},
		{"{\"size\": {\"shortest_edge\": 384}, \"crop_pct\": 0.875}", 384, 384, true,
	     INV_BICUBIC, "half"},
		{"{\"do_resize\": false}", 0, 0, false, INV_BICUBIC, "half"},
		{"{\"do_normalize\": false, \"rescale_factor\": 0.00392156862745098}", 14, 14, true,
	     INV_BICUBIC, "none"},
		{"{\"image_mean\": [0.5, 0.25, 0], \"image_std\": [1, 2, 3]}", 14, 14, true,
	     INV_BICUBIC, "0.5,0.25,0/1,2,3"},
	};

	(void)state;
	put_network("hf_siglip");
	put_beside("config.json", SIGLIP_CONFIG);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		invar_encoder *e;

		put_beside("preprocessor_config.json", cases[i].text);
		e = open_network(NULL);
		assert_int_equal(e->input.resize, cases[i].resize);
		assert_int_equal(e->input.side, cases[i].side);
		assert_int_equal(e->input.stretch, cases[i].stretch);
		assert_int_equal(e->input.filter, cases[i].filter);
		assert_string_equal(e->input.normalisation, cases[i].normalisation);
		invar_encoder_close(e);
	}
}

static void families_have_their_own_preparation(void **state)
{
	invar_encoder *e;

	(void)state;
	put_network("hf_dinov3");
	put_beside("config.json", "{\"num_attention_heads\": 2}");
	e = open_network(NULL);
	assert_true(e->input.stretch && e->input.side == 224);
	assert_int_equal(e->input.filter, INV_BILINEAR);
	assert_string_equal(e->input.normalisation, "imagenet");
	assert_string_equal(invar_encoder_about(e),
	                    "ViT, patch 4, 2 blocks of width 24, 2 heads, rotary positions, "
	                    "3 registers");
	invar_encoder_close(e);
	put_network("open_clip");
	put_beside(
		"open_clip_config.json",
		"{\"model_cfg\": {\"quick_gelu\": true, \"vision_cfg\": {\"head_width\": 8, "
		"\"image_size\": 12}}, \"preprocess_cfg\": {\"interpolation\": \"bilinear\"}}");
	e = open_network(NULL);
	assert_true(!e->input.stretch && e->input.side == 12);
	assert_int_equal(e->input.filter, INV_BILINEAR);
	assert_string_equal(e->input.normalisation, "clip");
	assert_int_equal(((inv_vit *)e->own)->heads, 3);
	assert_int_equal(((inv_vit *)e->own)->activation, INV_VIT_QUICK_GELU);
	invar_encoder_close(e);
	e = open_network(test_kept("features", "gelu", "tanh", NULL));
	assert_int_equal(((inv_vit *)e->own)->activation, INV_VIT_TANH_GELU);
	invar_encoder_close(e);
	put_network("hf_resnet_basic");
	e = open_network(NULL);
	assert_true(e->input.resize == 256 && e->input.side == 224 && !e->input.stretch);
	assert_string_equal(invar_encoder_about(e), "ResNet, basic blocks 1 2 1, 20 features");
	invar_encoder_close(e);
}

/* ---- What is refused -------------------------------------------------------------- */

static void what_is_wrong_beside_weights_is_named(void **state)
{
	static const struct {
		const char *network, *file, *text, *error;
	} cases[] = {
		{"hf_siglip", "preprocessor_config.json", "{\"size\": 0}", "an invalid size"},
		{"hf_siglip", "preprocessor_config.json",
	     "{\"size\": {\"height\": 8, \"width\": 9}}", "the side of square images"},
		{"hf_siglip", "preprocessor_config.json", "{\"size\": {\"longest_edge\": 9}}",
	     "an invalid size"},
		{"hf_siglip", "preprocessor_config.json", "{\"size\": 1e99}", "1 to 8192"},
		{"hf_siglip", "preprocessor_config.json",
	     "{\"size\": 8, \"do_center_crop\": true, \"crop_size\": 9}",
	     "an invalid crop_size"},
		{"hf_siglip", "preprocessor_config.json",
	     "{\"size\": {\"shortest_edge\": 8}, \"crop_pct\": 0}", "an invalid crop_pct"},
		{"hf_siglip", "preprocessor_config.json", "{\"resample\": 1}", "bilinear"},
		{"hf_siglip", "preprocessor_config.json", "{\"rescale_factor\": 1}",
	     "must be divided by 255"},
		{"hf_siglip", "preprocessor_config.json", "{\"do_rescale\": false}",
	     "must be divided by 255"},
		{"hf_siglip", "config.json", "{\"num_attention_heads\": 5}", "set heads N"},
		{"hf_siglip", "config.json", "{\"hidden_act\": \"mish\"}", "gelu_pytorch_tanh"},
		{"hf_dinov3", "config.json", "{\"rope_theta\": 0}", "an invalid rope_theta"},
		{"hf_dinov3", "config.json", "{\"rope_theta\": \"x\"}", "an invalid rope_theta"},
		{"hf_dinov3", "config.json", "{\"image_size\": 3}", "an invalid image_size"},
		{"hf_dinov3", "config.json", "{\"image_size\": [12, 8]}", "an invalid image_size"},
		{"hf_dinov3", "config.json", "{\"num_attention_heads\": 4}", "a multiple of 4"},
		{"hf_dinov3", "config.json", "{}", "set heads N"},
		{"open_clip", "open_clip_config.json",
	     "{\"model_cfg\": {\"vision_cfg\": {\"head_width\": 0}}}", "an invalid head_width"},
		{"open_clip", "open_clip_config.json", "{\"model_cfg\": {\"quick_gelu\": 1}}",
	     "an invalid quick_gelu"},
		{"open_clip", "open_clip_config.json",
	     "{\"model_cfg\": {\"vision_cfg\": {\"head_width\": 8}}, "
	     "\"preprocess_cfg\": {\"resize_mode\": \"longest\"}}",
	     "an invalid resize_mode"},
		{"open_clip", "open_clip_config.json",
	     "{\"model_cfg\": {\"vision_cfg\": {\"head_width\": 8}}, "
	     "\"preprocess_cfg\": {\"mean\": [1], \"std\": [1]}}",
	     "3 numbers each"},
		{"hf_resnet_basic", "config.json", "{\"hidden_act\": \"gelu\"}", "expected relu"},
		{"hf_resnet_basic", "config.json", "{\"downsample_in_bottleneck\": 1}",
	     "true or false"},
		{"hf_resnet_basic", "config.json", "{\"downsample_in_first_stage\": \"x\"}",
	     "true or false"},
	};
	invar_encoder *e;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put_network(cases[i].network);
		put_beside("config.json", "{\"num_attention_heads\": 2}");
		put_beside(cases[i].file, cases[i].text);
		if (invar_encoder_open(test_ctx, test_path("model.safetensors"), NULL, &e) ==
		    INVAR_OK)
			fail_msg("%s: %s was taken", cases[i].network, cases[i].text);
		test_assert_error(cases[i].error);
	}
}

/* A NaFlex model has patches as rows of a matrix. */
static void naflex_is_refused(void **state)
{
	static const char conv[] = "\"shape\":[32,3,4,4]", rows[] = "\"shape\":[32,48   ]";
	size_t bytes;
	char *data, *at = NULL;
	invar_encoder *e;

	(void)state;
	put_network("hf_siglip");
	data = test_read(test_path("model.safetensors"), &bytes);
	for (size_t i = 8; !at && i + sizeof conv < bytes; i++)
		if (memcmp(data + i, conv, strlen(conv)) == 0)
			at = data + i;
	assert_non_null(at);
	memcpy(at, rows, strlen(rows));
	test_write(test_path("model.safetensors"), data, bytes);
	free(data);
	put_beside("config.json", SIGLIP_CONFIG);
	assert_int_not_equal(
		invar_encoder_open(test_ctx, test_path("model.safetensors"), NULL, &e), INVAR_OK);
	test_assert_error("NaFlex");
}

/* ---- Stretched images ------------------------------------------------------------- */

static void both_sides_are_resized(void **state)
{
	enum { H = 3, W = 8, SIDE = 4 };
	inv_preparation p = {
		.side = SIDE, .stretch = true, .filter = INV_BILINEAR, .channels = INV_RGB};
	uint8_t pixels[H * W * INV_RGB];
	const inv_image image = {.height = H, .width = W, .pixels = pixels};
	float out[INV_RGB * SIDE * SIDE];
	size_t h, w;
	inv_preparer *r;

	(void)state;
	for (size_t i = 0; i < H * W; i++)
		memset(pixels + i * INV_RGB, i % W < W / 2 ? 0 : 255, INV_RGB);
	assert_int_equal(inv_normalisation_parse("none", &p.normalisation), INVAR_OK);
	assert_int_equal(inv_prepared_size(&p, H, W, "image", &h, &w), INVAR_OK);
	assert_true(h == SIDE && w == SIDE);
	assert_int_equal(inv_preparer_new(test_ctx->cpu, &p, &r), INVAR_OK);
	assert_int_equal(inv_prepare(r, &image, "image", out), INVAR_OK);
	/* The left edge is dark and the right one bright: nothing was cropped. */
	assert_true(out[0] == 0 && out[SIDE - 1] == 1);
	inv_preparer_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_filters_are_read),
		cmocka_unit_test(families_have_their_own_preparation),
		cmocka_unit_test(what_is_wrong_beside_weights_is_named),
		cmocka_unit_test(naflex_is_refused),
		cmocka_unit_test(both_sides_are_resized),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
