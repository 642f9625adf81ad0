/*
 * measurement.h - what every measurement of `invar eval` looks like.
 *
 * A measurement sees the bank and one encoder of codes (F itself, or F then
 * E) and gives a JSON object for that column. A new measurement is one file
 * and one line in table.c.
 */
#ifndef INV_MEASUREMENT_H
#define INV_MEASUREMENT_H

#include "adapter/adapter.h"
#include "bank/bank.h"

typedef struct inv_measure_input {
	const invar_context *ctx;
	const invar_bank *bank;
	const inv_split *split;
	const invar_eval_opts *opts;
	const invar_adapter *adapter; /* NULL: the column of F itself */
	const float *clean;           /* [points, d] features of the points measured */
	const float *codes;           /* [points, w] the same through E; clean for F */
	uint64_t points;
	uint32_t d, w;
} inv_measure_input;

typedef struct inv_measurement {
	const char *name;
	invar_status (*measure)(const inv_measure_input *in, json_t **out);
} inv_measurement;

/* NULL-terminated, in the order of the table that people see. */
extern const inv_measurement *const inv_measurements[];

extern const inv_measurement inv_measurement_structure;

#endif
