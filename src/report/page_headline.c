/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_headline.c - the first lines of a page: what improved and what it cost.
 *
 * The only place that knows metrics by name. The first goal that was measured for F and for
 * an adapter is reported, with the adapter that a trial recommended, or else the one that
 * is best at the goal, clean and augmented images counted alike: a gain that clean images
 * pay for is none. Four cards show class and same image, augmented and clean. A loss is
 * called a loss, and a difference that lies within both intervals is called none.
 */
#include "images/spec.h"
#include "report/html.h"
#include "report/results_table.h"
#include "run/results.h"

#include <math.h>
#include <string.h>

typedef struct goal {
	const char *augmented, *clean;
	const char *who; /* "… recognises 80 % of augmented images" */
	const char *verb;
	const char *title; /* of its cards: "class, augmented images" */
} goal;

static const goal goals[] = {
	{"kept.augmented", "kept.clean",
     "a linear classifier trained on the encoder's features, not retrained,", "recognises",
     "class"},
	{"lc.augmented", "lc.clean", "a linear classifier trained on the adapter's codes",
     "recognises", "class"},
	{"knn.augmented", "knn.clean", "the vote of the nearest neighbours", "recognises",
     "class"},
	{"same-image.old.l2.augmented.recall_at_1", "same-image.old.l2.clean.recall_at_1",
     "a search in an index of the encoder's features", "finds the original of",
     "same image"},
};

enum { GOALS = sizeof goals / sizeof *goals };

/* What the sentence is about. */
typedef struct story {
	const invar_results *r;
	const goal *goal;
	const invar_column *best;
	size_t adapters; /* that were measured */
	bool search; /* the last goal first: unit adapters are for indexes of unit vectors */
	const char *recommended; /* title of the adapter that a trial named; or NULL */
} story;

/* NULL: none, or only a reason. */
static const invar_value *headline_value(const invar_results *r, const char *metric,
                                         const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	return v && !v->reason && isfinite(v->value) ? v : NULL;
}

/* Queries of four views cost four times as much, so they are not compared with others. */
static bool is_adapter_column(const invar_column *c)
{
	return strcmp(c->id, "F") != 0 && !strstr(c->id, ".views");
}

/* The first goal that was measured for F and an adapter, and the adapter that was
 * recommended or is best at augmented and clean images together. */
static bool find_story(story *s)
{
	for (size_t g = 0; g < GOALS; g++) {
		double most = -INFINITY;

		s->goal = &goals[s->search ? (g + GOALS - 1) % GOALS : g];
		s->adapters = 0;
		for (size_t i = 0; headline_value(s->r, s->goal->augmented, "F") &&
		                   i < invar_results_columns(s->r);
		     i++) {
			const invar_column *c = invar_results_column(s->r, i);
			const invar_value *v = is_adapter_column(c)
			                           ? headline_value(s->r, s->goal->augmented, c->id)
			                           : NULL;
			const invar_value *clean =
				v ? headline_value(s->r, s->goal->clean, c->id) : NULL;
			double score = v ? v->value + (clean ? clean->value : 0) : 0;

			if (s->recommended && strcmp(c->title, s->recommended) == 0)
				score = INFINITY;
			s->adapters += v != NULL;
			if (v && score > most) {
				most = score;
				s->best = c;
			}
		}
		if (s->best)
			return true;
	}
	return false;
}

const invar_column *inv_page_best(const invar_results *r, const char *recommended,
                                  bool search)
{
	story s = {.r = r, .search = search, .recommended = recommended};
	const invar_column *best = NULL;
	double most = -INFINITY;

	if (find_story(&s))
		return s.best;
	for (size_t i = 0; i < invar_results_columns(r); i++) {
		const invar_column *c = invar_results_column(r, i);
		const invar_value *v =
			is_adapter_column(c) ? headline_value(r, "invariance.gone", c->id) : NULL;

		if (v && v->value > most) {
			most = v->value;
			best = c;
		}
	}
	return best;
}

static bool lies_within(double value, const invar_value *of)
{
	return isfinite(of->low) && value >= of->low && value <= of->high;
}

/* -1: worse, 0: no difference that stands out from chance, 1: better. */
static int compare_values(const invar_value *before, const invar_value *after)
{
	if (before->value == after->value ||
	    (lies_within(after->value, before) && lies_within(before->value, after)))
		return 0;
	return after->value > before->value ? 1 : -1;
}

#define PERCENT "<b>%.1f&nbsp;%%</b>"

/* By the result of compare_values + 1: classes of page.css, and words. */
static const char *const verdict_class[] = {"bad", "same", "good"};
static const char *const verdict_word[] = {"worse", "same", "better"};

/* How well distances between clean images are preserved. */
static const char *structure_word(double r2)
{
	return r2 >= 0.9 ? "well kept" : r2 >= 0.7 ? "roughly kept" : "changed";
}

/* " 70 % of augmented images instead of 50 % (better)" */
static void put_change(const inv_html *h, const story *s, const char *metric,
                       const char *join, const char *images)
{
	const invar_value *before = headline_value(s->r, metric, "F");
	const invar_value *after = headline_value(s->r, metric, s->best->id);

	if (!before || !after)
		return;
	inv_html_put(h, "%s " PERCENT " of %s images", join, 100 * after->value, images);
	if (fabs(after->value - before->value) < 0.0005)
		fputs(", as without it", h->out);
	else
		inv_html_put(h, " instead of " PERCENT " (%s)", 100 * before->value,
		             verdict_word[compare_values(before, after) + 1]);
}

/* Who recognises how many augmented images, and clean ones, where a cost would show. */
static void put_sentence(const inv_html *h, const story *s)
{
	const char *encoder = invar_results_about(s->r, "encoder");
	const invar_value *structure = headline_value(s->r, "structure.R2", s->best->id);

	inv_html_put(h, "With the adapter " INV_HTML_NAME, s->best->title);
	if (s->recommended && strcmp(s->best->title, s->recommended) == 0)
		fputs(", recommended by the trial,", h->out);
	else if (s->adapters > 1)
		inv_html_put(h, " (the best of %zu here)", s->adapters);
	inv_html_put(h, " behind " INV_HTML_NAME ", %s %s", encoder ? encoder : "the encoder",
	             s->goal->who, s->goal->verb);
	put_change(h, s, s->goal->augmented, "", "augmented");
	put_change(h, s, s->goal->clean, ", and", "clean");
	if (structure)
		inv_html_put(h, ". Distances between clean images are %s (R²&nbsp;=&nbsp;%.2f)",
		             structure_word(structure->value), structure->value);
}

/* "better", "same" or "worse", with the interval of the adapter's value. */
static void put_card(const inv_html *h, const story *s, const char *id, const char *title,
                     const char *images)
{
	const invar_value *before = headline_value(s->r, id, "F");
	const invar_value *after = headline_value(s->r, id, s->best->id);
	int sign;

	if (!before || !after)
		return;
	sign = compare_values(before, after);
	inv_html_put(h,
	             "<div class=\"card\"><div class=\"label\">%s, %s images</div>"
	             "<div class=\"big\"><span class=\"was\">%.1f →</span> %.1f&nbsp;%%</div>"
	             "<div class=\"%s\">%s",
	             title, images, 100 * before->value, 100 * after->value,
	             verdict_class[sign + 1], verdict_word[sign + 1]);
	if (isfinite(after->low) && after->high > after->low)
		inv_html_put(h, " <small title=\"95&nbsp;%% interval\">%.1f–%.1f</small>",
		             100 * after->low, 100 * after->high);
	fputs("</div></div>\n", h->out);
}

/* Class and same image, augmented and clean; then what has no direction. */
static void put_cards(const inv_html *h, const story *s)
{
	const goal *same = &goals[GOALS - 1], *class = s->goal;
	const invar_value *structure = headline_value(s->r, "structure.R2", s->best->id);

	for (size_t i = 0; class == same && i + 1 < GOALS; i++)
		if (headline_value(s->r, goals[i].augmented, s->best->id))
			class = &goals[i];
	fputs("<div class=\"cards\">\n", h->out);
	if (class != same) {
		put_card(h, s, class->augmented, class->title, "augmented");
		put_card(h, s, class->clean, class->title, "clean");
	}
	put_card(h, s, same->augmented, same->title, "augmented");
	put_card(h, s, same->clean, same->title, "clean");
	if (structure)
		inv_html_put(h,
		             "<div class=\"card\"><div class=\"label\">distances between clean "
		             "images, R²</div><div class=\"big\">%.2f</div><div class=\"same\">%s"
		             "</div></div>\n",
		             structure->value, structure_word(structure->value));
	fputs("</div>\n", h->out);
	inv_html_put(h, INV_HTML_FOLD, "What these numbers are");
	if (class != same)
		inv_html_put(h, "<p class=\"note\">Class: what %s %s.</p>\n", class->who,
		             class->verb);
	fputs("<p class=\"note\">Same image: the stored image that a query was made from is "
	      "found "
	      "first in an index of the encoder's features. First without the adapter, then "
	      "with it; small: the 95&nbsp;% interval. “Same”: a difference within the "
	      "intervals.</p>\n" INV_HTML_UNFOLD,
	      h->out);
}

void inv_page_headline(inv_html *h)
{
	static const struct {
		const char *name, *key;
	} facts[] = {{"encoder F", "encoder"},
	             {"split", "split"},
	             {"images", "points"},
	             {"copies of each", "copies"}};
	const char *augment = invar_results_about(h->all, "augment");
	const char *note = inv_augment_corner_note(augment);
	const invar_column *c;
	story s = {.r = h->all,
	           .search = inv_page_is_search(h->page),
	           .recommended = inv_page_recommended(h->page, h->document)};

	if (augment)
		inv_html_put(h,
		             "<p class=\"task\">Task: recognise images and find them again after "
		             "<code>%.120s</code></p>\n",
		             augment);
	fputs("<p class=\"headline\">", h->out);
	if (find_story(&s)) {
		put_sentence(h, &s);
		fputs(".</p>\n", h->out);
		put_cards(h, &s);
	} else if ((c = inv_page_best(s.r, NULL, false))) {
		/* Without labels and copies of the index there is the displacement. */
		double gone = headline_value(s.r, "invariance.gone", c->id)->value;

		inv_html_put(h,
		             gone >= 0
		                 ? "The adapter " INV_HTML_NAME " removes " PERCENT
		                   " of the squared distance between augmented features and clean "
		                   "ones.</p>\n"
		                 : "The adapter " INV_HTML_NAME
		                   " moves augmented features farther away from clean ones: their "
		                   "squared distance grows by " PERCENT ".</p>\n",
		             c->title, 100 * fabs(gone));
	} else {
		fputs("Nothing that tells whether the adapter helps was measured here.</p>\n",
		      h->out);
	}

	/* What it was measured on. */
	fputs("<dl class=\"facts\">\n", h->out);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		const char *text = invar_results_about(s.r, facts[i].key);
		double number = inv_results_about_number(s.r, facts[i].key);

		if (text)
			inv_html_put(h, "<div><dt>%s</dt><dd>" INV_HTML_NAME "</dd></div>\n",
			             facts[i].name, text);
		else if (isfinite(number))
			inv_html_put(h, "<div><dt>%s</dt><dd>%.0f</dd></div>\n", facts[i].name, number);
	}
	fputs("</dl>\n", h->out);
	if (note)
		inv_html_put(h, "<p>Note: %.400s.</p>\n", note);
}
