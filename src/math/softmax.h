/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - cross-entropy of logits: its value and its gradient. */
#ifndef INV_SOFTMAX_H
#define INV_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/*
 * logits [rows, classes], labels[i] < classes. Returns the mean over the rows of
 * -log softmax(logits)[label]; grad [rows, classes] gets its gradient, row_loss
 * [rows] each row's part. Same bits on any number of threads.
 */
double inv_cross_entropy(const invar_context *ctx, const float *logits,
                         const uint32_t *labels, size_t rows, size_t classes, float *grad,
                         double *row_loss);

/* The definition, in double. */
double inv_cross_entropy_ref(const float *logits, const uint32_t *labels, size_t rows,
                             size_t classes, float *grad, double *row_loss);

#endif
