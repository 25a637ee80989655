/*
 * Clients disconnect while they wait for messages, or while a script receives one for them. They
 * leave the wait queue at once, and nothing of them remains. A message that they did not read is
 * ready again, once, and the delivery does not count.
 */
#include <signal.h>
#include <sys/resource.h>

#include "../support/exchange.h"
#include "../support/stage.h"
#include "../support/stride.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000, MANY = 1000, ROUNDS = 300 };

#define LONG "\"wait_ms\":20000"

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

enum leaving { CLOSES, RESETS, HALF_CLOSES, WAYS };

/* Disconnects in this way. Returns `r` if it can still read, otherwise NULL. */
static struct raw *leave(struct raw *r, enum leaving way)
{
	if (way == CLOSES)
		raw_close(r);
	else if (way == RESETS)
		raw_reset(r);
	else
		raw_half_close(r);
	return way == HALF_CLOSES ? r : NULL;
}

static size_t count_in(struct answer a)
{
	assert_status(a, 200);
	assert_true(json_is_array(json_at(a, "/messages")));
	return json_array_size(json_at(a, "/messages"));
}

static struct answer receive(const char *queue, const char *body)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	return post(target, body);
}

static void send_to(const char *queue, const char *body)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	assert_status(post(target, body), 201);
}

static int64_t count_of(const char *queue, const char *state)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s", queue);
	return int_at(get(target), state);
}

/* ---- While clients are parked ---- */

TEST(a_client_that_leaves_is_out_of_the_wait_queue)
{
	for (enum leaving way = 0; way < WAYS; way++) {
		char headers[64], line[160];
		long left = metric_of(&patternd, "clients_disconnected_total");
		snprintf(headers, sizeof(headers), "X-Request-ID: way-%d\r\n", way);
		struct raw *w = waiter_parked_with(&patternd, &redis, "q", "{" LONG "}", headers);
		struct raw *next = waiter_parked(&patternd, &redis, "q", "{" LONG "}");
		w = leave(w, way);
		wait_until(waiting_at(&patternd) == 1, SOON_MS);
		assert_int_equal(metric_of(&patternd, "clients_disconnected_total"), left + 1);
		if (w) {
			assert_true(raw_closed(w, SOON_MS));
			assert_int_equal(raw_answers_left(w), 0);
			raw_close(w);
		}
		snprintf(
			line, sizeof(line),
			"\"request_id\":\"way-%d\",\"operation\":\"queue_message_receive\",\"resource\":\"q\",\"method\":\"POST\",\"status\":499",
			way);
		wait_until(proc_wrote(&patternd.proc, line), SOON_MS);
		send_to("q", "{\"body\":1}");
		assert_int_equal(count_in(waiter_answer(next, "/queues/q/receive", SOON_MS)), 1);
		raw_close(next);
	}
}

TEST(a_thousand_leave_at_once)
{
	struct raw **all = calloc(MANY, sizeof(*all));
	struct rlimit limit;

	assert_non_null(all);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	int files = daemon_open_files(&patternd);
	long left = metric_of(&patternd, "clients_disconnected_total");
	for (int i = 0; i < MANY; i++)
		all[i] = waiter(&patternd, i % 2 ? "q" : "r", "{" LONG "}");
	wait_until(subscribers_of(&redis, "q") == 1 && subscribers_of(&redis, "r") == 1 && all_parked(&patternd, MANY),
		   SOON_MS);
	for (int i = 0; i < MANY; i++)
		all[i] = leave(all[i], (enum leaving)(i % WAYS));
	wait_until(waiting_at(&patternd) == 0, 2000);
	assert_int_equal(metric_of(&patternd, "clients_disconnected_total"), left + MANY);
	for (int i = 0; i < MANY; i++)
		raw_close(all[i]);
	wait_until(daemon_open_files(&patternd) <= files + 1, SOON_MS); /* the connection that asks for the number */
	send_to("q", "{\"body\":1}");
	assert_int_equal(int_at(receive("q", NULL), "/messages/0/receives"), 1);
	free(all);
}

#define BEHIND "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" /* 44 bytes */

/* Unread bytes close the window of TCP: the end of the stream behind them cannot arrive. */
TEST(a_client_that_left_behind_a_long_pipeline_is_noticed)
{
	static const size_t requests_behind[] = { 400, 4700, 24000 };

	for (size_t i = 0; i < COUNT(requests_behind); i++) {
		struct raw *w = waiter_parked(&patternd, &redis, "q", "{" LONG "}");
		long left = metric_of(&patternd, "clients_disconnected_total");
		/* This may fail: the daemon may have closed the connection by then. */
		raw_repeat(w, BEHIND, requests_behind[i]);
		raw_close(w);
		wait_until(waiting_at(&patternd) == 0, SOON_MS);
		assert_int_equal(metric_of(&patternd, "clients_disconnected_total"), left + 1);
	}
	send_to("q", "{\"body\":1}");
	assert_int_equal(count_of("q", "/in_flight"), 0);
	assert_int_equal(count_of("q", "/ready"), 1);
}

TEST(a_short_pipeline_is_answered)
{
	enum { REQUESTS_BEHIND = 300 };

	struct raw *w = waiter_parked(&patternd, &redis, "q", "{" LONG "}");
	raw_repeat(w, BEHIND, REQUESTS_BEHIND);
	send_to("q", "{\"body\":1}");
	assert_int_equal(count_in(waiter_answer(w, "/queues/q/receive", SOON_MS)), 1);
	for (int i = 0; i < REQUESTS_BEHIND; i++)
		assert_status(raw_answer(w, SOON_MS), 200);
	raw_close(w);
}

/* ---- While Redis is held with a message for them, until they have left ---- */

struct won {
	const char *name, *target, *body;
};

static const struct won wins[] = {
	{ "waiting", "/queues/q/receive", "{" LONG ",\"limit\":2}" },
	{ "not waiting", "/queues/q/receive", "{\"limit\":2}" },
	{ "for good", "/queues/q/receive", "{" LONG ",\"limit\":2,\"acknowledge\":true}" },
	{ "for good, not waiting", "/queues/q/receive", "{\"limit\":2,\"acknowledge\":true}" },
	{ "of several queues", "/queues/receive", "{\"queues\":[\"p\",\"q\"]," LONG ",\"limit\":2}" },
	{ "of several queues for good", "/queues/receive",
	  "{\"queues\":[\"p\",\"q\"]," LONG ",\"limit\":2,\"acknowledge\":true}" },
};

/* Sends the request, and leaves before Redis runs it. */
static void ask_and_leave(const struct won *w, enum leaving way, const char *headers)
{
	long commands = metric_of(&patternd, "redis_commands_total"),
	     left = metric_of(&patternd, "clients_disconnected_total");

	server_command(&redis, "CLIENT PAUSE 10000 WRITE");
	struct raw *r = waiter_at(&patternd, w->target, w->body, headers);
	wait_until(metric_of(&patternd, "redis_commands_total") == commands + 1, SOON_MS);
	r = leave(r, way);
	wait_until(metric_of(&patternd, "clients_disconnected_total") == left + 1, SOON_MS);
	server_command(&redis, "CLIENT UNPAUSE");
	wait_until(metric_of(&patternd, "redis_calls_in_flight") == 0, SOON_MS);
	if (r) {
		assert_true(raw_closed(r, SOON_MS));
		assert_int_equal(raw_answers_left(r), 0);
		raw_close(r);
	}
}

/*
 * If the deliveries counted, these messages would be dead letters. They return to their places,
 * with their ids.
 */
static void what_was_won_in_vain_was_not_received(void **state)
{
	const struct won *w = *state;

	for (enum leaving way = 0; way < WAYS; way++) {
		assert_status(http(client, "PATCH", "/queues/q", "{\"max_receives\":1}"), 200);
		send_to("q",
			"{\"messages\":[{\"body\":{\"n\":[1]},\"id\":\"a\",\"priority\":3},{\"body\":2,\"priority\":3}]}");
		ask_and_leave(w, way, "");
		wait_until(count_of("q", "/ready") == 2, SOON_MS);
		send_to("q", "{\"body\":3,\"priority\":3}");
		assert_true(bool_at(post("/queues/q/messages", "{\"body\":9,\"id\":\"a\"}"), "/messages/0/duplicate"));
		struct answer a = receive("q", "{\"limit\":10}");
		assert_int_equal(count_in(a), 3);
		assert_string_equal(text_at(a, "/messages/0/id"), "a");
		assert_int_equal(int_at(a, "/messages/0/body/n/0"), 1);
		assert_int_equal(int_at(a, "/messages/1/body"), 2);
		assert_int_equal(int_at(a, "/messages/2/body"), 3);
		for (int i = 0; i < 3; i++) {
			char pointer[32];
			snprintf(pointer, sizeof(pointer), "/messages/%d/receives", i);
			assert_int_equal(int_at(a, pointer), 1);
			snprintf(pointer, sizeof(pointer), "/messages/%d/priority", i);
			assert_int_equal(int_at(a, pointer), 3);
		}
		assert_int_equal(count_of("q", "/in_flight"), 3);
		forget(NULL);
	}
}

TEST_ROWS(what_was_won_in_vain_was_not_received, wins, name);

/*
 * This also holds when the daemon learns of both events at once, and of the received message first.
 * For that purpose the test stops the daemon (SIGSTOP) until both events have happened.
 */
TEST(a_client_that_left_just_before_is_not_answered)
{
	for (size_t i = 0; i < COUNT(wins); i++) {
		const struct won *w = &wins[i];
		if (!strstr(w->body, "wait_ms"))
			continue; /* the daemon does not check for the client of a request that does not wait */
		send_to("q", "{\"body\":1,\"id\":\"m\"}");
		long long scripts = server_scripts_run(&redis);
		long commands = metric_of(&patternd, "redis_commands_total");
		server_command(&redis, "CLIENT PAUSE 10000 WRITE");
		struct raw *r = waiter_at(&patternd, w->target, w->body, "");
		wait_until(metric_of(&patternd, "redis_commands_total") == commands + 1, SOON_MS);
		nap_ms(10); /* its grace polls have ended, so the request is suspended */
		proc_signal(&patternd.proc, SIGSTOP);
		server_command(&redis, "CLIENT UNPAUSE");
		wait_until(server_scripts_run(&redis) == scripts + 1, SOON_MS);
		r = leave(r, (enum leaving)(i % WAYS));
		proc_signal(&patternd.proc, SIGCONT);
		wait_until(count_of("q", "/ready") == 1, SOON_MS);
		assert_int_equal(int_at(receive("q", NULL), "/messages/0/receives"), 1);
		raw_close(r);
		forget(NULL);
	}
}

/* The message does not remain until the next request: a waiter gets it. */
TEST(what_was_won_in_vain_goes_to_the_next)
{
	for (enum leaving way = 0; way < WAYS; way++) {
		send_to("q", "{\"body\":1}");
		long commands = metric_of(&patternd, "redis_commands_total");
		server_command(&redis, "CLIENT PAUSE 10000 WRITE");
		struct raw *first = waiter(&patternd, "q", "{" LONG "}");
		wait_until(metric_of(&patternd, "redis_commands_total") == commands + 1, SOON_MS);
		struct raw *second = waiter(&patternd, "q", "{" LONG "}");
		wait_until(metric_of(&patternd, "redis_commands_total") == commands + 2, SOON_MS);
		first = leave(first, way);
		server_command(&redis, "CLIENT UNPAUSE");
		struct answer a = waiter_answer(second, "/queues/q/receive", SOON_MS);
		assert_int_equal(count_in(a), 1);
		assert_int_equal(int_at(a, "/messages/0/receives"), 1);
		raw_close(first);
		raw_close(second);
		forget(NULL);
	}
}

/* A request with an Idempotency-Key keeps its message for the retry. */
TEST(with_a_key_it_is_kept_for_the_retry)
{
	for (size_t i = 0; i < COUNT(wins); i++) {
		send_to("q", "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3}]}");
		ask_and_leave(&wins[i], (enum leaving)(i % WAYS), "Idempotency-Key: one\r\n");
		assert_int_equal(count_of("q", "/ready"), 1);
		struct answer a = http(client, "POST", wins[i].target, wins[i].body, "Idempotency-Key: one");
		assert_int_equal(count_in(a), 2);
		assert_int_equal(int_at(a, "/messages/1/body"), 2);
		assert_int_equal(int_at(a, "/messages/1/receives"), 1);
		assert_int_equal(count_in(receive("q", "{\"limit\":10}")), 1);
		forget(NULL);
	}
}

/* ---- While the daemon leaves, too ---- */

/*
 * The daemon does not end until Redis has answered the requests of clients that left. It then
 * returns their messages.
 */
TEST(what_was_won_in_vain_is_ready_again_before_the_end)
{
	for (enum leaving way = 0; way < WAYS; way++) {
		struct daemon d = { 0 };
		daemon_start(&d, "--redis", redis.url);
		send_to("q", "{\"body\":1}");
		long commands = metric_of(&d, "redis_commands_total");
		proc_signal(&redis.proc, SIGSTOP);
		struct raw *r = waiter(&d, "q", "{" LONG "}");
		wait_until(metric_of(&d, "redis_commands_total") == commands + 1, SOON_MS);
		r = leave(r, way);
		proc_signal(&d.proc, SIGTERM);
		wait_until(proc_wrote(&d.proc, "\"draining\""), SOON_MS);
		proc_signal(&redis.proc, SIGCONT);
		assert_true(proc_ended(&d.proc, SOON_MS));
		assert_int_equal(proc_exit_status(&d.proc), 0);
		daemon_stop(&d);
		assert_int_equal(int_at(receive("q", NULL), "/messages/0/receives"), 1);
		raw_close(r);
		forget(NULL);
	}
}

/*
 * The daemon also ends when Redis never answers: its drain has a limit, and the daemon sends
 * nothing after that.
 */
TEST(the_daemon_may_leave_before_redis_answers)
{
	static const char *const bodies[][2] = {
		{ "/queues/q/receive", "{" LONG "}" },
		{ "/locks/held", "{" LONG "}" },
		{ "/locks", "{\"names\":[\"free\",\"held\"]," LONG "}" },
		{ "/semaphores/s/permits", "{\"limit\":1," LONG "}" },
		{ "/cache/c/fill", "{" LONG "}" },
		{ "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":60000,\"wait_ms\":60000}" },
	};
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "100", "--redis-timeout-ms", "5000");
	assert_status(post("/locks/held", "{}"), 201);
	assert_status(post("/semaphores/s/permits", "{\"limit\":1}"), 201);
	assert_status(post("/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":60000}"), 200);
	long commands = metric_of(&d, "redis_commands_total");
	proc_signal(&redis.proc, SIGSTOP);
	for (size_t i = 0; i < 20; i++) {
		const char *const *ask = bodies[i % COUNT(bodies)];
		struct raw *r = waiter_at(&d, ask[0], ask[1], "");
		wait_until(metric_of(&d, "redis_commands_total") == commands + (long)i + 1, SOON_MS);
		raw_close(leave(r, (enum leaving)(i % WAYS)));
	}
	wait_until(metric_of(&d, "requests_waiting") == 20, SOON_MS); /* a reply of Redis is pending at this moment */
	daemon_stop(&d);
	proc_signal(&redis.proc, SIGCONT);
}

/* ---- At the same moment ---- */

/* A round: a client waits at its own queue, a message is sent there, and the client leaves. */
struct round {
	struct raw *raw; /* of a client that half closed, and can still read */
	bool got;        /* that client read an answer */
	int status;      /* the status that the daemon logged */
};

static int rounds_wanted(void)
{
	const char *given = getenv("PATTERND_ROUNDS");

	return given ? atoi(given) : ROUNDS / stride();
}

static void spin_us(int64_t us)
{
	int64_t until_us = monotonic_us() + us;

	while (monotonic_us() < until_us)
		continue;
}

/* The client leaves before the message, after it, or a little after it. */
static void play(struct round *r, int i, bool acknowledge)
{
	char queue[32], headers[64], target[64];
	enum leaving way = (enum leaving)(i / 3 % WAYS);

	snprintf(queue, sizeof(queue), "left-%d", i);
	snprintf(headers, sizeof(headers), "X-Request-ID: %s-%d\r\n", acknowledge ? "done" : "left", i);
	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	wait_until(waiting_at(&patternd) == 0, SOON_MS); /* the client of the round before has left */
	struct raw *sender = raw_connect(patternd.port);
	struct raw *w = waiter_parked_with(&patternd, &redis, queue,
					   acknowledge ? "{" LONG ",\"acknowledge\":true}" : "{" LONG "}", headers);
	if (i % 3 == 0)
		w = leave(w, way);
	assert_true(waiter_ask(sender, target, "{\"body\":1,\"id\":\"m\"}", ""));
	if (i % 3 == 2)
		spin_us(i % 100 * 10);
	if (i % 3 != 0)
		w = leave(w, way);
	assert_status(raw_answer(sender, SOON_MS), 201);
	raw_close(sender);
	r->raw = w;
}

static void read_log(struct round *rounds, int count, const char *stem)
{
	char *log = file_text(patternd.proc.err_path), id[64];

	assert_non_null(log);
	snprintf(id, sizeof(id), "\"request_id\":\"%s-", stem);
	for (const char *at = log; (at = strstr(at, id));) {
		at += strlen(id);
		int i = atoi(at);
		const char *status = strstr(at, "\"status\":");
		assert_in_range(i, 0, count - 1);
		assert_non_null(status);
		rounds[i].status = atoi(status + strlen("\"status\":"));
	}
	free(log);
}

/*
 * Checks where the message is, by the status that the daemon logged. Returns whether the daemon
 * wrote an answer that no client read.
 */
static bool look_after(const struct round *r, int i, bool acknowledge)
{
	char queue[32];

	snprintf(queue, sizeof(queue), "left-%d", i);
	int64_t ready = count_of(queue, "/ready"), in_flight = count_of(queue, "/in_flight");
	if (r->status == 200) {
		/* The kernel has the answer: the daemon cannot learn whether the client read it. */
		assert_int_equal(ready, 0);
		assert_int_equal(in_flight, acknowledge ? 0 : 1);
		return !r->got;
	}
	assert_int_equal(r->status, 499);
	assert_false(r->got);
	assert_int_equal(ready, 1);
	assert_int_equal(in_flight, 0);
	struct answer a = receive(queue, "{\"limit\":10}");
	assert_int_equal(count_in(a), 1);
	assert_string_equal(text_at(a, "/messages/0/id"), "m");
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	return false;
}

static void leave_in_the_moment(bool acknowledge)
{
	int count = rounds_wanted(), got = 0, lost = 0;
	struct round *rounds = calloc((size_t)count, sizeof(*rounds));
	long commands = metric_of(&patternd, "redis_commands_total"),
	     tries = metric_of(&patternd, "wait_retries_total");

	assert_non_null(rounds);
	for (int i = 0; i < count; i++)
		play(&rounds[i], i, acknowledge);
	wait_until(all_parked(&patternd, 0), SOON_MS);
	for (int i = 0; i < count; i++) {
		struct raw *w = rounds[i].raw;
		rounds[i].got = w && raw_answer(w, SOON_MS).status == 200;
		got += rounds[i].got;
		raw_close(w);
	}
	tries = metric_of(&patternd, "wait_retries_total") - tries;
	long returned = metric_of(&patternd, "redis_commands_total") - commands - tries - 2 * count;
	read_log(rounds, count, acknowledge ? "done" : "left");
	for (int i = 0; i < count; i++)
		lost += look_after(&rounds[i], i, acknowledge);
	print_message("%d rounds: %d read, %ld returned, %d written to clients that had left\n", count, got, returned,
		      lost);
	free(rounds);
}

TEST(nothing_is_lost_and_nothing_comes_twice)
{
	leave_in_the_moment(false);
}

TEST(nothing_is_done_that_was_not_written)
{
	leave_in_the_moment(true);
}

SUITE(.open = stage_open, .close = stage_close, .after = forget);
