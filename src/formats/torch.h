/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.h - from the values of a pickle to a sorted list of named tensors.
 *
 * A state dictionary is a dictionary of tensors, perhaps within another, perhaps with
 * dictionaries in it, or a TorchScript module with its attributes; names are the keys on
 * the way, joined by dots. Values that are not tensors are skipped.
 *
 * Bounds: containers within each other 100 deep and never within themselves, a million
 * steps, 100,000 tensors, names of 1,000 bytes.
 */
#ifndef INV_TORCH_H
#define INV_TORCH_H

#include "formats/pickle.h"
#include "formats/weights.h"

/* Fills in s->data; called for storages of tensors that are wanted. */
typedef invar_status inv_torch_place(void *user, inv_torch_storage *s);

/* The last value of that key, as in Python; NULL: none, or it is not a dictionary. */
inv_py *inv_torch_find(const inv_py *dict, const char *key);

/* Fills list, count, key and keys of w; names live as long as p. */
invar_status inv_torch_collect(inv_weights *w, inv_pickle *p, inv_py *root,
                               inv_torch_place *place, void *user);

#endif
