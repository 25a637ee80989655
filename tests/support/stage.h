/*
 * stage: one Redis, one daemon and one client, which all tests of a program share.
 *
 *	SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);
 */
#ifndef TEST_STAGE_H
#define TEST_STAGE_H

#include <stdio.h>

#include "stage_parts.h"

/* For the group: set up and torn down once. */
int stage_open(void **state);
int stage_open_to_leap(void **state);                    /* leap(&patternd, seconds) works */
int stage_open_with_tokens(void (*print)(FILE *tokens)); /* `print` writes the file of --tokens: tokens.h */
int stage_close(void **state);

/* After each test: FLUSHALL. */
int stage_forget(void **state);

struct answer get(const char *target);
struct answer get_all(const char *target); /* all pages of a list: http_all */
struct answer post(const char *target, const char *body);

#endif
