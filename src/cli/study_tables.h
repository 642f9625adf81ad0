/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_tables.h - the tables of a study as files for people, papers and programs.
 *
 * STUDY/table.txt, .md, .csv, .tex and .json are one stage each, made from the table.json
 * of every bank.
 */
#ifndef INV_STUDY_TABLES_H
#define INV_STUDY_TABLES_H

#include "cli/session.h"
#include "study/study_run.h"

enum { INV_STUDY_TABLES = 5 }; /* stages */

const char *inv_study_table_file(size_t i); /* its name; NULL past the last */

/* Runs them; `folder` is that of the study. */
invar_status inv_study_tables(inv_session *s, inv_study_job *j);

#endif
