/* SPDX-License-Identifier: Apache-2.0 */
/* restart.h - the program begins again: with other settings, or as several ranks. */
#ifndef INV_RESTART_H
#define INV_RESTART_H

#include "cli/session.h"

/*
 * With a stack that is too small for our libraries, the program would crash without a
 * message. Raises the limit (ulimit -s) and restarts the program if allowed; otherwise
 * prints a message and returns false.
 */
bool inv_stack_suffices(char **argv);

/* Restarts the program with OMP_WAIT_POLICY=passive, unless the user has chosen. */
void inv_wait_asleep(char **argv);

/*
 * With `ranks` above 1 and no launcher yet, this process becomes `mpirun -n RANKS` (in a
 * job of Slurm `srun -n RANKS`) of the same command line, and the call does not return.
 * Fails if the launcher has started another number, or is missing.
 */
invar_status inv_launch_ranks(inv_session *s, uint64_t ranks);

#endif
