/* train_options.c - the options of training: defaults, table, what they mean together. */
#include "adapter/train_options.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "adapter/closed.h"
#include "adapter/loss_options.h"
#include "base/text.h"

#define FIELD(member) offsetof(invar_train_opts, member)
#define RESULT INVAR_FIELD_RESULT
#define ABOVE INVAR_FIELD_ABOVE

static const invar_field fields[] = {
	{"loss", INVAR_FIELD_TEXT, FIELD(loss), 0, 0, RESULT, INV_LOSS_KINDS "|none", "WORD",
     "Method", "what is minimised; none leaves the closed form of --init as it is"},
	{"init", INVAR_FIELD_TEXT, FIELD(init), 0, 0, RESULT, "random|" INV_CLOSED_KINDS,
     "WORD", "Method",
     "where E begins; all but random need --hidden of at least twice the features"},
	{"ridge", INVAR_FIELD_NUMBER, FIELD(ridge), 0, 1e9, RESULT, NULL, "F", "Method",
     "strength of --init ridge, in mean diagonals of the Gram matrix; 0 chooses it on "
     "held-out images"},
	{"residual", INVAR_FIELD_FLAG, FIELD(residual), 0, 1, RESULT, NULL, NULL, "Method",
     "E(z) = z + MLP(z), which begins at the identity; try it with --lr 1e-4"},
	{"anchor", INVAR_FIELD_NUMBER, FIELD(anchor), 0, 1e9, RESULT, NULL, "W", "Method",
     "weight of MaWa's clean term"},
	{"no-identity", INVAR_FIELD_FLAG, FIELD(no_identity), 0, 1, RESULT, NULL, NULL,
     "Method", "leave out the clean rows (not of simclr, which has none)"},
	{"samples", INVAR_FIELD_COUNT, FIELD(samples), 0, 1000, RESULT, NULL, "N", "Method",
     "copies of an image that a step draws; simclr takes 2"},
	{"hidden", INVAR_FIELD_COUNT, FIELD(hidden), 1, 1 << 20, RESULT, NULL, "N", "Method",
     "width of the hidden layer"},
	{"width", INVAR_FIELD_COUNT, FIELD(width), 0, 1 << 20, RESULT, NULL, "N", "Method",
     "width of a code; 0 is that of the features, the only one for mawa"},
	{"projections", INVAR_FIELD_COUNT, FIELD(projections), 1, 1 << 20, RESULT, NULL, "N",
     "Loss", "directions of each sliced distance of waco"},
	{"p", INVAR_FIELD_NUMBER, FIELD(p), 1, INV_POWER_MOST, RESULT, NULL, "F", "Loss",
     "power of the distances of waco"},
	{"slices", INVAR_FIELD_TEXT, FIELD(slices), 0, 0, RESULT, INV_SLICES, "WORD", "Loss",
     "directions of waco: independent, or orthogonal in blocks"},
	{"shuffle", INVAR_FIELD_TEXT, FIELD(shuffle), 0, 0, RESULT, INV_SHUFFLES, "WORD",
     "Loss", "which halves of XX and ZZ waco permutes"},
	{"temperature", INVAR_FIELD_NUMBER, FIELD(temperature), 0, 1e6, RESULT | ABOVE, NULL,
     "F", "Loss", "temperature of simclr"},
	{"sigma-x", INVAR_FIELD_TEXT, FIELD(sigma_x), 0, 0, RESULT, NULL, "F", "Loss",
     "width of hsic's kernel on features: a number, or the median of each batch"},
	{"sigma-z", INVAR_FIELD_TEXT, FIELD(sigma_z), 0, 0, RESULT, NULL, "F", "Loss",
     "the same on codes"},

	{"decoder", INVAR_FIELD_FLAG, FIELD(decoder), 0, 1, RESULT, NULL, NULL, "Loss",
     "train a decoder beside E that rebuilds clean features from their codes"},
	{"alpha", INVAR_FIELD_NUMBER, FIELD(alpha), 0, 1e9, RESULT, NULL, "W", "Loss",
     "weight of the decoder's squared error"},
	{"beta", INVAR_FIELD_NUMBER, FIELD(beta), 0, 1e9, RESULT, NULL, "W", "Loss",
     "weight of the loss beside a decoder"},

	{"split", INVAR_FIELD_TEXT, FIELD(split), 0, 0, RESULT, NULL, "NAME", "Data",
     "the split of the bank that trains"},
	{"copies", INVAR_FIELD_COUNT, FIELD(copies), 0, 1e6, RESULT, NULL, "N", "Data",
     "use the first N copies of the bank; 0 is all"},
	{"also", INVAR_FIELD_LIST, FIELD(also), 0, 0, 0, NULL, "BANK2", "Data",
     "another augmentation for waco: a bank of the same clean rows"},
	{"validation", INVAR_FIELD_NUMBER, FIELD(validation), 0, 0.9, RESULT, NULL, "F", "Data",
     "share of the images held out and measured after each epoch"},
	{"keep", INVAR_FIELD_TEXT, FIELD(keep), 0, 0, RESULT, "last|best", "WORD", "Data",
     "which epoch becomes the adapter; best is by validation loss"},

	{"epochs", INVAR_FIELD_COUNT, FIELD(epochs), 1, 1e6, RESULT, NULL, "N", "Optimiser",
     "passes over the images"},
	{"batch", INVAR_FIELD_COUNT, FIELD(batch), 0, 1 << 20, RESULT, NULL, "N", "Optimiser",
     "images a step, the last incomplete batch is dropped; 0 is the loss's own: 256, for "
     "simclr 1024"},
	{"lr", INVAR_FIELD_NUMBER, FIELD(lr), 0, 1e3, RESULT | ABOVE, NULL, "F", "Optimiser",
     "learning rate of the first epoch (AdamW)"},
	{"lr-min", INVAR_FIELD_NUMBER, FIELD(lr_min), 0, 1e3, RESULT, NULL, "F", "Optimiser",
     "where cosine annealing ends; never above --lr"},
	{"weight-decay", INVAR_FIELD_NUMBER, FIELD(weight_decay), 0, 1e3, RESULT, NULL, "F",
     "Optimiser", "decoupled decay, of biases too"},

	{"checkpoint-seconds", INVAR_FIELD_NUMBER, FIELD(checkpoint_seconds), 0, 1e9, 0, NULL,
     "F", "Run", "at most one checkpoint in so many seconds, at the end of an epoch"},
	{"resume", INVAR_FIELD_FLAG, FIELD(resume), 0, 1, 0, NULL, NULL, "Run",
     "go on with a run that was interrupted, with its options"},
	{"force", INVAR_FIELD_FLAG, FIELD(force), 0, 1, 0, NULL, NULL, "Run",
     "replace a run that already exists, once the new one is finished"},
	{"seed", INVAR_FIELD_COUNT, FIELD(seed), 0, 0x1p53, RESULT, NULL, "N", "Common",
     "key of every random draw"},
};

const inv_fields inv_train_table = {fields, sizeof fields / sizeof *fields};

void invar_train_defaults(invar_train_opts *o)
{
	*o = (invar_train_opts){.size = sizeof *o,
	                        .loss = "mawa",
	                        .split = "train",
	                        .epochs = 100,
	                        .samples = 3,
	                        .hidden = 4096,
	                        .lr = 1e-3,
	                        .lr_min = 4e-4,
	                        .weight_decay = 1e-4,
	                        .anchor = 1,
	                        .keep = "last",
	                        .checkpoint_seconds = 60,
	                        .init = "random",
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

const invar_field *invar_train_fields(size_t *count)
{
	*count = inv_train_table.count;
	return fields;
}

/* The paper's schedule ends at 4e-4; a smaller --lr stays where it is, it never rises. */
double inv_train_lr_min(const invar_train_opts *o)
{
	return o->lr_min < o->lr ? o->lr_min : o->lr;
}

static invar_status check_source(const invar_train_opts *o, const invar_bank *b, bool fresh,
                                 inv_source *out)
{
	const inv_split *s = inv_bank_split(b, o->split);

	if (!s)
		return INVAR_E_MISMATCH;
	if (o->copies > s->copies && !fresh)
		return inv_fail(
			INVAR_E_MISMATCH, "%s: --copies is %" PRIu64 " but %s has %" PRIu32 " %s",
			b->path, o->copies, s->name, s->copies, inv_noun(s->copies, "copy", "copies"));
	*out = (inv_source){b, s, o->copies ? (uint32_t)o->copies : s->copies};
	return INVAR_OK;
}

/* Every epoch has copies of its own, so what chooses among those of a bank is refused. */
static invar_status check_fresh(const invar_train_opts *o, inv_train_plan *p)
{
	const char *images = p->source[0].bank->path;

	if (o->copies)
		return inv_fail(INVAR_E_USE,
		                "--copies %" PRIu64 " chooses among the copies of a bank, but with "
		                "--images %s every epoch makes its own",
		                o->copies, images);
	if (!p->loss || (p->closed && inv_closed_needs_copies(o->init)))
		return inv_fail(INVAR_E_USE,
		                "%s %s needs a bank with copies, not --images %s; make one with "
		                "invar encode",
		                p->loss ? "--init" : "--loss", p->loss ? o->init : o->loss, images);
	p->source[0].copies = UINT32_MAX;
	return INVAR_OK;
}

static invar_status check_sources(const invar_train_opts *o, const invar_bank *const *banks,
                                  size_t count, inv_train_plan *p)
{
	invar_status st = check_source(o, banks[0], p->fresh, &p->source[0]);

	if (st == INVAR_OK && count > 1 && !(p->loss && p->loss->several))
		return inv_fail(INVAR_E_USE,
		                "--loss %s takes one augmentation, so --also %s has no place",
		                o->loss, banks[1]->path);
	for (size_t g = 1; g < count && st == INVAR_OK; g++)
		if ((st = check_source(o, banks[g], false, &p->source[g])) == INVAR_OK)
			st = inv_bank_check_alike(banks[0], p->source[0].split, banks[g],
			                          p->source[g].split);
	p->sources = (uint32_t)count;
	p->split = p->source[0].split;
	if (st == INVAR_OK && p->fresh && count > 1)
		return inv_fail(INVAR_E_USE, "--also %s needs a bank before it, not --images %s",
		                banks[1]->path, banks[0]->path);
	return st == INVAR_OK && p->fresh ? check_fresh(o, p) : st;
}

/* Of one source: are its copies enough for the loss? */
static invar_status check_copies(const invar_train_opts *o, const inv_loss *loss,
                                 const inv_source *from)
{
	if (from->copies < loss->fewest_samples)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: --loss %s needs %u %s of an image, %s has %" PRIu32,
		                from->bank->path, o->loss, loss->fewest_samples,
		                inv_noun(loss->fewest_samples, "copy", "copies"), from->split->name,
		                from->copies);
	if (o->samples && !from->copies)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: %s has no augmented copies (aug/000.npy …), so only --samples 0 "
			"can train on it; 'invar encode' with --augment adds copies",
			from->bank->path, from->split->name);
	return INVAR_OK;
}

/* s is what every source can give, and the loss can take. */
static invar_status check_samples(const invar_train_opts *o, inv_train_plan *p)
{
	invar_status st;

	if (!p->loss)
		return INVAR_OK;
	p->s = (uint32_t)o->samples;
	if (p->loss->most_samples && p->s > p->loss->most_samples)
		p->s = p->loss->most_samples;
	for (uint32_t g = 0; g < p->sources; g++) {
		if ((st = check_copies(o, p->loss, &p->source[g])) != INVAR_OK)
			return st;
		p->s = p->s < p->source[g].copies ? p->s : p->source[g].copies;
	}
	if (!p->s && p->sources > 1)
		return inv_fail(INVAR_E_USE, "--samples 0 leaves the banks of --also without use");
	if (p->s < p->loss->fewest_samples)
		return inv_fail(INVAR_E_USE,
		                "--loss %s needs %u %s of an image, --samples is %" PRIu64, o->loss,
		                p->loss->fewest_samples,
		                inv_noun(p->loss->fewest_samples, "copy", "copies"), o->samples);
	if (!p->s && o->no_identity)
		return inv_fail(INVAR_E_USE,
		                "--loss %s without the clean rows needs augmented copies, "
		                "--samples is %" PRIu64,
		                o->loss, o->samples);
	return INVAR_OK;
}

static invar_status read_loss_options(const invar_train_opts *o, inv_loss_opts *out)
{
	*out = (inv_loss_opts){.anchor = o->anchor,
	                       .no_identity = o->no_identity,
	                       .projections = o->projections,
	                       .p = o->p,
	                       .temperature = o->temperature};
	return inv_loss_read_words(o->slices, o->shuffle, o->sigma_x, o->sigma_z, out);
}

/* A closed form is a map of the features onto themselves, carried by 2d hidden units. */
static invar_status check_closed(const invar_train_opts *o, const inv_train_plan *p)
{
	if (!p->closed && !p->loss)
		return inv_fail(INVAR_E_USE,
		                "--loss none trains nothing, so it needs a closed form: "
		                "--init identity, rigid or ridge");
	if (o->ridge > 0 && strcmp(o->init, "ridge") != 0)
		return inv_fail(INVAR_E_USE, "--ridge %g belongs to --init ridge, but --init is %s",
		                o->ridge, o->init);
	if (!p->closed)
		return INVAR_OK;
	if (p->shape.w != p->shape.d)
		return inv_fail(
			INVAR_E_USE,
			"--init %s needs codes as wide as the features: --width is %zu, the "
			"bank has %zu",
			o->init, p->shape.w, p->shape.d);
	if (p->shape.h < 2 * p->shape.d)
		return inv_fail(
			INVAR_E_USE,
			"--init %s needs two hidden units for each feature: --hidden is %zu, "
			"the bank has %zu %s, so at least %zu",
			o->init, p->shape.h, p->shape.d, inv_noun(p->shape.d, "feature", "features"),
			2 * p->shape.d);
	if (inv_closed_needs_copies(o->init) && !p->source[0].copies)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has no augmented copies (aug/000.npy …), which --init %s "
		                "is fitted to; 'invar encode' with --augment adds them",
		                p->source[0].bank->path, p->split->name, o->init);
	if (inv_closed_needs_copies(o->init) && p->sources > 1)
		return inv_fail(INVAR_E_USE,
		                "--init %s is fitted to the copies of one bank, so it does not go "
		                "with --also",
		                o->init);
	return INVAR_OK;
}

static invar_status check_width(const invar_train_opts *o, const inv_train_plan *p)
{
	if (p->shape.w == p->shape.d)
		return INVAR_OK;
	if (p->loss && p->loss->same_width)
		return inv_fail(INVAR_E_USE,
		                "--loss %s needs codes as wide as the features: --width is "
		                "%zu, the bank has %zu",
		                o->loss, p->shape.w, p->shape.d);
	if (o->residual)
		return inv_fail(
			INVAR_E_USE,
			"--residual needs codes as wide as the features: --width is %zu, the "
			"bank has %zu",
			p->shape.w, p->shape.d);
	return INVAR_OK;
}

static invar_status check_decoder(const invar_train_opts *o, const char *const *given,
                                  inv_train_plan *p)
{
	bool alpha = inv_is_given(given, "alpha"), beta = inv_is_given(given, "beta");

	if (o->decoder && !p->loss)
		return inv_fail(INVAR_E_USE,
		                "--loss none trains nothing, so it cannot train a --decoder");
	if (!o->decoder && (alpha || beta))
		return inv_fail(INVAR_E_USE, "--%s belongs to --decoder, which is not given",
		                alpha ? "alpha" : "beta");
	if (o->decoder)
		p->decoder = (inv_mlp_shape){p->shape.w, p->shape.h, p->shape.d};
	return INVAR_OK;
}

static invar_status check_validation(const invar_train_opts *o, inv_train_plan *p)
{
	p->images = (uint32_t)p->split->rows;
	if (!p->loss) /* what only a training uses is not looked at */
		return INVAR_OK;
	p->held_out = (uint32_t)(o->validation * (double)p->split->rows);
	if (o->validation > 0 && !p->held_out)
		return inv_fail(INVAR_E_USE, "--validation %g of %" PRIu64 " %s holds out none",
		                o->validation, p->split->rows,
		                inv_noun(p->split->rows, "image", "images"));
	if (strcmp(o->keep, "best") == 0 && !p->held_out)
		return inv_fail(INVAR_E_USE, "--keep best needs a --validation share above 0");
	p->images -= p->held_out;
	p->batch = o->batch ? o->batch : p->loss->batch;
	p->N = p->batch < p->images ? (uint32_t)p->batch : p->images;
	p->held_out_N = p->N < p->held_out ? p->N : p->held_out;
	return INVAR_OK;
}

invar_status inv_train_check(const invar_train_opts *o, const char *const *given,
                             const invar_bank *const *banks, size_t count, inv_fresh *fresh,
                             inv_train_plan *out)
{
	size_t d = banks[0]->dim;
	invar_status st = inv_fields_check(inv_train_table, o);

	if (st != INVAR_OK)
		return st;
	out->fresh = fresh;
	out->loss = inv_loss_find(o->loss);
	out->closed = strcmp(o->init, "random") != 0;
	out->shape = (inv_mlp_shape){d, o->hidden, o->width ? o->width : d};
	if ((st = inv_loss_check_given(out->loss, given)) != INVAR_OK ||
	    (st = read_loss_options(o, &out->opts)) != INVAR_OK ||
	    (st = check_sources(o, banks, count, out)) != INVAR_OK ||
	    (st = check_samples(o, out)) != INVAR_OK ||
	    (st = check_closed(o, out)) != INVAR_OK || (st = check_width(o, out)) != INVAR_OK ||
	    (st = check_decoder(o, given, out)) != INVAR_OK)
		return st;
	return check_validation(o, out);
}
