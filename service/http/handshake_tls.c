/* http_handshake: see http/handshake_tls.h. */
#include "http/handshake_tls.h"

#include <microhttpd.h>
#include <sys/epoll.h>

#include "http/tls.h"

static void poll_next_run(struct conn *c)
{
	c->next_handshake = c->server->handshakes;
	c->server->handshakes = c;
	c->server->must_run = true;
}

static void on_bytes(struct watch *w, uint32_t events)
{
	(void)events;
	http_handshake_wake(container_of(w, struct conn, hangup));
}

void http_handshake_begin(struct conn *c, void *session)
{
	c->tls = http_tls_begin(session);
	c->in_handshake = true;
	poll_next_run(c);
}

void http_handshake_wake(struct conn *c)
{
	loop_unwatch(&c->hangup);
	c->suspended = false;
	poll_next_run(c);
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
	for (struct conn *c = s->handshakes, *next; c; c = next) {
		next = c->next_handshake;
		c->in_handshake = c->tls && !http_tls_is_secured(c->tls);
		if (c->in_handshake)
			sleep_until_bytes(c);
	}
	s->handshakes = NULL;
}

void http_handshake_end(struct conn *c)
{
	for (struct conn **at = &c->server->handshakes; *at; at = &(*at)->next_handshake)
		if (*at == c) {
			*at = c->next_handshake;
			break;
		}
	if (c->in_handshake && c->suspended)
		loop_unwatch(&c->hangup);
	http_tls_end(c->tls);
}
