/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - the folder of a training.
 *
 * Invariants of a run:
 *   1. run.json is the first file in the folder and the last to be removed: it marks the
 *      others as those of a run. It has every option; "inputs", the hashes of the rows,
 *      come before the first step.
 *   2. checkpoint.safetensors, where present, is complete and says which options and rows
 *      it was made with; a run.json that says something else is refused.
 *   3. log.jsonl has one line per finished epoch, in order; on resuming it is
 *      cut back to the epochs that the checkpoint has finished.
 *   4. adapter.safetensors appears once, when the last epoch is done; a
 *      decoder.safetensors right before it.
 *   5. clean/ is a bank that a training on images has made. It belongs to the run if
 *      run.json and its bank.json describe the same features.
 *   6. One process at a time holds the run (flock on the folder).
 *   7. Files are removed by our exact names, or those with .part, beside the run.json of a
 *      run, and nothing else ever is. A folder that holds anything else is refused, except
 *      by RESUME, which removes nothing.
 *   8. REPLACE fills RUN.part, whose run.json says "replaces", and exchanges the folders
 *      once the new run is finished; then the old one, now RUN.part without "replaces",
 *      is removed, and what others put into it meanwhile moves to RUN. Until the exchange
 *      RUN is the old run. A RUN.part that "replaces" is what RESUME resumes; REPLACE
 *      begins it again. Where folders cannot be exchanged at once, a killed program may
 *      leave the old run as RUN.old.part, which the next one puts back.
 *
 * The names of the files are in invar.h; only run_contents.c knows which belong to a run.
 */
#ifndef INV_RUN_H
#define INV_RUN_H

#include <stdio.h>

#include "base/context.h"
#include "base/json.h"

typedef struct inv_run {
	char *path;   /* as the caller named it, for messages */
	char *place;  /* the same without links and final slashes */
	char *stage;  /* RUN.part */
	char *aside;  /* RUN.old.part */
	char *folder; /* place, or while a run is replaced its stage; files are in here */
	char *json_path, *log_path, *checkpoint_path, *adapter_path, *decoder_path;
	char *clean_path; /* folder of clean features, where a run is trained on images */
	int lock;         /* of the folder */
	int old_lock;     /* of the run that is replaced, -1 if there is none */
	bool made;        /* the folder is of our making */
	bool staged;      /* folder is the stage */
	bool leftover;    /* what an earlier training left is still in the folder */
	FILE *log;
	json_t *json;    /* run.json as it will be saved */
	char *made_with; /* for checkpoints, see provenance.h; NULL before it is described */
} inv_run;

typedef enum inv_run_mode { INV_RUN_FRESH, INV_RUN_RESUME, INV_RUN_REPLACE } inv_run_mode;

/*
 * Makes or opens the folder and locks it; RESUME loads run.json. Nothing of an
 * old run is touched yet, and a folder made here goes again if it stays empty.
 */
invar_status inv_run_open(const char *path, inv_run_mode mode, inv_run **out);
/*
 * Removes what an earlier training left in the folder; call right before saving. A bank
 * of clean features stays if `images` (NULL: none) describes the same ones.
 */
invar_status inv_run_clear(inv_run *r, const json_t *images);
invar_status inv_run_save(inv_run *r); /* run.json */
/* Puts a finished run in the place of the one that it replaces. */
invar_status inv_run_publish(inv_run *r);
/* Opens the log with its first `epochs` lines kept. */
invar_status inv_run_open_log(inv_run *r, uint64_t epochs);
invar_status inv_run_log(inv_run *r, const json_t *line);
invar_status inv_run_sync_log(inv_run *r);
/* A replacement that failed before its first checkpoint is removed. */
void inv_run_close(inv_run *r);

/* run.json of a run; gives. NULL if the folder has none, or it is damaged. */
json_t *inv_run_json(const char *run);
/* What a run is called: the last part of its path; gives, inv_free. NULL: no memory. */
char *inv_run_title(const char *run);

/* The files of a run, by their names in its folder. */
#define INV_RUN_JSON "run.json"
#define INV_RUN_LOG "log.jsonl"
#define INV_RUN_CHECKPOINT "checkpoint.safetensors"
#define INV_RUN_ADAPTER "adapter.safetensors"
#define INV_RUN_DECODER "decoder.safetensors"
#define INV_RUN_METRICS "metrics.json"
#define INV_RUN_REPORT "report.html"
#define INV_REPORT_MARK "<!doctype html>\n<!-- invar report -->\n" /* how it begins */
#define INV_RUN_CLEAN "clean" /* a bank, in runs trained on images */
/* In the run.json that a stage writes where a trial has refused the adapter: true; "error"
 * says why. */
#define INV_RUN_NO_ADAPTER "no_adapter"
/*
 * Whether there is a run to resume; with `replacing`, whether it is one that was started
 * with `force`. Such a run is written to the folder RUN.part and replaces RUN when it is
 * finished.
 */
int inv_run_is_begun(const char *run, int replacing);

#endif
