/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.c - invar_diagnose: maps fitted, measured on held-out images, and a verdict.
 *
 * Columns are F and the closed forms. What eval measures is measured by the same code: the
 * collision rates are those of collision.c, of the first copy, its held-out map fitted on
 * halves, as `test` is not used. Closed forms are fitted as `train` would fit them, with
 * their strength chosen on a tenth of the fitted images.
 */
#include "measure/diagnose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "adapter/train_options.h"
#include "bank/class_view.h"
#include "base/memory.h"
#include "math/linalg.h"
#include "measure/eval_options.h"

static const invar_option option_rows[] = {
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "NAME",
     .group = "Data",
     .help = "split that an adapter would be trained on"},
	{.name = "points",
     .type = INVAR_OPTION_COUNT,
     .initial = "5000",
     .max = 4e9,
     .meta = "N",
     .group = "Data",
     .help = "use N images spread evenly over the split; 0: all"},
	{.name = "hidden",
     .type = INVAR_OPTION_COUNT,
     .initial = "2048",
     .min = 1,
     .max = 1 << 14,
     .meta = "N",
     .group = "Method",
     .help = "number of random features"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_diagnose_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, option_rows);

	return st == INVAR_OK ? inv_bank_declare(o) : st;
}

/* ---- Results --------------------------------------------------------------------- */

static const struct {
	const char *id, *title;
} measurements[] = {{"bank", "features"},
                    {"collision", "collision"},
                    {"displacement", "displacement"},
                    {"structure", "structure"},
                    {"same-image", "same image"},
                    {"nearest", "1-NN"},
                    {"kept", "LC-kept"}};

#define SHARE(ID, MEASUREMENT, ROW, PART, BETTER)                       \
	{                                                                   \
		.id = ID, .measurement = MEASUREMENT, .row = ROW, .part = PART, \
		.unit = INVAR_UNIT_SHARE, .better = BETTER, .digits = 1         \
	}
#define NUMBER(ID, MEASUREMENT, ROW, PART, BETTER)                                        \
	{                                                                                     \
		.id = ID, .measurement = MEASUREMENT, .row = ROW, .part = PART, .better = BETTER, \
		.digits = 3                                                                       \
	}

static const invar_metric metrics[] = {
	NUMBER("bank.norm.clean", "bank", "mean norm, clean | copies", "clean", 0),
	NUMBER("bank.norm.augmented", "bank", "mean norm, clean | copies", "augmented", 0),
	NUMBER("bank.spread", "bank", "spread of clean features", NULL, 0),
	{.id = "bank.constant",
     .measurement = "bank",
     .row = "dimensions constant | always 0",
     .part = "constant",
     .unit = INVAR_UNIT_COUNT},
	{.id = "bank.dead",
     .measurement = "bank",
     .row = "dimensions constant | always 0",
     .part = "dead",
     .unit = INVAR_UNIT_COUNT},
	SHARE("collision.raw", "collision", "collision raw", NULL, -1),
	SHARE("collision.aligned", "collision", "collision aligned", NULL, -1),
	SHARE("collision.held_out", "collision", "collision held out", NULL, -1),
	NUMBER("displacement.rms", "displacement", "displacement", NULL, -1),
	SHARE("displacement.gone", "displacement", "displacement gone", NULL, 1),
	SHARE("displacement.explained", "displacement", "variance explained", NULL, 1),
	SHARE("displacement.shrunk", "displacement", "explained if shrunk", NULL, 1),
	NUMBER("displacement.spread", "displacement", "spread of copies / clean", NULL, 0),
	NUMBER("structure.R2", "structure", "R² of clean distances", NULL, 1),
	SHARE("same-image.l2", "same-image", "same image, L2 | cosine", "l2", 1),
	SHARE("same-image.cosine", "same-image", "same image, L2 | cosine", "cosine", 1),
	SHARE("nearest.augmented", "nearest", "1-NN class of copies", NULL, 1),
	SHARE("kept.clean", "kept", "LC-kept, clean | copies", "clean", 1),
	SHARE("kept.augmented", "kept", "LC-kept, clean | copies", "augmented", 1),
};

static const char *const figure_id[INV_DIAGNOSIS_FIGURES] = {
	"same-image.l2", "same-image.cosine", "nearest.augmented", "kept.augmented",
	"kept.clean"};

static const struct {
	const char *id, *title, *closed_form;
} columns[INV_DIAGNOSIS_MAPS] = {{"F", "F", NULL},
                                 {"rigid", "rigid", "rigid"},
                                 {"ridge", "ridge", "ridge"},
                                 {"features", "random features", "features"}};

typedef struct diagnosis {
	const invar_options *options; /* of "diagnose" */
	invar_options *training;      /* of closed forms */
	invar_options *eval;          /* of the collision rates */
	inv_diagnosis_rows rows;
	inv_diagnosis_column column[INV_DIAGNOSIS_MAPS];
	inv_diagnosis_facts facts;
	double *scratch; /* [held] */
	invar_results *results;
} diagnosis;

static invar_status declare_results(diagnosis *g)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < sizeof measurements / sizeof *measurements && st == INVAR_OK;
	     i++)
		st = inv_results_add_measurement(g->results, measurements[i].id,
		                                 measurements[i].title);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics && st == INVAR_OK; i++)
		st = inv_results_add_metric(g->results, &metrics[i]);
	for (int m = 0; m < INV_DIAGNOSIS_MAPS && st == INVAR_OK; m++)
		st = inv_results_add_column(g->results, columns[m].id, columns[m].title, NULL);
	return st;
}

static invar_status put_number(const diagnosis *g, const char *id, int map, double number)
{
	const invar_value value = {
		.value = number, .low = NAN, .high = NAN, .count = g->rows.held};

	return inv_results_put(g->results, id, columns[map].id, &value);
}

static invar_status put_interval(const diagnosis *g, const char *id, int map,
                                 const inv_interval *i)
{
	char why[INV_INTERVAL_WHY];
	invar_value value = inv_interval_value(i, why);

	return inv_results_put(g->results, id, columns[map].id, &value);
}

/* ---- The features as they are ---------------------------------------------------- */

static void count_constant(const inv_diagnosis_rows *r, uint64_t *constant, uint64_t *dead)
{
	*constant = *dead = 0;
	for (size_t l = 0; l < r->d; l++) {
		uint32_t same = 0;

		while (same < r->n && r->clean[same * r->d + l] == r->clean[l])
			same++;
		*constant += same == r->n;
		*dead += same == r->n && r->clean[l] == 0;
	}
}

static double mean_norm(const inv_diagnosis_rows *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		double square = 0;

		for (size_t l = 0; l < r->d; l++)
			square += (double)r->clean[i * r->d + l] * r->clean[i * r->d + l];
		sum += sqrt(square);
	}
	return sum / r->n;
}

static double clean_variance(const inv_diagnosis_rows *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->held; i++)
		sum += r->variance[i];
	return sum;
}

static invar_status put_bank(const diagnosis *g)
{
	const inv_diagnosis_rows *r = &g->rows;
	const inv_diagnosis_column *F = &g->column[INV_DIAGNOSIS_F];
	uint64_t constant, dead;
	invar_status st = put_number(g, "bank.norm.clean", INV_DIAGNOSIS_F, mean_norm(r));

	count_constant(r, &constant, &dead);
	if (st == INVAR_OK)
		st = put_number(g, "bank.norm.augmented", INV_DIAGNOSIS_F, F->norm);
	if (st == INVAR_OK)
		st = put_number(g, "bank.spread", INV_DIAGNOSIS_F,
		                sqrt(clean_variance(r) / r->held));
	if (st == INVAR_OK)
		st = put_number(g, "bank.constant", INV_DIAGNOSIS_F, (double)constant);
	return st == INVAR_OK ? put_number(g, "bank.dead", INV_DIAGNOSIS_F, (double)dead) : st;
}

static const inv_measurement *find_measurement(const char *name)
{
	size_t i = 0;

	while (strcmp(inv_measurement_at(i)->name, name) != 0)
		i++;
	return inv_measurement_at(i);
}

/* Of the first copy: an alignment of all would take minutes for wide features. */
static invar_status measure_collision(diagnosis *g, inv_measure_input *in)
{
	inv_split first = *in->split;
	invar_status st = inv_labels_read(in->bank, in->split, &in->labels);

	first.copies = 1;
	in->split = &first;
	if (st == INVAR_OK)
		st = find_measurement("collision")->measure(in);
	inv_labels_clear(&in->labels);
	in->split = g->rows.split;
	return st;
}

/* ---- Maps ------------------------------------------------------------------------ */

static invar_status fit_map(const diagnosis *g, int map, inv_diagnosis_map *out)
{
	const inv_diagnosis_rows *r = &g->rows;
	const inv_closed_form_spec spec = {.options = g->training,
	                                   .bank = r->bank,
	                                   .split = r->split,
	                                   .copies = r->split->copies,
	                                   .images = r->images,
	                                   .image_count = r->fitted,
	                                   .seed = r->seed};
	const inv_closed_form_kind *kind;
	invar_status st;

	*out = (inv_diagnosis_map){.id = columns[map].id, .title = columns[map].title};
	if ((out->is_F = !columns[map].closed_form))
		return INVAR_OK;
	kind = inv_closed_form_find(columns[map].closed_form);
	if ((st = inv_closed_form_fit(kind, &spec, &out->form)) != INVAR_OK ||
	    !out->form.units.count)
		return st;
	out->shape = (inv_mlp_shape){r->d, 2 * r->d + out->form.units.count, r->d};
	out->params = inv_calloc(inv_mlp_floats(out->shape), sizeof *out->params);
	if (!out->params)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu random features",
		                out->form.units.count);
	inv_closed_form_export(&out->form, out->shape, true, out->params);
	return INVAR_OK;
}

static invar_status measure_map(diagnosis *g, int map)
{
	inv_diagnosis_map m = {0};
	invar_status st = fit_map(g, map, &m);

	if (st == INVAR_OK)
		st = inv_diagnosis_measure(&g->rows, &m, &g->column[map]);
	inv_free(m.params);
	inv_closed_form_clear(&m.form);
	return st;
}

/* ---- Figures of a map ------------------------------------------------------------ */

/* 1 - sum after / sum whole. */
static invar_status put_ratio(const diagnosis *g, const char *id, int map,
                              const double *whole, inv_interval *out)
{
	const inv_diagnosis_rows *r = &g->rows;
	inv_interval left;
	invar_status st = inv_bootstrap_ratio(r->bank->ctx, g->column[map].after, whole,
	                                      r->held, r->seed, &left);

	*out = (inv_interval){1 - left.value, 1 - left.high, 1 - left.low, left.images};
	return st == INVAR_OK ? put_interval(g, id, map, out) : st;
}

static double sum_of(const double *x, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += x[i];
	return sum;
}

static invar_status put_displacement(diagnosis *g, int map)
{
	const inv_diagnosis_rows *r = &g->rows;
	const inv_diagnosis_column *c = &g->column[map];
	double copies = r->split->copies, after = sum_of(c->after, r->held);
	inv_interval ratio;
	invar_status st =
		put_number(g, "displacement.rms", map, sqrt(after / (r->held * copies)));

	if (st == INVAR_OK && map != INV_DIAGNOSIS_F && sum_of(c->before, r->held) > 0)
		st = put_ratio(g, "displacement.gone", map, c->before, &ratio);
	for (uint32_t i = 0; i < r->held; i++)
		g->scratch[i] = copies * r->variance[i];
	if (st == INVAR_OK)
		st = put_ratio(g, "displacement.explained", map, g->scratch, &ratio);
	g->facts.explained[map] = ratio.value;
	if (st == INVAR_OK && map == INV_DIAGNOSIS_F)
		st = put_number(g, "displacement.shrunk", map, c->shrunk);
	return st == INVAR_OK ? put_number(g, "displacement.spread", map, c->spread) : st;
}

/* Of the images that have a share, minus that of F with over_F. */
static invar_status find_share(const diagnosis *g, int map, int figure, bool over_F,
                               inv_interval *out)
{
	const double *share = g->column[map].share[figure];
	const double *F = g->column[INV_DIAGNOSIS_F].share[figure];
	uint64_t count = 0;

	for (uint32_t i = 0; i < g->rows.held; i++)
		if (!isnan(share[i]))
			g->scratch[count++] = share[i] - (over_F ? F[i] : 0);
	*out = (inv_interval){NAN, NAN, NAN, 0};
	return count ? inv_bootstrap(g->rows.bank->ctx, g->scratch, count, g->rows.seed, out)
	             : INVAR_OK;
}

static invar_status put_figures(diagnosis *g, int map)
{
	double structure = g->column[map].structure;
	invar_status st =
		isnan(structure) ? INVAR_OK : put_number(g, "structure.R2", map, structure);

	g->facts.structure[map] = structure;
	for (int k = 0; k < INV_DIAGNOSIS_FIGURES && st == INVAR_OK; k++) {
		inv_interval share;

		st = find_share(g, map, k, false, &share);
		g->facts.figure[map][k] = share.value;
		if (st == INVAR_OK && !isnan(share.value))
			st = put_interval(g, figure_id[k], map, &share);
		if (st == INVAR_OK)
			st = find_share(g, map, k, true, &g->facts.gain[map][k]);
	}
	return st;
}

/* ---- The whole ------------------------------------------------------------------- */

/* Marks the figures that need labels as skipped. */
static invar_status skip_labels(const diagnosis *g)
{
	static const char *const labelled[] = {"collision", "nearest", "kept"};
	char reason[400];
	invar_status st = INVAR_OK;

	snprintf(reason, sizeof reason, "%s", invar_last_error());
	for (size_t i = 0; i < sizeof labelled / sizeof *labelled && st == INVAR_OK; i++)
		st = inv_results_skip(g->results, labelled[i], NULL, reason);
	return st;
}

static invar_status measure_labels(diagnosis *g)
{
	inv_measure_input in = {.ctx = g->rows.bank->ctx,
	                        .kernels = g->rows.bank->kernels,
	                        .bank = g->rows.bank,
	                        .split = g->rows.split,
	                        .options = g->eval,
	                        .seed = g->rows.seed,
	                        .d = g->rows.bank->dim,
	                        .w = g->rows.bank->dim,
	                        .results = g->results,
	                        .column = "F",
	                        .title = "F"};
	invar_status st = inv_measure_describe(&in);

	if (st != INVAR_OK)
		return st;
	if ((st = inv_diagnosis_label(&g->rows)) == INVAR_E_MISMATCH)
		return skip_labels(g);
	if (st != INVAR_OK)
		return st;
	if ((st = measure_collision(g, &in)) != INVAR_E_MISMATCH && st != INVAR_E_NUMERIC)
		return st;
	return inv_results_skip(g->results, "collision", NULL, invar_last_error());
}

static invar_status put_verdict(diagnosis *g)
{
	inv_verdict verdict;
	invar_status st;

	g->facts.shrunk = g->column[INV_DIAGNOSIS_F].shrunk;
	inv_diagnosis_judge(&g->facts, &verdict);
	st = inv_results_describe(g->results, "held_out",
	                          json_integer((json_int_t)g->rows.held));
	if (st == INVAR_OK)
		st = inv_results_describe(g->results, "verdict", json_string(verdict.word));
	return st == INVAR_OK
	           ? inv_results_describe(g->results, "why", json_string(verdict.why))
	           : st;
}

static invar_status measure_all(diagnosis *g)
{
	invar_status st = declare_results(g);

	if (st == INVAR_OK)
		st = measure_labels(g);
	for (int map = 0; map < INV_DIAGNOSIS_MAPS && st == INVAR_OK; map++) {
		st = measure_map(g, map);
		if (st == INVAR_OK && map == INV_DIAGNOSIS_F)
			st = put_bank(g);
		if (st == INVAR_OK)
			st = put_displacement(g, map);
		if (st == INVAR_OK)
			st = put_figures(g, map);
	}
	return st == INVAR_OK ? put_verdict(g) : st;
}

/* The options of the parts, with the caller's values. */
static invar_status derive_options(diagnosis *g)
{
	invar_status st = inv_options_pick(g->options, inv_train_declare_method, &g->training);

	return st == INVAR_OK ? inv_options_pick(g->options, inv_eval_declare, &g->eval) : st;
}

static invar_status check_hidden(const invar_options *o, const invar_bank *bank)
{
	uint64_t hidden = inv_option_count(o, "hidden");

	if (bank->dim + hidden <= INV_LINALG_WIDEST)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_USE,
		"@hidden %" PRIu64
		": random features and features together can be at most %d; %s has %" PRIu32,
		hidden, INV_LINALG_WIDEST, bank->path, bank->dim);
}

static invar_status run_diagnosis(diagnosis *g, const invar_bank *bank,
                                  const inv_split *split)
{
	invar_status st = derive_options(g);

	if (st == INVAR_OK)
		st = check_hidden(g->options, bank);
	if (st == INVAR_OK)
		st = inv_diagnosis_read(bank, split, inv_option_count(g->options, "points"),
		                        inv_option_count(g->options, "seed"), &g->rows);
	if (st != INVAR_OK)
		return st;
	if (!(g->scratch = inv_calloc(g->rows.held, sizeof *g->scratch)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu32 " images",
		                g->rows.held);
	return measure_all(g);
}

invar_status invar_diagnose(const invar_bank *bank, const invar_options *o,
                            invar_results **out)
{
	diagnosis g = {.options = o};
	const inv_split *split;
	invar_status st = inv_options_expect(o, "diagnose");

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_class_view_check(bank, o);
	if (st != INVAR_OK)
		return st;
	if (!(split = inv_bank_split(bank, inv_option_text(o, "split"))))
		return INVAR_E_MISMATCH;
	if ((st = inv_results_new(&g.results)) == INVAR_OK)
		st = run_diagnosis(&g, bank, split);
	for (int map = 0; map < INV_DIAGNOSIS_MAPS; map++)
		inv_diagnosis_clear(&g.column[map]);
	inv_diagnosis_rows_clear(&g.rows);
	invar_options_free(g.training);
	invar_options_free(g.eval);
	inv_free(g.scratch);
	if (st == INVAR_OK)
		*out = g.results;
	else
		invar_results_free(g.results);
	return st;
}
