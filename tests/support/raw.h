/*
 * raw: a bare socket to the daemon, for what libcurl would never send.
 *
 *	struct raw *r = raw_connect(d.port);
 *	raw_text(r, "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
 *	assert_status(raw_answer(r, 2000), 400);
 *	assert_true(raw_closed(r, 2000));
 *	raw_close(r);
 */
#ifndef TEST_RAW_H
#define TEST_RAW_H

#include "http.h"

struct raw;

struct raw *raw_connect(int port);     /* fails the test when no program listens */
struct raw *raw_try_connect(int port); /* NULL then */
bool raw_listens(int port);            /* a program does */
struct raw *raw_connect_unix(const char *path);

/*
 * TLS from here on; the peer is not verified. False when no handshake succeeds within 5 s.
 * raw_close then sends close_notify first.
 */
bool raw_secure(struct raw *r);

void raw_close(struct raw *r);
void raw_forget(struct raw *r);     /* frees the answers so far */
void raw_reset(struct raw *r);      /* closes with RST */
void raw_half_close(struct raw *r); /* sends FIN, goes on reading */
int raw_fd(const struct raw *r);

/* Sends it all. False when the other side no longer takes it, or not within 5 s. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_text(struct raw *r, const char *text);

/* Sends `piece` so many times; the errors of raw_send. */
bool raw_repeat(struct raw *r, const char *piece, size_t times);

/*
 * Sends `piece` repeatedly, a byte each `pause_ms`, until the peer closes or answers, or for
 * `max_ms`.
 */
void raw_drip(struct raw *r, const char *piece, int pause_ms, int max_ms);

/*
 * The next answer on the connection (100 Continue is one, too). Status 0: none came in time, or it
 * ended.
 */
struct answer raw_answer(struct raw *r, int timeout_ms);

/* The head of an answer whose body goes on, for raw_chunk. Status 0: none came in time. */
struct answer raw_head(struct raw *r, int timeout_ms);

/*
 * The next chunk of that body, which the caller frees; "" is the last. NULL: none came in time, or
 * the connection ended.
 */
char *raw_chunk(struct raw *r, int timeout_ms);

/*
 * True when the connection ends within the time. What still comes is read, and counted by
 * raw_answers_left.
 */
bool raw_closed(struct raw *r, int timeout_ms);

/* How many status lines are in what was read and not yet taken by raw_answer. */
size_t raw_answers_left(const struct raw *r);

/* How many bytes those are. */
size_t raw_bytes_left(const struct raw *r);

/*
 * One exchange that is recorded: a request line of method and target, then `rest` (headers, empty
 * line, body).
 */
struct answer raw_exchange(struct raw *r, const char *method, const char *target, const char *rest, int timeout_ms);

#endif
