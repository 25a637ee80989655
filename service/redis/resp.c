/*
 * resp: see redis/resp.h. hiredis's formatter is not used, since it would first build each command
 * in separate memory.
 */
#include "redis/resp.h"

#include <stdlib.h>

#include "redis/socket.h"

enum {
	KEPT_BYTES = 1024 * 1024, /* an empty buffer of up to this size is kept for the next commands */
	HEADER_BYTES = 26,
	AHEAD_COMMANDS = 8, /* docs/adr/0033-many-clients.md has the measurement */
};

static void empty(struct resp_buffer *o)
{
	o->len = o->done = 0;
	o->unsent = 0;
	if (o->size <= KEPT_BYTES)
		return;
	free(o->at);
	o->at = NULL;
	o->size = 0;
}

static bool is_full_for(const struct resp_buffer *o, size_t more)
{
	return resp_waiting(o) && resp_waiting(o) + more > RESP_MOST_BYTES;
}

static bool reserve(struct resp_buffer *o, size_t more)
{
	if (o->size - o->len >= more)
		return true;
	if (o->done) {
		memmove(o->at, o->at + o->done, o->len - o->done);
		o->len -= o->done;
		o->done = 0;
	}
	if (is_full_for(o, more))
		return false;
	if (o->size - o->len < more) {
		size_t size = o->size * 2 > o->len + more ? o->size * 2 : o->len + more;
		char *bigger = realloc(o->at, size);
		if (!bigger)
			return false;
		o->at = bigger;
		o->size = size;
	}
	return true;
}

static void add_bytes(struct resp_buffer *o, const char *bytes, size_t len)
{
	if (len)
		memcpy(o->at + o->len, bytes, len);
	o->len += len;
}

static void add_header(struct resp_buffer *o, char type, size_t n)
{
	char buffer[TEXT_DIGITS];
	struct text digits = text_of_int((int64_t)n, buffer);

	add_bytes(o, &type, 1);
	add_bytes(o, digits.at, digits.len);
	add_bytes(o, "\r\n", 2);
}

/* An upper bound of the bytes that the command takes as RESP. */
static size_t most_bytes(const struct text *args, size_t count)
{
	size_t most = HEADER_BYTES;

	for (size_t i = 0; i < count; i++)
		most += args[i].len + HEADER_BYTES;
	return most;
}

bool resp_is_full_for(const struct resp_buffer *o, const struct text *args, size_t count)
{
	return is_full_for(o, most_bytes(args, count));
}

bool resp_add(struct resp_buffer *o, const struct text *args, size_t count)
{
	if (!reserve(o, most_bytes(args, count)))
		return false;
	add_header(o, '*', count);
	for (size_t i = 0; i < count; i++) {
		add_header(o, '$', args[i].len);
		add_bytes(o, args[i].at, args[i].len);
		add_bytes(o, "\r\n", 2);
	}
	return true;
}

size_t resp_waiting(const struct resp_buffer *o)
{
	return o->len - o->done;
}

void resp_write(struct resp_buffer *o, struct redis_socket *s)
{
	while (o->done < o->len) {
		size_t n = redis_socket_write(s, o->at + o->done, o->len - o->done);
		if (n == 0)
			return;
		o->done += n;
		o->written += n;
	}
	empty(o);
}

void resp_write_ahead(struct resp_buffer *o, struct redis_socket *s)
{
	if (++o->unsent < AHEAD_COMMANDS)
		return;
	size_t n = redis_socket_write_ahead(s, o->at + o->done, o->len - o->done);
	o->done += n;
	o->written += n;
	o->unsent = 0;
	if (o->done == o->len)
		empty(o);
}

void resp_reset(struct resp_buffer *o)
{
	empty(o);
	o->written = 0;
}

void resp_free(struct resp_buffer *o)
{
	free(o->at);
	*o = (struct resp_buffer){ 0 };
}
