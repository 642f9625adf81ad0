/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bank_contents.h - which entries of a bank's folder are those that encoding clean rows
 * writes.
 */
#ifndef INV_BANK_CONTENTS_H
#define INV_BANK_CONTENTS_H

#include "base/folder.h"
#include "base/json.h"

/*
 * Claims "bank.json", "train", "train/clean.npy" and their part files, of the splits that
 * bank.json lists; without a bank.json (NULL) only its part file. Copies and caches are not
 * claimed: a user added them later and may need them.
 */
inv_ownership inv_bank_claim(const json_t *bank_json, const char *entry);

/*
 * A bank that a program has made from images and may make again: what inv_bank_claim
 * claims, copies, and what eval has kept in cache/. The first fails, naming it, if there is
 * anything else in the folder. The second removes the bank and its folder; anything else
 * moves to the same place below `to`, or with NULL stays, with the folder. A folder that
 * does not exist is not an error.
 */
invar_status inv_bank_refuse_foreign(const char *path);
invar_status inv_bank_remove(const char *path, const char *to);

/*
 * The bank.json in a folder, if it describes its rows as `about` does (see
 * inv_encoding_json), else NULL; gives, json_decref. *begun: there is none yet, except for
 * a part file of ours.
 */
invar_status inv_bank_find_json(const char *path, const json_t *about, json_t **out,
                                bool *begun);

#endif
