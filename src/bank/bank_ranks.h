/* SPDX-License-Identifier: Apache-2.0 */
/* bank_ranks.h - do all ranks read the same rows? */
#ifndef INV_BANK_RANKS_H
#define INV_BANK_RANKS_H

#include "bank/bank.h"

/*
 * All ranks: compares the files of the clean rows and of the first `copies` copies
 * (base/rank_compare.h).
 */
invar_status inv_bank_agree(const invar_context *ctx, const inv_split *s, uint64_t copies);

#endif
