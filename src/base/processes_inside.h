/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes_inside.h - the processes as the files see them that implement processes.h; no
 * other file includes it.
 */
#ifndef INV_PROCESSES_INSIDE_H
#define INV_PROCESSES_INSIDE_H

#include <pthread.h>

#include "base/processes.h"
#include "base/rank_transport.h"

enum {
	INV_SERVICE_NAME = 48,
	INV_RANK_SENTENCE = 1024,
	INV_MAX_RANK_CONTEXTS = 16,
	INV_MAX_SERVICES = 16
};

typedef struct inv_heartbeat inv_heartbeat;

struct inv_processes {
	const inv_transport *t;
	inv_heartbeat *heartbeat; /* NULL: the transport has none */
	char sentence[120];       /* of inv_ranks_lost */
	pthread_t owner;
	bool broken;
	char reason[600]; /* the first failure of an exchange; later ones follow from it */
	int result;       /* that rank 0 left with */
	bool *heard;      /* [size] on rank 0: who has ended its share of the watch */
	/* Of services, by the number of threads. */
	invar_context *context[INV_MAX_RANK_CONTEXTS];
	size_t serving; /* the service under way, and what each keeps */
	void *kept[INV_MAX_SERVICES];
};

/* What rank 0 says before a service. */
typedef struct inv_call_header {
	char name[INV_SERVICE_NAME]; /* "": it leaves */
	uint32_t threads, cpu;
	int32_t result;
} inv_call_header;

/* NULL if there is a single rank for this thread. */
inv_processes *inv_ranks_of(const invar_context *ctx);
/* A failure of the transport, after which no exchange is tried. */
invar_status inv_ranks_fail(inv_processes *p, const char *why);
/* Starts the thread that listens to other ranks; *out is NULL if the transport cannot. */
invar_status inv_heartbeat_start(const inv_transport *t, inv_heartbeat **out);
/* With farewell: waits for that of the others, so that the transport can be closed. */
void inv_heartbeat_stop(inv_heartbeat *h, bool farewell); /* accepts NULL */
/* What is wrong with a rank that hangs; NULL: nothing. */
const char *inv_ranks_lost(inv_processes *p);

/* Until everything that was started has ended. */
invar_status inv_ranks_wait(inv_processes *p);
/* Between two looks at something for which a rank has waited so many seconds. */
void inv_ranks_sleep(double waited);
invar_status inv_ranks_broadcast(inv_processes *p, unsigned root, void *data,
                                 uint64_t bytes);
/* Starts inv_all_gather; NULL, or what failed. */
const char *inv_ranks_start_gather(inv_processes *p, char *data, const uint64_t *offset);

#endif
