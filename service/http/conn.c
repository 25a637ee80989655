/* conn: see conn.h. */
#include "http/conn.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "process/metrics.h"

static struct conn *conns;
static unsigned count;

struct conn *conn_first(void)
{
	return conns;
}

unsigned conn_count(void)
{
	return count;
}

void conn_deadline_in(struct conn *c, int64_t ms)
{
	timer_set(&c->deadline, loop_now_us() + ms * 1000);
}

static void on_deadline(struct loop_timer *t)
{
	struct conn *c = container_of(t, struct conn, deadline);

	if ((c->grace_polls || c->suspended) && !c->in_handshake) { /* the client waits for us */
		conn_deadline_in(c, c->server->timeouts.write_ms);
		return;
	}
	metrics_count(METRIC_connections_timed_out);
	shutdown(c->fd, SHUT_RDWR);
}

struct conn *conn_new(struct MHD_Connection *connection, int fd, struct http_server *server)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->connection = connection;
	c->fd = fd;
	c->server = server;
	c->next = conns;
	if (conns)
		conns->previous = c;
	conns = c;
	count++;
	c->deadline.expired = on_deadline;
	conn_deadline_in(c, server->timeouts.header_ms);
	return c;
}

void conn_free(struct conn *c)
{
	timer_stop(&c->deadline);
	if (c->next)
		c->next->previous = c->previous;
	if (c->previous)
		c->previous->next = c->next;
	else
		conns = c->next;
	count--;
	free(c);
}
