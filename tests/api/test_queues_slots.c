/*
 * Receives from queues in several slots of a Redis Cluster: in order of preference, waiting at all
 * queues, and without losing a message.
 */
#include <pthread.h>
#include <signal.h>

#include "../support/pair.h"
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 10000, MESSAGES = 120, TAKERS = 4, ROUNDS = 20 };

static const char *queues(const char *first, const char *second, const char *third, const char *rest)
{
	static char bodies[8][768];
	static unsigned next;
	char *body = bodies[next++ % 8];

	snprintf(body, sizeof(bodies[0]), "{\"queues\":[\"%s\",\"%s\",\"%s\"]%s}", first, second, third, rest);
	return body;
}

static struct answer receive(const char *body)
{
	return http(pair.c[0], "POST", "/queues/receive", body);
}

static void send(const char *queue, int number)
{
	char target[64], body[32];

	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(http(pair.c[0], "POST", target, body), 201);
}

static int64_t count_of(const char *queue, const char *member)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s", queue);
	return pair_number(target, member);
}

static void must_have(struct answer a, size_t i, const char *queue, int number)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "/messages/%zu/queue", i);
	assert_string_equal(text_at(a, pointer), queue);
	snprintf(pointer, sizeof(pointer), "/messages/%zu/body", i);
	assert_int_equal(int_at(a, pointer), number);
}

TEST(in_order_of_preference)
{
	send(low, 1);
	send(low, 2);
	send(middle, 3);
	send(high, 4);
	struct answer a = receive(queues(high, low, middle, ",\"limit\":2"));
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 2);
	must_have(a, 0, high, 4);
	must_have(a, 1, low, 1);
	assert_int_equal(count_of(middle, "/in_flight"), 0);
	a = receive(queues(high, low, middle, ",\"limit\":9,\"acknowledge\":true"));
	assert_int_equal(json_array_size(json_at(a, "/messages")), 2);
	must_have(a, 0, low, 2);
	must_have(a, 1, middle, 3);
	a = receive(queues(high, low, middle, ""));
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 0);
}

TEST(a_record_needs_one_slot)
{
	send(low, 1);
	struct answer a =
		http(pair.c[0], "POST", "/queues/receive", queues(low, middle, high, ""), "Idempotency-Key: k");
	assert_problem(a, 400, "idempotency_unavailable", "none");
	assert_int_equal(count_of(low, "/ready"), 1);
	char beside[16];
	snprintf(beside, sizeof(beside), "%s", name_beside(low, 1));
	const char *body = queues(low, beside, name_beside(low, 2), "");
	for (int i = 0; i < 2; i++) {
		a = http(pair.c[0], "POST", "/queues/receive", body, "Idempotency-Key: k");
		assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	}
}

/* Whichever queue is missing, the receive takes nothing from the queues before it. */
TEST(each_must_exist)
{
	const char *const names[] = { low, middle, high };
	char detail[64];

	for (int missing = 0; missing < 3; missing++) {
		for (int i = 0; i < 3; i++)
			if (i != missing)
				send(names[i], i);
		struct answer a = receive(queues(low, middle, high, ",\"must_exist\":true,\"wait_ms\":20000"));
		snprintf(detail, sizeof(detail), "queue '%s' does not exist", names[missing]);
		assert_problem(a, 404, "not_found", "none");
		assert_string_equal(text_at(a, "/detail"), detail);
		send(names[missing], missing);
		a = receive(queues(low, middle, high, ",\"must_exist\":true,\"limit\":9,\"acknowledge\":true"));
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 3);
		for (size_t i = 0; i < 3; i++)
			must_have(a, i, names[i], (int)i);
		pair_forget(state);
	}
}

TEST(it_waits_at_all_of_them)
{
	const char *const names[] = { low, middle, high };

	for (int i = 0; i < 3; i++) {
		struct raw *w = pair_ask(1, "/queues/receive", queues(middle, high, low, ",\"wait_ms\":20000"), "");
		wait_until(all_parked(&pair.d[1], 1), SOON_MS);
		send(names[i], i);
		struct answer a = pair_answer(w, "/queues/receive");
		assert_status(a, 200);
		must_have(a, 0, names[i], i);
		raw_close(w);
	}
	struct answer none = receive(queues(middle, high, low, ",\"wait_ms\":50"));
	assert_int_equal(json_array_size(json_at(none, "/messages")), 0);
}

/* A message of a queue that is not the first comes due later, and wakes the client. */
TEST(what_is_due_later_wakes_it)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/messages", high);
	assert_status(http(pair.c[0], "POST", target, "{\"body\":7,\"delay_ms\":300}"), 201);
	struct answer a = receive(queues(low, middle, high, ",\"wait_ms\":20000"));
	assert_status(a, 200);
	must_have(a, 0, high, 7);
	assert_true(a.took_us < 5000000);
}

/*
 * One client waits at several queues, and another waits behind it at one of them. Two queues get a
 * message while the daemon is stopped, so each wake-up may go to the first client. The first client
 * receives from the queue that it prefers, and the other client must be woken all the same.
 */
TEST(a_wake_up_is_not_kept_from_others)
{
	for (int i = 0; i < ROUNDS; i++) {
		const char *liked = i % 2 ? high : low, *other = i % 2 ? low : high;
		char target[64];
		snprintf(target, sizeof(target), "/queues/%s/receive", other);
		struct raw *first =
			pair_ask(1, "/queues/receive", queues(liked, middle, other, ",\"wait_ms\":20000"), "");
		wait_until(all_parked(&pair.d[1], 1), SOON_MS);
		struct raw *second = pair_ask(1, target, "{\"wait_ms\":20000}", "");
		wait_until(all_parked(&pair.d[1], 2), SOON_MS);
		proc_signal(&pair.d[1].proc, SIGSTOP);
		send(liked, 1);
		send(other, 2);
		proc_signal(&pair.d[1].proc, SIGCONT);
		must_have(pair_answer(first, "/queues/receive"), 0, liked, 1);
		assert_int_equal(int_at(pair_answer(second, target), "/messages/0/body"), 2);
		raw_close(first);
		raw_close(second);
	}
}

/* ---- Nothing is lost ---- */

static bool seen[MESSAGES];
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static int seen_twice, seen_count;

static void note(int64_t number)
{
	pthread_mutex_lock(&seen_lock);
	seen_twice += seen[number];
	seen_count += !seen[number];
	seen[number] = true;
	pthread_mutex_unlock(&seen_lock);
}

static void *take_all(void *arg)
{
	int number = (int)(intptr_t)arg;
	struct client *c = client_open(pair.d[number % 2].port);
	const char *const names[] = { low, middle, high };
	char body[256];

	for (int none = 0; none < 2;) {
		snprintf(body, sizeof(body), "{\"queues\":[\"%s\",\"%s\",\"%s\"],\"limit\":7,\"acknowledge\":true}",
			 names[number % 3], names[(number + 1) % 3], names[(number + 2) % 3]);
		struct answer a = http(c, "POST", "/queues/receive", body);
		const json_t *messages = json_at(a, "/messages");
		for (size_t i = 0; i < json_array_size(messages); i++)
			note(json_integer_value(json_object_get(json_array_get(messages, i), "body")));
		none = json_array_size(messages) == 0 ? none + 1 : 0;
	}
	client_close(c);
	return NULL;
}

TEST(many_at_once_get_each_once)
{
	const char *const names[] = { low, middle, high };
	pthread_t threads[TAKERS];

	for (int i = 0; i < MESSAGES; i++)
		send(names[i % 3], i);
	for (int i = 0; i < TAKERS; i++)
		pthread_create(&threads[i], NULL, take_all, (void *)(intptr_t)i);
	for (int i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen_count, MESSAGES);
	assert_int_equal(seen_twice, 0);
}

static struct proc *last_node(void)
{
	return &pair.redis.cluster->nodes[2].server.proc;
}

static void wake_last_node(void)
{
	char target[64];

	proc_signal(last_node(), SIGCONT);
	snprintf(target, sizeof(target), "/queues/%s", high);
	for (int i = 0; i < 2; i++)
		wait_until(http(pair.c[i], "GET", target, NULL).status == 200, SOON_MS);
}

TEST(what_was_received_for_a_lost_client_returns)
{
	send(low, 1);
	send(middle, 2);
	proc_signal(last_node(), SIGSTOP);
	struct raw *w = pair_ask(0, "/queues/receive", queues(low, middle, high, ",\"limit\":9"), "");
	wait_until(count_of(low, "/in_flight") == 1 && count_of(middle, "/in_flight") == 1, SOON_MS);
	raw_reset(w);
	wait_until(count_of(low, "/ready") == 1 && count_of(middle, "/ready") == 1, SOON_MS);
	wake_last_node();
	struct answer a = receive(queues(middle, low, high, ",\"limit\":9"));
	must_have(a, 0, middle, 2);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
}

TEST(a_node_that_does_not_answer_leaves_the_others)
{
	send(low, 1);
	send(high, 3);
	proc_signal(last_node(), SIGSTOP);
	struct answer lost = receive(queues(low, high, middle, ",\"limit\":9,\"acknowledge\":true"));
	send(low, 2);
	struct answer not_asked = receive(queues(low, high, middle, ",\"limit\":9"));
	struct answer none = receive(queues(high, middle, low, ""));
	char alone[64];
	snprintf(alone, sizeof(alone), "/queues/%s/receive", high);
	struct answer one = http(pair.c[0], "POST", alone, NULL);
	wake_last_node();
	/*
	 * The command was sent and got no reply: messages may be gone, and the answer states that.
	 */
	assert_status(lost, 200);
	assert_int_equal(json_array_size(json_at(lost, "/messages")), 1);
	must_have(lost, 0, low, 1);
	assert_int_equal(json_array_size(json_at(lost, "/unanswered")), 1);
	assert_string_equal(text_at(lost, "/unanswered/0/queue"), high);
	assert_string_equal(text_at(lost, "/unanswered/0/effect"), "unknown");
	/* The command was not sent, so nothing happened at that queue. */
	assert_status(not_asked, 200);
	must_have(not_asked, 0, low, 2);
	struct answer without[] = { not_asked, none };
	for (int i = 0; i < 2; i++) {
		assert_status(without[i], 200);
		assert_int_equal(json_array_size(json_at(without[i], "/unanswered")), 1);
		assert_string_equal(text_at(without[i], "/unanswered/0/queue"), high);
		assert_string_equal(text_at(without[i], "/unanswered/0/effect"), "none");
	}
	assert_int_equal(json_array_size(json_at(none, "/messages")), 0);
	assert_problem(one, 503, "redis_unavailable", "none");
}

/*
 * One queue does not reply, and the others are empty: messages of it may be gone, and the answer
 * names it, also after a wait at the others.
 */
TEST(one_that_does_not_answer_is_named_without_a_message)
{
	static const char *const rests[] = { ",\"acknowledge\":true", ",\"acknowledge\":true,\"wait_ms\":3000" };

	for (int i = 0; i < 2; i++) {
		proc_signal(last_node(), SIGSTOP);
		struct answer a = receive(queues(low, high, middle, rests[i]));
		wake_last_node();
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 0);
		assert_string_equal(text_at(a, "/unanswered/0/queue"), high);
		assert_string_equal(text_at(a, "/unanswered/0/effect"), "unknown");
	}
}

/* The receive settles deliveries of three queues, and one queue cannot be reached. */
TEST(a_node_that_does_not_answer_settles_nothing)
{
	const char *const names[] = { low, middle, high };
	char settle[512] = ",\"limit\":9,\"settle\":{\"acknowledge\":[", pointer[64];

	for (int i = 0; i < 3; i++) {
		send(names[i], i);
		struct answer a = receive(queues(names[i], names[(i + 1) % 3], names[(i + 2) % 3], ""));
		size_t len = strlen(settle);
		snprintf(settle + len, sizeof(settle) - len, "%s{\"queue\":\"%s\",\"receipt\":\"%s\"}", i ? "," : "",
			 names[i], text_at(a, "/messages/0/receipt"));
	}
	strcat(settle, "]}");
	send(low, 4);
	proc_signal(last_node(), SIGSTOP);
	struct answer beside = receive(queues(low, middle, high, settle));
	wake_last_node();
	struct answer again = receive(queues(low, middle, high, settle));
	assert_status(beside, 200);
	must_have(beside, 0, low, 4);
	for (int i = 0; i < 3; i++) {
		snprintf(pointer, sizeof(pointer), "/deliveries/%d/outcome", i);
		assert_string_equal(text_at(beside, pointer), i < 2 ? "acknowledged" : "unanswered");
		assert_string_equal(text_at(again, pointer), "acknowledged");
		assert_int_equal(count_of(names[i], "/in_flight"), i == 0);
	}
}

/*
 * A queue that cannot be reached may exist, so the answer has what was received, as without
 * must_exist.
 */
TEST(a_node_that_does_not_answer_is_not_missing)
{
	send(low, 1);
	send(middle, 2);
	send(high, 3);
	proc_signal(last_node(), SIGSTOP);
	struct answer a = receive(queues(low, high, middle, ",\"limit\":9,\"must_exist\":true"));
	wake_last_node();
	assert_status(a, 200);
	must_have(a, 0, low, 1);
}

static void put(const char *kind, const char *name, const char *body)
{
	char target[64];

	snprintf(target, sizeof(target), "%s/%s", kind, name);
	assert_in_range(http(pair.c[0], "PUT", target, body).status, 200, 201);
}

/* The key of the policy lies in a third slot. */
TEST(one_policy_pays_for_queues_in_several_slots)
{
	char policy[128];

	put("/ratelimit/policies", "p", "{\"limit\":3,\"window_ms\":1500}");
	snprintf(policy, sizeof(policy), "{\"policy\":{\"name\":\"p\",\"key\":\"%s\"}}", high);
	put("/queues", low, policy);
	put("/queues", middle, policy);
	for (int i = 0; i < 2; i++) {
		send(low, i);
		send(middle, i);
	}
	struct answer a = receive(queues(low, middle, high, ",\"limit\":9"));
	assert_int_equal(json_array_size(json_at(a, "/messages")), 3);
	must_have(a, 2, middle, 0);
	assert_int_equal(count_of(middle, "/ready"), 1);
	a = receive(queues(low, middle, high, ",\"limit\":9,\"wait_ms\":20000"));
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	must_have(a, 0, middle, 1);
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
}

/* The record belongs to the first queue; the queue with the policy is another one. */
TEST(a_record_of_several_queues_is_paid_once)
{
	char policy[128], beside[16];

	put("/ratelimit/policies", "p", "{\"limit\":1,\"window_ms\":86400000}");
	snprintf(policy, sizeof(policy), "{\"policy\":{\"name\":\"p\",\"key\":\"%s\"}}", high);
	snprintf(beside, sizeof(beside), "%s", name_beside(low, 1));
	put("/queues", beside, policy);
	send(low, 0);
	send(beside, 1);
	send(beside, 2);
	const char *body = queues(low, beside, name_beside(low, 2), ",\"limit\":9");
	struct answer a = http(pair.c[0], "POST", "/queues/receive", body, "Idempotency-Key: k");
	assert_int_equal(json_array_size(json_at(a, "/messages")), 2);
	must_have(a, 1, beside, 1);
	assert_string_equal(http(pair.c[1], "POST", "/queues/receive", body, "Idempotency-Key: k").body, a.body);
	assert_int_equal(count_of(beside, "/ready"), 1);
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	return pair_open(state);
}

SUITE(.open = open_on_a_cluster, .close = pair_close, .after = pair_forget);
