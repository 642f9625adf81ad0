/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_npy.c - any bytes as a NumPy file: mapped reading, then a pipe.
 *
 * Beyond not crashing, two ways to read the same bytes must agree: what the
 * reader accepts, the stream accepts (except for Fortran order), and the floats
 * are equal.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/npy.h"
#include "fuzz.h"

enum { MAX_CELLS = 1 << 16 };

static void read_pieces(const inv_npy *a, float *out)
{
	uint64_t middle = a->h.cells / 2;

	require(inv_npy_read(a, 0, middle, out) == INVAR_OK);
	require(inv_npy_read(a, middle, a->h.cells - middle, out + middle) == INVAR_OK);
	require(inv_npy_read(a, 0, a->h.cells + 1, out) == INVAR_E_USE);
}

static void read_integers(const inv_npy *a)
{
	int64_t *out = malloc(a->h.cells * sizeof *out + 1);
	invar_status st = inv_npy_read_int(a, 0, a->h.cells, out);

	require(st == INVAR_OK || st == INVAR_E_FORMAT);
	free(out);
}

/*
 * The floats of the whole array, or NULL if it is rejected. A file in memory
 * replaces the pipe: reading it never blocks.
 */
static float *stream(const uint8_t *data, size_t size)
{
	int fd = memfd_create("npy", 0);
	float *out = NULL;
	inv_npy_stream s;
	invar_status st;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	        lseek(fd, 0, SEEK_SET) == 0);
	st = inv_npy_stream_open(NULL, fd, "pipe", &s);
	if (st == INVAR_OK && s.left <= MAX_CELLS) {
		out = malloc(s.left * sizeof *out + 1);
		st = inv_npy_stream_read(&s, s.left, out);
		if (st == INVAR_OK)
			st = inv_npy_stream_end(&s);
	}
	close(fd);
	if (st == INVAR_OK)
		return out;
	free(out);
	return NULL;
}

static void compare_roads(const inv_npy *a, const float *piped)
{
	float *mapped = malloc(a->h.cells * sizeof *mapped + 1);

	read_pieces(a, mapped);
	require(a->h.fortran == !piped);
	if (piped)
		require(memcmp(mapped, piped, a->h.cells * sizeof *mapped) == 0);
	free(mapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	float *piped = stream(data, size);
	inv_npy *a;
	bool accepted = inv_npy_view(data, size, "fuzz.npy", &a) == INVAR_OK;

	require(accepted == (a != NULL));
	require(accepted || !piped);
	if (accepted && a->h.cells <= MAX_CELLS) {
		compare_roads(a, piped);
		read_integers(a);
	}
	inv_npy_close(a);
	free(piped);
	return 0;
}
