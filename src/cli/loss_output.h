/* loss_output.h - what invar loss writes and prints. */
#ifndef INV_LOSS_OUTPUT_H
#define INV_LOSS_OUTPUT_H

#include "cli/session.h"

/* Each gradient as NAME.npy in a folder, which is made if need be. */
invar_status inv_loss_write(inv_session *s, const char *folder, const invar_loss *l);
invar_status inv_loss_print(inv_session *s, const invar_loss *l);
/* A value without terms, as inv_loss_print has it. */
invar_status inv_value_print(inv_session *s, double value);
/* One gradient as FOLDER/NAME.npy. */
invar_status inv_gradient_write(inv_session *s, const char *folder, const char *name,
                                const float *data, unsigned rank, const uint64_t *shape);

#endif
