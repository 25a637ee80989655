#include "queues/queue_content.h"

#include "core/percent.h"
#include "queues/queue_call.h"
#include "json/read.h"

/*
 * STATE_MIN is the length of the shortest state of lua/queues/lib_queue.lua, with one digit of
 * receives.
 */
enum { INSTANT_DIGITS = 13, SECONDS_DIGITS = 10, STATE_MIN = NONCE_DIGITS + INSTANT_DIGITS + 3 };

struct text queue_headers(struct request *req, struct text_pairs headers)
{
	struct json_out o;

	if (!headers.count)
		return TEXT("");
	out_init(&o, &req->arena, 256);
	out_object(&o, NULL);
	for (size_t i = 0; i < headers.count; i++) {
		out_key(&o, headers.items[i].key);
		out_text(&o, NULL, headers.items[i].value);
	}
	out_close(&o);
	return out_all(&o);
}

struct text queue_body_text(struct request *req, struct text body)
{
	struct json_error error;

	if (!body.len || *body.at != '"')
		return body;
	struct text alone = arena_copy(&req->arena, body.at, body.len); /* JSON is read up to a NUL */
	const struct json *value = alone.at ? json_read(&req->arena, alone, NULL, NULL, &error) : NULL;
	return value && value->kind == JSON_IS_TEXT ? value->text : (struct text){ 0 };
}

struct text queue_content(struct request *req, const struct queue_message_send_messages_item *m, struct text dedupe_id)
{
	struct text traceparent = m->traceparent.at ? m->traceparent : req->asked.traceparent;
	struct text headers = queue_headers(req, m->headers), none = TEXT("");

	if (!traceparent.at && !headers.len && !dedupe_id.len)
		return m->body;
	struct text parts[] = {
		traceparent.at ? TEXT("\tt") : none,
		traceparent,
		headers.len ? TEXT("\th") : none,
		headers,
		dedupe_id.len ? TEXT("\td") : none,
		dedupe_id,
		TEXT("\t="),
		m->body,
	};
	return arena_join(&req->arena, parts, sizeof(parts) / sizeof(parts[0]));
}

/* Cuts a number of at most `len` digits off the start of `rest`. Returns -1 if there is none. */
static int64_t cut_number(struct text *rest, size_t len)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < rest->len && i < len && rest->at[i] >= '0' && rest->at[i] <= '9'; i++)
		n = 10 * n + (rest->at[i] - '0');
	rest->at += i;
	rest->len -= i;
	return i ? n : -1;
}

/* Reads the options of a header or a state: expires_at_ms, max_receives, id, group and backoff. */
static bool cut_options(struct queue_message *m, struct text *rest)
{
	if (text_cut(rest, '\t').len || !rest->at)
		return false;
	m->expires_at_ms = cut_number(rest, INSTANT_DIGITS);
	if (m->expires_at_ms < 0 || text_cut(rest, '\t').len || !rest->at)
		return false;
	if (cut_number(rest, INSTANT_DIGITS) < 0 || text_cut(rest, '\t').len || !rest->at)
		return false;
	m->id = text_cut(rest, '\t');
	m->group = text_cut(rest, '\t');
	if (!rest->at)
		return false;
	m->backoff = text_cut(rest, '\t');
	return true;
}

/* Reads the header. `rest` is then the content. */
static bool read_header(struct queue_message *m, struct text *rest)
{
	struct text header = text_cut(rest, '\n');

	if (!rest->at || header.len < INSTANT_DIGITS + 1)
		return false;
	m->sent_at_ms = cut_number(&header, INSTANT_DIGITS);
	m->priority = cut_number(&header, 1);
	if (m->sent_at_ms < 0 || m->priority < 0)
		return false;
	if (header.len == 0)
		return true;
	return cut_options(m, &header) && !header.at;
}

static bool read_state(struct queue_message *m, struct text state)
{
	if (state.len < STATE_MIN)
		return false;
	m->nonce = (struct text){ state.at, NONCE_DIGITS };
	state = (struct text){ state.at + NONCE_DIGITS + INSTANT_DIGITS, state.len - NONCE_DIGITS - INSTANT_DIGITS };
	m->priority = cut_number(&state, 1);
	state.at++; /* the flag for a large content */
	state.len--;
	m->receives = cut_number(&state, INSTANT_DIGITS);
	m->expires_at_ms = 0;
	m->id = m->group = m->backoff = (struct text){ 0 };
	if (m->priority < 0 || m->receives < 0)
		return false;
	if (state.len == 0)
		return true;
	if (!cut_options(m, &state))
		return false;
	m->marks = text_cut(&state, '\t');
	m->progress = text_cut(&state, '\t');
	m->worker = text_cut(&state, '\t');
	m->reason = state;
	return state.at;
}

struct text queue_encoded(struct request *req, struct text value)
{
	char *out = value.len ? arena_alloc(&req->arena, 3 * value.len + 1) : NULL;

	return out ? (struct text){ out, percent_encode(value, out) } : TEXT("");
}

struct text queue_sent_sequence(const struct reply *item, struct text given)
{
	if (item->count > QUEUE_SENT_SEQUENCE)
		return reply_text(item, QUEUE_SENT_SEQUENCE);
	return given.len ? TEXT("") : reply_text(item, QUEUE_SENT_ID);
}

void queue_sent_out(struct json_out *o, struct text id, int64_t outcome, int64_t deliver_at_ms, struct text sequence)
{
	static const char *const names[] = { "stored", "kept", "replaced", "extended", "after", "kept_dead" };

	out_text(o, "id", id);
	out_bool(o, "duplicate", outcome != QUEUE_SENT_STORED);
	out_string(o, "outcome", names[outcome >= 0 && outcome < QUEUE_SENT_OUTCOMES ? outcome : QUEUE_SENT_KEPT]);
	out_int_or_null(o, "deliver_at_ms", deliver_at_ms > 0, deliver_at_ms);
	out_text_or_null(o, "sequence", sequence);
}

struct text queue_decoded(struct arena *arena, struct text encoded)
{
	struct text plain = arena_copy(arena, encoded.at, encoded.len);

	if (!encoded.len || !plain.at || !percent_decode((char *)(uintptr_t)plain.at, &plain.len))
		plain = (struct text){ 0 };
	return plain;
}

void queue_worker_out(struct json_out *o, struct text worker)
{
	out_text_or_null(o, "worker", queue_decoded(o->arena, worker));
}

int64_t queue_state_receives(struct text state)
{
	struct queue_message m = { 0 };

	return read_state(&m, state) ? m.receives : 0;
}

/*
 * The first 10 digits of a nonce are the time in seconds:
 * lua/queues/receive/queue_message_receive.lua.
 */
int64_t queue_state_received_at_ms(struct text state)
{
	return state.len >= NONCE_DIGITS ? cut_number(&state, SECONDS_DIGITS) * 1000 : 0;
}

/* The marks have the instant once the first delivery has failed. */
int64_t queue_first_received_at_ms(const struct queue_message *m)
{
	const char *mark = m->marks.len ? memchr(m->marks.at, 'f', m->marks.len) : NULL;

	if (mark) {
		struct text digits = { mark + 1, (size_t)(m->marks.at + m->marks.len - mark - 1) };
		return digits.len >= SECONDS_DIGITS ? cut_number(&digits, SECONDS_DIGITS) * 1000 : 0;
	}
	return m->receives == 1 && m->nonce.len && *m->nonce.at != '-' ? queue_state_received_at_ms(m->nonce) : 0;
}

struct queue_delivered queue_delivered_of(struct arena *arena, const struct reply *r, size_t at, bool has_failed)
{
	struct text sequence = reply_text(r, at + QUEUE_DELIVERED_SEQUENCE);
	struct queue_message m = { 0 };

	if (!sequence.len || !read_state(&m, reply_text(r, at + QUEUE_DELIVERED_STORED_STATE)))
		return (struct queue_delivered){ 0 };
	/*
	 * While the message is in flight again, its worker is the present one, its reason an
	 * earlier one.
	 */
	bool has_worker = !has_failed || *m.nonce.at == '-';
	return (struct queue_delivered){
		.id = m.id.len ? m.id : sequence,
		.worker = has_worker ? queue_decoded(arena, m.worker) : (struct text){ 0 },
		.reason = m.reason,
		.receives = m.receives,
		.received_at_ms = queue_state_received_at_ms(m.nonce),
	};
}

void queue_message_read(struct queue_message *m, struct text sequence, struct text content, struct text state)
{
	*m = (struct queue_message){ .content = TEXT("") };
	if (read_header(m, &content) && (!state.len || read_state(m, state)))
		m->content = content;
	if (!m->id.len)
		m->id = sequence;
}

struct text queue_dead_from(struct arena *arena, struct text content)
{
	for (struct text rest = content; rest.len && *rest.at == '\t';) {
		text_cut(&rest, '\t');
		struct text part = text_cut(&rest, '\t');
		if (part.len && *part.at == 'f') {
			part = (struct text){ part.at + 1, part.len - 1 };
			return queue_decoded(arena, text_cut(&part, ' '));
		}
		if (!part.len || *part.at != 'm' || !rest.at)
			break;
		rest = (struct text){ rest.at - 1, rest.len + 1 }; /* the tab begins the next part */
	}
	return (struct text){ 0 };
}

static void out_part(struct json_out *o, struct text part)
{
	struct text value = { part.at + 1, part.len - 1 };

	if (*part.at == 't')
		out_text(o, "traceparent", value);
	else if (*part.at == 'f')
		out_text(o, "dead_from", queue_decoded(o->arena, text_cut(&value, ' ')));
	else if (*part.at == 'd')
		out_text(o, "dedupe_id", value);
	else if (*part.at == 'h' || *part.at == 's') /* JSON is read up to a NUL */
		out_raw(o, *part.at == 'h' ? "headers" : "schedule", arena_copy(o->arena, value.at, value.len));
}

void queue_content_out(struct json_out *o, struct text content)
{
	struct text rest = content;

	while (rest.len && *rest.at == '\t') {
		struct text part;
		text_cut(&rest, '\t');
		if (*rest.at == '=') {
			rest = (struct text){ rest.at + 1, rest.len - 1 };
			break;
		}
		part = text_cut(&rest, '\t');
		if (!part.len || !rest.at) {
			rest = TEXT(""); /* the content is damaged: not JSON */
			break;
		}
		rest = (struct text){ rest.at - 1, rest.len + 1 }; /* the tab begins the next part */
		out_part(o, part);
	}
	out_raw(o, "body", rest);
}

/*
 * `progress` is stored as the percentage, a blank, and the note, percent-encoded. It is empty if
 * none was reported.
 */
static void out_progress(struct json_out *o, struct text progress)
{
	struct text percent = text_cut(&progress, ' ');

	if (!percent.len) {
		out_raw_or_null(o, "progress", (struct text){ 0 });
		return;
	}
	out_object(o, "progress");
	out_int(o, "percent", cut_number(&percent, 3));
	out_text_or_null(o, "note", queue_decoded(o->arena, progress));
	out_close(o);
}

void queue_message_out(struct json_out *o, struct request *req, const struct reply *r)
{
	struct text state = reply_text(r, QUEUE_MESSAGE_STATE);
	int64_t at_ms = reply_int(r, QUEUE_MESSAGE_AT_MS);
	struct queue_message m;

	queue_message_read(&m, reply_text(r, QUEUE_MESSAGE_SEQUENCE), reply_text(r, QUEUE_MESSAGE_CONTENT),
			   reply_text(r, QUEUE_MESSAGE_STORED_STATE));
	if (text_is(state, "delayed") && at_ms <= req->now_ms)
		state = TEXT("ready");
	bool is_due = text_is(state, "ready") || text_is(state, "delayed"), is_done = text_is(state, "done");
	int64_t first_ms = queue_first_received_at_ms(&m);
	out_text(o, "id", m.id);
	out_text(o, "state", state);
	queue_content_out(o, is_done ? TEXT("null") : m.content);
	out_text_or_null(o, "group", m.group);
	out_int(o, "priority", m.priority);
	out_int(o, "receives", m.receives);
	out_int(o, "sent_at_ms", m.sent_at_ms);
	out_int_or_null(o, "deliver_at_ms", is_due, at_ms);
	out_int_or_null(o, "visible_until_ms", text_is(state, "in_flight"), at_ms);
	out_int_or_null(o, "died_at_ms", text_is(state, "dead"), at_ms);
	out_int_or_null(o, "done_at_ms", is_done, at_ms);
	out_int_or_null(o, "expires_at_ms", m.expires_at_ms != 0, m.expires_at_ms);
	out_int_or_null(o, "received_at_ms", text_is(state, "in_flight"), queue_state_received_at_ms(m.nonce));
	out_int_or_null(o, "first_received_at_ms", first_ms > 0, first_ms);
	out_progress(o, m.progress);
	queue_worker_out(o, m.worker);
	out_text_or_null(o, "reason", m.reason);
	out_text(o, "sequence", reply_text(r, QUEUE_MESSAGE_SEQUENCE));
	if (is_done && m.content.len)
		out_raw(o, "result", m.content);
}
