/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp_policy.c - threads that wait should sleep.
 *
 * libgomp lets waiting threads spin: `invar demo --threads 2` beside three busy
 * programs on two cores took 17 s that way and 9 s asleep, and a training on an
 * idle machine gains 1 % at most. libgomp reads OMP_WAIT_POLICY when it is
 * loaded, before main; only .preinit_array of the program itself runs earlier.
 * A value that the user has set stays.
 */
#include <stdlib.h>

static void sleep_while_waiting(void)
{
	setenv("OMP_WAIT_POLICY", "passive", 0);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = sleep_while_waiting;
