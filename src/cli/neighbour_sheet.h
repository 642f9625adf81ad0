/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_sheet.h - a picture for the eye: what an index of clean features answers for
 * augmented images, before and after an adapter.
 *
 * One row per query: the image, its augmented copy as the encoder saw it, and the nearest
 * images of the gallery by F alone and by E behind it. The index holds F(gallery) as it was
 * in both cases.
 */
#ifndef INV_NEIGHBOUR_SHEET_H
#define INV_NEIGHBOUR_SHEET_H

#include "cli/session.h"

typedef struct inv_neighbours {
	const char *bank_path;
	const invar_bank *bank;
	/* The images of both splits; the same one where it has both. */
	const invar_dataset *query_images, *gallery_images;
	const char *split, *gallery; /* where queries come from, and what the index holds */
	const invar_adapter *adapter;
	const char *title; /* of the adapter */
	uint32_t copy;     /* of the queries */
	size_t queries;    /* with labels the first of as many classes, else spread evenly */
	size_t nearest;    /* per query */
} inv_neighbours;

enum { INV_MAX_QUERIES = 100, INV_MAX_NEAREST = 10 };

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n,
                                  const char *path);

#endif
