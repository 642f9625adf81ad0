/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_torch.c - the names that a pickle of weights may use, and what each means.
 *
 * Every name has a role, and inv_torch_reduce makes a value of its arguments by it. It only
 * inspects values: there is nothing here that a file could call.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/npy.h"
#include "formats/pickle.h"
#include "formats/weights.h"

enum { SHOWN = 80 }; /* of a name in a message */

static const inv_torch_type types[] = {
	{"float32", "FloatStorage", "F32", 4},
	{"float64", "DoubleStorage", "F64", 8},
	{"float16", "HalfStorage", "F16", 2},
	{"bfloat16", "BFloat16Storage", "BF16", 2},
	{"int64", "LongStorage", "I64", 8},
	{"int32", "IntStorage", "I32", 4},
	{"int16", "ShortStorage", "I16", 2},
	{"int8", "CharStorage", "I8", 1},
	{"uint8", "ByteStorage", "U8", 1},
	{"bool", "BoolStorage", "BOOL", 1},
	{"uint16", NULL, "U16", 2},
	{"uint32", NULL, "U32", 4},
	{"uint64", NULL, "U64", 8},
	{"float8_e4m3fn", NULL, "F8_E4M3", 1},
	{"float8_e5m2", NULL, "F8_E5M2", 1},
	{NULL, NULL, NULL, 0},
};

typedef enum role {
	ROLE_DICT,      /* OrderedDict() or OrderedDict([[key, value], …]) */
	ROLE_TENSOR,    /* (storage, offset, size, stride, …) */
	ROLE_TENSOR_V3, /* (…, requires_grad, hooks, dtype) */
	ROLE_PARAMETER, /* (tensor, …) */
	ROLE_FIRST,     /* its first argument as it is */
	ROLE_NONE,      /* nothing of interest */
	ROLE_BAG,       /* an object with attributes */
	ROLE_STORAGE,   /* the class of a storage: never called */
	ROLE_DTYPE      /* a number format: never called */
} role;

static const struct global {
	const char *module, *name;
	role role;
} globals[] = {
	{"collections", "OrderedDict", ROLE_DICT},
	{"torch._utils", "_rebuild_tensor", ROLE_TENSOR},
	{"torch._utils", "_rebuild_tensor_v2", ROLE_TENSOR},
	{"torch._utils", "_rebuild_tensor_v3", ROLE_TENSOR_V3},
	{"torch._utils", "_rebuild_parameter", ROLE_PARAMETER},
	{"torch._utils", "_rebuild_parameter_with_state", ROLE_PARAMETER},
	{"torch.nn.parameter", "Parameter", ROLE_PARAMETER},
	{"torch", "Size", ROLE_FIRST},
	{"torch", "device", ROLE_NONE},
	{"torch.jit._pickle", "build_intlist", ROLE_FIRST},
	{"torch.jit._pickle", "build_doublelist", ROLE_FIRST},
	{"torch.jit._pickle", "build_boollist", ROLE_FIRST},
	{"torch.jit._pickle", "build_tensorlist", ROLE_FIRST},
	{"torch.jit._pickle", "restore_type_tag", ROLE_FIRST},
	{"argparse", "Namespace", ROLE_BAG},
	{"torch", "UntypedStorage", ROLE_STORAGE},
	{"torch.storage", "UntypedStorage", ROLE_STORAGE},
};

/* ---- Names ------------------------------------------------------------------------ */

static bool is(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

static invar_status new_global(inv_pickle *p, role r, const inv_torch_type *type,
                               inv_py **out)
{
	INV_TRY(inv_pickle_new(p, INV_PY_GLOBAL, out));
	(*out)->role = r;
	(*out)->of.type = type;
	return INVAR_OK;
}

/* A name from a file is shown in messages as plain letters. */
static const char *plain(const char *text, size_t length, char out[SHOWN + 1])
{
	size_t n = length < SHOWN ? length : SHOWN;

	for (size_t i = 0; i < n; i++)
		out[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	out[n] = 0;
	return out;
}

invar_status inv_torch_global(inv_pickle *p, const char *module, size_t module_length,
                              const char *name, size_t name_length, inv_py **out)
{
	static const char whole[] = "torch.nn.modules.";
	char a[SHOWN + 1], b[SHOWN + 1];
	bool torch = is(module, module_length, "torch");
	bool storage = torch || is(module, module_length, "torch.storage");

	for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
		if (is(module, module_length, globals[i].module) &&
		    is(name, name_length, globals[i].name))
			return new_global(p, globals[i].role, NULL, out);
	for (const inv_torch_type *t = types; t->name; t++) {
		if (torch && is(name, name_length, t->name))
			return new_global(p, ROLE_DTYPE, t, out);
		if (storage && t->storage && is(name, name_length, t->storage))
			return new_global(p, ROLE_STORAGE, t, out);
	}
	if (p->modules && module_length >= 9 && memcmp(module, "__torch__", 9) == 0 &&
	    (module_length == 9 || module[9] == '.'))
		return new_global(p, ROLE_BAG, NULL, out);
	if (module_length >= strlen(whole) && memcmp(module, whole, strlen(whole)) == 0)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its pickle refers to %s.%s: it is a whole module, not its "
		                "tensors; save module.state_dict() in Python instead",
		                p->path, plain(module, module_length, a),
		                plain(name, name_length, b));
	return inv_fail(
		INVAR_E_FORMAT,
		"%s: its pickle refers to %s.%s, which no weight file needs; nothing was executed",
		p->path, plain(module, module_length, a), plain(name, name_length, b));
}

/* ---- Storages --------------------------------------------------------------------- */

static bool is_count(const inv_py *v)
{
	return v->kind == INV_PY_INT && v->of.i >= 0;
}

/* ('storage', class, key, place, elements[, view]) */
invar_status inv_torch_persistent(inv_pickle *p, const inv_py *id, inv_py **out)
{
	inv_py **item = id->of.items;
	inv_torch_storage *s;
	uint64_t bytes;

	if (id->kind != INV_PY_TUPLE || id->count < 5 || id->count > 6 ||
	    item[0]->kind != INV_PY_TEXT || !is(item[0]->of.text, item[0]->count, "storage"))
		return inv_pickle_bad(p, "it refers to an external object that is not a storage");
	if (item[1]->kind != INV_PY_GLOBAL || item[1]->role != ROLE_STORAGE)
		return inv_pickle_bad(p, "a storage has an unknown class");
	if (item[2]->kind != INV_PY_TEXT || !item[2]->count || !is_count(item[4]))
		return inv_pickle_bad(p, "a storage has no key or no number of elements");
	if (!(s = inv_pickle_take(p, 1, sizeof *s)))
		return inv_pickle_full(p);
	*s = (inv_torch_storage){.type = item[1]->of.type,
	                         .key = item[2]->of.text,
	                         .key_length = item[2]->count,
	                         .all = (uint64_t)item[4]->of.i,
	                         .count = (uint64_t)item[4]->of.i,
	                         .next = p->storages};
	if (inv_mul_overflow(s->all, s->type ? s->type->bytes : 1, &bytes) || bytes > INT64_MAX)
		return inv_pickle_bad(p, "a storage claims more bytes than a file can hold");

	/* In very old files: (key, first, count), a range of elements of another storage. */
	if (id->count == 6 && item[5]->kind != INV_PY_NONE) {
		inv_py **view = item[5]->of.items;
		bool valid = item[5]->kind == INV_PY_TUPLE && item[5]->count == 3 &&
		             is_count(view[1]) && is_count(view[2]);

		s->first = valid ? (uint64_t)view[1]->of.i : 0;
		s->count = valid ? (uint64_t)view[2]->of.i : 0;
		if (!valid || s->first > s->all || s->count > s->all - s->first)
			return inv_pickle_bad(p, "a storage views elements outside its parent storage");
	}
	INV_TRY(inv_pickle_new(p, INV_PY_STORAGE, out));
	(*out)->of.storage = p->storages = s;
	return INVAR_OK;
}

/* ---- Tensors ---------------------------------------------------------------------- */

/* (storage, offset, size, stride, requires_grad, hooks, [type of _v3, ]metadata) */
static invar_status reduce_tensor(inv_pickle *p, const inv_py *arguments, bool has_type,
                                  inv_py **out)
{
	inv_py **argument = arguments->of.items;
	const inv_py *size, *stride, *metadata;
	uint64_t last, count, step;
	inv_torch_tensor *t;

	if (arguments->count < (has_type ? 7 : 4) || arguments->count > 7u + has_type)
		return inv_pickle_bad(p, "a tensor has the wrong number of arguments");
	/* It may say that values are negated or conjugated, which is not supported. */
	metadata = arguments->count == 7u + has_type ? argument[6 + has_type] : NULL;
	if (metadata && metadata->kind != INV_PY_NONE &&
	    !(metadata->kind == INV_PY_DICT && !metadata->count))
		return inv_pickle_bad(p, "a tensor has unknown extra properties");
	if (has_type && (argument[6]->kind != INV_PY_GLOBAL || argument[6]->role != ROLE_DTYPE))
		return inv_pickle_bad(p, "a tensor has no type");
	if (argument[0]->kind != INV_PY_STORAGE || !is_count(argument[1]))
		return inv_pickle_bad(p, "a tensor has no storage, or no offset in it");
	if (!(t = inv_pickle_take(p, 1, sizeof *t)))
		return inv_pickle_full(p);
	t->storage = argument[0]->of.storage;
	t->offset = (uint64_t)argument[1]->of.i;
	t->type = has_type ? argument[6]->of.type : t->storage->type;
	if (!t->type || (t->storage->type && t->storage->type != t->type))
		return inv_pickle_bad(p, "a tensor and its storage have different types");

	size = argument[2];
	stride = argument[3];
	if ((size->kind != INV_PY_TUPLE && size->kind != INV_PY_LIST) ||
	    (stride->kind != INV_PY_TUPLE && stride->kind != INV_PY_LIST))
		return inv_pickle_bad(p, "a tensor's shape or strides are not tuples");
	if (size->count != stride->count || size->count > INV_WEIGHT_NDIM)
		return inv_pickle_bad(p, "a tensor has too many dimensions, or too few strides");
	t->ndim = size->count;
	for (unsigned i = 0; i < t->ndim; i++) {
		if (!is_count(size->of.items[i]) || !is_count(stride->of.items[i]))
			return inv_pickle_bad(p, "a tensor's shape or strides are not whole numbers "
			                         "of 0 or more");
		t->shape[i] = (uint64_t)size->of.items[i]->of.i;
		t->stride[i] = stride->of.items[i]->of.i;
	}

	/* offset + sum of (size - 1) stride is the last element that is touched. */
	last = t->offset;
	count = t->storage->type ? t->storage->count : t->storage->count / t->type->bytes;
	if (!inv_shape_cells(t->ndim, t->shape, t->type->bytes, &t->cells))
		return inv_pickle_bad(p, "a tensor has more elements than a file can hold");
	for (unsigned i = 0; i < t->ndim && t->cells; i++)
		if (inv_mul_overflow(t->shape[i] - 1, (uint64_t)t->stride[i], &step) ||
		    inv_add_overflow(last, step, &last))
			return inv_pickle_bad(p, "a tensor's strides leave its storage");
	if (t->cells ? last >= count : t->offset > count)
		return inv_pickle_bad(p, "a tensor leaves its storage");
	if (t->cells > count)
		return inv_pickle_bad(p, "a tensor has more elements than its storage");
	INV_TRY(inv_pickle_new(p, INV_PY_TENSOR, out));
	(*out)->of.tensor = t;
	return INVAR_OK;
}

/* ---- Other roles ------------------------------------------------------------------ */

static invar_status reduce_dict(inv_pickle *p, const inv_py *arguments, inv_py **out)
{
	const inv_py *pairs;

	INV_TRY(inv_pickle_new(p, INV_PY_DICT, out));
	if (!arguments->count)
		return INVAR_OK;
	pairs = arguments->of.items[0];
	if (arguments->count != 1 || pairs->kind != INV_PY_LIST)
		return inv_pickle_bad(p, "a dictionary is built from something that is not a list");
	for (uint32_t i = 0; i < pairs->count; i++) {
		const inv_py *pair = pairs->of.items[i];

		if ((pair->kind != INV_PY_LIST && pair->kind != INV_PY_TUPLE) || pair->count != 2)
			return inv_pickle_bad(p,
			                      "a dictionary is built from something other than pairs");
		INV_TRY(inv_pickle_put(p, *out, pair->of.items[0]));
		INV_TRY(inv_pickle_put(p, *out, pair->of.items[1]));
	}
	return INVAR_OK;
}

invar_status inv_torch_reduce(inv_pickle *p, const inv_py *callee, const inv_py *arguments,
                              inv_py **out)
{
	if (callee->kind != INV_PY_GLOBAL || callee->role >= ROLE_STORAGE)
		return inv_pickle_bad(p, "it calls something that is not a function");
	if (arguments->kind != INV_PY_TUPLE)
		return inv_pickle_bad(p, "the arguments of a call are not a tuple");
	switch ((role)callee->role) {
	case ROLE_DICT:
		return reduce_dict(p, arguments, out);
	case ROLE_TENSOR:
	case ROLE_TENSOR_V3:
		return reduce_tensor(p, arguments, callee->role == ROLE_TENSOR_V3, out);
	case ROLE_PARAMETER:
		if (!arguments->count || arguments->of.items[0]->kind != INV_PY_TENSOR)
			return inv_pickle_bad(
				p, "a parameter is built from something that is not a tensor");
		break;
	case ROLE_FIRST:
		if (!arguments->count)
			return inv_pickle_bad(p, "a value is built without arguments");
		break;
	case ROLE_BAG:
		if (arguments->count)
			return inv_pickle_bad(p, "an object is built with arguments, expected none");
		return inv_pickle_new(p, INV_PY_BAG, out);
	default:
		return inv_pickle_new(p, INV_PY_NONE, out);
	}
	*out = arguments->of.items[0];
	return INVAR_OK;
}

/* A dictionary's own attributes (_metadata) are of no interest; a bag's are its content. */
invar_status inv_torch_build(inv_pickle *p, inv_py *object, inv_py *state)
{
	if (object->kind == INV_PY_DICT)
		return INVAR_OK;
	if (object->kind != INV_PY_BAG || state->kind != INV_PY_DICT || object->of.inside)
		return inv_pickle_bad(p, "it sets attributes of something that has none");
	object->of.inside = state;
	return INVAR_OK;
}
