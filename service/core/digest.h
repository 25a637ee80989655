/*
 * digest: SHA-256, which cannot fail.
 *
 * Uses OpenSSL's functions that work on the caller's memory. The EVP functions allocate; when that
 * fails on their first use they fail, or crash, for the rest of the process.
 */
#ifndef PATTERND_DIGEST_H
#define PATTERND_DIGEST_H

#include "core/text.h"

enum { DIGEST_BYTES = 32 };

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES]);

#endif
