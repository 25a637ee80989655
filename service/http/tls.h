/*
 * http_tls: TLS of client connections as far as libmicrohttpd leaves it to the daemon. Owns the
 * certificates and the handshakes; http/tls.c is the only file that includes gnutls/.
 *
 * libmicrohttpd has its TLS from GnuTLS and makes the session of each connection. The certificate
 * that a session presents and demands is set here: a connection keeps the certificate that it began
 * with, and new connections get the one that was read last.
 *
 * In each run libmicrohttpd asks GnuTLS to go on with a handshake, and then wants to run again at
 * once, also when no byte came: a client that stalls in the middle of it would keep the daemon
 * spinning. So a connection is suspended until there are bytes.
 */
#ifndef PATTERND_HTTP_TLS_H
#define PATTERND_HTTP_TLS_H

#include "http/conn.h"

/*
 * Reads the certificate, its key, and the CA that must have signed clients' certificates ("": none
 * is demanded). False after one line on stderr.
 */
bool http_tls_open(const char *cert, const char *key, const char *client_ca);

/* Prints the names in the certificate and the end of its validity, as a comment on stdout. */
void http_tls_print(void);

/* Rereads the files. On failure it logs why, and the old certificate stays in use. */
void http_tls_reload(void);
void http_tls_close(void);

/* For MHD_start_daemon: protocol versions, and a callback that it demands and never calls. */
const char *http_tls_priorities(void);
void *http_tls_certificate_callback(void);

/* For a new connection and its GnuTLS session. The next run starts the handshake. */
void http_tls_begin(struct conn *c, void *session);

/* Resumes a handshake that http_tls_sleep has suspended. */
void http_tls_wake(struct conn *c);

/* After a run: suspends the connections whose handshake waits for bytes. */
void http_tls_sleep(struct http_server *s);

/* Writes to a client whose handshake has ended. What the socket does not take at once is lost. */
void http_tls_write(struct conn *c, const char *bytes, size_t len);

/* The connection closes. */
void http_tls_end(struct conn *c);

#endif
