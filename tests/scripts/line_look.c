/* line_look: see line_look.h. */
#include "line_look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_BYTES = 16384, KEY_BYTES = 256 };

static redisContext *listener;
static char channel[KEY_BYTES];

static void join(char *text, size_t *len, const char *separator, const char *more)
{
	*len += (size_t)snprintf(text + *len, TEXT_BYTES - *len, "%s%s", *len ? separator : "", more);
	assert_true(*len < TEXT_BYTES);
}

const char *line_tickets(struct redis_server *r, const char *key)
{
	static char text[TEXT_BYTES];
	const redisReply *line = server_command(r, "ZRANGE %s:waiters 0 -1", key);
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < line->elements; i++)
		join(text, &len, " ", line->element[i]->str);
	return text;
}

/* "<ticket> <until>", "" when the present first waiter has no offer. */
static const char *offer_of(struct redis_server *r, const char *key)
{
	static char text[KEY_BYTES];
	const redisReply *offer = server_command(r, "GET %s:offer", key);

	snprintf(text, sizeof(text), "%s", offer->type == REDIS_REPLY_STRING ? offer->str : "");
	const redisReply *first = server_command(r, "ZRANGE %s:waiters 0 0", key);
	size_t len = strcspn(text, " ");
	if (first->elements == 0 || len != first->element[0]->len || memcmp(text, first->element[0]->str, len) != 0)
		text[0] = '\0';
	return text;
}

const char *line_offered_to(struct redis_server *r, const char *key)
{
	static char ticket[KEY_BYTES];

	snprintf(ticket, sizeof(ticket), "%s", offer_of(r, key));
	ticket[strcspn(ticket, " ")] = '\0';
	return ticket;
}

int64_t line_offered_until(struct redis_server *r, const char *key)
{
	const char *space = strchr(offer_of(r, key), ' ');

	return space ? strtoll(space, NULL, 10) : 0;
}

void line_lapse(struct redis_server *r, const char *key)
{
	char text[KEY_BYTES + 8];

	snprintf(text, sizeof(text), "%s 1", line_offered_to(r, key));
	assert_int_not_equal(text[0], ' ');
	server_command(r, "SET %s:offer %s", key, text);
}

void line_subscribe(struct redis_server *r, const char *key)
{
	if (listener)
		redisFree(listener);
	listener = NULL;
	if (!key)
		return;
	snprintf(channel, sizeof(channel), "%s", key);
	listener = redisConnectUnix(r->socket_path);
	assert_false(listener->err);
	redisReply *reply = redisCommand(listener, "SSUBSCRIBE %s", key);
	assert_non_null(reply);
	freeReplyObject(reply);
}

const char *line_published(struct redis_server *r)
{
	static char text[TEXT_BYTES];
	redisReply *reply = NULL;
	size_t len = 0;

	/* When this message arrives, all earlier ones have arrived. */
	server_command(r, "SPUBLISH %s end", channel);
	text[0] = '\0';
	while (redisGetReply(listener, (void **)&reply) == REDIS_OK && strcmp(reply->element[2]->str, "end") != 0) {
		join(text, &len, ", ", reply->element[2]->str);
		freeReplyObject(reply);
	}
	freeReplyObject(reply);
	return text;
}
