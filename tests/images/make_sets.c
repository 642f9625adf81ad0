/* SPDX-License-Identifier: Apache-2.0 */
/* make_sets.c - small data sets on disk, for the tests of this room. */
#include "make_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/pixels.h"
#include "support.h"

const char *make_folder(const char *format, ...)
{
	char name[512], *slash = name;
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof name, format, args);
	va_end(args);
	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		mkdir(test_path("%s", name), 0777);
		*slash++ = '/';
	}
	mkdir(test_path("%s", name), 0777);
	return test_path("%s", name);
}

void make_bytes(const char *path, size_t bytes, unsigned first, unsigned step)
{
	uint8_t *data = malloc(bytes + 1);

	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(first + step * i);
	test_write(path, data, bytes);
	free(data);
}

void make_png(const char *path, uint8_t r, uint8_t g, uint8_t b)
{
	enum { WIDTH = 5, HEIGHT = 4 };
	uint8_t rgb[WIDTH * HEIGHT * 3];
	void *bytes;
	size_t size;

	for (size_t i = 0; i < sizeof rgb; i += 3) {
		rgb[i] = r;
		rgb[i + 1] = g;
		rgb[i + 2] = b;
	}
	assert_int_equal(inv_png_encode(rgb, WIDTH, HEIGHT, &bytes, &size), INVAR_OK);
	test_write(path, bytes, size);
	invar_free(bytes);
}

void make_idx(const char *path, unsigned ndim, const uint32_t *shape, unsigned first,
              unsigned step)
{
	size_t at = 4, cells = 1;
	uint8_t *data;

	for (unsigned k = 0; k < ndim; k++)
		cells *= shape[k];
	data = calloc(4 + 4 * ndim + cells, 1);
	data[2] = 8;
	data[3] = (uint8_t)ndim;
	for (unsigned k = 0; k < ndim; k++)
		for (unsigned byte = 0; byte < 4; byte++)
			data[at++] = (uint8_t)(shape[k] >> (24 - 8 * byte));
	for (size_t i = 0; i < cells; i++)
		data[at + i] = (uint8_t)(first + step * i);
	test_write(path, data, at + cells);
	free(data);
}

void make_npy(const char *path, const char *descr, const char *shape, const void *data,
              size_t bytes)
{
	enum { HEADER = 128 };
	char *whole = malloc(HEADER + bytes), text[HEADER - 9];

	snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
	         descr, shape);
	memcpy(whole, "\x93NUMPY\x01\x00\x76\x00", 10);
	snprintf(whole + 10, HEADER - 9, "%-117s", text);
	whole[HEADER - 1] = '\n';
	memcpy(whole + HEADER, data, bytes);
	test_write(path, whole, HEADER + bytes);
	free(whole);
}

void make_text(const char *path, const char *text)
{
	test_write(path, text, strlen(text));
}
