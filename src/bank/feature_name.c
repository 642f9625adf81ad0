/* SPDX-License-Identifier: Apache-2.0 */
/* feature_name.c - see feature_name.h. */
#include "bank/feature_name.h"

#include <string.h>

#include "base/memory.h"

static const invar_option rows[] = {
	{INV_OPTION_ROW("encoder-name", TEXT, NULL, INVAR_OPTION_RESULT | INVAR_OPTION_EXPERT,
                    "Features",
                    "what made the features, if bank.json does not say; adapters record it "
                    "and warn about features of another name"),
     .meta = "NAME"},
	{0},
};

invar_status inv_feature_name_declare(invar_options *o)
{
	return inv_options_add_rows(o, rows);
}

invar_status inv_feature_name_apply(invar_bank *b, const char *name)
{
	const char *said = json_string_value(json_object_get(b->json, "encoder"));
	json_t *json;

	if (!*name)
		return inv_fail(INVAR_E_USE,
		                "@encoder-name is empty; give a name, or leave it out");
	if (said && strcmp(said, name) != 0)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its bank.json says that its features are of %.60s, but "
		                "@encoder-name is %.60s",
		                b->path, said, name);
	if (said)
		return INVAR_OK;
	json = b->json ? json_copy(b->json) : json_object();
	if (!json || json_object_set_new(json, "encoder", inv_json_path(name)) != 0) {
		json_decref(json);
		return inv_no_memory();
	}
	json_decref(b->json);
	b->json = json;
	return INVAR_OK;
}
