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

enum { MAX_CELLS = 9, MAX_NDIM = 2, MAX_COLUMNS = 2, MAX_BYTES = 64 << 20 };

/* What writing and reading share. */
typedef struct layout {
	const invar_augment *a;
	inv_extent in; /* of the set */
	uint64_t images;
	const char *name; /* of the file, for messages */
} layout;

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

/* The cells of one image, nested by its dimensions from `depth` on. */
static json_t *nest(const inv_param_array *p, size_t depth, const double *cells)
{
	size_t stride = depth == 0 && p->ndim == 2 ? p->shape[1] : 1;
	json_t *list;

	if (depth == p->ndim || depth == MAX_NDIM)
		return p->integer ? json_integer((json_int_t)*cells) : json_real(*cells);
	list = json_array();
	for (size_t i = 0; i < p->shape[depth]; i++)
		json_array_append_new(list, nest(p, depth + 1, cells + i * stride));
	return list;
}

/* Arrays that do not belong to an operation's own; they have an entry for each image. */
static const inv_param_array chain_array = {.shape = {1, 1}, .integer = true};
static const inv_param_array prob_array = {.shape = {1, 1}};
static const inv_param_array matrix_array = {.ndim = 2, .shape = {3, 3}};

static json_t *array_json(const layout *l, size_t op, const inv_param_array *p,
                          const float *params)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	json_t *data = json_array(), *shape = json_array();
	uint64_t rows = 0;

	for (uint64_t i = 0; i < l->images; i++) {
		const float *row = params + i * l->a->spec.columns, *own = inv_augment_own(o, row);
		bool acts = inv_spec_acts(&l->a->spec, row, op);
		double cells[MAX_CELLS] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; /* the identity */

		if (p == &chain_array)
			cells[0] = row[0];
		else if (p == &prob_array)
			cells[0] = acts;
		else if (p == &matrix_array && acts)
			o->op->matrix(o->value, in, own, cells);
		else if (p != &matrix_array && !acts)
			continue;
		else if (p->spread)
			p->spread(o->value, in, own, cells);
		else if (p != &matrix_array)
			for (size_t k = 0; k < MAX_COLUMNS && k < cells_of(p); k++)
				cells[k] = own[p->column[k]];
		json_array_append_new(data, nest(p, 0, cells));
		rows++;
	}
	json_array_append_new(shape, json_integer((json_int_t)rows));
	for (size_t i = 0; i < p->ndim; i++)
		json_array_append_new(shape, json_integer((json_int_t)p->shape[i]));
	return json_pack("{s:s, s:o, s:o}", "dtype", p->integer ? "int64" : "float32", "shape",
	                 shape, "data", data);
}

/* The constructor's keys (ranges, p), or the flags of the computation (words, sizes). */
static json_t *keys_json(const inv_spec_op *o, bool flags, inv_extent result)
{
	json_t *out = json_object(), *value;
	const inv_key *key;

	for (size_t k = flags ? INV_OWN_KEY : 0; (key = inv_op_key(o->op, k)); k++) {
		bool flag = key->type == INV_KEY_WORD || key->type == INV_KEY_SIZE;
		inv_value v = o->value[k];
		const char *word = key->words;

		if (flag != flags && k >= INV_OWN_KEY)
			continue;
		if (key->type == INV_KEY_WORD &&
		    (strcmp(word, INV_WORDS_BOOLEAN) == 0 || strcmp(word, "0|1") == 0)) {
			value = json_boolean(v.low != 0); /* as Kornia has it */
		} else if (key->type == INV_KEY_WORD) {
			for (int i = 0; i < (int)v.low; i++)
				word = strchr(word, '|') + 1;
			value = json_stringn(word, strcspn(word, "|"));
		} else if (key->type == INV_KEY_NUMBER) {
			value = json_real(v.low);
		} else if (key->type == INV_KEY_SIZE) {
			value = json_pack("[I,I]", (json_int_t)result.h, (json_int_t)result.w);
		} else {
			value = json_pack("[f,f]", v.low, v.high);
		}
		json_object_set_new(out, strcmp(key->name, "mode") ? key->name : "cropping_mode",
		                    value);
	}
	return out;
}

static json_t *stage_json(const layout *l, size_t op, const float *params)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	inv_extent in = inv_augment_input(l->a, l->in, op);
	inv_extent result = o->op->result ? o->op->result(o->value, in) : in;
	json_t *arrays = json_object(), *out;

	for (size_t i = 0; i < array_count(o->op); i++) {
		inv_param_array p = array_of(o->op, i);

		json_object_set_new(arrays, p.name, array_json(l, op, &p, params));
	}
	json_object_set_new(arrays, "batch_prob", array_json(l, op, &prob_array, params));
	json_object_set_new(arrays, "forward_input_shape",
	                    json_pack("{s:s, s:[i], s:[I,I,I,I]}", "dtype", "int64", "shape", 4,
	                              "data", (json_int_t)l->images, (json_int_t)in.c,
	                              (json_int_t)in.h, (json_int_t)in.w));
	out = json_pack("{s:s, s:o, s:o, s:f, s:f, s:b, s:b, s:o}", "class", o->op->class_name,
	                "constructor", keys_json(o, false, result), "flags",
	                keys_json(o, true, result), "p", o->value[INV_KEY_P].low, "p_batch",
	                1.0, "same_on_batch", o->value[INV_KEY_SAME].low != 0, "keepdim", 0,
	                "params", arrays);
	if (out && o->op->matrix)
		json_object_set_new(out, "transform_matrix",
		                    array_json(l, op, &matrix_array, params));
	return out;
}

invar_status inv_augment_params_save(const invar_augment *a, const invar_options *o,
                                     const uint64_t shape[4], const float *params,
                                     const char *path)
{
	layout l = {.a = a, .images = shape[0], .name = path};
	json_t *stages, *whole;
	invar_options *kept;
	inv_draw d;
	invar_status st;

	INV_TRY_OR(wrong_rows, inv_augment_shape(shape, &l.in));
	for (uint64_t i = 0; i < shape[0]; i++)
		INV_TRY_OR(wrong_rows,
		           inv_augment_check_row(a, l.in, params + i * a->spec.columns, i));
	INV_TRY(inv_draw_read(o, &kept, &d));
	stages = json_array();
	for (size_t i = 0; i < a->spec.ops; i++)
		json_array_append_new(stages, stage_json(&l, i, params));
	whole = json_pack("{s:s, s:{s:I, s:s, s:I, s:I, s:I}, s:o}", "augment",
	                  a->spec.canonical, "draw", "seed", (json_int_t)d.seed, "split",
	                  d.split, "epoch", (json_int_t)d.epoch, "copy", (json_int_t)d.copy,
	                  "first", (json_int_t)d.first, "stages", stages);
	if (whole && a->spec.chains > 1)
		json_object_set_new(whole, "chain", array_json(&l, 0, &chain_array, params));
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

/* The reverse of nest. */
static bool take_cells(const json_t *value, const inv_param_array *p, size_t depth,
                       double *cells)
{
	size_t stride = depth == 0 && p->ndim == 2 ? p->shape[1] : 1;

	if (depth == p->ndim || depth == MAX_NDIM) {
		*cells = json_number_value(value);
		return json_is_number(value);
	}
	if (!json_is_array(value) || json_array_size(value) != p->shape[depth])
		return false;
	for (size_t i = 0; i < p->shape[depth]; i++)
		if (!take_cells(json_array_get(value, i), p, depth + 1, cells + i * stride))
			return false;
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
		float *row = rows + i * l->a->spec.columns;
		double cells[MAX_CELLS];
		const json_t *entry;
		float *own;
		bool possible;

		if (!inv_spec_acts(&l->a->spec, row, op))
			continue;
		entry = json_array_get(data, json_array_size(data) == acting ? next++ : (size_t)i);
		if (!take_cells(entry, p, 0, cells))
			return inv_fail(INVAR_E_FORMAT, "%s: stage %zu (%s): %s has the wrong numbers",
			                l->name, op, o->op->name, p->name);
		/* Two cells of one column must agree. */
		own = row + o->column + o->has_on;
		possible = !p->gather || p->gather(cells, own);
		for (size_t k = 0; k < MAX_COLUMNS && k < cells_of(p) && !p->gather; k++) {
			possible &= !k || p->column[k] != p->column[0] || cells[k] == cells[0];
			own[p->column[k]] = (float)cells[k];
		}
		if (!possible)
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
		float *row = rows + i * l->a->spec.columns;
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

static invar_status read_params_stage(const layout *l, size_t op, const json_t *stage,
                                      float *rows)
{
	const inv_spec_op *o = &l->a->spec.op[op];
	const char *class_name = json_string_value(json_object_get(stage, "class")), *key;
	const json_t *params = json_object_get(stage, "params"), *given;
	inv_extent in = inv_augment_input(l->a, l->in, op);
	json_t *flags, *value;
	uint64_t acting;
	invar_status st = INVAR_OK;

	if (!class_name || strcmp(class_name, o->op->class_name) != 0)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: stage %zu has class %.60s, but the SPEC has %s there, class %s", l->name,
			op, class_name ? class_name : "(none)", o->op->name, o->op->class_name);
	flags = keys_json(o, true, o->op->result ? o->op->result(o->value, in) : in);
	json_object_foreach (flags, key, value) {
		given = json_object_get(json_object_get(stage, "flags"), key);
		if (given && !json_equal(given, value) && st == INVAR_OK)
			st = inv_fail(INVAR_E_MISMATCH, "%s: stage %zu (%s): %s differs from the SPEC",
			              l->name, op, o->op->name, key);
	}
	json_decref(flags);
	INV_TRY(st);
	INV_TRY(read_acting(l, op, params, rows, &acting));
	for (size_t i = 0; i < array_count(o->op); i++) {
		inv_param_array p = array_of(o->op, i);

		if (!p.spread || p.gather)
			INV_TRY(read_param_array(l, op, &p, params, acting, rows));
	}
	return INVAR_OK;
}

invar_status inv_augment_params_parse(const invar_augment *a, const char *text,
                                      size_t bytes, const char *name,
                                      const uint64_t shape[4], float *params)
{
	layout l = {.a = a, .images = shape[0], .name = name};
	const inv_spec *s = &a->spec;
	const json_t *stages, *chains;
	inv_extent result;
	json_error_t error;
	json_t *whole;
	invar_status st;

	INV_TRY(inv_augment_shape(shape, &l.in));
	INV_TRY(inv_augment_result(a, l.in, &result));
	whole = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	if (!whole)
		return inv_fail(INVAR_E_FORMAT, "%s: line %d: %s", name, error.line, error.text);
	stages = json_object_get(whole, "stages");
	if (!json_is_array(stages) || json_array_size(stages) != s->ops)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_MISMATCH, "%s: has %zu stages, but the SPEC %s has %zu",
		                    name, json_array_size(stages), s->canonical, s->ops));
	memset(params, 0, (size_t)l.images * s->columns * sizeof *params);
	chains = data_of(whole, "chain");
	if (s->chains > 1 && (!chains || json_array_size(chains) != l.images))
		INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
		                         "%s: the array chain must choose one of %zu chains for "
		                         "each image",
		                         name, s->chains));
	for (uint64_t i = 0; i < l.images && s->chains > 1; i++) {
		double chain = json_number_value(json_array_get(chains, (size_t)i));

		if (!(chain >= 0 && chain < (double)s->chains && chain == floor(chain)))
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
			                         "%s: chain of image %" PRIu64 " must be 0 to %zu",
			                         name, i, s->chains - 1));
		params[i * s->columns] = (float)chain;
	}
	for (size_t i = 0; i < s->ops; i++)
		INV_TRY_OR(end, read_params_stage(&l, i, json_array_get(stages, i), params));
	for (uint64_t i = 0; i < l.images; i++)
		INV_TRY_OR(end, inv_augment_check_row(a, l.in, params + i * s->columns, i));
	st = INVAR_OK;
end:
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
