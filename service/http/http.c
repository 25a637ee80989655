/*
 * http: see http.h. The servers, and the acceptors of their clients.
 *
 * The plain and the TLS server share one acceptor, and so --max-connections. Health has its own
 * server, acceptor and timeouts, and its requests never wait: a probe takes at most the present
 * event-loop iteration.
 */
#include "http/http.h"

#include <stdio.h>
#include <sys/socket.h>

#include "core/budget.h"
#include "core/loop.h"
#include "http/client.h"
#include "http/https.h"
#include "http/response.h"
#include "http/server.h"
#include "net/acceptor.h"
#include "net/lingering_close.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "request/answer.h"
#include "request/request.h"
#include "request/stream.h"

enum {
	HEALTH_CONNECTIONS = 64,
	HEALTH_EVICTED = 16, /* number of connections that are closed when all are in use */
	LOG_PAUSE_US = 60 * 1000 * 1000,
	LEAST_BODIES = 8, /* number for which --max-request-memory must have room */
};

/* TLS is a flag of a whole daemon of libmicrohttpd. A server that is not open does nothing. */
enum { HEALTH, PLAIN, SECURE, SERVERS };

static struct http_server servers[SERVERS];
static struct acceptor client_acceptor = { 0 }, health_acceptor = { 0 };
static char urls[ACCEPTOR_SOCKETS_MAX][LISTENER_HOST_BYTES + 32];
static char health_urls[ACCEPTOR_SOCKETS_MAX][LISTENER_HOST_BYTES + 32];
static bool draining;
static mode_t socket_mode;

static const struct client_timeouts health_timeouts = {
	.header_ms = 2000,
	.body_ms = 2000,
	.write_ms = 2000,
	.idle_ms = 30000,
};

static bool has_tls(void)
{
	return *config()->tls_cert || *config()->tls_key || *config()->tls_client_ca;
}

static bool has_health(void)
{
	return *config()->health_listen;
}

/* One socket per address, two for a name, for IPv4 and IPv6. */
static unsigned sockets_of(const char *option, const char *list)
{
	struct listener_address addresses[LISTENER_ADDRESSES_MAX];
	size_t count = *list ? listener_address_parse(option, list, addresses) : 0;
	unsigned n = 0;

	for (size_t i = 0; i < count; i++)
		n += listener_address_is_name(&addresses[i]) ? 2 : 1;
	return n;
}

/* Each server has an epoll set. */
unsigned http_descriptors(void)
{
	return SERVERS + LINGERING_CLOSES_MAX + sockets_of("listen", config()->listen) +
	       sockets_of("health-listen", config()->health_listen) + (has_health() ? HEALTH_CONNECTIONS : 0);
}

const char *http_address(size_t i)
{
	return i < client_acceptor.count ? urls[i] : NULL;
}

const char *http_health_address(size_t i)
{
	return i < health_acceptor.count ? health_urls[i] : NULL;
}

bool http_draining(void)
{
	return draining;
}

unsigned http_request_count(void)
{
	return servers[PLAIN].request_count + servers[SECURE].request_count;
}

/* ---- Start ---- */

/* Without tokens, only this machine may reach the daemon. */
static bool check_privacy(const struct listener_list *list)
{
	char shown[LISTENER_HOST_BYTES + 16];

	for (size_t i = 0; i < list->count && !*config()->tokens && !config()->insecure; i++) {
		if (listener_address_is_private(&list->addresses[i]))
			continue;
		listener_address_print(&list->addresses[i], shown, sizeof(shown));
		fprintf(stderr,
			"patternd: --listen: other machines can reach '%s': require tokens (--tokens FILE), or allow every "
			"request (--insecure)\n",
			shown);
		return false;
	}
	return list->count > 0;
}

static void parse(struct listener_list *list, const char *option, const char *text)
{
	list->option = option;
	list->count = listener_address_parse(option, text, list->addresses);
}

static bool check_addresses(void)
{
	static struct listener_list listen, health;

	parse(&listen, "listen", config()->listen);
	bool ok = check_privacy(&listen) && listener_address_check(&listen, NULL);
	if (!has_health())
		return ok;
	parse(&health, "health-listen", config()->health_listen);
	return health.count > 0 && listener_address_check(&health, &listen) && ok;
}

static void add_client(const struct listener *by, int fd)
{
	http_server_add(&servers[has_tls() && !by->is_unix ? SECURE : PLAIN], by, fd);
}

static void add_health_client(const struct listener *by, int fd)
{
	http_server_add(&servers[HEALTH], by, fd);
}

/*
 * Health is answered at once, so the oldest connections are idle or slow. They are closed to make
 * room.
 */
static void on_health_full(struct acceptor *a)
{
	unsigned seen = 0;

	for (struct client *c = client_first(); c; c = c->next) /* the newest is first */
		if (c->server == &servers[HEALTH] && seen++ + HEALTH_EVICTED >= a->connection_count)
			shutdown(c->fd, SHUT_RDWR);
}

/* A client that waits sees neither an answer nor an error. */
static void on_full(struct acceptor *a)
{
	static int64_t quiet_until_us;
	bool few_descriptors = a->max_connections < config()->max_connections; /* main.c has lowered it */

	if (loop_now_us() < quiet_until_us)
		return;
	quiet_until_us = loop_now_us() + LOG_PAUSE_US;
	log_event(LOG_WARN, "connections_taken", "all %u connections (%s) are in use; new clients wait",
		  a->max_connections, few_descriptors ? "the limit of open files" : "--max-connections");
}

static void note_urls(void)
{
	for (size_t i = 0; i < client_acceptor.count; i++) {
		const struct listener *l = &client_acceptor.sockets[i].listener;
		const char *scheme = l->is_unix ? "" : has_tls() ? "https://" : "http://";
		snprintf(urls[i], sizeof(urls[i]), "%s%s", scheme, l->address);
	}
	for (size_t i = 0; i < health_acceptor.count; i++) {
		const struct listener *l = &health_acceptor.sockets[i].listener;
		snprintf(health_urls[i], sizeof(health_urls[i]), "%s%s", l->is_unix ? "" : "http://", l->address);
	}
}

static bool open_tls(void)
{
	if (!has_tls())
		return true;
	if (!http_server_has_tls()) {
		fprintf(stderr, "patternd: --tls-cert: this libmicrohttpd (%s) was built without TLS\n",
			http_server_library());
		return false;
	}
	return https_open(config()->tls_cert, config()->tls_key, config()->tls_client_ca);
}

static double open_connections(void)
{
	return client_count();
}

static double requests_in_progress(void)
{
	return http_request_count() + servers[HEALTH].request_count;
}

static bool open_clients(unsigned max_connections)
{
	const struct config *o = config();
	struct client_timeouts timeouts = { o->header_timeout_ms, o->body_timeout_ms, o->write_timeout_ms,
					    o->idle_timeout_ms };

	client_acceptor.max_connections = max_connections;
	client_acceptor.on_client = add_client;
	client_acceptor.on_full = on_full;
	servers[PLAIN] = (struct http_server){ .acceptor = &client_acceptor, .timeouts = timeouts };
	servers[SECURE] = (struct http_server){ .acceptor = &client_acceptor, .timeouts = timeouts, .is_secure = true };
	return http_server_open(&servers[PLAIN]) && (!has_tls() || http_server_open(&servers[SECURE])) &&
	       acceptor_open(&client_acceptor, "listen", o->listen, socket_mode);
}

static bool open_health(void)
{
	health_acceptor.max_connections = HEALTH_CONNECTIONS;
	health_acceptor.on_client = add_health_client;
	health_acceptor.on_full = on_health_full;
	servers[HEALTH] =
		(struct http_server){ .acceptor = &health_acceptor, .timeouts = health_timeouts, .is_health = true };
	return !has_health() ||
	       (http_server_open(&servers[HEALTH]) &&
		acceptor_open(&health_acceptor, "health-listen", config()->health_listen, socket_mode));
}

static double request_memory(void)
{
	return (double)budget_used();
}

static bool set_budget(void)
{
	if (config()->max_request_memory < LEAST_BODIES * config()->max_body_bytes) {
		fprintf(stderr,
			"patternd: --max-request-memory: %lld is less than %d bodies of --max-body-bytes; raise it, or lower that\n",
			(long long)config()->max_request_memory, LEAST_BODIES);
		return false;
	}
	budget_limit((size_t)config()->max_request_memory);
	return true;
}

bool http_check(void)
{
	bool ok = check_addresses();

	ok = listener_parse_mode("listen-mode", config()->listen_mode, &socket_mode) && ok;
	ok = set_budget() && ok;
	return open_tls() && ok;
}

bool http_open(unsigned max_connections)
{
	http_response_open(http_draining);
	metrics_gauge("http_connections", "Client connections that are open.", open_connections);
	metrics_gauge("http_requests_in_progress", "Requests in progress.", requests_in_progress);
	metrics_gauge("request_memory_bytes", "Memory that requests take: bodies, answers, streams.", request_memory);
	if (!open_clients(max_connections) || !open_health())
		return false;
	note_urls();
	return true;
}

/* ---- Event loop ---- */

int64_t http_timeout_ms(void)
{
	int64_t least_ms = -1;

	for (int i = 0; i < SERVERS; i++) {
		int64_t ms = http_server_timeout_ms(&servers[i]);
		if (ms >= 0 && (least_ms < 0 || ms < least_ms))
			least_ms = ms;
	}
	return least_ms;
}

bool http_run(void)
{
	bool again = false;

	for (int i = 0; i < SERVERS; i++)
		again |= http_server_run(&servers[i]);
	return again;
}

/* ---- End ---- */

void http_drain(void)
{
	if (draining)
		return;
	draining = true;
	acceptor_close(&client_acceptor);
	for (struct client *c = client_first(); c; c = c->next)
		if (c->server->is_health)
			continue;
		else if (!c->req)
			shutdown(c->fd, SHUT_RDWR);
		else if (c->req->pending.stream)
			stream_drain(c->req->pending.stream);
}

void http_end_waits(bool (*is_over)(const struct request *req))
{
	for (struct client *c = client_first(); c; c = c->next)
		if (c->req && (c->req->pending.waiter || c->req->pending.stream) && is_over(c->req))
			shutdown(c->fd, SHUT_RDWR);
}

/* libmicrohttpd aborts if a connection is suspended when it stops. */
static void end_client(struct client *c)
{
	if (c->in_handshake && c->suspended)
		https_wake(c);
	else if (c->req && c->req->pending.stream)
		stream_end(c->req->pending.stream);
	else if (c->req && (c->req->state == CALLING || c->req->state == PARKED))
		answer_problem_effect(c->req, P_NOT_READY, EFFECT_UNKNOWN, "the daemon is shutting down");
}

void http_close(void)
{
	http_drain();
	acceptor_close(&health_acceptor);
	for (struct client *c = client_first(); c; c = c->next)
		end_client(c);
	for (int i = 0; i < SERVERS; i++)
		http_server_close(&servers[i]);
	https_close();
}
