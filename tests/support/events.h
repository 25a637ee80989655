/*
 * events: reads a stream of server-sent events, one event after the other.
 *
 *	struct events *e = events_open(pair_ask(0, "/locks/a/hold", "{}", ""), "/locks/a/hold");
 *	struct event v = events_next(e, 2000);
 *	assert_string_equal(v.name, "acquired");
 *	json_integer_value(json_object_get(v.json, "fence"));
 *	events_close(e);
 */
#ifndef TEST_EVENTS_H
#define TEST_EVENTS_H

#include <jansson.h>

#include "raw.h"

struct event {
	const char *name;   /* NULL: a comment; "" when nothing came in time, or the stream ended */
	const char *data;   /* of a comment: its text */
	const json_t *json; /* the data, when it is JSON */
};

struct events;

/*
 * Takes the connection over which a POST was sent to `target`. Fails the test unless the answer is
 * a stream.
 */
struct events *events_open(struct raw *r, const char *target);

/* As events_open, but opens a connection and sends a GET over it. */
struct events *events_get(int port, const char *target);

/* The next event, which lives until the one after it. */
struct event events_next(struct events *e, int timeout_ms);

/* The next event that is not a comment. */
struct event events_next_named(struct events *e, int timeout_ms);

/* True when the answer ended properly and the connection was closed. */
bool events_ended(struct events *e, int timeout_ms);

/*
 * Records the answer as far as it came. Then closes or resets the connection, if it is still open.
 */
void events_close(struct events *e);
void events_reset(struct events *e);
struct raw *events_connection(struct events *e);

#endif
