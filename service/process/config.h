/*
 * config: the options, read once at start from flags, environment and file; constant afterwards.
 */
#ifndef PATTERND_CONFIG_H
#define PATTERND_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json/out.h"

/*
 * One member per option: text, secrets and choices as strings, integers and flags as numbers.
 * `embedded` is NULL when off, "" for a temporary folder.
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

enum config_outcome { CONFIG_RUN, CONFIG_DONE, CONFIG_REFUSED };

/*
 * Reads the options. CONFIG_DONE: --help or --version was answered on stdout; CONFIG_REFUSED: for
 * each invalid option a line on stderr names its place and the reason. `environment` as of
 * environ(7).
 */
enum config_outcome config_load(int argc, char **argv, char **environment);

/* --check-config: the files are read, and nothing is opened. */
bool config_is_dry_run(void);

/* Prints the options in force and their sources, secrets redacted, on stdout. */
void config_print(void);

/* The options in force. */
const struct config *config(void);

/* True when the number ("pool-size") is not its default. */
bool config_is_changed(const char *flag);

/* Writes every option as a member, secrets redacted, into an open object. */
void config_out(struct json_out *o);

void config_free(void);

#endif
