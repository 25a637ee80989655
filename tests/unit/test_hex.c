/*
 * Tests of hex: digits and their values for every byte, and percent-decoding at the ends of its
 * input.
 */
#include "core/hex.h"
#include "core/percent.h"
#include "test.h"

TEST(values_equal_those_by_strtoul)
{
	for (int c = 0; c < 256; c++) {
		bool is_digit = c && strchr("0123456789abcdefABCDEF", c);
		char digit[] = { (char)c, '\0' };
		assert_int_equal(hex_value((char)c), is_digit ? (int)strtoul(digit, NULL, 16) : -1);
	}
}

TEST(bytes_are_written_as_by_printf)
{
	for (unsigned c = 0; c < 256; c++) {
		unsigned char byte = (unsigned char)c;
		char out[3] = "??", wanted[3];
		snprintf(wanted, sizeof(wanted), "%02x", c);
		hex_write(&byte, 1, out);
		assert_string_equal(out, wanted);
	}
}

TEST(escapes_are_decoded_or_refused)
{
	static const struct {
		const char *raw, *wanted; /* NULL: refused */
	} rows[] = {
		{ "", "" },         { "a+b", "a+b" },         { "%41%6a%6A", "Ajj" },
		{ "%2541", "%41" }, { "%C3%A4", "\xc3\xa4" }, { "%", NULL },
		{ "%4", NULL },     { "a%4", NULL },          { "%4g", NULL },
		{ "%g4", NULL },    { "%%41", NULL },         { "%00", NULL },
		{ "a%00b", NULL },  { "% 41", NULL },         { "%ff%", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = strlen(rows[i].raw);
		char *bytes = strcpy(malloc(len + 1), rows[i].raw); /* of exactly that size, for AddressSanitizer */
		bool ok = percent_decode(bytes, &len);
		if (ok != !!rows[i].wanted ||
		    (ok && (len != strlen(rows[i].wanted) || strcmp(bytes, rows[i].wanted) != 0)))
			fail_msg("'%s': %d, '%s'", rows[i].raw, ok, bytes);
		free(bytes);
	}
	char inside[] = "%41%42";
	size_t len = 4; /* the second escape goes beyond this length */
	assert_false(percent_decode(inside, &len));
	char nul[] = "a\0b";
	len = 3;
	assert_false(percent_decode(nul, &len));
}

TEST(what_is_escaped_is_decoded_to_the_same)
{
	char all[256], escaped[3 * sizeof(all)];

	for (int c = 1; c < 256; c++)
		all[c - 1] = (char)c;
	size_t len = percent_encode((struct text){ all, 255 }, escaped);
	assert_int_equal(len, strlen(escaped));
	assert_int_equal(strspn(escaped, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%"), len);
	assert_true(percent_decode(escaped, &len));
	assert_int_equal(len, 255);
	assert_memory_equal(escaped, all, 255);
	assert_int_equal(percent_encode(text_of("a b.C~\xc3\xa4"), escaped), 14);
	assert_string_equal(escaped, "a%20b.C~%C3%A4");
	assert_int_equal(percent_encode(text_of(""), escaped), 0);
}
