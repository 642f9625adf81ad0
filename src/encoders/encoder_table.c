/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_table.c - the families of encoders that meson.build lists. */
#include "encoders/encoder.h"

#include "encoders/encoder_list.h"

const inv_encoder_kind *inv_encoder_kind_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}

const char *inv_encoder_family(size_t i, const char **about)
{
	const inv_encoder_kind *kind = inv_encoder_kind_at(i);

	if (about)
		*about = kind ? kind->about : NULL;
	return kind ? kind->family : NULL;
}
