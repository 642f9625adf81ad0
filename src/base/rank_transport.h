/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_transport.h - what a plugin offers that carries bytes between processes.
 *
 * libinvar links no MPI. A launcher's program opens invar_mpi.so, which has one symbol,
 * inv_transport_open, and gives this table. Every call starts something and returns; test
 * finishes what was started. All calls come from the thread that opened the transport,
 * except those of heartbeats, which come from another one.
 * Between two ranks, messages arrive in the order in which they were sent.
 *
 * A call returns NULL, or a sentence that says what failed.
 */
#ifndef INV_RANK_TRANSPORT_H
#define INV_RANK_TRANSPORT_H

#include <stdint.h>

enum { INV_TRANSPORT_VERSION = 2 };

typedef struct inv_transport {
	int version;
	unsigned rank, size;
	/* The bytes of `root` come to every rank. */
	const char *(*broadcast)(void *data, uint64_t bytes, unsigned root);
	const char *(*send)(const void *data, uint64_t bytes, unsigned to);
	const char *(*receive)(void *data, uint64_t bytes, unsigned from);
	/* Whether a message from this rank waits to be received. */
	const char *(*probe)(unsigned from, int *there);
	/* Makes progress; *done says whether everything that was started has ended. */
	const char *(*test)(int *done);
	/*
	 * Heartbeats: a word above 0 to a rank, which may be left out if the one before is
	 * still on its way; and the last word of a rank since the last call, 0 if there was
	 * none. NULL if the transport cannot be used by two threads.
	 */
	const char *(*beat)(unsigned to, int word);
	const char *(*hear_beat)(unsigned from, int *word);
	double patience; /* seconds after which a rank that is not heard is lost; 0: 20 */
	void (*abort)(int code); /* ends all ranks */
	void (*close)(void);     /* called by all ranks */
} inv_transport;

/* The only symbol of a plugin; joins the ranks that the launcher started. */
#define INV_TRANSPORT_OPEN "inv_transport_open"
typedef const char *inv_transport_open_fn(const inv_transport **out);

#endif
