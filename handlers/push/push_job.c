#include "push/push_job.h"

#include "core/container.h"
#include "core/digest.h"
#include "core/loop.h"
#include "core/percent.h"
#include "json/out.h"

enum {
	OWN_HEADERS = 13,
	SIGNATURE_HEADERS = 3,
	VALUE_MAX = 8 * 1024 /* servers accept few longer lines, and refuse the whole request with them */
};

static struct text copy_of(struct push_job *j, struct text t)
{
	return t.at ? arena_copy(&j->arena, t.at, t.len) : (struct text){ 0 };
}

static int64_t number_of(const struct json *object, const char *key)
{
	const struct json *value = json_tree_member(object, key);

	return value && value->kind == JSON_IS_INTEGER ? value->integer : 0;
}

/* ---- Headers: values are percent-encoded, so that any name is valid in them ---- */

static struct text encoded(struct push_job *j, struct text t)
{
	char *to = arena_alloc(&j->arena, 3 * t.len + 1);

	return to ? (struct text){ to, percent_encode(t, to) } : TEXT("");
}

/*
 * Returns a header as libcurl expects it. libcurl omits a header without a value, unless it ends in
 * a semicolon.
 */
static struct text line_of(struct push_job *j, const char *prefix, const char *name, struct text value)
{
	return value.len ? arena_printf(&j->arena, "%s%s: %.*s", prefix, name, (int)value.len, value.at)
			 : arena_printf(&j->arena, "%s%s;", prefix, name);
}

/* Adds a header, unless the value is absent. If memory runs out, the arena notes it. */
static void add(struct push_job *j, const char *name, struct text value)
{
	if (value.at)
		j->headers[j->header_count++] = line_of(j, "", name, value);
}

static void add_encoded(struct push_job *j, const char *name, struct text value)
{
	if (value.at)
		add(j, name, encoded(j, value));
}

static void add_number(struct push_job *j, const char *name, int64_t value)
{
	char digits[TEXT_DIGITS];

	add(j, name, text_of_int(value, digits));
}

/* Adds the sender's headers, but leaves out a value that is too long for HTTP. */
static void add_senders(struct push_job *j, const struct json *headers)
{
	for (const struct json *h = headers ? headers->first : NULL; h; h = h->next) {
		struct text name = encoded(j, h->key), value = encoded(j, h->text);
		if (value.len > VALUE_MAX)
			continue;
		j->headers[j->header_count++] = line_of(j, "Patternd-Header-", name.at, value);
	}
}

struct push_job *push_job_new_bare(const struct json *message)
{
	struct arena arena;
	struct push_job *j = arena_new(sizeof(*j), &arena);

	if (!j)
		return NULL;
	j->arena = arena;
	j->receipt = copy_of(j, json_tree_string(message, "receipt"));
	j->id = copy_of(j, json_tree_string(message, "id"));
	j->receives = number_of(message, "receives");
	if (!j->receipt.at || !j->id.at) {
		push_job_free(j);
		return NULL;
	}
	return j;
}

struct push_job *push_job_new(const struct json *message)
{
	const struct json *body = json_tree_member(message, "body"), *headers = json_tree_member(message, "headers");
	size_t count = OWN_HEADERS + SIGNATURE_HEADERS + (headers ? headers->count : 0);
	struct push_job *j = push_job_new_bare(message);

	if (!j)
		return NULL;
	j->arena.bounded = true;
	j->headers = arena_alloc(&j->arena, count * sizeof(j->headers[0]));
	j->body = copy_of(j, body ? body->text : TEXT("null"));
	if (j->headers && !j->arena.failed) {
		add(j, "Content-Type", TEXT("application/json"));
		add(j, "User-Agent", TEXT("patternd"));
		add_encoded(j, "Patternd-Message-Id", j->id);
		add_number(j, "Patternd-Receives", j->receives);
		add_number(j, "Patternd-Sent-At-Ms", number_of(message, "sent_at_ms"));
		add_encoded(j, "Patternd-Group", json_tree_string(message, "group"));
		add_encoded(j, "Patternd-Schedule", json_tree_string(json_tree_member(message, "schedule"), "id"));
		add_encoded(j, "Patternd-Dedupe-Id", json_tree_string(message, "dedupe_id"));
		add_encoded(j, "traceparent", json_tree_string(message, "traceparent"));
		add_senders(j, headers);
	}
	if (j->arena.failed) {
		push_job_free(j);
		return NULL;
	}
	return j;
}

void push_job_free(struct push_job *j)
{
	struct arena arena = j->arena; /* the job itself is in the arena */

	outbound_cancel(&j->out);
	arena_free(&arena);
}

/* ---- The request ---- */

static void on_header(struct outbound *o, struct text name, struct text value)
{
	struct push_job *j = container_of(o, struct push_job, out);

	push_answer_header(&j->answer, name, value, loop_wall_ms());
}

static void on_ended(struct outbound *o)
{
	struct push_job *j = container_of(o, struct push_job, out);

	push_answer_judge(&j->answer, o);
	j->ended(j);
}

/* Signs by Standard Webhooks 1.0: HMAC-SHA256 of id, time and body. */
static void sign(struct push_job *j, struct text secret)
{
	unsigned char mac[DIGEST_BYTES];
	char digits[TEXT_DIGITS];
	struct text id = encoded(j, j->id), at = text_of_int(loop_wall_ms() / 1000, digits);
	struct text parts[] = { id, TEXT("."), at, TEXT("."), j->body };
	struct json_out o;

	digest_hmac_sha256(secret, parts, sizeof(parts) / sizeof(parts[0]), mac);
	out_init(&o, &j->arena, 64);
	out_base64(&o, NULL, (struct text){ (const char *)mac, sizeof(mac) });
	struct text quoted = out_all(&o);
	if (!quoted.at)
		return;
	add(j, "webhook-id", id);
	add(j, "webhook-timestamp", at);
	add(j, "webhook-signature", arena_printf(&j->arena, "v1,%.*s", (int)quoted.len - 2, quoted.at + 1));
}

bool push_job_send(struct push_job *j, const struct push_settings *to)
{
	size_t count = j->header_count;

	push_answer_begin(&j->answer);
	add_encoded(j, "Patternd-Queue", to->queue);
	add_number(j, "Patternd-Deadline-Ms", loop_wall_ms() + to->timeout_ms);
	if (to->secret.at)
		sign(j, to->secret);
	j->out = (struct outbound){
		.url = to->url.at,
		.unix_socket = to->unix_socket.at,
		.headers = j->headers,
		.header_count = j->header_count,
		.body = j->body,
		.timeout_ms = to->timeout_ms,
		.arena = &j->arena,
		.header = on_header,
		.ended = on_ended,
	};
	bool ok = !j->arena.failed && outbound_send(&j->out);
	if (!ok)
		j->header_count = count; /* for a retry */
	return ok;
}
