/*
 * A Cluster that changes while clients use it: slots move, masters die, replicas take over, nodes
 * stop, leave and return. Every request is answered in time, with its true effect.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/cluster_stage.h"
#include "../support/redis_cluster_slots.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, AGAIN_MS = 1000, CALLERS = 4 };

/* ---- Under load ---- */

static void proceed(void *arg, int moved)
{
	const struct load *l = arg;
	long from = load_answers(l);

	(void)moved;
	wait_until(load_answers(l) >= from + 20, SOON_MS);
}

SUITE(.before = cluster_of_masters, .after = cluster_stage_close, .columns = 3);

TEST(slots_move)
{
	struct load *l = cluster_under_load();

	for (int i = 0; i < 6; i++) {
		int slot = slot_of(stage_names[i % 2]);
		cluster_migrate(&cluster, slot, (cluster_owner(&cluster, slot) + 1) % CLUSTER_MASTERS, proceed, l);
		load_wait_served(l, SOON_MS);
	}
	assert_true(metric_of(&patternd, "redis_redirects_total") > 0);
	load_stop(l, 0);
}

/* A requested failover loses nothing. */
TEST(replicas_take_over, .before = cluster_with_replicas)
{
	struct load *l = cluster_under_load();
	int master = cluster_owner_of(&cluster, stage_names[0]);

	for (int i = 0; i < 2; i++) {
		int replica = cluster_replica_of(&cluster, master);
		cluster_failover(&cluster, replica);
		load_wait_served(l, SOON_MS);
		master = replica;
	}
	load_stop(l, 0);
}

TEST(a_master_dies, .before = cluster_with_replicas)
{
	struct load *l = cluster_under_load();
	int master = cluster_owner_of(&cluster, stage_names[0]);

	int replica = cluster_replica_of(&cluster, master);
	cluster_kill(&cluster, master);
	int64_t again_us = cluster_writable_us(stage_names[0]);
	cluster_be_patient(&cluster);
	wait_until(load_served_us(l, stage_names[0]) > again_us, SOON_MS);
	assert_in_range(load_served_us(l, stage_names[0]) - again_us, 0, AGAIN_MS * 1000);
	assert_true(load_failures(l) > 0);
	cluster_restart(&cluster, master);
	cluster_wait_well(&cluster);
	load_wait_served(l, SOON_MS);
	assert_int_equal(cluster_owner_of(&cluster, stage_names[0]), replica);
	/*
	 * The master replicates a write after its caller's answer: a write that it answered in its
	 * last instant may be lost.
	 */
	load_stop(l, CALLERS);
}

TEST(all_die_and_come_back)
{
	assert_status(get_lock(stage_names[0]), 200);
	for (int i = 0; i < cluster.count; i++)
		cluster_kill(&cluster, i);
	wait_until(send_to(stage_names[0]).status == 503, SOON_MS);
	for (int i = 0; i < STAGE_NAMES; i++) {
		struct answer a = send_to(stage_names[i]);
		assert_status(a, 503);
		assert_failed_in_time(a);
	}
	assert_status(http(client, "GET", "/healthz", NULL), 200);
	for (int i = 0; i < cluster.count; i++)
		cluster_restart(&cluster, i);
	cluster_wait_well(&cluster);
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, 2 * AGAIN_MS);
}

/* One node hangs. The others serve as before. */
TEST(a_node_hangs)
{
	for (int i = 0; i < STAGE_NAMES; i++)
		assert_status(get_lock(stage_names[i]), 200);
	server_signal(&cluster.nodes[1].server, SIGSTOP);
	for (int i = 0; i < 3 * STAGE_NAMES; i++) {
		struct answer a = send_to(stage_names[i % STAGE_NAMES]);
		if (i % 3 != 1) {
			assert_status(a, 201);
			assert_in_range(a.took_us, 0, STAGE_MARGIN_MS * 1000);
		} else {
			assert_failed_in_time(a);
		}
	}
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS); /* the circuit breaker of the node is open */
	server_signal(&cluster.nodes[1].server, SIGCONT);
	wait_until(send_to(stage_names[1]).status == 201, SOON_MS);
}

/* ---- A shard is gone, and the others serve ---- */

/* Returns the entry of GET /info for a node. It is valid until the next answer. */
static const json_t *node_in(struct answer info, int node)
{
	const json_t *all = json_at(info, "/redis/nodes"), *one;
	char address[32];
	size_t i;

	snprintf(address, sizeof(address), "127.0.0.1:%d", cluster.nodes[node].server.port);
	json_array_foreach(all, i, one)
		if (strcmp(json_string_value(json_object_get(one, "address")), address) == 0)
			return one;
	fail_msg("GET /info does not have %s", address);
	return NULL;
}

static void assert_all_is_served(void)
{
	struct answer info = http(client, "GET", "/info", NULL);

	assert_true(bool_at(info, "/redis/connected"));
	assert_true(json_is_null(json_at(info, "/redis/error")));
	assert_true(json_is_true(json_object_get(node_in(info, 1), "connected")));
	assert_true(json_is_null(json_object_get(node_in(info, 1), "error")));
}

/* Some slots cannot be served. Everything that operators look at reports it and names the node. */
TEST(a_shard_is_gone, .before = cluster_with_replicas)
{
	const int slots = 5462;

	for (int i = 0; i < cluster.count; i++)
		server_command(&cluster.nodes[i].server, "CONFIG SET cluster-require-full-coverage no");
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
	assert_true(metric_of(&patternd, "redis_up") == 1);
	assert_all_is_served();
	cluster_kill(&cluster, CLUSTER_MASTERS + 1); /* the replica of node 1 */
	cluster_kill(&cluster, 1);
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
	assert_int_equal(metric_of(&patternd, "cluster_slots_unserved"), slots);
	wait_until(send_to(stage_names[0]).status == 201 && send_to(stage_names[2]).status == 201, SOON_MS);
	assert_problem(send_to(stage_names[1]), 503, NULL, "none");
	char topic[64];
	snprintf(topic, sizeof(topic), "/topics/%s/stream", stage_names[1]);
	assert_problem(http(client, "GET", topic, NULL), 503, "redis_unavailable", "none");
	wait_until(strstr(text_at(http(client, "GET", "/info", NULL), "/redis/error"), "refused"), SOON_MS);
	struct answer info = http(client, "GET", "/info", NULL);
	assert_false(bool_at(info, "/redis/connected"));
	assert_int_equal(int_at(info, "/activity/gauges/redis_up"), 0);
	assert_true(json_is_false(json_object_get(node_in(info, 1), "connected")));
	assert_non_null(strstr(json_string_value(json_object_get(node_in(info, 1), "error")), "refused"));
	assert_int_equal(json_integer_value(json_object_get(node_in(info, 1), "slots")), slots);
	assert_true(json_is_true(json_object_get(node_in(info, 0), "connected")));
	assert_true(json_is_null(json_object_get(node_in(info, 0), "error")));
	/* All daemons see the same: if none were ready, no client would reach the other shards. */
	assert_true(daemon_is_ready(&patternd, 0));
	cluster_restart(&cluster, 1);
	wait_until(metric_of(&patternd, "redis_up") == 1, SOON_MS);
	assert_all_is_served();
	assert_int_equal(metric_of(&patternd, "cluster_slots_unserved"), 0);
}
