/* SPDX-License-Identifier: Apache-2.0 */
/* models_pull.c - invar models pull: a weight file from an address. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/fetch.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "encoders/encoder.h"

static const double gigabyte = 1e9;

static invar_status check_hash(const char *hex)
{
	size_t digits = 0;

	while (hex && isxdigit((unsigned char)hex[digits]))
		digits++;
	if (!hex || (digits == INV_SHA256_DIGITS && !hex[digits]))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "--sha256 %s: must be %d hexadecimal digits, and has %zu",
	                hex, INV_SHA256_DIGITS, digits);
}

/* An existing file is checked later; a URL may refer to a local file. */
static invar_status check_output(inv_session *s, const inv_fetch *f)
{
	char *local = inv_fetch_local(f->url);

	inv_reads(s, local, "the file");
	free(local);
	return inv_check_output(
		s, &(inv_output){.option = "-o", .path = f->path});
}

/* A known name means its published file name; anything else is the file itself. */
static invar_status choose_file(inv_session *s, inv_fetch *f)
{
	const char *what = s->argument[1];
	const inv_known_model *m = inv_model_named(what);

	if (m && !m->file)
		return inv_fail(INVAR_E_USE, "%s has no weights to download", what);
	f->path = inv_text(s, "output") ? inv_text(s, "output") : m ? m->file : what;
	if (!m)
		m = inv_model_of_file(what);
	f->sha256 = inv_text(s, "sha256") ? inv_text(s, "sha256") : m ? m->sha256 : NULL;
	f->max = (uint64_t)(inv_number(s, "max-size") * gigabyte);
	f->advice = "if that is expected, raise --max-size";
	if (m && m->bytes && !inv_text(s, "sha256")) {
		f->max = m->bytes;
		f->advice = "the file in the list is not larger, so check the URL";
	}
	return check_output(s, f);
}

/* Nothing is replaced: an existing file is either the right one or an error. */
static invar_status look_at_old(inv_session *s, inv_fetch *f, bool *there)
{
	invar_status st;

	*there = access(f->path, F_OK) == 0;
	if (!*there)
		return INVAR_OK;
	if ((st = inv_file_sha256(s->ctx, f->path, f->hex)) != INVAR_OK)
		return st;
	if (f->sha256 && inv_hash_agrees(f->hex, f->sha256))
		return INVAR_OK;
	return inv_fail(INVAR_E_IO,
	                "%s: already exists%s; remove it or choose another file with -o",
	                f->path, f->sha256 ? ", with another SHA-256" : "");
}

static invar_status tell(inv_session *s, const inv_fetch *f, bool there)
{
	if (s->common->json)
		return inv_print_json(json_pack("{s:o, s:s, s:b, s:b, s:I}", "file",
		                                inv_name_json(f->path), "sha256", f->hex, "checked",
		                                f->sha256 != NULL, "was_there", there,
		                                "resumed_from", (json_int_t)f->resumed_from));
	printf("%s  %s\n", f->hex, f->path);
	if (there)
		inv_term_say(s->term, "%s: already exists, with this SHA-256", f->path);
	else if (f->resumed_from)
		inv_term_say(s->term, "%s: %" PRIu64 " %s, of which %" PRIu64 " already existed",
		             f->path, f->bytes, inv_noun(f->bytes, "byte", "bytes"),
		             f->resumed_from);
	else
		inv_term_say(s->term, "%s: %" PRIu64 " %s", f->path, f->bytes,
		             inv_noun(f->bytes, "byte", "bytes"));
	if (!f->sha256)
		inv_term_say(s->term, "no SHA-256 is known for this file, so it was not checked; "
		                      "the one above is that of the download");
	else if (strlen(f->sha256) < INV_SHA256_DIGITS)
		inv_term_say(s->term,
		             "only the first digits of its SHA-256 are known, %s, and they match",
		             f->sha256);
	return INVAR_OK;
}

invar_status inv_models_pull(inv_session *s)
{
	inv_fetch f = {.url = inv_text(s, "url")};
	bool there;
	invar_status st;

	if ((st = inv_need(inv_text(s, "url"), "the URL is missing: --url URL")) != INVAR_OK ||
	    (st = check_hash(inv_text(s, "sha256"))) != INVAR_OK ||
	    (st = choose_file(s, &f)) != INVAR_OK ||
	    (st = look_at_old(s, &f, &there)) != INVAR_OK)
		return st;
	if (!there && (st = inv_fetch_file(s, &f)) != INVAR_OK)
		return st;
	inv_term_clear(s->term);
	return tell(s, &f, there);
}
