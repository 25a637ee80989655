#include "replicated.h"

#include <signal.h>

#include "test.h"
#include "waiter.h"

enum { SYNC_MS = 15000 };

struct redis_server replicas[REPLICAS];
struct proxy *replica_link[REPLICAS];
struct proxy *replica_access[REPLICAS];

void replicated_wait_usable(int count)
{
	wait_until(metric_of(&patternd, "replicas_usable") == count, SYNC_MS);
}

/* Writes over this connection, because WAIT considers only the writes of its own connection. */
static bool are_synced(void)
{
	server_command(&redis, "SET sync 1");
	server_command(&redis, "DEL sync");
	return server_command(&redis, "WAIT %d 50", REPLICAS)->integer == REPLICAS;
}

/* A replica that was just copied to receives writes a second late. */
void replicated_wait_synced(void)
{
	wait_until(are_synced(), SYNC_MS);
}

bool came_from_replica(struct answer a)
{
	const char *source = header_of(a, "Patternd-Source");

	return source && strcmp(source, "replica") == 0;
}

static void start_replica(int i)
{
	static char link[REPLICAS][32];

	replica_link[i] = proxy_open(redis.port);
	snprintf(link[i], sizeof(link[i]), "127.0.0.1 %d", proxy_port(replica_link[i]));
	server_start(&replicas[i], "--replicaof", link[i]);
	replica_access[i] = proxy_open(replicas[i].port);
}

int replicated_open(void **state)
{
	char urls[160], lag[16];

	server_start(&redis, "--repl-diskless-sync-delay", "0");
	for (int i = 0; i < REPLICAS; i++)
		start_replica(i);
	snprintf(urls, sizeof(urls), "%s,%s", proxy_url(replica_access[0]), proxy_url(replica_access[1]));
	snprintf(lag, sizeof(lag), "%d", REPLICATED_LAG_MS);
	daemon_start(&patternd, "--redis", redis.url, "--read-from", "replica", "--redis-replicas", urls,
		     "--max-replica-lag-ms", lag);
	client = client_open(patternd.port);
	replicated_wait_synced();
	replicated_wait_usable(REPLICAS);
	return 0;
}

int replicated_close(void **state)
{
	stage_close(state);
	for (int i = 0; i < REPLICAS; i++) {
		proxy_close(replica_access[i]);
		server_stop(&replicas[i]);
		proxy_close(replica_link[i]);
	}
	return 0;
}

int replicated_forget(void **state)
{
	stage_forget(state);
	for (int i = 0; i < REPLICAS; i++) {
		proc_signal(&replicas[i].proc, SIGCONT);
		proxy_set(replica_access[i], (struct proxy_fault){ 0 });
		proxy_set(replica_link[i], (struct proxy_fault){ 0 });
		server_command(&replicas[i], "REPLICAOF 127.0.0.1 %d", proxy_port(replica_link[i]));
		server_command(&replicas[i], "ACL SETUSER default +@all");
	}
	replicated_wait_synced();
	replicated_wait_usable(REPLICAS);
	return 0;
}
