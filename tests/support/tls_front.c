#include "tls_front.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "proc.h"
#include "test.h"

enum { PIECE_BYTES = 16384, LOOK_MS = 20 };

struct tls_front {
	SSL_CTX *context;
	struct tls_manner manner;
	pthread_t thread;
	int listen_fd, port, to_port;
	char url[64];
	atomic_bool stop;
	atomic_int open;
	_Atomic uint64_t handshakes, key_updates;
};

struct passage {
	struct tls_front *front;
	int fd;
};

static bool send_all(int fd, const char *at, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* Passes all available bytes from the client to Redis. */
static bool carry_up(SSL *ssl, int up_fd)
{
	char piece[PIECE_BYTES];

	do {
		int n = SSL_read(ssl, piece, sizeof(piece));
		if (n <= 0 && SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ)
			return true; /* a record without bytes for Redis: new keys */
		if (n <= 0 || !send_all(up_fd, piece, (size_t)n))
			return false;
	} while (SSL_pending(ssl) > 0);
	return true;
}

/* Updates the keys, or asks the client for another handshake, which it may refuse. */
static bool unsettle(struct tls_front *f, SSL *ssl)
{
	if (f->manner.key_updates && f->key_updates++ < KEY_UPDATES) {
		if (SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(ssl) != 1)
			return false;
	} else if (f->manner.key_updates) {
		f->key_updates--; /* another passage has done the last one */
	}
	return !f->manner.renegotiation || (SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1);
}

static bool carry_down(struct tls_front *f, SSL *ssl, int up_fd)
{
	char piece[PIECE_BYTES];
	size_t max_bytes = f->manner.record_max ? f->manner.record_max : sizeof(piece);
	ssize_t n = recv(up_fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return false;
	for (size_t at = 0; at < (size_t)n; at += max_bytes) {
		size_t len = (size_t)n - at < max_bytes ? (size_t)n - at : max_bytes;
		if (SSL_write(ssl, piece + at, (int)len) <= 0)
			return false;
	}
	return unsettle(f, ssl);
}

static void carry(struct tls_front *f, SSL *ssl, int fd, int up_fd)
{
	struct pollfd polled[2] = { { .fd = fd, .events = POLLIN }, { .fd = up_fd, .events = POLLIN } };

	while (!f->stop) {
		poll(polled, 2, LOOK_MS);
		if (polled[0].revents && !carry_up(ssl, up_fd))
			return;
		if (polled[1].revents && !carry_down(f, ssl, up_fd))
			return;
	}
}

static void *serve(void *arg)
{
	struct passage p = *(struct passage *)arg;
	SSL *ssl = SSL_new(p.front->context);
	int up_fd = loopback_connect(p.front->to_port);

	free(arg);
	if (ssl && up_fd >= 0 && SSL_set_fd(ssl, p.fd) == 1 && SSL_accept(ssl) == 1) {
		p.front->handshakes++;
		carry(p.front, ssl, p.fd, up_fd);
	}
	SSL_free(ssl);
	if (up_fd >= 0)
		close(up_fd);
	close(p.fd);
	p.front->open--;
	return NULL;
}

static void welcome(struct tls_front *f, int fd)
{
	pthread_t thread;
	struct timeval timeout = { .tv_sec = 5 };
	struct passage *p = malloc(sizeof(*p));

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	*p = (struct passage){ f, fd };
	f->open++;
	if (pthread_create(&thread, NULL, serve, p) == 0) {
		pthread_detach(thread);
		return;
	}
	f->open--;
	free(p);
	close(fd);
}

static void *run(void *arg)
{
	struct tls_front *f = arg;
	struct pollfd polled = { .fd = f->listen_fd, .events = POLLIN };

	while (!f->stop) {
		int fd = poll(&polled, 1, LOOK_MS) > 0 ? loopback_accept(f->listen_fd) : -1;
		if (fd >= 0)
			welcome(f, fd);
	}
	return NULL;
}

static SSL_CTX *context_of(const struct certificate *certificate, struct tls_manner manner)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	assert_non_null(context);
	SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY); /* the other direction must not wait for the next bytes */
	assert_int_equal(SSL_CTX_use_certificate_file(context, certificate->cert_path, SSL_FILETYPE_PEM), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(context, certificate->key_path, SSL_FILETYPE_PEM), 1);
	if (manner.only_version) {
		SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0"); /* TLS 1.1 needs it */
		SSL_CTX_set_min_proto_version(context, manner.only_version);
		SSL_CTX_set_max_proto_version(context, manner.only_version);
	}
	return context;
}

struct tls_front *tls_front_open(int to_port, const struct certificate *certificate, struct tls_manner manner)
{
	struct tls_front *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
	f->context = context_of(certificate, manner);
	f->manner = manner;
	f->to_port = to_port;
	f->listen_fd = loopback_listen(&f->port);
	snprintf(f->url, sizeof(f->url), "rediss://127.0.0.1:%d/0", f->port);
	if (f->listen_fd < 0 || pthread_create(&f->thread, NULL, run, f) != 0)
		fail_msg("no TLS front");
	return f;
}

void tls_front_close(struct tls_front *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
	wait_until(f->open == 0, 10000);
	close(f->listen_fd);
	SSL_CTX_free(f->context);
	free(f);
}

const char *tls_front_url(const struct tls_front *f)
{
	return f->url;
}

int tls_front_port(const struct tls_front *f)
{
	return f->port;
}

uint64_t tls_front_handshakes(const struct tls_front *f)
{
	return f->handshakes;
}

uint64_t tls_front_key_updates(const struct tls_front *f)
{
	return f->key_updates;
}
