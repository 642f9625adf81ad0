/* one_loss.h - a loss evaluated once on given codes, for tests. */
#ifndef INV_TESTS_ONE_LOSS_H
#define INV_TESTS_ONE_LOSS_H

#include "adapter/losses/loss.h"

/* shape needs ctx, opts, N, s, d and w; groups 0 counts as one. grad may be NULL. */
static inline inv_loss_value one_loss(const inv_loss *loss, inv_loss_shape shape,
                                      const inv_loss_batch *b, float *grad)
{
	struct inv_kernels kernels;
	inv_loss_work work = {0};
	inv_loss_value value = {0};

	inv_kernels_init(&kernels, shape.ctx->cpu);
	shape.kernels = &kernels;
	shape.groups += !shape.groups;
	assert_int_equal(loss->prepare(&shape, &work), INVAR_OK);
	assert_int_equal(loss->evaluate(&shape, work.state, b, &value, grad), INVAR_OK);
	loss->release(work.state);
	return value;
}

#endif
