/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goal.h - what an adapter is for, as options of a training.
 *
 * If a goal or a dial is set, the method and its numbers are chosen on held-out images
 * (recipe/choose.h), and what was chosen is trained like any other set of options. They are
 * declared here because run.json and the adapter record them with the others.
 */
#ifndef INV_GOAL_H
#define INV_GOAL_H

#include "base/options.h"
#include "math/ranks.h"

typedef enum inv_goal_kind {
	INV_GOAL_NONE, /* as much invariance as there can be */
	INV_GOAL_CLASSIFY,
	INV_GOAL_SAME_IMAGE,
	INV_GOAL_DISTANCES
} inv_goal_kind;

typedef struct inv_goal {
	inv_goal_kind kind;
	bool reindex; /* the gallery passes through E as well */
	inv_distance metric;
	double seconds; /* for candidates that are trained; 0: closed forms alone */
	double keep;    /* least R2 on held-out clean images; 0: any */
	bool even_if_worse;
} inv_goal;

invar_status inv_goal_declare(invar_options *o);
void inv_goal_read(const invar_options *o, inv_goal *out);
/* Is there anything to choose? */
bool inv_goal_wanted(const invar_options *o);

#endif
