/* SPDX-License-Identifier: Apache-2.0 */
/* one_loss.h - a loss evaluated once on given codes, for tests. */
#ifndef INV_TESTS_ONE_LOSS_H
#define INV_TESTS_ONE_LOSS_H

#include <math.h>

#include "adapter/losses/loss.h"
#include "base/memory.h"

/* shape needs ctx, options, N, s, d and w; groups 0 counts as one. grad may be NULL. */
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

/*
 * 1 to 4 threads give the same bits, and the plain kernels the same up to `share` of
 * the value and of the largest of the `count` gradients.
 */
static inline void assert_alike_on_threads_and_flavours(const inv_loss *loss,
                                                        inv_loss_shape shape,
                                                        const inv_loss_batch *b,
                                                        size_t count, double share)
{
	float *grad[5];
	double value[5], largest = 0;

	for (unsigned i = 0; i < 5; i++) {
		invar_context *own;

		grad[i] = inv_alloc(count * sizeof *grad[i]);
		assert_int_equal(invar_context_new(i < 4 ? i + 1 : 1, NULL, &own), INVAR_OK);
		if (i == 4)
			own->cpu = 0;
		shape.ctx = own;
		value[i] = one_loss(loss, shape, b, grad[i]).value;
		invar_context_free(own);
	}
	for (unsigned i = 1; i < 4; i++) {
		assert_true(value[0] == value[i]);
		assert_memory_equal(grad[0], grad[i], count * sizeof *grad[0]);
	}
	assert_true(fabs(value[0] - value[4]) < share * fabs(value[0]));
	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs((double)grad[0][i]));
	for (size_t i = 0; i < count; i++)
		assert_true(fabs((double)grad[0][i] - grad[4][i]) < share * largest);
	for (unsigned i = 0; i < 5; i++)
		inv_free(grad[i]);
}

#endif
