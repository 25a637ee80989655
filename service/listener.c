/* listener: see listener.h. */
#include "listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_one(const struct addrinfo *a)
{
	int on = 1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int refuse(const char *where, const char *why)
{
	fprintf(stderr, "patternd: --listen: cannot serve on '%s': %s\n", where, why);
	return -1;
}

static void note_address(int fd, char *address, size_t size)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	char host[64], port[16];

	if (getsockname(fd, (struct sockaddr *)&own, &len) != 0 ||
	    getnameinfo((struct sockaddr *)&own, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(address, size, own.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool is_port(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= 5 && strspn(s, "0123456789") == len && strtol(s, NULL, 10) <= 65535;
}

int listener_open(const char *option, char *address, size_t size)
{
	char host[256];
	const char *colon = strrchr(option, ':');
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found;

	if (!colon || colon == option || (size_t)(colon - option) >= sizeof(host) || !is_port(colon + 1))
		return refuse(option, "expected HOST:PORT, like 127.0.0.1:8379 or [::1]:8379");
	size_t n = (size_t)(colon - option);
	bool bracketed = option[0] == '[' && option[n - 1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int)(bracketed ? n - 2 : n), option + bracketed);
	int error = getaddrinfo(host, colon + 1, &hints, &found);
	if (error)
		return refuse(option, gai_strerror(error));
	int fd = bind_one(found);
	error = errno;
	freeaddrinfo(found);
	if (fd < 0)
		return refuse(option, error == EADDRINUSE ? "something else listens there already" : strerror(error));
	note_address(fd, address, size);
	return fd;
}
