/* SPDX-License-Identifier: Apache-2.0 */
/* measurement_table.c - the measurements there are. */
#include "measure/measurement.h"

const inv_measurement *const inv_measurements[] = {
	&inv_measurement_lc,        &inv_measurement_nc,
	&inv_measurement_ec,        &inv_measurement_kept,
	&inv_measurement_knn,       &inv_measurement_structure,
	&inv_measurement_collision, NULL,
};
