/* loss_output.h - what invar loss writes and prints. */
#ifndef INV_LOSS_OUTPUT_H
#define INV_LOSS_OUTPUT_H

#include "cli/session.h"

typedef struct inv_grad_folder {
	const char *path; /* NULL: gradients are not wanted */
	int force;        /* replace files there that are no arrays */
} inv_grad_folder;

/* Each gradient as NAME.npy in a folder, which is made if need be. */
invar_status inv_loss_write(inv_session *s, const inv_grad_folder *to,
                            const invar_loss_result *r);
invar_status inv_loss_print(inv_session *s, const invar_loss_result *r);

#endif
