/*
 * quorum: a Redis, three more servers for locks by majority (--lock-quorum), and two daemons that
 * use all of them.
 *
 *	server_kill(&quorum.servers[0]);
 *	quorum_wait_up(2);
 *	struct answer a = http(quorum.c[0], "POST", "/locks/a", NULL);
 *	assert_int_equal(int_at(a, "/safety/acknowledged"), 2);
 *	assert_int_equal(quorum_copies("a"), 2);
 *
 *	SUITE(.open = quorum_open, .close = quorum_close, .after = quorum_forget);
 */
#ifndef TEST_QUORUM_H
#define TEST_QUORUM_H

#include "daemon.h"
#include "http.h"
#include "redis_server.h"

enum { QUORUM_SERVERS = 3, QUORUM_TIMEOUT_MS = 400, QUORUM_REDIS_TIMEOUT_MS = 1500 };

struct quorum {
	struct redis_server main, servers[QUORUM_SERVERS];
	char urls[QUORUM_SERVERS * 64]; /* for --lock-quorum */
	struct daemon d[2];
	struct client *c[2]; /* one for each daemon */
};
extern struct quorum quorum;

/* For the group: set up and torn down once. */
int quorum_open(void **state);
int quorum_close(void **state);

/*
 * After each test: all servers run with the right clock and are empty, and both daemons reach them.
 */
int quorum_forget(void **state);

/* Waits until both daemons reach this many servers. */
void quorum_wait_up(int servers);

/* Starts a killed server again, empty, with these environment variables (NULL: none). */
void quorum_restart(int i, const char *const env[]);

/* How many of the servers that run have the lock. */
int quorum_copies(const char *name);

/* How many findings the overview has, without the servers that tests have emptied. */
int64_t quorum_findings(void);

/*
 * Several clients acquire the lock `race` with this body until it was granted `grants` times. Fails
 * the test unless one client at a time holds it, with rising fences. Returns how often a client was
 * refused.
 */
int quorum_race(const char *body, int grants);

/* Sends a DELETE with a token. */
struct answer quorum_release(struct client *c, const char *target, const char *token);

#endif
