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
	invar_loss_opts loss;
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
	{"KIND", "mawa, waco, simclr or hsic; sw is the sliced distance alone", 1, 1},
	{0},
};

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
	{invar_loss_fields, offsetof(loss_values, loss)},
	{0},
};

static void defaults(void *values)
{
	invar_loss_defaults(&((loss_values *)values)->loss);
}

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

static invar_status check_given(inv_session *s, const char *kind)
{
	for (const char **name = s->given; *name; name++) {
		for (size_t i = 0; i < sizeof only / sizeof *only; i++)
			if (strcmp(only[i].option, *name) == 0 && strcmp(only[i].kind, kind) != 0)
				return inv_fault(s, INVAR_E_USE, "--%s is an option of %s, not of %s",
				                 *name, only[i].kind, kind);
		if (strcmp(kind, "sw") == 0 && !is_of_sw(*name))
			return inv_fault(s, INVAR_E_USE, "--%s is no option of sw", *name);
	}
	if (strcmp(kind, "sw") == 0)
		return INVAR_OK;
	return invar_loss_check_given(kind, s->given);
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

static invar_status load_draws(inv_session *s, loss_values *v, loss_inputs *in)
{
	size_t groups = in->augs.groups ? in->augs.groups : 1;
	uint64_t rows = in->augs.samples + !v->loss.no_identity;
	invar_status st;

	if (!in->clean.array)
		return INVAR_OK;
	rows *= invar_array_shape(in->clean.array)[0];
	st = inv_draws_load(s, &v->draws, groups, rows, invar_adapter_input(in->adapter),
	                    invar_adapter_output(in->adapter), &in->draws);
	if (in->draws.projections)
		v->loss.projections = in->draws.projections;
	return st;
}

static invar_status compute(inv_session *s, const loss_values *v, const loss_inputs *given)
{
	const inv_given_array *rows = given->clean.array ? &given->clean : &given->views;
	uint64_t count = invar_array_shape(rows->array)[0];
	invar_loss_result result = {.size = sizeof result};
	invar_loss_input in = {
		.size = sizeof in,
		.adapter = given->adapter,
		.clean = given->clean.data,
		.aug = given->augs.data,
		.images = given->clean.array ? count : count / 2,
		.dim = invar_adapter_input(given->adapter),
		.samples = (uint32_t)given->augs.samples,
		.groups = (uint32_t)given->augs.groups,
		.views = given->views.data,
		.decoder = given->decoder,
		.draws = given->draws.draws,
	};
	invar_status st = invar_loss(s->ctx, &in, &v->loss, &result);

	if (st == INVAR_OK && v->grad.path)
		st = inv_loss_write(s, &v->grad, &result);
	if (st == INVAR_OK)
		st = inv_loss_print(s, &result);
	invar_loss_result_clear(&result);
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

static invar_status run_loss(inv_session *s, loss_values *v)
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
	char kinds[128];
	invar_status st;

	snprintf(kinds, sizeof kinds, "%s|sw", invar_loss_kinds());
	if ((st = inv_check_word(s, "KIND", kinds, kind)) != INVAR_OK ||
	    (st = check_given(s, kind)) != INVAR_OK)
		return st;
	if ((st = check_output(s, v)) != INVAR_OK)
		return st;
	v->loss.kind = kind;
	st = strcmp(kind, "sw") == 0 ? inv_loss_sw(s, &v->sw, &v->loss, &v->grad)
	                             : run_loss(s, v);
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
	.tables = tables,
	.values = sizeof(loss_values),
	.defaults = defaults,
	.run = run,
};
