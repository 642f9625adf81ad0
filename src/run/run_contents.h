/* SPDX-License-Identifier: Apache-2.0 */
/* run_contents.h - which files of a folder belong to a run: see run.h, 5, 7 and 8. */
#ifndef INV_RUN_CONTENTS_H
#define INV_RUN_CONTENTS_H

#include "base/folder.h"
#include "base/json.h"

typedef struct inv_run_contents {
	const char *path;
	json_t *json;      /* run.json; NULL if there is none of a run */
	json_t *clean;     /* clean/bank.json; NULL if there is none of this run */
	bool clean_begun;  /* the bank of this run is not yet described */
	bool has_adapter;  /* without one there is nothing to measure */
	bool is_replacing; /* a run that is to take the place of another */
	bool failed_early; /* it failed before it had anything to lose */
} inv_run_contents;

/*
 * Lists a folder, which need not exist; fails if a run.json of ours is damaged or memory is
 * short, because neither may look like a missing file. Borrows the path; forget it in any
 * case.
 */
invar_status inv_run_look(const char *path, inv_run_contents *out);
void inv_run_forget(inv_run_contents *c);

/* The owner of what a training writes; views c. */
inv_owner inv_run_owner(const inv_run_contents *c);

/* Fails if there are foreign entries, naming the first; `advice` ends the message. */
invar_status inv_run_refuse_foreign(const inv_run_contents *c, const char *name,
                                    const char *advice);

/* The first bytes of every run.json, also of an incomplete one. */
#define INV_RUN_MARK "{\n \"format\": \"invar-run\""
#define INV_RUN_FORMAT "invar-run"
/* In run.json, true while the run has not yet taken the place of another. */
#define INV_RUN_REPLACES "replaces"

#endif
