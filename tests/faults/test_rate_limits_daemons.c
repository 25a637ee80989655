/*
 * Limits are never exceeded (P10 of tests/PROMISES.md). Eight daemons have clocks that are hours
 * apart. Callers of all of them use one limit, by each way that takes from it. The callers come in
 * bursts, just before a window ends and as the next begins. For each grant the test knows two
 * milliseconds of Redis's clock between which it was made. The grants that are surely within a
 * window must never exceed the limit. A caller may be refused only if the grants that may precede
 * the refusal have used up the limit.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

enum {
	DAEMONS = 8,
	HOUR_S = 3600,
	LIMIT = 20,
	BURST = 10, /* of the leaky bucket */
	WINDOW_MS = 150,
	ROUNDS = 2,
	ENOUGH = 7 * LIMIT / 2, /* grants per round */
	LEAD_MS = 10,           /* how long before there is room the callers come */
	ROUND_MS = 20000,       /* half a second suffices where nothing else keeps the machine busy */
	ANSWER_MS = 20000,
	REFUSALS_MAX = 20000, /* recorded refusals */
	WINDOWS_MAX = 1 + ENOUGH
};

/* An instant of Redis's clock, in milliseconds of its scripts: from min_ms to max_ms. */
struct instant {
	int64_t min_ms, max_ms;
};

struct caller {
	struct daemon daemon;
	struct raw *connection; /* new in each round: the daemon may have closed an idle connection */
	redisContext *redis;    /* the test reads its clock here */
	char request[384];
	pthread_t thread;
	int wrong; /* a status that is neither grant nor refusal; 0: none */
};

static struct redis_server redis;
static struct caller callers[DAEMONS];
static struct client *client; /* of the first daemon */

/* The current round. */
static struct instant grants[ENOUGH + DAEMONS], refusals[REFUSALS_MAX];
static atomic_int granted, refused;
static int64_t begin_ms, end_ms; /* by monotonic_ms: when the callers come, and when they leave at the latest */

/* ---- The callers ---- */

enum way { ALONE, AMONG_CHECKS, FOR_A_PROXY, WAYS };

static void set_request(struct caller *c, enum way way, const char *policy, int round)
{
	char body[128];

	if (way == FOR_A_PROXY) {
		snprintf(c->request, sizeof(c->request),
			 "GET /ratelimit/authorize?key=%d&policy=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", round,
			 policy);
		return;
	}
	snprintf(body, sizeof(body),
		 way == ALONE ? "{\"key\":\"%d\",\"policy\":\"%s\"}"
			      : "{\"checks\":[{\"key\":\"%d\",\"policy\":\"%s\"}]}",
		 round, policy);
	snprintf(c->request, sizeof(c->request),
		 "POST /ratelimit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
}

/* Returns 0 when Redis does not answer. */
static int64_t replied_now_ms(redisContext *c)
{
	redisReply *now = redisCommand(c, "TIME");
	int64_t ms = 0;

	if (now && now->type == REDIS_REPLY_ARRAY && now->elements == 2)
		ms = atoll(now->element[0]->str) * 1000 + atoll(now->element[1]->str) / 1000;
	freeReplyObject(now);
	return ms;
}

static struct answer ask(struct caller *c)
{
	int64_t before_ms = replied_now_ms(c->redis);

	raw_text(c->connection, c->request);
	struct answer a = raw_answer(c->connection, ANSWER_MS);
	int64_t after_ms = replied_now_ms(c->redis);
	struct instant at = { before_ms, after_ms };
	if (a.status == 200)
		grants[granted++] = at;
	else if (a.status == 429 && refused < REFUSALS_MAX - DAEMONS)
		refusals[refused++] = at;
	return a;
}

/* Calls until the daemon refuses, and again shortly before retry_after_ms has passed. */
static void *call(void *arg)
{
	struct caller *c = arg;
	int64_t wait_ms = begin_ms - monotonic_ms();

	while (!c->wrong && granted < ENOUGH) {
		int64_t left_ms = end_ms - monotonic_ms();
		if (wait_ms >= left_ms)
			break;
		if (wait_ms > 0)
			nap_ms(wait_ms);
		struct answer a = ask(c);
		wait_ms = a.status == 429 ? json_integer_value(json_at(a, "/retry_after_ms")) - LEAD_MS : 0;
		c->wrong = a.status == 200 || a.status == 429 ? 0 : a.status ? a.status : -1;
		raw_forget(c->connection);
	}
	return NULL;
}

/* One call opens a window. Callers take the rest of it when it is about to end. */
static void round_of_calls(const char *policy, int round)
{
	granted = refused = 0;
	for (int i = 0; i < DAEMONS; i++) {
		set_request(&callers[i], (enum way)(i % WAYS), policy, round);
		raw_close(callers[i].connection);
		callers[i].connection = raw_connect(callers[i].daemon.port);
	}
	struct answer a = ask(&callers[0]);
	assert_status(a, 200);
	begin_ms = monotonic_ms() + int_at(a, "/reset_after_ms") - LEAD_MS;
	end_ms = monotonic_ms() + patience_ms(ROUND_MS);
	for (int i = 0; i < DAEMONS; i++)
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	for (int i = 0; i < DAEMONS; i++)
		pthread_join(callers[i].thread, NULL);
	for (int i = 0; i < DAEMONS; i++)
		assert_int_equal(callers[i].wrong, 0);
	for (int i = 0; i < granted; i++)
		assert_true(grants[i].min_ms > 0 && grants[i].min_ms <= grants[i].max_ms);
}

/* ---- The most that may be granted ---- */

/* Returns how many grants are surely between the two, ends included. */
static int surely_within(int64_t from_ms, int64_t to_ms)
{
	int count = 0;

	for (int i = 0; i < granted; i++)
		count += grants[i].min_ms >= from_ms && grants[i].max_ms <= to_ms;
	return count;
}

static void assert_at_most(int64_t most, int64_t from_ms, int64_t to_ms)
{
	int count = surely_within(from_ms, to_ms);

	if (count > most)
		fail_msg("%d were granted in %lld ms; at most %lld may be", count, (long long)(to_ms - from_ms + 1),
			 (long long)most);
}

/*
 * The most that a leaky bucket or a sliding window may grant from one instant to another. A sliding
 * window is open at one end, so an interval of exactly WINDOW_MS counts as two.
 */
static int64_t most_of_gcra(int64_t ms)
{
	return BURST + ms * LIMIT / WINDOW_MS;
}

static int64_t most_of_sliding_window(int64_t ms)
{
	return LIMIT * (ms / WINDOW_MS + 1);
}

static void hold_each_stretch(int64_t (*most)(int64_t ms))
{
	for (int i = 0; i < granted; i++)
		for (int j = 0; j < granted; j++)
			if (grants[j].max_ms >= grants[i].min_ms)
				assert_at_most(most(grants[j].max_ms - grants[i].min_ms), grants[i].min_ms,
					       grants[j].max_ms);
}

static void hold_gcra(void)
{
	hold_each_stretch(most_of_gcra);
}

static void hold_sliding_window(void)
{
	hold_each_stretch(most_of_sliding_window);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A fixed window begins with the first grant after the end of the window before it. */
static struct instant begin_after(struct instant end)
{
	struct instant begin = { INT64_MAX, INT64_MAX };

	for (int i = 0; i < granted; i++) {
		if (grants[i].max_ms >= end.min_ms)
			begin.min_ms = least(begin.min_ms, greatest(grants[i].min_ms, end.min_ms));
		if (grants[i].min_ms >= end.max_ms)
			begin.max_ms = least(begin.max_ms, grants[i].max_ms);
	}
	return begin;
}

/*
 * Checks each window, and all windows that follow one another. A grant at an edge may belong to
 * either window: it counts only where both are taken together.
 */
static void hold_fixed_window(void)
{
	/* No window precedes the first. */
	struct instant ends[WINDOWS_MAX] = { { grants[0].min_ms, grants[0].min_ms } };
	int windows = 0;

	for (; windows < WINDOWS_MAX - 1; windows++) {
		struct instant begin = begin_after(ends[windows]);
		if (begin.max_ms == INT64_MAX)
			break;
		ends[windows + 1] = (struct instant){ begin.min_ms + WINDOW_MS, begin.max_ms + WINDOW_MS };
	}
	for (int i = 0; i < windows; i++)
		for (int j = i + 1; j <= windows; j++)
			assert_at_most((int64_t)LIMIT * (j - i), ends[i].max_ms, ends[j].min_ms - 1);
}

/* ---- When a refusal is allowed ---- */

/* Returns how many grants may be between the two, ends included. */
static int perhaps_within(int64_t from_ms, int64_t to_ms)
{
	int count = 0;

	for (int i = 0; i < granted; i++)
		count += grants[i].max_ms >= from_ms && grants[i].min_ms <= to_ms;
	return count;
}

/* True when the grants since some grant may have filled the bucket faster than it drained. */
static bool full_gcra(struct instant at)
{
	for (int i = 0; i < granted; i++) {
		int64_t drained = (at.min_ms - grants[i].max_ms) * LIMIT;
		if (perhaps_within(grants[i].min_ms, at.max_ms) * WINDOW_MS - drained > (BURST - 1) * WINDOW_MS)
			return true;
	}
	return false;
}

static bool full_window(struct instant at)
{
	return perhaps_within(at.min_ms - WINDOW_MS + 1, at.max_ms) >= LIMIT;
}

/* ---- The tests ---- */

struct limit {
	const char *algorithm;
	int burst; /* 0: the algorithm has no burst */
	void (*hold)(void);
	bool (*may_be_full)(struct instant at);
};

static const struct limit limits[] = {
	{ "gcra", BURST, hold_gcra, full_gcra },
	{ "sliding_window", 0, hold_sliding_window, full_window },
	{ "fixed_window", 0, hold_fixed_window, full_window },
};

static void never_more_than_is_allowed(void **state)
{
	const struct limit *l = *state;
	char target[64], burst[32] = "", body[128];
	int refused_in_all = 0;

	snprintf(target, sizeof(target), "/ratelimit/policies/%s", l->algorithm);
	if (l->burst)
		snprintf(burst, sizeof(burst), ",\"burst\":%d", l->burst);
	snprintf(body, sizeof(body), "{\"algorithm\":\"%s\",\"limit\":%d,\"window_ms\":%d%s}", l->algorithm, LIMIT,
		 WINDOW_MS, burst);
	assert_status(http(client, "PUT", target, body), 201);
	for (int round = 0; round < ROUNDS; round++) {
		round_of_calls(l->algorithm, round);
		l->hold();
		for (int i = 0; i < refused; i++)
			assert_true(l->may_be_full(refusals[i]));
		assert_true(granted >= ENOUGH);
		refused_in_all += refused;
	}
	print_message("%s: %d calls were refused\n", l->algorithm, refused_in_all);
	assert_true(refused_in_all > 0);
}

TEST_ROWS(never_more_than_is_allowed, limits, algorithm);

static int set_up(void **state)
{
	server_start(&redis);
	for (int i = 0; i < DAEMONS; i++) {
		struct caller *c = &callers[i];
		if (!daemon_is_sanitized()) /* the sanitizer must be loaded before the library that shifts the clock */
			c->daemon.proc.env = clock_off_by((i - DAEMONS / 2) * HOUR_S);
		daemon_start(&c->daemon, "--redis", redis.url, "--redis-timeout-ms", "10000");
		c->redis = redisConnect("127.0.0.1", redis.port);
		assert_true(c->redis && !c->redis->err);
	}
	client = client_open(callers[0].daemon.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	for (int i = 0; i < DAEMONS; i++) {
		redisFree(callers[i].redis);
		raw_close(callers[i].connection);
		daemon_stop(&callers[i].daemon);
	}
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
