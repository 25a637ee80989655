/*
 * digest: SHA-256 and HMAC-SHA256 (RFC 2104), which cannot fail.
 *
 * By Nettle, from which GnuTLS has it, since that works on the caller's memory: GnuTLS's own
 * function allocates.
 */
#ifndef PATTERND_DIGEST_H
#define PATTERND_DIGEST_H

#include "core/text.h"

enum { DIGEST_BYTES = 32 };

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES]);
/* Of all the parts, one behind the other. */
void digest_hmac_sha256(struct text key, const struct text *parts, size_t count, unsigned char out[DIGEST_BYTES]);

#endif
