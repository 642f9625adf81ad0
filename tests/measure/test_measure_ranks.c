/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_measure_ranks.c - all pairs of points, dealt out to several ranks: the same bits as
 * on one. The sizes are just above what rank 0 would keep for itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/processes.h"
#include "base/rng.h"
#include "math/neighbours.h"
#include "math/places.h"
#include "measure/structure.h"
#include "ranks.h"
#include "support.h"

enum { N = 1501, W = 120, QUERIES = 1203, K = 7, VIEWS = 4 };

static float gallery[N * W], queries[QUERIES * W], codes[N * W];
static uint32_t classes[N], own[QUERIES], asked[QUERIES];

typedef struct outcome {
	uint32_t index[QUERIES * K], others[N * K];
	double squared[QUERIES * K], others_squared[N * K];
	double same[QUERIES], different[QUERIES];
	inv_place l2[QUERIES], cosine[QUERIES], views[QUERIES / VIEWS];
	inv_structure structure;
} outcome;

static void fill(void)
{
	inv_stream s = inv_stream_of(7, "test", 0);

	inv_fill_normal(&s, 0, gallery, N * W);
	inv_fill_normal(&s, 1, queries, QUERIES * W);
	inv_fill_normal(&s, 2, codes, N * W);
	memcpy(queries + W, gallery + 5 * W, W * sizeof *gallery); /* a tie with itself */
	memcpy(gallery + 9 * W, gallery + 5 * W, W * sizeof *gallery);
	for (size_t i = 0; i < N; i++)
		classes[i] = (uint32_t)(i % 11);
	for (size_t i = 0; i < QUERIES; i++) {
		own[i] = (uint32_t)i;
		asked[i] = (uint32_t)(i % 11);
	}
}

static void search_neighbours(const invar_context *ctx, outcome *out)
{
	inv_neighbours *p, *by_class;

	assert_int_equal(inv_neighbours_new(ctx, gallery, N, W, NULL, K, &p), INVAR_OK);
	assert_int_equal(inv_neighbours_new(ctx, gallery, N, W, classes, 1, &by_class),
	                 INVAR_OK);
	inv_nearest(p, queries, QUERIES, out->index, out->squared);
	/* In two parts: the second starts within the gallery. */
	inv_nearest_others(p, 0, 3, out->others, out->others_squared);
	inv_nearest_others(p, 3, N - 3, out->others + 3 * K, out->others_squared + 3 * K);
	inv_nearest_by_class(by_class, queries, asked, own, QUERIES, out->same, out->different);
	inv_neighbours_free(p);
	inv_neighbours_free(by_class);
}

static void search_ranks(const invar_context *ctx, inv_distance distance, size_t views,
                         inv_place *out)
{
	const inv_gallery g = {gallery, N, W, classes};
	const inv_place_queries q = {queries, QUERIES / views, own, asked, true};
	inv_places *p;

	assert_int_equal(inv_places_new(ctx, &g, distance, views, &p), INVAR_OK);
	inv_places_find(p, &q, out);
	inv_places_free(p);
}

static outcome *measure(inv_processes *p, unsigned threads)
{
	outcome *out = calloc(1, sizeof *out);
	invar_context *ctx;

	assert_non_null(out);
	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	inv_context_share(ctx, p);
	search_neighbours(ctx, out);
	search_ranks(ctx, INV_L2, 1, out->l2);
	search_ranks(ctx, INV_COSINE, 1, out->cosine);
	search_ranks(ctx, INV_COSINE, VIEWS, out->views);
	for (int again = 0; again < 2; again++)
		assert_int_equal(
			inv_structure_measure(ctx, gallery, W, codes, W / 2, N, &out->structure),
			INVAR_OK);
	assert_int_equal(
		inv_structure_measure(ctx, gallery, W, codes, 16 * W, N / 16, &out->structure),
		INVAR_OK);
	assert_int_equal(inv_structure_measure(ctx, gallery, W, codes, W, N, &out->structure),
	                 INVAR_OK);
	invar_context_free(ctx);
	return out;
}

static void compare(const outcome *a, const outcome *b)
{
	assert_memory_equal(a->index, b->index, sizeof a->index);
	assert_memory_equal(a->squared, b->squared, sizeof a->squared);
	assert_memory_equal(a->others, b->others, sizeof a->others);
	assert_memory_equal(a->others_squared, b->others_squared, sizeof a->others_squared);
	assert_memory_equal(a->same, b->same, sizeof a->same);
	assert_memory_equal(a->different, b->different, sizeof a->different);
	assert_memory_equal(a->l2, b->l2, sizeof a->l2);
	assert_memory_equal(a->cosine, b->cosine, sizeof a->cosine);
	assert_memory_equal(a->views, b->views, sizeof a->views);
	assert_memory_equal(&a->structure, &b->structure, sizeof a->structure);
}

static outcome *alone; /* what a single process measures */

/* Every rank has all results. */
static invar_status measure_and_compare(inv_processes *p)
{
	outcome *dealt = measure(p, 1);

	compare(alone, dealt);
	free(dealt);
	return INVAR_OK;
}

static void any_number_of_ranks_gives_the_same_bits(void **state)
{
	(void)state;
	fill();
	alone = measure(NULL, 1);
	for (unsigned ranks = 2; ranks <= 4; ranks++) {
		inv_processes *p = test_ranks_open(ranks, measure_and_compare);

		assert_int_equal(test_ranks_close(p, measure_and_compare(p)), INVAR_OK);
	}
	free(alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_ranks_gives_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
