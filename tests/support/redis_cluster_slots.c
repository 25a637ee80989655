/*
 * redis_cluster_slots: sends commands to the node that has a slot, and moves slots and masters; see
 * redis_cluster_slots.h.
 */
#include "redis_cluster_slots.h"
#include "test.h"

enum { SEND_MS = 30000, MIGRATE_MS = 5000, KEYS_AT_ONCE = 100, FAILOVER_MS = 20000, JOIN_MS = 20000 };

/* ---- commands ---- */

/* The node that "MOVED 5 127.0.0.1:7000" or "ASK ..." names; -1 for another error. */
static int redirected_to(const struct redis_cluster *c, const redisReply *reply, const char *kind)
{
	const char *colon;

	if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, kind, strlen(kind)) != 0)
		return -1;
	colon = strrchr(reply->str, ':');
	return colon ? cluster_node_at(c, atoi(colon + 1)) : -1;
}

/* Sends a command to the node that last had the slot. NULL: try again. */
static redisReply *try_send(struct redis_cluster *c, int slot, const char *bytes, size_t len)
{
	redisReply *reply = server_send(&c->nodes[c->owner[slot]].server, bytes, len);
	int to;

	if (!reply) {
		int owner = cluster_owner(c, slot);
		if (owner >= 0)
			c->owner[slot] = (unsigned char)owner;
		return NULL;
	}
	if ((to = redirected_to(c, reply, "MOVED ")) >= 0) {
		c->owner[slot] = (unsigned char)to;
	} else if ((to = redirected_to(c, reply, "ASK ")) >= 0) {
		server_command(&c->nodes[to].server, "ASKING");
		freeReplyObject(reply);
		return server_send(&c->nodes[to].server, bytes, len);
	} else if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "TRYAGAIN", 8) != 0) {
		return reply;
	}
	freeReplyObject(reply);
	return NULL;
}

redisReply *cluster_send(struct redis_cluster *c, int slot, const char *bytes, size_t len)
{
	int64_t until_ms = monotonic_ms() + SEND_MS;

	for (int looks = 0;; looks++) {
		redisReply *reply = try_send(c, slot, bytes, len);
		if (reply)
			return reply;
		wait_step(until_ms, looks, "an answer of the node that has the slot", __FILE__, __LINE__);
	}
}

redisReply *cluster_command(struct redis_cluster *c, const char *key, const char *format, ...)
{
	char *bytes = NULL;
	va_list args;

	va_start(args, format);
	int len = redisvFormatCommand(&bytes, format, args);
	va_end(args);
	if (len < 0)
		fail_msg("%s: no command", format);
	if (c->reply)
		freeReplyObject(c->reply);
	c->reply = cluster_send(c, cluster_slot(key, strlen(key)), bytes, (size_t)len);
	redisFreeCommand(bytes);
	return c->reply;
}

/* ---- slots that move ---- */

#define must(node, ...) must_be_ok(server_command(&(node)->server, __VA_ARGS__), __FILE__, __LINE__)

static void must_be_ok(const redisReply *reply, const char *file, int line)
{
	if (reply->type != REDIS_REPLY_ERROR)
		return;
	print_error("%s\n", reply->str);
	_fail(file, line);
}

void cluster_mark_moving(struct redis_cluster *c, int slot, int from, int to)
{
	must(&c->nodes[to], "CLUSTER SETSLOT %d IMPORTING %s", slot, c->nodes[from].id);
	must(&c->nodes[from], "CLUSTER SETSLOT %d MIGRATING %s", slot, c->nodes[to].id);
}

/*
 * Informs the new owner first, or no node would own the slot for a moment; then the old owner and
 * the other masters.
 */
static void hand_over(struct redis_cluster *c, int slot, int from, int to)
{
	must(&c->nodes[to], "CLUSTER SETSLOT %d NODE %s", slot, c->nodes[to].id);
	must(&c->nodes[from], "CLUSTER SETSLOT %d NODE %s", slot, c->nodes[to].id);
	for (int i = 0; i < c->count; i++)
		if (i != to && i != from && c->nodes[i].server.proc.pid &&
		    strstr(server_command(&c->nodes[i].server, "INFO replication")->str, "role:master"))
			must(&c->nodes[i], "CLUSTER SETSLOT %d NODE %s", slot, c->nodes[to].id);
	c->owner[slot] = (unsigned char)to;
}

/* Moves some keys. Returns how many. */
static size_t move_keys(struct redis_cluster *c, int slot, int from, int to, void (*between)(void *arg, int moved),
			void *arg, int *moved)
{
	struct redis_server *source = &c->nodes[from].server;
	redisReply *keys = server_command(source, "CLUSTER GETKEYSINSLOT %d %d", slot, KEYS_AT_ONCE);
	size_t found = keys->elements;

	source->reply = NULL; /* kept while other commands are sent */
	for (size_t i = 0; i < found; i++) {
		/* MIGRATE replies NOKEY, which is not an error, for a key that is gone by now. */
		must(&c->nodes[from], "MIGRATE 127.0.0.1 %d %b 0 %d", c->nodes[to].server.port, keys->element[i]->str,
		     keys->element[i]->len, MIGRATE_MS);
		if (between)
			between(arg, ++*moved);
	}
	freeReplyObject(keys);
	return found;
}

void cluster_migrate(struct redis_cluster *c, int slot, int to, void (*between)(void *arg, int moved), void *arg)
{
	int from = cluster_owner(c, slot), moved = 0;

	assert_in_range(from, 0, c->count - 1);
	assert_int_not_equal(from, to);
	cluster_mark_moving(c, slot, from, to);
	if (between)
		between(arg, 0);
	while (move_keys(c, slot, from, to, between, arg, &moved) > 0)
		continue;
	hand_over(c, slot, from, to);
}

/* ---- nodes that come and go ---- */

static void forget(struct redis_cluster *c, int node)
{
	for (int i = 0; i < c->count; i++)
		if (i != node && c->nodes[i].server.proc.pid)
			must(&c->nodes[i], "CLUSTER FORGET %s", c->nodes[node].id);
}

static bool is_known_to_all(struct redis_cluster *c, int node)
{
	for (int i = 0; i < c->count; i++)
		if (c->nodes[i].server.proc.pid &&
		    !strstr(server_command(&c->nodes[i].server, "CLUSTER NODES")->str, c->nodes[node].id))
			return false;
	return true;
}

/* The node joins with another id, because nodes refuse an id for a minute after they forgot it. */
void cluster_add_master(struct redis_cluster *c, int replica)
{
	struct cluster_node *node = &c->nodes[replica];

	forget(c, replica);
	must(node, "CLUSTER RESET HARD");
	snprintf(node->id, sizeof(node->id), "%s", server_command(&node->server, "CLUSTER MYID")->str);
	for (int i = 0; i < c->count; i++)
		if (i != replica && c->nodes[i].server.proc.pid)
			must(&c->nodes[i], "CLUSTER MEET 127.0.0.1 %d %d", node->server.port, node->bus_port);
	cluster_be_quick(c); /* a new master does not serve before this timeout has passed */
	wait_until(is_known_to_all(c, replica), JOIN_MS);
	wait_until(strstr(server_command(&node->server, "CLUSTER INFO")->str, "cluster_state:ok"), JOIN_MS);
	cluster_be_patient(c);
}

void cluster_remove_master(struct redis_cluster *c, int node)
{
	server_kill(&c->nodes[node].server);
	forget(c, node);
	cluster_wait_well(c);
}

/* ---- masters that change ---- */

static bool is_master(void *arg)
{
	return strstr(server_command(arg, "INFO replication")->str, "role:master") != NULL;
}

/*
 * The other masters vote for a shard only once per two node timeouts, so a failover may need
 * several requests.
 */
void cluster_failover(struct redis_cluster *c, int replica)
{
	struct redis_server *server = &c->nodes[replica].server;
	int64_t until_ms = monotonic_ms() + FAILOVER_MS;

	cluster_be_quick(c);
	do {
		if (monotonic_ms() > until_ms)
			fail_msg("node %d cannot take over", replica);
		server_command(server, "CLUSTER FAILOVER"); /* an error, if it has just become the master */
	} while (!wait_for(is_master, server, CLUSTER_QUICK_MS));
	cluster_wait_well(c);
}
