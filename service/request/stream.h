/*
 * stream: a response that goes on, as server-sent events (WHATWG HTML, "Server-sent events").
 *
 *	struct stream *s = stream_begin(req, &callbacks, context);
 *	stream_event(s, "acquired", json);
 *	stream_comment(s, "kept");
 *	stream_end(s);
 *
 * Events wait in memory until the client reads them. A client that disconnects, or falls too far
 * behind, ends the stream: `ended` is called exactly once for each stream, also after stream_end,
 * and the stream is freed when it returns.
 */
#ifndef PATTERND_STREAM_H
#define PATTERND_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct request;
struct stream;

struct stream_callbacks {
	void (*ended)(void *context); /* the stream is freed when this returns */
	void (*drain)(void *context); /* SIGTERM: send the last event and end it; NULL: that is `closing` */
};

/* Answers 200 with a stream, owned by the request. NULL without memory, which was answered. */
struct stream *stream_begin(struct request *req, const struct stream_callbacks *callbacks, void *context);

/* `data` is one line, JSON mostly. */
void stream_event(struct stream *s, const char *event, struct text data);
void stream_comment(struct stream *s, const char *text);

/* The last event was sent; the connection closes once the client has read all. */
void stream_end(struct stream *s);

/* The open streams. */
unsigned stream_count(void);

/* ---- For request.c, http.c and http/response.c ---- */

void stream_drain(struct stream *s);

/* Takes up to `most` bytes of what is to be sent. 0: nothing now. */
size_t stream_take(struct stream *s, char *to, size_t most);
/* True when it was ended and all of it was taken. */
bool stream_has_ended(const struct stream *s);

#endif
