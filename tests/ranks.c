/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - see ranks.h.
 *
 * Between two ranks there is one socket, so messages arrive in the order in which they were
 * sent, whatever they are. Each direction has a queue; test writes and reads what the
 * sockets take.
 */
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/processes.h"
#include "base/rank_transport.h"
#include "support.h"

enum { MAX_RANKS = 8, MAX_MESSAGES = 4096 };

typedef struct message {
	char *data;
	uint64_t bytes, done;
} message;

typedef struct queue {
	message waiting[MAX_MESSAGES];
	size_t first, count;
} queue;

static int wire[MAX_RANKS], note_wire[MAX_RANKS]; /* to each other rank */
static pid_t process[MAX_RANKS];
static queue out[MAX_RANKS], in[MAX_RANKS];
static inv_transport table;

static const char *add(queue *q, const void *data, uint64_t bytes)
{
	if (q->first == q->count)
		q->first = q->count = 0;
	if (q->count == MAX_MESSAGES)
		return "too many messages";
	if (bytes)
		q->waiting[q->count++] = (message){(char *)(uintptr_t)data, bytes, 0};
	return NULL;
}

static const char *send_to(const void *data, uint64_t bytes, unsigned to)
{
	return add(&out[to], data, bytes);
}

static const char *receive_from(void *data, uint64_t bytes, unsigned from)
{
	return add(&in[from], data, bytes);
}

static const char *broadcast(void *data, uint64_t bytes, unsigned root)
{
	const char *why = NULL;

	if (root != table.rank)
		return receive_from(data, bytes, root);
	for (unsigned r = 0; r < table.size && !why; r++)
		if (r != root)
			why = send_to(data, bytes, r);
	return why;
}

/* False if the other end is gone. */
static bool move_on(queue *q, int fd, bool sends)
{
	while (q->first < q->count) {
		message *m = &q->waiting[q->first];
		ssize_t n = sends ? send(fd, m->data + m->done, m->bytes - m->done,
		                         MSG_DONTWAIT | MSG_NOSIGNAL)
		                  : recv(fd, m->data + m->done, m->bytes - m->done, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		m->done += (uint64_t)n;
		q->first += m->done == m->bytes;
	}
	return true;
}

static const char *test(int *done)
{
	*done = 1;
	for (unsigned r = 0; r < table.size; r++) {
		if (r == table.rank)
			continue;
		if (!move_on(&out[r], wire[r], true) || !move_on(&in[r], wire[r], false))
			return "a rank has died";
		*done = *done && out[r].first == out[r].count && in[r].first == in[r].count;
	}
	return NULL;
}

static void tell(const inv_note *note, unsigned to)
{
	send(note_wire[to], note, sizeof *note, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int hear(inv_note *note)
{
	for (unsigned r = 0; r < table.size; r++)
		if (r != table.rank && recv(note_wire[r], note, sizeof *note, MSG_DONTWAIT) > 0)
			return 1;
	return 0;
}

static void end_rank(int code)
{
	(void)code;
}

static void close_wires(void)
{
	for (unsigned r = 0; r < table.size; r++)
		if (r != table.rank) {
			close(wire[r]);
			close(note_wire[r]);
		}
}

static void run_rank(test_rank_body *body)
{
	inv_processes *p;
	invar_status st;

	if (inv_processes_over(&table, &p) != INVAR_OK)
		_exit(1);
	st = inv_processes_leave(p, body(p));
	inv_processes_close(p, (int)st);
	_exit((int)st);
}

/* Rank r keeps its ends of the pairs and closes those of the others. */
static void take_wires(int pair[MAX_RANKS][MAX_RANKS], unsigned rank, int *own)
{
	for (unsigned a = 0; a < table.size; a++)
		for (unsigned b = 0; b < table.size; b++)
			if (a == rank && b != rank)
				own[b] = pair[a][b];
			else if (a != b)
				close(pair[a][b]);
}

static void connect_pairs(int type, int pair[MAX_RANKS][MAX_RANKS])
{
	int ends[2];

	for (unsigned a = 0; a < table.size; a++)
		for (unsigned b = a + 1; b < table.size; b++) {
			assert_int_equal(socketpair(AF_UNIX, type, 0, ends), 0);
			pair[a][b] = ends[0];
			pair[b][a] = ends[1];
		}
}

inv_processes *test_ranks_open(unsigned size, test_rank_body *body)
{
	int pair[MAX_RANKS][MAX_RANKS], note_pair[MAX_RANKS][MAX_RANKS];
	inv_processes *p;

	assert_true(size <= MAX_RANKS);
	table = (inv_transport){.version = INV_TRANSPORT_VERSION,
	                        .size = size,
	                        .broadcast = broadcast,
	                        .send = send_to,
	                        .receive = receive_from,
	                        .test = test,
	                        .tell = tell,
	                        .hear = hear,
	                        .abort = end_rank,
	                        .close = close_wires};
	memset(out, 0, sizeof out);
	memset(in, 0, sizeof in);
	connect_pairs(SOCK_STREAM, pair);
	connect_pairs(SOCK_DGRAM, note_pair);
	fflush(NULL);
	for (unsigned r = 1; r < size; r++)
		if ((process[r] = fork()) == 0) {
			table.rank = r;
			take_wires(pair, r, wire);
			take_wires(note_pair, r, note_wire);
			run_rank(body);
		}
	take_wires(pair, 0, wire);
	take_wires(note_pair, 0, note_wire);
	assert_int_equal(inv_processes_over(&table, &p), INVAR_OK);
	return p;
}

int test_ranks_process(unsigned rank)
{
	return (int)process[rank];
}

invar_status test_ranks_close(inv_processes *p, invar_status st)
{
	int status;

	st = inv_processes_leave(p, st);
	inv_processes_close(p, (int)st);
	for (unsigned r = 1; r < table.size; r++) {
		assert_int_equal(waitpid(process[r], &status, 0), process[r]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), (int)st);
	}
	return st;
}

void test_ranks_kill(void)
{
	for (unsigned r = 1; r < table.size; r++) {
		kill(process[r], SIGKILL);
		waitpid(process[r], NULL, 0);
	}
}
