/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluate_loss.c - value and gradients of a loss on given arrays.
 *
 * The arrays become the rows of one training step, so that the code that is checked is the
 * code that trains.
 */
#include "adapter/evaluate_loss.h"

#include <inttypes.h>
#include <string.h>

#include "adapter/loss_result.h"
#include "base/text.h"

static const invar_option own_rows[] = {
	{.name = "kind",
     .type = INVAR_OPTION_TEXT,
     .initial = "mawa",
     .choice = inv_loss_name_at,
     .meta = "WORD",
     .group = "Loss",
     .help = "the loss"},
	{.name = "no-identity",
     .type = INVAR_OPTION_FLAG,
     .group = "Loss",
     .help = "leave out the clean rows"},
	{.name = "residual",
     .type = INVAR_OPTION_FLAG,
     .group = "Loss",
     .help = "treat the adapter as E(z) = z + MLP(z), whatever its file says"},
	{.name = "alpha",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .max = 1e9,
     .meta = "W",
     .group = "Loss",
     .help = "weight of the decoder's squared error"},
	{.name = "beta",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .max = 1e9,
     .meta = "W",
     .group = "Loss",
     .help = "weight of the loss itself if there is a decoder"},
	{INV_SEED_ROW},
	{0},
};

/* Of the frame (loss.h), which a training measures on its clean features. */
static const invar_option frame_rows[] = {
	{.name = "distance",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1e30,
     .meta = "F",
     .group = "Loss",
     .help = "keep: mean squared distance of two clean rows; 0: 2 d N / (N - 1)"},
	{0},
};

invar_status inv_loss_options_declare(invar_options *o)
{
	const inv_loss *loss;
	invar_status st = inv_options_add_rows(o, own_rows);

	if (st == INVAR_OK)
		st = inv_loss_declare(o, "kind");
	for (size_t i = 0; (loss = inv_loss_at(i)) && st == INVAR_OK; i++)
		if (loss->needs_scaled)
			st = inv_options_add_part(o, "kind", loss->name, frame_rows);
	return st == INVAR_OK ? inv_loss_declare_defaults(o, "kind") : st;
}

/* ---- Checks ---------------------------------------------------------------------- */

static invar_status check_adapter(const inv_loss_input *in, const invar_options *o,
                                  const inv_loss *loss)
{
	const invar_adapter *e = in->adapter, *d = in->decoder;

	if (in->dim != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "the features are %" PRIu32 " wide but %s takes %zu", in->dim,
		                e->path, e->s.d);
	if (loss->same_width && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s needs codes as wide as the features, but %s maps %zu to %zu",
		                loss->name, e->path, e->s.w, e->s.d);
	if (inv_option_flag(o, "residual") && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: cannot be residual, because it maps %zu to %zu", e->path,
		                e->s.d, e->s.w);
	if (d && loss->no_decoder)
		return inv_fail(INVAR_E_USE, "%s takes no decoder; leave it out", loss->name);
	if (d && (d->s.d != e->s.w || d->s.w != e->s.d))
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: maps %zu to %zu, but a decoder of %s maps %zu to %zu", d->path,
		                d->s.d, d->s.w, e->path, e->s.w, e->s.d);
	if (d && d->residual)
		return inv_fail(INVAR_E_MISMATCH, "%s: is residual, but a decoder cannot be",
		                d->path);
	return INVAR_OK;
}

/* A loss of pairs uses exactly two views of each image. */
static bool is_of_pairs(const inv_loss *loss)
{
	return loss->min_samples == 2 && loss->max_samples == 2;
}

static invar_status check_rows(const inv_loss_input *in, const invar_options *o,
                               const inv_loss *loss)
{
	if (!in->images)
		return inv_fail(INVAR_E_USE, "there are no rows to compute a loss on");
	if (in->views && !is_of_pairs(loss))
		return inv_fail(INVAR_E_USE, "%s does not use pairs of views", loss->name);
	if (!in->clean && (!in->views || in->decoder))
		return inv_fail(INVAR_E_USE, "the clean features are missing");
	if (in->samples < loss->min_samples ||
	    (!in->samples && inv_option_flag(o, "no-identity")) ||
	    (in->samples && !in->aug && !in->views))
		return inv_fail(INVAR_E_USE, "%s needs copies%s here, but there are none",
		                loss->name, is_of_pairs(loss) ? " or views" : "");
	if (loss->max_samples && in->samples > loss->max_samples)
		return inv_fail(INVAR_E_USE, "%s takes %u %s per image, but there are %" PRIu32,
		                loss->name, loss->max_samples,
		                inv_noun(loss->max_samples, "sample", "samples"), in->samples);
	if (in->groups > 1 && (!loss->several || !in->samples))
		return inv_fail(INVAR_E_USE, "%s takes one augmentation, but there are %" PRIu32,
		                loss->name, in->groups);
	if ((in->vicinal || in->origin) && !loss->needs_scaled)
		return inv_fail(INVAR_E_USE, "%s uses no vicinal rows and no origin", loss->name);
	if (in->groups > INV_MAX_LOSS_GROUPS)
		return inv_fail(INVAR_E_USE,
		                "there are %" PRIu32 " augmentations, but at most %d are supported",
		                in->groups, INV_MAX_LOSS_GROUPS);
	return INVAR_OK;
}

static invar_status check_permutation(const uint32_t *sigma, size_t M, const char *part,
                                      size_t group, bool *seen)
{
	if (!sigma)
		return inv_fail(INVAR_E_USE, "%s: a permutation of augmentation %zu is missing",
		                part, group + 1);
	memset(seen, 0, M * sizeof *seen);
	for (size_t r = 0; r < M; r++) {
		if (sigma[r] >= M || seen[sigma[r]])
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: a permutation of augmentation %zu contains %" PRIu32
			                "%s, but must contain each of 0 to %zu once",
			                part, group + 1, sigma[r], sigma[r] < M ? " twice" : "", M - 1);
		seen[sigma[r]] = true;
	}
	return INVAR_OK;
}

static invar_status check_draws(const inv_loss_input *in, const invar_options *o,
                                const inv_loss *loss)
{
	static const char *const parts[] = {"xz", "xx", "zz"};
	size_t M = (in->samples + loss->codes_clean(o)) * in->images;
	invar_status st = INVAR_OK;
	bool *seen;

	if (!in->draws)
		return INVAR_OK;
	if (!inv_options_uses(o, "kind", loss->name, "projections"))
		return inv_fail(INVAR_E_USE, "%s uses no directions or permutations", loss->name);
	if (!(seen = inv_calloc(M, sizeof *seen)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu rows", M);
	for (size_t i = 0; i < 6 * in->groups && st == INVAR_OK; i++) {
		const inv_loss_draws *draws = &in->draws[i / 6];

		if (!draws->directions[i % 3])
			st = inv_fail(INVAR_E_USE, "%s: the directions of augmentation %zu are missing",
			              parts[i % 3], i / 6 + 1);
		else
			st = check_permutation(draws->permutations[i % 3][i / 3 % 2], M, parts[i % 3],
			                       i / 6, seen);
	}
	inv_free(seen);
	return st;
}

static invar_status check(const inv_loss_input *in, const invar_options *o,
                          const inv_loss *loss)
{
	invar_status st = inv_options_check_parts(o);

	if (st == INVAR_OK && loss->check)
		st = loss->check(o);
	if (st == INVAR_OK)
		st = check_adapter(in, o, loss);
	if (st == INVAR_OK)
		st = check_rows(in, o, loss);
	return st == INVAR_OK ? check_draws(in, o, loss) : st;
}

/* ---- The step ---------------------------------------------------------------------- */

/* [N, d] and [G, N, s, d] -> rows k N + i. */
static float *stack_rows(const inv_loss_input *in)
{
	size_t N = in->images, s = in->samples, d = in->dim, G = in->groups;
	float *rows = inv_calloc((G * s + 1) * N * d, sizeof *rows);

	if (!rows)
		return NULL;
	if (in->clean)
		memcpy(rows, in->clean, N * d * sizeof *rows);
	if (in->views)
		memcpy(rows + N * d, in->views, 2 * N * d * sizeof *rows);
	for (size_t i = 0; i < G * N && !in->views; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((1 + i / N * s + k) * N + i % N) * d, in->aug + (i * s + k) * d,
			       d * sizeof *rows);
	return rows;
}

static void load_params(const inv_loss_input *in, inv_step *p)
{
	memcpy(p->params, in->adapter->params, p->adapter_floats * sizeof(float));
	if (in->decoder)
		memcpy(p->params + p->adapter_floats, in->decoder->params,
		       (p->floats - p->adapter_floats) * sizeof(float));
}

/* The rows are in units: N of them have this distance if their mean is 0 and sigma is 1. */
static inv_loss_frame find_frame(const inv_loss_input *in, const invar_options *o)
{
	double N = (double)in->images, distance = inv_option_number(o, "distance");

	if (!(distance > 0))
		distance = 2 * in->dim * (N > 1 ? N / (N - 1) : 1);
	return (inv_loss_frame){.distance = distance, .origin = in->origin};
}

static invar_status evaluate(const invar_context *ctx, const inv_loss_input *in,
                             const inv_step_spec *spec, inv_loss_result *out)
{
	float *rows = stack_rows(in);
	inv_step *p = NULL;
	inv_loss_value value;
	invar_status st = rows ? inv_step_new(ctx, spec, &p)
	                       : inv_fail(INVAR_E_NOMEM, "not enough memory for the rows");

	if (st == INVAR_OK) {
		load_params(in, p);
		p->draws = in->draws;
		p->vicinal = in->vicinal;
		st = inv_step_gradients(p, rows, &value);
	}
	if (st == INVAR_OK)
		st = inv_loss_collect(p, rows, &value, out);
	if (st == INVAR_E_NUMERIC)
		inv_context(st, "%s on these rows with %s", spec->loss->name, in->adapter->path);
	inv_step_free(p);
	inv_free(rows);
	return st;
}

invar_status inv_loss_evaluate(const invar_context *ctx, const inv_loss_input *in,
                               const invar_options *o, inv_loss_result *out)
{
	inv_loss_input input = *in;
	inv_step_spec spec = {.update = true,
	                      .without_moments = true,
	                      .loss = inv_loss_find(inv_option_text(o, "kind")),
	                      .options = o};
	invar_status st;

	*out = (inv_loss_result){0};
	if (input.views)
		input.samples = 2;
	if (!input.groups)
		input.groups = 1;
	if ((st = check(&input, o, spec.loss)) != INVAR_OK)
		return st;
	spec.shape = input.adapter->s;
	spec.residual = inv_option_flag(o, "residual") || input.adapter->residual;
	spec.N = input.images;
	spec.s = input.samples;
	spec.groups = input.groups;
	spec.seed = inv_option_count(o, "seed");
	spec.alpha = inv_option_number(o, "alpha");
	spec.beta = input.decoder ? inv_option_number(o, "beta") : 1;
	if (input.decoder)
		spec.decoder = input.decoder->s;
	if (spec.loss->needs_scaled)
		spec.frame = find_frame(&input, o);
	return evaluate(ctx, &input, &spec, out);
}
