/* SPDX-License-Identifier: Apache-2.0 */
/* demo_sheet.c - what an old index answers for rotated images, as a picture. */
#include "cli/demo.h"
#include "cli/neighbour_sheet.h"

enum { SHOWN = 1 }; /* of the adapters: robust */

static invar_status write_sheet(void *user)
{
	const inv_demo *d = user;
	inv_neighbours n = {.bank_path = d->bank_path,
	                    .query_images = d->test,
	                    .gallery_images = d->train,
	                    .title = "with robust",
	                    .search = {.bank = d->bank,
	                               .split = "test",
	                               .gallery = "train",
	                               .queries = 10,
	                               .nearest = 3}};
	invar_adapter *adapter = NULL;
	invar_status st = invar_adapter_open(d->s->ctx, d->run_path[SHOWN], &adapter);

	n.search.adapter = adapter;
	if (st == INVAR_OK)
		st = inv_neighbours_write(d->s, &n, d->sheet_path);
	invar_adapter_close(adapter);
	return st;
}

invar_status inv_demo_sheet(inv_demo *d)
{
	const char *const inputs[] = {d->bank_path, d->run_path[SHOWN], NULL};
	const invar_stage stage = {.size = sizeof stage,
	                           .user = d,
	                           .name = "sheet",
	                           .inputs = inputs,
	                           .output = d->sheet_path,
	                           .run = write_sheet};

	return invar_stages_add(d->stages, &stage);
}
