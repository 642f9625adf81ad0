/* SPDX-License-Identifier: Apache-2.0 */
/* study_report.h - the pages of a study as its last stages: STUDY/report.html and, with
 * several banks, one beside the table of each. */
#ifndef INV_STUDY_REPORT_H
#define INV_STUDY_REPORT_H

#include "cli/session.h"
#include "study/study_run.h"

size_t inv_study_report_files(const inv_study *study); /* how many stages these are */
invar_status inv_study_report(inv_session *s, inv_study_job *j);

#endif
