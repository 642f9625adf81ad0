/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_run_folder.c - any files under any names as the folder of a run, opened in every
 * mode: whatever happens, files that are not part of a run keep their bytes.
 *
 * The input: a byte for the mode; then for each file a byte for its name, two for its
 * size (little-endian) and its bytes, as far as they go.
 */
#include "adapter/checkpoint.h"
#include "base/memory.h"
#include "fuzz_file.h"
#include "run/run.h"
#include "run/run_contents.h"

#include <sys/stat.h>

enum { MAX_FILES = 12, OWN = 18 };

/* Those before OWN may be files of a run, those from there on never are. */
static const char *const names[] = {
	"run/run.json",
	"run/run.json.part",
	"run/log.jsonl",
	"run/checkpoint.safetensors",
	"run/adapter.safetensors",
	"run/decoder.safetensors",
	"run/metrics.json",
	"run/metrics.json.part",
	"run/clean/bank.json",
	"run/clean/bank.json.part",
	"run/clean/train/clean.npy",
	"run/clean/train/done.part",
	"run.part/run.json",
	"run.part/checkpoint.safetensors",
	"run.part/clean/bank.json",
	"run.part/clean/train/labels.npy",
	"run.old.part/run.json",
	"run.old.part/log.jsonl",
	/* foreign */
	"run/notes.txt",
	"run/movie.mkv.part",
	"run/report.html",
	"run/clean/thesis.txt",
	"run/clean/train/thesis.txt",
	"run/clean/other/clean.npy",
	"run.part/notes.txt",
	"run.part/clean/thesis.txt",
	"run.old.part/notes.txt",
	"notes.txt",
};
enum { NAMES = sizeof names / sizeof *names };

typedef struct planted {
	unsigned name;
	const uint8_t *data;
	size_t size;
} planted;

static void spell(const char *name, char path[2 * FUZZ_PATH])
{
	snprintf(path, 2 * FUZZ_PATH, "%s/%s", memory_folder(), name);
}

static void make_folders(const char *name)
{
	char path[2 * FUZZ_PATH];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		spell(name, path);
		path[strlen(path) - strlen(slash)] = '\0';
		mkdir(path, 0777);
	}
}

static size_t plant(const uint8_t *data, size_t size, planted files[MAX_FILES])
{
	size_t count = 0;

	while (size >= 3 && count < MAX_FILES) {
		unsigned name = data[0] % NAMES;
		size_t bytes = data[1] | (size_t)data[2] << 8;

		data += 3, size -= 3;
		bytes = bytes < size ? bytes : size;
		make_folders(names[name]);
		put_file(names[name], data, bytes);
		for (size_t i = 0; i < count; i++)
			if (files[i].name == name)
				files[i].name = 0; /* overwritten: no longer expected */
		files[count++] = (planted){name, data, bytes};
		data += bytes, size -= bytes;
	}
	return count;
}

static bool is_there(const char *name, const planted *f)
{
	char path[2 * FUZZ_PATH], *text = NULL;
	size_t bytes = 0;
	bool same;

	spell(name, path);
	if (!inv_exists(path) || inv_file_load(path, 1 << 20, &text, &bytes) != INVAR_OK)
		return false;
	same = bytes == f->size && memcmp(text, f->data, bytes) == 0;
	inv_free(text);
	return same;
}

/* At its path, or where its folder went: moved back, or moved into the run. */
static bool survives(const planted *f)
{
	static const char *const folders[] = {"run.old.part", "run.part", "run"};
	const char *name = names[f->name], *rest = strchr(name, '/');
	char moved[FUZZ_PATH];

	if (is_there(name, f))
		return true;
	for (size_t i = 0; rest && i < 3; i++) {
		snprintf(moved, sizeof moved, "%s%s", folders[i], rest);
		if (is_there(moved, f))
			return true;
	}
	return false;
}

static void compare_checkpoint(const inv_run *r)
{
	static const char *const made[] = {"{\"options\": {\"epochs\": 3}}", "{}"};

	for (int i = 0; i < 2; i++) {
		json_t *now = json_loads(made[i], 0, NULL);
		invar_status st = inv_checkpoint_check(r->checkpoint_path, now, "run.json");

		require(st == INVAR_OK || st == INVAR_E_MISMATCH || st == INVAR_E_FORMAT);
		json_decref(now);
	}
}

static void use_run(inv_run *r, inv_run_mode mode)
{
	if (mode == INV_RUN_RESUME)
		compare_checkpoint(r);
	if (inv_run_clear(r, NULL) != INVAR_OK)
		return;
	json_object_set_new(r->json, "state", json_string("finished"));
	if (inv_run_save(r) == INVAR_OK)
		(void)inv_run_publish(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const inv_run_mode modes[] = {INV_RUN_FRESH, INV_RUN_RESUME, INV_RUN_REPLACE};
	planted files[MAX_FILES];
	char run[2 * FUZZ_PATH];
	inv_run_mode mode;
	size_t count;
	inv_run *r;

	if (!size)
		return 0;
	mode = modes[*data % 3];
	count = plant(data + 1, size - 1, files);
	spell("run", run);
	if (inv_run_open(run, mode, &r) == INVAR_OK) {
		use_run(r, mode);
		inv_run_close(r);
	}
	for (size_t i = 0; i < count; i++)
		require(files[i].name < OWN || survives(&files[i]));
	remove_memory_folder();
	*memory_folder_path = '\0';
	return 0;
}
