/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.c - progress, log lines, signals.
 *
 * Progress is one line on standard error that is redrawn at most five times a
 * second and wiped before anything else is written there. If standard error is a file, it
 * gets one line per minute.
 */
#include "cli/term.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/processes.h"
#include "cli/display_text.h"
#include "report/line_text.h"

#define REDRAW 0.2   /* seconds between two drawings */
#define LOG_EVERY 60 /* and between two lines of a file */

/* Milliseconds from a signal to the end: of any command, and more to write a checkpoint. */
enum { PATIENCE = 1500, SAVING = 8500 };
/* With several ranks: of rank 0, which waits for the others, and of those. */
enum { LEADING = 10000, FOLLOWING = 12000 };

/* The only global state of the program: a signal handler has no argument. */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t pipe_closed;
static volatile sig_atomic_t saving; /* a training that heard of it writes its checkpoint */
static volatile sig_atomic_t line_drawn;
static volatile sig_atomic_t patience = PATIENCE, following = FOLLOWING;

static void call_back_in(int milliseconds)
{
	struct itimerval once = {
		.it_value = {milliseconds / 1000, milliseconds % 1000 * (suseconds_t)1000}};

	setitimer(ITIMER_REAL, &once, NULL);
}

static void note_signal(int number)
{
	if (number == SIGPIPE) {
		pipe_closed = 1;
		return;
	}
	interrupted = 1;
	call_back_in(patience);
}

/* A call into LAPACK cannot be stopped, and what is on disk outlives the process. */
static void end_at_once(int number)
{
	static const char wipe[] = "\r\033[K";
	static const char text[] =
		"invar: interrupted during a computation; saved work is kept, and the same command "
		"(train: with --resume) continues from there\n";

	(void)number;
	if (saving) {
		saving = 0;
		call_back_in(SAVING);
		return;
	}
	if (line_drawn)
		(void)!write(STDERR_FILENO, wipe, sizeof wipe - 1);
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(130);
}

/* Files are mapped: SIGBUS is the only sign of one that is truncated while it is read. */
static void end_without_file(int number)
{
	static const char text[] =
		"invar: a file was truncated or its disk failed while it was being read; finished "
		"work is kept; restore the file and run the command again\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(1);
}

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP); /* a connection that is lost */
	return set;
}

void inv_signals_hold(void)
{
	sigset_t set = stop_signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

void inv_signals_catch(void)
{
	sigset_t set = stop_signals();
	struct sigaction cut = {.sa_handler = end_without_file, .sa_flags = SA_RESETHAND};
	struct sigaction once = {.sa_handler = note_signal, .sa_flags = SA_RESETHAND};
	struct sigaction always = {.sa_handler = note_signal};
	struct sigaction late = {.sa_handler = end_at_once}, inherited;

#ifdef INV_TEST_STOPS /* base/test_stop.h */
	if (getenv("INVAR_TEST_PATIENCE"))
		patience = following = atoi(getenv("INVAR_TEST_PATIENCE"));
#endif
	sigaction(SIGINT, &once, NULL);
	sigaction(SIGTERM, &once, NULL);
	sigaction(SIGHUP, NULL, &inherited);
	if (inherited.sa_handler != SIG_IGN) /* nohup: the user wants it to go on */
		sigaction(SIGHUP, &once, NULL);
	sigaction(SIGPIPE, &always, NULL);
	sigaction(SIGBUS, &cut, NULL);
	signal(SIGXFSZ, SIG_IGN); /* file size limit: the write fails with an error instead */
	sigaction(SIGALRM, &late, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void inv_signals_lead(void)
{
	if (patience < LEADING)
		patience = LEADING;
}

/* The first signal counts: more of them do not put the end off. */
static void wait_for_rank_0(int number)
{
	(void)number;
	if (!interrupted)
		call_back_in(following);
	interrupted = 1;
}

static void end_without_rank_0(int number)
{
	(void)number;
	_exit(130);
}

void inv_signals_follow(void)
{
	struct sigaction wait = {.sa_handler = wait_for_rank_0, .sa_flags = SA_RESTART};
	struct sigaction late = {.sa_handler = end_without_rank_0}, inherited;

	sigaction(SIGINT, &wait, NULL);
	sigaction(SIGTERM, &wait, NULL);
	sigaction(SIGHUP, NULL, &inherited);
	if (inherited.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &wait, NULL);
	sigaction(SIGALRM, &late, NULL);
}

void inv_signals_done(void)
{
	call_back_in(0);
}

bool inv_interrupted(void)
{
	return interrupted;
}

bool inv_pipe_closed(void)
{
	return pipe_closed;
}

void inv_term_start(inv_term *t, bool quiet, bool verbose)
{
	*t = (inv_term){
		.live = isatty(STDERR_FILENO),
		.progress = !quiet,
		.level = quiet     ? INVAR_LOG_WARNING
	             : verbose ? INVAR_LOG_DETAIL
	                       : INVAR_LOG_INFO,
		.began = inv_wall_seconds(),
	};
}

void inv_term_clear(inv_term *t)
{
	if (t->drawn)
		fputs("\r\033[K", stderr);
	t->drawn = false;
	line_drawn = 0;
}

static void write_log_line(void *user, int level, const char *line)
{
	inv_term *t = user;

	if (level > t->level)
		return;
	inv_term_clear(t);
	inv_print_line(stderr, "%s%s", level == INVAR_LOG_WARNING ? "warning: " : "", line);
}

void inv_term_say(inv_term *t, const char *format, ...)
{
	va_list args;

	if (t->level < INVAR_LOG_INFO)
		return;
	inv_term_clear(t);
	va_start(args, format);
	inv_print_line_of(stderr, format, args);
	va_end(args);
}

/*
 * A terminal shows one line that is redrawn; a file gets a new line each time. What is not
 * done has never 100 %.
 */
static void draw_progress(inv_term *t, uint64_t done, uint64_t total, double now)
{
	char rate[INV_SPELLED_TIME] = "", left[48] = "", fraction[16] = "", line[256];
	double elapsed = now - t->title_began;
	double speed = elapsed > 0 ? (double)(done - t->first) / elapsed : 0;

	if (total)
		snprintf(fraction, sizeof fraction, "%3.0f %%",
		         floor(100 * (double)done / (double)total));
	if (speed > 0)
		inv_rate_text(speed, rate);
	if (speed > 0 && total && (double)(total - done) / speed < 1e7) {
		unsigned long seconds = (unsigned long)((double)(total - done) / speed + 0.5);

		if (seconds >= 3600)
			snprintf(left, sizeof left, "%lu:%02lu:%02lu left", seconds / 3600,
			         seconds / 60 % 60, seconds % 60);
		else
			snprintf(left, sizeof left, "%lu:%02lu left", seconds / 60, seconds % 60);
	}
	snprintf(line, sizeof line, "%s  %s  %s  %s", t->title, fraction, rate, left);
	if (t->live) {
		fprintf(stderr, "\r%.*s\033[K", (int)inv_term_columns() - 1, line);
		t->drawn = true;
		line_drawn = 1;
	} else {
		fprintf(stderr, "%s\n", line);
	}
	fflush(stderr);
	t->shown = now;
}

static int check_interrupt(void *user, const char *title, uint64_t done, uint64_t total)
{
	inv_term *t = user;
	double now;

	saving = inv_interrupted() && strcmp(title, "train") == 0;
	if (!t->progress)
		return inv_interrupted();
	now = inv_wall_seconds();
	if (strncmp(title, t->title, sizeof t->title - 1) != 0 || done < t->first) {
		snprintf(t->title, sizeof t->title, "%s", title);
		t->first = done;
		t->title_began = now;
		if (t->live)
			t->shown = 0; /* a terminal shows a new title at once */
		else if (t->shown == 0)
			t->shown = t->began; /* a file its first line after a minute */
	}
	/* What has just begun has no rate; a file gets its line all the same, as two
	 * titles may take turns for hours. */
	if (now - t->shown >= (t->live ? REDRAW : LOG_EVERY) &&
	    (!t->live || now > t->title_began))
		draw_progress(t, done < total ? done : total, total, now);
	return inv_interrupted();
}

invar_hooks inv_term_hooks(inv_term *t)
{
	return (invar_hooks){.size = sizeof(invar_hooks),
	                     .option_prefix = "--",
	                     .user = t,
	                     .log = write_log_line,
	                     .progress = check_interrupt};
}

void inv_term_close(inv_term *t)
{
	char elapsed[INV_SPELLED_TIME], busy[INV_SPELLED_TIME];
	double cpu, peak;

	inv_term_clear(t);
	inv_context_usage(t->ctx, &peak, &cpu);
	inv_term_say(t, "done in %s, %s of CPU time, peak memory %.0f MB",
	             inv_duration_text(inv_wall_seconds() - t->began, elapsed),
	             inv_duration_text(cpu, busy), peak);
}

size_t inv_term_columns(void)
{
	struct winsize size;
	int fd = isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < 40 ? 40 : size.ws_col > 100 ? 100 : size.ws_col;
}
