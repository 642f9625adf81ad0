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

static bool read_key_value(const inv_key *key, piece p, inv_value *out)
{
	const char *cross = p.length ? memchr(p.at, 'x', p.length) : NULL;
	size_t left = cross ? (size_t)(cross - p.at) : p.length;
	piece list = {key->words, key->words ? strlen(key->words) : 0}, word;

	if (key->type == INV_KEY_WORD) {
		for (out->low = 0; next_piece(&list, '|', &word); out->low++)
			if (word.length == p.length && memcmp(word.at, p.at, p.length) == 0) {
				out->high = out->low;
				return true;
			}
		return false;
	}
	if (key->type == INV_KEY_SIZE) {
		if (!read_spec_number((piece){p.at, left}, &out->low))
			return false;
		out->high = out->low;
		if (cross && !read_spec_number((piece){cross + 1, p.length - left - 1}, &out->high))
			return false;
		return out->low == floor(out->low) && out->high == floor(out->high);
	}
	for (size_t i = 0; i + 1 < p.length; i++)
		if (p.at[i] == '.' && p.at[i + 1] == '.')
			return read_spec_number((piece){p.at, i}, &out->low) &&
			       read_spec_number((piece){p.at + i + 2, p.length - i - 2}, &out->high) &&
			       (key->type != INV_KEY_NUMBER || out->low == out->high);
	if (!read_spec_number(p, &out->high))
		return false;
	out->low = key->type == INV_KEY_SPREAD ? -fabs(out->high) : out->high;
	out->high = key->type == INV_KEY_SPREAD ? fabs(out->high) : out->high;
	return true;
}

/* ---- Operations --------------------------------------------------------------- */

static invar_status read_key(piece p, inv_spec_op *o, unsigned *seen)
{
	static const char *const shapes[] = {"a number", "a number or a range a..b",
	                                     "a number (meaning -n..n) or a range a..b",
	                                     "a size such as 96 or 64x48"};
	const char *equals = p.length ? memchr(p.at, '=', p.length) : NULL, *op = o->op->name;
	size_t left = equals ? (size_t)(equals - p.at) : 0, k = 0, fill = 0;
	piece name = trim((piece){p.at, left}), value;
	char text[WORD], names[LIST], list[LIST], hint[INV_HINT];
	const inv_key *key;
	inv_value v;

	if (!equals)
		return inv_fail(INVAR_E_USE,
		                "the augmentation '%s' has '%s' where key=value is expected", op,
		                word_of(p, text));
	value = trim((piece){equals + 1, p.length - left - 1});
	while ((key = inv_op_key(o->op, k)) && !same_word(name, key->name))
		k++;
	if (!key) {
		for (k = INV_OWN_KEY; (key = inv_op_key(o->op, k)) && fill < LIST; k++)
			fill += (size_t)snprintf(names + fill, LIST - fill, "%s|", key->name);
		if (fill < LIST)
			snprintf(names + fill, LIST - fill, "p|same_on_batch");
		word_of(name, text);
		return inv_fail(INVAR_E_USE, "the augmentation '%s' has no key '%s'; it has %s%s",
		                op, text, inv_list_words(names, list, sizeof list),
		                inv_hint(text, names, hint));
	}
	if (*seen & 1u << k)
		return inv_fail(INVAR_E_USE, "the augmentation '%s' has %s twice", op, key->name);
	*seen |= 1u << k;

	word_of(value, text);
	if (!read_key_value(key, value, &o->value[k])) {
		if (key->type != INV_KEY_WORD)
			return inv_fail(INVAR_E_USE, "the augmentation '%s' needs %s for %s, not '%s'",
			                op, shapes[key->type], key->name, text);
		return inv_fail(INVAR_E_USE, "the augmentation '%s' needs %s for %s, not '%s'%s",
		                op, inv_list_words(key->words, list, sizeof list), key->name, text,
		                inv_hint(text, key->words, hint));
	}
	v = o->value[k];
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

static const inv_op *find_op(piece name)
{
	const inv_op *op;

	for (size_t i = 0; (op = inv_op_at(i)); i++)
		if (same_word(name, op->name))
			return op;
	return NULL;
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
	char text[WORD], list[LIST], hint[INV_HINT];
	piece name, key;
	unsigned seen = 0;
	const inv_key *form;

	next_piece(&p, ':', &name);
	if (!name.length)
		return inv_fail(INVAR_E_USE, "the augmentation has an operation without a name");
	word_of(name, text);
	if (!(o->op = find_op(name)))
		return inv_fail(INVAR_E_USE, "there is no augmentation '%s'; choose from %s%s",
		                text, inv_list_words(inv_op_names(), list, sizeof list),
		                inv_hint(text, inv_op_names(), hint));
	for (size_t k = 0; (form = inv_op_key(o->op, k)); k++)
		o->value[k] = (inv_value){form->low, form->high};
	while (next_piece(&p, ',', &key))
		INV_TRY(read_key(key, o, &seen));
	o->has_on = o->value[INV_KEY_P].low < 1;
	o->inside = key_value(o, "inside") == 1;
	return INVAR_OK;
}

/* ---- Chains and sets ------------------------------------------------------------ */

static invar_status read_chain(piece chain, inv_spec *s)
{
	const char *star = chain.length ? memchr(chain.at, '*', chain.length) : NULL;
	piece weight = {chain.at, star ? (size_t)(star - chain.at) : 0}, op;
	double *number = &s->weight[s->chains];
	char text[WORD];

	*number = 1;
	if (star) {
		if (!read_spec_number(weight, number) || !(*number > 0) || *number > 1e6)
			return inv_fail(
				INVAR_E_USE,
				"the weight '%s' of an augmentation must be a number above 0 and at "
				"most a million",
				word_of(trim(weight), text));
		chain = trim((piece){star + 1, chain.length - weight.length - 1});
	}
	s->first[s->chains] = s->ops;
	while (next_piece(&chain, '+', &op)) {
		if (s->ops == INV_MAX_OPS)
			return inv_fail(INVAR_E_USE, "the augmentation has more than %d operations",
			                INV_MAX_OPS);
		s->op[s->ops].chain = s->chains;
		INV_TRY(read_op(op, &s->op[s->ops++]));
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

/* Its own keys first; only those that are not at their defaults. */
static void put_op(writer *w, const inv_spec_op *o)
{
	const inv_key *key;
	char sign = ':';

	put_spec_text(w, "%s", o->op->name);
	for (size_t i = 0; i < INV_MAX_KEYS; i++) {
		size_t k = (i + INV_OWN_KEY) % INV_MAX_KEYS;

		if (!(key = inv_op_key(o->op, k)) ||
		    (o->value[k].low == key->low && o->value[k].high == key->high))
			continue;
		put_spec_text(w, "%c%s=", sign, key->name);
		put_key_value(w, key, o->value[k]);
		sign = ',';
	}
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

invar_status inv_spec_parse(const char *text, inv_spec *out)
{
	piece set = {text, strlen(text)}, chain;
	locale_t plain, before;
	invar_status st;

	*out = (inv_spec){0};
	if (set.length >= INV_SPEC_TEXT)
		return inv_fail(INVAR_E_USE, "the augmentation is longer than %d characters",
		                INV_SPEC_TEXT - 1);
	/* The program's locale may write 0,5; a SPEC always has 0.5. */
	if (!(plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)))
		return inv_no_memory();
	before = uselocale(plain);
	while (next_piece(&set, '|', &chain)) {
		if (out->chains == INV_MAX_CHAINS)
			INV_TRY_OR(end,
			           inv_fail(INVAR_E_USE, "the augmentation has more than %d chains",
			                    INV_MAX_CHAINS));
		INV_TRY_OR(end, read_chain(chain, out));
	}
	INV_TRY_OR(end, check_inside(out));
	out->columns = out->chains > 1;
	for (size_t i = 0; i < out->ops; i++) {
		out->op[i].column = out->columns;
		out->columns += out->op[i].has_on + out->op[i].op->column_count;
	}
	put_spec(&(writer){.text = out->canonical}, out);
end:
	uselocale(before);
	freelocale(plain);
	return st;
}

/* ---- Documentation ------------------------------------------------------------------ */

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
				   "if real rotations of your pictures have none (aerial images, "
				   "microscopy), encode with rotation:inside=1, which cuts each copy from "
				   "the inside of a larger picture";
	}
	return NULL;
}

const char *inv_augment_help(const char *operation)
{
	const inv_op *op = find_op((piece){operation, strlen(operation)});

	return op ? op->help : NULL;
}

const char *inv_augment_key(const char *operation, size_t k, char out[128])
{
	const inv_op *op = find_op((piece){operation, strlen(operation)});
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
	const inv_op *op = find_op((piece){operation, strlen(operation)});
	const inv_key *key = op ? inv_op_key(op, INV_OWN_KEY + k) : NULL;

	return key ? key->words : NULL;
}
