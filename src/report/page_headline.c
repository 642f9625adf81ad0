/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_headline.c - the first sentence of a page: what improved and what it cost.
 *
 * The only place that knows metrics by name. The first goal that was measured for F and for
 * an adapter is told, with the adapter that is best at it, clean and augmented images
 * counted alike: a gain that clean images pay for is none. A loss is called a loss, and a
 * difference that lies within both intervals is called none.
 */
#include "report/html.h"
#include "report/results_table.h"
#include "run/results.h"

#include <math.h>
#include <string.h>

typedef struct goal {
	const char *augmented, *clean;
	const char *who; /* "… recognises 80 % of augmented images" */
	const char *verb;
	const char *title; /* of its cards: "…, augmented images" */
} goal;

static const goal goals[] = {
	{"kept.augmented", "kept.clean",
     "a linear classifier trained on the encoder's features, not retrained,", "recognises",
     "classifier of F, not retrained"},
	{"lc.augmented", "lc.clean", "a linear classifier trained on the adapter's codes",
     "recognises", "classifier of the codes"},
	{"knn.augmented", "knn.clean", "the vote of the nearest neighbours", "recognises",
     "nearest neighbours"},
	{"same-image.old.l2.augmented.recall_at_1", "same-image.old.l2.clean.recall_at_1",
     "a search in an index of the encoder's features", "finds the original of",
     "own image found first, index of F"},
};

/* Shown as cards below the sentence, beside the two of the goal. */
static const struct {
	const char *metric, *title;
	bool alone; /* F's value is fixed by definition */
} cards[] = {
	{"same-image.old.l2.augmented.recall_at_1", "own image found first, index of F", false},
	{"collision.raw", "collisions: an image of another class is nearer", false},
	{"structure.R2", "distances between clean images kept, R²", true},
	{"invariance.gone", "squared displacement by the augmentation removed", true},
};

enum { GOALS = sizeof goals / sizeof *goals, CARDS = sizeof cards / sizeof *cards };

/* What the sentence is about. */
typedef struct story {
	const invar_results *r;
	const goal *goal;
	const invar_column *best;
	const invar_value *before, *after; /* of augmented images */
	size_t adapters;                   /* that were measured */
} story;

/* NULL: none, or only a reason. */
static const invar_value *value_of(const invar_results *r, const char *metric,
                                   const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	return v && !v->reason && isfinite(v->value) ? v : NULL;
}

/* Queries of four views cost four times as much, so they are not compared with others. */
static bool is_adapter(const invar_column *c)
{
	return strcmp(c->id, "F") != 0 && !strstr(c->id, ".views");
}

/* Of augmented and clean images together. */
static double score(const story *s, const goal *g, const invar_column *c,
                    const invar_value *augmented)
{
	const invar_value *clean = value_of(s->r, g->clean, c->id);

	return augmented->value + (clean ? clean->value : 0);
}

static bool find_best(story *s, const goal *g)
{
	s->goal = g;
	s->best = NULL;
	s->adapters = 0;
	if (!(s->before = value_of(s->r, g->augmented, "F")))
		return false;
	for (size_t i = 0; i < invar_results_columns(s->r); i++) {
		const invar_column *c = invar_results_column(s->r, i);
		const invar_value *v = is_adapter(c) ? value_of(s->r, g->augmented, c->id) : NULL;

		s->adapters += v != NULL;
		if (v && (!s->best || score(s, g, c, v) > score(s, g, s->best, s->after))) {
			s->best = c;
			s->after = v;
		}
	}
	return s->best;
}

/* ---- Words --------------------------------------------------------------------------- */

static bool lies_within(double value, const invar_value *of)
{
	return isfinite(of->low) && value >= of->low && value <= of->high;
}

/* -1: worse, 0: no difference that can be told from chance, 1: better. */
static int compare(const invar_value *before, const invar_value *after)
{
	if (before->value == after->value ||
	    (lies_within(after->value, before) && lies_within(before->value, after)))
		return 0;
	return after->value > before->value ? 1 : -1;
}

/* In percent, as it is shown. */
static double shown(double share)
{
	return floor(1000 * share + 0.5) / 10;
}

#define PERCENT "<b>%.1f&nbsp;%%</b>"

static void put_subject(const inv_html *h, const story *s)
{
	const char *encoder = invar_results_about(s->r, "encoder");

	inv_html_put(h, "With the adapter " INV_HTML_NAME, s->best->title);
	if (s->adapters > 1)
		inv_html_put(h, " (the best of %zu here)", s->adapters);
	if (encoder)
		inv_html_put(h, " behind " INV_HTML_NAME ", %s ", encoder, s->goal->who);
	else
		inv_html_put(h, " behind the encoder, %s ", s->goal->who);
}

static void put_change(const inv_html *h, const story *s)
{
	double before = 100 * s->before->value, after = 100 * s->after->value;
	int sign = compare(s->before, s->after);

	fputs(s->goal->verb, h->out);
	if (shown(s->before->value) == shown(s->after->value))
		inv_html_put(h, " " PERCENT " of augmented images, as without it", after);
	else if (sign > 0)
		inv_html_put(h, " " PERCENT " of augmented images instead of " PERCENT, after,
		             before);
	else if (sign < 0)
		inv_html_put(
			h, " fewer augmented images than without it, " PERCENT ", down from " PERCENT,
			after, before);
	else
		inv_html_put(h,
		             " augmented images no better and no worse than without it, " PERCENT
		             " and " PERCENT ", a difference within the 95&nbsp;%% intervals",
		             after, before);
}

/* Clean images, where a cost would show. */
static void put_cost(const inv_html *h, const story *s)
{
	const invar_value *before = value_of(s->r, s->goal->clean, "F");
	const invar_value *after = value_of(s->r, s->goal->clean, s->best->id);
	const invar_value *structure = value_of(s->r, "structure.R2", s->best->id);
	double points = before && after ? shown(after->value) - shown(before->value) : 0;

	if (before && after) {
		if (fabs(points) < 0.05)
			fputs("; on clean images nothing changes (", h->out);
		else if (!compare(before, after))
			fputs("; on clean images it stays within the 95&nbsp;% intervals (", h->out);
		else
			inv_html_put(h,
			             points < 0 ? "; this costs %.1f points on clean images ("
			                        : "; on clean images it gains %.1f points (",
			             fabs(points));
		inv_html_put(h, PERCENT, 100 * after->value);
		if (fabs(points) >= 0.05)
			inv_html_put(h, ", before " PERCENT, 100 * before->value);
		fputs(")", h->out);
	}
	if (structure)
		inv_html_put(h,
		             ", and distances between clean images are kept with R²&nbsp;=&nbsp;"
		             "<b>%.2f</b>",
		             structure->value);
}

/* Without labels and copies of the index. */
static bool put_displacement(const inv_html *h, const invar_results *r)
{
	for (size_t i = 0; i < invar_results_columns(r); i++) {
		const invar_column *c = invar_results_column(r, i);
		const invar_value *v = is_adapter(c) ? value_of(r, "invariance.gone", c->id) : NULL;

		if (!v)
			continue;
		inv_html_put(h,
		             v->value >= 0
		                 ? "The adapter " INV_HTML_NAME " removes " PERCENT
		                   " of the squared distance between augmented features and clean "
		                   "ones."
		                 : "The adapter " INV_HTML_NAME
		                   " moves augmented features farther away from clean ones: their "
		                   "squared distance grows by " PERCENT ".",
		             c->title, 100 * fabs(v->value));
		return true;
	}
	return false;
}

/* ---- Cards --------------------------------------------------------------------------- */

static double as_shown(const invar_metric *m, double value)
{
	return m->unit == INVAR_UNIT_SHARE ? shown(value) / 100 : value;
}

/* Chance is not coloured as a gain or a loss. */
static void put_difference(const inv_html *h, const invar_metric *m,
                           const invar_value *before, const invar_value *after)
{
	double change = as_shown(m, after->value) - as_shown(m, before->value);
	int verdict = compare(before, after) * m->better;
	char text[INV_SPELLED_NUMBER];

	inv_html_put(h, "<div class=\"%s\">%s%s %s</div>",
	             verdict > 0   ? "good"
	             : verdict < 0 ? "bad"
	                           : "same",
	             change > 0   ? "+"
	             : change < 0 ? "−"
	                          : "±",
	             inv_spell_number(text, m, fabs(change)),
	             verdict > 0     ? "better"
	             : verdict < 0   ? "worse"
	             : change == 0.0 ? "no change"
	                             : "within the intervals");
}

/* `of` follows the title. */
static void put_card(const inv_html *h, const story *s, const char *id, const char *title,
                     const char *of, bool alone)
{
	const invar_value *before = alone ? NULL : value_of(s->r, id, "F");
	const invar_value *after = value_of(s->r, id, s->best->id);
	const invar_metric *m = NULL;
	char text[INV_SPELLED_NUMBER];

	for (size_t i = 0; after && !m; i++)
		if (strcmp(invar_results_metric(s->r, i)->id, id) == 0)
			m = invar_results_metric(s->r, i);
	if (!after)
		return;
	inv_html_put(h,
	             "<div class=\"card\"><div class=\"label\">%s%s</div><div class=\"big\">",
	             title, of);
	if (before)
		inv_html_put(h, "<span class=\"was\">%s →</span> ",
		             inv_spell_number(text, m, before->value));
	inv_html_put(h, "%s%s</div>", inv_spell_number(text, m, after->value),
	             m->unit == INVAR_UNIT_SHARE ? "\u00a0%" : ""); /* it does not break */
	if (before && m->better)
		put_difference(h, m, before, after);
	fputs("</div>\n", h->out);
}

static void put_cards(const inv_html *h, const story *s)
{
	fputs("<div class=\"cards\">\n", h->out);
	put_card(h, s, s->goal->augmented, s->goal->title, ", augmented images", false);
	put_card(h, s, s->goal->clean, s->goal->title, ", clean images", false);
	for (size_t i = 0; i < CARDS; i++)
		if (strcmp(cards[i].metric, s->goal->augmented) != 0)
			put_card(h, s, cards[i].metric, cards[i].title, "", cards[i].alone);
	fputs("</div>\n", h->out);
}

/* ---- What it was measured on --------------------------------------------------------- */

static void put_facts(const inv_html *h, const invar_results *r)
{
	static const struct {
		const char *name, *key;
	} facts[] = {{"encoder F", "encoder"},           {"augmentation", "augment"},
	             {"measured on the split", "split"}, {"images", "points"},
	             {"copies of each", "copies"},       {"width of features", "dim"}};

	fputs("<dl class=\"facts\">\n", h->out);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		const char *text = invar_results_about(r, facts[i].key);
		double number = inv_results_about_number(r, facts[i].key);

		if (text)
			inv_html_put(h, "<div><dt>%s</dt><dd>" INV_HTML_NAME "</dd></div>\n",
			             facts[i].name, text);
		else if (isfinite(number))
			inv_html_put(h, "<div><dt>%s</dt><dd>%.0f</dd></div>\n", facts[i].name, number);
	}
	fputs("</dl>\n", h->out);
}

static bool find_story(story *s)
{
	bool found = false;

	for (size_t i = 0; i < GOALS && !found; i++)
		found = find_best(s, &goals[i]);
	return found;
}

const invar_column *inv_page_best(const invar_results *r)
{
	story s = {.r = r};

	return find_story(&s) ? s.best : NULL;
}

void inv_page_headline(inv_html *h)
{
	story s = {.r = h->r};

	fputs("<p class=\"headline\">", h->out);
	if (find_story(&s)) {
		put_subject(h, &s);
		put_change(h, &s);
		put_cost(h, &s);
		fputs(".</p>\n", h->out);
		put_cards(h, &s);
	} else {
		if (!put_displacement(h, s.r))
			fputs("Nothing that tells whether the adapter helps was measured here.",
			      h->out);
		fputs("</p>\n", h->out);
	}
	put_facts(h, s.r);
}
