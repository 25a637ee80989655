/*
 * Reads from replicas that lag, stop, lose their link, lose a connection in the middle of an
 * answer, or are not replicas any more. The primary answers instead, in time. The daemon reads
 * nothing that is older than --max-replica-lag-ms.
 */
#include <signal.h>

#include "aside.h"
#include "many.h"
#include "replicated.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 10000, TIMEOUT_MS = 1000, MARGIN_MS = 400 }; /* TIMEOUT_MS: --redis-timeout-ms */

static void count_up(void)
{
	assert_status(post("/counters/a/increment", "{\"counters\":{\"n\":1}}"), 200);
}

static struct answer read_count(void)
{
	struct answer a = get("/counters/a");

	assert_status(a, 200);
	return a;
}

static int64_t count_of(struct answer a)
{
	return json_at(a, "/counters/n") ? int_at(a, "/counters/n") : 0;
}

/* ---- All is well ---- */

SUITE(.open = replicated_open, .close = replicated_close, .after = replicated_forget, .columns = 2);

TEST(replicas_serve_in_turn)
{
	enum { READS = 20 };
	long long before[REPLICAS], primary;

	count_up();
	replicated_wait_synced();
	for (int i = 0; i < REPLICAS; i++)
		read_count(); /* the first use of a script is two commands */
	primary = server_scripts_run(&redis);
	for (int i = 0; i < REPLICAS; i++)
		before[i] = server_scripts_run(&replicas[i]);
	long served = metric_of(&patternd, "replica_reads_total");
	for (int i = 0; i < READS; i++) {
		struct answer a = read_count();
		assert_true(came_from_replica(a));
		assert_int_equal(count_of(a), 1);
	}
	assert_int_equal(server_scripts_run(&redis), primary);
	for (int i = 0; i < REPLICAS; i++)
		assert_int_equal(server_scripts_run(&replicas[i]) - before[i], READS / REPLICAS);
	assert_int_equal(metric_of(&patternd, "replica_reads_total") - served, READS);
}

TEST(what_is_missing_is_missing_there)
{
	struct answer a = get("/bloom/none");
	assert_problem(a, 404, "not_found", "none");
	assert_true(came_from_replica(a));
}

TEST(a_script_that_it_lacks_is_sent_whole)
{
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "SCRIPT FLUSH");
	for (int i = 0; i < 2 * REPLICAS; i++)
		assert_true(came_from_replica(read_count()));
}

TEST(info_has_them, .after = no_fixture)
{
	char pointer[64];

	struct answer a = get("/info");
	for (int i = 0; i < REPLICAS; i++) {
		snprintf(pointer, sizeof(pointer), "/redis/replicas/%d/serves", i);
		assert_true(bool_at(a, pointer));
		snprintf(pointer, sizeof(pointer), "/redis/replicas/%d/lag_ms", i);
		assert_in_range(int_at(a, pointer), 0, REPLICATED_LAG_MS);
	}
	assert_null(json_at(a, "/redis/replicas/2"));
}

/* ---- Lag ---- */

/*
 * The counter rises all the time while the link delays replication more and more, then less. Each
 * read includes everything written --max-replica-lag-ms or more before the request.
 */
TEST(nothing_older_is_read)
{
	enum { DELAYS = 5, MOST = 100000 };
	static const struct {
		int delay_ms, round_ms; /* data that is delayed by 1300 ms arrives in the next round */
	} rounds[DELAYS] = { { 0, 500 }, { 50, 700 }, { 1300, 1800 }, { 200, 1800 }, { 0, 700 } };
	static int64_t written_us[MOST]; /* when each count was acknowledged */
	int64_t count = 0, from_replicas = 0, older = 0;

	for (int k = 0; k < DELAYS; k++) {
		for (int i = 0; i < REPLICAS; i++)
			proxy_set(replica_link[i], (struct proxy_fault){ .delay_ms = rounds[k].delay_ms });
		for (int64_t until_ms = monotonic_ms() + rounds[k].round_ms;
		     monotonic_ms() < until_ms && count < MOST - 1;) {
			count_up();
			written_us[++count] = monotonic_us();
			int64_t asked_us = monotonic_us();
			struct answer a = read_count();
			int64_t seen = count_of(a);
			from_replicas += came_from_replica(a);
			older += seen < count;
			assert_true(came_from_replica(a) || seen == count);
			if (seen < count && written_us[seen + 1] < asked_us - REPLICATED_LAG_MS * 1000)
				fail_msg("delay %d ms: %lld of %lld was read, %lld ms after the next was written",
					 rounds[k].delay_ms, (long long)seen, (long long)count,
					 (long long)(asked_us - written_us[seen + 1]) / 1000);
			client_forget(client);
			nap_ms(1); /* hundreds of reads per second are enough */
		}
	}
	assert_true(from_replicas > 0); /* the test had effect: some reads were stale, and some were not allowed */
	assert_true(older > 0);
	assert_true(from_replicas < count);
}

TEST(a_link_that_is_down_ends_it)
{
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "REPLICAOF 127.0.0.1 %d", free_port());
	replicated_wait_usable(0);
	count_up();
	struct answer a = read_count();
	assert_false(came_from_replica(a));
	assert_int_equal(count_of(a), 1);
}

/* A server that is no longer a replica has its own data. */
TEST(only_a_replica_is_read)
{
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "REPLICAOF NO ONE");
	replicated_wait_usable(0);
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "HSET p:counter:{a} n 99");
	struct answer a = read_count();
	assert_false(came_from_replica(a));
	assert_int_equal(count_of(a), 0);
}

/* Without the primary, the daemon cannot detect that the replicas' data is older than allowed. */
TEST(without_the_primary_replicas_serve_only_for_so_long)
{
	count_up();
	proc_signal(&redis.proc, SIGSTOP);
	int64_t stopped_us = monotonic_us();
	replicated_wait_usable(0);
	assert_in_range(monotonic_us() - stopped_us, 0, (REPLICATED_LAG_MS + 2 * MARGIN_MS) * 1000);
	struct answer a = get("/counters/a");
	proc_signal(&redis.proc, SIGCONT);
	assert_in_range(a.status, 503, 504);
	assert_null(header_of(a, "Patternd-Source"));
}

/* ---- Failures ---- */

/* The replicas stop while the request is under way. */
TEST(stopped_replicas_cost_half_the_timeout)
{
	count_up();
	replicated_wait_synced();
	for (int i = 0; i < REPLICAS; i++)
		proc_signal(&replicas[i].proc, SIGSTOP);
	long fallbacks = metric_of(&patternd, "replica_fallbacks_total");
	struct answer a = read_count();
	assert_false(came_from_replica(a));
	assert_int_equal(count_of(a), 1);
	assert_in_range(a.took_us, 0, (TIMEOUT_MS / 2 + MARGIN_MS) * 1000);
	assert_int_equal(metric_of(&patternd, "replica_fallbacks_total") - fallbacks, 1);
	replicated_wait_usable(0);
	for (int i = 0; i < 10; i++)
		/* The daemon does not ask the stopped replicas. */
		assert_in_range(read_count().took_us, 0, MARGIN_MS * 1000);
}

/* Both the replica and the primary are silent: the request has one timeout, not two. */
TEST(the_primary_has_the_time_that_is_left)
{
	for (int i = 0; i < REPLICAS; i++)
		proc_signal(&replicas[i].proc, SIGSTOP);
	proc_signal(&redis.proc, SIGSTOP);
	struct answer a = get("/counters/a");
	proc_signal(&redis.proc, SIGCONT);
	assert_problem(a, 504, "no_answer", "none");
	assert_in_range(a.took_us, 0, (TIMEOUT_MS + MARGIN_MS) * 1000);
}

TEST(a_replica_that_dies_in_the_middle_of_an_answer)
{
	enum { BYTES = 30000 };

	server_command(&redis, "SETRANGE p:bitmap:{b} %d x", BYTES - 1);
	replicated_wait_synced();
	for (int i = 0; i < REPLICAS; i++)
		proxy_set(replica_access[i], (struct proxy_fault){ .cut = true,
								   .cut_at = BYTES / 2,
								   .cut_on = PROXY_BYTES("GETRANGE"),
								   .cut_percent = 100 });
	for (int i = 0; i < REPLICAS; i++) {
		replicated_wait_usable(REPLICAS);
		struct answer a = get("/bitmaps/b");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/bytes"), BYTES); /* from the primary; its expiry is a separate read */
	}
}

TEST(replicas_that_are_gone_are_not_asked)
{
	count_up();
	for (int i = 0; i < REPLICAS; i++)
		proxy_set(replica_access[i], (struct proxy_fault){ .refuse = true, .reset = true });
	for (int i = 0; i < 20; i++) {
		struct answer a = read_count();
		assert_true(count_of(a) == 1 || came_from_replica(a));
	}
	replicated_wait_usable(0);
	assert_int_equal(count_of(read_count()), 1);
}

TEST(what_a_replica_denies_the_primary_answers)
{
	count_up();
	for (int i = 0; i < REPLICAS; i++)
		server_command(&replicas[i], "ACL SETUSER default -evalsha");
	struct answer a = read_count();
	assert_false(came_from_replica(a));
	assert_int_equal(count_of(a), 1);
	server_command(&redis, "SET p:counter:{s} text");
	assert_problem(get("/counters/s"), 500, "foreign_key", "none");
}

static bool is_ready(int status)
{
	return get("/readyz").status == status;
}

TEST(a_replica_that_is_gone_lacks_no_permission)
{
	server_command(&replicas[0], "ACL SETUSER default -evalsha");
	proxy_set(replica_access[0], (struct proxy_fault){ .reset = true });
	wait_until(is_ready(503), SOON_MS);
	proxy_set(replica_access[0], (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(is_ready(200), SOON_MS);
}

/* ---- Options ---- */

TEST(options_that_make_no_sense_are_refused, .after = no_fixture)
{
	struct daemon d = { 0 };

	assert_int_equal(daemon_run(&d, "--redis-replicas", redis.url), 2);
	assert_true(proc_wrote(&d.proc, "without --read-from replica"));
	assert_int_equal(daemon_run(&d, "--max-replica-lag-ms", "500"), 2);
	assert_true(proc_wrote(&d.proc, "without --read-from replica"));
	assert_int_equal(daemon_run(&d, "--read-from", "replica"), 2);
	assert_true(proc_wrote(&d.proc, "--redis-replicas URL"));
	assert_int_equal(daemon_run(&d, "--read-from", "replica", "--redis-replicas", "redis://127.0.0.1:1,x"), 2);
	assert_true(proc_wrote(&d.proc, "server 2"));
	assert_int_equal(daemon_run(&d, "--read-from", "replica", "--redis-replicas", redis.url, "--redis",
				    "redis+cluster://127.0.0.1:1"),
			 2);
	assert_true(proc_wrote(&d.proc, "leave it out"));
	assert_int_equal(daemon_run(&d, "--read-from", "replica", "--redis-replicas", redis.url, "--max-replica-lag-ms",
				    "99"),
			 2);
}
