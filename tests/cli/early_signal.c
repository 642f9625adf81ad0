/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_signal.c - a library to be preloaded: SIGTERM arrives while the program, which has
 * begun again with OMP_WAIT_POLICY set, loads its libraries for the second time.
 */
#include <signal.h>
#include <stdlib.h>

__attribute__((constructor)) static void send_signal(void)
{
	if (getenv("OMP_WAIT_POLICY"))
		raise(SIGTERM);
}
