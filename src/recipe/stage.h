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
 *     {"format": "invar-stages", "version": 2,
 *      "stages": {NAME: {state, fingerprint, inputs, reads, outputs, next}},
 *      "files": {PATH: STAMP}}
 *
 * outputs is a STAMP of what the stage made (stage_stamp.h), reads {NAME: SHA-256} of
 * what the stages before it had made when it ran, files has stamps of inputs that no stage
 * made, so that they are read only if they changed.
 *
 * Invariants of the record:
 *   1. A stage is "done" if it ran to its end with these inputs; then outputs is what it
 *      made.
 *   2. Before a stage writes for the first time it is "begun": whatever ends the program in
 *      between, the record never claims too much.
 *   3. What a stage made is replaced as a whole. A file is (base/file.h). A folder that the
 *      record knows is made anew as FOLDER.part and takes the name of the old one when it
 *      is finished; until then the entry is that of the old one and `next` that of the
 *      new one, {fingerprint, inputs}, with outputs once it is finished. A program killed
 *      after the exchange finds what `next` says under the name of the folder.
 *   4. FOLDER.part is ours if `next` exists. A next without a fingerprint is left over: the
 *      folder is removed, and `next` after it. `next` of the same fingerprint is resumed.
 *   5. The file is replaced as a whole, and the folder is locked while its stages are open:
 *      a second process fails before it reads or writes anything.
 *
 * A stage is skipped if its entry is done with the same fingerprint, the outputs of the
 * stages before it are those that it has read, and its own output has the recorded
 * contents. An output that was changed, extended or deleted is made again; equal inputs
 * give equal bytes, so stages that read it are then skipped.
 *
 * Version 1 had the sizes of files as outputs and no reads. Such an entry is done if the
 * sizes are the same; it gets its stamp the next time that it is skipped.
 */
#ifndef INV_STAGE_H
#define INV_STAGE_H

#include "base/context.h"
#include "base/json.h"
#include "recipe/stage_stamp.h"

#define INV_STAGES_JSON "stages.json"

/* What a stage does; `own` is created by the function that adds it. */
typedef struct inv_stage_kind {
	/* Adds to `inputs` what determines the result besides the paths; NULL: nothing. */
	invar_status (*describe)(void *own, json_t *inputs);
	/* Makes the output, a file, or the folder `at`; a folder that was begun with the same
	 * inputs is resumed. */
	invar_status (*run)(void *own, const char *at);
	/* What people know of it besides the output, such as results kept with a run, exists;
	 * NULL: nothing. */
	bool (*is_whole)(void *own);
	void (*free)(void *own);

	/* Only if the output is a folder: */
	inv_stage_list *list; /* its files */
	/* Fails if the folder contains anything else than the stage and its readers write. */
	invar_status (*refuse_foreign)(void *own, const char *folder);
	/* Removes the folder, which need not be complete. Anything else in it moves to the same
	 * place below `to`; with NULL it stays, with the folder. */
	invar_status (*remove)(void *own, const char *folder, const char *to);
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
