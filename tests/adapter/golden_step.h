/* SPDX-License-Identifier: Apache-2.0 */
/* golden_step.h - a golden loss case through one step: value, codes, every block. */
#ifndef INV_TESTS_GOLDEN_STEP_H
#define INV_TESTS_GOLDEN_STEP_H

#include <stdio.h>
#include <string.h>

#include "adapter/step.h"
#include "golden.h"

/* rows [(s + 1) N, d], the clean ones first; tag ends the names of the case's outputs. */
static inline inv_loss_value golden_step(const invar_context *ctx, golden *g,
                                         inv_step_spec spec, const float *rows,
                                         const char *tag)
{
	static const char *const files[] = {"0_weight", "0_bias", "2_weight", "2_bias"};
	size_t layer[GOLDEN_NDIM];
	inv_loss_value value;
	char name[64];
	inv_step *p;

	golden_f32(g, "0_weight", layer);
	spec.shape = (inv_mlp_shape){layer[1], layer[0], layer[1]};
	spec.update = true;
	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		memcpy(p->params + p->blocks[i].offset, golden_f32(g, files[i], NULL),
		       p->blocks[i].count * sizeof(float));
	assert_int_equal(inv_step_gradients(p, rows, &value), INVAR_OK);
	snprintf(name, sizeof name, "loss%s", tag);
	golden_check_value(g, name, value.value);
	snprintf(name, sizeof name, "grad_codes%s", tag);
	golden_check(g, name, p->d_codes,
	             inv_loss_rows(spec.loss, &p->loss_shape) * spec.shape.w);
	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		snprintf(name, sizeof name, "grad_%s%s", files[i], tag);
		golden_check(g, name, p->grads + p->blocks[i].offset, p->blocks[i].count);
	}
	inv_step_free(p);
	return value;
}

#endif
