#include "queue_calls.h"

#include <inttypes.h>
#include <math.h>

#include "test.h"

enum { SEND_FIELDS = 3, NAME_MAX_BYTES = 96, CLOCK_MS = 5000, OPTIONS_BYTES = 320 };
enum { FIELDS = ITEM_GROUP + 1 + RECEIVED_GROUP + 1 };

static const char *const parts[QUEUE_KEYS] = { "",      ":ready",  ":delayed",   ":flight",  ":dead",
					       ":ids",  ":done",   ":schedules", ":waiters", ":order",
					       ":busy", ":groups", ":room" };

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

/* A number as an argument. A few more calls overwrite the text. */
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
	static char options[BATCH_MAX][OPTIONS_BYTES];
	static const char *args[BATCH_MAX * SEND_FIELDS + 1];
	size_t n = 0;

	assert_true(count <= BATCH_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct outgoing *m = &messages[i];

		args[n++] = m->id ? m->id : "";
		args[n++] = m->body ? m->body : "null";
		snprintf(options[i], sizeof(options[i]), "%d", m->priority);
		if (m->delay_ms || m->deliver_at_ms || m->ttl_ms || m->max_receives || m->group || m->backoff ||
		    m->on_duplicate)
			snprintf(options[i], sizeof(options[i]),
				 "%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%d\t%s\t%s\t%s", m->priority, m->delay_ms,
				 m->deliver_at_ms ? m->deliver_at_ms : -1, m->ttl_ms, m->max_receives,
				 m->backoff ? m->backoff : "", m->on_duplicate ? m->on_duplicate : "",
				 m->group ? m->group : "");
		args[n++] = options[i];
	}
	args[n] = NULL;
	return args;
}

int64_t queue_send_all(struct redis_server *r, const char *queue, const struct outgoing *messages, size_t count)
{
	bool supersedes = false;

	for (size_t i = 0; i < count; i++)
		supersedes |= messages[i].on_duplicate != NULL;
	run(r, supersedes ? &queue_message_supersede_script : &queue_message_send_script, queue_keys(queue),
	    outgoing_args(messages, count));
	assert_int_equal(r->reply->elements, QUEUE_MESSAGE_SEND_MESSAGES + count);
	return outcome(r);
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

const redisReply *sent(const struct redis_server *r, size_t i, size_t field)
{
	return part_of(r, QUEUE_MESSAGE_SEND_MESSAGES + i, field);
}

int64_t queue_message_receive(struct redis_server *r, const char *queue, int max, int64_t visibility_ms,
			      const char *nonce)
{
	run(r, &queue_message_receive_script, queue_keys(queue),
	    ARGS(number(max), number(visibility_ms), nonce, "0", "", "0", "0"));
	assert_int_equal(r->reply->elements, QUEUE_MESSAGE_RECEIVE_DELIVERIES + outcome(r));
	return outcome(r);
}

int64_t queue_take(struct redis_server *r, const char *queue, int max)
{
	run(r, &queue_message_receive_script, queue_keys(queue), ARGS(number(max), "-1", NONCE_A, "1", "", "0", "0"));
	assert_int_equal(r->reply->elements, QUEUE_MESSAGE_RECEIVE_DELIVERIES + outcome(r));
	return outcome(r);
}

int64_t queue_wait(struct redis_server *r, const char *queue, const char *ticket, int64_t wait_ms, int64_t waited_us)
{
	run(r, &queue_message_receive_script, queue_keys(queue),
	    ARGS(strrchr(ticket, '.') + 1, "60000", NONCE_B, "0", ticket, number(wait_ms), number(waited_us)));
	assert_int_equal(r->reply->elements, QUEUE_MESSAGE_RECEIVE_DELIVERIES + outcome(r));
	return outcome(r);
}

void queue_leave(struct redis_server *r, const char *queue, const char *ticket)
{
	run(r, &queue_leave_script, queue_keys(queue), ARGS(ticket, ""));
	assert_int_equal(outcome(r), 1);
}

/*
 * ---- Stored messages ----
 *
 * A field in the form of a Redis reply, made from the stored message.
 */

static const redisReply *made_int(size_t field, int64_t value)
{
	static redisReply made[FIELDS];

	made[field] = (redisReply){ .type = REDIS_REPLY_INTEGER, .integer = value };
	return &made[field];
}

static const redisReply *made_text(size_t field, const char *from, size_t len)
{
	static redisReply made[FIELDS];
	static char *texts[FIELDS];

	free(texts[field]);
	texts[field] = strndup(from, len);
	assert_non_null(texts[field]);
	made[field] = (redisReply){ .type = REDIS_REPLY_STRING, .str = texts[field], .len = len };
	return &made[field];
}

struct stored {
	const redisReply *sequence, *content, *state;
	const char *id, *group, *body, *worker, *reason;
	size_t id_len, group_len, worker_len;
	int64_t priority, receives, sent_at_ms, expires_at_ms;
};

/*
 * Reads expires_at_ms, max_receives, id, group and backoff, each after a tab, up to `stop`. Returns
 * the rest.
 */
static const char *read_options(struct stored *m, const char *at, char stop)
{
	if (*at == '\t') {
		m->expires_at_ms = strtoll(at + 1, (char **)&at, 10);
		at += 1 + strcspn(at + 1, "\t");
		m->id = at + 1;
		m->id_len = strcspn(m->id, "\t");
		m->group = m->id + m->id_len + 1;
		m->group_len = strcspn(m->group, "\t");
		at = m->group + m->group_len + 1;
		at += strcspn(at, stop == '\n' ? "\n" : "\t");
	}
	return *at == stop ? at + 1 : at;
}

static struct stored stored_of(const redisReply *sequence, const redisReply *content, const redisReply *state)
{
	struct stored m = {
		.sequence = sequence, .content = content, .state = state, .group = "", .worker = "", .reason = ""
	};

	assert_int_equal(content->type, REDIS_REPLY_STRING);
	assert_true(content->len > 14);
	m.sent_at_ms = strtoll(content->str, NULL, 10) / 10;
	m.priority = content->str[13] - '0';
	m.body = read_options(&m, content->str + 14, '\n');
	if (state->len) {
		const char *end;
		m.priority = state->str[29] - '0';
		m.receives = strtoll(state->str + 31, (char **)&end, 10);
		m.id_len = 0;
		m.expires_at_ms = 0;
		m.worker = read_options(&m, end, '\t');
		for (int marks_and_progress = 0; *m.worker && marks_and_progress < 2; marks_and_progress++)
			m.worker += strcspn(m.worker, "\t") + 1;
		m.worker_len = strcspn(m.worker, "\t");
		m.reason = m.worker + m.worker_len + (m.worker[m.worker_len] == '\t');
	}
	if (!m.id_len) {
		m.id = sequence->str;
		m.id_len = strlen(m.id);
	}
	return m;
}

const redisReply *received(const struct redis_server *r, size_t i, enum received_field field)
{
	size_t base = QUEUE_MESSAGE_RECEIVE_DELIVERIES + i, slot = ITEM_GROUP + 1 + (size_t)field;
	struct stored m = stored_of(part_of(r, base, QUEUE_DELIVERY_SEQUENCE), part_of(r, base, QUEUE_DELIVERY_CONTENT),
				    part_of(r, base, QUEUE_DELIVERY_STORED_STATE));
	char receipt[64];

	switch (field) {
	case RECEIVED_ID:
		return made_text(slot, m.id, m.id_len);
	case RECEIVED_RECEIPT:
		snprintf(receipt, sizeof(receipt), "%s.%.16s", m.sequence->str, m.state->str);
		return made_text(slot, receipt, strlen(receipt));
	case RECEIVED_BODY:
		return made_text(slot, m.body, strlen(m.body));
	case RECEIVED_PRIORITY:
		return made_int(slot, m.priority);
	case RECEIVED_RECEIVES:
		return made_int(slot, m.receives);
	case RECEIVED_SENT_AT:
		return made_int(slot, m.sent_at_ms);
	case RECEIVED_VISIBLE_UNTIL:
		return part_of(r, base, QUEUE_DELIVERY_VISIBLE_UNTIL_MS);
	case RECEIVED_QUEUE:
		return part_of(r, base, QUEUE_DELIVERY_QUEUE);
	case RECEIVED_STATE:
		return m.state;
	case RECEIVED_CONTENT:
		return m.content;
	case RECEIVED_GROUP:
		return made_text(slot, m.group, m.group_len);
	}
	return NULL;
}

/*
 * Returns the sequence of a receipt, and its nonce in `nonce`. The copy lives until the next call.
 */
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
	return outcome(r);
}

int64_t queue_delivery_extend(struct redis_server *r, const char *queue, const char *receipt, int64_t visibility_ms)
{
	const char *nonce;
	const char *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_extend_script, queue_keys(queue), ARGS(seq, nonce, number(visibility_ms), ""));
	return outcome(r);
}

static int64_t reject(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms,
		      const char *reason, const char *kind)
{
	const char *nonce;
	const char *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_reject_script, queue_keys(queue), ARGS(seq, nonce, number(delay_ms), reason, kind));
	return outcome(r);
}

int64_t queue_delivery_reject(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms,
			      const char *reason, bool dead)
{
	return reject(r, queue, receipt, delay_ms, reason, dead ? "1" : "0");
}

int64_t queue_delivery_uncount(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms)
{
	return reject(r, queue, receipt, delay_ms, "not now", "2");
}

int64_t queue_delivery_acknowledge_late(struct redis_server *r, const char *queue, const char *receipt)
{
	const char *nonce, *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_acknowledge_script, queue_keys(queue), ARGS(seq, nonce, "late"));
	return outcome(r);
}

int64_t queue_delivery_extend_late(struct redis_server *r, const char *queue, const char *receipt,
				   int64_t visibility_ms)
{
	const char *nonce, *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_extend_script, queue_keys(queue), ARGS(seq, nonce, number(visibility_ms), "", "late"));
	return outcome(r);
}

int64_t queue_delivery_reject_late(struct redis_server *r, const char *queue, const char *receipt, int64_t delay_ms)
{
	const char *nonce, *seq = cut(receipt, &nonce);

	run(r, &queue_delivery_reject_script, queue_keys(queue),
	    ARGS(seq, nonce, number(delay_ms), "late", "0", "late"));
	return outcome(r);
}

/* Appends the two halves of a receipt to ARGV, copied to `halves`. */
static size_t add_receipt(const char **args, size_t n, char halves[2][32], const char *receipt)
{
	const char *nonce, *seq = cut(receipt, &nonce);

	snprintf(halves[0], sizeof(halves[0]), "%s", seq);
	snprintf(halves[1], sizeof(halves[1]), "%s", nonce);
	args[n++] = halves[0];
	args[n++] = halves[1];
	return n;
}

int64_t queue_delivery_list_extend(struct redis_server *r, const char *queue, const char *const receipts[],
				   int64_t visibility_ms)
{
	static char halves[BATCH_MAX][2][32];
	const char *args[2 * BATCH_MAX + 2] = { number(visibility_ms) };
	size_t n = 1;

	for (; *receipts; receipts++)
		n = add_receipt(args, n, halves[n / 2], *receipts);
	args[n] = NULL;
	run(r, &queue_delivery_list_extend_script, queue_keys(queue), args);
	assert_int_equal(r->reply->elements, QUEUE_DELIVERY_LIST_EXTEND_OUTCOMES + n / 2);
	return outcome(r);
}

int64_t queue_delivery_settle(struct redis_server *r, const char *queue, const char *const done[],
			      const char *const reject[], int64_t delay_ms)
{
	static char halves[2 * BATCH_MAX][2][32];
	const char *args[7 * BATCH_MAX + 3], *delay = number(delay_ms);
	size_t n = 2, count = 0;

	for (; *done; done++, count++)
		n = add_receipt(args, n, halves[count], *done);
	args[0] = number((int64_t)count);
	args[1] = "0";
	for (; *reject; reject++, count++) {
		n = add_receipt(args, n, halves[count], *reject);
		args[n++] = delay;
		args[n++] = "";
		args[n++] = "0";
	}
	args[n] = NULL;
	run(r, &queue_delivery_settle_script, queue_keys(queue), args);
	assert_int_equal(r->reply->elements, QUEUE_DELIVERY_SETTLE_OUTCOMES + count);
	return outcome(r);
}

int64_t queue_message_get(struct redis_server *r, const char *queue, const char *id)
{
	run(r, &queue_message_get_script, queue_keys(queue), ARGS(id, "", "1"));
	return outcome(r);
}

int64_t queue_message_delete(struct redis_server *r, const char *queue, const char *id)
{
	run(r, &queue_message_delete_script, queue_keys(queue), ARGS(id, "0"));
	return outcome(r);
}

int64_t queue_message_cancel(struct redis_server *r, const char *queue, const char *id)
{
	run(r, &queue_message_delete_script, queue_keys(queue), ARGS(id, "1"));
	return outcome(r);
}

int64_t queue_message_patch(struct redis_server *r, const char *queue, const char *id, int64_t delay_ms,
			    int64_t deliver_at_ms, int priority)
{
	run(r, &queue_message_patch_script, queue_keys(queue),
	    ARGS(id, number(delay_ms), number(deliver_at_ms), number(priority), "-1"));
	return outcome(r);
}

const redisReply *item_field(const struct redis_server *r, size_t base, enum item_field field)
{
	struct stored m = stored_of(part_of(r, base, QUEUE_MESSAGE_SEQUENCE), part_of(r, base, QUEUE_MESSAGE_CONTENT),
				    part_of(r, base, QUEUE_MESSAGE_STORED_STATE));

	switch (field) {
	case ITEM_ID:
		return made_text(field, m.id, m.id_len);
	case ITEM_STATE:
		return part_of(r, base, QUEUE_MESSAGE_STATE);
	case ITEM_BODY:
		return made_text(field, m.body, strlen(m.body));
	case ITEM_PRIORITY:
		return made_int(field, m.priority);
	case ITEM_RECEIVES:
		return made_int(field, m.receives);
	case ITEM_SENT_AT:
		return made_int(field, m.sent_at_ms);
	case ITEM_AT:
		return part_of(r, base, QUEUE_MESSAGE_AT_MS);
	case ITEM_EXPIRES_AT:
		return made_int(field, m.expires_at_ms);
	case ITEM_WORKER:
		return made_text(field, m.worker, m.worker_len);
	case ITEM_REASON:
		return made_text(field, m.reason, strlen(m.reason));
	case ITEM_GROUP:
		return made_text(field, m.group, m.group_len);
	}
	return NULL;
}

/* Counts the fields of the queue's hash whose names match a Lua pattern. */
static int64_t fields_like(struct redis_server *r, const char *queue, const char *pattern)
{
	static const char count[] = "local n = 0 for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do "
				    "n = n + (name:find(ARGV[1]) and 1 or 0) end return n";

	return server_command(r, "EVAL %s 1 %s %s", count, queue_key(queue, ""), pattern)->integer;
}

int64_t queue_contents(struct redis_server *r, const char *queue)
{
	return fields_like(r, queue, "^%d+$");
}

int64_t queue_states(struct redis_server *r, const char *queue)
{
	return fields_like(r, queue, "^%d+s$");
}

void queue_trim_next(struct redis_server *r, const char *queue)
{
	server_command(r, "HDEL %s trim_at", queue_key(queue, ""));
}

const struct queue_settings standard_settings = {
	.visibility_ms = 30000,
	.max_receives = 25,
	.dedupe_ms = 300000,
	.dead_retention_ms = 1209600000,
};

void queue_put(struct redis_server *r, const char *queue, struct queue_settings s)
{
	run(r, &queue_put_script, queue_keys(queue),
	    ARGS(number(s.visibility_ms), number(s.max_receives), number(s.backoff_base_ms), number(s.backoff_max_ms),
		 number(s.dedupe_ms), number(s.dead_retention_ms), s.paused ? "1" : "0",
		 s.result_ms ? number(s.result_ms) : "-2", "-2", "", "-2"));
	assert_int_equal(outcome(r), 1);
}

int64_t queue_backoff_ms(const char *receipt, int64_t whole_ms)
{
	uint64_t of_nonce = strtoull(receipt + 25, NULL, 16);
	uint64_t random = (of_nonce + strtoull(receipt + 10, NULL, 10) * 2654435761U) % 4294967296U;

	return (int64_t)ceil((double)whole_ms * (0.5 + (double)random / 8589934592.0));
}

struct queue_counts queue_get(struct redis_server *r, const char *queue)
{
	run(r, &queue_get_script, queue_keys(queue), ARGS("1"));
	assert_int_equal(outcome(r), 0);
	return (struct queue_counts){
		.ready = item_int(r, QUEUE_GET_READY),
		.delayed = item_int(r, QUEUE_GET_DELAYED),
		.in_flight = item_int(r, QUEUE_GET_IN_FLIGHT),
		.dead = item_int(r, QUEUE_GET_DEAD),
		.oldest_ready_at = item_int(r, QUEUE_GET_OLDEST_READY_AT_MS),
		.expired = item_int(r, QUEUE_GET_EXPIRED),
		.sent = item_int(r, QUEUE_GET_SENT),
		.died = item_int(r, QUEUE_GET_DIED),
		.retrying = item_int(r, QUEUE_GET_RETRYING),
		.rejected = item_int(r, QUEUE_GET_REJECTED),
		.timed_out = item_int(r, QUEUE_GET_TIMED_OUT),
		.failed_lately = item_int(r, QUEUE_GET_FAILED_LATELY),
		.acknowledged_lately = item_int(r, QUEUE_GET_ACKNOWLEDGED_LATELY),
	};
}

/*
 * Calls a script that works in steps until it has finished, with its first argument and the total
 * so far.
 */
static int64_t in_steps(struct redis_server *r, const struct script *s, const char *queue, const char *what, int *steps)
{
	char total[24] = "0";
	int count = 0;

	do {
		run(r, s, queue_keys(queue), s == &queue_redrive_script ? ARGS(what, "0", total) : ARGS(what, total));
		snprintf(total, sizeof(total), "%" PRId64, item_int(r, QUEUE_STEP_TOTAL));
		count++;
		assert_true(count < 1000);
	} while (outcome(r) == QUEUE_PURGE_SETTLED || outcome(r) == QUEUE_PURGE_MORE); /* also of a redrive */
	assert_int_equal(outcome(r), item_int(r, QUEUE_STEP_TOTAL) > 0 ? QUEUE_PURGE_FINISHED : QUEUE_PURGE_NOTHING);
	if (steps)
		*steps = count;
	return item_int(r, QUEUE_STEP_TOTAL);
}

int64_t queue_purge(struct redis_server *r, const char *queue, const char *state, int *steps)
{
	return in_steps(r, &queue_purge_script, queue, state, steps);
}

int64_t queue_redrive(struct redis_server *r, const char *queue, int64_t max, int *steps)
{
	return in_steps(r, &queue_redrive_script, queue, number(max), steps);
}

int64_t queue_redrive_to(struct redis_server *r, const char *queue, const char *to, int64_t interval_ms, int64_t max,
			 const char *const ids[], int64_t *duplicates)
{
	static const char *const none[] = { NULL };
	const char *keys[2 * QUEUE_KEYS + 1], *args[BATCH_MAX + 8];
	char interval[24], left[24] = "0", step[48] = "0.0", most[24];
	size_t n;

	memcpy(keys, queue_keys(queue), QUEUE_KEYS * sizeof(*keys));
	for (size_t i = 0; i < QUEUE_KEYS; i++)
		assert_non_null(keys[i] = strdup(keys[i]));
	memcpy(keys + QUEUE_KEYS, queue_keys(to), QUEUE_KEYS * sizeof(*keys));
	keys[2 * QUEUE_KEYS] = NULL;
	snprintf(interval, sizeof(interval), "%" PRId64, interval_ms);
	snprintf(most, sizeof(most), "%" PRId64, max);
	do {
		n = 0;
		args[n++] = interval;
		args[n++] = most;
		args[n++] = queue;
		args[n++] = "";
		for (const char *const *id = ids ? ids : none; *id; id++)
			args[n++] = *id;
		args[n++] = left;
		args[n++] = step;
		args[n] = NULL;
		run(r, &queue_redrive_to_script, keys, args);
		if (outcome(r) == QUEUE_REDRIVE_TO_FINISHED || outcome(r) == QUEUE_REDRIVE_TO_NOTHING)
			break;
		snprintf(left, sizeof(left), "%" PRId64, item_int(r, QUEUE_REDRIVE_TO_LEFT));
		snprintf(step, sizeof(step), "%s", item_text(r, QUEUE_REDRIVE_TO_STEP));
	} while (true);
	for (size_t i = 0; i < QUEUE_KEYS; i++)
		free((void *)(uintptr_t)keys[i]);
	if (duplicates)
		*duplicates = item_int(r, QUEUE_REDRIVE_TO_DUPLICATES);
	return item_int(r, QUEUE_STEP_TOTAL);
}

void wait_for_clock(struct redis_server *r, int64_t at_ms)
{
	wait_until(server_now_ms(r) >= at_ms, CLOCK_MS);
}
