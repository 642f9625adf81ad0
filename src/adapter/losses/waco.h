/* SPDX-License-Identifier: Apache-2.0 */
/* waco.h - Wasserstein correlation maximisation, Eq. 29. */
#ifndef INV_WACO_H
#define INV_WACO_H

#include "adapter/losses/loss.h"

extern const inv_loss inv_loss_waco;

#endif
