/*
 * stream: see stream.h. It owns the events that are not sent yet.
 *
 * A message of a topic is often one event of many streams, so streams share their events: each
 * counts once for --max-request-memory, however many clients have not read it.
 */
#include "request/stream.h"

#include <stdlib.h>
#include <string.h>

#include "core/budget.h"
#include "request/answer.h"
#include "request/request.h"

enum { MAX_BYTES = 4 * 1024 * 1024 }; /* that wait for a slow client */

/* An event as it is sent. */
struct event {
	unsigned parts;         /* that have it */
	const char *name;       /* (ref) */
	size_t data_at, length; /* of its data, if that is one line; data_at is 0 if it is not */
	size_t len;
	char bytes[];
};

/* The place of an event in a stream. */
struct part {
	struct part *next;
	struct event *event;
};

struct stream {
	struct request *req;                      /* (ref) */
	const struct stream_callbacks *callbacks; /* (ref) */
	void *context;                            /* (ref) */
	struct part *first, *last;                /* owned */
	size_t taken;                             /* bytes of the first part that were sent */
	size_t behind;                            /* bytes of all parts */
	bool ended;
};

static unsigned streams;
static struct event *latest; /* (ref) the event that was made last, while a stream has it */

unsigned stream_count(void)
{
	return streams;
}

static void free_event(struct event *e)
{
	if (latest == e)
		latest = NULL;
	budget_release(sizeof(*e) + e->len);
	free(e);
}

static void drop_first(struct stream *s)
{
	struct part *p = s->first;

	s->first = p->next;
	s->taken = 0;
	s->behind -= p->event->len;
	if (--p->event->parts == 0)
		free_event(p->event);
	budget_release(sizeof(*p));
	free(p);
}

/*
 * Ends a stream that is too far behind. Its last event is then incomplete, so its reader discards
 * it.
 */
static void cut(struct stream *s)
{
	s->ended = true;
	while (s->first)
		drop_first(s);
}

static void on_disconnected(struct stream *s)
{
	cut(s);
	streams--;
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

/* Writes `part` to `to`, unless that is NULL. Returns the length. */
static size_t put(char *to, struct text part)
{
	if (to)
		memcpy(to, part.at, part.len);
	return part.len;
}

static size_t print(char *to, const char *name, struct text data, bool is_one)
{
	size_t len = put(to, TEXT("event: "));

	len += put(to ? to + len : to, text_of(name));
	while (data.at) {
		len += put(to ? to + len : to, TEXT("\ndata: "));
		len += put(to ? to + len : to, take_line(&data, is_one));
	}
	return len + put(to ? to + len : to, TEXT("\n\n"));
}

/* NULL: memory ran out. */
static struct event *new_event(size_t len)
{
	size_t size = sizeof(struct event) + len;

	if (!budget_take(size, BUDGET_SMALL))
		return NULL;
	struct event *e = malloc(size);
	if (e)
		*e = (struct event){ .len = len };
	else
		budget_release(size);
	return e;
}

static bool is_latest(const char *name, struct text data)
{
	return latest && latest->data_at && latest->length == data.len && strcmp(latest->name, name) == 0 &&
	       memcmp(latest->bytes + latest->data_at, data.at, data.len) == 0;
}

static struct event *event_of(const char *name, struct text data)
{
	bool is_one = !memchr(data.at, '\n', data.len) && !memchr(data.at, '\r', data.len);

	if (is_latest(name, data))
		return latest;
	struct event *e = new_event(print(NULL, name, data, is_one));
	if (!e)
		return NULL;
	print(e->bytes, name, data, is_one);
	e->name = name;
	e->data_at = is_one ? e->len - data.len - 2 : 0;
	e->length = data.len;
	latest = e;
	return e;
}

/* Appends an event; NULL: memory for it ran out. */
static void append(struct stream *s, struct event *e)
{
	bool fits = e && s->behind - s->taken + e->len <= MAX_BYTES && budget_take(sizeof(struct part), BUDGET_SMALL);
	struct part *p = fits ? malloc(sizeof(*p)) : NULL;

	if (fits && !p)
		budget_release(sizeof(*p));
	if (e && !p && e->parts == 0)
		free_event(e);
	if (!p) {
		cut(s);
	} else {
		*p = (struct part){ .event = e };
		e->parts++;
		*(s->first ? &s->last->next : &s->first) = p;
		s->last = p;
		s->behind += e->len;
	}
	request_streamed(s->req);
}

void stream_event(struct stream *s, const char *event, struct text data)
{
	if (!s->ended)
		append(s, event_of(event, data));
}

void stream_comment(struct stream *s, const char *text)
{
	struct text parts[] = { TEXT(": "), text_of(text), TEXT("\n\n") };
	struct event *e = s->ended ? NULL : new_event(parts[0].len + parts[1].len + parts[2].len);

	for (size_t i = 0, at = 0; e && i < sizeof(parts) / sizeof(parts[0]); i++)
		at += put(e->bytes + at, parts[i]);
	if (!s->ended)
		append(s, e);
}

void stream_end(struct stream *s)
{
	s->ended = true;
	request_streamed(s->req);
}

size_t stream_take(struct stream *s, char *to, size_t most)
{
	size_t len = 0;

	while (s->first && len < most) {
		const struct event *e = s->first->event;
		size_t left = e->len - s->taken, n = left < most - len ? left : most - len;
		memcpy(to + len, e->bytes + s->taken, n);
		len += n;
		s->taken += n;
		if (n == left)
			drop_first(s);
	}
	return len;
}

bool stream_has_ended(const struct stream *s)
{
	return s->ended && !s->first;
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
