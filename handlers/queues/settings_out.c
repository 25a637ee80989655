#include "queues/settings_out.h"

#include "common/handler.h"
#include "queues/annotations.h"
#include "queues/queue_call.h"
#include "queues/redrive/dead_letters.h"

static void write_policy(struct json_out *o, struct text name, struct text key)
{
	if (name.len == 0) {
		out_null(o, "policy");
		return;
	}
	out_object(o, "policy");
	out_text(o, "name", name);
	out_text(o, "key", key);
	out_close(o);
}

static void write_some(struct json_out *o, const char *member, int64_t value)
{
	out_int_or_null(o, member, value > 0, value);
}

/* Writes a rate, whose limit, window_ms and burst begin at item `at`. */
static void write_rate(struct json_out *o, const char *member, const struct reply *r, size_t at)
{
	if (reply_int(r, at + QUEUE_RATE_LIMIT) == 0) {
		out_null(o, member);
		return;
	}
	out_object(o, member);
	out_int(o, "limit", reply_int(r, at + QUEUE_RATE_LIMIT));
	out_int(o, "window_ms", reply_int(r, at + QUEUE_RATE_WINDOW_MS));
	out_int(o, "burst", reply_int(r, at + QUEUE_RATE_BURST));
	out_close(o);
}

void queue_settings_out(struct json_out *o, const struct reply *r, size_t at, size_t annotations_at)
{
	out_object(o, "settings");
	out_int(o, "visibility_ms", reply_int(r, at + QUEUE_SETTINGS_VISIBILITY_MS));
	int64_t max_receives = reply_int(r, at + QUEUE_SETTINGS_MAX_RECEIVES);
	out_int(o, "max_receives", max_receives < QUEUE_NEVER_DEAD ? max_receives : 0);
	out_object(o, "backoff");
	out_int(o, "base_ms", reply_int(r, at + QUEUE_SETTINGS_BACKOFF_BASE_MS));
	out_int(o, "max_ms", reply_int(r, at + QUEUE_SETTINGS_BACKOFF_MAX_MS));
	out_close(o);
	out_int(o, "dedupe_ms", reply_int(r, at + QUEUE_SETTINGS_DEDUPE_MS));
	out_int(o, "dead_retention_ms", reply_int(r, at + QUEUE_SETTINGS_DEAD_RETENTION_MS));
	int64_t result_ms = reply_int(r, at + QUEUE_SETTINGS_RESULT_MS);
	out_int_or_null(o, "result_ms", result_ms > 0, result_ms);
	out_bool(o, "paused", reply_int(r, at + QUEUE_SETTINGS_PAUSED) > 0);
	write_policy(o, reply_text(r, at + QUEUE_SETTINGS_POLICY_NAME), reply_text(r, at + QUEUE_SETTINGS_POLICY_KEY));
	int64_t max_messages = reply_int(r, at + QUEUE_SETTINGS_MAX_MESSAGES);
	out_int_or_null(o, "max_messages", max_messages > 0, max_messages);
	out_string(o, "order", reply_int(r, at + QUEUE_SETTINGS_IS_STRICT) ? "strict" : "fair");
	write_some(o, "group_concurrency", reply_int(r, at + QUEUE_SETTINGS_GROUP_CONCURRENCY));
	write_some(o, "concurrency", reply_int(r, at + QUEUE_SETTINGS_CONCURRENCY));
	write_rate(o, "rate", r, at + QUEUE_SETTINGS_RATE);
	write_rate(o, "group_rate", r, at + QUEUE_SETTINGS_GROUP_RATE);
	out_int(o, "delay_ms", reply_int(r, at + QUEUE_SETTINGS_DELAY_MS));
	write_some(o, "ttl_ms", reply_int(r, at + QUEUE_SETTINGS_TTL_MS));
	out_int(o, "wait_ms", reply_int(r, at + QUEUE_SETTINGS_WAIT_MS));
	out_text_or_null(o, "dead_letter_queue", reply_text(r, at + QUEUE_SETTINGS_DEAD_LETTER_QUEUE));
	out_bool(o, "dedupe_by_body", reply_int(r, at + QUEUE_SETTINGS_DEDUPE_BY_BODY));
	out_string(o, "dedupe_scope", reply_int(r, at + QUEUE_SETTINGS_DEDUPES_IN_GROUPS) ? "group" : "queue");
	write_some(o, "max_message_bytes", reply_int(r, at + QUEUE_SETTINGS_MAX_MESSAGE_BYTES));
	annotations_out(o, r, annotations_at);
	out_close(o);
}

/* Moves dead letters, which may be older than the setting. */
void queue_settings_move_letters(struct text queue, const struct reply *r, size_t settings)
{
	if (reply_text(r, settings + QUEUE_SETTINGS_DEAD_LETTER_QUEUE).len)
		dead_letters_move(queue);
}
