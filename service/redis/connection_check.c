/* connection_check: see redis/connection_check.h. */
#include "redis/connection_check.h"

#include "process/config.h"
#include "redis/connection_private.h"

static void on_info(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	(void)outcome;
	struct redis_connection *c = container_of(call, struct redis_connection, check_call);

	c->check.is_pending = false;
	if (reply && reply->type == REPLY_TEXT && !handshake_is_safe(&c->handshake, reply->text))
		connection_drain(c); /* the next handshake rejects the server and reports the reason */
}

void connection_check_server(struct redis_connection *c)
{
	if (!server_check_is_due(&c->check, &c->handshake.memory))
		return;
	c->check.asked_us = loop_now_us();
	c->check.has_refused = false;
	c->check_call.done = on_info;
	c->check.is_pending = connection_send(c, &c->check_call, server_check_command, SERVER_CHECK_ARGS) == SEND_OK;
}

static void on_pong(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	(void)call;
	(void)outcome;
	(void)reply;
}

/*
 * Probes by TCP do not pass a proxy. If one has forgotten the connection, this PING gets no reply,
 * so that the connection is replaced before a request needs it.
 */
void connection_check_idle(struct redis_connection *c)
{
	int64_t idle_us = config()->redis_keepalive_ms * 1000;
	bool is_idle = c->state == READY && loop_now_us() - c->sent_us >= idle_us;

	c->ping.done = on_pong;
	if (!is_idle || connection_send(c, &c->ping, (struct text[]){ TEXT("PING") }, 1) != SEND_OK)
		loop_timer_set(&c->timer, (is_idle ? loop_now_us() : c->sent_us) + idle_us);
}
