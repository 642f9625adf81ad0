/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_rules.c - from the figures on held-out images to a verdict and its sentence.
 *
 * The rules, in this order. They look at the old index, by L2 and by cosine; an adapter
 * that makes a space of its own (WaCo, SimCLR, HSIC, narrower codes) has only a new one.
 * "Beyond chance" means that the 95 % interval of the paired difference E - F lies beyond
 * 0, or beyond the number of points named.
 *
 *   harm     clean images find themselves first less often than 99 % of F's, chance or
 *            not: this comes first, and it is known within a fraction of a point; or
 *            augmented ones find the same image first or among the first ten less often
 *            than with F, or the class of the nearest neighbour, clean or augmented, falls
 *            by more than a point; each beyond chance.
 *   helps    otherwise, one of the augmented figures is better beyond chance: same image
 *            @1 or @10, or class. It must also be above what guessing reaches: a map to
 *            the mean of all features guesses, and where F does worse than that it would
 *            count as a gain.
 *   none     otherwise.
 *   unknown  there are too few images, or no copies (trial.c).
 *
 * With six figures one may be better by luck. On banks of random copies and of pure noise
 * (350 of 240 images, tests/measure/test_trial.c) none was, as what does not help does harm
 * somewhere.
 *
 * Of several reasons the sentence names the first harm, or the largest gain. R2 and CVRMSD
 * are shown and decide nothing: what they cost shows in the figures above, and who needs a
 * certain R2 has the option keep-structure.
 */
#include <math.h>
#include <stdio.h>

#include "measure/trial.h"

const char *const inv_trial_words[] = {"helps", "none", "harm", "unknown"};

static const double noticeable = 0.01; /* of a class figure: a point */

enum { FEW = 300 }; /* FEW images: the sentence says what that means */

static const char *const distance_names[INV_DISTANCES] = {"L2", "cosine"};
static const char *const index_names[INV_TRIAL_INDEXES] = {"old index", "new index"};
static const char *const set_names[INV_TRIAL_SETS] = {"clean", "augmented"};
static const char *const sought_names[INV_TRIAL_SOUGHT] = {
	"same image @1", "same image @10", "class of the nearest neighbour"};

void inv_trial_guess(const inv_trial_rows *r, double guess[INV_TRIAL_SOUGHT])
{
	guess[INV_TRIAL_AT_1] = 1 / (double)r->gallery;
	guess[INV_TRIAL_AT_10] = 10 / (double)r->gallery;
	guess[INV_TRIAL_CLASS] = r->majority;
}

/* Too few images have no interval. */
static bool has_interval(const inv_interval *i)
{
	return i->images >= INV_INTERVAL_IMAGES;
}

/* The first figure that is harmed; -1: none. */
static int find_harm(const inv_trial_column *e, int index)
{
	for (int distance = 0; distance < INV_DISTANCES; distance++)
		if (has_interval(&e->kept[distance]) && e->kept[distance].value < 0)
			return inv_trial_figure(index, INV_TRIAL_AT_1, distance, INV_TRIAL_CLEAN);
	for (int sought = 0; sought < INV_TRIAL_SOUGHT; sought++)
		for (int distance = 0; distance < INV_DISTANCES; distance++)
			for (int set = 0; set < INV_TRIAL_SETS; set++) {
				int figure = inv_trial_figure(index, sought, distance, set);
				bool by_class = sought == INV_TRIAL_CLASS;
				const inv_interval *gain = &e->gain[figure];

				if ((by_class || set == INV_TRIAL_AUGMENTED) && has_interval(gain) &&
				    gain->high < (by_class ? -noticeable : 0))
					return figure;
			}
	return -1;
}

/* The largest gain; -1: none. */
static int find_gain(const inv_trial_column *e, int index,
                     const double guess[INV_TRIAL_SOUGHT])
{
	int best = -1;

	for (int sought = 0; sought < INV_TRIAL_SOUGHT; sought++)
		for (int distance = 0; distance < INV_DISTANCES; distance++) {
			int figure = inv_trial_figure(index, sought, distance, INV_TRIAL_AUGMENTED);
			const inv_interval *gain = &e->gain[figure];

			if (has_interval(gain) && gain->low > 0 &&
			    e->value[figure].low > guess[sought] &&
			    (best < 0 || gain->value > e->gain[best].value))
				best = figure;
		}
	return best;
}

/* "same image @1 of clean images (old index, L2) falls from 100.0 % with F to 63.2 %" */
static size_t tell_figure(const inv_trial_column *f, const inv_trial_column *e, int figure,
                          const char *verb, char *out, size_t size)
{
	const inv_interval *gain = &e->gain[figure];
	int sought = figure / (INV_DISTANCES * INV_TRIAL_SETS) % INV_TRIAL_SOUGHT;

	return (size_t)snprintf(
		out, size,
		"%s of %s images (%s, %s) %s from %.1f %% with F to %.1f %% (95 %% interval of the "
		"difference: %+.1f to %+.1f points)",
		sought_names[sought], set_names[figure % INV_TRIAL_SETS],
		index_names[figure / (INV_TRIAL_FIGURES / INV_TRIAL_INDEXES)],
		distance_names[figure / INV_TRIAL_SETS % INV_DISTANCES], verb,
		100 * f->value[figure].value, 100 * e->value[figure].value, 100 * gain->low,
		100 * gain->high);
}

void inv_trial_judge(const inv_trial_column *f, const inv_trial_column *e, bool own_space,
                     const double guess[INV_TRIAL_SOUGHT], inv_trial_verdict *out)
{
	int index = own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD;
	int shown = inv_trial_figure(index, INV_TRIAL_AT_1, INV_L2, INV_TRIAL_AUGMENTED);
	int clean = inv_trial_figure(index, INV_TRIAL_AT_1, INV_L2, INV_TRIAL_CLEAN);
	int harm = find_harm(e, index), gain = find_gain(e, index, guess);
	uint64_t images = e->gain[shown].images;
	size_t fill = 0, size = sizeof out->why;

	if (harm >= 0) {
		out->word = INV_TRIAL_HARM;
		shown = harm;
		fill = tell_figure(f, e, harm, "falls", out->why, size);
	} else if (gain >= 0) {
		out->word = INV_TRIAL_HELPS;
		shown = gain;
		fill = tell_figure(f, e, gain, "rises", out->why, size);
		if (fill < size)
			fill +=
				(size_t)snprintf(out->why + fill, size - fill,
			                     "; clean images find themselves in %.1f %% (F %.1f %%)",
			                     100 * e->value[clean].value, 100 * f->value[clean].value);
	} else {
		out->word = INV_TRIAL_NONE;
		fill = (size_t)snprintf(out->why, size, "no figure gets better beyond chance; ");
		fill += tell_figure(f, e, shown, "changes", out->why + fill, size - fill);
	}
	if (fill < size && images < FEW && e->gain[shown].high > e->gain[shown].low)
		snprintf(out->why + fill, size - fill,
		         "; with only %llu held-out images, differences of less than %.1f points "
		         "may be chance",
		         (unsigned long long)images,
		         50 * (e->gain[shown].high - e->gain[shown].low));
}
