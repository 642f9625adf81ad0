/*
 * eval.c - invar_eval: each measurement, for F and for each adapter.
 *
 * Clean features of the points are read once; the codes of one adapter at a
 * time stand beside them.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "measure/measurement.h"

#define FIELD(member) offsetof(invar_eval_opts, member)

static const invar_field fields[] = {
	{"only", INVAR_FIELD_TEXT, FIELD(only), 0, 0, 0, NULL, "LIST", "Measurements",
     "measure only these, separated by commas: structure"},
	{"split", INVAR_FIELD_TEXT, FIELD(split), 0, 0, 0, NULL, "NAME", "Measurements",
     "the split of the bank that is measured"},
	{"points", INVAR_FIELD_COUNT, FIELD(points), 0, 4e9, 0, NULL, "N", "Measurements",
     "take N rows spread evenly over the split; 0 is all"},
	{"seed", INVAR_FIELD_COUNT, FIELD(seed), 0, 0x1p53, 0, NULL, "N", "Common",
     "key of every random draw"},
};

static const inv_fields table = {fields, sizeof fields / sizeof *fields};

void invar_eval_defaults(invar_eval_opts *o)
{
	*o = (invar_eval_opts){.size = sizeof *o, .split = "test"};
}

const invar_field *invar_eval_fields(size_t *count)
{
	*count = table.count;
	return fields;
}

/* ---- Which measurements ---------------------------------------------------------------
 */

/* Is the word one of the list "a,b,c"? */
static bool lists(const char *list, const char *word, size_t length)
{
	for (const char *at = list; at;) {
		size_t piece = strcspn(at, ",");

		if (piece == length && memcmp(at, word, length) == 0)
			return true;
		at = at[piece] ? at + piece + 1 : NULL;
	}
	return false;
}

static bool is_wanted(const invar_eval_opts *o, const inv_measurement *m)
{
	return !o->only || lists(o->only, m->name, strlen(m->name));
}

static bool is_measurement(const char *word, size_t length)
{
	for (size_t i = 0; inv_measurements[i]; i++)
		if (lists(inv_measurements[i]->name, word, length))
			return true;
	return false;
}

static invar_status check_only(const char *only)
{
	for (const char *at = only; at && *at;) {
		size_t length = strcspn(at, ",");

		if (!is_measurement(at, length))
			return inv_fail(INVAR_E_USE, "--only: there is no measurement '%.*s', only %s",
			                (int)length, at, inv_measurements[0]->name);
		at += length + (at[length] == ',');
	}
	return INVAR_OK;
}

static invar_status check(const invar_bank *bank, const invar_adapter *const *adapters,
                          const char *const *names, size_t count, const invar_eval_opts *o)
{
	invar_status st = inv_fields_check(table, o);

	if (st == INVAR_OK)
		st = check_only(o->only);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		if (adapters[i]->s.d != bank->dim)
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s takes features %zu wide, those of %s are %" PRIu32, names[i],
			              adapters[i]->s.d, bank->path, bank->dim);
	return st;
}

/* ---- Points -----------------------------------------------------------------------------
 */

static invar_status read_points(inv_measure_input *in, float **out)
{
	uint64_t n = in->split->rows;
	float *rows = inv_calloc(in->points * in->d, sizeof *rows);
	invar_status st = INVAR_OK;

	*out = rows;
	if (!rows)
		return inv_fail(INVAR_E_NOMEM, "no memory for %" PRIu64 " rows", in->points);
	for (uint64_t i = 0; i < in->points && st == INVAR_OK; i++)
		st = inv_bank_row(in->bank, in->split, INVAR_CLEAN, i * n / in->points,
		                  rows + i * in->d);
	return st;
}

static invar_status encode_points(inv_measure_input *in, float **codes)
{
	*codes = NULL;
	in->codes = in->clean;
	in->w = in->d;
	if (!in->adapter)
		return INVAR_OK;
	in->w = (uint32_t)in->adapter->s.w;
	*codes = inv_calloc(in->points * in->w, sizeof **codes);
	in->codes = *codes;
	if (!*codes)
		return inv_fail(INVAR_E_NOMEM, "no memory for %" PRIu64 " codes", in->points);
	return invar_adapter_apply(in->adapter, in->clean, in->points, *codes);
}

/* ---- The document
 * -------------------------------------------------------------------------- */

static invar_status measure_column(inv_measure_input *in, const char *name, json_t *results)
{
	float *codes;
	invar_status st = encode_points(in, &codes);

	for (size_t i = 0; inv_measurements[i] && st == INVAR_OK; i++) {
		const inv_measurement *m = inv_measurements[i];
		json_t *value = NULL;

		if (!is_wanted(in->opts, m))
			continue;
		if ((st = m->measure(in, &value)) != INVAR_OK)
			st = inv_context(st, "%s of %s", m->name, name);
		else
			json_object_set_new(json_object_get(results, m->name), name, value);
	}
	inv_free(codes);
	return st;
}

static json_t *empty_results(const invar_eval_opts *o)
{
	json_t *results = json_object();

	for (size_t i = 0; inv_measurements[i]; i++)
		if (is_wanted(o, inv_measurements[i]))
			json_object_set_new(results, inv_measurements[i]->name, json_object());
	return results;
}

static invar_status measure_columns(inv_measure_input *in,
                                    const invar_adapter *const *adapters,
                                    const char *const *names, size_t count, json_t *doc)
{
	json_t *columns = json_array(), *results = empty_results(in->opts);
	invar_status st = INVAR_OK;

	json_object_set_new(doc, "columns", columns);
	json_object_set_new(doc, "measurements", results);
	for (size_t i = 0; i <= count && st == INVAR_OK; i++) {
		const char *name = i ? names[i - 1] : "F";

		if ((st = inv_progress(in->ctx, "eval", i, count + 1)) != INVAR_OK)
			break;
		json_array_append_new(columns, json_string(name));
		in->adapter = i ? adapters[i - 1] : NULL;
		st = measure_column(in, name, results);
	}
	return st;
}

static json_t *describe(const inv_measure_input *in)
{
	const char *encoder = invar_bank_field(in->bank, "encoder");
	const char *augment = invar_bank_field(in->bank, "augment");

	return json_pack("{s:s, s:s*, s:s*, s:s, s:I, s:I}", "bank", in->bank->path, "encoder",
	                 encoder, "augment", augment, "split", in->split->name, "points",
	                 (json_int_t)in->points, "dim", (json_int_t)in->d);
}

invar_status invar_eval(const invar_bank *bank, const invar_adapter *const *adapters,
                        const char *const *names, size_t count, const invar_eval_opts *o,
                        char **json)
{
	inv_measure_input in = {.ctx = bank->ctx, .bank = bank, .opts = o, .d = bank->dim};
	invar_status st = check(bank, adapters, names, count, o);
	float *clean = NULL;
	json_t *doc;

	*json = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(in.split = inv_bank_split(bank, o->split)))
		return INVAR_E_MISMATCH;
	in.points = o->points && o->points < in.split->rows ? o->points : in.split->rows;
	if ((st = read_points(&in, &clean)) == INVAR_OK) {
		in.clean = clean;
		doc = describe(&in);
		st = measure_columns(&in, adapters, names, count, doc);
		if (st == INVAR_OK && !(*json = inv_json_text(doc, 1)))
			st = inv_fail(INVAR_E_NOMEM, "no memory for the results");
		json_decref(doc);
	}
	inv_free(clean);
	return st;
}
