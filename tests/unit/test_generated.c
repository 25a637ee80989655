/*
 * Tests that the C literals of the build equal their sources: each script has its SHA1, and the
 * contract equals the file.
 */
#include <jansson.h>
#include <openssl/evp.h>

#include "request/operation.h"
#include "scripts.h"
#include "test.h"

static void hex_sha1(struct text bytes, char hex[41])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len;

	assert_true(EVP_Digest(bytes.at, bytes.len, digest, &len, EVP_sha1(), NULL));
	assert_int_equal(len, 20);
	for (unsigned i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

TEST(every_script_has_its_sha1)
{
	char hex[41];

	assert_non_null(all_scripts[0]);
	for (const struct script *const *s = all_scripts; *s; s++) {
		struct text source = (*s)->text->source;
		assert_int_equal(source.at[source.len], '\0');
		assert_int_equal(strlen(source.at), source.len);
		hex_sha1(source, hex);
		assert_string_equal((*s)->text->sha1, hex);
	}
}

TEST(the_contract_is_the_one_of_the_build)
{
	const char *path = getenv("PATTERND_OPENAPI");
	json_t *file = json_load_file(path ? path : "build/generated/openapi.json", 0, NULL);
	json_t *served = json_loadb(openapi_json_text.at, openapi_json_text.len, 0, NULL);

	assert_non_null(file);
	assert_true(json_equal(file, served));
	json_decref(file);
	json_decref(served);
}
