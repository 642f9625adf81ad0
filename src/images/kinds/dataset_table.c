/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_table.c - the kinds of data sets: one line each. */
#include "images/dataset.h"

extern const inv_dataset_kind inv_stl10, inv_mnist, inv_fashion_mnist, inv_cifar10,
	inv_tiny_imagenet, inv_folder, inv_npy_images;

const inv_dataset_kind *const inv_dataset_kinds[] = {
	&inv_stl10,         /* binary files of 96 x 96 */
	&inv_mnist,         /* idx files of digits */
	&inv_fashion_mnist, /* idx files of clothes */
	&inv_cifar10,       /* binary batches of 32 x 32 */
	&inv_tiny_imagenet, /* JPEG files of 64 x 64 */
	&inv_folder,        /* JPEG and PNG files of any size */
	&inv_npy_images,    /* NumPy arrays */
	NULL,
};
