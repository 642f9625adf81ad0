/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - an adapter as a file for other programs.
 *
 * A new format is a file NAME_format.c that defines inv_export_NAME, and its name in the
 * list of meson.build: the option format, its help and its own options come from there.
 */
#ifndef INV_EXPORT_H
#define INV_EXPORT_H

#include "adapter/adapter.h"
#include "base/options.h"

typedef struct inv_export_format {
	const char *name;            /* "onnx" */
	const char *about;           /* a phrase for help */
	const char *file;            /* "an ONNX model", for messages */
	const char *begins;          /* how such a file begins */
	const invar_option *options; /* its own, ended by a row without a name; or NULL */
	/* o is a list for "export". Equal adapters and options give equal bytes. */
	invar_status (*save)(const invar_adapter *e, const invar_options *o, const char *path);
} inv_export_format;

/* E after F as one model; o is a list for "export". */
invar_status inv_onnx_save_with(const invar_adapter *e, invar_encoder *F,
                                const invar_options *o, const char *path);

/* The one of this name, which is a choice of the option format. */
const inv_export_format *inv_export_format_named(const char *name);

/* The options of invar_adapter_export. */
invar_status inv_export_declare(invar_options *o);

#endif
