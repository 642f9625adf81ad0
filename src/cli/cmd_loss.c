/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_loss.c - invar loss: value and gradients on given arrays.
 *
 * Meant for checking: another implementation computes the same loss on the same
 * arrays and the two are compared. KIND sw is the sliced Wasserstein distance of
 * two sets of rows, which is no loss of an adapter and takes arrays of its own.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/loss_arrays.h"
#include "cli/loss_output.h"
#include "cli/loss_sw.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"

typedef struct loss_values {
	inv_common common;
	const char *adapter, *clean, *views, *decoder;
	inv_grad_folder grad;
	const char *const *aug;
	inv_draw_files draws;
	inv_sw_files sw;
} loss_values;

static const inv_example examples[] = {
	{"invar loss mawa --adapter run --clean clean.npy --aug aug.npy",
     "the loss and its terms on these rows"},
	{"invar loss mawa --adapter run --clean x.npy --aug a.npy --json --grad g",
     "for a program: JSON, and g/0_weight.npy, g/codes.npy … beside it"},
	{"invar loss waco --adapter run --clean x.npy --aug a.npy --aug b.npy --seed 3",
     "two augmentations, by directions and permutations of this seed"},
	{"invar loss sw --a a.npy --b b.npy --p 1",
     "the sliced Wasserstein distance of two sets of rows"},
	{0},
};

static const inv_argument arguments[] = {
	{.name = "KIND",
     .help = "mawa, waco, simclr or hsic; sw is the sliced distance alone",
     .least = 1,
     .most = 1},
	{0},
};

enum { KINDS = 256 }; /* bytes of a list of all of them */

#define AT(member) offsetof(loss_values, member)

static const invar_field own_table[] = {
	{"adapter", INVAR_FIELD_TEXT, AT(adapter), 0, 0, 0, NULL, "FILE", "Arrays",
     "the adapter E: a safetensors file or a run folder"},
	{"clean", INVAR_FIELD_TEXT, AT(clean), 0, 0, 0, NULL, "X.npy", "Arrays",
     "clean features [N, d]"},
	{"aug", INVAR_FIELD_LIST, AT(aug), 0, 0, 0, NULL, "A.npy", "Arrays",
     "augmented features [N, s, d]; without it s = 0; more than one for waco alone"},
	{"views", INVAR_FIELD_TEXT, AT(views), 0, 0, 0, NULL, "V.npy", "Arrays",
     "for simclr instead of --clean and --aug: [2 N, d], rows i and i + N are a pair"},
	{"decoder", INVAR_FIELD_TEXT, AT(decoder), 0, 0, 0, NULL, "FILE", "Arrays",
     "a decoder, whose reconstruction joins the loss by --alpha and --beta"},
	{"grad", INVAR_FIELD_TEXT, AT(grad.path), 0, 0, 0, NULL, "DIR", "Arrays",
     "folder that gets the gradient of every block as NAME.npy"},
	{"force", INVAR_FIELD_FLAG, AT(grad.force), 0, 1, 0, NULL, NULL, "Arrays",
     "let gradients replace files that are no arrays; never what is read"},

	{"directions-xz", INVAR_FIELD_LIST, AT(draws.directions[0]), 0, 0, 0, NULL, "D.npy",
     "Draws of waco", "directions [L, d + w], one array for each --aug"},
	{"directions-xx", INVAR_FIELD_LIST, AT(draws.directions[1]), 0, 0, 0, NULL, "D.npy",
     "Draws of waco", "directions [L, 2 d]"},
	{"directions-zz", INVAR_FIELD_LIST, AT(draws.directions[2]), 0, 0, 0, NULL, "D.npy",
     "Draws of waco", "directions [L, 2 w]"},
	{"perm-xz", INVAR_FIELD_LIST, AT(draws.permutations[0]), 0, 0, 0, NULL, "P1,P2",
     "Draws of waco", "two permutations of the rows as NumPy files, for each --aug"},
	{"perm-xx", INVAR_FIELD_LIST, AT(draws.permutations[1]), 0, 0, 0, NULL, "P1,P2",
     "Draws of waco", "the same for XX"},
	{"perm-zz", INVAR_FIELD_LIST, AT(draws.permutations[2]), 0, 0, 0, NULL, "P1,P2",
     "Draws of waco", "the same for ZZ"},

	{"a", INVAR_FIELD_TEXT, AT(sw.a), 0, 0, 0, NULL, "A.npy", "Arrays of sw",
     "first set [n, d]"},
	{"b", INVAR_FIELD_TEXT, AT(sw.b), 0, 0, 0, NULL, "B.npy", "Arrays of sw",
     "second set [n, d]"},
	{"directions", INVAR_FIELD_TEXT, AT(sw.directions), 0, 0, 0, NULL, "D.npy",
     "Arrays of sw",
     "directions [L, d], taken as they are; without them --projections are drawn"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{0},
};

/* ---- What belongs to which kind ------------------------------------------------ */

static const struct {
	const char *option, *kind; /* of that kind alone */
} only[] = {
	{"views", "simclr"},
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
		if (!(other = invar_options_part(s->options, option, i)))
			break;
		next = invar_options_part(s->options, option, i + 1);
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

static invar_status check_given(inv_session *s, const char *kind)
{
	char list[KINDS];

	for (const char **name = s->given; *name; name++) {
		for (size_t i = 0; i < sizeof only / sizeof *only; i++)
			if (strcmp(only[i].option, *name) == 0 && strcmp(only[i].kind, kind) != 0)
				return inv_fault(s, INVAR_E_USE, "--%s is an option of %s, not of %s",
				                 *name, only[i].kind, kind);
		if (strcmp(kind, "sw") == 0 && !is_of_sw(*name))
			return inv_fault(s, INVAR_E_USE, "--%s is no option of sw", *name);
		if (strcmp(kind, "sw") != 0 && other_kinds(s, *name, kind, list))
			return inv_fault(s, INVAR_E_USE, "--%s is an option of %s, not of %s", *name,
			                 list, kind);
	}
	return INVAR_OK;
}

static invar_status check_decoder_weights(inv_session *s, const loss_values *v)
{
	for (const char **name = s->given; *name && !v->decoder; name++)
		if (strcmp(*name, "alpha") == 0 || strcmp(*name, "beta") == 0)
			return inv_fault(s, INVAR_E_USE,
			                 "--%s belongs to --decoder, which is not given", *name);
	return INVAR_OK;
}

/* ---- Losses ---------------------------------------------------------------- */

typedef struct loss_inputs {
	invar_adapter *adapter, *decoder;
	inv_given_array clean, views;
	inv_given_augs augs;
	inv_given_draws draws;
} loss_inputs;

static void close_inputs(loss_inputs *in)
{
	invar_adapter_close(in->adapter);
	invar_adapter_close(in->decoder);
	inv_array_drop(&in->clean);
	inv_array_drop(&in->views);
	inv_augs_free(&in->augs);
	inv_draws_free(&in->draws);
}

static invar_status check_clean(inv_session *s, const loss_inputs *in)
{
	uint32_t d = invar_adapter_input(in->adapter);
	const inv_given_array *clean = &in->clean;

	if (!clean->array)
		return INVAR_OK;
	if (invar_array_rank(clean->array) != 2)
		return inv_fault(s, INVAR_E_MISMATCH, "%s has shape %s, but [N, %u] is needed",
		                 clean->path, clean->shape, d);
	if (invar_array_shape(clean->array)[1] != d)
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s, but the adapter %s takes features of width %u",
		                 clean->path, clean->shape, invar_adapter_path(in->adapter), d);
	return INVAR_OK;
}

static invar_status check_views(inv_session *s, const loss_inputs *in)
{
	const uint64_t *shape, *clean;
	const inv_given_array *views = &in->views;

	if (!views->array)
		return INVAR_OK;
	shape = invar_array_shape(views->array);
	if (invar_array_rank(views->array) != 2 || shape[0] % 2 ||
	    shape[1] != invar_adapter_input(in->adapter))
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s, but [2 N, %u] is needed: rows i and i + N are a "
		                 "pair",
		                 views->path, views->shape, invar_adapter_input(in->adapter));
	clean = in->clean.array ? invar_array_shape(in->clean.array) : NULL;
	if (clean && 2 * clean[0] != shape[0])
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s, but with %s of shape %s it must have %llu rows",
		                 views->path, views->shape, in->clean.path, in->clean.shape,
		                 2 * (unsigned long long)clean[0]);
	return INVAR_OK;
}

static invar_status load_arrays(inv_session *s, const loss_values *v, loss_inputs *in)
{
	invar_status st = inv_array_look(s, v->clean, &in->clean);

	if (st == INVAR_OK)
		st = inv_array_look(s, v->views, &in->views);
	if (st == INVAR_OK)
		st = check_clean(s, in);
	if (st == INVAR_OK)
		st = check_views(s, in);
	if (st == INVAR_OK && in->clean.array)
		st = inv_augs_load(s, v->aug, &in->clean, &in->augs);
	if (st == INVAR_OK)
		st = inv_array_take(s, &in->clean);
	return st == INVAR_OK ? inv_array_take(s, &in->views) : st;
}

/* Directions that are given say how many projections there are. */
static invar_status load_draws(inv_session *s, const loss_values *v, loss_inputs *in)
{
	size_t groups = in->augs.groups ? in->augs.groups : 1;
	uint64_t rows = in->augs.samples + !inv_flag(s, "no-identity");
	invar_status st;

	if (!in->clean.array)
		return INVAR_OK;
	rows *= invar_array_shape(in->clean.array)[0];
	st = inv_draws_load(s, &v->draws, groups, rows, invar_adapter_input(in->adapter),
	                    invar_adapter_output(in->adapter), &in->draws);
	if (st == INVAR_OK && in->draws.projections)
		st = invar_options_set_number(s->options, "projections",
		                              (double)in->draws.projections);
	return st;
}

static invar_status set_draws(const inv_given_draws *g, invar_loss *l)
{
	static const char *const parts[] = {"xz", "xx", "zz"};
	invar_status st = INVAR_OK;

	for (size_t i = 0; g->draws && i < 3 * g->groups && st == INVAR_OK; i++) {
		const inv_draws *d = &g->draws[i / 3];

		st = invar_loss_set_draws(l, (uint32_t)(i / 3), parts[i % 3], d->directions[i % 3],
		                          d->permutations[i % 3][0], d->permutations[i % 3][1]);
	}
	return st;
}

static invar_status set_arrays(const loss_inputs *given, invar_loss *l)
{
	const invar_array *clean = given->clean.array, *views = given->views.array;
	invar_status st = INVAR_OK;

	if (clean)
		st = invar_loss_set_clean(l, given->clean.data, invar_array_shape(clean)[0]);
	if (st == INVAR_OK && views)
		st = invar_loss_set_views(l, given->views.data, invar_array_shape(views)[0] / 2);
	if (st == INVAR_OK && given->augs.data)
		st = invar_loss_set_copies(l, given->augs.data, (uint32_t)given->augs.groups,
		                           (uint32_t)given->augs.samples);
	if (st == INVAR_OK && given->decoder)
		st = invar_loss_set_decoder(l, given->decoder);
	return st == INVAR_OK ? set_draws(&given->draws, l) : st;
}

static invar_status compute(inv_session *s, const loss_values *v, const loss_inputs *given)
{
	invar_loss *l = NULL;
	invar_status st = invar_loss_new(given->adapter, s->options, &l);

	if (st == INVAR_OK)
		st = set_arrays(given, l);
	if (st == INVAR_OK)
		st = invar_loss_compute(l);
	if (st == INVAR_OK && v->grad.path)
		st = inv_loss_write(s, &v->grad, l);
	if (st == INVAR_OK)
		st = inv_loss_print(s, l);
	invar_loss_free(l);
	return st;
}

static invar_status check_needs(inv_session *s, const loss_values *v)
{
	invar_status st = inv_need(s, v->adapter, "the adapter is missing: --adapter FILE");

	if (st == INVAR_OK && v->views && v->aug)
		return inv_fault(s, INVAR_E_USE, "--views and --aug exclude each other");
	if (st == INVAR_OK && !v->views)
		st = inv_need(s, v->clean, "the clean features are missing: --clean X.npy");
	if (st == INVAR_OK && v->views && v->decoder)
		st = inv_need(s, v->clean,
		              "the clean features that --decoder rebuilds are missing: --clean "
		              "X.npy");
	return st == INVAR_OK ? check_decoder_weights(s, v) : st;
}

static invar_status run_loss(inv_session *s, const loss_values *v)
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
static invar_status check_kind(inv_session *s, const char *kind)
{
	char kinds[KINDS];
	size_t fill = 0;
	const char *name;

	for (size_t i = 0; (name = invar_loss_kind(i)) && fill < sizeof kinds; i++)
		fill += (size_t)snprintf(kinds + fill, sizeof kinds - fill, "%s|", name);
	snprintf(kinds + fill, sizeof kinds - fill, "sw");
	return inv_check_word(s, "KIND", kinds, kind);
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
		inv_reads_arrays(s, *list);
}

static invar_status check_output(inv_session *s, const loss_values *v)
{
	const char *const single[] = {v->clean, v->views, v->sw.a, v->sw.b, v->sw.directions};

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

static invar_status run(inv_session *s, void *values)
{
	loss_values *v = values;
	const char *kind = s->argument[0];
	invar_status st;

	if ((st = check_kind(s, kind)) != INVAR_OK || (st = check_given(s, kind)) != INVAR_OK)
		return st;
	if ((st = check_output(s, v)) != INVAR_OK)
		return st;
	if (strcmp(kind, "sw") == 0)
		st = inv_loss_sw(s, &v->sw, &v->grad);
	else if ((st = invar_options_set(s->options, "kind", kind)) == INVAR_OK)
		st = run_loss(s, v);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_loss = {
	.name = "loss",
	.purpose = "computes a loss and its gradients on given arrays",
	.usage = "KIND --adapter FILE --clean X.npy [--aug A.npy] [options]",
	.about = "For checking against other implementations. With --json it prints "
			 "{\"value\": …, \"terms\": {…}}; --grad writes the gradients of the adapter's "
			 "blocks (0_weight, 0_bias, 2_weight, 2_bias), of a decoder's (dec_0_weight …) "
			 "and of the codes (codes, or codes_1, codes_2 … for several augmentations), "
			 "for sw that of the first set (a). What waco and sw draw is given as arrays, "
			 "or follows from --seed.",
	.examples = examples,
	.arguments = arguments,
	.options = "loss",
	.hidden = "kind",
	.tables = tables,
	.values = sizeof(loss_values),
	.run = run,
};
