/* http_tls: see http/tls.h. */
#include "http/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>

#include "process/log.h"

/* What was read from the files at one time. Counted: each connection keeps those it began with. */
struct credentials {
	gnutls_certificate_credentials_t certificates; /* owned */
	bool demands;                                  /* a certificate of the client */
	unsigned users;
};

struct http_tls {
	struct credentials *credentials; /* shared */
	bool secured;
};

static const char *cert_file, *key_file, *ca_file; /* (ref) of config */
static struct credentials *current;

static void credentials_leave(struct credentials *c)
{
	if (!c || --c->users > 0)
		return;
	gnutls_certificate_free_credentials(c->certificates);
	free(c);
}

static bool has_ca(void)
{
	return *ca_file != '\0';
}

/* What is wrong with the files is said in `why`. */
static int read_files(gnutls_certificate_credentials_t to, char *why, size_t size)
{
	int error = gnutls_certificate_set_x509_key_file(to, cert_file, key_file, GNUTLS_X509_FMT_PEM);

	if (error < 0) {
		snprintf(why, size, "--tls-cert '%s' with --tls-key '%s': %s", cert_file, key_file,
			 gnutls_strerror(error));
		return error;
	}
	if (!has_ca())
		return 0;
	error = gnutls_certificate_set_x509_trust_file(to, ca_file, GNUTLS_X509_FMT_PEM);
	if (error > 0)
		return 0;
	snprintf(why, size, "--tls-client-ca '%s': %s", ca_file,
		 error < 0 ? gnutls_strerror(error) : "it has no certificate");
	return error < 0 ? error : GNUTLS_E_NO_CERTIFICATE_FOUND;
}

/* Returns new, with one user; NULL, and why not. */
static struct credentials *credentials_read(char *why, size_t size)
{
	struct credentials *c = calloc(1, sizeof(*c));

	if (!c || gnutls_certificate_allocate_credentials(&c->certificates) < 0) {
		snprintf(why, size, "out of memory");
		free(c);
		return NULL;
	}
	c->users = 1;
	c->demands = has_ca();
	if (read_files(c->certificates, why, size) == 0)
		return c;
	credentials_leave(c);
	return NULL;
}

bool http_tls_open(const char *cert, const char *key, const char *client_ca)
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

void http_tls_reload(void)
{
	char why[1024];

	if (!current)
		return;
	struct credentials *c = credentials_read(why, sizeof(why));
	if (!c) {
		log_event(LOG_ERROR, "tls_not_reloaded", "the old certificate stays in force: %s", why);
		return;
	}
	credentials_leave(current);
	current = c;
	log_event(LOG_INFO, "tls_reloaded", "%s", cert_file);
}

void http_tls_close(void)
{
	credentials_leave(current);
	current = NULL;
}

const char *http_tls_priorities(void)
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

void *http_tls_certificate_callback(void)
{
	return (void *)no_certificate;
}

/* The client's Finished is the last thing that a handshake waits for. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
		       const gnutls_datum_t *message)
{
	struct http_tls *t = gnutls_session_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (incoming)
		t->secured = true;
	return 0;
}

/* A certificate for clients, or one that says nothing of what it is for. */
static void demand_certificate(gnutls_session_t session)
{
	static gnutls_typed_vdata_st wanted[] = { { .type = GNUTLS_DT_KEY_PURPOSE_OID,
						    .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT } };

	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
	gnutls_session_set_verify_cert2(session, wanted, 1, 0);
}

struct http_tls *http_tls_begin(void *of)
{
	gnutls_session_t session = of;
	struct http_tls *t = calloc(1, sizeof(*t));

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

bool http_tls_is_secured(const struct http_tls *t)
{
	return t->secured;
}

void http_tls_end(struct http_tls *t)
{
	if (!t)
		return;
	credentials_leave(t->credentials);
	free(t);
}
