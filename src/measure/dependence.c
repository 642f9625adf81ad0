/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dependence.c - sliced Wasserstein dependence and correlation of paired samples
 * (Eq. 5, 7, 8), with standard errors and the floor of a finite sample.
 *
 * Directions come in blocks of 16, and each block draws its own shuffle: the standard error
 * over the blocks' means then covers both directions and shuffles. The floor is the value
 * for independent samples: z is paired with x at random, and these broken pairs are
 * compared with the same shuffled set as the true ones, which is sorted once.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "math/sliced.h"
#include "measure/measurement.h"
#include "measure/projected.h"

enum { BLOCK = 16 };

typedef struct dependence_result {
	double dependence, dependence_error; /* SW_p of joint and shuffled rows */
	double correlation, correlation_error;
	double sw_xx, sw_zz;           /* of each variable with itself */
	double floor, floor_deviation; /* correlation of shuffled pairings: mean, deviation */
	double dependence_floor;       /* their mean dependence */
	double p_value; /* fraction of pairings, including the true one, that reach it */
} dependence_result;

/* One of the distances XZ, XX, ZZ. */
typedef struct term {
	const char *name;
	const float *x, *z;
	size_t first, second;   /* their widths */
	const uint32_t *broken; /* [pairings, rows]; NULL: none */
	size_t pairings;
	double *powers;        /* [projections] */
	double *broken_powers; /* [pairings, projections] */
} term;

typedef struct dependence_job {
	const invar_context *ctx;
	const inv_sliced_settings *o;
	const term *t;
	const inv_projected *p;
	const uint32_t *rows; /* 0, 1, … */
	size_t from, count;   /* directions of the chunk */
	char *scratch;
	size_t bytes;    /* of a thread: two permutations, then what sorting needs */
	inv_side *sides; /* [threads, pairings] */
	double *powers;  /* [threads, pairings, BLOCK] */
} dependence_job;

/* ---- One block of directions ----------------------------------------------------- */

static inv_side side_of(const dependence_job *j, size_t column, const uint32_t *rows_a,
                        const uint32_t *rows_b)
{
	size_t stride = j->p->chunk;

	return (inv_side){.a = j->p->a + column,
	                  .b = j->p->b + column,
	                  .stride_a = stride,
	                  .stride_b = stride,
	                  .rows_a = rows_a,
	                  .rows_b = rows_b,
	                  .M = j->p->rows};
}

static void measure_direction_block(void *user, size_t block, unsigned thread)
{
	const dependence_job *j = user;
	const term *t = j->t;
	size_t column = block * BLOCK, rows = j->p->rows, left = j->count - column;
	char *own = j->scratch + thread * j->bytes;
	uint32_t *sigma[2] = {(uint32_t *)(void *)own, (uint32_t *)(void *)own + rows};
	inv_side *others = j->sides + thread * t->pairings;
	double *broken = j->powers + thread * t->pairings * BLOCK;
	inv_sliced job = {.repeat = 1,
	                  .L = left < BLOCK ? left : BLOCK,
	                  .p = j->o->p,
	                  .powers = t->powers + j->from + column,
	                  .others = others,
	                  .other_count = t->pairings,
	                  .other_powers = broken};
	char purpose[40];
	inv_stream stream;

	snprintf(purpose, sizeof purpose, "dependence/shuffle/%s", j->t->name);
	stream = inv_stream_of(j->o->seed, purpose, 0);
	for (uint32_t half = 0; half < 2; half++)
		inv_permutation(&stream, 2 * (uint32_t)((j->from + column) / BLOCK) + half,
		                sigma[half], (uint32_t)j->p->rows);
	job.first = side_of(j, column, j->rows, j->rows);
	job.second = side_of(j, column, sigma[0], sigma[1]);
	for (size_t b = 0; b < t->pairings; b++)
		others[b] = side_of(j, column, j->rows, t->broken + b * rows);
	inv_sliced_run(NULL, &j->p->kernels, &job, own + 2 * rows * sizeof(uint32_t));
	for (size_t b = 0; b < t->pairings; b++)
		memcpy(t->broken_powers + b * j->o->projections + j->from + column,
		       broken + b * job.L, job.L * sizeof *broken);
}

static invar_status measure_term(const invar_context *ctx, const inv_sliced_settings *o,
                                 const term *t, size_t rows, const uint32_t *in_order)
{
	size_t sort = inv_sliced_scratch(NULL, rows, false), total = o->projections;
	inv_projected p;
	dependence_job j = {.ctx = ctx, .o = o, .t = t, .p = &p, .rows = in_order};
	inv_pool scratch = {0};
	inv_stream stream;
	char purpose[40];
	invar_status st;

	snprintf(purpose, sizeof purpose, "dependence/directions/%s", t->name);
	stream = inv_stream_of(o->seed, purpose, 0);
	INV_TRY(
		inv_projected_new(ctx, rows, t->first, t->second, true, total, o->orthogonal, &p));
	j.bytes = (2 * rows * sizeof(uint32_t) + sort + 63) / 64 * 64;
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &j.scratch, ctx->threads * j.bytes));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &j.sides, ctx->threads * t->pairings));
	INV_TRY_OR(end,
	           inv_pool_zeros(&scratch, &j.powers, ctx->threads * t->pairings * BLOCK));
	for (j.from = 0; j.from < total; j.from += p.chunk) {
		j.count = (size_t)inv_min(total - j.from, p.chunk);
		INV_TRY_OR(end, inv_projected_run(&p, &stream, j.from, j.count, NULL, t->x, t->z));
		inv_parallel(ctx, inv_blocks(j.count, BLOCK), measure_direction_block, &j);
		if (inv_progress(ctx, t->name, j.from + j.count, total) != INVAR_OK)
			INV_TRY_OR(end, inv_fail(INVAR_E_CANCELLED, "interrupted"));
	}
end:
	inv_projected_clear(&p);
	inv_pool_free(&scratch);
	return st;
}

/* ---- Errors and the floor -------------------------------------------------------- */

/* Standard error of the mean of the powers over its blocks, as a fraction of the mean. */
static double relative_error(const double *powers, size_t L)
{
	double mean = inv_sum_in_order(powers, L) / (double)L, sum = 0;
	size_t blocks = inv_blocks(L, BLOCK);

	for (size_t b = 0; b < blocks; b++) {
		size_t count = L - b * BLOCK < BLOCK ? L - b * BLOCK : BLOCK;
		double gap = inv_sum_in_order(powers + b * BLOCK, count) - (double)count * mean;

		sum += gap * gap / ((double)L * (double)L);
	}
	if (blocks < 2 || !(mean > 0))
		return blocks < 2 ? NAN : 0;
	return sqrt(sum * (double)blocks / (double)(blocks - 1)) / mean;
}

static double correlation_of(double xz, double xx, double zz, double p)
{
	return xz / pow(xx * zz + 1e-10, 1 / p);
}

static void find_floor(const inv_sliced_settings *o, const term *xz, dependence_result *out)
{
	double sum = 0, squares = 0, distances = 0, count = (double)xz->pairings;
	size_t reached = 0;

	for (size_t b = 0; b < xz->pairings; b++) {
		double sw = inv_sliced_distance(xz->broken_powers + b * o->projections,
		                                o->projections, o->p);
		double sc = correlation_of(sw, out->sw_xx, out->sw_zz, o->p);

		distances += sw;
		sum += sc;
		squares += sc * sc;
		reached += sw >= out->dependence;
	}
	out->floor = out->floor_deviation = out->dependence_floor = out->p_value = NAN;
	if (!xz->pairings)
		return;
	out->floor = sum / count;
	out->dependence_floor = distances / count;
	out->p_value = (double)(1 + reached) / (count + 1);
	if (xz->pairings > 1)
		out->floor_deviation = sqrt(fmax(squares - sum * sum / count, 0) / (count - 1));
}

static invar_status measure_terms(const invar_context *ctx, const inv_sliced_settings *o,
                                  term t[3], size_t rows, dependence_result *out)
{
	size_t L = o->projections, pairings = o->permutations;
	inv_stream stream = inv_stream_of(o->seed, "dependence/pairs", 0);
	inv_pool scratch = {0};
	uint32_t *in_order, *broken;
	double *powers;
	invar_status st;
	double p, error[3];

	INV_TRY_OR(end, inv_pool_zeros(&scratch, &in_order, rows));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &broken, pairings * rows));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &powers, (3 + pairings) * L));
	for (size_t r = 0; r < rows; r++)
		in_order[r] = (uint32_t)r;
	for (size_t b = 0; b < pairings; b++)
		inv_permutation(&stream, (uint32_t)b, broken + b * rows, (uint32_t)rows);
	t[0].broken = broken;
	t[0].pairings = pairings;
	t[0].broken_powers = powers + 3 * L;
	for (int i = 0; i < 3; i++) {
		t[i].powers = powers + (size_t)i * L;
		INV_TRY_OR(end, measure_term(ctx, o, &t[i], rows, in_order));
	}
	p = o->p;
	for (int i = 0; i < 3; i++)
		error[i] = relative_error(t[i].powers, o->projections) / p;
	out->dependence = inv_sliced_distance(t[0].powers, o->projections, p);
	out->sw_xx = inv_sliced_distance(t[1].powers, o->projections, p);
	out->sw_zz = inv_sliced_distance(t[2].powers, o->projections, p);
	out->correlation = correlation_of(out->dependence, out->sw_xx, out->sw_zz, p);
	out->dependence_error = out->dependence * error[0];
	/* The three are independent; XX and ZZ are under a p-th root (Eq. 8). */
	out->correlation_error =
		out->correlation *
		sqrt(error[0] * error[0] + (error[1] * error[1] + error[2] * error[2]) / (p * p));
	find_floor(o, &t[0], out);
	if (!isfinite(out->dependence + out->sw_xx * out->sw_zz))
		st = inv_sliced_overflow();
end:
	inv_pool_free(&scratch);
	return st;
}

/* ---- Results --------------------------------------------------------------------- */

static invar_status put_dependence(const dependence_result *d, uint64_t rows,
                                   invar_results *r)
{
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"dependence", d->dependence},
	               {"dependence_error", d->dependence_error},
	               {"correlation", d->correlation},
	               {"correlation_error", d->correlation_error},
	               {"sw_xx", d->sw_xx},
	               {"sw_zz", d->sw_zz},
	               {"floor", d->floor},
	               {"floor_deviation", d->floor_deviation},
	               {"dependence_floor", d->dependence_floor},
	               {"p_value", d->p_value}};

	INV_TRY(inv_results_add_column(r, "xz", "x and z", NULL));
	INV_TRY(inv_results_add_measurement(r, "dependence", "dependence"));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *name = numbers[i].name;
		const invar_metric metric = INV_NUMBER_METRIC("dependence", name, name, NULL, 0, 4);

		INV_TRY(inv_results_add_metric(r, &metric));
		INV_TRY(inv_put_number(r, name, "xz", numbers[i].value, rows));
	}
	return INVAR_OK;
}

invar_status invar_dependence(invar_context *ctx, const float *x, uint32_t dx,
                              const float *z, uint32_t dz, uint64_t rows,
                              const invar_options *options, invar_results **out)
{
	inv_sliced_settings o;
	dependence_result d = {.p_value = NAN};
	term t[3] = {{.name = "xz", .x = x, .z = z, .first = dx, .second = dz},
	             {.name = "xx", .x = x, .z = x, .first = dx, .second = dx},
	             {.name = "zz", .x = z, .z = z, .first = dz, .second = dz}};

	*out = NULL;
	INV_TRY(inv_sliced_read(options, rows, dx && dz, &o));
	INV_TRY(measure_terms(ctx, &o, t, rows, &d));
	INV_TRY(inv_results_new(out));
	return inv_results_give(put_dependence(&d, rows, *out), out);
}
