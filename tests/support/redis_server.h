/*
 * redis_server: private redis-server processes for tests, and a plain connection to look into them.
 * The variable PATTERND_TEST_REDIS names another program, such as valkey-server.
 *
 * If the variable PATTERND_TEST_TOPOLOGY is "cluster", each server is a Redis Cluster of three
 * masters, so that tests of one server run on a Cluster unchanged. redis_as_one.h defines what
 * commands mean there. Stopping, killing or restarting the server affects all nodes.
 *
 *	struct redis_server r = { 0 };
 *	server_start(&r);                                  a free TCP port, nothing on disk
 *	server_start(&r, "--maxmemory", "10mb");           more of redis.conf
 *	r.url                                              redis://127.0.0.1:PORT/0, for --redis
 *	assert_int_equal(server_command(&r, "EXISTS %s", "p:lock:{a}")->integer, 1);
 *	server_stop(&r);
 */
#ifndef TEST_REDIS_SERVER_H
#define TEST_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

struct redis_server {
	struct proc proc;
	bool over_unix; /* set before server_start: listen on a unix socket only */
	bool alone;     /* set before server_start: one process, also where the tests run on a cluster */
	int port;       /* 0: a free one is taken; may be set before server_start */
	char dir[96];   /* its working folder; kept over server_restart */
	char socket_path[128];
	char url[160];                 /* for --redis */
	const char *options[32];       /* (ref) what server_start was given, for server_restart */
	redisContext *context;         /* owned: the test's own connection, made when first needed */
	redisReply *reply;             /* owned: of the last server_command */
	struct redis_cluster *cluster; /* owned: the Cluster in its place; its first node has `port`. NULL: none */
};

/*
 * False when it did not start on `r->port`, most likely because another program has the port.
 * Options end with NULL.
 */
bool server_try_start(struct redis_server *r, const char *const options[]);

/* True when this very process answers at its port, not another program that took the port first. */
bool server_answers(struct redis_server *r);

/*
 * Starts a server and returns when it answers. Each setting is two strings: "--appendonly", "yes".
 */
#define server_start(...) server_start_with(__VA_ARGS__, (const char *)NULL)
void server_start_with(struct redis_server *r, ...) __attribute__((sentinel));

/* Prints the log of the process, to explain a failure. */
void server_print_log(const struct redis_server *r);

/* Starts the server again after server_kill, with the same port, folder and options. */
void server_restart(struct redis_server *r);

/*
 * Sends SIGKILL, because Redis looks for a SIGTERM only ten times per second. With --appendonly
 * yes, the file has all writes that the server replied to.
 */
void server_kill(struct redis_server *r);

/* Ends the server for good. */
void server_stop(struct redis_server *r);

/* Sends another signal: SIGSTOP or SIGCONT. */
void server_signal(struct redis_server *r, int number);

/*
 * One command, formatted as by redisCommand. The reply lives until the next one; a lost connection
 * fails the test.
 */
redisReply *server_command(struct redis_server *r, const char *format, ...);

/* How many keys there are, without the indexes of names. */
long long server_keys(struct redis_server *r);

/* The time by its clock. */
int64_t server_now_us(struct redis_server *r);
int64_t server_now_ms(struct redis_server *r);

/*
 * All keys with their values and expiry: two equal texts mean that nothing changed. The caller
 * frees.
 */
char *server_picture(struct redis_server *r);

/*
 * Sends a command in its wire format. The caller frees the reply. NULL: the connection cannot be
 * made, or was lost.
 */
redisReply *server_send(struct redis_server *r, const char *bytes, size_t len);

/* Limits maxmemory so that 95 % of it are used; removes the limit, and what was stored for it. */
void server_nearly_fill(struct redis_server *r);
void server_make_room(struct redis_server *r);

/* How often a command ran since the server started, or since CONFIG RESETSTAT. */
long long server_calls(struct redis_server *r, const char *command);

/* How many scripts the server ran since it started, without unknown ones (NOSCRIPT). */
long long server_scripts_run(struct redis_server *r);

/*
 * How many commands of any kind ran, including commands in scripts. INFO, PING and the commands
 * that tests inspect with (PUBSUB, CLIENT, CONFIG, CLUSTER) do not count.
 */
long long server_commands_run(struct redis_server *r);

#endif
