/* SPDX-License-Identifier: Apache-2.0 */
/* stack.h - the stack that a shell allows a program (ulimit -s), and what this one needs.
 */
#ifndef INV_STACK_H
#define INV_STACK_H

#include <stdbool.h>

/*
 * With a stack that is too small for the libraries below us, a program dies without a
 * word. Widens it where that is allowed, starting the program anew; false, and a
 * sentence on standard error, where it is not.
 */
bool inv_stack_suffices(char **argv);

#endif
