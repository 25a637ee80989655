/*
 * Tests of base64: the vectors of RFC 4648, text of every length to base64 and back, and the
 * refusal of text that is not in canonical form.
 */
#include "stride.h"
#include "test.h"
#include "json/base64.h"
#include "json/out.h"

static char why[BASE64_WHY];

/* Encodes bytes as the daemon does. */
static struct text encoded(struct arena *a, struct text bytes)
{
	struct json_out out;

	out_init(&out, a, 512);
	out_base64(&out, NULL, bytes);
	assert_false(a->failed);
	out.at[out.len - 1] = '\0';
	return (struct text){ out.at + 1, out.len - 2 };
}

/* Decodes a text into `out`. Returns the length, or -1 when the text is refused. */
static long decoded(struct text in, char *out)
{
	size_t len = 0;

	why[0] = '\0';
	if (base64_decode(in, out, &len, why))
		return (long)len;
	assert_true(strlen(why) > 0 && strlen(why) < BASE64_WHY - 1);
	return -1;
}

TEST(the_vectors_of_the_rfc)
{
	static const char *const rows[][2] = { { "", "" },
					       { "f", "Zg==" },
					       { "fo", "Zm8=" },
					       { "foo", "Zm9v" },
					       { "foob", "Zm9vYg==" },
					       { "fooba", "Zm9vYmE=" },
					       { "foobar", "Zm9vYmFy" },
					       { "\xff\xef\xbe", "/+++" } };
	struct arena arena = { 0 };
	char out[16];

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(encoded(&arena, text_of(rows[i][0])).at, rows[i][1]);
		assert_int_equal(decoded(text_of(rows[i][1]), out), strlen(rows[i][0]));
		assert_memory_equal(out, rows[i][0], strlen(rows[i][0]));
	}
	arena_free(&arena);
}

TEST(every_length_there_and_back)
{
	struct arena arena = { 0 };
	unsigned seed = 5;

	for (size_t len = 0; len < 300; len++) {
		char *bytes = arena_alloc(&arena, len);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)rand_r(&seed);
		struct text text = encoded(&arena, (struct text){ bytes, len });
		assert_int_equal(text.len, (len + 2) / 3 * 4);
		char *out = malloc(base64_room(text.len)); /* exact, so that a sanitizer reports a byte too many */
		assert_int_equal(decoded(text, out), len);
		assert_memory_equal(out, bytes, len);
		free(out);
	}
	arena_free(&arena);
}

/*
 * Texts of all kinds, mostly almost valid: a text is accepted only if it is the encoding of its
 * bytes.
 */
TEST(only_one_text_means_some_bytes)
{
	static const char letters[] = "AQgw+/9=Z\n -_\x80";
	struct arena arena = { 0 };
	unsigned seed = 6;
	int taken = 0;

	for (int i = 0; i < 200000 / stride(); i++) {
		char in[13], *out;
		size_t len = (size_t)rand_r(&seed) % 13, most = rand_r(&seed) % 4 ? 8 : sizeof(letters);
		for (size_t k = 0; k < len; k++)
			in[k] = letters[(size_t)rand_r(&seed) % most];
		out = malloc(base64_room(len) + 1);
		long bytes = decoded((struct text){ in, len }, out);
		if (bytes >= 0) {
			struct text again = encoded(&arena, (struct text){ out, (size_t)bytes });
			assert_true(text_equal(again, (struct text){ in, len }));
			taken += len > 0;
		}
		free(out);
	}
	assert_true(taken > 1000 / stride());
	arena_free(&arena);
}

TEST(an_error_names_its_place)
{
	static const char *const rows[][2] = {
		{ "AAA*", "'*' as character 4," },
		{ "A\nAA", "0x0a as character 2," },
		{ "AAAA AAA", "0x20 as character 5," },
		{ "AAAAA-AA", "'-' as character 6," },
		{ "_AAA", "'_' as character 1," },
		{ "AA\xc3\xa9", "0xc3 as character 3," },
		{ "AA=A", "(=) as character 3," },
		{ "AA==AAAA", "(=) as character 3," },
		{ "A===", "(=) as character 2," },
		{ "====", "(=) as character 1," },
		{ "AAA", "3 characters" },
		{ "AA=", "3 characters" },
		{ "AAAAA", "5 characters" },
		{ "=", "1 characters" },
		{ "==", "2 characters" },
		{ "AB==", "character 2" },
		{ "AAB=", "character 3" },
		{ "AAC=", "character 3" },
		{ "AI==", "character 2" },
		{ "AAAAAP==", "character 6" },
	};
	char out[16];

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(decoded(text_of(rows[i][0]), out), -1);
		if (!strstr(why, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], why);
	}
	assert_int_equal(decoded(TEXT("AA\0A"), out), -1);
}
