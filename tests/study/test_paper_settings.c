/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_paper_settings.c - recipes/paper/published.json beside invar: its ids are ours, and
 * the paper's settings are those of the preset paper and of the operations.
 */
#include <jansson.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "base/options.h"
#include "encoders/encoder.h"
#include "images/augment/augment.h"
#include "images/spec.h"
#include "measure/measurement.h"
#include "support.h"

static json_t *load_paper(void)
{
	json_t *document = json_load_file(test_source("recipes/paper/published.json"), 0, NULL);

	assert_non_null(document);
	return document;
}

static bool is_metric(const char *id)
{
	const inv_measurement *m;

	for (size_t i = 0; (m = inv_measurement_at(i)); i++)
		for (const invar_metric *metric = m->metrics; metric && metric->id; metric++)
			if (strcmp(metric->id, id) == 0)
				return true;
	return false;
}

static uint32_t width_of_model(const char *name)
{
	for (size_t i = 0; i < inv_model_count(); i++)
		if (strcmp(inv_model_at(i)->name, name) == 0)
			return inv_model_at(i)->width;
	return 0;
}

/* Ids are those of `invar eval --json` and `invar models list`. */
static void ids_are_those_of_invar(void **state)
{
	json_t *document = load_paper(), *table, *row;
	const char *metric;
	json_t *value;
	size_t t, r, widths = 0;

	(void)state;
	json_object_foreach (json_object_get(document, "metrics"), metric, value)
		assert_true(is_metric(metric));
	json_array_foreach (json_object_get(document, "tables"), t, table) {
		uint32_t d = width_of_model(json_string_value(json_object_get(table, "encoder")));

		assert_true(d > 0);
		json_array_foreach (json_object_get(table, "rows"), r, row) {
			const char *augment = json_string_value(json_object_get(row, "augment"));
			const char *column = json_string_value(json_object_get(row, "column"));
			const json_t *width = json_object_get(row, "width");

			assert_string_equal(inv_augment_help(augment) ? augment : "", augment);
			if (!width)
				continue;
			widths++;
			assert_int_equal(json_integer_value(width),
			                 strcmp(column, "waco-reduced") == 0 ? d / 4 : d);
		}
	}
	assert_int_equal(widths, 92);
	json_decref(document);
}

/* ---- The tables of settings --------------------------------------------------------- */

static json_t *settings(const char *label, const char *key)
{
	json_t *document = load_paper(), *found = NULL, *table;
	size_t i;

	json_array_foreach (json_object_get(document, "settings"), i, table)
		if (strcmp(json_string_value(json_object_get(table, "label")), label) == 0)
			found = json_incref(json_object_get(table, key));
	json_decref(document);
	assert_non_null(found);
	return found;
}

/* A batch size of 0 is that of the loss: 1024 for SimCLR, as the text of the paper says. */
static double option_of_loss(const invar_options *o, const char *loss, const char *name)
{
	double value = inv_options_number(o, name);

	return strcmp(name, "batch-size") == 0 && value == 0 ? inv_loss_find(loss)->batch
	                                                     : value;
}

static void the_preset_paper_has_the_published_options(void **state)
{
	static const char *const losses[] = {"mawa", "waco", "hsic", "simclr"};
	json_t *published = settings("tab:hyperparameters", "options"), *value;
	const char *name;

	(void)state;
	assert_int_equal(json_object_size(published), 6);
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		const char *loss = losses[i];
		invar_options *o = test_options("train", "preset", "paper", "loss", loss, NULL);

		if (strcmp(loss, "simclr") == 0)
			json_object_set_new(published, "batch-size", json_integer(1024));
		json_object_foreach (published, name, value)
			if (option_of_loss(o, loss, name) != json_number_value(value))
				fail_msg("%s of %s is %g, published as %g", name, loss,
				         option_of_loss(o, loss, name), json_number_value(value));
		invar_options_free(o);
	}
	json_decref(published);
}

/* [0.2, 0.2] are bounds in x and y, both meant as plus or minus; others are ranges. */
static void spell_parameter(char *out, size_t size, const char *key, const json_t *v)
{
	double a = json_number_value(json_array_get(v, 0));
	double b = json_number_value(json_array_get(v, 1));

	if (json_array_size(v) == 1 || a == b)
		snprintf(out, size, "%s=%g", key, a);
	else
		snprintf(out, size, "%s=%g..%g", key, a, b);
}

static void operations_have_the_published_parameters(void **state)
{
	json_t *published = settings("tab:augmentationparameters", "parameters");
	json_t *keys, *values;
	const char *operation, *key;

	(void)state;
	assert_int_equal(json_object_size(published), 4);
	json_object_foreach (published, operation, keys) {
		char spec[300];
		invar_augment *as_published, *as_default;

		snprintf(spec, sizeof spec, "%s:", operation);
		json_object_foreach (keys, key, values) {
			size_t used = strlen(spec);

			if (spec[used - 1] != ':')
				spec[used++] = ',';
			spell_parameter(spec + used, sizeof spec - used, key, values);
		}
		assert_int_equal(invar_augment_parse(test_ctx, spec, &as_published), INVAR_OK);
		assert_int_equal(invar_augment_parse(test_ctx, operation, &as_default), INVAR_OK);
		assert_string_equal(inv_augment_spec(as_published), inv_augment_spec(as_default));
		invar_augment_close(as_published);
		invar_augment_close(as_default);
	}
	json_decref(published);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_those_of_invar),
		cmocka_unit_test(the_preset_paper_has_the_published_options),
		cmocka_unit_test(operations_have_the_published_parameters),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
