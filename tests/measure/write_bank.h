/* SPDX-License-Identifier: Apache-2.0 */
/* write_bank.h - a bank from arrays in memory, for tests of measurements. */
#ifndef INV_TESTS_WRITE_BANK_H
#define INV_TESTS_WRITE_BANK_H

#include "support.h"

#include <stdio.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "run/results.h"

static void write_labels(const char *path, const int64_t *labels, size_t n)
{
	char header[128];
	FILE *f = fopen(path, "wb");
	int length = snprintf(header, sizeof header,
	                      "{'descr': '<i8', 'fortran_order': False, 'shape': (%zu,), }", n);

	assert_non_null(f);
	assert_int_equal(fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f), 10);
	fprintf(f, "%s%*s\n", header, 117 - length, "");
	assert_int_equal(fwrite(labels, sizeof *labels, n, f), n);
	fclose(f);
}

/* aug is [copies][n][d]; labels may be NULL. */
static void write_split(invar_context *ctx, const char *bank, const char *name,
                        const float *clean, const float *aug, unsigned copies,
                        const int64_t *labels, size_t n, size_t d)
{
	const uint64_t shape[2] = {n, d};
	char folder[600], path[700];

	mkdir(bank, 0777);
	snprintf(folder, sizeof folder, "%s/%s", bank, name);
	assert_int_equal(mkdir(folder, 0777), 0);
	snprintf(path, sizeof path, "%s/clean.npy", folder);
	assert_int_equal(invar_array_write(ctx, path, clean, 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	snprintf(path, sizeof path, "%s/aug", folder);
	if (copies)
		assert_int_equal(mkdir(path, 0777), 0);
	for (unsigned c = 0; c < copies; c++) {
		snprintf(path, sizeof path, "%s/aug/%03u.npy", folder, c);
		assert_int_equal(
			invar_array_write(ctx, path, aug + c * n * d, 2, shape, INVAR_FLOAT32),
			INVAR_OK);
	}
	snprintf(path, sizeof path, "%s/labels.npy", folder);
	if (labels)
		write_labels(path, labels, n);
}

/* views is [n][3][d]; of the clean rows, or of a copy. */
static inline void write_views(invar_context *ctx, const char *bank, const char *split,
                               int copy, const float *views, size_t n, size_t d)
{
	const uint64_t shape[3] = {n, INV_ROTATED, d};
	char path[700], name[20] = "clean";

	if (copy >= 0)
		snprintf(name, sizeof name, "aug/%03d", copy);
	snprintf(path, sizeof path, "%s/%s/%s.views.npy", bank, split, name);
	assert_int_equal(invar_array_write(ctx, path, views, 3, shape, INVAR_FLOAT32),
	                 INVAR_OK);
}

/* The results of only F on a bank; takes o. */
static inline invar_results *measure_f(invar_context *ctx, const char *path,
                                       invar_options *o)
{
	invar_results *r;
	invar_bank *bank;

	assert_int_equal(inv_bank_open(ctx, path, &bank), INVAR_OK);
	if (invar_eval(bank, NULL, NULL, 0, o, &r) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_bank_close(bank);
	invar_options_free(o);
	return r;
}

static inline double number_of(const invar_results *r, const char *metric,
                               const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	assert_non_null(v);
	return v->value;
}

static inline double number(const invar_results *r, const char *metric)
{
	return number_of(r, metric, "F");
}

/* details.MEASUREMENT.F; decref it. */
static inline json_t *details(const invar_results *r, const char *measurement)
{
	json_t *document = inv_results_document(r);
	json_t *found = json_incref(json_object_get(
		json_object_get(json_object_get(document, "details"), measurement), "F"));

	assert_non_null(found);
	json_decref(document);
	return found;
}

#endif
