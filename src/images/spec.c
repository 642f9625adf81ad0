/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.c - reading a SPEC, and writing it back in one form.
 *
 * The text is cut at |, +, : and , in turn; every piece is trimmed and
 * parsed by itself, so that each fault has its own message. Nothing is allocated, and
 * the number of chains, operations and characters is bounded.
 */
#include "images/spec.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"
#include "images/augment/warp.h"

/* A piece of the text; copied for functions that need a string. */
typedef struct piece {
	const char *at;
	size_t length;
} piece;

enum { WORD = 64, LIST = 256 };

static piece trim(piece p)
{
	while (p.length && (*p.at == ' ' || *p.at == '\t')) {
		p.at++;
		p.length--;
	}
	while (p.length && (p.at[p.length - 1] == ' ' || p.at[p.length - 1] == '\t'))
		p.length--;
	return p;
}

/* Takes the piece before the next `sign` off p; false when p is used up. */
static bool next_piece(piece *p, char sign, piece *out)
{
	const char *end;

	if (!p->at)
		return false;
	end = p->length ? memchr(p->at, sign, p->length) : NULL;
	*out = trim((piece){p->at, end ? (size_t)(end - p->at) : p->length});
	if (end)
		*p = (piece){end + 1, p->length - (size_t)(end + 1 - p->at)};
	else
		p->at = NULL;
	return true;
}

static const char *word_of(piece p, char out[WORD])
{
	snprintf(out, WORD, "%.*s", (int)(p.length < WORD ? p.length : WORD - 1), p.at);
	return out;
}

static bool same_word(piece p, const char *name)
{
	return strlen(name) == p.length && memcmp(p.at, name, p.length) == 0;
}

/* ---- Values ------------------------------------------------------------------ */

/* A decimal number and nothing else: no hexadecimal, no infinity, no NaN. */
static bool read_spec_number(piece p, double *out)
{
	char text[WORD], *end;

	p = trim(p);
	if (!p.length || p.length >= WORD || strspn(p.at, "+-.0123456789eE") < p.length)
		return false;
	*out = strtod(word_of(p, text), &end);
	return end == text + p.length && isfinite(*out);
}

static bool read_range(piece p, bool around_zero, inv_value *out)
{
	for (size_t i = 0; i + 1 < p.length; i++)
		if (p.at[i] == '.' && p.at[i + 1] == '.')
			return read_spec_number((piece){p.at, i}, &out->low) &&
			       read_spec_number((piece){p.at + i + 2, p.length - i - 2}, &out->high);
	if (!read_spec_number(p, &out->high))
		return false;
	out->low = around_zero ? -fabs(out->high) : out->high;
	out->high = around_zero ? fabs(out->high) : out->high;
	return true;
}

static bool read_size(piece p, inv_value *out)
{
	const char *cross = p.length ? memchr(p.at, 'x', p.length) : NULL;
	size_t left = cross ? (size_t)(cross - p.at) : p.length;

	if (!read_spec_number((piece){p.at, left}, &out->low))
		return false;
	out->high = out->low;
	if (cross && !read_spec_number((piece){cross + 1, p.length - left - 1}, &out->high))
		return false;
	return out->low == floor(out->low) && out->high == floor(out->high);
}

static bool read_word(piece p, const char *words, inv_value *out)
{
	piece list = {words, strlen(words)}, word;

	for (out->low = 0; next_piece(&list, '|', &word); out->low++)
		if (word.length == p.length && memcmp(word.at, p.at, p.length) == 0) {
			out->high = out->low;
			return true;
		}
	return false;
}

static bool read_key_value(const inv_key *key, piece p, inv_value *out)
{
	switch (key->type) {
	case INV_KEY_NUMBER:
		return read_range((piece){p.at, p.length}, false, out) && out->low == out->high;
	case INV_KEY_RANGE:
		return read_range(p, false, out);
	case INV_KEY_SPREAD:
		return read_range(p, true, out);
	case INV_KEY_SIZE:
		return read_size(p, out);
	default:
		return read_word(p, key->words, out);
	}
}

static invar_status refuse_value(const char *op, const inv_key *key, const char *text)
{
	static const char *const shapes[] = {"a number", "a number or a range a..b",
	                                     "a number (meaning -n..n) or a range a..b",
	                                     "a size such as 96 or 64x48"};
	char list[LIST], hint[INV_HINT];

	if (key->type != INV_KEY_WORD)
		return inv_fail(INVAR_E_USE, "the augmentation '%s' needs %s for %s, not '%s'", op,
		                shapes[key->type], key->name, text);
	return inv_fail(INVAR_E_USE, "the augmentation '%s' needs %s for %s, not '%s'%s", op,
	                inv_list_words(key->words, list, sizeof list), key->name, text,
	                inv_hint(text, key->words, hint));
}

static invar_status check_bounds(const char *op, const inv_key *key, inv_value v,
                                 const char *text)
{
	if (key->type == INV_KEY_WORD)
		return INVAR_OK;
	if (v.low < key->min || v.low > key->max || v.high < key->min || v.high > key->max)
		return inv_fail(INVAR_E_USE,
		                "the augmentation '%s' has %s=%s, which must be between %g and %g",
		                op, key->name, text, key->min, key->max);
	if (v.low > v.high && key->type != INV_KEY_SIZE)
		return inv_fail(INVAR_E_USE,
		                "the augmentation '%s' has %s=%s, but the first number of a range "
		                "must not be the larger one",
		                op, key->name, text);
	return INVAR_OK;
}

/* ---- Operations --------------------------------------------------------------- */

static const char *key_names(const inv_op *op, char out[LIST])
{
	size_t fill = 0;
	const inv_key *key;

	out[0] = '\0';
	for (size_t k = INV_OWN_KEY; (key = inv_op_key(op, k)) && fill < LIST; k++)
		fill += (size_t)snprintf(out + fill, LIST - fill, "%s|", key->name);
	if (fill < LIST)
		snprintf(out + fill, LIST - fill, "p|same_on_batch");
	return out;
}

static invar_status unknown_op_key(const inv_op *op, const char *text)
{
	char names[LIST], list[LIST], hint[INV_HINT];

	key_names(op, names);
	return inv_fail(INVAR_E_USE, "the augmentation '%s' has no key '%s'; it has %s%s",
	                op->name, text, inv_list_words(names, list, sizeof list),
	                inv_hint(text, names, hint));
}

static invar_status read_key(piece p, inv_spec_op *o, unsigned *seen)
{
	const char *equals = p.length ? memchr(p.at, '=', p.length) : NULL;
	size_t left = equals ? (size_t)(equals - p.at) : 0, k = 0;
	piece name = trim((piece){p.at, left}), value;
	char text[WORD];
	const inv_key *key;

	if (!equals)
		return inv_fail(INVAR_E_USE,
		                "the augmentation '%s' has '%s' where key=value is expected",
		                o->op->name, word_of(p, text));
	value = trim((piece){equals + 1, p.length - left - 1});
	while ((key = inv_op_key(o->op, k)) && !same_word(name, key->name))
		k++;
	if (!key)
		return unknown_op_key(o->op, word_of(name, text));
	if (*seen & 1u << k)
		return inv_fail(INVAR_E_USE, "the augmentation '%s' has %s twice", o->op->name,
		                key->name);
	*seen |= 1u << k;
	if (!read_key_value(key, value, &o->value[k]))
		return refuse_value(o->op->name, key, word_of(value, text));
	return check_bounds(o->op->name, key, o->value[k], word_of(value, text));
}

static const inv_op *find_op(piece name)
{
	const inv_op *op;

	for (size_t i = 0; (op = inv_op_at(i)); i++)
		if (same_word(name, op->name))
			return op;
	return NULL;
}

static invar_status unknown_op(piece name)
{
	char text[WORD], list[LIST], hint[INV_HINT];

	if (!name.length)
		return inv_fail(INVAR_E_USE, "the augmentation has an operation without a name");
	word_of(name, text);
	return inv_fail(INVAR_E_USE, "there is no augmentation '%s'; choose from %s%s", text,
	                inv_list_words(inv_op_names(), list, sizeof list),
	                inv_hint(text, inv_op_names(), hint));
}

/* The value of a key of an operation; 0 if it has no such key. */
static double key_value(const inv_spec_op *o, const char *name)
{
	const inv_key *key;

	for (size_t k = 0; (key = inv_op_key(o->op, k)); k++)
		if (strcmp(key->name, name) == 0)
			return o->value[k].low;
	return 0;
}

static invar_status read_op(piece p, inv_spec_op *o)
{
	piece name, key;
	unsigned seen = 0;
	const inv_key *form;

	next_piece(&p, ':', &name);
	if (!(o->op = find_op(name)))
		return unknown_op(name);
	for (size_t k = 0; (form = inv_op_key(o->op, k)); k++)
		o->value[k] = (inv_value){form->low, form->high};
	while (next_piece(&p, ',', &key))
		INV_TRY(read_key(key, o, &seen));
	o->has_on = o->value[INV_KEY_P].low < 1;
	o->inside = key_value(o, "inside") == 1;
	return INVAR_OK;
}

/* ---- Chains and sets ------------------------------------------------------------ */

static invar_status read_weight(piece *chain, double *weight)
{
	const char *star = chain->length ? memchr(chain->at, '*', chain->length) : NULL;
	size_t left = star ? (size_t)(star - chain->at) : 0;
	char text[WORD];

	*weight = 1;
	if (!star)
		return INVAR_OK;
	if (!read_spec_number((piece){chain->at, left}, weight) || !(*weight > 0) ||
	    *weight > 1e6)
		return inv_fail(
			INVAR_E_USE,
			"the weight '%s' of an augmentation must be a number above 0 and at "
			"most a million",
			word_of(trim((piece){chain->at, left}), text));
	*chain = trim((piece){star + 1, chain->length - left - 1});
	return INVAR_OK;
}

static invar_status read_chain(piece chain, inv_spec *s)
{
	invar_status st;
	piece op;

	if ((st = read_weight(&chain, &s->weight[s->chains])) != INVAR_OK)
		return st;
	s->first[s->chains] = s->ops;
	while (next_piece(&chain, '+', &op)) {
		if (s->ops == INV_MAX_OPS)
			return inv_fail(INVAR_E_USE, "the augmentation has more than %d operations",
			                INV_MAX_OPS);
		s->op[s->ops].chain = s->chains;
		if ((st = read_op(op, &s->op[s->ops++])) != INVAR_OK)
			return st;
	}
	s->first[++s->chains] = s->ops;
	return INVAR_OK;
}

/* Whether the size of its result does not depend on its input. */
static bool has_own_size(const inv_spec_op *o)
{
	inv_extent a = {1, 1, 1}, b = {1, 2, 2};

	if (o->inside || !o->op->result)
		return false;
	a = o->op->result(o->value, a);
	b = o->op->result(o->value, b);
	return a.h == b.h || a.w == b.w;
}

/* Fails if an earlier operation removes the surroundings that inside=1 needs. */
static invar_status check_inside(inv_spec *s)
{
	for (size_t i = 0; i < s->ops; i++) {
		s->inside |= s->op[i].inside;
		for (size_t j = s->first[s->op[i].chain]; j < i && s->op[i].inside; j++)
			if (has_own_size(&s->op[j]))
				return inv_fail(INVAR_E_USE,
				                "the augmentation '%s' with its own size comes before '%s' "
				                "with inside=1; put it after",
				                s->op[j].op->name, s->op[i].op->name);
	}
	return INVAR_OK;
}

static void count_columns(inv_spec *s)
{
	s->columns = s->chains > 1;
	for (size_t i = 0; i < s->ops; i++) {
		s->op[i].column = s->columns;
		s->columns += s->op[i].has_on + s->op[i].op->column_count;
	}
}

size_t inv_spec_op_of(const inv_spec *s, size_t column)
{
	size_t i = s->ops - 1;

	while (i && s->op[i].column > column)
		i--;
	return i;
}

void inv_spec_column(const inv_spec *s, size_t column, char out[32])
{
	size_t i, own;
	const inv_spec_op *o;
	char prefix[16] = "";

	if (column == 0 && s->chains > 1) {
		snprintf(out, 32, "chain");
		return;
	}
	i = inv_spec_op_of(s, column);
	o = &s->op[i];
	own = column - o->column;
	if (s->ops > 1)
		snprintf(prefix, sizeof prefix, "%u.", (unsigned)i);
	snprintf(out, 32, "%s%s", prefix,
	         o->has_on && own == 0 ? "on" : o->op->columns[own - o->has_on]);
}

size_t inv_spec_chain(const inv_spec *s, const float *row)
{
	if (s->chains == 1)
		return 0;
	return row[0] >= 0 && row[0] < (float)s->chains ? (size_t)row[0] : s->chains;
}

bool inv_spec_acts(const inv_spec *s, const float *row, size_t i)
{
	const inv_spec_op *o = &s->op[i];

	return o->chain == inv_spec_chain(s, row) && (!o->has_on || row[o->column] != 0);
}

/* ---- The canonical form ---------------------------------------------------------- */

typedef struct writer {
	char *text;
	size_t fill;
} writer;

__attribute__((format(printf, 2, 3))) static void put_spec_text(writer *w,
                                                                const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(w->text + w->fill, INV_SPEC_CANONICAL - w->fill, format, list);
	va_end(list);
	w->fill += (size_t)length;
	if (w->fill >= INV_SPEC_CANONICAL)
		w->fill = INV_SPEC_CANONICAL - 1;
}

/* The shortest digits that read back as the same number. */
static void put_spec_number(writer *w, double value)
{
	char text[WORD];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value && !strchr(text, '+')) /* which joins operations */
			break;
	}
	put_spec_text(w, "%s", text);
}

static void put_key_value(writer *w, const inv_key *key, inv_value v)
{
	piece list = {key->words, key->words ? strlen(key->words) : 0}, word = {0};

	if (key->type == INV_KEY_WORD) {
		for (int i = 0; i <= (int)v.low; i++)
			next_piece(&list, '|', &word);
		put_spec_text(w, "%.*s", (int)word.length, word.at);
		return;
	}
	put_spec_number(w, v.low + 0.0); /* -0 is 0 */
	if (key->type == INV_KEY_SPREAD || (v.low != v.high && key->type == INV_KEY_RANGE))
		put_spec_text(w, "..");
	else if (key->type == INV_KEY_SIZE)
		put_spec_text(w, "x");
	else
		return;
	put_spec_number(w, v.high + 0.0);
}

/* `sign` goes before the first key that is not at its default. */
static void put_keys(writer *w, const inv_spec_op *o, size_t from, size_t to, char *sign)
{
	const inv_key *key;

	for (size_t k = from; k < to && (key = inv_op_key(o->op, k)); k++)
		if (o->value[k].low != key->low || o->value[k].high != key->high) {
			put_spec_text(w, "%c%s=", *sign, key->name);
			put_key_value(w, key, o->value[k]);
			*sign = ',';
		}
}

static void put_op(writer *w, const inv_spec_op *o)
{
	char sign = ':';

	put_spec_text(w, "%s", o->op->name);
	put_keys(w, o, INV_OWN_KEY, INV_MAX_KEYS, &sign);
	put_keys(w, o, 0, INV_OWN_KEY, &sign);
}

/* A weight of 1 is left out, and so are all weights if they are equal. */
static void put_spec(writer *w, const inv_spec *s)
{
	bool weighted = false;

	for (size_t i = 1; i < s->chains; i++)
		weighted |= s->weight[i] != s->weight[0];
	for (size_t i = 0; i < s->chains; i++) {
		put_spec_text(w, "%s", i ? "|" : "");
		if (weighted && s->weight[i] != 1) {
			put_spec_number(w, s->weight[i]);
			put_spec_text(w, "*");
		}
		for (size_t j = s->first[i]; j < s->first[i + 1]; j++) {
			put_spec_text(w, "%s", j > s->first[i] ? "+" : "");
			put_op(w, &s->op[j]);
		}
	}
}

static invar_status read_set(const char *text, inv_spec *s)
{
	piece set = {text, strlen(text)}, chain;

	while (next_piece(&set, '|', &chain)) {
		if (s->chains == INV_MAX_CHAINS)
			return inv_fail(INVAR_E_USE, "the augmentation has more than %d chains",
			                INV_MAX_CHAINS);
		INV_TRY(read_chain(chain, s));
	}
	return check_inside(s);
}

invar_status inv_spec_parse(const char *text, inv_spec *out)
{
	locale_t plain, before;
	invar_status st;

	*out = (inv_spec){0};
	if (strlen(text) >= INV_SPEC_TEXT)
		return inv_fail(INVAR_E_USE, "the augmentation is longer than %d characters",
		                INV_SPEC_TEXT - 1);
	/* The program's locale may write 0,5; a SPEC always has 0.5. */
	if (!(plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)))
		return inv_no_memory();
	before = uselocale(plain);
	if ((st = read_set(text, out)) == INVAR_OK) {
		count_columns(out);
		put_spec(&(writer){.text = out->canonical}, out);
	}
	uselocale(before);
	freelocale(plain);
	return st;
}

/* ---- Documentation ------------------------------------------------------------------ */

static const inv_op *find_operation(const char *name)
{
	const inv_op *op;

	for (size_t i = 0; (op = inv_op_at(i)); i++)
		if (strcmp(op->name, name) == 0)
			return op;
	return NULL;
}

const char *inv_augment_corner_note(const char *spec)
{
	inv_spec s;

	if (!spec || inv_spec_parse(spec, &s) != INVAR_OK)
		return NULL;
	for (size_t i = 0; i < s.ops; i++) {
		const inv_spec_op *o = &s.op[i];
		double fill = key_value(o, "fill");

		if (strcmp(o->op->name, "rotation") == 0 && !o->inside && !key_value(o, "circle") &&
		    (fill == INV_FILL_ZEROS || fill == INV_FILL_MEAN))
			return "the rotated copies have empty corners, and E learns to repair these; "
			       "if "
				   "real rotations of your pictures have none (aerial images, microscopy), "
				   "encode with rotation:inside=1, which cuts each copy from the inside of "
			       "a "
				   "larger picture";
	}
	return NULL;
}

const char *inv_augment_help(const char *operation)
{
	const inv_op *op = find_operation(operation);

	return op ? op->help : NULL;
}

const char *inv_augment_key(const char *operation, size_t k, char out[128])
{
	const inv_op *op = find_operation(operation);
	const inv_key *key = op ? inv_op_key(op, INV_OWN_KEY + k) : NULL;
	char text[INV_SPEC_CANONICAL];
	writer w = {.text = text};

	out[0] = '\0';
	if (!key)
		return NULL;
	put_spec_text(&w, "%s=", key->name);
	if (key->type == INV_KEY_SIZE && key->low == 0)
		put_spec_text(&w, "HxW"); /* the input's */
	else
		put_key_value(&w, key, (inv_value){key->low, key->high});
	snprintf(out, 128, "%.127s", text);
	return out;
}

const char *inv_augment_key_words(const char *operation, size_t k)
{
	const inv_op *op = find_operation(operation);
	const inv_key *key = op ? inv_op_key(op, INV_OWN_KEY + k) : NULL;

	return key ? key->words : NULL;
}
