/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_run.h - a study as stages: encode, diagnose, train, eval, table; bank after bank.
 *
 * Stages are added and run one at a time, as some need what those before have made: a width
 * of d/4 needs the bank. With `keep_going` a failure is noted, and what depends on it is
 * left out; the table of a bank then has the adapters that are there. With `plans` every
 * stage is asked instead of run, whether it would run now; nothing is written, and missing
 * weights or images are no failure, but the reason why something is unknown.
 */
#ifndef INV_STUDY_RUN_H
#define INV_STUDY_RUN_H

#include "study/stage.h"
#include "study/study.h"

typedef struct inv_study_failure {
	char *stage, *message;
} inv_study_failure;

/* A stage of a plan. */
typedef struct inv_planned {
	char *stage;
	bool pending;   /* it would run; else it is done */
	double seconds; /* that it took when it ran last; NaN: it has not */
	double bytes;   /* disk space of a bank or run that is to be made; NaN: unknown */
	char *unknown;  /* why something is unknown; or NULL */
} inv_planned;

typedef struct inv_study_job {
	const inv_study *study;
	invar_context *ctx;
	bool keep_going;
	bool plans;
	void (*say)(void *user, const char *text); /* what people should know; or NULL */
	void *user;

	inv_pool pool;
	inv_stages *stages;
	size_t number, total; /* of stages: begun so far, and all */
	size_t ran;           /* rather than skipped */
	char **table;         /* [tables]: tables of banks, in order, then NULL */
	const inv_study_bank **table_bank;
	size_t tables;
	char **run; /* [runs]: runs of the first seed that were measured, in order */
	const inv_study_bank **run_bank; /* [runs]: what each was trained on */
	size_t runs;
	inv_study_failure *failure;
	size_t failures;
	inv_planned *plan; /* [planned] */
	size_t planned;
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

/* "STUDY/a/b" as "a/b". */
const char *inv_study_below(const inv_study *s, const char *path);
/* "FOLDER/runs/SEED/ADAPTER"; gives. A run has the name of its adapter last, as pages and
 * tables call it that. */
char *inv_study_run_path(const inv_study_bank *b, const inv_study_adapter *a,
                         uint64_t seed);

#endif
