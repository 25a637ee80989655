#include "line_look.h"

#include <ctype.h>

#include "test.h"

enum { TEXT_BYTES = 16384, KEY_BYTES = 256 };

static const char *const daemons[] = { DAEMON_A, DAEMON_B, DAEMON_C };

static redisContext *listener;
static char channel[KEY_BYTES];

static void join(char *text, size_t *len, const char *separator, const char *more)
{
	*len += (size_t)snprintf(text + *len, TEXT_BYTES - *len, "%s%s", *len ? separator : "", more);
	assert_true(*len < TEXT_BYTES);
}

/*
 * The members with that mark, returned without the mark. `score` receives the score of the first.
 */
static const char *marked(struct redis_server *r, const char *key, char mark, int64_t *score)
{
	static char text[TEXT_BYTES];
	const redisReply *all = server_command(r, "ZRANGE %s:waiters -inf (100000000000000 BYSCORE WITHSCORES", key);
	size_t len = 0;

	text[0] = '\0';
	*score = 0;
	for (size_t i = 0; i + 1 < all->elements; i += 2) {
		if (all->element[i]->str[0] != mark)
			continue;
		if (len == 0)
			*score = strtoll(all->element[i + 1]->str, NULL, 10);
		join(text, &len, " ", all->element[i]->str + 1);
	}
	return text;
}

const char *line_tickets(struct redis_server *r, const char *key)
{
	static char text[TEXT_BYTES];
	const redisReply *line = server_command(r, "ZRANGE %s:waiters 100000000000000 +inf BYSCORE", key);
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < line->elements; i++)
		join(text, &len, " ", line->element[i]->str);
	return text;
}

const char *line_offered_to(struct redis_server *r, const char *key)
{
	int64_t until_ms;

	return marked(r, key, 'o', &until_ms);
}

int64_t line_offered_until(struct redis_server *r, const char *key)
{
	int64_t until_ms;

	marked(r, key, 'o', &until_ms);
	return until_ms;
}

const char *line_watchers(struct redis_server *r, const char *key)
{
	int64_t at_ms;

	return marked(r, key, 'w', &at_ms);
}

static void lapse(struct redis_server *r, const char *key, char mark)
{
	char all[TEXT_BYTES], *at = all, *ticket;
	int64_t at_ms;

	snprintf(all, sizeof(all), "%s", marked(r, key, mark, &at_ms));
	assert_int_not_equal(all[0], '\0');
	while ((ticket = strsep(&at, " ")))
		server_command(r, mark == 'o' ? "ZADD %s:waiters 1 o%s" : "ZADD %s:waiters 1 w%s", key, ticket);
}

void line_lapse(struct redis_server *r, const char *key)
{
	lapse(r, key, 'o');
}

void line_watch_lapse(struct redis_server *r, const char *key)
{
	lapse(r, key, 'w');
}

static redisContext *subscribed(struct redis_server *r, const char *key)
{
	redisContext *c = redisConnectUnix(r->socket_path);

	assert_false(c->err);
	for (size_t i = 0; i < COUNT(daemons); i++) {
		redisReply *reply = redisCommand(c, "SSUBSCRIBE %s@%s", key, daemons[i]);
		assert_non_null(reply);
		freeReplyObject(reply);
	}
	return c;
}

void line_attend(struct redis_server *r, const char *key)
{
	static redisContext *attending[16];
	static size_t count;

	assert_true(count < COUNT(attending));
	attending[count++] = subscribed(r, key);
}

void line_subscribe(struct redis_server *r, const char *key)
{
	if (listener)
		redisFree(listener);
	listener = NULL;
	if (!key)
		return;
	snprintf(channel, sizeof(channel), "%s@%s", key, daemons[0]);
	listener = subscribed(r, key);
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
		const char *daemon = strchr(reply->element[1]->str, '@') + 1, *message = reply->element[2]->str;
		char told[64];
		snprintf(told, sizeof(told), "%c%s", toupper((unsigned char)*daemon), message + strspn(message, "0"));
		join(text, &len, ", ", told);
		freeReplyObject(reply);
	}
	freeReplyObject(reply);
	return text;
}
