/*
 * option: the names of options as flags, in files and as variables; and which name an unknown one
 * may mean. It must not know values.
 */
#ifndef PATTERND_OPTION_H
#define PATTERND_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum { OPTION_NAME_MAX = 64 };

/* Writes the name of the variable: for --pool-size it is PATTERND_POOL_SIZE. */
void option_variable(const char *flag, char out[OPTION_NAME_MAX]);

/*
 * Returns false after a line on stderr that has the nearest option. `where` ends with ": " or is
 * empty; `dashes` is "" in a file.
 */
bool option_refuse_name(const char *where, const char *dashes, const char *name, size_t len);

/*
 * Calls `report` for each variable PATTERND_X of `environment` (see environ(7)) that is not an
 * option, with a sentence that has the nearest option. It ignores the variables of clients, and
 * those that Kubernetes sets for a Service whose name begins with patternd.
 */
void option_unknown_variables(char **environment, void (*report)(const char *message));

#endif
