/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cifar10.c - CIFAR-10 in its own binary batches.
 *
 * A record is a label from 0 to 9 and 3072 bytes: planes R, G, B of 32 x 32,
 * row-major. train is data_batch_1.bin to data_batch_5.bin, as many as exist
 * without a gap, test is test_batch.bin.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "images/dataset.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + 3 * PLANE, BATCHES = 5 };

static const char *const cifar10_classes[] = {"airplane", "automobile", "bird", "cat",
                                              "deer",     "dog",        "frog", "horse",
                                              "ship",     "truck",      NULL};

typedef struct batches {
	inv_map map[BATCHES];
	uint64_t first[BATCHES + 1]; /* image of the split that a batch begins with */
	size_t count;
} batches;

typedef struct cifar10 {
	batches train, test;
} cifar10;

static invar_status map_batch(const invar_dataset *d, batches *b, const char *name)
{
	inv_map *map = &b->map[b->count];
	char *path;
	invar_status st;

	INV_TRY(inv_new_path(&path, d->place, name));
	INV_TRY_OR(end, inv_map_open(path, map));
	if (map->size == 0 || map->size % RECORD)
		INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
		                         "%s: has %" PRIu64 " bytes, which is not a multiple of "
		                         "%d, the size of a CIFAR-10 record",
		                         path, map->size, RECORD));
	b->count++;
	b->first[b->count] = b->first[b->count - 1] + map->size / RECORD;
end:
	inv_free(path);
	return st;
}

static invar_status add_batches(invar_dataset *d, const char *split, const batches *b)
{
	uint64_t count = b->first[b->count];
	int32_t *labels, *some;
	char name[32];
	invar_status st;

	INV_TRY(inv_new_array(&labels, count));
	for (size_t k = 0; k < b->count; k++) {
		uint64_t images = b->first[k + 1] - b->first[k];

		snprintf(name, sizeof name, "batch %zu", k + 1);
		st = inv_dataset_byte_labels(d, b->map[k].data, images, RECORD, 0, name, &some);
		if (st != INVAR_OK) {
			inv_free(labels);
			return inv_context(st, "%s", d->place);
		}
		memcpy(labels + b->first[k], some, images * sizeof *some);
		inv_free(some);
	}
	return inv_dataset_add(d, split, count, labels, b);
}

static invar_status open_cifar10(invar_dataset *d)
{
	bool train, test, wanted;
	char name[32];
	cifar10 *own;

	INV_TRY(inv_dataset_enter(d, "cifar-10-batches-bin", "data_batch_1.bin"));
	INV_TRY(inv_new(&own));
	d->own = own;
	train = inv_dataset_has(d, "data_batch_1.bin");
	test = inv_dataset_has(d, "test_batch.bin");
	if (!train && !test)
		return inv_fail(
			INVAR_E_IO,
			"%s: has no data_batch_1.bin or test_batch.bin, so it is not CIFAR-10",
			d->place);
	INV_TRY(inv_dataset_name_classes(d, "batches.meta.txt", cifar10_classes));
	if (train) {
		INV_TRY(inv_dataset_offer(d, "train", false, &wanted));
		for (size_t k = 0; k < BATCHES && wanted; k++) {
			snprintf(name, sizeof name, "data_batch_%zu.bin", k + 1);
			if (!inv_dataset_has(d, name))
				break;
			INV_TRY(map_batch(d, &own->train, name));
		}
		if (wanted)
			INV_TRY(add_batches(d, "train", &own->train));
	}
	if (test) {
		INV_TRY(inv_dataset_offer(d, "test", false, &wanted));
		if (wanted) {
			INV_TRY(map_batch(d, &own->test, "test_batch.bin"));
			INV_TRY(add_batches(d, "test", &own->test));
		}
	}
	return INVAR_OK;
}

static invar_status read_cifar10(const invar_dataset *d, const inv_images *s,
                                 uint64_t source, inv_image *out)
{
	const batches *b = s->store;
	const uint8_t *from;
	size_t k = 0;

	INV_TRY(inv_image_shape(out, SIDE, SIDE, d->text));
	while (source >= b->first[k + 1])
		k++;
	from = b->map[k].data + (source - b->first[k]) * RECORD + 1;
	for (size_t i = 0; i < PLANE; i++)
		for (size_t c = 0; c < INV_RGB; c++)
			out->pixels[i * INV_RGB + c] = from[c * PLANE + i];
	return INVAR_OK;
}

static void close_cifar10(invar_dataset *d)
{
	cifar10 *own = d->own;

	for (size_t k = 0; own && k < BATCHES; k++) {
		inv_map_close(&own->train.map[k]);
		inv_map_close(&own->test.map[k]);
	}
	inv_free(own);
}

const inv_dataset_kind inv_dataset_cifar10 = {
	.name = "cifar10",
	.place = "DIR",
	.about = "binary batches of 32 x 32",
	.normalisation = "cifar10",
	.side = SIDE,
	.open = open_cifar10,
	.read = read_cifar10,
	.close = close_cifar10,
};
