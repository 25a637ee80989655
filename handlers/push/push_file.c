#include "push/push_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "contract/input.h"
#include "contract/self_call.h"
#include "outbound/outbound.h"
#include "process/object_file.h"
#include "request/request.h"
#include "json/base64.h"
#include "json/read.h"

enum {
	DEFAULT_CONCURRENCY = 10,
	DEFAULT_TIMEOUT_MS = 30000,
	MAX_TIMEOUT_MS = 24 * 3600 * 1000,
	MAX_SECRET_BYTES = 512,
};

/* The place that is named when a fault is reported. */
struct place {
	const char *path, *queue;
	char *why;
	size_t size;
};

/* Writes the fault and returns false. `member` is "" for the target itself. */
static bool refuse(const struct place *at, const char *member, const char *what)
{
	snprintf(at->why, at->size, "%s: /%s%s%s: %s", at->path, at->queue, *member ? "/" : "", member, what);
	return false;
}

/* Checks a name by the contract's rules for names of queues. */
static bool is_queue(struct text name)
{
	struct request *req = request_new("", 0);

	if (!req)
		return false;
	req->op = self_call_operation("queue_get");
	req->asked.path_values[0] = arena_copy(&req->arena, name.at, name.len);
	bool is = input_fill(req) != NULL;
	struct arena arena = req->arena; /* `req` itself is in the arena */
	arena_free(&arena);
	return is;
}

static bool read_text(struct push_settings *s, const struct place *at, const struct json *value, struct text *out)
{
	if (value->kind != JSON_IS_TEXT || value->text.len == 0)
		return refuse(at, value->key.at, "must be a string that is not empty");
	if (memchr(value->text.at, '\0', value->text.len))
		return refuse(at, value->key.at, "must not contain NUL");
	*out = arena_copy(&s->arena, value->text.at, value->text.len);
	return out->at || refuse(at, value->key.at, "there is no memory for it");
}

static bool read_number(const struct place *at, const struct json *value, int64_t most, int64_t *out)
{
	char what[64];

	*out = value->kind == JSON_IS_INTEGER ? value->integer : 0;
	snprintf(what, sizeof(what), "must be a whole number from 1 to %" PRId64, most);
	return (*out >= 1 && *out <= most) || refuse(at, value->key.at, what);
}

/*
 * Reads the first line of the file: the key, or "whsec_" and the key in base64 (Standard Webhooks).
 */
static bool read_secret(struct push_settings *s, const struct place *at, const struct json *value)
{
	static const char prefix[] = "whsec_";
	char line[MAX_SECRET_BYTES + 2] = "", why[BASE64_WHY];
	struct text path;

	if (!read_text(s, at, value, &path))
		return false;
	FILE *f = fopen(path.at, "re");
	if (!f)
		return refuse(at, value->key.at, strerror(errno));
	bool ok = fgets(line, sizeof(line), f);
	fclose(f);
	struct text key = { line, strcspn(line, "\r\n") };
	if (!ok || key.len == 0 || key.len > MAX_SECRET_BYTES)
		return refuse(at, value->key.at, "the first line of the file must have 1 to 512 bytes");
	if (strncmp(line, prefix, sizeof(prefix) - 1) != 0) {
		s->secret = arena_copy(&s->arena, key.at, key.len);
		return s->secret.at || refuse(at, value->key.at, "there is no memory for it");
	}
	struct text digits = { key.at + sizeof(prefix) - 1, key.len - (sizeof(prefix) - 1) };
	char *bytes = arena_alloc(&s->arena, base64_room(digits.len) + 1);
	if (!bytes || !base64_decode(digits, bytes, &s->secret.len, why) || s->secret.len == 0)
		return refuse(at, value->key.at, "the file's secret must have base64 after whsec_");
	s->secret.at = bytes;
	return true;
}

static bool read_member(struct push_settings *s, const struct place *at, const struct json *value, struct text *path)
{
	if (text_is(value->key, "url"))
		return read_text(s, at, value, &s->url);
	if (text_is(value->key, "unix_socket"))
		return read_text(s, at, value, &s->unix_socket);
	if (text_is(value->key, "ready_path"))
		return read_text(s, at, value, path);
	if (text_is(value->key, "secret_file"))
		return read_secret(s, at, value);
	if (text_is(value->key, "concurrency"))
		return read_number(at, value, OUTBOUND_MOST, &s->concurrency);
	if (text_is(value->key, "timeout_ms"))
		return read_number(at, value, MAX_TIMEOUT_MS, &s->timeout_ms);
	return refuse(at, value->key.at,
		      "is unknown; a target has url, unix_socket, concurrency, timeout_ms, ready_path, secret_file");
}

/* Builds the URL of the program's readiness check. */
static bool join_ready_url(struct push_settings *s, const struct place *at, struct text path)
{
	const char *rest = s->url.at + strlen("http://");
	size_t len = (size_t)(rest - s->url.at) + strcspn(rest, "/?");
	struct text parts[] = { { s->url.at, len }, path };

	if (!path.at)
		return true;
	if (*path.at != '/')
		return refuse(at, "ready_path", "must begin with /");
	s->ready_url = arena_join(&s->arena, parts, 2);
	const char *refusal = s->ready_url.at ? outbound_refusal(s->ready_url.at, s->unix_socket.at) : "is too long";
	return !refusal || refuse(at, "ready_path", refusal);
}

static bool fill(struct push_settings *s, const struct place *at, const struct json *object)
{
	struct text path = { 0 };

	for (const struct json *value = object->first; value; value = value->next)
		if (!read_member(s, at, value, &path))
			return false;
	if (!s->url.at)
		return refuse(at, "url", "is required");
	const char *refusal = outbound_refusal(s->url.at, NULL);
	if (refusal)
		return refuse(at, "url", refusal);
	refusal = outbound_refusal(s->url.at, s->unix_socket.at);
	if (refusal)
		return refuse(at, "unix_socket", refusal);
	return join_ready_url(s, at, path);
}

static bool read_target(const struct json *member, const struct place *at, struct push_settings **out)
{
	struct arena arena;
	struct json_error error;
	struct push_settings *s = arena_new(sizeof(*s), &arena);

	*out = s;
	if (!s)
		return refuse(at, "", "there is no memory for it");
	s->arena = arena;
	s->concurrency = DEFAULT_CONCURRENCY;
	s->timeout_ms = DEFAULT_TIMEOUT_MS;
	s->queue = arena_copy(&s->arena, member->key.at, member->key.len);
	s->written = arena_copy(&s->arena, member->text.at, member->text.len);
	const struct json *object = s->written.at ? json_read(&s->arena, s->written, NULL, NULL, &error) : NULL;
	if (!is_queue(s->queue))
		return refuse(at, "", "is not a name of a queue");
	if (!object || object->kind != JSON_IS_OBJECT)
		return refuse(at, "", "must be an object with at least a url");
	return fill(s, at, object);
}

void push_file_free(struct push_settings *first)
{
	while (first) {
		struct push_settings *next = first->next;
		struct arena arena = first->arena; /* `first` itself is in the arena */
		arena_free(&arena);
		first = next;
	}
}

bool push_file_read(const char *path, struct push_settings **out, char *why, size_t size)
{
	struct arena arena = { 0 };
	const struct json *root = object_file_read(&arena, path, why, size);
	struct push_settings **end = out;
	bool ok = root != NULL;

	*out = NULL;
	for (const struct json *member = root ? root->first : NULL; ok && member; member = member->next) {
		struct place at = { path, member->key.at, why, size };
		ok = read_target(member, &at, end);
		if (*end)
			end = &(*end)->next;
	}
	arena_free(&arena);
	if (!ok) {
		push_file_free(*out);
		*out = NULL;
	}
	return ok;
}
