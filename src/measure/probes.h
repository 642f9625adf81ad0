/* SPDX-License-Identifier: Apache-2.0 */
/* probes.h - the classifier of LC-kept, for other measurements. */
#ifndef INV_PROBES_H
#define INV_PROBES_H

#include "measure/measurement.h"
#include "nn/classifier.h"

/*
 * The linear classifier that is trained on F(train) with the seed of the input, from the
 * bank's cache if it is stored there. Its classes are those of train; the parameters live
 * until the running measurement is done. Needs the labels of both splits.
 */
invar_status inv_linear_on_features(const inv_measure_input *in, inv_classifier_spec *spec,
                                    float **params);

#endif
