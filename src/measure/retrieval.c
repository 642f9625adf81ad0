/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retrieval.c - retrieval from the clean rows of a bank.
 *
 * Queries are the augmented copies, and the clean rows, which show what an adapter harms;
 * the gallery is the clean rows of all splits, in the order of the bank. In the old index
 * the gallery is F(x) and only queries pass through E; in the new index both do; F itself
 * has no new index. By class the gallery is the rows that have a label, and the same image
 * is left out: a clean query would always find it, and a copy that does finds no other
 * image of its class. By image that row is the relevant one. All copies of an image count
 * together in its figures and in the bootstrap.
 *
 * In a column of views a query is four rows, its image at 0, 90, 180 and 270 degrees, and
 * the nearest of them decides: what people do who have no adapter, at four encodings per
 * query. Beside an adapter a note says where F with four views is ahead of it.
 */
#include "measure/retrieval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure/measurement.h"

enum { BLOCK = 2048, ID = 100 }; /* queries; bytes of the id of a metric */
enum { OLD, NEW, INDEXES };
enum { CLEAN, AUGMENTED, SETS };

static const char *const index_name[] = {"old", "new"};
static const char *const distance_name[] = {"l2", "cosine"};
static const char *const set_name[] = {"clean", "augmented"};
static const char *const figure_name[][INV_FIGURES] = {
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_reciprocal_rank"},
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_average_precision"}};

bool inv_retrieval_figures(inv_sought sought, const inv_place *rank,
                           double figures[INV_FIGURES])
{
	static const uint32_t reach[INV_PRECISION] = {1, 5, 10};
	uint32_t place = sought == INV_SAME_IMAGE ? rank->own : rank->first;

	if (!place)
		return false;
	for (int i = 0; i < INV_PRECISION; i++)
		figures[i] = place <= reach[i];
	figures[INV_PRECISION] = sought == INV_SAME_IMAGE ? 1.0 / place : rank->precision;
	return true;
}

/* ---- Queries ------------------------------------------------------------------------ */

typedef struct retrieval {
	const inv_measure_input *in;
	inv_sought sought;
	bool counts_same;    /* by class, the same image as a copy is a row of its class */
	inv_selection asked; /* rows of the measured split */
	uint64_t images, gallery_rows;
	uint64_t first_row; /* where the measured split begins in the gallery */
	float *gallery;     /* [gallery_rows, width] */
	uint32_t *classes;  /* [gallery_rows]; NULL by image */
	float *queries;     /* [BLOCK, views, width] */
	uint32_t *own;      /* [BLOCK] */
	uint32_t *class;    /* [BLOCK] */
	inv_place *ranks;   /* [BLOCK] */
	double *fraction;   /* [images, INV_FIGURES] */
	bool *has;          /* [images]: there is a relevant row */
	uint64_t done, total;
	/* Of a set of queries by a distance; images is 0 if there are none. */
	inv_interval found[INDEXES][INV_DISTANCES][SETS][INV_FIGURES];
} retrieval;

static const char *retrieval_name(inv_sought sought)
{
	return sought == INV_SAME_IMAGE ? "same-image" : "same-class";
}

/* Queries per image; none of a set without views in a column of views. */
static uint32_t queries_of(const retrieval *r, int set)
{
	const inv_split *s = r->in->split;

	if (set == CLEAN)
		return !r->in->views || s->clean_views;
	return !r->in->views || inv_split_copies_have_views(s) ? s->copies : 0;
}

/* All images, by their rows of one copy or by their clean rows. */
static invar_status ask_copy(retrieval *r, inv_places *ranks, int32_t copy, double weight)
{
	const inv_measure_input *in = r->in;
	const bool by_class = r->sought == INV_SAME_CLASS;
	const bool counts_same = r->counts_same && copy != INVAR_CLEAN;

	for (uint64_t first = 0; first < r->images; first += BLOCK) {
		uint64_t count = inv_min(r->images - first, BLOCK);
		const inv_place_queries q = {.rows = r->queries,
		                             .count = count,
		                             .own = r->own,
		                             .classes = by_class ? r->class : NULL,
		                             .leave_own_out = by_class && !counts_same};

		INV_TRY(inv_progress(in->ctx, retrieval_name(r->sought), r->done, r->total));
		for (uint64_t i = 0; i < count; i++) {
			r->own[i] = (uint32_t)(r->first_row + inv_selected_row(&r->asked, first + i));
			if (by_class)
				r->class[i] = r->classes[r->own[i]];
		}
		INV_TRY(in->views ? inv_measure_views(in, &r->asked, copy, first, count, r->queries)
		                  : inv_measure_rows(in, &r->asked, copy, false, first, count,
		                                     r->queries));
		inv_places_find(ranks, &q, r->ranks);
		for (uint64_t i = first; i < first + count; i++) {
			double figures[INV_FIGURES];

			r->has[i] = inv_retrieval_figures(r->sought, &r->ranks[i - first], figures);
			for (int f = 0; f < INV_FIGURES && r->has[i]; f++)
				r->fraction[i * INV_FIGURES + (size_t)f] += weight * figures[f];
		}
		r->done += count;
	}
	return INVAR_OK;
}

static invar_status search_index(retrieval *r, int index)
{
	const inv_gallery g = {r->gallery, r->gallery_rows, index == OLD ? r->in->d : r->in->w,
	                       r->classes};

	inv_places *ranks = NULL;
	invar_status st;

	INV_TRY(inv_measure_gallery(r->in, index == OLD, r->gallery));
	for (int d = 0; d < INV_DISTANCES; d++) {
		INV_TRY_OR(end, inv_places_new(r->in->ctx, &g, (inv_distance)d,
		                               r->in->views ? INV_VIEWS : 1, &ranks));
		for (int set = 0; set < SETS; set++) {
			uint32_t queries = queries_of(r, set);
			uint64_t kept = 0;

			/* Images without a relevant row do not count. */
			memset(r->fraction, 0, r->images * INV_FIGURES * sizeof *r->fraction);
			for (uint32_t i = 0; i < queries; i++)
				INV_TRY_OR(end, ask_copy(r, ranks, set == CLEAN ? INVAR_CLEAN : (int32_t)i,
				                         1.0 / queries));
			for (uint64_t i = 0; i < r->images && queries; i++)
				if (r->has[i])
					memmove(r->fraction + kept++ * INV_FIGURES,
					        r->fraction + i * INV_FIGURES,
					        INV_FIGURES * sizeof *r->fraction);
			if (kept)
				INV_TRY_OR(end, inv_bootstrap(r->in->ctx, r->fraction, kept, INV_FIGURES,
				                              r->in->seed, r->found[index][d][set]));
		}
		inv_places_free(ranks);
		ranks = NULL;
	}
end:
	inv_places_free(ranks);
	return st;
}

/* Classes of all splits together, numbered in the order of their labels. */
static invar_status number_all_classes(retrieval *r)
{
	const invar_bank *bank = r->in->bank;
	int64_t *label, *known; /* [gallery_rows]: -1: none; those that are not -1 */
	uint64_t row = 0, labelled = 0;
	inv_labels all = {0};

	INV_TRY(inv_pool_zeros(r->in->scratch, &label, r->gallery_rows));
	INV_TRY(inv_pool_zeros(r->in->scratch, &known, r->gallery_rows));
	for (uint64_t i = 0; i < r->gallery_rows; i++)
		label[i] = -1;
	for (size_t s = 0; s < bank->split_count; s++) {
		inv_labels l = {0};

		if (bank->splits[s].labels)
			INV_TRY(inv_labels_read(bank, &bank->splits[s], &l));
		for (uint64_t i = 0; i < l.rows; i++)
			label[row + (l.row ? l.row[i] : i)] = l.label[i];
		row += bank->splits[s].rows;
		inv_labels_clear(&l);
	}
	for (uint64_t i = 0; i < r->gallery_rows; i++)
		if (label[i] >= 0)
			known[labelled++] = label[i];
	INV_TRY(inv_labels_take(known, labelled, &all));
	for (uint64_t i = 0; i < r->gallery_rows; i++)
		r->classes[i] =
			label[i] < 0 ? INV_PLACES_NO_CLASS : inv_labels_class(&all, label[i]);
	inv_labels_clear(&all);
	return INVAR_OK;
}

/* ---- Results ------------------------------------------------------------------------ */

static const char *id_of(const retrieval *r, int index, int distance, int set, int figure,
                         char id[ID])
{
	snprintf(id, ID, "%s.%s.%s.%s.%s", retrieval_name(r->sought), index_name[index],
	         distance_name[distance], set_name[set], figure_name[r->sought][figure]);
	return id;
}

/* Where people who encode the query four times and have no adapter are better off. */
static invar_status note_rival(const retrieval *r)
{
	const inv_measure_input *in = r->in;
	int index = in->w == in->d ? OLD : NEW;
	char text[300], id[ID];
	size_t fill;
	bool any = false;

	if (!in->adapter || in->views)
		return INVAR_OK;
	fill = (size_t)snprintf(
		text, sizeof text,
		"same %s @1, %s index: F with 4 views (4 encodings per query) is "
		"ahead of %.60s by",
		r->sought == INV_SAME_IMAGE ? "image" : "class", index_name[index], in->title);
	for (int d = 0; d < INV_DISTANCES && fill < sizeof text; d++) {
		const inv_interval *own = &r->found[index][d][AUGMENTED][INV_AT_1];
		const invar_value *rival = invar_results_value(
			in->results, id_of(r, OLD, d, AUGMENTED, INV_AT_1, id), "F.views");

		if (!rival || !own->images || !(rival->value > own->value))
			continue;
		fill += (size_t)snprintf(
			text + fill, sizeof text - fill, "%s %s (%.1f and %.1f %%)", any ? " and" : "",
			d == INV_L2 ? "L2" : "cosine", 100 * rival->value, 100 * own->value);
		any = true;
	}
	return any ? inv_results_note(in->results, text) : INVAR_OK;
}

/* ---- The column --------------------------------------------------------------------- */

/* Codes of another width than features cannot be looked up in the old index. */
static invar_status measure_retrieval(const inv_measure_input *in, inv_sought sought)
{
	const bool by_class = sought == INV_SAME_CLASS, old = in->w == in->d,
			   new = in->adapter != NULL;
	const size_t width = in->w > in->d ? in->w : in->d, views = in->views ? INV_VIEWS : 1;
	retrieval *r;
	inv_pool *s = in->scratch;
	uint64_t queries;
	char id[ID];

	INV_TRY(inv_pool_zeros(s, &r, 1));
	r->in = in;
	r->sought = sought;
	r->counts_same = inv_option_is(in->options, "query-image", "counted");
	r->asked = inv_select_points(in, by_class ? inv_select_labelled(in->split, &in->labels)
	                                          : inv_select_all(in->split));
	r->images = r->asked.points;
	INV_TRY(inv_gallery_count(in, &r->gallery_rows, &r->first_row));
	INV_TRY(inv_pool_zeros(s, &r->gallery, r->gallery_rows * width));
	INV_TRY(inv_pool_zeros(s, &r->queries, BLOCK * views * width));
	INV_TRY(inv_pool_zeros(s, &r->own, BLOCK));
	INV_TRY(inv_pool_zeros(s, &r->class, BLOCK));
	INV_TRY(inv_pool_zeros(s, &r->ranks, BLOCK));
	INV_TRY(inv_pool_zeros(s, &r->fraction, r->images * INV_FIGURES));
	INV_TRY(inv_pool_zeros(s, &r->has, r->images));
	if (by_class) {
		INV_TRY(inv_pool_zeros(s, &r->classes, r->gallery_rows));
		INV_TRY(number_all_classes(r));
	}

	r->total = (uint64_t)(old + new) * INV_DISTANCES * r->images *
	           (queries_of(r, CLEAN) + queries_of(r, AUGMENTED));
	if (old)
		INV_TRY(search_index(r, OLD));
	if (new)
		INV_TRY(search_index(r, NEW));
	queries = r->images * queries_of(r, AUGMENTED);
	for (int index = 0; index < INDEXES; index++)
		for (int distance = 0; distance < INV_DISTANCES; distance++)
			for (int set = 0; set < SETS; set++)
				for (int f = 0; f < INV_FIGURES; f++) {
					const inv_interval *i = &r->found[index][distance][set][f];

					if (i->images)
						INV_TRY(inv_put_interval(in->results,
						                         id_of(r, index, distance, set, f, id),
						                         in->column, i));
				}
	INV_TRY(
		inv_results_detail(in->results, retrieval_name(r->sought), in->column,
	                       json_pack("{s:I, s:I}", "gallery", (json_int_t)r->gallery_rows,
	                                 "queries", (json_int_t)queries)));
	if (r->sought == INV_SAME_CLASS && !in->adapter && !in->views)
		INV_TRY(inv_results_note(
			in->results, r->counts_same
							 ? "same class: the image that a copy was made from counts as "
							   "one of its class (query-image counted)"
							 : "same class: the image that a query was made from is left "
							   "out"));
	return note_rival(r);
}

static invar_status measure_same_image(const inv_measure_input *in)
{
	return measure_retrieval(in, INV_SAME_IMAGE);
}

static invar_status measure_same_class(const inv_measure_input *in)
{
	return measure_retrieval(in, INV_SAME_CLASS);
}

static const invar_option class_options[] = {
	{"query-image", INVAR_OPTION_TEXT, "left-out", .flags = INVAR_OPTION_EXPERT,
     .choices = "left-out|counted", .meta = "WORD", .group = "Measurements",
     .help = "same-class: leave out the image that a copy was made from, or count it as "
             "one of its class; a clean query never finds itself"},
	{0},
};

#define METRIC(WHAT, ID, ROW, PART, DETAIL)                                  \
	{                                                                        \
		.id = WHAT "." ID, .measurement = WHAT, .row = ROW, .part = PART,    \
		.unit = INVAR_UNIT_SHARE, .better = 1, .digits = 1, .detail = DETAIL \
	}

/* CLEAN is "clean, " for the rows of clean queries. */
#define IMAGE_FIGURES(ID, CLEAN, ROW)                                                      \
	METRIC("same-image", ID ".recall_at_1", CLEAN "same image @1 | @10, " ROW, "@1", 0),   \
		METRIC("same-image", ID ".recall_at_10", CLEAN "same image @1 | @10, " ROW, "@10", \
	           0)
#define IMAGE_DETAILS(ID, CLEAN, ROW)                                              \
	METRIC("same-image", ID ".recall_at_5", CLEAN "same image @5, " ROW, "@5", 1), \
		METRIC("same-image", ID ".mean_reciprocal_rank",                           \
	           CLEAN "same image, 1 / rank, " ROW, NULL, 1)
#define CLASS_FIGURES(ID, CLEAN, ROW)                                                    \
	METRIC("same-class", ID ".recall_at_1", CLEAN "same class @1 | mAP, " ROW, "@1", 0), \
		METRIC("same-class", ID ".mean_average_precision",                               \
	           CLEAN "same class @1 | mAP, " ROW, "mAP", 0)
#define CLASS_DETAILS(ID, CLEAN, ROW)                                              \
	METRIC("same-class", ID ".recall_at_5", CLEAN "same class @5, " ROW, "@5", 1), \
		METRIC("same-class", ID ".recall_at_10", CLEAN "same class @10, " ROW, "@10", 1)
#define OF_BOTH(KIND, ID, ROW)                                                             \
	KIND##_FIGURES(ID ".augmented", "", ROW), KIND##_FIGURES(ID ".clean", "clean, ", ROW), \
		KIND##_DETAILS(ID ".augmented", "", ROW),                                          \
		KIND##_DETAILS(ID ".clean", "clean, ", ROW)

static const invar_metric image_metrics[] = {
	OF_BOTH(IMAGE, "old.l2", "old index, L2"),
	OF_BOTH(IMAGE, "old.cosine", "old index, cosine"),
	OF_BOTH(IMAGE, "new.l2", "new index, L2"),
	OF_BOTH(IMAGE, "new.cosine", "new index, cosine"),
	{0},
};

static const invar_metric class_metrics[] = {
	OF_BOTH(CLASS, "old.l2", "old index, L2"),
	OF_BOTH(CLASS, "old.cosine", "old index, cosine"),
	OF_BOTH(CLASS, "new.l2", "new index, L2"),
	OF_BOTH(CLASS, "new.cosine", "new index, cosine"),
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
