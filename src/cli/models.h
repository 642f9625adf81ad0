/* SPDX-License-Identifier: Apache-2.0 */
/* models.h - the actions of invar models, one file each. */
#ifndef INV_MODELS_H
#define INV_MODELS_H

#include "cli/command.h"
#include "encoders/encoder.h"

enum { INV_SHA256_DIGITS = 64 };

/* s->argument[0] is the action; what follows belongs to it. */
invar_status inv_models_list(inv_session *s);
invar_status inv_models_inspect(inv_session *s);
invar_status inv_models_verify(inv_session *s);
invar_status inv_models_pull(inv_session *s);

/* The known encoder of this name; NULL: none. */
const inv_known_model *inv_model_named(const char *name);
/* The model published under this file name, in whatever folder; NULL: none, or several. */
const inv_known_model *inv_model_of_file(const char *path);
/* By the full SHA-256, whatever the file is called; NULL if unknown. */
const inv_known_model *inv_model_of_hash(const char *hex);
/* Does it match the known hash, of which possibly only the first digits are known? */
bool inv_hash_agrees(const char *hex, const char *known);

#endif
