/*
 * https: the parts of TLS with clients that libmicrohttpd leaves to the daemon. It owns the
 * certificates and the handshakes; only http/https.c includes gnutls/ here. It must not know
 * requests.
 *
 * libmicrohttpd uses GnuTLS and makes the session of each connection. The certificate that a
 * session presents and demands is set here: a connection keeps the certificate that it began with,
 * and new connections get the one that was read last.
 *
 * In each run libmicrohttpd asks GnuTLS to continue a handshake, and then wants to run again at
 * once, even if no byte has arrived: a client that stalls during the handshake would keep the
 * daemon spinning. So the connection is suspended until bytes arrive.
 */
#ifndef PATTERND_HTTPS_H
#define PATTERND_HTTPS_H

#include "http/client.h"

/*
 * Reads the certificate, its key, and the CA that must have signed clients' certificates ("": none
 * is required). If that fails, writes one line to stderr and returns false.
 */
bool https_open(const char *cert, const char *key, const char *client_ca);

/*
 * Prints the names in the certificate and the end of its validity, as a comment on stdout. If it
 * has expired, writes one line to stderr and returns false.
 */
bool https_print(void);

/* Logs a warning if the certificate has expired. */
void https_warn(void);

/*
 * Rereads the files. If that fails, or the new certificate has expired and the old one has not, it
 * logs why, and the old one stays in use.
 */
void https_reload(void);
void https_close(void);

/* For MHD_start_daemon: protocol versions, and a callback that it requires and never calls. */
const char *https_priorities(void);
void *https_certificate_callback(void);

/* Call it for a new connection and its GnuTLS session. The next run starts the handshake. */
void https_begin(struct client *c, void *session);

/* Resumes a handshake that https_sleep has suspended. */
void https_wake(struct client *c);

/* Call it after a run: suspends the connections whose handshake waits for bytes. */
void https_sleep(struct http_server *s);

/*
 * Writes to a client whose handshake has ended. Bytes that the socket does not take at once are
 * lost.
 */
void https_write(struct client *c, const char *bytes, size_t len);

/* Call it when the connection closes. */
void https_end(struct client *c);

#endif
