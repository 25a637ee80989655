/*
 * daemon: the daemon's answers about itself: health, readiness, metrics, options, contract,
 * problems. It must not ask Redis: it answers when Redis does not.
 */
#include "call/call_problem.h"
#include "call/measure.h"
#include "daemon/daemon_findings.h"
#include "http/http.h"
#include "http/server.h"
#include "net/tls.h"
#include "operations.h"
#include "outbound/outbound.h"
#include "process/config.h"
#include "process/metrics.h"
#include "process/zone_data.h"
#include "redis/connection.h"
#include "redis/handshake.h"
#include "redis/renewal.h"
#include "request/answer.h"
#include "request/request.h"
#include "topology/node_info.h"
#include "topology/replicas.h"
#include "topology/topology.h"
#include "version.h"

void healthz_get(struct request *req, const struct healthz_get_input *in)
{
	(void)in;
	out_string(answer_begin(req, 200), "status", "ok");
	answer_end(req);
}

void readyz_get(struct request *req, const struct readyz_get_input *in)
{
	(void)in;
	if (http_draining()) {
		answer_problem(req, P_NOT_READY, "the daemon is shutting down");
	} else if (!topology_was_reached() || (config()->ready_follows_redis && topology_connections() == 0)) {
		answer_problem(req, P_NOT_READY, "Redis is not usable: %s%s", topology_trouble(NULL),
			       topology_advice());
	} else if (*handshake_duplicates()) {
		answer_problem(req, P_NOT_READY, "--lock-quorum: %s", handshake_duplicates());
	} else if (*renewal_missing_permissions()) {
		answer_problem(req, P_NOT_READY, "%s", renewal_missing_permissions());
	} else {
		struct json_out *o = answer_begin(req, 200);
		out_string(o, "status", "ready");
		if (topology_error())
			out_string(o, "redis_error", topology_error());
		answer_end(req);
	}
}

void metrics_get(struct request *req, const struct metrics_get_input *in)
{
	(void)in;
	measure_scraped();
	answer_body(req, 200, "text/plain; version=0.0.4", metrics_text(&req->arena));
}

static void out_refusal(struct json_out *o, const struct node_info *node)
{
	if (!node->refusal) {
		out_null(o, "refusal");
		return;
	}
	out_object(o, "refusal");
	out_string(o, "code", problem_row(call_problem_of(node->refusal_error))->code);
	out_int(o, "since_at_ms", node->refuses_since_ms);
	out_close(o);
}

static void out_nodes(struct json_out *o, const char *key, bool (*info_at)(size_t i, struct node_info *out),
		      bool has_slots)
{
	struct node_info node;

	out_array(o, key);
	for (size_t i = 0; info_at(i, &node); i++) {
		out_object(o, NULL);
		out_string(o, "address", node.address);
		out_text(o, "version", text_of(*node.server ? node.server : NULL));
		out_bool(o, "connected", !node.trouble);
		out_text(o, "error", text_of(node.trouble ? node.trouble : node.refusal));
		out_int_or_null(o, "away_since_at_ms", node.away_since_ms > 0, node.away_since_ms);
		out_refusal(o, &node);
		out_int(o, "connections", node.connections);
		out_int_or_null(o, "used_memory_bytes", node.memory.at_us > 0, node.memory.used);
		out_int_or_null(o, "max_memory_bytes", node.memory.limit > 0, node.memory.limit);
		out_int_or_null(o, "clock_offset_ms", node.has_clock, node.clock_offset_ms);
		if (has_slots)
			out_int(o, "slots", node.slots);
		out_close(o);
	}
	out_close(o);
}

/* Writes the replicas, with --read-from replica only. */
static void out_replicas(struct json_out *o)
{
	struct replica_info replica;

	if (!replicas_enabled())
		return;
	out_array(o, "replicas");
	for (size_t i = 0; replicas_info(i, &replica); i++) {
		out_object(o, NULL);
		out_string(o, "address", replica.address);
		out_text(o, "version", text_of(*replica.server ? replica.server : NULL));
		out_int(o, "connections", replica.connections);
		out_bool(o, "serves", !replica.trouble);
		out_text(o, "error", text_of(replica.trouble));
		out_int_or_null(o, "lag_ms", replica.lag_ms >= 0, replica.lag_ms);
		out_close(o);
	}
	out_close(o);
}

/* Writes counts since the start and present values. Clients compute rates from two answers. */
static void out_activity(struct json_out *o)
{
	struct redis_answers answers = connections_answers();

	out_object(o, "activity");
	metrics_out(o);
	out_object(o, "redis");
	out_int(o, "calls", (int64_t)answers.count);
	out_real(o, "took_ms", (double)answers.took_us / 1000);
	out_close(o);
	out_close(o);
}

static void out_addresses(struct json_out *o, const char *key, const char *(*address)(size_t i))
{
	out_array(o, key);
	for (size_t i = 0; address(i); i++)
		out_string(o, NULL, address(i));
	out_close(o);
}

/*
 * Returns since when Redis is away, by the daemon's clock; in a Cluster, since its first server is.
 * 0: it is not away, or the instant is not known.
 */
static int64_t away_since_ms(void)
{
	struct node_info node;
	int64_t first_ms = 0;

	if (topology_is_up())
		return 0;
	if (!topology_was_reached())
		return metrics_started_at_ms();
	for (size_t i = 0; node_info_at(i, &node); i++)
		if (node.away_since_ms > 0 && (first_ms == 0 || node.away_since_ms < first_ms))
			first_ms = node.away_since_ms;
	return first_ms;
}

void info_get(struct request *req, const struct info_get_input *in)
{
	struct json_out *o = answer_begin(req, 200);
	const char *missing = renewal_missing_permissions();
	int64_t away_ms = away_since_ms();

	(void)in;
	out_string(o, "version", PATTERND_VERSION);
	out_string(o, "mode", topology_mode());
	out_addresses(o, "addresses", http_address);
	out_addresses(o, "health_addresses", http_health_address);
	out_object(o, "redis");
	out_string(o, "address", topology_address());
	out_string(o, "version", topology_server());
	out_text(o, "role", text_of(topology_connections() ? "master" : NULL));
	out_bool(o, "connected", topology_is_up());
	out_string(o, "error", topology_error());
	out_int_or_null(o, "away_since_at_ms", away_ms > 0, away_ms);
	out_text_or_null(o, "missing_permissions", text_of(*missing ? missing : NULL));
	out_nodes(o, "nodes", node_info_at, strcmp(topology_mode(), "cluster") == 0);
	out_replicas(o);
	out_close(o);
	if (*config()->lock_quorum)
		out_nodes(o, "lock_quorum", node_info_of_quorum, false);
	daemon_findings_out(o, away_ms);
	out_int(o, "started_at_ms", metrics_started_at_ms());
	out_int(o, "uptime_ms", metrics_uptime_ms());
	out_activity(o);
	out_object(o, "libraries");
	out_string(o, "libmicrohttpd", http_server_library());
	out_string(o, "gnutls", tls_library());
	out_text_or_null(o, "libcurl", text_of(outbound_library()));
	out_close(o);
	out_object(o, "time_zones");
	out_string(o, "folder", config()->zoneinfo);
	out_text_or_null(o, "version", zone_data_version(&req->arena));
	out_close(o);
	out_object(o, "options");
	config_out(o);
	out_close(o);
	answer_end(req);
}

void openapi_get(struct request *req, const struct openapi_get_input *in)
{
	(void)in;
	answer_body(req, 200, "application/json", openapi_json_text);
}

/* ---- GET /problems, /problems/{code} ---- */

static void out_problem(struct json_out *o, struct request *req, const struct problem_row *row)
{
	out_text(o, "type", arena_join(&req->arena, (struct text[]){ TEXT("/problems/"), text_of(row->code) }, 2));
	out_string(o, "code", row->code);
	out_int(o, "status", row->status);
	out_string(o, "title", row->title);
	out_string(o, "effect", problem_effect_name(row->effect));
	out_string(o, "retry", problem_retry_name(row->retry));
	out_string(o, "help", row->help);
}

void problem_get(struct request *req, const struct problem_get_input *in)
{
	const struct problem_row *row = problem_by_code(in->code);

	if (!row) {
		answer_problem(req, P_NOT_FOUND, "no problem has the code '%s'", in->code.at);
		return;
	}
	out_problem(answer_begin(req, 200), req, row);
	answer_end(req);
}

/* A cursor is the code of the last problem of the page before. */
void problem_list(struct request *req, const struct problem_list_input *in)
{
	const struct problem_row *row = problem_row(0), *end = row + PROBLEM_COUNT;

	if (in->cursor.at) {
		row = problem_by_code(in->cursor);
		if (!row) {
			answer_field_problem(req, P_INVALID_VALUE, "?cursor",
					     "must be the next_cursor of an earlier page of this list");
			return;
		}
		row++;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (int64_t room = in->limit; row < end && room > 0; row++, room--) {
		out_object(o, NULL);
		out_problem(o, req, row);
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", row < end ? text_of(row[-1].code) : (struct text){ 0 });
	answer_end(req);
}
