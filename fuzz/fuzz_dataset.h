/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dataset.h - any bytes as the file of a data set.
 *
 * What is accepted has classes with names, labels among them, and images with names; the
 * sizes of the first images are read, which may fail.
 */
#ifndef INV_FUZZ_DATASET_H
#define INV_FUZZ_DATASET_H

#include "fuzz_file.h"
#include "images/dataset.h"

enum { MAX_MEASURED = 8 };

static inline void check_images(const invar_dataset *d, const inv_images *s)
{
	uint32_t width, height;

	for (uint64_t i = 0; i < s->count; i++) {
		int32_t label = inv_images_label(d, s, i);

		require(label >= INV_NO_LABEL && label < (int64_t)d->classes.count);
		require(*inv_images_name(d, s, i));
		if (i < MAX_MEASURED && inv_images_measure(d, s, i, &width, &height) == INVAR_OK)
			require(width && height);
	}
}

static inline void fuzz_dataset(const char *kind, const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH], text[2 * FUZZ_PATH];
	int fd = memory_file(data, size, path);
	invar_context *ctx;
	invar_dataset *d;

	snprintf(text, sizeof text, "%s:%s", kind, path);
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (invar_dataset_open(ctx, text, NULL, &d) == INVAR_OK) {
		for (size_t k = 0; k < d->classes.count; k++)
			require(*inv_names_at(&d->classes, k));
		for (size_t i = 0; i < d->split_count; i++)
			check_images(d, &d->splits[i]);
	}
	invar_dataset_close(d);
	invar_context_free(ctx);
	close(fd);
}

#endif
