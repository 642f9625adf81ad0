/*
 * provenance.h - what a run tells about itself: run.json and the adapter's metadata.
 */
#ifndef INV_PROVENANCE_H
#define INV_PROVENANCE_H

#include "adapter/adapter.h"
#include "adapter/run.h"
#include "adapter/train_options.h"

/* The clocks when work on a run began in this process. */
typedef struct inv_run_start {
	double wall, cpu;
} inv_run_start;

/*
 * Fills and saves run.json, state "running". Resuming, the rows of the banks must
 * be those that the run was begun on. With `replace`, the files of the old run go
 * right before the new run.json comes.
 */
invar_status inv_run_describe(inv_run *r, const inv_train_plan *plan,
                              const inv_train_settings *o);
/* Adds up the times and saves run.json with this state. */
invar_status inv_run_finish(inv_run *r, const inv_run_start *start, uint64_t steps,
                            const char *state);

/* Writes adapter.safetensors or, never residual, a decoder; equal runs, equal bytes. */
invar_status inv_adapter_save(const char *path, inv_mlp_shape s, const float *params,
                              bool residual, const inv_train_settings *o,
                              const inv_train_plan *plan);

#endif
