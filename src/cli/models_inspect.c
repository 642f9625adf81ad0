/* models_inspect.c - invar models inspect: what a weight file holds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files.h"
#include "cli/models.h"
#include "report/table.h"

enum { SHAPE_TEXT = 24 * INVAR_WEIGHT_RANK };

typedef struct contents {
	const invar_weights *weights;
	uint64_t file_bytes, cells, bytes;
	char name[64], about[256]; /* of the encoder; "" where it is none */
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
	for (size_t i = 0; i < invar_weights_count(c->weights); i++) {
		const invar_weight *t = invar_weights_at(c->weights, i);

		c->cells += t->cells;
		c->bytes += t->cells * item_bits(t->type) / 8;
	}
}

/* Which encoder it is taken for; that it is none is no fault of a file. */
static invar_status recognise(inv_session *s, const models_values *v, contents *c)
{
	invar_encoder *e;
	invar_status st =
		invar_encoder_open(s->ctx, invar_weights_path(c->weights), &v->encoder, &e);

	if (st == INVAR_OK) {
		snprintf(c->name, sizeof c->name, "%s", invar_encoder_name(e));
		snprintf(c->about, sizeof c->about, "%s", invar_encoder_about(e));
	} else {
		snprintf(c->why, sizeof c->why, "%s", invar_last_error());
	}
	invar_encoder_close(e);
	return st == INVAR_E_USE || st == INVAR_E_NOMEM ? st : INVAR_OK;
}

static const char *shape_text(const invar_weight *t, char text[SHAPE_TEXT])
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
	char text[SHAPE_TEXT];
	bool written;

	if (!t)
		return false;
	inv_table_left(t, 1);
	inv_table_cell(t, "tensor");
	inv_table_cell(t, "type");
	inv_table_cell(t, "shape");
	inv_table_cell(t, "values");
	for (size_t i = 0; i < invar_weights_count(c->weights); i++) {
		const invar_weight *w = invar_weights_at(c->weights, i);

		inv_table_cell(t, "%s", w->name);
		inv_table_cell(t, "%s", w->type);
		inv_table_cell(t, "%s", shape_text(w, text));
		inv_table_count(t, w->cells);
	}
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written;
}

static bool print_contents(const contents *c)
{
	const char *key = invar_weights_key(c->weights), *keys = invar_weights_keys(c->weights);

	printf("format      %s, %" PRIu64 " bytes\n", invar_weights_format(c->weights),
	       c->file_bytes);
	if (*key) {
		printf("dictionary  %s of ", key);
		for (; *keys; keys++)
			fputs(*keys == '|' ? ", " : (char[]){*keys, '\0'}, stdout);
		putchar('\n');
	}
	if (*c->name)
		printf("encoder     %s: %s\n", c->name, c->about);
	else
		printf("encoder     none: %s\n", c->why);
	printf("tensors     %zu, %" PRIu64 " values, %" PRIu64 " bytes\n\n",
	       invar_weights_count(c->weights), c->cells, c->bytes);
	return print_tensors(c);
}

static json_t *tensors_json(const contents *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < invar_weights_count(c->weights); i++) {
		const invar_weight *w = invar_weights_at(c->weights, i);
		json_t *shape = json_array();

		for (unsigned k = 0; k < w->rank; k++)
			json_array_append_new(shape, json_integer((json_int_t)w->shape[k]));
		json_array_append_new(
			all, json_pack("{s:o, s:s, s:o, s:I}", "name", inv_name_json(w->name), "type",
		                   w->type, "shape", shape, "values", (json_int_t)w->cells));
	}
	return all;
}

static json_t *contents_json(const contents *c)
{
	json_t *encoder = *c->name ? json_pack("{s:s, s:s}", "name", c->name, "about", c->about)
	                           : json_null();

	return json_pack(
		"{s:o, s:s, s:I, s:o, s:o, s:o, s:I, s:I, s:o}", "file",
		inv_name_json(invar_weights_path(c->weights)), "format",
		invar_weights_format(c->weights), "file_bytes", (json_int_t)c->file_bytes, "key",
		inv_name_json(invar_weights_key(c->weights)), "keys",
		inv_name_json(invar_weights_keys(c->weights)), "encoder", encoder, "values",
		(json_int_t)c->cells, "bytes", (json_int_t)c->bytes, "tensors", tensors_json(c));
}

invar_status inv_models_inspect(inv_session *s, const models_values *v)
{
	invar_weights *w;
	invar_status st = invar_weights_open(s->ctx, s->argument[1], v->encoder.key, &w);
	contents c = {.weights = w};
	struct stat info;

	if (st != INVAR_OK)
		return st;
	if (stat(invar_weights_path(w), &info) == 0)
		c.file_bytes = (uint64_t)info.st_size;
	add_up(&c);
	st = recognise(s, v, &c);
	if (st == INVAR_OK && s->common->json)
		st = inv_print_json(s, contents_json(&c));
	else if (st == INVAR_OK && !print_contents(&c))
		st = inv_no_memory(s);
	invar_weights_close(w);
	return st;
}
