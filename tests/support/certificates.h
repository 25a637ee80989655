/*
 * certificates: makes a CA and the certificates that it signs, as PEM files in a temporary folder.
 *
 *	struct certificate ca = certificate_make((struct certificate_wish){ .name = "a CA" });
 *	struct certificate server = certificate_make(
 *		(struct certificate_wish){ .name = "redis", .dns = "localhost", .by = &ca });
 *	server_start(&r, "--tls-port", port, "--tls-cert-file", server.cert_path, ...);
 */
#ifndef TEST_CERTIFICATES_H
#define TEST_CERTIFICATES_H

#include <limits.h>

struct certificate {
	char cert_path[PATH_MAX], key_path[PATH_MAX];
};

struct certificate_wish {
	const char *name;             /* its common name */
	const char *dns, *ip;         /* subject alternative names; NULL: none */
	const struct certificate *by; /* the issuer; NULL: self-signed, a CA */
	int starts_in_s, ends_in_s;   /* from now; both 0: an hour ago and in an hour */
};

/* Fails the test when the certificate cannot be made. */
struct certificate certificate_make(struct certificate_wish wish);

/* Replaces one certificate's files with another's, as a renewal does. */
void certificate_replace(const struct certificate *old, const struct certificate *fresh);

#endif
