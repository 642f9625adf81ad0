/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_transport_mpi.c - invar_mpi.so: the transport over MPI.
 *
 * Only calls that do not block are used, and the caller polls (processes.c): a rank that
 * waits sleeps instead of spinning, so that ranks may share a core. MPI counts in int,
 * so long messages are cut up; both sides cut them alike. After a failure some
 * exchanges are left unfinished; MPI_Finalize does not wait for them.
 */
#include "base/rank_transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES ((uint64_t)1 << 30) /* bytes of one message */

static MPI_Request *pending;
static int count, capacity;
static MPI_Comm world; /* a duplicate: our messages are nobody else's */
enum { DATA, NOTE };   /* tags */
enum { BROADCAST, SEND, RECEIVE };
static char sentence[MPI_MAX_ERROR_STRING + 80];

static const char *explain(const char *call, int error)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;

	if (error == MPI_SUCCESS)
		return NULL;
	MPI_Error_string(error, text, &length);
	snprintf(sentence, sizeof sentence, "%s failed: %s", call, text);
	return sentence;
}

/* Starts a call for each piece of a message. */
static const char *start(int kind, void *data, uint64_t bytes, unsigned other)
{
	static const char *const calls[] = {"MPI_Ibcast", "MPI_Isend", "MPI_Irecv"};
	int peer = (int)other, error;

	for (char *at = data; bytes; count++) {
		int now = (int)(bytes < MAX_BYTES ? bytes : MAX_BYTES);

		if (count == capacity) {
			size_t more = 2 * (size_t)capacity + 16;
			MPI_Request *longer = realloc(pending, more * sizeof *longer);

			if (!longer)
				return "not enough memory for a message";
			pending = longer;
			capacity = (int)more;
		}
		if (kind == BROADCAST)
			error = MPI_Ibcast(at, now, MPI_BYTE, peer, world, &pending[count]);
		else if (kind == SEND)
			error = MPI_Isend(at, now, MPI_BYTE, peer, DATA, world, &pending[count]);
		else
			error = MPI_Irecv(at, now, MPI_BYTE, peer, DATA, world, &pending[count]);
		if (error != MPI_SUCCESS)
			return explain(calls[kind], error);
		at += now;
		bytes -= (uint64_t)now;
	}
	return NULL;
}

static const char *broadcast(void *data, uint64_t bytes, unsigned root)
{
	return start(BROADCAST, data, bytes, root);
}

static const char *send_to(const void *data, uint64_t bytes, unsigned to)
{
	return start(SEND, (void *)(uintptr_t)data, bytes, to);
}

static const char *receive_from(void *data, uint64_t bytes, unsigned from)
{
	return start(RECEIVE, data, bytes, from);
}

static const char *test(int *done)
{
	int error = MPI_Testall(count, pending, done, MPI_STATUSES_IGNORE);

	if (*done)
		count = 0;
	return explain("MPI_Testall", error);
}

/* ---- Notes ------------------------------------------------------------------------- */

/* It is kept until the process ends; nobody waits for its arrival. */
static void tell(const inv_note *note, unsigned to)
{
	static inv_note told[2]; /* a failure, then that all may close */
	inv_note *kept = &told[note->status == 0];
	MPI_Request request;

	*kept = *note;
	if (MPI_Isend(kept, sizeof *kept, MPI_BYTE, (int)to, NOTE, world, &request) ==
	    MPI_SUCCESS)
		MPI_Request_free(&request);
}

static int hear(inv_note *out)
{
	MPI_Status from;
	int there = 0;

	if (MPI_Iprobe(MPI_ANY_SOURCE, NOTE, world, &there, &from) != MPI_SUCCESS || !there)
		return 0;
	return MPI_Recv(out, sizeof *out, MPI_BYTE, from.MPI_SOURCE, NOTE, world,
	                MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* ---- Opening and closing ------------------------------------------------------------- */

static void end_all(int code)
{
	MPI_Abort(world, code);
}

static void close_transport(void)
{
	free(pending);
	pending = NULL;
	count = capacity = 0;
	MPI_Finalize();
}

__attribute__((visibility("default"))) inv_transport_open_fn inv_transport_open;

const char *inv_transport_open(const inv_transport **out)
{
	static inv_transport table = {.version = INV_TRANSPORT_VERSION,
	                              .broadcast = broadcast,
	                              .send = send_to,
	                              .receive = receive_from,
	                              .test = test,
	                              .tell = tell,
	                              .hear = hear,
	                              .abort = end_all,
	                              .close = close_transport};
	int provided, rank, size, error;

	*out = NULL;
	error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	if (error != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
		return "MPI could not be started";
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	table.rank = (unsigned)rank;
	table.size = (unsigned)size;
	*out = &table;
	return NULL;
}
