/*
 * tls: TLS as a client, over a non-blocking socket that the caller owns and watches. It must not
 * know Redis or the event loop.
 *
 * Each function makes one step and never blocks. If it cannot continue, it returns what to wait
 * for. TLS 1.2 is the lowest version. The server's certificate and its name or address are always
 * verified, before any data is sent.
 */
#ifndef PATTERND_TLS_H
#define PATTERND_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TLS_WHY_BYTES = 320, TLS_RECORD_BYTES = 16384 };

/* Paths of PEM files; "": none. */
struct tls_options {
	const char *ca_file;              /* trusted CAs; "": the system's */
	const char *cert_file, *key_file; /* the client certificate and its key */
	const char *server_name;          /* name to send and to verify; "": the host */
};

struct tls_context;
struct tls_session;

/* Returns the version of the library. */
const char *tls_library(void);

/* Reads the files and makes a context. NULL: `why` is the reason. */
struct tls_context *tls_context_new(const struct tls_options *options, char why[TLS_WHY_BYTES]);
void tls_context_free(struct tls_context *c); /* its sessions stay valid */

/*
 * Makes a session over `fd`, which the caller keeps. `host` is a name or an IP address. NULL:
 * memory ran out.
 */
struct tls_session *tls_session_new(struct tls_context *c, int fd, const char *host);
void tls_session_free(struct tls_session *s);

/*
 * These return as recv and send do: bytes, 0 for the end, or -1 with errno. EAGAIN: call again when
 * the socket is ready. After other errors see tls_why.
 */
int tls_handshake(struct tls_session *s); /* 1: the handshake has ended */
/*
 * Reads at most one record. A buffer of TLS_RECORD_BYTES leaves no data where epoll cannot see it.
 */
ssize_t tls_read(struct tls_session *s, char *at, size_t size);
/*
 * Writes at most one record. After EAGAIN the next call must begin with the same bytes, since a
 * part may have been sent. A broken connection is reported by tls_read, which may first find the
 * server's alert.
 */
ssize_t tls_write(struct tls_session *s, const char *at, size_t len);

/*
 * Call it after EAGAIN, even of a read. True: wait until the socket is writable, else until it is
 * readable.
 */
bool tls_wants_write(const struct tls_session *s);

/* Call them after a failure: what went wrong, and whether a retry would fail the same way. */
const char *tls_why(const struct tls_session *s);
bool tls_is_refused(const struct tls_session *s);

#endif
