/*
 * evaluate_loss.c - invar_loss: value and gradients on given arrays, for checking.
 *
 * The arrays become the rows of one training step, so that what is checked is
 * what trains.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/loss_options.h"
#include "adapter/loss_result.h"
#include "base/fields.h"
#include "base/text.h"

#define FIELD(member) offsetof(invar_loss_opts, member)
#define ABOVE INVAR_FIELD_ABOVE

static const invar_field fields[] = {
	{"anchor", INVAR_FIELD_NUMBER, FIELD(anchor), 0, 1e9, 0, NULL, "W", "Loss",
     "weight of mawa's clean term"},
	{"no-identity", INVAR_FIELD_FLAG, FIELD(no_identity), 0, 1, 0, NULL, NULL, "Loss",
     "leave out the clean rows"},
	{"residual", INVAR_FIELD_FLAG, FIELD(residual), 0, 1, 0, NULL, NULL, "Loss",
     "read the adapter as E(z) = z + MLP(z), whatever its file says"},
	{"projections", INVAR_FIELD_COUNT, FIELD(projections), 1, 1 << 20, 0, NULL, "N", "Loss",
     "directions of each sliced distance of waco and sw, where none are given"},
	{"p", INVAR_FIELD_NUMBER, FIELD(p), 1, INV_POWER_MOST, 0, NULL, "F", "Loss",
     "power of the distances of waco and sw"},
	{"slices", INVAR_FIELD_TEXT, FIELD(slices), 0, 0, 0, INV_SLICES, "WORD", "Loss",
     "directions that are drawn: independent, or orthogonal in blocks"},
	{"shuffle", INVAR_FIELD_TEXT, FIELD(shuffle), 0, 0, 0, INV_SHUFFLES, "WORD", "Loss",
     "which halves of XX and ZZ waco permutes, where no permutations are given"},
	{"temperature", INVAR_FIELD_NUMBER, FIELD(temperature), 0, 1e6, ABOVE, NULL, "F",
     "Loss", "temperature of simclr"},
	{"sigma-x", INVAR_FIELD_TEXT, FIELD(sigma_x), 0, 0, 0, NULL, "F", "Loss",
     "width of hsic's kernel on features: a number or median"},
	{"sigma-z", INVAR_FIELD_TEXT, FIELD(sigma_z), 0, 0, 0, NULL, "F", "Loss",
     "the same on codes"},
	{"alpha", INVAR_FIELD_NUMBER, FIELD(alpha), 0, 1e9, 0, NULL, "W", "Loss",
     "weight of the decoder's squared error"},
	{"beta", INVAR_FIELD_NUMBER, FIELD(beta), 0, 1e9, 0, NULL, "W", "Loss",
     "weight of the loss beside a decoder"},
	{"seed", INVAR_FIELD_COUNT, FIELD(seed), 0, 0x1p53, 0, NULL, "N", "Common",
     "key of every random draw"},
};

static const inv_fields table = {fields, sizeof fields / sizeof *fields};

void invar_loss_defaults(invar_loss_opts *o)
{
	*o = (invar_loss_opts){.size = sizeof *o,
	                       .kind = "mawa",
	                       .anchor = 1,
	                       .projections = 1000,
	                       .p = 2,
	                       .slices = "random",
	                       .shuffle = "both",
	                       .temperature = 0.5,
	                       .sigma_x = "median",
	                       .sigma_z = "median",
	                       .alpha = 1,
	                       .beta = 1};
}

const invar_field *invar_loss_fields(size_t *count)
{
	*count = table.count;
	return fields;
}

/* ---- Checks ---------------------------------------------------------------------- */

static invar_status check_adapter(const invar_loss_input *in, const invar_loss_opts *o,
                                  const inv_loss *loss)
{
	const invar_adapter *e = in->adapter, *d = in->decoder;

	if (in->dim != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "the features are %" PRIu32 " wide but %s takes %zu", in->dim,
		                e->path, e->s.d);
	if (loss->same_width && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s needs codes as wide as the features, %s gives %zu for %zu",
		                loss->name, e->path, e->s.w, e->s.d);
	if (o->residual && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH, "%s: cannot be residual, it maps %zu to %zu",
		                e->path, e->s.d, e->s.w);
	if (d && (d->s.d != e->s.w || d->s.w != e->s.d))
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: maps %zu to %zu, but a decoder of %s maps %zu to %zu", d->path,
		                d->s.d, d->s.w, e->path, e->s.w, e->s.d);
	if (d && d->residual)
		return inv_fail(INVAR_E_MISMATCH, "%s: is residual, which a decoder is not",
		                d->path);
	return INVAR_OK;
}

/* Two views of each image are all that a loss of pairs looks at. */
static bool is_of_pairs(const inv_loss *loss)
{
	return loss->fewest_samples == 2 && loss->most_samples == 2;
}

static invar_status check_rows(const invar_loss_input *in, const inv_loss_opts *o,
                               const inv_loss *loss)
{
	if (!in->images)
		return inv_fail(INVAR_E_USE, "there are no rows to compute a loss of");
	if (in->views && !is_of_pairs(loss))
		return inv_fail(INVAR_E_USE, "%s does not look at pairs of views", loss->name);
	if (!in->clean && (!in->views || in->decoder))
		return inv_fail(INVAR_E_USE, "the clean features are missing");
	if (in->samples < loss->fewest_samples || (!in->samples && o->no_identity) ||
	    (in->samples && !in->aug && !in->views))
		return inv_fail(INVAR_E_USE, "%s needs augmented rows here, and there are none: %s",
		                loss->name,
		                is_of_pairs(loss) ? "--aug A.npy or --views V.npy" : "--aug A.npy");
	if (loss->most_samples && in->samples > loss->most_samples)
		return inv_fail(INVAR_E_USE, "%s takes %u %s of an image, there are %" PRIu32,
		                loss->name, loss->most_samples,
		                inv_noun(loss->most_samples, "sample", "samples"), in->samples);
	if (in->groups > 1 && (!loss->several || !in->samples))
		return inv_fail(INVAR_E_USE, "%s takes one augmentation, there are %" PRIu32,
		                loss->name, in->groups);
	if (in->groups > INV_GROUPS_MOST)
		return inv_fail(INVAR_E_USE, "there are %" PRIu32 " augmentations, at most %d go",
		                in->groups, INV_GROUPS_MOST);
	return INVAR_OK;
}

static invar_status check_permutation(const uint32_t *sigma, size_t M, const char *part,
                                      size_t group, bool *seen)
{
	if (!sigma)
		return inv_fail(INVAR_E_USE,
		                "--perm-%s: a permutation of augmentation %zu is missing", part,
		                group + 1);
	memset(seen, 0, M * sizeof *seen);
	for (size_t r = 0; r < M; r++) {
		if (sigma[r] >= M || seen[sigma[r]])
			return inv_fail(INVAR_E_MISMATCH,
			                "--perm-%s: a permutation of augmentation %zu holds %" PRIu32
			                "%s, but each of 0 to %zu must be in it once",
			                part, group + 1, sigma[r], sigma[r] < M ? " twice" : "", M - 1);
		seen[sigma[r]] = true;
	}
	return INVAR_OK;
}

static invar_status check_draws(const invar_loss_input *in, const inv_loss_opts *o,
                                const inv_loss *loss)
{
	static const char *const parts[] = {"xz", "xx", "zz"};
	size_t M = (in->samples + loss->codes_clean(o)) * in->images;
	invar_status st = INVAR_OK;
	bool *seen;

	if (!in->draws)
		return INVAR_OK;
	if (!inv_loss_takes(loss, "projections"))
		return inv_fail(INVAR_E_USE, "%s has no directions and permutations to be given",
		                loss->name);
	if (!(seen = inv_calloc(M, sizeof *seen)))
		return inv_fail(INVAR_E_NOMEM, "no memory for %zu rows", M);
	for (size_t i = 0; i < 6 * in->groups && st == INVAR_OK; i++) {
		const invar_loss_draws *draws = &in->draws[i / 6];

		if (!draws->directions[i % 3])
			st = inv_fail(INVAR_E_USE,
			              "--directions-%s: those of augmentation %zu are missing",
			              parts[i % 3], i / 6 + 1);
		else
			st = check_permutation(draws->permutations[i % 3][i / 3 % 2], M, parts[i % 3],
			                       i / 6, seen);
	}
	inv_free(seen);
	return st;
}

static invar_status read_options(const invar_loss_opts *o, inv_loss_opts *out)
{
	invar_status st = inv_fields_check(table, o);

	if (st != INVAR_OK)
		return st;
	*out = (inv_loss_opts){.anchor = o->anchor,
	                       .no_identity = o->no_identity,
	                       .projections = o->projections,
	                       .p = o->p,
	                       .temperature = o->temperature};
	return inv_loss_read_words(o->slices, o->shuffle, o->sigma_x, o->sigma_z, out);
}

static invar_status check(const invar_loss_input *in, const invar_loss_opts *o,
                          inv_step_spec *spec)
{
	const inv_loss *loss = o->kind ? inv_loss_find(o->kind) : NULL;
	invar_status st = read_options(o, &spec->opts);

	spec->loss = loss;
	if (!loss)
		return inv_fail(INVAR_E_USE, "there is no loss '%s', only %s",
		                o->kind ? o->kind : "", INV_LOSS_KINDS);
	if (st == INVAR_OK)
		st = check_adapter(in, o, loss);
	if (st == INVAR_OK)
		st = check_rows(in, &spec->opts, loss);
	return st == INVAR_OK ? check_draws(in, &spec->opts, loss) : st;
}

/* ---- The step ---------------------------------------------------------------------- */

/* [N, d] and [G, N, s, d] -> rows k N + i. */
static float *stack_rows(const invar_loss_input *in)
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

static void load_params(const invar_loss_input *in, inv_step *p)
{
	memcpy(p->params, in->adapter->params, p->adapter_floats * sizeof(float));
	if (in->decoder)
		memcpy(p->params + p->adapter_floats, in->decoder->params,
		       (p->floats - p->adapter_floats) * sizeof(float));
}

static invar_status evaluate(const invar_context *ctx, const invar_loss_input *in,
                             const inv_step_spec *spec, invar_loss_result *out)
{
	float *rows = stack_rows(in);
	inv_step *p = NULL;
	inv_loss_value value;
	invar_status st = rows ? inv_step_new(ctx, spec, &p)
	                       : inv_fail(INVAR_E_NOMEM, "no memory for the rows");

	if (st == INVAR_OK) {
		load_params(in, p);
		p->draws = in->draws;
		st = inv_step_gradients(p, rows, &value);
	}
	if (st == INVAR_OK)
		st = inv_loss_collect(p, rows, &value, out);
	if (st == INVAR_E_NUMERIC)
		inv_context(st, "%s on these rows under %s", spec->loss->name, in->adapter->path);
	inv_step_free(p);
	inv_free(rows);
	return st;
}

invar_status invar_loss(invar_context *ctx, const invar_loss_input *in,
                        const invar_loss_opts *o, invar_loss_result *out)
{
	/* Members that a caller's older header lacks are zero, or have their defaults. */
	invar_loss_input input = {0};
	invar_loss_opts opts;
	inv_step_spec spec = {.update = true};
	invar_status st;

	*out = (invar_loss_result){.size = sizeof *out};
	invar_loss_defaults(&opts);
	memcpy(&opts, o, o->size < sizeof opts ? o->size : sizeof opts);
	memcpy(&input, in, in->size < sizeof input ? in->size : sizeof input);
	if (input.views)
		input.samples = 2;
	if (!input.groups)
		input.groups = 1;
	if ((st = check(&input, &opts, &spec)) != INVAR_OK)
		return st;
	spec.shape = input.adapter->s;
	spec.residual = opts.residual || input.adapter->residual;
	spec.N = input.images;
	spec.s = input.samples;
	spec.groups = input.groups;
	spec.seed = opts.seed;
	spec.alpha = opts.alpha;
	spec.beta = opts.beta;
	if (input.decoder)
		spec.decoder = input.decoder->s;
	else
		spec.beta = 1;
	return evaluate(ctx, &input, &spec, out);
}
