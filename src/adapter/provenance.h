/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provenance.h - the record of a run: run.json and the adapter's metadata.
 *
 * Checkpoints record what they were made with: { "options": those that change the
 * result, "rows": SHA-256 of the hashes of all rows, "images": how they were encoded }.
 */
#ifndef INV_PROVENANCE_H
#define INV_PROVENANCE_H

#include "adapter/adapter.h"
#include "adapter/compose.h"
#include "adapter/train_options.h"
#include "run/run.h"

/*
 * Saves a run.json, state "running", before images are encoded: everything that is
 * written to the folder from now on is part of this run. What an earlier training left is
 * removed first.
 */
invar_status inv_run_begin(inv_run *r, const inv_train_plan *plan,
                           const inv_train_settings *o);
/*
 * The same once the rows to train on exist, which run.json then names. To resume, the rows
 * must be those that the run was started on, and its checkpoint must have been made with
 * the same rows and options.
 */
invar_status inv_run_describe(inv_run *r, const inv_train_plan *plan,
                              const inv_train_settings *o);
/* Warns if the run to resume was written by a different version. */
void inv_run_compare_version(const invar_context *ctx, const inv_run *r);

/* Writes an adapter; equal runs give equal bytes. */
invar_status inv_adapter_save(const char *path, const inv_mlp_form *e,
                              const inv_train_settings *o, const inv_train_plan *plan);
/* The same adapter in memory: invar_adapter_save writes the same bytes. Gives. */
invar_status inv_adapter_make(const inv_mlp_form *e, const inv_train_settings *o,
                              const inv_train_plan *plan, invar_adapter **out);
/* inv_adapter_save for a decoder, which takes codes: nothing is known of their norms. */
invar_status inv_decoder_save(const char *path, const inv_mlp_form *d,
                              const inv_train_settings *o, const inv_train_plan *plan);

#endif
