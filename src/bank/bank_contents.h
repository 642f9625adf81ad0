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
 * Removes a bank that a program has made from images and may make again: what
 * inv_bank_claim claims, copies, and what eval has kept in cache/. Fails, naming it, if
 * there is anything else. Without a bank.json nothing is removed.
 */
invar_status inv_bank_remove(const char *path);

/*
 * The bank.json in a folder, if what it says of its rows is what `about` says (see
 * inv_encoding_json), else NULL; gives, json_decref. *begun says whether there is none
 * yet but for a part file of ours.
 */
invar_status inv_bank_find_json(const char *path, const json_t *about, json_t **out,
                                bool *begun);

#endif
