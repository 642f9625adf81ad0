/* SPDX-License-Identifier: Apache-2.0 */
/* loss_result.h - the result of invar_loss: a value, terms and gradients by name. */
#ifndef INV_LOSS_RESULT_H
#define INV_LOSS_RESULT_H

#include "adapter/evaluate_loss.h"
#include "adapter/step.h"

/* After inv_step_gradients of these rows; a half-filled result is cleared on failure. */
invar_status inv_loss_collect(inv_step *p, const float *rows, const inv_loss_value *value,
                              inv_loss_result *out);

#endif
