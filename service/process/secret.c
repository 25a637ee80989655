#include "process/secret.h"

#include <stdio.h>
#include <string.h>

/*
 * Returns the password in a URL; absent if there is none. A text without "://" may be secret as a
 * whole.
 */
static struct text password_in(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *at = scheme ? strrchr(scheme, '@') : NULL;
	const char *colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;

	if (!scheme && strchr(url, '@'))
		return text_of(url);
	return colon ? (struct text){ colon + 1, (size_t)(at - colon - 1) } : (struct text){ 0 };
}

struct text secret_redacted(const char *url, char *out, size_t size)
{
	struct text password = password_in(url);

	if (!password.at)
		return text_of(url);
	snprintf(out, size, "%.*s...%s", (int)(password.at - url), url, password.at + password.len);
	return text_of(out);
}

void secret_hide(char *url)
{
	struct text password = password_in(url);

	if (password.at)
		memset(url + (password.at - url), '*', password.len);
}
