/* SPDX-License-Identifier: Apache-2.0 */
/* models_verify.c - invar models verify: is this the file, and does it work? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/sha256.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/models.h"
#include "cli/term.h"
#include "encoders/encoder.h"
#include "formats/weights.h"

enum { USUAL_SIDE = 224 };

typedef struct finding {
	const char *path;
	uint64_t bytes;
	char hex[INV_SHA256_DIGITS + 1];
	const inv_known_model *model; /* NULL: not known */
	size_t tensors;
	char name[64], about[256];
	uint64_t side, width;
	double norm;
} finding;

static bool differs(const finding *f)
{
	return (f->model->bytes && f->model->bytes != f->bytes) ||
	       (f->model->sha256 && !inv_hash_agrees(f->hex, f->model->sha256));
}

/*
 * A file with a published name must be that file; others may have its tensors. The library
 * reports values that are not finite.
 */
static invar_status check_file(inv_session *s, finding *f)
{
	const char *name = inv_text(s, "encoder");
	const inv_known_model *by_file;
	inv_weights *w;
	float *values = NULL;
	struct stat info;
	invar_status st;

	INV_TRY(inv_weights_open(s->ctx, s->argument[1], inv_text(s, "key"), &w));
	f->path = inv_weights_path(w);
	f->tensors = inv_weights_count(w);
	if (stat(f->path, &info) == 0)
		f->bytes = (uint64_t)info.st_size;
	INV_TRY_OR(end, inv_file_sha256(s->ctx, f->path, f->hex));
	by_file = inv_model_of_file(f->path);
	f->model = name ? inv_model_named(name) : by_file ? by_file : inv_model_of_hash(f->hex);
	if (f->model && f->model->file && f->model == by_file && differs(f)) {
		if (f->model->bytes && f->model->bytes != f->bytes)
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s: has %" PRIu64 " bytes but the file of %s has %" PRIu64
			              "; download it again",
			              f->path, f->bytes, f->model->name, f->model->bytes);
		else
			st = inv_fail(
				INVAR_E_MISMATCH,
				"%s: its SHA-256 is %s but the file of %s has %s; download it again",
				f->path, f->hex, f->model->name, f->model->sha256);
		goto end;
	}
	for (size_t i = 0; i < f->tensors; i++) {
		const inv_weight_about *t = inv_weights_at(w, i);
		bool floats = *t->type == 'F' || *t->type == 'B'; /* F16, F32, F64, BF16 */

		if (!floats || strcmp(t->type, "BOOL") == 0)
			continue;
		inv_free(values);
		INV_TRY_OR(end, inv_new_zeros(&values, t->cells + 1));
		INV_TRY_OR(end, inv_weights_read(w, t, values));
	}
end:
	inv_free(values);
	inv_weights_close(w);
	f->path = s->argument[1];
	return st;
}

/* The feature of an image of zeros. */
static invar_status run_network(inv_session *s, finding *f)
{
	uint64_t shape[4] = {1, 1};
	float *image = NULL, *feature = NULL;
	invar_encoder *e;
	invar_status st;

	if (!inv_text(s, "encoder") && f->model)
		INV_TRY(invar_options_set(s->options, "encoder", f->model->name));
	INV_TRY(invar_encoder_open(s->ctx, s->argument[1], s->options, &e));
	snprintf(f->name, sizeof f->name, "%s", invar_encoder_name(e));
	snprintf(f->about, sizeof f->about, "%s", invar_encoder_about(e));
	f->side = invar_encoder_side(e) ? invar_encoder_side(e) : USUAL_SIDE;
	shape[2] = shape[3] = f->side;
	if (invar_encoder_width(e, shape, &f->width) != INVAR_OK) {
		shape[1] = 3; /* channels; most networks have three */
		INV_TRY_OR(end, invar_encoder_width(e, shape, &f->width));
	}
	INV_TRY_OR(end, inv_new_zeros(&image, shape[1] * f->side * f->side));
	INV_TRY_OR(end, inv_new_zeros(&feature, f->width + 1));
	INV_TRY_OR(end, invar_encoder_run(e, image, shape, feature));
	for (uint64_t i = 0; i < f->width; i++)
		f->norm += (double)feature[i] * feature[i];
	f->norm = sqrt(f->norm);
	if (!isfinite(f->norm))
		st =
			inv_fail(INVAR_E_NUMERIC, "%s: computes a feature that is not finite", f->path);
end:
	inv_free(image);
	inv_free(feature);
	invar_encoder_close(e);
	return st;
}

invar_status inv_models_verify(inv_session *s)
{
	finding f = {0};

	INV_TRY(check_file(s, &f));
	INV_TRY(run_network(s, &f));
	if (s->json)
		return inv_print_json(json_pack(
			"{s:o, s:I, s:s, s:o, s:I, s:s, s:s, s:I, s:I, s:f}", "file",
			inv_json_path(f.path), "bytes", (json_int_t)f.bytes, "sha256", f.hex,
			"as_known",
			f.model && f.model->sha256 ? json_boolean(!differs(&f)) : json_null(),
			"tensors", (json_int_t)f.tensors, "encoder", f.name, "about", f.about, "side",
			(json_int_t)f.side, "width", (json_int_t)f.width, "norm", f.norm));
	printf("file     %" PRIu64 " bytes, %s\n", f.bytes,
	       !f.model || !f.model->file ? "not a known file"
	       : f.model->sha256
	           ? (differs(&f) ? "not the published file; its tensors may be the same"
	                          : "as known")
	       : f.model->bytes == f.bytes ? "size matches; no hash is known"
	                                   : "no hash is known");
	printf("SHA-256  %s\n", f.hex);
	printf("tensors  %zu, every weight finite\n", f.tensors);
	printf("encoder  %s: %s\n", f.name, f.about);
	printf("feature  %" PRIu64 " %s of norm %.6g, of an image of %" PRIu64 " x %" PRIu64
	       " zeros\n",
	       f.width, inv_noun(f.width, "number", "numbers"), f.norm, f.side, f.side);
	return INVAR_OK;
}
