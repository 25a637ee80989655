/*
 * https: TLS of client connections as far as libmicrohttpd leaves it to the daemon. Owns the
 * certificates and the handshakes; http/https.c is the only file that includes gnutls/.
 *
 * libmicrohttpd has its TLS from GnuTLS and makes the session of each connection. The certificate
 * that a session presents and demands is set here: a connection keeps the certificate that it began
 * with, and new connections get the one that was read last.
 *
 * In each run libmicrohttpd asks GnuTLS to go on with a handshake, and then wants to run again at
 * once, also when no byte came: a client that stalls in the middle of it would keep the daemon
 * spinning. So a connection is suspended until there are bytes.
 */
#ifndef PATTERND_HTTPS_H
#define PATTERND_HTTPS_H

#include "http/client.h"

/*
 * Reads the certificate, its key, and the CA that must have signed clients' certificates ("": none
 * is demanded). False after one line on stderr.
 */
bool https_open(const char *cert, const char *key, const char *client_ca);

/* Prints the names in the certificate and the end of its validity, as a comment on stdout. */
void https_print(void);

/* Rereads the files. On failure it logs why, and the old certificate stays in use. */
void https_reload(void);
void https_close(void);

/* For MHD_start_daemon: protocol versions, and a callback that it demands and never calls. */
const char *https_priorities(void);
void *https_certificate_callback(void);

/* For a new connection and its GnuTLS session. The next run starts the handshake. */
void https_begin(struct client *c, void *session);

/* Resumes a handshake that https_sleep has suspended. */
void https_wake(struct client *c);

/* After a run: suspends the connections whose handshake waits for bytes. */
void https_sleep(struct http_server *s);

/* Writes to a client whose handshake has ended. What the socket does not take at once is lost. */
void https_write(struct client *c, const char *bytes, size_t len);

/* The connection closes. */
void https_end(struct client *c);

#endif
