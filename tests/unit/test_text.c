/*
 * Tests of text: which bytes are UTF-8, compared with a decoder that works by value, and where
 * controls hide.
 */
#include <math.h>

#include "core/text.h"
#include "stride.h"
#include "test.h"

struct row {
	struct text bytes;
	size_t good; /* leading bytes that are well-formed */
};

static const struct row corners[] = {
	{ { "", 0 }, 0 },
	{ TEXT("plain"), 5 },
	{ TEXT("a\0b"), 3 }, /* U+0000 is a code point like others */
	{ TEXT("\x7f"), 1 },
	{ TEXT("\xc2\x80"), 2 },         /* the first of two bytes */
	{ TEXT("\xdf\xbf"), 2 },         /* and the last */
	{ TEXT("\xe0\xa0\x80"), 3 },     /* the first of three */
	{ TEXT("\xed\x9f\xbf"), 3 },     /* the last before the surrogates */
	{ TEXT("\xee\x80\x80"), 3 },     /* the first after them */
	{ TEXT("\xef\xbf\xbf"), 3 },     /* U+FFFF, a noncharacter, is well-formed */
	{ TEXT("\xf0\x90\x80\x80"), 4 }, /* U+10000 */
	{ TEXT("\xf4\x8f\xbf\xbf"), 4 }, /* U+10FFFF */
	{ TEXT("\xf4\x90\x80\x80"), 0 }, /* U+110000 */
	{ TEXT("\xf5\x80\x80\x80"), 0 },
	{ TEXT("\xff"), 0 },
	{ TEXT("\xfe"), 0 },
	{ TEXT("\x80"), 0 },     /* a continuation byte alone */
	{ TEXT("\xc0\x80"), 0 }, /* U+0000 overlong */
	{ TEXT("\xc0\xaf"), 0 }, /* '/' overlong */
	{ TEXT("\xc1\xbf"), 0 },
	{ TEXT("\xe0\x80\xaf"), 0 },
	{ TEXT("\xe0\x9f\xbf"), 0 },
	{ TEXT("\xf0\x80\x80\xaf"), 0 },
	{ TEXT("\xf0\x8f\xbf\xbf"), 0 },
	{ TEXT("\xed\xa0\x80"), 0 },             /* U+D800 */
	{ TEXT("\xed\xbf\xbf"), 0 },             /* U+DFFF */
	{ TEXT("\xed\xa0\xbd\xed\xb8\x80"), 0 }, /* a pair of them (CESU-8) */
	{ TEXT("\xf8\x88\x80\x80\x80"), 0 },     /* five bytes, as before RFC 3629 */
	{ TEXT("ab\xc3"), 2 },                   /* cut sequences */
	{ TEXT("ab\xe2\x82"), 2 },
	{ TEXT("ab\xf0\x9f\x98"), 2 },
	{ TEXT("\xc3\x28"), 0 }, /* the second byte is not a continuation */
	{ TEXT("\xe2\x28\xa1"), 0 },
	{ TEXT("\xe2\x82\x28"), 0 },
	{ TEXT("\xf0\x9f\x98\x28"), 0 },
	{ TEXT("\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9!"), 10 },
	{ TEXT("\xe2\x82\xac\xff\xe2\x82\xac"), 3 },
};

/* How many leading bytes are well-formed. */
static size_t good_bytes(struct text t)
{
	size_t good = 0, step = 1;

	while (good < t.len && step > 0) {
		step = text_utf8_char((struct text){ t.at + good, t.len - good });
		good += step;
	}
	return good;
}

TEST(corner_table)
{
	for (size_t i = 0; i < COUNT(corners); i++) {
		const struct row *r = &corners[i];
		size_t good = good_bytes(r->bytes);
		if (good != r->good)
			fail_msg("row %zu: %zu leading bytes are said to be good, not %zu", i, good, r->good);
		assert_int_equal(text_is_utf8(r->bytes), r->good == r->bytes.len);
	}
}

/* Decodes by value, without the byte ranges of Unicode's table 3-7. */
static bool is_one_sequence(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t value = len == 1 ? s[0] : s[0] & (0x7fu >> len);

	if (len != n)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return false;
		value = value << 6 | (s[i] & 0x3f);
	}
	return value >= least[len] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

static void compare(const unsigned char *s, size_t n)
{
	struct text t = { (const char *)s, n };
	bool wanted = is_one_sequence(s, n);

	/*
	 * Bytes that begin with a shorter sequence may be well-formed in pieces, so they are not
	 * compared.
	 */
	if (s[0] >= 0x80 && text_is_utf8(t) != wanted)
		fail_msg("%02x %02x %02x %02x (%zu bytes) should be %s", s[0], n > 1 ? s[1] : 0, n > 2 ? s[2] : 0,
			 n > 3 ? s[3] : 0, n, wanted ? "well-formed" : "refused");
}

/*
 * Compares all sequences of one to three bytes, and all beginnings of four bytes with edge values
 * after them.
 */
TEST(every_sequence)
{
	static const unsigned char edges[] = { 0x00, 0x7f, 0x80, 0x8f, 0xbf, 0xc0, 0xff };

	const unsigned step = (unsigned)stride();

	for (unsigned a = 0x80; a < 256; a++) {
		compare((unsigned char[]){ (unsigned char)a }, 1);
		for (unsigned b = 0; b < 256; b++) {
			unsigned char s[4] = { (unsigned char)a, (unsigned char)b };
			compare(s, 2);
			for (unsigned c = b % step; c < 256; c += step) {
				s[2] = (unsigned char)c;
				/*
				 * Two bytes and an ASCII byte may be well-formed as two sequences.
				 */
				if (c >= 0x80)
					compare(s, 3);
			}
			for (size_t c = 0; c < sizeof(edges); c++)
				for (size_t d = 0; d < sizeof(edges); d++) {
					s[2] = edges[c];
					s[3] = edges[d];
					if (s[2] >= 0x80 && s[3] >= 0x80 && !is_one_sequence(s, 2))
						compare(s, 4);
				}
		}
	}
}

static size_t encode(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = len; --i > 0; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)((0xf0u << (4 - len)) | c);
	return len;
}

TEST(controls_are_c0_del_and_c1)
{
	char bytes[6];

	for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x800 ? 1 : (uint32_t)stride()) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		bytes[0] = 'a';
		size_t n = encode(c, bytes + 1);
		bytes[n + 1] = 'z';
		struct text t = { bytes, n + 2 };
		bool wanted = c < 0x20 || (c >= 0x7f && c <= 0x9f);
		if (!text_is_utf8(t) || text_has_control(t) != wanted)
			fail_msg("U+%04X should be well-formed and %s control", c, wanted ? "a" : "no");
	}
	assert_false(text_has_control((struct text){ NULL, 0 }));
	assert_false(text_has_control(TEXT("\xc2")));                   /* cut: not UTF-8, but no control */
	assert_false(text_has_control((struct text){ "\xc2\x80", 1 })); /* looks at its own bytes only */
	assert_true(text_has_control(TEXT("x\0")));
}

TEST(absent_and_empty)
{
	struct text absent = text_of(NULL), empty = text_of("");

	assert_null(absent.at);
	assert_true(text_is_utf8(absent));
	assert_false(text_is(absent, ""));
	assert_true(text_is(empty, ""));
	assert_false(text_is(empty, "x"));
	assert_true(text_equal(absent, empty));
	assert_false(text_is(TEXT("ab"), "abc"));
	assert_false(text_is(TEXT("abc"), "ab"));
	assert_false(text_is(TEXT("ab\0"), "ab"));
	assert_true(text_equal(TEXT("a\0b"), TEXT("a\0b")));
	assert_false(text_equal(TEXT("a\0b"), TEXT("a\0c")));
}

/*
 * Reals have as few digits as printf needs, and the same digits. Reals with few decimals take a
 * separate path.
 */
TEST(reals_in_the_fewest_digits)
{
	static const double corners_of_reals[] = {
		0,    -0.0,      1,        0.1,     1e-4,    0.00009999, 1e-7,     99999999.9999999,
		1e8,  -1e8,      1e15,     1e21,    1e300,   5e-324,     123456.5, 0.30000000000000004,
		-2.5, 0.0000001, 1e22 / 3, 1 / 3.0, 190.4424
	};
	const size_t corner_count = COUNT(corners_of_reals);
	char got[TEXT_REAL], wanted[TEXT_REAL];

	srand(6);
	for (size_t i = 0; i < corner_count + 100000 / (size_t)stride(); i++) {
		double value = (rand() - RAND_MAX / 2) / (double[]){ 1, 10, 1e4, 1e7, 3, 1e9 }[i % 6];
		if (i < corner_count)
			value = corners_of_reals[i];
		struct text text = text_of_real(value, got);
		for (int precision = 15; precision <= 17; precision++) {
			snprintf(wanted, sizeof(wanted), "%.*g", precision, value);
			if (strtod(wanted, NULL) == value)
				break;
		}
		assert_string_equal(got, wanted);
		assert_int_equal(text.len, strlen(wanted));
	}
}

TEST(reals_for_people_have_no_exponent)
{
	static const struct {
		double value;
		const char *wanted;
	} rows[] = {
		{ 0, "0" },
		{ -0.5, "-0.5" },
		{ 1e-6, "0.000001" },
		{ 1.5e-7, "0.00000015" },
		{ 0.1 + 0.2, "0.3" },
		{ 9.99999999999, "10" },
		{ 85.05112878, "85.05112878" },
		{ 123456789.123, "123456789.1" },
		{ 1e10, "10000000000" },
		{ 1e15, "1000000000000000" },
		{ 1e16, "1e+16" },
		{ 1e-13, "1e-13" },
		{ INFINITY, "inf" },
	};
	char buffer[TEXT_PLAIN];

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(text_plain_real(rows[i].value, buffer), rows[i].wanted);
}

TEST(ports_are_five_digits_up_to_65535)
{
	static const struct {
		struct text digits;
		int wanted;
	} rows[] = { { TEXT("0"), 0 },           { TEXT("00080"), 80 }, { TEXT("65535"), 65535 },
		     { TEXT("65536"), -1 },      { TEXT("99999"), -1 }, { TEXT("000080"), -1 },
		     { TEXT(""), -1 },           { { NULL, 0 }, -1 },   { TEXT("-1"), -1 },
		     { TEXT("+1"), -1 },         { TEXT("1a"), -1 },    { TEXT("a1"), -1 },
		     { TEXT(" 1"), -1 },         { TEXT("1\0"), -1 },   { { "12", 1 }, 1 },
		     { TEXT("99999999999"), -1 } };

	for (size_t i = 0; i < COUNT(rows); i++)
		if (text_u16(rows[i].digits) != rows[i].wanted)
			fail_msg("'%s' is %d", rows[i].digits.at, text_u16(rows[i].digits));
}

TEST(pieces_are_cut_off)
{
	static const struct {
		const char *whole, *pieces; /* each in brackets */
	} rows[] = { { "", "()" }, { "a", "(a)" }, { "a,b", "(a)(b)" }, { ",", "()()" }, { "a,,b,", "(a)()(b)()" } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		char pieces[32] = "";
		for (struct text rest = text_of(rows[i].whole); rest.at;) {
			struct text piece = text_cut(&rest, ',');
			size_t len = strlen(pieces);
			snprintf(pieces + len, sizeof(pieces) - len, "(%.*s)", (int)piece.len, piece.at);
		}
		assert_string_equal(pieces, rows[i].pieces);
	}
	struct text none = { 0 }, within = { "ab,c", 2 };
	assert_null(text_cut(&none, ',').at);
	assert_int_equal(text_cut(&within, ',').len, 2); /* does not look behind its end */
	assert_null(within.at);
}
