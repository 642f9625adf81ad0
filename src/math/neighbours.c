/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbours.c - exact nearest neighbours after a filter in small integers.
 *
 * A row x becomes 16-bit integers a with x - centre = scale a + rest;
 * the centre is the gallery's mean, scale is the row's own, and |rest| is known
 * exactly. Integers multiply twice as fast as floats, their sums are exact in any order,
 * and the triangle inequality bounds the error: a distance between the rounded rows is
 * within |rest_q| + |rest_g| = E of the true one.
 *
 * A query keeps a shortlist. If k rounded rows are within r, the true k-th distance is at
 * most r + E, and a row whose rounded distance is above r + 2E is strictly farther: it is
 * dropped, and so is everything above that limit from then on. The remaining rows (k and a
 * few more) are measured directly, in double and by differences. Equal rows fall on the
 * same side, so ties are decided by the direct distances alone.
 *
 * |a| stays below REACH, so a sum of products stays below 2^31 by Cauchy and
 * Schwarz. Lengths are counted in units of the longest gallery row, so that the
 * floats of the filter neither overflow nor vanish.
 *
 * Where only the number of rows nearer than some distance is wanted (inv_tell_apart), a row
 * whose rounded distance is farther than E from it is decided, and no list is kept.
 *
 * Queries are cut into blocks, one thread per block; a block is compared with the whole
 * gallery, packed once, DOT_COLS rows (a panel) and CHUNK values at a time: a chunk of a
 * panel stays in the L1 cache while all queries of the block use it.
 */
#include "math/neighbours.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/threads.h"
#include "math/kernels.h"

enum {
	ROWS = INV_DOT_ROWS,
	COLS = INV_DOT_COLS,
	CHUNK = 256,       /* pairs of values */
	MAX_GROUPS = 32,   /* of ROWS queries in a block */
	BLOCK_KB = 256,    /* packed queries of a block, in the L2 cache */
	LISTS_KB = 4096,   /* shortlists of a block */
	SPARE = 30,        /* size of a shortlist beyond 2k */
	LINE = 64,         /* bytes of a cache line */
	CENTRE_BLOCK = 512 /* rows per partial sum of the mean */
};

static const double reach = 32000;
static const double longest = 1e18; /* in units; the square must fit a float */

typedef struct candidate {
	float near; /* rounded distance, squared, in units */
	uint32_t row;
} candidate;

typedef struct neighbour {
	double squared;
	uint32_t row;
} neighbour;

typedef struct shortlist {
	size_t k, count, settled;
	float limit;
	candidate *maybe; /* [room_of(k)] */
	neighbour *best;  /* [k + room_of(k)], the settled ones, nearest first */
} shortlist;

/* A row as integers: what the filter needs besides them. */
typedef struct rounded {
	float scale, square;
	double length, rest;
} rounded;

typedef struct query {
	const float *row;
	rounded is;
	uint32_t label, leave_out;
	double error;      /* E */
	double slack;      /* max error of the filter's float arithmetic */
	shortlist list[2]; /* one for all, or one for the own class and one for others */
	float nearer;      /* below: certainly nearer than the distance asked for */
	uint32_t count;    /* of such rows */
} query;

typedef struct scratch {
	float *direction; /* [width] */
	int16_t *rows;    /* [COLS, 2 pairs]: rows about to be packed */
	int16_t *packed;  /* [groups][pairs][ROWS][2] */
	int32_t *sums;    /* [groups][ROWS][COLS] */
	query *queries;   /* [groups ROWS] */
} scratch;

struct inv_neighbours {
	const invar_context *ctx;
	struct inv_kernels kernels;
	const float *rows; /* [n, w] */
	const uint32_t *classes;
	uint64_t n;
	size_t w, pairs, panels, k, groups;
	bool cosine;       /* directions are compared, of two numbers more */
	size_t width;      /* of what is compared */
	float *centre;     /* [width] */
	double unit, rest; /* longest row, largest rest of the gallery */
	inv_arena arena;
	int16_t *packed;         /* [panels][pairs][COLS][2] */
	float *scales, *squares; /* [panels COLS] */
	uint32_t *labels;        /* [panels COLS] */
	double *lengths, *rests; /* [panels COLS] */
	double *partial;         /* [blocks, width] for the mean */
	scratch *scratch;        /* [threads] */
};

static size_t room_of(size_t k)
{
	return 2 * k + SPARE;
}

/* ---- Rows as integers ------------------------------------------------------ */

/*
 * A row as it is compared: itself, or its direction. Where there is none, one of two more
 * numbers is 1, which puts it at right angles to all directions and to the other side's
 * rows of zeros.
 */
static const float *seen(const inv_neighbours *p, const float *row, bool asked,
                         float *direction)
{
	double length, by;

	if (!p->cosine)
		return row;
	length = sqrt(p->kernels.dot(row, row, p->w));
	by = length > 0 ? 1 / length : 0;
	for (size_t i = 0; i < p->w; i++)
		direction[i] = (float)(row[i] * by);
	direction[p->w] = !asked && !(length > 0);
	direction[p->w + 1] = asked && !(length > 0);
	return direction;
}

static const float *gallery_row(const inv_neighbours *p, uint64_t i, unsigned thread)
{
	return seen(p, p->rows + i * p->w, false, p->scratch[thread].direction);
}

static rounded round_row(const inv_neighbours *p, const float *row, int16_t *out)
{
	double length = sqrt(p->kernels.squared_distance(row, p->centre, p->width));
	double scale = length > 0 ? length / reach : 1, square = 0;
	double rest = sqrt(p->kernels.quantise(row, p->centre, p->width, scale, out));

	for (size_t i = 0; i < p->width; i++)
		square += (double)(out[i] * out[i]);
	/* The last term covers the roundings of double arithmetic. */
	return (rounded){.scale = (float)(scale / p->unit),
	                 .square = (float)(scale / p->unit * (scale / p->unit) * square),
	                 .length = length / p->unit,
	                 .rest = (rest + 1e-9 * rest + 1e-12 * length) / p->unit};
}

/* `count` rows of 16-bit values to [pairs][count][2]; a pair moves as one. */
static void interleave(const int16_t *rows, size_t pairs, size_t count, int16_t *packed)
{
	for (size_t k = 0; k < pairs; k++)
		for (size_t i = 0; i < count; i++)
			memcpy(packed + 2 * (k * count + i), rows + 2 * (i * pairs + k),
			       2 * sizeof *packed);
}

static void sum_rows(void *user, size_t block, unsigned thread)
{
	inv_neighbours *p = user;
	double *sum = p->partial + block * p->width;
	uint64_t first = block * CENTRE_BLOCK;
	uint64_t end = first + CENTRE_BLOCK < p->n ? first + CENTRE_BLOCK : p->n;

	memset(sum, 0, p->width * sizeof *sum);
	for (uint64_t i = first; i < end; i++) {
		const float *row = gallery_row(p, i, thread);

		for (size_t k = 0; k < p->width; k++)
			sum[k] += row[k];
	}
}

static void measure_row(void *user, size_t block, unsigned thread)
{
	inv_neighbours *p = user;
	uint64_t first = block * CENTRE_BLOCK;
	uint64_t end = first + CENTRE_BLOCK < p->n ? first + CENTRE_BLOCK : p->n;

	for (uint64_t i = first; i < end; i++)
		p->lengths[i] = sqrt(
			p->kernels.squared_distance(gallery_row(p, i, thread), p->centre, p->width));
}

static void pack_panel(void *user, size_t panel, unsigned thread)
{
	inv_neighbours *p = user;
	int16_t *rows = p->scratch[thread].rows;

	memset(rows, 0, COLS * 2 * p->pairs * sizeof *rows);
	for (size_t i = 0; i < COLS; i++) {
		size_t at = panel * COLS + i;
		rounded r = {0};

		if (at < p->n)
			r = round_row(p, gallery_row(p, at, thread), rows + i * 2 * p->pairs);
		p->scales[at] = r.scale;
		p->squares[at] = r.square;
		p->rests[at] = r.rest;
		p->labels[at] = p->classes && at < p->n ? p->classes[at] : 0;
	}
	interleave(rows, p->pairs, COLS, p->packed + panel * p->pairs * COLS * 2);
}

/* Any centre is correct; near the mean, rows are short and their rests small. */
static void pack_gallery(inv_neighbours *p)
{
	size_t blocks = inv_blocks(p->n, CENTRE_BLOCK);

	inv_parallel(p->ctx, blocks, sum_rows, p);
	for (size_t b = 1; b < blocks; b++)
		for (size_t k = 0; k < p->width; k++)
			p->partial[k] += p->partial[b * p->width + k];
	for (size_t k = 0; k < p->width; k++)
		p->centre[k] = (float)(p->partial[k] / (double)p->n);
	inv_parallel(p->ctx, blocks, measure_row, p);
	p->unit = p->rest = 0;
	for (uint64_t i = 0; i < p->n; i++)
		p->unit = fmax(p->unit, p->lengths[i]);
	if (p->unit == 0)
		p->unit = 1;
	inv_parallel(p->ctx, p->panels, pack_panel, p);
	for (uint64_t i = 0; i < p->n; i++)
		p->rest = fmax(p->rest, p->rests[i]);
}

/* ---- Shortlists --------------------------------------------------------------------- */

/* Rounded up to a float, so that a limit never drops what it must keep. */
static float limit_of(double distance, double slack)
{
	double squared = distance * distance * (1 + 1e-9) + slack;

	return squared < FLT_MAX ? nextafterf((float)squared, INFINITY) : INFINITY;
}

/* Moves the k-th smallest to place k - 1, smaller ones before it (Hoare). */
static float select_kth(candidate *c, size_t count, size_t k)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		float pivot = c[low + (high - low) / 2].near;
		size_t i = low, j = high;

		for (;;) {
			candidate keep;

			while (c[i].near < pivot)
				i++;
			while (c[j].near > pivot)
				j--;
			if (i >= j)
				break;
			keep = c[i];
			c[i++] = c[j];
			c[j--] = keep;
		}
		if (k - 1 <= j)
			high = j;
		else
			low = j + 1;
	}
	return c[k - 1].near;
}

static int by_distance(const void *a, const void *b)
{
	const neighbour *x = a, *y = b;

	if (x->squared != y->squared)
		return x->squared < y->squared ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The true distance of everything on the list; the k nearest stay, marked as settled. */
static void settle(const inv_neighbours *p, const query *q, shortlist *l)
{
	for (size_t i = 0; i < l->count; i++) {
		uint32_t row = l->maybe[i].row;

		l->best[l->settled++] = (neighbour){
			p->kernels.squared_distance(q->row, p->rows + row * p->w, p->w), row};
	}
	l->count = 0;
	qsort(l->best, l->settled, sizeof *l->best, by_distance);
	if (l->settled < l->k)
		return;
	l->settled = l->k;
	l->limit = fminf(
		l->limit, limit_of(sqrt(l->best[l->k - 1].squared) / p->unit + q->error, q->slack));
}

/* Drops what cannot be among the k nearest. */
static void prune(const query *q, shortlist *l)
{
	size_t kept = 0;

	if (l->count >= l->k) {
		double kth = select_kth(l->maybe, l->count, l->k);
		double distance = sqrt(fmax(kth, 0) + q->slack) + 2 * q->error;

		l->limit = fminf(l->limit, limit_of(distance, q->slack));
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->maybe[i].near <= l->limit)
			l->maybe[kept++] = l->maybe[i];
	l->count = kept;
}

/* ---- A block of queries against the gallery ------------------------------ */

typedef struct search {
	inv_neighbours *p;
	const float *q;
	const uint32_t *classes, *leave_out; /* NULL: k nearest of all */
	bool others;                         /* queries are gallery rows from `first` on */
	uint64_t first, m;
	size_t block; /* queries */
	uint32_t *index;
	double *squared, *own, *other;
	const double *near, *far; /* rows are told apart, and nothing else is asked */
	inv_undecided_fn *visit;
	void *user;
	uint32_t *counts;
} search;

static void start_block(const search *s, scratch *t, uint64_t first, size_t count)
{
	const inv_neighbours *p = s->p;

	for (size_t at = 0; at < count; at += ROWS) {
		memset(t->rows, 0, ROWS * 2 * p->pairs * sizeof *t->rows);
		for (size_t j = at; j < at + ROWS && j < count; j++) {
			query *q = &t->queries[j];
			uint64_t i = first + j;
			double span;

			q->row = s->q + i * p->w;
			q->is = round_row(p, seen(p, q->row, true, t->direction),
			                  t->rows + (j - at) * 2 * p->pairs);
			q->label = s->classes ? s->classes[i] : 0;
			q->leave_out = s->others      ? (uint32_t)(s->first + i)
			               : s->leave_out ? s->leave_out[i]
			                              : UINT32_MAX;
			span = q->is.length + 1; /* no gallery row is longer than 1 */
			q->error = span < longest ? q->is.rest + p->rest : INFINITY;
			/* At most eight roundings, each within 2^-24 of (|q| + |g|)^2; twice that. */
			q->slack = 0x1p-20 * span * span;
			for (int which = 0; which < 2; which++) {
				shortlist *l = &q->list[which];

				l->k = s->classes ? 1 : p->k;
				l->count = l->settled = 0;
				l->limit = INFINITY;
			}
			if (s->visit) { /* the rounded distances beyond which a row is decided */
				double near = s->near[i] / p->unit - q->error;
				double below = near * near * (1 - 1e-9) - q->slack;

				q->count = 0;
				q->nearer = near > 0 ? nextafterf((float)below, -INFINITY) : -INFINITY;
				q->list[0].limit = limit_of(s->far[i] / p->unit + q->error, q->slack);
			}
		}
		interleave(t->rows, p->pairs, ROWS, t->packed + at * 2 * p->pairs);
	}
}

/* The next chunk is prefetched piece by piece, one with each group of queries. */
static void multiply_panel(const inv_neighbours *p, scratch *t, size_t panel, size_t groups)
{
	size_t first = panel * p->pairs * COLS * 2, end = p->panels * p->pairs * COLS * 2;
	size_t chunk = (p->pairs < CHUNK ? p->pairs : CHUNK) * COLS * 2;

	memset(t->sums, 0, groups * ROWS * COLS * sizeof *t->sums);
	for (size_t from = 0; from < p->pairs; from += CHUNK) {
		size_t pairs = p->pairs - from < CHUNK ? p->pairs - from : CHUNK;

		for (size_t g = 0; g < groups; g++) {
			size_t next = first + (from + pairs) * COLS * 2;
			size_t at = next + chunk * g / groups, to = next + chunk * (g + 1) / groups;

			for (; at < to && at < end; at += LINE / sizeof *p->packed)
				__builtin_prefetch(p->packed + at, 0, 2);
			p->kernels.dot_tile(t->packed + (g * p->pairs + from) * ROWS * 2,
			                    p->packed + first + from * COLS * 2, pairs,
			                    t->sums + g * ROWS * COLS);
		}
	}
}

/*
 * For one query and one panel: adds rows not above the limits to the lists, or counts those
 * that are nearer and visits the others.
 */
static void sift(const search *s, uint64_t i, query *q, const int32_t *sums, size_t panel)
{
	const inv_neighbours *p = s->p;
	size_t first = panel * COLS;
	inv_near t = {2 * q->is.scale, q->is.square, q->label, q->list[0].limit,
	              q->list[s->classes ? 1 : 0].limit};
	float near[COLS];
	unsigned bits = p->kernels.near_columns(&t, sums, p->scales + first, p->squares + first,
	                                        p->labels + first, near);

	if (p->n - first < COLS)
		bits &= (1u << (p->n - first)) - 1;
	for (; bits; bits &= bits - 1) {
		unsigned j = (unsigned)__builtin_ctz(bits);
		uint32_t row = (uint32_t)(first + j);
		bool foreign = s->classes && p->labels[row] != q->label;

		if (s->visit && near[j] < q->nearer) {
			q->count++;
		} else if (s->visit) {
			s->visit(s->user, i, row);
		} else if (row != q->leave_out) {
			shortlist *l = &q->list[foreign];

			/* A row too long for floats is never filtered: its limit stays infinite. */
			l->maybe[l->count++] = (candidate){isfinite(near[j]) ? near[j] : 0, row};
			if (l->count < room_of(l->k))
				continue;
			prune(q, l);
			if (l->count > room_of(l->k) / 2) /* ties, or practically ties */
				settle(p, q, l);
		}
	}
}

static void search_block(void *user, size_t block, unsigned thread)
{
	const search *s = user;
	const inv_neighbours *p = s->p;
	scratch *t = &p->scratch[thread];
	uint64_t first = block * s->block;
	size_t count = s->m - first < s->block ? (size_t)(s->m - first) : s->block;

	start_block(s, t, first, count);
	for (size_t panel = 0; panel < p->panels; panel++) {
		multiply_panel(p, t, panel, inv_blocks(count, ROWS));
		for (size_t i = 0; i < count; i++)
			sift(s, first + i, &t->queries[i], t->sums + i * COLS, panel);
	}
	for (uint64_t i = first; i < first + count; i++) {
		query *q = &t->queries[i - first];
		shortlist *l = q->list;

		if (s->visit) {
			s->counts[i] = q->count;
			continue;
		}
		for (int which = 0; which < (s->classes ? 2 : 1); which++) {
			prune(q, &l[which]);
			settle(p, q, &l[which]);
		}
		if (s->classes) {
			s->own[i] = l[0].settled ? l[0].best[0].squared : INFINITY;
			s->other[i] = l[1].settled ? l[1].best[0].squared : INFINITY;
		}
		for (size_t j = 0; j < p->k && !s->classes; j++) {
			s->index[i * p->k + j] = l[0].best[j].row;
			s->squared[i * p->k + j] = l[0].best[j].squared;
		}
	}
}

/* A few blocks per thread; the result does not depend on how many. */
static void run_share(search *s)
{
	size_t share = inv_blocks(s->m, 4 * (size_t)s->p->ctx->threads);
	size_t groups = inv_blocks(share, ROWS);

	s->block = ROWS * (groups < s->p->groups ? groups : s->p->groups);
	if (s->m)
		inv_parallel(s->p->ctx, inv_blocks(s->m, s->block), search_block, s);
}

/*
 * Each rank searches for its share of the queries, and all get the results, unless that is
 * too little. A failed exchange fails again in the next collective call (processes.h).
 */
static void run_search(search *s)
{
	const inv_neighbours *p = s->p;
	inv_shares shares = inv_shares_of(p->ctx, s->m, 1);
	size_t first = inv_own_first(&shares);
	search mine = *s;

	if (shares.ranks == 1 ||
	    (double)p->n * (double)p->w * (double)s->m < INV_WORTH_DEALING) {
		run_share(s);
		return;
	}
	mine.m = inv_own_count(&shares);
	mine.q += first * p->w;
	mine.first += first;
	mine.classes = s->classes ? s->classes + first : NULL;
	mine.leave_out = s->leave_out ? s->leave_out + first : NULL;
	mine.own = s->own ? s->own + first : NULL;
	mine.other = s->own ? s->other + first : NULL;
	mine.index = s->index ? s->index + first * p->k : NULL;
	mine.squared = s->squared ? s->squared + first * p->k : NULL;
	run_share(&mine);
	if (s->own) {
		(void)inv_gather(p->ctx, &shares, s->own, sizeof *s->own);
		(void)inv_gather(p->ctx, &shares, s->other, sizeof *s->other);
		return;
	}
	(void)inv_gather(p->ctx, &shares, s->index, p->k * sizeof *s->index);
	if (s->squared)
		(void)inv_gather(p->ctx, &shares, s->squared, p->k * sizeof *s->squared);
}

void inv_nearest_by_class(inv_neighbours *p, const float *q, const uint32_t *classes,
                          const uint32_t *leave_out, uint64_t m, double *own, double *other)
{
	if (p->ctx->cpu)
		run_search(&(search){.p = p,
		                     .q = q,
		                     .classes = classes,
		                     .leave_out = leave_out,
		                     .m = m,
		                     .own = own,
		                     .other = other});
	else
		inv_nearest_by_class_ref(p->rows, p->classes, p->n, p->w, q, classes, leave_out, m,
		                         own, other);
}

void inv_nearest(inv_neighbours *p, const float *q, uint64_t m, uint32_t *index,
                 double *squared)
{
	if (p->ctx->cpu)
		run_search(&(search){.p = p, .q = q, .m = m, .index = index, .squared = squared});
	else
		inv_nearest_ref(p->rows, p->n, p->w, q, m, p->k, index, squared);
}

void inv_nearest_others(inv_neighbours *p, uint64_t first, uint64_t m, uint32_t *index,
                        double *squared)
{
	if (p->ctx->cpu)
		run_search(&(search){.p = p,
		                     .q = p->rows + first * p->w,
		                     .others = true,
		                     .first = first,
		                     .m = m,
		                     .index = index,
		                     .squared = squared});
	else
		inv_nearest_others_ref(p->rows, p->n, p->w, first, m, p->k, index, squared);
}

void inv_tell_apart(inv_neighbours *p, const float *q, uint64_t m, const double *near,
                    const double *far, inv_undecided_fn *visit, void *user,
                    uint32_t *counts)
{
	assert(p->ctx->cpu);
	run_share(&(search){.p = p,
	                    .q = q,
	                    .m = m,
	                    .near = near,
	                    .far = far,
	                    .visit = visit,
	                    .user = user,
	                    .counts = counts});
}

/* ---- Making and freeing ---------------------------------------------------------- */

/* Of the gallery, and of each thread. */
static invar_status allocate_gallery(inv_neighbours *p)
{
	inv_arena *a = &p->arena;
	size_t slots = p->panels * COLS, queries = p->groups * ROWS, size = room_of(p->k);

	for (int round = 0; round < 2; round++) {
		p->centre = inv_arena_take(a, p->width, sizeof *p->centre);
		p->packed = inv_arena_take(a, slots * 2 * p->pairs, sizeof *p->packed);
		p->scales = inv_arena_take(a, slots, sizeof *p->scales);
		p->squares = inv_arena_take(a, slots, sizeof *p->squares);
		p->labels = inv_arena_take(a, slots, sizeof *p->labels);
		p->lengths = inv_arena_take(a, slots, sizeof *p->lengths);
		p->rests = inv_arena_take(a, slots, sizeof *p->rests);
		p->partial = inv_arena_take(a, inv_blocks(p->n, CENTRE_BLOCK) * p->width,
		                            sizeof *p->partial);
		p->scratch = inv_arena_take(a, p->ctx->threads, sizeof *p->scratch);
		for (unsigned t = 0; t < p->ctx->threads; t++) {
			scratch made = {inv_arena_take(a, p->cosine ? p->width : 0, sizeof(float)),
			                inv_arena_take(a, COLS * 2 * p->pairs, sizeof(int16_t)),
			                inv_arena_take(a, queries * 2 * p->pairs, sizeof(int16_t)),
			                inv_arena_take(a, queries * COLS, sizeof(int32_t)),
			                inv_arena_take(a, queries, sizeof(query))};
			candidate *maybe = inv_arena_take(a, queries * 2 * size, sizeof *maybe);
			neighbour *best = inv_arena_take(a, queries * 2 * (p->k + size), sizeof *best);

			for (size_t i = 0; round && i < 2 * queries; i++) {
				shortlist *l = &made.queries[i / 2].list[i % 2];

				l->maybe = maybe + i * size;
				l->best = best + i * (p->k + size);
			}
			if (round)
				p->scratch[t] = made;
		}
		if (!round)
			INV_TRY(inv_arena_commit(a));
	}
	return INVAR_OK;
}

/* Copies what is known of a gallery, and packs it. */
static invar_status make_gallery(const inv_neighbours *known, inv_neighbours **out)
{
	size_t pack, lists, room, groups;
	inv_neighbours *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	*p = *known;
	p->width = p->cosine ? p->w + 2 : p->w;
	p->pairs = inv_blocks(p->width, 2);
	p->panels = inv_blocks(p->n, COLS);
	inv_kernels_init(&p->kernels, p->ctx->cpu);
	/* As many groups of queries as the L2 cache and the memory for lists allow. */
	room = room_of(p->k);
	pack = ROWS * 2 * p->pairs * sizeof(int16_t);
	lists = 2 * ROWS * (room * sizeof(candidate) + (p->k + room) * sizeof(neighbour));
	groups = BLOCK_KB * 1024 / pack;
	groups = LISTS_KB * 1024 / lists < groups ? LISTS_KB * 1024 / lists : groups;
	p->groups = groups < 1 ? 1 : groups < MAX_GROUPS ? groups : MAX_GROUPS;
	if (p->ctx->cpu) { /* the plain loops need nothing */
		INV_TRY_OR(fail, allocate_gallery(p));
		pack_gallery(p);
	}
	*out = p;
	return INVAR_OK;
fail:
	inv_neighbours_free(p);
	return st;
}

invar_status inv_neighbours_new(const invar_context *ctx, const float *rows, uint64_t n,
                                size_t w, const uint32_t *classes, size_t k,
                                inv_neighbours **out)
{
	const inv_neighbours known = {
		.ctx = ctx, .rows = rows, .classes = classes, .n = n, .w = w, .k = k};

	return make_gallery(&known, out);
}

invar_status inv_neighbours_new_split(const invar_context *ctx, const float *rows,
                                      uint64_t n, size_t w, bool cosine,
                                      inv_neighbours **out)
{
	const inv_neighbours known = {
		.ctx = ctx, .rows = rows, .n = n, .w = w, .cosine = cosine, .k = 1};

	return make_gallery(&known, out);
}

void inv_neighbours_free(inv_neighbours *p)
{
	if (p)
		inv_arena_free(&p->arena);
	inv_free(p);
}
