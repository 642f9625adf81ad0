/* table.c - the losses there are. */
#include <string.h>

#include "adapter/losses/hsic.h"
#include "adapter/losses/loss.h"
#include "adapter/losses/mawa.h"
#include "adapter/losses/simclr.h"
#include "adapter/losses/waco.h"

static const inv_loss *const losses[] = {
	&inv_loss_mawa,
	&inv_loss_waco,
	&inv_loss_simclr,
	&inv_loss_hsic,
};

/* The same names for help and completion; a test holds the two together. */
const char *invar_loss_kinds(void)
{
	return INV_LOSS_KINDS;
}

const inv_loss *inv_loss_at(size_t i)
{
	return i < sizeof losses / sizeof *losses ? losses[i] : NULL;
}

const inv_loss *inv_loss_find(const char *name)
{
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (strcmp(losses[i]->name, name) == 0)
			return losses[i];
	return NULL;
}
