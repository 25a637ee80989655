/*
 * exchange: records every HTTP exchange of the tests. A later test checks the answers against the
 * contract.
 *
 * Each exchange is one JSON line in the file that PATTERND_EXCHANGES names. Without that variable
 * nothing is recorded. Each test program has its own file, which its first exchange empties.
 * Members: operation (its operationId, "" when none matches), method, target, status, content_type,
 * headers (names in lower case), body (as text). The text/html pages with which libmicrohttpd
 * itself refuses a request are left out.
 */
#ifndef TEST_EXCHANGE_H
#define TEST_EXCHANGE_H

#include "http.h"

/* Empties the file, once. Without this call the first exchange does so. */
void exchange_open(void);

void exchange_record(const char *method, const char *target, struct answer a);

#endif
