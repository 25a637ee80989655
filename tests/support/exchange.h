/*
 * exchange: a record of every exchange that a test has. Its answers are checked against the
 * contract afterwards.
 *
 * One JSON line each in the file that the variable PATTERND_EXCHANGES names (nothing without it),
 * which a program's first exchange empties: each test program has its own file. Members:
 * operation (its operationId, "" when none matches), method, target, status, content_type, headers
 * (names in lower case), body (as text). Left out: pages of text/html, with which libmicrohttpd
 * refuses by itself what it cannot parse.
 */
#ifndef TEST_EXCHANGE_H
#define TEST_EXCHANGE_H

#include "http.h"

/* Empties the file, once; the first exchange does so otherwise. */
void exchange_open(void);

void exchange_record(const char *method, const char *target, struct answer a);

#endif
