/*
 * option: the names of options as flags, in files and as variables: which name may be meant
 * by an unknown one. Knows no values.
 */
#ifndef PATTERND_OPTION_H
#define PATTERND_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum { OPTION_NAME_MAX = 64 };

/* --pool-size is PATTERND_POOL_SIZE. */
void option_variable(const char *flag, char out[OPTION_NAME_MAX]);

/*
 * Returns false after a line on stderr with the nearest option. `where` ends with ": " or is empty;
 * `dashes` is "" in a file.
 */
bool option_refuse_name(const char *where, const char *dashes, const char *name, size_t len);

/*
 * Calls `report` for each variable PATTERND_X of `environment` (as of environ(7)) that is not
 * an option, with a sentence that names the nearest one. The variables of clients, and those that
 * Kubernetes sets for a Service whose name starts with patternd, are passed over.
 */
void option_unknown_variables(char **environment, void (*report)(const char *message));

#endif
