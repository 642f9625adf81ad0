/* SPDX-License-Identifier: Apache-2.0 */
/* compatibility.c - see compatibility.h. */
#include "adapter/compatibility.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { LISTED = 5 * INV_SPELLED };

/* ---- Writing ---------------------------------------------------------------------- */

char *inv_compatibility_input(const invar_bank *bank)
{
	const json_t *said = json_object_get(bank->json, "preprocess");
	json_t *space = json_object_get(bank->json, "augment_space");
	json_t *input = json_is_object(said) ? json_copy((json_t *)(uintptr_t)said) : NULL;
	char *text = NULL;

	if (!json_is_object(said))
		return inv_strdup("");
	if (input &&
	    (!json_is_string(space) || json_object_set(input, "augment_space", space) == 0))
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

/* Equal weights are the same encoder, whatever it is called. */
static void compare_encoders(const invar_adapter *e, const json_t *bank, const char *where)
{
	const char *name = metadata(e, "invar.encoder");
	const char *hash = metadata(e, "invar.encoder_sha256");
	const char *their_name = json_string_value(json_object_get(bank, "encoder"));
	const char *their_hash = json_string_value(json_object_get(bank, "weights_sha256"));

	if (!name || !their_name)
		return;
	if (hash && their_hash && strcmp(hash, their_hash) != 0)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on features of %.60s with weights %.12s… but %s has "
		        "features of %.60s with weights %.12s…",
		        e->path, name, hash, where, their_name, their_hash);
	else if ((!hash || !their_hash) && strcmp(name, their_name) != 0)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on features of %.60s but %s has features of %.60s",
		        e->path, name, where, their_name);
}

static void append(char list[LISTED], const char *key, const json_t *value)
{
	size_t used = strlen(list);
	char text[INV_SPELLED];

	snprintf(list + used, LISTED - used, "%s%s %s", used ? ", " : "", key,
	         inv_json_spell(value, text));
}

/* What copies were made in does not matter here: E sees features of any image. */
static void compare_images(const invar_adapter *e, const json_t *bank, const char *where)
{
	static const char *const keys[] = {"channels", "size", "resize", "mean", "std"};
	const json_t *theirs = json_object_get(bank, "preprocess");
	const char *text = metadata(e, "invar.input");
	json_t *mine = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	char was[LISTED] = "", is[LISTED] = "";

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *a = json_object_get(mine, keys[i]);
		const json_t *b = json_object_get(theirs, keys[i]);

		if (a && b && !json_equal(a, b)) {
			append(was, keys[i], a);
			append(is, keys[i], b);
		}
	}
	if (*was)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on images with %s but %s was made from images with %s",
		        e->path, was, where, is);
	json_decref(mine);
}

void inv_compatibility_warn(const invar_adapter *e, const invar_bank *bank)
{
	compare_encoders(e, bank->json, bank->path);
	compare_images(e, bank->json, bank->path);
}

/* ---- Arrays of a bank ------------------------------------------------------------- */

/* Where bank.json would be seen from the folder of such an array; NULL: it is none. */
static const char *way_up(const char *path, const char *slash)
{
	const char *name = slash ? slash + 1 : path;
	const char *folder = slash;

	if (strcmp(name, "clean.npy") == 0 || strcmp(name, "aug.npy") == 0)
		return "..";
	while (folder && folder > path && folder[-1] != '/')
		folder--;
	return folder && slash - folder == 3 && strncmp(folder, "aug", 3) == 0 ? "../.." : NULL;
}

/* The folder of the bank that an array belongs to, by its place alone; gives, or NULL. */
static char *find_bank(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *up = way_up(path, slash);
	size_t room = strlen(path) + sizeof "./../..";
	char *folder = up ? inv_alloc(room) : NULL;

	if (folder)
		snprintf(folder, room, "%.*s/%s", slash ? (int)(slash - path) : 1,
		         slash ? path : ".", up);
	return folder;
}

void inv_compatibility_warn_file(const invar_adapter *e, const char *path)
{
	char *folder = find_bank(path), *said = folder ? inv_join(folder, "bank.json") : NULL;
	json_t *bank = NULL;

	/* Not being able to tell is no fault of the features. */
	if (said && inv_exists(said) && inv_json_load(said, &bank) == INVAR_OK) {
		compare_encoders(e, bank, path);
		compare_images(e, bank, path);
	}
	json_decref(bank);
	inv_free(said);
	inv_free(folder);
}
