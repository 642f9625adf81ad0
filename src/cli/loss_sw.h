/* SPDX-License-Identifier: Apache-2.0 */
/* loss_sw.h - invar loss sw: the sliced Wasserstein distance of two sets of rows. */
#ifndef INV_LOSS_SW_H
#define INV_LOSS_SW_H

#include "cli/loss_output.h"
#include "cli/session.h"

typedef struct inv_sw_files {
	const char *a, *b;
	const char *directions; /* NULL: drawn by the seed */
} inv_sw_files;

/* Of the options, p, projections, slices and seed matter. grad->path may be NULL. */
invar_status inv_loss_sw(inv_session *s, const inv_sw_files *files,
                         const inv_grad_folder *grad);

#endif
