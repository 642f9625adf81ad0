/* table.c - the families of encoders: one line each. */
#include "encoders/encoder.h"

extern const inv_encoder_kind inv_pixels;

const inv_encoder_kind *const inv_encoder_kinds[] = {
	&inv_pixels, /* no network: the tensor itself */
	NULL,
};
