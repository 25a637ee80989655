#include "net/listener_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/text.h"

static bool refuse(const char *option, const char *what, size_t len, const char *why)
{
	fprintf(stderr, "patternd: --%s: cannot serve on '%.*s': %s\n", option, (int)len, what, why);
	return false;
}

bool listener_address_refuse(const char *option, const struct listener_address *a, const char *why)
{
	char shown[LISTENER_HOST_BYTES + 16];

	listener_address_print(a, shown, sizeof(shown));
	return refuse(option, shown, strlen(shown), why);
}

/* ---- Parse ---- */

static bool parse_unix(const char *option, const char *at, size_t len, struct listener_address *out)
{
	const char *path = at + strlen(LISTENER_UNIX);
	size_t n = len - (strlen(LISTENER_UNIX));

	out->is_unix = true;
	if (n < 2 || *path != '/')
		return refuse(option, at, len, "expected a path from the root, like unix:/run/patternd.sock");
	if (n >= LISTENER_PATH_BYTES)
		return refuse(option, at, len, "the path of a Unix socket has at most 107 bytes");
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, path);
	return true;
}

static bool parse_one(const char *option, const char *at, size_t len, struct listener_address *out)
{
	const char *colon = memrchr(at, ':', len);
	size_t host_len = colon ? (size_t)(colon - at) : 0;

	*out = (struct listener_address){ 0 };
	if (len >= strlen(LISTENER_UNIX) && memcmp(at, LISTENER_UNIX, strlen(LISTENER_UNIX)) == 0)
		return parse_unix(option, at, len, out);
	if (memmem(at, len, "://", 3))
		return refuse(option, at, len,
			      "expected HOST:PORT, without http://; tls-cert and tls-key make it HTTPS");
	if (host_len == 0 || host_len >= LISTENER_HOST_BYTES ||
	    text_u16((struct text){ colon + 1, len - host_len - 1 }) < 0)
		return refuse(option, at, len, "expected HOST:PORT, like 127.0.0.1:8379 or [::1]:8379, or unix:/path");
	bool bracketed = at[0] == '[' && at[host_len - 1] == ']';
	if (!bracketed && memchr(at, ':', host_len))
		return refuse(option, at, len, "an IPv6 address needs brackets, like [::1]:8379");
	snprintf(out->host, sizeof(out->host), "%.*s", (int)(bracketed ? host_len - 2 : host_len), at + bracketed);
	snprintf(out->port, sizeof(out->port), "%.*s", (int)(len - host_len - 1), colon + 1);
	return true;
}

size_t listener_address_parse(const char *option, const char *list, struct listener_address out[LISTENER_ADDRESSES_MAX])
{
	size_t count = 0;

	for (struct text rest = text_of(list); rest.at;) {
		struct text one = text_cut(&rest, ',');
		if (count == LISTENER_ADDRESSES_MAX) {
			refuse(option, list, strlen(list), "at most 16 addresses are allowed");
			return 0;
		}
		if (!parse_one(option, one.at, one.len, &out[count++]))
			return 0;
	}
	return count;
}

void listener_address_print(const struct listener_address *a, char *out, size_t size)
{
	if (a->is_unix)
		snprintf(out, size, "%s%s", LISTENER_UNIX, a->host);
	else
		snprintf(out, size, strchr(a->host, ':') ? "[%s]:%s" : "%s:%s", a->host, a->port);
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->sa_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET));
}

bool listener_address_is_name(const struct listener_address *a)
{
	unsigned char bytes[16];

	/* "127.1" is also a name. */
	return !a->is_unix && inet_pton(AF_INET, a->host, bytes) != 1 && inet_pton(AF_INET6, a->host, bytes) != 1;
}

bool listener_address_is_private(const struct listener_address *a)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	if (a->is_unix)
		return true;
	/* Other names may resolve to other addresses tomorrow. */
	if (strcasecmp(a->host, "localhost") != 0 && listener_address_is_name(a))
		return false;
	if (getaddrinfo(a->host, NULL, &hints, &found) != 0)
		return false;
	bool all = true;
	for (struct addrinfo *at = found; at; at = at->ai_next)
		all = all && is_loopback(at->ai_addr);
	freeaddrinfo(found);
	return all;
}

/* ---- Names ---- */

/* Adds an address of a name, unless it is there already. */
static void add(struct listener_address *out, size_t *count, const struct addrinfo *at)
{
	struct listener_address one = { .port = "" };

	if (getnameinfo(at->ai_addr, at->ai_addrlen, one.host, sizeof(one.host), one.port, sizeof(one.port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	for (size_t i = 0; i < *count; i++)
		if (strcmp(out[i].host, one.host) == 0)
			return;
	if (*count < LISTENER_OF_NAME_MAX)
		out[(*count)++] = one;
}

size_t listener_address_expand(const char *option, const struct listener_address *a,
			       struct listener_address out[LISTENER_OF_NAME_MAX])
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found;
	size_t count = 0;

	out[0] = *a;
	if (!listener_address_is_name(a))
		return 1;
	int error = getaddrinfo(a->host, a->port, &hints, &found);
	if (error) {
		listener_address_refuse(option, a, gai_strerror(error));
		return 0;
	}
	for (const struct addrinfo *at = found; at; at = at->ai_next)
		add(out, &count, at);
	freeaddrinfo(found);
	return count;
}

/* ---- Check ---- */

const char *listener_address_flaw(const char *path)
{
	struct stat s;
	char folder[LISTENER_HOST_BYTES];
	const char *slash = strrchr(path, '/');

	if (lstat(path, &s) == 0)
		return S_ISSOCK(s.st_mode) ? NULL : "the file there is not a socket";
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	if (stat(folder, &s) == 0)
		return S_ISDIR(s.st_mode) ? NULL : "its folder is a file";
	return errno == ENOENT ? "its folder does not exist" : strerror(errno);
}

/* Returns true for the wildcard of the family. [::] is also one of IPv4 if it is `alone`. */
static bool is_any(const struct listener_address *a, int family, bool alone)
{
	return strcmp(a->host, family == AF_INET ? "0.0.0.0" : "::") == 0 ||
	       (family == AF_INET && alone && strcmp(a->host, "::") == 0);
}

/* Returns true if no two sockets can be at these addresses; a name is only compared as text. */
static bool collide(const struct listener_address *a, bool a_alone, const struct listener_address *b, bool b_alone)
{
	unsigned char of_a[16], of_b[16];

	if (a->is_unix || b->is_unix)
		return a->is_unix && b->is_unix && strcmp(a->host, b->host) == 0;
	if (strtol(a->port, NULL, 10) != strtol(b->port, NULL, 10) || strtol(a->port, NULL, 10) == 0)
		return false;
	if (strcasecmp(a->host, b->host) == 0 || (is_any(a, AF_INET, a_alone) && is_any(b, AF_INET, b_alone)))
		return true;
	for (int family = AF_INET;; family = AF_INET6) {
		bool has_a = inet_pton(family, a->host, of_a) == 1, has_b = inet_pton(family, b->host, of_b) == 1;
		if ((has_a && is_any(b, family, b_alone)) || (has_b && is_any(a, family, a_alone)))
			return true;
		if (has_a && has_b && memcmp(of_a, of_b, family == AF_INET ? 4 : 16) == 0)
			return true;
		if (family == AF_INET6)
			return false;
	}
}

/* Returns true if it is one of the first `count` of a list. `alone`: `a` has no other beside it. */
static bool is_taken(const struct listener_address *a, bool alone, const struct listener_list *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (collide(a, alone, &list->addresses[i], list->count == 1))
			return true;
	return false;
}

bool listener_address_check(const struct listener_list *list, const struct listener_list *other)
{
	bool ok = true;

	for (size_t i = 0; i < list->count; i++) {
		const struct listener_address *a = &list->addresses[i];
		const char *why = a->is_unix ? listener_address_flaw(a->host) : NULL;
		if (is_taken(a, list->count == 1, list, i))
			why = "the option has this address already";
		else if (other && is_taken(a, list->count == 1, other, other->count))
			why = "another option has this address already";
		if (why)
			ok = listener_address_refuse(list->option, a, why);
	}
	return ok;
}
