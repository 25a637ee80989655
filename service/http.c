/*
 * http: libmicrohttpd in external epoll mode; see http.h.
 *
 * Owns the order of a request's steps: target, headers (checked
 * before a byte of the body is read), body, handler, answer. A request that waits for Redis is suspended; libmicrohttpd
 * then neither reads, nor times out, nor notices the client leaving.
 */
#include "http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admission.h"
#include "config.h"
#include "conn.h"
#include "http_answer.h"
#include "listener.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "request.h"
#include "route.h"
#include "stream.h"

enum {
	CONNECTION_MEMORY = 12 * 1024, /* request line, headers and answer headers of one connection */
	CLIENT_LEFT = 499,             /* the status logged when nobody waited for the answer */
};

static struct MHD_Daemon *daemon_;
static struct watch daemon_watch;
static int listen_fd = -1;
static char address[128];
static bool daemon_ready; /* its epoll set has something */
static bool draining;
static unsigned busy_count;

const char *http_address(void)
{
	return address;
}

const char *http_library(void)
{
	return MHD_get_version();
}

bool http_draining(void)
{
	return draining;
}

unsigned http_busy(void)
{
	return busy_count;
}

/* ---- Connections ---- */

/* HTTP is done with the connection's request. */
static void request_done(struct conn *c)
{
	busy_count--;
	http_answer_end(c);
}

static void connection_closed(struct conn *c)
{
	/* 0.9.75 listens again after its limit was reached only in the run after the one that saw a connection close. */
	http_answer_run_again();
	if (c->req) /* its target came, and libmicrohttpd refused the rest: on_completed is not called for it */
		request_done(c);
	conn_free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	(void)cls;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = conn_new(connection,
				    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
	} else if (*context) {
		connection_closed(*context);
		*context = NULL;
	}
}

static struct conn *conn_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ---- The request ---- */

static struct text header_value(struct request *req, const char *name)
{
	struct conn *c = req->exchange;
	const char *value = NULL;
	size_t len = 0;

	if (MHD_lookup_connection_value_n(c->connection, MHD_HEADER_KIND, name, strlen(name), &value, &len) != MHD_YES)
		return (struct text){ 0 };
	return (struct text){ value, len };
}

/* The request line is there. What this returns becomes *con_cls of the handler. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	struct conn *c = conn_of(connection);

	(void)cls;
	if (!c || !target)
		return NULL;
	struct request *req = request_new(target, strlen(target));
	if (!req)
		return NULL;
	req->exchange = c;
	req->header = header_value;
	c->req = req;
	c->headers_seen = false;
	busy_count++;
	conn_deadline_in(c, config()->header_timeout_ms);
	return req;
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	return admission_header(cls, name, value ? value : "") ? MHD_YES : MHD_NO;
}

/*
 * libmicrohttpd 0.9.75 cuts a target at a raw NUL byte. The version stands behind the target in the same buffer, so their
 * distance tells the target's true length.
 */
static bool target_was_cut(const char *target_in_buffer, size_t len, const char *version)
{
	uintptr_t from = (uintptr_t)target_in_buffer, to = (uintptr_t)version;

	return to > from && to - from < CONNECTION_MEMORY && to - from - 1 > len;
}

/* All headers are there and no byte of the body was read. True: go on. */
static bool admit(struct conn *c, const char *method, const char *version, const char *url)
{
	struct request *req = c->req;
	struct admission a;

	req->method = method;
	admission_begin(&a, req, version);
	a.target_was_cut = target_was_cut(url, req->target.len, version);
	MHD_get_connection_values(c->connection, MHD_HEADER_KIND, on_header, &a);
	bool ok = admission_check(&a);
	bool body_read = ok && a.body_expected && req->op->takes_body;
	if (body_read) {
		conn_deadline_in(c, config()->body_timeout_ms);
		ok = request_expect_body(req, a.body_len);
		if (!ok)
			answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
	}
	/* With a body on its way that is not read, or refused: said at once, and the connection is not used again. */
	if (a.body_expected && !(body_read && ok))
		req->close = true;
	return ok;
}

/* The request is whole: to its handler. */
static void run(struct conn *c)
{
	struct request *req = c->req;

	if (req->body_discarded) {
		req->close = true;
		answer_problem(req, P_BODY_TOO_LARGE,
			       "the body is larger than the %lld bytes that --max-body-bytes allows",
			       (long long)config()->max_body_bytes);
		return;
	}
	const void *input = input_fill(req);
	if (input)
		req->op->run(req, input);
}

static enum MHD_Result to_answer(struct conn *c)
{
	return http_answer_send(c) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload_data, size_t *upload_data_size,
				  void **con_cls)
{
	struct conn *c = conn_of(connection);

	(void)cls;
	if (!c || !*con_cls || !c->req || c->left)
		return MHD_NO;
	struct request *req = c->req;
	if (!c->headers_seen) {
		c->headers_seen = true;
		bool ok = admit(c, method, version, url);
		/* Without a body the answer waits for the next call: given now it would cost the connection. */
		if (!ok || !req->close)
			return req->state == ANSWERED && req->close ? to_answer(c) : MHD_YES;
	}
	if (*upload_data_size) {
		bool ok = req->state == ANSWERED ||
			  request_take_body(req, upload_data, *upload_data_size, (size_t)config()->max_body_bytes);
		*upload_data_size = 0;
		return ok ? MHD_YES : MHD_NO;
	}
	if (req->state == READING)
		run(c);
	if (req->state == ANSWERED || req->state == STREAMING)
		return to_answer(c);
	http_answer_wait(c);
	return MHD_YES;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode code)
{
	struct conn *c = conn_of(connection);

	(void)cls;
	(void)code;
	*con_cls = NULL;
	if (!c || !c->req)
		return;
	struct request *req = c->req;
	int64_t duration_us = loop_now_us() - req->started_us;
	int status = req->state >= STREAMING ? req->status : CLIENT_LEFT;
	metrics_request(req->op, status, duration_us);
	struct log_request line = {
		.request_id = req->request_id,
		.trace_id = req->trace_id,
		.operation = req->op ? req->op->id : "-",
		.method = req->method ? req->method : "-",
		.status = status,
		.duration_us = duration_us,
		.code = req->problem ? req->problem->code : NULL,
	};
	log_request(&line);
	request_done(c);
	conn_deadline_in(c, config()->idle_timeout_ms);
}

/* Keeps escapes: route decodes them itself, with lengths. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

static void on_library_message(void *cls, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void on_library_message(void *cls, const char *format, va_list args)
{
	char message[512];

	(void)cls;
	int n = vsnprintf(message, sizeof(message), format, args);
	if (n > 0)
		log_event(LOG_DEBUG, "libmicrohttpd", "%.*s", (int)strcspn(message, "\n"), message);
}

/* ---- Start, turn, end ---- */

static void on_daemon_ready(struct watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	daemon_ready = true;
}

static double open_connections(void)
{
	return conn_count();
}

static double requests_in_progress(void)
{
	return busy_count;
}

bool http_open(unsigned most_connections)
{
	listen_fd = listener_open(config()->listen, address, sizeof(address));
	if (listen_fd < 0)
		return false;
	http_answer_open(http_draining);
	metrics_gauge("http_connections", "Client connections that are open.", open_connections);
	metrics_gauge("http_requests_in_progress", "Requests that are not done with.", requests_in_progress);
	/* clang-format off */
	daemon_ = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, NULL,
		MHD_OPTION_EXTERNAL_LOGGER, on_library_message, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, most_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_END);
	/* clang-format on */
	if (!daemon_) {
		fprintf(stderr, "patternd: cannot start libmicrohttpd: %s\n", strerror(errno));
		return false;
	}
	daemon_watch.fd = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	daemon_watch.ready = on_daemon_ready;
	return loop_watch(&daemon_watch, EPOLLIN);
}

int64_t http_timeout_ms(void)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (http_answer_wants_run())
		return 0;
	if (http_answer_lingers()) /* it would say 0, to ask again whether they were answered: on_answered tells */
		return -1;
	return daemon_ && MHD_get_timeout(daemon_, &ms) == MHD_YES ? (int64_t)ms : -1;
}

bool http_run(void)
{
	if (daemon_ && (daemon_ready || http_timeout_ms() == 0)) {
		daemon_ready = false;
		http_answer_running();
		MHD_run(daemon_);
		http_answer_ran();
	}
	return http_answer_wants_run();
}

void http_drain(void)
{
	if (draining)
		return;
	draining = true;
	if (MHD_quiesce_daemon(daemon_) != MHD_INVALID_SOCKET) {
		close(listen_fd);
		listen_fd = -1;
	}
	for (struct conn *c = conn_first(); c; c = c->next)
		if (!c->req)
			shutdown(c->fd, SHUT_RDWR);
		else if (c->req->stream)
			stream_drain(c->req->stream);
}

void http_close(void)
{
	if (!daemon_)
		return;
	http_drain();
	for (struct conn *c = conn_first(); c; c = c->next)
		if (c->req && c->req->stream)
			stream_end(c->req->stream);
		else if (c->req && (c->req->state == CALLING || c->req->state == PARKED))
			answer_problem_effect(c->req, P_NOT_READY, EFFECT_UNKNOWN, "the daemon is leaving");
	for (int i = 0; i < 3; i++)
		MHD_run(daemon_);
	loop_unwatch(&daemon_watch);
	MHD_stop_daemon(daemon_);
	http_answer_close();
	daemon_ = NULL;
}
