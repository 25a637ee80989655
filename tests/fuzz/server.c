#include "server.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

enum { MOST_ARGS = 512, READ_BYTES = 64 * 1024 };

static const struct server_play *play;
static struct server *servers;
static unsigned count;

void server_open(const struct server_play *as)
{
	play = as;
}

struct server *server_first(void)
{
	return servers;
}

void server_send(struct server *s, struct text bytes)
{
	ssize_t n = send(s->watch.fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	(void)n; /* a peer that does not read, or has left, loses the bytes */
}

void server_leave(struct server *s)
{
	for (struct server **at = &servers; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	loop_unwatch(&s->watch);
	close(s->watch.fd);
	free(s->in);
	free(s);
}

/* ---- Commands ---- */

/* Reads "<mark><number>\r\n" and moves *at behind it. Returns false if it is not whole yet. */
static bool take_number(const struct server *s, size_t *at, char mark, size_t *out)
{
	const char *line = s->in + *at, *end = memchr(line, '\n', s->len - *at);

	if (!end)
		return false;
	CHECK(*line == mark && end - line >= 3 && end[-1] == '\r');
	*out = 0;
	for (const char *c = line + 1; c < end - 1; c++) {
		CHECK(*c >= '0' && *c <= '9');
		*out = *out * 10 + (size_t)(*c - '0');
	}
	*at += (size_t)(end + 1 - line);
	return true;
}

/* The length of the first command in bytes, or 0 if it is not whole yet. */
static size_t take_command(const struct server *s, struct text args[MOST_ARGS], size_t *arg_count)
{
	size_t at = 0, len;

	if (!take_number(s, &at, '*', arg_count))
		return 0;
	CHECK(*arg_count > 0 && *arg_count <= MOST_ARGS);
	for (size_t i = 0; i < *arg_count; i++) {
		if (!take_number(s, &at, '$', &len) || s->len - at < len + 2)
			return 0;
		args[i] = (struct text){ s->in + at, len };
		CHECK(memcmp(s->in + at + len, "\r\n", 2) == 0);
		at += len + 2;
	}
	return at;
}

static void send_info(struct server *s)
{
	char info[256], whole[300];
	int n = snprintf(info, sizeof(info),
			 "redis_version:7.0.15\r\nredis_mode:%s\r\nrole:master\r\nloading:0\r\n"
			 "maxmemory_policy:noeviction\r\naof_enabled:1\r\n",
			 play->mode);

	n = snprintf(whole, sizeof(whole), "$%d\r\n%s\r\n", n, info);
	server_send(s, (struct text){ whole, (size_t)n });
}

static void send_subscribed(struct server *s, const char *kind, struct text channel)
{
	char whole[1024];
	int n = snprintf(whole, sizeof(whole), "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%.*s\r\n:1\r\n", strlen(kind), kind,
			 channel.len, (int)channel.len, channel.at);

	CHECK(n > 0 && (size_t)n < sizeof(whole));
	server_send(s, (struct text){ whole, (size_t)n });
}

static void answer(struct server *s, const struct text *args, size_t arg_count)
{
	if (text_is(args[0], "INFO"))
		send_info(s);
	else if (text_is(args[0], "SSUBSCRIBE") && arg_count == 2)
		send_subscribed(s, "ssubscribe", args[1]);
	else if (text_is(args[0], "SUNSUBSCRIBE") && arg_count == 2)
		send_subscribed(s, "sunsubscribe", args[1]);
	else if (text_is(args[0], "SUBSCRIBE") && arg_count == 2)
		send_subscribed(s, "subscribe", args[1]);
	else if (text_is(args[0], "UNSUBSCRIBE") && arg_count == 2)
		send_subscribed(s, "unsubscribe", args[1]);
	else
		server_send(s, TEXT("+OK\r\n"));
}

static bool is_in_list(const struct server *s)
{
	for (const struct server *at = servers; at; at = at->next)
		if (at == s)
			return true;
	return false;
}

static void on_bytes(struct loop_watch *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, watch);
	struct text args[MOST_ARGS];
	size_t arg_count, taken;

	(void)events;
	s->in = realloc(s->in, s->len + READ_BYTES);
	CHECK(s->in);
	ssize_t n = recv(w->fd, s->in + s->len, READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		if (play->missed)
			play->missed(s);
		server_leave(s);
		return;
	}
	s->len += (size_t)n;
	while (s->len && (taken = take_command(s, args, &arg_count)) > 0) {
		bool is_greeting = text_is(args[0], "CLIENT") || text_is(args[0], "INFO") || text_is(args[0], "AUTH") ||
				   text_is(args[0], "ACL");
		if (is_greeting || !play->asked || !play->asked(s, args, arg_count))
			answer(s, args, arg_count);
		if (!is_in_list(s))
			return; /* the target made the server leave */
		s->len -= taken;
		memmove(s->in, s->in + taken, s->len);
	}
}

void server_accept(int fd)
{
	struct server *s = calloc(1, sizeof(*s));

	CHECK(s && play);
	s->watch = (struct loop_watch){ .fd = fd, .ready = on_bytes };
	s->number = ++count;
	s->next = servers;
	servers = s;
	CHECK(loop_watch(&s->watch, EPOLLIN));
	if (play->met)
		play->met(s);
}
