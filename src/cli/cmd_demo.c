/*
 * cmd_demo.c - invar demo: the method from end to end, in under a minute.
 *
 * Makes a bank of made-up features, trains MaWa in its plain and its residual
 * form, and shows three things: copies move back to their clean feature, the
 * space of clean features stays as it was, and an index of old features answers
 * better for displaced queries without being built again.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/term.h"
#include "report/table.h"

enum { ADAPTERS = 2, COLUMNS = 1 + ADAPTERS }; /* F comes first */

static const char *const column_title[COLUMNS] = {"F", "MaWa", "MaWa residual"};
static const char *const run_name[ADAPTERS] = {"mawa", "mawa-residual"};

typedef struct demo_values {
	inv_common common;
	const char *keep;
} demo_values;

static const inv_example examples[] = {
	{"invar demo", "see the method work"},
	{"invar demo --keep tour", "keeps the bank and the runs in the folder tour to look at"},
	{0},
};

static const inv_argument arguments[] = {{0}};

static const invar_field own_table[] = {
	{"keep", INVAR_FIELD_TEXT, offsetof(demo_values, keep), 0, 0, 0, NULL, "DIR", "Result",
     "keep the bank and the runs in this new folder"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

/* Its matrices are so small that a second thread would mostly wait for the first. */
static void defaults(void *values)
{
	((demo_values *)values)->common.threads = 1;
}

static const inv_option_table tables[] = {{own_fields, 0}, {0}};

/* What the demo has in its hands while it works. */
typedef struct demo {
	inv_session *s;
	char *folder, *bank_path, *run_path[ADAPTERS];
	invar_bank *bank;
	invar_adapter *adapter[ADAPTERS];
	json_t *structure;        /* "F", "MaWa", ... as invar_eval gives them */
	double distance[COLUMNS]; /* mean distance of a copy to its clean feature */
	double
		recognised[COLUMNS]; /* share of copies whose nearest old feature has their class */
} demo;

/* ---- Folders ------------------------------------------------------------------ */

static invar_status make_folder(demo *d, const char *keep)
{
	const char *base = getenv("TMPDIR");

	if (keep) {
		d->folder = strdup(keep);
		if (!d->folder)
			return inv_no_memory(d->s);
		if (access(keep, F_OK) == 0)
			return inv_fault(d->s, INVAR_E_IO,
			                 "%s: is there already; --keep wants a new folder", keep);
		return inv_folder_make(d->s, keep);
	}
	if (!(d->folder = inv_path(base && *base ? base : "/tmp", "invar-demo-XXXXXX")))
		return inv_no_memory(d->s);
	if (!mkdtemp(d->folder))
		return inv_fault(d->s, INVAR_E_IO, "%s: cannot make a temporary folder: %s",
		                 d->folder, strerror(errno));
	return INVAR_OK;
}

static invar_status name_paths(demo *d)
{
	d->bank_path = inv_path(d->folder, "bank");
	for (size_t i = 0; i < ADAPTERS; i++)
		if (!(d->run_path[i] = inv_path(d->folder, run_name[i])))
			return inv_no_memory(d->s);
	return d->bank_path ? INVAR_OK : inv_no_memory(d->s);
}

static void free_demo(demo *d)
{
	invar_bank_close(d->bank);
	for (size_t i = 0; i < ADAPTERS; i++) {
		invar_adapter_close(d->adapter[i]);
		free(d->run_path[i]);
	}
	json_decref(d->structure);
	free(d->bank_path);
	free(d->folder);
}

/* ---- Bank, training, structure -------------------------------------------------- */

static invar_status make_bank(demo *d)
{
	invar_synthetic_opts o;
	invar_status st;

	invar_synthetic_defaults(&o);
	o.seed = d->s->common->seed;
	o.shift = 16; /* far enough that an index of old features errs */
	inv_term_say(
		d->s->term,
		"Making a bank of %llu + %llu features of width %llu in %llu classes, with %llu "
		"displaced copies each.\nThe features are made up: no images are read and no "
		"encoder runs.",
		(unsigned long long)o.rows, (unsigned long long)o.test_rows,
		(unsigned long long)o.dim, (unsigned long long)o.classes,
		(unsigned long long)o.copies);
	if ((st = invar_bank_synthesize(d->s->ctx, &o, d->bank_path)) != INVAR_OK)
		return st;
	return invar_bank_open(d->s->ctx, d->bank_path, &d->bank);
}

static invar_status train_one(demo *d, size_t i)
{
	invar_train_opts o;
	invar_status st;

	invar_train_defaults(&o);
	o.seed = d->s->common->seed;
	o.hidden = 512;
	o.epochs = 40;
	o.residual = i == 1;
	inv_term_say(d->s->term, "Training %s: %llu epochs, %llu hidden units.",
	             column_title[1 + i], (unsigned long long)o.epochs,
	             (unsigned long long)o.hidden);
	if ((st = invar_train(&d->bank, 1, &o, NULL, d->run_path[i])) != INVAR_OK)
		return st;
	return invar_adapter_open(d->s->ctx, d->run_path[i], &d->adapter[i]);
}

static invar_status measure_structure(demo *d)
{
	invar_eval_opts o;
	invar_status st;
	char *text;
	json_t *document;

	invar_eval_defaults(&o);
	o.only = "structure";
	st = invar_eval(d->bank, (const invar_adapter *const *)d->adapter, column_title + 1,
	                ADAPTERS, &o, &text);
	if (st != INVAR_OK)
		return st;
	document = json_loads(text, 0, NULL);
	invar_free(text);
	d->structure = json_incref(
		json_object_get(json_object_get(document, "measurements"), "structure"));
	json_decref(document);
	return d->structure ? INVAR_OK : inv_no_memory(d->s);
}

/* ---- Invariance and the old index ------------------------------------------------- */

/* Test rows of copy 0 under each column, and the clean rows they should meet. */
typedef struct rows {
	uint64_t tests, trains;
	uint32_t d;
	float *clean;         /* [tests, d] */
	float *copy;          /* [tests, d] */
	float *code[COLUMNS]; /* [tests, d]; code[0] is copy */
	float *index;         /* [trains, d], the features of an index that exists already */
	int64_t *label, *index_label;
} rows;

static invar_status load_rows(demo *d, rows *r)
{
	size_t test_cells, train_cells;
	invar_status st = INVAR_OK;

	r->tests = invar_bank_rows(d->bank, "test");
	r->trains = invar_bank_rows(d->bank, "train");
	r->d = invar_bank_dim(d->bank);
	test_cells = (size_t)r->tests * r->d;
	train_cells = (size_t)r->trains * r->d;
	r->clean = malloc(test_cells * sizeof *r->clean);
	r->copy = malloc(test_cells * sizeof *r->copy);
	r->index = malloc(train_cells * sizeof *r->index);
	r->label = malloc((size_t)r->tests * sizeof *r->label);
	r->index_label = malloc((size_t)r->trains * sizeof *r->index_label);
	r->code[0] = r->copy;
	for (size_t k = 1; k < COLUMNS; k++)
		if (!(r->code[k] = malloc(test_cells * sizeof **r->code)))
			st = inv_no_memory(d->s);
	if (st != INVAR_OK || !r->clean || !r->copy || !r->index || !r->label ||
	    !r->index_label)
		return inv_no_memory(d->s);
	if ((st = invar_bank_read(d->bank, "test", INVAR_CLEAN, 0, r->tests, r->clean)) !=
	        INVAR_OK ||
	    (st = invar_bank_read(d->bank, "train", INVAR_CLEAN, 0, r->trains, r->index)) !=
	        INVAR_OK ||
	    (st = invar_bank_labels(d->bank, "test", r->label)) != INVAR_OK)
		return st;
	return invar_bank_labels(d->bank, "train", r->index_label);
}

static void free_rows(rows *r)
{
	free(r->clean);
	free(r->copy);
	for (size_t k = 1; k < COLUMNS; k++)
		free(r->code[k]);
	free(r->index);
	free(r->label);
	free(r->index_label);
}

/* Eight partial sums let the compiler use wide registers. */
static float squared_distance(const float *a, const float *b, uint32_t d)
{
	float sum[8] = {0}, total = 0;
	uint32_t i = 0;

	for (; i + 8 <= d; i += 8)
		for (uint32_t j = 0; j < 8; j++)
			sum[j] += (a[i + j] - b[i + j]) * (a[i + j] - b[i + j]);
	for (; i < d; i++)
		sum[0] += (a[i] - b[i]) * (a[i] - b[i]);
	for (uint32_t j = 0; j < 8; j++)
		total += sum[j];
	return total;
}

static double mean_distance(const rows *r, const float *code)
{
	double sum = 0;

	for (uint64_t i = 0; i < r->tests; i++)
		sum += sqrt((double)squared_distance(code + i * r->d, r->clean + i * r->d, r->d));
	return sum / (double)r->tests;
}

static uint64_t nearest_in_index(const rows *r, const float *query)
{
	uint64_t nearest = 0;
	float best = INFINITY;

	for (uint64_t i = 0; i < r->trains; i++) {
		float distance = squared_distance(query, r->index + i * r->d, r->d);

		if (distance < best) {
			best = distance;
			nearest = i;
		}
	}
	return nearest;
}

static double recognised_share(const rows *r, const float *code)
{
	uint64_t right = 0;

	for (uint64_t i = 0; i < r->tests && !inv_interrupted(); i++)
		right += r->index_label[nearest_in_index(r, code + i * r->d)] == r->label[i];
	return (double)right / (double)r->tests;
}

static invar_status compare_copies(demo *d, rows *r)
{
	uint32_t copies = invar_bank_copies(d->bank, "test");
	invar_status st;

	for (uint32_t c = 0; c < copies; c++) {
		st = invar_bank_read(d->bank, "test", (int32_t)c, 0, r->tests, r->copy);
		for (size_t k = 0; k < ADAPTERS && st == INVAR_OK; k++)
			st = invar_adapter_apply(d->adapter[k], r->copy, r->tests, r->code[1 + k]);
		if (st != INVAR_OK)
			return st;
		for (size_t k = 0; k < COLUMNS; k++) {
			d->distance[k] += mean_distance(r, r->code[k]) / copies;
			d->recognised[k] += recognised_share(r, r->code[k]) / copies;
		}
		if (inv_interrupted())
			return inv_fault(d->s, INVAR_E_CANCELLED, "interrupted");
	}
	return INVAR_OK;
}

static invar_status measure_invariance(demo *d)
{
	rows r = {0};
	invar_status st = load_rows(d, &r);

	if (st == INVAR_OK)
		st = compare_copies(d, &r);
	free_rows(&r);
	return st;
}

/* ---- What the user sees -------------------------------------------------------------- */

static double statistic(const demo *d, size_t column, const char *name)
{
	const json_t *of = json_object_get(d->structure, column_title[column]);

	return json_number_value(json_object_get(of, name));
}

static void fill_table(const demo *d, inv_table *t)
{
	inv_table_cell(t, "%s", "");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%s", column_title[k]);
	inv_table_cell(t, "mean distance of a copy to its clean feature");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%.3f", d->distance[k]);
	inv_table_cell(t, "  as a share of what it was");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%.0f %%", 100 * d->distance[k] / d->distance[0]);
	inv_table_cell(t, "copies whose nearest old feature has their class");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%.1f %%", 100 * d->recognised[k]);
	inv_table_cell(t, "distances among clean features, R2");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%.4f", statistic(d, k, "R2"));
	inv_table_cell(t, "distances among clean features, NRMSD");
	for (size_t k = 0; k < COLUMNS; k++)
		inv_table_cell(t, "%.4f", statistic(d, k, "NRMSD"));
}

static void explain(const demo *d, bool kept)
{
	puts("\nWhat this shows. An adapter E was trained on top of features that stay as they "
	     "are.\n"
	     "It brings displaced copies back to their clean feature (first rows), so an index "
	     "of\n"
	     "old features finds their class more often without being built again, and it "
	     "hardly\n"
	     "changes the distances among clean features (R2 near 1, NRMSD near 0).\n"
	     "The features were made up by the program; yours will give other numbers.\n\n"
	     "For your own arrays, save them with NumPy as float32 or float16 [n, d]:\n"
	     "  bank/train/clean.npy   features of the images\n"
	     "  bank/train/aug/000.npy features of the same images, augmented; 001.npy, "
	     "002.npy …\n"
	     "  bank/test/clean.npy    features to measure on\n"
	     "then type:\n"
	     "  invar train bank -o run\n"
	     "  invar eval bank run\n"
	     "  invar apply run new-features.npy -o adapted.npy");
	if (kept)
		printf("\nThe bank and the runs are in %s: try 'invar eval %s %s %s'.\n", d->folder,
		       d->bank_path, d->run_path[0], d->run_path[1]);
}

static invar_status show_text(demo *d, bool kept)
{
	inv_table *t = inv_table_new(1 + COLUMNS);
	bool written;

	if (!t)
		return inv_no_memory(d->s);
	fill_table(d, t);
	inv_term_clear(d->s->term);
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	explain(d, kept);
	return written ? INVAR_OK : inv_no_memory(d->s);
}

static invar_status show_json(demo *d)
{
	json_t *columns = json_object();

	for (size_t k = 0; k < COLUMNS; k++)
		json_object_set_new(columns, column_title[k],
		                    json_pack("{s:f, s:f, s:f, s:O}", "copy_distance",
		                              d->distance[k], "copy_distance_share",
		                              d->distance[k] / d->distance[0], "nearest_same_class",
		                              d->recognised[k], "structure",
		                              json_object_get(d->structure, column_title[k])));
	return inv_print_json(
		d->s, json_pack("{s:s, s:o}", "features", "made up", "columns", columns));
}

static invar_status tour(demo *d, bool kept)
{
	invar_status st;

	if ((st = name_paths(d)) != INVAR_OK || (st = make_bank(d)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < ADAPTERS; i++)
		if ((st = train_one(d, i)) != INVAR_OK)
			return st;
	if ((st = measure_structure(d)) != INVAR_OK || (st = measure_invariance(d)) != INVAR_OK)
		return st;
	return d->s->common->json ? show_json(d) : show_text(d, kept);
}

static invar_status run(inv_session *s, void *values)
{
	const demo_values *v = values;
	demo d = {.s = s};
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK && (st = make_folder(&d, v->keep)) == INVAR_OK) {
		st = tour(&d, v->keep != NULL);
		if (!v->keep)
			inv_folder_remove(d.folder);
		if (st == INVAR_E_CANCELLED)
			inv_fault(s, st, "interrupted");
	}
	free_demo(&d);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_demo = {
	.name = "demo",
	.purpose = "shows the whole method on features that it makes up",
	.usage = "[options]",
	.about =
		"Makes a bank of clustered features with coherently displaced copies, trains two "
		"adapters on it and shows what they do. Takes less than a minute on two cores and "
		"leaves nothing behind unless --keep is given.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(demo_values),
	.defaults = defaults,
	.run = run,
};
