/*
 * new_token: `patternd --new-token LABEL SCOPE...` makes a token, and its line for the file of
 * --tokens. The line is on stdout, so that `>>tokens` adds it; the token itself is only on stderr,
 * so that it never gets into the file. It must not know requests.
 */
#ifndef PATTERND_NEW_TOKEN_H
#define PATTERND_NEW_TOKEN_H

#include <stdbool.h>

/* Returns true if --new-token is one of the arguments. */
bool new_token_requested(int argc, char **argv);

/*
 * Prints the line and the token. If the file of --tokens would not accept the line, prints one line
 * to stderr and nothing to stdout. Returns the exit status: 0, 1 if stdout cannot be written, or 2
 * if an argument is refused.
 */
int new_token_run(char **argv);

#endif
