/*
 * other_network: preloaded into the daemon, it gives localhost the two addresses that most machines
 * have. If WITHOUT_IPV6 is set, the kernel seems to have no IPv6; with "off", it has no IPv6
 * address.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int fail(int error)
{
	errno = error;
	return -1;
}

static int is_without(const char *what)
{
	const char *without = getenv("WITHOUT_IPV6");

	return without && strcmp(without, what) == 0;
}

int socket(int domain, int type, int protocol)
{
	return domain == AF_INET6 && is_without("kernel") ? fail(EAFNOSUPPORT) : NEXT(socket)(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *to, socklen_t len)
{
	return to->sa_family == AF_INET6 && is_without("off") ? fail(EADDRNOTAVAIL) : NEXT(bind)(fd, to, len);
}

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
	if (!name || strcasecmp(name, "localhost") != 0)
		return NEXT(getaddrinfo)(name, port, hints, out);
	int error = NEXT(getaddrinfo)("::1", port, hints, out);
	if (error)
		return error;
	struct addrinfo *last = *out;
	while (last->ai_next)
		last = last->ai_next;
	return NEXT(getaddrinfo)("127.0.0.1", port, hints, &last->ai_next);
}
