/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - the table of services, and what a rank other than 0 does all the time.
 *
 * It is here because it needs all rooms that have a service (base/processes.h). A new
 * service is a line of the table.
 */
#include "study/serve.h"
#include "adapter/closed_forms/feature_ranks.h"
#include "adapter/closed_forms/pair_ranks.h"
#include "adapter/train_ranks.h"
#include "base/processes.h"
#include "encode/encode_ranks.h"
#include "math/gallery_ranks.h"
#include "measure/structure.h"

static const inv_service *const services[] = {
	&inv_usage_service,
	&inv_check_shared_service, /* of any command */
	&inv_encode_service,
	&inv_train_service,
	&inv_feature_service,
	&inv_pair_service,
	&inv_gallery_service,
	&inv_structure_service,
	NULL,
};

invar_status inv_processes_serve(inv_processes *p, int *result)
{
	invar_status st = p ? inv_serve(p, services) : INVAR_OK;

	*result = p && st == INVAR_OK ? inv_processes_result(p) : 1;
	return st;
}
