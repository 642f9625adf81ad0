/* SPDX-License-Identifier: Apache-2.0 */
/* goal.c - the options of a goal, see goal.h. */
#include "adapter/goal.h"

static const invar_option rows[] = {
	{.name = "goal",
     .type = INVAR_OPTION_TEXT,
     .flags = INVAR_OPTION_RESULT,
     .choices = "classify|same-image|distances",
     .meta = "WORD",
     .group = "Goal",
     .help = "choose the method and its numbers by what the adapter is for, measured on "
             "held-out images: classify is the class of the nearest neighbour, same-image "
             "finding the image of a copy among the first 10, distances how well distances "
             "stay what they are for clean images; other options that are set are kept"},
	{.name = "keep-structure",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1,
     .flags = INVAR_OPTION_RESULT,
     .meta = "R2",
     .group = "Goal",
     .help = "the strongest invariance, or the best for the goal, whose R2 of distances on "
             "held-out clean images is at least this; 0 is off"},
	{0},
};

/* These have a meaning only beside a goal. */
static const invar_option part_rows[] = {
	{.name = "index",
     .type = INVAR_OPTION_TEXT,
     .initial = "old",
     .flags = INVAR_OPTION_RESULT,
     .choices = "old|new",
     .meta = "WORD",
     .group = "Goal",
     .help = "what is searched: the features as they are stored now, or with E applied to "
             "them as well"},
	{.name = "metric",
     .type = INVAR_OPTION_TEXT,
     .initial = "l2",
     .flags = INVAR_OPTION_RESULT,
     .choices = "l2|cosine",
     .meta = "WORD",
     .group = "Goal",
     .help = "distance of the search"},
	{.name = "budget",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1e6,
     .flags = INVAR_OPTION_RESULT,
     .meta = "MINUTES",
     .group = "Goal",
     .help = "also try adapters that are trained, with as many epochs as fit into this "
             "time; 0 is closed forms alone"},
	{.name = "even-if-worse",
     .type = INVAR_OPTION_FLAG,
     .group = "Goal",
     .help = "write the best adapter even if it is not better than none"},
	{0},
};

invar_status inv_goal_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, rows);

	if (st == INVAR_OK)
		st = inv_options_idle(o, "keep-structure", "0", "keep-structure");
	return st == INVAR_OK ? inv_options_add_part(o, "goal", NULL, part_rows) : st;
}

static inv_goal_kind kind_of(const invar_options *o)
{
	if (!inv_option_text(o, "goal"))
		return INV_GOAL_NONE;
	if (inv_option_is(o, "goal", "classify"))
		return INV_GOAL_CLASSIFY;
	return inv_option_is(o, "goal", "distances") ? INV_GOAL_DISTANCES : INV_GOAL_SAME_IMAGE;
}

void inv_goal_read(const invar_options *o, inv_goal *out)
{
	*out = (inv_goal){.kind = kind_of(o),
	                  .reindex = inv_option_is(o, "index", "new"),
	                  .metric = inv_option_is(o, "metric", "cosine") ? INV_COSINE : INV_L2,
	                  .seconds = 60 * inv_option_number(o, "budget"),
	                  .keep = inv_option_number(o, "keep-structure"),
	                  .even_if_worse = inv_option_flag(o, "even-if-worse")};
}

bool inv_goal_wanted(const invar_options *o)
{
	return inv_option_text(o, "goal") || inv_option_number(o, "keep-structure") > 0;
}
