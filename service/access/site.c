#include "access/site.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "access/cors.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/request.h"

/* Returns the name in "name:port" or "[::1]:port"; absent if the text has neither form. */
static struct text host_name(struct text host)
{
	struct text name = host;

	if (host.len && host.at[0] == '[') {
		const char *close = memchr(host.at, ']', host.len);
		if (!close)
			return (struct text){ 0 };
		name.len = (size_t)(close + 1 - host.at);
	} else {
		const char *colon = memchr(host.at, ':', host.len);
		if (colon)
			name.len = (size_t)(colon - host.at);
	}
	struct text rest = { host.at + name.len, host.len - name.len };
	bool port_ok =
		rest.len == 0 || (rest.at[0] == ':' && text_u16((struct text){ rest.at + 1, rest.len - 1 }) >= 0);
	return port_ok && name.len ? name : (struct text){ 0 };
}

static bool is_ip_literal(struct text name)
{
	char copy[64];
	unsigned char bytes[16];
	bool six = name.at[0] == '[';
	size_t len = six ? name.len - 2 : name.len;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, name.at + six, len);
	copy[len] = '\0';
	return inet_pton(six ? AF_INET6 : AF_INET, copy, bytes) == 1;
}

/* A trailing dot makes a name absolute: it is the same name. */
static bool is_in_list(const char *list, struct text name)
{
	if (name.len > 1 && name.at[name.len - 1] == '.')
		name.len--;
	for (const char *at = list; *at; at += strspn(at, ", ")) {
		size_t n = strcspn(at, ", ");
		if (n == name.len && strncasecmp(at, name.at, n) == 0)
			return true;
		at += n;
	}
	return false;
}

/* Returns true for what a Host header may name: a literal in its form, or a name without a port. */
static bool is_host(struct text name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

	if (name.at[0] == '[')
		return name.len > 2 && name.at[name.len - 1] == ']' && is_ip_literal(name);
	return name.len > 0 && strspn(name.at, plain) >= name.len && name.at[name.len - 1] != '.';
}

bool site_open(void)
{
	for (struct text rest = text_of(config()->allowed_hosts); rest.len;) {
		struct text one = text_trimmed(text_cut(&rest, ','));
		if (is_host(one))
			continue;
		fprintf(stderr,
			"patternd: --allowed-hosts: '%.*s' is not a host: expected names like api.example, separated by "
			"commas, without port, scheme and wildcard\n",
			(int)one.len, one.at);
		return false;
	}
	return true;
}

/*
 * The owner of evil.example may point that name to 127.0.0.1 after a browser has loaded a page from
 * it (DNS rebinding). Requests of the page still carry the name, so only configured names are
 * served. IP literals cannot be rebound, and browsers cannot open a Unix socket, for which clients
 * invent a name.
 */
bool site_serves_host(struct request *req, struct text host)
{
	if (!host.at || req->asked.by_unix)
		return true; /* without Host this is HTTP/1.0; libmicrohttpd rejects HTTP/1.1 without it */
	struct text name = host_name(host);
	if (name.at && ((name.len == 9 && strncasecmp(name.at, "localhost", 9) == 0) || is_ip_literal(name) ||
			is_in_list(config()->allowed_hosts, name)))
		return true;
	answer_problem(req, P_HOST_NOT_ALLOWED,
		       "the host '%s' is not served here; --allowed-hosts lists names beside localhost and IP literals",
		       host.at);
	return false;
}

/* Some origins, such as "null", cannot be allowed: they do not name the page's site. */
static bool refuse_origin(struct request *req, struct text origin)
{
	answer_problem(req, P_CROSS_SITE, "origin '%s' is another site; %s", origin.at,
		       cors_is_origin(origin.at) ? "to allow it, add it to --cors-origins"
						 : "it names no site that --cors-origins could allow");
	return false;
}

bool site_is_allowed(struct request *req, struct text host, struct text origin, struct text site)
{
	if (req->caller.cors_origin)
		return true;
	if (site.at && !text_is(site, "same-origin") && !text_is(site, "none")) {
		if (origin.at)
			return refuse_origin(req, origin);
		answer_problem(req, P_CROSS_SITE,
			       "Sec-Fetch-Site is '%s'; to allow that page, add its origin to --cors-origins", site.at);
		return false;
	}
	if (!origin.at)
		return true;
	bool is_web = strncmp(origin.at, "http://", 7) == 0 || strncmp(origin.at, "https://", 8) == 0;
	if (is_web && host.at && strcasecmp(strstr(origin.at, "://") + 3, host.at) == 0)
		return true;
	return refuse_origin(req, origin);
}
