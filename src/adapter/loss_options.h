/* loss_options.h - the options of losses as a user gives them. */
#ifndef INV_LOSS_OPTIONS_H
#define INV_LOSS_OPTIONS_H

#include "adapter/losses/loss.h"

/* The words that the option tables of training and of invar_loss share. */
#define INV_SLICES "random|orthogonal"
#define INV_SHUFFLES "both|second"

/* Of the sliced distances: the slopes |gap|^(p - 1) have to fit into floats. */
enum { INV_POWER_MOST = 10 };

/* `loss` NULL is none, which takes no option of a loss. */
bool inv_loss_takes(const inv_loss *loss, const char *option);

/* Refuses an option among `given` (NULL-terminated, or NULL) that only others take. */
invar_status inv_loss_check_given(const inv_loss *loss, const char *const *given);

/* The options that are words: what they mean goes into `out`. */
invar_status inv_loss_read_words(const char *slices, const char *shuffle,
                                 const char *sigma_x, const char *sigma_z,
                                 inv_loss_opts *out);

#endif
