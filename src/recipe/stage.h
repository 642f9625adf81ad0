/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - steps of a longer job, each done once.
 *
 * A stage has a name, inputs, an output, a fingerprint and a function. The fingerprint is
 * the SHA-256 of what decides its result: the fingerprints of the stages that made its
 * inputs (or the contents of inputs that no stage made), its options, and the version.
 * A list of stages runs in order: stages that are done are skipped, the first failure ends
 * it.
 *
 * stages.json in the folder of the job is the record of it:
 *
 *     {"format": "invar-stages", "version": 1,
 *      "stages": {NAME: {state, fingerprint, inputs, outputs: {PATH: BYTES}}}}
 *
 * Invariants of the record:
 *   1. A stage is "done" if it ran to its end with these inputs; then outputs lists its
 *      files, by paths relative to the folder if they are in it, with their sizes.
 *   2. A stage is "begun" from before its first write until it is done: whatever ends the
 *      program in between, the record never claims too much.
 *   3. Something is removed only if the record says that this stage made it, from other
 *      inputs; the record says so until it is gone.
 *   4. The file is replaced as a whole (base/file.h), and the folder is locked while its
 *      stages are open: a second process fails before it reads or writes anything.
 *
 * A stage is skipped if its entry is done, the fingerprint is the same and every file of
 * outputs has its size. A stage whose output was deleted runs again, but the stages
 * that read it do not: equal inputs give equal bytes.
 */
#ifndef INV_STAGE_H
#define INV_STAGE_H

#include "base/context.h"
#include "base/json.h"

#define INV_STAGES_JSON "stages.json"

/* Called with the path of a file that a stage made. */
typedef invar_status inv_stage_file(void *user, const char *path);

/* What a stage does; `own` is created by the function that adds it. */
typedef struct inv_stage_kind {
	/* Adds to `inputs` what determines the result besides the paths; NULL: nothing. */
	invar_status (*describe)(void *own, json_t *inputs);
	/* Removes what it has made from other inputs; NULL: running replaces it. */
	invar_status (*clear)(void *own);
	/* Resumes what was begun with the same inputs, if it can. */
	invar_status (*run)(void *own);
	/* Calls `each` with the files that it made; NULL: the output itself. */
	invar_status (*list)(void *own, inv_stage_file *each, void *user);
	void (*free)(void *own);
} inv_stage_kind;

/*
 * Adds a stage; takes own, also if it fails. `says` is logged when it begins, or NULL.
 * inputs are paths, ended by NULL (or NULL): the output of an earlier stage of this list, a
 * bank, a run, or a file. output is a file or folder that the stage writes.
 */
invar_status inv_stages_add(invar_stages *s, const char *name, const char *says,
                            const char *const *inputs, const char *output,
                            const inv_stage_kind *kind, void *own);

invar_context *inv_stages_context(const invar_stages *s);

#endif
