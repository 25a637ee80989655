/*
 * http_tls: certificates of the listener, and TLS as far as libmicrohttpd leaves it to us. http/tls.c is the only file that includes
 * gnutls/.
 *
 * libmicrohttpd has its TLS from GnuTLS and makes the session of each connection. What that session presents and demands is set here, so
 * that a connection keeps the certificate it began with while new ones get those that were read last.
 */
#ifndef PATTERND_HTTP_TLS_H
#define PATTERND_HTTP_TLS_H

#include <stdbool.h>

struct http_tls; /* of one connection */

/* Reads the certificate, its key, and whom clients must be certified by ("": nobody asks). False after one line on stderr. */
bool http_tls_open(const char *cert, const char *key, const char *client_ca);

/* Reads the same files again. What cannot be used is logged, and the old stays in force. */
void http_tls_reload(void);
void http_tls_close(void);

/* For libmicrohttpd's start: what is negotiated, and a certificate callback, which it wants and nobody asks. */
const char *http_tls_priorities(void);
void *http_tls_certificate_callback(void);

/* Prepares a session of GnuTLS before its handshake. Returns new; NULL without memory. */
struct http_tls *http_tls_begin(void *session);

/* True once the client has finished its part of the handshake. */
bool http_tls_is_secured(const struct http_tls *t);
void http_tls_end(struct http_tls *t);

#endif
