/* tls: see tls.h. Only this file and http/https.c include gnutls/. */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls_context {
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priorities;
	unsigned users; /* the owner of the context, and its sessions */
	bool shows_certificate;
	char server_name[256]; /* "": the host name */
};

struct tls_session {
	struct tls_context *context;
	gnutls_session_t tls;
	char name[256];     /* the name to verify */
	bool is_up;         /* the handshake has ended */
	bool is_sending;    /* a part of a record has been sent */
	unsigned flaws;     /* flaws of the server's certificate: gnutls_certificate_status_t */
	bool is_other_name; /* it has no other flaw, but another name */
	bool refused;
	int system_error; /* error of the socket; 0: none */
	char why[TLS_WHY_BYTES];
};

const char *tls_library(void)
{
	return gnutls_check_version(NULL);
}

/* ---- The context ---- */

/* Writes the reason to `why`, and returns false. */
static bool file_fails(char why[TLS_WHY_BYTES], const char *what, const char *path, int error)
{
	const char *reason = error == GNUTLS_E_FILE_ERROR && errno ? strerror(errno) : gnutls_strerror(error);

	snprintf(why, TLS_WHY_BYTES, "%s '%.180s': %s", what, path, reason);
	return false;
}

static bool load_file(const char *what, const char *path, gnutls_datum_t *out, char why[TLS_WHY_BYTES])
{
	errno = 0;
	int error = gnutls_load_file(path, out);
	return error == 0 || file_fails(why, what, path, error);
}

static bool load_trust(struct tls_context *c, const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	const char *variable = getenv("SSL_CERT_FILE"); /* where the system's CAs are, by OpenSSL's convention */
	const char *path = *o->ca_file ? o->ca_file : variable ? variable : "";
	const char *what = *o->ca_file ? "--redis-ca-file" : "SSL_CERT_FILE";
	gnutls_datum_t pem;

	if (!*path) {
		int count = gnutls_certificate_set_x509_system_trust(c->credentials);
		return count >= 0 || file_fails(why, "the system's certificates", "", count);
	}
	if (!load_file(what, path, &pem, why))
		return false;
	/*
	 * A certificate in the file is trusted as it is, even if it is a server's own and not a
	 * CA's.
	 */
	int count = gnutls_certificate_set_x509_trust_mem(c->credentials, &pem, GNUTLS_X509_FMT_PEM);
	gnutls_free(pem.data);
	return count > 0 || file_fails(why, what, path, count ? count : GNUTLS_E_NO_CERTIFICATE_FOUND);
}

static bool load_certificate(struct tls_context *c, const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	gnutls_datum_t cert = { 0 }, key = { 0 };

	if (!*o->cert_file && !*o->key_file)
		return true;
	if (!*o->cert_file || !*o->key_file) {
		snprintf(why, TLS_WHY_BYTES, "--redis-cert-file and --redis-key-file go together: %s is missing",
			 *o->cert_file ? "the key" : "the certificate");
		return false;
	}
	bool ok = load_file("--redis-cert-file", o->cert_file, &cert, why) &&
		  load_file("--redis-key-file", o->key_file, &key, why);
	int error = ok ? gnutls_certificate_set_x509_key_mem(c->credentials, &cert, &key, GNUTLS_X509_FMT_PEM) : 0;
	gnutls_free(cert.data);
	gnutls_free(key.data);
	c->shows_certificate = ok && error >= 0;
	if (!ok || error >= 0)
		return ok;
	bool is_cert = error == GNUTLS_E_BASE64_DECODING_ERROR || error == GNUTLS_E_NO_CERTIFICATE_FOUND;
	return is_cert ? file_fails(why, "--redis-cert-file", o->cert_file, error)
		       : file_fails(why, "--redis-key-file", o->key_file, error);
}

struct tls_context *tls_context_new(const struct tls_options *o, char why[TLS_WHY_BYTES])
{
	struct tls_context *c = calloc(1, sizeof(*c));

	snprintf(why, TLS_WHY_BYTES, "out of memory");
	if (!c)
		return NULL;
	c->users = 1;
	if (gnutls_certificate_allocate_credentials(&c->credentials) != 0 ||
	    gnutls_priority_init(&c->priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2", NULL) != 0)
		goto out;
	if ((size_t)snprintf(c->server_name, sizeof(c->server_name), "%s", o->server_name) >= sizeof(c->server_name)) {
		snprintf(why, TLS_WHY_BYTES, "--redis-server-name is longer than %zu bytes",
			 sizeof(c->server_name) - 1);
		goto out;
	}
	if (!load_trust(c, o, why) || !load_certificate(c, o, why))
		goto out;
	return c;
out:
	tls_context_free(c);
	return NULL;
}

void tls_context_free(struct tls_context *c)
{
	if (!c || --c->users > 0)
		return;
	if (c->credentials)
		gnutls_certificate_free_credentials(c->credentials);
	if (c->priorities)
		gnutls_priority_deinit(c->priorities);
	free(c);
}

/* ---- The session ---- */

/* Returns the bytes of an address, 4 or 16; 0 if the name is not an address. */
static size_t address_of(const char *name, unsigned char address[16])
{
	return inet_pton(AF_INET, name, address) == 1 ? 4 : inet_pton(AF_INET6, name, address) == 1 ? 16 : 0;
}

/*
 * Returns true if the server's certificate has the name. An IP address must be in it as an address.
 */
static bool has_name(const struct tls_session *s)
{
	unsigned count = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(s->tls, &count);
	unsigned char address[16];
	size_t len = address_of(s->name, address);
	gnutls_x509_crt_t cert;

	if (!chain || count == 0 || gnutls_x509_crt_init(&cert) != 0)
		return false;
	bool has = gnutls_x509_crt_import(cert, &chain[0], GNUTLS_X509_FMT_DER) == 0 &&
		   (len ? gnutls_x509_crt_check_ip(cert, address, (unsigned)len, 0)
			: gnutls_x509_crt_check_hostname2(cert, s->name, GNUTLS_VERIFY_DO_NOT_ALLOW_IP_MATCHES));
	gnutls_x509_crt_deinit(cert);
	return has;
}

/*
 * Called within the handshake, before any data is sent. Returns 0 if the certificate belongs to the
 * expected server.
 */
static int verify(gnutls_session_t tls)
{
	struct tls_session *s = gnutls_session_get_ptr(tls);
	int error = gnutls_certificate_verify_peers2(tls, &s->flaws);

	if (error != 0)
		return error;
	s->is_other_name = s->flaws == 0 && !has_name(s);
	return s->flaws == 0 && !s->is_other_name ? 0 : GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}

struct tls_session *tls_session_new(struct tls_context *c, int fd, const char *host)
{
	struct tls_session *s = calloc(1, sizeof(*s));
	unsigned char address[16];

	if (!s)
		return NULL;
	s->context = c;
	c->users++;
	snprintf(s->name, sizeof(s->name), "%s", *c->server_name ? c->server_name : host);
	bool is_made = *s->name && gnutls_init(&s->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) == 0 &&
		       gnutls_priority_set(s->tls, c->priorities) == 0 &&
		       gnutls_credentials_set(s->tls, GNUTLS_CRD_CERTIFICATE, c->credentials) == 0;
	/* An address is not sent as a server name (RFC 6066). */
	if (is_made && address_of(s->name, address) == 0)
		is_made = gnutls_server_name_set(s->tls, GNUTLS_NAME_DNS, s->name, strlen(s->name)) == 0;
	if (!is_made) {
		tls_session_free(s);
		return NULL;
	}
	gnutls_session_set_ptr(s->tls, s);
	gnutls_session_set_verify_function(s->tls, verify);
	gnutls_transport_set_int(s->tls, fd);
	gnutls_handshake_set_timeout(s->tls, 0); /* the caller has a timeout */
	return s;
}

void tls_session_free(struct tls_session *s)
{
	if (!s)
		return;
	if (s->tls)
		gnutls_deinit(s->tls);
	tls_context_free(s->context);
	free(s);
}

bool tls_wants_write(const struct tls_session *s)
{
	return gnutls_record_get_direction(s->tls) == 1;
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
#define OLDER_TLS "TLS: it speaks an older TLS only; 1.2 or later is needed"

static void explain_verification(struct tls_session *s)
{
	gnutls_datum_t text = { 0 };

	s->refused = true;
	if (s->is_other_name) {
		EXPLAIN(s, "TLS: its certificate is not for '%.100s' (--redis-server-name sets another name)", s->name);
	} else if (s->flaws & GNUTLS_CERT_EXPIRED) {
		EXPLAIN(s, "TLS: its certificate, or a CA's above it, has expired");
	} else if (s->flaws & GNUTLS_CERT_NOT_ACTIVATED) {
		EXPLAIN(s, "TLS: its certificate is not valid yet; is the clock right?");
	} else if (s->flaws & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA)) {
		EXPLAIN(s, "TLS: its certificate is not signed by a CA that is known here (--redis-ca-file names one)");
	} else {
		gnutls_certificate_verification_status_print(s->flaws, GNUTLS_CRT_X509, &text, 0);
		EXPLAIN(s, "TLS: its certificate does not verify: %s",
			text.data ? (char *)text.data : "no reason given");
		gnutls_free(text.data);
	}
}

static void explain_alert(struct tls_session *s)
{
	gnutls_alert_description_t alert = gnutls_alert_get(s->tls);
	const char *reason = gnutls_alert_get_name(alert);

	s->refused = true;
	switch (alert) {
	case GNUTLS_A_PROTOCOL_VERSION:
		EXPLAIN(s, OLDER_TLS);
		break;
	case GNUTLS_A_CERTIFICATE_REQUIRED:
	case GNUTLS_A_HANDSHAKE_FAILURE: /* in TLS 1.2 this also has other causes */
		if (!s->context->shows_certificate)
			EXPLAIN(s, "TLS: it requires a client certificate (--redis-cert-file, --redis-key-file)");
		else
			EXPLAIN(s, "TLS: it refuses the handshake: %s", reason);
		break;
	case GNUTLS_A_BAD_CERTIFICATE:
	case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
	case GNUTLS_A_CERTIFICATE_REVOKED:
	case GNUTLS_A_CERTIFICATE_EXPIRED:
	case GNUTLS_A_CERTIFICATE_UNKNOWN:
	case GNUTLS_A_UNKNOWN_CA:
	case GNUTLS_A_DECRYPT_ERROR:
	case GNUTLS_A_ACCESS_DENIED:
		EXPLAIN(s, "TLS: it does not accept the client certificate: %s", reason);
		break;
	default:
		s->refused = !s->is_up;
		EXPLAIN(s, "TLS: it ends the session: %s", reason ? reason : "an alert without a name");
	}
}

/* Explains alerts of the server, and errors that GnuTLS finds itself. */
static void explain_protocol(struct tls_session *s, int error)
{
	switch (error) {
	case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
		explain_verification(s);
		break;
	case GNUTLS_E_FATAL_ALERT_RECEIVED:
		explain_alert(s);
		break;
	case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
		s->refused = true;
		EXPLAIN(s, OLDER_TLS);
		break;
	case GNUTLS_E_UNEXPECTED_PACKET:
	case GNUTLS_E_UNEXPECTED_PACKET_LENGTH:
	case GNUTLS_E_RECORD_OVERFLOW:
		EXPLAIN(s, "TLS: the server does not speak TLS; redis:// is for a port without TLS");
		break;
	default:
		/*
		 * A context that was made while memory was short can also fail in this way. It must
		 * be made again, as after a rejection.
		 */
		s->refused = !s->is_up && error != GNUTLS_E_MEMORY_ERROR;
		EXPLAIN(s, "TLS: %s", gnutls_strerror(error));
	}
}

/* Turns the result of a failed call of GnuTLS into 0, or -1 with errno, as recv returns them. */
static int outcome(struct tls_session *s, ssize_t result)
{
	int system_error = errno, error = (int)result;

	if (error == GNUTLS_E_AGAIN || error == GNUTLS_E_INTERRUPTED) {
		errno = EAGAIN;
		return -1;
	}
	if (error == 0 || error == GNUTLS_E_PREMATURE_TERMINATION) {
		EXPLAIN(s, "it closed the connection");
		return 0;
	}
	if (error == GNUTLS_E_PULL_ERROR || error == GNUTLS_E_PUSH_ERROR) {
		EXPLAIN(s, "%s", strerror(system_error));
		errno = system_error;
		return -1;
	}
	explain_protocol(s, error);
	errno = EPROTO;
	return -1;
}

/* ---- Steps ---- */

int tls_handshake(struct tls_session *s)
{
	int result;

	do
		result = gnutls_handshake(s->tls);
	while (result < 0 && result != GNUTLS_E_AGAIN && result != GNUTLS_E_INTERRUPTED &&
	       gnutls_error_is_fatal(result) == 0);
	s->is_up = result == 0;
	return s->is_up ? 1 : outcome(s, result);
}

ssize_t tls_read(struct tls_session *s, char *at, size_t size)
{
	ssize_t result = gnutls_record_recv(s->tls, at, size);

	return result > 0 ? result : outcome(s, result);
}

ssize_t tls_write(struct tls_session *s, const char *at, size_t len)
{
	size_t most = len < TLS_RECORD_BYTES ? len : TLS_RECORD_BYTES;
	/* GnuTLS keeps a record of which a part was sent, and must not be given it again. */
	ssize_t result = s->is_sending ? gnutls_record_send(s->tls, NULL, 0) : gnutls_record_send(s->tls, at, most);

	s->is_sending = result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED;
	if (result > 0)
		return result;
	int failed = outcome(s, result);
	if (failed == 0 || errno == EPIPE || errno == ECONNRESET) {
		errno = EAGAIN;
		return -1;
	}
	return failed;
}
