/*
 * stream: an answer that goes on, as server-sent events (WHATWG HTML, "Server-sent events").
 *
 *	struct stream *s = stream_begin(req, &callbacks, context);
 *	stream_event(s, "acquired", json);
 *	stream_comment(s, "kept");
 *	stream_end(s);
 *
 * What is said waits in memory until the client takes it. A client that leaves, does not read, or is cut off ends the stream: `left` is
 * called exactly once for each stream, also after stream_end, and the stream is gone when it returns.
 */
#ifndef PATTERND_STREAM_H
#define PATTERND_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct request;
struct stream;

/* Who is told. */
struct stream_callbacks {
	void (*left)(void *context); /* the stream is gone when this returns */
	void (*drain)(
		void *context); /* the daemon leaves: say the last word and end it; NULL: it is `closing`, and all */
};

/* Answers 200 with a stream instead of a body. Owned by the request; NULL without memory, and then it was answered with that. */
struct stream *stream_begin(struct request *req, const struct stream_callbacks *callbacks, void *context);

/* `data` is one line, JSON mostly. */
void stream_event(struct stream *s, const char *event, struct text data);
void stream_comment(struct stream *s, const char *text);

/* No more is said; the connection closes once everything was taken. */
void stream_end(struct stream *s);

/* How many there are. */
unsigned stream_count(void);

/* ---- For request.c, http.c and http/response.c ---- */

void stream_drain(struct stream *s);

/* Takes up to `most` bytes of what is to be sent. 0: nothing now. */
size_t stream_take(struct stream *s, char *to, size_t most);
bool stream_has_ended(const struct stream *s);

#endif
