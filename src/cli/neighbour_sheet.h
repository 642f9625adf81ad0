/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_sheet.h - a picture for the eye: what an index of clean features answers for
 * augmented images, before and after an adapter.
 *
 * One row per query: the image, its augmented copy as the encoder saw it, and the nearest
 * images of the gallery by F alone and by E behind it (neighbour_search.h).
 */
#ifndef INV_NEIGHBOUR_SHEET_H
#define INV_NEIGHBOUR_SHEET_H

#include "cli/neighbour_search.h"

typedef struct inv_neighbours {
	const invar_dataset *images;
	const char *title; /* of the adapter */
	inv_search search;
} inv_neighbours;

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n,
                                  const char *path);

#endif
