/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.h - the parts of `invar demo`: images to a bank, adapters, a table, a picture.
 *
 * Each part is one file that adds its stages, in the order in which a user would type the
 * commands. Stages that are done are skipped, so the same command again shows the results.
 */
#ifndef INV_DEMO_H
#define INV_DEMO_H

#include "cli/command.h"

enum { DEMO_ADAPTERS = 5, DEMO_COLUMNS = 1 + DEMO_ADAPTERS }; /* F comes first */

#define DEMO_AUGMENT "rotation"
#define DEMO_SIDE "56" /* of the images that the demo's own encoder learned from */

/* The titles of the columns: "F", then the folders of the runs. */
extern const char *const inv_demo_column[DEMO_COLUMNS];

typedef struct inv_demo_values {
	inv_common common;
	const char *output, *data, *weights, *side, *normalize;
	uint64_t limit;
	int force;
} inv_demo_values;

typedef struct inv_demo {
	inv_session *s;
	const inv_demo_values *v;
	const char *folder;
	char *dataset; /* as `invar encode` would be given it */
	char *weights;
	char *bank_path, *run_path[DEMO_ADAPTERS], *sheet_path, *results_path;
	invar_dataset *train, *test;
	invar_encoder *encoder;
	invar_stages *stages;
	invar_bank *bank;
	invar_results *results;
} inv_demo;

/* demo_encode.c: opens the images and the encoder; the stage that fills the bank. */
invar_status inv_demo_open(inv_demo *d);
invar_status inv_demo_encode(inv_demo *d);
/* demo_train.c: a closed form and four trainings. */
invar_status inv_demo_train(inv_demo *d);
/* demo_table.c: measures, and shows what came out. */
invar_status inv_demo_measure(inv_demo *d);
invar_status inv_demo_table(const inv_demo *d);
void inv_demo_words(const inv_demo *d);
/* A share from the results, in percent; NaN where it was not measured. */
double inv_demo_percent(const inv_demo *d, const char *metric, size_t column);
/* demo_sheet.c: turned images and their neighbours in the old index, as a picture. */
invar_status inv_demo_sheet(inv_demo *d);

#endif
