/*
 * tls: TLS as a client, over a non-blocking socket that the caller owns and watches.
 *
 * Each function makes one step and never blocks; if it cannot go on, it returns what to wait for.
 * TLS 1.2 at least. The server's certificate and its name or address are always verified, before
 * any data is sent. Knows nothing of Redis and the event loop.
 */
#ifndef PATTERND_TLS_H
#define PATTERND_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TLS_WHY_BYTES = 320, TLS_RECORD_BYTES = 16384 };

/* PEM files; "": none. */
struct tls_options {
	const char *ca_file;              /* the trusted CAs; "": the system's */
	const char *cert_file, *key_file; /* the client certificate */
	const char *server_name;          /* to send and to verify; "": the host */
};

struct tls_context;
struct tls_session;

/* The version of the library. */
const char *tls_library(void);

/* Reads the files. Returns new; on failure NULL, and `why` is the reason. */
struct tls_context *tls_context_new(const struct tls_options *options, char why[TLS_WHY_BYTES]);
void tls_context_free(struct tls_context *c); /* sessions live on */

/* Returns new; NULL without memory. Borrows `fd`. `host` is a name or an IP address. */
struct tls_session *tls_session_new(struct tls_context *c, int fd, const char *host);
void tls_session_free(struct tls_session *s);

/*
 * Return as recv and send do: bytes, 0 for the end, or -1 with errno. EAGAIN: call again when the
 * socket is ready. After other errors see tls_why.
 */
int tls_handshake(struct tls_session *s); /* 1 when done */
/* At most a record. A buffer of TLS_RECORD_BYTES leaves no data where epoll cannot see it. */
ssize_t tls_read(struct tls_session *s, char *at, size_t size);
/*
 * At most a record. After EAGAIN the next call must begin with the same bytes: a part may have been
 * sent. A broken connection is reported by tls_read, which may first find the server's alert.
 */
ssize_t tls_write(struct tls_session *s, const char *at, size_t len);

/* After EAGAIN, even of a read: wait until the socket is writable, instead of readable. */
bool tls_wants_write(const struct tls_session *s);

/* After a failure: what went wrong, and whether a retry would fail the same way. */
const char *tls_why(const struct tls_session *s);
bool tls_is_refused(const struct tls_session *s);

#endif
