/*
 * queue_calls: the queue scripts as C calls, for their tests. Each call fails the test if the
 * script returns an error.
 *
 *	queue_message_send(&r, "jobs", (struct outgoing){ .id = "a", .delay_ms = 50 });
 *	assert_int_equal(queue_message_receive(&r, "jobs", 10, 30000, NONCE_A), 1);
 *	char *receipt = strdup(received(&r, 0, RECEIVED_RECEIPT)->str);
 */
#ifndef TEST_QUEUE_CALLS_H
#define TEST_QUEUE_CALLS_H

#include "run_script.h"

#define NONCE_A "aaaaaaaaaaaaaaaa"
#define NONCE_B "bbbbbbbbbbbbbbbb"

/* The end of the arguments of queue_schedule_put without a time zone, limit, jitter or group. */
#define IN_UTC "~", "~", "~", "~", "~", "~"
/* All arguments of queue_schedule_put: every `ms` milliseconds, with all defaults. */
#define EVERY(id, ms) ARGS(id, "\"" id "\"", "0", ms, "~", "~", "~", "~", "~", "~", "~", "=1", IN_UTC)

/* KEYS_WITHOUT_GROUPS: the first keys, which messages without a group use. */
enum { QUEUE_KEYS = 13, KEYS_WITHOUT_GROUPS = 9, BATCH_MAX = 100 };

/* The KEYS of all queue scripts, ended by NULL. They live until the next call. */
const char *const *queue_keys(const char *queue);

/*
 * The name of one key: part is "" for the bare key, ":ready", ... The text lives until the next
 * call.
 */
const char *queue_key(const char *queue, const char *part);

/* A message to send; members that are 0 or NULL are not given. */
struct outgoing {
	const char *id, *body, *group, *backoff;
	const char *on_duplicate; /* "r", "e", "e" and max_extend_ms, or "a", sent by queue_message_supersede */
	int priority, max_receives;
	int64_t delay_ms, deliver_at_ms, ttl_ms;
};

/* ARGV of queue_message_send for a batch. They live until the next call. */
const char *const *outgoing_args(const struct outgoing *messages, size_t count);

/* Sends one message and returns the outcome (0: a duplicate). sent() reads the reply. */
int64_t queue_message_send(struct redis_server *r, const char *queue, struct outgoing m);
int64_t queue_send_all(struct redis_server *r, const char *queue, const struct outgoing *messages, size_t count);
/* Field QUEUE_SENT_ID, ... of message `i`. */
const redisReply *sent(const struct redis_server *r, size_t i, size_t field);

/* Returns how many messages were received. */
int64_t queue_message_receive(struct redis_server *r, const char *queue, int max, int64_t visibility_ms,
			      const char *nonce);
/* Receives messages, and acknowledges each at once. */
int64_t queue_take(struct redis_server *r, const char *queue, int max);

/* The ticket of a waiter for `limit` messages. `daemon` is from line_look.h, `number` one digit. */
#define QUEUE_TICKET(daemon, number, limit) daemon ".000000000000000" #number "." #limit

/*
 * Receives, for a minute each, as many messages as the waiter's ticket states. The waiter has
 * waited for waited_us, and may still wait for wait_ms.
 */
int64_t queue_wait(struct redis_server *r, const char *queue, const char *ticket, int64_t wait_ms, int64_t waited_us);

void queue_leave(struct redis_server *r, const char *queue, const char *ticket);
enum received_field {
	RECEIVED_ID,
	RECEIVED_RECEIPT,
	RECEIVED_BODY,
	RECEIVED_PRIORITY,
	RECEIVED_RECEIVES,
	RECEIVED_SENT_AT,
	RECEIVED_VISIBLE_UNTIL,
	RECEIVED_QUEUE,
	RECEIVED_STATE, /* the state and the content as stored */
	RECEIVED_CONTENT,
	RECEIVED_GROUP
};
/*
 * A field of message `i` of the latest receive, parsed from its content and state
 * (lua/queues/lib_queue.lua). A text lives until the next command; a field lives until the next
 * call for it.
 */
const redisReply *received(const struct redis_server *r, size_t i, enum received_field field);

/* The receipt is from an earlier receive. Each returns the outcome. */
int64_t queue_delivery_acknowledge(struct redis_server *r, const char *queue, const char *receipt);
int64_t queue_delivery_extend(struct redis_server *r, const char *queue, const char *receipt, int64_t visibility_ms);
int64_t queue_delivery_reject(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms,
			      const char *reason, bool dead);
/* The same, also after the visibility of the last delivery has ended. */
int64_t queue_delivery_acknowledge_late(struct redis_server *r, const char *queue, const char *receipt);
int64_t queue_delivery_extend_late(struct redis_server *r, const char *queue, const char *receipt,
				   int64_t visibility_ms);
int64_t queue_delivery_reject_late(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms);
/* A reject after which the delivery does not count. */
int64_t queue_delivery_uncount(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms);

/*
 * Extends many deliveries in one call. `receipts` ends with NULL. Returns how many were extended.
 */
int64_t queue_delivery_list_extend(struct redis_server *r, const char *queue, const char *const receipts[],
				   int64_t visibility_ms);

/*
 * Acknowledges and rejects many deliveries in one call, all rejects with one delay. The lists end
 * with NULL. Returns how many receipts had an effect.
 */
int64_t queue_delivery_settle(struct redis_server *r, const char *queue, const char *const done[],
			      const char *const reject[], int64_t delay_ms);

/* Each call is for one message, and returns the outcome. */
int64_t queue_message_get(struct redis_server *r, const char *queue, const char *id);
int64_t queue_message_delete(struct redis_server *r, const char *queue, const char *id);
int64_t queue_message_cancel(struct redis_server *r, const char *queue, const char *id); /* in flight, too */
int64_t queue_message_patch(struct redis_server *r, const char *queue, const char *id, int64_t delay_ms,
			    int64_t deliver_at_ms, int priority);
enum item_field {
	ITEM_ID,
	ITEM_STATE,
	ITEM_BODY,
	ITEM_PRIORITY,
	ITEM_RECEIVES,
	ITEM_SENT_AT,
	ITEM_AT,
	ITEM_EXPIRES_AT,
	ITEM_WORKER,
	ITEM_REASON,
	ITEM_GROUP
};
/*
 * A field of the message at `base` of the reply to a get, a change or a list. It lives as long as a
 * field of received().
 */
const redisReply *item_field(const struct redis_server *r, size_t base, enum item_field field);

/* The number of stored contents of messages, and the number of stored states. */
int64_t queue_contents(struct redis_server *r, const char *queue);
int64_t queue_states(struct redis_server *r, const char *queue);

/* Makes the next receive trim, even if another one trimmed within the last second. */
void queue_trim_next(struct redis_server *r, const char *queue);

struct queue_settings {
	int64_t visibility_ms, max_receives, backoff_base_ms, backoff_max_ms, dedupe_ms, dead_retention_ms;
	bool paused;
	int64_t result_ms;
};
/* The defaults of a queue, but without backoff: a message whose delivery fails is due at once. */
extern const struct queue_settings standard_settings;
void queue_put(struct redis_server *r, const char *queue, struct queue_settings s);

/* The backoff of a receipt's delivery after jitter (lua/queues/deliveries/lib_queue_ended.lua). */
int64_t queue_backoff_ms(const char *receipt, int64_t whole_ms);

struct queue_counts {
	int64_t ready, delayed, in_flight, dead, oldest_ready_at, expired, sent, died;
	int64_t retrying, rejected, timed_out, failed_lately, acknowledged_lately;
};
struct queue_counts queue_get(struct redis_server *r, const char *queue);
#define assert_counts(r, queue, ready_, delayed_, in_flight_, dead_) \
	do {                                                         \
		struct queue_counts counts_ = queue_get(r, queue);   \
		assert_int_equal(counts_.ready, ready_);             \
		assert_int_equal(counts_.delayed, delayed_);         \
		assert_int_equal(counts_.in_flight, in_flight_);     \
		assert_int_equal(counts_.dead, dead_);               \
	} while (0)

/*
 * Purges in as many steps as are needed, and returns the total. `steps` receives the number of
 * steps; it may be NULL.
 */
int64_t queue_purge(struct redis_server *r, const char *queue, const char *state, int *steps);
/*
 * Redrives these ids (NULL: all) into another queue, in as many steps as are needed. Returns the
 * total; `duplicates` receives the number of duplicates.
 */
int64_t queue_redrive_to(struct redis_server *r, const char *queue, const char *to, int64_t interval_ms, int64_t max,
			 const char *const ids[], int64_t *duplicates);
int64_t queue_redrive(struct redis_server *r, const char *queue, int64_t max, int *steps);

/* Waits until Redis's clock has reached an instant. */
void wait_for_clock(struct redis_server *r, int64_t at_ms);

#endif
