/*
 * http: serves clients over HTTP: addresses, servers, start and end.
 *
 * The floor turns bytes into a request, prechecks it, decodes its input, runs the handler and
 * writes the response.
 */
#ifndef PATTERND_HTTP_H
#define PATTERND_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the TLS files, and checks the addresses of --listen and --health-listen: without tokens and
 * --insecure they must be private to this machine. Binds nothing. False after a line on stderr for
 * each fault.
 */
bool http_check(void);

/*
 * After http_check: binds --listen and --health-listen, and starts to serve. False after one line
 * on stderr.
 */
bool http_open(unsigned max_connections);

/* How many descriptors it may need besides the clients' sockets. */
unsigned http_descriptors(void);

/*
 * The URL of an address of --listen: "http://127.0.0.1:8379", with the real port, "https://...",
 * "unix:/path"; NULL after the last. And the URL of an address of --health-listen, in the same way.
 */
const char *http_address(size_t i);
const char *http_health_address(size_t i);

/* Runs what is due; called in each event-loop iteration after the descriptors. True: call again. */
bool http_run(void);

/* How long http_run may wait, in milliseconds; -1: until an event. */
int64_t http_timeout_ms(void);

/* Accepts no more clients; closes connections when idle. Health stays open. */
void http_drain(void);
bool http_draining(void);

/* Requests in progress, without health. */
unsigned http_request_count(void);

/* Answers open requests with 503, then closes everything. */
void http_close(void);

#endif
