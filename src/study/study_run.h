/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_run.h - a study as stages: encode, diagnose, train, eval, table; bank after bank.
 *
 * Stages are added and run one at a time, as some need what those before have made: a width
 * of d/4 needs the bank. With `keep_going` a failure is noted, and what depends on it is
 * left out; the table of a bank then has the adapters that are there.
 */
#ifndef INV_STUDY_RUN_H
#define INV_STUDY_RUN_H

#include "study/comparison.h"
#include "study/published.h"
#include "study/stage.h"
#include "study/study.h"

typedef struct inv_study_failure {
	char *stage, *message;
} inv_study_failure;

typedef struct inv_study_job {
	const inv_study *study;
	invar_context *ctx;
	bool keep_going;
	void (*say)(void *user, const char *text); /* what people should know; or NULL */
	void *user;

	inv_published *published; /* NULL: none */
	inv_stages *stages;
	size_t number, total; /* of stages: begun so far, and all */
	size_t ran;           /* rather than skipped */
	char **table;         /* [tables]: tables of banks, in order */
	const inv_study_bank **table_bank;
	size_t tables;
	char **run; /* [runs]: runs of the first seed that were measured, in order */
	const inv_study_bank **run_bank; /* [runs]: what each was trained on */
	size_t runs;
	inv_study_failure *failure;
	size_t failures;
} inv_study_job;

/*
 * Checks the options of all stages as far as it is possible before any of them runs: a
 * wrong option of the last adapter is reported before the first bank is encoded. Writes
 * nothing. With keep_going nothing is checked, as each fails in its turn.
 */
invar_status inv_study_check(inv_study_job *j);

/* Opens the folder, which must exist, and runs all stages of all banks. `more` is the
 * number of stages that the caller adds with inv_study_add. Clear it whatever the status
 * is. */
invar_status inv_study_run(inv_study_job *j, size_t more);
void inv_study_job_clear(inv_study_job *j);

/* Adds a stage of the caller and runs it; *done is false if it failed. */
invar_status inv_study_add(inv_study_job *j, const inv_own_stage *stage, bool *done);

/* How many stages a study has, without those of the caller. */
size_t inv_study_stages(const inv_study *s);

/* ---- Names of stages and files
 * ----------------------------------------------------------- */

/* A text as printf would write it; gives, NULL if there is no memory. */
char *inv_printed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "STUDY/a/b" as "a/b". */
const char *inv_study_below(const inv_study *s, const char *path);
/* "FOLDER/runs/SEED/ADAPTER" and "FOLDER/eval/SEED/ADAPTER.json"; give. A run has the name
 * of its adapter last, as pages and tables call it that. */
char *inv_study_run_path(const inv_study_bank *b, const inv_study_adapter *a,
                         uint64_t seed);
char *inv_study_eval_path(const inv_study_bank *b, const inv_study_adapter *a,
                          uint64_t seed);
/* Options of a stage eval: those of the recipe, and the seed of the run. Gives. */
invar_status inv_study_eval_options(const inv_study *s, uint64_t seed, invar_options **out);

/* ---- The plan
 * ------------------------------------------------------------------------------ */

typedef struct inv_planned {
	char *stage;
	bool pending;   /* it would run; else it is done */
	double seconds; /* NaN: unknown */
	double bytes;   /* of disk space; NaN: unknown */
	char *unknown;  /* why something is unknown; or NULL */
} inv_planned;

typedef struct inv_plan {
	inv_planned *list;
	size_t count;
	double free_bytes; /* on the disk of the study; NaN: unknown */
} inv_plan;

/* What inv_study_run would do now. Writes nothing that stays. Clear it whatever the status
 * is. */
invar_status inv_study_plan(const inv_study *s, invar_context *ctx, inv_plan *out);
/* Adds a file that the caller would write last, "STUDY/file": pending if anything before it
 * is, or it is missing. */
invar_status inv_plan_add_file(const inv_study *s, const char *folder, const char *file,
                               inv_plan *p);
void inv_plan_clear(inv_plan *p);

#endif
