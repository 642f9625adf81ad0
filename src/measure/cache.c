/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - numbers stored beside the rows they come from, see cache.h. */
#include "measure/cache.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"
#include "formats/safetensors.h"
#include "math/matmul.h"

invar_status inv_cache_key(const invar_context *ctx, json_t *options,
                           const inv_npy *const *arrays, size_t count,
                           char key[INV_SHA256_HEX])
{
	char products[100], *text = NULL;
	json_t *list = json_array();
	invar_status st;

	inv_matmul_version(products, sizeof products);
	if (json_object_set_new(options, "arrays", list) != 0 ||
	    json_object_set_new(options, "version", json_string(invar_version())) != 0 ||
	    json_object_set_new(options, "cpu", json_string(inv_context_cpu(ctx))) != 0 ||
	    json_object_set_new(options, "products", json_string(products)) != 0)
		INV_TRY_OR(end, inv_no_memory());
	for (size_t i = 0; i < count; i++) {
		char hex[INV_SHA256_HEX];

		if (!arrays[i])
			continue;
		INV_TRY_OR(end, inv_npy_sha256(arrays[i], 0, inv_npy_bytes(arrays[i]), hex));
		if (json_array_append_new(list, json_string(hex)) != 0)
			INV_TRY_OR(end, inv_no_memory());
	}
	text = inv_json_text(options, 0);
	st = text ? inv_sha256(text, strlen(text), key) : inv_no_memory();
end:
	inv_free(text);
	json_decref(options);
	return st;
}

static bool path_of(const invar_bank *bank, const char *name, const char *key,
                    char path[PATH_MAX])
{
	const char *view = bank->view.hex; /* other rows of the same files */
	int length =
		snprintf(path, PATH_MAX, "%s/cache/%s-%.32s%s%.32s%s.safetensors", bank->path, name,
	             key, *view ? "-" : "", view, bank->unit ? "-unit" : "");

	return length > 0 && length < PATH_MAX;
}

static bool read_cached(const inv_safetensors *f, float *values, size_t count)
{
	const inv_tensor *t = inv_safetensors_find(f, "values");
	const char *want = inv_safetensors_metadata(f, "sha256");
	char hex[INV_SHA256_HEX];

	return t && want && t->cells == count &&
	       inv_safetensors_read(f, t, values) == INVAR_OK &&
	       inv_sha256(values, count * sizeof *values, hex) == INVAR_OK &&
	       strcmp(hex, want) == 0;
}

static bool find_file(const invar_bank *bank, const char *name, const char *key,
                      float *values, size_t count)
{
	inv_safetensors *f = NULL;
	char path[PATH_MAX];
	bool found;

	if (bank->in_memory || !path_of(bank, name, key, path) || !inv_exists(path))
		return false;
	found = inv_safetensors_open(path, &f) == INVAR_OK && read_cached(f, values, count);
	inv_safetensors_close(f);
	inv_log(bank->ctx, INVAR_LOG_DETAIL, "%s: %s", path,
	        found ? "taken from the cache" : "is damaged and is computed again");
	return found;
}

/* Rank 0 has the files, so that all ranks compute or none. */
bool inv_cache_find(const invar_bank *bank, const char *name, const char *key,
                    float *values, size_t count)
{
	bool found =
		inv_process_rank(bank->ctx) == 0 && find_file(bank, name, key, values, count);

	if (inv_broadcast(bank->ctx, &found, sizeof found) != INVAR_OK)
		return false;
	return found && inv_broadcast(bank->ctx, values, count * sizeof *values) == INVAR_OK;
}

void inv_cache_keep(const invar_bank *bank, const char *name, const char *key,
                    const float *values, size_t count)
{
	char path[PATH_MAX], hex[INV_SHA256_HEX];
	char *folder = bank->in_memory ? NULL : inv_join(bank->path, "cache");
	const inv_tensor_out tensor = {"values", 1, {count}, values};
	const inv_metadata metadata[] = {
		{"format", "pt"}, {"invar.version", invar_version()}, {"sha256", hex}};

	if (bank->in_memory || inv_process_rank(bank->ctx)) {
		inv_free(folder);
		return;
	}
	if (!folder || !path_of(bank, name, key, path) || inv_make_folder(folder) != INVAR_OK ||
	    inv_sha256(values, count * sizeof *values, hex) != INVAR_OK ||
	    inv_safetensors_save(path, &tensor, 1, metadata, 3) != INVAR_OK)
		inv_log(bank->ctx, INVAR_LOG_DETAIL, "%s is not saved: %s", name,
		        invar_last_error());
	inv_free(folder);
}
