/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_published.c - the published figures of recipes/paper, and files that are not such.
 *
 * That the file has every number of the paper is tests/recipe/published.py; here figures
 * that were read in the paper by eye stand for the names under which they are found.
 */
#include "study/published.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "base/options.h"
#include "encoders/encoder.h"
#include "images/augment/augment.h"
#include "images/spec.h"
#include "measure/measurement.h"
#include "support.h"

static inv_published *open_paper(void)
{
	inv_published *p = inv_published_open(test_source("recipes/paper/published.json"));

	if (!p)
		fail_msg("%s", invar_last_error());
	return p;
}

static void assert_figure(const inv_published *p, const inv_published_key *key,
                          double expected, unsigned width, unsigned table)
{
	const inv_published_value *v = inv_published_find(p, key);

	if (!v || fabs(v->value - expected) > 1e-12 || v->width != width || v->number != table)
		fail_msg("%s %s %s %s %s: %g (%u, table %u)", key->dataset, key->encoder,
		         key->augment, key->column, key->metric, v ? v->value : NAN,
		         v ? v->width : 0, v ? v->number : 0);
	assert_int_equal(v->digits, 2);
}

static void figures_are_found_by_the_names_of_recipes(void **state)
{
	static const struct {
		inv_published_key key;
		double value;
		unsigned width, table;
	} figures[] = {
		{{"stl10", "dino_vits8", "rotation", "mawa", "lc.augmented"}, 0.9466, 384, 2},
		{{"STL10", "DINO", "Rotation", "MaWa", "lc.augmented"}, 0.9466, 384, 2},
		{{"stl10", "DINO", "crop", "HSIC", "nc.clean"}, 0.9656, 384, 17},
		{{"stl10", "DINO", "noise", "F", "ec.augmented"}, 0.5822, 0, 1},
		{{"stl10", "DINO", "noise", "SimCLR", "structure.b"}, -223.70, 384, 5},
		{{"stl10", "DINO", "rotation", "WaCo reduced", "structure.R2"}, 0.66, 96, 2},
		{{"stl10", "DINO", "rotation", "waco", "structure.R2"}, 0.55, 384, 2},
		{{"stl10", "SwAV", "rotation", "waco-reduced", "structure.L2"}, 1.43, 512, 7},
		{{"stl10", "R-DINO", "noise", "F", "collision.aligned"}, 0.106, 0, 44},
		{{"stl10", "ResNet50", "noise", "F", "collision.raw"}, 0.773, 0, 11},
		{{"stl10", "clip_vitb16", "rotation", "mawa", "lc.augmented"}, 0.9482, 512, 28},
		{{"tiny-imagenet", "DINO", "rotation", "F", "ec.augmented"}, 0.2723, 0, 36},
		{{"TinyImageNet-50", "DINO", "rotation", "mawa", "lc.augmented"}, 0.8359, 384, 40},
		{{"tiny-imagenet-50", "DINO", "noise", "F", "collision.raw"}, 0.40, 0, 47},
	};
	inv_published *p = open_paper();

	(void)state;
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		assert_figure(p, &figures[i].key, figures[i].value, figures[i].width,
		              figures[i].table);
	inv_published_close(p);
}

static void what_was_not_published_is_not_found(void **state)
{
	static const inv_published_key none[] = {
		{"stl10", "resnet18", "rotation", "mawa", "lc.clean"},
		{"stl10", "CLIP", "rotation", "simclr", "lc.clean"},
		{"tiny-imagenet", "DINO", "rotation", "waco-reduced", "lc.clean"},
		{"stl10", "DINO", "rotation", "mawa", "kept.clean"},
		{"stl10", "DINO", "rotation", "F", "lc.clean"},
		{"mnist", "DINO", "rotation", "mawa", "lc.clean"},
		{"stl10", "DINO", "rotation", "", "lc.clean"},
		{NULL, NULL, NULL, "mawa", "lc.clean"}, /* a bank that was not encoded by a study */
	};
	inv_published *p = open_paper();

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_null(inv_published_find(p, &none[i]));
	assert_null(inv_published_title(p, "encoders", "resnet18"));
	assert_string_equal(inv_published_title(p, "encoders", "dino"), "DINO");
	assert_non_null(
		strstr(inv_published_paper(p), "Post-Training Augmentation Invariance"));
	inv_published_close(p);
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
	inv_published *p = open_paper();
	const inv_published_value *v;
	inv_published_key key;
	size_t i;

	(void)state;
	for (i = 0; (v = inv_published_at(p, i, &key)); i++) {
		uint32_t d = width_of_model(key.encoder);
		uint32_t width = strcmp(key.column, "waco-reduced") == 0 ? d / 4 : d;
		const bool of_f = strcmp(key.column, "F") == 0;

		assert_true(is_metric(key.metric));
		assert_true(d > 0);
		assert_int_equal(v->width, of_f ? 0 : width);
		assert_string_equal(inv_augment_help(key.augment) ? key.augment : "", key.augment);
	}
	/*
	 * Per encoder on STL-10 and augmentation 2 of EC, 2 of collision; per adapter 12: 3
	 * adapters for all, 5 for DINO and SwAV, 2 on Tiny ImageNet.
	 */
	assert_int_equal(i, 4 * (7 * 4 + 12 * (3 * 3 + 2 * 5 + 2 * 2)));
	inv_published_close(p);
}

/* ---- The tables of settings --------------------------------------------------------- */

static json_t *settings(const char *label, const char *key)
{
	json_t *document = json_load_file(test_source("recipes/paper/published.json"), 0, NULL);
	json_t *found = NULL, *table;
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

/* ---- Hostile files ------------------------------------------------------------------ */

#define LISTS                                                                     \
	"\"format\": \"invar-published\", \"version\": 1, \"paper\": \"P\", "         \
	"\"digits\": 2, \"datasets\": {\"a\": \"A\"}, \"encoders\": {\"e\": \"E\"}, " \
	"\"augmentations\": {\"r\": \"R\"}, \"columns\": {\"F\": \"F\", \"m\": \"M\"}, "
#define METRICS "\"metrics\": {\"x\": {\"unit\": \"percent\"}}, "
#define TABLE(rows)                                                     \
	"{" LISTS METRICS "\"tables\": [{\"label\": \"t\", \"number\": 1, " \
	"\"dataset\": \"a\", \"encoder\": \"e\", \"rows\": [" rows "]}]}"

static void assert_refused(const char *text, const char *word)
{
	const char *path = test_path("published.json");
	inv_published *p;

	test_write(path, text, strlen(text));
	p = inv_published_open(path);
	inv_published_close(p);
	if (p || !strstr(invar_last_error(), word) ||
	    !strstr(invar_last_error(), "published.json"))
		fail_msg("%s\n%s: %s", text, p ? "accepted" : "refused",
		         p ? "" : invar_last_error());
}

static void other_files_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"", "line 1"},
		{"{\"format\": \"invar-results\"}", "\"invar-published\""},
		{"{\"format\": \"invar-published\", \"version\": 2}", "\"version\" must be 1"},
		{"{" LISTS "\"metrics\": {}, \"metrics\": {}, \"tables\": []}", "duplicate"},
		{"{" LISTS "\"tables\": []}", "\"metrics\""},
		{"{" LISTS "\"metrics\": {\"x\": {\"unit\": \"feet\"}}, \"tables\": []}",
	     "percent"},
		{"{" LISTS "\"metrics\": {\"x\": {\"unit\": \"percent\", \"column\": \"G\"}}, "
	     "\"tables\": []}",
	     "\"G\" is not one of"},
		{"{" LISTS METRICS "\"tables\": 3}", "\"tables\" must be a list"},
		{"{" LISTS METRICS "\"tables\": [{\"label\": \"t\", \"dataset\": \"b\"}]}",
	     "t: \"b\" is not one of the \"datasets\""},
		{TABLE("7"), "\"augment\""},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\"}"), "\"values\""},
		{TABLE("{\"augment\": \"r\", \"column\": \"n\", \"values\": {}}"),
	     "\"n\" is not one of the \"columns\""},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\", \"width\": -1}"), "\"width\""},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\", \"values\": {\"y\": 1}}"),
	     "\"y\" is not one of the \"metrics\""},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\", \"values\": {\"x\": \"1\"}}"),
	     "\"x\" must be a number"},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\", \"values\": {\"x\": 1}}, "
	           "{\"augment\": \"r\", \"column\": \"m\", \"values\": {\"x\": 2}}"),
	     "tables 1 and 1 disagree on x of a, e, r, m"},
		{TABLE("{\"augment\": \"r\", \"column\": \"m\", \"width\": 4, \"values\": {\"x\": "
	           "1}}, "
	           "{\"augment\": \"r\", \"column\": \"m\", \"width\": 5, \"values\": {\"x\": "
	           "1}}"),
	     "disagree"},
		{"{\"format\": \"invar-published\", \"version\": 1, \"paper\": \"P\", "
	     "\"datasets\": {\"a\": \"A\", \"b\": \"a\"}}",
	     "\"b\" has the name of another of the \"datasets\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_refused(cases[i].text, cases[i].word);
}

static void sizes_are_bounded(void **state)
{
	const size_t large = (1 << 20) + 1;
	char *text = malloc(large + 1), name[300];

	(void)state;
	memset(text, ' ', large);
	text[large] = 0;
	assert_refused(text, "has more than 1048576 bytes");
	free(text);
	memset(name, 'n', 201);
	name[201] = 0;
	assert_refused(test_text("{\"format\": \"invar-published\", \"version\": 1, "
	                         "\"paper\": \"%s\"}",
	                         name),
	               "\"paper\" must be a text of 1 to 200 bytes");
	assert_null(inv_published_open(test_path("absent.json")));
	assert_non_null(strstr(invar_last_error(), "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_found_by_the_names_of_recipes),
		cmocka_unit_test(what_was_not_published_is_not_found),
		cmocka_unit_test(ids_are_those_of_invar),
		cmocka_unit_test(the_preset_paper_has_the_published_options),
		cmocka_unit_test(operations_have_the_published_parameters),
		cmocka_unit_test(other_files_are_refused_with_the_reason),
		cmocka_unit_test(sizes_are_bounded),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
