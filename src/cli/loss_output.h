/* SPDX-License-Identifier: Apache-2.0 */
/* loss_output.h - what invar loss writes and prints. */
#ifndef INV_LOSS_OUTPUT_H
#define INV_LOSS_OUTPUT_H

#include "adapter/evaluate_loss.h"
#include "cli/session.h"

typedef struct inv_grad_folder {
	const char *path; /* NULL: no gradients */
	int force;        /* replace files there that are no arrays */
} inv_grad_folder;

/* Each gradient as NAME.npy in a folder, which is made if need be. */
invar_status inv_loss_write(inv_session *s, const inv_grad_folder *to,
                            const inv_loss_result *r);
invar_status inv_loss_print(inv_session *s, const inv_loss_result *r);
/* A value without terms, as inv_loss_print has it. */
invar_status inv_value_print(inv_session *s, double value);
/* One gradient as NAME.npy in the folder. */
invar_status inv_gradient_write(inv_session *s, const inv_grad_folder *to, const char *name,
                                const float *data, unsigned rank, const uint64_t *shape);

#endif
