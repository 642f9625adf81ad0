/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h - the table of services that the other ranks of a run serve. */
#ifndef INV_SERVE_H
#define INV_SERVE_H

#include "base/processes.h"

invar_status inv_processes_serve(inv_processes *p, int *result);

#endif
