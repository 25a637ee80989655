/*
 * The wait queue of a queue, on a real Redis: which waiter is called for what is ready, and which
 * looks when time makes something ready. Also how tickets come, stay and leave, and what happens
 * when a daemon dies.
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

#define QUEUE "p:queue:{q}"
#define SECOND "p:queue:{s}"
#define A1 QUEUE_TICKET(DAEMON_A, 1, 1)
#define A2 QUEUE_TICKET(DAEMON_A, 2, 1)
#define B1 QUEUE_TICKET(DAEMON_B, 1, 1)
#define C1 QUEUE_TICKET(DAEMON_C, 1, 1)
#define UNHEARD QUEUE_TICKET("dddddddddddddddd", 1, 1) /* of a daemon that receives nothing */

enum { WAIT_MS = 20000, OFFER_MS = 1000 };

static int open_all(void **state)
{
	script_stage_open(state);
	line_attend(&r, QUEUE);
	line_attend(&r, SECOND);
	line_subscribe(&r, QUEUE);
	return 0;
}

static int close_all(void **state)
{
	line_subscribe(&r, NULL);
	return script_stage_close(state);
}

/* The notifications since the last call: "A1 0" means that A1 may come now. */
static const char *notified(void)
{
	return line_published(&r);
}

static int empty_all(void **state)
{
	notified();
	return script_stage_empty(state);
}

/* A waiter looks for the first time, or again. Returns how many messages it took. */
static int64_t come(const char *ticket)
{
	return queue_wait(&r, "q", ticket, WAIT_MS, 0);
}

/* These waiters join in this order. Their notifications are read and dropped. */
static void wait_all(const char *const tickets[])
{
	for (; *tickets; tickets++)
		assert_int_equal(come(*tickets), 0);
	notified();
}

static void three_wait(void)
{
	wait_all(ARGS(A1, B1, C1));
}

static void send_ready(size_t count)
{
	const struct outgoing batch[BATCH_MAX] = { 0 };

	queue_send_all(&r, "q", batch, count);
}

/* A client that does not wait takes one for visibility_ms. Returns the end of its visibility. */
static int64_t barge(int64_t visibility_ms)
{
	assert_int_equal(queue_message_receive(&r, "q", 1, visibility_ms, NONCE_A), 1);
	return received(&r, 0, RECEIVED_VISIBLE_UNTIL)->integer;
}

static void pause_queue(bool paused)
{
	struct queue_settings s = standard_settings;

	s.paused = paused;
	queue_put(&r, "q", s);
}

/* The number of all entries of the wait queue. */
static int64_t members(void)
{
	return server_command(&r, "ZCARD %s:waiters", QUEUE)->integer;
}

/* ---- Which waiter is called ---- */

SUITE(.open = open_all, .close = close_all, .after = empty_all);

TEST(a_receive_calls_the_next_when_more_is_ready)
{
	const struct outgoing two[] = { { .delay_ms = 20 }, { .delay_ms = 20 } };

	three_wait();
	queue_send_all(&r, "q", two, 2);
	int64_t due_ms = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	assert_string_equal(notified(), "A1 20, C1 1020");
	wait_for_clock(&r, due_ms);
	assert_int_equal(come(A1), 1);
	assert_string_equal(notified(), "B1 0, B1 61000"); /* B1 also guards the end of A1's delivery */
	assert_string_equal(line_offered_to(&r, QUEUE), B1);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	assert_int_equal(come(B1), 1);
	assert_string_equal(notified(), "");
}

/* A message that does not fit into one reply goes to the next waiter. */
TEST(what_does_not_fit_is_for_the_next)
{
	enum { BODY_BYTES = 700000 };
	char *big = malloc(BODY_BYTES + 1);

	assert_non_null(big);
	memset(big, '1', BODY_BYTES);
	big[BODY_BYTES] = '\0';
	wait_all(ARGS(QUEUE_TICKET(DAEMON_A, 1, 2), B1));
	queue_send_all(&r, "q", (struct outgoing[]){ { .body = big }, { .body = big } }, 2);
	free(big);
	assert_string_equal(notified(), "A1 0, B1 1000");
	assert_int_equal(come(QUEUE_TICKET(DAEMON_A, 1, 2)), 1);
	assert_string_equal(notified(), "B1 0");
}

TEST(as_many_are_called_as_take_it)
{
	static const char *const twos[] = { QUEUE_TICKET(DAEMON_A, 1, 2), QUEUE_TICKET(DAEMON_B, 1, 2),
					    QUEUE_TICKET(DAEMON_C, 1, 2), QUEUE_TICKET(DAEMON_C, 2, 2), NULL };

	wait_all(twos);
	send_ready(5);
	assert_string_equal(notified(), "A1 0, B1 0, C1 0");
	assert_int_equal(come(twos[0]), 2);
	assert_int_equal(come(twos[1]), 2);
	assert_int_equal(come(twos[2]), 1);
	assert_string_equal(line_tickets(&r, QUEUE), twos[3]);
	/*
	 * A waiter that was called also takes messages that came after the call, up to its limit.
	 */
	script_stage_empty(NULL);
	wait_all(twos);
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C2 1000, B1 2000");
	send_ready(1);
	assert_string_equal(notified(), "");
	send_ready(1);
	assert_string_equal(notified(), "B1 0");
	assert_int_equal(come(twos[0]), 2);
}

TEST(a_waiter_that_comes_in_vain_keeps_its_place)
{
	three_wait();
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	barge(60000);
	assert_int_equal(come(A1), 0);
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1);
	assert_string_equal(line_offered_to(&r, QUEUE), "");
	notified();
	send_ready(1);
	assert_memory_equal(notified(), "A1 0", 4);
	assert_int_equal(come(A1), 1);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
}

/* An offer reserves no message: C1 takes one without an offer, and B1 finds none. */
TEST(an_offer_that_was_taken_is_no_longer_one)
{
	three_wait();
	send_ready(2);
	assert_string_equal(notified(), "A1 0, B1 0, C1 1000");
	assert_int_equal(come(C1), 1);
	assert_string_equal(notified(), "");
	assert_int_equal(come(A1), 1);
	assert_int_equal(come(B1), 0);
	assert_string_equal(line_tickets(&r, QUEUE), B1);
	assert_string_equal(line_offered_to(&r, QUEUE), "");
}

/* ---- How tickets leave ---- */

TEST(the_last_try_leaves)
{
	three_wait();
	send_ready(1);
	barge(60000);
	notified();
	assert_int_equal(queue_wait(&r, "q", A1, 0, WAIT_MS * 1000), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	assert_int_equal(queue_wait(&r, "q", B1, 0, WAIT_MS * 1000), 0);
	assert_int_equal(queue_wait(&r, "q", C1, 0, WAIT_MS * 1000), 0);
	assert_int_equal(members(), 0);
}

TEST(a_waiter_that_takes_leaves)
{
	wait_all(ARGS(A1));
	send_ready(2);
	assert_string_equal(notified(), "A1 0");
	assert_int_equal(come(A1), 1);
	assert_int_equal(members(), 0);
	assert_int_equal(come(A2), 1); /* a first look, which takes at once */
	assert_int_equal(members(), 0);
	assert_string_equal(notified(), "");
}

TEST(a_waiter_that_leaves_passes_its_offer_on)
{
	three_wait();
	unchanged(&r, queue_leave(&r, "q", A2)); /* A2 was not in the queue */
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	queue_leave(&r, "q", A1);
	assert_memory_equal(notified(), "B1 0", 4);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	assert_string_equal(line_offered_to(&r, QUEUE), B1);
	queue_leave(&r, "q", C1); /* the guard leaves; no other daemon waits */
	assert_string_equal(notified(), "");
	queue_leave(&r, "q", B1);
	assert_int_equal(members(), 0);
	assert_counts(&r, "q", 1, 0, 0, 0);
}

/* The waiter that leaves was to look: another one does. */
TEST(a_waiter_that_leaves_passes_its_look_on)
{
	three_wait();
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 60000 });
	int64_t due_ms = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	assert_string_equal(notified(), "A1 60000, C1 61000");
	queue_leave(&r, "q", A1);
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "B1 %lld", (long long)(due_ms - item_int(&r, REPLY_NOW_MS)));
	assert_string_equal(notified(), wanted);
	queue_leave(&r, "q", C1);
	assert_string_equal(notified(), "");
}

/* KEYS of two queues. */
static const char *const *keys_of(const char *first, const char *second)
{
	static char *names[2 * QUEUE_KEYS + 1];

	for (size_t q = 0; q < 2; q++) {
		const char *const *keys = queue_keys(q ? second : first);
		for (size_t i = 0; i < QUEUE_KEYS; i++) {
			free(names[q * QUEUE_KEYS + i]);
			names[q * QUEUE_KEYS + i] = strdup(keys[i]);
		}
	}
	return (const char *const *)names;
}

static int64_t come_to_both(const char *ticket)
{
	run(&r, &queue_message_receive_script, keys_of("s", "q"),
	    ARGS("1", "60000", NONCE_B, "0", ticket, "20000", "0"));
	return outcome(&r);
}

TEST(a_waiter_of_two_queues_waits_in_both)
{
	assert_int_equal(come_to_both(A1), 0);
	wait_all(ARGS(B1, C1));
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1);
	assert_string_equal(line_tickets(&r, SECOND), A1);
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	queue_message_send(&r, "s", (struct outgoing){ 0 });
	assert_string_equal(line_offered_to(&r, SECOND), A1);
	/* The first queue has a message, so the offer of the other goes to its next waiter. */
	assert_int_equal(come_to_both(A1), 1);
	assert_int_equal(received(&r, 0, RECEIVED_QUEUE)->integer, 0);
	assert_string_equal(line_tickets(&r, SECOND), "");
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	assert_memory_equal(notified(), "B1 0", 4);
	assert_int_equal(come(B1), 1);
}

/* If one queue does not exist, no message is taken, and no ticket waits. */
TEST(queues_that_must_exist_are_looked_at_first)
{
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	for (int first = 0; first < 2; first++) {
		run(&r, &queue_message_receive_script, first ? keys_of("s", "q") : keys_of("q", "s"),
		    ARGS("1", "60000", NONCE_B, "0", A1, "20000", "0", "1"));
		assert_int_equal(outcome(&r), QUEUE_MESSAGE_RECEIVE_ABSENT);
		assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_QUEUE), !first);
		assert_string_equal(line_tickets(&r, QUEUE), "");
		assert_string_equal(line_tickets(&r, SECOND), "");
		assert_int_equal(queue_get(&r, "q").ready, 1);
	}
	run(&r, &queue_message_receive_script, queue_keys("q"), ARGS("0", "-1", "", "0", "", "0", "0", "2"));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(queue_get(&r, "q").ready, 1);
	run(&r, &queue_message_receive_script, queue_keys("s"), ARGS("0", "-1", "", "0", "", "0", "0", "2"));
	assert_int_equal(outcome(&r), QUEUE_MESSAGE_RECEIVE_ABSENT);
}

TEST(a_waiter_of_two_queues_looks_at_the_earlier)
{
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 30000 });
	int64_t due_ms = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	queue_message_send(&r, "s", (struct outgoing){ .delay_ms = 60000 });
	int64_t later_ms = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	assert_int_equal(come_to_both(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), due_ms);
	/* B1 is the last waiter in both queues, and so guards. */
	assert_int_equal(come_to_both(B1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), due_ms + OFFER_MS);
	run(&r, &queue_leave_script, keys_of("s", "q"), ARGS(A1, ""));
	assert_string_equal(line_tickets(&r, QUEUE), B1);
	assert_string_equal(line_tickets(&r, SECOND), B1);
	assert_memory_equal(notified(), "B1 ", 3);
	assert_int_equal(come_to_both(B1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), due_ms);
	assert_true(due_ms < later_ms);
}

/* The first queue is left alone when a key of the second is foreign. */
TEST(a_foreign_key_of_the_second_queue_stops_the_first)
{
	static const char *const parts[] = { ":delayed", ":dead", ":waiters" };

	for (size_t k = 0; k < KEYS_WITHOUT_GROUPS; k++) {
		script_stage_empty(NULL);
		queue_message_send(&r, "s", (struct outgoing){ 0 });
		queue_message_send(&r, "q", (struct outgoing){ 0 });
		server_command(&r, "SET %s foreign", queue_keys("q")[k]);
		unchanged(&r, run_fails(&r, &queue_message_receive_script, keys_of("s", "q"),
					ARGS("2", "60000", NONCE_B, "0", A1, "20000", "0"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &queue_leave_script, keys_of("s", "q"), ARGS(A1, ""), "WRONGTYPE"));
	}
	/* The second queue has a foreign member, and time has changed the first queue. */
	for (size_t i = 0; i < COUNT(parts); i++) {
		script_stage_empty(NULL);
		assert_int_equal(queue_wait(&r, "s", A1, 20000, 0), 0);
		queue_message_send(&r, "s", (struct outgoing){ .delay_ms = 2 });
		wait_for_clock(&r, item_int(&r, REPLY_NOW_MS) + 2);
		server_command(&r, "ZADD %s 1 foreign", queue_key("q", parts[i]));
		unchanged(&r, run_fails(&r, &queue_message_receive_script, keys_of("s", "q"),
					ARGS("2", "60000", NONCE_B, "0", A1, "20000", "0"), "WRONGTYPE"));
	}
	unchanged(&r, run_fails(&r, &queue_leave_script, keys_of("s", "q"), ARGS(A1, ""), "WRONGTYPE"));
}

/* A replay does not join, leave or call, so it notifies no waiter. */
TEST(a_replay_changes_no_wait_queue)
{
	static const char *const record = "p:idem:{1}";
	const char *const *args = ARGS("1", "-1", NONCE_A, "0", A1, "20000", "0");

	queue_message_send(&r, "q", (struct outgoing){ 0 });
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), args, record, FINGERPRINT_A);
	int64_t then_ms = item_int(&r, REPLY_NOW_MS);
	wait_for_clock(&r, then_ms + 1);
	three_wait();
	unchanged(&r, run_with_record(&r, &queue_message_receive_script, queue_keys("q"), args, record, FINGERPRINT_A));
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"), args, record, FINGERPRINT_A);
	assert_int_equal(outcome(&r), 1);
	assert_true(item_int(&r, REPLY_NOW_MS) > then_ms);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	assert_string_equal(notified(), "");
}

/* A call that only drops messages past their ttl does not know yet whether it must wait. */
TEST(a_waiter_that_is_to_call_again_does_not_wait_yet)
{
	struct outgoing batch[BATCH_MAX];
	int64_t sent_ms = 0;

	for (size_t i = 0; i < BATCH_MAX; i++)
		batch[i] = (struct outgoing){ .ttl_ms = 1 };
	for (int i = 0; i < 11; i++) {
		queue_send_all(&r, "q", batch, BATCH_MAX);
		sent_ms = item_int(&r, REPLY_NOW_MS);
	}
	wait_for_clock(&r, sent_ms + 1);
	assert_int_equal(come(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_MORE), 1);
	assert_int_equal(members(), 0);
	assert_int_equal(come(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_MORE), 0);
	assert_string_equal(line_tickets(&r, QUEUE), A1);
}

/* ---- The queue ---- */

TEST(a_paused_queue_calls_no_waiter)
{
	three_wait();
	pause_queue(true);
	send_ready(2);
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 500 });
	assert_int_equal(come(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	queue_leave(&r, "q", C1);
	assert_string_equal(notified(), "");
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1);
	pause_queue(false);
	assert_string_equal(notified(), "A1 0, B1 0");
	assert_int_equal(come(A1), 1);
	assert_int_equal(come(B1), 1);
}

/* Waiters are called at once for what came due in a pause, and have the usual time to come. */
TEST(what_came_due_in_a_pause_is_looked_for)
{
	three_wait();
	pause_queue(true);
	queue_message_send(&r, "q", (struct outgoing){ .id = "m", .delay_ms = 1 });
	/* As if the pause had been longer. */
	char *member = strdup(server_command(&r, "ZRANGE %s:delayed 0 0", QUEUE)->element[0]->str);
	server_command(&r, "ZADD %s:delayed %lld %s", QUEUE, (long long)(server_now_ms(&r) - 5000), member);
	free(member);
	pause_queue(false);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 60000 });
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1); /* no waiter counts as dead */
	assert_string_equal(notified(), "");
	assert_int_equal(come(A1), 1);
}

TEST(a_deleted_queue_keeps_its_waiters)
{
	three_wait();
	unchanged(&r, {
		run(&r, &queue_delete_script, queue_keys("q"), ARGS());
		assert_int_equal(outcome(&r), 0);
	});
	send_ready(1);
	run(&r, &queue_delete_script, queue_keys("q"), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(come(A1), 0);
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1 " " C1);
	notified();
	send_ready(1);
	assert_memory_equal(notified(), "A1 0", 4);
	assert_int_equal(come(A1), 1);
}

/* ---- What time makes ready ---- */

TEST(a_visibility_that_ends_is_looked_for)
{
	send_ready(1);
	int64_t until_ms = barge(60000);
	assert_int_equal(come(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), until_ms);
	assert_int_equal(come(A2), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	assert_int_equal(come(B1), 0); /* B1, of another daemon, is the guard */
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), until_ms + OFFER_MS);
	assert_int_equal(come(C1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	assert_string_equal(notified(), "");
}

/* A client that does not wait takes the message before the notified waiters come. */
TEST(a_visibility_of_one_that_barged_is_looked_for)
{
	three_wait();
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	int64_t until_ms = barge(60000);
	/* C1 and B1 already look earlier. */
	assert_string_equal(notified(), "");
	assert_int_equal(come(A1), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), -1);
	assert_int_equal(come(C1), 0); /* B1 looks before that, and C1 watches B1 */
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), until_ms + OFFER_MS);
	assert_string_equal(notified(), "");
}

TEST(what_is_due_is_the_first_ones)
{
	queue_put(&r, "q", standard_settings);
	three_wait();
	send_ready(1);
	int64_t until_ms = barge(20);
	notified();
	assert_int_equal(come(A1), 0);
	wait_for_clock(&r, until_ms);
	notified();
	/* The waiter that looks takes the message, and calls no waiter for it. */
	assert_int_equal(come(A1), 1);
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 2);
	assert_string_equal(line_offered_to(&r, QUEUE), "");
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	assert_string_equal(notified(), "");
}

/* ---- Daemons that die ---- */

TEST(a_dead_daemon_is_dropped_and_the_guard_takes)
{
	wait_all(ARGS(A1, A2, B1));
	send_ready(1);
	assert_string_equal(notified(), "A1 0, B1 1000");
	line_lapse(&r, QUEUE);
	assert_int_equal(come(B1), 1);
	assert_string_equal(notified(), "A!");
	assert_int_equal(members(), 0);
}

/* An instance is any 16 hex digits. */
TEST(any_daemon_can_die)
{
	static const char *const orders[][3] = { { A1, A2, B1 },
						 { B1, QUEUE_TICKET(DAEMON_B, 2, 1), C1 },
						 { C1, QUEUE_TICKET(DAEMON_C, 2, 1), A1 } };
	char all[] = "?!";

	for (size_t i = 0; i < COUNT(orders); i++) {
		wait_all(ARGS(orders[i][0], orders[i][1], orders[i][2]));
		send_ready(1);
		notified();
		line_lapse(&r, QUEUE);
		assert_int_equal(come(orders[i][2]), 1);
		all[0] = "ABC"[i];
		assert_string_equal(notified(), all);
		assert_int_equal(members(), 0);
		script_stage_empty(NULL);
	}
}

TEST(any_call_drops_a_dead_daemon)
{
	wait_all(ARGS(A1, B1, A2, C1));
	send_ready(1);
	assert_string_equal(notified(), "A1 0, C1 1000, B1 2000");
	line_lapse(&r, QUEUE);
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 60000 });
	assert_memory_equal(notified(), "A!, B1 0", 8);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1);
	/* A's daemon lives: its waiters join again in their places. */
	assert_int_equal(queue_wait(&r, "q", A2, WAIT_MS, 1), 0);
	assert_int_equal(queue_wait(&r, "q", A1, WAIT_MS, 5000000), 1);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " C1 " " A2);
}

TEST(a_daemon_that_looks_too_late_is_dropped)
{
	wait_all(ARGS(A1, B1));
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 60000 });
	int64_t due_ms = sent(&r, 0, QUEUE_SENT_DELIVER_AT_MS)->integer;
	assert_string_equal(notified(), "A1 60000, B1 61000");
	line_watch_lapse(&r, QUEUE);
	assert_int_equal(come(B1), 0); /* B1 is late, too, but this call proves that it lives */
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS), due_ms);
	assert_string_equal(notified(), "A!");
	assert_string_equal(line_tickets(&r, QUEUE), B1);
}

/* A waiter that comes late is not dead, whatever its call does before it takes. */
TEST(a_waiter_that_comes_late_is_not_dead)
{
	queue_put(&r, "q", standard_settings);
	wait_all(ARGS(A1, A2, B1));
	send_ready(1);
	int64_t until_ms = barge(50);
	assert_int_equal(come(A1), 0);
	notified();
	wait_for_clock(&r, until_ms);
	server_command(&r, "ZADD %s:waiters 1 w%s", QUEUE, A1);
	assert_int_equal(come(A1), 1);
	assert_string_equal(line_tickets(&r, QUEUE), A2 " " B1);
	assert_string_equal(notified(), "");
}

/* If the daemon lives, only the waiter that missed its offer is dropped. */
TEST(a_missed_offer_costs_only_that_waiter_its_place)
{
	wait_all(ARGS(A1, B1, A2));
	send_ready(1);
	assert_string_equal(notified(), "A1 0, B1 1000");
	line_lapse(&r, QUEUE);
	assert_int_equal(come(A2), 0);
	assert_string_equal(line_tickets(&r, QUEUE), B1 " " A2);
	assert_string_equal(notified(), "A1 0, B1 0"); /* A1 joins again, but it is B1's turn */
}

TEST(a_daemon_that_nothing_reaches_has_a_brief_offer)
{
	wait_all(ARGS(UNHEARD, A1, B1));
	send_ready(1);
	assert_string_equal(notified(), "B1 200, A1 1200");
	assert_string_equal(line_offered_to(&r, QUEUE), UNHEARD);
	line_lapse(&r, QUEUE);
	assert_int_equal(come(B1), 0);
	assert_string_equal(notified(), "A1 0");
	assert_string_equal(line_tickets(&r, QUEUE), A1 " " B1);
	script_stage_empty(NULL);
	wait_all(ARGS(A1, B1, UNHEARD)); /* such a daemon does not guard either */
	queue_message_send(&r, "q", (struct outgoing){ .delay_ms = 500 });
	assert_string_equal(notified(), "A1 500, B1 1500");
}
