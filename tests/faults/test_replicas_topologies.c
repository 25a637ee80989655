/*
 * Reads from the replicas that Sentinels and a Cluster name, across failovers, moved slots and
 * nodes that die. Reads always find what was written and has reached the replicas.
 */
#include "aside.h"
#include "cluster_stage.h"
#include "redis_cluster_slots.h"
#include "redis_sentinel.h"
#include "replicated.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 20000, LAG_MS = 500, MOVED_KEYS = 60 };

static struct redis_sentinel sentinel;

static struct answer read_count(const char *name)
{
	char target[64];

	snprintf(target, sizeof(target), "/counters/%s", name);
	return http(client, "GET", target, NULL);
}

static bool count_up(const char *name)
{
	char target[64];

	snprintf(target, sizeof(target), "/counters/%s/increment", name);
	return http(client, "POST", target, "{\"counters\":{\"n\":1}}").status == 200;
}

static bool is_read_from_replica(const char *name, int64_t count)
{
	struct answer a = read_count(name);

	return a.status == 200 && came_from_replica(a) && json_at(a, "/counters/n") &&
	       int_at(a, "/counters/n") == count;
}

/* ---- Sentinels ---- */

static int sentinel_open(void **state)
{
	sentinel = (struct redis_sentinel){ 0 };
	sentinel_start(&sentinel);
	daemon_start(&patternd, "--redis", sentinel.url, "--read-from", "replica", "--max-replica-lag-ms", "500");
	client = client_open(patternd.port);
	replicated_wait_usable(2);
	return 0;
}

static int sentinel_end(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	sentinel_stop(&sentinel);
	return 0;
}

/*
 * The daemon reads the promoted replica as the primary, and the third server and the old master as
 * replicas.
 */
TEST(a_failover_under_sentinels, .before = sentinel_open, .after = sentinel_end)
{
	assert_true(count_up("a"));
	wait_until(is_read_from_replica("a", 1), SOON_MS);
	/* A busy machine may have caused a failover before. */
	long failovers = metric_of(&patternd, "redis_failovers_total");
	int old = sentinel_kill_master(&sentinel);
	int master = sentinel_wait_master(&sentinel, old);
	wait_until(count_up("b"), SOON_MS);
	wait_until(is_read_from_replica("a", 1), SOON_MS);
	replicated_wait_usable(1);
	sentinel_restart(&sentinel, old);
	replicated_wait_usable(2);
	wait_until(is_read_from_replica("b", 1), SOON_MS);
	assert_int_equal(sentinel_master(&sentinel), master);
	/*
	 * A Sentinel that is late reports the old master once more, which counts as a failover,
	 * too.
	 */
	assert_true(metric_of(&patternd, "redis_failovers_total") > failovers);
}

/*
 * When a replica dies, nothing changes in what the daemon reports. The replica returns by itself.
 */
TEST(a_replica_under_sentinels_dies_and_returns, .before = sentinel_open, .after = sentinel_end)
{
	int victim = sentinel_master(&sentinel) == 2 ? 1 : 2;

	assert_true(count_up("a"));
	server_kill(&sentinel.servers[victim]);
	for (int i = 0; i < 50; i++)
		assert_status(read_count("a"), 200);
	replicated_wait_usable(1);
	sentinel_restart(&sentinel, victim);
	replicated_wait_usable(2);
	wait_until(is_read_from_replica("a", 1), SOON_MS);
}

/* ---- A Cluster ---- */

static int cluster_open(void **state)
{
	cluster_with_replicas(state);
	client_close(client);
	daemon_stop(&patternd);
	daemon_start(&patternd, "--redis", cluster.url, "--read-from", "replica", "--max-replica-lag-ms", "500");
	client = client_open(patternd.port);
	replicated_wait_usable(CLUSTER_MASTERS);
	return 0;
}

TEST(every_slot_is_read_from_a_replica)
{
	for (int i = 0; i < STAGE_NAMES; i++) {
		assert_true(count_up(stage_names[i]));
		wait_until(is_read_from_replica(stage_names[i], 1), SOON_MS);
	}
}

/* Names in one slot, so that some of their keys have moved and others have not. */
struct moving {
	char names[MOVED_KEYS][24];
	int reads;
};

static void assert_all_are_read(struct moving *m)
{
	for (int i = 0; i < MOVED_KEYS; i++, m->reads++) {
		struct answer a = read_count(m->names[i]);
		assert_status(a, 200);
		if (!json_at(a, "/counters/n"))
			fail_msg("%s was not found, source %s", m->names[i], came_from_replica(a) ? "replica" : "-");
		client_forget(client);
	}
}

/* The pause lets the daemon see, between two probes, that a slot moves. */
static void on_moved(void *arg, int moved)
{
	if (moved == 0)
		nap_ms(LAG_MS);
	if (moved % 10 == 1)
		assert_all_are_read(arg);
}

/* Finds the slot's names by trial, since a name must not have a brace. */
static void name_slot(struct moving *m, int slot)
{
	int count = 0;

	for (int number = 0; count < MOVED_KEYS; number++) {
		snprintf(m->names[count], sizeof(m->names[count]), "m%d", number);
		count += slot_of(m->names[count]) == slot;
	}
}

/*
 * A replica of Redis 7 does not know that its primary's slot moves. It would answer without ASK, as
 * if keys that have moved did not exist.
 */
TEST(no_key_is_missing_while_its_slot_moves)
{
	static struct moving m;
	int slot = slot_of(stage_names[0]);

	name_slot(&m, slot);
	for (int i = 0; i < MOVED_KEYS; i++)
		assert_true(count_up(m.names[i]));
	client_forget(client);
	wait_until(is_read_from_replica(m.names[MOVED_KEYS - 1], 1), SOON_MS);
	cluster_migrate(&cluster, slot, 1, on_moved, &m);
	for (int64_t until_ms = monotonic_ms() + 4000; monotonic_ms() < until_ms; nap_ms(20))
		assert_all_are_read(&m);
	wait_until(is_read_from_replica(m.names[0], 1), SOON_MS); /* a replica of the new owner */
	assert_true(m.reads > 0);
}

TEST(a_replica_takes_over)
{
	assert_true(count_up(stage_names[0]));
	wait_until(is_read_from_replica(stage_names[0], 1), SOON_MS);
	int replica = cluster_replica_of(&cluster, 0);
	cluster_failover(&cluster, replica);
	wait_until(count_up(stage_names[0]), SOON_MS);
	wait_until(is_read_from_replica(stage_names[0], 2), SOON_MS);
	cluster_kill(&cluster, 0); /* the node is a replica now */
	wait_until(!came_from_replica(read_count(stage_names[0])), SOON_MS);
	struct answer a = read_count(stage_names[0]);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/counters/n"), 2);
	cluster_restart(&cluster, 0);
	wait_until(is_read_from_replica(stage_names[0], 2), SOON_MS);
}

SUITE(.before = cluster_open, .after = cluster_stage_close, .columns = 3);
