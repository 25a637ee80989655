/*
 * Locks on a majority of three servers. Some of the servers are dead, stopped, slow, out of memory,
 * or have another clock.
 */
#include <signal.h>
#include <time.h>

#include "../support/aside.h"
#include "../support/leap.h"
#include "../support/proxy.h"
#include "../support/quorum.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 10000 };

static const char a_minute[] = "{\"ttl_ms\":60000}";

static struct answer acquire(void)
{
	return http(quorum.c[0], "POST", "/locks/a", a_minute);
}

static struct answer extend(const char *token)
{
	return http(quorum.c[1], "POST", "/locks/a/extend", a_minute, lock_token(token));
}

static struct answer release(const char *token)
{
	return quorum_release(quorum.c[1], "/locks/a", token);
}

static void assert_taken(struct answer a, int acked)
{
	assert_status(a, 201);
	assert_string_equal(text_at(a, "/safety/mode"), "quorum");
	assert_int_equal(int_at(a, "/safety/acknowledged"), acked);
	assert_int_equal(int_at(a, "/safety/servers"), 3);
}

/* ---- Dead ---- */

SUITE(.open = quorum_open, .close = quorum_close, .after = quorum_forget, .columns = 2);

TEST(one_dead_of_three_does_not_matter)
{
	server_kill(&quorum.servers[1]);
	quorum_wait_up(2);
	struct answer a = acquire();
	assert_taken(a, 2);
	assert_in_range(a.took_us, 0, QUORUM_TIMEOUT_MS * 1000 / 2);
	assert_problem(acquire(), 409, "lock_held", "none");
	assert_true(bool_at(http(quorum.c[1], "GET", "/locks/a", NULL), "/held"));
	struct answer e = extend(text_at(a, "/token"));
	assert_status(e, 200);
	assert_int_equal(int_at(e, "/safety/acknowledged"), 2);
	assert_int_equal(int_at(release(text_at(a, "/token")), "/holds"), 0);
	assert_int_equal(int_at(release(text_at(a, "/token")), "/holds"), 0); /* a repeated release */
	assert_int_equal(quorum_copies("a"), 0);
}

TEST(two_dead_of_three_grant_nothing_and_keep_nothing)
{
	struct answer before = acquire();
	assert_status(release(text_at(before, "/token")), 200);
	for (int i = 0; i < 2; i++)
		server_kill(&quorum.servers[i]);
	quorum_wait_up(1);
	struct answer a = acquire();
	assert_problem(a, 503, "no_quorum", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "1 of 3"));
	assert_non_null(strstr(text_at(a, "/detail"), "127.0.0.1:")); /* the detail names the server and the cause */
	assert_non_null(header_of(a, "Retry-After"));
	wait_until(quorum_copies("a") == 0, SOON_MS);
	assert_problem(http(quorum.c[0], "GET", "/locks/a", NULL), 503, "no_quorum", "none");
	for (int i = 0; i < 2; i++)
		server_restart(&quorum.servers[i]);
	quorum_wait_up(3);
	a = acquire();
	assert_taken(a, 3);
	assert_true(int_at(a, "/fence") > int_at(before, "/fence"));
}

/* The holder does not learn the outcome, but its lock is not taken away. */
TEST(the_holder_keeps_it_while_a_majority_is_away)
{
	struct answer a = acquire();
	for (int i = 0; i < 2; i++)
		proc_signal(&quorum.servers[i].proc, SIGSTOP);
	assert_problem(extend(text_at(a, "/token")), 503, "no_quorum", "unknown");
	for (int i = 0; i < 2; i++)
		proc_signal(&quorum.servers[i].proc, SIGCONT);
	quorum_wait_up(3);
	assert_status(extend(text_at(a, "/token")), 200);
	assert_int_equal(quorum_copies("a"), 3);
	for (int i = 0; i < 2; i++)
		server_kill(&quorum.servers[i]);
	quorum_wait_up(1);
	assert_problem(release(text_at(a, "/token")), 503, "no_quorum", "unknown");
	assert_int_equal(quorum_copies("a"), 0);
}

static bool is_found(const char *kind)
{
	return json_item(http(quorum.c[0], "GET", "/overview", NULL), "/findings", "kind", kind) != NULL;
}

TEST(a_full_server_is_found)
{
	server_command(&quorum.servers[0], "CONFIG SET maxmemory 1");
	assert_taken(acquire(), 2);
	wait_until(is_found("memory_full"), SOON_MS);
	server_command(&quorum.servers[0], "CONFIG SET maxmemory 0");
	wait_until(quorum_release(quorum.c[0], "/locks/b", "x").status && !is_found("memory_full"), SOON_MS);
}

/*
 * The connection of a server that rejects the password now does not delay the others, and is not
 * tried more often because they are.
 */
TEST(a_rejection_does_not_delay_a_permission_elsewhere)
{
	struct daemon d = { 0 };
	char url[64];

	server_command(&quorum.main, "ACL SETUSER other on >secret ~* &* +@all -evalsha -eval");
	snprintf(url, sizeof(url), "redis://other:secret@127.0.0.1:%d", quorum.main.port);
	may_leap(&d);
	daemon_launch(&d, "--redis", url, "--lock-quorum", quorum.urls, "--redis-timeout-ms", "5000");
	struct client *c = client_open(d.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, "evalsha"), SOON_MS);
	server_command(&quorum.servers[0], "ACL SETUSER default resetpass >new");
	wait_until(daemon_log_count(&d, "redis_not_renewed") > 0, SOON_MS);
	long connects = metric_of(&d, "redis_connects_total");
	leap(&d, 2); /* the permissions are asked about every 2 s, a server that rejects every 5 s */
	wait_until(metric_of(&d, "redis_connects_total") >= connects + 4, SOON_MS);
	assert_true(daemon_is_sanitized() || metric_of(&d, "redis_connect_failures_total") == 1);
	server_command(&quorum.main, "ACL SETUSER other +@all");
	wait_until(http(c, "GET", "/readyz", NULL).status == 200, SOON_MS);
	client_close(c);
	daemon_stop(&d);
	server_command(&quorum.servers[0], "ACL SETUSER default nopass");
	server_command(&quorum.main, "ACL DELUSER other");
}

/* ---- Stopped: connected, and silent ---- */

/*
 * The daemon waits for a stopped server once, not in each round. When the server continues, it runs
 * the commands in order.
 */
TEST(a_stopped_server_costs_its_time_and_no_more)
{
	proc_signal(&quorum.servers[2].proc, SIGSTOP);
	struct answer a = acquire();
	assert_taken(a, 2);
	assert_in_range(a.took_us, QUORUM_TIMEOUT_MS * 1000 - 5000, QUORUM_TIMEOUT_MS * 1000 * 9 / 5);
	a = release(text_at(a, "/token"));
	assert_status(a, 200);
	quorum_wait_up(2); /* the daemon has given up the server */
	a = http(quorum.c[0], "POST", "/locks/b", a_minute);
	assert_taken(a, 2);
	assert_in_range(a.took_us, 0, QUORUM_TIMEOUT_MS * 1000 / 2);
	proc_signal(&quorum.servers[2].proc, SIGCONT);
	quorum_wait_up(3);
	wait_until(quorum_copies("a") == 0, SOON_MS);
	a = acquire();
	assert_taken(a, 3);
}

TEST(two_stopped_servers_keep_nothing_when_they_continue)
{
	assert_taken(http(quorum.c[0], "POST", "/locks/b", a_minute), 3); /* all servers have the script */
	for (int i = 0; i < 2; i++)
		proc_signal(&quorum.servers[i].proc, SIGSTOP);
	struct answer a = acquire();
	assert_problem(a, 503, "no_quorum", "none");
	assert_in_range(a.took_us, QUORUM_TIMEOUT_MS * 1000 - 5000, QUORUM_TIMEOUT_MS * 1000 * 9 / 5);
	for (int i = 0; i < 2; i++)
		proc_signal(&quorum.servers[i].proc, SIGCONT);
	quorum_wait_up(3);
	for (int i = 0; i < QUORUM_SERVERS; i++) /* the servers did grant the lock */
		wait_until(server_command(&quorum.servers[i], "EXISTS p:lock:{a}:fence")->integer == 1, SOON_MS);
	wait_until(quorum_copies("a") == 0, SOON_MS);
	assert_taken(acquire(), 3);
}

/* ---- While a client waits ---- */

/* Returns a waiter at the second daemon when the daemon has tried again `more` times. */
static struct raw *waits(const char *body, long more)
{
	long tries = metric_of(&quorum.d[1], "wait_retries_total");
	struct raw *w = waiter_at(&quorum.d[1], "/locks/a", body, "");

	wait_until(metric_of(&quorum.d[1], "wait_retries_total") >= tries + more, SOON_MS);
	return w;
}

/* A new request does not wait for servers that are away; an existing waiter does. */
TEST(a_waiter_outlasts_the_majority)
{
	assert_taken(acquire(), 3);
	struct raw *w = waits("{\"ttl_ms\":60000,\"wait_ms\":30000}", 3), *brief = waits("{\"wait_ms\":2000}", 3);
	for (int i = 0; i < 2; i++)
		server_kill(&quorum.servers[i]);
	quorum_wait_up(1);
	assert_problem(http(quorum.c[0], "POST", "/locks/a", "{\"wait_ms\":20000}"), 503, "no_quorum", "none");
	assert_problem(waiter_answer(brief, "/locks/a", SOON_MS), 503, "no_quorum", "none");
	assert_false(waiter_is_answered(w));
	for (int i = 0; i < 2; i++) /* the restarted servers have forgotten the lock: it is free */
		quorum_restart(i, NULL);
	assert_status(waiter_answer(w, "/locks/a", SOON_MS), 201);
	raw_close(w);
	raw_close(brief);
}

/* The daemon released the locks of two tries in their order, over the same connection. */
TEST(a_stopped_server_keeps_nothing_of_any_try)
{
	struct answer held = acquire();
	assert_taken(held, 3);
	server_command(&quorum.servers[2], "DEL p:lock:{a}");
	proc_signal(&quorum.servers[2].proc, SIGSTOP);
	struct raw *w = waits("{\"ttl_ms\":60000,\"wait_ms\":30000}", 1); /* the connection lives for three tries */
	raw_close(w);
	wait_until(waiting_at(&quorum.d[1]) == 0, SOON_MS);
	proc_signal(&quorum.servers[2].proc, SIGCONT);
	quorum_wait_up(3);
	wait_until(quorum_copies("a") == 2, SOON_MS);
	assert_status(release(text_at(held, "/token")), 200);
	wait_until(quorum_copies("a") == 0, SOON_MS);
	assert_taken(acquire(), 3);
}

/* ---- A stopped daemon ---- */

/* True when the second round was carried out: all servers have the same fence. */
static bool have_the_fence(void)
{
	long long fences[QUORUM_SERVERS];

	for (int i = 0; i < QUORUM_SERVERS; i++) {
		const redisReply *r = server_command(&quorum.servers[i], "HGET p:lock:{a} fence");
		fences[i] = r->str ? atoll(r->str) : -1 - i;
	}
	return fences[0] == fences[1] && fences[1] == fences[2];
}

/*
 * Asks for the lock, and stops the daemon while the last answers are on their way. Returns NULL
 * when a busy machine was too late for that.
 */
static struct raw *ask_and_stop(struct daemon *d)
{
	struct raw *r = waiter_at(d, "/locks/a", "{\"ttl_ms\":3000}", "");

	wait_until(have_the_fence(), SOON_MS);
	proc_signal(&d->proc, SIGSTOP);
	if (!waiter_is_answered(r))
		return r;
	proc_signal(&d->proc, SIGCONT);
	assert_status(release(text_at(waiter_answer(r, "/locks/a", SOON_MS), "/token")), 200);
	raw_close(r);
	return NULL;
}

/*
 * The answers arrive while the daemon is stopped. It must not grant a lock that has expired by
 * then.
 */
TEST(a_daemon_stopped_too_long_grants_nothing)
{
	struct proxy *proxies[QUORUM_SERVERS];
	struct daemon d = { 0 };
	char urls[256] = "";

	for (int i = 0; i < QUORUM_SERVERS; i++) {
		proxies[i] = proxy_open(quorum.servers[i].port);
		snprintf(urls + strlen(urls), sizeof(urls) - strlen(urls), "%s%s", i ? "," : "", proxy_url(proxies[i]));
	}
	daemon_start(&d, "--redis", quorum.main.url, "--lock-quorum", urls, "--lock-quorum-timeout-ms", "1000");
	wait_until(metric_of(&d, "lock_quorum_members_up") == 3, SOON_MS);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		proxy_set(proxies[i], (struct proxy_fault){ .delay_ms = 100 });
	struct raw *r = NULL;
	wait_until((r = ask_and_stop(&d)), SOON_MS);
	wait_until(quorum_copies("a") == 0, SOON_MS); /* the lock has expired */
	proc_signal(&d.proc, SIGCONT);
	struct answer a = waiter_answer(r, "/locks/a", SOON_MS);
	assert_problem(a, 503, "no_quorum", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "had expired"));
	raw_close(r);
	daemon_stop(&d);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		proxy_close(proxies[i]);
	assert_int_equal(quorum_copies("a"), 0);
}

TEST(what_full_servers_refuse_is_released_by_the_others)
{
	for (int i = 0; i < 2; i++)
		server_command(&quorum.servers[i], "CONFIG SET maxmemory 1");
	struct answer a = acquire();
	for (int i = 0; i < 2; i++)
		server_command(&quorum.servers[i], "CONFIG SET maxmemory 0");
	assert_problem(a, 503, "no_quorum", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "OOM"));
	wait_until(quorum_copies("a") == 0, SOON_MS);
}

TEST(what_is_not_ours_at_one_server_is_left_alone)
{
	server_command(&quorum.servers[0], "SET p:lock:{a} theirs");
	struct answer a = acquire();
	assert_taken(a, 2);
	assert_status(release(text_at(a, "/token")), 200);
	assert_string_equal(server_command(&quorum.servers[0], "GET p:lock:{a}")->str, "theirs");
	server_command(&quorum.servers[1], "SET p:lock:{a} theirs");
	a = acquire();
	assert_problem(a, 503, "no_quorum", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "WRONGTYPE"));
	wait_until(server_command(&quorum.servers[2], "EXISTS p:lock:{a}")->integer == 0, SOON_MS);
}

/* ---- Scripts forgotten, Redis away ---- */

TEST(scripts_that_were_forgotten_are_sent_again)
{
	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_command(&quorum.servers[i], "SCRIPT FLUSH");
	struct answer a = acquire();
	assert_taken(a, 3);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_command(&quorum.servers[i], "SCRIPT FLUSH");
	assert_status(release(text_at(a, "/token")), 200);
	assert_int_equal(quorum_copies("a"), 0);
}

/* A daemon's connections: two and a subscriber to Redis, one to each server of the quorum. */
enum { LINKS = QUORUM_SERVERS + 3 };

/* Locks work without Redis, and everything else works without the quorum. */
TEST(locks_do_not_need_redis_nor_redis_them)
{
	long connects = metric_of(&quorum.d[0], "redis_connects_total");

	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_kill(&quorum.servers[i]);
	quorum_wait_up(0);
	assert_problem(acquire(), 503, "no_quorum", "none");
	assert_status(http(quorum.c[0], "POST", "/counters/c/increment", "{\"counters\":{\"n\":1}}"), 200);
	assert_true(daemon_is_ready(&quorum.d[0], SOON_MS));
	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_restart(&quorum.servers[i]);
	quorum_wait_up(3);
	server_kill(&quorum.main);
	wait_until(metric_of(&quorum.d[0], "redis_up") == 0, SOON_MS);
	assert_taken(acquire(), 3);
	server_restart(&quorum.main);
	for (int i = 0; i < 2; i++)
		wait_until(metric_of(&quorum.d[i], "redis_up") == 1, SOON_MS);
	wait_until(metric_of(&quorum.d[0], "redis_connects_total") == connects + LINKS, SOON_MS);
}

/* SIGHUP renews the connections to all servers. No vote is lost by that. */
TEST(renewed_connections_cost_no_vote)
{
	long connects = metric_of(&quorum.d[0], "redis_connects_total");

	proc_signal(&quorum.d[0].proc, SIGHUP);
	do {
		struct answer a = acquire();
		assert_taken(a, 3);
		assert_status(quorum_release(quorum.c[0], "/locks/a", text_at(a, "/token")), 200);
	} while (metric_of(&quorum.d[0], "redis_connects_total") < connects + LINKS);
	assert_int_equal(metric_of(&quorum.d[0], "redis_connects_total"), connects + LINKS);
}

/* ---- Clocks ---- */

/*
 * One server's clock is an hour ahead, and later it is not. Times follow the daemon's clock, and
 * fences rise across both changes.
 */
TEST(a_server_by_another_clock_shifts_nothing)
{
	struct answer first = acquire();
	assert_status(release(text_at(first, "/token")), 200);
	server_kill(&quorum.servers[0]);
	quorum_wait_up(2);
	quorum_restart(0, clock_off_by(3600));
	quorum_wait_up(3);
	assert_true(server_now_ms(&quorum.servers[0]) / 1000 > time(NULL) + 3500);
	struct answer a = acquire();
	assert_taken(a, 3);
	assert_in_range(int_at(a, "/fence"), int_at(first, "/fence") + 3500LL * 1000000, INT64_MAX);
	assert_in_range(int_at(a, "/ttl_ms"), 50000, 60000);
	assert_in_range(int_at(a, "/expires_at_ms"), int_at(first, "/expires_at_ms"),
			int_at(first, "/expires_at_ms") + 60000);
	struct answer seen = http(quorum.c[1], "GET", "/locks/a", NULL);
	assert_true(bool_at(seen, "/held"));
	assert_in_range(int_at(seen, "/ttl_ms"), 50000, 60000);
	assert_status(release(text_at(a, "/token")), 200);
	server_kill(&quorum.servers[0]);
	quorum_wait_up(2);
	server_restart(&quorum.servers[0]);
	quorum_wait_up(3);
	struct answer last = acquire();
	assert_taken(last, 3);
	assert_true(int_at(last, "/fence") > int_at(a, "/fence"));
}

/* A server that refuses calls has a finding, and does not keep the others from granting locks. */
TEST(a_server_that_refuses_has_a_finding)
{
	/* The servers may still refuse by an earlier test. */
	wait_until(quorum_findings() == 0, SOON_MS);
	server_command(&quorum.servers[1], "CONFIG SET min-replicas-to-write 5");
	assert_taken(acquire(), 2);
	struct answer a = http(quorum.c[0], "GET", "/overview", NULL);
	assert_int_equal(quorum_findings(), 1);
	assert_string_equal(text_at(a, "/findings/0/kind"), "redis_refuses");
	assert_non_null(strstr(text_at(a, "/findings/0/detail"), "NOREPLICAS"));
	a = http(quorum.c[0], "GET", "/info", NULL);
	assert_string_equal(text_at(a, "/lock_quorum/1/refusal/code"), "redis_replicas_missing");
	assert_true(json_is_null(json_at(a, "/lock_quorum/0/refusal")));
	server_command(&quorum.servers[1], "CONFIG SET min-replicas-to-write 0");
	wait_until(quorum_findings() == 0, SOON_MS);
}
