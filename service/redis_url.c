/* redis_url: parses redis:// and unix:// URLs; see redis_url.h. */
#include "redis_url.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies `len` bytes as a string; false when they do not fit. */
static bool take(char *out, size_t size, const char *from, size_t len)
{
	if (len >= size)
		return false;
	memcpy(out, from, len);
	out[len] = '\0';
	return true;
}

static bool is_number(const char *s, long most)
{
	size_t n = strlen(s);

	return n > 0 && n <= 5 && strspn(s, "0123456789") == n && strtol(s, NULL, 10) <= most;
}

/* %XX in user and password, so that they can hold any byte but NUL. */
static bool unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		unsigned c = (unsigned char)*s;
		if (*s == '%') {
			char hex[3] = { s[1], s[1] ? s[2] : '\0', '\0' };
			if (strspn(hex, "0123456789abcdefABCDEF") != 2)
				return false;
			c = (unsigned)strtoul(hex, NULL, 16);
			s += 2;
		}
		if (c == 0)
			return false;
		*to = (char)c;
	}
	*to = '\0';
	return true;
}

static const char *parse_credentials(struct redis_url *out, const char *at, size_t len)
{
	const char *colon = memchr(at, ':', len);
	size_t user_len = colon ? (size_t)(colon - at) : len;

	if (!take(out->user, sizeof(out->user), at, user_len) ||
	    (colon && !take(out->password, sizeof(out->password), colon + 1, len - user_len - 1)))
		return "the user or password is too long";
	if (!unescape(out->user) || !unescape(out->password))
		return "the user or password has a bad %XX escape";
	return NULL;
}

static const char *parse_unix(struct redis_url *out, const char *rest)
{
	const char *query = strstr(rest, "?db=");
	size_t len = query ? (size_t)(query - rest) : strlen(rest);

	if (len == 0 || rest[0] != '/')
		return "a unix socket needs an absolute path";
	if (!take(out->path, sizeof(out->path), rest, len))
		return "the socket's path is longer than the 107 bytes that the system allows";
	if (query && (!take(out->db, sizeof(out->db), query + 4, strlen(query + 4)) || !is_number(out->db, 65535)))
		return "the database is not a number";
	memcpy(out->address, out->path, sizeof(out->path));
	return NULL;
}

static const char *parse_host(struct redis_url *out, const char *rest)
{
	const char *at = strrchr(rest, '@');

	if (at) {
		const char *why = parse_credentials(out, rest, (size_t)(at - rest));
		if (why)
			return why;
		rest = at + 1;
	}
	size_t len = strcspn(rest, "/");
	if (rest[len] == '/' && rest[len + 1] &&
	    (!take(out->db, sizeof(out->db), rest + len + 1, strlen(rest + len + 1)) || !is_number(out->db, 65535)))
		return "the database is not a number";
	const char *close = rest[0] == '[' ? memchr(rest, ']', len) : NULL;
	if ((rest[0] == '[') != (close != NULL) || (close && close + 1 < rest + len && close[1] != ':'))
		return "the host's brackets are not closed";
	const char *colon = memchr(close ? close : rest, ':', len - (size_t)((close ? close : rest) - rest));
	size_t host_len = colon ? (size_t)(colon - rest) : len;
	size_t bracket = close ? 1 : 0;
	if (host_len <= 2 * bracket || !take(out->host, sizeof(out->host), rest + bracket, host_len - 2 * bracket))
		return "the host is missing or too long";
	if (!colon)
		memcpy(out->port, "6379", 5);
	else if (!take(out->port, sizeof(out->port), colon + 1, len - host_len - 1) || !is_number(out->port, 65535))
		return "the port is not a number up to 65535";
	snprintf(out->address, sizeof(out->address), close ? "[%s]:%s" : "%s:%s", out->host, out->port);
	return NULL;
}

const char *redis_url_parse(struct redis_url *out, const char *url, const char *password)
{
	const char *why;

	*out = (struct redis_url){ 0 };
	if (strncmp(url, "redis://", 8) == 0)
		why = parse_host(out, url + 8);
	else if (strncmp(url, "unix://", 7) == 0)
		why = parse_unix(out, url + 7);
	else
		return "the scheme is not one that this version knows";
	if (!why && password && *password && !take(out->password, sizeof(out->password), password, strlen(password)))
		why = "the password is too long";
	return why;
}

struct text redis_url_redacted(const char *url, char *out, size_t size)
{
	const char *scheme = strstr(url, "://");
	const char *at = scheme ? strrchr(scheme, '@') : NULL;
	const char *colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;

	if (!scheme && strchr(url, '@')) /* not a URL: who knows what it is */
		return TEXT("...");
	if (!colon)
		return text_of(url);
	snprintf(out, size, "%.*s:...%s", (int)(colon - url), url, at);
	return text_of(out);
}
