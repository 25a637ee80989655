/*
 * The queue scripts against a simple model: a walk of random operations while time passes. After
 * each step the received messages and their order, the counts, and the list of ready messages must
 * equal the model's.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "random_walk.h"
#include "script_stage.h"
#include "test.h"

enum { MESSAGES = 60, STEPS = 800, VISIBILITY_MS = 50, MAX_RECEIVES = 3, BASE_MS = 5, CEILING_MS = 12, PAGE = 7 };

enum place { GONE, DUE, FLIGHT, DEAD };
struct model {
	enum place place;
	int64_t arrival, sent_at, at; /* due_ms, visible_until_ms or died_at_ms */
	int priority, receives;
	bool is_timed_out; /* its last receipt counts late */
	char id[24], receipt[64];
};

static int64_t now_ms = INT64_C(1700000000000);
static struct model all[MESSAGES];
static struct model *ready[MESSAGES];
static size_t ready_count;
static int64_t acknowledged, rejected, timed_out; /* deliveries */

static int64_t backoff_of(const struct model *m)
{
	int64_t delay_ms = (int64_t)BASE_MS << (m->receives - 1);

	return queue_backoff_ms(m->receipt, delay_ms < CEILING_MS ? delay_ms : CEILING_MS);
}

/* The delivery of a message ended at `ended_ms`. */
static void end_delivery(struct model *m, int64_t ended_ms, int64_t delay_ms)
{
	m->is_timed_out = false;
	m->place = m->receives >= MAX_RECEIVES ? DEAD : DUE;
	m->at = m->place == DEAD ? ended_ms : ended_ms + delay_ms;
}

static int by_order(const void *a, const void *b)
{
	const struct model *m = *(struct model *const *)a, *n = *(struct model *const *)b;
	int64_t by = m->priority != n->priority ? m->priority - n->priority
		     : m->at != n->at           ? m->at - n->at
						: m->arrival - n->arrival;

	return by < 0 ? -1 : by > 0;
}

/* Applies the changes by time, and collects the ready messages. */
static void look(void)
{
	ready_count = 0;
	for (size_t i = 0; i < MESSAGES; i++) {
		struct model *m = &all[i];
		if (m->place == FLIGHT && m->at <= now_ms) {
			end_delivery(m, m->at, backoff_of(m));
			m->is_timed_out = true;
			timed_out++;
		}
		if (m->place == DUE && m->at <= now_ms)
			ready[ready_count++] = m;
	}
	qsort(ready, ready_count, sizeof(*ready), by_order);
}

static struct model *any_of(enum place place)
{
	size_t start = (size_t)random_below(MESSAGES);

	for (size_t i = 0; i < MESSAGES; i++)
		if (all[(start + i) % MESSAGES].place == place)
			return &all[(start + i) % MESSAGES];
	return NULL;
}

static void send_one(void)
{
	static int64_t arrivals;
	static char large[9000];
	struct model *m = any_of(GONE);

	if (!m)
		return;
	int64_t delay_ms = ONE_OF(0, 0, 0, 5, 60);
	*m = (struct model){ .place = DUE,
			     .arrival = ++arrivals,
			     .sent_at = now_ms,
			     .at = now_ms + delay_ms,
			     .priority = ONE_OF(0, 4, 4, 9) };
	snprintf(large, sizeof(large), "\"%*s\"", (int)sizeof(large) - 8, "");
	snprintf(m->id, sizeof(m->id), "m%" PRId64, arrivals);
	assert_int_equal(queue_message_send(&r, "q",
					    (struct outgoing){ .id = random_below(2) ? m->id : NULL,
							       .body = random_below(8) ? NULL : large,
							       .priority = m->priority,
							       .delay_ms = delay_ms }),
			 1);
	snprintf(m->id, sizeof(m->id), "%s", sent(&r, 0, QUEUE_SENT_ID)->str);
}

static void receive_some(void)
{
	char nonce[24];
	static int nonces;
	int most = 1 + (int)random_below(PAGE);
	size_t count = ready_count < (size_t)most ? ready_count : (size_t)most;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	assert_int_equal(queue_message_receive(&r, "q", most, VISIBILITY_MS, nonce), count);
	for (size_t i = 0; i < count; i++) {
		struct model *m = ready[i];
		assert_string_equal(received(&r, i, RECEIVED_ID)->str, m->id);
		assert_int_equal(received(&r, i, RECEIVED_RECEIVES)->integer, ++m->receives);
		assert_int_equal(received(&r, i, RECEIVED_PRIORITY)->integer, m->priority);
		m->place = FLIGHT;
		m->is_timed_out = false;
		m->at = now_ms + VISIBILITY_MS;
		snprintf(m->receipt, sizeof(m->receipt), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
	}
}

static void end_one(void)
{
	struct model *m = any_of(FLIGHT);
	int64_t delay_ms = ONE_OF(-1, 0, 10);

	if (!m)
		return;
	if (random_below(2)) {
		assert_int_equal(queue_delivery_acknowledge(&r, "q", m->receipt), 1);
		m->place = GONE;
		acknowledged++;
		return;
	}
	if (random_below(2)) { /* an uncounted reject: the message is never dead, and is in front again */
		assert_int_equal(queue_delivery_uncount(&r, "q", m->receipt, delay_ms), 1);
		m->place = DUE;
		m->receives--;
		m->at = delay_ms > 0 ? now_ms + delay_ms : m->sent_at;
		return;
	}
	assert_int_equal(queue_delivery_reject(&r, "q", m->receipt, delay_ms, "no", false), 1);
	end_delivery(m, now_ms, delay_ms < 0 ? backoff_of(m) : delay_ms);
	rejected++;
}

/* A receipt of a message that is not in flight: it counts late, or not any more. */
static void end_late(void)
{
	struct model *m = any_of(random_below(3) ? DUE : DEAD);
	int64_t stale = QUEUE_DELIVERY_ACKNOWLEDGE_STALE, delay_ms = ONE_OF(-1, 0, 10);

	if (!m || !*m->receipt)
		return;
	bool continues = m->is_timed_out && m->place == DUE;
	switch (random_below(4)) {
	case 0:
		assert_int_equal(queue_delivery_acknowledge(&r, "q", m->receipt), stale);
		return;
	case 1:
		assert_int_equal(queue_delivery_acknowledge_late(&r, "q", m->receipt), m->is_timed_out ? 1 : stale);
		acknowledged += m->is_timed_out;
		m->place = m->is_timed_out ? GONE : m->place;
		return;
	case 2:
		assert_int_equal(queue_delivery_extend_late(&r, "q", m->receipt, VISIBILITY_MS), continues ? 1 : stale);
		m->place = continues ? FLIGHT : m->place;
		m->at = continues ? now_ms + VISIBILITY_MS : m->at;
		return;
	default:
		assert_int_equal(queue_delivery_reject_late(&r, "q", m->receipt, delay_ms), continues ? 1 : stale);
		if (continues)
			end_delivery(m, now_ms, delay_ms < 0 ? backoff_of(m) : delay_ms);
		rejected += continues;
	}
}

static void extend_some(void)
{
	const char *current[MESSAGES + 1] = { NULL };
	size_t count = 0;

	for (size_t i = 0; i < MESSAGES; i++) {
		if (all[i].place != FLIGHT || random_below(3))
			continue;
		current[count++] = all[i].receipt;
		all[i].at = now_ms + 2 * VISIBILITY_MS;
	}
	if (count)
		assert_int_equal(queue_delivery_list_extend(&r, "q", current, 2 * VISIBILITY_MS), count);
}

static void patch_one(void)
{
	struct model *m = any_of(random_below(4) ? DUE : DEAD);
	int64_t delay_ms = ONE_OF(-1, 0, 20);
	int priority = ONE_OF(-1, 0, 9);

	if (!m)
		return;
	assert_int_equal(queue_message_patch(&r, "q", m->id, delay_ms, -1, priority), 1);
	if (m->place == DEAD)
		*m = (struct model){ .place = DUE,
				     .arrival = m->arrival,
				     .sent_at = m->sent_at,
				     .at = now_ms,
				     .priority = m->priority };
	snprintf(m->id, sizeof(m->id), "%s", item_field(&r, QUEUE_MESSAGE_PATCH_MESSAGE, ITEM_ID)->str);
	if (delay_ms >= 0)
		m->at = now_ms + delay_ms;
	if (priority >= 0)
		m->priority = priority;
}

static void delete_one(void)
{
	struct model *m = any_of(random_below(2) ? DUE : DEAD);

	if (!m)
		return;
	assert_int_equal(queue_message_delete(&r, "q", m->id), 1);
	m->place = GONE;
}

static void redrive_all(void)
{
	int64_t count = 0;

	for (size_t i = 0; i < MESSAGES; i++) {
		if (all[i].place != DEAD)
			continue;
		all[i].place = DUE;
		all[i].at = now_ms;
		all[i].receives = 0;
		all[i].is_timed_out = false;
		count++;
	}
	assert_int_equal(queue_redrive(&r, "q", -1, NULL), count);
}

static void assert_as_the_model(void)
{
	int64_t counts[4] = { 0 }, oldest_ms = -1, retrying = 0;

	look();
	for (size_t i = 0; i < MESSAGES; i++) {
		counts[all[i].place]++;
		retrying += all[i].place == DUE && all[i].at > now_ms && all[i].receives > 0;
	}
	for (size_t i = 0; i < ready_count; i++)
		oldest_ms = oldest_ms < 0 || ready[i]->at < oldest_ms ? ready[i]->at : oldest_ms;
	assert_counts(&r, "q", (int64_t)ready_count, counts[DUE] - (int64_t)ready_count, counts[FLIGHT], counts[DEAD]);
	struct queue_counts q = queue_get(&r, "q");
	assert_int_equal(q.oldest_ready_at, oldest_ms);
	assert_int_equal(q.retrying, retrying);
	assert_int_equal(q.rejected, rejected);
	assert_int_equal(q.timed_out, timed_out);
	assert_int_equal(q.acknowledged_lately, acknowledged); /* the walk is shorter than 150 s */
}

/* Reads the list page by page. */
static void assert_listed(void)
{
	char priority[8] = "-1", at[24] = "-1", seq[512] = "";
	size_t shown = 0, pages = 0;

	do {
		assert_true(pages++ <= MESSAGES);
		run(&r, &queue_message_list_script, queue_keys("q"), ARGS("ready", "3", priority, at, seq, "1"));
		for (size_t i = QUEUE_MESSAGE_LIST_MESSAGES; i < r.reply->elements; i++, shown++) {
			assert_true(shown < ready_count);
			assert_string_equal(item_field(&r, i, ITEM_ID)->str, ready[shown]->id);
			assert_int_equal(item_field(&r, i, ITEM_AT)->integer, ready[shown]->at);
		}
		snprintf(priority, sizeof(priority), "%d", (int)item_int(&r, QUEUE_MESSAGE_LIST_LAST_PRIORITY));
		snprintf(at, sizeof(at), "%" PRId64, item_int(&r, QUEUE_MESSAGE_LIST_LAST_AT_MS));
		snprintf(seq, sizeof(seq), "%s", item_text(&r, QUEUE_MESSAGE_LIST_LAST_SEQUENCE));
	} while (*seq);
	assert_int_equal(shown, ready_count);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(every_step_is_as_in_the_model)
{
	static void (*const operations[])(void) = { send_one,     send_one,  send_one,  receive_some,
						    receive_some, end_one,   end_one,   end_late,
						    extend_some,  patch_one, delete_one };
	struct queue_settings settings = standard_settings;

	random_begin(7);
	settings.max_receives = MAX_RECEIVES;
	settings.backoff_base_ms = BASE_MS;
	settings.backoff_max_ms = CEILING_MS;
	queue_put(&r, "q", settings);
	for (int i = 0; i < STEPS; i++) {
		now_ms += ONE_OF(0, 0, 0, 1, 3, 20);
		*script_clock_us = now_ms * 1000;
		look();
		if (random_below(40) == 0)
			redrive_all();
		else
			operations[random_below(COUNT(operations))]();
		assert_as_the_model();
		if (i % 5 == 0)
			assert_listed();
	}
}
