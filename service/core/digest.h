/*
 * digest: SHA-256, which cannot fail.
 *
 * By OpenSSL's functions that work on memory of the caller: the others allocate, and when that fails once on their first use they never
 * work again in that process, or crash.
 */
#ifndef PATTERND_DIGEST_H
#define PATTERND_DIGEST_H

#include "core/text.h"

enum { DIGEST_BYTES = 32 };

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES]);

#endif
