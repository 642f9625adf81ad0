/* SPDX-License-Identifier: Apache-2.0 */
/* gallery_ranks.c - see gallery_ranks.h. */
#include "math/gallery_ranks.h"

#include "base/memory.h"

/* Products of a search, below which rank 0 is faster alone: a few milliseconds. */
#define WORTH_IT ((double)(1 << 27))

enum { SEARCH, FORGET };

static const inv_gallery_kind *const kinds[] = {&inv_gallery_neighbours,
                                                &inv_gallery_rankings};

/* What rank 0 says of a search. */
typedef struct search_header {
	uint32_t what, kind;
	uint64_t id;
	uint32_t fresh, gallery_classes; /* fresh: the gallery follows */
	uint32_t rows, classes, own, flag;
	inv_gallery_shape shape;
	uint64_t count, first;
	uint64_t out_bytes[INV_GALLERY_OUTPUTS];
} search_header;

/* A gallery on another rank than 0. */
typedef struct held_gallery {
	struct held_gallery *next;
	uint64_t id;
	const inv_gallery_kind *kind;
	float *rows;
	uint32_t *classes;
	void *object;
} held_gallery;

static void free_held(held_gallery *g)
{
	if (g->object)
		g->kind->close(g->object);
	inv_free(g->rows);
	inv_free(g->classes);
	inv_free(g);
}

/* The link to a gallery that this rank keeps; to NULL if it has none of this number. */
static held_gallery **find_held(held_gallery **first, uint64_t id)
{
	while (*first && (*first)->id != id)
		first = &(*first)->next;
	return first;
}

static void forget(held_gallery **first, uint64_t id)
{
	held_gallery **at = find_held(first, id), *g = *at;

	if (!g)
		return;
	*at = g->next;
	free_held(g);
}

static void forget_all(void *kept)
{
	for (held_gallery *g = kept, *next; g; g = next) {
		next = g->next;
		free_held(g);
	}
}

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for a gallery");
}

/* ---- Steps of both sides ------------------------------------------------------------- */

/* One block for each rank, in the order of the ranks. */
static inv_dealt dealt_of(const invar_context *ctx, uint64_t count, size_t bytes)
{
	unsigned ranks = inv_process_count(ctx);

	return (inv_dealt){count, (count + ranks - 1) / ranks, bytes};
}

static invar_status deal_queries(const invar_context *ctx, const search_header *h,
                                 const inv_gallery_queries *q)
{
	size_t row = h->shape.views * h->shape.w * sizeof(float);
	invar_status st = INVAR_OK;

	if (h->rows)
		st = inv_deal(ctx, dealt_of(ctx, h->count, row), q->rows,
		              (void *)(uintptr_t)q->rows);
	if (st == INVAR_OK && h->classes)
		st = inv_deal(ctx, dealt_of(ctx, h->count, sizeof *q->classes), q->classes,
		              (void *)(uintptr_t)q->classes);
	if (st == INVAR_OK && h->own)
		st = inv_deal(ctx, dealt_of(ctx, h->count, sizeof *q->own), q->own,
		              (void *)(uintptr_t)q->own);
	return st;
}

static invar_status collect_results(const invar_context *ctx, const search_header *h,
                                    const inv_gallery_queries *q)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < INV_GALLERY_OUTPUTS && st == INVAR_OK; i++)
		if (h->out_bytes[i])
			st = inv_collect(ctx, dealt_of(ctx, h->count, h->out_bytes[i]), q->out[i],
			                 q->out[i]);
	return st;
}

/* The first query of this rank and how many follow. */
static uint64_t share_of(const invar_context *ctx, uint64_t count, uint64_t *first)
{
	inv_dealt d = dealt_of(ctx, count, 1);

	*first = inv_process_rank(ctx) * d.per_block;
	return inv_dealt_count(ctx, d);
}

/* ---- Rank 0 -------------------------------------------------------------------------- */

static search_header header_of(const inv_gallery_search *s)
{
	search_header h = {.what = SEARCH,
	                   .id = *s->id,
	                   .fresh = !*s->id,
	                   .gallery_classes = s->classes != NULL,
	                   .rows = s->q.rows != NULL,
	                   .classes = s->q.classes != NULL,
	                   .own = s->q.own != NULL,
	                   .flag = s->q.flag,
	                   .shape = s->shape,
	                   .count = s->q.count,
	                   .first = s->q.first};

	while (kinds[h.kind] != s->kind)
		h.kind++;
	for (size_t i = 0; i < INV_GALLERY_OUTPUTS; i++)
		h.out_bytes[i] = s->q.out[i] ? s->out_bytes[i] : 0;
	return h;
}

static invar_status send_gallery(const invar_context *ctx, const inv_gallery_search *s)
{
	uint64_t cells = s->shape.n * s->shape.w;
	invar_status st = inv_broadcast(ctx, (void *)(uintptr_t)s->rows, cells * sizeof(float));

	if (st == INVAR_OK && s->classes)
		st = inv_broadcast(ctx, (void *)(uintptr_t)s->classes,
		                   s->shape.n * sizeof *s->classes);
	return st == INVAR_OK ? inv_agree(ctx, INVAR_OK) : st;
}

/* The steps are those of serve_search. */
static invar_status search_by_all(const invar_context *ctx, const inv_gallery_search *s,
                                  search_header *h)
{
	inv_gallery_queries mine = s->q;
	uint64_t first;
	invar_status st = inv_broadcast(ctx, h, sizeof *h);

	if (st == INVAR_OK)
		st = inv_agree(ctx, INVAR_OK);
	if (st == INVAR_OK && h->fresh)
		st = send_gallery(ctx, s);
	if (st == INVAR_OK)
		st = deal_queries(ctx, h, &s->q);
	if (st != INVAR_OK)
		return st;
	mine.count = share_of(ctx, s->q.count, &first);
	s->kind->run(s->object, &mine);
	return collect_results(ctx, h, &s->q);
}

void inv_gallery_search_run(const invar_context *ctx, const inv_gallery_search *s)
{
	static _Atomic uint64_t named;
	double products = (double)s->shape.n * (double)s->shape.w * (double)s->shape.views *
	                  (double)s->q.count;
	search_header h = header_of(s);

	if (inv_process_count(ctx) == 1 || products < WORTH_IT ||
	    inv_call(ctx, inv_gallery_service.name) != INVAR_OK) {
		s->kind->run(s->object, &s->q);
		return;
	}
	if (h.fresh)
		*s->id = h.id = ++named;
	if (search_by_all(ctx, s, &h) == INVAR_OK)
		return;
	if (h.fresh)
		*s->id = 0; /* nobody has it */
	s->kind->run(s->object, &s->q);
}

void inv_gallery_forget(const invar_context *ctx, uint64_t id)
{
	search_header h = {.what = FORGET, .id = id};

	if (id && inv_process_count(ctx) > 1 &&
	    inv_call(ctx, inv_gallery_service.name) == INVAR_OK)
		inv_broadcast(ctx, &h, sizeof h);
}

/* ---- The other ranks ----------------------------------------------------------------- */

typedef struct query_memory {
	float *rows;
	uint32_t *classes, *own;
	void *out[INV_GALLERY_OUTPUTS];
} query_memory;

static bool allocate_queries(const search_header *h, uint64_t count, query_memory *m)
{
	bool fine = true;

	*m = (query_memory){0};
	if (h->rows)
		fine = (m->rows =
		            inv_alloc((count * h->shape.views * h->shape.w + 1) * sizeof *m->rows));
	if (fine && h->classes)
		fine = (m->classes = inv_alloc((count + 1) * sizeof *m->classes));
	if (fine && h->own)
		fine = (m->own = inv_alloc((count + 1) * sizeof *m->own));
	for (size_t i = 0; i < INV_GALLERY_OUTPUTS && fine; i++)
		if (h->out_bytes[i])
			fine = (m->out[i] = inv_alloc((count + 1) * h->out_bytes[i]));
	return fine;
}

static void free_queries(query_memory *m)
{
	inv_free(m->rows);
	inv_free(m->classes);
	inv_free(m->own);
	for (size_t i = 0; i < INV_GALLERY_OUTPUTS; i++)
		inv_free(m->out[i]);
}

static held_gallery *allocate_gallery(const search_header *h)
{
	held_gallery *g = inv_calloc(1, sizeof *g);

	if (!g)
		return NULL;
	g->id = h->id;
	g->kind = kinds[h->kind];
	g->rows = inv_alloc(h->shape.n * h->shape.w * sizeof *g->rows);
	g->classes = h->gallery_classes ? inv_alloc(h->shape.n * sizeof *g->classes) : NULL;
	if (g->rows && (g->classes || !h->gallery_classes))
		return g;
	free_held(g);
	return NULL;
}

static invar_status receive_gallery(const invar_context *ctx, const search_header *h,
                                    held_gallery *g)
{
	uint64_t cells = h->shape.n * h->shape.w;
	invar_status st = inv_broadcast(ctx, g->rows, cells * sizeof *g->rows);

	if (st == INVAR_OK && g->classes)
		st = inv_broadcast(ctx, g->classes, h->shape.n * sizeof *g->classes);
	if (st != INVAR_OK)
		return st;
	st = g->kind->open(ctx, &h->shape, g->rows, g->classes, &g->object);
	return inv_agree(ctx, st);
}

static invar_status run_queries(const invar_context *ctx, const search_header *h,
                                held_gallery *g, const query_memory *m)
{
	inv_gallery_queries q = {.rows = m->rows,
	                         .classes = m->classes,
	                         .own = m->own,
	                         .flag = h->flag,
	                         .out = {m->out[0], m->out[1]}};
	invar_status st = deal_queries(ctx, h, &q);

	if (st != INVAR_OK)
		return st;
	q.count = share_of(ctx, h->count, &q.first);
	q.first += h->first;
	g->kind->run(g->object, &q);
	return collect_results(ctx, h, &q);
}

static invar_status serve_search(const invar_context *ctx, held_gallery **held,
                                 const search_header *h)
{
	held_gallery *g = h->fresh ? allocate_gallery(h) : *find_held(held, h->id);
	uint64_t first, count = share_of(ctx, h->count, &first);
	query_memory m;
	bool fine = allocate_queries(h, count, &m) && g;
	invar_status st = inv_agree(ctx, fine ? INVAR_OK : no_memory());

	if (st == INVAR_OK && h->fresh)
		st = receive_gallery(ctx, h, g);
	if (g && h->fresh && st == INVAR_OK) {
		g->next = *held;
		*held = g;
	} else if (g && h->fresh) {
		free_held(g);
	}
	if (st == INVAR_OK)
		st = run_queries(ctx, h, g, &m);
	free_queries(&m);
	return st;
}

static invar_status serve_gallery(const invar_context *ctx)
{
	void **kept = inv_service_kept(ctx);
	held_gallery *held = *kept;
	search_header h;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st != INVAR_OK)
		return st;
	if (h.what == SEARCH)
		st = serve_search(ctx, &held, &h);
	else
		forget(&held, h.id);
	*kept = held;
	return st;
}

const inv_service inv_gallery_service = {
	.name = "gallery", .serve = serve_gallery, .forget = forget_all};
