/* overview_daemon: see overview/overview_daemon.h. */
#include "overview/overview_daemon.h"

#include <string.h>

#include "core/budget.h"
#include "process/config.h"
#include "request/problem.h"

enum {
	NEARLY_FULL_PERCENT = 90,
	/*
	 * Large responses are refused when seven eighths of the memory are used, so usage may never
	 * exceed that.
	 */
	REQUESTS_NEARLY_FULL_PERCENT = 80,
	SHOWN_BYTES = 270, /* of a list of permissions */
	CLOCK_MS = 2000,
};

static void add_server(struct overview_items *items, enum overview_kind kind, struct text address, struct text error,
		       int64_t since_at_ms)
{
	struct overview_item size = { .value = -1, .since_at_ms = since_at_ms };
	struct overview_item *item = overview_items_add(items, kind, address, size);

	if (item)
		overview_items_set_detail(items, item, "%s cannot be used: %.*s",
					  kind == OVERVIEW_REDIS_AWAY ? "Redis" : "a server of the Cluster",
					  (int)error.len, error.at ? error.at : "");
}

/* Returns the length of the first sentence, which has the reason: some errors of Redis are long. */
static int first_sentence(struct text error)
{
	const char *end = strstr(error.at, ". ");
	int len = end ? (int)(end - error.at) : (int)error.len;

	return len > 0 && error.at[len - 1] == '.' ? len - 1 : len;
}

static void add_refusal(struct overview_items *items, const struct json *server)
{
	const struct json *refusal = json_tree_member(server, "refusal");
	struct text code = json_tree_string(refusal, "code"), error = json_tree_string(server, "error");
	struct text address = json_tree_string(server, "address");
	struct overview_item size = { .value = -1, .since_at_ms = json_tree_int(refusal, "since_at_ms", 0) };
	struct overview_item *item =
		code.at && error.at ? overview_items_add(items, OVERVIEW_REDIS_REFUSES, address, size) : NULL;

	if (item)
		overview_items_set_detail(items, item, "Redis refuses calls: %.*s; GET /problems/%.*s has the remedy",
					  first_sentence(error), error.at, (int)code.len, code.at);
}

/* A lock lasts by Redis's clock, and a program computes instants by the clock of its machine. */
static void add_clock(struct overview_items *items, const struct json *server)
{
	int64_t offset_ms = json_tree_int(server, "clock_offset_ms", 0);
	long long off_ms = offset_ms < 0 ? -offset_ms : offset_ms;
	struct overview_item size = { .value = off_ms };
	struct overview_item *item = off_ms > CLOCK_MS ? overview_items_add(items, OVERVIEW_CLOCK_OFF,
									    json_tree_string(server, "address"), size)
						       : NULL;

	if (item)
		overview_items_set_detail(items, item,
					  "the clock of Redis is %.1f s %s the clock of the daemon's machine",
					  (double)off_ms / 1000, offset_ms < 0 ? "behind" : "ahead of");
}

/* The servers of --lock-quorum: a lock needs more than half of them. */
static void add_quorum(struct overview_items *items, const struct json *servers)
{
	size_t usable = 0;

	for (const struct json *s = servers ? servers->first : NULL; s; s = s->next) {
		usable += json_tree_is_true(s, "connected");
		add_refusal(items, s);
		add_clock(items, s);
	}
	for (const struct json *s = servers ? servers->first : NULL; s; s = s->next) {
		struct text error = json_tree_string(s, "error"), address = json_tree_string(s, "address");
		struct overview_item size = { .value = -1, .since_at_ms = json_tree_int(s, "away_since_at_ms", 0) };
		struct overview_item *item = json_tree_is_true(s, "connected")
						     ? NULL
						     : overview_items_add(items, OVERVIEW_QUORUM_AWAY, address, size);
		if (item)
			overview_items_set_detail(items, item,
						  "%zu of the %zu servers of --lock-quorum can be used%s: %.*s", usable,
						  servers->count,
						  usable > servers->count / 2 ? "" : ", too few for any lock",
						  (int)error.len, error.at ? error.at : "");
	}
}

/* A long list of permissions is cut between two of them. */
static void add_permissions(struct overview_items *items, struct text missing)
{
	const struct text daemon = { 0 };
	size_t shown = missing.len < SHOWN_BYTES ? missing.len : SHOWN_BYTES;

	if (!missing.at)
		return;
	struct overview_item *item =
		overview_items_add(items, OVERVIEW_PERMISSIONS_MISSING, daemon, (struct overview_item){ .value = -1 });
	while (shown < missing.len && missing.at[shown] != ' ')
		shown--;
	if (item)
		overview_items_set_detail(items, item, "%.*s%s", (int)shown, missing.at,
					  shown < missing.len ? " and more, which GET /readyz names" : "");
}

/* False: the memory is not nearly full. */
static bool add_memory(struct overview_items *items, struct text name, const char *of, const char *bound,
		       long long used, long long most, int percent)
{
	bool is_full = most > 0 && used > most / 100 * percent;
	struct overview_item size = { .value = used / (most / 100 + 1) };
	struct overview_item *item = is_full ? overview_items_add(items, OVERVIEW_MEMORY_FULL, name, size) : NULL;

	if (item)
		overview_items_set_detail(items, item, "%s %lld of the %lld bytes of %s", of, used, most, bound);
	return is_full;
}

/* A server that can be used. If it refuses calls because it is full, that is one finding. */
static void add_usable(struct overview_items *items, const struct json *server)
{
	struct text code = json_tree_string(json_tree_member(server, "refusal"), "code");
	bool is_full = add_memory(items, json_tree_string(server, "address"), "Redis uses", "its maxmemory",
				  json_tree_int(server, "used_memory_bytes", 0),
				  json_tree_int(server, "max_memory_bytes", 0), NEARLY_FULL_PERCENT);

	if (!is_full || !text_is(code, problem_row(P_REDIS_OUT_OF_MEMORY)->code))
		add_refusal(items, server);
	add_clock(items, server);
}

void overview_find_daemon(struct overview_items *items, const struct json *info)
{
	const struct json *redis = json_tree_member(info, "redis"), *nodes = json_tree_member(redis, "nodes");
	struct text error = json_tree_string(redis, "error");
	int64_t since_at_ms = json_tree_int(redis, "away_since_at_ms", 0), latest_at_ms = 0;
	bool is_up = json_tree_is_true(redis, "connected"),
	     is_cluster = text_is(json_tree_string(info, "mode"), "cluster");
	size_t count = 0, away = 0;

	for (const struct json *n = nodes ? nodes->first : NULL; n; n = n->next) {
		bool is_away = !json_tree_is_true(n, "connected");
		int64_t at_ms = json_tree_int(n, "away_since_at_ms", 0);
		count++;
		away += is_away;
		latest_at_ms = at_ms > latest_at_ms ? at_ms : latest_at_ms;
		if (is_away && is_cluster)
			add_server(items, OVERVIEW_SHARD_AWAY, json_tree_string(n, "address"),
				   json_tree_string(n, "error"), at_ms);
		if (!is_away)
			add_usable(items, n);
	}
	if (!is_up && (!is_cluster || away == count))
		add_server(items, OVERVIEW_REDIS_AWAY, json_tree_string(redis, "address"), error,
			   is_cluster && latest_at_ms ? latest_at_ms : since_at_ms);
	else if (!is_up && away == 0) /* slots that no server serves */
		add_server(items, OVERVIEW_SHARD_AWAY, (struct text){ 0 }, error, since_at_ms);
	add_quorum(items, json_tree_member(info, "lock_quorum"));
	add_permissions(items, json_tree_string(redis, "missing_permissions"));
	add_memory(items, (struct text){ 0 }, "requests use", "--max-request-memory", (long long)budget_used(),
		   config()->max_request_memory, REQUESTS_NEARLY_FULL_PERCENT);
}
