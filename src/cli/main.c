/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - from argv to a command, from a status to an exit code.
 *
 * 0 done, 1 failed, 2 wrong use, 3 a check found drift, 130 interrupted. An error is one
 * line on standard error: "invar: ..." if something failed, "invar COMMAND: ..." for a
 * usage error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/processes.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/command_options.h"
#include "cli/help.h"
#include "cli/outputs.h"
#include "cli/restart.h"
#include "cli/term.h"
#include "report/line_text.h"

enum { EXIT_FAILED = 1, EXIT_USE = 2, EXIT_INTERRUPTED = 130 };

invar_status inv_print_json(json_t *document)
{
	int bad = !document || json_dumpf(document, stdout, INV_JSON_STYLE) != 0;

	json_decref(document);
	/* A failed write is found again, with its reason, when stdout is closed. */
	if (bad && !ferror(stdout))
		return inv_no_memory();
	putchar('\n');
	return INVAR_OK;
}

static invar_status run_command(inv_session *s, char **word, size_t words)
{
	const inv_command *c = s->command;
	const unsigned rank = inv_processes_rank(s->processes);
	invar_hooks hooks = inv_term_hooks(s->term);
	bool help_all;
	unsigned cpu;

	INV_TRY(inv_command_options(c, &s->options));
	INV_TRY(inv_parse(s, word, words));
	help_all = inv_flag(s, "help-all");
	if (help_all || inv_flag(s, "help")) {
		inv_help_command(c, help_all, stdout, inv_term_columns());
		return INVAR_OK;
	}
	if (inv_flag(s, "version")) {
		printf("invar %s\n", invar_version());
		return INVAR_OK;
	}
	INV_TRY(inv_check_arguments(s));
	s->json =
		inv_flag(s, "json"); /* of an option that it does not have, the number is NaN */
	s->quiet = inv_flag(s, "quiet");
	s->verbose = inv_flag(s, "verbose");
	s->threads = inv_number(s, "threads") > 0 ? (unsigned)inv_number(s, "threads") : 0;
	s->seed = inv_number(s, "seed") > 0 ? (uint64_t)inv_number(s, "seed") : 0;
	inv_term_start(s->term, s->quiet, s->verbose);
	if (rank && !c->by_all_ranks)
		return INVAR_OK;
	INV_TRY(inv_check_files(s));
	INV_TRY(invar_context_new(s->threads, rank ? NULL : &hooks, &s->ctx));
	if (c->by_all_ranks) { /* with the same CPU code */
		inv_context_share(s->ctx, s->processes);
		s->term->ctx = s->ctx;
		cpu = s->ctx->cpu;
		INV_TRY(inv_broadcast(s->ctx, &cpu, sizeof cpu));
		if (cpu & ~s->ctx->cpu)
			return inv_fail(INVAR_E_MISMATCH,
			                "this machine lacks instructions that rank 0 uses; set "
			                "INVAR_CPU=ref for all ranks, or choose other machines");
		s->ctx->cpu = cpu;
	}
	s->is_timed = c->is_timed;
	INV_TRY(c->run(s));
	if (s->is_timed)
		inv_term_close(s->term);
	return INVAR_OK;
}

/* "invar: message (see …)" on standard error; what can be looked up is said here. */
static int exit_code(inv_session *s, invar_status st)
{
	const char *topic = inv_last_error_topic();
	const char *hint = strcmp(topic, "encoders") == 0 ? " (see 'invar models list')"
	                   : strcmp(topic, "weights") == 0
	                       ? " (see 'invar models inspect FILE')"
	                       : "";
	char spelled[1024];
	const char *sentence = inv_last_error_spelled("--", spelled, sizeof spelled);

	inv_term_clear(s->term);
	if (st == INVAR_OK)
		return s->result;
	if (inv_pipe_closed())
		return EXIT_FAILED;
	if (st == INVAR_E_USE && s->command)
		inv_print_line(stderr, "invar %s: %s%s", s->command->name, sentence, hint);
	else
		inv_print_line(stderr, "invar: %s%s", sentence, hint);
	return st == INVAR_E_USE         ? EXIT_USE
	       : st == INVAR_E_CANCELLED ? EXIT_INTERRUPTED
	                                 : EXIT_FAILED;
}

/* A full disk shows when the last bytes are flushed; that is a failure too. */
static int close_output(int code)
{
	int error = 0;

	if (fflush(stdout) != 0)
		error = errno;
	else if (ferror(stdout))
		error = EIO;
	if (!error || inv_pipe_closed() || code == EXIT_FAILED || code == EXIT_USE ||
	    code == EXIT_INTERRUPTED)
		return error && code == EXIT_SUCCESS ? EXIT_FAILED : code;
	fprintf(stderr, "invar: cannot write to standard output: %s\n", strerror(error));
	return EXIT_FAILED;
}

static int run_words(int argc, char **argv, inv_processes *processes)
{
	inv_term term = {0};
	inv_session s = {.term = &term, .processes = processes};
	invar_status st = INVAR_OK;

	if (inv_interrupted())
		st = inv_fail(INVAR_E_CANCELLED, "interrupted before the command began");
	else if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		inv_help_overview(false, stdout, inv_term_columns());
	else if (strcmp(argv[1], "--version") == 0)
		printf("invar %s\n", invar_version());
	else if (!(s.command = inv_command_find(argv[1])))
		st = inv_help_unknown(argv[1]);
	else
		st = run_command(&s, argv + 2, (size_t)argc - 2);
	term.ctx = NULL;
	invar_context_free(s.ctx);
	inv_reads_clear(&s);
	inv_free(s.argument);
	invar_options_free(s.options);
	st = inv_processes_leave(processes, st);
	inv_signals_done();
	return close_output(exit_code(&s, st));
}

int main(int argc, char **argv)
{
	inv_processes *processes;
	int code, nowhere, report = -1;

	inv_signals_hold();
	if (!inv_stack_suffices(argv))
		return EXIT_FAILED;
	inv_wait_asleep(argv);
	/*
	 * A program that was started with a standard stream closed would give its number to
	 * the first file it opens. The stand-in faces the wrong way, so using it still fails.
	 */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
	inv_signals_catch();
	if (inv_processes_join(&processes) != INVAR_OK) {
		fprintf(stderr, "invar: %s\n", invar_last_error());
		return EXIT_FAILED;
	}
	if (inv_processes_rank(processes)) {
		/*
		 * Rank 0 alone prints. The others leave signals to it, so that all ranks end with
		 * its exit code, and print only that they cannot reach it.
		 */
		report = dup(STDERR_FILENO);
		if ((nowhere = open("/dev/null", O_WRONLY)) >= 0) {
			dup2(nowhere, STDOUT_FILENO);
			dup2(nowhere, STDERR_FILENO);
			close(nowhere);
		}
		inv_signals_follow();
	} else if (processes) {
		inv_signals_lead();
	}
	code = run_words(argc, argv, processes);
	if (report >= 0 && inv_processes_is_lost(processes))
		dprintf(report, "invar: %s\n", invar_last_error());
	inv_processes_close(processes, code);
	return code;
}
