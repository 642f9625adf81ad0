/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_cost.c - bounds the time that the measurements of a page take.
 *
 * The option points thins out what compares rows with rows. Classifiers and kNN take all
 * rows whatever it is, and those of many classes or many rows may take hours: what does not
 * fit on the fewest rows is left out.
 */
#include "cli/report_cost.h"
#include "bank/bank.h"
#include "base/words.h"
#include "measure/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Seconds of all measurements together, at as many operations per second as one core did
 * where the factors of the estimates were measured.
 */
static const double max_seconds = 480, speed = 6e10;
static const double fewest_points = 1000;

typedef struct estimate {
	inv_session *s;
	inv_eval_sizes sizes;
	const char *split;
} estimate;

static int by_label(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Different labels of a split; negative ones mean none. */
static invar_status count_classes(const invar_bank *bank, const char *split,
                                  uint64_t *classes)
{
	uint64_t rows = invar_bank_rows(bank, split);
	int64_t *label;
	invar_status st;

	*classes = 0;
	if (!invar_bank_has_labels(bank, split))
		return INVAR_OK;
	if (!(label = malloc((rows + 1) * sizeof *label)))
		return inv_no_memory();
	if ((st = invar_bank_labels(bank, split, label)) == INVAR_OK) {
		qsort(label, rows, sizeof *label, by_label);
		for (uint64_t i = 0; i < rows; i++)
			*classes += label[i] >= 0 && (!i || label[i] != label[i - 1]);
	}
	free(label);
	return st;
}

static invar_status find_sizes(estimate *e, const invar_bank *bank,
                               const invar_adapter *const *adapters, size_t count)
{
	bool train = inv_bank_has_split(bank, "train");
	inv_eval_sizes *z = &e->sizes;

	*z = (inv_eval_sizes){.size = sizeof *z,
	                      .rows = invar_bank_rows(bank, e->split),
	                      .copies = invar_bank_copies(bank, e->split),
	                      .train = train ? invar_bank_rows(bank, "train") : 0,
	                      .train_copies = train ? invar_bank_copies(bank, "train") : 0,
	                      .dim = invar_bank_dim(bank),
	                      .adapters = (uint32_t)count,
	                      .speed = speed,
	                      .views = invar_bank_has_views(bank, e->split, INVAR_CLEAN)};
	for (size_t i = 0; i < invar_bank_splits(bank); i++)
		z->all_rows += invar_bank_rows(bank, invar_bank_split(bank, i));
	for (size_t i = 0; i < count; i++) {
		uint32_t w = invar_adapter_output(adapters[i]);
		uint32_t hidden = invar_adapter_hidden(adapters[i]);

		z->width = w > z->width ? w : z->width;
		z->hidden = hidden > z->hidden ? hidden : z->hidden;
	}
	return count_classes(bank, train ? "train" : e->split, &z->classes);
}

static invar_status find_seconds(const estimate *e, const char *metrics, double points,
                                 double *seconds)
{
	invar_options *o = NULL;
	invar_figures *f = NULL;
	invar_status st;

	*seconds = 0;
	INV_TRY_OR(end, invar_options_new("eval", &o));
	INV_TRY_OR(end, invar_options_set(o, "metrics", metrics));
	INV_TRY_OR(end, invar_options_set(o, "split", e->split));
	INV_TRY_OR(end, invar_options_set_number(o, "points", points));
	INV_TRY_OR(end, inv_eval_forecast(e->s->ctx, &e->sizes, o, &f));
	*seconds = invar_figure(f, "seconds");
end:
	invar_figures_free(f);
	invar_options_free(o);
	return st;
}

static void add_word(char *list, const char *word)
{
	size_t length = strlen(list);

	snprintf(list + length, INV_REPORT_WORDS - length, "%s%s", length ? "," : "", word);
}

/* Moves the word of `metrics` that takes longest alone to the end of `left_out`. */
static invar_status drop_longest(const estimate *e, double points, char *metrics,
                                 char *left_out)
{
	char rest[INV_REPORT_WORDS] = "", word[INV_WORD], longest[INV_WORD] = "";
	double most = -1, seconds;

	for (const char *at = metrics; inv_next_word(&at, ',', word);) {
		INV_TRY(find_seconds(e, word, points, &seconds));
		if (seconds > most) {
			most = seconds;
			strcpy(longest, word);
		}
	}
	for (const char *at = metrics; inv_next_word(&at, ',', word);)
		if (strcmp(word, longest) != 0)
			add_word(rest, word);
	add_word(left_out, longest);
	strcpy(metrics, rest);
	return INVAR_OK;
}

invar_status inv_report_afford(inv_session *s, const invar_bank *bank, const char *split,
                               const invar_adapter *const *adapters, size_t count,
                               char *metrics, char *left_out, double *points)
{
	estimate e = {.s = s, .split = split};
	double fewest, most, seconds;

	*left_out = '\0';
	*points = 0;
	INV_TRY(find_sizes(&e, bank, adapters, count));
	INV_TRY(find_seconds(&e, metrics, 0, &seconds));
	if (seconds <= max_seconds)
		return INVAR_OK;
	fewest = fmin(fewest_points, (double)e.sizes.rows);
	INV_TRY(find_seconds(&e, metrics, fewest, &seconds));
	while (seconds > max_seconds && *metrics) {
		INV_TRY(drop_longest(&e, fewest, metrics, left_out));
		if (*metrics)
			INV_TRY(find_seconds(&e, metrics, fewest, &seconds));
	}
	if (!*metrics)
		return INVAR_OK;

	/* The estimate grows with the points: halve what is between. */
	for (most = (double)e.sizes.rows; most - fewest > 1;) {
		double middle = floor((fewest + most) / 2);

		INV_TRY(find_seconds(&e, metrics, middle, &seconds));
		*(seconds <= max_seconds ? &fewest : &most) = middle;
	}
	*points = fewest;
	return INVAR_OK;
}
