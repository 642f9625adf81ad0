/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - see certificate.h. */
#include "measure/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bank/bank.h"
#include "bank/row_norms.h"
#include "base/memory.h"
#include "measure/structure.h"
#include "run/results.h"

enum { VERSION = 1, POINTS = 1000 };

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for a certificate");
}

/* ---- Rows ------------------------------------------------------------------------- */

invar_status inv_take_rows(const invar_bank *b, const inv_split *s, int32_t copy,
                           uint64_t max_rows, float **out, uint64_t *n)
{
	invar_status st = INVAR_OK;

	*n = s->rows < max_rows ? s->rows : max_rows;
	if (!(*out = inv_calloc(*n * b->dim, sizeof **out)))
		return inv_bank_no_memory(b->path);
	for (uint64_t i = 0; i < *n && st == INVAR_OK; i++)
		st = inv_bank_row(b, s, copy, i * s->rows / *n, *out + i * b->dim);
	return st;
}

/* ---- What E does ------------------------------------------------------------------ */

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

static invar_status measure_structure(const invar_adapter *e, const float *x,
                                      const float *code, uint64_t n, inv_behaviour *out)
{
	inv_structure s;
	invar_status st =
		inv_structure_measure(e->ctx, x, (uint32_t)e->s.d, code, (uint32_t)e->s.w, n, &s);

	if (st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC || st == INVAR_E_USE)
		return INVAR_OK; /* equal rows have no structure: it stays unknown */
	if (st == INVAR_OK) {
		out->r2 = s.r2;
		out->cvrmsd = s.cvrmsd;
	}
	return st;
}

invar_status inv_behaviour_measure(const invar_adapter *e, const float *x,
                                   const float *copies, uint64_t n, inv_behaviour *out)
{
	size_t d = e->s.d;
	bool same = e->s.w == d;
	float *code = inv_calloc(n * e->s.w, sizeof *code);
	double whole;
	invar_status st = code ? invar_adapter_apply(e, x, n, code) : no_memory();

	*out = (inv_behaviour){NAN, NAN, NAN, NAN};
	if (st == INVAR_OK)
		st = measure_structure(e, x, code, n, out);
	if (st == INVAR_OK && same && (whole = squared_spread(x, n, d)) > 0)
		out->moved = sqrt(squared_gap(code, x, n, d) / whole);
	if (st == INVAR_OK && same && copies && (whole = squared_gap(copies, x, n, d)) > 0 &&
	    (st = invar_adapter_apply(e, copies, n, code)) == INVAR_OK)
		out->gone = 1 - squared_gap(code, x, n, d) / whole;
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

static json_t *metrics_json(const invar_results *r, const char *column)
{
	json_t *list = json_array();

	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		json_t *one = metric_json(r, invar_results_metric(r, i), column);

		if (one)
			json_array_append_new(list, one);
	}
	return list;
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

static invar_status make_behaviour(const invar_adapter *e, const invar_bank *bank,
                                   const inv_split *s, json_t **out)
{
	float *x = NULL, *copies = NULL;
	inv_behaviour b;
	uint64_t n;
	invar_status st = inv_take_rows(bank, s, INVAR_CLEAN, POINTS, &x, &n);

	*out = NULL;
	if (st == INVAR_OK && s->copies)
		st = inv_take_rows(bank, s, 0, POINTS, &copies, &n);
	if (st == INVAR_OK)
		st = inv_behaviour_measure(e, x, copies, n, &b);
	if (st == INVAR_OK)
		*out = json_pack("{s:o, s:o, s:o, s:o}", "R2", inv_json_number(b.r2), "CVRMSD",
		                 inv_json_number(b.cvrmsd), "moved", inv_json_number(b.moved),
		                 "gone", inv_json_number(b.gone));
	inv_free(x);
	inv_free(copies);
	return st;
}

static invar_status make_profile(const invar_bank *bank, const inv_split *s, json_t **out)
{
	inv_clean_profile p = {0};
	float *x = NULL;
	uint64_t n;
	invar_status st = inv_take_rows(bank, s, INVAR_CLEAN, INV_PROFILE_MAX_ROWS, &x, &n);

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_clean_profile_make(bank->ctx, x, n, bank->dim, &p);
	if (st == INVAR_OK && (*out = inv_clean_profile_json(&p)))
		json_object_set_new(*out, "split", json_string(s->name));
	inv_clean_profile_clear(&p);
	inv_free(x);
	return st;
}

/* Gives the text, inv_free. */
static invar_status make_text(const invar_adapter *e, const invar_bank *bank,
                              const invar_results *r, const char *column,
                              const invar_options *o, char **out)
{
	const char *train = inv_option_text(o, "train-split");
	const inv_split *measured = inv_bank_split(bank, inv_option_text(o, "split"));
	json_t *behaviour = NULL, *profile = NULL, *all;
	char tensors[INV_SHA256_HEX];
	invar_status st;

	*out = NULL;
	if (!measured)
		return INVAR_E_MISMATCH;
	st = inv_adapter_fingerprint(e, tensors);
	if (st == INVAR_OK)
		st = make_behaviour(e, bank, measured, &behaviour);
	if (st == INVAR_OK)
		st = make_profile(
			bank, inv_bank_has_split(bank, train) ? inv_bank_split(bank, train) : measured,
			&profile);
	if (st != INVAR_OK) {
		json_decref(behaviour);
		return st;
	}
	all = json_pack("{s:i, s:s, s:o, s:o, s:s, s:o, s:o}", "version", VERSION, "invar",
	                INVAR_VERSION, "bank", bank_json(r), "metrics", metrics_json(r, column),
	                "tensors", tensors, "adapter", behaviour, "clean", profile);
	*out = all ? inv_json_text(all, 0) : NULL;
	json_decref(all);
	return *out ? INVAR_OK : no_memory();
}

static inv_tensor_stored stored_tensor(const inv_tensor *t)
{
	inv_tensor_stored s = {
		.name = t->name, .type = t->type, .rank = t->rank, .data = t->data};
	int64_t stride = 1;

	for (unsigned i = t->rank; i-- > 0;) {
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
	invar_status st = inv_adapter_all_metadata(e, &rows, &count);

	if (st != INVAR_OK)
		return st;
	if (!(more = inv_calloc(count + 1, sizeof *more))) {
		inv_free(rows);
		return no_memory();
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].key, INV_CERTIFICATE_KEY) != 0)
			more[kept++] = rows[i];
	more[kept++] = (inv_metadata){INV_CERTIFICATE_KEY, text};
	st = save_with(e, more, kept, path);
	inv_free(more);
	inv_free(rows);
	return st;
}

invar_status invar_adapter_certify(const invar_adapter *e, const invar_bank *bank,
                                   const invar_results *r, const char *column,
                                   const invar_options *o, const char *path)
{
	char *text = NULL;
	invar_status st = inv_options_expect(o, "eval");

	if (st == INVAR_OK && !inv_results_is_complete(r))
		st =
			inv_fail(INVAR_E_MISMATCH, "results that are not complete cannot be certified");
	if (st == INVAR_OK && e->s.d != bank->dim)
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s takes features of width %zu, but those of %s have width %" PRIu32,
		              e->path, e->s.d, bank->path, bank->dim);
	if (st == INVAR_OK) {
		const invar_bank view = inv_unit_view(bank);

		st = make_text(e, e->unit ? &view : bank, r, column, o, &text);
	}
	if (st == INVAR_OK)
		st = save_certified(e, text, path);
	inv_free(text);
	return st;
}

/* ---- Reading ---------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
	const json_t *x = json_object_get(object, key);

	return json_is_number(x) ? json_number_value(x) : NAN;
}

invar_status inv_certificate_read(const char *text, const char *where, size_t d,
                                  inv_certificate *out)
{
	const json_t *adapter;
	invar_status st;

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
	out->adapter = (inv_behaviour){number_of(adapter, "R2"), number_of(adapter, "CVRMSD"),
	                               number_of(adapter, "moved"), number_of(adapter, "gone")};
	st =
		inv_clean_profile_read(json_object_get(out->document, "clean"), where, &out->clean);
	if (st == INVAR_OK && out->clean.d != d)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: takes features of width %zu, but its certificate is about %zu",
		              where, d, out->clean.d);
	return st;
}

invar_status inv_certificate_of(const invar_adapter *e, inv_certificate *out)
{
	const char *text = invar_adapter_metadata(e, INV_CERTIFICATE_KEY);
	invar_status st;

	*out = (inv_certificate){0};
	if (!text)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: has no certificate; make one by eval with @certify", e->path);
	st = inv_certificate_read(text, e->path, e->s.d, out);
	return st == INVAR_OK ? inv_adapter_check_certificate(e, out->document) : st;
}

void inv_certificate_clear(inv_certificate *c)
{
	json_decref(c->document);
	inv_clean_profile_clear(&c->clean);
	*c = (inv_certificate){0};
}
