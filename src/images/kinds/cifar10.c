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

static const char *const class_names[] = {"airplane", "automobile", "bird", "cat",
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
	char *path = inv_dataset_path(d, name);
	inv_map *map = &b->map[b->count];
	invar_status st = path ? inv_map_open(path, map) : inv_dataset_no_memory(d);

	if (st == INVAR_OK && (map->size == 0 || map->size % RECORD))
		st =
			inv_fail(INVAR_E_FORMAT,
		             "%s: has %" PRIu64
		             " bytes, which is not a multiple of %d, the size of a CIFAR-10 record",
		             path, map->size, RECORD);
	b->count++; /* so that closing finds it */
	if (st == INVAR_OK)
		b->first[b->count] = b->first[b->count - 1] + map->size / RECORD;
	inv_free(path);
	return st;
}

static invar_status add_labels(const invar_dataset *d, const batches *b, size_t k,
                               int32_t *labels)
{
	int32_t *part;
	uint64_t count = b->first[k + 1] - b->first[k];
	char name[32];
	invar_status st;

	snprintf(name, sizeof name, "batch %zu", k + 1);
	st = inv_dataset_byte_labels(d, b->map[k].data, count, RECORD, 0, name, &part);
	if (st != INVAR_OK)
		return inv_context(st, "%s", d->place);
	memcpy(labels + b->first[k], part, count * sizeof *part);
	inv_free(part);
	return INVAR_OK;
}

static invar_status add_split(invar_dataset *d, const char *split, const batches *b)
{
	uint64_t count = b->first[b->count];
	int32_t *labels = inv_alloc(count * sizeof *labels);
	invar_status st = labels ? INVAR_OK : inv_dataset_no_memory(d);

	for (size_t k = 0; k < b->count && st == INVAR_OK; k++)
		st = add_labels(d, b, k, labels);
	if (st != INVAR_OK) {
		inv_free(labels);
		return st;
	}
	return inv_dataset_add(d, split, count, labels, b);
}

static invar_status open_train(invar_dataset *d, batches *b)
{
	char name[32];
	bool wanted;
	invar_status st = inv_dataset_offer(d, "train", false, &wanted);

	for (size_t k = 0; k < BATCHES && st == INVAR_OK && wanted; k++) {
		snprintf(name, sizeof name, "data_batch_%zu.bin", k + 1);
		if (!inv_dataset_has(d, name))
			break;
		st = map_batch(d, b, name);
	}
	return st == INVAR_OK && wanted ? add_split(d, "train", b) : st;
}

static invar_status open_test(invar_dataset *d, batches *b)
{
	bool wanted;
	invar_status st = inv_dataset_offer(d, "test", false, &wanted);

	if (st != INVAR_OK || !wanted)
		return st;
	st = map_batch(d, b, "test_batch.bin");
	return st == INVAR_OK ? add_split(d, "test", b) : st;
}

static invar_status open_cifar10(invar_dataset *d)
{
	invar_status st = inv_dataset_enter(d, "cifar-10-batches-bin", "data_batch_1.bin");
	bool train, test;
	cifar10 *own;

	if (st != INVAR_OK || !(d->own = own = inv_calloc(1, sizeof *own)))
		return st != INVAR_OK ? st : inv_dataset_no_memory(d);
	train = inv_dataset_has(d, "data_batch_1.bin");
	test = inv_dataset_has(d, "test_batch.bin");
	if (!train && !test)
		return inv_fail(
			INVAR_E_IO,
			"%s: has no data_batch_1.bin or test_batch.bin, so it is not CIFAR-10",
			d->place);
	st = inv_dataset_name_classes(d, "batches.meta.txt", class_names);
	if (st == INVAR_OK && train)
		st = open_train(d, &own->train);
	if (st == INVAR_OK && test)
		st = open_test(d, &own->test);
	return st;
}

static invar_status read_cifar10(const invar_dataset *d, const inv_images *s,
                                 uint64_t source, inv_image *out)
{
	const batches *b = s->store;
	const uint8_t *from;
	size_t k = 0;
	invar_status st = inv_image_shape(out, SIDE, SIDE, d->text);

	if (st != INVAR_OK)
		return st;
	while (source >= b->first[k + 1])
		k++;
	from = b->map[k].data + (source - b->first[k]) * RECORD + 1;
	for (size_t i = 0; i < PLANE; i++)
		for (size_t c = 0; c < INV_RGB; c++)
			out->pixels[i * INV_RGB + c] = from[c * PLANE + i];
	return INVAR_OK;
}

static invar_status measure_cifar10(const invar_dataset *d, const inv_images *s,
                                    uint64_t source, uint32_t *width, uint32_t *height)
{
	(void)d;
	(void)s;
	(void)source;
	*width = *height = SIDE;
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
	.open = open_cifar10,
	.read = read_cifar10,
	.measure = measure_cifar10,
	.close = close_cifar10,
};
