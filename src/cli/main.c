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
#include "cli/openmp_policy.h"
#include "cli/outputs.h"
#include "cli/stack.h"
#include "cli/term.h"
#include "report/line_text.h"

enum { EXIT_FAILED = 1, EXIT_USE = 2, EXIT_INTERRUPTED = 130 };

invar_status inv_session_start(inv_session *s)
{
	invar_hooks hooks = inv_term_hooks(s->term);
	bool silent = inv_processes_rank(s->processes) > 0;
	unsigned cpu;

	INV_TRY(
		invar_context_new((unsigned)s->common->threads, silent ? NULL : &hooks, &s->ctx));
	if (!s->command->by_all_ranks)
		return INVAR_OK;
	inv_context_share(s->ctx, s->processes);
	s->term->ctx = s->ctx;
	cpu = s->ctx->cpu;
	INV_TRY(inv_broadcast(s->ctx, &cpu, sizeof cpu));
	if (cpu & ~s->ctx->cpu)
		return inv_fail(INVAR_E_MISMATCH,
		                "this machine lacks instructions that rank 0 uses; set "
		                "INVAR_CPU=ref for all ranks, or choose other machines");
	s->ctx->cpu = cpu;
	return INVAR_OK;
}

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

/* The library names no command; what can be looked up about an error is said here. */
static const char *hint_for(const char *topic)
{
	static const char *const hints[][2] = {
		{"encoders", " (see 'invar models list')"},
		{"weights", " (see 'invar models inspect FILE')"},
	};

	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (strcmp(topic, hints[i][0]) == 0)
			return hints[i][1];
	return "";
}

static int exit_code(inv_session *s, invar_status st)
{
	char spelled[1024];
	const char *sentence = inv_last_error_spelled("--", spelled, sizeof spelled);
	const char *hint = hint_for(inv_last_error_topic());

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

/* 0 where the command has no such option. */
static uint64_t count_of(const inv_session *s, const char *name)
{
	double value = inv_number(s, name);

	return value > 0 ? (uint64_t)value : 0;
}

static inv_common read_common(const inv_session *s)
{
	return (inv_common){.help = inv_flag(s, "help"),
	                    .version = inv_flag(s, "version"),
	                    .json = inv_flag(s, "json"),
	                    .quiet = inv_flag(s, "quiet"),
	                    .verbose = inv_flag(s, "verbose"),
	                    .threads = count_of(s, "threads"),
	                    .seed = count_of(s, "seed")};
}

/* The session borrows `common`, which its owner keeps. */
static invar_status run_command(inv_session *s, char **word, size_t words,
                                inv_common *common)
{
	invar_status st = inv_command_options(s->command, &s->options);

	if (st == INVAR_OK)
		st = inv_parse(s, word, words);
	if (st != INVAR_OK)
		return st;
	*common = read_common(s);
	s->common = common;
	if (common->help)
		inv_help_command(s->command, stdout, inv_term_columns());
	else if (common->version)
		printf("invar %s\n", invar_version());
	if (common->help || common->version || (st = inv_check_arguments(s)) != INVAR_OK)
		return st;
	inv_term_start(s->term, common->quiet, common->verbose);
	if (inv_processes_rank(s->processes) == 0 || s->command->by_all_ranks)
		st = s->command->run(s);
	s->term->ctx = NULL;
	invar_context_free(s->ctx);
	return st;
}

static invar_status find_and_run(inv_session *s, char **word, size_t words)
{
	inv_common common;
	invar_status st;

	s->command = inv_command_find(word[0]);
	if (!s->command)
		return inv_help_unknown(word[0]);
	st = run_command(s, word + 1, words - 1, &common);
	s->common = NULL;
	inv_reads_clear(s);
	free(s->argument);
	invar_options_free(s->options);
	return st;
}

/*
 * A program that was started with a standard stream closed would give its
 * number to the first file it opens. The stand-in faces the wrong way, so
 * using it still fails.
 */
static void occupy_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
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

/*
 * Under mpirun or srun, rank 0 alone prints. The others leave signals to it, so that all
 * ranks end with its exit code. Returns where they print that they cannot reach it.
 */
static int follow_rank_0(void)
{
	int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		close(nowhere);
	}
	inv_signals_follow();
	return saved;
}

static int run_words(int argc, char **argv, inv_processes *processes)
{
	inv_term term = {0};
	inv_session s = {.term = &term, .processes = processes};
	invar_status st = INVAR_OK;

	if (inv_interrupted())
		st = inv_fail(INVAR_E_CANCELLED, "interrupted before the command began");
	else if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		inv_help_overview(stdout, inv_term_columns());
	else if (strcmp(argv[1], "--version") == 0)
		printf("invar %s\n", invar_version());
	else
		st = find_and_run(&s, argv + 1, (size_t)argc - 1);
	st = inv_processes_leave(processes, st);
	inv_signals_done();
	return close_output(exit_code(&s, st));
}

int main(int argc, char **argv)
{
	inv_processes *processes;
	int code, report = -1;

	inv_signals_hold();
	if (!inv_stack_suffices(argv))
		return EXIT_FAILED;
	inv_wait_asleep(argv);
	occupy_streams();
	inv_signals_catch();
	if (inv_processes_join(&processes) != INVAR_OK) {
		fprintf(stderr, "invar: %s\n", invar_last_error());
		return EXIT_FAILED;
	}
	if (inv_processes_rank(processes))
		report = follow_rank_0();
	else if (processes)
		inv_signals_lead();
	code = run_words(argc, argv, processes);
	if (report >= 0 && inv_processes_is_lost(processes))
		dprintf(report, "invar: %s\n", invar_last_error());
	inv_processes_close(processes, code);
	return code;
}
