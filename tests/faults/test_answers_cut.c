/*
 * The proxy cuts the connection after Redis has run a command and before its answer arrives, for at
 * least 30 % of the writes. Many clients repeat each request with its Idempotency-Key until they
 * get an answer. Each write must happen once. A repetition, later or at the same time, must get the
 * same answer.
 */
#include "../support/waiter.h"
#include "test.h"
#include "through_proxy.h"

enum { CLIENTS = 12, WRITES = 400, CUT_PERCENT = 60, LEAST_PERCENT = 30, SOON_MS = 10000, LONGEST_MS = 60000 };

/*
 * Every command with a record of an Idempotency-Key contains these bytes. Nothing else that the
 * daemon sends to Redis contains them.
 */
#define RECORD PROXY_BYTES("p:idem:{")

static void heal(void)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(http(client, "GET", "/readyz", NULL).status == 200, SOON_MS);
	client_forget(client);
}

/* The writes; they alternate between these two requests. */
static const struct pattern {
	const char *target, *body;
	int status;
} patterns[] = {
	{ "/counters/a/increment", "{\"counters\":{\"n\":1}}", 200 },
	{ "/queues/a/messages", "{\"body\":1}", 201 },
};

enum { PATTERNS = COUNT(patterns) };

/* A write that must happen once; its number determines its pattern and its Idempotency-Key. */
struct write {
	char *answer;  /* owned: the first answer; NULL: none yet */
	bool was_lost; /* an earlier try got no answer */
};

/* How many tries had each outcome. */
struct tries {
	/* `at_once`: two clients that asked at the same time both got the answer. */
	long long answered, lost, refused, at_once;
};

struct caller {
	struct raw *own, *twin; /* the twin sends each third write, too */
	int number;             /* of the write */
};

static bool has_twin(const struct caller *c)
{
	return c->number / PATTERNS % 3 == 0;
}

static void ask(struct raw *r, int number)
{
	const struct pattern *p = &patterns[number % PATTERNS];
	char key[64];

	snprintf(key, sizeof(key), "Idempotency-Key: write-%d\r\n", number);
	assert_true(waiter_ask(r, p->target, p->body, key));
}

/*
 * Returns true when the client got the result of the write. Each client must get the same result.
 */
static bool take(struct raw *r, struct write *w, const struct pattern *p, struct tries *tries)
{
	struct answer a = raw_answer(r, SOON_MS);
	bool is_told = a.status != 503 && a.status != 504;

	if (is_told) {
		assert_status(a, p->status);
		if (!w->answer)
			w->answer = strdup(a.body);
		assert_string_equal(a.body, w->answer);
		tries->answered++;
	} else if (a.status == 504) {
		assert_problem(a, 504, "no_answer", "unknown");
		w->was_lost = w->was_lost || !w->answer;
		tries->lost++;
	} else {
		assert_problem(a, 503, "redis_unavailable", "none");
		tries->refused++;
	}
	raw_forget(r);
	return is_told;
}

/*
 * All callers send at once, then all read. A caller with a result continues with the next write.
 * Returns false when no write was left.
 */
static bool round_of(struct caller callers[], struct write writes[], int *next, struct tries *tries)
{
	bool any = false;

	for (struct caller *c = callers; c < callers + CLIENTS; c++) {
		if (c->number >= WRITES)
			continue;
		any = true;
		ask(c->own, c->number);
		if (has_twin(c))
			ask(c->twin, c->number);
	}
	for (struct caller *c = callers; c < callers + CLIENTS; c++) {
		if (c->number >= WRITES)
			continue;
		struct write *w = &writes[c->number];
		const struct pattern *p = &patterns[c->number % PATTERNS];
		bool is_told = take(c->own, w, p, tries);
		bool both = has_twin(c) && take(c->twin, w, p, tries) && is_told;
		tries->at_once += both;
		if (is_told)
			c->number = (*next)++;
	}
	return any;
}

static struct tries write_all(struct write writes[])
{
	struct caller callers[CLIENTS];
	struct tries tries = { 0 };
	int next = CLIENTS;
	int64_t until_ms = monotonic_ms() + patience_ms(LONGEST_MS);

	for (int i = 0; i < CLIENTS; i++)
		callers[i] = (struct caller){ raw_connect(patternd.port), raw_connect(patternd.port), i };
	for (long long refused = 0; round_of(callers, writes, &next, &tries); refused = tries.refused) {
		assert_true(monotonic_ms() < until_ms);
		if (tries.refused > refused)
			nap_ms(2); /* no connection to Redis was left */
	}
	for (int i = 0; i < CLIENTS; i++) {
		raw_close(callers[i].own);
		raw_close(callers[i].twin);
	}
	return tries;
}

/* Repeats all writes: each must have been done once. Frees the answers. */
static void assert_done_once(struct write writes[])
{
	bool counted[WRITES] = { false };
	char key[64];

	for (int i = 0; i < WRITES; i++) {
		const struct pattern *p = &patterns[i % PATTERNS];
		snprintf(key, sizeof(key), "Idempotency-Key: write-%d", i);
		struct answer a = http(client, "POST", p->target, p->body, key);
		assert_status(a, p->status);
		assert_string_equal(a.body, writes[i].answer);
		free(writes[i].answer);
		if (i % PATTERNS != 0)
			continue;
		int64_t n = int_at(a, "/counters/n");
		assert_in_range(n, 1, WRITES / PATTERNS);
		assert_false(counted[n]); /* no two clients made the same step of the counter */
		counted[n] = true;
	}
	assert_int_equal(int_at(http(client, "GET", "/counters/a", NULL), "/counters/n"), WRITES / PATTERNS);
	assert_int_equal(int_at(http(client, "GET", "/queues/a", NULL), "/ready"), WRITES / PATTERNS);
	client_forget(client);
}

/* Where the proxy cuts the answer. The length of the received part must make no difference. */
static const struct place {
	const char *name;
	size_t at;
} places[] = { { "30 cut before the answer", 0 }, { "30 cut in the answer", 20 } };

static void every_key_counts_once(void **state)
{
	const struct place *place = *state;
	static struct write writes[WRITES];
	int lost = 0;

	memset(writes, 0, sizeof(writes));
	long long before = server_scripts_run(&redis);
	proxy_set(proxy, (struct proxy_fault){
				 .cut = true, .cut_at = place->at, .cut_on = RECORD, .cut_percent = CUT_PERCENT });
	struct tries tries = write_all(writes);
	/* Redis ran `cut` of the tries, but their answers were lost. */
	long long run = server_scripts_run(&redis) - before, cut = run - tries.answered;
	heal();
	for (int i = 0; i < WRITES; i++)
		lost += writes[i].was_lost;
	print_message("%d writes: %lld tries that Redis carried out, %lld of them cut; %d were lost at first, "
		      "%lld answers to two at once, %lld refused\n",
		      WRITES, run, cut, lost, tries.at_once, tries.refused);
	assert_true(cut * 100 >= run * LEAST_PERCENT && cut <= tries.lost);
	assert_true(lost * 100 >= WRITES * LEAST_PERCENT);
	assert_true(tries.at_once > 0);
	assert_done_once(writes);
}

TEST_ROWS(every_key_counts_once, places, name);

static const char receive_target[] = "/queues/w/receive",
		  receive_body[] = "{\"wait_ms\":30000,\"visibility_ms\":60000}",
		  receive_key[] = "Idempotency-Key: one\r\n";

/*
 * Two clients ask at once. One gets the answer; the other gets it too, or is refused until the
 * first has it.
 */
static void both_get_the_answer(struct raw *const both[2], const char *id)
{
	struct answer a[2];

	for (int i = 0; i < 2; i++)
		assert_true(waiter_ask(both[i], receive_target, receive_body, receive_key));
	for (int i = 0; i < 2; i++)
		a[i] = raw_answer(both[i], SOON_MS);
	assert_true(a[0].status == 200 || a[1].status == 200);
	for (int i = 0; i < 2; i++) {
		if (a[i].status == 200)
			continue;
		assert_problem(a[i], 409, "request_in_progress", "none");
		assert_true(waiter_ask(both[i], receive_target, receive_body, receive_key));
		a[i] = raw_answer(both[i], SOON_MS);
	}
	assert_string_equal(text_at(a[0], "/messages/0/id"), id);
	assert_string_equal(a[1].body, a[0].body);
}

/*
 * A second request is refused while the first waits. When the first loses its reply, both requests
 * get its result later, and no other client does.
 */
TEST(a_second_request_gets_what_was_cut_off)
{
	struct raw *first = waiter_parked_with(&patternd, &redis, "w", receive_body, receive_key);
	struct raw *twin = waiter_at(&patternd, receive_target, receive_body, receive_key);
	assert_problem(raw_answer(twin, SOON_MS), 409, "request_in_progress", "none");
	proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_on = RECORD, .cut_percent = 100 });
	/*
	 * The proxy may cut this connection, too: the status is 200 when the message was stored and
	 * its answer lost.
	 */
	wait_until(http(client, "POST", "/queues/w/messages", "{\"body\":1,\"id\":\"m\"}").status / 100 == 2, SOON_MS);
	assert_problem(raw_answer(first, SOON_MS), 504, "no_answer", "unknown");
	heal();
	both_get_the_answer((struct raw *[]){ first, twin }, "m");
	assert_int_equal(int_at(http(client, "GET", "/queues/w", NULL), "/in_flight"), 1);
	raw_close(first);
	raw_close(twin);
}

static int set_up_all(void **state)
{
	return start_through_proxy("10000");
}

/* Removes what the test before left behind, whether it failed or not. */
static int set_up(void **state)
{
	heal();
	server_command(&redis, "FLUSHALL");
	return 0;
}

SUITE(.open = set_up_all, .close = stop_through_proxy, .before = set_up);
