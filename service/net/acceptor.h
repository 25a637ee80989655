/*
 * acceptor: accepts clients on listening sockets, up to a number of connections.
 *
 * While all connections are taken, or the system has no descriptor left, the sockets are not
 * watched: clients wait in the backlog, and nothing spins. Several addresses share one acceptor and
 * its connections.
 */
#ifndef PATTERND_ACCEPTOR_H
#define PATTERND_ACCEPTOR_H

#include <stdbool.h>

#include "core/loop.h"
#include "net/listener.h"

struct acceptor;

/* One of its sockets. */
struct acceptor_socket {
	struct listener listener;
	struct loop_watch watch;
	struct acceptor *acceptor;
};

struct acceptor {
	/* Set before acceptor_open. */
	unsigned max_connections;
	/* Takes the descriptor. Calls acceptor_client_opened when the connection stays. */
	void (*on_client)(const struct listener *by, int fd);
	/* A client waits, and all connections are taken. May be NULL. */
	void (*on_full)(struct acceptor *a);

	struct acceptor_socket sockets[LISTENER_ADDRESSES_MAX];
	size_t count;
	unsigned connection_count;
	bool paused;
	bool logged;             /* that accept fails: once, until it works again */
	struct loop_timer retry; /* without descriptors, when no connection may close */
};

/* Opens every address of `list`. False after one line on stderr that names `option`. */
bool acceptor_open(struct acceptor *a, const char *option, const char *list, mode_t mode);

/* Accepts no more clients; open connections stay. */
void acceptor_close(struct acceptor *a);

void acceptor_client_opened(struct acceptor *a);
void acceptor_client_closed(struct acceptor *a);

#endif
