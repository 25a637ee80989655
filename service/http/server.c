/*
 * http_server: see http/server.h. It owns the order of a request's steps: target, headers and
 * precheck, body, input, handler, response.
 */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "access/access.h"
#include "contract/input.h"
#include "contract/route.h"
#include "http/access_log.h"
#include "http/head.h"
#include "http/https.h"
#include "http/precheck.h"
#include "http/response.h"
#include "net/lingering_close.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "request/answer.h"
#include "request/request.h"

enum {
	/*
	 * libmicrohttpd's memory for a connection has room for a head within its limit, the headers
	 * of the response, and some bytes beyond the limit. So the daemon sees a head that is too
	 * large, and can answer it.
	 */
	CONNECTION_MEMORY = PRECHECK_HEAD_BYTES + 4 * 1024,
	CLIENT_DISCONNECTED = 499, /* logged when the client disconnected before the response */
};

const char *http_server_library(void)
{
	return MHD_get_version();
}

bool http_server_has_tls(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES;
}

/* ---- Connections ---- */

/* HTTP is done with the connection's request. */
static void request_done(struct client *c)
{
	c->server->request_count--;
	http_response_end(c);
}

static void connection_opened(struct http_server *s, struct MHD_Connection *connection, void **context)
{
	struct client *c =
		client_new(connection,
			   MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, s);

	*context = c;
	if (!c)
		return;
	c->is_unix = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr->sa_family ==
		     AF_UNIX;
	acceptor_client_opened(s->acceptor);
	if (s->is_secure)
		https_begin(c, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session);
}

/* Closing the socket now would reset it, and discard a response that the client has not read. */
static bool has_unread(int fd)
{
	int unread = 0;

	return ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

static void connection_closed(struct client *c)
{
	if (c->req) /* libmicrohttpd rejected it after its target, without a call of on_completed */
		request_done(c);
	if (c->server->is_secure)
		https_end(c);
	if (c->body_unread || has_unread(c->fd))
		lingering_close(c->fd);
	acceptor_client_closed(c->server->acceptor);
	client_free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_opened(cls, connection, context);
	} else if (*context) {
		connection_closed(*context);
		*context = NULL;
	}
}

static struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ---- The request ---- */

/* The request line has arrived. The result becomes *con_cls of the handler. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	struct client *c = client_of(connection);

	(void)cls;
	if (!c || !target)
		return NULL;
	struct request *req = request_new(target, strlen(target));
	if (!req)
		return NULL;
	http_response_begin(c, req);
	req->asked.header = http_head_value;
	req->asked.by_unix = c->is_unix;
	req->asked.only_health = c->server->is_health;
	if (req->asked.only_health)
		req->arena.bounded = false; /* HEALTH_CONNECTIONS bounds its memory */
	c->headers_seen = false;
	c->server->request_count++;
	client_deadline_in(c, c->server->timeouts.header_ms);
	http_head_hide(target, connection);
	return req;
}

/* Called after the headers, before the first byte of the body. True: the request is admitted. */
static bool admit(struct client *c, const char *method, const char *version, const char *url)
{
	struct request *req = c->req;
	struct precheck p;

	req->asked.method = method;
	precheck_begin(&p, req, version);
	http_head_read(&p, c, url);
	bool ok = precheck_run(&p);
	c->head_fits = precheck_head_fits(&p);
	bool body_read = ok && p.body_expected && req->op->takes_body;
	if (body_read) {
		client_deadline_in(c, c->server->timeouts.body_ms);
		ok = request_expect_body(req, p.body_len);
		if (!ok)
			answer_no_memory(req, EFFECT_NONE);
	}
	/* The body stays unread: the response is sent at once, and the connection closes. */
	if (p.body_expected && !(body_read && ok))
		req->answer.close = c->body_unread = true;
	return ok;
}

/* The request is complete: runs its handler. */
static void run(struct client *c)
{
	struct request *req = c->req;

	if (req->asked.body_discarded) {
		req->answer.close = true;
		if (req->arena.failed)
			answer_no_memory(req, EFFECT_NONE);
		else
			answer_problem(
				req, P_BODY_TOO_LARGE,
				"the request body is larger than %zu bytes: %s--max-body-bytes for a value, and 128 KiB more",
				precheck_max_body(req->op), req->op->is_gateway ? "twice " : "");
		return;
	}
	/* A waiting request would be suspended, and libmicrohttpd aborts if it is stopped then. */
	if (c->server->closing) {
		answer_problem(req, P_NOT_READY, "the daemon is shutting down");
		return;
	}
	const void *input = input_fill(req);
	if (input && access_admit_input(req, input))
		req->op->run(req, input);
}

static enum MHD_Result to_answer(struct client *c)
{
	return http_response_send(c) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload_data, size_t *upload_data_size,
				  void **con_cls)
{
	struct client *c = client_of(connection);

	(void)cls;
	if (!c || !*con_cls || !c->req || c->is_disconnected)
		return MHD_NO;
	struct request *req = c->req;
	if (!c->headers_seen) {
		c->headers_seen = true;
		bool ok = admit(c, method, version, url);
		if (!c->head_fits) {
			http_response_refuse_head(c);
			return MHD_NO;
		}
		/*
		 * A response without a body is sent at the next call; at this one, libmicrohttpd
		 * would close the connection.
		 */
		if (!ok || !req->answer.close)
			return req->state == ANSWERED && req->answer.close ? to_answer(c) : MHD_YES;
	}
	if (*upload_data_size) {
		bool ok = req->state == ANSWERED ||
			  request_take_body(req, upload_data, *upload_data_size, precheck_max_body(req->op));
		*upload_data_size = 0;
		return ok ? MHD_YES : MHD_NO;
	}
	if (req->state == READING)
		run(c);
	if (req->state == ANSWERED || req->state == STREAMING)
		return to_answer(c);
	http_response_wait(c);
	return MHD_YES;
}

/* True: libmicrohttpd itself made the response. on_library_message has logged it. */
static bool is_refused(const struct client *c)
{
	return c->req->state == READING && MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
}

static int status_of(const struct client *c, enum MHD_RequestTerminationCode code)
{
	if (c->req->state >= STREAMING)
		return c->req->answer.status;
	if (is_refused(c))
		return (int)MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_HTTP_STATUS)->http_status;
	return code == MHD_REQUEST_TERMINATED_WITH_ERROR && c->req->state == READING ? MHD_HTTP_BAD_REQUEST
										     : CLIENT_DISCONNECTED;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode code)
{
	struct client *c = client_of(connection);

	(void)cls;
	*con_cls = NULL;
	if (!c || !c->req)
		return;
	int64_t duration_us = loop_now_us() - c->req->started_us;
	int status = status_of(c, code);
	metrics_request(operation_index(request_operation(c->req)), status, duration_us, request_waited_us(c->req));
	if (is_refused(c))
		c->body_unread = true;
	else
		access_log(c->req, status, duration_us);
	request_done(c);
	client_deadline_in(c, c->server->timeouts.idle_ms);
	/*
	 * The next request may have arrived, which http_server_timeout_ms cannot find out during
	 * grace polls.
	 */
	if (c->server->grace_polled > 0)
		c->server->must_run = true;
}

/* Keeps escapes, since route.c decodes them, with lengths. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

static void log_refused(int status)
{
	const struct log_request line = {
		.request_id = TEXT("-"), .operation = "-", .method = "-", .status = status, .is_notable = status >= 500
	};

	if (log_takes_request(line.is_notable))
		log_request(&line);
}

static void on_library_message(void *cls, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/*
 * A request that libmicrohttpd itself rejects reaches no handler, and not always on_completed. This
 * message, whose first argument is the status, is the only sign of it.
 */
static void on_library_message(void *cls, const char *format, va_list args)
{
	static const char refusal[] = "Error processing request (";
	char message[512];

	(void)cls;
	if (strncmp(format, refusal, sizeof(refusal) - 1) == 0) {
		va_list own;
		va_copy(own, args);
		metrics_count(METRIC_requests_malformed);
		log_refused((int)va_arg(own, unsigned));
		va_end(own);
	}
	/*
	 * The rest is for debug only: it reports each setsockopt that a Unix socket does not
	 * support.
	 */
	if (*config()->log_level != 'd')
		return;
	int n = vsnprintf(message, sizeof(message), format, args);
	if (n > 0)
		log_event(LOG_DEBUG, "libmicrohttpd", "%.*s", (int)strcspn(message, "\n"), message);
}

/* ---- Start, run, end ---- */

static void on_ready(struct loop_watch *w, uint32_t events)
{
	struct http_server *s = container_of(w, struct http_server, watch);

	(void)events;
	s->must_run = true;
}

static unsigned flags_of(const struct http_server *s)
{
	unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

#if MHD_VERSION >= 0x00097707
	/* Without it, an added socket is served only in a later run. */
	flags |= MHD_USE_NO_THREAD_SAFETY;
#endif
	return s->is_secure ? flags | MHD_USE_TLS : flags;
}

bool http_server_open(struct http_server *s)
{
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, https_certificate_callback() },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)https_priorities() },
		{ MHD_OPTION_END, 0, NULL },
	};

	/* clang-format off */
	s->daemon = MHD_start_daemon(
		flags_of(s), 0, NULL, NULL, on_request, NULL,
		MHD_OPTION_EXTERNAL_LOGGER, on_library_message, NULL,
		MHD_OPTION_CONNECTION_LIMIT, s->acceptor->max_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_ARRAY, s->is_secure ? tls : tls + 2,
		MHD_OPTION_END);
	/* clang-format on */
	if (!s->daemon) {
		fprintf(stderr, "patternd: cannot start libmicrohttpd: %s\n", strerror(errno));
		return false;
	}
	s->watch.fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	s->watch.ready = on_ready;
	bool ok = loop_watch(&s->watch, EPOLLIN);
	if (!ok)
		fprintf(stderr, "patternd: cannot watch libmicrohttpd: %s\n", strerror(errno));
	return ok;
}

void http_server_add(struct http_server *s, const struct listener *by, int fd)
{
	/* libmicrohttpd only keeps it, for connection_opened. */
	struct sockaddr from = { .sa_family = by->is_unix ? AF_UNIX : AF_UNSPEC };

	s->must_run = true; /* its request may have arrived already */
	MHD_add_connection(s->daemon, fd, &from, sizeof(from));
}

int64_t http_server_timeout_ms(struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (!s->daemon)
		return -1;
	if (s->must_run)
		return 0;
	if (s->grace_polled > 0) /* MHD_get_timeout would return 0; on_answered sets must_run */
		return -1;
	return MHD_get_timeout(s->daemon, &ms) == MHD_YES ? (int64_t)ms : -1;
}

bool http_server_run(struct http_server *s)
{
	if (http_server_timeout_ms(s) != 0)
		return false;
	http_response_run(s);
	if (s->handshakes)
		https_sleep(s);
	return http_server_timeout_ms(s) == 0;
}

void http_server_close(struct http_server *s)
{
	if (!s->daemon)
		return;
	s->closing = true;
	for (int i = 0; i < 3; i++)
		http_response_run(s);
	loop_unwatch(&s->watch);
	MHD_stop_daemon(s->daemon);
	loop_timer_stop(&s->grace_end);
	s->daemon = NULL;
}
