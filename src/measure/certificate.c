/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - see certificate.h. */
#include "measure/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bank/bank.h"
#include "bank/row_norms.h"
#include "measure/measurement.h"
#include "measure/structure.h"

enum { VERSION = 1, POINTS = 1000 };

/* ---- What E does ------------------------------------------------------------------ */

invar_status inv_take_rows(const invar_bank *b, const inv_split *s, int32_t copy,
                           uint64_t max_rows, inv_pool *scratch, float **out, uint64_t *n)
{
	*n = inv_min(s->rows, max_rows);
	INV_TRY(inv_pool_zeros(scratch, out, *n * b->dim));
	for (uint64_t i = 0; i < *n; i++)
		INV_TRY(inv_bank_row(b, s, copy, i * s->rows / *n, *out + i * b->dim));
	return INVAR_OK;
}

static double squared_gap(const float *a, const float *b, uint64_t n, size_t d)
{
	double sum = 0;

	for (uint64_t i = 0; i < n * d; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

static double squared_spread(const float *x, uint64_t n, size_t d)
{
	double all = 0;

	for (size_t j = 0; j < d; j++) {
		double mean = 0;

		for (uint64_t i = 0; i < n; i++)
			mean += (double)x[i * d + j] / (double)n;
		for (uint64_t i = 0; i < n; i++)
			all += (x[i * d + j] - mean) * (x[i * d + j] - mean);
	}
	return all;
}

invar_status inv_behaviour_measure(const invar_adapter *e, const float *x,
                                   const float *copies, uint64_t n, inv_behaviour *out)
{
	size_t d = e->s.d, w = e->s.w;
	inv_structure s;
	float *code;
	double whole;
	invar_status st;

	*out = (inv_behaviour){NAN, NAN, NAN, NAN};
	INV_TRY(inv_new_array(&code, n * w));
	INV_TRY_OR(end, invar_adapter_apply(e, x, n, code));
	INV_TRY_OR(end, inv_structure_try(e->ctx, x, (uint32_t)d, code, (uint32_t)w, n, &s));
	out->r2 = s.r2;
	out->cvrmsd = s.cvrmsd;
	if (w == d && (whole = squared_spread(x, n, d)) > 0)
		out->moved = sqrt(squared_gap(code, x, n, d) / whole);
	if (w == d && copies && (whole = squared_gap(copies, x, n, d)) > 0) {
		INV_TRY_OR(end, invar_adapter_apply(e, copies, n, code));
		out->gone = 1 - squared_gap(code, x, n, d) / whole;
	}
end:
	inv_free(code);
	return st;
}

/* ---- Writing ---------------------------------------------------------------------- */

static json_t *value_json(const invar_value *v)
{
	return json_pack("{s:o, s:o, s:o}", "value", inv_json_number(v->value), "low",
	                 inv_json_number(v->low), "high", inv_json_number(v->high));
}

/* NULL if there is no value. */
static json_t *metric_json(const invar_results *r, const invar_metric *m,
                           const char *column)
{
	static const char *const units[] = {"number", "share", "count"};
	const invar_value *v = invar_results_value(r, m->id, column);
	json_t *own, *F = NULL;

	if (!v || v->reason || m->detail)
		return NULL;
	own = json_pack("{s:s, s:s, s:s*, s:s, s:i, s:i}", "id", m->id, "row", m->row, "part",
	                m->part, "unit", units[m->unit], "digits", (int)m->digits, "better",
	                m->better);
	json_object_update_new(own, value_json(v));
	v = invar_results_value(r, m->id, "F");
	if (v && !v->reason)
		F = value_json(v);
	if (F)
		json_object_set_new(own, "F", F);
	return own;
}

/* Where the bank is does not matter, what it contains does. */
static json_t *bank_json(const invar_results *r)
{
	static const char *const texts[] = {"fingerprint", "split", "encoder", "augment"};
	static const char *const numbers[] = {"points", "copies", "dim"};
	json_t *bank = json_object();

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (invar_results_about(r, texts[i]))
			json_object_set_new(bank, texts[i],
			                    json_string(invar_results_about(r, texts[i])));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_object_set_new(
			bank, numbers[i],
			json_integer((json_int_t)inv_results_about_number(r, numbers[i])));
	return bank;
}

static invar_status make_profile(const invar_bank *bank, const inv_split *s,
                                 inv_pool *scratch, json_t **out)
{
	inv_clean_profile p = {0};
	float *x;
	uint64_t n;
	invar_status st;

	INV_TRY(inv_take_rows(bank, s, INVAR_CLEAN, INV_PROFILE_MAX_ROWS, scratch, &x, &n));
	INV_TRY_OR(end, inv_clean_profile_make(bank->ctx, x, n, bank->dim, &p));
	if ((*out = inv_clean_profile_json(&p)))
		json_object_set_new(*out, "split", json_string(s->name));
end:
	inv_clean_profile_clear(&p);
	return st;
}

/* Gives the text, inv_free. */
static invar_status make_text(const invar_adapter *e, const invar_bank *bank,
                              const invar_results *r, const char *column,
                              const invar_options *o, char **out)
{
	const char *train = inv_option_text(o, "train-split");
	const inv_split *measured = inv_bank_split(bank, inv_option_text(o, "split"));
	json_t *behaviour = NULL, *profile = NULL, *metrics = json_array(), *all;
	inv_pool scratch = {0};
	char tensors[INV_SHA256_HEX];
	invar_status st = INVAR_E_MISMATCH;
	float *x, *copies = NULL;
	inv_behaviour b;
	uint64_t n;

	if (!measured)
		goto end;
	INV_TRY_OR(end, inv_adapter_fingerprint(e, tensors));
	INV_TRY_OR(end, inv_take_rows(bank, measured, INVAR_CLEAN, POINTS, &scratch, &x, &n));
	if (measured->copies)
		INV_TRY_OR(end, inv_take_rows(bank, measured, 0, POINTS, &scratch, &copies, &n));
	INV_TRY_OR(end, inv_behaviour_measure(e, x, copies, n, &b));
	behaviour = json_pack("{s:o, s:o, s:o, s:o}", "R2", inv_json_number(b.r2), "CVRMSD",
	                      inv_json_number(b.cvrmsd), "moved", inv_json_number(b.moved),
	                      "gone", inv_json_number(b.gone));
	INV_TRY_OR(end,
	           make_profile(bank,
	                        inv_bank_has_split(bank, train) ? inv_bank_split(bank, train)
	                                                        : measured,
	                        &scratch, &profile));
	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		json_t *one = metric_json(r, invar_results_metric(r, i), column);

		if (one)
			json_array_append_new(metrics, one);
	}
	all = json_pack("{s:i, s:s, s:o, s:O, s:s, s:O, s:O}", "version", VERSION, "invar",
	                INVAR_VERSION, "bank", bank_json(r), "metrics", metrics, "tensors",
	                tensors, "adapter", behaviour, "clean", profile);
	*out = all ? inv_json_text(all, 0) : NULL;
	json_decref(all);
	st = *out ? INVAR_OK : inv_no_memory();
end:
	json_decref(behaviour);
	json_decref(profile);
	json_decref(metrics);
	inv_pool_free(&scratch);
	return st;
}

static inv_tensor_stored stored_tensor(const inv_tensor *t)
{
	inv_tensor_stored s = {
		.name = t->name, .type = t->type, .ndim = t->ndim, .data = t->data};
	int64_t stride = 1;

	for (unsigned i = t->ndim; i-- > 0;) {
		s.shape[i] = t->shape[i];
		s.stride[i] = stride;
		stride *= (int64_t)t->shape[i];
	}
	return s;
}

/* The file of e again, with other metadata; or its parameters, if it has no file. */
static invar_status save_with(const invar_adapter *e, const inv_metadata *rows,
                              size_t count, const char *path)
{
	inv_tensor_stored stored[INV_MLP_BLOCKS];
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	char names[INV_MLP_BLOCKS][32];

	if (!e->file) {
		inv_mlp_tensors(e->s, e->params, "", names, tensors);
		return inv_safetensors_save(path, tensors, INV_MLP_BLOCKS, rows, count);
	}
	for (size_t i = 0; i < INV_MLP_BLOCKS; i++)
		stored[i] = stored_tensor(inv_safetensors_at(e->file, i));
	return inv_safetensors_store(path, stored, INV_MLP_BLOCKS, rows, count);
}

static invar_status save_certified(const invar_adapter *e, const char *text,
                                   const char *path)
{
	inv_metadata *rows = NULL, *more;
	size_t count = 0, kept = 0;
	invar_status st;

	INV_TRY(inv_adapter_all_metadata(e, &rows, &count));
	INV_TRY_OR(end, inv_new_array(&more, count + 1));
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].key, INV_CERTIFICATE_KEY) != 0)
			more[kept++] = rows[i];
	more[kept++] = (inv_metadata){INV_CERTIFICATE_KEY, text};
	st = save_with(e, more, kept, path);
	inv_free(more);
end:
	inv_free(rows);
	return st;
}

invar_status invar_adapter_certify(const invar_adapter *e, const invar_bank *bank,
                                   const invar_results *r, const char *column,
                                   const invar_options *o, const char *path)
{
	const invar_bank view = inv_unit_view(bank);
	char *text = NULL;
	invar_status st;

	INV_TRY(inv_options_expect(o, "eval"));
	if (!inv_results_is_complete(r))
		return inv_fail(INVAR_E_MISMATCH,
		                "results that are not complete cannot be certified");
	INV_TRY(inv_check_width(e, e->path, bank));
	INV_TRY(make_text(e, e->unit ? &view : bank, r, column, o, &text));
	st = save_certified(e, text, path);
	inv_free(text);
	return st;
}

/* ---- Reading ---------------------------------------------------------------------- */

static double number_in(const json_t *object, const char *key)
{
	const json_t *x = json_object_get(object, key);

	return json_is_number(x) ? json_number_value(x) : NAN;
}

invar_status inv_certificate_read(const char *text, const char *where, size_t d,
                                  inv_certificate *out)
{
	const json_t *adapter;

	*out = (inv_certificate){0};
	if (strlen(text) <= INV_CERTIFICATE_MAX)
		out->document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(out->document) ||
	    json_integer_value(json_object_get(out->document, "version")) != VERSION)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its certificate is damaged or of a later version; make a new "
		                "one by eval with @certify",
		                where);
	adapter = json_object_get(out->document, "adapter");
	out->adapter = (inv_behaviour){number_in(adapter, "R2"), number_in(adapter, "CVRMSD"),
	                               number_in(adapter, "moved"), number_in(adapter, "gone")};
	INV_TRY(inv_clean_profile_read(json_object_get(out->document, "clean"), where,
	                               &out->clean));
	if (out->clean.d != d)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: takes features of width %zu, but its certificate is about %zu",
		                where, d, out->clean.d);
	return INVAR_OK;
}

invar_status inv_certificate_of(const invar_adapter *e, inv_certificate *out)
{
	const char *text = invar_adapter_metadata(e, INV_CERTIFICATE_KEY);

	*out = (inv_certificate){0};
	if (!text)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: has no certificate; make one by eval with @certify", e->path);
	INV_TRY(inv_certificate_read(text, e->path, e->s.d, out));
	return inv_adapter_check_certificate(e, out->document);
}

void inv_certificate_clear(inv_certificate *c)
{
	json_decref(c->document);
	inv_clean_profile_clear(&c->clean);
	*c = (inv_certificate){0};
}
