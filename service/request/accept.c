#include "request/accept.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Returns q in thousandths. If it is not a number, it counts as 1. */
static int quality_of(const char *at)
{
	int quality = 0;

	if (*at != '0')
		return 1000;
	at += at[1] == '.' ? 2 : 1;
	for (int unit = 100; unit > 0 && isdigit((unsigned char)*at); unit /= 10)
		quality += unit * (*at++ - '0');
	return quality;
}

/* Reads the parameters of a media range up to the next comma. Returns where they end. */
static const char *read_parameters(const char *at, int *quality)
{
	*quality = 1000;
	for (bool quoted = false; *at && (quoted || *at != ','); at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at[1])
			at++;
		else if (!quoted && *at == ';' && strncasecmp(at + 1 + strspn(at + 1, " \t"), "q=", 2) == 0)
			*quality = quality_of(at + 1 + strspn(at + 1, " \t") + 2);
	}
	return at;
}

/* Returns 3 if the range is the type itself, 2 if it is its family, 1 if it is any type, else 0. */
static int specificity_of(struct text range, const char *type, size_t type_len)
{
	size_t family = strcspn(type, "/") + 1; /* includes the slash */

	if (range.len == type_len && strncasecmp(range.at, type, type_len) == 0)
		return 3;
	if (range.len == family + 1 && range.at[family] == '*' && strncasecmp(range.at, type, family) == 0)
		return 2;
	return text_is(range, "*/*") || text_is(range, "*");
}

int accept_quality(struct text accept, const char *media_type)
{
	size_t len = strcspn(media_type, ";");
	int best = -1, specificity = 1, quality;

	if (accept.len == 0)
		return 1;
	for (const char *at = accept.at; *(at += strspn(at, " \t,"));) {
		struct text range = { at, strcspn(at, " \t,;") };
		int this_specificity = specificity_of(range, media_type, len);
		at = read_parameters(at + range.len, &quality);
		if (this_specificity < specificity)
			continue;
		int rank = quality ? 4 * quality + this_specificity : 0;
		best = this_specificity > specificity || rank > best ? rank : best;
		specificity = this_specificity;
	}
	return best;
}

bool accept_coding(struct text accept_encoding, const char *coding)
{
	bool is_empty = accept_encoding.at && accept_encoding.len == 0;

	return !is_empty && accept_quality(accept_encoding, coding) > 0;
}
