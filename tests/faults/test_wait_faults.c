/*
 * Faults while clients wait for messages or a cached value. Redis goes and comes back, the
 * subscriber's connection is cut, Redis permits no subscription, or SIGTERM stops the daemon. No
 * waiter is answered before its time, no message is missed, and each answer is true.
 */
#include <poll.h>
#include <signal.h>

#include "../support/exchange.h"
#include "../support/proxy.h"
#include "../support/stage.h"
#include "../support/vigil.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, SLACK_MS = 1000, CROWD = 20, CUTS = 100, MESSAGES = 300 };

#define LONG "{\"wait_ms\":30000}"

static char queue[16]; /* differs in each test: no daemon is subscribed to it before a client waits there */
static char queue_target[64], receive_target[64], messages_target[64];
static char cache_key[64], cache_target[64], fill_target[64]; /* for a cached value named like the queue */

static int new_queue(void **state)
{
	static int serial;

	snprintf(queue, sizeof(queue), "q%d", serial++);
	snprintf(queue_target, sizeof(queue_target), "/queues/%s", queue);
	snprintf(receive_target, sizeof(receive_target), "/queues/%s/receive", queue);
	snprintf(messages_target, sizeof(messages_target), "/queues/%s/messages", queue);
	snprintf(cache_key, sizeof(cache_key), "p:cache:{%s}", queue);
	snprintf(cache_target, sizeof(cache_target), "/cache/%s", queue);
	snprintf(fill_target, sizeof(fill_target), "/cache/%s/fill", queue);
	return 0;
}

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

static size_t count_in(struct answer a)
{
	assert_status(a, 200);
	assert_true(json_is_array(json_at(a, "/messages")));
	return json_array_size(json_at(a, "/messages"));
}

static void send_number(int number)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(post(messages_target, body), 201);
}

static struct raw *crowd[CROWD];

/* Parks the waiters one after the other, so that each gets its message in its turn. */
static void gather(const struct daemon *d)
{
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = waiter(d, queue, LONG);
		wait_until(all_parked(d, i + 1), SOON_MS);
	}
	wait_until(subscribers_of(&redis, queue) == 1 && all_parked(d, CROWD), SOON_MS);
}

static void disperse(void)
{
	for (int i = 0; i < CROWD; i++)
		raw_close(crowd[i]);
}

static int crowd_answered(void)
{
	int heard = 0;

	for (int i = 0; i < CROWD; i++)
		heard += waiter_is_answered(crowd[i]);
	return heard;
}

/* ---- Redis is gone ---- */

SUITE(.open = stage_open, .close = stage_close, .before = new_queue, .after = forget);

TEST(redis_may_go_and_come_back)
{
	for (int way = 0; way < 2; way++) {
		gather(&patternd);
		if (way == 0)
			server_kill(&redis);
		else
			server_stop(&redis);
		wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
		assert_int_equal(waiting_at(&patternd), CROWD);
		server_restart(&redis);
		wait_until(metric_of(&patternd, "redis_up") == 1 && subscribers_of(&redis, queue) == 1, SOON_MS);
		wait_until(all_parked(&patternd, CROWD), SOON_MS);
		assert_int_equal(crowd_answered(), 0);
		for (int i = 0; i < CROWD; i++) {
			send_number(i);
			struct answer a = waiter_answer(crowd[i], receive_target, SOON_MS);
			assert_int_equal(count_in(a), 1);
			assert_int_equal(int_at(a, "/messages/0/body"), i);
		}
		disperse();
	}
}

/* A waiter is answered with effect none when its wait ends, and not before. */
TEST(the_time_may_end_without_redis)
{
	int64_t start_ms = monotonic_ms();
	struct raw *w = waiter(&patternd, queue, "{\"wait_ms\":600}"), *keyed;
	keyed = waiter_at(&patternd, receive_target, "{\"wait_ms\":600}", "Idempotency-Key: one\r\n");
	wait_until(subscribers_of(&redis, queue) == 1, SOON_MS);
	wait_until(all_parked(&patternd, 2), SOON_MS);
	server_kill(&redis);
	assert_problem(waiter_answer(w, receive_target, SOON_MS), 503, "redis_unavailable", "none");
	assert_in_range(monotonic_ms() - start_ms, 599, 600 + SLACK_MS);
	assert_problem(waiter_answer(keyed, receive_target, SOON_MS), 503, "redis_unavailable", "none");
	assert_int_equal(waiting_at(&patternd), 0);
	/* New requests do not wait for Redis to return. */
	assert_problem(post(receive_target, LONG), 503, "redis_unavailable", "none");
	server_restart(&redis);
	wait_until(get(queue_target).status == 200, SOON_MS);
	raw_close(w);
	raw_close(keyed);
}

/* Redis deletes the wait queues with all other keys, and the waiters join again in their order. */
TEST(all_keys_may_be_deleted)
{
	static const char *const ways[] = { "FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC" };

	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		new_queue(state);
		gather(&patternd);
		char key[64];
		snprintf(key, sizeof(key), "p:queue:{%s}", queue);
		server_command(&redis, ways[way]);
		wait_until(tickets_at(&redis, key) == CROWD && all_parked(&patternd, CROWD), SOON_MS);
		for (int i = 0; i < CROWD; i++) {
			send_number(i);
			struct answer a = waiter_answer(crowd[i], receive_target, SOON_MS);
			assert_int_equal(count_in(a), 1);
			assert_int_equal(int_at(a, "/messages/0/body"), i);
		}
		disperse();
	}
}

/* A sender that waits for room has it when the queue is gone. */
TEST(a_queue_that_is_deleted_with_all_keys_has_room)
{
	assert_status(http(client, "PUT", queue_target, "{\"max_messages\":1}"), 201);
	send_number(1);
	struct raw *w = waiter_at(&patternd, messages_target, "{\"body\":2,\"wait_room_ms\":30000}", "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	server_command(&redis, "FLUSHALL");
	assert_status(waiter_answer(w, messages_target, SOON_MS), 201);
	raw_close(w);
}

TEST(scripts_may_be_forgotten)
{
	gather(&patternd);
	for (int i = 0; i < CROWD; i++) {
		server_command(&redis, "SCRIPT FLUSH");
		send_number(i);
		assert_int_equal(count_in(waiter_answer(crowd[i], receive_target, SOON_MS)), 1);
	}
	disperse();
}

/* ---- The subscriber is cut ---- */

/* A message sent while no daemon is subscribed is found when the channel is subscribed again. */
TEST(nothing_is_missed_while_it_is_cut)
{
	long heard = metric_of(&patternd, "wakeups_total");

	struct raw *w = raw_connect(patternd.port);
	for (int i = 0; i < CUTS; i++) {
		assert_true(waiter_ask(w, receive_target, LONG, ""));
		wait_until(subscribers_of(&redis, queue) == 1 && all_parked(&patternd, 1), SOON_MS);
		server_command(&redis, "CLIENT KILL TYPE pubsub");
		send_number(i);
		struct answer a = waiter_answer(w, receive_target, SOON_MS);
		assert_int_equal(count_in(a), 1);
		assert_int_equal(int_at(a, "/messages/0/body"), i);
		raw_forget(w);
	}
	heard = metric_of(&patternd, "wakeups_total") - heard;
	print_message("%d messages, %ld of them announced to a subscriber\n", CUTS, heard);
	assert_in_range(heard, 0, CUTS / 2); /* otherwise too few messages were sent during a cut */
	raw_close(w);
}

/* All kinds of waiters are woken after a cut. Another daemon makes the changes. */
TEST(all_are_subscribed_again_after_a_cut)
{
	struct daemon other = { 0 };
	struct vigil v;

	daemon_start(&other, "--redis", redis.url);
	struct client *others = client_open(other.port);
	vigil_begin(&v, &patternd, others, queue);
	server_command(&redis, "CLIENT KILL TYPE pubsub");
	vigil_must_wake(&v, SLACK_MS);
	client_close(others);
	daemon_stop(&other);
}

/* The proxy cuts all connections to Redis, while another daemon sends. */
TEST(nothing_is_missed_while_the_way_is_cut)
{
	struct proxy *proxy = proxy_open(redis.port);
	struct daemon far = { 0 };

	daemon_start(&far, "--redis", proxy_url(proxy));
	gather(&far);
	proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
	wait_until(subscribers_of(&redis, queue) == 0, SOON_MS);
	for (int i = 0; i < CROWD / 2; i++)
		send_number(i);
	assert_int_equal(crowd_answered(), 0);
	assert_int_equal(waiting_at(&far), CROWD);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(crowd_answered() == CROWD / 2, SOON_MS);
	for (int i = 0; i < CROWD; i++) {
		if (waiter_is_answered(crowd[i]))
			assert_int_equal(count_in(waiter_answer(crowd[i], receive_target, SOON_MS)), 1);
	}
	wait_until(all_parked(&far, CROWD / 2), SOON_MS);
	disperse();
	daemon_stop(&far);
	proxy_close(proxy);
}

/* Any number can be published as a due time. A message that is never due wakes no waiter. */
TEST(what_is_due_in_ages_wakes_no_waiter)
{
	static const char *const ages[] = { "9223372036854775807", "9223372036854775", "99999999999999999999" };
	struct raw *w = waiter(&patternd, queue, LONG);
	char message[32], channel[160];

	wait_until(subscribers_of(&redis, queue) == 1 && all_parked(&patternd, 1), SOON_MS);
	snprintf(channel, sizeof(channel), "%s",
		 server_command(&redis, "PUBSUB SHARDCHANNELS p:queue:{%s}@*", queue)->element[0]->str);
	long commands = metric_of(&patternd, "redis_commands_total"), heard = metric_of(&patternd, "wakeups_total");
	for (size_t i = 0; i < COUNT(ages); i++) {
		snprintf(message, sizeof(message), "! %s", ages[i]);
		assert_int_equal(server_command(&redis, "SPUBLISH %s %s", channel, message)->integer, 1);
	}
	wait_until(metric_of(&patternd, "wakeups_total") == heard + (long)(COUNT(ages)), SOON_MS);
	nap_ms(20); /* a timer that has expired fires within a millisecond */
	assert_int_equal(metric_of(&patternd, "redis_commands_total"), commands);
	assert_false(waiter_is_answered(w));
	raw_close(w);
}

/*
 * Redis refuses subscriptions. A waiter is not woken, but makes a last attempt when its wait ends.
 */
TEST(without_permission_the_last_try_counts)
{
	struct daemon deaf = { 0 };
	char url[160];

	server_command(&redis, "ACL SETUSER deaf on >pw ~* +@all allchannels");
	snprintf(url, sizeof(url), "redis://deaf:pw@127.0.0.1:%d/0", redis.port);
	daemon_start(&deaf, "--redis", url); /* the daemon is not ready without the channels */
	server_command(&redis, "ACL SETUSER deaf resetchannels");
	struct client *c = client_open(deaf.port);
	int64_t start_ms = monotonic_ms();
	struct raw *first = waiter(&deaf, queue, "{\"wait_ms\":500}"),
		   *second = waiter(&deaf, queue, "{\"wait_ms\":500}");
	wait_until(proc_wrote(&deaf.proc, "subscription_refused"), SOON_MS);
	/* The write succeeds, though Redis does not permit its announcement. */
	assert_status(http(c, "POST", messages_target, "{\"body\":1}"), 201);
	struct answer a = waiter_answer(first, receive_target, SOON_MS);
	assert_in_range(monotonic_ms() - start_ms, 499, 500 + SLACK_MS);
	struct answer b = waiter_answer(second, receive_target, SOON_MS);
	assert_int_equal(count_in(a) + count_in(b), 1);
	assert_status(http(c, "PUT", queue_target, "{}"), 200);
	/* Messages that become due by time need no channel. */
	assert_status(http(c, "POST", "/queues/due/messages", "{\"body\":1,\"delay_ms\":150}"), 201);
	assert_int_equal(count_in(http(c, "POST", "/queues/due/receive", LONG)), 1);
	char *log = file_text(deaf.proc.err_path), *said = strstr(log, "subscription_refused");
	assert_non_null(said);
	assert_null(strstr(said + 1, "subscription_refused")); /* the refusal is logged once */
	free(log);
	raw_close(first);
	raw_close(second);
	client_close(c);
	daemon_stop(&deaf);
	server_command(&redis, "ACL DELUSER deaf");
}

/* ---- Waiters for a cached value ---- */

static void gather_at_value(const struct daemon *d)
{
	for (int i = 0; i < CROWD; i++)
		crowd[i] = waiter_at(d, fill_target, LONG, "");
	wait_until(subscribers_at(&redis, cache_key) == 1 && all_parked(d, CROWD), SOON_MS);
}

/* All waiters but `maker` get the value; -1: all get it. */
static void all_get_the_value(int maker)
{
	for (int i = 0; i < CROWD; i++)
		if (i != maker) {
			struct answer a = waiter_answer(crowd[i], fill_target, SOON_MS);
			assert_status(a, 200);
			assert_int_equal(int_at(a, "/value"), 1);
		}
	disperse();
}

/* Redis loses the ticket and the wait queue. One waiter makes the value, and the others get it. */
TEST(redis_may_forget_the_ticket)
{
	assert_status(post(fill_target, "{\"fill_ms\":60000}"), 201);
	gather_at_value(&patternd);
	server_kill(&redis);
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
	assert_int_equal(crowd_answered(), 0);
	server_restart(&redis);
	wait_until(crowd_answered() == 1 && all_parked(&patternd, CROWD - 1), SOON_MS);
	int maker = 0;
	while (!waiter_is_answered(crowd[maker]))
		maker++;
	struct answer a = waiter_answer(crowd[maker], fill_target, SOON_MS);
	char ticket[96];
	assert_status(a, 201);
	snprintf(ticket, sizeof(ticket), "Fill-Ticket: %s", text_at(a, "/ticket"));
	assert_status(http(client, "PUT", cache_target, "{\"value\":1}", ticket), 201);
	all_get_the_value(maker);
}

/* The value is stored while the daemon is not subscribed, or cannot reach Redis at all. */
TEST(no_value_is_missed_after_a_cut)
{
	struct proxy *proxy = proxy_open(redis.port);
	struct daemon far = { 0 };

	daemon_start(&far, "--redis", proxy_url(proxy));
	for (int way = 0; way < 2; way++) {
		assert_status(post(fill_target, "{\"fill_ms\":60000}"), 201);
		gather_at_value(&far);
		if (way == 0) {
			server_command(&redis, "CLIENT KILL TYPE pubsub");
		} else {
			proxy_set(proxy, (struct proxy_fault){ .refuse = true, .reset = true });
			wait_until(subscribers_at(&redis, cache_key) == 0, SOON_MS);
		}
		assert_status(http(client, "PUT", cache_target, "{\"value\":1}"), 201);
		proxy_set(proxy, (struct proxy_fault){ 0 });
		all_get_the_value(-1);
		stage_forget(NULL);
	}
	daemon_stop(&far);
	proxy_close(proxy);
}

/* One attempt is to answer all waiters. Its reply is lost, so another waiter makes an attempt. */
TEST(the_attempt_for_all_may_fail)
{
	struct proxy *proxy = proxy_open(redis.port);
	struct daemon far = { 0 };
	int got = 0;

	daemon_start(&far, "--redis", proxy_url(proxy), "--redis-timeout-ms", "300");
	assert_status(post(fill_target, "{\"fill_ms\":60000}"), 201);
	gather_at_value(&far);
	proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_on = PROXY_BYTES("EVALSHA"), .cut_percent = 100 });
	assert_status(http(client, "PUT", cache_target, "{\"value\":1}"), 201);
	wait_until(crowd_answered() > 0, SOON_MS);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	for (int i = 0; i < CROWD; i++) {
		struct answer a = waiter_answer(crowd[i], fill_target, SOON_MS);
		got += a.status == 200;
		if (a.status != 200)
			assert_true(a.status == 503 || a.status == 504);
	}
	print_message("%d of %d got the value\n", got, CROWD);
	assert_true(got > 0);
	disperse();
	daemon_stop(&far);
	proxy_close(proxy);
}

/* ---- The daemon leaves ---- */

TEST(waiters_are_answered_when_the_daemon_leaves)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "5000");
	gather(&d);
	int64_t start_ms = monotonic_ms();
	proc_signal(&d.proc, SIGTERM);
	for (int i = 0; i < CROWD; i++) {
		struct answer a = waiter_answer(crowd[i], receive_target, SOON_MS);
		assert_int_equal(count_in(a), 0);
		assert_string_equal(header_of(a, "Connection"), "close");
	}
	assert_true(proc_ended(&d.proc, 2000));
	assert_int_equal(proc_exit_status(&d.proc), 0);
	assert_in_range(monotonic_ms() - start_ms, 0, 2000);
	disperse();
	daemon_stop(&d);
}

/* A Redis that is away or silent does not delay the daemon's end. */
TEST(the_daemon_leaves_without_redis_too)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "5000", "--redis-timeout-ms", "500");
	gather(&d);
	proc_signal(&redis.proc, SIGSTOP);
	proc_signal(&d.proc, SIGTERM);
	for (int i = 0; i < CROWD; i++)
		assert_problem(waiter_answer(crowd[i], receive_target, SOON_MS), 504, "no_answer", "unknown");
	assert_true(proc_ended(&d.proc, 2000));
	assert_int_equal(proc_exit_status(&d.proc), 0);
	proc_signal(&redis.proc, SIGCONT);
	disperse();
	daemon_stop(&d);

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "5000");
	gather(&d);
	server_kill(&redis);
	wait_until(metric_of(&d, "redis_up") == 0, SOON_MS);
	proc_signal(&d.proc, SIGTERM);
	for (int i = 0; i < CROWD; i++)
		assert_problem(waiter_answer(crowd[i], receive_target, SOON_MS), 503, "redis_unavailable", "none");
	assert_true(proc_ended(&d.proc, 2000));
	assert_int_equal(proc_exit_status(&d.proc), 0);
	disperse();
	daemon_stop(&d);
	server_restart(&redis);
	wait_until(get(queue_target).status == 200, SOON_MS);
}

/*
 * A message that is sent at that moment was delivered in an answer, or is there for the next
 * request.
 */
TEST(what_is_sent_while_the_daemon_leaves_is_not_lost)
{
	for (int round = 0; round < 5; round++) {
		new_queue(state);
		struct daemon d = { 0 };
		size_t got = 0;
		daemon_start(&d, "--redis", redis.url);
		gather(&d);
		struct raw *sender = raw_connect(patternd.port);
		for (int i = 0; i < CROWD; i++) {
			if (i == round * CROWD / 5)
				proc_signal(&d.proc, SIGTERM);
			assert_true(waiter_ask(sender, messages_target, "{\"body\":1}", ""));
		}
		for (int i = 0; i < CROWD; i++)
			assert_status(raw_answer(sender, SOON_MS), 201);
		for (int i = 0; i < CROWD; i++)
			got += count_in(waiter_answer(crowd[i], receive_target, SOON_MS));
		assert_true(proc_ended(&d.proc, 2000));
		assert_int_equal(proc_exit_status(&d.proc), 0);
		struct answer a = get(queue_target);
		assert_int_equal(int_at(a, "/in_flight"), got);
		assert_int_equal(int_at(a, "/ready"), CROWD - got);
		raw_close(sender);
		disperse();
		daemon_stop(&d);
		forget(NULL);
	}
}

/* ---- All at once ---- */

/* Sends the message until the answer confirms it. Its id prevents a duplicate. */
static void send_surely(int number)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"body\":%d,\"id\":\"n%d\"}", number, number);
	wait_until(post(messages_target, body).status == 201, SOON_MS);
}

/* Records the messages that one client of the crowd got. The client then asks again. */
static void take(struct raw *w, int seen[])
{
	struct answer a = raw_answer(w, SOON_MS);
	size_t i;
	json_t *m;

	exchange_record("POST", receive_target, a);
	if (a.status != 503 && a.status != 504)
		assert_status(a, 200);
	json_array_foreach(json_at(a, "/messages"), i, m)
		seen[json_integer_value(json_object_get(m, "body"))]++;
	raw_forget(w);
	assert_true(waiter_ask(w, receive_target, "{\"wait_ms\":30000,\"visibility_ms\":60000}", ""));
}

/*
 * Connections are killed again and again. Messages of a try whose answer was lost are in flight.
 * All other messages arrive once.
 */
TEST(every_message_is_accounted_for)
{
	static const char *const kinds[] = { "normal", "pubsub" };
	int seen[MESSAGES] = { 0 }, once = 0;

	gather(&patternd);
	for (int i = 0; i < MESSAGES; i++) {
		if (i % 5 == 0)
			server_command(&redis, "CLIENT KILL TYPE %s SKIPME yes", kinds[i / 5 % 2]);
		send_surely(i);
		for (int k = 0; k < CROWD; k++)
			if (waiter_is_answered(crowd[k]))
				take(crowd[k], seen);
		client_forget(client);
	}
	int64_t until_ms = monotonic_ms() + SOON_MS;
	while (int_at(get(queue_target), "/ready") > 0 || crowd_answered() > 0) {
		for (int k = 0; k < CROWD; k++)
			if (waiter_is_answered(crowd[k]))
				take(crowd[k], seen);
		assert_true(monotonic_ms() < until_ms);
	}
	for (int i = 0; i < MESSAGES; i++) {
		assert_in_range(seen[i], 0, 1);
		once += seen[i];
	}
	struct answer a = get(queue_target);
	print_message("%d messages: %d arrived, %d were taken by tries whose answer was lost\n", MESSAGES, once,
		      MESSAGES - once);
	assert_int_equal(int_at(a, "/in_flight"), MESSAGES);
	assert_in_range(once, MESSAGES / 2, MESSAGES); /* a busy machine has more tries under way */
	disperse();
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
}
