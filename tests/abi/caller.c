/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller.c - a program of today, to be run with the library of tomorrow.
 *
 *     caller FOLDER plain|grown     FOLDER is empty; the library that is loaded
 *
 * It uses every public struct in the way that the header documents: hooks
 * with their size, options by name, rows and descriptions by pointer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "invar.h"

enum { IMAGES = 32, COPIES = 3, DIM = 8 };

#define CHECK(condition)                                                           \
	((condition) ? (void)0                                                         \
	             : (fprintf(stderr, "caller.c:%d: %s: %s\n", __LINE__, #condition, \
	                        invar_last_error()),                                   \
	                exit(EXIT_FAILURE)))

typedef struct watched {
	uint64_t calls, lines;
	int stop;
} watched;

static int count_progress(void *user, const char *stage, uint64_t done, uint64_t total)
{
	watched *w = user;

	CHECK(*stage && done <= total);
	w->calls++;
	return w->stop;
}

static void count_line(void *user, int level, const char *line)
{
	CHECK(level <= INVAR_LOG_DETAIL && line);
	((watched *)user)->lines++;
}

static invar_context *open_context(watched *w)
{
	/* On the heap, so that the sanitizer catches a library that reads past `size`. */
	invar_hooks *hooks = malloc(sizeof *hooks);
	invar_context *ctx;

	CHECK(hooks);
	*hooks = (invar_hooks){
		.size = sizeof *hooks, .user = w, .log = count_line, .progress = count_progress};
	CHECK(invar_context_new(2, hooks, &ctx) == INVAR_OK);
	free(hooks);
	return ctx;
}

/* ---- Options ------------------------------------------------------------------------ */

static void read_every_option(const invar_options *o)
{
	size_t count = invar_options_count(o);

	CHECK(count > 10);
	for (size_t i = 0; i < count; i++) {
		const invar_option *row = invar_options_at(o, i);

		CHECK(row && *row->name && row->type <= INVAR_OPTION_LIST);
		CHECK(!row->initial || !row->max || atof(row->initial) <= row->max);
		CHECK(!row->help || *row->help);
	}
}

static void meet_the_unknown(invar_options *o, int grown)
{
	CHECK(invar_options_set(o, "epoch", "2") == INVAR_E_USE);
	CHECK(strstr(invar_last_error(), "epochs"));
	CHECK((invar_options_set(o, "grown-first", "7") == INVAR_OK) == grown);
	if (!grown)
		return;
	CHECK(invar_options_set(o, "grown-last", "y") == INVAR_OK);
	CHECK(invar_options_set(o, "grown-last", "z") == INVAR_E_USE);
}

static invar_options *choose_options(int grown)
{
	invar_options *o, *again;
	char *json;

	CHECK(invar_options_new("train", &o) == INVAR_OK);
	read_every_option(o);
	meet_the_unknown(o, grown);
	CHECK(invar_options_set(o, "hidden", "16") == INVAR_OK);
	CHECK(invar_options_set_number(o, "epochs", 2) == INVAR_OK);
	CHECK(invar_options_json(o, &json) == INVAR_OK);
	CHECK(invar_options_new("train", &again) == INVAR_OK);
	CHECK(strstr(json, "\"hidden\""));
	invar_free(json);
	invar_options_free(again);
	return o;
}

/* ---- A bank, a run, an adapter ------------------------------------------------------ */

static void write_bank(invar_context *ctx, const char *folder, char bank[1024])
{
	static float clean[IMAGES * DIM], copies[IMAGES * COPIES * DIM];
	const uint64_t shape[] = {IMAGES, DIM}, stacked[] = {IMAGES, COPIES, DIM};
	char path[2048];

	for (size_t i = 0; i < IMAGES * DIM; i++)
		clean[i] = (float)sin((double)i * 12.9898) * 2;
	for (size_t i = 0; i < IMAGES * COPIES * DIM; i++)
		copies[i] = clean[i / (COPIES * DIM) * DIM + i % DIM] + (float)(i % COPIES) * 0.1f;
	snprintf(bank, 1024, "%s/bank", folder);
	CHECK(mkdir(bank, 0777) == 0);
	snprintf(path, sizeof path, "%s/train", bank);
	CHECK(mkdir(path, 0777) == 0);
	snprintf(path, sizeof path, "%s/train/clean.npy", bank);
	CHECK(invar_array_write(ctx, path, clean, 2, shape, INVAR_FLOAT32) == INVAR_OK);
	snprintf(path, sizeof path, "%s/train/aug.npy", bank);
	CHECK(invar_array_write(ctx, path, copies, 3, stacked, INVAR_FLOAT32) == INVAR_OK);
}

static void train(invar_context *ctx, const char *folder, const invar_options *o,
                  watched *w, char run[1024])
{
	char path[1024], stopped[1024];
	invar_bank *bank;

	write_bank(ctx, folder, path);
	snprintf(run, 1024, "%s/run", folder);
	snprintf(stopped, sizeof stopped, "%s/stopped", folder);
	CHECK(invar_bank_open(ctx, path, NULL, &bank) == INVAR_OK);
	CHECK(invar_bank_dim(bank) == DIM && invar_bank_copies(bank, "train") == COPIES);
	CHECK(invar_train(&bank, 1, o, run) == INVAR_OK);
	CHECK(w->calls > 0);
	w->stop = 1;
	CHECK(invar_train(&bank, 1, o, stopped) == INVAR_E_CANCELLED);
	w->stop = 0;
	invar_bank_close(bank);
}

/* The same rows as arrays: the same adapter, and a bank without a folder. */
static void fit(invar_context *ctx, const char *folder, const invar_options *o)
{
	static float clean[IMAGES * DIM], copies[COPIES * DIM * IMAGES], one[DIM], other[DIM];
	char path[1024];
	invar_adapter *e, *trained;
	invar_bank *bank;

	snprintf(path, sizeof path, "%s/bank", folder);
	CHECK(invar_bank_open(ctx, path, NULL, &bank) == INVAR_OK);
	CHECK(invar_bank_read(bank, "train", INVAR_CLEAN, 0, IMAGES, clean) == INVAR_OK);
	for (uint64_t i = 0; i < IMAGES * COPIES; i++)
		CHECK(invar_bank_read(bank, "train", (int32_t)(i % COPIES), i / COPIES, 1,
		                      copies + i * DIM) == INVAR_OK);
	invar_bank_close(bank);
	CHECK(invar_fit(ctx, clean, copies, IMAGES, COPIES, DIM, o, &e) == INVAR_OK);
	snprintf(path, sizeof path, "%s/run", folder);
	CHECK(invar_adapter_open(ctx, path, &trained) == INVAR_OK);
	CHECK(invar_adapter_apply(e, copies, 1, one) == INVAR_OK);
	CHECK(invar_adapter_apply(trained, copies, 1, other) == INVAR_OK);
	CHECK(memcmp(one, other, sizeof one) == 0);
	invar_adapter_close(e);
	invar_adapter_close(trained);

	CHECK(invar_bank_from_arrays(ctx, clean, copies, NULL, IMAGES, COPIES, DIM, &bank) ==
	      INVAR_OK);
	CHECK(invar_bank_add_split(bank, "test", clean, NULL, NULL, IMAGES, 0) == INVAR_OK);
	CHECK(invar_bank_set_field(bank, "encoder", "sines") == INVAR_OK);
	CHECK(invar_bank_splits(bank) == 2 && invar_bank_rows(bank, "test") == IMAGES);
	invar_bank_close(bank);
}

/* ---- Measurements -------------------------------------------------------------------- */

/* Columns, metrics and values are read by pointer, so they may be longer than here. */
static void read_results(const invar_results *r)
{
	size_t figures = 0;

	CHECK(invar_results_columns(r) == 3);
	for (size_t c = 0; c < invar_results_columns(r); c++)
		for (size_t m = 0; m < invar_results_metrics(r); m++) {
			const invar_column *column = invar_results_column(r, c);
			const invar_metric *metric = invar_results_metric(r, m);
			const invar_value *v = invar_results_value(r, metric->id, column->id);

			CHECK(*column->title && *metric->row && metric->digits < 16);
			figures += v && !v->reason && isfinite(v->value);
		}
	CHECK(figures > 9);
}

static void measure(invar_context *ctx, const char *folder, const invar_adapter *e)
{
	const invar_adapter *const adapters[] = {e, e};
	const char *const titles[] = {"F", "F"}; /* as that of the encoder itself */
	char path[1024], *json;
	invar_options *o;
	invar_results *r;
	invar_bank *bank;

	snprintf(path, sizeof path, "%s/bank", folder);
	CHECK(invar_bank_open(ctx, path, NULL, &bank) == INVAR_OK);
	CHECK(invar_options_new("eval", &o) == INVAR_OK);
	CHECK(invar_options_set(o, "split", "train") == INVAR_OK);
	CHECK(invar_options_set(o, "metrics", "structure") == INVAR_OK);
	CHECK(invar_eval(bank, adapters, titles, 2, o, &r) == INVAR_OK);
	read_results(r);
	CHECK(invar_results_json(r, &json) == INVAR_OK);
	invar_free(json);
	invar_results_free(r);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* ---- Losses ------------------------------------------------------------------------- */

static const char *const kinds[] = {"mawa", "waco", "simclr", "hsic", "keep"};

static void compute_loss(const invar_adapter *e, const char *kind)
{
	static float clean[IMAGES * DIM], copies[IMAGES * COPIES * DIM],
		views[2 * IMAGES * DIM];
	const uint64_t rows[] = {IMAGES, DIM}, pairs[] = {2 * IMAGES, DIM};
	const uint64_t shape_of_copies[] = {IMAGES, COPIES, DIM};
	invar_options *o;
	invar_loss *l;

	for (size_t i = 0; i < IMAGES * COPIES * DIM; i++)
		copies[i] = (float)cos((double)i);
	for (size_t i = 0; i < IMAGES * DIM; i++)
		clean[i] = views[i] = views[IMAGES * DIM + i] = (float)sin((double)i);
	CHECK(invar_options_new("loss", &o) == INVAR_OK);
	CHECK(invar_options_set(o, "kind", kind) == INVAR_OK);
	CHECK(invar_loss_new(e, o, &l) == INVAR_OK);
	invar_options_free(o); /* it was copied */
	CHECK(invar_loss_set(l, "clean", clean, 2, rows) == INVAR_OK);
	if (strcmp(kind, "simclr") == 0)
		CHECK(invar_loss_set(l, "views", views, 2, pairs) == INVAR_OK);
	else
		CHECK(invar_loss_set(l, "copies", copies, 3, shape_of_copies) == INVAR_OK);
	CHECK(invar_loss_compute(l) == INVAR_OK);
	CHECK(isfinite(invar_loss_value(l, NULL)));
	CHECK(invar_loss_gradient(l, 0, NULL, NULL, NULL));
	invar_loss_free(l);
}

static void apply(const invar_adapter *e)
{
	float z[DIM] = {1, 2, 3}, out[DIM];

	CHECK(invar_adapter_input(e) == DIM && invar_adapter_hidden(e) == 16);
	CHECK(invar_adapter_apply(e, z, 1, out) == INVAR_OK);
	CHECK(isfinite(out[DIM - 1]));
}

int main(int argc, char **argv)
{
	watched w = {0, 0, 0};
	int grown = argc == 3 && strcmp(argv[2], "grown") == 0;
	invar_context *ctx = open_context(&w);
	invar_adapter *e;
	char run[1024];

	CHECK(argc == 3);
	invar_options *o = choose_options(grown);
	train(ctx, argv[1], o, &w, run);
	fit(ctx, argv[1], o);
	invar_options_free(o);
	CHECK(invar_adapter_open(ctx, run, &e) == INVAR_OK);
	apply(e);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		compute_loss(e, kinds[i]);
	measure(ctx, argv[1], e);
	invar_adapter_close(e);
	invar_context_free(ctx);
	return EXIT_SUCCESS;
}
