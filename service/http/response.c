/*
 * http_response: see http/response.h. A request that waits for Redis, in time:
 *
 *	0                        16 runs or GRACE_US (20 ms)
 *	|  grace polls           |  suspended                             |
 *	|  runs call the handler |  `disconnect` watches the socket       |
 *	+------------------------+----------------------------------------+
 *	 ^ http_response_wait     ^ suspend                 on_answered ^
 *
 * A reply during the grace polls is sent by the next run. A reply to a suspended connection first
 * resumes it. PARKED and STREAMING requests are suspended at once.
 */
#include "http/response.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "access/cors.h"
#include "http/https.h"
#include "process/metrics.h"
#include "request/stream.h"

enum {
	MAX_GRACE_POLLS = 16, /* about as expensive as one suspension */
	GRACE_US = 20000,
	STREAM_BLOCK = 4096,
	STREAM_TIMEOUT_S = 1000000,
	HEAD_BYTES = 512, /* of a response that libmicrohttpd does not make */
	/* Bytes that a client may send after a request that waits. The TCP window is larger. */
	MAX_PIPELINED_BYTES = 16 * 1024,
};

static bool (*draining)(void);

/* ---- Suspend and resume ---- */

static void resume(struct client *c)
{
	loop_unwatch(&c->disconnect);
	c->suspended = false;
	/* libmicrohttpd 0.9.75 loses a resume unless MHD_run follows in the same iteration. */
	c->server->must_run = true;
	MHD_resume_connection(c->connection);
}

/*
 * A suspended connection is not read, so the TCP window may close, and a FIN behind unread bytes
 * would never arrive: the client could be gone without a sign. So a client that sends more than
 * MAX_PIPELINED_BYTES after a request that waits or streams counts as gone, while its FIN could
 * still arrive.
 */
static bool may_hide_fin(const struct client *c)
{
	int unread = 0;

	return (c->req->pending.waiter || c->req->state == STREAMING) && !c->body_unread &&
	       ioctl(c->fd, FIONREAD, &unread) == 0 && unread > MAX_PIPELINED_BYTES;
}

/*
 * The client closed its side, or the connection broke. A half-close counts, too: until a response
 * is sent it looks like a close, and then it is too late to release what the request acquired.
 */
static void on_disconnect(struct loop_watch *w, uint32_t events)
{
	struct client *c = container_of(w, struct client, disconnect);

	if (events == EPOLLIN && !may_hide_fin(c))
		return;
	metrics_count(METRIC_clients_disconnected);
	c->is_disconnected = true;
	c->grace_polls = 0;
	resume(c);
}

/* Does what on_disconnect does, when the disconnect is noticed as the reply arrives. */
static void on_disconnected(struct request *req)
{
	struct client *c = req->exchange;

	if (c->is_disconnected)
		return;
	metrics_count(METRIC_clients_disconnected);
	c->is_disconnected = c->server->must_run = true;
	if (!c->suspended)
		return; /* the next run calls the handler */
	c->grace_polls = 0;
	resume(c);
}

/* False: the socket cannot be watched, so a disconnect would not be noticed. */
static bool suspend(struct client *c)
{
	c->disconnect = (struct loop_watch){ .fd = c->fd, .ready = on_disconnect };
	if (!loop_watch(&c->disconnect, EPOLLRDHUP | EPOLLIN | EPOLLET))
		return false;
	c->suspended = true;
	MHD_suspend_connection(c->connection);
	return true;
}

/* Returns true if the client has disconnected, even if epoll has not reported it yet. */
static bool is_disconnected(struct request *req)
{
	struct client *c = req->exchange;
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	return c->is_disconnected || poll(&p, 1, 0) > 0 || may_hide_fin(c);
}

static void on_grace_end(struct loop_timer *t);

static void start_grace(struct http_server *s)
{
	s->grace_end.expired = on_grace_end;
	loop_timer_set(&s->grace_end, loop_now_us() + GRACE_US);
}

/* Call it when a request is not polled any more. */
static void end_grace(struct http_server *s)
{
	if (--s->grace_polled == 0)
		loop_timer_stop(&s->grace_end);
}

static void on_grace_end(struct loop_timer *t)
{
	struct http_server *s = container_of(t, struct http_server, grace_end);

	s->must_run = true;
	start_grace(s);
}

/* ---- Answered during the grace polls ---- */

/*
 * If its caller polls, libmicrohttpd also takes a response outside the handler (0.9.75 and 1.0.1:
 * "in external polling mode this function can be called any time"), and sends it in its next run. A
 * response that the handler queues is sent one run later.
 */
static void add_answered(struct client *c)
{
	struct http_server *s = c->server;

	if (!s->answered)
		s->answered_end = &s->answered;
	c->is_answered = true;
	c->next_answered = NULL;
	*s->answered_end = c;
	s->answered_end = &c->next_answered;
}

static void remove_answered(struct client *c)
{
	struct client **at = &c->server->answered;

	if (!c->is_answered)
		return;
	c->is_answered = false;
	while (*at != c)
		at = &(*at)->next_answered;
	*at = c->next_answered;
	if (!*at)
		c->server->answered_end = at;
}

/*
 * Most replies of Redis arrive within one or two runs of libmicrohttpd, which calls the handler in
 * each run while the connection is not suspended. This saves a suspension (four epoll_ctl, and a
 * read that finds nothing). Requests that wait for an event are suspended at once. So are requests
 * with an unread body: libmicrohttpd would wait for the body, which a proxy may announce without
 * sending it.
 */
void http_response_wait(struct client *c)
{
	struct http_server *s = c->server;

	if (c->grace_polls++ == 0) {
		c->grace_since_us = (uint32_t)loop_now_us();
		if (s->grace_polled++ == 0)
			start_grace(s);
	}
	bool is_soon = c->grace_polls <= MAX_GRACE_POLLS && (uint32_t)loop_now_us() - c->grace_since_us < GRACE_US;
	if (is_soon && c->req->state == CALLING && !c->req->answer.close)
		return;
	if (suspend(c))
		end_grace(s);
	else /* retry soon */
		start_grace(s);
}

/* The request was answered, or streams: has libmicrohttpd call the handler again. */
static void on_answered(struct request *req)
{
	struct client *c = req->exchange;

	if (c->grace_polls == 0)
		return; /* within its handler, which queues the response when it returns */
	c->grace_polls = 0;
	c->server->must_run = true;
	if (c->suspended) {
		resume(c);
		return;
	}
	end_grace(c->server);
	if (req->state == ANSWERED) /* a stream begins in the handler, which may suspend it */
		add_answered(c);
}

/* ---- The response ---- */

static struct MHD_Response *body_of(struct request *req)
{
	return MHD_create_response_from_buffer(req->answer.body.len, (void *)(uintptr_t)req->answer.body.at,
					       MHD_RESPMEM_PERSISTENT);
}

/* Reads more of a stream. If it has nothing to send, suspends the connection. */
static ssize_t read_stream(void *cls, uint64_t at, char *to, size_t most)
{
	struct client *c = cls;

	(void)at;
	size_t n = c->is_disconnected || !c->req ? 0 : stream_take(c->req->pending.stream, to, most);
	if (n > 0)
		return (ssize_t)n;
	bool is_over = !c->is_disconnected && c->req && stream_has_ended(c->req->pending.stream);
	if (!c->is_disconnected && c->req && !is_over && suspend(c))
		return 0;
	c->server->must_run = true; /* see stream_of */
	return is_over ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void on_streamed(struct request *req)
{
	struct client *c = req->exchange;

	if (!c->suspended || c->grace_polls)
		return; /* its reader is called in any case */
	client_deadline_in(c, c->server->timeouts.write_ms);
	resume(c);
}

/*
 * TCP_USER_TIMEOUT ends connections whose client vanished, so that data stays unacknowledged.
 *
 * If a connection's reader ended with an error (with HTTP/1.0: ended at all), libmicrohttpd 0.9.75
 * frees it only when it checks the timeout. Of the connections with the default timeout, it checks
 * only the oldest. A connection with its own timeout is checked in each run. This timeout never
 * passes, because each suspension restarts it.
 */
static struct MHD_Response *stream_of(struct client *c)
{
	unsigned ms = (unsigned)c->server->timeouts.write_ms;

	setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	MHD_set_connection_option(c->connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)STREAM_TIMEOUT_S);
	struct MHD_Response *r =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, NULL);
	/*
	 * libmicrohttpd 0.9.75 answers HEAD with the last chunk of a chunked body, so chunks are
	 * not used.
	 */
	if (r && strcmp(c->req->asked.method, "HEAD") == 0)
		MHD_set_response_options(r, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	return r;
}

/* False: a header could not be added. A response without it may mean something else. */
static bool add_headers(struct MHD_Response *r, const struct request *req)
{
	unsigned missing = 0;

	if (req->answer.content_type)
		missing += MHD_add_response_header(r, "Content-Type", req->answer.content_type) != MHD_YES;
	missing +=
		MHD_add_response_header(r, "Cache-Control",
					req->answer.cache_control ? req->answer.cache_control : "no-store") != MHD_YES;
	missing += MHD_add_response_header(r, "X-Request-ID", req->asked.request_id.at) != MHD_YES;
	if (req->answer.is_replay && req->answer.status < 500)
		missing += MHD_add_response_header(r, "Idempotent-Replayed", "true") != MHD_YES;
	if (req->answer.from_replica && req->answer.status < 500)
		missing += MHD_add_response_header(r, "Patternd-Source", "replica") != MHD_YES;
	if (cors_is_on())
		missing += MHD_add_response_header(r, "Vary", "Origin") != MHD_YES;
	if (req->caller.cors_origin) {
		missing +=
			MHD_add_response_header(r, "Access-Control-Allow-Origin", req->caller.cors_origin) != MHD_YES;
		missing += MHD_add_response_header(r, "Access-Control-Expose-Headers", cors_exposed) != MHD_YES;
	}
	for (size_t i = 0; i < req->answer.header_count; i++)
		missing += MHD_add_response_header(r, req->answer.headers[i].name, req->answer.headers[i].value) !=
			   MHD_YES;
	if (req->state == STREAMING) /* otherwise nginx collects the events in its buffer */
		missing += MHD_add_response_header(r, "X-Accel-Buffering", "no") != MHD_YES;
	if (req->answer.close || req->state == STREAMING || draining())
		missing += MHD_add_response_header(r, "Connection", "close") != MHD_YES;
	return missing == 0;
}

bool http_response_send(struct client *c)
{
	struct request *req = c->req;

	remove_answered(c);
	if (req->state == STREAMING && draining()) /* it began after http_drain */
		stream_drain(req->pending.stream);
	struct MHD_Response *response = req->state == STREAMING ? stream_of(c) : body_of(req);

	if (!response)
		return false;
	client_deadline_in(c, c->server->timeouts.write_ms);
	bool ok = add_headers(response, req) &&
		  MHD_queue_response(c->connection, (unsigned)req->answer.status, response) == MHD_YES;
	MHD_destroy_response(response);
	return ok;
}

/* ---- Responses without libmicrohttpd ---- */

static int print_head(char head[HEAD_BYTES], const struct request *req)
{
	char date[64];
	struct tm utc;
	time_t now = time(NULL);

	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
	return snprintf(head, HEAD_BYTES,
			"HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\nContent-Type: %s\r\n"
			"Cache-Control: no-store\r\nX-Request-ID: %s\r\nContent-Length: %zu\r\n\r\n",
			req->answer.status, MHD_get_reason_phrase_for((unsigned)req->answer.status), date,
			req->answer.content_type, req->asked.request_id.at, req->answer.body.len);
}

/*
 * The socket's buffer is empty, because libmicrohttpd has sent all earlier bytes, and these are
 * few.
 */
static void write_all(struct client *c, const char *bytes, size_t len)
{
	if (c->server->is_secure)
		https_write(c, bytes, len);
	else
		send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void http_response_refuse_head(struct client *c)
{
	struct request *req = c->req;
	char head[HEAD_BYTES];

	write_all(c, head, (size_t)print_head(head, req));
	if (!req->asked.method || strcmp(req->asked.method, "HEAD") != 0)
		write_all(c, req->answer.body.at, req->answer.body.len);
	shutdown(c->fd, SHUT_WR);
	c->body_unread = true; /* what the client still sends must not reset the connection */
}

/* ---- Runs ---- */

static bool send_answered(struct http_server *s)
{
	bool any = s->answered != NULL;

	while (s->answered) {
		struct client *c = s->answered;
		remove_answered(c);
		if (!c->is_disconnected)
			http_response_send(c); /* if it fails, the handler closes the connection */
	}
	return any;
}

/* A run sends the responses, and the next one ends their requests. */
void http_response_run(struct http_server *s)
{
	s->must_run = false;
	bool sends = send_answered(s);
	MHD_run(s->daemon);
	s->must_run |= sends;
}

void http_response_end(struct client *c)
{
	struct request *req = c->req;

	remove_answered(c);
	if (c->grace_polls && !c->suspended)
		end_grace(c->server);
	if (c->suspended)
		loop_unwatch(&c->disconnect);
	/* During grace polls, libmicrohttpd notices a disconnect. */
	if (!c->is_disconnected && (req->state == CALLING || req->state == PARKED))
		metrics_count(METRIC_clients_disconnected);
	c->req = NULL;
	c->suspended = false;
	c->grace_polls = 0;
	request_asker_done(req);
}

void http_response_begin(struct client *c, struct request *req)
{
	static const struct request_asker client = { on_answered, on_streamed, is_disconnected, on_disconnected };

	req->asker = &client;
	req->exchange = c;
	c->req = req;
}

void http_response_open(bool (*check_draining)(void))
{
	draining = check_draining;
}
