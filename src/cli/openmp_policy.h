/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_policy.h - threads that wait should sleep. */
#ifndef INV_OPENMP_POLICY_H
#define INV_OPENMP_POLICY_H

/* Restarts the program with OMP_WAIT_POLICY=passive, unless the user has chosen. */
void inv_wait_asleep(char **argv);

#endif
