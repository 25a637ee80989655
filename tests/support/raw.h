/*
 * raw: a bare socket to the daemon, for requests that libcurl would never send.
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
struct raw *raw_try_connect(int port); /* NULL when no program listens */
bool raw_listens(int port);            /* true when a program listens */
struct raw *raw_connect_unix(const char *path);

/*
 * Starts TLS, without verifying the peer. False when no handshake succeeds within 5 s. raw_close
 * then first sends close_notify.
 */
bool raw_secure(struct raw *r);

void raw_close(struct raw *r);
void raw_forget(struct raw *r);     /* frees the answers so far */
void raw_reset(struct raw *r);      /* closes with RST */
void raw_half_close(struct raw *r); /* sends FIN, still reads */
int raw_fd(const struct raw *r);

/* Sends all bytes. False when the other side has closed, or does not read them within 5 s. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_text(struct raw *r, const char *text);

/* Sends `piece` several times. False as for raw_send. */
bool raw_repeat(struct raw *r, const char *piece, size_t times);

/*
 * Sends `piece` repeatedly, one byte per `pause_ms`, until the peer closes or answers, or for
 * `max_ms`.
 */
void raw_drip(struct raw *r, const char *piece, int pause_ms, int max_ms);

/*
 * The next answer on the connection; 100 Continue counts as one. Status 0: none came in time, or
 * the connection ended.
 */
struct answer raw_answer(struct raw *r, int timeout_ms);

/* The head of an answer whose body raw_chunk reads. Status 0: none came in time. */
struct answer raw_head(struct raw *r, int timeout_ms);

/*
 * The next chunk of that body, which the caller frees; "" is the last. NULL: none came in time, or
 * the connection ended.
 */
char *raw_chunk(struct raw *r, int timeout_ms);

/*
 * True when the connection ends in time. Reads the bytes that still come; raw_answers_left counts
 * their answers.
 */
bool raw_closed(struct raw *r, int timeout_ms);

/* How many status lines were read and not yet taken by raw_answer. */
size_t raw_answers_left(const struct raw *r);

/* How many bytes were read and not yet taken by raw_answer. */
size_t raw_bytes_left(const struct raw *r);

/*
 * Does one exchange and records it. Sends a request line of method and target, then `rest`
 * (headers, empty line, body).
 */
struct answer raw_exchange(struct raw *r, const char *method, const char *target, const char *rest, int timeout_ms);

#endif
