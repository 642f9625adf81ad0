/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_transport.h - what a plugin offers that carries bytes between processes.
 *
 * libinvar links no MPI. A launcher's program opens invar_mpi.so, which has one symbol,
 * inv_transport_open, and gives this table. Broadcast, send and receive start something and
 * return; test finishes what was started. All calls come from the thread that opened the
 * transport. Between two ranks, messages arrive in the order in which they were sent.
 *
 * A call returns NULL, or a sentence that says what failed.
 */
#ifndef INV_RANK_TRANSPORT_H
#define INV_RANK_TRANSPORT_H

#include <stdint.h>

enum { INV_TRANSPORT_VERSION = 3, INV_NOTE_TEXT = 1016 };

/* How a rank has ended. */
typedef struct inv_note {
	int32_t status; /* INVAR_OK, from rank 0: all have ended and may close */
	uint16_t rank;  /* that failed */
	uint16_t clean; /* the sender has left no exchange unfinished */
	char text[INV_NOTE_TEXT];
} inv_note;

typedef struct inv_transport {
	int version;
	unsigned rank, size;
	/* The bytes of `root` come to every rank. */
	const char *(*broadcast)(void *data, uint64_t bytes, unsigned root);
	const char *(*send)(const void *data, uint64_t bytes, unsigned to);
	const char *(*receive)(void *data, uint64_t bytes, unsigned from);
	/* Makes progress; *done says whether everything that was started has ended. */
	const char *(*test)(int *done);
	/* A note is not part of the order of messages. */
	void (*tell)(const inv_note *note, unsigned to);
	int (*hear)(inv_note *out); /* 0: nobody has told anything */
	void (*abort)(int code);    /* ends all ranks */
	void (*close)(void);        /* called by all ranks */
} inv_transport;

/* The only symbol of a plugin; joins the ranks that the launcher started. */
#define INV_TRANSPORT_OPEN "inv_transport_open"
typedef const char *inv_transport_open_fn(const inv_transport **out);

#endif
