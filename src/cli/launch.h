/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - starting this program again under a launcher, once per rank. */
#ifndef INV_LAUNCH_H
#define INV_LAUNCH_H

#include "cli/session.h"

/*
 * With `ranks` above 1 and no launcher yet, this process becomes `mpirun -n RANKS` (in a
 * job of Slurm `srun -n RANKS`) of the same command line, and the call does not return.
 * Fails if the launcher has started another number, or is missing.
 */
invar_status inv_launch_ranks(inv_session *s, uint64_t ranks);

#endif
