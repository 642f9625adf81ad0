/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_table.c - the kinds of data sets that meson.build lists. */
#include "images/dataset.h"

#include "images/kinds/dataset_list.h"

const inv_dataset_kind *inv_dataset_kind_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}

const char *inv_dataset_kind_about(size_t i, const char **place, const char **about)
{
	const inv_dataset_kind *kind = inv_dataset_kind_at(i);

	if (place)
		*place = kind ? kind->place : NULL;
	if (about)
		*about = kind ? kind->about : NULL;
	return kind ? kind->name : NULL;
}
