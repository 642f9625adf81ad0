/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params_json.c - rows of parameters as JSON, in the layout of Kornia's.
 *
 *     {"augment": SPEC, "draw": {…}, "chain": {…},          (chain: sets only)
 *      "stages": [{"class": "RandomRotation", "constructor": {…}, "flags": {…},
 *                  "p": 1.0, "same_on_batch": false,
 *                  "params": {"degrees": {"dtype": "float32", "shape": [n], "data": […]},
 *                             "batch_prob": {…}, "forward_input_shape": {…}},
 *                  "transform_matrix": {…}}, …]}
 *
 * A stage is an operation of the SPEC, in order. Its arrays hold one entry for each
 * image it acts on (batch_prob 1), in order; the matrices, source to destination
 * pixels, have one for each image. When reading, arrays with one entry for every image
 * are accepted too, and arrays that follow from others are ignored.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "images/augment/augment.h"
#include "images/augment/warp.h"

enum { MAX_CELLS = 9, MAX_BYTES = 64 << 20 };

/* What writing and reading share. */
typedef struct layout {
	const invar_augment *a;
	inv_extent in; /* of the set */
	uint64_t images;
	const char *name; /* of the file, for messages */
} layout;

static size_t layout_columns(const layout *l)
{
	return l->a->spec.columns;
}

/* The arrays of an operation; a column without a list of arrays is one by itself. */
static size_t array_count(const inv_op *op)
{
	return op->arrays ? op->array_count : op->column_count;
}

static inv_param_array array_of(const inv_op *op, size_t i)
{
	if (op->arrays)
		return op->arrays[i];
	return (inv_param_array){.name = op->columns[i], .shape = {1, 1}, .column = {i}};
}

static size_t cells_of(const inv_param_array *p)
{
	return p->shape[0] * p->shape[1];
}

/* ---- Writing ---------------------------------------------------------------------- */

static json_t *param_number(const inv_param_array *p, double value)
{
	return p->integer ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *flat_list(const inv_param_array *p, const double *cells, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, param_number(p, cells[i]));
	return list;
}

/* The cells of one image, nested by its dimensions. */
static json_t *nest(const inv_param_array *p, const double *cells)
{
	json_t *list;

	if (p->ndim == 0)
		return param_number(p, cells[0]);
	if (p->ndim == 1)
		return flat_list(p, cells, p->shape[0]);
	list = json_array();
	for (size_t i = 0; i < p->shape[0]; i++)
		json_array_append_new(list, flat_list(p, cells + i * p->shape[1], p->shape[1]));
	return list;
}

static json_t *param_array_json(const inv_param_array *p, uint64_t rows, json_t *data)
{
	json_t *shape = json_array();

	json_array_append_new(shape, json_integer((json_int_t)rows));
	for (size_t i = 0; i < p->ndim; i++)
		json_array_append_new(shape, json_integer((json_int_t)p->shape[i]));
	return json_pack("{s:s, s:o, s:o}", "dtype", p->integer ? "int64" : "float32", "shape",
	                 shape, "data", data);
}

static void spread_row(const inv_param_array *p, const inv_spec_op *o, inv_extent in,
                       const float *own, double cells[MAX_CELLS])
{
	if (p->spread)
		p->spread(o->value, in, own, cells);
	else
		for (size_t i = 0; i < cells_of(p); i++)
			cells[i] = own[p->column[i]];
}

static json_t *param_json(const layout *l, size_t op, const inv_param_array *p,
                          const float *params)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	json_t *data = json_array();
	uint64_t rows = 0;

	for (uint64_t i = 0; i < l->images; i++) {
		const float *row = params + i * layout_columns(l);
		double cells[MAX_CELLS];

		if (!inv_spec_acts(&l->a->spec, row, op))
			continue;
		spread_row(p, o, in, inv_augment_own(o, row), cells);
		json_array_append_new(data, nest(p, cells));
		rows++;
	}
	return param_array_json(p, rows, data);
}

static json_t *batch_prob(const layout *l, size_t op, const float *params)
{
	static const inv_param_array p = {.name = "batch_prob", .shape = {1, 1}};
	json_t *data = json_array();

	for (uint64_t i = 0; i < l->images; i++)
		json_array_append_new(data, json_real(inv_spec_acts(
										&l->a->spec, params + i * layout_columns(l), op)));
	return param_array_json(&p, l->images, data);
}

static json_t *input_shape(inv_extent in, uint64_t images)
{
	return json_pack("{s:s, s:[i], s:[I,I,I,I]}", "dtype", "int64", "shape", 4, "data",
	                 (json_int_t)images, (json_int_t)in.c, (json_int_t)in.h,
	                 (json_int_t)in.w);
}

static json_t *params_json(const layout *l, size_t op, const float *params)
{
	const inv_op *form = l->a->spec.op[op].op;
	json_t *out = json_object();

	for (size_t i = 0; i < array_count(form); i++) {
		inv_param_array p = array_of(form, i);

		json_object_set_new(out, p.name, param_json(l, op, &p, params));
	}
	json_object_set_new(out, "batch_prob", batch_prob(l, op, params));
	json_object_set_new(out, "forward_input_shape",
	                    input_shape(inv_augment_input(l->a, l->in, op), l->images));
	return out;
}

static json_t *matrices(const layout *l, size_t op, const float *params)
{
	const inv_param_array p = {.ndim = 2, .shape = {3, 3}};
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	json_t *data = json_array();

	for (uint64_t i = 0; i < l->images; i++) {
		const float *row = params + i * layout_columns(l);
		double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

		if (inv_spec_acts(&l->a->spec, row, op))
			o->op->matrix(o->value, in, inv_augment_own(o, row), m);
		json_array_append_new(data, nest(&p, m));
	}
	return param_array_json(&p, l->images, data);
}

/* A word of a key as JSON: booleans where Kornia has them. */
static json_t *word_json(const inv_key *key, inv_value v)
{
	const char *word = key->words;

	if (strcmp(key->words, INV_WORDS_BOOLEAN) == 0 || strcmp(key->words, "0|1") == 0)
		return json_boolean(v.low != 0);
	for (int i = 0; i < (int)v.low; i++)
		word = strchr(word, '|') + 1;
	return json_stringn(word, strcspn(word, "|"));
}

static json_t *key_value_json(const inv_key *key, inv_value v)
{
	switch (key->type) {
	case INV_KEY_WORD:
		return word_json(key, v);
	case INV_KEY_NUMBER:
		return json_real(v.low);
	case INV_KEY_SIZE:
		return json_pack("[I,I]", (json_int_t)v.low, (json_int_t)v.high);
	default:
		return json_pack("[f,f]", v.low, v.high);
	}
}

/* The constructor's keys (ranges, p), or the flags of the computation (words, sizes). */
static json_t *keys_json(const inv_spec_op *o, bool flags, inv_extent result)
{
	json_t *out = json_object();
	const inv_key *key;

	for (size_t k = flags ? INV_OWN_KEY : 0; (key = inv_op_key(o->op, k)); k++) {
		bool flag = key->type == INV_KEY_WORD || key->type == INV_KEY_SIZE;
		inv_value v = o->value[k];

		if (flag != flags && k >= INV_OWN_KEY)
			continue;
		if (key->type == INV_KEY_SIZE)
			v = (inv_value){(double)result.h, (double)result.w};
		json_object_set_new(out, strcmp(key->name, "mode") ? key->name : "cropping_mode",
		                    key_value_json(key, v));
	}
	return out;
}

static json_t *stage_json(const layout *l, size_t op, const float *params)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	inv_extent result = o->op->result ? o->op->result(o->value, in) : in;
	json_t *out =
		json_pack("{s:s, s:o, s:o, s:f, s:f, s:b, s:b, s:o}", "class", o->op->class_name,
	              "constructor", keys_json(o, false, result), "flags",
	              keys_json(o, true, result), "p", o->value[INV_KEY_P].low, "p_batch", 1.0,
	              "same_on_batch", o->value[INV_KEY_SAME].low != 0, "keepdim", 0, "params",
	              params_json(l, op, params));

	if (out && o->op->matrix)
		json_object_set_new(out, "transform_matrix", matrices(l, op, params));
	return out;
}

static json_t *chains_json(const layout *l, const float *params)
{
	static const inv_param_array p = {.shape = {1, 1}, .integer = true};
	json_t *data = json_array();

	for (uint64_t i = 0; i < l->images; i++)
		json_array_append_new(data,
		                      json_integer((json_int_t)params[i * layout_columns(l)]));
	return param_array_json(&p, l->images, data);
}

static json_t *params_document(const layout *l, const inv_draw *d, const float *params)
{
	json_t *stages = json_array(), *out;

	for (size_t i = 0; i < l->a->spec.ops; i++)
		json_array_append_new(stages, stage_json(l, i, params));
	out = json_pack("{s:s, s:{s:I, s:s, s:I, s:I, s:I}, s:o}", "augment",
	                l->a->spec.canonical, "draw", "seed", (json_int_t)d->seed, "split",
	                d->split, "epoch", (json_int_t)d->epoch, "copy", (json_int_t)d->copy,
	                "first", (json_int_t)d->first, "stages", stages);
	if (out && l->a->spec.chains > 1)
		json_object_set_new(out, "chain", chains_json(l, params));
	return out;
}

invar_status inv_augment_params_save(const invar_augment *a, const invar_options *o,
                                     const uint64_t shape[4], const float *params,
                                     const char *path)
{
	layout l = {.a = a, .images = shape[0], .name = path};
	invar_options *kept;
	json_t *whole;
	inv_draw d;
	invar_status st;

	INV_TRY_OR(wrong_rows, inv_augment_shape(shape, &l.in));
	for (uint64_t i = 0; i < shape[0]; i++)
		INV_TRY_OR(wrong_rows,
		           inv_augment_check_row(a, l.in, params + i * a->spec.columns, i));
	INV_TRY(inv_draw_read(o, &kept, &d));
	whole = params_document(&l, &d, params);
	invar_options_free(kept);
	st = whole ? inv_json_save(path, whole) : inv_no_memory();
	json_decref(whole);
	return st;
wrong_rows:
	return inv_context(st, "%s", path);
}

/* ---- Reading ---------------------------------------------------------------------- */

static invar_status wrong(const layout *l, size_t op, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: stage %zu (%s): %s", l->name, op,
	                l->a->spec.op[op].op->name, what);
}

/* The "data" of an array object, or NULL. */
static const json_t *data_of(const json_t *params, const char *name)
{
	const json_t *data = json_object_get(json_object_get(params, name), "data");

	return json_is_array(data) ? data : NULL;
}

static bool take_param_list(const json_t *list, size_t count, double *cells)
{
	if (!json_is_array(list) || json_array_size(list) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!json_is_number(json_array_get(list, i)))
			return false;
		cells[i] = json_number_value(json_array_get(list, i));
	}
	return true;
}

static bool take_cells(const json_t *value, const inv_param_array *p, double *cells)
{
	cells[0] = json_number_value(value);
	if (p->ndim == 0)
		return json_is_number(value);
	if (p->ndim == 1)
		return take_param_list(value, p->shape[0], cells);
	if (!json_is_array(value) || json_array_size(value) != p->shape[0])
		return false;
	for (size_t i = 0; i < p->shape[0]; i++)
		if (!take_param_list(json_array_get(value, i), p->shape[1],
		                     cells + i * p->shape[1]))
			return false;
	return true;
}

/* Puts the cells into the row; false where two cells of one column disagree. */
static bool gather_row(const inv_param_array *p, const double *cells, float *own)
{
	if (p->gather)
		return p->gather(cells, own);
	for (size_t i = 0; i < cells_of(p); i++) {
		if (i && p->column[i] == p->column[0] && cells[i] != cells[0])
			return false;
		own[p->column[i]] = (float)cells[i];
	}
	return true;
}

static invar_status read_param_array(const layout *l, size_t op, const inv_param_array *p,
                                     const json_t *params, uint64_t acting, float *rows)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	const json_t *data = data_of(params, p->name);
	size_t next = 0;

	if (!data)
		return inv_fail(INVAR_E_FORMAT, "%s: stage %zu (%s): the array %s is missing",
		                l->name, op, o->op->name, p->name);
	if (json_array_size(data) != acting && json_array_size(data) != l->images)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: stage %zu (%s): %s has %zu entries but there are %" PRIu64
		                " images",
		                l->name, op, o->op->name, p->name, json_array_size(data), acting);
	for (uint64_t i = 0; i < l->images; i++) {
		float *row = rows + i * layout_columns(l);
		double cells[MAX_CELLS];
		const json_t *entry;

		if (!inv_spec_acts(&l->a->spec, row, op))
			continue;
		entry = json_array_get(data, json_array_size(data) == acting ? next++ : (size_t)i);
		if (!take_cells(entry, p, cells))
			return inv_fail(INVAR_E_FORMAT, "%s: stage %zu (%s): %s has the wrong numbers",
			                l->name, op, o->op->name, p->name);
		if (!gather_row(p, cells, row + o->column + o->has_on))
			return inv_fail(INVAR_E_FORMAT,
			                "%s: stage %zu (%s): %s of an image is not possible for %s",
			                l->name, op, o->op->name, p->name, o->op->name);
	}
	return INVAR_OK;
}

/* Sets `on`; counts the images that the stage acts on. */
static invar_status read_acting(const layout *l, size_t op, const json_t *params,
                                float *rows, uint64_t *acting)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	const json_t *prob = data_of(params, "batch_prob");
	inv_extent in = inv_augment_input(l->a, l->in, op);

	*acting = 0;
	if (prob && json_array_size(prob) != l->images)
		return wrong(l, op, "batch_prob does not have one entry per image");
	for (uint64_t i = 0; i < l->images; i++) {
		float *row = rows + i * layout_columns(l);
		bool chosen = l->a->spec.chains == 1 || row[0] == (float)o->chain;
		bool on = !prob || json_number_value(json_array_get(prob, (size_t)i)) > 0.5;

		if (chosen && !on && !o->has_on)
			return wrong(l, op, "it skips images, but the SPEC has p=1");
		if (o->has_on)
			row[o->column] = chosen && on;
		if (chosen && !on && o->op->still)
			o->op->still(in, row + o->column + o->has_on);
		*acting += chosen && on;
	}
	return INVAR_OK;
}

/* Flags in the file must match the SPEC. */
static invar_status check_stage_flags(const layout *l, size_t op, const json_t *stage)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	inv_extent result = o->op->result ? o->op->result(o->value, in) : in;
	json_t *own = keys_json(o, true, result), *value;
	const json_t *flags = json_object_get(stage, "flags");
	invar_status st = INVAR_OK;
	const char *key;

	json_object_foreach (own, key, value) {
		const json_t *given = json_object_get(flags, key);

		if (given && !json_equal(given, value)) {
			st = inv_fail(INVAR_E_MISMATCH, "%s: stage %zu (%s): %s differs from the SPEC",
			              l->name, op, o->op->name, key);
			break;
		}
	}
	json_decref(own);
	return st;
}

static invar_status read_params_stage(const layout *l, size_t op, const json_t *stage,
                                      float *rows)
{
	const inv_op *form = l->a->spec.op[op].op;
	const char *class_name = json_string_value(json_object_get(stage, "class"));
	const json_t *params = json_object_get(stage, "params");
	uint64_t acting;

	if (!class_name || strcmp(class_name, form->class_name) != 0)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: stage %zu has class %.60s, but the SPEC has %s there, class %s", l->name,
			op, class_name ? class_name : "(none)", form->name, form->class_name);
	INV_TRY(check_stage_flags(l, op, stage));
	INV_TRY(read_acting(l, op, params, rows, &acting));
	for (size_t i = 0; i < array_count(form); i++) {
		inv_param_array p = array_of(form, i);

		if (!p.spread || p.gather)
			INV_TRY(read_param_array(l, op, &p, params, acting, rows));
	}
	return INVAR_OK;
}

static invar_status read_chains(const layout *l, const json_t *whole, float *rows)
{
	const json_t *data = data_of(whole, "chain");

	if (l->a->spec.chains == 1)
		return INVAR_OK;
	if (!data || json_array_size(data) != l->images)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: the array chain must choose one of %zu chains for each image",
		                l->name, l->a->spec.chains);
	for (uint64_t i = 0; i < l->images; i++) {
		double chain = json_number_value(json_array_get(data, (size_t)i));

		if (!(chain >= 0 && chain < (double)l->a->spec.chains && chain == floor(chain)))
			return inv_fail(INVAR_E_FORMAT,
			                "%s: chain of image %" PRIu64 " must be 0 to %zu", l->name, i,
			                l->a->spec.chains - 1);
		rows[i * layout_columns(l)] = (float)chain;
	}
	return INVAR_OK;
}

static invar_status read_params_document(const layout *l, const json_t *whole, float *rows)
{
	const json_t *stages = json_object_get(whole, "stages");

	if (!json_is_array(stages) || json_array_size(stages) != l->a->spec.ops)
		return inv_fail(INVAR_E_MISMATCH, "%s: has %zu stages, but the SPEC %s has %zu",
		                l->name, json_array_size(stages), l->a->spec.canonical,
		                l->a->spec.ops);
	memset(rows, 0, (size_t)l->images * layout_columns(l) * sizeof *rows);
	INV_TRY(read_chains(l, whole, rows));
	for (size_t i = 0; i < l->a->spec.ops; i++)
		INV_TRY(read_params_stage(l, i, json_array_get(stages, i), rows));
	for (uint64_t i = 0; i < l->images; i++)
		INV_TRY(inv_augment_check_row(l->a, l->in, rows + i * layout_columns(l), i));
	return INVAR_OK;
}

invar_status inv_augment_params_parse(const invar_augment *a, const char *text,
                                      size_t bytes, const char *name,
                                      const uint64_t shape[4], float *params)
{
	layout l = {.a = a, .images = shape[0], .name = name};
	inv_extent result;
	json_error_t error;
	json_t *whole;
	invar_status st;

	INV_TRY(inv_augment_shape(shape, &l.in));
	INV_TRY(inv_augment_result(a, l.in, &result));
	whole = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	if (!whole)
		return inv_fail(INVAR_E_FORMAT, "%s: line %d: %s", name, error.line, error.text);
	st = read_params_document(&l, whole, params);
	json_decref(whole);
	return st;
}

invar_status inv_augment_params_load(const invar_augment *a, const char *path,
                                     const uint64_t shape[4], float *params)
{
	char *text;
	size_t bytes;
	invar_status st;

	INV_TRY(inv_file_load(path, MAX_BYTES, &text, &bytes));
	st = inv_augment_params_parse(a, text, bytes, path, shape, params);
	inv_free(text);
	return st;
}
