/*
 * http: serves clients over HTTP: addresses, servers, start and end. It must not know patterns.
 *
 * This floor turns bytes into a request, prechecks it, decodes its input, runs the handler and
 * writes the response.
 */
#ifndef PATTERND_HTTP_H
#define PATTERND_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

/*
 * Reads the TLS files, and checks the addresses of --listen and --health-listen: without --tokens
 * and --insecure they must be private to this machine. It binds nothing. Returns false after a line
 * on stderr for each fault.
 */
bool http_check(void);

/*
 * Call it after http_check: binds --listen and --health-listen, and starts to serve. If that
 * fails, writes one line to stderr and returns false.
 */
bool http_open(unsigned max_connections);

/* Returns how many descriptors it may need besides the clients' sockets. */
unsigned http_descriptors(void);

/*
 * http_address returns the URL of address `i` of --listen: "http://127.0.0.1:8379", with the real
 * port, "https://...", "unix:/path"; NULL after the last. http_health_address does so for
 * --health-listen.
 */
const char *http_address(size_t i);
const char *http_health_address(size_t i);

/*
 * Runs what is due. Call it in each event-loop iteration after the descriptors; if it returns true,
 * call it again.
 */
bool http_run(void);

/* Returns how long http_run may wait, in milliseconds; -1: until an event. */
int64_t http_timeout_ms(void);

/*
 * http_drain accepts no more clients and closes connections when they are idle. Health stays open.
 */
void http_drain(void);
bool http_draining(void);

/*
 * Closes the connections of the requests that wait or stream and for which `is_over` returns true,
 * as if their clients had disconnected.
 */
void http_end_waits(bool (*is_over)(const struct request *req));

/* Returns the number of requests in progress, without health. */
unsigned http_request_count(void);

/* Answers open requests with 503, then closes everything. */
void http_close(void);

#endif
