/* SPDX-License-Identifier: Apache-2.0 */
/* stack.h - the stack that a shell allows a program (ulimit -s), and what this one needs.
 */
#ifndef INV_STACK_H
#define INV_STACK_H

#include <stdbool.h>

/*
 * With a stack that is too small for our libraries, the program would crash without a
 * message. Raises the limit and restarts the program if allowed; otherwise prints a message
 * and returns false.
 */
bool inv_stack_suffices(char **argv);

#endif
