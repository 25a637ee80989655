/*
 * The sizes of a request's head: parameters, headers and cookies, in number and in length, around
 * each bound. libmicrohttpd keeps a record of each in the connection's memory. Each request gets a
 * whole response within a second and one line in the log. That holds on a new connection, on a used
 * connection, and for a request that waits. A refusal is a problem that names the limit, up to
 * heads that libmicrohttpd itself refuses.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/rows.h"
#include "test.h"

enum {
	ANSWER_MS = 1000,
	TARGET_BYTES = 8192,
	HEAD_BYTES = 12 * 1024, /* and HEADER_BYTES more for each header */
	HEADER_BYTES = 64,
	POOL_BYTES = 16 * 1024, /* libmicrohttpd's memory of a connection */
	SEEN_BYTES = 15 * 1024, /* libmicrohttpd may refuse a larger head */
	MOST_PARAMETERS = 128,
	BUFFER_BYTES = 256 * 1024,
	STATUSES = 600,
};

/* What is added to a request. */
struct extras {
	size_t parameters, parameter_len;
	size_t headers, header_len; /* of the value */
	size_t cookies, cookie_len; /* all in one header */
};

static struct redis_server redis;
static struct daemon patternd;
static size_t answered[STATUSES]; /* by status */
static size_t pages;              /* refusals by libmicrohttpd's own page */

/* ---- A request ---- */

struct head {
	char *bytes; /* owned */
	size_t len, target_len, headers;
};

static void add(struct head *h, const char *text)
{
	size_t len = strlen(text);

	assert_true(h->len + len < BUFFER_BYTES);
	memcpy(h->bytes + h->len, text, len + 1);
	h->len += len;
}

static void add_times(struct head *h, char c, size_t times)
{
	assert_true(h->len + times < BUFFER_BYTES);
	memset(h->bytes + h->len, c, times);
	h->len += times;
	h->bytes[h->len] = '\0';
}

static void add_header(struct head *h, const char *line)
{
	add(h, line);
	h->headers++;
}

static struct head head_of(const char *method, const char *path, const struct extras *e)
{
	struct head h = { .bytes = malloc(BUFFER_BYTES) };

	assert_non_null(h.bytes);
	add(&h, method);
	add(&h, " ");
	size_t start = h.len;
	add(&h, path);
	for (size_t i = 0; i < e->parameters; i++) {
		add(&h, i ? "&" : "?");
		add_times(&h, 'a', e->parameter_len);
	}
	h.target_len = h.len - start;
	add(&h, " HTTP/1.1\r\n");
	add_header(&h, "Host: localhost\r\n");
	for (size_t i = 0; i < e->headers; i++) {
		add_header(&h, "X: ");
		add_times(&h, 'b', e->header_len);
		add(&h, "\r\n");
	}
	if (e->cookies)
		add_header(&h, "Cookie: ");
	for (size_t i = 0; i < e->cookies; i++) {
		add_times(&h, 'c', e->cookie_len);
		add(&h, "=;");
	}
	if (e->cookies)
		add(&h, "\r\n");
	return h;
}

/* ---- Its response ---- */

static size_t weight_of(const struct head *h)
{
	return h->len + h->headers * HEADER_BYTES;
}

/* Returns the status that the daemon must answer: `served` when the head is within all limits. */
static int status_wanted(const struct head *h, const struct extras *e, int served)
{
	if (h->target_len > TARGET_BYTES)
		return 414;
	if (weight_of(h) > HEAD_BYTES)
		return 431;
	return e->parameters ? 400 : served; /* the parameters are too many, or unknown */
}

static const char *code_wanted(int status, const struct extras *e)
{
	return status == 414                     ? "target_too_long"
	       : status == 431                   ? "headers_too_large"
	       : e->parameters > MOST_PARAMETERS ? "malformed_request"
						 : NULL;
}

static bool names_limit(struct answer a)
{
	const char *detail = text_at(a, "/detail");

	return a.status == 414 ? strstr(detail, "8192") != NULL : a.status != 431 || strstr(detail, "12288");
}

/*
 * libmicrohttpd 0.9.75 closes the connection without a response when less than 80 bytes of its
 * memory are left.
 */
static bool is_at_the_end(struct answer a, const struct head *h)
{
	return strcmp(a.error, "the connection ended") == 0 && weight_of(h) + 250 > POOL_BYTES &&
	       weight_of(h) < POOL_BYTES;
}

static const char *flaw_of(struct answer a, const struct head *h, const struct extras *e, int served)
{
	int wanted = status_wanted(h, e, served);

	if (a.status == 0)
		return is_at_the_end(a, h) ? NULL : a.error;
	if (weight_of(h) > SEEN_BYTES && !header_of(a, "X-Request-ID")) {
		pages++;
		return a.status == 414 || a.status == 431 ? NULL : "the status of a page";
	}
	if (a.status != wanted)
		return "status";
	if (a.status < 400)
		return NULL;
	const char *flaw = problem_flaw(a, wanted, code_wanted(wanted, e), "none");
	return flaw ? flaw : names_limit(a) ? NULL : "the detail does not name the limit";
}

static void check(struct answer a, const struct head *h, const struct extras *e, int served, const char *form)
{
	const char *flaw = flaw_of(a, h, e, served);

	answered[a.status ? a.status : 431]++; /* the log has 431 for a head that got no response */
	if (!flaw)
		return;
	answer_print(a);
	fail_msg("%s, %zu parameters of %zu, %zu headers of %zu, %zu cookies of %zu (head of %zu bytes): %s", form,
		 e->parameters, e->parameter_len, e->headers, e->header_len, e->cookies, e->cookie_len, h->len, flaw);
}

static const struct extras none = { 0 };

static void get_on(struct raw *r, const struct extras *e, const char *form)
{
	struct head h = head_of("GET", "/healthz", e);

	add(&h, "\r\n");
	raw_send(r, h.bytes, h.len);
	check(raw_answer(r, ANSWER_MS), &h, e, 200, form);
	free(h.bytes);
}

static void receive_on(struct raw *r, const struct extras *e)
{
	static const char body[] = "{\"wait_ms\":5}";
	char length[64];
	struct head h = head_of("POST", "/queues/empty/receive", e);

	add_header(&h, "Content-Type: application/json\r\n");
	snprintf(length, sizeof(length), "Content-Length: %zu\r\n", sizeof(body) - 1);
	add_header(&h, length);
	add(&h, "\r\n");
	size_t body_at = h.len;
	add(&h, body);
	raw_send(r, h.bytes, h.len);
	h.len = body_at;
	check(raw_answer(r, ANSWER_MS), &h, e, 200, "waiting");
	free(h.bytes);
}

static void each_form(struct extras e)
{
	struct raw *r = raw_connect(patternd.port);

	get_on(r, &e, "first on its connection");
	raw_close(r);
	r = raw_connect(patternd.port);
	get_on(r, &none, "before");
	get_on(r, &e, "second on its connection");
	raw_close(r);
	r = raw_connect(patternd.port);
	receive_on(r, &e);
	raw_close(r);
}

/* ---- Sweeps ---- */

static const size_t numbers[] = { 1, 2, 30, 63, 64, 100, 127, 128, 129, 150, 171, 186, 200, 500, 1000, 4000, 5000 };
static const size_t lengths[] = { 1, 10, 40, 60, 200, 1000, 4000, 8000, 8180, 8190, 9000, 12000, 14000, 20000, 60000 };

/* Tests larger heads only once: they are all refused alike. */
static bool is_worth_it(size_t number, size_t len)
{
	return number == 1 || number * len <= 24000;
}

TEST(test_parameters)
{
	for (size_t n = 0; n < COUNT(numbers); n++)
		for (size_t l = 0; l < COUNT(lengths); l++)
			if (is_worth_it(numbers[n], lengths[l]))
				each_form((struct extras){ .parameters = numbers[n], .parameter_len = lengths[l] });
}

TEST(test_headers)
{
	for (size_t n = 0; n < COUNT(numbers); n++)
		for (size_t l = 0; l < COUNT(lengths); l++)
			if (is_worth_it(numbers[n], lengths[l]))
				each_form((struct extras){ .headers = numbers[n], .header_len = lengths[l] });
}

TEST(test_cookies)
{
	for (size_t n = 0; n < COUNT(numbers); n++)
		for (size_t l = 0; l < COUNT(lengths); l++)
			if (is_worth_it(numbers[n], lengths[l]))
				each_form((struct extras){ .cookies = numbers[n], .cookie_len = lengths[l] });
}

TEST(test_mixes)
{
	static const size_t few[] = { 1, 40, 128, 400, 1300, 4000 }, short_ones[] = { 1, 20, 60, 200, 3900 };
	const size_t most = 16000;

	for (size_t p = 0; p < COUNT(few); p++)
		for (size_t q = 0; q < COUNT(short_ones); q++)
			for (size_t n = 0; n < COUNT(few); n++)
				for (size_t l = 0; l < COUNT(short_ones); l++) {
					struct extras e = { few[p], short_ones[q], few[n], short_ones[l], 3, 100 };
					if (few[p] * short_ones[q] < most && few[n] * short_ones[l] < most)
						each_form(e);
				}
}

/*
 * Grows the head byte by byte across the bound, where the last served request fills the memory of
 * the connection.
 */
TEST(test_edges)
{
	for (size_t len = TARGET_BYTES - 20; len < TARGET_BYTES + 4; len++)
		each_form((struct extras){ .parameters = 1, .parameter_len = len });
	for (size_t headers = 1; headers <= 160; headers += 53)
		for (size_t sum = HEAD_BYTES - 400; sum < HEAD_BYTES + 100; sum += 7)
			each_form(
				(struct extras){ .headers = headers, .header_len = sum / headers - HEADER_BYTES - 5 });
	for (size_t len = POOL_BYTES - 550; len < POOL_BYTES - 400; len++)
		each_form((struct extras){ .headers = 1, .header_len = len });
	for (size_t len = SEEN_BYTES - 1000; len < SEEN_BYTES + 1500; len += 25)
		each_form((struct extras){ .headers = 1, .header_len = len });
}

/*
 * Sends as many names as the contract allows, of the longest length, with each byte
 * percent-encoded.
 */
TEST(test_promised_names)
{
	static const char *const targets[][2] = { { "/uv/combine?", "name" },
						  { "/sets/combine?limit=1000", "union" },
						  { "/sets/combine?limit=1000", "subtract" },
						  { "/sets/combine?limit=1000", "intersect" } };

	for (size_t t = 0; t < COUNT(targets); t++) {
		struct head h = { .bytes = malloc(BUFFER_BYTES), .len = 0 };
		struct raw *r = raw_connect(patternd.port);
		char name[32];

		assert_non_null(h.bytes);
		add(&h, "GET ");
		add(&h, targets[t][0]);
		for (int i = 0; i < 10; i++) {
			snprintf(name, sizeof(name), "&%s=%%3%d", targets[t][1], i);
			add(&h, i || t ? name : name + 1);
			for (int byte = 1; byte < 200; byte++)
				add(&h, "%6e");
		}
		add(&h, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
		raw_send(r, h.bytes, h.len);
		struct answer a = raw_answer(r, ANSWER_MS);
		assert_status(a, 200);
		answered[a.status]++;
		raw_close(r);
		free(h.bytes);
	}
}

/* Records one exchange for the contract's list of codes. */
TEST(test_contract)
{
	struct raw *r = raw_connect(patternd.port);
	struct head h = { .bytes = malloc(BUFFER_BYTES) };

	assert_non_null(h.bytes);
	add(&h, "Host: localhost\r\n");
	for (int i = 0; i < 200; i++)
		add(&h, "X: y\r\n");
	add(&h, "\r\n");
	struct answer a = raw_exchange(r, "GET", "/locks", h.bytes, ANSWER_MS);
	assert_problem(a, 431, "headers_too_large", "none");
	answered[a.status]++;
	assert_true(raw_closed(r, ANSWER_MS));
	raw_close(r);
	free(h.bytes);
}

/* ---- The log ---- */

static size_t count(const char *text, const char *piece)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
		n++;
	return n;
}

static bool is_logged(int status)
{
	char piece[32], *text = file_text(patternd.proc.err_path);

	snprintf(piece, sizeof(piece), "\"status\":%d,", status);
	size_t lines = text ? count(text, piece) : 0;
	free(text);
	return lines >= answered[status];
}

/* Each request of the sweeps has one line. The start and the end of the daemon add theirs. */
TEST(test_log)
{
	for (int status = 201; status < STATUSES; status++)
		wait_until(is_logged(status), ANSWER_MS);
	char *text = file_text(patternd.proc.err_path);
	for (int status = 201; status < STATUSES; status++) {
		char piece[32];
		snprintf(piece, sizeof(piece), "\"status\":%d,", status);
		if (status != 503) /* of /readyz, until Redis is connected */
			assert_int_equal(count(text, piece), answered[status]);
	}
	free(text);
	rows_figure("responses of libmicrohttpd itself to heads that are too large", (long long)pages);
	assert_true(daemon_is_alive(&patternd));
}

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--log-level", "info");
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
