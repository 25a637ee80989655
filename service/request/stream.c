/* stream: see stream.h. Owns the bytes that are not sent yet. Knows no socket. */
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

static void on_left(struct stream *s)
{
	s->ended = true;
	streams--;
	free(s->bytes);
	budget_release(s->size);
	s->bytes = NULL;
	s->taken = s->len = s->size = 0;
	s->callbacks->left(s->context);
}

struct stream *stream_begin(struct request *req, const struct stream_callbacks *callbacks, void *context)
{
	struct stream *s = arena_alloc(&req->arena, sizeof(*s));

	if (!s) {
		answer_no_memory(req, EFFECT_UNKNOWN);
		return NULL;
	}
	*s = (struct stream){ .req = req, .callbacks = callbacks, .context = context };
	req->stream = s;
	req->stream_left = on_left;
	streams++;
	req->status = 200;
	req->content_type = "text/event-stream";
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

/* Appends all parts. Without room the stream ends: a silent gap would be worse. */
static void append(struct stream *s, const struct text *parts, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	if (s->ended)
		return;
	if (make_room(s, len)) {
		for (size_t i = 0; i < count; i++) {
			memcpy(s->bytes + s->len, parts[i].at, parts[i].len);
			s->len += parts[i].len;
		}
	} else {
		s->ended = true;
	}
	request_streamed(s->req);
}

void stream_event(struct stream *s, const char *event, struct text data)
{
	const struct text parts[] = { TEXT("event: "), text_of(event), TEXT("\ndata: "), data, TEXT("\n\n") };

	append(s, parts, sizeof(parts) / sizeof(parts[0]));
}

void stream_comment(struct stream *s, const char *text)
{
	const struct text parts[] = { TEXT(": "), text_of(text), TEXT("\n\n") };

	append(s, parts, sizeof(parts) / sizeof(parts[0]));
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
