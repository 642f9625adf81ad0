/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c - opening an encoder by its name or its weights, and running it. */
#include "encoders/encoder.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "base/threads.h"
#include "base/words.h"

#define MAX_CELLS ((uint64_t)1 << 30) /* of one image */

static const invar_option rows[] = {
	{"weights", INVAR_OPTION_TEXT, .meta = "FILE", .group = "Encoder",
     .help = "the encoder's weights: safetensors, a PyTorch checkpoint, a Hugging Face "
             "folder, or an ONNX model (MODEL.onnx)"},
	{"encoder", INVAR_OPTION_TEXT, .meta = "NAME", .group = "Encoder",
     .help =
         "name of the encoder (invar models list prints them; pixels needs no weights); "
         "default: recognised by its weights"},
	{"key", INVAR_OPTION_TEXT, .flags = INVAR_OPTION_EXPERT, .meta = "NAME",
     .group = "Encoder",
     .help = "which dictionary of a checkpoint with several; default: teacher"},
	{"precision", INVAR_OPTION_TEXT, "float32", .choices = "float32|bfloat16|int8",
     .meta = "WORD", .group = "Encoder",
     .help =
         "of the products in the network, on processors with AVX-512 BF16: bfloat16 is "
         "1.7 to 2 times as fast and changes features by about 1 %; int8, for "
         "convolutional "
         "networks, is faster still (ResNet-50 1.4 times, ResNet-18 1.1) and changes them "
         "by 1.5 to 5 %"},
	{0},
};

bool inv_encoder_is_in(const invar_encoder *e, const char *precision)
{
	return strcmp(inv_option_text(e->options, "precision"), precision) == 0;
}

/* The families' rows follow the ones that all have. */
static invar_status declare_rows(invar_options *o, const char *selector)
{
	const inv_encoder_kind *kind;

	INV_TRY(inv_options_add_part(o, selector, NULL, rows));
	for (size_t i = 0; (kind = inv_encoder_kind_at(i)); i++)
		INV_TRY(inv_options_add_part(o, selector, NULL, kind->options));
	return INVAR_OK;
}

invar_status inv_encoder_declare(invar_options *o)
{
	return declare_rows(o, NULL);
}

invar_status inv_encoder_declare_part(invar_options *o, const char *selector)
{
	return declare_rows(o, selector);
}

static bool lists_option(const invar_option *list, const char *name)
{
	for (; list && list->name; list++)
		if (strcmp(list->name, name) == 0)
			return true;
	return false;
}

json_t *inv_encoder_options_json(const invar_encoder *e)
{
	json_t *all = inv_options_json(e->options, 0), *value;
	const char *name;
	void *next;

	json_object_foreach_safe (all, next, name, value)
		if (strcmp(name, "weights") == 0 ||
		    (strcmp(name, "precision") == 0 && inv_encoder_is_in(e, "float32")) ||
		    !(lists_option(rows, name) || lists_option(e->kind->options, name)))
			json_object_del(all, name);
	return all;
}

/* ---- Opening ---------------------------------------------------------------------- */

static const inv_encoder_kind *find_family(const char *family)
{
	const inv_encoder_kind *kind;

	for (size_t i = 0; (kind = inv_encoder_kind_at(i)); i++)
		if (strcmp(kind->family, family) == 0)
			return kind;
	return NULL;
}

/* The user's value, else the model's; if neither sets it, the family's default. */
static invar_status fill_options(invar_encoder *e)
{
	const char *list = e->model->of.options;
	char word[INV_WORD];

	while (inv_next_word(&list, ',', word)) {
		char *value = strchr(word, '=');

		*value++ = '\0'; /* a test checks that there is one */
		if (inv_option_is_default(e->options, word))
			INV_TRY(invar_options_set(e->options, word, value));
	}
	return INVAR_OK;
}

static invar_status find_model(invar_encoder *e, bool weights)
{
	char hint[INV_HINT];
	const char *name = inv_option_text(e->options, "encoder");

	if (!name && weights)
		return INVAR_OK;
	if (!name)
		return inv_fail(INVAR_E_USE, "the encoder is missing: give its @weights, or "
		                             "@encoder pixels to use the normalised pixels");
	if (!(e->model = inv_model_find(name)))
		return inv_topic(inv_fail(INVAR_E_USE, "there is no encoder '%.60s'%s", name,
		                          inv_hint(name, inv_encoder_names(), hint)),
		                 "encoders");
	e->kind = find_family(e->model->of.family); /* a test checks that there is one */
	return INVAR_OK;
}

static invar_status recognise_family(invar_encoder *e, const inv_parameters *p)
{
	char list[256], families[256] = "";
	const inv_encoder_kind *k;
	size_t used = 0;

	for (size_t i = 0; (k = inv_encoder_kind_at(i)); i++) {
		if (!k->recognise)
			continue;
		if ((!e->kind || e->kind == k) && k->recognise(p)) {
			e->kind = k;
			return INVAR_OK;
		}
		used += (size_t)snprintf(families + used, sizeof families - used, "%s%s",
		                         used ? "|" : "", k->family);
	}
	if (e->kind)
		return inv_topic(
			inv_fail(INVAR_E_MISMATCH, "%s: its tensors do not match %s, which is a %s",
		             inv_parameters_path(p), e->model->of.name, e->kind->family),
			"weights");
	return inv_topic(
		inv_fail(INVAR_E_MISMATCH, "%s: its tensors do not match any known encoder (%s)",
	             inv_parameters_path(p), inv_list_words(families, list, sizeof list)),
		"weights");
}

/* Another network of the same family would run, but give features of a different model. */
static invar_status check_measures(const invar_encoder *e)
{
	const inv_measures *is = &e->measures, *must = &e->model->is;
	const struct {
		const char *what;
		uint64_t is, must;
		bool open;
	} measures[] = {
		{"width", is->width, e->model->of.width, false},
		{"patch", is->patch, must->patch, !must->patch},
		{"number of blocks", is->depth, must->depth, !must->depth},
		{"number of registers", is->registers, must->registers, !must->patch},
	};

	for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
		if (!measures[i].open && measures[i].is != measures[i].must)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: its %s is %" PRIu64 " but %s has %" PRIu64
			                "; use another @encoder, or leave it out to recognise the "
			                "encoder by its weights",
			                e->weights, measures[i].what, measures[i].is, e->model->of.name,
			                measures[i].must);
	return INVAR_OK;
}

/* An option that the network would silently ignore is an error. */
static invar_status check_family(const invar_encoder *e)
{
	const invar_option *row;

	for (size_t i = 0; (row = invar_options_at(e->options, i)); i++)
		if (!lists_option(rows, row->name) && !lists_option(e->kind->options, row->name) &&
		    !inv_option_is_default(e->options, row->name))
			return inv_fail(INVAR_E_USE,
			                "@%s does not apply to the encoder %s%s%s; leave it out",
			                row->name, invar_encoder_name(e), e->weights ? " in " : "",
			                e->weights ? e->weights : "");
	return INVAR_OK;
}

/* Once the family is known: its options, then the network. */
static invar_status build_network(invar_encoder *e, inv_parameters *p)
{
	const char *precision = inv_option_text(e->options, "precision");
	bool half = inv_encoder_is_in(e, "bfloat16"), bytes = inv_encoder_is_in(e, "int8");

	INV_TRY(check_family(e));
	if ((half && !e->kind->bfloat16) || (bytes && !e->kind->int8))
		return inv_fail(INVAR_E_USE, "@precision %s does not apply to the encoder %s; %s",
		                precision, invar_encoder_name(e),
		                e->kind->bfloat16 ? "use bfloat16, or leave it out"
		                                  : "leave it out");
	if ((half || bytes) && !(e->ctx->cpu & INV_CPU_BFLOAT16))
		inv_log(e->ctx, INVAR_LOG_INFO,
		        "this processor has no bfloat16 instructions: @precision %s gives the same "
		        "features as on one that has them, but is slower than float32",
		        precision);
	if (e->model)
		INV_TRY(fill_options(e));
	return e->kind->open(e, p);
}

static const inv_encoder_kind *find_file_kind(const char *weights)
{
	const inv_encoder_kind *kind;

	for (size_t i = 0; (kind = inv_encoder_kind_at(i)); i++)
		if (kind->recognise_file && kind->recognise_file(weights))
			return kind;
	return NULL;
}

static invar_status open_weights(invar_encoder *e, const char *weights)
{
	const char *key = inv_option_text(e->options, "key");
	const inv_encoder_kind *of_file = find_file_kind(weights);
	inv_parameters *p;
	invar_status st, wrong_size;

	if (of_file && e->model)
		return inv_fail(INVAR_E_USE,
		                "%s: @encoder %s names one of invar's own networks; leave it out",
		                weights, e->model->of.name);
	if (of_file) {
		e->kind = of_file;
		INV_TRY(inv_new_text(&e->weights, weights));
		return build_network(e, NULL);
	}
	INV_TRY(inv_parameters_open(e->ctx, weights, key, &p));
	INV_TRY_OR(done, inv_new_text(&e->weights, inv_parameters_path(p)));
	INV_TRY_OR(done, recognise_family(e, p));
	st = build_network(e, p);
	/* Also after a failure: that it is another network says more than which tensor is
	 * missing. */
	if (e->model && e->measures.width && (wrong_size = check_measures(e)) != INVAR_OK)
		st = wrong_size;
done:
	inv_parameters_close(p);
	return st;
}

static invar_status open_encoder(invar_encoder *e, const char *weights)
{
	const char *key = inv_option_text(e->options, "key");
	const inv_known_model *m;

	INV_TRY(find_model(e, weights != NULL));
	if (e->kind && !e->kind->recognise && weights)
		return inv_fail(INVAR_E_USE, "%s: the encoder %s takes no weights; leave them out",
		                weights, e->model->of.name);
	if (e->kind && e->kind->recognise && !weights)
		return inv_fail(INVAR_E_USE,
		                "the encoder %s needs its weights: give @weights FILE%s%s",
		                e->model->of.name, e->model->of.file ? ", published as " : "",
		                e->model->of.file ? e->model->of.file : "");
	if (key && !weights)
		return inv_fail(INVAR_E_USE,
		                "@key %.60s: the encoder %s has no checkpoint; leave it out", key,
		                e->model->of.name);
	INV_TRY(weights ? open_weights(e, weights) : build_network(e, NULL));
	if (!e->model)
		return INVAR_OK;
	m = &e->model->of;
	e->input.stretch = false;
	e->input.resize = m->resize;
	e->input.side = m->side;
	e->input.filter = strcmp(m->filter, "bicubic") == 0 ? INV_BICUBIC : INV_BILINEAR;
	e->input.normalisation = m->normalize;
	return INVAR_OK;
}

invar_status invar_encoder_open(invar_context *ctx, const char *weights,
                                const invar_options *o, invar_encoder **out)
{
	invar_encoder *e;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&e));
	e->ctx = ctx;
	INV_TRY_OR(fail, inv_options_pick(o, inv_encoder_declare, &e->options));
	if (!weights)
		weights = inv_option_text(e->options, "weights");
	INV_TRY_OR(fail, open_encoder(e, weights));
	*out = e;
	return INVAR_OK;
fail:
	invar_encoder_close(e);
	return st;
}

void invar_encoder_close(invar_encoder *e)
{
	if (!e)
		return;
	inv_encoder_plan_free(e->last);
	if (e->kind && e->kind->close)
		e->kind->close(e);
	inv_free(e->weights);
	inv_free(e->weights_sha256);
	invar_options_free(e->options);
	inv_free(e);
}

const char *invar_encoder_name(const invar_encoder *e)
{
	if (e->name)
		return e->name;
	return e->model ? e->model->of.name : e->kind->family;
}

const char *invar_encoder_about(const invar_encoder *e)
{
	return e->about;
}

uint32_t invar_encoder_side(const invar_encoder *e)
{
	return (uint32_t)e->input.side;
}

invar_status inv_encoder_sha256(invar_encoder *e, const char **hex)
{
	char digits[INV_SHA256_HEX];

	*hex = NULL;
	if (e->weights && !e->weights_sha256) {
		INV_TRY(inv_sha256_file(e->weights, digits));
		INV_TRY(inv_new_text(&e->weights_sha256, digits));
	}
	*hex = e->weights_sha256;
	return INVAR_OK;
}

/* ---- Running ---------------------------------------------------------------------- */

invar_status inv_encoder_plan_new(const invar_encoder *e, inv_extent shape,
                                  inv_encoder_plan **out)
{
	inv_encoder_plan *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	*p = (inv_encoder_plan){.encoder = e, .shape = shape};
	INV_TRY_OR(fail, e->kind->plan(p));
	*out = p;
	return INVAR_OK;
fail:
	inv_encoder_plan_free(p);
	return st;
}

invar_status inv_encoder_plan_run(const inv_encoder_plan *p, const float *x, size_t n,
                                  unsigned thread, float *out)
{
	return p->encoder->kind->run(p, x, n, thread, out);
}

void inv_encoder_plan_free(inv_encoder_plan *p)
{
	if (!p)
		return;
	if (p->encoder->kind->unplan)
		p->encoder->kind->unplan(p);
	inv_free(p);
}

/* The previous call's plan is reused if the shape is the same. */
static invar_status plan_for(invar_encoder *e, const uint64_t shape[4])
{
	uint64_t cells = 0, all;
	inv_extent one;

	if (!shape[1] || !shape[2] || !shape[3] ||
	    inv_mul_overflow(shape[1], shape[2], &cells) ||
	    inv_mul_overflow(cells, shape[3], &cells) || cells > MAX_CELLS ||
	    inv_mul_overflow(cells, shape[0], &all) || all > SIZE_MAX / sizeof(float))
		return inv_fail(INVAR_E_USE,
		                "images of shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
		                "] cannot be encoded: an image must have 1 to %" PRIu64 " values",
		                shape[0], shape[1], shape[2], shape[3], MAX_CELLS);
	one = (inv_extent){(size_t)shape[1], (size_t)shape[2], (size_t)shape[3]};
	if (e->last && e->last->shape.c == one.c && e->last->shape.h == one.h &&
	    e->last->shape.w == one.w)
		return INVAR_OK;
	inv_encoder_plan_free(e->last);
	return inv_encoder_plan_new(e, one, &e->last);
}

invar_status invar_encoder_width(invar_encoder *e, const uint64_t shape[4], uint64_t *width)
{
	*width = 0;
	INV_TRY(plan_for(e, shape));
	*width = e->last->width;
	return INVAR_OK;
}

/*
 * How images are distributed. Whole groups come first, equally many for each thread; then
 * the remaining images, less than a group for each thread, in equal blocks; and those that
 * would leave at least half of the threads idle are computed by all threads together.
 */
typedef struct distribution {
	const inv_encoder_plan *plan;
	const float *x;
	size_t groups;       /* whole ones */
	size_t each, blocks; /* images of a block; the last may have fewer */
	size_t rest;         /* images for all threads together */
	size_t images;       /* all before the rest */
	float *out;
} distribution;

static const float *pixels_of(const distribution *j, size_t i)
{
	return j->x + i * inv_extent_cells(j->plan->shape);
}

static float *feature_of(const distribution *j, size_t i)
{
	return j->out + i * j->plan->width;
}

static void distribute(distribution *j, size_t images, size_t threads)
{
	bool together = j->plan->encoder->kind->run_together != NULL;
	size_t group = j->plan->group, left;

	j->groups = together ? images / (group * threads) * threads : images / group;
	left = images - j->groups * group;
	if (together && 2 * (left % threads) <= threads)
		j->rest = left % threads;
	j->images = images - j->rest;
	j->each = together ? inv_blocks(left - j->rest, threads) : left;
	j->blocks = j->each ? inv_blocks(left - j->rest, j->each) : 0;
}

/* One group, or one block. */
static invar_status run_some(void *user, size_t i, unsigned thread)
{
	const distribution *j = user;
	size_t group = j->plan->group, block = i < j->groups ? 0 : i - j->groups;
	size_t first = i < j->groups ? i * group : j->groups * group + block * j->each;
	size_t max = i < j->groups ? group : j->each, left = j->images - first;

	return inv_encoder_plan_run(j->plan, pixels_of(j, first), left < max ? left : max,
	                            thread, feature_of(j, first));
}

invar_status invar_encoder_run(invar_encoder *e, const float *nchw, const uint64_t shape[4],
                               float *out)
{
	distribution j = {.x = nchw, .out = out};
	size_t group, end = (size_t)shape[0];

	INV_TRY(plan_for(e, shape));
	j.plan = e->last;
	group = j.plan->group;
	distribute(&j, end, e->ctx->threads);
	if (e->kind->by_caller) { /* on this thread */
		for (size_t i = 0; i < j.groups + j.blocks; i++)
			INV_TRY(run_some(&j, i, 0));
		return INVAR_OK;
	}
	INV_TRY(inv_parallel_try(e->ctx, j.groups + j.blocks, run_some, &j));
	for (size_t i = j.images; i < end; i += group) /* on all threads together */
		INV_TRY(e->kind->run_together(j.plan, pixels_of(&j, i),
		                              end - i < group ? end - i : group,
		                              feature_of(&j, i)));
	return INVAR_OK;
}
