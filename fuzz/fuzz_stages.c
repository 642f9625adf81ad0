/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_stages.c - any bytes as the stages.json of a job.
 *
 * Two stages run in a folder with this record, the second on the output of the first.
 * Whatever it says, what ran has its output afterwards, a second run does nothing more, and
 * a file that neither of them wrote stays, as does what the record says of other stages.
 */
#include "base/file.h"
#include "base/json.h"
#include "fuzz_file.h"
#include "study/stage.h"

enum { STAGES = 2 };

static const char *const outputs[STAGES] = {"made", "made-of-it"};

typedef struct writer {
	const char *name;
	unsigned runs;
} writer;

static invar_status write_output(void *user)
{
	writer *w = user;

	w->runs++;
	put_file(w->name, w->name, strlen(w->name));
	return INVAR_OK;
}

static void spell(const char *name, char path[2 * FUZZ_PATH])
{
	snprintf(path, 2 * FUZZ_PATH, "%s/%s", memory_folder(), name);
}

static void add_stages(inv_stages *s, writer writers[STAGES])
{
	char path[STAGES][2 * FUZZ_PATH];

	for (int i = 0; i < STAGES; i++) {
		const char *const inputs[] = {i ? path[0] : NULL, NULL};
		const inv_own_stage stage = {.name = i ? "second" : "first",
		                             .inputs = inputs,
		                             .output = path[i],
		                             .run = write_output,
		                             .user = &writers[i]};

		spell(outputs[i], path[i]);
		writers[i] = (writer){.name = outputs[i]};
		require(inv_stages_add_own(s, &stage) == INVAR_OK);
	}
}

/* The stages that ran, one bit each; -1 if the record was refused. */
static int run_job(invar_context *ctx)
{
	writer writers[STAGES];
	inv_stages *s;
	int ran = 0;

	if (inv_stages_open(ctx, memory_folder(), &s) != INVAR_OK) {
		require(!s);
		return -1;
	}
	add_stages(s, writers);
	require(inv_stages_run(s) == INVAR_OK);
	for (int i = 0; i < STAGES; i++) {
		require(writers[i].runs == (unsigned)inv_stages_ran(s, i ? "second" : "first"));
		ran |= (int)writers[i].runs << i;
	}
	inv_stages_close(s);
	return ran;
}

/* Of the stages that are not ours; gives, NULL if there is no record. */
static json_t *other_entries(void)
{
	char path[2 * FUZZ_PATH];
	json_t *record = NULL, *entries;

	spell(INV_STAGES_JSON, path);
	if (inv_json_load(path, &record) != INVAR_OK)
		return NULL;
	entries = json_deep_copy(json_object_get(record, "stages"));
	json_object_del(entries, "first");
	json_object_del(entries, "second");
	json_decref(record);
	return entries;
}

static void check_files(int ran)
{
	char path[2 * FUZZ_PATH];

	for (int i = 0; i < STAGES; i++) {
		spell(outputs[i], path);
		require(unlink(path) == 0 || !(ran & 1 << i));
	}
	spell("notes.txt", path);
	require(inv_exists(path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *before, *after;
	invar_context *ctx;
	int ran;

	put_file(INV_STAGES_JSON, data, size);
	put_file("notes.txt", "n", 1);
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	before = other_entries();
	if ((ran = run_job(ctx)) >= 0) {
		require(run_job(ctx) == 0);
		after = other_entries();
		require(json_equal(before, after));
		json_decref(after);
		check_files(ran);
	}
	json_decref(before);
	invar_context_free(ctx);
	return 0;
}
