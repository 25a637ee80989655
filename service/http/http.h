/*
 * http: the edge to clients: where they come in, and what serves them.
 *
 * It turns bytes into a request, hands the request to admission and input, and writes what was answered.
 */
#ifndef PATTERND_HTTP_H
#define PATTERND_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Binds what --listen and --health-listen name, and starts to serve so many clients at once. False: one line on stderr says why. */
/* Whether the addresses of --listen are addresses, and, without tokens and --insecure, reached from this machine alone. False: one line on stderr says what is wrong. */
bool http_check_addresses(void);

bool http_open(unsigned max_connections);

/* How many descriptors it may need beside those of the clients. */
unsigned http_descriptors(void);

/*
 * Where it serves: "http://127.0.0.1:8379" with the port that was really taken, "https://...", "unix:/path"; NULL after the last. And
 * where health is asked for; NULL: nowhere of its own.
 */
const char *http_address(size_t i);
const char *http_health_address(void);

/* The version of libmicrohttpd that is loaded. */
const char *http_library(void);

/* Reads the certificate again, for clients still to come. */
void http_reload(void);

/* Does what is due; to be called in every turn after the descriptors. True when answers came meanwhile: call again. */
bool http_run(void);

/* How long http_run may wait, in milliseconds; -1: until something happens. */
int64_t http_timeout_ms(void);

/* No new connections; idle ones are closed, the others with their answer. Health goes on being served. */
void http_drain(void);
bool http_draining(void);

/* Requests that are not done with, health aside. */
unsigned http_request_count(void);

/* Answers whatever is still open with 503, then closes everything. */
void http_close(void);

#endif
