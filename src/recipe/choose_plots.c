/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_plots.c - the candidates to draw: the figure of the goal over R2.
 *
 * A series has the frontier, F and what was chosen, a scatter all candidates by method;
 * both as results documents have them (run/results_plots.h), so that a plot can render them
 * from run.json. All are figures of the first fold, on which every candidate was measured.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "recipe/choose.h"
#include "run/results_plots.h"

typedef struct point {
	double x, y;
} point;

/* Room for all candidates. */
typedef struct canvas {
	double *x, *y;
	int32_t *label;
	point *sorted;
	size_t count;
} canvas;

static int compare_points(const void *a, const void *b)
{
	const point *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->y > q->y) - (p->y < q->y);
}

static void sort_canvas(canvas *c)
{
	for (size_t i = 0; i < c->count; i++)
		c->sorted[i] = (point){c->x[i], c->y[i]};
	qsort(c->sorted, c->count, sizeof *c->sorted, compare_points);
	for (size_t i = 0; i < c->count; i++) {
		c->x[i] = c->sorted[i].x;
		c->y[i] = c->sorted[i].y;
	}
}

static void mark_candidate(canvas *c, const inv_candidate *of)
{
	c->x[c->count] = of->figures.r2;
	c->y[c->count] = of->figures.value;
	c->label[c->count++] = (int32_t)of->base.kind;
}

static invar_status put_curve(inv_plots *plots, const char *column, canvas *c)
{
	const invar_curve curve = {.count = c->count, .x = c->x, .y = c->y};

	return inv_plot_put_curve(plots->plot[0], column, &curve);
}

static invar_status put_curves(const inv_choice_maker *m, size_t chosen, inv_plots *plots,
                               canvas *c)
{
	invar_status st;

	c->count = 0;
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].frontier)
			mark_candidate(c, &m->list[i]);
	sort_canvas(c);
	st = put_curve(plots, "frontier", c);
	c->count = 0;
	mark_candidate(c, &m->list[0]);
	if (st == INVAR_OK)
		st = put_curve(plots, "F", c);
	c->count = 0;
	mark_candidate(c, &m->list[chosen]);
	return st == INVAR_OK ? put_curve(plots, "chosen", c) : st;
}

static invar_status put_points(const inv_choice_maker *m, inv_plots *plots, canvas *c)
{
	invar_points all;

	c->count = 0;
	for (size_t i = 0; i < m->count && i < INV_MAX_PLOTTED; i++)
		mark_candidate(c, &m->list[i]);
	all = (invar_points){
		.count = c->count, .total = m->count, .x = c->x, .y = c->y, .label = c->label};
	return inv_plot_put_points(plots->plot[0], "candidates", &all);
}

static invar_status fill_plots(const inv_choice_maker *m, size_t chosen, inv_plots *series,
                               inv_plots *scatters, canvas *c)
{
	char figure[128];
	const bool share = m->goal.kind != INV_GOAL_DISTANCES;
	const invar_axis x = {"R2 of distances of held-out clean images", INVAR_UNIT_NUMBER,
	                      NULL};
	const invar_axis y = {figure, share ? INVAR_UNIT_SHARE : INVAR_UNIT_NUMBER, NULL};
	const invar_series s = {"choice.frontier", "choice", "frontier of the candidates", &x,
	                        &y};
	const invar_scatter all = {.id = "choice.candidates",
	                           .measurement = "choice",
	                           .title = "candidates by method",
	                           .x = &x,
	                           .y = &y,
	                           .classes = inv_base_names,
	                           .class_count = INV_BASES};
	invar_status st;

	inv_choice_figure_name(&m->goal, figure, sizeof figure);
	if ((st = inv_plots_add_series(series, &s)) != INVAR_OK ||
	    (st = inv_plots_add_scatter(scatters, &all)) != INVAR_OK ||
	    (st = put_curves(m, chosen, series, c)) != INVAR_OK)
		return st;
	return put_points(m, scatters, c);
}

invar_status inv_choice_add_plots(const inv_choice_maker *m, size_t chosen, json_t *choice)
{
	inv_plots series = {0}, scatters = {0};
	canvas c = {.x = inv_calloc(m->count, sizeof *c.x),
	            .y = inv_calloc(m->count, sizeof *c.y),
	            .label = inv_calloc(m->count, sizeof *c.label),
	            .sorted = inv_calloc(m->count, sizeof *c.sorted)};
	invar_status st = c.x && c.y && c.label && c.sorted
	                      ? fill_plots(m, chosen, &series, &scatters, &c)
	                      : INVAR_E_NOMEM;

	if (st == INVAR_OK &&
	    (json_object_set_new(choice, "series", inv_plots_json(&series)) ||
	     json_object_set_new(choice, "scatters", inv_plots_json(&scatters))))
		st = INVAR_E_NOMEM;
	inv_plots_clear(&series);
	inv_plots_clear(&scatters);
	inv_free(c.x);
	inv_free(c.y);
	inv_free(c.label);
	inv_free(c.sorted);
	return st == INVAR_E_NOMEM ? inv_fail(st, "not enough memory for run.json") : st;
}
