/*
 * Each waiter gets what is ready in time: a random walk of sends, receives, ends of deliveries,
 * pauses, and waiters that come and go, while time passes. Their daemons look only when they are
 * notified to, and one of them may hang.
 */
#include <inttypes.h>

#include "line_look.h"
#include "queue_calls.h"
#include "random_walk.h"
#include "script_stage.h"
#include "test.h"

enum { STEPS = 3000, DAEMONS = 3, WAITERS = 9, RECEIPTS = 8, WAIT_MS = 20000, LATE_MS = 2100 };

static int64_t now_ms = INT64_C(1700000000000); /* by Redis's clock */
static char receipts[RECEIPTS][64];
static bool is_paused, may_hang;
static int hung = -1; /* the daemon that hangs */
static int64_t hung_until_ms;

static struct waiter {
	bool waits;
	char ticket[64];
	int64_t since_ms, look_at_ms;
} all[WAITERS]; /* the daemons of the waiters alternate */

static void set_clock(int64_t ms)
{
	now_ms = ms;
	*script_clock_us = now_ms * 1000;
}

/* ---- The daemons ---- */

static void look_by(struct waiter *w, int64_t at_ms)
{
	if (at_ms < w->look_at_ms)
		w->look_at_ms = at_ms;
}

/* The daemons act on notifications such as "A1 500, B!". */
static void receive_published(void)
{
	const char *at = line_published(&r);

	while (*at) {
		size_t daemon = (size_t)(at[0] - 'A');
		for (size_t i = daemon; i < WAITERS; i += DAEMONS) {
			if (at[1] == '!')
				look_by(&all[i], now_ms);
			else if ((size_t)strtoul(at + 1, NULL, 16) == i + 1)
				look_by(&all[i], now_ms + strtoll(strchr(at, ' '), NULL, 10));
		}
		at += strcspn(at, ",");
		at += strspn(at, ", ");
	}
}

static void come(struct waiter *w)
{
	bool is_last = now_ms >= w->since_ms + WAIT_MS;
	int64_t waited_us = (now_ms - w->since_ms) * 1000;

	w->look_at_ms = w->since_ms + WAIT_MS;
	int64_t taken = queue_wait(&r, "q", w->ticket, is_last ? 0 : w->since_ms + WAIT_MS - now_ms, waited_us);
	if (item_int(&r, QUEUE_MESSAGE_RECEIVE_MORE) == 1)
		look_by(w, now_ms);
	else if (taken > 0 || is_last)
		w->waits = false;
	else if (item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS) >= 0)
		look_by(w, item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS));
	for (size_t i = 0; i < (size_t)taken; i++)
		snprintf(receipts[random_below(RECEIPTS)], sizeof(receipts[0]), "%s",
			 received(&r, i, RECEIVED_RECEIPT)->str);
	receive_published();
}

static bool is_live(size_t i)
{
	return all[i].waits && (int)(i % DAEMONS) != hung;
}

/* Runs all looks up to that instant. */
static void run_until(int64_t until_ms)
{
	for (;;) {
		size_t first = WAITERS;
		for (size_t i = 0; i < WAITERS; i++)
			if (is_live(i) && (first == WAITERS || all[i].look_at_ms < all[first].look_at_ms))
				first = i;
		if (first == WAITERS || all[first].look_at_ms > until_ms)
			break;
		if (all[first].look_at_ms > now_ms)
			set_clock(all[first].look_at_ms);
		come(&all[first]);
	}
	set_clock(until_ms);
}

/* ---- Steps ---- */

static void join(void)
{
	size_t i = (size_t)random_below(WAITERS);
	static const char *const daemons[DAEMONS] = { DAEMON_A, DAEMON_B, DAEMON_C };
	struct waiter *w = &all[i];

	if (w->waits || (int)(i % DAEMONS) == hung)
		return;
	snprintf(w->ticket, sizeof(w->ticket), "%s.%016zx.%d", daemons[i % DAEMONS], i + 1, ONE_OF(1, 1, 2, 5));
	w->waits = true;
	w->since_ms = now_ms;
	come(w);
}

static void leave(void)
{
	size_t i = (size_t)random_below(WAITERS);

	if (!is_live(i) || random_below(3))
		return;
	all[i].waits = false;
	queue_leave(&r, "q", all[i].ticket);
}

static void send_some(void)
{
	struct outgoing batch[3] = { 0 };
	size_t count = (size_t)ONE_OF(1, 1, 2, 3);

	for (size_t i = 0; i < count; i++)
		batch[i].delay_ms = ONE_OF(0, 0, 10, 300, 4000);
	queue_send_all(&r, "q", batch, count);
}

static void barge(void)
{
	if (queue_message_receive(&r, "q", ONE_OF(1, 3), ONE_OF(20, 700, 3000), NONCE_A) > 0)
		snprintf(receipts[random_below(RECEIPTS)], sizeof(receipts[0]), "%s",
			 received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void end_one(void)
{
	const char *receipt = receipts[random_below(RECEIPTS)];

	if (!*receipt)
		return;
	switch (random_below(5)) {
	case 0:
		queue_delivery_uncount(&r, "q", receipt, ONE_OF(-1, 0, 30, 2000));
		break;
	case 1:
		queue_delivery_reject(&r, "q", receipt, ONE_OF(-1, 0, 30, 2000), "no", false);
		break;
	case 2:
		queue_delivery_list_extend(&r, "q", ARGS(receipt), ONE_OF(5, 400, 3000));
		break;
	default:
		queue_delivery_acknowledge(&r, "q", receipt);
	}
}

static void pause_or_resume(void)
{
	struct queue_settings s = standard_settings;

	if (random_below(4))
		return;
	s.paused = is_paused = !is_paused && random_below(2);
	s.backoff_base_ms = s.backoff_max_ms = ONE_OF(0, 100);
	queue_put(&r, "q", s);
}

static void purge(void)
{
	if (random_below(10) == 0)
		queue_purge(&r, "q", "", NULL);
}

static void hang(void)
{
	if (hung < 0 && may_hang && random_below(5) == 0) {
		hung = (int)random_below(DAEMONS);
		hung_until_ms = now_ms + ONE_OF(100, 1500, 6000);
	} else if (hung >= 0 && now_ms >= hung_until_ms) {
		hung = -1;
	}
}

/* ---- What must hold ---- */

static bool is_awaited(void)
{
	for (size_t i = 0; i < WAITERS; i++)
		if (is_live(i))
			return true;
	return false;
}

/* The longest time for which a message was ready while a client waited. */
static int64_t walk(void)
{
	static void (*const steps[])(void) = { join,      join,  join,    join,    leave,           send_some,
					       send_some, barge, end_one, end_one, pause_or_resume, purge,
					       hang,      hang };
	int64_t ready_since_ms = 0, longest_ms = 0;

	memset(all, 0, sizeof(all));
	memset(receipts, 0, sizeof(receipts));
	is_paused = false;
	hung = -1;
	for (int i = 0; i < STEPS; i++) {
		steps[random_below(COUNT(steps))]();
		receive_published();
		run_until(now_ms + ONE_OF(0, 0, 1, 30, 200));
		if (is_paused || !is_awaited() || queue_get(&r, "q").ready == 0) {
			ready_since_ms = 0;
			continue;
		}
		ready_since_ms = ready_since_ms ? ready_since_ms : now_ms;
		if (now_ms - ready_since_ms > longest_ms)
			longest_ms = now_ms - ready_since_ms;
	}
	assert_true(queue_get(&r, "q").sent > STEPS / 5); /* the walk sent enough */
	return longest_ms;
}

TEST(a_waiter_gets_at_once_what_is_ready)
{
	may_hang = false;
	assert_int_equal(walk(), 0);
}

/* An offer lapses after a second. The next waiter may be of the daemon that hangs, too. */
TEST(or_soon_when_a_daemon_hangs)
{
	may_hang = true;
	assert_true(walk() <= LATE_MS);
}

static int open_all(void **state)
{
	random_begin(5);
	script_stage_open_by_clock(state);
	line_subscribe(&r, "p:queue:{q}");
	return 0;
}

SUITE(.open = open_all, .close = script_stage_close, .after = script_stage_empty);
