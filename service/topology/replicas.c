/*
 * replicas: see topology/replicas.h. It owns the nodes of the replicas, but no primary's node.
 *
 * A replica in the list `replicas`:
 *
 *	unused   `trouble` has why: not asked yet, INFO refused, data too old, connection lost
 *	held     `held_us` is in the future, since slots of its primary move
 *	serving  neither, its data is young, and `node` is usable: replicas_choose returns it
 *	left     `primary` is NULL: replicas_sweep frees it
 *
 * `probing`: a question of a probe is pending.
 */
#include "topology/replicas.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/container.h"
#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "topology/replica_age.h"

enum {
	PROBES = 4, /* in each --max-replica-lag-ms */
	LONGEST_PAUSE_MS = 1000,
	HOLD_MS = 3000, /* longer than the nodes of a Cluster take to agree on the end of a move */
	MOST_REPLICAS = 1000,
	URL_BYTES = 1024,
};

struct replica {
	struct replica *next;
	struct redis_node *node;    /* owned */
	struct redis_node *primary; /* (ref) NULL: the replica left the list */
	bool listed;                /* it is in the list that is being set */
	struct redis_call question; /* the present question of a probe */
	bool probing;               /* `question` is pending */
	int64_t asked_us;           /* when the primary was asked for its offset */
	int64_t held_us;            /* until then it serves no reads, because slots of its primary move */
	struct replica_age age;
	const char *trouble; /* static: why it serves no reads; NULL when it does */
};

static struct replica *replicas;
static struct loop_timer timer; /* when all are probed next */
static struct redis_url given_urls[REDIS_MOST_HOSTS];
static unsigned given_count; /* number of URLs in --redis-replicas */

bool replicas_enabled(void)
{
	return strcmp(config()->read_from, "replica") == 0;
}

/* ---- The choice ---- */

static bool is_young(const struct replica *r)
{
	return r->age.fresh_us && loop_now_us() - r->age.fresh_us <= config()->max_replica_lag_ms * 1000;
}

static bool serves(const struct replica *r)
{
	return r->primary && !r->trouble && r->node->ready > 0 && is_young(r) && loop_now_us() >= r->held_us;
}

struct redis_node *replicas_choose(const struct redis_node *primary, unsigned turn)
{
	struct redis_node *first = NULL;
	unsigned count = 0, at = 0;

	for (const struct replica *r = replicas; r; r = r->next)
		count += r->primary == primary;
	for (const struct replica *r = replicas; r; r = r->next) {
		if (r->primary != primary)
			continue;
		bool is_before = at++ < turn % count;
		if (!serves(r))
			continue;
		if (!is_before)
			return r->node;
		first = first ? first : r->node;
	}
	return first;
}

/* ---- Probes ---- */

/* Logs when a replica begins or ceases to serve. */
static void set_trouble(struct replica *r, const char *why)
{
	bool news = why != r->trouble;

	r->trouble = why;
	if (news && why)
		log_event(LOG_WARN, "replica_unused", "%s: %s", r->node->url.address, why);
	else if (news)
		log_event(LOG_INFO, "replica_used", "%s serves reads", r->node->url.address);
}

static void on_replica(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct replica *r = container_of(call, struct replica, question);

	r->probing = false;
	if (!r->primary || outcome != REDIS_ANSWERED)
		return; /* node.c logged why, and the data gets older */
	if (reply->type != REPLY_TEXT) {
		r->age.fresh_us = 0;
		set_trouble(r, "it does not permit INFO");
		return;
	}
	const char *why = replica_age_compare(&r->age, reply->text);
	set_trouble(r, why ? why : is_young(r) ? NULL : "its data is older than --max-replica-lag-ms allows");
}

/* Sends the next question of a probe. False: it was not sent. */
static bool ask(struct replica *r, struct redis_node *n, const struct text question[2],
		void (*done)(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply))
{
	r->question = (struct redis_call){ .done = done };
	r->probing = r->primary && node_send(n, &r->question, question, 2) == SEND_OK;
	return r->probing;
}

static const struct text info[] = { { "INFO", 4 }, { "replication", 11 } };

static void on_primary(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct replica *r = container_of(call, struct replica, question);

	if (outcome == REDIS_ANSWERED && reply->type == REPLY_TEXT)
		replica_age_sample(&r->age, reply->text, r->asked_us);
	ask(r, r->node, info, on_replica);
}

/*
 * A primary that is not reachable is not asked, so its replicas become too old even if they still
 * answer.
 */
static void ask_offsets(struct replica *r)
{
	r->asked_us = loop_now_us();
	if (!ask(r, r->primary, info, on_primary))
		ask(r, r->node, info, on_replica);
}

void replicas_hold(const struct redis_node *primary)
{
	for (struct replica *r = replicas; r; r = r->next)
		if (r->primary == primary)
			r->held_us = loop_now_us() + HOLD_MS * 1000;
}

/* A node lists the slots that it migrates away in its own line: "[93->-<id>]". */
static bool is_migrating(struct text nodes)
{
	const char *own = strstr(nodes.at, "myself"), *end = own ? strchr(own, '\n') : NULL;
	const char *slot = own ? strstr(own, "->-") : NULL;

	return slot && (!end || slot < end);
}

static void on_nodes(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct replica *r = container_of(call, struct replica, question);
	bool known = outcome == REDIS_ANSWERED && reply->type == REPLY_TEXT;

	r->probing = false;
	if (!r->primary)
		return;
	if (!known || is_migrating(reply->text))
		r->held_us = loop_now_us() + HOLD_MS * 1000;
	if (outcome == REDIS_ANSWERED && !known)
		set_trouble(r, "its primary does not permit CLUSTER NODES");
	else
		ask_offsets(r);
}

static void probe(struct replica *r)
{
	static const struct text nodes[] = { { "CLUSTER", 7 }, { "NODES", 5 } };

	if (r->node->url.kind != REDIS_CLUSTER || !ask(r, r->primary, nodes, on_nodes))
		ask_offsets(r);
}

static void on_timer(struct loop_timer *t)
{
	int64_t pause_ms = config()->max_replica_lag_ms / PROBES;

	for (struct replica *r = replicas; r; r = r->next) {
		if (r->primary && !r->trouble && !is_young(r))
			set_trouble(r, "its data is older than --max-replica-lag-ms allows");
		if (r->primary && !r->probing && r->node->ready > 0)
			probe(r);
	}
	loop_timer_set(t, loop_now_us() + (pause_ms < LONGEST_PAUSE_MS ? pause_ms : LONGEST_PAUSE_MS) * 1000);
}

/* ---- The list ---- */

static struct replica *replica_of(const struct redis_node *n)
{
	struct replica *r = replicas;

	while (r && r->node != n)
		r = r->next;
	return r;
}

static void on_up(struct redis_node *n)
{
	struct replica *r = replica_of(n);

	if (r && r->primary && !r->probing)
		probe(r);
}

/* It may have restarted, with older data. */
static void on_down(struct redis_node *n, const char *why, bool was_up)
{
	struct replica *r = replica_of(n);

	if (r && was_up && strcmp(why, CONNECTION_DRAINED) != 0) {
		r->age.fresh_us = 0;
		r->trouble = "its connection was lost";
	}
}

static struct replica *find(const struct redis_url *url)
{
	for (struct replica *r = replicas; r; r = r->next)
		if (r->primary && strcmp(r->node->url.address, url->address) == 0)
			return r;
	return NULL;
}

static struct replica *add(const struct redis_url *url)
{
	static const struct redis_node_callbacks callbacks = { .up = on_up, .down = on_down };
	struct redis_url target = *url;
	struct replica *r = calloc(1, sizeof(*r));
	unsigned count = 0;

	for (const struct replica *other = replicas; other; other = other->next)
		count++;
	target.replica = true;
	if (r && count < MOST_REPLICAS)
		r->node = node_new_apart(&target, &callbacks, (unsigned)config()->pool_size);
	if (!r || !r->node) {
		free(r);
		return NULL; /* the primary is read instead */
	}
	r->trouble = "it was not asked yet";
	r->next = replicas;
	replicas = r;
	return r;
}

void replicas_begin(void)
{
	for (struct replica *r = replicas; r; r = r->next)
		r->listed = false;
}

void replicas_add(const struct redis_url *url, struct redis_node *primary)
{
	struct replica *r = replicas_enabled() ? find(url) : NULL;

	if (!r && replicas_enabled())
		r = add(url);
	if (!r)
		return;
	r->listed = true;
	if (r->primary == primary)
		return;
	r->primary = primary;
	r->age = (struct replica_age){ 0 };
}

void replicas_end(void)
{
	for (struct replica *r = replicas; r; r = r->next) {
		if (r->listed || !r->primary)
			continue;
		log_event(LOG_INFO, "replica_left", "%s is not a replica any more", r->node->url.address);
		r->primary = NULL;
		node_retire(r->node);
	}
}

void replicas_flush(void)
{
	for (struct replica *r = replicas; r; r = r->next)
		node_flush(r->node);
}

static void drop(struct replica **at)
{
	struct replica *r = *at;

	*at = r->next;
	node_free(r->node);
	free(r);
}

void replicas_sweep(void)
{
	for (struct replica **at = &replicas; *at;)
		if ((*at)->primary || (*at)->probing || !node_is_idle((*at)->node))
			at = &(*at)->next;
		else
			drop(at);
}

/* ---- State ---- */

bool replicas_info(size_t i, struct replica_info *out)
{
	for (const struct replica *r = replicas; r; r = r->next) {
		if (!r->primary || i-- > 0)
			continue;
		const char *why = r->node->ready == 0          ? r->node->trouble
				  : loop_now_us() < r->held_us ? "slots of its primary move"
							       : r->trouble;
		*out = (struct replica_info){ .address = r->node->url.address,
					      .server = r->node->server,
					      .connections = r->node->ready,
					      .trouble = serves(r) ? NULL
							 : why     ? why
								   : "its data is too old",
					      .lag_ms = r->age.fresh_us ? (loop_now_us() - r->age.fresh_us + 999) / 1000
									: -1 };
		return true;
	}
	return false;
}

static double usable(void)
{
	double count = 0;

	for (const struct replica *r = replicas; r; r = r->next)
		count += serves(r);
	return count;
}

/* ---- Start and end ---- */

/* Returns what is wrong with the options, or NULL. */
static const char *why_not(enum redis_kind kind)
{
	bool given = *config()->redis_replicas;

	if (!replicas_enabled() && given)
		return "--redis-replicas is given, but without --read-from replica no replica is read";
	if (!replicas_enabled() && config_is_changed("max-replica-lag-ms"))
		return "--max-replica-lag-ms is given, but without --read-from replica no replica is read";
	if (replicas_enabled() && kind == REDIS_SERVER && !given)
		return "--read-from replica: --redis names one server, so name its replicas (--redis-replicas URL,...)";
	if (given && kind != REDIS_SERVER)
		return "--redis-replicas is for a single server: Sentinels and a Cluster report their replicas; leave it out";
	return NULL;
}

static bool is_given(const struct redis_url *url)
{
	for (unsigned i = 0; i < given_count; i++)
		if (strcmp(given_urls[i].address, url->address) == 0)
			return true;
	return false;
}

/* Parses --redis-replicas. Returns NULL, or what is wrong with URL number given_count + 1. */
static const char *parse_given(void)
{
	char one[URL_BYTES];
	struct text rest = text_of(*config()->redis_replicas ? config()->redis_replicas : NULL);

	for (; rest.at; given_count++) {
		struct text written = text_cut(&rest, ',');
		if (given_count == REDIS_MOST_HOSTS)
			return "there may be 16 at most";
		if (written.len >= sizeof(one))
			return "its URL is too long";
		memcpy(one, written.at, written.len);
		one[written.len] = '\0';
		const char *why = redis_url_parse(&given_urls[given_count], one, NULL);
		if (why)
			return why;
		if (is_given(&given_urls[given_count]))
			return "it is in the list twice";
	}
	return NULL;
}

bool replicas_check(enum redis_kind kind)
{
	const char *why = why_not(kind);

	if (why) {
		fprintf(stderr, "patternd: %s\n", why);
		return false;
	}
	why = parse_given();
	if (why)
		fprintf(stderr, "patternd: --redis-replicas: server %u: %s\n", given_count + 1, why);
	return !why;
}

bool replicas_open(struct redis_node *primary)
{
	if (!replicas_enabled())
		return true;
	for (unsigned i = 0; i < given_count; i++)
		replicas_add(&given_urls[i], primary);
	metrics_gauge("replicas_usable", "Replicas that serve reads now.", usable);
	timer.expired = on_timer;
	loop_timer_set(&timer, loop_now_us());
	return true;
}

void replicas_close(void)
{
	loop_timer_stop(&timer);
	while (replicas)
		drop(&replicas);
}
