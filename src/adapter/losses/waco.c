/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waco.c - maximises the sliced Wasserstein correlation of features and codes (Eq. 29).
 *
 *     L = -SC,  SC = SW_p(XZ) / (SW_p(XX) SW_p(ZZ) + 1e-10)^(1/p)
 *
 * over the M rows of an augmentation: X the clean features repeated, Z the
 * codes. XZ is the distance of the joint rows (x, z) to the same rows with both
 * halves shuffled independently; XX and ZZ are the same with one variable twice. Several
 * augmentations are combined as -sum log max(SC, 1e-12).
 *
 * Savings: the projection of a joint row is the sum of those of its halves, so a shuffle
 * adds them in another order and needs no further product; X has N distinct rows, so N are
 * projected; XX has no gradient, and its joint side has only N distinct values to sort.
 * Columns of the projections become, in place, the slopes from which the products of the
 * backward pass start.
 *
 * Directions come in blocks, equal fractions of L that depend on L alone: a block is drawn,
 * projected, sorted, and its gradients added before the next one, so that
 * memory does not grow with L. The weights of the two gradients are known only after the
 * last block and are applied then. Orthogonal directions are drawn by frames, which are
 * kept until blocks have used them up.
 */
#include "adapter/losses/loss.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/threads.h"
#include "math/directions.h"
#include "math/matmul.h"
#include "math/sliced.h"

extern const inv_loss inv_loss_waco;

enum { XZ, XX, ZZ, DISTANCES };
enum { PROJECT_X, PROJECT_XZ, PROJECT_ZZ, BACK_XZ, BACK_ZZ, PRODUCTS };
enum { TERM_SC, TERM_XZ, TERM_XX, TERM_ZZ, TERMS };
enum { MAX_POWER = 10 };               /* the slopes |gap|^(p - 1) must fit into floats */
enum { LINE = 16, COMBINE = 1 << 14 }; /* floats of a cache line, of a block of work */
enum { MAX_BLOCK = 1024 };             /* directions at once */

static const double normaliser_floor = 1e-10, log_floor = 1e-12;

/* Which row of each half belongs to a joint row. */
typedef struct shuffle {
	uint32_t *sigma[2], *back[2]; /* permutations of the M rows and their inverses */
	uint32_t *image[2];           /* sigma modulo N: rows of X */
} shuffle;

typedef struct waco {
	size_t M, L;
	size_t block; /* directions at once, a multiple of LINE; all blocks but the last */
	double p;     /* the power of the distances */
	bool codes_clean, orthogonal;
	bool shuffle_second; /* XX and ZZ keep their first half in place */
	/* Directions: of X in xz, xx (both halves); of Z in xz; of Z in zz (both halves). */
	float *theta_x, *theta_xz, *theta_zz;
	float *x, *xz, *zz;       /* projections [N, 3 block], [M, block], [M, 2 block] */
	float *codes, *grad;      /* of one augmentation among several, [M, w] */
	float *grad_xz, *grad_zz; /* [M, w] */
	uint32_t *rows, *images;  /* r, and r modulo N */
	shuffle shuffles[DISTANCES];
	double *powers[DISTANCES]; /* [L rounded up to blocks] */
	/* Orthogonal directions that blocks have not used up; the capacity is in directions. */
	inv_directions frames[DISTANCES];
	size_t capacity[DISTANCES];
	void *sliced_scratch, *directions_scratch;
	inv_matmul *product[PRODUCTS]; /* one after the other, with common scratch memory */
	inv_arena arena;
} waco;

static const invar_option options[] = {
	{"projections", INVAR_OPTION_COUNT, "1000", .min = 1, .max = 1 << 20,
     .flags = INVAR_OPTION_RESULT, .meta = "N", .group = "Loss",
     .help = "directions of each sliced distance"},
	{"p", INVAR_OPTION_NUMBER, "2", .min = 1, .max = MAX_POWER,
     .flags = INVAR_OPTION_RESULT, .meta = "F", .group = "Loss",
     .help = "power of the sliced distances"},
	{"slices", INVAR_OPTION_TEXT, "random", .flags = INVAR_OPTION_RESULT,
     .choices = "random|orthogonal", .meta = "WORD", .group = "Loss",
     .help = "independent directions, or blocks of orthogonal ones"},
	{"shuffle", INVAR_OPTION_TEXT, "both", .flags = INVAR_OPTION_RESULT,
     .choices = "both|second", .meta = "WORD", .group = "Loss",
     .help = "waco: which halves of XX and ZZ are permuted"},
	{0},
};

static size_t round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

/* ---- Preparing ------------------------------------------------------------------- */

/* The place of the directions of a block. */
static void describe_directions(const inv_loss_shape *s, const waco *p, inv_directions *set)
{
	size_t L = p->block;

	set[XZ] = (inv_directions){
		.L = L, .first = s->d, .second = s->w, .a = p->theta_x, .b = p->theta_xz};
	set[XX] = (inv_directions){.L = L, .first = s->d, .second = s->d};
	set[ZZ] = (inv_directions){.L = L, .first = s->w, .second = s->w, .a = p->theta_zz};
	if (!p->theta_x)
		return; /* sizes are being planned */
	set[XX].a = p->theta_x + L * s->d;
	set[XX].b = p->theta_x + 2 * L * s->d;
	set[ZZ].b = p->theta_zz + L * s->w;
}

static void plan_waco_memory(const inv_loss_shape *s, waco *p)
{
	size_t M = p->M, n = p->block;
	inv_directions set[DISTANCES];
	inv_arena *a = &p->arena;

	describe_directions(s, p, set);
	describe_directions(s, p, p->frames);
	/* Whole frames for about a block; one has as many directions as dimensions, or all. */
	for (int i = 0; i < DISTANCES; i++) {
		inv_directions *f = &p->frames[i];
		size_t size = f->first + f->second, all;

		size = size < p->L ? size : p->L;
		all = inv_blocks(MAX_BLOCK, size) * size;
		p->capacity[i] = !p->orthogonal ? 0 : all < p->L ? all : p->L;
		f->L = p->capacity[i];
		f->orthogonal = true;
		f->a = inv_arena_take(a, f->L * f->first, sizeof(float));
		f->b = inv_arena_take(a, f->L * f->second, sizeof(float));
	}
	p->directions_scratch = inv_arena_take(
		a, inv_directions_scratch(s->ctx, p->orthogonal ? p->frames : set, DISTANCES), 1);
	p->sliced_scratch = inv_arena_take(a, inv_sliced_scratch(s->ctx, M, true), 1);
	p->theta_x = inv_arena_take(a, 3 * n * s->d, sizeof(float));
	p->theta_xz = inv_arena_take(a, n * s->w, sizeof(float));
	p->theta_zz = inv_arena_take(a, 2 * n * s->w, sizeof(float));
	p->x = inv_arena_take(a, 3 * n * s->N, sizeof(float));
	p->xz = inv_arena_take(a, n * M, sizeof(float));
	p->zz = inv_arena_take(a, 2 * n * M, sizeof(float));
	p->grad_xz = inv_arena_take(a, M * s->w, sizeof(float));
	p->grad_zz = inv_arena_take(a, M * s->w, sizeof(float));
	p->codes = inv_arena_take(a, s->groups > 1 ? M * s->w : 0, sizeof(float));
	p->grad = inv_arena_take(a, s->groups > 1 ? M * s->w : 0, sizeof(float));
	p->rows = inv_arena_take(a, M, sizeof(uint32_t));
	p->images = inv_arena_take(a, M, sizeof(uint32_t));
	for (int i = 0; i < DISTANCES; i++) {
		p->powers[i] = inv_arena_take(a, round_up(p->L, p->block), sizeof(double));
		for (int half = 0; half < 2; half++) {
			shuffle *by = &p->shuffles[i];

			by->sigma[half] = inv_arena_take(a, M, sizeof(uint32_t));
			by->back[half] = inv_arena_take(a, M, sizeof(uint32_t));
			by->image[half] = inv_arena_take(a, M, sizeof(uint32_t));
		}
	}
}

static void release_waco(void *state)
{
	waco *p = state;

	for (size_t i = 0; i < PRODUCTS; i++)
		inv_matmul_free(p->product[i]);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static invar_status prepare_waco(const inv_loss_shape *s, inv_loss_work *out)
{
	bool codes_clean = inv_loss_keeps_identity(s->options);
	size_t M = (s->s + codes_clean) * s->N, n, bytes = 0;
	invar_status st;
	waco *p;

	if (M > INV_KEY_ROWS)
		return inv_fail(INVAR_E_USE,
		                "waco can sort at most %u rows; use a @batch-size below %zu",
		                INV_KEY_ROWS, s->N);
	INV_TRY(inv_new(&p));
	p->M = M;
	p->codes_clean = codes_clean;
	p->orthogonal = inv_option_is(s->options, "slices", "orthogonal");
	p->shuffle_second = inv_option_is(s->options, "shuffle", "second");
	p->p = inv_option_number(s->options, "p");
	p->L = inv_option_count(s->options, "projections");
	p->block = n = round_up(inv_blocks(p->L, inv_blocks(p->L, MAX_BLOCK)), LINE);
	plan_waco_memory(s, p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	plan_waco_memory(s, p);
	for (size_t r = 0; r < M; r++) {
		p->rows[r] = (uint32_t)r;
		p->images[r] = (uint32_t)(r % s->N);
	}
	for (size_t i = 0; i < PRODUCTS; i++) {
		const inv_matmul_spec specs[PRODUCTS] = {
			[PROJECT_X] = {.m = s->N, .n = 3 * n, .k = s->d, .transpose_b = true},
			[PROJECT_XZ] = {.m = M, .n = n, .k = s->w, .transpose_b = true},
			[PROJECT_ZZ] = {.m = M, .n = 2 * n, .k = s->w, .transpose_b = true},
			[BACK_XZ] = {.m = M, .n = s->w, .k = n, .add = true},
			[BACK_ZZ] = {.m = M, .n = s->w, .k = 2 * n, .add = true},
		};

		INV_TRY_OR(fail, inv_matmul_new(s->ctx, &specs[i], &p->product[i]));
	}
	inv_matmul_share(p->product, PRODUCTS);
	for (size_t i = 0; i < PRODUCTS; i++)
		bytes += inv_matmul_memory(p->product[i]);
	*out = (inv_loss_work){p, p->arena.size + bytes};
	return INVAR_OK;
fail:
	release_waco(p);
	return st;
}

/* ---- Draws -------------------------------------------------------------------------- */

/* Purposes differ by distance and augmentation; the epoch of a stream is the step. */
static inv_stream stream_of(const inv_loss_batch *b, const char *what, int distance,
                            size_t group)
{
	static const char *const names[DISTANCES] = {"xz", "xx", "zz"};
	char purpose[40];

	snprintf(purpose, sizeof purpose, "waco/%s/%s/%zu", what, names[distance],
	         b->group + group);
	return inv_stream_of(b->seed, purpose, (uint32_t)b->step);
}

/*
 * Moves directions from the frames to their block. Frames of all distances that have used
 * up theirs are made at once.
 */
static invar_status draw_orthogonal(const inv_loss_shape *s, waco *p,
                                    const inv_directions *set, size_t from, size_t count)
{
	size_t done[DISTANCES] = {0};

	for (;;) {
		inv_directions next[DISTANCES];
		size_t lacking = 0;

		for (int i = 0; i < DISTANCES; i++) {
			inv_directions *f = &p->frames[i];
			const inv_directions *to = &set[i];
			size_t at = done[i], skip = from + at - f->from, left = f->L - skip;
			size_t now = left < count - at ? left : count - at;

			memcpy(to->a + at * to->first, f->a + skip * to->first,
			       now * to->first * sizeof(float));
			memcpy(to->b + at * to->second, f->b + skip * to->second,
			       now * to->second * sizeof(float));
			done[i] += now;
			if (done[i] == count)
				continue;
			f->from += f->L;
			f->L = p->L - f->from < p->capacity[i] ? p->L - f->from : p->capacity[i];
			next[lacking++] = *f;
		}
		if (!lacking)
			return INVAR_OK;
		INV_TRY(inv_directions_fill(s->ctx, s->kernels, next, lacking,
		                            p->directions_scratch));
	}
}

/* Directions [from, from + count) of each distance. */
static invar_status draw_directions(const inv_loss_shape *s, waco *p,
                                    const inv_loss_batch *b, size_t group, size_t from,
                                    size_t count)
{
	inv_directions set[DISTANCES];

	describe_directions(s, p, set);
	for (int i = 0; i < DISTANCES; i++) {
		if (count < p->block) { /* in the last block; what follows is projected too */
			size_t rest = (p->block - count) * sizeof(float);

			memset(set[i].a + count * set[i].first, 0, rest * set[i].first);
			memset(set[i].b + count * set[i].second, 0, rest * set[i].second);
		}
		set[i].stream = stream_of(b, "directions", i, group);
		set[i].from = from;
		set[i].L = count;
		if (from == 0) { /* of another step or augmentation */
			p->frames[i].stream = set[i].stream;
			p->frames[i].from = p->frames[i].L = 0;
		}
		if (b->draws)
			inv_directions_take(&set[i], b->draws[group].directions[i] +
			                                 from * (set[i].first + set[i].second));
	}
	if (b->draws)
		return INVAR_OK;
	if (p->orthogonal)
		return draw_orthogonal(s, p, set, from, count);
	return inv_directions_fill(s->ctx, s->kernels, set, DISTANCES, p->directions_scratch);
}

static void draw_shuffles(const inv_loss_shape *s, waco *p, const inv_loss_batch *b,
                          size_t group)
{
	for (int i = 0; i < DISTANCES; i++) {
		inv_stream stream = stream_of(b, "shuffle", i, group);

		for (uint32_t half = 0; half < 2; half++) {
			shuffle *to = &p->shuffles[i];
			bool kept = p->shuffle_second && i != XZ && half == 0;

			if (b->draws)
				memcpy(to->sigma[half], b->draws[group].permutations[i][half],
				       p->M * sizeof(uint32_t));
			else if (kept)
				memcpy(to->sigma[half], p->rows, p->M * sizeof(uint32_t));
			else
				inv_permutation(&stream, half, to->sigma[half], (uint32_t)p->M);
			for (size_t r = 0; r < p->M; r++) {
				to->back[half][to->sigma[half][r]] = (uint32_t)r;
				to->image[half][r] = to->sigma[half][r] % (uint32_t)s->N;
			}
		}
	}
}

/* ---- Distances ----------------------------------------------------------------------- */

/*
 * Powers of directions [from, from + count); with `slopes` the projections of codes become
 * the slopes of XZ and ZZ.
 */
static void measure_distances(const inv_loss_shape *s, const waco *p, size_t from,
                              size_t count, bool slopes)
{
	const shuffle *by = p->shuffles;
	size_t n = p->block, M = p->M, N = s->N, one = n, two = 2 * n, three = 3 * n;
	float *zz_b = p->zz + n;
	const float *xx_a = p->x + n, *xx_b = p->x + 2 * n;
	inv_sliced job[DISTANCES] = {
		[XZ] = {.first = {p->x, p->xz, three, one, p->images, p->rows, M},
	            .second = {p->x, p->xz, three, one, by[XZ].image[0], by[XZ].sigma[1], M},
	            .repeat = 1},
		/* The joint side has N distinct rows, each of them M / N times. */
		[XX] = {.first = {xx_a, xx_b, three, three, p->rows, p->rows, N},
	            .second = {xx_a, xx_b, three, three, by[XX].image[0], by[XX].image[1], M},
	            .repeat = M / N},
		[ZZ] = {.first = {p->zz, zz_b, two, two, p->rows, p->rows, M},
	            .second = {p->zz, zz_b, two, two, by[ZZ].sigma[0], by[ZZ].sigma[1], M},
	            .repeat = 1},
	};

	if (slopes) {
		job[XZ].slopes[0] = (inv_slopes){p->xz, one, by[XZ].back[1]};
		job[ZZ].slopes[0] = (inv_slopes){p->zz, two, by[ZZ].back[0]};
		job[ZZ].slopes[1] = (inv_slopes){zz_b, two, by[ZZ].back[1]};
	}
	for (int i = 0; i < DISTANCES; i++) {
		job[i].p = p->p;
		job[i].L = count;
		job[i].powers = p->powers[i] + from;
		inv_sliced_run(s->ctx, s->kernels, &job[i], p->sliced_scratch);
	}
}

/* ---- Correlation and its gradient ---------------------------------------------------- */

typedef struct combination {
	const float *a, *b;
	float by_a, by_b, *out;
	size_t count;
} combination;

static void combine_block(void *user, size_t block, unsigned thread)
{
	const combination *c = user;
	size_t from = block * COMBINE,
		   end = from + COMBINE < c->count ? from + COMBINE : c->count;

	(void)thread;
	for (size_t i = from; i < end; i++)
		c->out[i] = c->by_a * c->a[i] + c->by_b * c->b[i];
}

/* d SC = dA / (BC + e)^(1/p) - 1/p A B dC / (BC + e)^(1/p + 1), A, B, C = XZ, XX, ZZ. */
static void combine_gradients(const inv_loss_shape *s, const waco *p, const double *term,
                              double outer, float *grad)
{
	double power = 1 / p->p;
	double base = term[TERM_XX] * term[TERM_ZZ] + normaliser_floor;
	double by_xz = pow(base, -power);
	double by_zz = -power * term[TERM_XZ] * term[TERM_XX] * pow(base, -power - 1);
	double slope_xz = inv_sliced_slope(term[TERM_XZ], p->M, p->L, p->p);
	double slope_zz = inv_sliced_slope(term[TERM_ZZ], p->M, p->L, p->p);
	combination c = {.a = p->grad_xz,
	                 .b = p->grad_zz,
	                 .by_a = (float)(outer * by_xz * slope_xz),
	                 .by_b = (float)(outer * by_zz * slope_zz),
	                 .out = grad,
	                 .count = p->M * s->w};

	inv_parallel(s->ctx, inv_blocks(c.count, COMBINE), combine_block, &c);
}

static invar_status correlate(const inv_loss_shape *s, waco *p, const inv_loss_batch *b,
                              const float *codes, size_t group, bool slopes, double *term)
{
	static const int terms[DISTANCES] = {TERM_XZ, TERM_XX, TERM_ZZ};
	inv_matmul **product = p->product;

	draw_shuffles(s, p, b, group);
	memset(p->grad_xz, 0, p->M * s->w * sizeof(float));
	memset(p->grad_zz, 0, p->M * s->w * sizeof(float));
	for (size_t from = 0; from < p->L; from += p->block) {
		size_t count = p->L - from < p->block ? p->L - from : p->block;

		INV_TRY(draw_directions(s, p, b, group, from, count));
		INV_TRY(inv_matmul_run(product[PROJECT_X], b->clean, p->theta_x, NULL, p->x));
		INV_TRY(inv_matmul_run(product[PROJECT_XZ], codes, p->theta_xz, NULL, p->xz));
		INV_TRY(inv_matmul_run(product[PROJECT_ZZ], codes, p->theta_zz, NULL, p->zz));
		measure_distances(s, p, from, count, slopes);
		if (!slopes)
			continue;
		INV_TRY(inv_matmul_run(product[BACK_XZ], p->xz, p->theta_xz, NULL, p->grad_xz));
		INV_TRY(inv_matmul_run(product[BACK_ZZ], p->zz, p->theta_zz, NULL, p->grad_zz));
	}
	for (int i = 0; i < DISTANCES; i++)
		term[terms[i]] = inv_sliced_distance(p->powers[i], p->L, p->p);
	term[TERM_SC] =
		term[TERM_XZ] / pow(term[TERM_XX] * term[TERM_ZZ] + normaliser_floor, 1 / p->p);
	if (!isfinite(term[TERM_XX] + term[TERM_ZZ])) /* a division by infinity would give 0 */
		term[TERM_SC] = NAN;
	return INVAR_OK;
}

/*
 * Of several augmentations each has the clean codes, which come first, and its own. So the
 * gradients of clean codes are added up.
 */
static invar_status evaluate_waco(const inv_loss_shape *s, void *state,
                                  const inv_loss_batch *b, inv_loss_value *out, float *grad)
{
	waco *p = state;
	size_t clean = p->codes_clean * s->N * s->w, copies = s->s * s->N * s->w;

	if (s->groups == 1) {
		INV_TRY(correlate(s, p, b, b->codes, 0, grad, out->term));
		out->value = -out->term[TERM_SC];
		if (grad)
			combine_gradients(s, p, out->term, -1, grad);
		return INVAR_OK;
	}
	for (size_t g = 0; g < s->groups; g++) {
		double *term = out->term + g * TERMS, sc;

		memcpy(p->codes, b->codes, clean * sizeof(float));
		memcpy(p->codes + clean, b->codes + clean + g * copies, copies * sizeof(float));
		INV_TRY(correlate(s, p, b, p->codes, g, grad, term));
		sc = term[TERM_SC];
		out->value -= log(sc < log_floor ? log_floor : sc); /* a NaN stays one */
		if (!grad)
			continue;
		combine_gradients(s, p, term, sc > log_floor ? -1 / sc : 0, p->grad);
		if (g == 0)
			memcpy(grad, p->grad, clean * sizeof(float));
		else
			s->kernels->add(p->grad, clean, grad);
		memcpy(grad + clean + g * copies, p->grad + clean, copies * sizeof(float));
	}
	return INVAR_OK;
}

const inv_loss inv_loss_waco = {
	.name = "waco",
	.summary = "minus the sliced Wasserstein correlation of codes and F(x)",
	.terms = {"sc", "sw_xz", "sw_xx", "sw_zz"},
	.options = options,
	.shares = "no-identity",
	.several = true,
	.batch = 256,
	.codes_clean = inv_loss_keeps_identity,
	.prepare = prepare_waco,
	.evaluate = evaluate_waco,
	.release = release_waco,
};
