/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_loss.c - invar loss: value and gradients on given arrays.
 *
 * For comparison with other implementations on the same arrays. KIND sw is the sliced
 * Wasserstein distance of two sets of rows; it is not a loss of an adapter and takes its
 * own arrays.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/losses/loss.h"
#include "base/options.h"
#include "cli/command_options.h"
#include "cli/loss_arrays.h"
#include "cli/loss_output.h"
#include "cli/loss_sw.h"
#include "cli/outputs.h"
#include "cli/term.h"

typedef struct loss_values {
	const char *adapter, *clean, *views, *decoder, *vicinal, *origin;
	inv_grad_folder grad;
	const char *const *aug;
	inv_draw_files draws;
	inv_sw_files sw;
} loss_values;

static const inv_example examples[] = {
	{"invar loss mawa --adapter run --clean clean.npy --aug aug.npy",
     "the loss and its terms on these rows"},
	{"invar loss mawa --adapter run --clean x.npy --aug a.npy --json --grad g",
     "as JSON, with gradients in g/0_weight.npy, g/codes.npy …"},
	{"invar loss waco --adapter run --clean x.npy --aug a.npy --aug b.npy --seed 3",
     "two augmentations, with directions and permutations drawn from this seed"},
	{"invar loss keep --adapter run --clean u.npy --aug a.npy --origin m.npy",
     "KEEP; rows, adapter and origin are in units of the spread of the features"},
	{"invar loss sw --a a.npy --b b.npy --p 1",
     "the sliced Wasserstein distance of two sets of rows"},
	{0},
};

static const inv_argument arguments[] = {
	{.name = "KIND",
     .help =
         "the loss, as in `invar train --loss`, or sw for the sliced Wasserstein distance",
     .min = 1,
     .max = 1},
	{0},
};

enum { KINDS = 256 }; /* bytes of a list of all of them */

static const invar_option own[] = {
	{.name = "adapter",
     .type = INVAR_OPTION_TEXT,
     .meta = "FILE",
     .group = "Arrays",
     .help = "the adapter E: a safetensors file or a run folder"},
	{.name = "clean",
     .type = INVAR_OPTION_TEXT,
     .meta = "X.npy",
     .group = "Arrays",
     .help = "clean features [N, d]"},
	{.name = "aug",
     .type = INVAR_OPTION_LIST,
     .meta = "A.npy",
     .group = "Arrays",
     .help = "augmented features [N, s, d]; default: none, s = 0; several only with waco"},
	{.name = "views",
     .type = INVAR_OPTION_TEXT,
     .meta = "V.npy",
     .group = "Arrays",
     .help =
         "simclr: use instead of --clean and --aug; [2 N, d], rows i and i + N are a pair"},
	{.name = "decoder",
     .type = INVAR_OPTION_TEXT,
     .meta = "FILE",
     .group = "Arrays",
     .help =
         "a decoder; its reconstruction error is added, weighted by --alpha and --beta"},
	{.name = "vicinal",
     .type = INVAR_OPTION_TEXT,
     .meta = "V.npy",
     .group = "Arrays",
     .help = "keep: vicinal rows [N, d]; default: drawn from the clean rows"},
	{.name = "origin",
     .type = INVAR_OPTION_TEXT,
     .meta = "M.npy",
     .group = "Arrays",
     .help = "keep: mean of the features in units of their spread [d]; default: zeros"},
	{.name = "grad",
     .type = INVAR_OPTION_TEXT,
     .meta = "DIR",
     .group = "Arrays",
     .help = "write the gradient of every parameter to this folder as NAME.npy"},
	{.name = "force",
     .type = INVAR_OPTION_FLAG,
     .group = "Arrays",
     .help = "let gradients replace files that are not arrays; never an input file"},
	{.name = "directions-xz",
     .type = INVAR_OPTION_LIST,
     .meta = "D.npy",
     .group = "Draws of waco",
     .help = "directions [L, d + w], one array for each --aug"},
	{.name = "directions-xx",
     .type = INVAR_OPTION_LIST,
     .meta = "D.npy",
     .group = "Draws of waco",
     .help = "directions [L, 2 d]"},
	{.name = "directions-zz",
     .type = INVAR_OPTION_LIST,
     .meta = "D.npy",
     .group = "Draws of waco",
     .help = "directions [L, 2 w]"},
	{.name = "perm-xz",
     .type = INVAR_OPTION_LIST,
     .meta = "P1,P2",
     .group = "Draws of waco",
     .help = "two permutations of the rows as NumPy files, one pair for each --aug"},
	{.name = "perm-xx",
     .type = INVAR_OPTION_LIST,
     .meta = "P1,P2",
     .group = "Draws of waco",
     .help = "the same for XX"},
	{.name = "perm-zz",
     .type = INVAR_OPTION_LIST,
     .meta = "P1,P2",
     .group = "Draws of waco",
     .help = "the same for ZZ"},
	{.name = "a",
     .type = INVAR_OPTION_TEXT,
     .meta = "A.npy",
     .group = "Arrays of sw",
     .help = "first set [n, d]"},
	{.name = "b",
     .type = INVAR_OPTION_TEXT,
     .meta = "B.npy",
     .group = "Arrays of sw",
     .help = "second set [n, d]"},
	{.name = "directions",
     .type = INVAR_OPTION_TEXT,
     .meta = "D.npy",
     .group = "Arrays of sw",
     .help = "directions [L, d], used as given; default: --projections random ones"},
	{0},
};

/* ---- Values ---------------------------------------------------------------------- */

/* Terminated by NULL; gives, free() it. NULL if nothing was given. */
static invar_status take_list(inv_session *s, const char *name, const char *const **out)
{
	const char **list;
	size_t count = 0;

	*out = NULL;
	while (inv_options_text(s->options, name, count))
		count++;
	if (!count)
		return INVAR_OK;
	if (!(list = calloc(count + 1, sizeof *list)))
		return inv_no_memory();
	for (size_t i = 0; i < count; i++)
		list[i] = inv_options_text(s->options, name, i);
	*out = list;
	return INVAR_OK;
}

static invar_status take_values(inv_session *s, loss_values *v)
{
	static const char *const directions[] = {"directions-xz", "directions-xx",
	                                         "directions-zz"};
	static const char *const permutations[] = {"perm-xz", "perm-xx", "perm-zz"};
	invar_status st;

	*v = (loss_values){.adapter = inv_text(s, "adapter"),
	                   .clean = inv_text(s, "clean"),
	                   .views = inv_text(s, "views"),
	                   .decoder = inv_text(s, "decoder"),
	                   .vicinal = inv_text(s, "vicinal"),
	                   .origin = inv_text(s, "origin"),
	                   .grad = {.path = inv_text(s, "grad"), .force = inv_flag(s, "force")},
	                   .sw = {.a = inv_text(s, "a"),
	                          .b = inv_text(s, "b"),
	                          .directions = inv_text(s, "directions")}};
	st = take_list(s, "aug", &v->aug);
	for (size_t i = 0; i < 3 && st == INVAR_OK; i++)
		if ((st = take_list(s, directions[i], &v->draws.directions[i])) == INVAR_OK)
			st = take_list(s, permutations[i], &v->draws.permutations[i]);
	return st;
}

static void free_values(loss_values *v)
{
	free((void *)(uintptr_t)v->aug);
	for (size_t i = 0; i < 3; i++) {
		free((void *)(uintptr_t)v->draws.directions[i]);
		free((void *)(uintptr_t)v->draws.permutations[i]);
	}
}

/* ---- What belongs to which kind ------------------------------------------------ */

static const struct {
	const char *option, *kind; /* of that kind alone */
} only[] = {
	{"views", "simclr"},
	{"vicinal", "keep"},
	{"origin", "keep"},
	{"directions-xz", "waco"},
	{"directions-xx", "waco"},
	{"directions-zz", "waco"},
	{"perm-xz", "waco"},
	{"perm-xx", "waco"},
	{"perm-zz", "waco"},
	{"a", "sw"},
	{"b", "sw"},
	{"directions", "sw"},
};

/* Of sw; the common ones go with everything. */
static const char sw_options[] = "|a|b|directions|p|projections|slices|grad|force|"
								 "seed|threads|json|quiet|verbose|";

static bool is_of_sw(const char *option)
{
	char word[64];

	snprintf(word, sizeof word, "|%s|", option);
	return strstr(sw_options, word);
}

/* "mawa, waco and hsic", unless the option goes with every kind or with this one. */
static const char *other_kinds(const inv_session *s, const char *option, const char *kind,
                               char out[KINDS])
{
	const char *other, *next;
	size_t fill = 0;

	for (size_t i = 0; fill < KINDS; i++) {
		if (!(other = inv_options_part(s->options, option, i)))
			break;
		next = inv_options_part(s->options, option, i + 1);
		if (strcmp(other, kind) == 0)
			return NULL;
		fill += (size_t)snprintf(out + fill, KINDS - fill, "%s%s",
		                         !i     ? ""
		                         : next ? ", "
		                                : " and ",
		                         other);
	}
	return fill ? out : NULL;
}

static invar_status check_option(inv_session *s, const char *name, const char *kind)
{
	bool is_sw = strcmp(kind, "sw") == 0;
	char list[KINDS];

	for (size_t i = 0; i < sizeof only / sizeof *only; i++)
		if (strcmp(only[i].option, name) == 0 && strcmp(only[i].kind, kind) != 0)
			return inv_fail(INVAR_E_USE, "--%s is an option of %s, not of %s", name,
			                only[i].kind, kind);
	if (is_sw && !is_of_sw(name))
		return inv_fail(INVAR_E_USE, "--%s is not an option of sw", name);
	if (!is_sw && other_kinds(s, name, kind, list))
		return inv_fail(INVAR_E_USE, "--%s is an option of %s, not of %s", name, list,
		                kind);
	return INVAR_OK;
}

static invar_status check_given(inv_session *s, const char *kind)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < invar_options_count(s->options) && st == INVAR_OK; i++) {
		const char *name = invar_options_at(s->options, i)->name;

		if (inv_options_is_set(s->options, name))
			st = check_option(s, name, kind);
	}
	return st;
}

/* Weights beside a decoder. */
static invar_status check_weights(inv_session *s, const loss_values *v)
{
	const char *name = inv_options_is_set(s->options, "alpha")  ? "alpha"
	                   : inv_options_is_set(s->options, "beta") ? "beta"
	                                                            : NULL;

	if (!name || v->decoder)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "--%s needs --decoder", name);
}

/* ---- Losses ---------------------------------------------------------------- */

typedef struct loss_inputs {
	invar_adapter *adapter, *decoder;
	inv_given_array clean, views, vicinal, origin;
	inv_given_augs augs;
	inv_given_draws draws;
} loss_inputs;

static void close_inputs(loss_inputs *in)
{
	invar_adapter_close(in->adapter);
	invar_adapter_close(in->decoder);
	inv_array_drop(&in->clean);
	inv_array_drop(&in->views);
	inv_array_drop(&in->vicinal);
	inv_array_drop(&in->origin);
	inv_augs_free(&in->augs);
	inv_draws_free(&in->draws);
}

static invar_status check_clean(const loss_inputs *in)
{
	uint32_t d = invar_adapter_input(in->adapter);
	const inv_given_array *clean = &in->clean;

	if (!clean->array)
		return INVAR_OK;
	if (clean->array->h.rank != 2)
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [N, %u]",
		                clean->path, clean->shape, d);
	if (clean->array->h.shape[1] != d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but the adapter %s takes features of width %u",
		                clean->path, clean->shape, invar_adapter_path(in->adapter), d);
	return INVAR_OK;
}

static invar_status check_views(const loss_inputs *in)
{
	const uint64_t *shape, *clean;
	const inv_given_array *views = &in->views;

	if (!views->array)
		return INVAR_OK;
	shape = views->array->h.shape;
	if (views->array->h.rank != 2 || shape[0] % 2 ||
	    shape[1] != invar_adapter_input(in->adapter))
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but must be [2 N, %u]: rows i and i + N are a "
		                "pair",
		                views->path, views->shape, invar_adapter_input(in->adapter));
	clean = in->clean.array ? in->clean.array->h.shape : NULL;
	if (clean && 2 * clean[0] != shape[0])
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but with %s of shape %s it must have %llu rows",
		                views->path, views->shape, in->clean.path, in->clean.shape,
		                2 * (unsigned long long)clean[0]);
	return INVAR_OK;
}

/* Vicinal rows have the shape of the clean ones, the origin that of one row. */
static invar_status check_keep(const loss_inputs *in)
{
	const uint64_t *clean = in->clean.array->h.shape;
	const inv_given_array *v = &in->vicinal, *m = &in->origin;

	if (v->array &&
	    (v->array->h.rank != 2 || memcmp(v->array->h.shape, clean, 2 * sizeof *clean) != 0))
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must have that of %s, %s",
		                v->path, v->shape, in->clean.path, in->clean.shape);
	if (m->array && (m->array->h.rank != 1 || m->array->h.shape[0] != clean[1]))
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [%llu]", m->path,
		                m->shape, (unsigned long long)clean[1]);
	return INVAR_OK;
}

static invar_status load_keep(inv_session *s, const loss_values *v, loss_inputs *in)
{
	invar_status st = inv_array_look(s, v->vicinal, &in->vicinal);

	if (st == INVAR_OK)
		st = inv_array_look(s, v->origin, &in->origin);
	if (st == INVAR_OK && in->clean.array)
		st = check_keep(in);
	if (st == INVAR_OK)
		st = inv_array_take(&in->vicinal);
	return st == INVAR_OK ? inv_array_take(&in->origin) : st;
}

static invar_status load_arrays(inv_session *s, const loss_values *v, loss_inputs *in)
{
	invar_status st = inv_array_look(s, v->clean, &in->clean);

	if (st == INVAR_OK)
		st = inv_array_look(s, v->views, &in->views);
	if (st == INVAR_OK)
		st = check_clean(in);
	if (st == INVAR_OK)
		st = check_views(in);
	if (st == INVAR_OK && in->clean.array)
		st = inv_augs_load(s, v->aug, &in->clean, &in->augs);
	if (st == INVAR_OK)
		st = load_keep(s, v, in);
	if (st == INVAR_OK)
		st = inv_array_take(&in->clean);
	return st == INVAR_OK ? inv_array_take(&in->views) : st;
}

/* Given directions determine the number of projections. */
static invar_status load_draws(inv_session *s, const loss_values *v, loss_inputs *in)
{
	size_t groups = in->augs.groups ? in->augs.groups : 1;
	uint64_t rows = in->augs.samples + !inv_flag(s, "no-identity");
	invar_status st;

	if (!in->clean.array)
		return INVAR_OK;
	rows *= in->clean.array->h.shape[0];
	st = inv_draws_load(s, &v->draws, groups, rows, invar_adapter_input(in->adapter),
	                    invar_adapter_output(in->adapter), &in->draws);
	if (st == INVAR_OK && in->draws.projections)
		st = invar_options_set_number(s->options, "projections",
		                              (double)in->draws.projections);
	return st;
}

static invar_status compute(inv_session *s, const loss_values *v, const loss_inputs *given)
{
	const inv_loss_input in = {.adapter = given->adapter,
	                           .clean = given->clean.data,
	                           .aug = given->augs.data,
	                           .images = given->clean.array
	                                         ? given->clean.array->h.shape[0]
	                                         : given->views.array->h.shape[0] / 2,
	                           .dim = invar_adapter_input(given->adapter),
	                           .samples = (uint32_t)given->augs.samples,
	                           .groups = (uint32_t)given->augs.groups,
	                           .views = given->views.data,
	                           .decoder = given->decoder,
	                           .draws = given->draws.draws,
	                           .vicinal = given->vicinal.data,
	                           .origin = given->origin.data};
	inv_loss_result result = {0};
	invar_status st;

	INV_TRY_OR(end, inv_loss_evaluate(s->ctx, &in, s->options, &result));
	if (v->grad.path)
		INV_TRY_OR(end, inv_loss_write(s, &v->grad, &result));
	st = inv_loss_print(s, &result);
end:
	inv_loss_result_clear(&result);
	return st;
}

static invar_status check_needs(inv_session *s, const loss_values *v)
{
	invar_status st = inv_need(v->adapter, "the adapter is missing: --adapter FILE");

	if (st == INVAR_OK && v->views && v->aug)
		return inv_fail(INVAR_E_USE, "--views and --aug cannot be used together");
	if (st == INVAR_OK && !v->views)
		st = inv_need(v->clean, "the clean features are missing: --clean X.npy");
	if (st == INVAR_OK && v->views && v->decoder)
		st = inv_need(v->clean, "--decoder needs the clean features: --clean X.npy");
	return st == INVAR_OK ? check_weights(s, v) : st;
}

static invar_status compute_loss(inv_session *s, const loss_values *v)
{
	loss_inputs in = {0};
	invar_status st = check_needs(s, v);

	if (st == INVAR_OK)
		st = inv_session_start(s);
	if (st == INVAR_OK)
		st = invar_adapter_open(s->ctx, v->adapter, &in.adapter);
	if (st == INVAR_OK && v->decoder)
		st = invar_adapter_open(s->ctx, v->decoder, &in.decoder);
	if (st == INVAR_OK)
		st = load_arrays(s, v, &in);
	if (st == INVAR_OK)
		st = load_draws(s, v, &in);
	if (st == INVAR_OK)
		st = compute(s, v, &in);
	close_inputs(&in);
	return st;
}

/* ---- The command --------------------------------------------------------------------- */

/* The kinds of the library, and sw; which of them is a matter of the argument. */
static invar_status check_kind(const char *kind)
{
	char kinds[KINDS];
	size_t fill = 0;
	const char *name;

	for (size_t i = 0; (name = inv_loss_kind(i)) && fill < sizeof kinds; i++)
		fill += (size_t)snprintf(kinds + fill, sizeof kinds - fill, "%s|", name);
	snprintf(kinds + fill, sizeof kinds - fill, "sw");
	return inv_check_word("KIND", kinds, kind);
}

static void read_list(inv_session *s, const char *const *list)
{
	for (; list && *list; list++)
		inv_reads(s, *list, "an array");
}

/* "P1.npy,P2.npy" each. */
static void read_pairs(inv_session *s, const char *const *list)
{
	for (; list && *list; list++)
		inv_reads_list(s, *list, "an array");
}

static invar_status check_output(inv_session *s, const loss_values *v)
{
	const char *const single[] = {v->clean, v->views, v->vicinal,      v->origin,
	                              v->sw.a,  v->sw.b,  v->sw.directions};

	inv_reads(s, v->adapter, "the adapter");
	inv_reads(s, v->decoder, "the decoder");
	for (size_t i = 0; i < sizeof single / sizeof *single; i++)
		inv_reads(s, single[i], "an array");
	read_list(s, v->aug);
	for (size_t i = 0; i < 3; i++) {
		read_list(s, v->draws.directions[i]);
		read_pairs(s, v->draws.permutations[i]);
	}
	return inv_check_output_folder(s, "--grad", v->grad.path);
}

static invar_status compute_kind(inv_session *s, const loss_values *v, const char *kind)
{
	invar_status st = check_output(s, v);

	if (st != INVAR_OK)
		return st;
	if (strcmp(kind, "sw") == 0)
		return inv_loss_sw(s, &v->sw, &v->grad);
	st = invar_options_set(s->options, "kind", kind);
	return st == INVAR_OK ? compute_loss(s, v) : st;
}

static invar_status run_loss(inv_session *s)
{
	const char *kind = s->argument[0];
	loss_values v = {0};
	invar_status st;

	if ((st = check_kind(kind)) != INVAR_OK || (st = check_given(s, kind)) != INVAR_OK)
		return st;
	if ((st = take_values(s, &v)) == INVAR_OK)
		st = compute_kind(s, &v, kind);
	free_values(&v);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

/* Those of the library, then our own. */
static const char *kind_name(size_t i, char out[INV_ITEM])
{
	const char *kind = inv_loss_kind(i);
	bool is_last = !kind && (i == 0 || inv_loss_kind(i - 1));

	snprintf(out, INV_ITEM, "%s", kind ? kind : is_last ? "sw" : "");
	return *out ? out : NULL;
}

const inv_command inv_cmd_loss = {
	.name = "loss",
	.purpose = "computes a loss and its gradients on given arrays",
	.usage = "KIND --adapter FILE --clean X.npy [--aug A.npy] [options]",
	.about =
		"Use it to compare with other implementations. With --json it prints {\"value\": "
		"…, \"terms\": {…}}. --grad writes the gradients of the adapter's parameters "
		"(0_weight, 0_bias, 2_weight, 2_bias), of the decoder's (dec_0_weight …) and of "
		"the codes (codes, or codes_1, codes_2 … with several augmentations); for sw, the "
		"gradient of the first set (a). Rows of keep are in units of the spread of clean "
		"features about their mean, and its codes are those of clean rows, copies and "
		"vicinal rows. The random directions and permutations of waco and "
		"sw can be given as arrays; otherwise --seed determines them.",
	.examples = examples,
	.arguments = arguments,
	.starts = kind_name,
	.options = "loss",
	.hidden = "kind",
	.own = own,
	.run = run_loss,
};
