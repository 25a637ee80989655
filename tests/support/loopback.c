#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 512 };

static struct sockaddr_in address(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

int loopback_listen(int *port)
{
	struct sockaddr_in at = address(*port);
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
		close(fd);
		return -1;
	}
	*port = ntohs(at.sin_port);
	return fd;
}

static int without_delay(int fd)
{
	int on = 1;

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

int loopback_connect(int port)
{
	struct sockaddr_in at = address(port);
	int fd = without_delay(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

int loopback_accept(int listen_fd)
{
	return without_delay(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC));
}
