/* SPDX-License-Identifier: Apache-2.0 */
/* hsic.h - the Hilbert-Schmidt independence criterion, Eq. 33. */
#ifndef INV_HSIC_H
#define INV_HSIC_H

#include "adapter/losses/loss.h"

extern const inv_loss inv_loss_hsic;

#endif
