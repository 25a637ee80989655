/* topology: see topology.h. It owns the parsed --redis, and chooses the node for each call. */
#include "topology/topology.h"

#include <stdio.h>

#include "core/loop.h"
#include "net/resolve.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/handshake.h"
#include "redis/renewal.h"
#include "topology/cluster.h"
#include "topology/deferred.h"
#include "topology/node.h"
#include "topology/quorum.h"
#include "topology/refusal.h"
#include "topology/replicas.h"
#include "topology/sentinel.h"
#include "topology/slot.h"

enum { MOST_REDIRECTS = 5 };

static struct redis_urls urls;
static struct redis_node *master; /* NULL in a Cluster, and while the Sentinels know no master */
static const struct subscriber_callbacks *subscriber_callbacks;
static bool was_reached, was_advised, closing;
static char trouble[NODE_TROUBLE_BYTES] = "not connected yet";
static enum redis_error trouble_error;

/* ---- The node of a call ---- */

bool topology_is_cluster(void)
{
	return urls.kind == REDIS_CLUSTER;
}

int topology_slot(struct text key)
{
	return topology_is_cluster() ? slot_of(key) : REDIS_ANYWHERE;
}

int topology_next_node(int slot)
{
	return topology_is_cluster() ? cluster_next_node(slot) : REDIS_ANYWHERE;
}

/* Returns the node of --redis that has the slot; NULL: none is known. */
static struct redis_node *node_at(int slot)
{
	return topology_is_cluster() ? cluster_node(slot) : master;
}

static struct redis_node *node_of(const struct redis_call *call)
{
	if (call->quorum_server)
		return quorum_node(call->quorum_server);
	return call->ask ? call->ask : node_at(call->slot);
}

bool topology_serves(struct text key)
{
	const struct redis_node *n = node_at(topology_slot(key));

	return n && n->ready > 0;
}

bool topology_is_away(struct text key)
{
	return node_is_away(node_at(topology_slot(key)));
}

struct redis_node *topology_node(int slot)
{
	return closing ? NULL : node_at(slot);
}

/* Sends a call that may be stale to a replica. False: it must go to the primary. */
static bool send_to_replica(struct redis_call *call, const struct text *args, size_t count)
{
	struct redis_node *primary = call->may_be_stale && !closing ? node_at(call->slot) : NULL;
	struct redis_node *n = primary ? replicas_choose(primary, call->turn) : NULL;

	call->at_replica = n && node_send(n, call, args, count) == SEND_OK;
	if (call->may_be_stale && !call->at_replica)
		metrics_count(METRIC_replica_fallbacks);
	call->may_be_stale &= call->at_replica;
	return call->at_replica;
}

bool topology_leave_replica(struct redis_call *call)
{
	if (!call->at_replica)
		return false;
	call->at_replica = call->may_be_stale = false;
	metrics_count(METRIC_replica_fallbacks);
	return true;
}

enum redis_send_error topology_send(struct redis_call *call, const struct text *args, size_t count)
{
	struct redis_node *n = closing ? NULL : node_of(call);

	if (call->deadline_us == 0)
		call->deadline_us = loop_now_us() + config()->redis_timeout_ms * 1000;
	if (send_to_replica(call, args, count))
		return SEND_OK;
	call->node = n;
	enum redis_send_error error = n ? node_send(n, call, args, count) : SEND_DOWN;
	if (error == SEND_OK)
		call->ask = NULL;
	/* Before the first connection, a retry may take any time. */
	return error == SEND_LATER && !was_reached && !call->quorum_server ? SEND_DOWN : error;
}

/* ---- Retries ---- */

static enum redis_next follow_in_cluster(struct redis_call *call, struct text error)
{
	if (reply_error_begins(error, "TRYAGAIN") || reply_error_begins(error, "ASK"))
		replicas_hold(call->node);
	if (reply_error_begins(error, "TRYAGAIN"))
		return NEXT_DEFER;
	if (reply_error_begins(error, "CLUSTERDOWN"))
		cluster_refresh();
	bool moved = reply_error_begins(error, "MOVED");
	if ((!moved && !reply_error_begins(error, "ASK")) || call->redirects++ == MOST_REDIRECTS)
		return NEXT_NOTHING;
	struct redis_node *n = moved ? cluster_moved(error, call->node) : cluster_asked(error, call->node);
	if (!n)
		return NEXT_NOTHING;
	metrics_count(METRIC_redis_redirects);
	call->ask = moved ? NULL : n;
	return NEXT_SEND;
}

enum redis_next topology_follow(struct redis_call *call, struct text error)
{
	if (call->quorum_server)
		return NEXT_NOTHING;
	if (topology_is_cluster())
		return follow_in_cluster(call, error);
	if (urls.kind != REDIS_SENTINEL || !reply_error_begins(error, "READONLY"))
		return NEXT_NOTHING;
	topology_reject(call->node, error.at);
	return NEXT_DEFER;
}

bool topology_defer(struct redis_call *call)
{
	return deferred_add(call);
}

void topology_await_replicas(struct redis_call *call)
{
	replica_ack_await(call->node->replica_ack, call);
}

void topology_flush(void)
{
	for (struct redis_node *n = node_first(); n; n = n->next)
		node_flush(n);
	quorum_flush();
	if (urls.kind == REDIS_SENTINEL)
		sentinel_flush();
	replicas_flush();
	if (deferred_count() == 0)
		replicas_sweep();
	if (topology_is_cluster() && deferred_count() == 0)
		cluster_sweep();
}

void topology_reject(struct redis_node *node, const char *why)
{
	if (node)
		node_reject(node, why);
	if (urls.kind == REDIS_SENTINEL && (!node || (node->url.kind != REDIS_QUORUM && !node->url.replica)))
		sentinel_refresh();
}

/* ---- Changes of topology ---- */

static void on_up(struct redis_node *n)
{
	(void)n;
	if (topology_is_cluster())
		cluster_node_changed();
	else
		was_reached = true;
}

static void on_down(struct redis_node *n, const char *why, bool was_up)
{
	(void)was_up;
	if (!was_advised && *topology_advice())
		log_event(LOG_WARN, "redis_missing", "%s%s", n->trouble, topology_advice());
	was_advised = true;
	snprintf(trouble, sizeof(trouble), "%s", n->trouble);
	trouble_error = n->error;
	if (topology_is_cluster())
		cluster_node_changed();
	else if (urls.kind == REDIS_SENTINEL && strcmp(why, CONNECTION_DRAINED) != 0)
		sentinel_refresh();
}

static const struct redis_node_callbacks node_callbacks = { .up = on_up, .down = on_down };

static void on_master(struct text host, long port)
{
	struct redis_url url;

	if (!host.at || !redis_url_at(&url, &urls.at[0], host, port))
		return;
	url.kind = REDIS_WATCHED;
	if (!master) {
		master = node_new(&url, &node_callbacks);
	} else if (strcmp(master->url.address, url.address) != 0) {
		log_event(LOG_WARN, "redis_master_moved", "the master moved from %s to %s", master->url.address,
			  url.address);
		metrics_count(METRIC_redis_failovers);
		master->url = url;
		node_retarget(master);
	}
}

static void on_sentinel_replicas(const struct reply *list)
{
	struct redis_url url;
	struct text host;
	long port;

	replicas_begin();
	for (size_t i = 0; master && i < list->count; i++)
		if (sentinel_replica(reply_item(list, i), &host, &port) && redis_url_at(&url, &master->url, host, port))
			replicas_add(&url, master);
	replicas_end();
}

static void on_map(void)
{
	was_reached = true;
	if (subscriber_callbacks)
		subscriber_callbacks->up(NULL);
}

/* ---- Pub/sub ---- */

bool topology_subscribe(const struct subscriber_callbacks *callbacks)
{
	subscriber_callbacks = callbacks;
	return nodes_subscribe(callbacks);
}

void topology_refresh(void)
{
	if (topology_is_cluster())
		cluster_refresh();
}

/* ---- State ---- */

bool topology_is_up(void)
{
	const struct redis_node *owner;

	return topology_is_cluster() ? cluster_slots_unserved(&owner) == 0 : master && master->ready > 0;
}

unsigned topology_connections(void)
{
	return nodes_ready();
}

unsigned topology_in_flight(void)
{
	return connections_in_flight() + deferred_count();
}

bool topology_was_reached(void)
{
	return was_reached;
}

const char *topology_advice(void)
{
	if (redis_socket_any_accepted() || urls.kind != REDIS_SERVER)
		return "";
	return "; start a Redis there (apt install redis-server), name another (--redis URL), "
	       "or run a private one (--embedded)";
}

struct trouble {
	const char *text;
	enum redis_error error;
};

static struct trouble trouble_of(const struct redis_call *call)
{
	const struct redis_node *n = call ? call->node : NULL;

	if (!call && topology_is_cluster())
		cluster_slots_unserved(&n);
	if (n && call && call->replicas && n->replica_ack && *replica_ack_trouble(n->replica_ack))
		return (struct trouble){ replica_ack_trouble(n->replica_ack), replica_ack_error(n->replica_ack) };
	if (n && n->trouble[0])
		return (struct trouble){ n->trouble, n->error };
	if (!n && topology_is_cluster() && cluster_is_known())
		return (struct trouble){ call ? "no node of the Cluster serves this key's slot"
					      : "no node of the Cluster serves some of the slots",
					 ERROR_OTHER };
	if (urls.kind == REDIS_SENTINEL && !master)
		return (struct trouble){ sentinel_trouble(), sentinel_error() };
	return (struct trouble){ trouble, trouble_error };
}

const char *topology_trouble(const struct redis_call *call)
{
	return trouble_of(call).text;
}

const char *topology_error(void)
{
	const char *refusal = refusal_first(), *missing = renewal_missing_permissions();

	if (!topology_is_up())
		return topology_trouble(NULL);
	return refusal ? refusal : *missing ? missing : NULL;
}

enum redis_error topology_trouble_error(const struct redis_call *call)
{
	return trouble_of(call).error;
}

const char *topology_address(void)
{
	return master ? master->url.address : urls.at[0].address;
}

const char *topology_server(void)
{
	const struct redis_node *n = node_at(REDIS_ANYWHERE);

	return n ? n->server : "";
}

const char *topology_mode(void)
{
	static const char *const modes[] = {
		[REDIS_SERVER] = "single", [REDIS_CLUSTER] = "cluster", [REDIS_SENTINEL] = "sentinel"
	};

	return modes[urls.kind];
}

/* ---- Start and end ---- */

static bool open_nodes(void)
{
	if (topology_is_cluster())
		return cluster_open(&urls, &node_callbacks, on_map);
	if (urls.kind == REDIS_SENTINEL)
		return sentinel_open(&urls, on_master, replicas_enabled() ? on_sentinel_replicas : NULL);
	master = node_new(&urls.at[0], &node_callbacks);
	return master != NULL;
}

const char *topology_fault(const char *flag, const char *value)
{
	static char fault[512];
	const char *why = strcmp(flag, "redis") == 0 ? redis_urls_parse(&urls, value, NULL) : NULL;

	snprintf(fault, sizeof(fault),
		 "%.200s; expected redis[s]://[user:password@]host:port[/db], unix:///path, "
		 "redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/master",
		 why ? why : "");
	return why ? fault : NULL;
}

bool topology_check(void)
{
	bool ok = quorum_check(config()->lock_quorum);

	return !redis_urls_parse(&urls, config()->redis, NULL) && replicas_check(urls.kind) && ok;
}

bool topology_open(const char *url)
{
	redis_urls_parse(&urls, url, NULL);
	renewal_open();
	bool ok = quorum_open() && open_nodes();
	if (!ok)
		fprintf(stderr, "patternd: no memory for connections to Redis\n");
	return ok && replicas_open(master);
}

void topology_close(void)
{
	closing = true; /* a call that ends now cannot send another */
	deferred_close();
	quorum_close();
	cluster_close();
	sentinel_close();
	while (node_first())
		node_free(node_first());
	replicas_close();
	master = NULL;
	resolve_close();
}
