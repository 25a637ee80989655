#include "http/https.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "process/log.h"
#include "process/metrics.h"

enum { INSTANT_BYTES = 32 }; /* as text */

/* The contents of the files, reference-counted: each connection keeps those it began with. */
struct tls_credentials {
	gnutls_certificate_credentials_t certificates; /* owned */
	bool demands;                                  /* a client certificate is required */
	unsigned users;
};

struct https_session {
	struct tls_credentials *credentials; /* shared */
	bool admitted;                       /* its certificate was accepted */
	bool secured;
};

static const char *cert_file, *key_file, *ca_file; /* (ref) to the options */
static struct tls_credentials *current;

static void credentials_release(struct tls_credentials *c)
{
	if (!c || --c->users > 0)
		return;
	gnutls_certificate_free_credentials(c->certificates);
	free(c);
}

/* If it fails, `why` is what is wrong with the files. */
static int read_files(gnutls_certificate_credentials_t to, char *why, size_t size)
{
	int error = gnutls_certificate_set_x509_key_file(to, cert_file, key_file, GNUTLS_X509_FMT_PEM);

	if (error < 0) {
		snprintf(why, size, "--tls-cert '%s' with --tls-key '%s': %s", cert_file, key_file,
			 gnutls_strerror(error));
		return error;
	}
	if (!*ca_file)
		return 0;
	error = gnutls_certificate_set_x509_trust_file(to, ca_file, GNUTLS_X509_FMT_PEM);
	if (error > 0)
		return 0;
	snprintf(why, size, "--tls-client-ca '%s': %s", ca_file,
		 error < 0 ? gnutls_strerror(error) : "it has no certificate");
	return error < 0 ? error : GNUTLS_E_NO_CERTIFICATE_FOUND;
}

/* Reads credentials, with one user. NULL: `why` is the reason. */
static struct tls_credentials *credentials_read(char *why, size_t size)
{
	struct tls_credentials *c = calloc(1, sizeof(*c));

	if (!c || gnutls_certificate_allocate_credentials(&c->certificates) < 0) {
		snprintf(why, size, "out of memory");
		free(c);
		return NULL;
	}
	c->users = 1;
	c->demands = *ca_file;
	if (read_files(c->certificates, why, size) == 0)
		return c;
	credentials_release(c);
	return NULL;
}

bool https_open(const char *cert, const char *key, const char *client_ca)
{
	char why[1024];

	cert_file = cert;
	key_file = key;
	ca_file = client_ca;
	if (!*cert || !*key) {
		fprintf(stderr, "patternd: --tls-cert and --tls-key go together, and --tls-client-ca with both\n");
		return false;
	}
	current = credentials_read(why, sizeof(why));
	if (!current)
		fprintf(stderr, "patternd: %s\n", why);
	return current != NULL;
}

static void print_name(int kind, const char *name, size_t len)
{
	char address[INET6_ADDRSTRLEN];

	if (kind != GNUTLS_SAN_IPADDRESS)
		printf(" %.*s", (int)len, name);
	else if ((len == 4 || len == 16) && inet_ntop(len == 4 ? AF_INET : AF_INET6, name, address, sizeof(address)))
		printf(" %s", address);
}

/* Returns the chain of the certificate, which the caller frees; NULL: there is none. */
static gnutls_x509_crt_t *chain_of(const struct tls_credentials *c, unsigned *count)
{
	gnutls_x509_crt_t *list;

	return gnutls_certificate_get_x509_crt(c->certificates, 0, &list, count) < 0 ? NULL : list;
}

static void chain_free(gnutls_x509_crt_t *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
}

/* Writes when the certificate expires. Returns true if that instant has passed. */
static bool has_expired(const struct tls_credentials *c, char at[INSTANT_BYTES])
{
	unsigned count = 0;
	gnutls_x509_crt_t *list = chain_of(c, &count);
	time_t until = list ? gnutls_x509_crt_get_expiration_time(list[0]) : 0;
	struct tm tm;

	strftime(at, INSTANT_BYTES, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&until, &tm));
	if (list)
		chain_free(list, count);
	return until < time(NULL);
}

bool https_print(void)
{
	int kind;
	unsigned count = 0;
	char name[256], at[INSTANT_BYTES];
	size_t size = sizeof(name);
	gnutls_x509_crt_t *list = current ? chain_of(current, &count) : NULL;

	if (!list)
		return true;
	printf("# --tls-cert is for");
	for (unsigned i = 0; (kind = gnutls_x509_crt_get_subject_alt_name(list[0], i, name, &size, NULL)) >= 0; i++) {
		print_name(kind, name, size);
		size = sizeof(name);
	}
	size = sizeof(name);
	if (gnutls_x509_crt_get_dn(list[0], name, &size) == 0)
		printf(" (%s)", name);
	chain_free(list, count);
	bool expired = has_expired(current, at);
	printf("; it %s at %s\n", expired ? "expired" : "expires", at);
	if (expired)
		fprintf(stderr, "patternd: --tls-cert '%s': the certificate expired at %s\n", cert_file, at);
	return !expired;
}

void https_warn(void)
{
	char at[INSTANT_BYTES];

	if (current && has_expired(current, at))
		log_event(LOG_WARN, "tls_certificate_expired", "%s expired at %s; clients refuse it", cert_file, at);
}

void https_reload(void)
{
	char why[1024], at[INSTANT_BYTES], of_current[INSTANT_BYTES];

	if (!current)
		return;
	struct tls_credentials *c = credentials_read(why, sizeof(why));
	if (c && has_expired(c, at) && !has_expired(current, of_current)) {
		snprintf(why, sizeof(why), "--tls-cert '%s' expired at %s", cert_file, at);
		credentials_release(c);
		c = NULL;
	}
	if (!c) {
		log_event(LOG_ERROR, "tls_not_reloaded", "the old certificate stays in use: %s", why);
		return;
	}
	credentials_release(current);
	current = c;
	log_event(LOG_INFO, "tls_reloaded", "%s", cert_file);
	https_warn();
}

void https_close(void)
{
	credentials_release(current);
	current = NULL;
}

const char *https_priorities(void)
{
	return "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
}

static int no_certificate(gnutls_session_t session, const gnutls_datum_t *ca, int ca_count,
			  const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **pcert,
			  unsigned *pcert_count, gnutls_privkey_t *key)
{
	(void)session;
	(void)ca;
	(void)ca_count;
	(void)algorithms;
	(void)algorithm_count;
	(void)pcert;
	(void)pcert_count;
	(void)key;
	return -1;
}

void *https_certificate_callback(void)
{
	return (void *)no_certificate;
}

/* The client's Finished message ends a handshake. Without on_certificate it must not succeed. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
		       const gnutls_datum_t *message)
{
	struct https_session *t = gnutls_session_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (incoming && t->credentials->demands && !t->admitted)
		return GNUTLS_E_CERTIFICATE_REQUIRED;
	if (incoming)
		t->secured = true;
	return 0;
}

/* ---- Client certificates ---- */

/* By RFC 8446, 6.2: what a client reports to its user. */
static gnutls_alert_description_t alert_for(gnutls_session_t session, bool shown, unsigned status)
{
	if (!shown) /* TLS 1.2 has no alert for that */
		return gnutls_protocol_get_version(session) >= GNUTLS_TLS1_3 ? GNUTLS_A_CERTIFICATE_REQUIRED
									     : GNUTLS_A_HANDSHAKE_FAILURE;
	if (status & GNUTLS_CERT_EXPIRED)
		return GNUTLS_A_CERTIFICATE_EXPIRED;
	return status & GNUTLS_CERT_SIGNER_NOT_FOUND ? GNUTLS_A_UNKNOWN_CA : GNUTLS_A_BAD_CERTIFICATE;
}

/* Logs at most one line per second, since any client can cause them. */
static void log_refused(bool shown, unsigned status)
{
	static int64_t silent_until_us;
	gnutls_datum_t why = { 0 };

	if (loop_now_us() < silent_until_us)
		return;
	silent_until_us = loop_now_us() + 1000000;
	if (shown && gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &why, 0) < 0)
		why.data = NULL;
	log_event(LOG_WARN, "tls_client_refused", "%s",
		  why.data ? (const char *)why.data
		  : shown  ? "the client's certificate cannot be verified"
			   : "the client has no certificate, which --tls-client-ca demands");
	gnutls_free(why.data);
}

/*
 * Accepts certificates whose purpose is clientAuth, or that state no purpose. libmicrohttpd closes
 * the connection of a failed handshake without an alert.
 */
static int on_certificate(gnutls_session_t session)
{
	static gnutls_typed_vdata_st wanted[] = { { .type = GNUTLS_DT_KEY_PURPOSE_OID,
						    .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT } };
	unsigned count = 0, status = 0;
	bool shown = gnutls_certificate_get_peers(session, &count) && count > 0;
	int error = shown ? gnutls_certificate_verify_peers(session, wanted, 1, &status) : 0;

	if (shown && error == 0 && status == 0) {
		struct https_session *t = gnutls_session_get_ptr(session);
		t->admitted = true;
		return 0;
	}
	metrics_count(METRIC_tls_clients_refused);
	log_refused(shown, status);
	gnutls_alert_send(session, GNUTLS_AL_FATAL, alert_for(session, shown, status));
	return GNUTLS_E_CERTIFICATE_ERROR;
}

/* GnuTLS would itself refuse a client without a certificate, before on_certificate. */
static void demand_certificate(gnutls_session_t session)
{
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
	gnutls_session_set_verify_function(session, on_certificate);
}

/* ---- Sessions ---- */

/* NULL: memory ran out. */
static struct https_session *prepare(gnutls_session_t session)
{
	struct https_session *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->credentials = current;
	current->users++;
	gnutls_session_set_ptr(session, t);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, current->certificates);
	if (current->demands)
		demand_certificate(session);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
	return t;
}

/* ---- Handshakes ---- */

static void poll_next_run(struct client *c)
{
	c->next_handshake = c->server->handshakes;
	c->server->handshakes = c;
	c->server->must_run = true;
}

static void on_bytes(struct loop_watch *w, uint32_t events)
{
	(void)events;
	https_wake(container_of(w, struct client, disconnect));
}

void https_begin(struct client *c, void *session)
{
	c->tls = prepare(session);
	c->in_handshake = true;
	poll_next_run(c);
}

void https_wake(struct client *c)
{
	loop_unwatch(&c->disconnect);
	c->suspended = false;
	poll_next_run(c);
	MHD_resume_connection(c->connection);
}

/*
 * This happens outside a run, when libmicrohttpd has no work under way, which is safe in 0.9.75 and
 * in 1.0.1. If a connection cannot be watched, it would never wake up, so it is closed.
 */
static void sleep_until_bytes(struct client *c)
{
	c->disconnect = (struct loop_watch){ .fd = c->fd, .ready = on_bytes };
	c->suspended = loop_watch(&c->disconnect, EPOLLIN | EPOLLRDHUP);
	if (c->suspended)
		MHD_suspend_connection(c->connection);
	else
		client_deadline_in(c, 0);
}

void https_sleep(struct http_server *s)
{
	for (struct client *c = s->handshakes, *next; c; c = next) {
		next = c->next_handshake;
		c->in_handshake = c->tls && !c->tls->secured;
		if (c->in_handshake)
			sleep_until_bytes(c);
	}
	s->handshakes = NULL;
}

void https_write(struct client *c, const char *bytes, size_t len)
{
	gnutls_session_t session =
		MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;

	gnutls_record_send(session, bytes, len);
}

void https_end(struct client *c)
{
	for (struct client **at = &c->server->handshakes; *at; at = &(*at)->next_handshake)
		if (*at == c) {
			*at = c->next_handshake;
			break;
		}
	if (c->in_handshake && c->suspended)
		loop_unwatch(&c->disconnect);
	if (!c->tls)
		return;
	credentials_release(c->tls->credentials);
	free(c->tls);
}
