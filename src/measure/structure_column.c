/* structure_column.c - structure as a measurement of `invar eval`. */
#include "measure/measurement.h"

static json_t *to_json(const invar_structure_result *r)
{
	json_t *json = json_object();
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"L1", r->l1},       {"L2", r->l2},        {"m", r->m},
	               {"b", r->b},         {"R2", r->r2},        {"RMSD", r->rmsd},
	               {"NRMSD", r->nrmsd}, {"CVRMSD", r->cvrmsd}};

	json_object_set_new(json, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(json, "zero_pairs", json_integer((json_int_t)r->zero_pairs));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_object_set_new(json, numbers[i].name, inv_json_number(numbers[i].value));
	return json;
}

static invar_status measure(const inv_measure_input *in, json_t **out)
{
	invar_structure_result r;
	invar_status st = invar_structure((invar_context *)(uintptr_t)in->ctx, in->clean, in->d,
	                                  in->codes, in->w, in->points, &r);

	if (st == INVAR_OK)
		*out = to_json(&r);
	return st;
}

const inv_measurement inv_measurement_structure = {"structure", measure};
