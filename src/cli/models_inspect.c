/* SPDX-License-Identifier: Apache-2.0 */
/* models_inspect.c - invar models inspect: the contents of a weight file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/models.h"
#include "formats/weights.h"
#include "report/table.h"

enum {
	SHAPE_TEXT = 24 * INV_WEIGHT_RANK,
	SHOWN_NAME = 120, /* bytes of a tensor's name in the table; JSON has all of it */
	SHOWN_TEXT = 1000 /* bytes of a text of the metadata */
};

typedef struct contents {
	const inv_weights *weights;
	const invar_adapter *adapter; /* NULL: it is none */
	uint64_t file_bytes, cells, bytes;
	char name[64], about[256]; /* of the encoder; "" if it is not an encoder */
	char why[512];             /* it is none */
} contents;

/* "F32" and "BF16" say how many bits an element has; BOOL has a byte. */
static uint64_t item_bits(const char *type)
{
	size_t letters = strcspn(type, "0123456789");

	return type[letters] ? strtoull(type + letters, NULL, 10) : 8;
}

static void add_up(contents *c)
{
	for (size_t i = 0; i < inv_weights_count(c->weights); i++) {
		const inv_weight_about *t = inv_weights_at(c->weights, i);

		c->cells += t->cells;
		c->bytes += t->cells * item_bits(t->type) / 8;
	}
}

/* Which encoder it is taken for; that it is none is no fault of a file. */
static invar_status recognise(inv_session *s, contents *c)
{
	invar_encoder *e;
	invar_status st =
		invar_encoder_open(s->ctx, inv_weights_path(c->weights), s->options, &e);

	if (st == INVAR_OK) {
		snprintf(c->name, sizeof c->name, "%s", invar_encoder_name(e));
		snprintf(c->about, sizeof c->about, "%s", invar_encoder_about(e));
	} else {
		snprintf(c->why, sizeof c->why, "%s", invar_last_error());
	}
	invar_encoder_close(e);
	return st == INVAR_E_USE || st == INVAR_E_NOMEM ? st : INVAR_OK;
}

static const char *shape_text(const inv_weight_about *t, char text[SHAPE_TEXT])
{
	size_t used = 0;

	snprintf(text, SHAPE_TEXT, "()");
	for (unsigned k = 0; k < t->rank; k++)
		used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%" PRIu64,
		                         k ? " x " : "", t->shape[k]);
	return text;
}

static bool print_tensors(const contents *c)
{
	inv_table *t = inv_table_new(4);
	char text[SHAPE_TEXT], name[SHOWN_NAME];
	bool written;

	if (!t)
		return false;
	inv_table_left(t, 1);
	inv_table_cell(t, "tensor");
	inv_table_cell(t, "type");
	inv_table_cell(t, "shape");
	inv_table_cell(t, "values");
	for (size_t i = 0; i < inv_weights_count(c->weights); i++) {
		const inv_weight_about *w = inv_weights_at(c->weights, i);

		inv_table_cell(t, "%s", inv_shown(w->name, name, sizeof name));
		inv_table_cell(t, "%s", w->type);
		inv_table_cell(t, "%s", shape_text(w, text));
		inv_table_count(t, w->cells);
	}
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written;
}

/* ---- An adapter, and what it was made for ------------------------------------------- */

static const char *said(const invar_adapter *e, const char *key)
{
	const char *text = invar_adapter_metadata(e, key);

	return text && *text ? text : NULL;
}

/* How images were prepared, as far as the file says so; gives, or NULL. */
static json_t *preparation(const invar_adapter *e)
{
	const char *text = said(e, "invar.input");

	return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static void print_text(const char *text)
{
	char shown[SHOWN_TEXT];

	fputs(inv_shown(text, shown, sizeof shown), stdout);
}

static void print_numbers(const char *what, const json_t *list)
{
	const json_t *value;
	size_t i;

	json_array_foreach (list, i, value)
		printf("%s%.8g", i ? " " : what, json_number_value(value));
}

static void print_preparation(const json_t *p)
{
	const json_t *size = json_object_get(p, "size");
	const char *resize = json_string_value(json_object_get(p, "resize"));

	if (json_array_size(size) == 2)
		printf(", images of %lld x %lld",
		       (long long)json_integer_value(json_array_get(size, 1)),
		       (long long)json_integer_value(json_array_get(size, 0)));
	if (resize) {
		fputs(" (", stdout);
		print_text(resize);
		putchar(')');
	}
	print_numbers(", mean ", json_object_get(p, "mean"));
	print_numbers(", std ", json_object_get(p, "std"));
}

static void print_adapter(const invar_adapter *e)
{
	const char *encoder = said(e, "invar.encoder"), *loss = said(e, "invar.loss");
	const char *hash = said(e, "invar.encoder_sha256"), *augment = said(e, "invar.augment");
	json_t *p = preparation(e);
	const char *space = json_string_value(json_object_get(p, "augment_space"));

	printf("adapter     from %u to %u %s, %u hidden %s%s%s%s",
	       (unsigned)invar_adapter_input(e), (unsigned)invar_adapter_output(e),
	       inv_noun(invar_adapter_output(e), "feature", "features"),
	       (unsigned)invar_adapter_hidden(e),
	       inv_noun(invar_adapter_hidden(e), "unit", "units"),
	       invar_adapter_residual(e) ? ", residual" : "",
	       invar_adapter_unit(e) ? ", unit" : "", loss ? ", loss " : "");
	print_text(loss ? loss : "");
	fputs("\nmade for    ", stdout);
	print_text(encoder ? encoder : "features of an unnamed encoder");
	fputs(hash ? " with weights of SHA-256 " : "", stdout);
	print_text(hash ? hash : "");
	print_preparation(p);
	fputs(augment ? "; " : "", stdout);
	print_text(augment ? augment : "");
	if (augment && space)
		fputs(strcmp(space, "pixel") == 0 ? " of pixels" : " of normalised images", stdout);
	putchar('\n');
	json_decref(p);
}

static json_t *text_json(const char *text)
{
	return text ? inv_name_json(text) : json_null();
}

static json_t *adapter_json(const invar_adapter *e)
{
	json_t *p = e ? preparation(e) : NULL;

	if (!e)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "input",
	                 invar_adapter_input(e), "hidden", invar_adapter_hidden(e), "output",
	                 invar_adapter_output(e), "residual", invar_adapter_residual(e), "unit",
	                 invar_adapter_unit(e), "loss", text_json(said(e, "invar.loss")),
	                 "augment", text_json(said(e, "invar.augment")), "encoder",
	                 text_json(said(e, "invar.encoder")), "encoder_sha256",
	                 text_json(said(e, "invar.encoder_sha256")), "preparation",
	                 p ? p : json_null());
}

/* ---- The whole -------------------------------------------------------------------- */

static void print_summary(const contents *c)
{
	const char *key = inv_weights_key(c->weights), *keys = inv_weights_keys(c->weights);

	printf("format      %s, %" PRIu64 " bytes\n", inv_weights_format_name(c->weights),
	       c->file_bytes);
	if (*key) {
		fputs("dictionary  ", stdout);
		print_text(key);
		fputs(" of ", stdout);
		for (; *keys; keys++)
			fputs(*keys == '|' ? ", " : (char[]){*keys, '\0'}, stdout);
		putchar('\n');
	}
	if (c->adapter)
		print_adapter(c->adapter);
	else if (*c->name)
		printf("encoder     %s: %s\n", c->name, c->about);
	else
		printf("encoder     none: %s\n", c->why);
	printf("tensors     %zu, %" PRIu64 " %s, %" PRIu64 " %s\n",
	       inv_weights_count(c->weights), c->cells, inv_noun(c->cells, "value", "values"),
	       c->bytes, inv_noun(c->bytes, "byte", "bytes"));
}

/* The summary comes at once, however long the list is. */
static bool print_contents(const contents *c, bool tensors)
{
	print_summary(c);
	if (!tensors)
		return true;
	putchar('\n');
	fflush(stdout);
	return print_tensors(c);
}

static json_t *tensors_json(const contents *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < inv_weights_count(c->weights); i++) {
		const inv_weight_about *w = inv_weights_at(c->weights, i);
		json_t *shape = json_array();

		for (unsigned k = 0; k < w->rank; k++)
			json_array_append_new(shape, json_integer((json_int_t)w->shape[k]));
		json_array_append_new(
			all, json_pack("{s:o, s:s, s:o, s:I}", "name", inv_name_json(w->name), "type",
		                   w->type, "shape", shape, "values", (json_int_t)w->cells));
	}
	return all;
}

/* Gives; NULL if there is no memory. */
static json_t *contents_json(const contents *c, bool tensors)
{
	json_t *encoder = *c->name ? json_pack("{s:s, s:s}", "name", c->name, "about", c->about)
	                           : json_null();
	json_t *all = json_pack(
		"{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "file",
		inv_name_json(inv_weights_path(c->weights)), "format",
		inv_weights_format_name(c->weights), "file_bytes", (json_int_t)c->file_bytes, "key",
		inv_name_json(inv_weights_key(c->weights)), "keys",
		inv_name_json(inv_weights_keys(c->weights)), "encoder", encoder, "adapter",
		adapter_json(c->adapter), "tensor_count", (json_int_t)inv_weights_count(c->weights),
		"values", (json_int_t)c->cells, "bytes", (json_int_t)c->bytes);

	if (tensors && json_object_set_new(all, "tensors", tensors_json(c)) != 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

static invar_status show(inv_session *s, contents *c)
{
	struct stat info;
	invar_status st;

	if (stat(inv_weights_path(c->weights), &info) == 0)
		c->file_bytes = (uint64_t)info.st_size;
	add_up(c);
	st = recognise(s, c);
	if (st == INVAR_OK && s->common->json)
		st = inv_print_json(contents_json(c, inv_flag(s, "tensors")));
	else if (st == INVAR_OK && !print_contents(c, inv_flag(s, "tensors")))
		st = inv_no_memory();
	return st;
}

static bool is_run(const char *path)
{
	char *adapter = inv_path(path, "adapter.safetensors");
	bool found = adapter && access(adapter, F_OK) == 0;

	free(adapter);
	return found;
}

/* A run means its adapter, as elsewhere. */
invar_status inv_models_inspect(inv_session *s)
{
	invar_adapter *e;
	inv_weights *w = NULL;
	const char *path = s->argument[1];
	invar_status st = invar_adapter_open(s->ctx, path, &e);

	if (st != INVAR_OK && is_run(path))
		return st;
	if (st == INVAR_OK)
		path = invar_adapter_path(e);
	st = inv_weights_open(s->ctx, path, inv_text(s, "key"), &w);
	if (st == INVAR_OK)
		st = show(s, &(contents){.weights = w, .adapter = e});
	inv_weights_close(w);
	invar_adapter_close(e);
	return st;
}
