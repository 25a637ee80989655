/* queue_calls: see queue_calls.h. */
#include "queue_calls.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEND_FIELDS = 7, NAME_MAX_BYTES = 96, CLOCK_MS = 5000 };

static const char *const parts[QUEUE_KEYS] = {
	"",       ":due:0", ":due:1",  ":due:2", ":due:3", ":due:4", ":due:5", ":due:6", ":due:7",
	":due:8", ":due:9", ":flight", ":dead",  ":meta",  ":body",  ":ids",   ":done",
};

const char *queue_key(const char *queue, const char *part)
{
	static char name[NAME_MAX_BYTES];

	snprintf(name, sizeof(name), "p:queue:{%s}%s", queue, part);
	return name;
}

const char *const *queue_keys(const char *queue)
{
	static char names[QUEUE_KEYS][NAME_MAX_BYTES];
	static const char *keys[QUEUE_KEYS + 1];

	for (size_t i = 0; i < QUEUE_KEYS; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", queue_key(queue, parts[i]));
		keys[i] = names[i];
	}
	return keys;
}

/* A number as an argument; a few texts may be in use at a time. */
static const char *number(int64_t value)
{
	static char texts[8][24];
	static size_t next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof(texts[0]), "%" PRId64, value);
	return text;
}

const char *const *outgoing_args(const struct outgoing *messages, size_t count)
{
	static char numbers[BATCH_MAX][5][24];
	static const char *args[BATCH_MAX * SEND_FIELDS + 1];
	size_t n = 0;

	assert_true(count <= BATCH_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct outgoing *m = &messages[i];
		const int64_t values[5] = { m->priority, m->delay_ms, m->deliver_at_ms ? m->deliver_at_ms : -1,
					    m->ttl_ms, m->max_receives };

		args[n++] = m->id ? m->id : "";
		args[n++] = m->body ? m->body : "null";
		for (size_t k = 0; k < 5; k++) {
			snprintf(numbers[i][k], sizeof(numbers[i][k]), "%" PRId64, values[k]);
			args[n++] = numbers[i][k];
		}
	}
	args[n] = NULL;
	return args;
}

int64_t queue_send_all(struct redis_server *r, const char *queue, const struct outgoing *messages, size_t count)
{
	run(r, &queue_message_send_script, queue_keys(queue), outgoing_args(messages, count));
	assert_int_equal(r->reply->elements, count + 2);
	return item_int(r, 0);
}

int64_t queue_message_send(struct redis_server *r, const char *queue, struct outgoing m)
{
	return queue_send_all(r, queue, &m, 1);
}

/* Part `field` of the array at `base` of the latest reply. */
static const redisReply *part_of(const struct redis_server *r, size_t base, size_t field)
{
	assert_true(base < r->reply->elements);
	const redisReply *entry = r->reply->element[base];
	assert_int_equal(entry->type, REDIS_REPLY_ARRAY);
	assert_true(field < entry->elements);
	return entry->element[field];
}

const redisReply *sent(const struct redis_server *r, size_t i, enum sent_field field)
{
	return part_of(r, 2 + i, field);
}

int64_t queue_message_receive(struct redis_server *r, const char *queue, int max, int64_t visibility_ms,
			      const char *nonce)
{
	run(r, &queue_message_receive_script, queue_keys(queue),
	    ARGS(number(max), number(visibility_ms), nonce, "0", "0"));
	assert_int_equal(r->reply->elements, 4 + item_int(r, 0));
	return item_int(r, 0);
}

int64_t queue_take(struct redis_server *r, const char *queue, int max)
{
	run(r, &queue_message_receive_script, queue_keys(queue), ARGS(number(max), "-1", NONCE_A, "1", "0"));
	assert_int_equal(r->reply->elements, 4 + item_int(r, 0));
	return item_int(r, 0);
}

const redisReply *received(const struct redis_server *r, size_t i, enum received_field field)
{
	return part_of(r, 4 + i, field);
}

/* The halves of a receipt, cut in a copy that lives until the next call. */
static const char *cut(const char *receipt, const char **nonce)
{
	static char seq[64];

	snprintf(seq, sizeof(seq), "%s", receipt);
	char *dot = strchr(seq, '.');
	assert_non_null(dot);
	*dot = '\0';
	*nonce = dot + 1;
	return seq;
}

int64_t queue_delivery_acknowledge(struct redis_server *r, const char *queue, const char *receipt)
{
	const char *nonce;
	const char *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_acknowledge_script, queue_keys(queue), ARGS(seq, nonce));
	return item_int(r, 0);
}

int64_t queue_delivery_extend(struct redis_server *r, const char *queue, const char *receipt, int64_t visibility_ms)
{
	const char *nonce;
	const char *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_extend_script, queue_keys(queue), ARGS(seq, nonce, number(visibility_ms)));
	return item_int(r, 0);
}

int64_t queue_delivery_reject(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms,
			      const char *reason, bool dead)
{
	const char *nonce;
	const char *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_reject_script, queue_keys(queue),
	    ARGS(seq, nonce, number(delay_ms), reason, dead ? "1" : "0"));
	return item_int(r, 0);
}

/* Adds the halves of a receipt to ARGV, copied to `halves`. */
static size_t add_receipt(const char **args, size_t n, char halves[2][32], const char *receipt)
{
	const char *nonce, *seq = cut(receipt, &nonce);

	snprintf(halves[0], sizeof(halves[0]), "%s", seq);
	snprintf(halves[1], sizeof(halves[1]), "%s", nonce);
	args[n++] = halves[0];
	args[n++] = halves[1];
	return n;
}

int64_t queue_delivery_settle(struct redis_server *r, const char *queue, const char *const done[],
			      const char *const reject[], int64_t delay_ms)
{
	static char halves[2 * BATCH_MAX][2][32];
	const char *args[5 * BATCH_MAX + 2], *delay = number(delay_ms);
	size_t n = 1, count = 0;

	for (; *done; done++, count++)
		n = add_receipt(args, n, halves[count], *done);
	args[0] = number((int64_t)count);
	for (; *reject; reject++, count++) {
		n = add_receipt(args, n, halves[count], *reject);
		args[n++] = delay;
	}
	args[n] = NULL;
	run(r, &queue_delivery_settle_script, queue_keys(queue), args);
	assert_int_equal(r->reply->elements, 2 + count);
	return item_int(r, 0);
}

int64_t queue_message_get(struct redis_server *r, const char *queue, const char *id)
{
	run(r, &queue_message_get_script, queue_keys(queue), ARGS(id));
	return item_int(r, 0);
}

int64_t queue_message_delete(struct redis_server *r, const char *queue, const char *id)
{
	run(r, &queue_message_delete_script, queue_keys(queue), ARGS(id));
	return item_int(r, 0);
}

int64_t queue_message_patch(struct redis_server *r, const char *queue, const char *id, int64_t delay_ms,
			    int64_t deliver_at_ms, int priority)
{
	run(r, &queue_message_patch_script, queue_keys(queue),
	    ARGS(id, number(delay_ms), number(deliver_at_ms), number(priority)));
	return item_int(r, 0);
}

const redisReply *item_field(const struct redis_server *r, size_t base, enum item_field field)
{
	return part_of(r, base, field);
}

const struct queue_settings standard_settings = {
	.visibility_ms = 30000,
	.max_receives = 5,
	.dedupe_ms = 300000,
	.retention_ms = 1209600000,
};

void queue_put(struct redis_server *r, const char *queue, struct queue_settings s)
{
	run(r, &queue_put_script, queue_keys(queue),
	    ARGS(number(s.visibility_ms), number(s.max_receives), number(s.backoff_base_ms), number(s.backoff_max_ms),
		 number(s.dedupe_ms), number(s.retention_ms), s.paused ? "1" : "0"));
	assert_int_equal(item_int(r, 0), 1);
}

struct queue_counts queue_get(struct redis_server *r, const char *queue)
{
	run(r, &queue_get_script, queue_keys(queue), ARGS());
	assert_int_equal(item_int(r, 0), 0);
	return (struct queue_counts){
		.ready = item_int(r, 2),
		.delayed = item_int(r, 3),
		.in_flight = item_int(r, 4),
		.dead = item_int(r, 5),
		.oldest_ready_at = item_int(r, 6),
		.expired = item_int(r, 7),
	};
}

/*
 * Calls a script that works in steps with its first argument and the total so far, until it is
 * finished.
 */
static int64_t in_steps(struct redis_server *r, const struct script *s, const char *queue, const char *what, int *steps)
{
	char total[24] = "0";
	int count = 0;

	do {
		run(r, s, queue_keys(queue), ARGS(what, total, total));
		snprintf(total, sizeof(total), "%" PRId64, item_int(r, 2));
		count++;
		assert_true(count < 1000);
	} while (item_int(r, 0) == 0 || item_int(r, 0) == 2);
	assert_int_equal(item_int(r, 0), item_int(r, 2) > 0 ? 1 : -1);
	if (steps)
		*steps = count;
	return item_int(r, 2);
}

int64_t queue_purge(struct redis_server *r, const char *queue, const char *state, int *steps)
{
	return in_steps(r, &queue_purge_script, queue, state, steps);
}

int64_t queue_redrive(struct redis_server *r, const char *queue, int64_t max, int *steps)
{
	return in_steps(r, &queue_redrive_script, queue, number(max), steps);
}

void wait_for_clock(struct redis_server *r, int64_t at_ms)
{
	wait_until(redis_now_ms(r) >= at_ms, CLOCK_MS);
}
