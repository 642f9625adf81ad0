/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mnist.c - MNIST and Fashion-MNIST: pairs of idx files, compressed or not.
 *
 * The two differ only in the names of their classes and in the place where Debian
 * installs the second one. Some mirrors write a dot instead of the last dash.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/idx.h"
#include "images/dataset.h"

enum { SPLITS = 2, NAME = 64 };

static const char *const digit_names[] = {"0", "1", "2", "3", "4", "5",
                                          "6", "7", "8", "9", NULL};
static const char *const clothes_names[] = {
	"T-shirt/top", "Trouser", "Pullover", "Dress",      "Coat", "Sandal",
	"Shirt",       "Sneaker", "Bag",      "Ankle boot", NULL};

static const struct {
	const char *split, *stem;
} mnist_files[SPLITS] = {{"train", "train"}, {"test", "t10k"}};

typedef struct mnist {
	inv_idx *images[SPLITS];
} mnist;

/* "train-images-idx3-ubyte.gz" or the like; false if there is no such file. */
static bool find_mnist_file(const invar_dataset *d, const char *stem, const char *what,
                            unsigned dimensions, char name[NAME])
{
	static const char *const endings[] = {"", ".gz"};
	static const char dash[] = {'-', '.'};

	for (size_t e = 0; e < 2; e++)
		for (size_t k = 0; k < 2; k++) {
			snprintf(name, NAME, "%s-%s%cidx%u-ubyte%s", stem, what, dash[k], dimensions,
			         endings[e]);
			if (inv_dataset_has(d, name))
				return true;
		}
	return false;
}

static invar_status open_mnist_file(const invar_dataset *d, const char *stem,
                                    const char *what, unsigned dimensions, inv_idx **out)
{
	char name[NAME], *path;
	invar_status st;

	*out = NULL;
	if (!find_mnist_file(d, stem, what, dimensions, name))
		return inv_fail(INVAR_E_IO,
		                "%s: has no %s-%s-idx%u-ubyte, compressed with gzip or not",
		                d->place, stem, what, dimensions);
	INV_TRY(inv_new_path(&path, d->place, name));
	INV_TRY_OR(end, inv_idx_open(path, out));
	if ((*out)->ndim != dimensions)
		st = inv_fail(INVAR_E_FORMAT, "%s: has %u %s, expected %u", path, (*out)->ndim,
		              inv_noun((*out)->ndim, "dimension", "dimensions"), dimensions);
end:
	inv_free(path);
	return st;
}

static invar_status open_mnist_split(invar_dataset *d, size_t k)
{
	inv_idx **of_split = &((mnist *)d->own)->images[k], *images, *labels = NULL;
	int32_t *numbers;
	invar_status st;

	INV_TRY(open_mnist_file(d, mnist_files[k].stem, "images", 3, of_split));
	images = *of_split;
	INV_TRY_OR(end, open_mnist_file(d, mnist_files[k].stem, "labels", 1, &labels));
	if (images->shape[0] != labels->shape[0])
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_MISMATCH,
		                    "%s: has %" PRIu64 " %s for the %" PRIu64 " %s of %s",
		                    labels->path, labels->shape[0],
		                    inv_noun(labels->shape[0], "label", "labels"), images->shape[0],
		                    inv_noun(images->shape[0], "image", "images"), images->path));
	if (images->shape[1] > UINT16_MAX || images->shape[2] > UINT16_MAX)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_FORMAT,
		                    "%s: has images of %" PRIu64 " x %" PRIu64
		                    " pixels, but at most %d per side are allowed",
		                    images->path, images->shape[2], images->shape[1], UINT16_MAX));
	INV_TRY_OR(end, inv_dataset_byte_labels(d, labels->data, labels->cells, 1, 0,
	                                        labels->path, &numbers));
	st = inv_dataset_add(d, mnist_files[k].split, images->shape[0], numbers, images);
end:
	inv_idx_close(labels);
	return st;
}

static invar_status open_either_mnist(invar_dataset *d, const char *const *classes)
{
	bool found = false, wanted;
	char name[NAME];
	mnist *own;

	INV_TRY(inv_new(&own));
	d->own = own;
	d->grey = true;
	for (size_t k = 0; classes[k]; k++)
		INV_TRY(inv_dataset_add_class(d, classes[k]));
	for (size_t k = 0; k < SPLITS; k++) {
		if (!find_mnist_file(d, mnist_files[k].stem, "images", 3, name))
			continue;
		found = true;
		INV_TRY(inv_dataset_offer(d, mnist_files[k].split, false, &wanted));
		if (wanted)
			INV_TRY(open_mnist_split(d, k));
	}
	if (!found)
		return inv_fail(INVAR_E_IO,
		                "%s: has no train-images-idx3-ubyte or t10k-images-idx3-ubyte, "
		                "compressed with gzip or not",
		                d->place);
	return INVAR_OK;
}

static invar_status open_mnist(invar_dataset *d)
{
	return open_either_mnist(d, digit_names);
}

static invar_status open_fashion(invar_dataset *d)
{
	if (!strchr(d->text, '/') && !inv_is_folder(d->place))
		return inv_fail(
			INVAR_E_IO,
			"%s: does not exist; install Debian's package dataset-fashion-mnist, or give "
			"the folder of the files: fashion-mnist:DIR",
			d->place);
	return open_either_mnist(d, clothes_names);
}

/* Grey, so three equal channels. */
static invar_status read_mnist(const invar_dataset *d, const inv_images *s, uint64_t source,
                               inv_image *out)
{
	const inv_idx *x = s->store;
	uint64_t pixels = x->shape[1] * x->shape[2];
	const uint8_t *from = x->data + source * pixels;

	INV_TRY(inv_image_shape(out, (uint32_t)x->shape[2], (uint32_t)x->shape[1], d->text));
	for (uint64_t i = 0; i < pixels; i++)
		memset(out->pixels + i * INV_RGB, from[i], INV_RGB);
	return INVAR_OK;
}

static void measure_mnist(const inv_images *s, uint32_t *width, uint32_t *height)
{
	const inv_idx *x = s->store;

	*width = (uint32_t)x->shape[2];
	*height = (uint32_t)x->shape[1];
}

static void close_mnist(invar_dataset *d)
{
	mnist *own = d->own;

	for (size_t k = 0; own && k < SPLITS; k++)
		inv_idx_close(own->images[k]);
	inv_free(own);
}

const inv_dataset_kind inv_dataset_mnist = {
	.name = "mnist",
	.place = "DIR",
	.about = "idx files of digits",
	.normalisation = "mnist",
	.open = open_mnist,
	.read = read_mnist,
	.measure = measure_mnist,
	.close = close_mnist,
};

const inv_dataset_kind inv_dataset_fashion_mnist = {
	.name = "fashion-mnist",
	.place = "[DIR]",
	.about = "idx files of clothes; packaged in Debian",
	.standard_place = "/usr/share/datasets/fashion-mnist",
	.normalisation = "fashion-mnist",
	.open = open_fashion,
	.read = read_mnist,
	.measure = measure_mnist,
	.close = close_mnist,
};
