#include "core/digest.h"

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>

_Static_assert(DIGEST_BYTES == SHA256_DIGEST_SIZE, "SHA-256");

void digest_sha256(struct text of, unsigned char out[DIGEST_BYTES])
{
	struct sha256_ctx state;

	sha256_init(&state);
	sha256_update(&state, of.len, (const uint8_t *)of.at);
	sha256_digest(&state, DIGEST_BYTES, out);
}

void digest_hmac_sha256(struct text key, const struct text *parts, size_t count, unsigned char out[DIGEST_BYTES])
{
	struct hmac_sha256_ctx state;

	hmac_sha256_set_key(&state, key.len, (const uint8_t *)key.at);
	for (size_t i = 0; i < count; i++)
		hmac_sha256_update(&state, parts[i].len, (const uint8_t *)parts[i].at);
	hmac_sha256_digest(&state, DIGEST_BYTES, out);
}

void digest_md5(const struct text *parts, size_t count, unsigned char out[DIGEST_MD5_BYTES])
{
	struct md5_ctx state;

	md5_init(&state);
	for (size_t i = 0; i < count; i++)
		md5_update(&state, parts[i].len, (const uint8_t *)parts[i].at);
	md5_digest(&state, DIGEST_MD5_BYTES, out);
}
