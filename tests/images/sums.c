/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.c - the contents of a data set as checksums, like make_sums.py.
 *
 *     sums DATASET THREADS
 *
 * One line per split: its name, how many images, the SHA-256 of the labels (as int64)
 * and of the images, decoded ahead: the digests of all of them one after the other,
 * each over width, height (as uint32) and pixels.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "images/dataset.h"
#include "images/prefetch.h"

enum { DIGEST = 64 };

static void fail(void)
{
	fprintf(stderr, "%s\n", invar_last_error());
	exit(1);
}

static invar_status digest(void *user, inv_image *image, const inv_prefetch_item *item,
                           unsigned worker)
{
	size_t bytes = (size_t)image->width * image->height * 3, header = 8;
	uint8_t *whole = malloc(header + bytes);
	char hex[INV_SHA256_HEX];
	invar_status st;

	(void)user;
	(void)worker;
	memcpy(whole, &image->width, 4);
	memcpy(whole + 4, &image->height, 4);
	memcpy(whole + header, image->pixels, bytes);
	st = inv_sha256(whole, header + bytes, hex);
	memcpy(item->data, hex, DIGEST);
	free(whole);
	return st;
}

static void print_split(invar_context *ctx, const invar_dataset *d, const char *name)
{
	uint64_t count = inv_dataset_count(d, name), row = 0;
	int64_t *labels = malloc(count * sizeof *labels);
	char *digests = malloc(count * DIGEST), hex[2][INV_SHA256_HEX];
	const inv_prefetch_item *item;
	inv_prefetch *ahead;

	if (inv_dataset_labels(d, name, labels) ||
	    inv_prefetch_new(ctx, d, inv_dataset_split(d, name), 0, count, digest, NULL, DIGEST,
	                     &ahead))
		fail();
	while (inv_prefetch_next(ahead, &item) == INVAR_OK && item)
		memcpy(digests + DIGEST * row++, item->data, DIGEST);
	if (row != count || inv_sha256(labels, count * sizeof *labels, hex[0]) ||
	    inv_sha256(digests, count * DIGEST, hex[1]))
		fail();
	printf("%s %" PRIu64 " %.16s %.16s\n", name, count, hex[0], hex[1]);
	inv_prefetch_free(ahead);
	free(labels);
	free(digests);
}

int main(int argc, char **argv)
{
	invar_context *ctx;
	invar_dataset *d;

	if (argc != 3 || invar_context_new((unsigned)atoi(argv[2]), NULL, &ctx) ||
	    invar_dataset_open(ctx, argv[1], NULL, &d))
		fail();
	for (size_t i = 0; i < inv_dataset_splits(d); i++)
		print_split(ctx, d, inv_dataset_split_name(d, i));
	invar_dataset_close(d);
	invar_context_free(ctx);
	return 0;
}
