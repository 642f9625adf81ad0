/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.c - LC, NC, EC, LC-kept and their ceiling: what classifiers learn from codes.
 *
 * A probe is trained on the clean rows of train and tested on the clean rows and every
 * copy of the measured split. LC and NC are trained on the column's own codes. EC, the
 * largest, is trained on the features: the best that the encoder's space can give. LC-kept
 * is trained on the features and tested on the column's codes: a classifier that existed
 * before the adapter. The ceiling is LC trained on copies of train: an encoder that is left
 * alone and a classifier that is trained for the augmentation.
 *
 * What does not depend on an adapter is computed once and stored in the bank's cache: the
 * answers of EC, and the linear classifier on features, which is LC of the column F and
 * LC-kept of every column.
 *
 * Intervals are over images: an image counts with its share of right answers
 * over its copies and the seeds.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/threads.h"
#include "measure/bootstrap.h"
#include "measure/cache.h"
#include "measure/probes.h"
#include "run/results.h"

enum { BLOCK = 1024, MAX_CLASSES = 1 << 20 };

typedef struct probe_kind {
	const char *name, *stage;
	const char *clean, *augmented; /* its metrics */
	size_t hidden_layers;
	bool on_features;  /* trained on F(train), whatever the column */
	bool on_copies;    /* trained on the copies of train */
	bool keep_answers; /* of the whole probe, in the cache */
} probe_kind;

static const probe_kind lc = {
	.name = "lc", .stage = "probe lc", .clean = "lc.clean", .augmented = "lc.augmented"};
static const probe_kind nc = {.name = "nc",
                              .stage = "probe nc",
                              .clean = "nc.clean",
                              .augmented = "nc.augmented",
                              .hidden_layers = 1};
static const probe_kind ec = {.name = "ec",
                              .stage = "probe ec",
                              .clean = "ec.clean",
                              .augmented = "ec.augmented",
                              .hidden_layers = 2,
                              .on_features = true,
                              .keep_answers = true};
static const probe_kind kept = {.name = "kept",
                                .stage = "probe kept",
                                .clean = "kept.clean",
                                .augmented = "kept.augmented",
                                .on_features = true};
/* What an invariant classifier alone can reach: it learns from copies as well. */
static const probe_kind ceiling = {.name = "ceiling",
                                   .stage = "probe ceiling",
                                   .clean = "ceiling.clean",
                                   .augmented = "ceiling.augmented",
                                   .on_copies = true};

typedef struct probe {
	const inv_measure_input *in;
	const probe_kind *kind;
	inv_classifier_spec spec;
	inv_choice learned, asked; /* rows of train, rows that are measured */
	uint64_t n;                /* images that are measured */
	uint32_t *labels;          /* [n] */
	uint32_t copies;           /* of train to learn from; 0: its clean rows */
	uint64_t examples;         /* rows to learn from */
	uint32_t *from_labels;     /* [examples] */
	float *from;               /* [examples]: codes or features; read when first needed */
	float *params;
	float *right; /* [2, n] of one seed: clean, and how many of the copies */
	uint64_t seeds_asked;
	double *clean, *augmented; /* [n], the sum over the seeds of each image's share */
	json_t *seeds;             /* [{"clean": …, "augmented": …}, …] */
} probe;

/* ---- Labels ---------------------------------------------------------------------- */

/* Classes are those of train; a class that train does not have is never predicted. */
static invar_status read_classes(probe *p)
{
	const inv_labels *known = &p->in->train_labels;

	if (known->classes < 2)
		return inv_fail(INVAR_E_MISMATCH,
		                "all rows of %s have class %" PRId64
		                ", but a classifier needs at least two classes",
		                p->in->train->name, known->class_label[0]);
	if (known->classes > MAX_CLASSES)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has %" PRIu32 " classes, but a classifier takes at most %d",
		                p->in->train->name, known->classes, MAX_CLASSES);
	p->spec.classes = known->classes;
	for (uint64_t at = 0; at < p->examples; at += p->learned.points)
		inv_measure_classes(&p->learned, known, p->from_labels + at);
	inv_measure_classes(&p->asked, known, p->labels);
	return INVAR_OK;
}

/* ---- Training ------------------------------------------------------------------------ */

static bool learns_features(const probe *p)
{
	return p->kind->on_features || !p->in->adapter;
}

/* Copy c of those that are learned from: spread evenly over the copies of train. */
static int32_t learned_copy(const probe *p, uint32_t c)
{
	return (int32_t)((uint64_t)c * p->in->train->copies / p->copies);
}

static invar_status read_train(probe *p)
{
	uint64_t rows = p->learned.points;
	size_t width = p->spec.inputs;
	bool raw = learns_features(p);
	invar_status st = INVAR_OK;

	if (p->from)
		return INVAR_OK;
	p->from = inv_calloc(p->examples * width, sizeof *p->from);
	if (!p->from)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the %" PRIu64 " rows of %s",
		                p->examples, p->in->train->name);
	if (!p->copies)
		return inv_measure_rows(p->in, &p->learned, INVAR_CLEAN, raw, 0, rows, p->from);
	for (uint32_t c = 0; c < p->copies && st == INVAR_OK; c++)
		st = inv_measure_rows(p->in, &p->learned, learned_copy(p, c), raw, 0, rows,
		                      p->from + c * rows * width);
	return st;
}

static invar_status train(probe *p)
{
	invar_status st = read_train(p);

	return st == INVAR_OK
	           ? inv_classifier_train(p->in->ctx, &p->spec, p->from, p->from_labels,
	                                  (uint32_t)p->examples, p->params)
	           : st;
}

static json_t *options_of(const probe *p)
{
	const inv_classifier_spec *s = &p->spec;

	return json_pack(
		"{s:I, s:I, s:I, s:I, s:b}", "hidden_layers", (json_int_t)s->hidden_layers,
		"hidden", s->hidden_layers ? (json_int_t)s->hidden : 0, "epochs",
		(json_int_t)s->epochs, "seed", (json_int_t)s->seed, "standardise", s->standardise);
}

/* The linear classifier on features, from the cache if it is stored there. */
static invar_status train_linear_once(probe *p)
{
	const inv_npy *const arrays[] = {p->in->train->clean, p->in->train->labels};
	size_t floats = inv_classifier_floats(&p->spec);
	char key[INV_SHA256_HEX];
	invar_status st = inv_cache_key(p->in->ctx, options_of(p), arrays, 2, key);

	if (st != INVAR_OK || inv_cache_find(p->in->bank, "linear", key, p->params, floats))
		return st;
	if ((st = train(p)) == INVAR_OK)
		inv_cache_keep(p->in->bank, "linear", key, p->params, floats);
	return st;
}

/* ---- Asking -------------------------------------------------------------------------- */

static invar_status ask_block(probe *p, int32_t copy, uint64_t first, uint64_t count,
                              float *rows)
{
	uint32_t answers[BLOCK];
	float *right = p->right + (copy < 0 ? 0 : p->n);
	invar_status st = inv_measure_rows(p->in, &p->asked, copy, false, first, count, rows);

	if (st == INVAR_OK)
		st = inv_classifier_predict(p->in->ctx, &p->spec, p->params, rows, count, answers);
	for (uint64_t i = 0; i < count && st == INVAR_OK; i++)
		right[first + i] += answers[i] == p->labels[first + i];
	return st;
}

static invar_status ask(probe *p)
{
	float *rows = inv_calloc(BLOCK * p->spec.inputs, sizeof *rows);
	invar_status st =
		rows ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for a block of rows");

	memset(p->right, 0, 2 * p->n * sizeof *p->right);
	for (int32_t copy = INVAR_CLEAN; copy < (int32_t)p->in->split->copies; copy++)
		for (uint64_t at = 0; at < p->n && st == INVAR_OK; at += BLOCK)
			st = ask_block(p, copy, at, p->n - at < BLOCK ? p->n - at : BLOCK, rows);
	inv_free(rows);
	return st;
}

static invar_status train_and_ask(probe *p)
{
	bool shared = learns_features(p) && !p->spec.hidden_layers && !p->copies;
	invar_status st = shared ? train_linear_once(p) : train(p);

	return st == INVAR_OK ? ask(p) : st;
}

/* All arrays that the answers depend on; free with inv_free. */
static const inv_npy **arrays_of(const probe *p, size_t *count)
{
	const inv_split *train = p->in->train, *split = p->in->split;
	const inv_npy **list = inv_calloc(4 + split->aug_files, sizeof *list);

	*count = 4 + split->aug_files;
	if (!list)
		return NULL;
	list[0] = train->clean;
	list[1] = train->labels;
	list[2] = split->clean;
	list[3] = split->labels;
	for (size_t i = 0; i < split->aug_files; i++)
		list[4 + i] = split->aug[i];
	return list;
}

/* All answers, from the cache if they are stored there. */
static invar_status answer_once(probe *p)
{
	size_t count;
	const inv_npy **arrays = arrays_of(p, &count);
	char key[INV_SHA256_HEX];
	invar_status st = arrays ? inv_cache_key(p->in->ctx, options_of(p), arrays, count, key)
	                         : inv_bank_no_memory(p->in->bank->path);

	inv_free(arrays);
	if (st != INVAR_OK ||
	    inv_cache_find(p->in->bank, p->kind->name, key, p->right, 2 * p->n))
		return st;
	if ((st = train_and_ask(p)) == INVAR_OK)
		inv_cache_keep(p->in->bank, p->kind->name, key, p->right, 2 * p->n);
	return st;
}

/* ---- Results ------------------------------------------------------------------------- */

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
}

static invar_status add_seed(probe *p)
{
	uint32_t copies = p->in->split->copies;
	double clean = 0, augmented = 0, n = (double)p->n;
	json_t *seed = json_object();

	for (uint64_t i = 0; i < p->n; i++) {
		double share = copies ? p->right[p->n + i] / (double)copies : 0;

		clean += p->right[i];
		augmented += share;
		p->clean[i] += p->right[i];
		p->augmented[i] += share;
	}
	if (json_object_set_new(seed, "clean", json_real(clean / n)) != 0 ||
	    (copies && json_object_set_new(seed, "augmented", json_real(augmented / n)) != 0)) {
		json_decref(seed);
		return no_memory();
	}
	return json_array_append_new(p->seeds, seed) == 0 ? INVAR_OK : no_memory();
}

/* Standard deviation of one figure over the seeds. */
static double deviation(const json_t *seeds, const char *which)
{
	double count = (double)json_array_size(seeds), mean = 0, square = 0;
	const json_t *seed;
	size_t i;

	json_array_foreach (seeds, i, seed)
		mean += json_real_value(json_object_get(seed, which)) / count;
	json_array_foreach (seeds, i, seed) {
		double gap = json_real_value(json_object_get(seed, which)) - mean;

		square += gap * gap;
	}
	return sqrt(square / (count - 1));
}

static invar_status find_share(const probe *p, double *sums, inv_interval *out)
{
	for (uint64_t i = 0; i < p->n; i++)
		sums[i] /= (double)p->seeds_asked;
	return inv_bootstrap(p->in->ctx, sums, p->n, p->in->seed, out);
}

static invar_status put_share(const probe *p, const char *metric, const inv_interval *share)
{
	char why[INV_INTERVAL_WHY];
	invar_value value = inv_interval_value(share, why);

	return inv_results_put(p->in->results, metric, p->in->column, &value);
}

/* Each seed's accuracies, and how far they deviate. */
static json_t *details_of(const probe *p)
{
	json_t *details = json_pack("{s:O}", "seeds", p->seeds);

	if (p->copies)
		json_object_set_new(details, "copies", json_integer(p->copies));
	if (p->seeds_asked > 1) {
		json_t *spread = json_pack("{s:f}", "clean", deviation(p->seeds, "clean"));

		if (p->in->split->copies)
			json_object_set_new(spread, "augmented",
			                    json_real(deviation(p->seeds, "augmented")));
		json_object_set_new(details, "deviation", spread);
	}
	return details;
}

/* The accuracy of naming the largest class of the measured rows, whatever the image. */
static invar_status put_chance(const probe *p)
{
	const inv_labels *l = &p->in->labels;
	uint64_t *rows = inv_calloc(l->classes, sizeof *rows), largest = 0;
	invar_value chance = {.low = NAN, .high = NAN, .count = l->rows};

	if (!rows)
		return no_memory();
	for (uint64_t i = 0; i < l->rows; i++) {
		uint64_t now = ++rows[inv_labels_class(l, l->label[i])];

		largest = now > largest ? now : largest;
	}
	inv_free(rows);
	chance.value = (double)largest / (double)l->rows;
	return inv_results_put(p->in->results, "ceiling.chance", p->in->column, &chance);
}

static invar_status put_results(probe *p)
{
	bool copies = p->in->split->copies;
	inv_interval clean, augmented;
	invar_status st = find_share(p, p->clean, &clean);

	if (st == INVAR_OK && copies)
		st = find_share(p, p->augmented, &augmented);
	if (st == INVAR_OK)
		st = put_share(p, p->kind->clean, &clean);
	if (st == INVAR_OK && copies)
		st = put_share(p, p->kind->augmented, &augmented);
	if (st == INVAR_OK && p->kind->on_copies)
		st = put_chance(p);
	return st == INVAR_OK ? inv_results_detail(p->in->results, p->kind->name, p->in->column,
	                                           details_of(p))
	                      : st;
}

/* ---- The whole ----------------------------------------------------------------------- */

static invar_status allocate_probe(probe *p)
{
	p->labels = inv_calloc(p->n, sizeof *p->labels);
	p->examples = p->learned.points * (p->copies ? p->copies : 1);
	p->from_labels = inv_calloc(p->examples, sizeof *p->from_labels);
	p->right = inv_calloc(2 * p->n, sizeof *p->right);
	p->clean = inv_calloc(p->n, sizeof *p->clean);
	p->augmented = inv_calloc(p->n, sizeof *p->augmented);
	p->seeds = json_array();
	return p->labels && p->from_labels && p->right && p->clean && p->augmented && p->seeds
	           ? INVAR_OK
	           : inv_fail(INVAR_E_NOMEM,
	                      "not enough memory for the predictions of a classifier");
}

static void release(probe *p)
{
	inv_free(p->labels);
	inv_free(p->from_labels);
	inv_free(p->from);
	inv_free(p->params);
	inv_free(p->right);
	inv_free(p->clean);
	inv_free(p->augmented);
	json_decref(p->seeds);
}

static invar_status allocate_params(probe *p)
{
	p->params = inv_calloc(inv_classifier_floats(&p->spec), sizeof *p->params);
	return p->params ? INVAR_OK
	                 : inv_fail(INVAR_E_NOMEM,
	                            "not enough memory for a classifier of %zu classes",
	                            p->spec.classes);
}

static invar_status run_seeds(probe *p)
{
	invar_status st = allocate_params(p);

	for (uint64_t i = 0; i < p->seeds_asked && st == INVAR_OK; i++) {
		p->spec.seed = p->in->seed + i;
		st = p->kind->keep_answers ? answer_once(p) : train_and_ask(p);
		if (st == INVAR_OK)
			st = add_seed(p);
	}
	return st;
}

/*
 * As many copies of train as fit into 1 GB, at least one: a number that does not depend on
 * the machine.
 */
static uint32_t count_learned(const inv_measure_input *in)
{
	const uint64_t bound = 1u << 28; /* floats */
	uint64_t fit = bound / (in->train_labels.rows * in->w);
	uint32_t copies = in->train->copies;

	return fit >= copies ? copies : fit ? (uint32_t)fit : 1;
}

/*
 * Once, for the column F; `kept` and the measurements that are averages of outcomes share
 * their classifier and the note about it.
 */
static invar_status note_few_steps(const probe *p)
{
	uint64_t each = inv_classifier_steps(p->examples), steps = each * p->spec.epochs;
	char sentence[300];
	const char *note;

	if (p->in->adapter || steps >= INV_CLASSIFIER_FEW_STEPS)
		return INVAR_OK;
	snprintf(
		sentence, sizeof sentence,
		"%s was trained for %" PRIu64 " %s, and few steps may leave a classifier close "
		"to its initial values; try probe-epochs %" PRIu64,
		p->kind == &kept ? "the linear classifier of F (LC-kept)" : p->kind->name, steps,
		inv_noun(steps, "step", "steps"), inv_blocks(INV_CLASSIFIER_FEW_STEPS, each));
	for (size_t i = 0; (note = inv_results_note_at(p->in->results, i)); i++)
		if (strcmp(note, sentence) == 0)
			return INVAR_OK;
	return inv_results_note(p->in->results, sentence);
}

static bool wants_standard(const invar_options *o)
{
	return strcmp(inv_option_text(o, "probe-input"), "standard") == 0;
}

static invar_status measure_probe(const inv_measure_input *in, const probe_kind *kind)
{
	const invar_options *o = in->options;
	probe p = {.in = in,
	           .kind = kind,
	           .learned = inv_choose_labelled(in->train, &in->train_labels),
	           .asked = inv_choose_labelled(in->split, &in->labels),
	           .n = in->labels.rows,
	           .copies = kind->on_copies ? count_learned(in) : 0,
	           .seeds_asked = inv_option_count(o, "seeds"),
	           .spec = {.inputs = kind->on_features ? in->d : in->w,
	                    .hidden = inv_option_count(o, "probe-hidden"),
	                    .hidden_layers = kind->hidden_layers,
	                    .epochs = inv_option_count(o, "probe-epochs"),
	                    .stage = kind->stage,
	                    .standardise = wants_standard(o)}};
	invar_status st = allocate_probe(&p);

	if (st == INVAR_OK)
		st = read_classes(&p);
	if (st == INVAR_OK)
		st = run_seeds(&p);
	if (st == INVAR_OK)
		st = put_results(&p);
	if (st == INVAR_OK)
		st = note_few_steps(&p);
	release(&p);
	return st;
}

invar_status inv_linear_on_features(const inv_measure_input *in, inv_classifier_spec *spec,
                                    float **params)
{
	probe p = {.in = in,
	           .kind = &kept,
	           .learned = inv_choose_labelled(in->train, &in->train_labels),
	           .asked = inv_choose_labelled(in->split, &in->labels),
	           .n = in->labels.rows,
	           .spec = {.inputs = in->d,
	                    .epochs = inv_option_count(in->options, "probe-epochs"),
	                    .seed = in->seed,
	                    .stage = kept.stage,
	                    .standardise = wants_standard(in->options)}};
	invar_status st = allocate_probe(&p);

	*params = NULL;
	if (st == INVAR_OK)
		st = read_classes(&p);
	if (st == INVAR_OK)
		st = allocate_params(&p);
	if (st == INVAR_OK)
		st = train_linear_once(&p);
	if (st == INVAR_OK)
		st = note_few_steps(&p);
	if (st == INVAR_OK) {
		*spec = p.spec;
		*params = p.params;
		p.params = NULL;
	}
	release(&p);
	return st;
}

/* ---- What they declare --------------------------------------------------------------- */

static const invar_option options[] = {
	{.name = "probe-epochs",
     .type = INVAR_OPTION_COUNT,
     .initial = "50",
     .min = 1,
     .max = 1e6,
     .meta = "N",
     .group = "Probes",
     .help = "training epochs of lc, nc, ec and kept"},
	{.name = "probe-input",
     .type = INVAR_OPTION_TEXT,
     .initial = "standard",
     .choices = "standard|raw",
     .meta = "WORD",
     .group = "Probes",
     .help = "standard: probes see rows less the mean of the rows they are trained on, "
             "divided by their spread (one number), so that the scale of the codes does "
             "not matter; raw: rows as they are, as published"},
	{.name = "seeds",
     .type = INVAR_OPTION_COUNT,
     .initial = "1",
     .min = 1,
     .max = 1000,
     .meta = "N",
     .group = "Probes",
     .help = "train every probe N times, with seeds from the given one on, and average"},
	{0},
};

/* Of probes with hidden layers, beside those above. */
static const invar_option hidden_options[] = {
	{.name = "probe-hidden",
     .type = INVAR_OPTION_COUNT,
     .initial = "4096",
     .min = 1,
     .max = 1 << 20,
     .meta = "N",
     .group = "Probes",
     .help = "width of the hidden layers of nc and ec"},
	{0},
};

#define ACCURACY(NAME, PART, ROW)                                           \
	{                                                                       \
		.id = NAME "." PART, .measurement = NAME, .row = ROW, .part = PART, \
		.unit = INVAR_UNIT_SHARE, .better = 1, .digits = 1                  \
	}
#define ACCURACIES(NAME, ROW)                                           \
	{                                                                   \
		ACCURACY(NAME, "clean", ROW), ACCURACY(NAME, "augmented", ROW), \
		{                                                               \
			0                                                           \
		}                                                               \
	}

static const invar_metric lc_metrics[] = ACCURACIES("lc", "LC");
static const invar_metric nc_metrics[] = ACCURACIES("nc", "NC");
static const invar_metric ec_metrics[] = ACCURACIES("ec", "EC");
static const invar_metric kept_metrics[] = ACCURACIES("kept", "LC-kept");
static const invar_metric ceiling_metrics[] = {
	ACCURACY("ceiling", "clean", "LC trained on copies"),
	ACCURACY("ceiling", "augmented", "LC trained on copies"),
	{.id = "ceiling.chance",
     .measurement = "ceiling",
     .row = "chance: the largest class",
     .unit = INVAR_UNIT_SHARE,
     .digits = 1},
	{0},
};

static invar_status measure_lc(const inv_measure_input *in)
{
	return measure_probe(in, &lc);
}

static invar_status measure_nc(const inv_measure_input *in)
{
	return measure_probe(in, &nc);
}

static invar_status measure_ec(const inv_measure_input *in)
{
	return measure_probe(in, &ec);
}

static invar_status measure_kept(const inv_measure_input *in)
{
	if (in->w == in->d)
		return measure_probe(in, &kept);
	return inv_fail(INVAR_E_MISMATCH, "codes are %" PRIu32 " wide, but features %" PRIu32,
	                in->w, in->d);
}

static invar_status measure_ceiling(const inv_measure_input *in)
{
	return in->train->copies
	           ? measure_probe(in, &ceiling)
	           : inv_fail(INVAR_E_MISMATCH, "%s has no augmented copies", in->train->name);
}

#define PROBE                                                                          \
	.group = "probe", .needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN, .options = options, \
	.shares = "train-split|seed"
#define HIDDEN_PROBE                             \
	.group = "probe", .options = hidden_options, \
	.shares = "probe-epochs|probe-input|seeds|train-split|seed"

const inv_measurement inv_measurement_lc = {
	.name = "lc",
	.title = "LC",
	.about = "a linear classifier on the codes, trained on clean rows of "
			 "train, tested on clean and augmented rows",
	PROBE,
	.metrics = lc_metrics,
	.measure = measure_lc};
const inv_measurement inv_measurement_nc = {.name = "nc",
                                            .title = "NC",
                                            .about = "the same with a hidden layer",
                                            HIDDEN_PROBE,
                                            .needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN,
                                            .metrics = nc_metrics,
                                            .measure = measure_nc};
const inv_measurement inv_measurement_ec = {
	.name = "ec",
	.title = "EC",
	.about = "the same with two hidden layers, on F alone",
	HIDDEN_PROBE,
	.needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN | INV_ONLY_F,
	.metrics = ec_metrics,
	.measure = measure_ec};
const inv_measurement inv_measurement_kept = {
	.name = "kept",
	.title = "LC-kept",
	.about = "a linear classifier of F that is left alone and fed the "
			 "codes",
	PROBE,
	.metrics = kept_metrics,
	.measure = measure_kept};
const inv_measurement inv_measurement_ceiling = {
	.name = "ceiling",
	.title = "LC trained on copies",
	.about = "a linear classifier trained on the copies of train: what an invariant "
			 "classifier alone reaches; and chance",
	.needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN | INV_NEEDS_COPIES | INV_NEEDS_SPREAD,
	.on_request = true,
	.shares = "probe-epochs|probe-input|seeds|train-split|seed",
	.metrics = ceiling_metrics,
	.measure = measure_ceiling};
