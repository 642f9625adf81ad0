/*
 * run.h - the folder that a training fills.
 *
 * Invariants of a run:
 *   1. run.json is there before the first step, with every option.
 *   2. checkpoint.safetensors, where present, is complete and belongs to it.
 *   3. log.jsonl has one line per finished epoch, in order; on resuming it is
 *      cut back to the epochs that the checkpoint has finished.
 *   4. adapter.safetensors appears once, when the last epoch is done; a
 *      decoder.safetensors right before it.
 *   5. clean/ is a bank that a training on images has made; without a run.json it is a
 *      leftover that the next training takes up.
 *   6. One process at a time holds the run (flock on the folder).
 */
#ifndef INV_RUN_H
#define INV_RUN_H

#include <stdio.h>

#include "base/context.h"
#include "base/json.h"

typedef struct inv_run {
	char *path;
	char *json_path, *log_path, *checkpoint_path, *adapter_path, *decoder_path;
	char *clean_path; /* folder of clean features, where a run is trained on images */
	int lock;
	bool made;    /* the folder is of our making */
	bool replace; /* an old run is still in it */
	FILE *log;
	json_t *json; /* run.json as it will be saved */
} inv_run;

typedef enum inv_run_mode { INV_RUN_FRESH, INV_RUN_RESUME, INV_RUN_REPLACE } inv_run_mode;

/*
 * Makes or opens the folder and locks it; RESUME loads run.json. Nothing of an
 * old run is touched yet, and a folder made here goes again if it stays empty.
 */
invar_status inv_run_open(const char *path, inv_run_mode mode, inv_run **out);
/* Removes the files of the run that REPLACE replaces; call right before saving. */
invar_status inv_run_clear(inv_run *r);
invar_status inv_run_save(inv_run *r); /* run.json */
/* Opens the log with its first `epochs` lines kept. */
invar_status inv_run_open_log(inv_run *r, uint64_t epochs);
invar_status inv_run_log(inv_run *r, const json_t *line);
invar_status inv_run_sync_log(inv_run *r);
void inv_run_close(inv_run *r);

#endif
