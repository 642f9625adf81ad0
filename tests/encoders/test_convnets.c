/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_convnets.c - ResNets, those of CIFAR and SqueezeNet: tiny ones against NumPy in
 * double, real ones against PyTorch's features of the same files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "encoders/encoder.h"
#include "formats/safetensors.h"
#include "golden_encoders.h"
#include "images/dataset.h"
#include "support.h"

static void check(invar_status st)
{
	if (st != INVAR_OK)
		fail_msg("%s", invar_last_error());
}

static float *load(const char *path, const char *name, uint64_t shape[4])
{
	inv_safetensors *f;
	const inv_tensor *t;
	float *x;

	check(inv_safetensors_open(path, &f));
	assert_non_null(t = inv_safetensors_find(f, name));
	for (unsigned i = 0; i < 4; i++)
		shape[i] = i < t->ndim ? t->shape[i] : 1;
	assert_non_null(x = inv_alloc(t->cells * sizeof *x));
	check(inv_safetensors_read(f, t, x));
	inv_safetensors_close(f);
	return x;
}

static const char *tiny(const char *name)
{
	return test_source("tests/golden/encoders/convnets/%s.safetensors", name);
}

static void assert_near(const char *name, const float *got, const float *want, size_t count,
                        double relative)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs((double)want[i]));
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)got[i] - want[i]) <= relative * largest))
			fail_msg("%s: feature %zu is %.9g, not %.9g", name, i, got[i], want[i]);
}

/* ---- Tiny ones -------------------------------------------------------------------- */

typedef struct tiny_case {
	const char *weights, *images, *expected, *about;
	double bn_eps;
	const char *stride;
} tiny_case;

static const tiny_case cases[] = {
	{"bottleneck", "images", "bottleneck", "ResNet, bottleneck blocks 1 2 1 2, 20 features",
     0, NULL},
	{"bottleneck", "images", "bottleneck_early",
     "ResNet, bottleneck blocks 1 2 1 2, 20 features", 1e-3, "1x1"},
	{"basic", "grey", "basic", "ResNet, basic blocks 2 1 2 1, 11 features", 0, NULL},
	{"cifar", "images", "cifar",
     "ResNet for CIFAR, basic blocks 2 1 2, shortcuts without weights, 13 features", 0,
     NULL},
	{"squeeze", "images", "squeeze", "SqueezeNet 1.1, 11 features", 0, NULL},
	{"wide", "small", "wide", "ResNet, basic blocks 2 1 1 1, 17 features", 0, NULL},
};

enum { CASES = sizeof cases / sizeof *cases };

static float *run_case(const tiny_case *c, unsigned threads, const float *x,
                       const uint64_t shape[4], uint64_t *width)
{
	invar_context *ctx;
	invar_encoder *e;
	float *out;

	check(invar_context_new(threads, NULL, &ctx));
	check(invar_encoder_open(ctx, tiny(c->weights),
	                         test_kept("features", "bn-eps", test_text("%g", c->bn_eps),
	                                   "stride", c->stride, NULL),
	                         &e));
	assert_string_equal(invar_encoder_about(e), c->about);
	check(invar_encoder_width(e, shape, width));
	assert_non_null(out = inv_alloc(shape[0] * *width * sizeof *out));
	check(invar_encoder_run(e, x, shape, out));
	invar_encoder_close(e);
	invar_context_free(ctx);
	return out;
}

static void features_equal_the_definitions(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		uint64_t shape[4], wanted[4], width;
		float *x = load(tiny("values"), cases[i].images, shape);
		float *want = load(tiny("values"), cases[i].expected, wanted);
		float *got = run_case(&cases[i], 2, x, shape, &width);

		assert_int_equal(width, wanted[1]);
		assert_near(cases[i].expected, got, want, shape[0] * width, 2e-6);
		inv_free(x);
		inv_free(want);
		inv_free(got);
	}
}

/* Nor on the other images: 21 copies fill groups and leave an incomplete one. */
static void no_bit_depends_on_the_threads(void **state)
{
	enum { MANY = 21 };

	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		uint64_t shape[4], width;
		float *x = load(tiny("values"), cases[i].images, shape), *out[3];
		size_t cells = (size_t)(shape[1] * shape[2] * shape[3]), first = (size_t)shape[0];
		float *many = inv_alloc(MANY * cells * sizeof *many);

		for (size_t n = 0; n < MANY; n++)
			memcpy(many + n * cells, x + n % first * cells, cells * sizeof *x);
		shape[0] = MANY;
		for (unsigned t = 0; t < 3; t++)
			out[t] = run_case(&cases[i], t + 1, many, shape, &width);
		for (unsigned t = 1; t < 3; t++)
			assert_memory_equal(out[0], out[t], MANY * width * sizeof(float));
		for (size_t n = first; n < MANY; n++)
			assert_memory_equal(out[0] + n * width, out[0] + n % first * width,
			                    width * sizeof(float));
		for (unsigned t = 0; t < 3; t++)
			inv_free(out[t]);
		inv_free(many);
		inv_free(x);
	}
}

static invar_status open_in(invar_context *ctx, const char *weights, const char *precision,
                            invar_encoder **out)
{
	return invar_encoder_open(ctx, weights,
	                          test_kept("features", "precision", precision, NULL), out);
}

/*
 * The features of the first images in batches of other sizes, which are cut into groups,
 * smaller groups, and images that all threads compute together.
 */
static void check_batches(invar_context *ctx, const char *weights, const char *precision,
                          const float *x, const uint64_t shape[4], const float *want)
{
	static const uint64_t batches[] = {1, 2, 3, 7, 8, 9};
	invar_encoder *e;
	uint64_t width;
	float *got;

	check(open_in(ctx, weights, precision, &e));
	check(invar_encoder_width(e, shape, &width));
	assert_non_null(got = inv_alloc(shape[0] * width * sizeof *got));
	for (size_t i = 0; i < sizeof batches / sizeof *batches && batches[i] <= shape[0];
	     i++) {
		const uint64_t few[4] = {batches[i], shape[1], shape[2], shape[3]};

		check(invar_encoder_run(e, x, few, got));
		if (memcmp(got, want, batches[i] * width * sizeof *got) != 0)
			fail_msg("%s at %d in %s: bits differ in a batch of %d on %u threads", weights,
			         (int)shape[2], precision, (int)batches[i], ctx->threads);
	}
	inv_free(got);
	invar_encoder_close(e);
}

static void check_all_batches(const char *weights, const char *precision, const float *x,
                              const uint64_t shape[4])
{
	invar_context *ctx;
	invar_encoder *e;
	uint64_t width;
	float *want;

	check(invar_context_new(1, NULL, &ctx));
	check(open_in(ctx, weights, precision, &e));
	check(invar_encoder_width(e, shape, &width));
	assert_non_null(want = inv_alloc(shape[0] * width * sizeof *want));
	check(invar_encoder_run(e, x, shape, want));
	invar_encoder_close(e);
	invar_context_free(ctx);
	for (unsigned threads = 1; threads <= 3; threads++) {
		check(invar_context_new(threads, NULL, &ctx));
		check_batches(ctx, weights, precision, x, shape, want);
		invar_context_free(ctx);
	}
	inv_free(want);
}

static float *wave(size_t count)
{
	float *x = inv_alloc(count * sizeof *x);

	assert_non_null(x);
	for (size_t i = 0; i < count; i++)
		x[i] = sinf(0.37f * (float)i) + cosf(0.0113f * (float)i);
	return x;
}

static void no_bit_depends_on_the_batch(void **state)
{
	static const char *const files[] = {"bottleneck", "basic", "cifar", "squeeze", "wide"};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const uint64_t shape[4] = {16, strcmp(files[i], "basic") == 0 ? 1 : 3, 40, 33};
		float *x = wave((size_t)(shape[0] * shape[1] * shape[2] * shape[3]));

		check_all_batches(tiny(files[i]), "float32", x, shape);
		check_all_batches(tiny(files[i]), "bfloat16", x, shape);
		check_all_batches(tiny(files[i]), "int8", x, shape);
		inv_free(x);
	}
}

/* ---- A larger one, made here ------------------------------------------------------- */

enum { MADE_TENSORS = 5 * (1 + 4 * 4), MADE_NAME = 64 };

typedef struct made_net {
	inv_tensor_out list[MADE_TENSORS];
	char name[MADE_TENSORS][MADE_NAME];
	size_t count;
	float ones[512]; /* variances */
} made_net;

/* A convolution and its batch norm, whose numbers are taken from one list. */
static void make_layer(made_net *m, const char *conv, const char *norm, size_t outputs,
                       size_t channels, size_t kernel, const float *numbers)
{
	static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};

	snprintf(m->name[m->count], MADE_NAME, "%s.weight", conv);
	m->list[m->count] = (inv_tensor_out){
		m->name[m->count], 4, {outputs, channels, kernel, kernel}, numbers};
	m->count++;
	for (size_t i = 0; i < 4; i++, m->count++) {
		snprintf(m->name[m->count], MADE_NAME, "%s.%s", norm, parts[i]);
		m->list[m->count] = (inv_tensor_out){
			m->name[m->count], 1, {outputs}, i == 3 ? m->ones : numbers + 7 * i};
	}
}

/* One block per stage, as wide as half a ResNet-18 or a quarter of a ResNet-50. */
static const char *make_resnet(bool bottleneck)
{
	enum { LARGEST = 256 * 256 * 9 };
	static char path[2048]; /* test_text below reuses the buffers of test_path */
	float *numbers = wave(LARGEST + 64);
	made_net *m = inv_calloc(1, sizeof *m);
	size_t in = 32;

	snprintf(path, sizeof path, "%s",
	         test_path(bottleneck ? "bottleneck.safetensors" : "basic.safetensors"));
	for (size_t i = 0; i < LARGEST + 64; i++)
		numbers[i] *= 0.05f;
	for (size_t i = 0; i < sizeof m->ones / sizeof *m->ones; i++)
		m->ones[i] = 1;
	make_layer(m, "conv1", "bn1", in, 3, 7, numbers);
	for (int i = 1; i <= 4; i++) {
		size_t planes = (size_t)16 << (bottleneck ? i - 1 : i), k = bottleneck ? 1 : 3;
		size_t outputs = bottleneck ? 4 * planes : planes;

		make_layer(m, test_text("layer%d.0.conv1", i), test_text("layer%d.0.bn1", i),
		           planes, in, k, numbers + 1);
		make_layer(m, test_text("layer%d.0.conv2", i), test_text("layer%d.0.bn2", i),
		           planes, planes, 3, numbers + 2);
		if (bottleneck)
			make_layer(m, test_text("layer%d.0.conv3", i), test_text("layer%d.0.bn3", i),
			           outputs, planes, 1, numbers + 3);
		make_layer(m, test_text("layer%d.0.downsample.0", i),
		           test_text("layer%d.0.downsample.1", i), outputs, in, 1, numbers + 4);
		in = outputs;
	}
	check(inv_safetensors_save(path, m->list, m->count, NULL, 0));
	inv_free(numbers);
	inv_free(m);
	return path;
}

/* In tiles and direct; groups of 16 and 8, whose first layers take fewer images. */
static void no_bit_of_larger_networks_depends_on_the_batch(void **state)
{
	static const struct {
		bool bottleneck;
		uint64_t side;
		const char *precision;
	} made[] = {{false, 96, "float32"}, {false, 224, "float32"},  {true, 96, "float32"},
	            {true, 224, "float32"}, {false, 224, "bfloat16"}, {true, 224, "int8"}};

	(void)state;
	if (getenv("INVAR_CPU"))
		skip(); /* the plain loop would take minutes */
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		const uint64_t shape[4] = {16, 3, made[i].side, made[i].side};
		float *x = wave((size_t)(16 * 3 * made[i].side * made[i].side));

		check_all_batches(make_resnet(made[i].bottleneck), made[i].precision, x, shape);
		inv_free(x);
	}
}

/* Without layers that take fewer images, with some, and with odd sides. */
static void small_images_agree_with_the_plain_path(void **state)
{
	static const uint64_t sides[][2] = {{4, 4},   {8, 8},   {16, 16}, {24, 9},
	                                    {32, 32}, {33, 32}, {40, 17}};
	enum { N = 19, MOST = N * 3 * 40 * 40 };
	float *x = wave(MOST);

	(void)state;
	if (getenv("INVAR_CPU"))
		skip();
	for (size_t i = 0; i < CASES; i++)
		for (size_t j = 0; j < sizeof sides / sizeof *sides; j++) {
			bool grey = strcmp(cases[i].images, "grey") == 0;
			uint64_t shape[4] = {N, grey ? 1 : 3, sides[j][0], sides[j][1]}, width;
			float *fast, *plain;

			if (strcmp(cases[i].weights, "squeeze") == 0 && shape[3] < 25)
				continue;
			fast = run_case(&cases[i], 1, x, shape, &width);
			setenv("INVAR_CPU", "ref", 1);
			plain = run_case(&cases[i], 1, x, shape, &width);
			unsetenv("INVAR_CPU");
			assert_near(cases[i].expected, fast, plain, N * width, 5e-6);
			inv_free(fast);
			inv_free(plain);
		}
	inv_free(x);
}

static void the_plain_path_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		uint64_t shape[4], width;
		float *x = load(tiny("values"), cases[i].images, shape);
		float *fast = run_case(&cases[i], 1, x, shape, &width), *plain;
		const char *before = getenv("INVAR_CPU");

		if (before)
			skip();
		setenv("INVAR_CPU", "ref", 1);
		plain = run_case(&cases[i], 1, x, shape, &width);
		unsetenv("INVAR_CPU");
		assert_near(cases[i].expected, fast, plain, shape[0] * width, 2e-6);
		inv_free(x);
		inv_free(fast);
		inv_free(plain);
	}
}

/* ---- Published forms, tiny -------------------------------------------------------- */

static void check_published(const golden_encoder *c, void *user)
{
	invar_encoder *e = golden_encoder_open(user, c);
	double gap = golden_encoder_gap(e, c);

	if (!(gap <= c->tolerance))
		fail_msg("%s: features are %.3g off, more than %.3g", c->name, gap, c->tolerance);
	invar_encoder_close(e);
}

/* Hugging Face's, and where they are there torchvision's, DINO's and SwAV's files. */
static void published_forms_give_their_features(void **state)
{
	static const char *const families[] = {"resnet", "hf_resnet", NULL};

	(void)state;
	assert_true(golden_encoders(families, check_published, test_ctx) >= 2);
}

/* ---- What is refused -------------------------------------------------------------- */

static void shapes_that_do_not_fit_are_refused(void **state)
{
	uint64_t small[4] = {1, 3, 6, 90}, grey[4] = {1, 1, 64, 64}, dot[4] = {1, 3, 1, 1};
	uint64_t width;
	invar_encoder *e;

	(void)state;
	check(invar_encoder_open(test_ctx, tiny("squeeze"), NULL, &e));
	assert_int_equal(invar_encoder_width(e, small, &width), INVAR_E_USE);
	test_assert_error("images of 6 x 90 are too small for this SqueezeNet");
	assert_int_equal(invar_encoder_width(e, grey, &width), INVAR_E_MISMATCH);
	test_assert_error("images have 1 channel but this SqueezeNet takes 3");
	invar_encoder_close(e);
	check(invar_encoder_open(test_ctx, tiny("bottleneck"), NULL, &e));
	check(invar_encoder_width(e, dot, &width));
	invar_encoder_close(e);
}

typedef struct damage {
	const char *weights, *from, *to; /* in the header; of the same length */
	const char *sentence;
} damage;

/* A copy of the weights with one word of its header changed. */
static const char *damaged(const damage *d)
{
	const char *path = test_path("damaged.safetensors");
	size_t bytes, length = strlen(d->from);
	char *text = test_read(tiny(d->weights), &bytes), *at = NULL;

	assert_int_equal(length, strlen(d->to));
	for (size_t i = 8; i + length < bytes && !at; i++)
		if (memcmp(text + i, d->from, length) == 0)
			at = text + i;
	assert_non_null(at);
	memcpy(at, d->to, length);
	test_write(path, text, bytes);
	free(text);
	return path;
}

static void missing_extra_and_misshapen_tensors_are_named(void **state)
{
	static const damage all[] = {
		{"bottleneck", "layer2.1.bn2.running_var", "layer2.1.bn2.running_vax",
	     "has no tensor 'layer2.1.bn2.running_var'"},
		{"bottleneck", "layer2.0.downsample.0", "layer2.0.downsample.9",
	     "has no tensor 'layer2.0.downsample.0.weight'"},
		{"bottleneck", "[20,8,1,1]", "[40,4,1,1]", "has shape [40, 4, 1, 1] but must have"},
		{"basic", "layer3.1.conv1", "layer3.2.conv1", "which no known ResNet has"},
		{"cifar", "layer1.1.bn1.bias", "layer1.1.bn1.bxas",
	     "has no tensor 'layer1.1.bn1.bias'"},
		{"squeeze", "features.7.expand3x3.bias", "features.7.expand3x3.bixs",
	     "has no tensor 'features.7.expand3x3.bias'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		invar_encoder *e;

		assert_int_equal(invar_encoder_open(test_ctx, damaged(&all[i]), NULL, &e),
		                 INVAR_E_MISMATCH);
		test_assert_error(all[i].sentence);
		assert_null(e);
	}
}

/* One channel everywhere, and a layer of more blocks than there may be. */
static void a_network_too_deep_is_refused(void **state)
{
	enum { BLOCKS = 1100, EACH = 10, MOST = 5 + (BLOCKS + 2) * EACH, NAME = 80 };
	static const char *const parts[] = {"conv1.weight", "bn1.weight", "bn1.bias",
	                                    "bn1.running_mean", "bn1.running_var"};
	static const float one[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	inv_tensor_out *list = inv_calloc(MOST, sizeof *list);
	char(*name)[NAME] = inv_calloc(MOST, sizeof *name);
	const char *path = test_path("deep.safetensors");
	invar_encoder *e;
	size_t n = 0;

	(void)state;
	for (size_t block = 0; block <= BLOCKS + 2; block++)
		for (int k = block ? 2 : 1; k > 0; k--)
			for (size_t i = 0; i < 5; i++, n++) {
				size_t layer = block <= BLOCKS ? 1 : block - BLOCKS + 1;
				char part[20];

				snprintf(part, sizeof part, "%s", parts[i]);
				*strchr(part, '1') = (char)('0' + k);
				if (block)
					snprintf(name[n], NAME, "layer%zu.%zu.%s", layer,
					         layer == 1 ? block - 1 : 0, part);
				else
					snprintf(name[n], NAME, "%s", part);
				list[n] = (inv_tensor_out){name[n], i ? 1 : 4, {1, 1, 3, 3}, one};
			}
	check(inv_safetensors_save(path, list, n, NULL, 0));
	inv_free(list);
	inv_free(name);
	assert_int_equal(invar_encoder_open(test_ctx, path, NULL, &e), INVAR_E_MISMATCH);
	test_assert_error("has more than 2048 layers, the maximum");
}

/* ---- Real ones -------------------------------------------------------------------- */

typedef struct real_case {
	const char *encoder, *archive, *dataset, *expected;
} real_case;

/* The first four test images as the encoder wants them, native size. */
static float *prepare(const invar_encoder *e, const char *place, uint64_t shape[4])
{
	enum { N = 4 };
	inv_preparation how = {.channels = 3};
	const inv_images *split;
	inv_preparer *r;
	invar_dataset *d;
	float *x = NULL;

	check(inv_normalisation_parse(e->input.normalisation, &how.normalisation));
	check(inv_preparer_new(0, &how, &r));
	check(invar_dataset_open(test_ctx, place, NULL, &d));
	check(inv_dataset_need_split(d, "test", &split));
	for (uint64_t i = 0; i < N; i++) {
		inv_image image = {0};
		size_t cells;

		check(inv_images_read(d, split, i, &image));
		cells = (size_t)image.width * image.height * 3;
		if (!x)
			assert_non_null(x = inv_alloc(N * cells * sizeof *x));
		check(inv_prepare(r, &image, "image", x + i * cells));
		memcpy(shape, (uint64_t[4]){N, 3, image.height, image.width}, 4 * sizeof *shape);
		inv_image_clear(&image);
	}
	invar_dataset_close(d);
	inv_preparer_free(r);
	return x;
}

static void unpack(const char *archive)
{
	char command[2048];
	const char *path = test_shared("data/%s", archive);

	snprintf(command, sizeof command, "cd '%s' && tar -xf '%s' 2> tar.err", test_folder(),
	         path);
	if (system(command) != 0) {
		print_message("skipped: tar and xz are needed to unpack %s\n", path);
		skip();
	}
}

static void check_real(const real_case *c, const char *weights)
{
	uint64_t shape[4], wanted[4], width;
	float *x, *want, *got;
	invar_encoder *e;
	char place[2048];

	check(invar_encoder_open(test_ctx, weights,
	                         test_kept("features", "encoder", c->encoder, NULL), &e));
	unpack(c->archive);
	snprintf(place, sizeof place, "%s:%s", c->dataset, test_folder());
	x = prepare(e, place, shape);
	want = load(test_shared("data/reference_outputs.safetensors"), c->expected, wanted);
	check(invar_encoder_width(e, shape, &width));
	assert_int_equal(width, wanted[1]);
	assert_non_null(got = inv_alloc(shape[0] * width * sizeof *got));
	check(invar_encoder_run(e, x, shape, got));
	assert_near(c->expected, got, want, shape[0] * width, 1e-5);
	inv_free(x);
	inv_free(want);
	inv_free(got);
	invar_encoder_close(e);
}

static void squeezenet_equals_pytorch(void **state)
{
	static const real_case c = {"squeezenet1_1", "stl10_binary_mini.tar.xz", "stl10",
	                            "squeezenet1_1.features"};

	(void)state;
	check_real(&c, test_need_shared("data/squeezenet1_1_caffe.f16.safetensors"));
}

static void resnet20_equals_pytorch(void **state)
{
	static const real_case c = {"cifar10_resnet20", "cifar10_subset.tar.xz", "cifar10",
	                            "cifar_resnet20.features"};

	(void)state;
	check_real(&c, test_need_shared("data/cifar10_resnet20.safetensors"));
}

/* The file as its author published it, in PyTorch's legacy format. */
static void resnet56_equals_pytorch(void **state)
{
	static const real_case c = {"cifar10_resnet56", "cifar10_subset.tar.xz", "cifar10",
	                            "cifar_resnet56.features"};

	(void)state;
	check_real(&c, test_need_shared("data/cifar10_resnet56-4bfd9763.th"));
}

/* Made by get_resnet50.py; $INVAR_WEIGHTS is the folder it was put in. */
static void resnet50_equals_pytorch(void **state)
{
	static const real_case c = {"resnet50_keras", "stl10_binary_mini.tar.xz", "stl10",
	                            "resnet50.features"};
	const char *folder = getenv("INVAR_WEIGHTS");
	char path[1024];

	(void)state;
	test_need_shared("data/reference_outputs.safetensors");
	snprintf(path, sizeof path, "%s/resnet50_keras.f16.safetensors", folder ? folder : ".");
	if (!folder || !test_exists(path)) {
		print_message("skipped: INVAR_WEIGHTS names no folder with "
		              "resnet50_keras.f16.safetensors\n");
		skip();
	}
	check_real(&c, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_equal_the_definitions),
		cmocka_unit_test(no_bit_depends_on_the_threads),
		cmocka_unit_test(no_bit_depends_on_the_batch),
		cmocka_unit_test(no_bit_of_larger_networks_depends_on_the_batch),
		cmocka_unit_test(the_plain_path_agrees),
		cmocka_unit_test(small_images_agree_with_the_plain_path),
		cmocka_unit_test(published_forms_give_their_features),
		cmocka_unit_test(shapes_that_do_not_fit_are_refused),
		cmocka_unit_test(missing_extra_and_misshapen_tensors_are_named),
		cmocka_unit_test(a_network_too_deep_is_refused),
		cmocka_unit_test(squeezenet_equals_pytorch),
		cmocka_unit_test(resnet20_equals_pytorch),
		cmocka_unit_test(resnet56_equals_pytorch),
		cmocka_unit_test(resnet50_equals_pytorch),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
