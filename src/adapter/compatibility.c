/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.c - see compatibility.h. */
#include "adapter/compatibility.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/write.h"
#include "base/file.h"

enum { LISTED = 5 * INV_SPELLED, NAMED = 500 };

/* ---- Writing ---------------------------------------------------------------------- */

char *inv_compatibility_input(const invar_bank *bank)
{
	const json_t *said = json_object_get(bank->json, "preprocess");
	json_t *space = json_object_get(bank->json, "augment_space");
	json_t *input = json_is_object(said) ? json_copy((json_t *)(uintptr_t)said) : NULL;
	const char *precision = inv_bank_precision(bank->json);
	bool full = strcmp(precision, "float32") == 0;
	char *text = NULL;

	if (!json_is_object(said))
		return inv_strdup("");
	if (input &&
	    (!json_is_string(space) || json_object_set(input, "augment_space", space) == 0) &&
	    (full || json_object_set_new(input, "precision", json_string(precision)) == 0))
		text = inv_json_text(input, 0);
	json_decref(input);
	return text;
}

/* ---- Comparing -------------------------------------------------------------------- */

static const char *metadata(const invar_adapter *e, const char *key)
{
	const char *text = invar_adapter_metadata(e, key);

	return text && *text ? text : NULL;
}

/* An encoder by its name, and by a hash of its weights if that is known. */
typedef struct encoder_id {
	const char *name, *hash;
} encoder_id;

static encoder_id encoder_of(const invar_adapter *e)
{
	return (encoder_id){metadata(e, "invar.encoder"), metadata(e, "invar.encoder_sha256")};
}

/* Equal weights are the same encoder, whatever its name; an unnamed one may be any. */
static bool are_same(encoder_id a, encoder_id b)
{
	if (!a.name || !b.name)
		return true;
	return strcmp(a.hash && b.hash ? a.hash : a.name, a.hash && b.hash ? b.hash : b.name) ==
	       0;
}

static void compare_encoders(const invar_adapter *e, const json_t *bank, const char *where)
{
	const encoder_id mine = encoder_of(e);
	const encoder_id theirs = {json_string_value(json_object_get(bank, "encoder")),
	                           json_string_value(json_object_get(bank, "weights_sha256"))};

	if (are_same(mine, theirs))
		return;
	if (mine.hash && theirs.hash)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on features of %.60s with weights %.12s… but %s has "
		        "features of %.60s with weights %.12s…",
		        e->path, mine.name, mine.hash, where, theirs.name, theirs.hash);
	else
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on features of %.60s but %s has features of %.60s",
		        e->path, mine.name, where, theirs.name);
}

static void append_value(char list[LISTED], const char *key, const json_t *value)
{
	size_t used = strlen(list);
	char text[INV_SPELLED];

	snprintf(list + used, LISTED - used, "%s%s %s", used ? ", " : "", key,
	         inv_json_spell(value, text));
}

/* Compared as written: an adapter keeps 15 digits, a bank may have more. */
static bool are_equal(const json_t *a, const json_t *b)
{
	char *one = inv_json_text(a, 0), *other = inv_json_text(b, 0);
	bool equal = one && other ? strcmp(one, other) == 0 : json_equal(a, b);

	inv_free(one);
	inv_free(other);
	return equal;
}

/* The space in which copies were augmented does not matter: E takes any features. */
static void compare_images(const invar_adapter *e, const json_t *theirs, const char *where)
{
	static const char *const keys[] = {"channels", "size", "resize", "mean", "std"};
	const char *text = metadata(e, "invar.input");
	json_t *mine = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	char was[LISTED] = "", is[LISTED] = "";

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *a = json_object_get(mine, keys[i]);
		const json_t *b = json_object_get(theirs, keys[i]);

		if (a && b && !are_equal(a, b)) {
			append_value(was, keys[i], a);
			append_value(is, keys[i], b);
		}
	}
	if (*was)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on images with %s but %s was made from images with %s",
		        e->path, was, where, is);
	json_decref(mine);
}

/* Not a warning: the features differ by about one percent, and E works on both. */
static void compare_precision(const invar_adapter *e, const json_t *bank, const char *where)
{
	const char *text = metadata(e, "invar.input");
	json_t *mine = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *said = json_string_value(json_object_get(mine, "precision"));
	const char *was = said ? said : "float32";

	if (mine && strcmp(was, inv_bank_precision(bank)) != 0)
		inv_log(e->ctx, INVAR_LOG_INFO,
		        "%s: was trained on features in %.20s, and %s has features in %.20s", e->path,
		        was, where, inv_bank_precision(bank));
	json_decref(mine);
}

/* What a bank.json says about features, against what E was trained on. */
static void compare_with_bank(const invar_adapter *e, const json_t *bank, const char *where)
{
	compare_encoders(e, bank, where);
	compare_images(e, json_object_get(bank, "preprocess"), where);
	if (json_object_get(bank, "encoder_options"))
		compare_precision(e, bank, where);
}

void inv_compatibility_warn(const invar_adapter *e, const invar_bank *bank)
{
	compare_with_bank(e, bank->json, bank->path);
}

invar_status inv_compatibility_same_features(const invar_adapter *e,
                                             const invar_adapter *other)
{
	const encoder_id mine = encoder_of(e), theirs = encoder_of(other);
	const char *text = metadata(other, "invar.input");
	json_t *input = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	compare_images(e, input, other->path);
	json_decref(input);
	if (are_same(mine, theirs))
		return INVAR_OK;
	if (mine.hash && theirs.hash)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: was made for features of %.60s with weights %.12s… but %s for "
		                "those of %.60s with weights %.12s…, so they cannot be merged",
		                e->path, mine.name, mine.hash, other->path, theirs.name,
		                theirs.hash);
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: was made for features of %.60s but %s for those of %.60s, so they "
	                "cannot be merged",
	                e->path, mine.name, other->path, theirs.name);
}

/* ---- Arrays of a bank ------------------------------------------------------------- */

/*
 * The folder of the bank that an array belongs to, by its path only: SPLIT/clean.npy,
 * SPLIT/aug.npy or SPLIT/aug/NNN.npy. Gives; NULL: none of these, or no memory.
 */
static char *find_bank(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *folder = slash, *up = NULL;
	size_t size = strlen(path) + sizeof "./../..";
	char *bank;

	while (folder && folder > path && folder[-1] != '/')
		folder--;
	if (strcmp(name, "clean.npy") == 0 || strcmp(name, "aug.npy") == 0)
		up = "..";
	else if (folder && slash - folder == 3 && strncmp(folder, "aug", 3) == 0)
		up = "../..";
	if (!up || !(bank = inv_alloc(size)))
		return NULL;
	snprintf(bank, size, "%.*s/%s", slash ? (int)(slash - path) : 1, slash ? path : ".",
	         up);
	return bank;
}

void inv_compatibility_warn_file(const invar_adapter *e, const char *path)
{
	char *folder = find_bank(path), *said = folder ? inv_join(folder, "bank.json") : NULL;
	json_t *bank = NULL;

	/* If bank.json cannot be read, nothing is known about the features. */
	if (said && inv_exists(said) && inv_json_load(said, &bank) == INVAR_OK)
		compare_with_bank(e, bank, path);
	json_decref(bank);
	inv_free(said);
	inv_free(folder);
}

/* ---- Norms ------------------------------------------------------------------------ */

/* A recorded norm; NaN: none. */
static double read_norm(const invar_adapter *e, const char *key)
{
	const char *text = metadata(e, key);
	char *end;
	double norm = text ? strtod(text, &end) : NAN;

	return text && end != text && !*end && norm >= 0 && isfinite(norm) ? norm : NAN;
}

bool inv_adapter_norms(const invar_adapter *e, double *mean, double *deviation)
{
	*mean = read_norm(e, "invar.norm_mean");
	*deviation = read_norm(e, "invar.norm_deviation");
	return !e->unit && isfinite(*mean) && isfinite(*deviation);
}

void inv_spell_norms(double mean, double deviation, inv_norm_text *out)
{
	snprintf(out->mean, sizeof out->mean, "%.9g", mean);
	snprintf(out->deviation, sizeof out->deviation, "%.9g", deviation);
}

/* Mean and deviation that norms do not fit; false: they fit, or nothing is recorded. */
static bool is_misfit(const invar_adapter *e, const inv_row_norms *n, double *mean,
                      double *deviation)
{
	double off, k;

	if (!n->rows || !inv_adapter_norms(e, mean, deviation))
		return false;
	off = fabs(n->mean - *mean);
	k = inv_row_norms_are_one(n) ? 2 : fmax(3, 8 / sqrt((double)n->rows));
	return off > 0.2 * *mean && off > k * *deviation;
}

/* path, mean, deviation, what, norm */
#define MISFIT                                                                           \
	"%s: was trained on features of norm %.3g (deviation %.2g), but %s have norm %.3g; " \
	"give it features as in training, or train it again with @unit, which takes both"

bool inv_compatibility_warn_norms(const invar_adapter *e, const inv_row_norms *n,
                                  const char *what)
{
	double mean, deviation;

	if (!is_misfit(e, n, &mean, &deviation))
		return false;
	inv_log(e->ctx, INVAR_LOG_WARNING, MISFIT, e->path, mean, deviation, what, n->mean);
	return true;
}

invar_status inv_compatibility_warn_split(const invar_adapter *e, const invar_bank *bank,
                                          const inv_split *s)
{
	inv_row_norms n = {0};
	double mean, deviation;
	char what[NAMED];
	invar_status st;

	if (!inv_adapter_norms(e, &mean, &deviation))
		return INVAR_OK;
	if ((st = inv_row_norms_add(bank, s, 0, &n)) == INVAR_E_NUMERIC)
		return INVAR_OK; /* a NaN is reported where rows are used */
	INV_TRY(st);
	snprintf(what, sizeof what, "those of %.300s/%.100s", bank->path, s->name);
	inv_compatibility_warn_norms(e, &n, what);
	return INVAR_OK;
}

invar_status invar_adapter_check_norms(const invar_adapter *e, const float *z,
                                       uint64_t rows)
{
	inv_row_norms n = {0};
	double mean, deviation;

	if (!inv_adapter_norms(e, &mean, &deviation))
		return INVAR_OK;
	inv_row_norms_add_rows(z, rows, e->s.d, &n);
	if (!is_misfit(e, &n, &mean, &deviation))
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH, MISFIT, e->path, mean, deviation, "these rows",
	                n.mean);
}
