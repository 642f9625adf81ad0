/* SPDX-License-Identifier: Apache-2.0 */
/* encode_ranks.c - see encode_ranks.h. */
#include "encode/encode_ranks.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/rank_compare.h"
#include "base/status.h"
#include "encode/image_ranks.h"

enum { PASS = 1, END = 2 };

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory to encode with several ranks");
}

/* ---- What rank 0 says ---------------------------------------------------------------- */

static json_t *settings_json(const inv_encode_settings *o)
{
	return json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:I, s:I}",
	                 "augment", o->augment, "copies", o->copies, "views", o->views,
	                 "augment_space", o->augment_space, "side", o->side, "normalize",
	                 o->normalize, "mean", o->mean, "std", o->std, "dtype", o->dtype,
	                 "seed", (json_int_t)o->seed, "resize", (json_int_t)o->resize);
}

/* The texts view `json`. */
static inv_encode_settings read_settings(const json_t *json)
{
#define TEXT(name) json_string_value(json_object_get(json, name))
	return (inv_encode_settings){
		.augment = TEXT("augment"),
		.copies = TEXT("copies"),
		.views = TEXT("views"),
		.augment_space = TEXT("augment_space"),
		.side = TEXT("side"),
		.normalize = TEXT("normalize"),
		.mean = TEXT("mean"),
		.std = TEXT("std"),
		.dtype = TEXT("dtype"),
		.seed = (uint64_t)json_integer_value(json_object_get(json, "seed")),
		.resize = (uint64_t)json_integer_value(json_object_get(json, "resize")),
	};
#undef TEXT
}

/* Takes the document; NULL: no memory. */
static invar_status broadcast_json(const invar_context *ctx, json_t *json)
{
	char *text = json ? inv_json_text(json, 0) : NULL, *none;
	invar_status st = inv_broadcast_text(ctx, text ? text : "", &none);

	json_decref(json);
	if (!text)
		st = no_memory();
	inv_free(text);
	return st;
}

static invar_status receive_json(const invar_context *ctx, json_t **out)
{
	char *text;
	invar_status st = inv_broadcast_text(ctx, NULL, &text);

	*out = st == INVAR_OK ? json_loads(text, 0, NULL) : NULL;
	inv_free(text);
	return st == INVAR_OK && !*out ? no_memory() : st;
}

invar_status inv_encode_ranks_begin(const inv_encoding *of, const char *bank,
                                    unsigned *ranks)
{
	const invar_context *ctx = of->ctx;
	invar_status st;

	*ranks = inv_process_count(ctx);
	if (*ranks == 1)
		return INVAR_OK;
	if (of->encoder->kind->by_caller) {
		inv_log(ctx, INVAR_LOG_WARNING, "this encoder runs on rank 0 alone");
		*ranks = 1;
		return INVAR_OK;
	}
	if ((st = inv_check_shared(ctx, bank)) == INVAR_OK)
		st = inv_call(ctx, inv_encode_service.name);
	if (st != INVAR_OK) {
		*ranks = 1;
		return st;
	}
	st = broadcast_json(ctx, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "bank", bank,
	                                   "dataset", of->dataset->text, "images",
	                                   inv_options_json(of->dataset->options, 0), "encoder",
	                                   inv_options_json(of->encoder->options, 0),
	                                   "settings", settings_json(&of->opts), "about",
	                                   inv_encoding_json(of)));
	if ((st = inv_agree(ctx, st)) != INVAR_OK)
		*ranks = 1; /* the others have left the service */
	return st;
}

void inv_encode_ranks_end(const inv_encoding *of)
{
	int32_t word = END;

	inv_broadcast(of->ctx, &word, sizeof word);
}

/* ---- A pass -------------------------------------------------------------------------- */

/* The part files that rank 0 has prepared. */
static invar_status join_arrays(inv_pass *p, const char *bank, const char *split)
{
	const inv_encoding *of = p->of;
	const inv_rows_shape shape = inv_pass_shape(p, p->images->count);
	char name[INV_ARRAY_NAME];
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < p->arrays && st == INVAR_OK; i++) {
		inv_pass_array *a = &p->array[i];
		bool beside = a->beside;

		a->rows = a->beside = NULL;
		st = inv_rows_join(
			bank, split,
			inv_array_name(a->copy, p->views ? INV_ROWS_OF_VIEWS : INV_ROWS, name), shape,
			&a->rows);
		if (st == INVAR_OK && beside)
			st = inv_rows_join(bank, split, inv_array_name(a->copy, INV_BESIDE, name),
			                   inv_pass_shape_beside(of, a->copy, shape.rows), &a->beside);
	}
	return st;
}

static void leave_arrays(inv_pass *p)
{
	for (size_t i = 0; i < p->arrays; i++) {
		inv_rows_leave(p->array[i].beside, true);
		inv_rows_leave(p->array[i].rows, true);
	}
}

/* All ranks: the share of this one, then what became of all. */
static invar_status run_share(inv_pass *p, invar_status st)
{
	inv_watch watch;

	if ((st = inv_agree(p->of->ctx, st)) == INVAR_OK && !p->compared)
		st = inv_images_agree(p->of->dataset, p->images);
	if (st != INVAR_OK)
		return st;
	p->compared = true;
	watch = inv_watch_start(p->of->ctx);
	p->watch = &watch;
	p->rank = inv_process_rank(p->of->ctx);
	p->ranks = inv_process_count(p->of->ctx);
	st = inv_watch_finish(&watch, inv_pass_run(p));
	p->watch = NULL;
	return st;
}

static json_t *pass_json(const inv_pass *p, const char *split, const json_t *left_out)
{
	json_t *arrays = json_array();

	for (size_t i = 0; i < p->arrays; i++)
		json_array_append_new(arrays, json_pack("{s:i, s:b}", "copy", (int)p->array[i].copy,
		                                        "beside", p->array[i].beside != NULL));
	return json_pack("{s:s, s:O, s:b, s:I, s:I, s:I, s:o, s:b, s:b}", "split", split,
	                 "left_out", left_out, "views", p->views, "rows",
	                 (json_int_t)p->images->count, "map_rows", (json_int_t)p->map_rows,
	                 "maps", (json_int_t)inv_block_map_arrays(p->map), "arrays", arrays,
	                 "known", p->known != NULL, "compared", p->compared);
}

static invar_status call_pass(inv_pass *p, const char *bank, const char *split,
                              const json_t *left_out)
{
	inv_pass mine = *p;
	int32_t word = PASS;
	invar_status st = inv_broadcast(p->of->ctx, &word, sizeof word);

	if (st == INVAR_OK)
		st = broadcast_json(p->of->ctx, pass_json(p, split, left_out));
	if (st == INVAR_OK)
		st = join_arrays(&mine, bank, split);
	else
		mine.arrays = 0;
	st = run_share(&mine, st);
	leave_arrays(&mine);
	p->done = mine.done;
	p->encoded = mine.encoded;
	p->compared = mine.compared;
	return st;
}

/*
 * Blocks that nobody has encoded, on rank 0. A rank of an earlier run that was slow to end
 * may still have marked blocks while the ranks of this one read the map, and then their
 * shares leave blocks out.
 */
static invar_status encode_rest(inv_pass *p)
{
	inv_pass rest = *p;
	invar_status st;

	rest.done = rest.encoded = 0;
	st = inv_pass_run(&rest);
	p->encoded += rest.encoded;
	return st;
}

invar_status inv_encode_ranks_run(inv_pass *p, unsigned ranks, const char *bank,
                                  const char *split, const json_t *left_out)
{
	char text[1024];
	invar_status st, loaded;

	if (ranks == 1)
		return inv_pass_run(p);
	if ((st = inv_block_map_save(p->map)) != INVAR_OK ||
	    (st = inv_block_map_share(p->map, true)) != INVAR_OK)
		return st;
	st = call_pass(p, bank, split, left_out);
	inv_last_error_spelled(INV_MARKED, text, sizeof text);
	loaded = inv_block_map_load(p->map);
	inv_block_map_share(p->map, false);
	if (st != INVAR_OK)
		return inv_fail(st, "%s", text);
	return loaded == INVAR_OK ? encode_rest(p) : loaded;
}

/* ---- What the other ranks do --------------------------------------------------------- */

typedef struct helper {
	json_t *said;
	invar_options *options;
	invar_dataset *dataset;
	invar_encoder *encoder;
	inv_encoding of;
	inv_pipeline *walk;
	const char *bank;
} helper;

static invar_status declare_options(helper *h)
{
	invar_status st = inv_options_begin("encode", &h->options);

	if (st == INVAR_OK)
		st = inv_dataset_declare(h->options);
	if (st == INVAR_OK)
		st = inv_encoder_declare(h->options);
	if (st == INVAR_OK)
		st = inv_options_resume(h->options, json_object_get(h->said, "images"), "rank 0",
		                        true);
	if (st == INVAR_OK)
		st = inv_options_resume(h->options, json_object_get(h->said, "encoder"), "rank 0",
		                        true);
	return st;
}

/*
 * Equal descriptions: the same weights, preparation and classes. The images themselves are
 * compared before they are encoded (image_ranks.h).
 */
static invar_status compare_about(const helper *h)
{
	static const char weights[] = "weights_sha256";
	const json_t *said = json_object_get(h->said, "about");
	const char *file = inv_option_text(h->options, "weights");
	json_t *mine = inv_encoding_json(&h->of);
	bool same = mine && inv_json_same(mine, said);
	bool other_weights =
		file && mine &&
		!inv_json_same(json_object_get(mine, weights), json_object_get(said, weights));

	json_decref(mine);
	return same ? INVAR_OK : inv_fail_other_file(other_weights ? file : h->dataset->text);
}

static invar_status open_helper(helper *h, const invar_context *ctx)
{
	/* Objects keep the context to hand it back to callers, who may change it. */
	invar_context *own = (invar_context *)(uintptr_t)ctx;
	inv_encode_settings settings = read_settings(json_object_get(h->said, "settings"));
	invar_status st = declare_options(h);

	h->bank = json_string_value(json_object_get(h->said, "bank"));
	if (st == INVAR_OK)
		st = invar_dataset_open(own, json_string_value(json_object_get(h->said, "dataset")),
		                        h->options, &h->dataset);
	if (st == INVAR_OK)
		st = invar_encoder_open(own, NULL, h->options, &h->encoder);
	if (st != INVAR_OK)
		return st;
	st = inv_encoding_open(h->encoder, h->dataset, &settings, &h->of);
	if (st == INVAR_OK)
		st = compare_about(h);
	return st == INVAR_OK ? inv_pipeline_new(&h->of, &h->walk) : st;
}

static void close_helper(helper *h)
{
	inv_pipeline_free(h->walk);
	if (h->encoder)
		inv_encoding_close(&h->of);
	invar_encoder_close(h->encoder);
	invar_dataset_close(h->dataset);
	invar_options_free(h->options);
	json_decref(h->said);
}

/* The rows of a split, from what rank 0 says of them. */
static invar_status find_images(const helper *h, const json_t *said, inv_images *images,
                                uint32_t **index)
{
	const json_t *left_out = json_object_get(said, "left_out");
	const inv_images *split;
	invar_status st = inv_dataset_need_split(
		h->dataset, json_string_value(json_object_get(said, "split")), &split);

	*index = NULL;
	if (st != INVAR_OK)
		return st;
	*images = *split;
	if (json_array_size(left_out)) {
		st = inv_images_without(split, left_out, index, &images->count);
		images->index = *index;
	}
	if (st == INVAR_OK &&
	    images->count != (uint64_t)json_integer_value(json_object_get(said, "rows")))
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s: has %" PRIu64 " images here, a different number than on rank 0",
		              h->dataset->text, images->count);
	return st;
}

static char *path_of(const helper *h, const char *split, const char *name)
{
	char *folder = inv_join(h->bank, split), *path = folder ? inv_join(folder, name) : NULL;

	inv_free(folder);
	return path;
}

static invar_status open_pass(const helper *h, const json_t *said, inv_pass *p,
                              inv_npy **known)
{
	const char *split = json_string_value(json_object_get(said, "split"));
	const json_t *arrays = json_object_get(said, "arrays");
	char *map = path_of(h, split, "done.part");
	char *prints = path_of(h, split, "fingerprints.npy");
	invar_status st = map && prints ? INVAR_OK : no_memory();

	for (size_t i = 0; i < json_array_size(arrays) && i < INV_WALK_ARRAYS; i++) {
		const json_t *a = json_array_get(arrays, i);

		p->array[p->arrays++] = (inv_pass_array){
			.copy = (int32_t)json_integer_value(json_object_get(a, "copy")),
			/* join_arrays replaces it by the array of this name */
			.beside = json_is_true(json_object_get(a, "beside")) ? (inv_rows *)p : NULL};
	}
	if (st == INVAR_OK)
		st = inv_block_map_join(
			map, (uint64_t)json_integer_value(json_object_get(said, "map_rows")),
			(size_t)json_integer_value(json_object_get(said, "maps")), &p->map);
	if (st == INVAR_OK && json_is_true(json_object_get(said, "known")))
		st = inv_fingerprints_open(prints, p->images->count, known);
	p->known = *known;
	inv_free(map);
	inv_free(prints);
	return st;
}

static invar_status serve_pass(helper *h, const invar_context *ctx)
{
	inv_images images;
	uint32_t *index = NULL;
	inv_npy *known = NULL;
	inv_pass p = {.of = &h->of, .walk = h->walk, .images = &images, .stage = "encode"};
	json_t *said;
	invar_status st = receive_json(ctx, &said);

	p.compared = json_is_true(json_object_get(said, "compared"));
	p.views = json_is_true(json_object_get(said, "views"));
	if (st == INVAR_OK)
		st = find_images(h, said, &images, &index);
	if (st == INVAR_OK)
		st = open_pass(h, said, &p, &known);
	if (st == INVAR_OK)
		st = join_arrays(&p, h->bank, json_string_value(json_object_get(said, "split")));
	else
		p.arrays = 0;
	st = run_share(&p, st);
	leave_arrays(&p);
	inv_block_map_close(p.map, false);
	inv_npy_close(known);
	inv_free(index);
	json_decref(said);
	return st;
}

static invar_status serve_encode(const invar_context *ctx)
{
	helper h = {0};
	int32_t word = PASS;
	invar_status st = receive_json(ctx, &h.said);

	if (st == INVAR_OK)
		st = open_helper(&h, ctx);
	st = inv_agree(ctx, st);
	while (st == INVAR_OK && word == PASS) {
		/* A pass that failed has told rank 0, which then says END. */
		if ((st = inv_broadcast(ctx, &word, sizeof word)) == INVAR_OK && word == PASS)
			serve_pass(&h, ctx);
	}
	close_helper(&h);
	return st;
}

const inv_service inv_encode_service = {.name = "encode", .serve = serve_encode};
