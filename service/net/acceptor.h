/*
 * acceptor: accepts clients on listening sockets, up to a number of connections. It must not know
 * HTTP.
 *
 * While all connections are in use, or the system has no descriptor left, the sockets are not
 * watched: clients wait in the backlog, and the loop does not spin. Several addresses share one
 * acceptor and its connections.
 */
#ifndef PATTERND_ACCEPTOR_H
#define PATTERND_ACCEPTOR_H

#include <stdbool.h>

#include "core/loop.h"
#include "net/listener.h"

struct acceptor;

/* Names may have several addresses. */
enum { ACCEPTOR_SOCKETS_MAX = 2 * LISTENER_ADDRESSES_MAX };

/* One socket of an acceptor. */
struct acceptor_socket {
	struct listener listener;
	struct loop_watch watch;
	struct acceptor *acceptor;
};

struct acceptor {
	/* Set before acceptor_open. */
	unsigned max_connections;
	/*
	 * Takes ownership of the descriptor. It calls acceptor_client_opened if it keeps the
	 * connection.
	 */
	void (*on_client)(const struct listener *by, int fd);
	/* Called when a client waits while all connections are in use. May be NULL. */
	void (*on_full)(struct acceptor *a);

	struct acceptor_socket sockets[ACCEPTOR_SOCKETS_MAX];
	size_t count;
	unsigned connection_count;
	bool paused;
	int64_t quiet_until_us;  /* until then a failure of accept is not logged again */
	struct loop_timer retry; /* retries without descriptors, if no connection may close */
};

/*
 * Opens every address of `list`. If that fails, writes one line to stderr, which names `option`,
 * and returns false.
 */
bool acceptor_open(struct acceptor *a, const char *option, const char *list, mode_t mode);

/* Accepts no more clients. Open connections stay open. */
void acceptor_close(struct acceptor *a);

void acceptor_client_opened(struct acceptor *a);
void acceptor_client_closed(struct acceptor *a);

#endif
