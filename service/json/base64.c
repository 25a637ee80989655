#include "json/base64.h"

#include <stdio.h>

/* Returns the value of a character, or -1 if it has none. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t base64_room(size_t len)
{
	return (len + 3) / 4 * 3;
}

static bool bad_character(struct text in, size_t i, char why[BASE64_WHY])
{
	unsigned char c = (unsigned char)in.at[i];

	if (c == '=')
		snprintf(why, BASE64_WHY, "has padding (=) as character %zu, before its end", i + 1);
	else if (c > ' ' && c < 0x7f)
		snprintf(why, BASE64_WHY, "has '%c' as character %zu, which is not base64", c, i + 1);
	else
		snprintf(why, BASE64_WHY, "has the byte 0x%02x as character %zu, which is not base64", c, i + 1);
	return false;
}

bool base64_decode(struct text in, char *out, size_t *out_len, char why[BASE64_WHY])
{
	size_t len = in.len, n = 0;
	unsigned bits = 0; /* the bits of the group so far, the earliest on top */

	while (len > 0 && in.len - len < 2 && in.at[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		int value = value_of(in.at[i]);
		if (value < 0)
			return bad_character(in, i, why);
		bits = bits << 6 | (unsigned)value;
		if (i % 4 > 0) /* four characters make three bytes: each but the first completes one */
			out[n++] = (char)(bits >> (6 - i % 4 * 2) & 0xff);
	}
	if (in.len % 4 != 0) {
		snprintf(why, BASE64_WHY, "has %zu characters: base64 comes in fours, padded with =", in.len);
		return false;
	}
	unsigned unused = len % 4 == 2 ? bits & 0xf : len % 4 == 3 ? bits & 0x3 : 0;
	if (unused) {
		snprintf(why, BASE64_WHY, "has bits behind its last byte that are not 0, in character %zu", len);
		return false;
	}
	*out_len = n;
	return true;
}
