/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c - profiles of clean features, certificates, and verdicts on new data. */
#include "bank/bank.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "measure/check.h"
#include "write_bank.h"

enum { D = 12, OLD = 1500, NEW = 400 };

static float old[OLD * D], now[NEW * D];

/* Two clusters, so that rows are not just a sphere; shifted and scaled. */
static void draw_rows(uint32_t index, float shift, float scale, size_t n, float *out)
{
	inv_stream s = inv_stream_of(5, "rows", 0);

	inv_fill_normal(&s, index, out, n * D);
	for (size_t i = 0; i < n * D; i++)
		out[i] = scale * (out[i] * (i % D == 0 ? 3 : 1) + (i / D % 2 ? 4 : 0)) + shift;
}

static inv_shift compare(float shift, float scale, size_t n)
{
	inv_clean_profile p;
	inv_shift out;

	draw_rows(0, 0, 1, OLD, old);
	draw_rows(1, shift, scale, n, now);
	assert_int_equal(inv_clean_profile_make(test_ctx, old, OLD, D, &p), INVAR_OK);
	assert_int_equal(inv_clean_profile_compare(test_ctx, &p, now, n, &out), INVAR_OK);
	inv_clean_profile_clear(&p);
	return out;
}

/* ---- Profiles ---------------------------------------------------------------------- */

static void rows_of_the_same_kind_have_no_shift(void **state)
{
	static const size_t sizes[] = {20, 50, 400};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		inv_shift s = compare(0, 1, sizes[i]);

		assert_true(s.shift[0] < inv_check_limit(&s, 0));
		assert_true(s.shift[1] < inv_check_limit(&s, 1));
		assert_true(fabs(s.norm - 1) < 0.3);
	}
}

/* Every dimension by one standard deviation of most of them. */
static void a_known_shift_is_found(void **state)
{
	inv_shift s;
	float delta = 0;

	(void)state;
	draw_rows(0, 0, 1, OLD, old);
	for (size_t i = 0; i < OLD; i++)
		delta += (old[i * D + 1] - 2) * (old[i * D + 1] - 2) / OLD;
	s = compare(sqrtf(delta), 1, NEW);
	assert_true(s.shift[0] > 0.5 && s.shift[0] < 1.2);
	assert_true(s.shift[0] > inv_check_limit(&s, 0));
}

static void norms_are_compared_too(void **state)
{
	inv_shift s = compare(0, 1.5f, NEW);

	(void)state;
	assert_true(fabs(s.norm - 1.5) < 0.1);
	assert_true(s.shift[1] > inv_check_limit(&s, 1));
}

/* Chance is taken off, so a sixth of the rows gives the same shift. */
static void a_shift_does_not_depend_on_the_number_of_rows(void **state)
{
	inv_shift few = compare(1, 1, 60), many = compare(1, 1, 400);

	(void)state;
	assert_true(fabs(few.shift[0] - many.shift[0]) < 0.25 * many.shift[0]);
	assert_true(inv_check_limit(&few, 0) > inv_check_limit(&many, 0));
}

static void a_profile_survives_its_file(void **state)
{
	inv_clean_profile p, q;
	inv_shift a, b;
	json_t *json;

	(void)state;
	draw_rows(0, 0, 1, OLD, old);
	draw_rows(1, 0.3f, 1, NEW, now);
	assert_int_equal(inv_clean_profile_make(test_ctx, old, OLD, D, &p), INVAR_OK);
	json = inv_clean_profile_json(&p);
	assert_int_equal(inv_clean_profile_read(json, "x", &q), INVAR_OK);
	assert_int_equal(inv_clean_profile_compare(test_ctx, &p, now, NEW, &a), INVAR_OK);
	assert_int_equal(inv_clean_profile_compare(test_ctx, &q, now, NEW, &b), INVAR_OK);
	assert_true(fabs(a.shift[0] - b.shift[0]) < 1e-4);
	assert_true(fabs(a.chance[1] - b.chance[1]) < 1e-4);
	inv_clean_profile_clear(&q);

	json_array_remove(json_object_get(json, "quantiles"), 0);
	assert_int_equal(inv_clean_profile_read(json, "x", &q), INVAR_E_FORMAT);
	inv_clean_profile_clear(&q);
	inv_clean_profile_clear(&p);
	json_decref(json);
}

static void too_few_and_equal_rows_are_refused(void **state)
{
	inv_clean_profile p;

	(void)state;
	assert_int_equal(inv_clean_profile_make(test_ctx, old, 19, D, &p), INVAR_E_MISMATCH);
	assert_string_equal(invar_last_error(),
	                    "19 rows are too few to compare features; at least 20 are needed");
	inv_clean_profile_clear(&p);
	memset(old, 0, sizeof old);
	assert_int_equal(inv_clean_profile_make(test_ctx, old, OLD, D, &p), INVAR_E_NUMERIC);
	inv_clean_profile_clear(&p);
}

/* ---- Rules ------------------------------------------------------------------------- */

static inv_check_facts fine_facts(void)
{
	return (inv_check_facts){.shift = {.rows = 100, .norm = 1},
	                         .points = 1000000,
	                         .old = {0.9, 0.1, 0.2, 0.5},
	                         .now = {0.9, 0.1, 0.2, 0.5}};
}

static void each_rule_gives_its_reason(void **state)
{
	char why[INV_CHECK_WHY];
	inv_check_facts f = fine_facts();

	(void)state;
	assert_false(inv_check_judge(&f, why));
	assert_string_equal(why, "the features are like those that were certified: shifted by "
	                         "0.00 of their spread, up to 0.20 is expected of 100 rows");
	f.shift.shift[0] = 0.21;
	assert_true(inv_check_judge(&f, why));
	assert_string_equal(why, "clean features are shifted by 0.21 of their spread, at most "
	                         "0.20 is expected");
	f.shift.chance[0] = 0.1; /* fewer rows */
	assert_false(inv_check_judge(&f, why));
	f = fine_facts();
	f.now.r2 = 0.79;
	assert_true(inv_check_judge(&f, why));
	assert_string_equal(why, "R² is 0.790, it was 0.900");
	f = fine_facts();
	f.now.cvrmsd = 0.16;
	f.now.moved = 0.31;
	f.now.gone = 0.34;
	assert_true(inv_check_judge(&f, why));
	assert_string_equal(why,
	                    "CVRMSD is 0.160, it was 0.100; clean features are moved by "
	                    "0.31 of their spread, it was 0.20; 34 % of the displacement of "
	                    "copies is removed, it was 50 %");
	f.points = 20; /* tolerances are 4.6 times as wide */
	assert_false(inv_check_judge(&f, why));
	f.points = 1000000;
	f.now = (inv_behaviour){NAN, NAN, NAN, NAN}; /* unknown is no reason */
	assert_false(inv_check_judge(&f, why));
}

/* ---- The whole --------------------------------------------------------------------- */

static invar_adapter *make_adapter(void)
{
	float W[D * D] = {0}, b[D] = {0};
	invar_adapter *e;

	for (size_t i = 0; i < D; i++)
		W[i * D + i] = 0.1f;
	assert_int_equal(invar_adapter_new(test_ctx, D, D, D, 1, W, b, W, b, &e), INVAR_OK);
	return e;
}

static invar_adapter *certified(const char *folder, const char *path)
{
	const char *title = "e";
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_adapter *e = make_adapter(), *again;
	invar_results *r;
	invar_bank *bank;

	draw_rows(0, 0, 1, OLD, old);
	draw_rows(2, 0, 1, NEW, now);
	write_split(test_ctx, folder, "train", old, NULL, 0, NULL, OLD, D);
	write_split(test_ctx, folder, "test", now, NULL, 0, NULL, NEW, D);
	assert_int_equal(inv_bank_open(test_ctx, folder, &bank), INVAR_OK);
	assert_int_equal(invar_eval(bank, (const invar_adapter *const *)&e, &title, 1, o, &r),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_certify(e, bank, r, "1", o, path), INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, path, &again), INVAR_OK);
	/* Once more, of the file itself: the same bytes, as a certificate replaces the old. */
	{
		size_t size, size2;
		char *one = test_read(path, &size), *two;

		assert_int_equal(invar_adapter_certify(again, bank, r, "1", o, path), INVAR_OK);
		two = test_read(path, &size2);
		assert_int_equal(size, size2);
		assert_memory_equal(one, two, size);
		free(one);
		free(two);
	}
	for (size_t i = 0; i < inv_mlp_floats(e->s); i++)
		assert_true(e->params[i] == again->params[i]);
	invar_results_free(r);
	invar_options_free(o);
	invar_adapter_close(e);
	invar_bank_close(bank);
	return again;
}

/* invar_check of clean rows in memory. */
static invar_status check_rows(const invar_adapter *e, const float *rows, uint64_t count,
                               const invar_options *o, invar_results **out)
{
	invar_bank *bank;
	invar_status st;

	assert_int_equal(invar_bank_from_arrays(test_ctx, rows, NULL, NULL, count, 0,
	                                        invar_adapter_input(e), &bank),
	                 INVAR_OK);
	st = invar_check(e, bank, o, out);
	invar_bank_close(bank);
	return st;
}

static void a_certified_adapter_tells_fine_from_drift(void **state)
{
	char folder[512], path[512];
	invar_options *o = test_options("check", NULL);
	invar_adapter *e;
	invar_results *r;
	invar_bank *bank;
	inv_certificate c;

	(void)state;
	snprintf(folder, sizeof folder, "%s", test_path("bank"));
	snprintf(path, sizeof path, "%s", test_path("certified.safetensors"));
	e = certified(folder, path);
	assert_int_equal(inv_certificate_of(e, &c), INVAR_OK);
	assert_true(fabs(c.adapter.r2 - 1) < 0.1);
	assert_non_null(json_object_get(json_object_get(c.document, "bank"), "fingerprint"));
	assert_true(json_array_size(json_object_get(c.document, "metrics")) > 3);
	inv_certificate_clear(&c);

	assert_int_equal(inv_bank_open(test_ctx, folder, &bank), INVAR_OK);
	assert_int_equal(invar_check(e, bank, o, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "fine");
	invar_results_free(r);
	draw_rows(3, 1, 1, NEW, now);
	assert_int_equal(check_rows(e, now, NEW, o, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "drift");
	assert_non_null(strstr(invar_results_about(r, "why"), "clean features are shifted"));
	invar_results_free(r);
	now[5] = NAN;
	assert_int_equal(check_rows(e, now, NEW, o, &r), INVAR_E_NUMERIC);
	assert_null(r);
	invar_bank_close(bank);
	invar_adapter_close(e);
	invar_options_free(o);
}

static void certificates_that_are_missing_or_damaged_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{\"version\": 2}", "{\"version\": 1}",
		"{\"version\": 1, \"clean\": {\"rows\": 100, \"scale\": [1], \"spread\": [1, 1]}}"};
	invar_options *o = test_options("check", NULL);
	invar_adapter *e = make_adapter();
	inv_certificate c;
	invar_results *r;

	(void)state;
	assert_int_equal(check_rows(e, old, OLD, o, &r), INVAR_E_MISMATCH);
	assert_string_equal(invar_last_error(),
	                    "adapter: has no certificate; make one by eval with certify");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(inv_certificate_read(bad[i], "x", D, &c), INVAR_E_FORMAT);
		inv_certificate_clear(&c);
	}
	invar_adapter_close(e);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_same_kind_have_no_shift),
		cmocka_unit_test(a_known_shift_is_found),
		cmocka_unit_test(norms_are_compared_too),
		cmocka_unit_test(a_shift_does_not_depend_on_the_number_of_rows),
		cmocka_unit_test(a_profile_survives_its_file),
		cmocka_unit_test(too_few_and_equal_rows_are_refused),
		cmocka_unit_test(each_rule_gives_its_reason),
		cmocka_unit_test(a_certified_adapter_tells_fine_from_drift),
		cmocka_unit_test(certificates_that_are_missing_or_damaged_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
