/*
 * redis_servers: starts a Redis for a test in Python, and ends it when its standard input ends:
 *
 *	redis_servers single|cluster|replica
 *
 * Prints the URL of the Redis, and after it the URL of its replica, if it has one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_server.h"

int main(int argc, char **argv)
{
	static struct redis_server redis, replica;
	char master[32];

	if (argc != 2)
		return 2;
	setenv("PATTERND_TEST_TOPOLOGY", strcmp(argv[1], "cluster") == 0 ? "cluster" : "single", 1);
	server_start(&redis, "--repl-diskless-sync-delay", "0");
	if (strcmp(argv[1], "replica") == 0) {
		snprintf(master, sizeof(master), "127.0.0.1 %d", redis.port);
		server_start(&replica, "--replicaof", master);
	}
	printf("%s %s\n", redis.url, replica.url);
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	server_stop(&replica);
	server_stop(&redis);
	return 0;
}
