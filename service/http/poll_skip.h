/*
 * poll_skip: spares an epoll_wait of libmicrohttpd that would find nothing.
 *
 * MHD_run asks the epoll set of its daemon each time (0.9.75 to 1.0.1, MHD_epoll), also when it
 * only has to send a response or to end a request, and no other function does the rest of its work.
 * A request takes three runs, and only the first of them has an event. The event loop watches that
 * set, so the server knows whether it may hold one.
 */
#ifndef PATTERND_HTTP_POLL_SKIP_H
#define PATTERND_HTTP_POLL_SKIP_H

/* Until poll_skip_end, epoll_wait on this set returns 0 at once. Events stay in the set. */
void poll_skip_begin(int epoll_fd);
void poll_skip_end(void);

#endif
