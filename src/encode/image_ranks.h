/* SPDX-License-Identifier: Apache-2.0 */
/* image_ranks.h - do all ranks read the same images? */
#ifndef INV_IMAGE_RANKS_H
#define INV_IMAGE_RANKS_H

#include "images/dataset.h"

/* All ranks, with as many images (base/rank_compare.h); files are read but not decoded. */
invar_status inv_images_agree(const invar_dataset *d, const inv_images *s);

#endif
