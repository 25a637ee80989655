/*
 * Late receipts over HTTP (`late`): the last receipt of a message counts after its visibility has
 * ended, wherever the message waits by then, and whether that is stored yet or not. It does not
 * count once the message was delivered again, or changed by another call.
 */
#include "queue_stage.h"
#include "waiter.h"

enum way { ACKNOWLEDGE, SETTLE, COMPLETE, TURN, TURN_OF_SEVERAL, REJECT, SETTLE_REJECT, EXTEND, EXTEND_MANY, WAYS };

static const struct {
	const char *target, *body; /* $1: the receipt; $2: the member `late`, or "" */
	bool finishes;
} ways[WAYS] = {
	[ACKNOWLEDGE] = { "/queues/q/deliveries/$1", NULL, true },
	[SETTLE] = { "/queues/q/settle", "{\"acknowledge\":[\"$1\"]$2}", true },
	[COMPLETE] = { "/queues/q/settle", "{\"complete\":[{\"receipt\":\"$1\",\"result\":7}]$2}", true },
	[TURN] = { "/queues/q/receive", "{\"settle\":{\"acknowledge\":[\"$1\"]$2}}", true },
	[TURN_OF_SEVERAL] = { "/queues/receive",
			      "{\"queues\":[\"other\",\"q\"],"
			      "\"settle\":{\"acknowledge\":[{\"queue\":\"q\",\"receipt\":\"$1\"}]$2}}",
			      true },
	[REJECT] = { "/queues/q/deliveries/$1/reject", "{\"delay_ms\":60000$2}", false },
	[SETTLE_REJECT] = { "/queues/q/settle", "{\"reject\":[{\"receipt\":\"$1\",\"delay_ms\":60000}]$2}", false },
	[EXTEND] = { "/queues/q/deliveries/$1/extend", "{\"visibility_ms\":60000$2}", false },
	[EXTEND_MANY] = { "/queues/q/extend", "{\"receipts\":[\"$1\"],\"visibility_ms\":60000$2}", false },
};

static char last[64]; /* the receipt */

SUITE(.open = start, .close = stop, .after = forget_all);

/* Copies a text of `ways` into `to`. */
static char *filled(char *to, const char *text, bool late)
{
	char *at = to;

	for (; *text; text++) {
		if (*text != '$')
			*at++ = *text;
		else
			at = stpcpy(at, *++text == '1' ? last : late ? ",\"late\":true" : "");
	}
	*at = '\0';
	return to;
}

/* Returns whether the request had an effect. */
static bool end_it(enum way way, bool late)
{
	char target[256], body[512];

	filled(target, ways[way].target, late);
	if (!ways[way].body && late)
		strcat(target, "?late=true");
	struct answer a = ways[way].body ? http(client, "POST", target, filled(body, ways[way].body, late))
					 : http(client, "DELETE", target, NULL);
	if (a.status == 410) {
		assert_string_equal(text_at(a, "/code"), "receipt_expired");
		return false;
	}
	assert_in_range(a.status, 200, 204);
	const json_t *outcome = json_at(a, "/deliveries/0/outcome");
	return !outcome || strcmp(json_string_value(outcome), "not_current") != 0;
}

/* Lets delivery number `i` of an answer end by time. */
static void let_it_end(struct answer a, size_t i)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "/messages/%zu/receipt", i);
	a = extend(text_at(a, pointer), "{\"visibility_ms\":1}");
	assert_status(a, 200);
	int64_t end_ms = int_at(a, "/visible_until_ms");
	wait_until(server_now_ms(&redis) > end_ms, SOON_MS);
}

/* Receives one message, and lets its delivery end by time. With `sweeps` that is stored. */
static void deliver(const char *id, bool sweeps)
{
	struct answer a = receive(NULL);

	assert_ids(a, IDS(id));
	snprintf(last, sizeof(last), "%s", receipt_in(a));
	let_it_end(a, 0);
	if (sweeps)
		assert_int_equal(count_of("/in_flight"), 0);
}

/* Where a message waits once its visibility has ended. Other messages wait beside it. */
static const struct state {
	const char *name, *settings;
	bool is_dead, is_strict;
} states[] = {
	{ "delayed", "{\"result_ms\":60000,\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}", false, false },
	{ "ready or blocked", "{\"result_ms\":60000," AT_ONCE "}", false, false },
	{ "one at a time", "{\"result_ms\":60000,\"group_concurrency\":1," AT_ONCE "}", false, false },
	{ "ready, strict", "{\"result_ms\":60000,\"order\":\"strict\"," AT_ONCE "}", false, true },
	{ "delayed, strict",
	  "{\"result_ms\":60000,\"order\":\"strict\",\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}", false, true },
	{ "dead", "{\"max_receives\":1}", true, false },
	{ "dead, strict", "{\"max_receives\":1,\"order\":\"strict\"}", true, true },
	{ "in a full queue", "{\"max_messages\":2,\"concurrency\":1," AT_ONCE "}", false, false },
};

/* How many messages there are, dead letters included. */
static int64_t all_messages(void)
{
	struct answer a = queue("GET", NULL);

	return int_at(a, "/ready") + int_at(a, "/blocked") + int_at(a, "/delayed") + int_at(a, "/in_flight") +
	       int_at(a, "/dead");
}

/* What must be true after a request by which a late receipt counted. */
static void check_effect(enum way way, const char *settings)
{
	if (ways[way].finishes && message("GET", "a", NULL).status == 200)
		assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "done");
	if (way == COMPLETE && strstr(settings, "result_ms"))
		assert_int_equal(int_at(message("GET", "a", NULL), "/result"), 7);
	if (way == REJECT || way == SETTLE_REJECT)
		assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "delayed");
	if (way == EXTEND || way == EXTEND_MANY) {
		assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "in_flight");
		assert_status(acknowledge(last), 204); /* it is current again */
	}
}

static void try_late(const struct state *s, enum way way, bool sweeps, const char *group)
{
	char body[256];

	forget_all(NULL);
	configure(s->settings);
	snprintf(body, sizeof(body),
		 "{\"messages\":[{\"body\":1,\"id\":\"a\",\"priority\":1%s},{\"body\":2,\"id\":\"b\"%s}]}", group,
		 group);
	assert_status(send_body(body), 201);
	deliver("a", sweeps);
	if (way != TURN && way != TURN_OF_SEVERAL)
		assert_false(end_it(way, false));
	assert_status(queue("PATCH", "{\"paused\":true}"), 200); /* so that a turn delivers nothing */
	bool counts = ways[way].finishes || !s->is_dead;
	if (end_it(way, true) != counts)
		fail_msg("%s, %s, way %d, swept %d: %d", s->name, group, way, sweeps, !counts);
	if (counts)
		check_effect(way, s->settings);
	assert_int_equal(all_messages(), way == REJECT || way == SETTLE_REJECT || !counts ? 2 : 1);
	if (ways[way].finishes) /* a repetition returns the same */
		assert_true(end_it(way, true));
	assert_status(queue("PATCH", "{\"paused\":false}"), 200);
	bool has_group = *group && s->is_strict && (way == REJECT || way == SETTLE_REJECT) && !s->is_dead;
	assert_ids(receive(NULL), has_group ? IDS(NULL) : IDS("b"));
}

static void it_counts_wherever_the_message_waits(void **state)
{
	for (enum way way = 0; way < WAYS; way++)
		for (int sweeps = 0; sweeps < 2; sweeps++)
			for (int grouped = 0; grouped < 2; grouped++)
				try_late(*state, way, sweeps, grouped ? ",\"group\":\"g\"" : "");
}

TEST_ROWS(it_counts_wherever_the_message_waits, states, name);

static void send_again(void)
{
	assert_status(send_body("{\"body\":2,\"id\":\"a\",\"on_duplicate\":\"replace\"}"), 200);
}

static void send_later(void)
{
	assert_status(send_body("{\"body\":2,\"id\":\"a\",\"delay_ms\":60000,\"on_duplicate\":\"extend\"}"), 200);
}

static void deliver_again(void)
{
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	assert_ids(receive(NULL), IDS("a"));
}

static void deliver_again_and_let_it_end(void)
{
	assert_status(message("PATCH", "a", "{\"delay_ms\":0}"), 200);
	struct answer a = receive(NULL);
	assert_ids(a, IDS("a"));
	let_it_end(a, 0);
	assert_counts(0, 1, 0, 0);
}

static void reject_late(void)
{
	assert_true(end_it(REJECT, true));
}

static void cancel(void)
{
	assert_status(message("DELETE", "a", NULL), 204);
	assert_status(send_body("{\"body\":2,\"id\":\"a\",\"delay_ms\":60000}"), 201);
}

/* Calls after which the receipt does not count any more, and what the message is then. */
static const struct change {
	const char *name;
	void (*make)(void);
} changes[] = {
	{ "delivered again", deliver_again },
	{ "delivered again, and ended", deliver_again_and_let_it_end },
	{ "rejected", reject_late },
	{ "replaced", send_again },
	{ "extended by a newer message", send_later },
	{ "cancelled", cancel },
};

static void it_does_not_count_any_more(void **state)
{
	const struct change *c = *state;

	for (enum way way = 0; way < WAYS; way++) {
		if (way == TURN || way == TURN_OF_SEVERAL) /* these receive, too */
			continue;
		forget_all(NULL);
		configure("{\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}");
		assert_status(send_body("{\"body\":1,\"id\":\"a\"}"), 201);
		deliver("a", true);
		c->make();
		char *before = strdup(message("GET", "a", NULL).body);
		if (end_it(way, true))
			fail_msg("%s: way %d has an effect", c->name, way);
		assert_string_equal(message("GET", "a", NULL).body, before);
		free(before);
	}
}

TEST_ROWS(it_does_not_count_any_more, changes, name);

/* A redrive starts a dead letter again: its work is wanted once more. */
TEST(a_redriven_message_is_done_again)
{
	configure("{\"max_receives\":1}");
	assert_status(send_body("{\"body\":1,\"id\":\"a\"}"), 201);
	deliver("a", true);
	assert_status(post("/redrive", "{}", NULL), 200);
	assert_false(end_it(ACKNOWLEDGE, true));
	assert_ids(receive(NULL), IDS("a"));
}

/* The end of a delivery past its ttl drops the message, whether that is stored yet or not. */
TEST(a_message_past_its_ttl_is_gone)
{
	for (int sweeps = 0; sweeps < 2; sweeps++) {
		assert_status(send_body("{\"body\":1,\"id\":\"a\",\"ttl_ms\":700}"), 201);
		int64_t end_ms = server_now_ms(&redis) + 700;
		deliver("a", false);
		wait_until(server_now_ms(&redis) > end_ms, SOON_MS);
		if (sweeps)
			assert_counts(0, 0, 0, 0);
		for (enum way way = 0; way < WAYS; way++)
			assert_false(end_it(way, true));
		assert_counts(0, 0, 0, 0);
		forget_all(NULL);
	}
}

/* What follows the message by its id is sent when it ends late, and its id is remembered. */
TEST(it_ends_as_any_other)
{
	configure("{\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}");
	assert_status(send_body("{\"body\":1,\"id\":\"a\"}"), 201);
	deliver("a", true);
	assert_true(end_it(ACKNOWLEDGE, true));
	struct answer a = send_body("{\"body\":2,\"id\":\"a\"}");
	assert_string_equal(text_at(a, "/messages/0/outcome"), "kept");
	assert_int_equal(count_in(receive(NULL)), 0);

	assert_status(send_body("{\"body\":1,\"id\":\"b\"}"), 201);
	a = receive(NULL);
	snprintf(last, sizeof(last), "%s", receipt_in(a));
	assert_status(send_body("{\"body\":2,\"id\":\"b\",\"on_duplicate\":\"after\"}"), 200);
	let_it_end(a, 0);
	assert_counts(0, 1, 0, 0);
	assert_true(end_it(SETTLE, true));
	a = receive(NULL);
	assert_ids(a, IDS("b"));
	assert_int_equal(int_at(a, "/messages/0/body"), 2);
}

/* Of several, each has its own outcome; a receipt given twice ends its message once. */
TEST(many_at_once)
{
	static char first[64], second[64];
	char body[512];

	configure("{" AT_ONCE "}");
	send_many(3, "");
	struct answer a = receive("{\"limit\":2}");
	snprintf(first, sizeof(first), "%s", receipt_in(a));
	snprintf(second, sizeof(second), "%s", text_at(a, "/messages/1/receipt"));
	let_it_end(a, 0);
	let_it_end(a, 1);
	assert_int_equal(count_in(receive("{\"limit\":2}")), 2); /* the third, and the first again */
	snprintf(body, sizeof(body),
		 "{\"acknowledge\":[\"%s\",\"%s\",\"%s\"],\"reject\":[{\"receipt\":\"%s\"}],\"late\":true}", first,
		 second, second, second);
	a = post("/settle", body, NULL);
	assert_string_equal(text_at(a, "/deliveries/0/outcome"), "not_current");
	assert_string_equal(text_at(a, "/deliveries/1/outcome"), "acknowledged");
	assert_string_equal(text_at(a, "/deliveries/2/outcome"), "acknowledged");
	assert_string_equal(text_at(a, "/deliveries/3/outcome"), "not_current");
	assert_counts(0, 0, 2, 0);
}

/* The end of a message whose queue works few at once lets a waiting receive proceed. */
TEST(it_frees_those_that_wait)
{
	configure("{\"order\":\"strict\",\"backoff\":{\"base_ms\":60000,\"max_ms\":60000}}");
	assert_status(send_body("{\"messages\":[{\"body\":1,\"id\":\"a\",\"group\":\"g\"},"
				"{\"body\":2,\"id\":\"b\",\"group\":\"g\"}]}"),
		      201);
	deliver("a", true);
	struct raw *r = waiter_parked(&patternd, &redis, "q", "{\"wait_ms\":20000}");
	assert_true(end_it(ACKNOWLEDGE, true));
	assert_ids(waiter_answer(r, "/queues/q/receive", SOON_MS), IDS("b"));
	raw_close(r);
}

/*
 * In a strict queue a message that was put back, since its group was paused, may have to wait for
 * another one. It cannot be in flight beside that one, but it can end.
 */
TEST(a_strict_group_has_one_in_flight)
{
	configure("{\"order\":\"strict\"," AT_ONCE "}");
	assert_status(send_body("{\"body\":1,\"id\":\"a\",\"group\":\"g\"}"), 201);
	deliver("a", true);
	assert_status(post("/groups/g/pause", "{\"for_ms\":60000}", NULL), 200);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_status(send_body("{\"body\":2,\"id\":\"b\",\"group\":\"g\",\"priority\":0}"), 201);
	assert_status(post("/groups/g/resume", NULL, NULL), 200);
	assert_ids(receive(NULL), IDS("b"));
	assert_false(end_it(EXTEND, true));
	assert_false(end_it(SETTLE_REJECT, true));
	assert_string_equal(text_at(message("GET", "a", NULL), "/state"), "blocked");
	assert_true(end_it(ACKNOWLEDGE, true));
	assert_counts(0, 0, 1, 0);
}

/* A delivery that is extended late counts on: it is the same one. */
TEST(an_extended_delivery_is_the_same)
{
	configure("{\"max_receives\":2," AT_ONCE "}");
	assert_status(send_body("{\"body\":1,\"id\":\"a\"}"), 201);
	deliver("a", true);
	char *before = strdup(message("GET", "a", NULL).body);
	assert_true(end_it(EXTEND, true));
	assert_int_equal(count_in(receive(NULL)), 0);
	struct answer a = message("GET", "a", NULL);
	assert_int_equal(int_at(a, "/receives"), 1);
	json_t *earlier = json_loads(before, 0, NULL);
	assert_int_equal(int_at(a, "/first_received_at_ms"),
			 json_integer_value(json_object_get(earlier, "first_received_at_ms")));
	assert_int_equal(int_at(a, "/received_at_ms"), int_at(a, "/first_received_at_ms"));
	json_decref(earlier);
	free(before);
	assert_true(end_it(EXTEND, false));
	assert_status(reject(last, NULL), 200);
	assert_ids(receive(NULL), IDS("a"));
}
