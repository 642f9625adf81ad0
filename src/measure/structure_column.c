/* SPDX-License-Identifier: Apache-2.0 */
/* structure_column.c - structure as a measurement of `invar eval`. */
#include <inttypes.h>

#include "measure/measurement.h"

static json_t *to_json(const invar_structure_result *r)
{
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"L1", r->l1},       {"L2", r->l2},        {"m", r->m},
	               {"b", r->b},         {"R2", r->r2},        {"RMSD", r->rmsd},
	               {"NRMSD", r->nrmsd}, {"CVRMSD", r->cvrmsd}};
	json_t *json = json_object();

	json_object_set_new(json, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(json, "zero_pairs", json_integer((json_int_t)r->zero_pairs));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_object_set_new(json, numbers[i].name, inv_json_number(numbers[i].value));
	return json;
}

static invar_status measure(const inv_measure_input *in, json_t **out)
{
	const inv_choice c = inv_choose_points(in, inv_choose_all(in->split));
	uint64_t points = c.points;
	float *x = inv_calloc(points * in->d, sizeof *x);
	float *e = in->adapter ? inv_calloc(points * in->w, sizeof *e) : x;
	invar_structure_result r;
	invar_status st =
		x && e ? INVAR_OK
			   : inv_fail(INVAR_E_NOMEM, "no memory for %" PRIu64 " rows", points);

	if (st == INVAR_OK)
		st = inv_measure_rows(in, &c, INVAR_CLEAN, true, 0, points, x);
	if (st == INVAR_OK && in->adapter)
		st = invar_adapter_apply(in->adapter, x, points, e);
	if (st == INVAR_OK)
		st = invar_structure((invar_context *)(uintptr_t)in->ctx, x, in->d, e, in->w,
		                     points, &r);
	if (st == INVAR_OK)
		*out = to_json(&r);
	if (in->adapter)
		inv_free(e);
	inv_free(x);
	return st;
}

const inv_measurement inv_measurement_structure = {"structure", NULL, 0, measure};
