/* loss_output.h - what invar loss writes and prints. */
#ifndef INV_LOSS_OUTPUT_H
#define INV_LOSS_OUTPUT_H

#include "cli/session.h"

/* Each gradient as NAME.npy in a folder, which is made if need be. */
invar_status inv_loss_write(inv_session *s, const char *folder, const invar_loss_result *r);
invar_status inv_loss_print(inv_session *s, const invar_loss_result *r);

#endif
