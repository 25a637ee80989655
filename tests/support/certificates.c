/* certificates: makes P-256 keys and X.509 certificates with libcrypto; see certificates.h. */
#include "certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "proc.h"
#include "test.h"

enum { HOUR_S = 3600 };

static EVP_PKEY *read_key(const char *path)
{
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	fclose(f);
	assert_non_null(key);
	return key;
}

static X509 *read_certificate(const char *path)
{
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	X509 *x = PEM_read_X509(f, NULL, NULL, NULL);
	fclose(f);
	assert_non_null(x);
	return x;
}

static void extend(X509 *x, int nid, const char *value)
{
	X509V3_CTX context;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, x, x, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	assert_non_null(extension);
	X509_add_ext(x, extension, -1);
	X509_EXTENSION_free(extension);
}

static void add_names(X509 *x, struct certificate_wish wish)
{
	char names[300] = "";

	if (wish.dns)
		snprintf(names, sizeof(names), "DNS:%s%s", wish.dns, wish.ip ? "," : "");
	if (wish.ip)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "IP:%s", wish.ip);
	if (*names)
		extend(x, NID_subject_alt_name, names);
}

static X509 *unsigned_certificate(struct certificate_wish wish, EVP_PKEY *key)
{
	static long serial = 1;
	X509 *x = X509_new();

	assert_non_null(x);
	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	bool lasts = wish.starts_in_s == 0 && wish.ends_in_s == 0;
	X509_gmtime_adj(X509_getm_notBefore(x), lasts ? -HOUR_S : wish.starts_in_s);
	X509_gmtime_adj(X509_getm_notAfter(x), lasts ? HOUR_S : wish.ends_in_s);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8, (const unsigned char *)wish.name, -1,
				   -1, 0);
	X509_set_pubkey(x, key);
	extend(x, NID_basic_constraints, wish.by ? "CA:FALSE" : "critical,CA:TRUE");
	add_names(x, wish);
	return x;
}

static void sign(X509 *x, EVP_PKEY *own_key, const struct certificate *by)
{
	X509 *issuer = by ? read_certificate(by->cert_path) : NULL;
	EVP_PKEY *key = by ? read_key(by->key_path) : own_key;

	X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	if (by) {
		X509_free(issuer);
		EVP_PKEY_free(key);
	}
}

struct certificate certificate_make(struct certificate_wish wish)
{
	struct certificate made;
	const char *dir = temp_dir();
	EVP_PKEY *key = EVP_EC_gen("P-256");

	assert_non_null(key);
	X509 *x = unsigned_certificate(wish, key);
	sign(x, key, wish.by);
	snprintf(made.cert_path, sizeof(made.cert_path), "%s/cert.pem", dir);
	snprintf(made.key_path, sizeof(made.key_path), "%s/key.pem", dir);
	FILE *cert_file = fopen(made.cert_path, "we"), *key_file = fopen(made.key_path, "we");
	assert_true(cert_file && PEM_write_X509(cert_file, x));
	assert_true(key_file && PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL));
	fclose(cert_file);
	fclose(key_file);
	X509_free(x);
	EVP_PKEY_free(key);
	return made;
}

void certificate_replace(const struct certificate *old, const struct certificate *fresh)
{
	assert_int_equal(rename(fresh->cert_path, old->cert_path), 0);
	assert_int_equal(rename(fresh->key_path, old->key_path), 0);
}
