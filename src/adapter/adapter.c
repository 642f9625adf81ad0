/* SPDX-License-Identifier: Apache-2.0 */
/* adapter.c - opening, applying and describing adapters. */
#include "adapter/adapter.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/test_stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "formats/npy.h"
#include "math/kernels.h"
#include "math/unit_rows.h"
#include "nn/packed_layers.h"
#include "run/run.h"

enum { MAX_WIDTH = 1 << 24, UNIT_BLOCK = 4096 /* rows that are normalised at once */ };

/* ---- Blocks and tensors --------------------------------------------------------- */

void inv_mlp_tensors(inv_mlp_shape s, const float *params, const char *prefix,
                     char names[INV_MLP_BLOCKS][32], inv_tensor_out out[INV_MLP_BLOCKS])
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	inv_mlp_layout(s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		snprintf(names[i], 32, "%s%s", prefix, blocks[i].name);
		out[i] = (inv_tensor_out){.name = names[i],
		                          .ndim = blocks[i].ndim,
		                          .shape = {blocks[i].shape[0], blocks[i].shape[1]},
		                          .data = params + blocks[i].offset};
	}
}

static invar_status find_block(const inv_safetensors *f, const char *path, const char *name,
                               const inv_tensor **out)
{
	*out = inv_safetensors_find(f, name);
	if (*out)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: has no tensor %s, so it is not an adapter (Linear, ReLU, Linear)",
	                path, name);
}

invar_status inv_mlp_read(const inv_safetensors *f, const char *path, const char *prefix,
                          inv_mlp_shape s, float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	inv_mlp_layout(s, blocks);
	memset(params, 0, inv_mlp_floats(s) * sizeof *params);
	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		const inv_mlp_block *b = &blocks[i];
		const inv_tensor *t;
		char name[32], have[INV_SHAPE_TEXT], need[INV_SHAPE_TEXT];

		snprintf(name, sizeof name, "%s%s", prefix, b->name);
		INV_TRY(find_block(f, path, name, &t));
		if (t->ndim != b->ndim || t->shape[0] != b->shape[0] ||
		    (t->ndim > 1 && t->shape[1] != b->shape[1]))
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: the shape of %s is %s but %s was expected", path, t->name,
			                inv_shape_text(t->ndim, t->shape, have),
			                inv_shape_text(b->ndim, b->shape, need));
		INV_TRY(inv_safetensors_read(f, t, params + b->offset));
	}
	return INVAR_OK;
}

invar_status inv_mlp_shape_of(const inv_safetensors *f, const char *path,
                              inv_mlp_shape *out)
{
	const inv_tensor *first, *last;

	INV_TRY(find_block(f, path, "0.weight", &first));
	INV_TRY(find_block(f, path, "2.weight", &last));
	if (first->ndim != 2 || last->ndim != 2 || !first->cells || !last->cells)
		return inv_fail(INVAR_E_FORMAT, "%s: 0.weight and 2.weight must be matrices", path);
	if (first->shape[1] > MAX_WIDTH || first->shape[0] > MAX_WIDTH ||
	    last->shape[0] > MAX_WIDTH)
		return inv_fail(INVAR_E_FORMAT, "%s: a layer is wider than %d", path, MAX_WIDTH);
	*out = (inv_mlp_shape){.d = first->shape[1], .h = first->shape[0], .w = last->shape[0]};
	return INVAR_OK;
}

/* ---- Opening ----------------------------------------------------------------------- */

static invar_status check_residual_form(const invar_adapter *e)
{
	if (!e->residual || e->s.d == e->s.w)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: is residual but maps %zu to %zu %s", e->path,
	                e->s.d, e->s.w, inv_noun(e->s.w, "feature", "features"));
}

/* "1" or "0", or absent: false. */
static invar_status read_flag(const invar_adapter *e, const char *key, bool *out)
{
	const char *text = inv_safetensors_metadata(e->file, key);

	*out = text && strcmp(text, "1") == 0;
	if (text && !*out && strcmp(text, "0") != 0)
		return inv_fail(INVAR_E_FORMAT, "%s: %s is '%s' but must be 0 or 1", e->path, key,
		                text);
	return INVAR_OK;
}

/* From e->file, which is open. */
static invar_status load_adapter(invar_adapter *e)
{
	size_t tensors = inv_safetensors_count(e->file);

	INV_TRY(inv_mlp_shape_of(e->file, e->path, &e->s));
	if (tensors != INV_MLP_BLOCKS)
		return inv_fail(INVAR_E_FORMAT, "%s: has %zu %s, but an adapter has %d", e->path,
		                tensors, inv_noun(tensors, "tensor", "tensors"), INV_MLP_BLOCKS);
	INV_TRY(read_flag(e, "invar.residual", &e->residual));
	INV_TRY(read_flag(e, "invar.unit", &e->unit));
	INV_TRY(check_residual_form(e));
	INV_TRY(inv_new_array(&e->params, inv_mlp_floats(e->s)));
	return inv_mlp_read(e->file, e->path, "", e->s, e->params);
}

/* Weights as apply wants them, from the first call on; calls may come at the same time. */
struct inv_adapter_packed {
	pthread_mutex_t lock;
	inv_packed_layers *layers;
};

/* Takes path, "adapter" if it is NULL. */
static invar_status begin_adapter(const invar_context *ctx, char *path, invar_adapter **out)
{
	invar_adapter *e;
	invar_status st;

	*out = NULL;
	INV_TRY_OR(no_adapter, inv_new(&e));
	e->ctx = ctx;
	if (!(e->path = path))
		INV_TRY_OR(fail, inv_new_text(&e->path, "adapter"));
	INV_TRY_OR(fail, inv_new(&e->packed));
	pthread_mutex_init(&e->packed->lock, NULL);
	*out = e;
	return INVAR_OK;
no_adapter:
	inv_free(path);
	return st;
fail:
	invar_adapter_close(e);
	return st;
}

invar_status inv_adapter_begin(const invar_context *ctx, invar_adapter **out)
{
	return begin_adapter(ctx, NULL, out);
}

/* The path of a run stands for its adapter. */
invar_status invar_adapter_open(invar_context *ctx, const char *path, invar_adapter **out)
{
	bool is_run = inv_is_folder(path);
	char *file = is_run ? inv_join(path, INV_RUN_ADAPTER) : inv_strdup(path);
	invar_adapter *e;
	invar_status st;

	*out = NULL;
	if (!file)
		return inv_no_memory();
	INV_TRY(begin_adapter(ctx, file, &e));
	if (is_run && !inv_exists(e->path))
		INV_TRY_OR(fail, inv_fail(INVAR_E_IO,
		                          "%s: has no " INV_RUN_ADAPTER
		                          "; is its training finished?",
		                          path));
	INV_TRY_OR(fail, inv_safetensors_open(e->path, &e->file));
	INV_TRY_OR(fail, load_adapter(e));
	*out = e;
	return INVAR_OK;
fail:
	invar_adapter_close(e);
	return st;
}

/*
 * The file is kept for its metadata, which it owns; its tensors view the caller's bytes and
 * are not read again.
 */
invar_status invar_adapter_from_memory(invar_context *ctx, const void *bytes, size_t size,
                                       invar_adapter **out)
{
	invar_adapter *e;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_adapter_begin(ctx, &e));
	INV_TRY_OR(fail, inv_safetensors_view(bytes, size, e->path, &e->file));
	INV_TRY_OR(fail, load_adapter(e));
	*out = e;
	return INVAR_OK;
fail:
	invar_adapter_close(e);
	return st;
}

static invar_status take_blocks(invar_adapter *e, const float *const from[INV_MLP_BLOCKS])
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	if (!e->s.d || !e->s.h || !e->s.w)
		return inv_fail(INVAR_E_USE, "a layer of an adapter must not be empty");
	if (e->s.d > MAX_WIDTH || e->s.h > MAX_WIDTH || e->s.w > MAX_WIDTH)
		return inv_fail(INVAR_E_USE, "a layer of an adapter can be at most %d wide",
		                MAX_WIDTH);
	if (check_residual_form(e) != INVAR_OK)
		return INVAR_E_USE; /* here the caller's mistake, not a file's */
	INV_TRY(inv_new_zeros(&e->params, inv_mlp_floats(e->s)));
	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		for (size_t j = 0; j < blocks[i].count; j++) {
			if (!isfinite(from[i][j]))
				return inv_fail(INVAR_E_NUMERIC, "element %zu of %s is not finite", j,
				                blocks[i].name);
			e->params[blocks[i].offset + j] = from[i][j];
		}
	return INVAR_OK;
}

invar_status invar_adapter_new(invar_context *ctx, uint32_t d, uint32_t hidden, uint32_t w,
                               int form, const float *weight_0, const float *bias_0,
                               const float *weight_2, const float *bias_2,
                               invar_adapter **out)
{
	const float *const from[INV_MLP_BLOCKS] = {weight_0, bias_0, weight_2, bias_2};
	invar_adapter *e;
	invar_status st;

	*out = NULL;
	if (form & ~(INVAR_RESIDUAL | INVAR_UNIT))
		return inv_fail(INVAR_E_USE,
		                "the form of an adapter is a sum of INVAR_RESIDUAL (1) and "
		                "INVAR_UNIT (2), not %d",
		                form);
	INV_TRY(inv_adapter_begin(ctx, &e));
	e->s = (inv_mlp_shape){.d = d, .h = hidden, .w = w};
	e->residual = form & INVAR_RESIDUAL;
	e->unit = form & INVAR_UNIT;
	if ((st = take_blocks(e, from)) == INVAR_OK)
		*out = e;
	else
		invar_adapter_close(e);
	return st;
}

invar_status inv_adapter_all_metadata(const invar_adapter *e, inv_metadata **out,
                                      size_t *count)
{
	const char *key;
	json_t *value;

	if (e->file)
		return inv_safetensors_all_metadata(e->file, out, count);
	*count = 0;
	INV_TRY(inv_new_zeros(out, json_object_size(e->metadata) + 3));
	if (!e->metadata) {
		(*out)[(*count)++] = (inv_metadata){"format", "pt"};
		(*out)[(*count)++] = (inv_metadata){"invar.residual", e->residual ? "1" : "0"};
		if (e->unit)
			(*out)[(*count)++] = (inv_metadata){"invar.unit", "1"};
	}
	json_object_foreach (e->metadata, key, value)
		(*out)[(*count)++] = (inv_metadata){key, json_string_value(value)};
	return INVAR_OK;
}

invar_status invar_adapter_save(const invar_adapter *e, const char *path)
{
	inv_metadata *metadata;
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	char names[INV_MLP_BLOCKS][32];
	size_t count;
	invar_status st;

	INV_TRY(inv_adapter_all_metadata(e, &metadata, &count));
	inv_mlp_tensors(e->s, e->params, "", names, tensors);
	st = inv_safetensors_save(path, tensors, INV_MLP_BLOCKS, metadata, count);
	inv_free(metadata);
	return st;
}

void invar_adapter_close(invar_adapter *e)
{
	if (!e)
		return;
	inv_safetensors_close(e->file);
	json_decref(e->metadata);
	if (e->packed) {
		inv_packed_layers_free(e->packed->layers);
		pthread_mutex_destroy(&e->packed->lock);
		inv_free(e->packed);
	}
	inv_free(e->params);
	inv_free(e->path);
	inv_free(e);
}

uint32_t invar_adapter_input(const invar_adapter *e)
{
	return (uint32_t)e->s.d;
}

uint32_t invar_adapter_hidden(const invar_adapter *e)
{
	return (uint32_t)e->s.h;
}

uint32_t invar_adapter_output(const invar_adapter *e)
{
	return (uint32_t)e->s.w;
}

int invar_adapter_residual(const invar_adapter *e)
{
	return e->residual;
}

int invar_adapter_unit(const invar_adapter *e)
{
	return e->unit;
}

const char *invar_adapter_path(const invar_adapter *e)
{
	return e->path;
}

const char *invar_adapter_metadata(const invar_adapter *e, const char *key)
{
	return e->file ? inv_safetensors_metadata(e->file, key)
	               : json_string_value(json_object_get(e->metadata, key));
}

invar_status inv_adapter_fingerprint(const invar_adapter *e, char hex[INV_SHA256_HEX])
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	char text[96 + INV_MLP_BLOCKS * INV_SHA256_HEX];
	int used = snprintf(text, sizeof text, "%zu %zu %zu %d%s", e->s.d, e->s.h, e->s.w,
	                    e->residual, e->unit ? " unit" : "");

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		INV_TRY(inv_sha256(e->params + blocks[i].offset,
		                   blocks[i].count * sizeof *e->params, hex));
		used += snprintf(text + used, sizeof text - (size_t)used, " %s", hex);
	}
	return inv_sha256(text, (size_t)used, hex);
}

invar_status inv_adapter_check_certificate(const invar_adapter *e,
                                           const json_t *certificate)
{
	const json_t *known = json_object_get(certificate, "tensors");
	char hex[INV_SHA256_HEX];

	if (!known)
		return INVAR_OK;
	INV_TRY(inv_adapter_fingerprint(e, hex));
	if (json_is_string(known) && strcmp(json_string_value(known), hex) == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: its tensors have changed since it was certified; make a new "
	                "certificate by eval with @certify",
	                e->path);
}

/* E without the normalisation. */
static invar_status apply_layers(const invar_adapter *e, const float *z, uint64_t rows,
                                 float *out)
{
	const inv_layers_shape s = {2, {e->s.d, e->s.h, e->s.w}};
	const inv_packed_layers *layers;
	invar_status st = INVAR_OK;

	if (!e->packed || !inv_packed_layers_usable(e->ctx))
		return inv_mlp_apply(e->ctx, e->s, e->params, e->residual, z, rows, out);
	pthread_mutex_lock(&e->packed->lock);
	if (!e->packed->layers)
		st = inv_packed_layers_new(e->ctx, &s, e->params, &e->packed->layers);
	layers = e->packed->layers;
	pthread_mutex_unlock(&e->packed->lock);
	INV_TRY(st);
	return inv_packed_layers_apply(layers, e->residual, z, rows, out);
}

typedef struct unit_job {
	const float *x;
	float *out;
	uint64_t rows;
	size_t d;
} unit_job;

enum { UNIT_ROWS = 128 }; /* that a thread normalises at a time */

static void normalise_rows(void *user, size_t block, unsigned thread)
{
	const unit_job *j = user;
	uint64_t from = block * UNIT_ROWS;
	uint64_t rows = j->rows - from < UNIT_ROWS ? j->rows - from : UNIT_ROWS;

	(void)thread;
	inv_unit_rows(j->x + from * j->d, rows, j->d, j->out + from * j->d);
}

static void normalise(const invar_context *ctx, const float *x, uint64_t rows, size_t d,
                      float *out)
{
	unit_job j = {x, out, rows, d};

	if (rows <= UNIT_ROWS)
		normalise_rows(&j, 0, 0);
	else
		inv_parallel(ctx, inv_blocks(rows, UNIT_ROWS), normalise_rows, &j);
}

/* In blocks, so that normalised features take little memory. */
static invar_status apply_unit(const invar_adapter *e, const float *z, uint64_t rows,
                               float *out)
{
	uint64_t block = rows < UNIT_BLOCK ? rows : UNIT_BLOCK;
	invar_status st = INVAR_OK;
	float *x;

	INV_TRY(inv_new_array(&x, block * e->s.d + 1));
	for (uint64_t at = 0; at < rows; at += block) {
		uint64_t now = rows - at < block ? rows - at : block;

		normalise(e->ctx, z + at * e->s.d, now, e->s.d, x);
		INV_TRY_OR(done, apply_layers(e, x, now, out + at * e->s.w));
		normalise(e->ctx, out + at * e->s.w, now, e->s.w, out + at * e->s.w);
	}
done:
	inv_free(x);
	return st;
}

invar_status inv_adapter_apply_finite(const invar_adapter *e, const float *z, uint64_t rows,
                                      float *out)
{
	inv_test_stop("apply:rows");
	return e->unit ? apply_unit(e, z, rows, out) : apply_layers(e, z, rows, out);
}

static invar_status check_finite_rows(const invar_adapter *e, const float *x, uint64_t rows,
                                 size_t width, const char *what)
{
	struct inv_kernels kernels;
	uint64_t i = 0;

	inv_kernels_init(&kernels, e->ctx->cpu);
	if (kernels.all_finite(x, rows * width))
		return INVAR_OK;
	while (isfinite(x[i]))
		i++;
	return inv_fail(INVAR_E_NUMERIC, "%s: row %" PRIu64 ", column %" PRIu64 " is %s", what,
	                i / width, i % width, isnan(x[i]) ? "NaN" : "infinite");
}

invar_status invar_adapter_apply(const invar_adapter *e, const float *z, uint64_t rows,
                                 float *out)
{
	INV_TRY(check_finite_rows(e, z, rows, e->s.d, "the features"));
	INV_TRY(inv_adapter_apply_finite(e, z, rows, out));
	return check_finite_rows(e, out, rows, e->s.w, "the codes");
}
