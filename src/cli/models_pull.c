/* SPDX-License-Identifier: Apache-2.0 */
/* models_pull.c - invar models pull: a weight file from an address. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/sha256.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/fetch.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "encoders/encoder.h"

static const double gigabyte = 1e9;

/* What to download where; a known name means its published file name. */
static invar_status choose_file(inv_session *s, inv_fetch *f)
{
	const char *what = s->argument[1], *hex = inv_text(s, "sha256");
	const inv_known_model *m = inv_model_named(what);
	size_t digits = 0;
	char *local;
	invar_status st;

	if (!f->url)
		return inv_fail(INVAR_E_USE, "the URL is missing: --url URL");
	while (hex && isxdigit((unsigned char)hex[digits]))
		digits++;
	if (hex && (digits != INV_SHA256_DIGITS || hex[digits]))
		return inv_fail(INVAR_E_USE,
		                "--sha256 %s: must be %d hexadecimal digits, and has %zu", hex,
		                INV_SHA256_DIGITS, digits);
	if (m && !m->file)
		return inv_fail(INVAR_E_USE, "%s has no weights to download", what);
	f->path = inv_text(s, "output") ? inv_text(s, "output") : m ? m->file : what;
	if (!m)
		m = inv_model_of_file(what);
	f->sha256 = hex ? hex : m ? m->sha256 : NULL;
	f->max = (uint64_t)(inv_number(s, "max-size") * gigabyte);
	f->advice = "if that is expected, raise --max-size";
	if (m && m->bytes && !hex) {
		f->max = m->bytes;
		f->advice = "the file in the list is not larger, so check the URL";
	}
	local = inv_fetch_local(f->url); /* a URL may refer to a local file */
	st = inv_reads(s, local, INV_READS_FILE);
	free(local);
	INV_TRY(st);
	/* An existing file is compared with the hash, and not replaced. */
	return inv_check_output(s,
	                        &(inv_output){.option = "-o", .path = f->path, .force = true});
}

/* Nothing is replaced: an existing file is either the right one or an error. */
invar_status inv_models_pull(inv_session *s)
{
	inv_fetch f = {.url = inv_text(s, "url")};
	bool there;

	INV_TRY(choose_file(s, &f));
	there = access(f.path, F_OK) == 0;
	if (there) {
		INV_TRY(inv_file_sha256(s->ctx, f.path, f.hex));
		if (!f.sha256 || !inv_hash_agrees(f.hex, f.sha256))
			return inv_fail(
				INVAR_E_IO,
				"%s: already exists%s; remove it or choose another file with -o", f.path,
				f.sha256 ? ", with another SHA-256" : "");
	} else {
		INV_TRY(inv_fetch_file(s, &f));
	}
	inv_term_clear(s->term);
	if (s->json)
		return inv_print_json(json_pack("{s:o, s:s, s:b, s:b, s:I}", "file",
		                                inv_json_path(f.path), "sha256", f.hex, "checked",
		                                f.sha256 != NULL, "was_there", there,
		                                "resumed_from", (json_int_t)f.resumed_from));
	printf("%s  %s\n", f.hex, f.path);
	if (there)
		inv_term_say(s->term, "%s: already exists, with this SHA-256", f.path);
	else if (f.resumed_from)
		inv_term_say(s->term, "%s: %" PRIu64 " %s, of which %" PRIu64 " already existed",
		             f.path, f.bytes, inv_noun(f.bytes, "byte", "bytes"), f.resumed_from);
	else
		inv_term_say(s->term, "%s: %" PRIu64 " %s", f.path, f.bytes,
		             inv_noun(f.bytes, "byte", "bytes"));
	if (!f.sha256)
		inv_term_say(s->term, "no SHA-256 is known for this file, so it was not checked; "
		                      "the one above is that of the download");
	else if (strlen(f.sha256) < INV_SHA256_DIGITS)
		inv_term_say(s->term,
		             "only the first digits of its SHA-256 are known, %s, and they match",
		             f.sha256);
	return INVAR_OK;
}
