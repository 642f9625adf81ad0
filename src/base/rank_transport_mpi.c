/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_transport_mpi.c - invar_mpi.so: the transport over MPI.
 *
 * Only calls that do not block are used, and the caller polls (processes.c): a rank that
 * waits sleeps instead of spinning, so that ranks may share a core. MPI counts in int,
 * so long messages are cut into parts; both sides cut them alike. Heartbeats have a
 * communicator of their own, as they come from another thread.
 */
#include "base/rank_transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PART ((uint64_t)1 << 30) /* bytes of one message */

static MPI_Request *pending;
static int count, room;
static MPI_Comm world; /* a duplicate: our messages are nobody else's */
static MPI_Comm beats;
enum { WORDS = 4 };          /* different ones, at most */
static MPI_Request *beating; /* [size, WORDS] the last of each word to each rank */
static int *words;           /* [size, WORDS] */
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

static MPI_Request *next_request(void)
{
	MPI_Request *longer;

	if (count < room)
		return &pending[count];
	longer = realloc(pending, (size_t)(2 * room + 16) * sizeof *longer);
	if (!longer)
		return NULL;
	pending = longer;
	room = 2 * room + 16;
	return &pending[count];
}

typedef int start_fn(void *data, int bytes, int other, MPI_Request *request);

static int start_broadcast(void *data, int bytes, int root, MPI_Request *request)
{
	return MPI_Ibcast(data, bytes, MPI_BYTE, root, world, request);
}

static int start_send(void *data, int bytes, int to, MPI_Request *request)
{
	return MPI_Isend(data, bytes, MPI_BYTE, to, 0, world, request);
}

static int start_receive(void *data, int bytes, int from, MPI_Request *request)
{
	return MPI_Irecv(data, bytes, MPI_BYTE, from, 0, world, request);
}

static const char *start(const char *call, start_fn *fn, void *data, uint64_t bytes,
                         unsigned other)
{
	char *at = data;

	while (bytes) {
		uint64_t part = bytes < PART ? bytes : PART;
		MPI_Request *request = next_request();
		int error;

		if (!request)
			return "not enough memory for a message";
		if ((error = fn(at, (int)part, (int)other, request)) != MPI_SUCCESS)
			return explain(call, error);
		count++;
		at += part;
		bytes -= part;
	}
	return NULL;
}

static const char *broadcast(void *data, uint64_t bytes, unsigned root)
{
	return start("MPI_Ibcast", start_broadcast, data, bytes, root);
}

static const char *send_to(const void *data, uint64_t bytes, unsigned to)
{
	return start("MPI_Isend", start_send, (void *)(uintptr_t)data, bytes, to);
}

static const char *receive_from(void *data, uint64_t bytes, unsigned from)
{
	return start("MPI_Irecv", start_receive, data, bytes, from);
}

static const char *probe(unsigned from, int *there)
{
	return explain("MPI_Iprobe", MPI_Iprobe((int)from, 0, world, there, MPI_STATUS_IGNORE));
}

static const char *test(int *done)
{
	int error = MPI_Testall(count, pending, done, MPI_STATUSES_IGNORE);

	if (*done)
		count = 0;
	return explain("MPI_Testall", error);
}

/* ---- Heartbeats ---------------------------------------------------------------------- */

/* Each word has a request of its own, so that the last one never waits for others. */
static const char *beat(unsigned to, int word)
{
	int i = WORDS * (int)to + word % WORDS, done = 1;

	if (beating[i] != MPI_REQUEST_NULL)
		MPI_Test(&beating[i], &done, MPI_STATUS_IGNORE);
	if (!done)
		return NULL;
	words[i] = word;
	return MPI_Isend(&words[i], 1, MPI_INT, (int)to, 0, beats, &beating[i]) == MPI_SUCCESS
	           ? NULL
	           : "MPI_Isend failed";
}

static const char *hear_beat(unsigned from, int *word)
{
	int there = 1;

	for (*word = 0; there;) {
		if (MPI_Iprobe((int)from, 0, beats, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return "MPI_Iprobe failed";
		if (there)
			MPI_Recv(word, 1, MPI_INT, (int)from, 0, beats, MPI_STATUS_IGNORE);
	}
	return NULL;
}

/* What has not arrived by now is for a rank that does not listen. */
static void close_beats(void)
{
	int size, done;

	MPI_Comm_size(beats, &size);
	for (int i = 0; i < WORDS * size; i++) {
		MPI_Test(&beating[i], &done, MPI_STATUS_IGNORE);
		if (!done)
			MPI_Request_free(&beating[i]);
	}
	MPI_Comm_free(&beats);
	free(beating);
	free(words);
}

/* Without two threads in MPI there are no heartbeats. */
static int open_beats(inv_transport *table, int provided)
{
	MPI_Comm_dup(MPI_COMM_WORLD, &beats);
	MPI_Comm_set_errhandler(beats, MPI_ERRORS_RETURN);
	beating = malloc(WORDS * table->size * sizeof *beating);
	words = calloc(WORDS * table->size, sizeof *words);
	if (!beating || !words)
		return 0;
	for (unsigned i = 0; i < WORDS * table->size; i++)
		beating[i] = MPI_REQUEST_NULL;
	table->beat = provided == MPI_THREAD_MULTIPLE ? beat : NULL;
	table->hear_beat = provided == MPI_THREAD_MULTIPLE ? hear_beat : NULL;
	return 1;
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
	count = room = 0;
	close_beats();
	MPI_Comm_free(&world);
	MPI_Finalize();
}

__attribute__((visibility("default"))) inv_transport_open_fn inv_transport_open;

const char *inv_transport_open(const inv_transport **out)
{
	static inv_transport table = {.version = INV_TRANSPORT_VERSION,
	                              .broadcast = broadcast,
	                              .send = send_to,
	                              .receive = receive_from,
	                              .probe = probe,
	                              .test = test,
	                              .abort = end_all,
	                              .close = close_transport};
	int provided, rank, size, error;

	*out = NULL;
	error = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	if (error != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
		return "MPI could not be started";
	MPI_Comm_dup(MPI_COMM_WORLD, &world);
	MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	table.rank = (unsigned)rank;
	table.size = (unsigned)size;
	if (!open_beats(&table, provided))
		return "not enough memory for heartbeats";
	*out = &table;
	return NULL;
}
