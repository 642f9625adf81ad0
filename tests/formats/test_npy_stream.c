/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy_stream.c - claims about arrays that come through a pipe. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/npy.h"
#include "support.h"

/* Writes bytes to a pipe in small, slow pieces, as a network does. */
typedef struct feeder {
	pthread_t thread, reader;
	int fd;
	const unsigned char *bytes;
	size_t size, piece;
	bool interrupt;
} feeder;

static void nothing(int signal)
{
	(void)signal;
}

static void *feed(void *user)
{
	feeder *f = user;

	for (size_t done = 0, n; done < f->size; done += n) {
		n = f->size - done < f->piece ? f->size - done : f->piece;
		if (write(f->fd, f->bytes + done, n) != (ssize_t)n)
			break;
		if (f->interrupt) {
			usleep(200);
			pthread_kill(f->reader, SIGUSR1);
		}
	}
	close(f->fd);
	return NULL;
}

/* Reads a whole array from such a pipe, `step` elements at a time. */
static invar_status pass(const unsigned char *bytes, size_t size, bool interrupt,
                         uint64_t step, float *out, inv_npy_stream *s)
{
	feeder f = {.bytes = bytes, .size = size, .piece = 7, .interrupt = interrupt};
	invar_status st;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	f.fd = ends[1];
	f.reader = pthread_self();
	assert_int_equal(pthread_create(&f.thread, NULL, feed, &f), 0);
	st = inv_npy_stream_open(NULL, ends[0], "standard input", s);
	for (uint64_t n; st == INVAR_OK && s->left; out += n) {
		n = s->left < step ? s->left : step;
		st = inv_npy_stream_read(s, n, out);
	}
	if (st == INVAR_OK)
		st = inv_npy_stream_end(s);
	close(ends[0]);
	pthread_join(f.thread, NULL);
	return st;
}

static void short_reads_and_interruptions_change_nothing(void **state)
{
	static const char *names[] = {"f4_le_c.npy", "f2_be_c.npy", "i8_le_c.npy", "scalar.npy",
	                              "empty.npy"};
	struct sigaction action = {.sa_handler = nothing}; /* without SA_RESTART */

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *path = test_source("tests/formats/data/%s", names[i]);
		float streamed[64], mapped[64];
		inv_npy_stream s;
		inv_npy *a;
		size_t size;
		unsigned char *bytes = test_read(path, &size);

		assert_int_equal(inv_npy_open(path, &a), INVAR_OK);
		assert_int_equal(inv_npy_read(a, 0, a->h.cells, mapped), INVAR_OK);
		assert_int_equal(pass(bytes, size, true, 5, streamed, &s), INVAR_OK);
		assert_int_equal(s.h.ndim, a->h.ndim);
		assert_memory_equal(streamed, mapped, a->h.cells * sizeof(float));
		inv_npy_close(a);
		free(bytes);
	}
}

static void a_pipe_that_ends_early_is_refused_at_every_byte(void **state)
{
	size_t size;
	unsigned char *bytes =
		test_read(test_source("tests/formats/data/version_2.npy"), &size);
	inv_npy_stream s;
	float out[6];

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(pass(bytes, cut, false, 6, out, &s), INVAR_E_FORMAT);
	test_assert_error("ends after 5 elements, expected 6 for shape (2, 3)");
	free(bytes);
}

static void what_follows_the_array_is_refused(void **state)
{
	size_t size;
	unsigned char *bytes = test_read(test_source("tests/formats/data/vector.npy"), &size);
	inv_npy_stream s;
	float out[5];

	(void)state;
	/* test_read adds a NUL after the file: one byte too many. */
	assert_int_equal(pass(bytes, size + 1, false, 5, out, &s), INVAR_E_FORMAT);
	test_assert_error("has extra data after the 5 elements");
	free(bytes);
}

static void fortran_order_is_refused_with_advice(void **state)
{
	size_t size;
	unsigned char *bytes = test_read(test_source("tests/formats/data/f4_le_f.npy"), &size);
	inv_npy_stream s;
	float out[12];

	(void)state;
	assert_int_equal(pass(bytes, size, false, 12, out, &s), INVAR_E_FORMAT);
	test_assert_error("save it in C order");
	free(bytes);
}

static void a_header_is_bounded(void **state)
{
	static const unsigned char claim[] = "\x93NUMPY\x02\x00\xff\xff\xff\x7f {'descr'";
	inv_npy_stream s;

	(void)state;
	assert_int_equal(pass(claim, sizeof claim - 1, false, 1, NULL, &s), INVAR_E_FORMAT);
	test_assert_error("claims a header of 2147483647 bytes");
}

static void more_than_is_left_cannot_be_read(void **state)
{
	inv_npy_stream s = {.fd = -1, .name = "-", .left = 2};
	float out[3];

	(void)state;
	assert_int_equal(inv_npy_stream_read(&s, 3, out), INVAR_E_USE);
	assert_int_equal(inv_npy_stream_end(&s), INVAR_E_USE);
	s.h.dtype = INV_F32;
	assert_int_equal(inv_npy_stream_read(&s, 1, out), INVAR_E_IO);
	test_assert_error("cannot read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_reads_and_interruptions_change_nothing),
		cmocka_unit_test(a_pipe_that_ends_early_is_refused_at_every_byte),
		cmocka_unit_test(what_follows_the_array_is_refused),
		cmocka_unit_test(fortran_order_is_refused_with_advice),
		cmocka_unit_test(a_header_is_bounded),
		cmocka_unit_test(more_than_is_left_cannot_be_read),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("npy_stream", tests, NULL, NULL);
}
