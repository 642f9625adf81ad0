/* SPDX-License-Identifier: Apache-2.0 */
/* test_callback_encoder.c - an encoder that is a function: batches, threads, failures. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "encoders/encoder.h"
#include "support.h"

enum { H = 3, W = 2, CELLS = 3 * H * W, WIDTH = 4, IMAGES = 37 };

/* What the function was called with, and what it does. */
typedef struct function {
	size_t calls, images, most;
	pthread_t thread;
	bool other_thread;
	invar_status result; /* of the call `fails_at`, counted from 1 */
	size_t fails_at;
	const char *says;
	size_t fills; /* of each row; 0: WIDTH */
} function;

/* Feature j of an image is j plus the sum of its pixels. */
static invar_status sum_pixels(void *user, const float *nchw, const uint64_t shape[4],
                               float *out, char *message, size_t size)
{
	function *f = user;
	size_t cells = shape[1] * shape[2] * shape[3], fills = f->fills ? f->fills : WIDTH;

	f->calls++;
	f->images += shape[0];
	f->most = shape[0] > f->most ? shape[0] : f->most;
	f->other_thread = f->other_thread || !pthread_equal(f->thread, pthread_self());
	if (f->calls == f->fails_at) {
		snprintf(message, size, "%s", f->says);
		return f->result;
	}
	for (size_t i = 0; i < shape[0]; i++) {
		float sum = 0;

		for (size_t k = 0; k < cells; k++)
			sum += nchw[i * cells + k];
		for (size_t j = 0; j < fills; j++)
			out[i * fills + j] = sum + (float)j;
	}
	return INVAR_OK;
}

static invar_encoder_callback describe(function *f)
{
	f->thread = pthread_self();
	return (invar_encoder_callback){.size = sizeof(invar_encoder_callback),
	                                .user = f,
	                                .run = sum_pixels,
	                                .name = "sums",
	                                .width = WIDTH};
}

static invar_encoder *make(const invar_encoder_callback *c)
{
	invar_encoder *e;

	assert_int_equal(invar_encoder_from_callback(test_ctx, c, &e), INVAR_OK);
	return e;
}

static float images[IMAGES * CELLS], features[IMAGES * WIDTH];
static const uint64_t whole[4] = {IMAGES, 3, H, W};

static int fill_images(void **state)
{
	for (size_t i = 0; i < IMAGES * CELLS; i++)
		images[i] = (float)(i % 7) / 8;
	return test_context_open(state);
}

static void batches_reach_the_function_on_this_thread(void **state)
{
	static const size_t batches[] = {1, 4, 16, 32, 0};

	(void)state;
	for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
		size_t batch = batches[b] ? batches[b] : 64;
		function f = {0};
		invar_encoder_callback c = describe(&f);
		invar_encoder *e;
		uint64_t width;

		c.batch = (uint32_t)batches[b];
		e = make(&c);
		assert_int_equal(invar_encoder_width(e, whole, &width), INVAR_OK);
		assert_int_equal(width, WIDTH);
		assert_int_equal(invar_encoder_run(e, images, whole, features), INVAR_OK);
		assert_int_equal(f.images, IMAGES);
		assert_int_equal(f.most, batch < IMAGES ? batch : IMAGES);
		assert_false(f.other_thread);
		for (size_t i = 0; i < IMAGES; i++) {
			float sum = 0;

			for (size_t k = 0; k < CELLS; k++)
				sum += images[i * CELLS + k];
			assert_float_equal(features[i * WIDTH + 2], sum + 2, 1e-6);
		}
		invar_encoder_close(e);
	}
}

static void texts_are_copied_and_described(void **state)
{
	char name[] = "mine", normalize[] = "0.5/0.5";
	function f = {0};
	invar_encoder_callback c = describe(&f);
	invar_encoder *e;
	const char *hex;

	(void)state;
	c.name = name;
	c.normalize = normalize;
	c.side = 24;
	e = make(&c);
	name[0] = normalize[0] = '?';
	assert_string_equal(invar_encoder_name(e), "mine");
	assert_string_equal(e->input.normalisation, "0.5/0.5");
	assert_int_equal(invar_encoder_side(e), 24);
	assert_non_null(strstr(invar_encoder_about(e), "width 4"));
	assert_int_equal(inv_encoder_sha256(e, &hex), INVAR_OK);
	assert_null(hex);
	invar_encoder_close(e);
}

static void assert_fails(function f, invar_status st, const char *sentence)
{
	invar_encoder_callback c = describe(&f);
	invar_encoder *e;

	c.batch = 16;
	e = make(&c);
	assert_int_equal(invar_encoder_run(e, images, whole, features), st);
	test_assert_error(sentence);
	if (f.fails_at)
		assert_int_equal(f.calls, f.fails_at); /* and is not called again */
	invar_encoder_close(e);
}

static void failures_of_the_function_are_failures_of_the_call(void **state)
{
	(void)state;
	assert_fails(
		(function){.fails_at = 2, .result = INVAR_E_IO, .says = "no answer from port 80"},
		INVAR_E_IO, "the encoder sums failed: no answer from port 80");
	assert_fails((function){.fails_at = 1, .result = INVAR_E_NOMEM, .says = ""},
	             INVAR_E_NOMEM, "the encoder sums failed");
	assert_fails((function){.fails_at = 1, .result = INVAR_E_CANCELLED, .says = ""},
	             INVAR_E_CANCELLED, "interrupted");
	assert_fails((function){.fails_at = 1, .result = (invar_status)77, .says = ""},
	             INVAR_E_USE, "returned 77, which is not an invar_status");
}

static void rows_of_another_width_are_found(void **state)
{
	(void)state;
	assert_fails(
		(function){.fills = WIDTH - 1}, INVAR_E_MISMATCH,
		"did not set value 0 of image 12 in a batch of 16; it must fill 4 numbers");
}

static void assert_refused(invar_encoder_callback c, const char *sentence)
{
	invar_encoder *e;

	assert_int_equal(invar_encoder_from_callback(test_ctx, &c, &e), INVAR_E_USE);
	assert_null(e);
	test_assert_error(sentence);
}

static void impossible_descriptions_are_refused(void **state)
{
	function f = {0};
	const invar_encoder_callback fine = describe(&f);
	invar_encoder_callback c;

	(void)state;
	c = fine;
	c.run = NULL;
	assert_refused(c, "needs a function");
	c = fine;
	c.name = "";
	assert_refused(c, "has no name");
	c = fine;
	c.width = 0;
	assert_refused(c, "1 to 16777216 numbers, not 0");
	c = fine;
	c.batch = 48;
	assert_refused(c, "a batch of 48 images is not possible");
	c = fine;
	c.batch = 512;
	assert_refused(c, "a batch of 512 images is not possible");
	c = fine;
	c.resize = 8;
	c.side = 16;
	assert_refused(c, "images resized to 8 and cropped to 16");
	c = fine;
	c.filter = "nearest";
	assert_refused(c, "the filter 'nearest' is not known");
	c = fine;
	c.normalize = "imagnet";
	assert_refused(c, "imagnet");
}

/* A program that was compiled when the struct ended after the width. */
static void shorter_structs_are_accepted(void **state)
{
	function f = {0};
	invar_encoder_callback c = describe(&f);
	invar_encoder *e;

	(void)state;
	c.size = offsetof(invar_encoder_callback, batch);
	c.batch = 77; /* not its own memory */
	c.normalize = (const char *)1;
	e = make(&c);
	assert_int_equal(invar_encoder_run(e, images, whole, features), INVAR_OK);
	invar_encoder_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_reach_the_function_on_this_thread),
		cmocka_unit_test(texts_are_copied_and_described),
		cmocka_unit_test(failures_of_the_function_are_failures_of_the_call),
		cmocka_unit_test(rows_of_another_width_are_found),
		cmocka_unit_test(impossible_descriptions_are_refused),
		cmocka_unit_test(shorter_structs_are_accepted),
	};

	return cmocka_run_group_tests(tests, fill_images, test_context_close);
}
