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

/* What a split of clean rows consists of; each has its part file while it is written. */
static const char *const of_split[] = {"clean.npy", "labels.npy", "names.txt",
                                       "fingerprints.npy"};

/* Arrays are filled in part files that a later program takes up, see base/file.h. */
static bool is_part_of_array(const char *name, const char *array)
{
	size_t length = strlen(array);

	return strncmp(name, array, length) == 0 && strcmp(name + length, INV_BANK_PART) == 0;
}

static inv_ownership claim_in_split(const char *name)
{
	if (strcmp(name, "done.part") == 0)
		return INV_OWN_FILE;
	for (size_t i = 0; i < sizeof of_split / sizeof *of_split; i++)
		if (inv_is_own_name(name, of_split[i]) || is_part_of_array(name, of_split[i]))
			return INV_OWN_FILE;
	return INV_FOREIGN;
}

inv_ownership inv_bank_claim(const json_t *bank_json, const char *entry)
{
	const json_t *splits = json_object_get(bank_json, "splits");
	size_t length = strcspn(entry, "/");
	const char *split;
	json_t *value;

	if (strcmp(entry, "bank.json") == 0)
		return bank_json ? INV_OWN_FILE : INV_FOREIGN;
	if (strcmp(entry, "bank.json" INV_PART) == 0)
		return INV_OWN_FILE;
	json_object_foreach ((json_t *)(uintptr_t)splits, split, value)
		if (strlen(split) == length && strncmp(split, entry, length) == 0)
			return entry[length] ? claim_in_split(entry + length + 1) : INV_OWN_FOLDER;
	return INV_FOREIGN;
}

/* ---- The whole of a bank ------------------------------------------------------------ */

static bool is_array(const char *name, const char *array)
{
	return inv_is_own_name(name, array) || is_part_of_array(name, array);
}

/* "003.npy", "003.params.npy", "003.views.npy" and their part files. */
static bool is_copy(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	const char *end = name + digits;

	return digits >= 3 && (is_array(end, ".npy") || is_array(end, ".params.npy") ||
	                       is_array(end, ".views.npy"));
}

static bool is_cached(const char *name)
{
	const char *end = strrchr(name, '.');

	return !strchr(name, '/') && end && strcmp(end, ".safetensors") == 0;
}

static inv_ownership claim_whole(const void *bank_json, const char *entry)
{
	const char *below = strchr(entry, '/');

	if (strcmp(entry, "cache") == 0)
		return INV_OWN_FOLDER;
	if (strncmp(entry, "cache/", 6) == 0)
		return is_cached(entry + 6) ? INV_OWN_FILE : INV_FOREIGN;
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
	char *file = inv_join(path, "bank.json");
	invar_status st = file ? INVAR_OK : inv_bank_no_memory(path);

	*json = NULL;
	if (st == INVAR_OK && inv_exists(file))
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
	st = own_whole(path, &json, &owner);
	if (st == INVAR_OK)
		st = inv_folder_find_foreign(path, owner, &foreign);
	if (st == INVAR_OK && foreign)
		st = inv_fail(INVAR_E_IO,
		              "%s: must be made again but contains %s, which is not part of a "
		              "bank; move it away",
		              path, foreign);
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
	st = own_whole(path, &json, &owner);
	if (st == INVAR_OK && to)
		st = inv_folder_move_foreign(path, to, owner);
	if (st == INVAR_OK)
		st = inv_folder_remove_own(path, owner, "bank.json");
	if (st == INVAR_OK && rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY &&
	    errno != EEXIST)
		st = inv_fail_errno(path, "cannot remove");
	json_decref(json);
	return st;
}

static bool is_null(const json_t *value)
{
	return !value || json_is_null(value);
}

/* Both name the encoder; what else one of them does not say is no contradiction. */
static bool agrees(const json_t *bank_json, const json_t *about)
{
	const char *key;
	json_t *value;

	if (is_null(json_object_get(about, "encoder")) ||
	    is_null(json_object_get(bank_json, "encoder")))
		return false;
	json_object_foreach ((json_t *)(uintptr_t)about, key, value) {
		const json_t *other = json_object_get(bank_json, key);

		if (!is_null(value) && !is_null(other) && !inv_json_same(value, other))
			return false;
	}
	return true;
}

invar_status inv_bank_find_json(const char *path, const json_t *about, json_t **out,
                                bool *begun)
{
	char *file = inv_join(path, "bank.json"), *part = inv_join(path, "bank.json" INV_PART);
	invar_status st = file && part ? INVAR_OK : inv_bank_no_memory(path);

	*out = NULL;
	*begun = st == INVAR_OK && !inv_exists(file) &&
	         (!inv_exists(part) || inv_file_begins(part, MARK));
	if (st == INVAR_OK && inv_exists(file)) {
		st = inv_bank_load_json(file, out);
		if (st != INVAR_OK || !agrees(*out, about)) {
			json_decref(*out);
			*out = NULL;
		}
	}
	inv_free(file);
	inv_free(part);
	return st == INVAR_E_NOMEM ? st : INVAR_OK;
}
