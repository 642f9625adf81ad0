/* provenance.c - run.json and adapter.safetensors, from what the trainer knows. */
#include "adapter/provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"

static json_t *machine_json(const invar_context *ctx)
{
	struct utsname name = {0};

	uname(&name);
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "system", name.sysname, "release",
	                 name.release, "machine", name.machine, "cores",
	                 (int)sysconf(_SC_NPROCESSORS_CONF), "threads", (int)ctx->threads,
	                 "kernels", invar_context_cpu(ctx));
}

static json_t *versions_json(void)
{
	char product[64];

	inv_matmul_version(product, sizeof product);
	return json_pack("{s:s, s:s, s:s}", "invar", INVAR_VERSION, "product", product,
	                 "jansson", JANSSON_VERSION);
}

static invar_status check_inputs(const inv_run *r, const invar_bank *bank,
                                 const inv_split *split, const json_t *now)
{
	if (json_equal(json_object_get(r->json, "inputs"), now))
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: was begun on other rows than %s/%s holds now, so it cannot go on",
	                r->path, bank->path, split->name);
}

static json_t *options_json(const invar_train_opts *o)
{
	json_t *options = inv_fields_json(inv_train_table, o, 0);

	json_object_del(options, "resume");
	json_object_del(options, "force");
	return options;
}

invar_status inv_run_describe(inv_run *r, const invar_bank *bank, const inv_split *split,
                              const invar_train_opts *o)
{
	json_t *inputs, *json = r->json;
	invar_status st = inv_bank_fingerprint(bank, split, &inputs);

	if (st == INVAR_OK && o->resume)
		st = check_inputs(r, bank, split, inputs);
	if (st == INVAR_OK)
		st = inv_run_clear(r);
	if (st != INVAR_OK) {
		json_decref(inputs);
		return st;
	}
	json_object_set_new(json, "format", json_string("invar-run"));
	json_object_set_new(json, "version", json_integer(1));
	json_object_set_new(json, "state", json_string("running"));
	json_object_del(json, "error");
	json_object_set_new(json, "options", options_json(o));
	json_object_set_new(json, "bank", inv_json_path(bank->path));
	json_object_set_new(json, "inputs", inputs);
	json_object_set_new(json, "versions", versions_json());
	json_object_set_new(json, "machine", machine_json(bank->ctx));
	return inv_run_save(r);
}

static void add_number(json_t *json, const char *key, double value)
{
	json_object_set_new(json, key,
	                    json_real(json_number_value(json_object_get(json, key)) + value));
}

/* Times add up over all the processes that worked on a run. */
invar_status inv_run_finish(inv_run *r, const inv_run_start *start, uint64_t steps,
                            const char *state)
{
	add_number(r->json, "wall_seconds", inv_wall_seconds() - start->wall);
	add_number(r->json, "cpu_seconds", inv_cpu_seconds() - start->cpu);
	json_object_set_new(r->json, "peak_memory_mb", json_integer(inv_peak_megabytes()));
	json_object_set_new(r->json, "steps", json_integer((json_int_t)steps));
	json_object_set_new(r->json, "state", json_string(state));
	return inv_run_save(r);
}

static const char *bank_field(const invar_bank *bank, const char *name)
{
	const char *text = invar_bank_field(bank, name);

	return text ? text : "";
}

invar_status inv_adapter_save(const char *path, inv_mlp_shape s, const float *params,
                              bool residual, const invar_train_opts *o,
                              const invar_bank *bank)
{
	json_t *options = inv_fields_json(inv_train_table, o, INVAR_FIELD_RESULT);
	char *text = options ? inv_json_text(options, 0) : NULL;
	char seed[24], names[INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	inv_metadata metadata[] = {
		{"format", "pt"},
		{"invar.version", INVAR_VERSION},
		{"invar.loss", o->loss},
		{"invar.augment", bank_field(bank, "augment")},
		{"invar.encoder", bank_field(bank, "encoder")},
		{"invar.encoder_sha256", bank_field(bank, "weights_sha256")},
		{"invar.residual", residual ? "1" : "0"},
		{"invar.seed", seed},
		{"invar.options", text},
	};
	invar_status st;

	snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
	inv_mlp_tensors(s, params, "", names, tensors);
	st = text ? inv_safetensors_save(path, tensors, INV_MLP_BLOCKS, metadata,
	                                 sizeof metadata / sizeof *metadata)
	          : inv_fail(INVAR_E_NOMEM, "%s: no memory to save the adapter", path);
	inv_free(text);
	json_decref(options);
	return st;
}
