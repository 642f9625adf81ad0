/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_losses.c - every golden case of a loss through the program: invar loss.
 *
 * Values, terms and gradients are read back from its JSON and its files, so the
 * whole path of an array is checked, not only the arithmetic.
 */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/npy.h"
#include "golden.h"
#include "invar.h"
#include "support.h"

enum { MAX_WORDS = 64, ROOM = 8192 };

static const char *program; /* the only argument of this test */

/* ---- A command line -------------------------------------------------------------- */

typedef struct line {
	char *word[MAX_WORDS + 1];
	size_t words;
} line;

static void add(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(line *l, const char *format, ...)
{
	va_list list;

	assert_true(l->words < MAX_WORDS);
	va_start(list, format);
	assert_true(vasprintf(&l->word[l->words++], format, list) >= 0);
	va_end(list);
}

static void add_file(line *l, const char *option, golden *g, const char *file)
{
	add(l, "--%s", option);
	add(l, "%s", golden_path(g, file));
}

static void clear(line *l)
{
	for (size_t i = 0; i < l->words; i++)
		free(l->word[i]);
	*l = (line){0};
}

/* Runs it with its gradients and its document in the folder of this test. */
static void run(line *l)
{
	int status;
	pid_t child;

	add(l, "--json");
	add(l, "--quiet");
	add(l, "--grad");
	add(l, "%s", test_path("grads"));
	fflush(stdout);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int out = open(test_path("out.json"), O_WRONLY | O_CREAT | O_TRUNC, 0666);

		dup2(out, 1);
		execv(l->word[0], l->word);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s loss %s exits with status %d", l->word[0], l->word[2], status);
}

static line begin(const char *kind)
{
	line l = {0};

	add(&l, "%s", program);
	add(&l, "loss");
	add(&l, "%s", kind);
	return l;
}

/* ---- Comparing ------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

static void check_array(invar_context *ctx, golden *g, const char *name, const char *stem)
{
	size_t shape[GOLDEN_NDIM];
	invar_array *a;
	float *data;

	golden_f64(g, name, shape);
	if (invar_array_open(ctx, test_path("grads/%s.npy", stem), &a) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	for (unsigned i = 0; i < a->h.ndim; i++)
		assert_int_equal(a->h.shape[i], shape[i]);
	data = malloc(a->h.cells * sizeof *data);
	assert_int_equal(invar_array_read(a, 0, a->h.cells, data), INVAR_OK);
	golden_check(g, name, data, a->h.cells);
	free(data);
	invar_array_close(a);
}

/* grad_STEM SUFFIX .npy of the case, every one, against grads/STEM.npy of the program. */
static size_t check_gradients(golden *g, const char *suffix)
{
	char folder[ROOM], end[64], name[256], stem[256];
	struct dirent *entry;
	invar_context *ctx;
	size_t count = 0;
	DIR *dir;

	snprintf(folder, sizeof folder, "%s", golden_path(g, ""));
	snprintf(end, sizeof end, "%s.npy", suffix);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *file = entry->d_name;

		if (strncmp(file, "grad_", 5) != 0 || !ends_with(file, end))
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 4, file);
		snprintf(stem, sizeof stem, "%.*s", (int)(strlen(file) - 5 - strlen(end)),
		         file + 5);
		check_array(ctx, g, name, stem);
		count++;
	}
	closedir(dir);
	invar_context_free(ctx);
	return count;
}

static void check_terms(golden *g, const json_t *terms, const char *suffix)
{
	json_t *values = json_load_file(golden_path(g, "values.json"), 0, NULL);
	const char *name;
	json_t *value;
	char full[64];

	assert_non_null(values);
	json_object_foreach ((json_t *)(uintptr_t)terms, name, value) {
		snprintf(full, sizeof full, "%s%s", name, suffix);
		if (json_object_get(values, full))
			golden_check_value(g, full, json_number_value(value));
	}
	json_decref(values);
}

static void compare(golden *g, line *l, const char *label, const char *suffix)
{
	json_t *out;
	char name[64];

	run(l);
	out = json_load_file(test_path("out.json"), 0, NULL);
	assert_non_null(out);
	snprintf(name, sizeof name, "%s%s", label, suffix);
	golden_check_value(g, name, json_number_value(json_object_get(out, "value")));
	check_terms(g, json_object_get(out, "terms"), suffix);
	assert_true(check_gradients(g, suffix) > 0);
	json_decref(out);
	clear(l);
}

/* ---- The cases ------------------------------------------------------------------- */

static void check_mawa(const char *root, const char *name)
{
	golden *g = golden_open(root, name);
	line l = begin("mawa");

	add_file(&l, "adapter", g, "adapter.safetensors");
	add_file(&l, "clean", g, "clean.npy");
	add_file(&l, "aug", g, "aug.npy");
	if (strcmp(name, "mawa_residual") == 0)
		add(&l, "--residual");
	compare(g, &l, "loss", "");
	golden_close(g);
}

static void add_draws(line *l, golden *g, const char *prefix)
{
	static const char *const parts[] = {"xz", "xx", "zz"};

	for (int i = 0; i < 3; i++) {
		char directions[64], first[ROOM];

		snprintf(directions, sizeof directions, "%sdirections_%s.npy", prefix, parts[i]);
		add(l, "--directions-%s", parts[i]);
		add(l, "%s", golden_path(g, directions));
		add(l, "--perm-%s", parts[i]);
		snprintf(directions, sizeof directions, "%sperm_%s_1.npy", prefix, parts[i]);
		snprintf(first, sizeof first, "%s", golden_path(g, directions));
		snprintf(directions, sizeof directions, "%sperm_%s_2.npy", prefix, parts[i]);
		add(l, "%s,%s", first, golden_path(g, directions));
	}
}

static void check_waco(const char *root, const char *name)
{
	golden *g = golden_open(root, name);
	line l = begin("waco");

	add_file(&l, "adapter", g, "adapter.safetensors");
	add_file(&l, "clean", g, "clean.npy");
	if (strcmp(name, "waco_multi") == 0) {
		add_file(&l, "aug", g, "aug_1.npy");
		add_file(&l, "aug", g, "aug_2.npy");
		add_draws(&l, g, "a1_");
		add_draws(&l, g, "a2_");
	} else {
		if (strcmp(name, "waco_identity") != 0)
			add_file(&l, "aug", g, "aug.npy");
		add_draws(&l, g, "");
	}
	if (strcmp(name, "waco_decoder") == 0) {
		add_file(&l, "decoder", g, "decoder.safetensors");
		add(&l, "--alpha=%.17g", golden_value(g, "alpha"));
		add(&l, "--beta=%.17g", golden_value(g, "beta"));
	}
	compare(g, &l, "loss", "");
	golden_close(g);
}

static void check_sw(const char *root)
{
	golden *g = golden_open(root, "sliced_wasserstein");

	for (int p = 1; p <= 3; p++) {
		line l = begin("sw");
		char suffix[8];

		add_file(&l, "a", g, "a.npy");
		add_file(&l, "b", g, "b.npy");
		add_file(&l, "directions", g, "directions.npy");
		add(&l, "--p=%d", p);
		snprintf(suffix, sizeof suffix, "_p%d", p);
		compare(g, &l, "sw", suffix);
	}
	golden_close(g);
}

static void check_simclr(const char *root)
{
	golden *g = golden_open(root, "simclr");

	for (int cold = 0; cold < 2; cold++) {
		line l = begin("simclr");

		add_file(&l, "adapter", g, "adapter.safetensors");
		add_file(&l, "views", g, "views.npy");
		add(&l, "--temperature=%s", cold ? "0.1" : "0.5");
		compare(g, &l, "loss", cold ? "_t01" : "_t05");
	}
	golden_close(g);
}

static void check_hsic(const char *root)
{
	golden *g = golden_open(root, "hsic");

	for (int median = 0; median < 2; median++) {
		line l = begin("hsic");

		add_file(&l, "adapter", g, "adapter.safetensors");
		add_file(&l, "clean", g, "clean.npy");
		add_file(&l, "aug", g, "aug.npy");
		add(&l, "--sigma-z=%.17g", golden_value(g, "sigma_z"));
		if (median)
			add(&l, "--sigma-x=median");
		else
			add(&l, "--sigma-x=%.17g", golden_value(g, "sigma_x"));
		compare(g, &l, "loss", median ? "_median" : "_given");
	}
	golden_close(g);
}

static void check_keep(const char *folder)
{
	static const char *const terms[] = {"mawa",       "vicinal", "old_l2",
	                                    "old_cosine", "new_l2",  "new_cosine"};
	golden *g = golden_open_folder(folder);
	line l = begin("keep");
	json_t *out;

	add_file(&l, "adapter", g, "adapter.safetensors");
	add_file(&l, "clean", g, "clean.npy");
	add_file(&l, "aug", g, "aug.npy");
	add_file(&l, "vicinal", g, "vicinal.npy");
	add_file(&l, "origin", g, "origin.npy");
	add(&l, "--residual");
	add(&l, "--distance=%.17g", golden_value(g, "distance"));
	run(&l);
	out = json_load_file(test_path("out.json"), 0, NULL);
	assert_non_null(out);
	golden_check_value(g, "value", json_number_value(json_object_get(out, "value")));
	for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
		golden_check_value(
			g, test_text("term_%s", terms[i]),
			json_number_value(json_object_get(json_object_get(out, "terms"), terms[i])));
	assert_int_equal(check_gradients(g, ""), 5);
	json_decref(out);
	clear(&l);
	golden_close(g);
}

static void every_golden_case_comes_out_of_the_program(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_mawa(*root, "mawa");
		check_mawa(*root, "mawa_residual");
		check_waco(*root, "waco");
		check_waco(*root, "waco_reduce");
		check_waco(*root, "waco_identity");
		check_waco(*root, "waco_decoder");
		check_waco(*root, "waco_multi");
		check_sw(*root);
		check_simclr(*root);
		check_hsic(*root);
	}
	for (const char *const *folder = golden_keep_folders(); *folder; folder++)
		check_keep(*folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_golden_case_comes_out_of_the_program),
	};

	if (argc != 2)
		return EXIT_FAILURE;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
