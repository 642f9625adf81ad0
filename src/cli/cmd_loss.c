/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_loss.c - invar loss: value and gradients on given arrays.
 *
 * For comparison with other implementations on the same arrays. KIND sw is the sliced
 * Wasserstein distance of two sets of rows; it is not a loss of an adapter and takes its
 * own arrays. A shape that does not match is an error that names the file and both shapes.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/evaluate_loss.h"
#include "base/file.h"
#include "base/options.h"
#include "base/words.h"
#include "cli/arrays.h"
#include "cli/command_options.h"
#include "cli/display_text.h"

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
	{INV_ROW(TEXT, "adapter", "FILE", "Arrays",
             "the adapter E: a safetensors file or a run folder")},
	{INV_ROW(TEXT, "clean", "X.npy", "Arrays", "clean features [N, d]")},
	{INV_ROW(LIST, "aug", "A.npy", "Arrays",
             "augmented features [N, s, d]; default: none, s = 0; several only with waco")},
	{INV_ROW(
		TEXT, "views", "V.npy", "Arrays",
		"simclr: use instead of --clean and --aug; [2 N, d], rows i and i + N are a pair")},
	{INV_ROW(
		TEXT, "decoder", "FILE", "Arrays",
		"a decoder; its reconstruction error is added, weighted by --alpha and --beta")},
	{INV_ROW(TEXT, "vicinal", "V.npy", "Arrays",
             "keep: vicinal rows [N, d]; default: drawn from the clean rows")},
	{INV_ROW(TEXT, "origin", "M.npy", "Arrays",
             "keep: mean of the features in units of their spread [d]; default: zeros")},
	{INV_ROW(TEXT, "grad", "DIR", "Arrays",
             "write the gradient of every parameter to this folder as NAME.npy")},
	{INV_FLAG_ROW("force", "Arrays",
                  "let gradients replace any existing files; never one that is read")},
	{INV_ROW(LIST, "directions-xz", "D.npy", "Draws of waco",
             "directions [L, d + w], one array for each --aug")},
	{INV_ROW(LIST, "directions-xx", "D.npy", "Draws of waco", "directions [L, 2 d]")},
	{INV_ROW(LIST, "directions-zz", "D.npy", "Draws of waco", "directions [L, 2 w]")},
	{INV_ROW(LIST, "perm-xz", "P1,P2", "Draws of waco",
             "two permutations of the rows as NumPy files, one pair for each --aug")},
	{INV_ROW(LIST, "perm-xx", "P1,P2", "Draws of waco", "the same for XX")},
	{INV_ROW(LIST, "perm-zz", "P1,P2", "Draws of waco", "the same for ZZ")},
	{INV_ROW(TEXT, "a", "A.npy", "Arrays of sw", "first set [n, d]")},
	{INV_ROW(TEXT, "b", "B.npy", "Arrays of sw", "second set [n, d]")},
	{INV_ROW(TEXT, "directions", "D.npy", "Arrays of sw",
             "directions [L, d], used as given; default: --projections random ones")},
	{0},
};

static const char *const only[][2] = {
	/* options and their kind */
	{"views", "simclr"},
	{"vicinal|origin", "keep"},
	{"directions-xz|directions-xx|directions-zz|perm-xz|perm-xx|perm-zz", "waco"},
	{"a|b|directions", "sw"},
};

/* Of sw; the common ones go with everything. */
static const char sw_options[] = "a|b|directions|p|projections|slices|grad|force|"
								 "seed|threads|json|quiet|verbose";

/* "mawa, waco and hsic", unless the option goes with every kind or with this one. */
static const char *other_kinds(const inv_session *s, const char *option, const char *kind,
                               char out[KINDS])
{
	const char *other;
	size_t fill = 0;

	for (size_t i = 0; fill < KINDS && (other = inv_options_part(s->options, option, i));
	     i++) {
		bool last = !inv_options_part(s->options, option, i + 1);

		if (strcmp(other, kind) == 0)
			return NULL;
		fill += (size_t)snprintf(out + fill, KINDS - fill, "%s%s",
		                         i == 0 ? ""
		                         : last ? " and "
		                                : ", ",
		                         other);
	}
	return fill ? out : NULL;
}

static invar_status check_loss_options(inv_session *s, const char *kind)
{
	const bool is_sw = strcmp(kind, "sw") == 0;
	char list[KINDS];

	for (size_t i = 0; i < invar_options_count(s->options); i++) {
		const char *name = invar_options_at(s->options, i)->name;

		if (!inv_options_is_set(s->options, name))
			continue;
		for (size_t k = 0; k < sizeof only / sizeof *only; k++)
			if (inv_has_word(only[k][0], '|', name) && strcmp(only[k][1], kind) != 0)
				return inv_fail(INVAR_E_USE, "--%s is an option of %s, not of %s", name,
				                only[k][1], kind);
		if (is_sw && !inv_has_word(sw_options, '|', name))
			return inv_fail(INVAR_E_USE, "--%s is not an option of sw", name);
		if (!is_sw && other_kinds(s, name, kind, list))
			return inv_fail(INVAR_E_USE, "--%s is an option of %s, not of %s", name, list,
			                kind);
	}
	return INVAR_OK;
}

typedef struct loss_call {
	inv_session *s;
	invar_adapter *adapter, *decoder;
	inv_given_array **given; /* all that were read, freed together */
	size_t count;
	float *aug;            /* [groups, N, s, d] */
	inv_loss_draws *draws; /* [groups] */
	inv_loss_input in;
} loss_call;

/* A path of NULL gives NULL. */
static invar_status read_array(loss_call *c, const char *path, inv_given_array **out)
{
	inv_given_array **longer, *a;

	*out = NULL;
	if (!path)
		return INVAR_OK;
	if (!(longer = realloc(c->given, (c->count + 1) * sizeof *longer)))
		return inv_no_memory();
	c->given = longer;
	INV_TRY(inv_new(&a));
	c->given[c->count++] = a;
	INV_TRY(inv_array_look(c->s, path, a));
	*out = a;
	return inv_array_take(a);
}

/* A dimension of 0 is any. */
static bool has_shape(const inv_given_array *a, unsigned ndim, uint64_t first,
                      uint64_t last)
{
	const uint64_t *shape = a->array->h.shape;

	return a->array->h.ndim == ndim && (!first || shape[0] == first) &&
	       (!last || shape[ndim - 1] == last);
}

static invar_status read_loss_rows(loss_call *c)
{
	const uint32_t d = invar_adapter_input(c->adapter);
	inv_given_array *clean, *views;

	INV_TRY(read_array(c, inv_text(c->s, "clean"), &clean));
	INV_TRY(read_array(c, inv_text(c->s, "views"), &views));
	if (clean && !has_shape(clean, 2, 0, 0))
		return inv_array_refuse(clean, "must be [N, %u]", d);
	if (clean && !has_shape(clean, 2, 0, d))
		return inv_array_refuse(clean, "the adapter %s takes features of width %u",
		                        invar_adapter_path(c->adapter), d);
	if (views && (!has_shape(views, 2, 0, d) || views->array->h.shape[0] % 2))
		return inv_array_refuse(views, "must be [2 N, %u]: rows i and i + N are a pair", d);
	c->in.images = clean ? clean->array->h.shape[0] : views->array->h.shape[0] / 2;
	if (clean && views && views->array->h.shape[0] != 2 * c->in.images)
		return inv_array_refuse(views,
		                        "with %s of shape %s it must have twice as many rows",
		                        clean->path, clean->shape);
	c->in.dim = d;
	c->in.clean = clean ? clean->data : NULL;
	c->in.views = views ? views->data : NULL;
	return INVAR_OK;
}

/* Each has N images of width d and the s of the first. */
static invar_status read_augs(loss_call *c)
{
	const inv_given_array *clean = c->given[0];
	const char *path;
	inv_given_array *a;

	for (; (path = inv_options_text(c->s->options, "aug", c->in.groups)); c->in.groups++) {
		float *longer;
		size_t cells;

		INV_TRY(read_array(c, path, &a));
		cells = a->array->h.cells;
		if (!has_shape(a, 3, c->in.images, c->in.dim) || a->array->h.shape[1] > 1 << 20)
			return inv_array_refuse(a, "with %s of shape %s it must be [%llu, s, %u]",
			                        clean->path, clean->shape,
			                        (unsigned long long)c->in.images, c->in.dim);
		if (c->in.groups && a->array->h.shape[1] != c->in.samples)
			return inv_array_refuse(a, "the first --aug has %u %s per image", c->in.samples,
			                        inv_noun(c->in.samples, "sample", "samples"));
		c->in.samples = (uint32_t)a->array->h.shape[1];
		if (!(longer = realloc(c->aug, ((c->in.groups + 1) * cells + 1) * sizeof *longer)))
			return inv_no_memory();
		memcpy(longer + c->in.groups * cells, a->data, cells * sizeof *longer);
		c->aug = longer;
	}
	c->in.aug = c->aug;
	return INVAR_OK;
}

/*
 * "P1.npy,P2.npy": each has the numbers 0 to M - 1, in the memory of the floats that they
 * were read as.
 */
static invar_status read_permutations(loss_call *c, const char *option, size_t group,
                                      uint64_t M, const uint32_t *out[2])
{
	const char *text = inv_options_text(c->s->options, option, group);
	const char *comma = strchr(text, ',');
	char *path;
	invar_status st;

	if (!comma || strchr(comma + 1, ',') || comma == text || !comma[1])
		return inv_fail(INVAR_E_USE, "--%s is '%s' but must be two files: P1.npy,P2.npy",
		                option, text);
	INV_TRY(inv_new_text(&path, text));
	path[comma - text] = '\0';
	for (size_t k = 0; k < 2; k++) {
		inv_given_array *a;

		INV_TRY_OR(end, read_array(c, k ? comma + 1 : path, &a));
		if (!has_shape(a, 1, M, 0)) {
			st = inv_array_refuse(a, "must be [%llu]", (unsigned long long)M);
			goto end;
		}
		for (uint64_t i = 0; i < M; i++) {
			float x = a->data[i];
			uint32_t number = x >= 0 && x < (float)M ? (uint32_t)x : 0;

			if (x != (float)number) {
				st = inv_fail(
					INVAR_E_MISMATCH,
					"%s: element [%llu] is %g, but each of 0 to %llu must occur once",
					a->path, (unsigned long long)i, (double)x, (unsigned long long)(M - 1));
				goto end;
			}
			memcpy(&a->data[i], &number, sizeof number);
		}
		out[k] = (const uint32_t *)(const void *)a->data;
	}
end:
	inv_free(path);
	return st;
}

/* All six files of every augmentation, or none. Directions determine how many there are. */
static invar_status read_draws(loss_call *c)
{
	static const char *const options[] = {"directions-xz", "directions-xx", "directions-zz",
	                                      "perm-xz",       "perm-xx",       "perm-zz"};
	const uint64_t d = c->in.dim, w = invar_adapter_output(c->adapter);
	const uint64_t width[3] = {d + w, 2 * d, 2 * w};
	const uint64_t M = c->in.images * (c->in.samples + !inv_flag(c->s, "no-identity"));
	const size_t groups = c->in.groups ? c->in.groups : 1;
	size_t given[6] = {0}, all = 0;
	uint64_t L = 0;

	for (size_t i = 0; i < 6; all += given[i++])
		while (inv_options_text(c->s->options, options[i], given[i]))
			given[i]++;
	if (!all)
		return INVAR_OK;
	for (size_t i = 0; i < 6; i++) {
		if (!given[i])
			return inv_fail(INVAR_E_USE,
			                "--%s is missing: give directions and permutations for all of "
			                "xz, xx and zz, or for none",
			                options[i]);
		if (given[i] != groups)
			return inv_fail(INVAR_E_USE, "--%s: %zu given, but there are %zu --aug",
			                options[i], given[i], groups);
	}
	INV_TRY(inv_new_zeros(&c->draws, groups));
	c->in.draws = c->draws;
	for (size_t k = 0; k < groups * 3; k++) {
		inv_loss_draws *draws = &c->draws[k / 3];
		const size_t i = k % 3;
		inv_given_array *a;

		INV_TRY(read_array(c, inv_options_text(c->s->options, options[i], k / 3), &a));
		if (!has_shape(a, 2, 0, width[i]) || !a->array->h.shape[0])
			return inv_array_refuse(a, "must be [L, %llu]", (unsigned long long)width[i]);
		if (L && a->array->h.shape[0] != L)
			return inv_array_refuse(a, "the first array of directions has %llu",
			                        (unsigned long long)L);
		L = a->array->h.shape[0];
		draws->directions[i] = a->data;
		INV_TRY(read_permutations(c, options[3 + i], k / 3, M, draws->permutations[i]));
	}
	return invar_options_set_number(c->s->options, "projections", (double)L);
}

/* Each gradient as NAME.npy; all names are checked before the first file is written. */
static invar_status write_gradients(inv_session *s, const inv_loss_result *r)
{
	const char *folder = inv_text(s, "grad");

	if (!folder)
		return INVAR_OK;
	INV_TRY(inv_make_folder(folder));
	for (size_t i = 0; i < 2 * r->grad_count; i++) {
		const inv_named_array *g = &r->grads[i % r->grad_count];
		char *path;
		invar_status st;

		if (asprintf(&path, "%s/%s.npy", folder, g->name) < 0)
			return inv_no_memory();
		st = i < r->grad_count
		         ? inv_check_output(s, &(inv_output){.option = "--grad",
		                                             .path = path,
		                                             .endings = ".npy",
		                                             .force = inv_flag(s, "force")})
		         : invar_array_write(s->ctx, path, g->data, g->ndim, g->shape,
		                             INVAR_FLOAT32);
		free(path);
		INV_TRY(st);
	}
	return INVAR_OK;
}

static invar_status print_result(inv_session *s, const inv_loss_result *r)
{
	const double value = r->value + 0.0; /* no minus before a zero */
	json_t *terms;

	if (!s->json) {
		printf("value  %.9g\n", value);
		for (size_t i = 0; i < r->term_count; i++)
			printf("%s  %.9g\n", r->terms[i].name, r->terms[i].value);
		return INVAR_OK;
	}
	terms = json_object();
	for (size_t i = 0; i < r->term_count; i++)
		json_object_set_new(terms, r->terms[i].name, json_real(r->terms[i].value));
	return inv_print_json(json_pack("{s:f, s:o}", "value", value, "terms", terms));
}

static invar_status need_option(const inv_session *s, const char *name,
                                const char *sentence)
{
	return inv_text(s, name) ? INVAR_OK : inv_fail(INVAR_E_USE, "%s", sentence);
}

static invar_status evaluate_given_loss(loss_call *c)
{
	const char *views = inv_text(c->s, "views"), *decoder = inv_text(c->s, "decoder");
	inv_given_array *vicinal, *origin;
	inv_loss_result result = {0};
	invar_status st;

	INV_TRY(need_option(c->s, "adapter", "the adapter is missing: --adapter FILE"));
	if (views && inv_options_text(c->s->options, "aug", 0))
		return inv_fail(INVAR_E_USE, "--views and --aug cannot be used together");
	if (!views || decoder)
		INV_TRY(
			need_option(c->s, "clean", "the clean features are missing: --clean X.npy"));
	for (size_t i = 0; i < 2 && !decoder; i++)
		if (inv_options_is_set(c->s->options, i ? "beta" : "alpha"))
			return inv_fail(INVAR_E_USE, "--%s needs --decoder", i ? "beta" : "alpha");
	INV_TRY(invar_adapter_open(c->s->ctx, inv_text(c->s, "adapter"), &c->adapter));
	if (decoder)
		INV_TRY(invar_adapter_open(c->s->ctx, decoder, &c->decoder));
	INV_TRY(read_loss_rows(c));
	if (c->in.clean) {
		INV_TRY(read_augs(c));
		INV_TRY(read_array(c, inv_text(c->s, "vicinal"), &vicinal));
		INV_TRY(read_array(c, inv_text(c->s, "origin"), &origin));
		if (vicinal && !has_shape(vicinal, 2, c->in.images, c->in.dim))
			return inv_array_refuse(vicinal, "must have that of %s, %s", c->given[0]->path,
			                        c->given[0]->shape);
		if (origin && !has_shape(origin, 1, c->in.dim, 0))
			return inv_array_refuse(origin, "must be [%u]", c->in.dim);
		c->in.vicinal = vicinal ? vicinal->data : NULL;
		c->in.origin = origin ? origin->data : NULL;
		INV_TRY(read_draws(c));
	}
	c->in.adapter = c->adapter;
	c->in.decoder = c->decoder;

	INV_TRY_OR(end, inv_loss_evaluate(c->s->ctx, &c->in, c->s->options, &result));
	INV_TRY_OR(end, write_gradients(c->s, &result));
	st = print_result(c->s, &result);
end:
	inv_loss_result_clear(&result);
	return st;
}

static invar_status compute_sw(loss_call *c)
{
	inv_session *s = c->s;
	inv_given_array *a, *b, *directions;
	inv_named_array grad = {.name = "a", .ndim = 2};
	inv_loss_result result = {.grads = &grad, .grad_count = 1};
	invar_options *o = NULL;
	invar_status st;

	INV_TRY(need_option(s, "a", "the first set is missing: --a A.npy"));
	INV_TRY(need_option(s, "b", "the second set is missing: --b B.npy"));
	INV_TRY(read_array(c, inv_text(s, "a"), &a));
	INV_TRY(read_array(c, inv_text(s, "b"), &b));
	INV_TRY(read_array(c, inv_text(s, "directions"), &directions));
	if (!has_shape(a, 2, 0, 0) || !a->array->h.cells)
		return inv_array_refuse(a, "must be [n, d]");
	memcpy(grad.shape, a->array->h.shape, sizeof grad.shape);
	if (!has_shape(b, 2, grad.shape[0], grad.shape[1]))
		return inv_array_refuse(b, "%s has %s; both must have the same shape", a->path,
		                        a->shape);
	if (directions &&
	    (!has_shape(directions, 2, 0, grad.shape[1]) || !directions->array->h.cells))
		return inv_array_refuse(directions, "must be [L, %llu]",
		                        (unsigned long long)grad.shape[1]);

	INV_TRY(inv_new_zeros(&grad.data, a->array->h.cells));
	INV_TRY_OR(end, invar_options_new("dependence", &o));
	INV_TRY_OR(end,
	           invar_options_set_number(o, "projections",
	                                    directions ? (double)directions->array->h.shape[0]
	                                               : inv_number(s, "projections")));
	INV_TRY_OR(end, invar_options_set_number(o, "p", inv_number(s, "p")));
	INV_TRY_OR(end, invar_options_set(o, "slices", inv_text(s, "slices")));
	INV_TRY_OR(end, invar_options_set_number(o, "seed", (double)s->seed));
	INV_TRY_OR(end, invar_sliced_wasserstein(
						s->ctx, a->data, b->data, grad.shape[0], (uint32_t)grad.shape[1],
						directions ? directions->data : NULL, o, &result.value,
						inv_text(s, "grad") ? grad.data : NULL));
	INV_TRY_OR(end, write_gradients(s, &result));
	st = print_result(s, &result);
end:
	invar_options_free(o);
	inv_free(grad.data);
	return st;
}

/* Those of the library, then our own. */
static const char *kind_name(size_t i, char out[INV_ITEM])
{
	const char *kind = inv_loss_name_at(i);

	if (!kind && i && !inv_loss_name_at(i - 1))
		return NULL;
	snprintf(out, INV_ITEM, "%s", kind ? kind : "sw");
	return out;
}

static invar_status run_loss(inv_session *s)
{
	const char *kind = s->argument[0];
	loss_call c = {.s = s};
	char kinds[KINDS], name[INV_ITEM];
	size_t fill = 0;
	invar_status st;

	for (size_t i = 0; kind_name(i, name) && fill < sizeof kinds; i++)
		fill +=
			(size_t)snprintf(kinds + fill, sizeof kinds - fill, "%s%s", i ? "|" : "", name);
	INV_TRY(inv_require_word("KIND", kinds, kind));
	INV_TRY(check_loss_options(s, kind));
	INV_TRY(inv_check_output(
		s, &(inv_output){.option = "--grad", .path = inv_text(s, "grad"), .folder = true}));
	if (strcmp(kind, "sw") == 0) {
		st = compute_sw(&c);
	} else {
		INV_TRY(invar_options_set(s->options, "kind", kind));
		st = evaluate_given_loss(&c);
	}
	for (size_t i = 0; i < c.count; i++) {
		inv_array_drop(c.given[i]);
		inv_free(c.given[i]);
	}
	free(c.given);
	free(c.aug);
	inv_free(c.draws);
	invar_adapter_close(c.adapter);
	invar_adapter_close(c.decoder);
	return st;
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
	.reads = "adapter|decoder|clean|aug|views|vicinal|origin|directions-xz|directions-xx|"
			 "directions-zz|perm-xz|perm-xx|perm-zz|a|b|directions",
	.is_timed = true,
	.run = run_loss,
};
