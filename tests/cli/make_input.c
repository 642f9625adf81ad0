/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_input.c - small inputs for the transcripts, made with the public API.
 *
 *     make-input bank FOLDER [ROWS [DIM [SHIFT]]]  a bank of synthetic features; SHIFT
 *                                             changes its copies, not its clean rows
 *     make-input npy FILE.npy 4 3 8           an array of that shape
 *     make-input nan FILE.npy 4 8             the same with a NaN in its middle
 *     make-input range FILE.npy 12            0, 1, 2 … 11
 *     make-input labels FILE.npy 40 0 1 -1    40 integers: 0, 1, -1, 0, 1, -1 …
 *     make-input equal FILE.npy 40 8          an array of that shape, all ones
 *     make-input photos FOLDER 600            as many PNG files of 16 x 16, in two classes
 *     make-input compare A.npy B.npy 1e-5     fails unless max |A - B| <= 1e-5 max |A|
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "formats/npy.h"
#include "formats/pixels.h"
#include "invar.h"

static int fail(void)
{
	fprintf(stderr, "make-input: %s\n", invar_last_error());
	return EXIT_FAILURE;
}

static int make_bank(invar_context *ctx, int argc, char **argv)
{
	invar_options *o;
	bool fine = invar_options_new("synthetic", &o) == INVAR_OK &&
	            invar_options_set(o, "rows", argc > 3 ? argv[3] : "64") == INVAR_OK &&
	            invar_options_set(o, "test-rows", "40") == INVAR_OK &&
	            invar_options_set(o, "dim", argc > 4 ? argv[4] : "8") == INVAR_OK &&
	            invar_options_set(o, "classes", "4") == INVAR_OK &&
	            invar_options_set(o, "copies", "3") == INVAR_OK &&
	            (argc < 6 || invar_options_set(o, "shift", argv[5]) == INVAR_OK) &&
	            invar_bank_synthesize(ctx, o, argv[2]) == INVAR_OK;

	invar_options_free(o);
	return fine ? EXIT_SUCCESS : fail();
}

/* The public API writes only floats: a header of 128 bytes, then int64. */
static int make_labels(int argc, char **argv)
{
	unsigned long count = strtoul(argv[3], NULL, 10);
	FILE *f = fopen(argv[2], "wb");
	char header[119] = "";

	if (!f)
		return EXIT_FAILURE;
	snprintf(header, sizeof header,
	         "{'descr': '<i8', 'fortran_order': False, 'shape': (%lu,), }", count);
	fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
	fprintf(f, "%-117s\n", header);
	for (unsigned long i = 0; i < count; i++) {
		int64_t label = strtoll(argv[4 + i % ((unsigned long)argc - 4)], NULL, 10);

		fwrite(&label, sizeof label, 1, f);
	}
	return fclose(f) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int make_photos(invar_context *ctx, char **argv)
{
	unsigned long count = strtoul(argv[3], NULL, 10);
	invar_status st = INVAR_OK;

	for (unsigned long i = 0; i < count && st == INVAR_OK; i++) {
		const char *class = i % 2 ? "odd" : "even";
		char path[4096];
		uint8_t rgb[3 * 16 * 16];
		void *bytes = NULL;
		size_t size;

		for (size_t j = 0; j < sizeof rgb; j++)
			rgb[j] = (uint8_t)(i * 37 + j * 11 + i * j % 101);
		mkdir(argv[2], 0777);
		snprintf(path, sizeof path, "%s/%s", argv[2], class);
		mkdir(path, 0777);
		snprintf(path, sizeof path, "%s/%s/%04lu.png", argv[2], class, i);
		st = inv_png_encode(rgb, 16, 16, &bytes, &size);
		if (st == INVAR_OK)
			st = inv_file_write(ctx, path, bytes, size);
		invar_free(bytes);
	}
	return st == INVAR_OK ? EXIT_SUCCESS : fail();
}

static int make_array(invar_context *ctx, int argc, char **argv)
{
	uint64_t shape[4], cells = 1;
	unsigned ndim = 0;
	float *data;
	invar_status st;

	for (int i = 3; i < argc && ndim < 4; i++)
		cells *= shape[ndim++] = strtoull(argv[i], NULL, 10);
	if (!(data = malloc((cells ? cells : 1) * sizeof *data)))
		return EXIT_FAILURE;
	for (uint64_t i = 0; i < cells; i++)
		data[i] = strcmp(argv[1], "range") == 0   ? (float)i
		          : strcmp(argv[1], "equal") == 0 ? 1
		                                          : (float)(i % 7) - 3;
	if (strcmp(argv[1], "nan") == 0 && cells)
		data[cells / 2] = NAN;
	st = invar_array_write(ctx, argv[2], data, ndim, shape, INVAR_FLOAT32);
	free(data);
	return st == INVAR_OK ? EXIT_SUCCESS : fail();
}

static float *load(invar_context *ctx, const char *path, uint64_t *count)
{
	invar_array *a;
	float *data = NULL;

	if (invar_array_open(ctx, path, &a) != INVAR_OK)
		return NULL;
	*count = a->h.cells;
	data = malloc((*count ? *count : 1) * sizeof *data);
	if (data && invar_array_read(a, 0, *count, data) != INVAR_OK) {
		free(data);
		data = NULL;
	}
	invar_array_close(a);
	return data;
}

static int compare(invar_context *ctx, char **argv)
{
	uint64_t na = 0, nb = 0;
	float *a = load(ctx, argv[2], &na), *b = load(ctx, argv[3], &nb);
	double max = 0, gap = 0;
	int code = EXIT_FAILURE;

	if (!a || !b || na != nb) {
		fail();
	} else {
		for (uint64_t i = 0; i < na; i++) {
			max = fmax(max, fabs((double)a[i]));
			gap = fmax(gap, fabs((double)a[i] - (double)b[i]));
		}
		printf("largest gap %.3g of %.3g\n", gap, max);
		code = gap <= strtod(argv[4], NULL) * max ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	free(a);
	free(b);
	return code;
}

int main(int argc, char **argv)
{
	invar_context *ctx;
	int code;

	if (argc < 3 || invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return EXIT_FAILURE;
	if (strcmp(argv[1], "bank") == 0)
		code = make_bank(ctx, argc, argv);
	else if (strcmp(argv[1], "photos") == 0 && argc == 4)
		code = make_photos(ctx, argv);
	else if (strcmp(argv[1], "labels") == 0 && argc > 4)
		code = make_labels(argc, argv);
	else if (strcmp(argv[1], "compare") == 0 && argc == 5)
		code = compare(ctx, argv);
	else
		code = make_array(ctx, argc, argv);
	invar_context_free(ctx);
	return code;
}
