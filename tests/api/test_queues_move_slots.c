/*
 * Dead letters that move between queues in different slots of a Redis Cluster, by a redrive and by
 * a dead_letter_queue: in three steps, between which a daemon is killed.
 */
#include <signal.h>

#include "../support/pair.h"
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 10000, LETTERS = 250, BATCH = 50 };

static struct answer ask(const char *method, const char *queue, const char *tail, const char *body)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/%s%s", queue, tail);
	return http(pair.c[0], method, target, body);
}

static int64_t count_of(const char *queue, const char *member)
{
	struct answer a = ask("GET", queue, "", NULL);

	return a.status == 200 ? int_at(a, member) : 0;
}

/* Looks in Redis, since a GET begins the move of dead letters. */
static long long dead_in_redis(const char *queue)
{
	return server_command(&pair.redis, "ZCARD p:queue:{%s}:dead", queue)->integer;
}

/* Makes a dead letter of `low`. */
static void die(const char *id)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"body\":1,\"id\":\"%s\"}", id);
	assert_status(ask("POST", low, "/messages", text), 201);
	struct answer a = ask("POST", low, "/receive", NULL);
	snprintf(text, sizeof(text), "/deliveries/%s/reject", text_at(a, "/messages/0/receipt"));
	assert_status(ask("POST", low, text, "{\"dead\":true}"), 200);
}

static void die_many(void)
{
	char *body = malloc(256 * BATCH), pointer[64];

	assert_non_null(body);
	for (int done = 0; done < LETTERS; done += BATCH) {
		char *at = body + sprintf(body, "{\"messages\":[");
		for (int i = 0; i < BATCH; i++)
			at += sprintf(at, "%s{\"body\":1,\"id\":\"m%d\"}", i ? "," : "", done + i);
		strcpy(at, "]}");
		assert_status(ask("POST", low, "/messages", body), 201);
		struct answer a = ask("POST", low, "/receive", "{\"limit\":50}");
		at = body + sprintf(body, "{\"reject\":[");
		for (int i = 0; i < BATCH; i++) {
			snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
			at += sprintf(at, "%s{\"receipt\":\"%s\",\"dead\":true}", i ? "," : "", text_at(a, pointer));
		}
		strcpy(at, "]}");
		assert_status(ask("POST", low, "/settle", body), 200);
	}
	free(body);
	assert_int_equal(dead_in_redis(low), LETTERS);
}

/* A redrive of `low` into `high`; `more` are further members. */
static struct answer redrive(const char *more)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"to\":\"%s\"%s}", high, more);
	return ask("POST", low, "/redrive", body);
}

static void assert_redriven(struct answer a, int64_t redriven, int64_t duplicates)
{
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/redriven"), redriven);
	assert_int_equal(int_at(a, "/duplicates"), duplicates);
}

TEST(letters_move_between_slots)
{
	assert_status(ask("POST", high, "/messages", "{\"body\":2,\"id\":\"m7\"}"), 201);
	die_many();
	assert_redriven(redrive(",\"limit\":120"), 120, 1);
	assert_int_equal(dead_in_redis(low), LETTERS - 120);
	assert_redriven(redrive(""), LETTERS - 121, 1);
	assert_int_equal(dead_in_redis(low), 1);
	assert_int_equal(count_of(high, "/ready"), LETTERS);
	struct answer a = ask("GET", high, "/messages/m8", NULL);
	assert_string_equal(text_at(a, "/dead_from"), low);
	assert_int_equal(int_at(a, "/receives"), 0);
	assert_int_equal(int_at(a, "/body"), 1);
	assert_redriven(redrive(""), 0, 1);
	a = http(pair.c[0], "GET", "/queues", NULL); /* the queue that was made is listed */
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
}

TEST(chosen_letters_move_one_after_the_other)
{
	die("a");
	die("b");
	die("c");
	assert_redriven(redrive(",\"ids\":[\"c\",\"none\",\"a\"],\"interval_ms\":3600000"), 2, 0);
	assert_int_equal(dead_in_redis(low), 1);
	assert_int_equal(int_at(ask("GET", high, "/messages/a", NULL), "/deliver_at_ms"),
			 int_at(ask("GET", high, "/messages/c", NULL), "/deliver_at_ms") + 3600000);
}

TEST(a_move_between_slots_has_no_record)
{
	char target[64], body[64];

	die("a");
	snprintf(target, sizeof(target), "/queues/%s/redrive", low);
	snprintf(body, sizeof(body), "{\"to\":\"%s\"}", high);
	struct answer a = http(pair.c[0], "POST", target, body, "Idempotency-Key: k");
	assert_problem(a, 400, "idempotency_unavailable", "none");
	assert_int_equal(dead_in_redis(low), 1);
}

TEST(a_queue_of_another_kind_keeps_the_letters_dead)
{
	die("a");
	server_command(&pair.redis, "SET p:queue:{%s} 1", high);
	assert_problem(redrive(""), 500, "foreign_key", "none");
	assert_int_equal(dead_in_redis(low), 1);
}

/* ---- A daemon is killed between two steps ---- */

static struct proc *node_of_high(void)
{
	return &pair.redis.cluster->nodes[2].server.proc;
}

/* A call that another server gets has been answered by the second look. */
static bool waits_for_a_stopped_server(void)
{
	if (metric_of(&pair.d[0], "redis_calls_in_flight") != 1)
		return false;
	nap_ms(150);
	return metric_of(&pair.d[0], "redis_calls_in_flight") == 1;
}

/* Kills the first daemon once it has sent the letters to the other queue, which stores them. */
static void kill_and_restart(void)
{
	wait_until(waits_for_a_stopped_server(), SOON_MS);
	daemon_kill(&pair.d[0]);
	proc_signal(node_of_high(), SIGCONT);
	pair_restart(0);
	wait_until(count_of(high, "/ready") == 1, SOON_MS);
	assert_int_equal(dead_in_redis(low), 1); /* it is in both */
}

static void break_a_redrive_off(void)
{
	char target[64], body[64];

	die("a");
	assert_status(ask("POST", high, "/messages", "{\"body\":2}"), 201); /* the script is known there */
	assert_status(ask("POST", high, "/purge", NULL), 200);
	assert_redriven(redrive(",\"ids\":[\"none\"]"), 0, 0);
	proc_signal(node_of_high(), SIGSTOP);
	snprintf(target, sizeof(target), "/queues/%s/redrive", low);
	snprintf(body, sizeof(body), "{\"to\":\"%s\"}", high);
	struct raw *w = pair_ask(0, target, body, "");
	kill_and_restart();
	raw_reset(w);
}

TEST(a_redrive_that_broke_off_is_repeated)
{
	break_a_redrive_off();
	assert_redriven(redrive(""), 1, 0);
	assert_int_equal(dead_in_redis(low), 0);
	assert_int_equal(count_of(high, "/ready"), 1);
	assert_redriven(redrive(""), 0, 0);
}

/* The other queue has it in any state, and does not get it again. */
TEST(a_redrive_is_repeated_while_a_worker_has_the_message)
{
	break_a_redrive_off();
	assert_int_equal(json_array_size(json_at(ask("POST", high, "/receive", NULL), "/messages")), 1);
	assert_redriven(redrive(""), 1, 0);
	assert_int_equal(dead_in_redis(low), 0);
	assert_int_equal(count_of(high, "/ready") + count_of(high, "/in_flight"), 1);
}

/* The other queue only remembers the id, and not where it came from. */
TEST(a_letter_that_was_acknowledged_there_stays)
{
	break_a_redrive_off();
	assert_status(ask("POST", high, "/receive", "{\"acknowledge\":true}"), 200);
	assert_redriven(redrive(""), 0, 1);
	assert_int_equal(dead_in_redis(low), 1);
	assert_int_equal(count_of(high, "/sent"), 2);
}

TEST(a_move_that_broke_off_is_repeated)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"dead_letter_queue\":\"%s\"}", high);
	assert_status(ask("PUT", high, "", "{}"), 201);
	assert_status(ask("PUT", low, "", body), 201);
	die("before");
	wait_until(count_of(high, "/ready") == 1, SOON_MS);
	assert_status(ask("POST", high, "/purge", NULL), 200);
	proc_signal(node_of_high(), SIGSTOP);
	die("a");
	kill_and_restart();
	wait_until(ask("POST", low, "/receive", NULL).status == 200 && dead_in_redis(low) == 0, SOON_MS);
	assert_int_equal(count_of(high, "/ready"), 1);
	assert_int_equal(count_of(high, "/sent"), 2);
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	return pair_open(state);
}

SUITE(.open = open_on_a_cluster, .close = pair_close, .after = pair_forget);
