/* SPDX-License-Identifier: Apache-2.0 */
/* copy_params.c - see copy_params.h. */
#include "bank/copy_params.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "images/spec.h"

struct inv_copy_params {
	const inv_split *split;
	const json_t *names; /* of the bank */
	size_t columns;
	uint32_t copies;
	inv_npy **file; /* [copies] */
	bool has_spec;
	inv_spec spec;
};

static invar_status open_copy(const invar_bank *b, const inv_split *s, inv_copy_params *p,
                              uint32_t copy)
{
	char name[48], *path, shape[INV_SHAPE_TEXT];
	const inv_npy_header *h;
	invar_status st;

	snprintf(name, sizeof name, "aug/%03" PRIu32 ".params.npy", copy);
	INV_TRY(inv_new_path_in(&path, b->path, s->name, name));
	if (!inv_exists(path))
		INV_TRY_OR(done, inv_fail(INVAR_E_MISMATCH,
		                          "%s has no %s, so how its copies were made is unknown",
		                          s->name, name));
	INV_TRY_OR(done, inv_npy_open(path, &p->file[copy]));
	h = &p->file[copy]->h;
	if (h->ndim != 2 || h->shape[0] != inv_file_rows(s) || h->shape[1] != p->columns)
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: its shape is %s but (%" PRIu64
		              ", %zu) was expected: the rows of the split and augment_params of "
		              "bank.json",
		              p->file[copy]->path, inv_shape_text(h->ndim, h->shape, shape),
		              inv_file_rows(s), p->columns);
done:
	inv_free(path);
	return st;
}

invar_status inv_copy_params_open(const invar_bank *b, const inv_split *s,
                                  inv_copy_params **out)
{
	const char *spec = invar_bank_field(b, "augment");
	inv_copy_params *p;
	char name[32];
	invar_status st;

	*out = NULL;
	if (b->in_memory)
		return inv_fail(INVAR_E_MISMATCH, "how copies in memory were made is unknown");
	INV_TRY(inv_new(&p));
	p->split = s;
	p->copies = s->copies;
	INV_TRY_OR(fail, inv_new_zeros(&p->file, s->copies + 1));
	p->names = json_object_get(b->json, "augment_params");
	p->columns = json_array_size(p->names);
	if (!p->columns)
		INV_TRY_OR(fail, inv_fail(INVAR_E_MISMATCH,
		                          "bank.json does not name the parameters of copies "
		                          "(augment_params)"));
	for (size_t i = 0; i < p->columns; i++)
		if (!inv_copy_params_name(p, i))
			INV_TRY_OR(fail,
			           inv_fail(INVAR_E_MISMATCH,
			                    "%s: augment_params in bank.json must be a list of names",
			                    b->path));
	for (uint32_t copy = 0; copy < s->copies; copy++)
		INV_TRY_OR(fail, open_copy(b, s, p, copy));

	/* If the SPEC has these columns, it says which operation each belongs to. */
	p->has_spec =
		spec && inv_spec_parse(spec, &p->spec) == INVAR_OK && p->spec.columns == p->columns;
	for (size_t i = 0; i < p->columns && p->has_spec; i++) {
		inv_spec_column(&p->spec, i, name);
		p->has_spec = strcmp(name, inv_copy_params_name(p, i)) == 0;
	}
	*out = p;
	return INVAR_OK;
fail:
	inv_copy_params_close(p);
	return st;
}

void inv_copy_params_close(inv_copy_params *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->copies && p->file; i++)
		inv_npy_close(p->file[i]);
	inv_free(p->file);
	inv_free(p);
}

size_t inv_copy_params_columns(const inv_copy_params *p)
{
	return p->columns;
}

const char *inv_copy_params_name(const inv_copy_params *p, size_t column)
{
	return json_string_value(json_array_get(p->names, column));
}

static bool is_of_an_operation(const inv_copy_params *p, size_t column)
{
	return p->has_spec && (column || p->spec.chains == 1);
}

const char *inv_copy_params_operation(const inv_copy_params *p, size_t column)
{
	return is_of_an_operation(p, column)
	           ? p->spec.op[inv_spec_op_of(&p->spec, column)].op->name
	           : NULL;
}

invar_status inv_copy_params_drawn(const inv_copy_params *p, uint32_t copy, uint64_t row,
                                   float *out)
{
	return inv_npy_read(p->file[copy], inv_file_row(p->split, row) * p->columns, p->columns,
	                    out);
}

invar_status inv_copy_params_row(const inv_copy_params *p, uint32_t copy, uint64_t row,
                                 float *out)
{
	bool acts[INV_MAX_OPS];

	INV_TRY(inv_copy_params_drawn(p, copy, row, out));
	if (!p->has_spec)
		return INVAR_OK;
	for (size_t i = 0; i < p->spec.ops; i++)
		acts[i] = inv_spec_acts(&p->spec, out, i);
	for (size_t i = 0; i < p->columns; i++)
		if (is_of_an_operation(p, i) && !acts[inv_spec_op_of(&p->spec, i)])
			out[i] = NAN;
	return INVAR_OK;
}
