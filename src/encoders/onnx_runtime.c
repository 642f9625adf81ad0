/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_runtime.c - F is any network in an ONNX file, run by ONNX Runtime.
 *
 * The file is read twice: by us for what can be judged without the runtime (one float32
 * input of images, one output, the files that hold its weights), then by the runtime.
 *
 * An ONNX model does not say how images are prepared, apart from a size that its input may
 * fix. invar.input in its metadata says it, which `invar export` writes; so does
 * preprocessor_config.json beside it, which Hugging Face's exporters write; the user's
 * options win. Where nobody says it, encoding asks instead of guessing.
 *
 * The shape of the features is known when the network has computed a black image, as
 * models need not describe their outputs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "encoders/encoder.h"
#include "encoders/onnx_session.h"
#include "formats/onnx.h"

enum {
	MAX_FILES = 16, /* of external data */
	FILE_NAME = 256,
	NORMALISATION = 256,
	SHAPE_TEXT = 200
};

typedef struct onnx_network {
	char *name, *input, *output;
	uint64_t axes[4];         /* n, c, h, w of the input; 0: free */
	const char *tokens;       /* "first", "mean"; NULL: not given */
	char (*files)[FILE_NAME]; /* external data */
	size_t file_count;
	char *version; /* of the runtime, and the SHA-256 of the other files */
	char normalisation[NORMALISATION];
	inv_onnx_session *session;
} onnx_network;

/* How rows of features come out of what the network computes for one image. */
typedef struct onnx_plan {
	unsigned ndim;
	uint64_t tokens, pixels; /* [1, tokens, d], [1, d, pixels]; 1: none */
} onnx_plan;

static bool recognise_onnx(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && strcasecmp(path + length - 5, ".onnx") == 0;
}

static void close_onnx(invar_encoder *e)
{
	onnx_network *o = e->own;

	if (!o)
		return;
	inv_onnx_session_close(o->session);
	inv_free(o->name);
	inv_free(o->input);
	inv_free(o->output);
	inv_free(o->files);
	inv_free(o->version);
	inv_free(o);
}

/* ---- What the file says ----------------------------------------------------------- */

/* A name of the model, which is not ended by NUL. */
static invar_status new_name(char **out, inv_bytes name)
{
	INV_TRY(inv_new_array(out, name.size + 1));
	if (name.size)
		memcpy(*out, name.data, name.size);
	(*out)[name.size] = '\0';
	return INVAR_OK;
}

static invar_status read_input(onnx_network *o, const inv_onnx *m, const char *path)
{
	char listed[INV_ONNX_LISTED];
	inv_onnx_value in;
	size_t count = inv_onnx_inputs(m, listed, &in);

	if (count != 1)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: has %zu inputs (%s), but an encoder has one, images [n, "
		                "channels, height, width]; export it with that input alone",
		                path, count, listed);
	if (in.element == ONNX_FLOAT16)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: takes images of float16; convert it so that inputs and outputs "
			"stay float32 (keep_io_types=True of onnxconverter-common)",
			path);
	if (in.element && in.element != ONNX_FLOAT)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its input %s does not take float32 but ONNX's type %" PRIu64
		                "; export it with an input of float32",
		                path, listed, in.element);
	if (in.has_shape && in.ndim != 4)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its input %s has %u axes, but images have 4, [n, channels, "
		                "height, width]; export the part that takes images",
		                path, listed, in.ndim);
	inv_onnx_axes(&in, o->axes, 4);
	if (o->axes[0] > 1)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: takes exactly %" PRIu64
		                " images per call; export it for one, or with a free batch axis",
		                path, o->axes[0]);
	if (o->axes[1] && o->axes[1] != 1 && o->axes[1] != INV_RGB)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: takes images of %" PRIu64
		                " channels%s; images have 1 or 3, before height and width",
		                path, o->axes[1],
		                o->axes[3] == INV_RGB ? " (or channels last)" : "");
	return new_name(&o->input, in.name);
}

static invar_status read_output(onnx_network *o, const inv_onnx *m, const char *wanted,
                                const char *path)
{
	char listed[INV_ONNX_LISTED];
	size_t count = inv_onnx_outputs(m, listed);
	inv_onnx_value out;

	if (!wanted && count != 1)
		return inv_fail(INVAR_E_USE,
		                "%s: has %zu outputs (%s); choose the one with the features with "
		                "@onnx-output",
		                path, count, listed);
	if (!inv_onnx_output(m, wanted, &out))
		return inv_fail(INVAR_E_USE, "%s: has no output '%.60s'; its outputs are %s", path,
		                wanted ? wanted : "", listed);
	if (out.element && out.element != ONNX_FLOAT)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its output %.*s is not float32 (ONNX's type is %" PRIu64
		                "); convert it so that its outputs are float32",
		                path, (int)(out.name.size < 60 ? out.name.size : 60), out.name.data,
		                out.element);
	return new_name(&o->output, out.name);
}

/* Weights may be in other files of the same folder; which ones is noted for their SHA-256.
 */
static invar_status read_files(onnx_network *o, const inv_onnx *m, const char *path,
                               const char *folder)
{
	inv_bytes rest = m->graph, name;

	while (inv_onnx_next_external(&rest, &name)) {
		char text[FILE_NAME] = "", *file;
		size_t known = 0;
		invar_status st = INVAR_OK;

		if (name.size && name.size < FILE_NAME)
			memcpy(text, name.data, name.size);
		if (!*text || strlen(text) != name.size || *text == '/' || strstr(text, ".."))
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: keeps weights in a file that is not in its folder; save it "
				"with its weights beside it (onnx.save)",
				path);
		while (known < o->file_count && strcmp(o->files[known], text) != 0)
			known++;
		if (known < o->file_count)
			continue;
		if (known == MAX_FILES)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: keeps weights in more than %d other files; save it as one "
			                "file (onnx.save)",
			                path, MAX_FILES);
		if (!o->files)
			INV_TRY(inv_new_zeros(&o->files, MAX_FILES));
		memcpy(o->files[o->file_count++], text, sizeof text);
		INV_TRY(inv_new_path(&file, folder, text));
		if (!inv_exists(file))
			st = inv_fail(INVAR_E_IO,
			              "%s: keeps weights in %s, which is missing; copy it beside the "
			              "model",
			              path, file);
		inv_free(file);
		INV_TRY(st);
	}
	return INVAR_OK;
}

/* ---- How images are prepared ------------------------------------------------------ */

/* "MEANS/STDS" from two lists of a JSON file; the text stays if there are none. */
static invar_status take_constants(onnx_network *o, const json_t *mean, const json_t *std,
                                   const char *where)
{
	static const char *const before[2] = {"", "/"};
	const json_t *const lists[2] = {mean, std};
	inv_normalisation checked;
	size_t used = 0;

	if (!mean && !std)
		return INVAR_OK;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < json_array_size(lists[k]) && used < NORMALISATION; i++)
			used += (size_t)snprintf(o->normalisation + used, NORMALISATION - used,
			                         "%s%.9g", i ? "," : before[k],
			                         json_number_value(json_array_get(lists[k], i)));
	if (used >= NORMALISATION ||
	    inv_normalisation_parse(o->normalisation, &checked) != INVAR_OK)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its mean and standard deviation are not valid: one number per "
		                "channel is expected, the latter above 0; fix or remove them",
		                where);
	return INVAR_OK;
}

/* A side in pixels; 0: none that makes sense. */
static size_t side_json(const json_t *value)
{
	json_int_t side = json_integer_value(value);

	return side > 0 && side <= INV_MAX_SIDE ? (size_t)side : 0;
}

/* The metadata of `invar export`: size, resize, mean and std as in bank.json. */
static invar_status take_own_metadata(invar_encoder *e, const inv_onnx *m)
{
	onnx_network *o = e->own;
	const json_t *size;
	const char *resize;
	inv_bytes text;
	json_t *said;
	invar_status st = INVAR_OK;

	if (!inv_onnx_metadata(m, "invar.input", &text) || !text.size)
		return INVAR_OK;
	said = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
	size = json_object_get(said, "size");
	resize = json_string_value(json_object_get(said, "resize"));
	if (resize && json_equal(json_array_get(size, 0), json_array_get(size, 1))) {
		e->input.side = side_json(json_array_get(size, 0));
		if (sscanf(resize, "shorter side %zu", &e->input.resize) != 1 ||
		    e->input.resize > INV_MAX_SIDE || e->input.resize < e->input.side)
			e->input.resize = 0;
		e->input.filter = strstr(resize, "bicubic") ? INV_BICUBIC : INV_BILINEAR;
	}
	st = take_constants(o, json_object_get(said, "mean"), json_object_get(said, "std"),
	                    e->weights);
	json_decref(said);
	return st;
}

/* Hugging Face's file: image_mean, image_std, size, crop_size, resample. */
static invar_status take_preprocessor(invar_encoder *e, const char *folder)
{
	onnx_network *o = e->own;
	const json_t *size, *crop;
	json_t *said = NULL;
	char *path;
	invar_status st;

	INV_TRY(inv_new_path(&path, folder, "preprocessor_config.json"));
	st = INVAR_OK;
	if (!inv_exists(path))
		goto done;
	INV_TRY_OR(done, inv_json_load(path, &said));
	size = json_object_get(said, "size");
	crop = json_object_get(said, "crop_size");
	e->input.side = side_json(json_object_get(crop, "height"));
	if (!e->input.side)
		e->input.side = side_json(json_object_get(size, "height"));
	e->input.resize = side_json(json_object_get(size, "shortest_edge"));
	if (!e->input.side)
		e->input.side = e->input.resize;
	if (e->input.resize < e->input.side)
		e->input.resize = 0;
	if (json_integer_value(json_object_get(said, "resample")) == 3) /* as in Pillow */
		e->input.filter = INV_BICUBIC;
	if (json_is_false(json_object_get(said, "do_normalize")))
		snprintf(o->normalisation, sizeof o->normalisation, "none");
	else
		st = take_constants(o, json_object_get(said, "image_mean"),
		                    json_object_get(said, "image_std"), path);
done:
	json_decref(said);
	inv_free(path);
	return st;
}

/* ---- Opening ---------------------------------------------------------------------- */

static invar_status read_model(invar_encoder *e)
{
	const char *path = e->weights, *slash = strrchr(path, '/');
	onnx_network *o = e->own;
	inv_map map = {0};
	char *folder = NULL;
	inv_onnx m;
	invar_status st;

	INV_TRY(inv_map_open(path, &map));
	INV_TRY_OR(done, inv_onnx_view_beside(map.data, map.size, path, &m));
	INV_TRY_OR(done, read_input(o, &m, path));
	INV_TRY_OR(done, read_output(o, &m, inv_option_text(e->options, "onnx-output"), path));

	INV_TRY_OR(done, inv_new_text(&folder, slash ? path : "."));
	if (slash)
		folder[slash == path ? 1 : slash - path] = '\0';
	INV_TRY_OR(done, read_files(o, &m, path, folder));
	INV_TRY_OR(done, take_preprocessor(e, folder));
	INV_TRY_OR(done, take_own_metadata(e, &m));
done:
	inv_free(folder);
	inv_map_close(&map);
	return st;
}

/* "onnxruntime 1.21.0, model.onnx.data 0123…": what features depend on besides the file. */
static invar_status note_version(invar_encoder *e)
{
	const char *path = e->weights, *slash = strrchr(path, '/');
	onnx_network *o = e->own;
	size_t size = 64 + o->file_count * (FILE_NAME + INV_SHA256_HEX + 4), used;

	INV_TRY(inv_new_array(&o->version, size));
	used = (size_t)snprintf(o->version, size, "onnxruntime %.40s",
	                        inv_onnx_session_version(o->session));
	for (size_t i = 0; i < o->file_count; i++) {
		char hex[INV_SHA256_HEX], *file;
		invar_status st;

		INV_TRY(inv_new_array(&file, strlen(path) + FILE_NAME));
		sprintf(file, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, o->files[i]);
		st = inv_sha256_file(file, hex);
		inv_free(file);
		INV_TRY(st);
		used +=
			(size_t)snprintf(o->version + used, size - used, ", %s %s", o->files[i], hex);
	}
	e->version = o->version;
	return INVAR_OK;
}

static invar_status open_onnx(invar_encoder *e, inv_parameters *p)
{
	const char *slash = strrchr(e->weights, '/');
	onnx_network *o;
	uint64_t h, w;
	size_t fixed;

	(void)p;
	if (inv_option_text(e->options, "key"))
		return inv_fail(INVAR_E_USE,
		                "@key does not apply to %s, which is an ONNX model; @onnx-output "
		                "chooses one of its outputs",
		                e->weights);
	INV_TRY(inv_new(&o));
	e->own = o;
	INV_TRY(inv_new_text(&o->name, slash ? slash + 1 : e->weights));
	e->name = o->name;
	o->tokens = inv_option_text(e->options, "onnx-tokens");
	INV_TRY(read_model(e));

	/* A size that the input fixes wins; a preparation for another size is not the model's.
	 */
	h = o->axes[2];
	w = o->axes[3];
	fixed = h == w && h <= INV_MAX_SIDE ? (size_t)h : 0;
	if ((h || w) && e->input.side != fixed) {
		e->input.side = fixed;
		e->input.resize = 0;
	}
	e->input.keeps_grey = o->axes[1] == 1;
	e->input.asks_size = !e->input.side && (!h || !w);
	e->input.normalisation = *o->normalisation ? o->normalisation : NULL;
	e->input.asks_normalisation = !*o->normalisation;

	INV_TRY(inv_onnx_session_open(e->weights, o->input, o->output, &o->session));
	INV_TRY(note_version(e));
	snprintf(e->about, sizeof e->about, "output %.60s of %.60s, by ONNX Runtime %.20s",
	         o->output, o->name, inv_onnx_session_version(o->session));
	return INVAR_OK;
}

/* ---- Running ---------------------------------------------------------------------- */

/* "[n, 197, 768]". */
static const char *result_shape(const inv_onnx_result *r, char text[SHAPE_TEXT])
{
	size_t used = (size_t)snprintf(text, SHAPE_TEXT, "[n");

	for (unsigned i = 1; i < r->ndim; i++)
		used += (size_t)snprintf(text + used, SHAPE_TEXT - used, ", %" PRIu64, r->shape[i]);
	snprintf(text + used, SHAPE_TEXT - used, "]");
	return text;
}

/* Which numbers of the result are the features; r is that of a black image. */
static invar_status choose_numbers(inv_encoder_plan *p, const inv_onnx_result *r)
{
	const char *path = p->encoder->weights;
	const onnx_network *o = p->encoder->own;
	onnx_plan *plan = p->own;
	bool is_map = r->ndim > 3;
	char text[SHAPE_TEXT];

	if (!r->x)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its output %.60s is not float32; convert it so that its "
		                "outputs are float32",
		                path, o->output);
	plan->ndim = r->ndim;
	plan->tokens = r->ndim == 3 ? r->shape[1] : 1;
	plan->pixels = 1;
	for (unsigned i = 2; is_map && i < r->ndim; i++)
		plan->pixels *= r->shape[i];
	p->width = r->ndim == 3 ? r->shape[2] : r->ndim > 1 ? r->shape[1] : 0;
	if (r->ndim < 2 || r->shape[0] != 1 || !p->width || !plan->tokens || !plan->pixels)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its output %.60s has the shape %s for one image; features are "
		                "[n, width]",
		                path, o->output, result_shape(r, text));
	if (!o->tokens && plan->tokens > 1)
		return inv_fail(INVAR_E_USE,
		                "%s: its output %.60s has the shape %s, several tokens per image; "
		                "choose @onnx-tokens first, the class token of most networks, or "
		                "mean",
		                path, o->output, result_shape(r, text));
	if (plan->pixels > 1 && (!o->tokens || strcmp(o->tokens, "mean") != 0))
		return inv_fail(INVAR_E_USE,
		                "%s: its output %.60s has the shape %s, maps of several pixels; "
		                "choose @onnx-tokens mean",
		                path, o->output, result_shape(r, text));
	if (o->tokens && r->ndim == 2)
		return inv_fail(INVAR_E_USE,
		                "%s: @onnx-tokens %s does not apply to its output %.60s, which has "
		                "the shape %s; leave it out",
		                path, o->tokens, o->output, result_shape(r, text));
	return INVAR_OK;
}

static invar_status plan_onnx(inv_encoder_plan *p)
{
	const onnx_network *o = p->encoder->own;
	const uint64_t *a = o->axes;
	inv_extent s = p->shape;
	inv_onnx_result r = {0};
	onnx_plan *plan;
	float *black;
	invar_status st;

	if (a[1] && a[1] != s.c)
		return inv_fail(INVAR_E_MISMATCH, "%s: takes images of %" PRIu64 " %s, not of %zu",
		                p->encoder->weights, a[1], a[1] == 1 ? "channel" : "channels", s.c);
	if ((a[2] && a[2] != s.h) || (a[3] && a[3] != s.w))
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: takes images of %" PRIu64 " x %" PRIu64
			" pixels, not of %zu x %zu; give it that size (@size), or export it "
			"with free axes",
			p->encoder->weights, a[3] ? a[3] : s.w, a[2] ? a[2] : s.h, s.w, s.h);
	INV_TRY(inv_new(&plan));
	p->own = plan;
	p->group = 1;
	INV_TRY(inv_new_zeros(&black, inv_extent_cells(s)));
	INV_TRY_OR(done, inv_onnx_session_run(o->session, black, s, &r));
	st = choose_numbers(p, &r);
done:
	inv_onnx_result_free(o->session, &r);
	inv_free(black);
	return st;
}

static void unplan_onnx(inv_encoder_plan *p)
{
	inv_free(p->own);
}

/* Each image from [1, d], [1, tokens, d] or [1, d, pixels] to [d]. */
static invar_status run_onnx(const inv_encoder_plan *p, const float *x, size_t n,
                             unsigned thread, float *out)
{
	const onnx_network *o = p->encoder->own;
	const onnx_plan *plan = p->own;
	uint64_t d = p->width, T = plan->tokens, P = plan->pixels;
	bool as_it_is = (T == 1 && P == 1) || strcmp(o->tokens, "first") == 0;

	(void)thread;
	for (size_t i = 0; i < n; i++, x += inv_extent_cells(p->shape), out += d) {
		uint64_t numbers = 1;
		inv_onnx_result r;
		invar_status st;

		INV_TRY_OR(next, inv_onnx_session_run(o->session, x, p->shape, &r));
		for (unsigned k = 0; k < r.ndim; k++)
			numbers *= r.shape[k];
		if (r.ndim != plan->ndim || !r.x || numbers != d * T * P)
			INV_TRY_OR(next, inv_fail(INVAR_E_MISMATCH,
			                          "%s: its output %.60s has another shape for this "
			                          "image than for a black one; features must have one "
			                          "width",
			                          p->encoder->weights, o->output));
		for (uint64_t j = 0; j < d; j++) {
			double sum = 0;

			for (uint64_t t = 0; !as_it_is && t < T; t++)
				for (uint64_t k = 0; k < P; k++)
					sum += (double)r.x[(t * d + j) * P + k];
			out[j] = as_it_is ? r.x[j] : (float)(sum / (double)(T * P));
		}
	next:
		inv_onnx_result_free(o->session, &r);
		INV_TRY(st);
	}
	return INVAR_OK;
}

static const invar_option rows[] = {
	{"onnx-output", INVAR_OPTION_TEXT, .meta = "NAME", .group = "Encoder",
     .help = "which output of an ONNX model has the features; default: its only one"},
	{"onnx-tokens", INVAR_OPTION_TEXT, .choices = "first|mean", .meta = "WORD",
     .group = "Encoder",
     .help =
         "which features an ONNX model's output [n, tokens, width] gives: the first "
         "token, which is the class token of most networks, or the mean of all, also of "
         "maps [n, width, height, width]"},
	{0},
};

const inv_encoder_kind inv_encoder_onnx_model = {
	.family = "onnx",
	.about = "any network in an ONNX file, run by ONNX Runtime where it is installed",
	.options = rows,
	.recognise_file = recognise_onnx,
	.open = open_onnx,
	.close = close_onnx,
	.plan = plan_onnx,
	.unplan = unplan_onnx,
	.run = run_onnx,
};
