/*
 * suspender: shows what a waiting request costs at least. It is a server on libmicrohttpd, which it
 * uses as the daemon does (external epoll, the same memory per connection). It reads a request with
 * its body and then suspends the connection for ever.
 *
 * Its argument is the number of requests. It prints "listening 127.0.0.1:PORT", then "a quarter is
 * suspended" and "all are suspended". A signal ends it.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loopback.h"

enum { CONNECTION_MEMORY = 16 * 1024 }; /* service/http/server.c has the same value */

static unsigned wanted, suspended;

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload_data, size_t *upload_data_size,
				  void **con_cls)
{
	static int seen;

	(void)cls, (void)url, (void)method, (void)version, (void)upload_data;
	if (!*con_cls) {
		*con_cls = &seen;
		return MHD_YES;
	}
	if (*upload_data_size) {
		*upload_data_size = 0;
		return MHD_YES;
	}
	MHD_suspend_connection(connection);
	suspended++;
	if (suspended == wanted / 4)
		fprintf(stderr, "a quarter is suspended\n");
	if (suspended == wanted)
		fprintf(stderr, "all are suspended\n");
	return MHD_YES;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int port = 0, listen_fd;

	wanted = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
	struct rlimit files = { wanted + 24, wanted + 24 };
	setrlimit(RLIMIT_NOFILE, &files);
	listen_fd = loopback_listen(&port);
	/* clang-format off */
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, wanted,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	/* clang-format on */
	int loop = epoll_create1(EPOLL_CLOEXEC);
	int inner = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd : -1;
	if (listen_fd < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, inner, &event) != 0)
		return EXIT_FAILURE;
	fprintf(stderr, "listening 127.0.0.1:%d\n", port);
	for (;;) {
		MHD_UNSIGNED_LONG_LONG ms;
		bool is_due = MHD_get_timeout(d, &ms) == MHD_YES;
		epoll_wait(loop, &event, 1, is_due ? (int)ms : -1);
		MHD_run(d);
	}
}
