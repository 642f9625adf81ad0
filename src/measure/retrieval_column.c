/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retrieval_column.c - retrieval from the clean rows of a bank.
 *
 * Queries are the augmented copies, and the clean rows, which show what an adapter harms;
 * the gallery is the clean rows of all splits, in the order of the bank. In the old index
 * the gallery is F(x) and only queries pass through E; re-indexed, both do; F itself has
 * nothing to re-index. By class the gallery is the rows that have a label, and the row of
 * the query's own image is left out: a clean query would always find it, and a copy that
 * does finds no other image of its class. By image that row is the relevant one. All copies
 * of an image count together in its share and in the bootstrap.
 *
 * In a column of views a query is four rows, its image at 0, 90, 180 and 270 degrees, and
 * the nearest of them decides: what people do who have no adapter, at four encodings per
 * query. Beside an adapter a note says where F with four views is ahead of it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "measure/bootstrap.h"
#include "measure/measurement.h"
#include "measure/retrieval.h"

enum { BLOCK = 2048, ID = 100 }; /* queries; bytes of the id of a metric */
enum { OLD, NEW, INDEXES };
enum { CLEAN, AUGMENTED, SETS };

static const char *const index_name[] = {"old", "new"};
static const char *const distance_name[] = {"l2", "cosine"};
static const char *const set_name[] = {"clean", "augmented"};
static const char *const figure_name[][INV_FIGURES] = {
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_reciprocal_rank"},
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_average_precision"}};

/* Figures of one set of queries by one distance; images is 0 if there are none. */
typedef struct found {
	inv_interval figure[INV_FIGURES];
} found;

typedef struct job {
	const inv_measure_input *in;
	inv_sought sought;
	bool counts_own;  /* by class, the row of a copy's image is a row of its class */
	inv_choice asked; /* rows of the measured split */
	uint64_t images, gallery_rows;
	uint64_t first_row; /* where the measured split begins in the gallery */
	inv_arena arena;
	float *gallery;    /* [gallery_rows, width] */
	uint32_t *classes; /* [gallery_rows]; NULL by image */
	float *queries;    /* [BLOCK, views, width] */
	uint32_t *own;     /* [BLOCK] */
	uint32_t *class;   /* [BLOCK] */
	inv_rank *ranks;   /* [BLOCK] */
	double *share;     /* [images, INV_FIGURES] */
	bool *has;         /* [images]: there is a relevant row */
	uint64_t done, total;
	found found[INDEXES][INV_DISTANCES][SETS];
} job;

static const char *name_of(inv_sought sought)
{
	return sought == INV_SAME_IMAGE ? "same-image" : "same-class";
}

/* ---- Queries ------------------------------------------------------------------------ */

/* Queries per image; none of a set without views in a column of views. */
static uint32_t queries_of(const job *j, int set)
{
	const inv_split *s = j->in->split;

	if (set == CLEAN)
		return !j->in->views || s->clean_views;
	return !j->in->views || inv_split_copies_have_views(s) ? s->copies : 0;
}

static invar_status read_queries(job *j, int32_t copy, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		j->own[i] = (uint32_t)(j->first_row + inv_choice_row(&j->asked, first + i));
		if (j->classes)
			j->class[i] = j->classes[j->own[i]];
	}
	return j->in->views
	           ? inv_measure_views(j->in, &j->asked, copy, first, count, j->queries)
	           : inv_measure_rows(j->in, &j->asked, copy, false, first, count, j->queries);
}

static void add_shares(job *j, uint64_t first, uint64_t count, double weight)
{
	for (uint64_t i = 0; i < count; i++) {
		double figures[INV_FIGURES], *share = j->share + (first + i) * INV_FIGURES;

		j->has[first + i] = inv_retrieval_figures(j->sought, &j->ranks[i], figures);
		for (int f = 0; f < INV_FIGURES && j->has[first + i]; f++)
			share[f] += weight * figures[f];
	}
}

/* All images, by their rows of one copy or by their clean rows. */
static invar_status ask_copy(job *j, inv_ranks *ranks, int32_t copy, double weight)
{
	const bool by_class = j->sought == INV_SAME_CLASS;
	const bool count_own = j->counts_own && copy != INVAR_CLEAN;

	for (uint64_t first = 0; first < j->images; first += BLOCK) {
		uint64_t count = j->images - first < BLOCK ? j->images - first : BLOCK;
		const inv_rank_queries q = {.rows = j->queries,
		                            .count = count,
		                            .own = j->own,
		                            .classes = by_class ? j->class : NULL,
		                            .leave_own_out = by_class && !count_own};
		invar_status st = inv_progress(j->in->ctx, name_of(j->sought), j->done, j->total);

		if (st == INVAR_OK)
			st = read_queries(j, copy, first, count);
		if (st != INVAR_OK)
			return st;
		inv_ranks_find(ranks, &q, j->ranks);
		add_shares(j, first, count, weight);
		j->done += count;
	}
	return INVAR_OK;
}

/* Images without a relevant row do not count. */
static uint64_t drop_others(job *j)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < j->images; i++)
		if (j->has[i])
			memmove(j->share + kept++ * INV_FIGURES, j->share + i * INV_FIGURES,
			        INV_FIGURES * sizeof *j->share);
	return kept;
}

static invar_status ask_set(job *j, inv_ranks *ranks, int set, found *out)
{
	uint32_t queries = queries_of(j, set);
	uint64_t images;
	invar_status st = INVAR_OK;

	memset(out, 0, sizeof *out);
	memset(j->share, 0, j->images * INV_FIGURES * sizeof *j->share);
	for (uint32_t i = 0; i < queries && st == INVAR_OK; i++)
		st = ask_copy(j, ranks, set == CLEAN ? INVAR_CLEAN : (int32_t)i, 1.0 / queries);
	images = st == INVAR_OK && queries ? drop_others(j) : 0;
	return images ? inv_bootstrap_shares(j->in->ctx, j->share, images, INV_FIGURES,
	                                     j->in->seed, out->figure)
	              : st;
}

/* ---- Galleries ---------------------------------------------------------------------- */

static invar_status search_gallery(job *j, int index)
{
	const inv_gallery g = {j->gallery, j->gallery_rows, index == OLD ? j->in->d : j->in->w,
	                       j->classes};
	invar_status st = inv_measure_gallery(j->in, index == OLD, j->gallery);

	for (int d = 0; d < INV_DISTANCES && st == INVAR_OK; d++) {
		inv_ranks *ranks;

		st = inv_ranks_new_views(j->in->ctx, &g, (inv_distance)d,
		                         j->in->views ? INV_VIEWS : 1, &ranks);
		if (st != INVAR_OK)
			break;
		for (int set = 0; set < SETS && st == INVAR_OK; set++)
			st = ask_set(j, ranks, set, &j->found[index][d][set]);
		inv_ranks_free(ranks);
	}
	return st;
}

/* ---- Classes ------------------------------------------------------------------------ */

/* The labels of all rows of the gallery, -1: none; and the number that have one. */
static invar_status read_labels(const job *j, int64_t *labels, uint64_t *labelled)
{
	const invar_bank *bank = j->in->bank;
	uint64_t row = 0;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < j->gallery_rows; i++)
		labels[i] = -1;
	for (size_t s = 0; s < bank->split_count && st == INVAR_OK; s++) {
		inv_labels l = {0};

		if (bank->splits[s].labels)
			st = inv_labels_read(bank, &bank->splits[s], &l);
		for (uint64_t i = 0; i < l.rows && st == INVAR_OK; i++)
			labels[row + (l.row ? l.row[i] : i)] = l.label[i];
		*labelled += l.rows;
		row += bank->splits[s].rows;
		inv_labels_clear(&l);
	}
	return st;
}

/* Classes of all splits together, numbered in the order of their labels. */
static invar_status find_classes(job *j)
{
	int64_t *labels = inv_calloc(2 * j->gallery_rows, sizeof *labels);
	int64_t *known = labels + j->gallery_rows;
	uint64_t labelled = 0, fill = 0;
	inv_labels all = {0};
	invar_status st =
		labels ? read_labels(j, labels, &labelled)
			   : inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " labels",
	                      j->gallery_rows);

	for (uint64_t i = 0; i < j->gallery_rows && st == INVAR_OK; i++)
		if (labels[i] >= 0)
			known[fill++] = labels[i];
	if (st == INVAR_OK)
		st = inv_labels_take(known, labelled, &all);
	for (uint64_t i = 0; i < j->gallery_rows && st == INVAR_OK; i++)
		j->classes[i] =
			labels[i] < 0 ? INV_RANKS_NO_CLASS : inv_labels_class(&all, labels[i]);
	inv_labels_clear(&all);
	inv_free(labels);
	return st;
}

/* ---- Results ------------------------------------------------------------------------ */

static const char *id_of(const job *j, int index, int distance, int set, int figure,
                         char id[ID])
{
	snprintf(id, ID, "%s.%s.%s.%s.%s", name_of(j->sought), index_name[index],
	         distance_name[distance], set_name[set], figure_name[j->sought][figure]);
	return id;
}

static invar_status put_figure(const job *j, int index, int distance, int set, int figure)
{
	const inv_interval *i = &j->found[index][distance][set].figure[figure];
	char id[ID], why[INV_INTERVAL_WHY];
	invar_value value;

	if (!i->images)
		return INVAR_OK;
	id_of(j, index, distance, set, figure, id);
	value = inv_interval_value(i, why);
	return inv_results_put(j->in->results, id, j->in->column, &value);
}

/* Once, for the column F. */
static invar_status note_own(const job *j)
{
	if (j->sought != INV_SAME_CLASS || j->in->adapter || j->in->views)
		return INVAR_OK;
	return inv_results_note(
		j->in->results,
		j->counts_own ? "same class: the image that a copy was made from counts as one "
						"of its class (query-image counted)"
					  : "same class: the image that a query was made from is left out");
}

/* Where people who encode the query four times and have no adapter are better off. */
static invar_status note_rival(const job *j)
{
	const inv_measure_input *in = j->in;
	int index = in->w == in->d ? OLD : NEW;
	char text[300], id[ID];
	size_t fill;
	bool any = false;

	if (!in->adapter || in->views)
		return INVAR_OK;
	fill =
		(size_t)snprintf(text, sizeof text,
	                     "same %s @1, %s: F with 4 views (4 encodings per query) is ahead "
	                     "of %.60s by",
	                     j->sought == INV_SAME_IMAGE ? "image" : "class",
	                     index == OLD ? "old index" : "re-indexed", in->title);
	for (int d = 0; d < INV_DISTANCES && fill < sizeof text; d++) {
		const inv_interval *own = &j->found[index][d][AUGMENTED].figure[INV_AT_1];
		const invar_value *rival = invar_results_value(
			in->results, id_of(j, OLD, d, AUGMENTED, INV_AT_1, id), "F.views");

		if (!rival || !own->images || !(rival->value > own->value))
			continue;
		fill += (size_t)snprintf(
			text + fill, sizeof text - fill, "%s %s (%.1f and %.1f %%)", any ? " and" : "",
			d == INV_L2 ? "L2" : "cosine", 100 * rival->value, 100 * own->value);
		any = true;
	}
	return any ? inv_results_note(in->results, text) : INVAR_OK;
}

static invar_status put_figures(const job *j)
{
	invar_status st = INVAR_OK;

	for (int index = 0; index < INDEXES; index++)
		for (int distance = 0; distance < INV_DISTANCES; distance++)
			for (int set = 0; set < SETS; set++)
				for (int f = 0; f < INV_FIGURES && st == INVAR_OK; f++)
					st = put_figure(j, index, distance, set, f);
	return st == INVAR_OK
	           ? inv_results_detail(
					 j->in->results, name_of(j->sought), j->in->column,
					 json_pack("{s:I, s:I}", "gallery", (json_int_t)j->gallery_rows,
	                           "queries",
	                           (json_int_t)(j->images * queries_of(j, AUGMENTED))))
	           : st;
}

/* ---- The column --------------------------------------------------------------------- */

static invar_status allocate_retrieval(job *j)
{
	const inv_measure_input *in = j->in;
	inv_arena *a = &j->arena;
	size_t width = in->w > in->d ? in->w : in->d;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->gallery = inv_arena_take(a, j->gallery_rows * width, sizeof *j->gallery);
		if (j->sought == INV_SAME_CLASS)
			j->classes = inv_arena_take(a, j->gallery_rows, sizeof *j->classes);
		j->queries = inv_arena_take(a, BLOCK * (in->views ? INV_VIEWS : 1) * width,
		                            sizeof *j->queries);
		j->own = inv_arena_take(a, BLOCK, sizeof *j->own);
		j->class = inv_arena_take(a, BLOCK, sizeof *j->class);
		j->ranks = inv_arena_take(a, BLOCK, sizeof *j->ranks);
		j->share = inv_arena_take(a, j->images * INV_FIGURES, sizeof *j->share);
		j->has = inv_arena_take(a, j->images, sizeof *j->has);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

/* Codes of another width than features cannot be looked up in the old index. */
static invar_status search_all(job *j)
{
	bool old = j->in->w == j->in->d, new = j->in->adapter;
	invar_status st = INVAR_OK;

	j->total = (uint64_t)(old + new) * INV_DISTANCES * j->images *
	           (queries_of(j, CLEAN) + queries_of(j, AUGMENTED));
	if (old)
		st = search_gallery(j, OLD);
	if (st == INVAR_OK && new)
		st = search_gallery(j, NEW);
	return st;
}

static invar_status measure_retrieval(const inv_measure_input *in, inv_sought sought)
{
	job j = {
		.in = in,
		.sought = sought,
		.counts_own = strcmp(inv_option_text(in->options, "query-image"), "counted") == 0,
		.asked = inv_choose_points(in, sought == INV_SAME_CLASS
	                                       ? inv_choose_labelled(in->split, &in->labels)
	                                       : inv_choose_all(in->split))};
	invar_status st = inv_gallery_count(in, &j.gallery_rows, &j.first_row);

	j.images = j.asked.points;
	if (st == INVAR_OK)
		st = allocate_retrieval(&j);
	if (st == INVAR_OK && sought == INV_SAME_CLASS)
		st = find_classes(&j);
	if (st == INVAR_OK)
		st = search_all(&j);
	if (st == INVAR_OK)
		st = put_figures(&j);
	if (st == INVAR_OK)
		st = note_own(&j);
	if (st == INVAR_OK)
		st = note_rival(&j);
	inv_arena_free(&j.arena);
	return st;
}

static invar_status measure_same_image(const inv_measure_input *in)
{
	return measure_retrieval(in, INV_SAME_IMAGE);
}

static invar_status measure_same_class(const inv_measure_input *in)
{
	return measure_retrieval(in, INV_SAME_CLASS);
}

/* ---- What it declares ---------------------------------------------------------------- */

static const invar_option class_options[] = {
	{.name = "query-image",
     .type = INVAR_OPTION_TEXT,
     .initial = "left-out",
     .choices = "left-out|counted",
     .meta = "WORD",
     .group = "Measurements",
     .help = "same-class: leave out the image that a copy was made from, or count it as "
             "one of its class; a clean query never finds itself"},
	{0},
};

#define METRIC(WHAT, ID, ROW, PART, DETAIL)                                  \
	{                                                                        \
		.id = WHAT "." ID, .measurement = WHAT, .row = ROW, .part = PART,    \
		.unit = INVAR_UNIT_SHARE, .better = 1, .digits = 1, .detail = DETAIL \
	}

#define IMAGE_FIGURES(ID, ROW)                                                             \
	METRIC("same-image", ID ".augmented.recall_at_1", "same image @1 | @10, " ROW, "@1",   \
	       0),                                                                             \
		METRIC("same-image", ID ".augmented.recall_at_10", "same image @1 | @10, " ROW,    \
	           "@10", 0),                                                                  \
		METRIC("same-image", ID ".clean.recall_at_1", "clean, same image @1 | @10, " ROW,  \
	           "@1", 0),                                                                   \
		METRIC("same-image", ID ".clean.recall_at_10", "clean, same image @1 | @10, " ROW, \
	           "@10", 0),                                                                  \
		METRIC("same-image", ID ".augmented.recall_at_5", "same image @5, " ROW, "@5", 1), \
		METRIC("same-image", ID ".augmented.mean_reciprocal_rank",                         \
	           "same image, 1 / rank, " ROW, NULL, 1),                                     \
		METRIC("same-image", ID ".clean.recall_at_5", "clean, same image @5, " ROW, "@5",  \
	           1),                                                                         \
		METRIC("same-image", ID ".clean.mean_reciprocal_rank",                             \
	           "clean, same image, 1 / rank, " ROW, NULL, 1)

#define CLASS_FIGURES(ID, ROW)                                                             \
	METRIC("same-class", ID ".augmented.recall_at_1", "same class @1 | mAP, " ROW, "@1",   \
	       0),                                                                             \
		METRIC("same-class", ID ".augmented.mean_average_precision",                       \
	           "same class @1 | mAP, " ROW, "mAP", 0),                                     \
		METRIC("same-class", ID ".clean.recall_at_1", "clean, same class @1 | mAP, " ROW,  \
	           "@1", 0),                                                                   \
		METRIC("same-class", ID ".clean.mean_average_precision",                           \
	           "clean, same class @1 | mAP, " ROW, "mAP", 0),                              \
		METRIC("same-class", ID ".augmented.recall_at_5", "same class @5, " ROW, "@5", 1), \
		METRIC("same-class", ID ".augmented.recall_at_10", "same class @10, " ROW, "@10",  \
	           1),                                                                         \
		METRIC("same-class", ID ".clean.recall_at_5", "clean, same class @5, " ROW, "@5",  \
	           1),                                                                         \
		METRIC("same-class", ID ".clean.recall_at_10", "clean, same class @10, " ROW,      \
	           "@10", 1)

static const invar_metric image_metrics[] = {
	IMAGE_FIGURES("old.l2", "old index, L2"),
	IMAGE_FIGURES("old.cosine", "old index, cosine"),
	IMAGE_FIGURES("new.l2", "re-indexed, L2"),
	IMAGE_FIGURES("new.cosine", "re-indexed, cosine"),
	{0},
};

static const invar_metric class_metrics[] = {
	CLASS_FIGURES("old.l2", "old index, L2"),
	CLASS_FIGURES("old.cosine", "old index, cosine"),
	CLASS_FIGURES("new.l2", "re-indexed, L2"),
	CLASS_FIGURES("new.cosine", "re-indexed, cosine"),
	{0},
};

const inv_measurement inv_measurement_same_image = {
	.name = "same-image",
	.title = "retrieval by image",
	.about = "where an image stands among all when one of its copies is "
			 "looked up",
	.group = "retrieval",
	.needs = INV_TAKES_VIEWS | INV_READS_ALL_SPLITS,
	.on_request = true,
	.shares = "points|seed",
	.metrics = image_metrics,
	.measure = measure_same_image};

const inv_measurement inv_measurement_same_class = {
	.name = "same-class",
	.title = "retrieval by class",
	.about = "how well other images of the class of a row are found, by labels",
	.group = "retrieval",
	.needs = INV_NEEDS_LABELS | INV_TAKES_VIEWS | INV_READS_ALL_SPLITS,
	.on_request = true,
	.options = class_options,
	.shares = "points|seed",
	.metrics = class_metrics,
	.measure = measure_same_class};
