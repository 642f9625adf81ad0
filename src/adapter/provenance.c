/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.c - writes run.json and the adapter's metadata, see provenance.h. */
#include "adapter/provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "adapter/checkpoint.h"
#include "adapter/compatibility.h"
#include "bank/class_view.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

/*
 * { bank, inputs } of the first source, with "classes" if only some are seen, and with
 * several sources an array "also" of the others.
 */
static invar_status describe_sources(const inv_train_plan *plan, json_t *out)
{
	const json_t *classes = inv_bank_view_classes(plan->source[0]->bank);
	json_t *also;

	INV_TRY(inv_source_describe(plan->source[0], out));
	if (classes)
		json_object_set(out, "classes", (json_t *)(uintptr_t)classes);
	if (plan->sources == 1)
		return INVAR_OK;
	if (json_object_set_new(out, "also", also = json_array()) != 0)
		return inv_no_memory();
	for (uint32_t g = 1; g < plan->sources; g++) {
		json_t *entry = json_object();

		if (json_array_append_new(also, entry) != 0)
			return inv_no_memory();
		INV_TRY(inv_source_describe(plan->source[g], entry));
	}
	return INVAR_OK;
}

/* The files may have moved, but their contents must be the same. */
static invar_status check_inputs(const inv_run *r, const inv_train_plan *plan,
                                 const json_t *now)
{
	const json_t *then = r->json, *also = json_object_get(r->json, "also");
	const json_t *classes = json_object_get(r->json, "classes");
	size_t seen = json_array_size(classes), banks = json_array_size(also) + 1;

	/* Rows of other classes are other rows, but the reason is easier to name. */
	if (!inv_json_same(classes, json_object_get(now, "classes")))
		return classes
		           ? inv_fail(INVAR_E_MISMATCH,
		                      "%s: was started with %zu %s of its bank; give @classes with "
		                      "the same list to resume it",
		                      r->path, seen, inv_noun(seen, "class", "classes"))
		           : inv_fail(INVAR_E_MISMATCH,
		                      "%s: was started with all classes of its bank, so it cannot "
		                      "be resumed with @classes",
		                      r->path);
	if (banks != plan->sources)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: was started with %zu %s, so it cannot be resumed with %" PRIu32, r->path,
			banks, inv_noun(banks, "bank", "banks"), plan->sources);
	for (uint32_t g = 0; g < plan->sources; g++) {
		if (g) {
			then = json_array_get(also, g - 1);
			now = json_array_get(json_object_get(now, "also"), g - 1);
		}
		if (!json_equal(json_object_get(then, "inputs"), json_object_get(now, "inputs")))
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: was started with different rows than those now in %s/%s, "
			                "so it cannot be resumed",
			                r->path, plan->source[g]->name, plan->source[g]->split);
	}
	return INVAR_OK;
}

/*
 * Those that took part, with the batch size that was used instead of 0, the loss's default.
 * Before the rows of images exist, it may not be known whether they are normalised.
 */
static json_t *options_json(const inv_train_settings *o, unsigned flags)
{
	json_t *options = inv_options_used_json(o->options, flags);

	if (json_object_get(options, "batch-size") &&
	    json_object_set_new(options, "batch-size", json_integer((json_int_t)o->batch))) {
		json_decref(options);
		return NULL;
	}
	if (!o->unit_known)
		json_object_del(options, "unit");
	json_object_del(options, "resume");
	json_object_del(options, "force");
	return options;
}

/* Sets r->made_with, all that a checkpoint depends on, and compares it with the last one. */
static invar_status check_checkpoint(inv_run *r, const inv_train_plan *plan,
                                     const inv_train_settings *o, const json_t *banks)
{
	json_t *images = inv_source_encoding(plan->source[0]), *now, *other;
	json_t *rows = json_array();
	char hex[INV_SHA256_HEX];
	invar_status st;
	size_t i;

	/* The rows of all banks as one hash. */
	json_array_append(rows, json_object_get(banks, "inputs"));
	json_array_foreach (json_object_get(banks, "also"), i, other)
		json_array_append(rows, json_object_get(other, "inputs"));
	st = inv_json_sha256(rows, hex);
	json_decref(rows);
	json_object_del(images, "classes"); /* which training does not use */
	now = json_pack("{s:o, s:o, s:o*}", "options", options_json(o, INVAR_OPTION_RESULT),
	                "rows", st == INVAR_OK ? json_string(hex) : NULL, "images", images);
	if (!now || !(r->made_with = inv_json_text(now, 0)))
		st = inv_no_memory();
	else if (o->resume && inv_exists(r->checkpoint_path))
		st = inv_checkpoint_check(r->checkpoint_path, now, r->json_path);
	json_decref(now);
	return st;
}

static void describe_training(inv_run *r, const inv_train_plan *plan,
                              const inv_train_settings *o)
{
	json_t *json = r->json, *images = inv_source_encoding(plan->source[0]);
	const invar_context *ctx = plan->source[0]->ctx;
	struct utsname name = {0};
	char product[64];

	uname(&name);
	inv_matmul_version(product, sizeof product);
	json_object_set_new(json, "state", json_string("running"));
	json_object_del(json, "error");
	json_object_set_new(json, "options", options_json(o, 0));
	if (images) { /* with the options for them, to resume */
		json_object_set_new(images, "options", inv_source_options(plan->source[0]));
		json_object_set_new(json, "images", images);
	}
	json_object_set_new(json, "versions",
	                    json_pack("{s:s, s:s, s:s}", "invar", INVAR_VERSION, "product",
	                              product, "jansson", JANSSON_VERSION));
	json_object_set_new(json, "machine",
	                    json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "system", name.sysname,
	                              "release", name.release, "machine", name.machine, "cores",
	                              (int)sysconf(_SC_NPROCESSORS_CONF), "threads",
	                              (int)ctx->threads, "kernels", inv_context_cpu(ctx)));
}

invar_status inv_run_begin(inv_run *r, const inv_train_plan *plan,
                           const inv_train_settings *o)
{
	describe_training(r, plan, o);
	INV_TRY(inv_run_clear(r, json_object_get(r->json, "images")));
	return inv_run_save(r);
}

invar_status inv_run_describe(inv_run *r, const inv_train_plan *plan,
                              const inv_train_settings *o)
{
	const inv_clean_statistics *c = &plan->statistics;
	json_t *banks = json_object();
	invar_status st;

	INV_TRY_OR(done, describe_sources(plan, banks));
	/* A run that was interrupted while its images were encoded has not seen a row yet. */
	if (o->resume && (json_object_get(r->json, "inputs") || inv_exists(r->checkpoint_path)))
		INV_TRY_OR(done, check_inputs(r, plan, banks));
	INV_TRY_OR(done, check_checkpoint(r, plan, o, banks));
	INV_TRY_OR(done, inv_run_clear(r, NULL));
	describe_training(r, plan, o);
	if (c->mean) /* scale and origin of a training, which depend only on the rows */
		json_object_set_new(r->json, "frame",
		                    json_pack("{s:o, s:o}", "sigma", inv_json_number(c->sigma),
		                              "distance", inv_json_number(c->distance)));
	json_object_update(r->json, banks);
	st = inv_run_save(r);
done:
	json_decref(banks);
	return st;
}

void inv_run_compare_version(const invar_context *ctx, const inv_run *r)
{
	const json_t *versions = json_object_get(r->json, "versions");
	const char *then = json_string_value(json_object_get(versions, "invar"));

	if (then && strcmp(then, INVAR_VERSION) != 0)
		inv_log(ctx, INVAR_LOG_WARNING,
		        "%s was written by invar %s, but this is %s; the result may differ from "
		        "that of either version",
		        r->path, then, INVAR_VERSION);
}

static const char *bank_field(const invar_bank *bank, const char *name)
{
	const char *text = invar_bank_field(bank, name);

	return text ? text : "";
}

/* An adapter in memory with these parameters and texts. */
static invar_status make_in_memory(const invar_context *ctx, const inv_mlp_form *e,
                                   const inv_metadata *metadata, size_t count,
                                   invar_adapter **out)
{
	size_t floats = inv_mlp_floats(e->s);
	invar_adapter *made;
	invar_status st;

	INV_TRY(inv_adapter_begin(ctx, &made));
	made->s = e->s;
	made->residual = e->residual;
	made->metadata = json_object();
	INV_TRY_OR(fail, inv_new_array(&made->params, floats));
	memcpy(made->params, e->params, floats * sizeof *made->params);
	for (size_t i = 0; i < count; i++) {
		made->unit = made->unit || strcmp(metadata[i].key, "invar.unit") == 0;
		if (json_object_set_new(made->metadata, metadata[i].key,
		                        json_string(metadata[i].value)) != 0)
			INV_TRY_OR(fail, inv_no_memory());
	}
	*out = made;
	return INVAR_OK;
fail:
	invar_adapter_close(made);
	return st;
}

enum { AUGMENT = 4 }; /* its place in the metadata */

/* To a file, or with path NULL to memory. */
static invar_status save_network(const char *path, const inv_mlp_form *e,
                                 bool takes_features, const inv_train_settings *o,
                                 const inv_train_plan *plan, invar_adapter **out)
{
	const invar_bank *bank = plan->source[0]->bank;
	char *augment = NULL, *input = inv_compatibility_input(bank);
	const json_t *view = inv_bank_view_classes(bank); /* NULL: all classes */
	char *classes = view ? inv_json_text(view, 0) : inv_strdup("");
	/* The name may come from the run that is resumed, and not be given again. */
	const char *encoder = bank_field(bank, "encoder");
	const char *name = inv_option_text(o->options, "encoder-name");
	json_t *options = options_json(o, INVAR_OPTION_RESULT);
	char *text = options ? inv_json_text(options, 0) : NULL;
	char seed[24], names[INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	inv_metadata metadata[] = {
		{"format", "pt"},
		{"invar.version", INVAR_VERSION},
		{"invar.preset", o->preset},
		{"invar.loss", o->loss},
		{"invar.augment", NULL}, /* set below */
		{"invar.encoder", *encoder || !name ? encoder : name},
		{"invar.encoder_sha256", bank_field(bank, "weights_sha256")},
		{"invar.input", input},
		{"invar.residual", e->residual ? "1" : "0"},
		{"invar.seed", seed},
		{"invar.options", text},
		{0}, /* what only some have */
		{0},
		{0},
	};
	size_t count = sizeof metadata / sizeof *metadata - 3, size = 1, fill = 0;
	inv_norm_text norms;
	invar_status st;

	/* The SPECs of all banks, "rotation & noise". */
	for (uint32_t g = 0; g < plan->sources; g++)
		size += strlen(bank_field(plan->source[g]->bank, "augment")) + 3;
	augment = inv_alloc(size);
	for (uint32_t g = 0; augment && g < plan->sources; g++)
		fill += (size_t)snprintf(augment + fill, size - fill, "%s%s", g ? " & " : "",
		                         bank_field(plan->source[g]->bank, "augment"));
	metadata[AUGMENT].value = augment;

	inv_spell_norms(plan->norms.mean, inv_row_norms_deviation(&plan->norms), &norms);
	if (o->unit) {
		metadata[count++] = (inv_metadata){"invar.unit", "1"};
	} else if (takes_features) {
		metadata[count++] = (inv_metadata){"invar.norm_mean", norms.mean};
		metadata[count++] = (inv_metadata){"invar.norm_deviation", norms.deviation};
	}
	if (classes && *classes)
		metadata[count++] = (inv_metadata){"invar.classes", classes};

	snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
	inv_mlp_tensors(e->s, e->params, "", names, tensors);
	if (!text || !augment || !input || !classes)
		st = inv_no_memory();
	else if (path)
		st = inv_safetensors_save(path, tensors, INV_MLP_BLOCKS, metadata, count);
	else
		st = make_in_memory(plan->source[0]->ctx, e, metadata, count, out);
	inv_free(augment);
	inv_free(input);
	inv_free(classes);
	inv_free(text);
	json_decref(options);
	return st;
}

invar_status inv_adapter_save(const char *path, const inv_mlp_form *e,
                              const inv_train_settings *o, const inv_train_plan *plan)
{
	return save_network(path, e, true, o, plan, NULL);
}

invar_status inv_adapter_make(const inv_mlp_form *e, const inv_train_settings *o,
                              const inv_train_plan *plan, invar_adapter **out)
{
	return save_network(NULL, e, true, o, plan, out);
}

invar_status inv_decoder_save(const char *path, const inv_mlp_form *d,
                              const inv_train_settings *o, const inv_train_plan *plan)
{
	return save_network(path, d, false, o, plan, NULL);
}
