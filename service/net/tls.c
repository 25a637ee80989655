/* tls: see tls.h. The only file that includes openssl/ssl.h. */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls_context {
	SSL_CTX *ssl;
	char server_name[256]; /* "": the host name */
};

struct tls_session {
	SSL *ssl;
	char name[256]; /* to verify */
	bool shows_certificate;
	bool is_up; /* the handshake is done */
	bool wants_write;
	bool refused;
	char why[TLS_WHY_BYTES];
};

const char *tls_library(void)
{
	return OpenSSL_version(OPENSSL_VERSION_STRING);
}

/* ---- The context ---- */

/* Without it OpenSSL asks for an encrypted key's passphrase on the terminal. */
static int no_passphrase(char *out, int size, int writes, void *arg)
{
	(void)out;
	(void)size;
	(void)writes;
	(void)arg;
	return -1;
}

/* Returns false; `why` gets OpenSSL's reason. */
static bool file_fails(char why[TLS_WHY_BYTES], const char *what, const char *path)
{
	unsigned long e = ERR_peek_error();
	const char *reason = ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);

	snprintf(why, TLS_WHY_BYTES, "%s '%.180s': %s", what, path, reason ? reason : "it cannot be read");
	return false;
}

static bool load_trust(SSL_CTX *ssl, const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	if (!*o->ca_file)
		return SSL_CTX_set_default_verify_paths(ssl) == 1 ||
		       file_fails(why, "the system's certificates", X509_get_default_cert_dir());
	if (SSL_CTX_load_verify_file(ssl, o->ca_file) != 1)
		return file_fails(why, "--redis-ca-file", o->ca_file);
	/* A certificate in the file is trusted as it is, also a server's own instead of a CA's. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ssl), X509_V_FLAG_PARTIAL_CHAIN);
	return true;
}

static bool load_certificate(SSL_CTX *ssl, const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	if (!*o->cert_file && !*o->key_file)
		return true;
	if (!*o->cert_file || !*o->key_file) {
		snprintf(why, TLS_WHY_BYTES, "--redis-cert-file and --redis-key-file go together: %s is missing",
			 *o->cert_file ? "the key" : "the certificate");
		return false;
	}
	if (SSL_CTX_use_certificate_chain_file(ssl, o->cert_file) != 1)
		return file_fails(why, "--redis-cert-file", o->cert_file);
	if (SSL_CTX_use_PrivateKey_file(ssl, o->key_file, SSL_FILETYPE_PEM) != 1)
		return file_fails(why, "--redis-key-file", o->key_file);
	return true; /* the call above rejects a key of another certificate */
}

struct tls_context *tls_context_new(const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	struct tls_context *c = calloc(1, sizeof(*c));

	snprintf(why, TLS_WHY_BYTES, "out of memory");
	if (!c)
		return NULL;
	ERR_clear_error();
	c->ssl = SSL_CTX_new(TLS_client_method());
	if (!c->ssl || SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION) != 1)
		goto out;
	SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_default_passwd_cb(c->ssl, no_passphrase);
	SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if ((size_t)snprintf(c->server_name, sizeof(c->server_name), "%s", o->server_name) >= sizeof(c->server_name)) {
		snprintf(why, TLS_WHY_BYTES, "--redis-server-name is longer than %zu bytes",
			 sizeof(c->server_name) - 1);
		goto out;
	}
	if (!load_trust(c->ssl, o, why) || !load_certificate(c->ssl, o, why))
		goto out;
	return c;
out:
	tls_context_free(c);
	return NULL;
}

void tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ssl);
	free(c);
}

/* ---- The session ---- */

/* The certificate's name or address. An address is not sent as a server name (RFC 6066). */
static bool expect_name(SSL *ssl, const char *name)
{
	unsigned char address[16];

	if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct tls_session *tls_session_new(const struct tls_context *c, int fd, const char *host)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", *c->server_name ? c->server_name : host);
	s->ssl = SSL_new(c->ssl);
	s->shows_certificate = SSL_CTX_get0_certificate(c->ssl) != NULL;
	if (!s->ssl || !*s->name || !expect_name(s->ssl, s->name) || SSL_set_fd(s->ssl, fd) != 1) {
		tls_session_free(s);
		return NULL;
	}
	SSL_set_connect_state(s->ssl);
	return s;
}

void tls_session_free(struct tls_session *s)
{
	if (!s)
		return;
	SSL_free(s->ssl);
	free(s);
}

bool tls_wants_write(const struct tls_session *s)
{
	return s->wants_write;
}

const char *tls_why(const struct tls_session *s)
{
	return s->why;
}

bool tls_is_refused(const struct tls_session *s)
{
	return s->refused;
}

/* ---- Errors ---- */

#define EXPLAIN(s, ...) snprintf((s)->why, TLS_WHY_BYTES, __VA_ARGS__)

static void explain_verification(struct tls_session *s)
{
	long result = SSL_get_verify_result(s->ssl);

	s->refused = result != X509_V_ERR_OUT_OF_MEM;
	switch (result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		EXPLAIN(s, "TLS: its certificate, or a CA's above it, has expired");
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		EXPLAIN(s, "TLS: its certificate is not valid yet; is the clock right?");
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		EXPLAIN(s, "TLS: its certificate is not for '%.100s' (--redis-server-name sets another name)", s->name);
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_UNTRUSTED:
		EXPLAIN(s, "TLS: its certificate is not signed by a CA that is known here (--redis-ca-file names one)");
		break;
	default:
		EXPLAIN(s, "TLS: its certificate does not verify: %s", X509_verify_cert_error_string(result));
	}
}

/* The server's alerts, and what OpenSSL finds itself. */
static void explain_protocol(struct tls_session *s, unsigned long e)
{
	const char *reason = ERR_reason_error_string(e);

	switch (ERR_GET_REASON(e)) {
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
		explain_verification(s);
		break;
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		EXPLAIN(s, "TLS: the server does not speak TLS; redis:// is for a port without TLS");
		break;
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
	case SSL_R_WRONG_SSL_VERSION:
		s->refused = true;
		EXPLAIN(s, "TLS: it speaks an older TLS only; 1.2 or later is needed");
		break;
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: /* in TLS 1.2 this has other causes, too */
		s->refused = true;
		if (!s->shows_certificate)
			EXPLAIN(s, "TLS: it wants a client certificate (--redis-cert-file, --redis-key-file)");
		else
			EXPLAIN(s, "TLS: it refuses the handshake: %s", reason);
		break;
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
		s->refused = true;
		EXPLAIN(s, "TLS: it does not accept our certificate: %s", reason);
		break;
	default:
		/*
		 * A context that was made short of memory fails like this, too: it must be made
		 * again, as after a rejection.
		 */
		s->refused = !s->is_up && ERR_GET_REASON(e) != ERR_R_MALLOC_FAILURE;
		EXPLAIN(s, "TLS: %s", reason ? reason : "an error without a name");
	}
}

/* Turns a failed call of OpenSSL into 0 or -1 with errno, as recv returns them. */
static int outcome(struct tls_session *s, int result)
{
	int system_error = errno;
	int kind = SSL_get_error(s->ssl, result);
	unsigned long e = ERR_peek_error();

	s->wants_write = kind == SSL_ERROR_WANT_WRITE;
	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
		errno = EAGAIN;
		return -1;
	}
	if (kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && system_error == 0) ||
	    (kind == SSL_ERROR_SSL && ERR_GET_REASON(e) == SSL_R_UNEXPECTED_EOF_WHILE_READING)) {
		EXPLAIN(s, "it closed the connection");
		return 0;
	}
	if (kind == SSL_ERROR_SYSCALL) {
		EXPLAIN(s, "%s", strerror(system_error));
		errno = system_error;
		return -1;
	}
	explain_protocol(s, e);
	errno = EPROTO;
	return -1;
}

/* ---- Steps ---- */

/* OpenSSL reads errors that earlier calls left in its queue, also those of other sessions. */
static void before_step(struct tls_session *s)
{
	ERR_clear_error();
	errno = 0;
	s->wants_write = false;
}

int tls_handshake(struct tls_session *s)
{
	before_step(s);
	int result = SSL_do_handshake(s->ssl);
	s->is_up = result == 1;
	return s->is_up ? 1 : outcome(s, result);
}

ssize_t tls_read(struct tls_session *s, char *at, size_t size)
{
	size_t n;

	before_step(s);
	int result = SSL_read_ex(s->ssl, at, size, &n);
	return result == 1 ? (ssize_t)n : outcome(s, result);
}

ssize_t tls_write(struct tls_session *s, const char *at, size_t len)
{
	size_t n;

	before_step(s);
	int result = SSL_write_ex(s->ssl, at, len < TLS_RECORD_BYTES ? len : TLS_RECORD_BYTES, &n);
	if (result == 1)
		return (ssize_t)n;
	int failed = outcome(s, result);
	if (failed == 0 || errno == EPIPE || errno == ECONNRESET) {
		errno = EAGAIN;
		return -1;
	}
	return failed;
}
