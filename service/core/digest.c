/* digest: see digest.h. */
#include "core/digest.h"

#define OPENSSL_SUPPRESS_DEPRECATED /* OpenSSL 3 prefers EVP; see digest.h */
#include <openssl/sha.h>

_Static_assert(DIGEST_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES])
{
	SHA256_CTX state;

	SHA256_Init(&state);
	SHA256_Update(&state, of.at, of.len);
	SHA256_Final(out, &state);
}
