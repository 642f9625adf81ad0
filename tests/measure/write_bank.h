/* SPDX-License-Identifier: Apache-2.0 */
/* write_bank.h - a bank from arrays in memory, for tests of measurements. */
#ifndef INV_TESTS_WRITE_BANK_H
#define INV_TESTS_WRITE_BANK_H

#include "support.h"

#include <stdio.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "base/json.h"

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

/* measurements.NAME.F of a bank; decref it. */
static inline json_t *measure_f(invar_context *ctx, const char *path,
                                const invar_eval_opts *o)
{
	invar_bank *bank;
	json_t *doc, *found;
	char *text;

	assert_int_equal(invar_bank_open(ctx, path, &bank), INVAR_OK);
	if (invar_eval(bank, NULL, NULL, 0, o, &text) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	doc = json_loads(text, 0, NULL);
	found = json_incref(json_object_get(
		json_object_get(json_object_get(doc, "measurements"), o->only), "F"));
	assert_non_null(found);
	invar_free(text);
	json_decref(doc);
	invar_bank_close(bank);
	return found;
}

static inline double number(const json_t *json, const char *a, const char *b)
{
	return json_number_value(json_object_get(json_object_get(json, a), b));
}

#endif
