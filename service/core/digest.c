/* digest: see digest.h. */
#include "core/digest.h"

#include <nettle/sha2.h>

_Static_assert(DIGEST_BYTES == SHA256_DIGEST_SIZE, "SHA-256");

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES])
{
	struct sha256_ctx state;

	sha256_init(&state);
	sha256_update(&state, of.len, (const uint8_t *)of.at);
	sha256_digest(&state, DIGEST_BYTES, out);
}
