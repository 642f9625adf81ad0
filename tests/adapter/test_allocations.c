/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_allocations.c - after the first step, a training step allocates nothing.
 *
 * The linker replaces inv_alloc, inv_calloc and inv_strdup, through which all our
 * memory is allocated, by counting functions.
 */
#include "bank/bank.h"
#include "support.h"

#include <string.h>

#include "adapter/losses/loss.h"
#include "base/memory.h"

enum { STEPS = 8 };

void *__real_inv_alloc(size_t bytes);
void *__real_inv_calloc(size_t count, size_t bytes);
char *__real_inv_strdup(const char *text);
void *__wrap_inv_alloc(size_t bytes);
void *__wrap_inv_calloc(size_t count, size_t bytes);
char *__wrap_inv_strdup(const char *text);

static unsigned long allocations; /* also by the thread that reads ahead */

void *__wrap_inv_alloc(size_t bytes)
{
	__atomic_fetch_add(&allocations, 1, __ATOMIC_SEQ_CST);
	return __real_inv_alloc(bytes);
}

void *__wrap_inv_calloc(size_t count, size_t bytes)
{
	__atomic_fetch_add(&allocations, 1, __ATOMIC_SEQ_CST);
	return __real_inv_calloc(count, bytes);
}

char *__wrap_inv_strdup(const char *text)
{
	__atomic_fetch_add(&allocations, 1, __ATOMIC_SEQ_CST);
	return __real_inv_strdup(text);
}

typedef struct watch {
	unsigned long before;
	uint64_t done;
	unsigned steps;
} watch;

/* Called within a step and after it; epochs have STEPS steps and write a line of log at
 * their end. */
static int look(void *user, const char *stage, uint64_t done, uint64_t total)
{
	watch *w = user;

	(void)total;
	if (strcmp(stage, "train") != 0)
		return 0;
	if (done % STEPS > 1) {
		assert_int_equal(allocations, w->before);
		w->steps += done != w->done;
	}
	w->done = done;
	w->before = allocations;
	return 0;
}

/* With a decoder and on two banks, if the loss supports that. */
static void train(invar_bank *bank, const inv_loss *loss, bool more, watch *w)
{
	invar_bank *const banks[] = {bank, bank};
	invar_options *o = test_options(
		"train", "loss", loss->name, "decoder", more && !loss->no_decoder ? "1" : "0",
		"batch-size", "16", "samples", "2", "hidden", "64", "epochs", "3", NULL);

	*w = (watch){0};
	assert_int_equal(invar_train(banks, more && loss->several ? 2 : 1, o,
	                             test_path("%s%d", loss->name, more)),
	                 INVAR_OK);
	assert_int_equal(w->steps, 3 * (STEPS - 2));
	invar_options_free(o);
}

static void steps_allocate_nothing(void **state)
{
	watch w = {0};
	invar_hooks hooks = {.size = sizeof hooks, .user = &w, .progress = look};
	const invar_options *bank_opts;
	invar_context *ctx;
	invar_bank *bank;

	(void)state;
	assert_int_equal(invar_context_new(2, &hooks, &ctx), INVAR_OK);
	bank_opts = test_kept("synthetic", "rows", test_text("%.15g", (double)(16 * STEPS + 5)),
	                      "test-rows", "0", NULL);
	assert_int_equal(invar_bank_synthesize(ctx, bank_opts, test_path("bank")), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("bank"), &bank), INVAR_OK);
	for (size_t i = 0; inv_loss_at(i); i++) {
		train(bank, inv_loss_at(i), false, &w);
		train(bank, inv_loss_at(i), true, &w);
	}
	assert_true(allocations > 10); /* the counting works */
	invar_bank_close(bank);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(steps_allocate_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
