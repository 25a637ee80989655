/* stream: see stream.h. It owns the bytes that are not sent yet. */
#include "request/stream.h"

#include <stdlib.h>

#include "core/budget.h"
#include "request/answer.h"
#include "request/request.h"

enum { FIRST_BYTES = 512, MAX_BYTES = 4 * 1024 * 1024 }; /* that wait for a slow client */

struct stream {
	struct request *req;                      /* (ref) */
	const struct stream_callbacks *callbacks; /* (ref) */
	void *context;                            /* (ref) */
	char *bytes;                              /* owned */
	size_t taken, len, size;
	bool ended;
};

static unsigned streams;

unsigned stream_count(void)
{
	return streams;
}

static void on_disconnected(struct stream *s)
{
	s->ended = true;
	streams--;
	free(s->bytes);
	budget_release(s->size);
	s->bytes = NULL;
	s->taken = s->len = s->size = 0;
	s->callbacks->ended(s->context);
}

struct stream *stream_begin(struct request *req, const struct stream_callbacks *callbacks, void *context)
{
	struct stream *s = arena_alloc(&req->arena, sizeof(*s));

	if (!s) {
		answer_no_memory(req, EFFECT_UNKNOWN);
		return NULL;
	}
	*s = (struct stream){ .req = req, .callbacks = callbacks, .context = context };
	req->pending.stream = s;
	req->pending.stream_disconnected = on_disconnected;
	streams++;
	req->answer.status = 200;
	req->answer.content_type = "text/event-stream";
	request_move(req, STREAMING);
	return s;
}

static bool make_room(struct stream *s, size_t len)
{
	size_t waiting = s->len - s->taken, size = s->size ? s->size : FIRST_BYTES;

	if (s->taken && waiting)
		memmove(s->bytes, s->bytes + s->taken, waiting);
	s->taken = 0;
	s->len = waiting;
	while (size < waiting + len)
		size *= 2;
	if (size > MAX_BYTES)
		return false;
	if (size > s->size) {
		if (!budget_take(size - s->size, BUDGET_SMALL))
			return false;
		char *bigger = realloc(s->bytes, size);
		if (!bigger) {
			budget_release(size - s->size);
			return false;
		}
		s->bytes = bigger;
		s->size = size;
	}
	return true;
}

/*
 * Appends a part. If it has no room, the stream ends: its last event is then incomplete, so its
 * reader discards it.
 */
static void put(struct stream *s, struct text part)
{
	if (s->ended)
		return;
	if (!make_room(s, part.len)) {
		s->ended = true;
		return;
	}
	memcpy(s->bytes + s->len, part.at, part.len);
	s->len += part.len;
}

/* Cuts the first line off `data`, which is absent after the last line. */
static struct text take_line(struct text *data, bool is_one)
{
	struct text line = *data;
	size_t len = is_one ? data->len : 0;

	while (len < data->len && data->at[len] != '\n' && data->at[len] != '\r')
		len++;
	line.len = len;
	if (len == data->len) {
		*data = (struct text){ 0 };
	} else {
		len += data->len - len > 1 && data->at[len] == '\r' && data->at[len + 1] == '\n' ? 2 : 1;
		*data = (struct text){ data->at + len, data->len - len };
	}
	return line;
}

void stream_event(struct stream *s, const char *event, struct text data)
{
	bool is_one = !memchr(data.at, '\n', data.len) && !memchr(data.at, '\r', data.len);

	if (s->ended)
		return;
	put(s, TEXT("event: "));
	put(s, text_of(event));
	while (data.at) {
		put(s, TEXT("\ndata: "));
		put(s, take_line(&data, is_one));
	}
	put(s, TEXT("\n\n"));
	request_streamed(s->req);
}

void stream_comment(struct stream *s, const char *text)
{
	if (s->ended)
		return;
	put(s, TEXT(": "));
	put(s, text_of(text));
	put(s, TEXT("\n\n"));
	request_streamed(s->req);
}

void stream_end(struct stream *s)
{
	s->ended = true;
	request_streamed(s->req);
}

size_t stream_take(struct stream *s, char *to, size_t most)
{
	size_t n = s->len - s->taken < most ? s->len - s->taken : most;

	if (n)
		memcpy(to, s->bytes + s->taken, n);
	s->taken += n;
	return n;
}

bool stream_has_ended(const struct stream *s)
{
	return s->ended && s->taken == s->len;
}

void stream_drain(struct stream *s)
{
	if (s->ended)
		return;
	if (s->callbacks->drain) {
		s->callbacks->drain(s->context);
	} else {
		stream_event(s, "closing", TEXT("{\"reason\":\"drain\"}"));
		stream_end(s);
	}
}
