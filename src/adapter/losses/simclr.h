/* SPDX-License-Identifier: Apache-2.0 */
/* simclr.h - NT-Xent, the loss of SimCLR. */
#ifndef INV_SIMCLR_H
#define INV_SIMCLR_H

#include "adapter/losses/loss.h"

extern const inv_loss inv_loss_simclr;

#endif
