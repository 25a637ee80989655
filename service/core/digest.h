/*
 * digest: SHA-256, HMAC-SHA256 (RFC 2104) and MD5 (RFC 1321). They cannot fail: Nettle, which
 * GnuTLS is built on, works in the caller's memory, while GnuTLS's own function allocates. Pure.
 */
#ifndef PATTERND_DIGEST_H
#define PATTERND_DIGEST_H

#include "core/text.h"

enum { DIGEST_BYTES = 32, DIGEST_MD5_BYTES = 16 };

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES]);
/* Computes the HMAC of all parts, one after the other. */
void digest_hmac_sha256(struct text key, const struct text *parts, size_t count, unsigned char out[DIGEST_BYTES]);

/* Computes the MD5 of all parts, for protocols that compare it. MD5 is not secure. */
void digest_md5(const struct text *parts, size_t count, unsigned char out[DIGEST_MD5_BYTES]);

#endif
