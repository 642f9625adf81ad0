/* SPDX-License-Identifier: Apache-2.0 */
/* bank_contents.c - see bank_contents.h. */
#include "bank/bank_contents.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bank/bank.h"
#include "base/memory.h"

#define MARK "{\n \"format\": \"invar-bank\""

/* The files of a split of clean rows; each has a part file while it is written. */
static const char *const of_split[] = {"clean.npy", "labels.npy", "names.txt",
                                       "fingerprints.npy"};

/* An array, or the part file from which a later program resumes it (base/file.h). */
static bool is_array(const char *name, const char *array)
{
	size_t length = strlen(array);

	return inv_is_own_name(name, array) ||
	       (strncmp(name, array, length) == 0 && strcmp(name + length, INV_BANK_PART) == 0);
}

inv_ownership inv_bank_claim(const json_t *bank_json, const char *entry)
{
	const json_t *splits = json_object_get(bank_json, "splits");
	size_t length = strcspn(entry, "/");
	const char *split, *name = entry + length + 1;
	json_t *value;

	if (strcmp(entry, "bank.json") == 0)
		return bank_json ? INV_OWN_FILE : INV_FOREIGN;
	if (strcmp(entry, "bank.json" INV_PART) == 0)
		return INV_OWN_FILE;
	json_object_foreach ((json_t *)(uintptr_t)splits, split, value) {
		if (strlen(split) != length || strncmp(split, entry, length) != 0)
			continue;
		if (!entry[length])
			return INV_OWN_FOLDER;
		if (strcmp(name, "done.part") == 0)
			return INV_OWN_FILE;
		for (size_t i = 0; i < sizeof of_split / sizeof *of_split; i++)
			if (is_array(name, of_split[i]))
				return INV_OWN_FILE;
	}
	return INV_FOREIGN;
}

/* ---- A whole bank ----------------------------------------------------------------- */

/* "003.npy", "003.params.npy", "003.views.npy" and their part files. */
static bool is_copy(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	const char *end = name + digits;

	return digits >= 3 && (is_array(end, ".npy") || is_array(end, ".params.npy") ||
	                       is_array(end, ".views.npy"));
}

static inv_ownership claim_whole(const void *bank_json, const char *entry)
{
	const char *below = strchr(entry, '/'), *end = strrchr(entry, '.');

	if (strcmp(entry, "cache") == 0)
		return INV_OWN_FOLDER;
	if (strncmp(entry, "cache/", 6) == 0)
		return !strchr(entry + 6, '/') && end && strcmp(end, ".safetensors") == 0
		           ? INV_OWN_FILE
		           : INV_FOREIGN;
	if (below && strcmp(below, "/aug") == 0)
		return INV_OWN_FOLDER;
	if (below && strncmp(below, "/aug/", 5) == 0)
		return is_copy(below + 5) ? INV_OWN_FILE : INV_FOREIGN;
	if (below && is_array(below + 1, "clean.views.npy"))
		return INV_OWN_FILE;
	return inv_bank_claim(bank_json, entry);
}

/* The owner of a whole bank; gives *json, which it views. */
static invar_status own_whole(const char *path, json_t **json, inv_owner *out)
{
	char *file;
	invar_status st = INVAR_OK;

	*json = NULL;
	INV_TRY(inv_new_path(&file, path, "bank.json"));
	if (inv_exists(file))
		st = inv_bank_load_json(file, json);
	inv_free(file);
	*out = (inv_owner){claim_whole, *json};
	return st;
}

invar_status inv_bank_refuse_foreign(const char *path)
{
	char *foreign = NULL;
	inv_owner owner;
	json_t *json;
	invar_status st;

	if (!inv_exists(path))
		return INVAR_OK;
	INV_TRY_OR(done, own_whole(path, &json, &owner));
	INV_TRY_OR(done, inv_folder_find_foreign(path, owner, &foreign));
	if (foreign)
		st = inv_fail(INVAR_E_IO,
		              "%s: must be made again but contains %s, which is not part of a "
		              "bank; move it away",
		              path, foreign);
done:
	inv_free(foreign);
	json_decref(json);
	return st;
}

invar_status inv_bank_remove(const char *path, const char *to)
{
	inv_owner owner;
	json_t *json;
	invar_status st;

	if (!inv_exists(path))
		return INVAR_OK;
	INV_TRY_OR(done, own_whole(path, &json, &owner));
	if (to)
		INV_TRY_OR(done, inv_folder_move_foreign(path, to, owner));
	INV_TRY_OR(done, inv_folder_remove_own(path, owner, "bank.json"));
	if (rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
		st = inv_fail_errno(path, "cannot remove");
done:
	json_decref(json);
	return st;
}

/* Both name the encoder, and no value that both have differs. */
static bool describes_same_rows(const json_t *bank_json, const json_t *about)
{
	const char *key;
	json_t *value;

	if (inv_json_is_unknown(json_object_get(about, "encoder")) ||
	    inv_json_is_unknown(json_object_get(bank_json, "encoder")))
		return false;
	json_object_foreach ((json_t *)(uintptr_t)about, key, value) {
		const json_t *other = json_object_get(bank_json, key);

		if (!inv_json_is_unknown(value) && !inv_json_is_unknown(other) &&
		    !inv_json_same(value, other))
			return false;
	}
	return true;
}

invar_status inv_bank_find_json(const char *path, const json_t *about, json_t **out,
                                bool *begun)
{
	char *file = NULL, *part = NULL;
	invar_status st;

	*out = NULL;
	*begun = false;
	INV_TRY_OR(done, inv_new_path(&file, path, "bank.json"));
	INV_TRY_OR(done, inv_new_path(&part, path, "bank.json" INV_PART));
	*begun = !inv_exists(file) && (!inv_exists(part) || inv_file_begins(part, MARK));
	if (inv_exists(file)) {
		st = inv_bank_load_json(file, out);
		if (st != INVAR_OK || !describes_same_rows(*out, about)) {
			json_decref(*out);
			*out = NULL;
		}
	}
done:
	inv_free(file);
	inv_free(part);
	return st == INVAR_E_NOMEM ? st : INVAR_OK;
}
