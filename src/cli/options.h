/*
 * options.h - the options of a command as one list, and reading argv by it.
 */
#ifndef INV_OPTIONS_H
#define INV_OPTIONS_H

#include "cli/command.h"

enum { INV_MOST_OPTIONS = 128 };

typedef struct inv_option {
	const invar_field *field;
	size_t offset;     /* of the member in the command's values */
	const char *group; /* heading in the help */
	char letter;       /* short name, 0 if it has none */
} inv_option;

/*
 * The options of a command in the order of the help; out has room for
 * INV_MOST_OPTIONS. A name that appears twice (seed is a member of several
 * option structs and a common option too) counts once: the first table wins.
 */
size_t inv_options(const inv_command *c, inv_option *out);

/*
 * Reads the words that follow the command's name into values, s->argument and
 * s->given. A fault is INVAR_E_USE with one sentence.
 */
invar_status inv_parse(inv_session *s, char **word, size_t words, void *values);

/* Frees the lists that inv_parse made. */
void inv_values_clear(const inv_command *c, void *values);

/* Refuses missing and superfluous arguments. */
invar_status inv_check_arguments(inv_session *s);

/* Refuses a missing option that the command cannot do without. */
invar_status inv_need(inv_session *s, const char *value, const char *sentence);

/* Refuses a word that is not among "a|b|c", naming the nearest one that is. */
invar_status inv_check_word(inv_session *s, const char *what, const char *choices,
                            const char *text);

/*
 * The candidate nearest to a mistyped word by edit distance, or one that it
 * begins; best stays NULL if all are far.
 */
typedef struct inv_nearest {
	const char *word;
	const char *best;
	size_t distance;
} inv_nearest;

void inv_nearest_start(inv_nearest *n, const char *word);
void inv_nearest_try(inv_nearest *n, const char *candidate);

#endif
