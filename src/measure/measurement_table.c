/* SPDX-License-Identifier: Apache-2.0 */
/* measurement_table.c - the measurements that meson.build lists. */
#include "measure/measurement.h"

#include "measure/measurement_list.h"

const char *inv_measurement_about(size_t i, const char **title, const char **about)
{
	const inv_measurement *m = inv_measurement_at(i);

	if (title)
		*title = m ? m->title : NULL;
	if (about)
		*about = m ? m->about : NULL;
	return m ? m->name : NULL;
}

const inv_measurement *inv_measurement_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}
