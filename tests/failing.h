/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.h - makes the k-th allocation fail, for every k until all succeed.
 *
 * The linker replaces inv_alloc, inv_calloc and inv_strdup by these functions
 * (all three, as memory.c calls the first one directly), and jansson uses them
 * too. Under the address sanitizer the same loop shows that no failure leaks.
 */
#ifndef INV_FAILING_H
#define INV_FAILING_H

#include "invar.h"

/*
 * Calls work(user) with allocation 1, 2, … failing until a call has seen no
 * failure; every other call must return INVAR_E_NOMEM, or any error if the
 * memory was jansson's, whose parser reports some of these as bad JSON. Returns
 * the number of allocations of a complete call.
 */
unsigned test_each_allocation_fails(invar_status (*work)(void *user), void *user);

#endif
