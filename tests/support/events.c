#include "events.h"

#include "exchange.h"
#include "proc.h"
#include "test.h"

enum { HEAD_MS = 5000 };

struct events {
	struct raw *r;      /* owned */
	const char *method; /* static */
	char *target;       /* owned */
	struct answer head; /* lives as long as r */
	char *text;         /* all that came; owned */
	size_t len, at;     /* at: where the next event begins */
	bool ended;         /* the last chunk came */
	char *event;        /* the latest event, cut into lines; owned */
	json_t *json;       /* owned */
};

static struct events *take(struct raw *r, const char *method, const char *target)
{
	struct events *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	e->r = r;
	e->method = method;
	e->target = strdup(target);
	e->text = calloc(1, 1);
	e->head = raw_head(r, HEAD_MS);
	assert_status(e->head, 200);
	assert_string_equal(header_of(e->head, "Content-Type"), "text/event-stream");
	assert_string_equal(header_of(e->head, "X-Accel-Buffering"), "no");
	return e;
}

struct events *events_open(struct raw *r, const char *target)
{
	return take(r, "POST", target);
}

struct events *events_get(int port, const char *target)
{
	struct raw *r = raw_connect(port);
	char request[8192];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
	raw_text(r, request);
	return take(r, "GET", target);
}

/* False when nothing came in time, or the stream ended. */
static bool read_more(struct events *e, int64_t until_ms)
{
	int64_t left_ms = until_ms - monotonic_ms();
	char *chunk = e->ended ? NULL : raw_chunk(e->r, left_ms > 0 ? (int)left_ms : 0);

	if (!chunk)
		return false;
	size_t len = strlen(chunk);
	e->ended = len == 0;
	e->text = realloc(e->text, e->len + len + 1);
	assert_non_null(e->text);
	memcpy(e->text + e->len, chunk, len + 1);
	e->len += len;
	free(chunk);
	return !e->ended;
}

/* Joins the lines of an event's data with line feeds. */
static char *joined(char *data, char *line)
{
	size_t len = data ? strlen(data) : 0;

	if (!data)
		return line;
	data[len] = '\n';
	memmove(data + len + 1, line, strlen(line) + 1);
	return data;
}

/* Parses "event: x\ndata: y" or ": comment". */
static struct event parse(struct events *e)
{
	struct event v = { 0 };
	char *data = NULL;

	for (char *line, *rest = e->event; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, "event: ", 7) == 0)
			v.name = line + 7;
		else if (strncmp(line, "data: ", 6) == 0)
			v.data = data = joined(data, line + 6);
		else if (strncmp(line, ": ", 2) == 0)
			v.data = line + 2;
		else
			fail_msg("a stream has the line '%s'", line);
	}
	json_decref(e->json);
	e->json = v.name && v.data ? json_loads(v.data, 0, NULL) : NULL;
	v.json = e->json;
	return v;
}

struct event events_next(struct events *e, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);
	char *end;

	while (!(end = strstr(e->text + e->at, "\n\n")))
		if (!read_more(e, until_ms))
			return (struct event){ .name = "", .data = "" };
	free(e->event);
	e->event = strndup(e->text + e->at, (size_t)(end - e->text) - e->at);
	assert_non_null(e->event);
	e->at = (size_t)(end - e->text) + 2;
	return parse(e);
}

struct event events_next_named(struct events *e, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);
	struct event v;

	do
		v = events_next(e, (int)(until_ms - monotonic_ms()));
	while (!v.name);
	return v;
}

bool events_ended(struct events *e, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);

	while (read_more(e, until_ms))
		continue;
	return e->ended && e->at == e->len && raw_closed(e->r, timeout_ms);
}

struct raw *events_connection(struct events *e)
{
	return e->r;
}

static void finish(struct events *e, void (*end)(struct raw *r))
{
	struct answer whole = e->head;

	whole.body = e->text;
	whole.body_len = e->len;
	exchange_record(e->method, e->target, whole);
	end(e->r);
	free(e->target);
	free(e->text);
	free(e->event);
	json_decref(e->json);
	free(e);
}

void events_close(struct events *e)
{
	finish(e, raw_close);
}

void events_reset(struct events *e)
{
	finish(e, raw_reset);
}
