/* SPDX-License-Identifier: Apache-2.0 */
/* demo_recipe.h - the parts of `invar demo`: its recipe, and what came out in words. */
#ifndef INV_DEMO_RECIPE_H
#define INV_DEMO_RECIPE_H

#include "cli/session.h"
#include "study/study_run.h"

/* demo_recipe.c: share/demo.yaml with the values of the options. Gives. */
invar_status inv_demo_recipe(inv_session *s, inv_study **out);

/* demo_words.c: a short table per bank, which adapter is recommended, and why. */
invar_status inv_demo_words(inv_session *s, const inv_study_job *j);

#endif
