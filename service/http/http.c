/*
 * http: the servers, and the gates that clients come in by; see http.h.
 *
 * Those of --listen share one gate, and so --max-connections. Libmicrohttpd runs whatever is ready at one of its servers in one go: when
 * thousands ask or leave at once it would go on for a tenth of a second. So each has few places, and who finds them taken gets one more
 * server; a turn that was long leaves the rest of them to the next.
 *
 * Health has a gate, places and patience of its own, is run in each turn, and nothing that is asked there ever waits for anything:
 * whatever becomes of the others, a probe is answered.
 */
#include "http/http.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/budget.h"
#include "process/config.h"
#include "http/conn.h"
#include "net/gate.h"
#include "http/response.h"
#include "http/handshake_tls.h"
#include "http/server.h"
#include "http/tls_server.h"
#include "net/lingering_close.h"
#include "process/metrics.h"
#include "request/request.h"
#include "request/stream.h"

enum {
	SERVER_PLACES = 256, /* some 5 ms, when all of them leave or ask at once */
	KINDS = 2,           /* plain and secure */
	HEALTH_PLACES = 64,
	HEALTH_LEAVE = 16, /* when all are taken */
	LEAST_BODIES = 8,  /* that the memory of requests must be enough for */
	TRIM_US = 1000000, /* after the last server went */
};

static struct http_server *servers,
	*turn_of; /* of the front, in the order they were opened in, owned; which is run next, NULL: the first */
static unsigned server_count;
static struct http_server health;
static struct gate front = { 0 }, side = { 0 };
static char urls[LISTEN_ADDRESSES_MAX][LISTEN_HOST_BYTES + 32], health_url[LISTEN_HOST_BYTES + 32];
static bool draining;

static const struct patience health_patience = {
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

/* A socket each address, an epoll set each server. */
unsigned http_descriptors(void)
{
	unsigned n = (unsigned)config()->max_connections / SERVER_PLACES + KINDS + 1 + LINGERING_PLACES;

	for (const char *at = config()->listen; (at = strchr(at, ',')); at++)
		n++;
	for (const char *at = config()->health_listen; (at = strchr(at, ',')); at++)
		n++;
	return n + (has_health() ? 2 + HEALTH_PLACES : 0);
}

const char *http_address(size_t i)
{
	return i < front.count ? urls[i] : NULL;
}

const char *http_health_address(void)
{
	return side.count ? health_url : NULL;
}

const char *http_library(void)
{
	return http_server_library();
}

bool http_draining(void)
{
	return draining;
}

unsigned http_busy(void)
{
	unsigned n = 0;

	for (struct http_server *s = servers; s; s = s->next)
		n += s->busy;
	return n;
}

/* ---- Start ---- */

/* One of its kind that has a place, opened if there is none. NULL after one line on stderr. */
static struct http_server *server_with_place(bool is_secure)
{
	const struct config *o = config();
	struct http_server **at = &servers, *s;

	for (; (s = *at); at = &s->next)
		if (s->is_secure == is_secure && s->inside < SERVER_PLACES)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s) {
		fprintf(stderr, "patternd: out of memory\n");
		return NULL;
	}
	s->gate = &front;
	s->is_secure = is_secure;
	s->wait =
		(struct patience){ o->header_timeout_ms, o->body_timeout_ms, o->write_timeout_ms, o->idle_timeout_ms };
	if (!http_server_open(s)) {
		free(s);
		return NULL;
	}
	server_count++;
	return *at = s;
}

/*
 * By itself malloc returns only what lies behind everything that is in use: as good as nothing of the 140 MB of ten thousand, which at once
 * take 20 ms. So each server's crowd is seen to when it has gone, and once more what the last ones had.
 */
static void on_trim(struct timer *t)
{
	(void)t;
	malloc_trim(0);
}

static struct timer trim = { .expired = on_trim };

/* Its crowd has gone, and it goes, too; the first of a kind stays. */
static void end_server(struct http_server *s)
{
	struct http_server **at = &servers;
	bool is_first = true;

	for (; *at != s; at = &(*at)->next)
		is_first &= (*at)->is_secure != s->is_secure;
	if (is_first)
		return;
	*at = s->next;
	server_count--;
	http_server_close(s);
	free(s);
	malloc_trim(0);
	timer_set(&trim, loop_now_us() + TRIM_US);
}

static void enter_front(const struct listener *by, int fd)
{
	struct http_server *s = server_with_place(!by->is_unix && has_tls());

	if (s)
		http_server_add(s, fd);
	else
		close(fd);
}

static void enter_side(const struct listener *by, int fd)
{
	(void)by;
	http_server_add(&health, fd);
}

/* Whoever has been there longest is idle, or slow: an answer takes no time. Some of them make room for those who wait. */
static void on_side_crowded(struct gate *g)
{
	unsigned seen = 0;

	for (struct conn *c = conn_first(); c; c = c->next) /* the newest is first */
		if (c->server == &health && seen++ + HEALTH_LEAVE >= g->inside)
			shutdown(c->fd, SHUT_RDWR);
}

static void note_urls(void)
{
	for (size_t i = 0; i < front.count; i++) {
		const struct listener *l = &front.ways[i].listener;
		const char *scheme = l->is_unix ? "" : has_tls() ? "https://" : "http://";
		snprintf(urls[i], sizeof(urls[i]), "%s%s", scheme, l->address);
	}
	if (side.count) {
		const struct listener *l = &side.ways[0].listener;
		snprintf(health_url, sizeof(health_url), "%s%s", l->is_unix ? "" : "http://", l->address);
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
	return http_tls_open(config()->tls_cert, config()->tls_key, config()->tls_client_ca);
}

static double open_connections(void)
{
	return conn_count();
}

static double requests_in_progress(void)
{
	return http_busy() + health.busy;
}

static bool open_front(unsigned most_connections, mode_t mode)
{
	front.most = most_connections;
	front.enter = enter_front;
	return open_tls() && server_with_place(false) && (!has_tls() || server_with_place(true)) &&
	       gate_open(&front, "listen", config()->listen, mode);
}

static bool open_side(mode_t mode)
{
	side.most = HEALTH_PLACES;
	side.enter = enter_side;
	side.crowded = on_side_crowded;
	health = (struct http_server){ .gate = &side, .wait = health_patience, .is_health = true };
	return !has_health() ||
	       (http_server_open(&health) && gate_open(&side, "health-listen", config()->health_listen, mode));
}

static double request_memory(void)
{
	return (double)budget_taken();
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

bool http_open(unsigned most_connections)
{
	mode_t mode;

	if (!set_budget())
		return false;
	http_answer_open(http_draining);
	metrics_gauge("http_connections", "Client connections that are open.", open_connections);
	metrics_gauge("http_requests_in_progress", "Requests that are not done with.", requests_in_progress);
	metrics_gauge("request_memory_bytes", "Memory that requests take: bodies, answers, streams.", request_memory);
	if (!listener_mode("listen-mode", config()->listen_mode, &mode) || !open_front(most_connections, mode) ||
	    !open_side(mode))
		return false;
	note_urls();
	return true;
}

void http_reload(void)
{
	http_tls_reload();
}

/* ---- Turn ---- */

int64_t http_timeout_ms(void)
{
	int64_t least_ms = http_server_timeout_ms(&health);

	for (struct http_server *s = servers; s; s = s->next) {
		int64_t ms = http_server_timeout_ms(s);
		if (ms >= 0 && (least_ms < 0 || ms < least_ms))
			least_ms = ms;
	}
	return least_ms;
}

bool http_run(void)
{
	bool again = http_server_run(&health);
	unsigned left = server_count;

	do {
		struct http_server *s = turn_of ? turn_of : servers;
		again |= http_server_run(s);
		turn_of = s->next;
		if (s->inside == 0)
			end_server(s);
	} while (--left && !loop_turn_is_long());
	return again || left;
}

/* ---- End ---- */

void http_drain(void)
{
	if (draining)
		return;
	draining = true;
	gate_close(&front);
	for (struct conn *c = conn_first(); c; c = c->next)
		if (c->server->is_health)
			continue;
		else if (!c->req)
			shutdown(c->fd, SHUT_RDWR);
		else if (c->req->stream)
			stream_drain(c->req->stream);
}

/* Nothing may be suspended when libmicrohttpd stops. */
static void end_conn(struct conn *c)
{
	if (c->shakes_hands && c->suspended)
		http_handshake_wake(c);
	else if (c->req && c->req->stream)
		stream_end(c->req->stream);
	else if (c->req && (c->req->state == CALLING || c->req->state == PARKED))
		answer_problem_effect(c->req, P_NOT_READY, EFFECT_UNKNOWN, "the daemon is leaving");
}

void http_close(void)
{
	http_drain();
	gate_close(&side);
	for (struct conn *c = conn_first(); c; c = c->next)
		end_conn(c);
	http_server_close(&health);
	for (struct http_server *s; (s = servers); free(s)) {
		http_server_close(s);
		servers = s->next;
	}
	http_tls_close();
}
