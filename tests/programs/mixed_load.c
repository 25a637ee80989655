/*
 * mixed_load PORT RATE SECONDS SEED: callers that use all patterns of a daemon, with RATE requests
 * per second whatever the answers, or as many as they can (0). Other callers wait for messages and
 * locks, or listen to topics.
 *
 * For each request that failed it prints `failed SENT_US ENDED_US PATTERN STATUS CODE`, with times
 * by CLOCK_MONOTONIC. At the end it prints `calls PATTERN STATUS COUNT` for each pattern and
 * status, and `late US`: how far it was behind the rate at most.
 */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	VISITORS = 192,
	WAITERS = 32, /* of each kind */
	LISTENERS = 16,
	CALLERS = VISITORS + 3 * WAITERS + LISTENERS,
	STEPS = 3,
	REQUEST_BYTES = 1024,
	ANSWER_BYTES = 64 * 1024,
	CAPTURED_BYTES = 128,
	STATUSES = 600,
	EVENTS = 128,
	SILENT_US = 10 * 1000000,
	TRY_AGAIN_US = 50000,
};

/*
 * In the texts of a step, # and % are numbers up to 999, and @ is a number up to 9. They are the
 * same in all steps of a visit. $ is the value that the step before captured.
 */
struct step {
	const char *method, *path, *body, *header;
	const char *capture; /* the member of the answer that the next step needs */
};

/* The requests of a visitor, one after the other, as long as they are granted. */
struct visit {
	const char *pattern;
	struct step steps[STEPS];
};

static const struct visit visits[] = {
	{ "locks",
	  { { "POST", "/locks/soak-#", "{\"ttl_ms\":5000,\"owner\":\"soak\"}", NULL, "token" },
	    { "DELETE", "/locks/soak-#", NULL, "Lock-Token: $\r\n", NULL } } },
	{ "queues",
	  { { "POST", "/queues/work-@/messages", "{\"body\":{\"order\":%}}", NULL, NULL },
	    { "POST", "/queues/work-@/receive", "{\"limit\":1,\"visibility_ms\":5000}", NULL, "receipt" },
	    { "DELETE", "/queues/work-@/deliveries/$", NULL, NULL, NULL } } },
	{ "queues", { { "POST", "/queues/awaited-@/messages", "{\"body\":%}", NULL, NULL } } },
	{ "ratelimit", { { "POST", "/ratelimit", "{\"key\":\"k#\",\"limit\":5,\"window_ms\":1000}", NULL, NULL } } },
	{ "geo",
	  { { "PUT", "/geo/shops/members/m#", "{\"longitude\":11.%,\"latitude\":48.#}", NULL, NULL },
	    { "GET", "/geo/nearby?name=shops&longitude=11.#&latitude=48.%&radius=5&unit=km", NULL, NULL, NULL } } },
	{ "uv",
	  { { "POST", "/uv/page-@", "{\"visitors\":[\"u#\",\"u%\"]}", NULL, NULL },
	    { "GET", "/uv/page-@", NULL, NULL, NULL } } },
	{ "counters",
	  { { "POST", "/counters/c-#/increment", "{\"counters\":{\"n\":1}}", NULL, NULL },
	    { "GET", "/counters/c-#", NULL, NULL, NULL } } },
	{ "leaderboards",
	  { { "PUT", "/leaderboards/medals/members/m#", "{\"scores\":{\"gold\":%,\"silver\":#}}", NULL, NULL },
	    { "GET", "/leaderboards/medals/members?limit=10", NULL, NULL, NULL } } },
	{ "bitmaps",
	  { { "PUT", "/bitmaps/b-@/bits/%", "{\"value\":1}", NULL, NULL },
	    { "GET", "/bitmaps/b-@/count", NULL, NULL, NULL } } },
	{ "cache",
	  { { "PUT", "/cache/c-#", "{\"value\":{\"n\":%},\"ttl_ms\":60000}", NULL, NULL },
	    { "GET", "/cache/c-#", NULL, NULL, NULL } } },
	{ "sales",
	  { { "POST", "/sales/sneakers/claims", "{\"user\":\"u%\"}", NULL, "claim" },
	    { "DELETE", "/sales/sneakers/claims/$", NULL, NULL, NULL } } },
	{ "topics", { { "POST", "/topics/news-@", "{\"body\":{\"price\":%}}", NULL, NULL } } },
	/*
	 * The visits of callers that wait or listen, by kind. No caller sends to the queues of the
	 * first kind.
	 */
	{ "queues_in_vain", { { "POST", "/queues/quiet-@/receive", "{\"limit\":1,\"wait_ms\":3000}", NULL, NULL } } },
	{ "queues_waiting",
	  { { "POST", "/queues/awaited-@/receive", "{\"limit\":1,\"acknowledge\":true,\"wait_ms\":3000}", NULL,
	      NULL } } },
	{ "locks_waiting", { { "POST", "/locks/busy-@", "{\"ttl_ms\":300,\"wait_ms\":3000}", NULL, NULL } } },
	{ "topics_listening", { { "GET", "/topics/news-@/stream", NULL, NULL, NULL } } },
};
enum { VISITS = sizeof(visits) / sizeof(visits[0]), VAIN_WAIT = VISITS - 4, QUEUE_WAIT, LOCK_WAIT, LISTEN };

struct caller {
	int fd;                     /* -1: none */
	const struct visit *visit;  /* under way; NULL: idle */
	const struct visit *always; /* NULL: any */
	const struct step *step;
	unsigned numbers[3];
	char captured[CAPTURED_BYTES];
	char *answer; /* ANSWER_BYTES */
	size_t answer_len;
	bool is_listening; /* the stream's head was read */
	int64_t sent_us, not_before_us;
};

static struct caller callers[CALLERS];
static uint64_t calls[VISITS][STATUSES];
static struct sockaddr_in daemon_address;
static int epoll_fd;
static uint64_t asked; /* by visitors */
static bool is_over;

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static unsigned draw(unsigned below)
{
	return (unsigned)random() % below;
}

static bool open_connection(struct caller *c)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = c };
	const int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return false;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(c->fd, (struct sockaddr *)&daemon_address, sizeof(daemon_address)) == 0 &&
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event) == 0)
		return true;
	close(c->fd);
	c->fd = -1;
	return false;
}

static void disconnect(struct caller *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->visit = NULL;
	c->is_listening = false;
}

/* Writes a text of a step with its placeholders replaced; returns its end. */
static char *expand(const struct caller *c, char *to, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '#' || *text == '%' || *text == '@')
			to += sprintf(to, "%u", c->numbers[*text == '#' ? 0 : *text == '%' ? 1 : 2]);
		else if (*text == '$')
			to += sprintf(to, "%s", c->captured);
		else
			*to++ = *text;
	}
	*to = '\0';
	return to;
}

static void note(struct caller *c, int status, const char *code)
{
	bool is_refusal = status == 404 || status == 409 || status == 410 || status == 429;

	calls[c->visit - visits][status]++;
	if (status < 200 || (status >= 300 && !is_refusal))
		printf("failed %" PRId64 " %" PRId64 " %s/%d %d %s\n", c->sent_us, now_us(), c->visit->pattern,
		       (int)(c->step - c->visit->steps), status, code);
}

static void fail(struct caller *c, const char *why)
{
	note(c, 0, why);
	disconnect(c);
	c->not_before_us = now_us() + TRY_AGAIN_US;
}

static void ask(struct caller *c)
{
	char request[REQUEST_BYTES], body[REQUEST_BYTES / 2], *end = request;
	size_t body_len = (size_t)(expand(c, body, c->step->body) - body);

	end += sprintf(end, "%s ", c->step->method);
	end = expand(c, end, c->step->path);
	end += sprintf(end, " HTTP/1.1\r\nHost: localhost\r\n");
	end = expand(c, end, c->step->header);
	if (c->step->body)
		end += sprintf(end, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_len);
	end += sprintf(end, "\r\n%s", body);
	c->answer_len = 0;
	c->sent_us = now_us();
	asked += c < callers + VISITORS;
	if (c->fd < 0 && !open_connection(c))
		fail(c, "no_connection");
	else if (send(c->fd, request, (size_t)(end - request), MSG_NOSIGNAL) != end - request)
		fail(c, "cut");
}

static void begin(struct caller *c)
{
	c->visit = c->always ? c->always : &visits[draw(VAIN_WAIT)];
	c->step = c->visit->steps;
	c->numbers[0] = draw(1000);
	c->numbers[1] = draw(1000);
	c->numbers[2] = draw(10);
	ask(c);
}

/* Copies the text of a member of the answer to `to`; false when the answer has none. */
static bool member(const struct caller *c, const char *name, char to[CAPTURED_BYTES])
{
	char start[64];
	int n = snprintf(start, sizeof(start), "\"%s\":\"", name);
	const char *at = memmem(c->answer, c->answer_len, start, (size_t)n);
	const char *end = at ? memchr(at + n, '"', c->answer_len - (size_t)(at + n - c->answer)) : NULL;

	if (!end || end - at - n >= CAPTURED_BYTES)
		return false;
	sprintf(to, "%.*s", (int)(end - at - n), at + n);
	return true;
}

static void on_answer(struct caller *c, int status, bool will_close)
{
	char code[CAPTURED_BYTES] = "-";
	const struct step *done = c->step;
	bool is_granted = status < 300 && (!done->capture || member(c, done->capture, c->captured));

	if (status >= 400)
		member(c, "code", code);
	note(c, status, code);
	if (status >= 500)
		c->not_before_us = now_us() + TRY_AGAIN_US;
	if (will_close)
		return disconnect(c);
	if (is_granted && done + 1 < c->visit->steps + STEPS && done[1].method) {
		c->step++;
		return ask(c);
	}
	c->visit = NULL;
}

/* Handles the part of an answer that has come. A stream continues after its head. */
static void look(struct caller *c)
{
	c->answer[c->answer_len] = '\0';
	char *body = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "\r\nContent-Length:");
	int status = body ? atoi(c->answer + strlen("HTTP/1.1 ")) : 0;

	if (!body)
		return;
	if (status < 200 || status >= STATUSES)
		return fail(c, "no_http");
	if (c->visit == &visits[LISTEN] && status == 200) {
		if (!c->is_listening)
			note(c, 200, "-");
		c->is_listening = true;
		c->answer_len = (size_t)(body + 4 - c->answer); /* events are received and dropped */
		return;
	}
	size_t whole = (size_t)(body + 4 - c->answer) + (length && length < body ? strtoul(length + 17, NULL, 10) : 0);
	if (c->answer_len < whole)
		return;
	char *connection_close = strcasestr(c->answer, "\r\nConnection: close");
	on_answer(c, status, connection_close && connection_close < body);
}

static void on_ready(struct caller *c)
{
	ssize_t n = recv(c->fd, c->answer + c->answer_len, ANSWER_BYTES - 1 - c->answer_len, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 && c->visit)
		return fail(c, "cut");
	if (n <= 0)
		return disconnect(c); /* between two visits, the daemon may close the connection */
	c->answer_len += (size_t)n;
	if (c->visit)
		look(c);
}

/* Idle callers start again, visitors at their rate; returns how many visitors are busy. */
static int begin_visits(double due)
{
	int64_t now = now_us();
	int busy = 0;

	for (struct caller *c = callers; c < callers + CALLERS; c++) {
		bool is_visitor = c < callers + VISITORS;
		if (c->visit && !c->is_listening && now - c->sent_us > SILENT_US)
			fail(c, "silent");
		if (!c->visit && !is_over && c->not_before_us <= now && (!is_visitor || (double)asked < due))
			begin(c);
		busy += c->visit && !c->is_listening;
	}
	return busy;
}

static void run(double rate, int64_t seconds)
{
	int64_t began_us = now_us(), end_us = began_us + seconds * 1000000, behind_us = 0;
	struct epoll_event events[EVENTS];
	int busy = 1;

	while (busy) {
		int n = epoll_wait(epoll_fd, events, EVENTS, 1);
		for (int i = 0; i < n; i++)
			on_ready(events[i].data.ptr);
		int64_t now = now_us();
		is_over = now >= end_us;
		double due = rate > 0 ? rate * (double)(now - began_us) / 1e6 : 1e18;
		if (rate > 0 && !is_over && (due - (double)asked) / rate * 1e6 > (double)behind_us)
			behind_us = (int64_t)((due - (double)asked) / rate * 1e6);
		busy = begin_visits(due);
		if (!is_over)
			busy = 1;
	}
	printf("late %" PRId64 "\n", behind_us);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	daemon_address.sin_family = AF_INET;
	daemon_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	daemon_address.sin_port = htons((uint16_t)atoi(argv[1]));
	srandom((unsigned)atoi(argv[4]));
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CALLERS; i++) {
		static const int kinds[] = { VAIN_WAIT, QUEUE_WAIT, LOCK_WAIT };
		callers[i].fd = -1;
		callers[i].answer = malloc(ANSWER_BYTES);
		if (!callers[i].answer)
			return 1;
		if (i >= VISITORS)
			callers[i].always = &visits[i < CALLERS - LISTENERS ? kinds[(i - VISITORS) / WAITERS] : LISTEN];
	}
	run(atof(argv[2]), atoi(argv[3]));
	for (int v = 0; v < VISITS; v++)
		for (int s = 0; s < STATUSES; s++)
			if (calls[v][s])
				printf("calls %s %d %" PRIu64 "\n", visits[v].pattern, s, calls[v][s]);
	return fflush(stdout) ? 1 : 0;
}
