/*
 * tls: TLS to a server, as its client, over a non-blocking socket that somebody else owns and watches.
 *
 * Each function makes one step and never blocks; where it cannot go on, it says what to wait for. TLS 1.2 at least; the server's certificate
 * is always verified, its name or address too, and what does not verify is not spoken to. Knows nothing of Redis and the loop.
 */
#ifndef PATTERND_TLS_H
#define PATTERND_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TLS_WHY_BYTES = 320, TLS_RECORD_BYTES = 16384 };

/* Files of PEM; "" stands for none. */
struct tls_options {
	const char *ca_file;              /* whom to trust; "": whom the system trusts */
	const char *cert_file, *key_file; /* what to show when the server asks */
	const char *server_name;          /* to ask for and to verify; "": the host */
};

struct tls_context;
struct tls_session;

/* The version of the library, as it says. */
const char *tls_library(void);

/* Reads the files. Returns new; NULL: `why` says what is wrong, for a person. */
struct tls_context *tls_context_new(const struct tls_options *options, char why[TLS_WHY_BYTES]);
void tls_context_free(struct tls_context *c); /* sessions live on */

/* Returns new; NULL without memory. Borrows `fd` until tls_session_free. `host` is a name or an IP address. */
struct tls_session *tls_session_new(const struct tls_context *c, int fd, const char *host);
void tls_session_free(struct tls_session *s);

/* As recv and send do: bytes, 0 for the end, or -1 with errno. EAGAIN: to be called again when the socket is ready. Else tls_why tells. */
int tls_handshake(struct tls_session *s); /* 1 when done */
/* At most a record. With a buffer of TLS_RECORD_BYTES nothing stays behind in the session that the socket would not tell of. */
ssize_t tls_read(struct tls_session *s, char *at, size_t size);
/*
 * At most a record. After EAGAIN the next call must begin with the same bytes: they may be on their way. That the connection is broken is for
 * tls_read to tell, which may first find what the server said about it.
 */
ssize_t tls_write(struct tls_session *s, const char *at, size_t len);

/* After EAGAIN: wait until the socket can be written to; else until it can be read. Also a read may wait to write, and the reverse. */
bool tls_wants_write(const struct tls_session *s);

/* After a failure: what went wrong, and whether trying again soon would be in vain (a certificate that is not accepted). */
const char *tls_why(const struct tls_session *s);
bool tls_is_refused(const struct tls_session *s);

#endif
