/*
 * redis_sentinel: a master, two replicas and the three sentinels that watch them, real processes,
 * for tests.
 *
 *	struct redis_sentinel s = { 0 };
 *	sentinel_start(&s);
 *	daemon_start(&d, "--redis", s.url);
 *	int old = sentinel_kill_master(&s);
 *	int master = sentinel_wait_master(&s, old);        another one takes writes
 *	sentinel_restart(&s, old);                         comes back, and is made a replica
 *	sentinel_stop(&s);
 */
#ifndef TEST_REDIS_SENTINEL_H
#define TEST_REDIS_SENTINEL_H

#include "redis_server.h"

enum { SENTINEL_SERVERS = 3, SENTINEL_WATCHERS = 3, SENTINEL_QUICK_MS = 400 };

struct redis_sentinel {
	struct redis_server servers[SENTINEL_SERVERS];   /* at first number 0 is the master */
	struct redis_server watchers[SENTINEL_WATCHERS]; /* port, process and connection of each sentinel */
	char settings[SENTINEL_SERVERS][16];             /* texts of the servers' options */
	char url[160];                                   /* for --redis: all sentinels, and the name "mymaster" */
};

/*
 * Returns when the replicas are in sync and each sentinel knows all others and could lead a
 * failover, after 0.2 s. Takes options of redis.conf for the servers, like server_start.
 */
#define sentinel_start(...) sentinel_start_with(__VA_ARGS__, (const char *)NULL)
void sentinel_start_with(struct redis_sentinel *s, ...) __attribute__((sentinel));
void sentinel_stop(struct redis_sentinel *s);

/*
 * The server that reports itself as master, takes writes, and is named by the sentinels; -1 when
 * there is none now.
 */
int sentinel_master(struct redis_sentinel *s);

/* Whether a sentinel names this server as the master. */
bool sentinel_names(struct redis_sentinel *s, int watcher, int server);

/*
 * A server other than `old` that reports itself as master, whatever the sentinels report; -1: none.
 * `old` is not asked.
 */
int sentinel_promoted(struct redis_sentinel *s, int old);

/*
 * Sets the time after which a silent server counts as down: SENTINEL_QUICK_MS, or 10 s as at the
 * start, because servers may be slow on a machine under load. sentinel_kill_master sets the quick
 * time, sentinel_wait_master the patient one.
 */
void sentinel_be_quick(struct redis_sentinel *s);
void sentinel_be_patient(struct redis_sentinel *s);

/* Sends SIGKILL to the master. Returns its number. */
int sentinel_kill_master(struct redis_sentinel *s);

/*
 * Waits until a server other than `old` is the master (1.1 to 1.7 s after the kill). Returns its
 * number.
 */
int sentinel_wait_master(struct redis_sentinel *s, int old);

/* Starts a killed server again. It may consider itself the master until a sentinel sees it. */
void sentinel_restart(struct redis_sentinel *s, int server);

/*
 * True when all servers run, one is the master, the others are its replicas and in sync, and the
 * sentinels know it.
 */
bool sentinel_is_well(struct redis_sentinel *s);
void sentinel_wait_well(struct redis_sentinel *s);

/* Kills a sentinel, and starts it again. */
void sentinel_watcher_kill(struct redis_sentinel *s, int watcher);
void sentinel_watcher_restart(struct redis_sentinel *s, int watcher);

#endif
