#include "core/percent.h"

#include <string.h>

#include "core/hex.h"

size_t percent_encode(struct text t, char *out)
{
	static const char digits[] = "0123456789ABCDEF"; /* upper case, as RFC 3986, section 2.1, recommends */
	char *to = out;

	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
		if (is_letter || (c >= '0' && c <= '9') || memchr("-._~", c, 4)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = digits[c >> 4];
		*to++ = digits[c & 15];
	}
	*to = '\0';
	return (size_t)(to - out);
}

bool percent_decode(char *at, size_t *len)
{
	char *to = at;

	for (const char *from = at, *end = at + *len; from < end; from++) {
		char c = *from;
		if (c == '%') {
			int high = end - from > 2 ? hex_value(from[1]) : -1, low = high < 0 ? -1 : hex_value(from[2]);
			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			from += 2;
		}
		if (c == '\0')
			return false;
		*to++ = c;
	}
	*to = '\0';
	*len = (size_t)(to - at);
	return true;
}
