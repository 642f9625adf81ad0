/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_certificate.c - any text as the certificate of an adapter: what can be read gives a
 * verdict, and a model card in any case.
 */
#include <math.h>

#include "fuzz_file.h"
#include "measure/check.h"

enum { D = 2, ROWS = 32 };

static void check(invar_context *ctx, const invar_adapter *e)
{
	float rows[ROWS * D];
	invar_options *o;
	invar_results *r;
	invar_bank *bank;

	for (size_t i = 0; i < ROWS * D; i++)
		rows[i] = (float)sin((double)i);
	require(invar_options_new("check", &o) == INVAR_OK);
	require(invar_bank_from_arrays(ctx, rows, NULL, NULL, ROWS, 0, D, &bank) == INVAR_OK);
	if (invar_check(e, bank, o, &r) == INVAR_OK)
		require(strcmp(invar_results_about(r, "verdict"), "fine") == 0 ||
		        strcmp(invar_results_about(r, "verdict"), "drift") == 0);
	invar_results_free(r);
	invar_bank_close(bank);
	invar_options_free(o);
}

static void write_card(const invar_adapter *e)
{
	char path[2 * FUZZ_PATH];
	invar_options *o;

	snprintf(path, sizeof path, "%s/README.md", memory_folder());
	require(invar_options_new("export", &o) == INVAR_OK);
	require(invar_options_set(o, "format", "card") == INVAR_OK);
	require(invar_adapter_export(e, NULL, o, path) == INVAR_OK);
	invar_options_free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const float weight[D * D], bias[D];
	json_t *text = json_stringn((const char *)data, size);
	invar_context *ctx;
	invar_adapter *e;

	if (!text || memchr(data, 0, size)) { /* metadata are UTF-8 texts */
		json_decref(text);
		return 0;
	}
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	require(invar_adapter_new(ctx, D, D, D, 1, weight, bias, weight, bias, &e) == INVAR_OK);
	e->metadata = json_pack("{s:o, s:O}", INV_CERTIFICATE_KEY, text, "invar.encoder", text);
	require(e->metadata);
	check(ctx, e);
	write_card(e);
	invar_adapter_close(e);
	invar_context_free(ctx);
	return 0;
}
