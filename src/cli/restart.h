/* SPDX-License-Identifier: Apache-2.0 */
/* restart.h - what must be set before main(): the program sets it and begins again. */
#ifndef INV_RESTART_H
#define INV_RESTART_H

#include <stdbool.h>

/*
 * With a stack that is too small for our libraries, the program would crash without a
 * message. Raises the limit (ulimit -s) and restarts the program if allowed; otherwise
 * prints a message and returns false.
 */
bool inv_stack_suffices(char **argv);

/* Restarts the program with OMP_WAIT_POLICY=passive, unless the user has chosen. */
void inv_wait_asleep(char **argv);

#endif
