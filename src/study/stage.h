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
 *      "stages": {NAME: {state, fingerprint, inputs, reads, outputs, seconds, next}},
 *      "files": {PATH: STAMP}}
 *
 * outputs is a STAMP of what the stage made (stage_stamp.h), seconds how long that took,
 * of one that was interrupted since it was resumed, reads {NAME: SHA-256} of
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
#include "study/stage_stamp.h"

#define INV_STAGES_JSON "stages.json"

/*
 * Stages are added, then run in order; the first failure ends the run, and a stage that was
 * interrupted resumes. More may be added after a run. The folder of the job, which must
 * exist to run, is locked until inv_stages_close: in a second process, inv_stages_open
 * fails. Without the folder it can be asked what is pending.
 */
typedef struct inv_stages inv_stages;

/* What a stage works on; each kind uses some of it. */
typedef struct inv_stage_work {
	invar_context *ctx;                    /* set by inv_stages_add */
	const char *bank, *run, *title, *file; /* texts are copied */
	const char *text;                      /* any text that determines the result */
	invar_options *options;                /* taken */
	invar_encoder *encoder;                /* borrowed, as are the others */
	const invar_dataset *dataset;
	invar_status (*call)(void *user);
	void *user;
} inv_stage_work;

/* What a stage does. */
typedef struct inv_stage_kind {
	/* Adds to `inputs` what determines the result besides the paths; NULL: nothing. */
	invar_status (*describe)(const inv_stage_work *w, json_t *inputs);
	/*
	 * Makes the output, a file, or the folder `at`; a folder that was begun with the same
	 * inputs is resumed. All ranks call it (base/processes.h), unless rank 0 works alone.
	 */
	invar_status (*run)(const inv_stage_work *w, const char *at);
	bool alone;
	/* Whether what people know of it besides the output, such as results kept with a run,
	 * exists; NULL: nothing. */
	bool (*is_whole)(const inv_stage_work *w);

	/* Only if the output is a folder: */
	inv_stage_list *list; /* its files */
	/* Fails if the folder contains anything else than the stage and its readers write. */
	invar_status (*refuse_foreign)(const char *folder);
	/* Removes the folder, which need not be complete. Anything else in it moves to the same
	 * place below `to`; with NULL it stays, with the folder. */
	invar_status (*remove)(const char *folder, const char *to);
} inv_stage_kind;

invar_status inv_stages_open(invar_context *ctx, const char *folder, inv_stages **out);
void inv_stages_close(inv_stages *s); /* accepts NULL */

/*
 * Adds a stage; takes work->options, also if it fails. `says` is logged when it begins, or
 * NULL. inputs are paths, ended by NULL (or NULL): the output of an earlier stage of this
 * list, a bank, a run, or a file. output is a file or folder that the stage writes.
 */
invar_status inv_stages_add(inv_stages *s, const char *name, const char *says,
                            const char *const *inputs, const char *output,
                            const inv_stage_kind *kind, const inv_stage_work *work);
/* invar_encode of a data set; it and the encoder must stay open until the stage has run. */
invar_status inv_stages_add_encode(inv_stages *s, const char *name, const char *says,
                                   invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank);
/* invar_train on a bank; an unfinished run in the folder `run` is resumed. */
invar_status inv_stages_add_train(inv_stages *s, const char *name, const char *says,
                                  const char *bank, const invar_options *o,
                                  const char *run);
/* invar_diagnose of a bank; the results become the file `results`. */
invar_status inv_stages_add_diagnose(inv_stages *s, const char *name, const char *says,
                                     const char *bank, const invar_options *o,
                                     const char *results);
/* invar_eval of a run or adapter on a bank, or with NULL of F alone; the results become the
 * file `results`, and a run keeps its own (invar_run_keep_results). */
invar_status inv_stages_add_eval(inv_stages *s, const char *name, const char *says,
                                 const char *bank, const char *run, const char *title,
                                 const invar_options *o, const char *results);

/* A stage of the caller that writes one file; its texts are copied. */
typedef struct inv_own_stage {
	void *user;
	const char *name, *says;
	const char *const *inputs; /* files, banks, runs; ended by NULL; or NULL */
	const char *options;       /* any text that also determines the result; or NULL */
	const char *output;
	invar_status (*run)(void *user);
} inv_own_stage;

invar_status inv_stages_add_own(inv_stages *s, const inv_own_stage *o);

invar_status inv_stages_run(inv_stages *s);
/*
 * Gives up the stage that failed, so that the next call continues after it. The caller adds
 * no stage that reads its output.
 */
void inv_stages_give_up(inv_stages *s);
/*
 * Would this stage run now, or is it done? Nothing is written. Ask in the order of the
 * list: a stage depends on those before it.
 */
invar_status inv_stages_pending(inv_stages *s, const char *name, bool *pending);
/* How long a stage of this name took when it ran last; NaN if that is not recorded. */
double inv_stages_seconds(const inv_stages *s, const char *name);
/* Did this stage run, rather than being skipped? */
bool inv_stages_ran(const inv_stages *s, const char *name);

#endif
