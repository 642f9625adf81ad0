/* SPDX-License-Identifier: Apache-2.0 */
/* study_report_none.c - stands in for study_report.c in a program without pages. */
#include "cli/study_report.h"

size_t inv_study_report_files(const inv_study *study)
{
	(void)study;
	return 0;
}

invar_status inv_study_report(inv_session *s, inv_study_job *j)
{
	(void)s;
	(void)j;
	return INVAR_OK;
}
