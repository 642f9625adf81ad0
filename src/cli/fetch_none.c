/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_none.c - replaces fetch.c in a build without libcurl (-Dcurl=disabled). */
#include "cli/fetch.h"

invar_status inv_fetch_file(inv_session *s, inv_fetch *f)
{
	(void)s;
	return inv_fail(INVAR_E_USE,
	                "this invar was built without libcurl: download %s with another "
	                "program, then check it with 'invar models verify'",
	                f->url);
}

char *inv_fetch_local(const char *url)
{
	(void)url;
	return NULL;
}
