/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_bounds.c - on how many rows a page measures, for banks of every shape. */
#include "bank/bank.h"
#include "cli/report_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support.h"

static void write_array(const char *path, uint64_t rows, uint64_t d)
{
	const uint64_t shape[] = {rows, d};
	float *x = calloc(rows * d, sizeof *x);

	assert_non_null(x);
	assert_int_equal(invar_array_write(test_ctx, path, x, 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	free(x);
}

static void write_labels(const char *path, uint64_t rows, uint64_t classes)
{
	char text[160];
	FILE *f = fopen(path, "wb");
	int length =
		snprintf(text, sizeof text,
	             "{'descr': '<i8', 'fortran_order': False, 'shape': (%llu,), }%60s\n",
	             (unsigned long long)rows, "");

	assert_non_null(f);
	fwrite("\x93NUMPY\x01\x00", 1, 8, f);
	fputc(length, f);
	fputc(0, f);
	fwrite(text, 1, (size_t)length, f);
	for (uint64_t i = 0; i < rows; i++) {
		int64_t label = (int64_t)(i % classes);

		fwrite(&label, sizeof label, 1, f);
	}
	assert_int_equal(fclose(f), 0);
}

/* Train and test of `rows` rows with one copy; then what a page of it measures. */
static double bound(const char *name, uint64_t rows, uint64_t d, uint64_t classes,
                    char *metrics, char *left_out)
{
	invar_bank *bank;
	double points;

	assert_int_equal(mkdir(test_path("%s", name), 0777), 0);
	for (int i = 0; i < 2; i++) {
		const char *split = i ? "test" : "train";

		assert_int_equal(mkdir(test_path("%s/%s", name, split), 0777), 0);
		assert_int_equal(mkdir(test_path("%s/%s/aug", name, split), 0777), 0);
		write_array(test_path("%s/%s/clean.npy", name, split), rows, d);
		write_array(test_path("%s/%s/aug/000.npy", name, split), rows, d);
		write_labels(test_path("%s/%s/labels.npy", name, split), rows, classes);
	}
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &bank), INVAR_OK);
	strcpy(metrics, INV_REPORT_METRICS);
	assert_int_equal(inv_report_bound(bank, "test", 0, metrics, left_out, &points),
	                 INVAR_OK);
	invar_bank_close(bank);
	return points;
}

static void a_small_bank_is_measured_as_a_whole(void **state)
{
	char metrics[INV_REPORT_WORDS], left_out[INV_REPORT_WORDS];

	(void)state;
	assert_true(bound("small", 2000, 64, 10, metrics, left_out) == 0);
	assert_string_equal(metrics, INV_REPORT_METRICS);
	assert_string_equal(left_out, "");
}

static void many_rows_of_few_columns_are_thinned_out(void **state)
{
	char metrics[INV_REPORT_WORDS], left_out[INV_REPORT_WORDS];
	double points = bound("rows", 100000, 8, 10, metrics, left_out);

	(void)state;
	assert_true(points >= 1000 && points < 50000);
	assert_string_equal(metrics, INV_REPORT_METRICS);
	assert_string_equal(left_out, "");
}

static void a_classifier_of_too_many_classes_is_left_out(void **state)
{
	char metrics[INV_REPORT_WORDS], left_out[INV_REPORT_WORDS];
	double points = bound("classes", 50000, 64, 10000, metrics, left_out);

	(void)state;
	assert_true(points >= 1000);
	assert_non_null(strstr(left_out, "lc"));
	assert_null(strstr(metrics, "lc,"));
	assert_non_null(strstr(metrics, "structure"));
}

static void knn_of_too_many_rows_is_left_out(void **state)
{
	char metrics[INV_REPORT_WORDS], left_out[INV_REPORT_WORDS];

	(void)state;
	assert_true(bound("many", 250000, 8, 10, metrics, left_out) >= 1000);
	assert_string_equal(left_out, "knn");
	assert_null(strstr(metrics, "knn"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_bank_is_measured_as_a_whole),
		cmocka_unit_test(many_rows_of_few_columns_are_thinned_out),
		cmocka_unit_test(a_classifier_of_too_many_classes_is_left_out),
		cmocka_unit_test(knn_of_too_many_rows_is_left_out),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
