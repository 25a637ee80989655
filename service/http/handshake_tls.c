/* http_handshake: see http/handshake_tls.h. */
#include "http/handshake_tls.h"

#include <microhttpd.h>
#include <sys/epoll.h>

#include "http/tls_server.h"

static void awaken(struct conn *c)
{
	c->next_awake = c->server->awake;
	c->server->awake = c;
	c->server->again = true;
}

static void on_bytes(struct watch *w, uint32_t events)
{
	(void)events;
	http_handshake_wake(container_of(w, struct conn, hangup));
}

void http_handshake_begin(struct conn *c, void *session)
{
	c->tls = http_tls_begin(session);
	c->shakes_hands = true;
	awaken(c);
}

void http_handshake_wake(struct conn *c)
{
	loop_unwatch(&c->hangup);
	c->suspended = false;
	awaken(c);
	MHD_resume_connection(c->connection);
}

/* Outside of a run, where nothing else of libmicrohttpd is under way: safe in 0.9.75 and in 1.0.1. Whom nothing would wake does not sleep. */
static void sleep_until_bytes(struct conn *c)
{
	c->hangup = (struct watch){ .fd = c->fd, .ready = on_bytes };
	c->suspended = loop_watch(&c->hangup, EPOLLIN | EPOLLRDHUP);
	if (c->suspended)
		MHD_suspend_connection(c->connection);
	else
		conn_deadline_in(c, 0);
}

void http_handshake_sleep(struct http_server *s)
{
	for (struct conn *c = s->awake, *next; c; c = next) {
		next = c->next_awake;
		c->shakes_hands = c->tls && !http_tls_is_secured(c->tls);
		if (c->shakes_hands)
			sleep_until_bytes(c);
	}
	s->awake = NULL;
}

void http_handshake_end(struct conn *c)
{
	for (struct conn **at = &c->server->awake; *at; at = &(*at)->next_awake)
		if (*at == c) {
			*at = c->next_awake;
			break;
		}
	if (c->shakes_hands && c->suspended)
		loop_unwatch(&c->hangup);
	http_tls_end(c->tls);
}
