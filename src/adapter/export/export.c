/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - invar_adapter_export: the formats that meson.build lists. */
#include "adapter/export/export.h"

#include <string.h>

#include "adapter/export_list.h"

enum { FORMATS = sizeof parts / sizeof *parts };

static const char *format_about(size_t i)
{
	return i < FORMATS ? parts[i]->about : NULL;
}

static const invar_option rows[] = {
	{"format", INVAR_OPTION_TEXT, "onnx", .choices = part_names, .meta = "WORD",
     .group = "Result", .help = "what is written", .choice_help = format_about},
	{0},
};

invar_status inv_export_declare(invar_options *o)
{
	INV_TRY(inv_options_add_rows(o, rows));
	for (size_t i = 0; i < FORMATS; i++)
		INV_TRY(inv_options_add_part(o, "format", parts[i]->name, parts[i]->options));
	return INVAR_OK;
}

const inv_export_format *inv_export_format_named(const char *name)
{
	size_t i = 0;

	while (i + 1 < FORMATS && strcmp(parts[i]->name, name) != 0)
		i++;
	return parts[i];
}

static invar_status save_as(const invar_adapter *e, invar_encoder *F,
                            const invar_options *o, const char *path)
{
	const char *text = invar_adapter_metadata(e, INV_CERTIFICATE_KEY);
	json_t *certificate;
	invar_status st;

	INV_TRY(inv_options_check_parts(o));
	if (F && (!inv_option_is(o, "format", "onnx") || inv_option_text(o, "onto")))
		return inv_fail(INVAR_E_USE,
		                "an encoder can only be written in @format onnx and without @onto");
	if (F)
		return inv_onnx_save_with(e, F, o, path);
	/* Both formats carry the certificate along. */
	certificate = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	st = inv_adapter_check_certificate(e, certificate);
	json_decref(certificate);
	INV_TRY(st);
	return inv_export_format_named(inv_option_text(o, "format"))->save(e, o, path);
}

invar_status invar_adapter_export(const invar_adapter *e, invar_encoder *F,
                                  const invar_options *o, const char *path)
{
	invar_options *defaults = NULL;
	invar_status st;

	if (o)
		INV_TRY(inv_options_expect(o, "export"));
	else
		INV_TRY(inv_options_pick(NULL, inv_export_declare, &defaults));
	st = save_as(e, F, o ? o : defaults, path);
	invar_options_free(defaults);
	return st;
}
