/* names.c - the encoders that are known by name: one entry each. */
#include <string.h>

#include "encoders/encoder.h"

static const inv_model models[] = {
	{.of = {.name = "pixels",
            .family = "pixels",
            .about = "no network: the normalised pixels themselves",
            .filter = "bilinear"}},
};

size_t invar_model_count(void)
{
	return sizeof models / sizeof *models;
}

const invar_model *invar_model_at(size_t i)
{
	return i < invar_model_count() ? &models[i].of : NULL;
}

const inv_model *inv_model_find(const char *name)
{
	for (size_t i = 0; i < invar_model_count(); i++)
		if (strcmp(models[i].of.name, name) == 0)
			return &models[i];
	return NULL;
}

/* In the order of the table; a test holds them together. */
const char *invar_encoder_names(void)
{
	return "pixels";
}
