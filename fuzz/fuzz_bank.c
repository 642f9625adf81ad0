/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_bank.c - any bytes as the bank.json of a bank with one split of three rows and,
 * behind a form feed, as a list of classes.
 *
 * If it opens, its fields can be read; if it can also be opened for writing, the bank.json
 * that is saved then opens too. The rows are the images minus those that it lists as left
 * out. A view by the list has no more rows than the bank, and numbers for labels.
 */
#include "bank/bank.h"
#include "bank/write.h"
#include "base/memory.h"
#include "encode/encoding.h"
#include "fuzz_file.h"

enum { ROWS = 3, WIDTH = 2, IMAGES = 5 };

static void make_split(const char *folder)
{
	static const float zeros[ROWS * WIDTH];
	static const int64_t labels[ROWS] = {0, 1, 1};
	const uint64_t shape[2] = {ROWS, WIDTH};
	char path[2 * FUZZ_PATH];
	inv_npy_writer *w;

	snprintf(path, sizeof path, "%s/train", folder);
	require(mkdir(path, 0700) == 0);
	snprintf(path, sizeof path, "%s/train/clean.npy", folder);
	require(inv_npy_create(path, INV_F32, 2, shape, &w) == INVAR_OK);
	require(inv_npy_put(w, zeros, ROWS * WIDTH) == INVAR_OK);
	require(inv_npy_commit(w) == INVAR_OK);
	snprintf(path, sizeof path, "%s/train/labels.npy", folder);
	require(inv_npy_create(path, INV_I64, 1, shape, &w) == INVAR_OK);
	require(inv_npy_put_int(w, labels, ROWS) == INVAR_OK);
	require(inv_npy_commit(w) == INVAR_OK);
}

static void view_classes(invar_context *ctx, const char *folder)
{
	char list[2 * FUZZ_PATH];
	int64_t label[ROWS];
	invar_options *o;
	invar_bank *b;

	snprintf(list, sizeof list, "%s/list", folder);
	require(invar_options_new("bank", &o) == INVAR_OK);
	require(invar_options_set(o, "classes", list) == INVAR_OK);
	if (invar_bank_open(ctx, folder, o, &b) == INVAR_OK) {
		uint64_t rows = invar_bank_rows(b, "train");

		require(rows && rows <= ROWS);
		require(invar_bank_labels(b, "train", label) == INVAR_OK);
		for (uint64_t i = 0; i < rows; i++)
			require(label[i] >= 0 && inv_bank_class(b, label[i]));
	}
	invar_bank_close(b);
	invar_options_free(o);
}

static bool open_bank(invar_context *ctx, const char *folder)
{
	static const char *const fields[] = {"encoder", "augment", "dataset", "format"};
	invar_bank *b;
	bool fine = inv_bank_open(ctx, folder, &b) == INVAR_OK;

	require(fine == (b != NULL));
	for (size_t i = 0; fine && i < sizeof fields / sizeof *fields; i++) {
		const char *text = invar_bank_field(b, fields[i]);

		require(!text || strlen(text) < SIZE_MAX);
	}
	require(!fine || invar_bank_rows(b, "train") == ROWS);
	invar_bank_close(b);
	return fine;
}

static void leave_out(const json_t *entry)
{
	const inv_images s = {.total = IMAGES, .count = IMAGES};
	uint32_t *index;
	uint64_t kept;

	if (inv_images_without(&s, json_object_get(entry, "left_out"), &index, &kept) ==
	    INVAR_OK) {
		require(kept <= IMAGES);
		for (uint64_t i = 0; i < kept; i++)
			require(index[i] < IMAGES && (i == 0 || index[i - 1] < index[i]));
		inv_free(index);
	}
}

static bool write_on(const char *folder)
{
	json_t *about = json_pack("{s:s, s:s, s:n, s:{s:i}}", "encoder", "pixels", "augment",
	                          "rotation", "seed", "preprocess", "channels", 3);
	json_t *entry =
		json_pack("{s:i, s:i, s:[]}", "images", IMAGES, "rows", ROWS, "left_out");
	inv_bank_writer *w;
	inv_finished found;
	bool fine = inv_bank_writer_open(folder, about, &w) == INVAR_OK;

	if (fine) {
		leave_out(inv_bank_writer_entry(w, "train"));
		require(inv_bank_writer_find(w, "train", &found) == INVAR_OK);
		require(found.clean && found.rows == ROWS && found.copies == 0);
		require(inv_bank_writer_begin(w, "train", entry, false) == INVAR_OK);
	}
	inv_bank_writer_close(w);
	json_decref(about);
	json_decref(entry);
	return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	const char *folder = memory_folder();
	invar_context *ctx;
	const uint8_t *cut = memchr(data, '\f', size);
	size_t json = cut ? (size_t)(cut - data) : size;
	bool opened;

	if (!made)
		make_split(folder);
	made = true;
	put_file("bank.json", data, json);
	put_file("list", cut ? cut + 1 : data, cut ? size - json - 1 : 0);
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	opened = open_bank(ctx, folder);
	view_classes(ctx, folder);
	if (write_on(folder))
		require(opened && open_bank(ctx, folder));
	invar_context_free(ctx);
	return 0;
}
