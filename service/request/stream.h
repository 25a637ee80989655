/*
 * stream: a response of server-sent events, which continues after its head (WHATWG HTML,
 * "Server-sent events"). It must not know sockets.
 *
 *	struct stream *s = stream_begin(req, &callbacks, context);
 *	stream_event(s, "acquired", json);
 *	stream_comment(s, "kept");
 *	stream_end(s);
 *
 * Events wait in memory until the client reads them; streams share equal events that follow each
 * other. If the client disconnects, or is too far behind, the stream ends. `ended` is called
 * exactly once for each stream, also after stream_end, and the stream is freed when it returns.
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
	/* the daemon stops: send the last event and end the stream; NULL: the event is `closing` */
	void (*drain)(void *context);
};

/*
 * Answers 200 with a stream, which the request owns. NULL: memory ran out, and the request was
 * answered.
 */
struct stream *stream_begin(struct request *req, const struct stream_callbacks *callbacks, void *context);

/* `data` is usually one line of JSON; `event` is static. */
void stream_event(struct stream *s, const char *event, struct text data);
void stream_comment(struct stream *s, const char *text);

/* Ends the stream: the connection closes once the client has read all events. */
void stream_end(struct stream *s);

/* Returns the number of open streams. */
unsigned stream_count(void);

/* ---- For request.c, http.c and http/response.c ---- */

void stream_drain(struct stream *s);

/* Takes up to `most` of the bytes to send. 0: there are none now. */
size_t stream_take(struct stream *s, char *to, size_t most);
/* Returns true if the stream was ended and all its bytes were taken. */
bool stream_has_ended(const struct stream *s);

#endif
