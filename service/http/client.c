#include "http/client.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "process/metrics.h"

static struct client *conns;
static unsigned count;

struct client *client_first(void)
{
	return conns;
}

unsigned client_count(void)
{
	return count;
}

void client_deadline_in(struct client *c, int64_t ms)
{
	loop_timer_set(&c->deadline, loop_now_us() + ms * 1000);
}

static void on_deadline(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, deadline);

	if ((c->grace_polls || c->suspended) && !c->in_handshake) { /* the client waits for the daemon */
		client_deadline_in(c, c->server->timeouts.write_ms);
		return;
	}
	metrics_count(METRIC_connections_timed_out);
	shutdown(c->fd, SHUT_RDWR);
}

struct client *client_new(struct MHD_Connection *connection, int fd, struct http_server *server)
{
	struct client *c = calloc(1, sizeof(*c));

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
	client_deadline_in(c, server->timeouts.header_ms);
	return c;
}

void client_free(struct client *c)
{
	loop_timer_stop(&c->deadline);
	if (c->next)
		c->next->previous = c->previous;
	if (c->previous)
		c->previous->next = c->next;
	else
		conns = c->next;
	count--;
	free(c);
}
