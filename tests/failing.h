/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.h - makes the k-th allocation fail, for every k until all succeed.
 *
 * The linker puts these functions in place of inv_alloc, inv_calloc and
 * inv_strdup (all three: within memory.c the first is called directly), and
 * jansson is told to use them as well. Under the address sanitizer the same
 * loop shows that no failure leaks.
 */
#ifndef INV_FAILING_H
#define INV_FAILING_H

#include "invar.h"

/*
 * Calls work(user) with allocation 1, 2, … failing until a call has seen no
 * failure; every other call must return INVAR_E_NOMEM, or any error where the
 * memory was jansson's, whose parser takes some of these for bad JSON. Returns
 * how many allocations a whole call makes.
 */
unsigned test_each_allocation_fails(invar_status (*work)(void *user), void *user);

#endif
