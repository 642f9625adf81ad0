/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - see labels.h. */
#include "measure/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_label(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Rows with a label move to the front; if all have one, no list is needed. */
static invar_status leave_out_unlabelled(uint64_t all, inv_labels *l)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < all; i++)
		kept += l->label[i] >= 0;
	l->rows = kept;
	if (kept == all)
		return INVAR_OK;
	INV_TRY(inv_new_array(&l->row, kept + 1));
	kept = 0;
	for (uint64_t i = 0; i < all; i++)
		if (l->label[i] >= 0) {
			l->row[kept] = i;
			l->label[kept++] = l->label[i];
		}
	return INVAR_OK;
}

static invar_status number_classes(const char *where, inv_labels *l)
{
	uint64_t classes = 0;

	INV_TRY(inv_new_array(&l->class_label, l->rows + 1));
	memcpy(l->class_label, l->label, l->rows * sizeof *l->label);
	qsort(l->class_label, l->rows, sizeof *l->class_label, by_label);
	for (uint64_t i = 0; i < l->rows; i++)
		if (!classes || l->class_label[i] != l->class_label[classes - 1])
			l->class_label[classes++] = l->class_label[i];
	if (classes >= INV_NO_CLASS)
		return inv_fail(INVAR_E_FORMAT, "%s: too many classes", where);
	l->classes = (uint32_t)classes;
	return INVAR_OK;
}

invar_status inv_labels_read(const invar_bank *bank, const inv_split *s, inv_labels *out)
{
	invar_status st;

	*out = (inv_labels){0};
	INV_TRY_OR(fail, inv_new_array(&out->label, s->rows + 1));
	INV_TRY_OR(fail, invar_bank_labels(bank, s->name, out->label));
	INV_TRY_OR(fail, leave_out_unlabelled(s->rows, out));
	INV_TRY_OR(fail, number_classes(bank->path, out));
	return INVAR_OK;
fail:
	inv_labels_clear(out);
	return st;
}

invar_status inv_labels_take(const int64_t *labels, uint64_t rows, inv_labels *out)
{
	invar_status st;

	*out = (inv_labels){.rows = rows};
	INV_TRY(inv_new_array(&out->label, rows + 1));
	memcpy(out->label, labels, rows * sizeof *labels);
	if ((st = number_classes("labels", out)) != INVAR_OK)
		inv_labels_clear(out);
	return st;
}

void inv_labels_clear(inv_labels *l)
{
	inv_free(l->row);
	inv_free(l->label);
	inv_free(l->class_label);
	*l = (inv_labels){0};
}

uint32_t inv_labels_class(const inv_labels *l, int64_t label)
{
	const int64_t *found =
		l->classes ? bsearch(&label, l->class_label, l->classes, sizeof label, by_label)
				   : NULL;

	return found ? (uint32_t)(found - l->class_label) : INV_NO_CLASS;
}

uint64_t inv_labels_unknown(const inv_labels *of, const inv_labels *known)
{
	uint64_t unknown = 0;

	for (uint64_t i = 0; i < of->rows; i++)
		unknown += inv_labels_class(known, of->label[i]) == INV_NO_CLASS;
	return unknown;
}

const char *inv_class_text(const char *name, int64_t label, char out[INV_CLASS_TEXT])
{
	size_t length = name ? strlen(name) : 0, kept;
	char end[40];

	snprintf(end, sizeof end, "… (class %" PRId64 ")", label);
	if (!name)
		snprintf(out, INV_CLASS_TEXT, "%" PRId64, label);
	else if (length <= INV_CLASS_NAME)
		memcpy(out, name, length + 1);
	else {
		kept = INV_CLASS_NAME - strlen(end);
		while (kept && ((unsigned char)name[kept] & 0xc0) == 0x80) /* a whole character */
			kept--;
		snprintf(out, INV_CLASS_TEXT, "%.*s%s", (int)kept, name, end);
	}
	return out;
}
