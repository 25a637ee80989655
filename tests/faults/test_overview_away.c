/*
 * GET /overview of a Cluster that lost a shard, and of a daemon that never reached its Redis. The
 * answer names each server that is away. A figure that the daemon could not ask for is null, never
 * zero.
 */
#include <signal.h>

#include "../support/cluster_stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 15000 };

/* Returns the first finding of a kind; NULL: none. */
static const json_t *finding(struct answer a, const char *kind)
{
	return json_item(a, "/findings", "kind", kind);
}

static bool is_null(struct answer a, const char *pointer)
{
	return json_is_null(json_at(a, pointer));
}

/* Asks for the overview. The answer must come in time, whatever is away. */
static struct answer overview(void)
{
	int64_t began_ms = monotonic_ms();
	struct answer a = http(client, "GET", "/overview", NULL);

	assert_status(a, 200);
	assert_true(monotonic_ms() - began_ms < patience_ms(2000));
	return a;
}

static json_int_t killed_at_ms; /* when the test killed or stopped a server */

static bool names_the_shard(int node)
{
	char address[64];
	struct answer a = overview();
	const json_t *f = finding(a, "shard_away");

	snprintf(address, sizeof(address), "127.0.0.1:%d", cluster.nodes[node].server.port);
	return f && json_integer_value(json_object_get(f, "since_at_ms")) >= killed_at_ms &&
	       json_integer_value(json_object_get(f, "since_at_ms")) <= int_at(a, "/at_ms") &&
	       strcmp(json_string_value(json_object_get(f, "name")), address) == 0 &&
	       json_array_size(json_at(a, "/unknown")) == 2;
}

/* The servers of this Cluster store nothing on disk. */
static bool has_only_lost(int node)
{
	char address[64];
	struct answer a = overview();
	const json_t *f = finding(a, "redis_emptied");

	snprintf(address, sizeof(address), "127.0.0.1:%d", cluster.nodes[node].server.port);
	return json_array_size(json_at(a, "/findings")) == 1 && f &&
	       strcmp(json_string_value(json_object_get(f, "name")), address) == 0;
}

static bool knows_all(int64_t queues)
{
	struct answer a = overview();

	return bool_at(a, "/complete") && json_array_size(json_at(a, "/unknown")) == 0 &&
	       json_array_size(json_at(a, "/findings")) == 0 && int_at(a, "/queues/count") == queues;
}

TEST(a_shard_that_is_away_is_named, .before = cluster_of_masters, .after = cluster_stage_close)
{
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
	wait_until(knows_all(STAGE_NAMES), SOON_MS);
	int node = cluster_owner_of(&cluster, stage_names[0]);
	killed_at_ms = int_at(overview(), "/at_ms");
	cluster_kill(&cluster, node);
	wait_until(names_the_shard(node), SOON_MS);
	assert_null(finding(overview(), "redis_away"));
	cluster_be_patient(&cluster);
	cluster_restart(&cluster, node);
	cluster_wait_well(&cluster);
	wait_until(send_to(stage_names[0]).status == 201, SOON_MS);
	wait_until(has_only_lost(node), SOON_MS);
}

TEST(all_shards_away_are_redis_away, .before = cluster_of_masters, .after = cluster_stage_close)
{
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		cluster_kill(&cluster, i);
	wait_until(finding(overview(), "redis_away") && is_null(overview(), "/queues"), SOON_MS);
}

TEST(a_redis_that_was_never_reached_is_away)
{
	struct daemon d = { 0 };
	struct client *usual = client;
	char url[64];

	snprintf(url, sizeof(url), "redis://127.0.0.1:%d", free_port());
	daemon_launch(&d, "--redis", url);
	client = client_open(d.port);
	struct answer a = overview();
	assert_non_null(finding(a, "redis_away"));
	assert_int_equal(json_integer_value(json_object_get(finding(a, "redis_away"), "since_at_ms")),
			 int_at(http(client, "GET", "/info", NULL), "/started_at_ms"));
	assert_true(is_null(a, "/queues") && is_null(a, "/locks"));
	assert_int_equal(json_array_size(json_at(a, "/unknown")), 2);
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

/*
 * The reason stays until Redis answers. A connection that drains after another connection's
 * timeout, and then reconnects, does not replace the reason.
 */
TEST(the_reason_stays_until_redis_answers)
{
	struct daemon d = { 0 };
	struct redis_server server = { 0 };
	struct client *usual = client;

	server_start(&server);
	daemon_start(&d, "--redis", server.url, "--redis-timeout-ms", "500", "--pool-size", "4");
	client = client_open(d.port);
	assert_true(is_null(http(client, "GET", "/info", NULL), "/redis/away_since_at_ms"));
	killed_at_ms = int_at(overview(), "/at_ms");
	server_signal(&server, SIGSTOP);
	assert_status(http(client, "GET", "/counters/a", NULL), 504);
	json_int_t since_at_ms = int_at(http(client, "GET", "/info", NULL), "/redis/away_since_at_ms");
	assert_true(since_at_ms >= killed_at_ms + 500);
	for (int64_t until_ms = monotonic_ms() + 1500; monotonic_ms() < until_ms;) {
		struct answer a = http(client, "GET", "/info", NULL);
		assert_non_null(strstr(text_at(a, "/redis/error"), "answer"));
		assert_string_equal(text_at(a, "/redis/nodes/0/error"), text_at(a, "/redis/error"));
		assert_int_equal(int_at(a, "/redis/away_since_at_ms"), since_at_ms);
		assert_int_equal(int_at(a, "/redis/nodes/0/away_since_at_ms"), since_at_ms);
		struct answer refused = http(client, "GET", "/counters/a", NULL);
		assert_status(refused, 503);
		assert_non_null(strstr(text_at(refused, "/detail"), "answer"));
	}
	struct answer a = overview();
	assert_int_equal(json_integer_value(json_object_get(finding(a, "redis_away"), "since_at_ms")), since_at_ms);
	server_signal(&server, SIGCONT);
	wait_until(is_null(http(client, "GET", "/info", NULL), "/redis/error"), SOON_MS);
	assert_true(is_null(http(client, "GET", "/info", NULL), "/redis/away_since_at_ms"));
	wait_until(!finding(overview(), "redis_away"), SOON_MS);
	client_close(client);
	client = usual;
	daemon_stop(&d);
	server_stop(&server);
}

/* An overview has its own limits: it does not wait for --redis-timeout-ms. */
TEST(a_look_waits_two_seconds_for_an_answer)
{
	struct daemon d = { 0 };
	struct redis_server server = { 0 };
	struct client *usual = client;

	server_start(&server);
	daemon_start(&d, "--redis", server.url, "--redis-timeout-ms", "60000");
	client = client_open(d.port);
	server_signal(&server, SIGSTOP);
	int64_t began_ms = monotonic_ms();
	struct answer a = http(client, "GET", "/overview", NULL);
	assert_in_range(monotonic_ms() - began_ms, 1990, patience_ms(4000));
	assert_true(is_null(a, "/queues") && is_null(a, "/locks") && !is_null(a, "/push"));
	assert_string_equal(text_at(a, "/unknown/0/code"), "no_answer");
	assert_string_equal(text_at(a, "/unknown/1/code"), "no_answer");
	server_signal(&server, SIGCONT);
	client_close(client);
	client = usual;
	daemon_stop(&d);
	server_stop(&server);
}

/* Returns how many findings are of that kind. */
static int findings(struct answer a, const char *kind)
{
	const json_t *list = json_at(a, "/findings");
	int count = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		count += strcmp(json_string_value(json_object_get(json_array_get(list, i), "kind")), kind) == 0;
	return count;
}

/* Asks each shard, so that each node refuses a call. */
static int refused(void)
{
	int count = 0;

	for (int i = 0; i < STAGE_NAMES; i++) {
		struct answer a = send_to(stage_names[i]);
		count += a.status == 503 && strcmp(text_at(a, "/code"), "redis_cluster_unsettled") == 0;
	}
	return count;
}

/* With cluster-require-full-coverage, the nodes that remain refuse each call. */
TEST(a_cluster_that_is_down_refuses, .before = cluster_of_masters, .after = cluster_stage_close)
{
	cluster_kill(&cluster, 0);
	wait_until(refused() == STAGE_NAMES - STAGE_NAMES / CLUSTER_MASTERS, SOON_MS);
	struct answer a = overview();
	assert_int_equal(findings(a, "redis_refuses"), CLUSTER_MASTERS - 1);
	assert_int_equal(findings(a, "shard_away"), 1);
	assert_non_null(
		strstr(json_string_value(json_object_get(finding(a, "redis_refuses"), "detail")), "CLUSTERDOWN"));
	assert_int_equal(metric_of(&patternd, "redis_refusing"), CLUSTER_MASTERS - 1);
	cluster_restart(&cluster, 0);
	cluster_wait_well(&cluster);
	wait_until(int_at(overview(), "/finding_count") == 0, SOON_MS);
	assert_int_equal(metric_of(&patternd, "redis_refusing"), 0);
}
