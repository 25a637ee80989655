#include "outbound/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/text.h"

static bool is_v4(struct in_addr a)
{
	return *(const unsigned char *)&a == 127; /* its first byte in network byte order */
}

bool loopback_holds(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return is_v4(((const struct sockaddr_in *)(const void *)at)->sin_addr);
	if (at->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
	return at->sa_family == AF_UNIX;
}

static bool is_local_literal(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	return inet_pton(AF_INET, host, &v4) == 1 ? is_v4(v4)
						  : inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Cuts the host, without brackets, off an authority in *rest. False: it does not fit. */
static bool cut_host(const char **rest, char *host, size_t size)
{
	bool has_brackets = **rest == '[';
	const char *from = *rest + has_brackets;
	size_t len = strcspn(from, has_brackets ? "]" : ":/?#");

	if (len == 0 || len >= size || (has_brackets && from[len] != ']'))
		return false;
	memcpy(host, from, len);
	host[len] = '\0';
	*rest = from + len + has_brackets;
	return !has_brackets == !strchr(host, ':');
}

const char *loopback_refusal(const char *url)
{
	static const char scheme[] = "http://";
	char host[64];

	if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
		return "must begin with http://";
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("\\\"<>^`{|}#@", *c))
			return "must have no user, no fragment, and only the characters of a URL";
	const char *rest = url + sizeof(scheme) - 1;
	if (!cut_host(&rest, host, sizeof(host)))
		return "must name a loopback address, such as http://127.0.0.1:3000/jobs";
	if (strcasecmp(host, "localhost") != 0 && !is_local_literal(host))
		return "must name a loopback address or localhost: the daemon calls only programs on its own machine";
	int port = 80;
	if (*rest == ':') {
		size_t len = strcspn(rest + 1, "/?");
		port = text_u16((struct text){ rest + 1, len });
		rest += 1 + len;
	}
	if (port < 1)
		return "must have a port from 1 to 65535";
	return !*rest || *rest == '/' ? NULL : "must have a path that begins with /";
}
