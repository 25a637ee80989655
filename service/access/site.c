/* site: see site.h. */
#include "access/site.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

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

/*
 * The owner of evil.example may point that name to 127.0.0.1 after a browser has loaded a page from
 * it (DNS rebinding). Requests of the page still carry the name, so only configured names are
 * served. IP literals cannot be rebound.
 */
bool site_serves_host(struct request *req, struct text host)
{
	if (!host.at)
		return true; /* this is HTTP/1.0; libmicrohttpd rejects HTTP/1.1 without Host */
	struct text name = host_name(host);
	if (name.at && ((name.len == 9 && strncasecmp(name.at, "localhost", 9) == 0) || is_ip_literal(name) ||
			is_in_list(config()->allowed_hosts, name)))
		return true;
	answer_problem(req, P_HOST_NOT_ALLOWED,
		       "the host '%s' is not served here; --allowed-hosts lists names beside localhost and IP literals",
		       host.at);
	return false;
}

bool site_is_allowed(struct request *req, struct text host, struct text origin, struct text site)
{
	if (req->caller.cors_origin)
		return true;
	if (site.at && !text_is(site, "same-origin") && !text_is(site, "none")) {
		answer_problem(req, P_CROSS_SITE,
			       "Sec-Fetch-Site is '%s'; to allow that page, add its origin to --cors-origins", site.at);
		return false;
	}
	if (!origin.at)
		return true;
	bool is_web = strncmp(origin.at, "http://", 7) == 0 || strncmp(origin.at, "https://", 8) == 0;
	if (is_web && host.at && strcasecmp(strstr(origin.at, "://") + 3, host.at) == 0)
		return true;
	answer_problem(req, P_CROSS_SITE, "origin '%s' is another site; to allow it, add it to --cors-origins",
		       origin.at);
	return false;
}
