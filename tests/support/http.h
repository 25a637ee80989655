/*
 * http: an HTTP client for tests, over libcurl.
 *
 *	struct client *c = client_open(d.port);
 *	struct answer a = http(c, "POST", "/locks/a", "{\"ttl_ms\":5000}");
 *	assert_status(a, 201);
 *	a = http(c, "DELETE", "/locks/a", NULL, "Lock-Token: none");
 *	assert_problem(a, 409, "not_holder", "none");
 *	assert_int_equal(int_at(a, "/holds"), 0);
 *	client_close(c);
 *
 * A client keeps its connection alive between requests. Answers belong to the client (or raw
 * connection) that got them and live until client_close or client_forget. Every exchange is
 * recorded (exchange.h). One thread at a time uses a client.
 */
#ifndef TEST_HTTP_H
#define TEST_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"

struct client;
struct client *client_open(int port);
void client_by_unix(struct client *c, const char *path); /* uses this socket instead of the port */
/*
 * Uses https://localhost:port. `ca` must have signed the server's certificate. The client presents
 * `cert` (NULL: none). All are paths of files.
 */
void client_by_tls(struct client *c, const char *ca, const char *cert, const char *key);
void client_close(struct client *c);
void client_forget(struct client *c);             /* frees the answers so far */
void client_timeout_ms(struct client *c, int ms); /* for a whole exchange; 10 s when never called */
void client_reconnect(struct client *c);          /* the next request opens a new connection */
void client_decode(struct client *c);             /* asks for compressed bodies, and decompresses them */

/*
 * One exchange: method, target (as it is sent: percent-encode it yourself), body text or NULL, then
 * any number of headers "Name: value" ("Name:" removes one of the client's headers). A body goes as
 * application/json unless a header has another type.
 */
#define http(client, ...) http_exchange((client), __VA_ARGS__, (const char *)NULL)
struct answer http_exchange(struct client *c, const char *method, const char *target, const char *body, ...)
	__attribute__((sentinel));

/* "Lock-Token: " and the token; the text lives for a few calls. */
const char *lock_token(const char *token);

/*
 * "Fill-Ticket: " and the ticket of the answer, which must be a 201; the text lives for a few
 * calls.
 */
const char *fill_ticket(struct answer a);

/* Does one exchange with a body of any bytes. */
struct answer http_bytes(struct client *c, const char *method, const char *target, const void *body, size_t len,
			 const char *const headers[]);

/*
 * Returns all pages of a list as one page, for tests with few items: in a Cluster a list has at
 * least one page per node. Returns the first answer that is not 200 instead.
 */
struct answer http_all(struct client *c, const char *target);

#endif
