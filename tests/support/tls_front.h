/*
 * tls_front: a TLS server in front of a plain port of the loopback. It does what redis-server
 * itself would not do.
 *
 *	struct tls_manner manner = { .key_updates = true };
 *	struct tls_front *f = tls_front_open(redis.port, &server, manner);
 *	daemon_start(&d, "--redis", tls_front_url(f), "--redis-ca-file", ca.cert_path);
 *	...
 *	tls_front_close(f);
 *
 * Each connection has its own thread, which ends with it.
 */
#ifndef TEST_TLS_FRONT_H
#define TEST_TLS_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "certificates.h"

/* GnuTLS accepts eight updates per second, and then refuses the session. */
enum { KEY_UPDATES = 6 };

struct tls_manner {
	int only_version;   /* TLS1_1_VERSION and so on of openssl/ssl.h; 0: 1.2 and 1.3 */
	size_t record_max;  /* bytes of a reply in one record; 0: as many as fit */
	bool key_updates;   /* new keys on both sides after each of the first KEY_UPDATES pieces of a reply (1.3) */
	bool renegotiation; /* after each piece of a reply the client is asked for another handshake (1.2) */
};

struct tls_front;

struct tls_front *tls_front_open(int to_port, const struct certificate *certificate, struct tls_manner manner);
void tls_front_close(struct tls_front *f);

const char *tls_front_url(const struct tls_front *f); /* rediss://127.0.0.1:PORT/0 */
int tls_front_port(const struct tls_front *f);

/* How many handshakes succeeded, and how many key updates there were since. */
uint64_t tls_front_handshakes(const struct tls_front *f);
uint64_t tls_front_key_updates(const struct tls_front *f);

#endif
