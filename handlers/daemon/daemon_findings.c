#include "daemon/daemon_findings.h"

#include "call/call_problem.h"
#include "common/finding.h"
#include "core/budget.h"
#include "process/config.h"
#include "redis/renewal.h"
#include "topology/node_info.h"
#include "topology/topology.h"

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

static void find_away(struct json_out *o, const char *kind, const char *what, const char *address, const char *error,
		      int64_t since_at_ms)
{
	finding_out(o, &(struct finding){ kind, "error", text_of(address), .since_at_ms = since_at_ms },
		    "%s cannot be used: %s", what, error ? error : "");
}

/* Returns the length of the first sentence, which has the reason: some errors of Redis are long. */
static int first_sentence(const char *error)
{
	const char *end = strstr(error, ". ");
	int len = (int)(end ? (size_t)(end - error) : strlen(error));

	return len > 0 && error[len - 1] == '.' ? len - 1 : len;
}

static void find_refusal(struct json_out *o, const struct node_info *node)
{
	if (node->refusal)
		finding_out(o,
			    &(struct finding){ "redis_refuses", "error", text_of(node->address),
					       .since_at_ms = node->refuses_since_ms },
			    "Redis refuses calls: %.*s; GET /problems/%s has the remedy", first_sentence(node->refusal),
			    node->refusal, problem_row(call_problem_of(node->refusal_error))->code);
}

static void find_emptied(struct json_out *o, const struct node_info *node, const char *what)
{
	if (node->emptied_at_ms)
		finding_out(o,
			    &(struct finding){ "redis_emptied", "error", text_of(node->address),
					       .since_at_ms = node->emptied_at_ms },
			    "Redis restarted without its data: %s", what);
}

/* A lock lasts by Redis's clock, and a program computes instants by the clock of its machine. */
static void find_clock(struct json_out *o, const struct node_info *node)
{
	int64_t offset_ms = node->clock_is_recent ? node->clock_offset_ms : 0,
		off_ms = offset_ms < 0 ? -offset_ms : offset_ms;

	if (off_ms > CLOCK_MS)
		finding_out(o,
			    &(struct finding){ "clock_off", "warning", text_of(node->address), "ms", .value = off_ms },
			    "the clock of Redis is %.1f s %s the clock of the daemon's machine", (double)off_ms / 1000,
			    offset_ms < 0 ? "behind" : "ahead of");
}

/* False: the memory is not nearly full. */
static bool find_memory(struct json_out *o, const char *address, const char *of, const char *bound, int64_t used,
			int64_t most, int percent)
{
	if (most <= 0 || used <= most / 100 * percent)
		return false;
	finding_out(o,
		    &(struct finding){ "memory_full", "error", text_of(address), "percent",
				       .value = used / (most / 100 + 1) },
		    "%s %" PRId64 " of the %" PRId64 " bytes of %s", of, used, most, bound);
	return true;
}

/* A server that can be used. If it refuses calls because it is full, that is one finding. */
static void find_usable(struct json_out *o, const struct node_info *node)
{
	const struct redis_memory *m = &node->memory;
	bool is_full = find_memory(o, node->address, "Redis uses", "its maxmemory", m->at_us > 0 ? m->used : 0,
				   m->limit, NEARLY_FULL_PERCENT);

	if (!is_full || call_problem_of(node->refusal_error) != P_REDIS_OUT_OF_MEMORY)
		find_refusal(o, node);
	find_clock(o, node);
}

static void find_servers(struct json_out *o, int64_t away_since_ms)
{
	bool is_cluster = topology_is_cluster(), is_up = topology_is_up();
	size_t count = 0, away = 0;
	int64_t latest_ms = 0;
	struct node_info node;

	for (; node_info_at(count, &node); count++) {
		find_emptied(
			o, &node,
			"messages, locks and settings of queues are gone; restore a backup, or PUT the settings again");
		if (!node.trouble) {
			find_usable(o, &node);
			continue;
		}
		away++;
		latest_ms = node.away_since_ms > latest_ms ? node.away_since_ms : latest_ms;
		if (is_cluster)
			find_away(o, "shard_away", "a server of the Cluster", node.address, node.trouble,
				  node.away_since_ms);
	}
	if (!is_up && (!is_cluster || away == count))
		find_away(o, "redis_away", "Redis", topology_address(), topology_error(),
			  is_cluster && latest_ms ? latest_ms : away_since_ms);
	else if (!is_up && away == 0) /* slots that no server serves */
		find_away(o, "shard_away", "a server of the Cluster", NULL, topology_error(), away_since_ms);
}

/* The servers of --lock-quorum: a lock needs more than half of them. */
static void find_quorum(struct json_out *o)
{
	size_t usable = 0, count = 0;
	struct node_info node;

	for (; node_info_of_quorum(count, &node); count++) {
		usable += !node.trouble;
		find_emptied(o, &node, "it may grant locks again that are held");
		if (!node.trouble)
			find_usable(o, &node);
	}
	for (size_t i = 0; i < count && node_info_of_quorum(i, &node); i++)
		if (node.trouble)
			finding_out(o,
				    &(struct finding){ "quorum_server_away", "error", text_of(node.address),
						       .since_at_ms = node.away_since_ms },
				    "%zu of the %zu servers of --lock-quorum can be used%s: %s", usable, count,
				    usable > count / 2 ? "" : ", too few for any lock", node.trouble);
}

/* A long list of permissions is cut between two of them. */
static void find_permissions(struct json_out *o, struct text missing)
{
	size_t shown = missing.len < SHOWN_BYTES ? missing.len : SHOWN_BYTES;

	if (!missing.len)
		return;
	while (shown < missing.len && missing.at[shown] != ' ')
		shown--;
	finding_out(o, &(struct finding){ .kind = "permissions_missing", .severity = "error" }, "%.*s%s", (int)shown,
		    missing.at, shown < missing.len ? " and more, which GET /readyz names" : "");
}

void daemon_findings_out(struct json_out *o, int64_t away_since_ms)
{
	out_array(o, "findings");
	find_servers(o, away_since_ms);
	if (*config()->lock_quorum)
		find_quorum(o);
	find_permissions(o, text_of(renewal_missing_permissions()));
	find_memory(o, NULL, "requests use", "--max-request-memory", (int64_t)budget_used(),
		    config()->max_request_memory, REQUESTS_NEARLY_FULL_PERCENT);
	out_close(o);
}
