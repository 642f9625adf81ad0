/* SPDX-License-Identifier: Apache-2.0 */
/* models_inspect.c - invar models inspect: the contents of a weight file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/adapter.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/models.h"
#include "formats/weights.h"
#include "run/run.h"

enum {
	SHAPE_TEXT = 24 * INV_WEIGHT_NDIM,
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

static invar_status print_tensors(const inv_weights *weights)
{
	static const char *const heads[] = {"tensor", "type", "shape", "values"};
	inv_table *t = inv_table_new(4);
	char shape[SHAPE_TEXT], name[SHOWN_NAME];

	if (!t)
		return inv_no_memory();
	inv_table_left(t, 1);
	for (size_t i = 0; i < 4; i++)
		inv_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < inv_weights_count(weights); i++) {
		const inv_weight_about *w = inv_weights_at(weights, i);

		inv_table_cell(t, "%s", inv_shown(w->name, name, sizeof name));
		inv_table_cell(t, "%s", w->type);
		snprintf(shape, sizeof shape, "()");
		for (unsigned k = 0, used = 0; k < w->ndim; k++)
			used += (unsigned)snprintf(shape + used, sizeof shape - used, "%s%" PRIu64,
			                           k ? " x " : "", w->shape[k]);
		inv_table_cell(t, "%s", shape);
		inv_table_count(t, w->cells);
	}
	return inv_put_table(t, "text", stdout);
}

/* An entry of its metadata; NULL: none. */
static const char *entry_of(const invar_adapter *e, const char *key)
{
	const char *text = invar_adapter_metadata(e, key);

	return text && *text ? text : NULL;
}

/* How images were prepared, as far as the file says so; gives, or NULL. */
static json_t *preparation(const invar_adapter *e)
{
	const char *text = entry_of(e, "invar.input");

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

static void print_adapter(const invar_adapter *e)
{
	const char *encoder = entry_of(e, "invar.encoder"), *loss = entry_of(e, "invar.loss");
	const char *hash = entry_of(e, "invar.encoder_sha256"),
			   *augment = entry_of(e, "invar.augment");
	json_t *p = preparation(e), *size = json_object_get(p, "size");
	const char *resize = json_string_value(json_object_get(p, "resize"));
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
	fputs(augment ? "; " : "", stdout);
	print_text(augment ? augment : "");
	if (augment && space)
		fputs(strcmp(space, "pixel") == 0 ? " of pixels" : " of normalised images", stdout);
	putchar('\n');
	json_decref(p);
}

static json_t *adapter_json(const invar_adapter *e)
{
	static const char *const keys[] = {"loss", "augment", "encoder", "encoder_sha256"};
	json_t *p = preparation(e);
	json_t *all =
		json_pack("{s:i, s:i, s:i, s:b, s:b}", "input", invar_adapter_input(e), "hidden",
	              invar_adapter_hidden(e), "output", invar_adapter_output(e), "residual",
	              invar_adapter_residual(e), "unit", invar_adapter_unit(e));

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char name[40];
		const char *text;

		snprintf(name, sizeof name, "invar.%s", keys[i]);
		text = entry_of(e, name);
		json_object_set_new(all, keys[i], text ? inv_json_path(text) : json_null());
	}
	json_object_set_new(all, "preparation", p ? p : json_null());
	return all;
}

static void print_weights(const contents *c)
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

static json_t *weights_json(const contents *c)
{
	json_t *encoder = *c->name ? json_pack("{s:s, s:s}", "name", c->name, "about", c->about)
	                           : json_null();

	return json_pack("{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "file",
	                 inv_json_path(inv_weights_path(c->weights)), "format",
	                 inv_weights_format_name(c->weights), "file_bytes",
	                 (json_int_t)c->file_bytes, "key",
	                 inv_json_path(inv_weights_key(c->weights)), "keys",
	                 inv_json_path(inv_weights_keys(c->weights)), "encoder", encoder,
	                 "adapter", c->adapter ? adapter_json(c->adapter) : json_null(),
	                 "tensor_count", (json_int_t)inv_weights_count(c->weights), "values",
	                 (json_int_t)c->cells, "bytes", (json_int_t)c->bytes);
}

static invar_status show_weights(inv_session *s, contents *c)
{
	const char *path = inv_weights_path(c->weights);
	invar_encoder *e;
	struct stat info;
	json_t *all, *tensors;
	invar_status st;

	if (stat(path, &info) == 0)
		c->file_bytes = (uint64_t)info.st_size;
	for (size_t i = 0; i < inv_weights_count(c->weights); i++) {
		const inv_weight_about *t = inv_weights_at(c->weights, i);
		const char *bits = t->type + strcspn(t->type, "0123456789");

		c->cells += t->cells;
		/* "F32" and "BF16" say how many bits an element has; BOOL has a byte. */
		c->bytes += t->cells * (*bits ? strtoull(bits, NULL, 10) : 8) / 8;
	}
	/* Which encoder it is taken for; that it is none is not an error of the file. */
	st = invar_encoder_open(s->ctx, path, s->options, &e);
	if (st == INVAR_E_USE || st == INVAR_E_NOMEM)
		return st;
	if (st != INVAR_OK)
		snprintf(c->why, sizeof c->why, "%s", invar_last_error());
	else {
		snprintf(c->name, sizeof c->name, "%s", invar_encoder_name(e));
		snprintf(c->about, sizeof c->about, "%s", invar_encoder_about(e));
	}
	invar_encoder_close(e);

	if (s->json) {
		all = weights_json(c);
		tensors = json_array();
		for (size_t i = 0; i < inv_weights_count(c->weights); i++) {
			const inv_weight_about *w = inv_weights_at(c->weights, i);
			json_t *shape = json_array();

			for (unsigned k = 0; k < w->ndim; k++)
				json_array_append_new(shape, json_integer((json_int_t)w->shape[k]));
			json_array_append_new(tensors, json_pack("{s:o, s:s, s:o, s:I}", "name",
			                                         inv_json_path(w->name), "type",
			                                         w->type, "shape", shape, "values",
			                                         (json_int_t)w->cells));
		}
		if (inv_flag(s, "tensors"))
			json_object_set(all, "tensors", tensors);
		json_decref(tensors);
		return inv_print_json(all);
	}
	print_weights(c);
	if (!inv_flag(s, "tensors"))
		return INVAR_OK;
	putchar('\n');
	fflush(stdout); /* the summary comes at once, however long the list is */
	return print_tensors(c->weights);
}

/* A run means its adapter, as elsewhere. */
invar_status inv_models_inspect(inv_session *s)
{
	const char *path = s->argument[1];
	invar_adapter *e;
	inv_weights *w = NULL;
	invar_status st = invar_adapter_open(s->ctx, path, &e);

	if (st != INVAR_OK && inv_is_folder(path)) {
		char *adapter;
		bool is_run;

		INV_TRY(inv_new_path(&adapter, path, INV_RUN_ADAPTER));
		is_run = inv_exists(adapter);
		inv_free(adapter);
		if (is_run)
			return st;
	}
	if (st == INVAR_OK)
		path = invar_adapter_path(e);
	INV_TRY_OR(end, inv_weights_open(s->ctx, path, inv_text(s, "key"), &w));
	st = show_weights(s, &(contents){.weights = w, .adapter = e});
end:
	inv_weights_close(w);
	invar_adapter_close(e);
	return st;
}
