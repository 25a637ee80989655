/* poll_skip: see http/poll_skip.h. */
#include "http/poll_skip.h"

#include <stddef.h>
#include <sys/epoll.h>

static int skipped_fd = -1;

void poll_skip_begin(int epoll_fd)
{
	skipped_fd = epoll_fd;
}

void poll_skip_end(void)
{
	skipped_fd = -1;
}

/*
 * The program's definition takes precedence over libc's for libmicrohttpd, too. Where it does not,
 * nothing is skipped. glibc's epoll_wait is this epoll_pwait.
 */
int epoll_wait(int epoll_fd, struct epoll_event *events, int max, int timeout_ms)
{
	return epoll_fd == skipped_fd ? 0 : epoll_pwait(epoll_fd, events, max, timeout_ms, NULL);
}
