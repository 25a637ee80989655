/*
 * redis_cluster: starts, harms and asks a Redis Cluster; see redis_cluster.h.
 *
 * A master that starts does not serve for two seconds, so that it may learn of a failover that it
 * missed; a replica serves at once. So each node begins as the replica of a ghost: a master with
 * slots but without an address, which exists only in nodes.conf. CLUSTER FAILOVER TAKEOVER gives
 * the node the ghost's slots. Then all nodes forget the ghosts.
 */
#include "redis_cluster.h"

#include "test.h"

enum { TRIES = 5, WELL_MS = 20000, HOPS_MAX = 32, PATIENT_TIMEOUT_MS = 15000 };
enum { NOBODY = 255 };

static const int first_slot[CLUSTER_MASTERS + 1] = { 0, 5461, 10923, CLUSTER_SLOTS };

#define GHOST_ID \
	"%039d"  \
	"f"

/* ---- the owners of the slots ---- */

static bool runs(const struct redis_cluster *c, int node)
{
	return c->nodes[node].server.proc.pid != 0;
}

/* The port that the node announces. */
static int announced_port(const struct cluster_node *node)
{
	return node->proxy ? proxy_port(node->proxy) : node->server.port;
}

int cluster_node_at(const struct redis_cluster *c, long long port)
{
	for (int i = 0; i < c->count; i++)
		if (announced_port(&c->nodes[i]) == port)
			return i;
	return -1;
}

/* The owner of each slot, as one node sees it. */
static void read_owners(struct redis_cluster *c, int node, unsigned char owner[CLUSTER_SLOTS])
{
	const redisReply *ranges = server_command(&c->nodes[node].server, "CLUSTER SLOTS");

	memset(owner, NOBODY, CLUSTER_SLOTS);
	for (size_t i = 0; i < ranges->elements; i++) {
		struct redisReply *const *range = ranges->element[i]->element;
		size_t from = (size_t)range[0]->integer, to = (size_t)range[1]->integer;
		int at = cluster_node_at(c, range[2]->element[1]->integer);
		memset(owner + from, at < 0 ? NOBODY : at, to - from + 1);
	}
}

int cluster_slot(const char *key, size_t len)
{
	const char *open = memchr(key, '{', len);
	const char *close = open ? memchr(open, '}', len - (size_t)(open - key)) : NULL;
	unsigned crc = 0;

	if (close && close > open + 1) {
		len = (size_t)(close - open) - 1;
		key = open + 1;
	}
	for (size_t i = 0; i < len; i++) { /* CRC-16/XMODEM */
		crc ^= (unsigned)(unsigned char)key[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
	}
	return (int)(crc % CLUSTER_SLOTS);
}

int cluster_owner(struct redis_cluster *c, int slot)
{
	unsigned char owner[CLUSTER_SLOTS];
	int found = -1;

	for (int i = 0; i < c->count; i++) {
		if (!runs(c, i))
			continue;
		read_owners(c, i, owner);
		if (owner[slot] != i)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

int cluster_owner_of(struct redis_cluster *c, const char *key)
{
	return cluster_owner(c, cluster_slot(key, strlen(key)));
}

static bool replicates(struct redis_cluster *c, int replica, int node)
{
	const char *all = server_command(&c->nodes[replica].server, "CLUSTER NODES")->str;
	const char *self = strstr(all, "myself,slave ");

	return self && strncmp(self + strlen("myself,slave "), c->nodes[node].id, CLUSTER_ID_LEN) == 0;
}

int cluster_replica_of(struct redis_cluster *c, int node)
{
	for (int i = 0; i < c->count; i++)
		if (i != node && runs(c, i) && replicates(c, i, node))
			return i;
	return -1;
}

/* ---- is all well ---- */

static void set_node_timeout(struct redis_cluster *c, int ms)
{
	for (int i = 0; i < c->count; i++)
		if (runs(c, i))
			server_command(&c->nodes[i].server, "CONFIG SET cluster-node-timeout %d", ms);
}

/* Finds a node's own line in CLUSTER NODES. The lines of its replicas contain its id, too. */
static const char *line_of(const char *all, const char *id)
{
	const char *at = strstr(all, id);

	while (at && at != all && at[-1] != '\n')
		at = strstr(at + 1, id);
	return at;
}

/* A number from CLUSTER INFO. */
static long long info_of(struct redis_cluster *c, int node, const char *name)
{
	const char *at = strstr(server_command(&c->nodes[node].server, "CLUSTER INFO")->str, name);

	return at ? atoll(at + strlen(name) + 1) : -1;
}

static bool is_master(struct redis_cluster *c, int node)
{
	return strstr(server_command(&c->nodes[node].server, "INFO replication")->str, "role:master") != NULL;
}

/*
 * True when this node considers all running nodes alive and knows the epochs of the masters. A
 * replica that does not know the epoch of its master gets no votes.
 */
static bool trusts_all(struct redis_cluster *c, int node, const long long epochs[])
{
	const char *all = server_command(&c->nodes[node].server, "CLUSTER NODES")->str;
	char flags[128];
	long long epoch;

	for (int i = 0; i < c->count; i++) {
		const char *line = line_of(all, c->nodes[i].id);
		if (!runs(c, i))
			continue;
		if (!line || sscanf(line, "%*s %*s %127s %*s %*s %*s %lld", flags, &epoch) != 2 ||
		    strstr(flags, "fail") || strstr(flags, "handshake"))
			return false;
		if (epochs[i] >= 0 && epoch != epochs[i])
			return false;
	}
	return true;
}

static bool is_in_order(struct redis_cluster *c, int node, const long long epochs[])
{
	struct redis_server *server = &c->nodes[node].server;
	const char *info = server_command(server, "CLUSTER INFO")->str;

	if (!strstr(info, "cluster_state:ok") || !strstr(info, "cluster_slots_ok:16384"))
		return false;
	if (!trusts_all(c, node, epochs))
		return false;
	info = server_command(server, "INFO replication")->str;
	return strstr(info, "role:master") || strstr(info, "master_link_status:up");
}

bool cluster_is_well(struct redis_cluster *c)
{
	unsigned char seen[CLUSTER_SLOTS];
	long long epochs[CLUSTER_NODES_MAX];
	bool first = true;

	for (int i = 0; i < c->count; i++)
		epochs[i] = runs(c, i) && is_master(c, i) ? info_of(c, i, "cluster_my_epoch") : -1;
	for (int i = 0; i < c->count; i++) {
		if (!runs(c, i))
			continue;
		if (!is_in_order(c, i, epochs))
			return false;
		read_owners(c, i, first ? c->owner : seen);
		if (!first && memcmp(seen, c->owner, CLUSTER_SLOTS) != 0)
			return false;
		first = false;
	}
	return !first;
}

/*
 * Waits until a replica of each master acknowledges a write to a slot of the master. The state
 * `online` does not show as much: the master sends nothing before the replica has announced that it
 * is online.
 */
static void wait_for_replicas(struct redis_cluster *c)
{
	for (int i = 0; i < c->count; i++) {
		struct redis_server *master = runs(c, i) ? &c->nodes[i].server : NULL;
		int replica = master ? cluster_replica_of(c, i) : -1, number = 0;
		char key[16] = "";
		if (replica < 0 || !memchr(c->owner, i, CLUSTER_SLOTS))
			continue;
		do
			snprintf(key, sizeof(key), "sync-%d", number++);
		while (c->owner[cluster_slot(key, strlen(key))] != i);
		server_command(master, "SET %s x", key);
		server_command(master, "DEL %s", key);
		assert_int_equal(server_command(master, "WAIT 1 %d", WELL_MS)->integer, 1);
	}
}

void cluster_wait_well(struct redis_cluster *c)
{
	wait_until(cluster_is_well(c), WELL_MS);
	wait_for_replicas(c);
	set_node_timeout(c, PATIENT_TIMEOUT_MS);
}

/* ---- start ---- */

static void write_config(const struct redis_cluster *c, int self)
{
	FILE *f = fopen(c->nodes[self].config_path, "we");

	assert_non_null(f);
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		fprintf(f, GHOST_ID " :0@0 noaddr,master - 0 0 %d disconnected %d-%d\n", i, i + 1, first_slot[i],
			first_slot[i + 1] - 1);
	for (int i = 0; i < c->count; i++) {
		const struct cluster_node *node = &c->nodes[i];
		const char *myself = i == self ? "myself," : "";
		fprintf(f, "%s 127.0.0.1:%d@%d %s", node->id, announced_port(node), node->bus_port, myself);
		if (i < CLUSTER_MASTERS)
			fprintf(f, "slave " GHOST_ID " 0 0 %d connected\n", i, i + 1);
		else
			fprintf(f, "master - 0 0 %d connected\n", i + 1);
	}
	fprintf(f, "vars currentEpoch %d lastVoteEpoch 0\n",
		CLUSTER_NODES_MAX); /* epochs that differ need not be settled */
	fclose(f);
}

static bool start_node(struct redis_cluster *c, int i, const char *const more[])
{
	struct cluster_node *node = &c->nodes[i];
	const char *options[CLUSTER_OPTIONS_MAX + 20] = {
		"--cluster-enabled",
		"yes",
		"--cluster-port",
		node->settings[0],
		"--cluster-node-timeout",
		node->settings[1],
		"--cluster-config-file",
		node->config_path,
		"--cluster-allow-replica-migration",
		"no",
		"--repl-diskless-sync-delay",
		"0",
		"--cluster-announce-port",
		node->settings[2],
		"--cluster-announce-bus-port",
		node->settings[0],
	};
	size_t n = 16;

	for (size_t k = 0; more[k] && k < CLUSTER_OPTIONS_MAX; k++)
		options[n++] = more[k];
	snprintf(node->settings[0], sizeof(node->settings[0]), "%d", node->bus_port);
	snprintf(node->settings[1], sizeof(node->settings[1]), "%d", PATIENT_TIMEOUT_MS);
	snprintf(node->settings[2], sizeof(node->settings[2]), "%d", announced_port(node));
	node->server.alone = true;
	write_config(c, i);
	return server_try_start(&node->server, options);
}

static void choose_addresses(struct redis_cluster *c)
{
	const char *dir = temp_dir();
	int len = snprintf(c->url, sizeof(c->url), "redis+cluster://");

	for (int i = 0; i < c->count; i++) {
		struct cluster_node *node = &c->nodes[i];
		node->server.port = free_port();
		node->bus_port = free_port();
		if (c->behind_proxies)
			node->proxy = proxy_open(node->server.port);
		snprintf(node->id, sizeof(node->id), "%039da", i);
		snprintf(node->config_path, sizeof(node->config_path), "%s/nodes-%d.conf", dir, i);
		if (i < CLUSTER_MASTERS)
			len += snprintf(c->url + len, sizeof(c->url) - (size_t)len, "%s127.0.0.1:%d", i ? "," : "",
					announced_port(node));
	}
}

/* False when another program took one of the ports first. */
static bool start_nodes(struct redis_cluster *c, const char *const options[])
{
	choose_addresses(c);
	for (int i = 0; i < c->count; i++) {
		if (start_node(c, i, options))
			continue;
		server_print_log(&c->nodes[i].server);
		cluster_stop(c);
		return false;
	}
	return true;
}

static bool must_be_ok(const redisReply *reply, const char *what)
{
	if (reply->type != REDIS_REPLY_STATUS)
		fail_msg("%s: %s", what, reply->str ? reply->str : "no status");
	return true;
}

/* True when the node knows the first owners of the slots. */
static bool knows_owners(struct redis_cluster *c, int node)
{
	bool knows = true;

	read_owners(c, node, c->owner);
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		knows = knows && c->owner[first_slot[i]] == i && c->owner[first_slot[i + 1] - 1] == i;
	return knows;
}

/*
 * Moves the slots from the ghosts to the real nodes, one node after the other: two nodes that take
 * the same epoch would need seconds to settle the conflict. Forgetting the ghosts is safe only when
 * all nodes know the owners of their slots. Valkey does not report the state `ok` while there are
 * ghosts.
 */
static void take_over(struct redis_cluster *c)
{
	const char *other = getenv("PATTERND_TEST_REDIS");

	for (int i = 0; i < CLUSTER_MASTERS; i++) {
		struct redis_server *node = &c->nodes[i].server;
		long long taken = i ? info_of(c, i - 1, "cluster_my_epoch") : 0;
		if (!other || !*other)
			wait_until(strstr(server_command(node, "CLUSTER INFO")->str, "cluster_state:ok"), WELL_MS);
		wait_until(info_of(c, i, "cluster_current_epoch") >= taken, WELL_MS);
		must_be_ok(server_command(node, "CLUSTER FAILOVER TAKEOVER"), "CLUSTER FAILOVER TAKEOVER");
	}
	for (int i = 0; i < c->count; i++)
		wait_until(knows_owners(c, i), WELL_MS);
	for (int i = 0; i < c->count; i++)
		for (int ghost = 0; ghost < CLUSTER_MASTERS; ghost++)
			must_be_ok(server_command(&c->nodes[i].server, "CLUSTER FORGET " GHOST_ID, ghost),
				   "CLUSTER FORGET");
	for (int i = CLUSTER_MASTERS; i < c->count; i++)
		must_be_ok(server_command(&c->nodes[i].server, "CLUSTER REPLICATE %s",
					  c->nodes[i - CLUSTER_MASTERS].id),
			   "CLUSTER REPLICATE");
}

void cluster_start_list(struct redis_cluster *c, const char *const options[])
{
	bool started = false;

	c->count = c->with_replicas ? CLUSTER_NODES_MAX : CLUSTER_MASTERS;
	for (int i = 0; i < TRIES && !started; i++)
		started = start_nodes(c, options);
	if (!started)
		fail_msg("no Redis Cluster");
	take_over(c);
	cluster_wait_well(c);
}

void cluster_start_with(struct redis_cluster *c, ...)
{
	const char *options[CLUSTER_OPTIONS_MAX + 1];
	size_t n = 0;
	va_list args;

	va_start(args, c);
	for (const char *option; n < CLUSTER_OPTIONS_MAX && (option = va_arg(args, const char *)); n++)
		options[n] = option;
	va_end(args);
	options[n] = NULL;
	cluster_start_list(c, options);
}

void cluster_stop(struct redis_cluster *c)
{
	if (c->reply)
		freeReplyObject(c->reply);
	c->reply = NULL;
	for (int i = 0; i < c->count; i++) {
		server_kill(&c->nodes[i].server); /* after SIGTERM masters would wait for their replicas */
		proxy_close(c->nodes[i].proxy);
		c->nodes[i].proxy = NULL;
	}
}

void cluster_be_quick(struct redis_cluster *c)
{
	set_node_timeout(c, CLUSTER_QUICK_MS);
}

void cluster_be_patient(struct redis_cluster *c)
{
	set_node_timeout(c, PATIENT_TIMEOUT_MS);
}

void cluster_kill(struct redis_cluster *c, int node)
{
	server_kill(&c->nodes[node].server);
	cluster_be_quick(c);
}

void cluster_restart(struct redis_cluster *c, int node)
{
	server_restart(&c->nodes[node].server);
}
