/* SPDX-License-Identifier: Apache-2.0 */
/* mawa.h - the Markov-Wasserstein loss, Eq. 21. */
#ifndef INV_MAWA_H
#define INV_MAWA_H

#include "adapter/losses/loss.h"

extern const inv_loss inv_loss_mawa;

#endif
