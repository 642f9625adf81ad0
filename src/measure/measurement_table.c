/* SPDX-License-Identifier: Apache-2.0 */
/* measurement_table.c - the measurements that meson.build lists. */
#include "measure/measurement.h"

#include "measure/measurement_list.h"

const inv_measurement *inv_measurement_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}
