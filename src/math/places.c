/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.c - full rankings of a gallery, exact although distances are rounded.
 *
 * Where only the place of the own row is asked for, its distance is computed first, and the
 * filter of neighbours.c counts the rows that are certainly nearer; the few rows that it
 * cannot decide are measured directly.
 *
 * A ranking by class needs the order of all rows. For a block of queries the products with
 * the whole gallery are computed tile by tile in double, with L2 relative to the gallery's
 * mean so that little cancels; the resulting distance v, as a float, is within v 2^-23 +
 * slack of the direct distance. Two rows whose distances differ by more than both errors
 * are in order. The few that do not are measured directly: the own row's rivals
 * (place_own), and in the ranking by class the runs of rows that cannot be told apart and
 * that mix relevant and irrelevant rows (settle_run). Rows of one kind may swap places
 * without changing a figure.
 *
 * For queries of several rows the same is done with the smallest distance of the rows, by
 * image as well: the smallest of several values, each within its error of the direct one,
 * is within the largest of these errors of the smallest direct one. (The filter of
 * neighbours.c would count a gallery row once for each row of the query.)
 *
 * A ranking by class sorts all rows: by radix, 11 bits at a time, since distances are
 * not negative and the bits of such floats sort like their values. It keeps row order among
 * equal ones.
 */
#include "math/places.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/threads.h"
#include "math/kernels.h"
#include "math/linalg.h"
#include "math/neighbours.h"
#include "math/openblas.h"

enum {
	MAX_BLOCK = 128,  /* queries of a block */
	MIN_BLOCK = 8,    /* below, products are slow */
	BLOCK_MB = 32,    /* distances of a block */
	TILE = 256,       /* gallery rows whose products are computed at once */
	MEAN_BLOCK = 512, /* rows per partial sum of the mean */
	OWN_BLOCK = 4096, /* queries whose own rows are placed at once */
	OWN_PART = 64,    /* of them, per thread */
	DIGIT = 11,       /* bits */
	DIGITS = 3,
	BUCKETS = 1 << DIGIT
};

static const double rounding = 0x1p-23;

typedef struct exact {
	double distance;
	uint32_t row;
} exact;

/* Scratch memory of one thread. */
typedef struct scratch {
	double *queries;        /* [block, w] */
	double *tile;           /* [TILE, w] */
	double *products;       /* [block, TILE] */
	double *lengths;        /* [block], as the products see them */
	double *longest;        /* [block]: the largest of a query's rows */
	float *near;            /* [block, n] */
	uint64_t *keys, *other; /* [n] */
	exact *direct;          /* [n] */
	uint32_t *counts;       /* [DIGITS, BUCKETS] */
} scratch;

struct inv_places {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_gallery g;
	inv_distance distance;
	size_t views;          /* rows of a query */
	inv_neighbours *split; /* if only own rows are placed, of queries of one row */
	size_t block;
	inv_arena arena;
	double *centre;    /* [w]; zeros for cosine */
	double *lengths;   /* [n], as the products see them */
	double *partial;   /* [blocks, w] */
	double longest;    /* largest |g| */
	scratch *scratch;  /* [threads] */
	double *distances; /* [n]: for the plain loops */
	/* Of own rows alone: */
	exact *mine;            /* [OWN_BLOCK] */
	double *closer, *wider; /* [OWN_BLOCK]: distances that decide */
	uint32_t *nearer;       /* [OWN_BLOCK] */
};

/* One query in its block. */
typedef struct ask {
	const inv_places *p;
	scratch *s;
	const float *row;              /* [views, w] */
	double norm[INV_PLACES_VIEWS]; /* |q| of the rows themselves, for cosine */
	double slack; /* max error of products, besides the rounding to float */
	const float *near;
} ask;

/* ---- The gallery ------------------------------------------------------------------ */

static void sum_block(void *user, size_t block, unsigned thread)
{
	inv_places *p = user;
	double *sum = p->partial + block * p->g.w;
	uint64_t first = block * MEAN_BLOCK;
	uint64_t end = first + MEAN_BLOCK < p->g.n ? first + MEAN_BLOCK : p->g.n;

	(void)thread;
	memset(sum, 0, p->g.w * sizeof *sum);
	for (uint64_t i = first; i < end; i++)
		for (size_t k = 0; k < p->g.w; k++)
			sum[k] += p->g.rows[i * p->g.w + k];
}

/* Rows as the products see them, and their lengths; `stride` floats apart. */
static void widen(const inv_places *p, const float *rows, size_t stride, size_t count,
                  double *out, double *lengths)
{
	size_t w = p->g.w;

	for (size_t i = 0; i < count; i++) {
		double square = 0;

		for (size_t k = 0; k < w; k++)
			out[i * w + k] = rows[i * stride + k] - p->centre[k];
		for (size_t k = 0; lengths && k < w; k++)
			square += out[i * w + k] * out[i * w + k];
		if (lengths)
			lengths[i] = sqrt(square);
	}
}

static void measure_tile(void *user, size_t tile, unsigned thread)
{
	inv_places *p = user;
	uint64_t first = tile * TILE, left = p->g.n - first;

	widen(p, p->g.rows + first * p->g.w, p->g.w, left < TILE ? left : TILE,
	      p->scratch[thread].tile, p->lengths + first);
}

/* Any centre is correct; near the mean, products are small and so are their errors. */
static void prepare_gallery(inv_places *p)
{
	size_t blocks = inv_blocks(p->g.n, MEAN_BLOCK), w = p->g.w;

	memset(p->centre, 0, w * sizeof *p->centre);
	if (p->distance == INV_L2) {
		inv_parallel(p->ctx, blocks, sum_block, p);
		for (size_t b = 0; b < blocks; b++)
			for (size_t k = 0; k < w; k++)
				p->centre[k] += p->partial[b * w + k];
		for (size_t k = 0; k < w; k++)
			p->centre[k] /= (double)p->g.n;
	}
	inv_parallel(p->ctx, inv_blocks(p->g.n, TILE), measure_tile, p);
	p->longest = 0;
	for (uint64_t i = 0; i < p->g.n; i++)
		p->longest = fmax(p->longest, p->lengths[i]);
}

/* ---- Distances --------------------------------------------------------------------- */

/*
 * Distances are not below 0, so that the bits of floats sort like their values. near holds
 * what earlier rows of the query have left, at first INFINITY.
 */
static void from_products_l2(const double *products, double length, const double *lengths,
                             size_t count, float *near)
{
	for (size_t j = 0; j < count; j++) {
		double v = length * length + lengths[j] * lengths[j] - 2 * products[j];
		float distance = (float)(v > 0 ? v : 0);

		near[j] = distance < near[j] ? distance : near[j];
	}
}

static void from_products_cosine(const double *products, double length,
                                 const double *lengths, size_t count, float *near)
{
	for (size_t j = 0; j < count; j++) {
		double norm = length * lengths[j];
		double v = norm > 0 ? 1 - products[j] / norm : 1;
		float distance = (float)(v > 0 ? v : 0);

		near[j] = distance < near[j] ? distance : near[j];
	}
}

/* Of one row of each query. */
static void fill_near(const inv_places *p, scratch *s, size_t count)
{
	inv_dgemm_spec spec = {.m = count, .k = p->g.w, .transpose_b = true};

	for (uint64_t first = 0; first < p->g.n; first += TILE) {
		spec.n = p->g.n - first < TILE ? p->g.n - first : TILE;
		widen(p, p->g.rows + first * p->g.w, p->g.w, spec.n, s->tile, NULL);
		inv_dgemm(p->ctx, &spec, s->queries, s->tile, s->products);
		for (size_t i = 0; i < count; i++)
			(p->distance == INV_L2 ? from_products_l2 : from_products_cosine)(
				s->products + i * spec.n, s->lengths[i], p->lengths + first, spec.n,
				s->near + i * p->g.n + first);
	}
}

/* A query of rows [views, w], with their lengths for cosine. */
static ask ask_for(const inv_places *p, const float *rows)
{
	ask a = {.p = p, .row = rows};

	for (size_t v = 0; v < p->views && p->distance == INV_COSINE; v++) {
		const float *q = rows + v * p->g.w;

		a.norm[v] = sqrt(p->kernels.dot(q, q, p->g.w));
	}
	return a;
}

static double direct_distance(const ask *a, uint32_t row)
{
	const inv_places *p = a->p;
	size_t w = p->g.w;
	const float *g = p->g.rows + (uint64_t)row * w;
	double nearest = INFINITY, length = 0;

	if (p->distance == INV_COSINE)
		length = sqrt(p->kernels.dot(g, g, w));
	for (size_t v = 0; v < p->views; v++) {
		const float *q = a->row + v * w;
		double norm = a->norm[v] * length, distance = 1;

		if (p->distance == INV_L2)
			distance = p->kernels.squared_distance(q, g, w);
		else if (norm > 0)
			distance = 1 - p->kernels.dot(q, g, w) / norm;
		nearest = fmin(nearest, distance);
	}
	return nearest;
}

static int by_distance(const void *a, const void *b)
{
	const exact *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool is_nearer(const ask *a, uint32_t row, const exact *than)
{
	exact rival = {direct_distance(a, row), row};

	return by_distance(&rival, than) < 0;
}

/* ---- The own row -------------------------------------------------------------------- */

/* Rows below `low` are certainly nearer, those above `high` certainly farther. */
static uint32_t place_own(const ask *a, uint32_t own)
{
	const exact mine = {direct_distance(a, own), own};
	double least = (mine.distance - a->slack) / (1 + rounding);
	double most = (mine.distance + a->slack) / (1 - rounding);
	float low = least > 0 ? nextafterf((float)fmin(least, FLT_MAX), -INFINITY) : 0;
	float high = most < FLT_MAX ? nextafterf((float)most, INFINITY) : INFINITY;
	uint64_t n = a->p->g.n;
	uint32_t nearer = 0, not_farther = 0, rivals = 0;

	for (uint64_t j = 0; j < n; j++) {
		nearer += a->near[j] < low;
		not_farther += a->near[j] <= high;
	}
	if (not_farther > nearer + 1) /* the own row is always between */
		for (uint64_t j = 0; j < n; j++)
			if (a->near[j] >= low && a->near[j] <= high && j != own)
				rivals += is_nearer(a, (uint32_t)j, &mine);
	return nearer + rivals + 1;
}

/* ---- The class ---------------------------------------------------------------------- */

/* A key is the bits of a distance, then the row. */
static double value_of(uint64_t key)
{
	uint32_t bits = (uint32_t)(key >> 32);
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static size_t digit_of(uint64_t key, int digit)
{
	return (size_t)(key >> (32 + digit * DIGIT)) & (BUCKETS - 1);
}

/* Sorts the rows with a class by distance, and returns how many there are. */
static size_t sort_rows(const ask *a, uint64_t left_out)
{
	const inv_places *p = a->p;
	scratch *s = a->s;
	size_t n = 0;

	memset(s->counts, 0, DIGITS * BUCKETS * sizeof *s->counts);
	for (uint64_t j = 0; j < p->g.n; j++) {
		uint32_t bits;
		uint64_t key;

		if (p->g.classes[j] == INV_PLACES_NO_CLASS || j == left_out)
			continue;
		memcpy(&bits, &a->near[j], sizeof bits);
		key = s->keys[n++] = (uint64_t)bits << 32 | j;
		for (int d = 0; d < DIGITS; d++)
			s->counts[d * BUCKETS + digit_of(key, d)]++;
	}
	for (int d = 0; d < DIGITS; d++) {
		uint32_t *place = s->counts + d * BUCKETS, sum = 0;
		uint64_t *sorted = s->other;

		for (size_t b = 0; b < BUCKETS; b++) {
			uint32_t count = place[b];

			place[b] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			sorted[place[digit_of(s->keys[i], d)]++] = s->keys[i];
		s->other = s->keys;
		s->keys = sorted;
	}
	return n;
}

/* Orders a run of rows that may be equally near by their direct distances. */
static void settle_run(const ask *a, size_t first, size_t end, uint32_t class)
{
	scratch *s = a->s;
	size_t relevant = 0;

	for (size_t i = first; i < end; i++)
		relevant += a->p->g.classes[(uint32_t)s->keys[i]] == class;
	if (relevant == 0 || relevant == end - first)
		return;
	for (size_t i = first; i < end; i++) {
		uint32_t row = (uint32_t)s->keys[i];

		s->direct[i - first] = (exact){direct_distance(a, row), row};
	}
	qsort(s->direct, end - first, sizeof *s->direct, by_distance);
	for (size_t i = first; i < end; i++)
		s->keys[i] = s->direct[i - first].row;
}

static void place_class(const ask *a, uint32_t class, uint64_t left_out, inv_place *out)
{
	size_t n = sort_rows(a, left_out);
	const uint64_t *keys = a->s->keys;
	uint64_t hits = 0;
	double sum = 0;

	for (size_t first = 0, end; first < n; first = end) {
		/* A run: each row may be as near as the previous one. */
		for (end = first + 1; end < n; end++) {
			double before = value_of(keys[end - 1]), next = value_of(keys[end]);

			if (next - before > 2 * (next * rounding + a->slack))
				break;
		}
		if (end - first > 1)
			settle_run(a, first, end, class);
		for (size_t i = first; i < end; i++) {
			if (a->p->g.classes[(uint32_t)keys[i]] != class)
				continue;
			if (!hits)
				out->first = (uint32_t)i + 1;
			sum += (double)++hits / (double)(i + 1);
		}
	}
	out->precision = hits ? sum / (double)hits : NAN;
}

/* ---- Blocks of queries --------------------------------------------------------------- */

typedef struct place_search {
	inv_places *p;
	const inv_place_queries *q;
	size_t block;
	inv_place *out;
} place_search;

static void place_block(void *user, size_t block, unsigned thread)
{
	const place_search *j = user;
	const inv_place_queries *q = j->q;
	inv_places *p = j->p;
	scratch *s = &p->scratch[thread];
	size_t w = p->g.w;
	uint64_t first = block * j->block;
	size_t count = q->count - first < j->block ? (size_t)(q->count - first) : j->block;

	for (size_t i = 0; i < count * p->g.n; i++)
		s->near[i] = INFINITY;
	memset(s->longest, 0, count * sizeof *s->longest);
	for (size_t v = 0; v < p->views; v++) {
		widen(p, q->rows + (first * p->views + v) * w, p->views * w, count, s->queries,
		      s->lengths);
		for (size_t i = 0; i < count; i++)
			s->longest[i] = fmax(s->longest[i], s->lengths[i]);
		fill_near(p, s, count);
	}
	for (uint64_t at = 0; at < count; at++) {
		uint64_t i = first + at, own = q->leave_own_out && q->own ? q->own[i] : UINT64_MAX;
		double fraction = (double)(w + 16) * 0x1p-50, span = s->longest[at] + p->longest;
		/*
		 * Slack, relative to the square of the sum of both lengths: a sum of w products is
		 * off by at most w 2^-53 times the sum of their magnitudes, which the lengths
		 * bound; the lengths and the direct distance each have an error of the same size.
		 * At least twice the total, plus what a float close to 0 loses.
		 */
		ask a = ask_for(p, q->rows + i * p->views * w);

		a.s = s;
		a.slack = fraction * (p->distance == INV_L2 ? span * span : 1) + FLT_TRUE_MIN;
		a.near = s->near + at * p->g.n;
		j->out[i] = (inv_place){.precision = NAN};
		if (q->own)
			j->out[i].own = place_own(&a, q->own[i]);
		if (q->classes && q->classes[i] != INV_PLACES_NO_CLASS)
			place_class(&a, q->classes[i], own, &j->out[i]);
	}
}

/* ---- Own rows alone ------------------------------------------------------------------ */

typedef struct own_search {
	inv_places *p;
	const float *rows;
	const uint32_t *own;
	size_t count;
	inv_place *out;
} own_search;

/*
 * The own distance, and what decides: direct distances are off by at most w + 16 roundings,
 * relative to themselves or to 1, and the directions that the filter compares by one
 * rounding to float each.
 */
static void measure_own(void *user, size_t block, unsigned thread)
{
	const own_search *s = user;
	inv_places *p = s->p;
	double error = (double)(p->g.w + 16) * 0x1p-51;
	size_t end = (block + 1) * OWN_PART < s->count ? (block + 1) * OWN_PART : s->count;

	(void)thread;
	for (size_t i = block * OWN_PART; i < end; i++) {
		ask a = ask_for(p, s->rows + i * p->g.w);
		double d = direct_distance(&a, s->own[i]);

		p->mine[i] = (exact){d, s->own[i]};
		s->out[i] = (inv_place){.precision = NAN};
		if (p->distance == INV_L2) {
			p->closer[i] = sqrt(d * (1 - error));
			p->wider[i] = sqrt(d * (1 + error));
		} else {
			p->closer[i] = sqrt(2 * fmax(d - error, 0)) - 0x1p-22;
			p->wider[i] = sqrt(2 * (d + error)) + 0x1p-22;
		}
	}
}

static void compare_own(void *user, uint64_t i, uint32_t row)
{
	const own_search *s = user;
	const exact *mine = &s->p->mine[i];
	ask a = ask_for(s->p, s->rows + i * s->p->g.w);

	s->out[i].own += row != mine->row && is_nearer(&a, row, mine);
}

/* Each process finds places for its share of the queries, as in neighbours.c. */
void inv_places_find(inv_places *p, const inv_place_queries *q, inv_place *out)
{
	inv_shares shares = inv_shares_of(p->ctx, q->count, 1);
	double products = (double)p->g.n * (double)p->g.w * (double)p->views * (double)q->count;
	bool deal = shares.ranks > 1 && products >= INV_WORTH_DEALING;
	size_t first = deal ? inv_own_first(&shares) : 0, block;
	inv_place_queries mine = *q;
	inv_place *to = out + first;

	assert(q->own || !p->split);
	if (!p->ctx->cpu) {
		inv_places_ref(&p->g, p->distance, p->views, q, p->distances, out);
		return;
	}
	mine.count = deal ? inv_own_count(&shares) : q->count;
	mine.rows += first * p->views * p->g.w;
	mine.own = q->own ? q->own + first : NULL;
	mine.classes = q->classes ? q->classes + first : NULL;

	/* A few blocks per thread; the result does not depend on how many. */
	block = inv_blocks(mine.count, 4 * (size_t)p->ctx->threads);
	block = block < p->block ? block : p->block;
	if (!p->split && mine.count)
		inv_parallel(p->ctx, inv_blocks(mine.count, block), place_block,
		             &(place_search){p, &mine, block, to});
	for (uint64_t at = 0; p->split && at < mine.count; at += OWN_BLOCK) {
		size_t count = mine.count - at < OWN_BLOCK ? mine.count - at : OWN_BLOCK;
		own_search s = {p, mine.rows + at * p->g.w, mine.own + at, count, to + at};

		inv_parallel(p->ctx, inv_blocks(count, OWN_PART), measure_own, &s);
		inv_tell_apart(p->split, s.rows, count, p->closer, p->wider, compare_own, &s,
		               p->nearer);
		for (size_t i = 0; i < count; i++)
			s.out[i].own += p->nearer[i] + 1;
	}
	if (deal)
		(void)inv_gather(p->ctx, &shares, out, sizeof *out);
}

/* ---- Making and freeing -------------------------------------------------------------- */

/* What own rows alone need, or rankings by class, or the plain loops. */
static void take_memory(inv_places *p, bool own_alone)
{
	inv_arena *a = &p->arena;
	size_t w = p->g.w, n = p->g.n;

	if (!p->ctx->cpu) {
		p->distances = inv_arena_take(a, n, sizeof *p->distances);
		return;
	}
	if (own_alone) {
		p->mine = inv_arena_take(a, OWN_BLOCK, sizeof *p->mine);
		p->closer = inv_arena_take(a, OWN_BLOCK, sizeof *p->closer);
		p->wider = inv_arena_take(a, OWN_BLOCK, sizeof *p->wider);
		p->nearer = inv_arena_take(a, OWN_BLOCK, sizeof *p->nearer);
		return;
	}
	p->centre = inv_arena_take(a, w, sizeof *p->centre);
	p->lengths = inv_arena_take(a, n, sizeof *p->lengths);
	p->partial = inv_arena_take(a, inv_blocks(n, MEAN_BLOCK) * w, sizeof *p->partial);
	p->scratch = inv_arena_take(a, p->ctx->threads, sizeof *p->scratch);
	for (unsigned t = 0; t < p->ctx->threads; t++) {
		scratch made = {.queries = inv_arena_take(a, p->block * w, sizeof(double)),
		                .tile = inv_arena_take(a, TILE * w, sizeof(double)),
		                .products = inv_arena_take(a, p->block * TILE, sizeof(double)),
		                .lengths = inv_arena_take(a, p->block, sizeof(double)),
		                .longest = inv_arena_take(a, p->block, sizeof(double)),
		                .near = inv_arena_take(a, p->block * n, sizeof(float)),
		                .keys = inv_arena_take(a, n, sizeof(uint64_t)),
		                .other = inv_arena_take(a, n, sizeof(uint64_t)),
		                .direct = inv_arena_take(a, n, sizeof(exact)),
		                .counts = inv_arena_take(a, DIGITS * BUCKETS, sizeof(uint32_t))};

		if (a->base)
			p->scratch[t] = made;
	}
}

invar_status inv_places_new(const invar_context *ctx, const inv_gallery *g,
                            inv_distance distance, size_t views, inv_places **out)
{
	bool own_alone = !g->classes && views == 1;
	size_t block = (size_t)BLOCK_MB * 1024 * 1024 / sizeof(float) / g->n;
	inv_places *p;
	invar_status st;

	*out = NULL;
	assert(views && views <= INV_PLACES_VIEWS);
	INV_TRY(inv_new(&p));
	block = block < MIN_BLOCK ? MIN_BLOCK : block < MAX_BLOCK ? block : MAX_BLOCK;
	*p = (inv_places){
		.ctx = ctx, .g = *g, .distance = distance, .views = views, .block = block};
	inv_kernels_init(&p->kernels, ctx->cpu);
	if (!own_alone)
		INV_TRY_OR(fail, inv_openblas_need_for(ctx));
	take_memory(p, own_alone);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	take_memory(p, own_alone);
	if (ctx->cpu && own_alone)
		INV_TRY_OR(fail, inv_neighbours_new_split(ctx, g->rows, g->n, g->w,
		                                          distance == INV_COSINE, &p->split));
	else if (ctx->cpu)
		prepare_gallery(p);
	*out = p;
	return INVAR_OK;
fail:
	inv_places_free(p);
	return st;
}

void inv_places_free(inv_places *p)
{
	if (!p)
		return;
	inv_neighbours_free(p->split);
	inv_arena_free(&p->arena);
	inv_free(p);
}
