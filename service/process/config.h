/*
 * config: the options. They are read once at start, from flags, environment and file, and are
 * constant afterwards. It must not know what an option does.
 */
#ifndef PATTERND_CONFIG_H
#define PATTERND_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json/out.h"

/*
 * One member per option. Texts, secrets and choices are strings; integers and flags are numbers.
 * `embedded` is NULL when it is off, "" for a temporary folder.
 */
struct config {
#define OPTION_GROUP(title)
#define OPTION_TEXT(field, flag, argument, standard, help) const char *field;
#define OPTION_SECRET(field, flag, argument, standard, help) const char *field;
#define OPTION_OPTIONAL(field, flag, argument, help) const char *field;
#define OPTION_CHOICE(field, flag, standard, choices, help) const char *field;
#define OPTION_INT(field, flag, argument, standard, low, high, help) int64_t field;
#define OPTION_FLAG(field, flag, help) bool field;
#define OPTION_ONCE(flag, argument, help)
#undef KIB
#undef MIB
#include "process/options.def"
#undef OPTION_GROUP
#undef OPTION_TEXT
#undef OPTION_SECRET
#undef OPTION_OPTIONAL
#undef OPTION_CHOICE
#undef OPTION_INT
#undef OPTION_FLAG
#undef OPTION_ONCE
};

/* The text of --help, generated from the same rows. */
extern const char help_text[];

/*
 * Call it before config_load. `fault` returns what is wrong with the text of an option, and what is
 * expected; NULL: nothing is.
 */
void config_check_texts(const char *(*fault)(const char *flag, const char *value));

enum config_outcome { CONFIG_RUN, CONFIG_DONE, CONFIG_REFUSED };

/*
 * Reads the options. CONFIG_DONE: stdout has the answer to --help or --version. CONFIG_REFUSED:
 * stderr has a line for each invalid option, with its place and the reason. `environment` is as in
 * environ(7).
 */
enum config_outcome config_load(int argc, char **argv, char **environment);

/* True with --check-config: files are read, and nothing is opened. */
bool config_is_dry_run(void);

/* Prints the options in force and their sources on stdout, with secrets redacted. */
void config_print(void);

/* Returns the options in force. */
const struct config *config(void);

/* Returns true if the number of the option, such as "pool-size", is not its default. */
bool config_is_changed(const char *flag);

/* Writes every option as a member of an open object, with secrets redacted. */
void config_out(struct json_out *o);

void config_free(void);

#endif
