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
 * Intervals are over images: an image counts with its fraction of right answers
 * over its copies and the seeds.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/threads.h"
#include "measure/cache.h"
#include "measure/probes.h"

enum { BLOCK = 1024, MAX_CLASSES = 1 << 20 };

typedef struct probe_kind {
	const char *name, *title; /* title: of the progress */
	size_t hidden_layers;
	bool on_features;  /* trained on F(train), whatever the column */
	bool on_copies;    /* trained on the copies of train */
	bool keep_answers; /* of the whole probe, in the cache */
} probe_kind;

static const probe_kind kinds[] = {
	{.name = "lc", .title = "probe lc"},
	{"nc", "probe nc", .hidden_layers = 1},
	{"ec", "probe ec", .hidden_layers = 2, .on_features = true, .keep_answers = true},
	{"kept", "probe kept", .on_features = true},
	{"ceiling", "probe ceiling", .on_copies = true},
};
static const probe_kind *const kept = &kinds[3];

typedef struct probe {
	const inv_measure_input *in;
	const probe_kind *kind;
	inv_classifier_spec spec;
	inv_selection learned, asked; /* rows of train, rows that are measured */
	uint64_t n;                   /* images that are measured */
	uint32_t *labels;             /* [n] */
	uint32_t copies;              /* of train to learn from; 0: its clean rows */
	uint64_t examples;            /* rows to learn from */
	uint32_t *from_labels;        /* [examples] */
	float *from;   /* [examples]: codes or features; read when first needed */
	float *params; /* of the classifier */
	float *rows;   /* [BLOCK]: that are asked */
	float *right;  /* [2, n] of one seed: clean, and how many of the copies */
} probe;

/* Classes are those of train; a class that train does not have is never predicted. */
static invar_status prepare_probe(const inv_measure_input *in, const probe_kind *kind,
                                  probe *p)
{
	const uint64_t bound = 1u << 28; /* floats, 1 GB: whatever memory the machine has */
	const invar_options *o = in->options;
	const inv_labels *known = &in->train_labels;

	*p = (probe){.in = in,
	             .kind = kind,
	             .learned = inv_select_labelled(in->train, known),
	             .asked = inv_select_labelled(in->split, &in->labels),
	             .n = in->labels.rows,
	             .spec = {.inputs = kind->on_features ? in->d : in->w,
	                      .hidden = inv_option_count(o, "probe-hidden"),
	                      .hidden_layers = kind->hidden_layers,
	                      .epochs = inv_option_count(o, "probe-epochs"),
	                      .classes = known->classes,
	                      .seed = in->seed,
	                      .stage = kind->title,
	                      .standardise = inv_option_is(o, "probe-input", "standard")}};
	if (known->classes < 2)
		return inv_fail(INVAR_E_MISMATCH,
		                "all rows of %s have class %" PRId64
		                ", but a classifier needs at least two classes",
		                in->train->name, known->class_label[0]);
	if (known->classes > MAX_CLASSES)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has %" PRIu32 " classes, but a classifier takes at most %d",
		                in->train->name, known->classes, MAX_CLASSES);
	if (kind->on_copies) {
		uint64_t fit = inv_min(in->train->copies, bound / (known->rows * in->w));

		p->copies = fit ? (uint32_t)fit : 1;
	}
	p->examples = p->learned.points * (p->copies ? p->copies : 1);
	INV_TRY(inv_pool_zeros(in->scratch, &p->labels, p->n));
	INV_TRY(inv_pool_zeros(in->scratch, &p->from_labels, p->examples));
	INV_TRY(inv_pool_zeros(in->scratch, &p->right, 2 * p->n));
	INV_TRY(inv_pool_zeros(in->scratch, &p->params, inv_classifier_floats(&p->spec)));
	INV_TRY(inv_pool_zeros(in->scratch, &p->rows, BLOCK * p->spec.inputs));
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

static invar_status train_probe(probe *p)
{
	const inv_measure_input *in = p->in;
	uint64_t rows = p->learned.points, cells = rows * p->spec.inputs;
	uint32_t copies = p->copies ? p->copies : 1;

	if (!p->from) {
		INV_TRY(inv_pool_zeros(in->scratch, &p->from, copies * cells));
		for (uint32_t c = 0; c < copies; c++) { /* spread evenly over those of train */
			uint64_t copy = (uint64_t)c * in->train->copies / copies;

			INV_TRY(inv_measure_rows(in, &p->learned,
			                         p->copies ? (int32_t)copy : INVAR_CLEAN,
			                         learns_features(p), 0, rows, p->from + c * cells));
		}
	}
	return inv_classifier_train(p->in->ctx, &p->spec, p->from, p->from_labels,
	                            (uint32_t)p->examples, p->params);
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

	INV_TRY(inv_cache_key(p->in->ctx, options_of(p), arrays, 2, key));
	if (inv_cache_find(p->in->bank, "linear", key, p->params, floats))
		return INVAR_OK;
	INV_TRY(train_probe(p));
	inv_cache_keep(p->in->bank, "linear", key, p->params, floats);
	return INVAR_OK;
}

/* ---- Asking -------------------------------------------------------------------------- */

static invar_status train_and_ask(probe *p)
{
	bool linear = learns_features(p) && !p->spec.hidden_layers && !p->copies;

	INV_TRY(linear ? train_linear_once(p) : train_probe(p));
	memset(p->right, 0, 2 * p->n * sizeof *p->right);
	for (int32_t copy = INVAR_CLEAN; copy < (int32_t)p->in->split->copies; copy++)
		for (uint64_t first = 0; first < p->n; first += BLOCK) {
			uint64_t now = inv_min(p->n - first, BLOCK);
			float *right = p->right + (copy < 0 ? 0 : p->n) + first;
			uint32_t answers[BLOCK];

			INV_TRY(inv_measure_rows(p->in, &p->asked, copy, false, first, now, p->rows));
			INV_TRY(inv_classifier_predict(p->in->ctx, &p->spec, p->params, p->rows, now,
			                               answers));
			for (uint64_t i = 0; i < now; i++)
				right[i] += answers[i] == p->labels[first + i];
		}
	return INVAR_OK;
}

/* All answers, from the cache if they are stored there. */
static invar_status answer_once(probe *p)
{
	const inv_split *train = p->in->train, *split = p->in->split;
	const char *name = p->kind->name;
	const inv_npy **arrays; /* all that the answers depend on */
	char key[INV_SHA256_HEX];

	INV_TRY(inv_pool_zeros(p->in->scratch, &arrays, 4 + split->aug_files));
	arrays[0] = train->clean;
	arrays[1] = train->labels;
	arrays[2] = split->clean;
	arrays[3] = split->labels;
	for (size_t i = 0; i < split->aug_files; i++)
		arrays[4 + i] = split->aug[i];
	INV_TRY(inv_cache_key(p->in->ctx, options_of(p), arrays, 4 + split->aug_files, key));
	if (inv_cache_find(p->in->bank, name, key, p->right, 2 * p->n))
		return INVAR_OK;
	INV_TRY(train_and_ask(p));
	inv_cache_keep(p->in->bank, name, key, p->right, 2 * p->n);
	return INVAR_OK;
}

/* ---- Results ------------------------------------------------------------------------- */

/* Of one figure over the seeds: [{"clean": …, "augmented": …}, …]. */
static double deviation_of(const json_t *seeds, const char *figure)
{
	double count = (double)json_array_size(seeds), mean = 0, square = 0;
	const json_t *seed;
	size_t i;

	json_array_foreach (seeds, i, seed)
		mean += json_real_value(json_object_get(seed, figure)) / count;
	json_array_foreach (seeds, i, seed) {
		double gap = json_real_value(json_object_get(seed, figure)) - mean;

		square += gap * gap;
	}
	return sqrt(square / (count - 1));
}

/*
 * Once, for the column F; `kept` and the measurements that are averages of outcomes use
 * the same classifier, and the note about it appears once.
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
		p->kind == kept ? "the linear classifier of F (LC-kept)" : p->kind->name, steps,
		inv_noun(steps, "step", "steps"), inv_blocks(INV_CLASSIFIER_FEW_STEPS, each));
	for (size_t i = 0; (note = inv_results_note_at(p->in->results, i)); i++)
		if (strcmp(note, sentence) == 0)
			return INVAR_OK;
	return inv_results_note(p->in->results, sentence);
}

/* ---- The whole ----------------------------------------------------------------------- */

static invar_status put_accuracy(const probe *p, const char *set, const double *fraction)
{
	const inv_measure_input *in = p->in;
	inv_interval i;
	char id[32];

	snprintf(id, sizeof id, "%s.%s", p->kind->name, set);
	INV_TRY(inv_bootstrap(in->ctx, fraction, p->n, 1, in->seed, &i));
	return inv_put_interval(in->results, id, in->column, &i);
}

/* The measurement of the probe that is called `name`. */
static invar_status measure_probe(const inv_measure_input *in, const char *name)
{
	const probe_kind *kind = kinds;
	const inv_labels *l = &in->labels;
	uint64_t seeds = inv_option_count(in->options, "seeds"), *class_rows, largest = 0;
	uint32_t copies = in->split->copies;
	double *clean, *augmented; /* [n]: fractions of right answers */
	json_t *list = json_array(), *details = json_pack("{s:o}", "seeds", list);
	probe p;
	invar_status st;

	while (strcmp(kind->name, name) != 0)
		kind++;
	INV_TRY_OR(end, prepare_probe(in, kind, &p));
	INV_TRY_OR(end, inv_pool_zeros(in->scratch, &clean, p.n));
	INV_TRY_OR(end, inv_pool_zeros(in->scratch, &augmented, p.n));

	/* Trains and asks once per seed. */
	for (uint64_t s = 0; s < seeds; s++) {
		double all_clean = 0, all_augmented = 0, n = (double)p.n;
		json_t *seed = json_object();

		p.spec.seed = in->seed + s;
		json_array_append_new(list, seed);
		INV_TRY_OR(end, kind->keep_answers ? answer_once(&p) : train_and_ask(&p));
		for (uint64_t i = 0; i < p.n; i++) {
			double fraction = copies ? p.right[p.n + i] / (double)copies : 0;

			all_clean += p.right[i];
			all_augmented += fraction;
			clean[i] += p.right[i];
			augmented[i] += fraction;
		}
		json_object_set_new(seed, "clean", json_real(all_clean / n));
		if (copies)
			json_object_set_new(seed, "augmented", json_real(all_augmented / n));
	}
	for (uint64_t i = 0; i < p.n; i++) {
		clean[i] /= (double)seeds;
		augmented[i] /= (double)seeds;
	}
	INV_TRY_OR(end, put_accuracy(&p, "clean", clean));
	if (copies)
		INV_TRY_OR(end, put_accuracy(&p, "augmented", augmented));

	/* Chance names the largest class of the measured rows, whatever the image. */
	if (kind->on_copies) {
		INV_TRY_OR(end, inv_pool_zeros(in->scratch, &class_rows, l->classes));
		for (uint64_t i = 0; i < l->rows; i++) {
			uint64_t now = ++class_rows[inv_labels_class(l, l->label[i])];

			largest = now > largest ? now : largest;
		}
		INV_TRY_OR(end, inv_put_number(in->results, "ceiling.chance", in->column,
		                               (double)largest / (double)l->rows, l->rows));
	}

	/* Each seed's accuracies, and how far they deviate. */
	if (p.copies)
		json_object_set_new(details, "copies", json_integer(p.copies));
	if (seeds > 1) {
		json_t *spread = json_pack("{s:f}", "clean", deviation_of(list, "clean"));

		if (copies)
			json_object_set_new(spread, "augmented",
			                    json_real(deviation_of(list, "augmented")));
		json_object_set_new(details, "deviation", spread);
	}
	INV_TRY_OR(end,
	           inv_results_detail(in->results, name, in->column, json_incref(details)));
	st = note_few_steps(&p);
end:
	json_decref(details);
	return st;
}

invar_status inv_linear_on_features(const inv_measure_input *in, inv_classifier_spec *spec,
                                    float **params)
{
	probe p;

	*params = NULL;
	INV_TRY(prepare_probe(in, kept, &p));
	INV_TRY(train_linear_once(&p));
	INV_TRY(note_few_steps(&p));
	*spec = p.spec;
	*params = p.params;
	return INVAR_OK;
}

/* ---- What they declare --------------------------------------------------------------- */

static const invar_option options[] = {
	{"probe-epochs", INVAR_OPTION_COUNT, "50", .min = 1, .max = 1e6,
     .flags = INVAR_OPTION_EXPERT, .meta = "N", .group = "Probes",
     .help = "training epochs of lc, nc, ec and kept"},
	{"probe-input", INVAR_OPTION_TEXT, "standard", .flags = INVAR_OPTION_EXPERT,
     .choices = "standard|raw", .meta = "WORD", .group = "Probes",
     .help = "standard: probes see rows less the mean of the rows they are trained on, "
             "divided by their spread (one number), so that the scale of the codes does "
             "not matter; raw: rows as they are, as published"},
	{"seeds", INVAR_OPTION_COUNT, "1", .min = 1, .max = 1000, .meta = "N",
     .group = "Probes",
     .help = "train every probe N times, with seeds from the given one on, and average"},
	{0},
};

/* Of probes with hidden layers, beside those above. */
static const invar_option hidden_options[] = {
	{"probe-hidden", INVAR_OPTION_COUNT, "4096", .min = 1, .max = 1 << 20,
     .flags = INVAR_OPTION_EXPERT, .meta = "N", .group = "Probes",
     .help = "width of the hidden layers of nc and ec"},
	{0},
};

#define ACCURACIES(NAME, ROW)                               \
	INV_SHARE_METRIC(NAME, NAME ".clean", ROW, "clean", 1), \
		INV_SHARE_METRIC(NAME, NAME ".augmented", ROW, "augmented", 1)

static const invar_metric lc_metrics[] = {ACCURACIES("lc", "LC"), {0}};
static const invar_metric nc_metrics[] = {ACCURACIES("nc", "NC"), {0}};
static const invar_metric ec_metrics[] = {ACCURACIES("ec", "EC"), {0}};
static const invar_metric kept_metrics[] = {ACCURACIES("kept", "LC-kept"), {0}};
static const invar_metric ceiling_metrics[] = {
	ACCURACIES("ceiling", "LC trained on copies"),
	INV_SHARE_METRIC("ceiling", "ceiling.chance", "chance: the largest class", NULL, 0),
	{0},
};

static invar_status measure_lc(const inv_measure_input *in)
{
	return measure_probe(in, "lc");
}

static invar_status measure_nc(const inv_measure_input *in)
{
	return measure_probe(in, "nc");
}

static invar_status measure_ec(const inv_measure_input *in)
{
	return measure_probe(in, "ec");
}

static invar_status measure_kept(const inv_measure_input *in)
{
	INV_TRY(inv_measure_same_width(in, "LC-kept reads codes as features"));
	return measure_probe(in, "kept");
}

static invar_status measure_ceiling(const inv_measure_input *in)
{
	return in->train->copies
	           ? measure_probe(in, "ceiling")
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
	.about = "a linear classifier on the codes, trained on clean rows of train, "
			 "tested on clean and augmented rows",
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
	.about = "a linear classifier of F that is left alone and fed the codes",
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
