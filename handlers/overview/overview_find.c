/* overview_find: see overview/overview_find.h. */
#include "overview/overview_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"
#include "process/config.h"
#include "request/problem.h"

enum {
	/*
	 * A message that is due for so long waits for more than the next receive. If a lock is held
	 * for so long, a client that waits for it may send one short request after the other.
	 */
	OLD_MS = 60000,
	LATE_MS = 10000,     /* how late a schedule may be, or how long a request may wait for a lock */
	PAUSED_MS = 3600000, /* a queue that waits for so long was perhaps paused and forgotten */
	FAILING = 10,        /* requests in a row that a program failed, or deliveries of late */
	FAILING_ALL = 3,     /* deliveries of late, while none was acknowledged */
	FAILING_ONE = 5,     /* deliveries of one message */
	POLLED_MS = 300000,  /* how long clients ask for a lock that is held so long, too */
	CROWD = 10,          /* requests that wait for a lock, as in the alert PatterndLockWaiters */
	SHOWN_ID = 100,      /* bytes of an id */
};

/* Returns the ending of a noun for `n`. */
static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *verb(int64_t n)
{
	return n == 1 ? "is" : "are";
}

static const char *waits(int64_t n)
{
	return n == 1 ? "waits for its group" : "wait for their groups";
}

/* ---- Queues ---- */

static void add_old(struct overview_items *items, const struct json *queue, struct text name, int64_t now_ms)
{
	long long oldest_ms = json_tree_int(queue, "oldest_ready_ms", -1), ready = json_tree_int(queue, "ready", 0);
	long long in_flight = json_tree_int(queue, "in_flight", 0);
	bool is_paused = json_tree_is_true(queue, "paused");
	enum overview_kind kind = is_paused ? OVERVIEW_QUEUE_PAUSED : OVERVIEW_MESSAGES_WAITING;
	struct overview_item size = { .value = oldest_ms, .count = ready, .since_at_ms = now_ms - oldest_ms };
	struct overview_item *item =
		oldest_ms > (is_paused ? PAUSED_MS : OLD_MS) ? overview_items_add(items, kind, name, size) : NULL;

	if (!item)
		return;
	if (is_paused)
		overview_items_set_detail(items, item, "%lld message%s %s due, and the queue is paused", ready,
					  plural(ready), verb(ready));
	else if (in_flight == 0)
		overview_items_set_detail(items, item, "%lld message%s %s due, and none is in flight", ready,
					  plural(ready), verb(ready));
	else
		overview_items_set_detail(items, item, "%lld message%s %s due, and %lld %s in flight", ready,
					  plural(ready), verb(ready), in_flight, verb(in_flight));
}

static int shown_id(struct text id)
{
	return (int)(id.len < SHOWN_ID ? id.len : SHOWN_ID);
}

/* Writes ": REASON (WORKER)" of a failed delivery, if its message is still there. */
static const char *reason_of(const struct json *message, char *to, size_t size)
{
	struct text reason = json_tree_string(message, "reason"), worker = json_tree_string(message, "worker");
	bool has_worker = reason.at && worker.at;

	*to = '\0';
	if (reason.at)
		snprintf(to, size, ": %.*s%s%.*s%s", (int)reason.len, reason.at, has_worker ? " (" : "",
			 has_worker ? (int)worker.len : 0, has_worker ? worker.at : "", has_worker ? ")" : "");
	return to;
}

/* Work that fails, before its messages are dead letters: most of it, or one message of many. */
static void add_failing(struct overview_items *items, const struct json *queue, struct text name)
{
	const struct json *recent = json_tree_member(queue, "recent"), *most = json_tree_member(queue, "most_failed");
	const struct json *last = json_tree_member(queue, "last_failed");
	long long failed = json_tree_int(recent, "failed", 0), done = json_tree_int(recent, "acknowledged", 0);
	long long receives = json_tree_int(most, "receives", 0);
	struct overview_item size = { .value = failed, .count = failed, .message_id = json_tree_string(last, "id") };
	char reason[OVERVIEW_DETAIL_BYTES];
	struct overview_item *item;

	if (failed >= (done ? FAILING : FAILING_ALL) && failed > done) {
		item = overview_items_add(items, OVERVIEW_WORK_FAILING, name, size);
		if (item)
			overview_items_set_detail(
				items, item,
				"%lld deliveries failed within 150 s, and %lld %s acknowledged; the last failed%s",
				failed, done, done == 1 ? "was" : "were", reason_of(last, reason, sizeof(reason)));
	} else if (receives >= FAILING_ONE) {
		size = (struct overview_item){ .value = receives,
					       .count = 1,
					       .message_id = json_tree_string(most, "id") };
		item = overview_items_add(items, OVERVIEW_MESSAGE_FAILING, name, size);
		if (item)
			overview_items_set_detail(items, item, "message %.*s was delivered %lld times, and failed%s",
						  shown_id(size.message_id), size.message_id.at, receives,
						  reason_of(most, reason, sizeof(reason)));
	}
}

/* A worker that extends a delivery for ever, and which others may wait for. */
static void add_hanging(struct overview_items *items, const struct json *queue, struct text name, int64_t now_ms)
{
	const struct json *hanging = json_tree_member(queue, "hanging");
	int64_t since_at_ms = json_tree_int(hanging, "received_at_ms", 0);
	struct text id = json_tree_string(hanging, "id"), worker = json_tree_string(hanging, "worker");
	long long blocked = json_tree_int(queue, "blocked", 0);
	struct overview_item size = {
		.value = now_ms - since_at_ms, .count = 1 + blocked, .since_at_ms = since_at_ms, .message_id = id
	};
	struct overview_item *item = since_at_ms ? overview_items_add(items, OVERVIEW_WORK_HANGING, name, size) : NULL;

	if (!item)
		return;
	overview_items_set_detail(items, item,
				  "%.*s extends message %.*s without an end; %lld message%s of the queue %s blocked",
				  worker.at ? (int)worker.len : (int)sizeof("a worker") - 1,
				  worker.at ? worker.at : "a worker", shown_id(id), id.at, blocked, plural(blocked),
				  verb(blocked));
}

static void add_missed(struct overview_items *items, const struct json *queue, struct text name, int64_t now_ms)
{
	int64_t at_ms = json_tree_int(queue, "next_schedule_at_ms", now_ms);
	bool is_paused = json_tree_is_true(queue, "paused");

	if (now_ms - at_ms <= (is_paused ? PAUSED_MS : LATE_MS))
		return;
	struct overview_item size = { .value = now_ms - at_ms, .since_at_ms = at_ms };
	struct overview_item *item = overview_items_add(items, OVERVIEW_SCHEDULE_MISSED, name, size);
	if (item)
		overview_items_set_detail(items, item, "a schedule is due, and %s",
					  is_paused ? "the queue is paused"
						    : "no worker receives from the queue to make its message");
}

static bool is_worse(const struct overview_blocked_queue *a, const struct overview_blocked_queue *b)
{
	return a->is_idle != b->is_idle ? a->is_idle : a->count > b->count;
}

/* Returns where the queue is stored, or NULL if all stored queues are worse. */
static struct overview_blocked_queue *place(struct overview_blocked *blocked,
					    const struct overview_blocked_queue *queue)
{
	struct overview_blocked_queue *least = blocked->of;

	if (blocked->count < OVERVIEW_BLOCKED_MOST)
		return &blocked->of[blocked->count++];
	blocked->lacks_queues = true;
	for (size_t i = 1; i < OVERVIEW_BLOCKED_MOST; i++)
		if (is_worse(least, &blocked->of[i]))
			least = &blocked->of[i];
	return is_worse(queue, least) ? least : NULL;
}

static void add_blocked(struct overview_blocked *blocked, const struct json *queue, struct text name)
{
	struct overview_blocked_queue found = {
		.count = json_tree_int(queue, "blocked", 0),
		.is_idle = json_tree_int(queue, "ready", 0) == 0 && json_tree_int(queue, "in_flight", 0) == 0,
	};
	struct overview_blocked_queue *at = found.count > 0 ? place(blocked, &found) : NULL;

	if (!at)
		return;
	*at = found;
	snprintf(at->name, sizeof(at->name), "%.*s", (int)name.len, name.at ? name.at : "");
}

static int by_badness(const void *a, const void *b)
{
	return is_worse(b, a) - is_worse(a, b);
}

void overview_sort_blocked(struct overview_blocked *blocked)
{
	qsort(blocked->of, blocked->count, sizeof(blocked->of[0]), by_badness);
}

void overview_find_queue(struct overview_items *items, struct overview_blocked *blocked, struct overview_sums *sums,
			 const struct json *queue, int64_t now_ms)
{
	struct text name = json_tree_string(queue, "name");
	long long dead = json_tree_int(queue, "dead", 0);
	struct overview_item size = { .value = dead, .count = dead };
	struct overview_item *item = dead > 0 ? overview_items_add(items, OVERVIEW_DEAD_LETTERS, name, size) : NULL;

	if (item)
		overview_items_set_detail(items, item, "%lld dead letter%s wait%s for a redrive or a purge", dead,
					  plural(dead), dead == 1 ? "s" : "");
	add_failing(items, queue, name);
	add_hanging(items, queue, name, now_ms);
	add_old(items, queue, name, now_ms);
	add_blocked(blocked, queue, name);
	add_missed(items, queue, name, now_ms);
	sums->queues++;
	sums->ready += json_tree_int(queue, "ready", 0);
	sums->blocked += json_tree_int(queue, "blocked", 0);
	sums->delayed += json_tree_int(queue, "delayed", 0);
	sums->in_flight += json_tree_int(queue, "in_flight", 0);
	sums->dead += dead;
	sums->paused += json_tree_is_true(queue, "paused");
}

/*
 * Whether the blocked messages of a group wait for more than a worker that has another message of
 * it. The head of a group that is ready is counted by OVERVIEW_MESSAGES_WAITING. A rate and a
 * backoff let the next message through by themselves: the group is stuck only if that takes long.
 * A delivery that has timed out counts as in flight until the next receive; in an idle queue no
 * worker receives.
 */
static bool is_stuck(const struct json *g, bool of_idle_queue, int64_t now_ms)
{
	struct text reason = json_tree_string(g, "reason");
	int64_t left_ms = json_tree_int(g, "until_ms", 0) - now_ms;

	if (json_tree_int(g, "blocked", 0) == 0)
		return false;
	if (text_is(reason, "paused") || (of_idle_queue && text_is(reason, "in_flight") && left_ms <= 0))
		return true;
	if (json_tree_int(g, "ready", 0) > 0 || json_tree_int(g, "in_flight", 0) > 0)
		return false;
	return !(text_is(reason, "limited") || text_is(reason, "backoff")) || left_ms > OLD_MS;
}

void overview_add_groups(struct overview_groups *still, const struct overview_blocked_queue *queue,
			 const struct json *groups, int64_t now_ms)
{
	still->now_ms = now_ms;
	for (const struct json *g = groups ? groups->first : NULL; g; g = g->next) {
		struct text reason = json_tree_string(g, "reason"), name = json_tree_string(g, "group");
		int64_t at_ms = json_tree_int(g, "oldest_at_ms", now_ms), until_ms = json_tree_int(g, "until_ms", 0);
		if (!is_stuck(g, queue->is_idle, now_ms))
			continue;
		still->blocked += json_tree_int(g, "blocked", 0);
		still->paused += text_is(reason, "paused");
		still->limited += text_is(reason, "limited");
		still->backoff += text_is(reason, "backoff");
		if (until_ms > 0 && (still->until_ms == 0 || until_ms < still->until_ms))
			still->until_ms = until_ms;
		if (still->oldest_at_ms > 0 && at_ms >= still->oldest_at_ms)
			continue;
		still->oldest_at_ms = at_ms;
		snprintf(still->oldest, sizeof(still->oldest), "%.*s", (int)name.len, name.at ? name.at : "");
	}
}

void overview_find_groups(struct overview_items *items, const struct overview_blocked_queue *queue,
			  const struct overview_groups *still, bool has_all)
{
	bool is_old = still->blocked > 0 && still->now_ms - still->oldest_at_ms > OLD_MS;
	long long n = is_old ? still->blocked : queue->count;

	if (!is_old && (has_all || !queue->is_idle))
		return;
	struct overview_item size = { .value = n,
				      .count = n,
				      .since_at_ms = is_old ? still->oldest_at_ms : 0,
				      .until_ms = is_old ? still->until_ms : 0 };
	struct overview_item *item = overview_items_add(items, OVERVIEW_GROUPS_BLOCKED, text_of(queue->name), size);
	if (!item)
		return;
	if (!is_old) {
		overview_items_set_detail(items, item, "%lld message%s %s due, and %s", n, plural(n), verb(n),
					  waits(n));
		return;
	}
	overview_items_set_detail(items, item,
				  "%lld message%s %s due, and %s: %lld %s paused, %lld limited, %lld in a backoff; "
				  "the oldest waits for group %s",
				  n, plural(n), verb(n), waits(n), still->paused, verb(still->paused), still->limited,
				  still->backoff, still->oldest);
}

/* ---- Locks, push ---- */

/* For how long the lock has been waited for, or asked for again and again; below 0: it is not. */
static int64_t longest_wait(const struct json *lock, int64_t held_ms)
{
	int64_t waited_ms = json_tree_int(lock, "longest_wait_ms", -1),
		polled_ms = json_tree_int(lock, "polled_ms", -1);

	if (waited_ms >= 0)
		return held_ms > OLD_MS && held_ms > waited_ms ? held_ms : waited_ms;
	return polled_ms > POLLED_MS && held_ms > POLLED_MS ? held_ms : -1;
}

void overview_find_lock(struct overview_items *items, struct overview_sums *sums, const struct json *lock,
			int64_t now_ms)
{
	long long waiters = json_tree_int(lock, "waiter_count", 0), holders = json_tree_int(lock, "holder_count", 0);
	int64_t held_ms = now_ms - json_tree_int(lock, "granted_at_ms", now_ms),
		longest_ms = longest_wait(lock, held_ms);
	bool is_held_long = held_ms > OLD_MS && longest_ms == held_ms;
	const struct json *list = json_tree_member(lock, "holders");
	struct text owner =
		list && list->kind == JSON_IS_ARRAY ? json_tree_string(list->first, "owner") : (struct text){ 0 };
	char waiting[64];

	/*
	 * A lease of at most a minute ends soon, unless its holder lives and extends it. Then a few
	 * requests that wait are candidates for the lock of a leader, or wait for their turn.
	 */
	bool is_kept = json_tree_int(lock, "expires_at_ms", now_ms) - now_ms <= OLD_MS && waiters <= CROWD;
	struct overview_item size = { .value = longest_ms, .count = waiters, .since_at_ms = now_ms - longest_ms };

	sums->locks++;
	sums->waiters += waiters;
	struct overview_item *item =
		longest_ms > LATE_MS && !is_kept
			? overview_items_add(items, OVERVIEW_LOCK_WAITING, json_tree_string(lock, "name"), size)
			: NULL;
	if (!item)
		return;
	snprintf(waiting, sizeof(waiting), "%lld request%s wait%s for the lock", waiters, plural(waiters),
		 waiters == 1 ? "s" : "");
	if (waiters == 0)
		snprintf(waiting, sizeof(waiting), "clients ask for the lock again and again");
	if (holders > 1)
		overview_items_set_detail(items, item, "%s, which %lld clients %s", waiting, holders,
					  is_held_long ? "have shared for more than a minute" : "share");
	else
		overview_items_set_detail(items, item, "%s, which %.*s %s", waiting,
					  (int)(owner.at ? owner.len : sizeof("another client") - 1),
					  owner.at ? owner.at : "another client",
					  is_held_long ? "has held for more than a minute" : "holds");
}

void overview_find_target(struct overview_items *items, struct overview_sums *sums, const struct json *target,
			  int64_t now_ms)
{
	struct text name = json_tree_string(target, "name"), url = json_tree_string(target, "url");
	struct text why = json_tree_string(json_tree_member(target, "last_failure"), "detail");
	struct text state = json_tree_string(target, "state"), trouble = json_tree_string(target, "reason");
	struct text reason = why.at ? why : trouble;
	bool backs_off = text_is(state, "backing_off") || (text_is(state, "checking") && trouble.at);
	/*
	 * If the queue cannot be read, there is another finding, or `unknown` names the queues. At
	 * its start a daemon cannot read it before Redis is reached.
	 */
	bool is_of_program = !text_is(trouble, "not_received");
	long long failed = json_tree_int(target, "failed_in_a_row", 0);
	struct overview_item *item = NULL, size = { .value = -1,
						    .since_at_ms = json_tree_int(target, "failing_since_at_ms", 0),
						    .until_ms = json_tree_int(target, "until_ms", 0) };

	(void)now_ms;
	sums->targets++;
	sums->backing_off += backs_off;
	if (backs_off && is_of_program)
		item = overview_items_add(items, OVERVIEW_PUSH_BACKING_OFF, name, size);
	else if (failed >= FAILING)
		item = overview_items_add(items, OVERVIEW_PUSH_FAILING, name, size);
	if (!item)
		return;
	if (backs_off && is_of_program)
		overview_items_set_detail(items, item, "nothing is sent to %.*s for a while: %.*s", (int)url.len,
					  url.at, (int)reason.len, reason.at ? reason.at : "");
	else
		overview_items_set_detail(items, item, "the last %lld requests to %.*s failed: %.*s", failed,
					  (int)url.len, url.at, (int)reason.len, reason.at ? reason.at : "");
}
