/* loss_options.h - the options of losses as a user gives them. */
#ifndef INV_LOSS_OPTIONS_H
#define INV_LOSS_OPTIONS_H

#include "adapter/losses/loss.h"

/* The words that the option tables of training and of invar_loss share. */
#define INV_SLICES "random|orthogonal"
#define INV_SHUFFLES "both|second"

/* `loss` NULL is none, which takes no option of a loss. */
bool inv_loss_takes(const inv_loss *loss, const char *option);

/* Refuses an option among `given` (NULL-terminated, or NULL) that only others take. */
invar_status inv_loss_check_given(const inv_loss *loss, const char *const *given);

/* A kernel's width: 0 for "median", else a number above 0. */
invar_status inv_kernel_width(const char *option, const char *text, double *out);

#endif
