/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluate_loss.c - value and gradients of a loss on given arrays.
 *
 * The arrays become the rows of one training step, so that the code that is checked is the
 * code that trains.
 */
#include "adapter/evaluate_loss.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapter/step.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"

static const invar_option own_rows[] = {
	{"kind", INVAR_OPTION_TEXT, "mawa", .choice = inv_loss_name_at, .meta = "WORD",
     .group = "Loss", .help = "the loss"},
	{"no-identity", INVAR_OPTION_FLAG, .group = "Loss", .help = "leave out the clean rows"},
	{"residual", INVAR_OPTION_FLAG, .group = "Loss",
     .help = "treat the adapter as E(z) = z + MLP(z), whatever its file says"},
	{"alpha", INVAR_OPTION_NUMBER, "1", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "W", .group = "Loss", .help = "weight of the decoder's squared error"},
	{"beta", INVAR_OPTION_NUMBER, "1", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "W", .group = "Loss",
     .help = "weight of the loss itself if there is a decoder"},
	{INV_SEED_ROW},
	{0},
};

/* Of the frame (loss.h), which a training measures on its clean features. */
static const invar_option frame_rows[] = {
	{"distance", INVAR_OPTION_NUMBER, "0", .max = 1e30, .meta = "F", .group = "Loss",
     .help = "keep: mean squared distance of two clean rows; 0: 2 d N / (N - 1)"},
	{0},
};

invar_status inv_loss_options_declare(invar_options *o)
{
	const inv_loss *loss;

	INV_TRY(inv_options_add_rows(o, own_rows));
	INV_TRY(inv_loss_declare(o, "kind"));
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		if (loss->needs_scaled)
			INV_TRY(inv_options_add_part(o, "kind", loss->name, frame_rows));
	return INVAR_OK;
}

/* ---- Checks ---------------------------------------------------------------------- */

static invar_status check_loss_adapter(const inv_loss_input *in, const invar_options *o,
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

static invar_status check_loss_rows(const inv_loss_input *in, const invar_options *o,
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

static invar_status check_draws(const inv_loss_input *in, const invar_options *o,
                                const inv_loss *loss)
{
	static const char *const distances[] = {"xz", "xx", "zz"};
	size_t M = (in->samples + loss->codes_clean(o)) * in->images;
	invar_status st = INVAR_OK;
	bool *seen;

	if (!in->draws)
		return INVAR_OK;
	if (!inv_options_uses(o, "kind", loss->name, "projections"))
		return inv_fail(INVAR_E_USE, "%s uses no directions or permutations", loss->name);
	INV_TRY(inv_new_array(&seen, M));
	for (size_t i = 0; i < 6 * in->groups; i++) {
		const uint32_t *sigma = in->draws[i / 6].permutations[i % 3][i / 3 % 2];
		const char *distance = distances[i % 3];

		if (!in->draws[i / 6].directions[i % 3] || !sigma)
			INV_TRY_OR(done, inv_fail(INVAR_E_USE, "%s: %s of augmentation %zu %s missing",
			                          distance, sigma ? "the directions" : "a permutation",
			                          i / 6 + 1, sigma ? "are" : "is"));
		memset(seen, 0, M * sizeof *seen);
		for (size_t r = 0; r < M; r++) {
			if (sigma[r] >= M || seen[sigma[r]])
				INV_TRY_OR(
					done, inv_fail(INVAR_E_MISMATCH,
				                   "%s: a permutation of augmentation %zu contains %" PRIu32
				                   "%s, but must contain each of 0 to %zu once",
				                   distance, i / 6 + 1, sigma[r],
				                   sigma[r] < M ? " twice" : "", M - 1));
			seen[sigma[r]] = true;
		}
	}
done:
	inv_free(seen);
	return st;
}

/* ---- The result ------------------------------------------------------------------- */

/* The name with '_' for '.'; data, if any, are copied. Its array is *out. */
static invar_status add_grad(inv_loss_result *r, const char *prefix, const char *name,
                             unsigned dims, const uint64_t *shape, const float *data,
                             float **out)
{
	inv_named_array *g = &r->grads[r->grad_count++];
	size_t cells = shape[0] * (dims > 1 ? shape[1] : 1);
	char text[32];

	snprintf(text, sizeof text, "%s%s", prefix, name);
	for (char *at = text; *at; at++)
		if (*at == '.')
			*at = '_';
	g->ndim = dims;
	memcpy(g->shape, shape, dims * sizeof *shape);
	INV_TRY(inv_new_text(&g->name, text));
	INV_TRY(inv_new_zeros(&g->data, cells));
	if (data)
		memcpy(g->data, data, cells * sizeof *data);
	if (out)
		*out = g->data;
	return INVAR_OK;
}

static invar_status add_blocks(inv_loss_result *r, const char *prefix, inv_mlp_shape s,
                               const float *grads)
{
	inv_mlp_block b[INV_MLP_BLOCKS];

	inv_mlp_layout(s, b);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		INV_TRY(add_grad(r, prefix, b[i].name, b[i].ndim, b[i].shape, grads + b[i].offset,
		                 NULL));
	return INVAR_OK;
}

/*
 * The codes of one augmentation of several: clean rows if the loss has them, then its own.
 * d(-log(-L)) = dL / (-L). The draws are those that it has among the others: by the same
 * key, or those given for it.
 */
static invar_status add_group(inv_step *p, const float *rows, size_t group,
                              inv_loss_result *r)
{
	const inv_loss *loss = p->spec.loss;
	inv_loss_shape s = p->loss_shape;
	inv_loss_batch b = {.clean = rows, .seed = p->spec.seed, .step = p->t, .group = group};
	const float *all = p->codes + p->front * s.w;
	size_t clean = loss->codes_clean(s.options) * s.N * s.w, copies = s.s * s.N * s.w;
	inv_loss_value value = {0};
	inv_loss_work work = {0};
	uint64_t shape[2];
	char name[16];
	float *codes, *grad;
	invar_status st;

	s.groups = 1;
	shape[0] = inv_loss_rows(loss, &s);
	shape[1] = s.w;
	snprintf(name, sizeof name, "codes_%zu", group + 1);
	INV_TRY(add_grad(r, "", name, 2, shape, NULL, &grad));
	INV_TRY(inv_new_array(&codes, shape[0] * shape[1]));
	memcpy(codes, all, clean * sizeof *codes);
	memcpy(codes + clean, all + clean + group * copies, copies * sizeof *codes);
	b.codes = codes;
	b.draws = p->draws ? p->draws + group : NULL;
	INV_TRY_OR(done, loss->prepare(&s, &work));
	INV_TRY_OR(done, loss->evaluate(&s, work.state, &b, &value, grad));
	for (size_t i = 0; i < shape[0] * shape[1]; i++)
		grad[i] = value.value < 0 ? (float)(grad[i] * p->spec.beta / -value.value) : 0;
done:
	if (work.state)
		loss->release(work.state);
	inv_free(codes);
	return st;
}

/* After inv_step_gradients of these rows. */
static invar_status collect_result(inv_step *p, const float *rows,
                                   const inv_loss_value *value, inv_loss_result *r)
{
	size_t groups = p->spec.groups;
	const uint64_t shape[2] = {p->rows, p->spec.shape.w};

	r->value = value->value;
	INV_TRY(inv_new_zeros(&r->terms, INV_VALUE_TERMS));
	INV_TRY(inv_new_zeros(&r->grads, 2 * INV_MLP_BLOCKS + groups));
	for (size_t i = 0; i < p->term_count; i++) {
		inv_named_value *term = &r->terms[r->term_count++];

		term->value = value->term[i];
		INV_TRY(inv_new_text(&term->name, p->terms[i]));
	}
	if (groups == 1)
		INV_TRY(add_grad(r, "", "codes", 2, shape, p->d_codes, NULL));
	for (size_t g = 0; g < groups && groups > 1; g++)
		INV_TRY(add_group(p, rows, g, r));
	INV_TRY(add_blocks(r, "", p->spec.shape, p->grads));
	if (p->decoder)
		INV_TRY(add_blocks(r, "dec_", p->spec.decoder, p->grads + p->adapter_floats));
	for (size_t i = 0; i < r->grad_count; i++) {
		const inv_named_array *g = &r->grads[i];

		if (!p->kernels.all_finite(g->data, g->shape[0] * (g->ndim > 1 ? g->shape[1] : 1)))
			return inv_fail(INVAR_E_NUMERIC,
			                "the gradient of %s has values too large for a float", g->name);
	}
	return INVAR_OK;
}

void inv_loss_result_clear(inv_loss_result *r)
{
	for (size_t i = 0; i < r->grad_count; i++) {
		inv_free(r->grads[i].name);
		inv_free(r->grads[i].data);
	}
	for (size_t i = 0; i < r->term_count; i++)
		inv_free(r->terms[i].name);
	inv_free(r->terms);
	inv_free(r->grads);
	*r = (inv_loss_result){0};
}

/* ---- The step ---------------------------------------------------------------------- */

/* Makes a step of these arrays, [N, d] and [G, N, s, d] -> rows k N + i, and its result. */
static invar_status evaluate(const invar_context *ctx, const inv_loss_input *in,
                             const inv_step_spec *spec, inv_loss_result *out)
{
	size_t N = in->images, s = in->samples, d = in->dim, G = in->groups;
	inv_step *p = NULL;
	inv_loss_value value;
	float *rows;
	invar_status st;

	INV_TRY(inv_new_zeros(&rows, (G * s + 1) * N * d));
	if (in->clean)
		memcpy(rows, in->clean, N * d * sizeof *rows);
	if (in->views)
		memcpy(rows + N * d, in->views, 2 * N * d * sizeof *rows);
	for (size_t i = 0; i < G * N && !in->views; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((1 + i / N * s + k) * N + i % N) * d, in->aug + (i * s + k) * d,
			       d * sizeof *rows);

	INV_TRY_OR(done, inv_step_new(ctx, spec, &p));
	memcpy(p->params, in->adapter->params, p->adapter_floats * sizeof(float));
	if (in->decoder)
		memcpy(p->params + p->adapter_floats, in->decoder->params,
		       (p->floats - p->adapter_floats) * sizeof(float));
	p->draws = in->draws;
	p->vicinal = in->vicinal;
	INV_TRY_OR(done, inv_step_gradients(p, rows, &value));
	INV_TRY_OR(done, collect_result(p, rows, &value, out));
done:
	if (st == INVAR_E_NUMERIC)
		inv_context(st, "%s on these rows with %s", spec->loss->name, in->adapter->path);
	if (st != INVAR_OK)
		inv_loss_result_clear(out);
	inv_step_free(p);
	inv_free(rows);
	return st;
}

invar_status inv_loss_evaluate(const invar_context *ctx, const inv_loss_input *given,
                               const invar_options *o, inv_loss_result *out)
{
	inv_loss_input in = *given;
	const inv_loss *loss = inv_loss_find(inv_option_text(o, "kind"));
	inv_step_spec spec;

	*out = (inv_loss_result){0};
	if (in.views)
		in.samples = 2;
	if (!in.groups)
		in.groups = 1;
	INV_TRY(inv_options_check_parts(o));
	if (loss->check)
		INV_TRY(loss->check(o));
	INV_TRY(check_loss_adapter(&in, o, loss));
	INV_TRY(check_loss_rows(&in, o, loss));
	INV_TRY(check_draws(&in, o, loss));
	spec = (inv_step_spec){
		.update = true,
		.without_moments = true,
		.loss = loss,
		.options = o,
		.shape = in.adapter->s,
		.residual = inv_option_flag(o, "residual") || in.adapter->residual,
		.N = in.images,
		.s = in.samples,
		.groups = in.groups,
		.seed = inv_option_count(o, "seed"),
		.alpha = inv_option_number(o, "alpha"),
		.beta = in.decoder ? inv_option_number(o, "beta") : 1,
	};
	if (in.decoder)
		spec.decoder = in.decoder->s;
	if (loss->needs_scaled) {
		/* In units, of mean 0 and sigma 1, N rows have this distance. */
		double N = (double)in.images, distance = inv_option_number(o, "distance");

		if (!(distance > 0))
			distance = 2 * in.dim * (N > 1 ? N / (N - 1) : 1);
		spec.frame = (inv_loss_frame){.distance = distance, .origin = in.origin};
	}
	return evaluate(ctx, &in, &spec, out);
}
