/* SPDX-License-Identifier: Apache-2.0 */
/* eval_options.h - the options of eval and t-SNE, and which measurements they select. */
#ifndef INV_EVAL_OPTIONS_H
#define INV_EVAL_OPTIONS_H

#include "measure/measurement.h"

/* The options of eval and of every measurement. */
invar_status inv_eval_declare(invar_options *o);
/* Those of invar_tsne. */
invar_status inv_tsne_declare(invar_options *o);

/* Fails if the option metrics has a word that is not a measurement. */
invar_status inv_eval_check_metrics(const invar_options *o);
bool inv_eval_wants(const invar_options *o, const inv_measurement *m);
/* Is it requested by its own name, rather than as one of all or of a group? */
bool inv_eval_names(const invar_options *o, const inv_measurement *m);

/* { name: value } of the options that matter for a measurement; gives. */
json_t *inv_eval_options_of(const invar_options *o, const inv_measurement *m);

#endif
