/*
 * cluster: see topology/cluster.h. It owns the map from slots to nodes, and the nodes.
 *
 * A node is identified by its address. A node that is missing in a new map gets no more calls, and
 * is freed once all its calls are answered. When no node can be reached, the seeds are tried again,
 * since their names may resolve to new addresses by then.
 */
#include "topology/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/backoff.h"
#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "topology/replicas.h"
#include "topology/slot.h"

enum {
	MOST_NODES = 1000,
	FIRST_PAUSE_MS = 50, /* between two questions for the map, while the map is incomplete */
	LONGEST_PAUSE_MS = 1000,
	REFRESH_MS = 1000, /* between two questions while the map is complete: a missed move of a slot is then found */
	HOST_BYTES = 256,
	FIRST_REPLICA = 3, /* index in a range of the map */
};

static const struct redis_urls *seeds;
static const struct redis_node_callbacks *callbacks;
static void (*map_changed)(void);
static struct redis_node *by_number[MOST_NODES + 1]; /* (ref) indexed from 1 */
static uint16_t slot_nodes[REDIS_SLOTS];             /* node numbers; 0: none */
static uint16_t fresh[REDIS_SLOTS];                  /* the map while it is read */
static unsigned version;                             /* of slot_nodes */
static struct loop_timer timer;                      /* when to ask for the map next */
static struct redis_call asking;                     /* the question for the map */
static bool is_asked, is_known, is_closed;
static unsigned questions; /* since the map was last complete */

bool cluster_is_known(void)
{
	return is_known;
}

/* ---- Nodes ---- */

/* Returns true if the node is part of the map. A new node has no number yet. */
static bool is_in_use(const struct redis_node *n)
{
	return n->number && !n->retired;
}

static bool can_be_asked(const struct redis_node *n)
{
	return is_in_use(n) && n->ready > 0;
}

static struct redis_node *find(const char *host, const char *port)
{
	for (struct redis_node *n = node_first(); n; n = n->next)
		if (is_in_use(n) && strcmp(n->url.host, host) == 0 && strcmp(n->url.port, port) == 0)
			return n;
	return NULL;
}

static struct redis_node *add(const struct redis_url *url)
{
	unsigned number = 1;

	while (number <= MOST_NODES && by_number[number])
		number++;
	struct redis_node *n = number <= MOST_NODES ? node_new(url, callbacks) : NULL;
	if (n) {
		n->number = number;
		by_number[number] = n;
	}
	return n;
}

/* Makes the URL of an address; a node may leave out its own host. False: not an address. */
static bool url_at(struct redis_url *out, struct text host, long port, const struct redis_node *reporter)
{
	if (host.len == 0 || text_is(host, "?"))
		host = text_of(reporter->url.host);
	return redis_url_at(out, &seeds->at[0], host, port);
}

/* Returns the node at an address. NULL: it is not an address, or memory ran out. */
static struct redis_node *node_at(struct text host, long port, const struct redis_node *reporter)
{
	struct redis_url url;

	if (!url_at(&url, host, port, reporter))
		return NULL;
	struct redis_node *n = find(url.host, url.port);
	return n ? n : add(&url);
}

struct redis_node *cluster_node(int slot)
{
	if (slot >= 0)
		return by_number[slot_nodes[slot]];
	for (struct redis_node *n = node_first(); n; n = n->next)
		if (can_be_asked(n))
			return n;
	return NULL;
}

static void retire(struct redis_node *n)
{
	log_event(LOG_INFO, "cluster_node_left", "%s serves no slot any more", n->url.address);
	node_retire(n);
}

void cluster_sweep(void)
{
	for (struct redis_node *n = node_first(), *next; n; n = next) {
		next = n->next;
		if (!n->retired || !node_is_idle(n))
			continue;
		by_number[n->number] = NULL;
		node_free(n);
		next = node_first(); /* callbacks may have changed the list */
	}
}

/* Nodes are in the order of their first slots. */
int cluster_next_node(int slot)
{
	bool seen[MOST_NODES + 1] = { false };
	unsigned last = slot >= 0 ? slot_nodes[slot] : 0;
	bool passed = slot < 0;

	for (int next = 0; next < REDIS_SLOTS; next++) {
		unsigned number = slot_nodes[next];
		if (number == 0 || seen[number])
			continue;
		seen[number] = true;
		if (passed || (last == 0 && next > slot))
			return next;
		passed = number == last;
	}
	return REDIS_ANYWHERE;
}

int cluster_slots_from(int slot, int most)
{
	int count = 1;

	while (count < most && slot + count < REDIS_SLOTS && slot_nodes[slot + count] == slot_nodes[slot])
		count++;
	return count;
}

/* ---- The map ---- */

unsigned cluster_slots_unserved(const struct redis_node **owner)
{
	unsigned count = 0;

	*owner = NULL;
	for (int slot = 0; slot < REDIS_SLOTS; slot++) {
		const struct redis_node *n = by_number[slot_nodes[slot]];
		if (n && can_be_asked(n))
			continue;
		count++;
		if (!*owner)
			*owner = n;
	}
	return count;
}

static bool map_holds(void)
{
	const struct redis_node *owner;

	return cluster_slots_unserved(&owner) == 0;
}

/* A node that has just joined the map is not logged, since it connects in a moment. */
static void log_unserved(void)
{
	static bool logged;
	const struct redis_node *owner;
	unsigned slots = cluster_slots_unserved(&owner);

	if (!is_known || logged == (slots > 0) || (owner && node_is_new(owner)))
		return;
	logged = slots > 0;
	if (!logged)
		log_event(LOG_INFO, "cluster_slots_served", "every slot has a usable node again");
	else
		log_event(LOG_WARN, "cluster_slots_unserved", "%u slots cannot be served: %s", slots,
			  owner ? owner->trouble : "no node has them");
}

static void ask_in(int64_t ms)
{
	int64_t at_us = loop_now_us() + ms * 1000;

	if (!is_asked && (!loop_timer_is_set(&timer) || timer.due_us > at_us))
		loop_timer_set(&timer, at_us);
}

void cluster_refresh(void)
{
	ask_in(backoff_ms(questions, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, 0));
}

void cluster_node_changed(void)
{
	log_unserved();
	if (!is_known && questions == 0)
		ask_in(0); /* asks the first usable node */
	else if (!map_holds())
		cluster_refresh();
}

/* Reads one range of the map: [first, last, [host, port, ...], ...]. False: it is malformed. */
static bool take_range(const struct reply *range, const struct redis_node *reporter)
{
	const struct reply *master = reply_item(range, 2);
	int64_t first = reply_int(range, 0), last = reply_int(range, 1), port = reply_int(master, 1);

	if (first < 0 || last >= REDIS_SLOTS || first > last || port <= 0 || port > 65535)
		return false;
	struct redis_node *n = node_at(reply_text(master, 0), (long)port, reporter);
	if (!n)
		return false;
	for (int64_t slot = first; slot <= last; slot++)
		fresh[slot] = (uint16_t)n->number;
	return true;
}

unsigned cluster_slots_of(const struct redis_node *n)
{
	unsigned count = 0;

	for (int slot = 0; slot < REDIS_SLOTS; slot++)
		count += slot_nodes[slot] == n->number;
	return count;
}

static void find_owners(bool serves[MOST_NODES + 1])
{
	for (int slot = 0; slot < REDIS_SLOTS; slot++)
		serves[slot_nodes[slot]] = true;
}

void cluster_visit_owners(void (*visit)(void *context, struct redis_node *n), void *context)
{
	bool serves[MOST_NODES + 1] = { false };

	if (is_closed) /* the nodes are being freed one after the other */
		return;
	find_owners(serves);
	for (unsigned number = 0; number <= MOST_NODES; number++)
		if (serves[number])
			visit(context, by_number[number]);
}

unsigned cluster_version(void)
{
	return version;
}

/* Retires the nodes that are missing in the map. */
static void retire_others(void)
{
	bool serves[MOST_NODES + 1] = { false };

	find_owners(serves);
	for (struct redis_node *n = node_first(); n; n = n->next)
		if (is_in_use(n) && !serves[n->number])
			retire(n);
}

/* In each range, the replicas that have not failed follow the master. */
static void take_replicas(const struct reply *map, const struct redis_node *reporter)
{
	struct redis_url url;

	replicas_begin();
	for (size_t i = 0; i < map->count; i++) {
		const struct reply *range = reply_item(map, i);
		struct redis_node *primary = by_number[slot_nodes[reply_int(range, 0)]];
		for (size_t k = FIRST_REPLICA; k < range->count; k++) {
			const struct reply *one = reply_item(range, k);
			if (url_at(&url, reply_text(one, 0), (long)reply_int(one, 1), reporter))
				replicas_add(&url, primary);
		}
	}
	replicas_end();
}

static bool take_map(const struct reply *map, const struct redis_node *reporter)
{
	if (map->type != REPLY_ARRAY || map->count == 0)
		return false;
	memset(fresh, 0, sizeof(fresh));
	for (size_t i = 0; i < map->count; i++)
		if (!take_range(reply_item(map, i), reporter))
			return false;
	version += memcmp(slot_nodes, fresh, sizeof(slot_nodes)) != 0;
	memcpy(slot_nodes, fresh, sizeof(slot_nodes));
	take_replicas(map, reporter);
	retire_others();
	return true;
}

static void open_seeds(void)
{
	for (size_t i = 0; i < seeds->count; i++)
		if (!find(seeds->at[i].host, seeds->at[i].port))
			add(&seeds->at[i]);
}

static void on_map(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	if (is_closed)
		return;
	is_asked = false;
	if (outcome == REDIS_ANSWERED && take_map(reply, call->node)) {
		is_known = true;
		log_unserved();
		map_changed();
	} else if (outcome == REDIS_ANSWERED) {
		log_event(LOG_DEBUG, "cluster_map_refused", "%s: %s", call->node->url.address,
			  reply->type == REPLY_ERROR ? reply->text.at : "its map of slots is malformed");
	}
	if (map_holds()) {
		questions = 0;
		ask_in(REFRESH_MS);
	} else {
		cluster_refresh();
	}
}

/* Asks usable nodes in turn, because a node that is cut off from the others has an old map. */
static void on_timer(struct loop_timer *t)
{
	static const struct text command[] = { { "CLUSTER", 7 }, { "SLOTS", 5 } };
	static unsigned turn;
	unsigned usable = 0;

	(void)t;
	questions++;
	for (struct redis_node *n = node_first(); n; n = n->next)
		usable += can_be_asked(n);
	unsigned wanted = usable ? turn++ % usable : 0;
	for (struct redis_node *n = node_first(); n && usable; n = n->next) {
		if (!can_be_asked(n) || wanted-- != 0)
			continue;
		asking = (struct redis_call){ .done = on_map };
		is_asked = node_send(n, &asking, command, 2) == SEND_OK;
		if (is_asked)
			metrics_count(METRIC_cluster_maps);
		break;
	}
	if (usable == 0)
		open_seeds();
	if (!is_asked)
		cluster_refresh();
}

/* ---- Redirections ---- */

/*
 * Finds the node at the address in "MOVED 3999 127.0.0.1:6381". IPv6 addresses have no brackets
 * there.
 */
static struct redis_node *node_named(struct text error, const struct redis_node *from, int *slot)
{
	const char *at = strchr(error.at, ' ');
	char *end;

	if (!at || !from)
		return NULL;
	long number = strtol(at, &end, 10);
	const char *colon = strrchr(error.at, ':');
	if (end == at || number < 0 || number >= REDIS_SLOTS || *end != ' ' || !colon || colon <= end)
		return NULL;
	*slot = (int)number;
	int port = text_u16(text_of(colon + 1));
	char host[HOST_BYTES];
	if ((size_t)(colon - end - 1) >= sizeof(host))
		return NULL;
	int n = snprintf(host, sizeof(host), "%.*s", (int)(colon - end - 1), end + 1);
	return node_at((struct text){ host, (size_t)n }, port, from);
}

struct redis_node *cluster_moved(struct text error, const struct redis_node *from)
{
	int slot;
	struct redis_node *n = node_named(error, from, &slot);

	if (n) {
		version += slot_nodes[slot] != n->number;
		slot_nodes[slot] = (uint16_t)n->number;
	}
	cluster_refresh();
	return n;
}

struct redis_node *cluster_asked(struct text error, const struct redis_node *from)
{
	int slot;

	return node_named(error, from, &slot);
}

/* ---- Start and end ---- */

static double slots_unserved(void)
{
	const struct redis_node *owner;

	return cluster_slots_unserved(&owner);
}

static double nodes_known(void)
{
	double count = 0;

	for (const struct redis_node *n = node_first(); n; n = n->next)
		count += is_in_use(n);
	return count;
}

bool cluster_open(const struct redis_urls *from, const struct redis_node_callbacks *node_callbacks,
		  void (*changed)(void))
{
	seeds = from;
	callbacks = node_callbacks;
	map_changed = changed;
	timer.expired = on_timer;
	metrics_gauge("cluster_nodes", "Nodes of the Cluster that serve slots.", nodes_known);
	metrics_gauge("cluster_slots_unserved", "Slots of the Cluster that have no usable node.", slots_unserved);
	open_seeds();
	return node_first() != NULL;
}

void cluster_close(void)
{
	loop_timer_stop(&timer);
	is_closed = true;
}
