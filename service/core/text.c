#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>

struct text text_cut(struct text *rest, char stop)
{
	const char *at = rest->len ? memchr(rest->at, stop, rest->len) : NULL;
	struct text piece = { rest->at, at ? (size_t)(at - rest->at) : rest->len };

	*rest = at ? (struct text){ at + 1, rest->len - piece.len - 1 } : (struct text){ 0 };
	return piece;
}

struct text text_trimmed(struct text t)
{
	while (t.len && strchr(" \t\r\n", *t.at)) {
		t.at++;
		t.len--;
	}
	while (t.len && strchr(" \t\r\n", t.at[t.len - 1]))
		t.len--;
	return t;
}

int text_u16(struct text digits)
{
	int n = 0;

	if (digits.len == 0 || digits.len > 5)
		return -1;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.at[i] < '0' || digits.at[i] > '9')
			return -1;
		n = n * 10 + digits.at[i] - '0';
	}
	return n <= UINT16_MAX ? n : -1;
}

/* Implements RFC 3629 and table 3-7 of the Unicode standard. */
size_t text_utf8_char(struct text t)
{
	const unsigned char *s = (const unsigned char *)t.at;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		len = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		len = 3;
		if (s[0] == 0xe0)
			low = 0xa0;
		if (s[0] == 0xed)
			high = 0x9f;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		len = 4;
		if (s[0] == 0xf0)
			low = 0x90;
		if (s[0] == 0xf4)
			high = 0x8f;
	} else {
		return 0;
	}
	if (t.len < len || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

struct text text_of_int(int64_t n, char buffer[TEXT_DIGITS])
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
		"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
	char *end = &buffer[TEXT_DIGITS - 1], *at = end;
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

	*at = '\0';
	for (; rest >= 100; rest /= 100)
		memcpy(at -= 2, pairs + rest % 100 * 2, 2);
	if (rest >= 10)
		memcpy(at -= 2, pairs + rest * 2, 2);
	else
		*--at = (char)('0' + rest);
	if (n < 0)
		*--at = '-';
	return (struct text){ at, (size_t)(end - at) };
}

/*
 * A number with at most seven decimals is a whole number of ten-millionths, whose digits cost a
 * tenth of printf and strtod. Division rounds correctly, so these digits read back as the same
 * double. Returns an absent text for any other number.
 */
static struct text text_of_decimal(double value, char buffer[TEXT_REAL])
{
	double size = value < 0 ? -value : value;

	if (!(size >= 1e-4 && size < 1e8))
		return (struct text){ 0 };
	int64_t n = (int64_t)(size * 1e7 + 0.5), rest = n % 10000000;
	if ((double)n / 1e7 != size)
		return (struct text){ 0 };
	char whole[TEXT_DIGITS], *to = buffer;
	struct text digits = text_of_int(n / 10000000, whole);
	if (value < 0)
		*to++ = '-';
	memcpy(to, digits.at, digits.len);
	to += digits.len;
	if (rest)
		*to++ = '.';
	for (int64_t unit = 1000000; rest; rest %= unit, unit /= 10)
		*to++ = (char)('0' + rest / unit);
	*to = '\0';
	return (struct text){ buffer, (size_t)(to - buffer) };
}

struct text text_of_real(double value, char buffer[TEXT_REAL])
{
	struct text decimal = text_of_decimal(value, buffer);
	int len = 0;

	if (decimal.at)
		return decimal;

	for (int precision = 15; precision <= 17; precision++) {
		len = snprintf(buffer, TEXT_REAL, "%.*g", precision, value);
		if (strtod(buffer, NULL) == value)
			break;
	}
	return (struct text){ buffer, (size_t)len };
}

const char *text_plain_real(double value, char buffer[TEXT_PLAIN])
{
	enum { DIGITS = 10, LEAST = -12, MOST = 15 };
	const char *exponent_at;
	int exponent;

	snprintf(buffer, TEXT_PLAIN, "%.*e", DIGITS - 1, value);
	exponent_at = strchr(buffer, 'e');
	/* without an exponent: the number is not finite */
	exponent = exponent_at ? (int)strtol(exponent_at + 1, NULL, 10) : MOST + 1;
	if (exponent < LEAST || exponent > MOST) {
		snprintf(buffer, TEXT_PLAIN, "%.*g", DIGITS, value);
		return buffer;
	}
	int decimals = exponent >= DIGITS ? 0 : DIGITS - 1 - exponent;
	size_t len = (size_t)snprintf(buffer, TEXT_PLAIN, "%.*f", decimals, value);
	while (decimals > 0 && buffer[len - 1] == '0')
		len--;
	buffer[buffer[len - 1] == '.' ? len - 1 : len] = '\0';
	return buffer;
}

bool text_is_utf8(struct text t)
{
	for (size_t i = 0, step; i < t.len; i += step) {
		step = text_utf8_char((struct text){ t.at + i, t.len - i });
		if (step == 0)
			return false;
	}
	return true;
}

bool text_has_control(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];
		bool c1 = c == 0xc2 && i + 1 < t.len && (unsigned char)t.at[i + 1] < 0xa0;
		if (c < 0x20 || c == 0x7f || c1)
			return true;
	}
	return false;
}
