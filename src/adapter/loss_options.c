/* loss_options.c - which loss takes which option, and what a width may be. */
#include "adapter/loss_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_listed(const char *options, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = options; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (strcspn(at, "|") == length && strncmp(at, name, length) == 0)
			return true;
	return false;
}

bool inv_loss_takes(const inv_loss *loss, const char *option)
{
	return loss && is_listed(loss->options, option);
}

/* "mawa, waco and hsic": the losses that take an option; "" where none does. */
static void spell_takers(const char *option, char *out, size_t room)
{
	const inv_loss *loss, *last = NULL;
	size_t fill = 0;

	out[0] = '\0';
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		last = inv_loss_takes(loss, option) ? loss : last;
	for (size_t i = 0; (loss = inv_loss_at(i)) && fill < room; i++)
		if (inv_loss_takes(loss, option))
			fill += (size_t)snprintf(out + fill, room - fill, "%s%s",
			                         !fill          ? ""
			                         : loss == last ? " and "
			                                        : ", ",
			                         loss->name);
}

invar_status inv_loss_check_given(const inv_loss *loss, const char *const *given)
{
	char takers[128];

	for (; given && *given; given++) {
		if (inv_loss_takes(loss, *given))
			continue;
		spell_takers(*given, takers, sizeof takers);
		if (*takers)
			return inv_fail(INVAR_E_USE, "--%s is an option of %s, not of %s", *given,
			                takers, loss ? loss->name : "none");
	}
	return INVAR_OK;
}

invar_status invar_loss_check_given(const char *kind, const char *const *given)
{
	return inv_loss_check_given(inv_loss_find(kind), given);
}

/* A kernel's width: 0 for "median", else a number above 0. */
static invar_status read_width(const char *option, const char *text, double *out)
{
	char *end = NULL;

	*out = 0;
	if (text && strcmp(text, "median") == 0)
		return INVAR_OK;
	if (text && *text && strspn(text, "0123456789.eE+-") == strlen(text))
		*out = strtod(text, &end);
	if (end && !*end && *out > 0 && isfinite(*out))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "--%s is '%s' but must be median or a number above 0",
	                option, text ? text : "");
}

invar_status inv_loss_read_words(const char *slices, const char *shuffle,
                                 const char *sigma_x, const char *sigma_z,
                                 inv_loss_opts *out)
{
	invar_status st = read_width("sigma-x", sigma_x, &out->sigma_x);

	out->orthogonal = strcmp(slices, "orthogonal") == 0;
	out->shuffle_second = strcmp(shuffle, "second") == 0;
	return st == INVAR_OK ? read_width("sigma-z", sigma_z, &out->sigma_z) : st;
}
