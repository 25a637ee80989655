/*
 * Hostile HTTP: requests that are framed or addressed as no client should. Each row begins with the
 * number of its kind:
 *
 *	1 both framings   2, 3 Content-Length   4 Transfer-Encoding   5 chunks   6 header syntax
 *	7 Host   8 browsers   9 methods and targets   10 bytes in targets   12 too long
 *	13 too large   16 Expect   18 a body where none belongs
 *
 * The answer must be a refusal (4xx) that is a problem. libmicrohttpd may answer with its own page
 * when it refuses a request before the daemon sees it. There is one answer, never two, and the
 * daemon serves as before.
 */
#include "../support/daemon.h"
#include "../support/exchange.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/rows.h"
#include "hostile_rows.h"
#include "test.h"

enum { BODY_MS = 400, ANSWER_MS = 3000, BODY_LIMIT = 3 * 65536 };

static struct redis_server redis;
static struct daemon patternd;

/* ---- Malformed requests ---- */

static bool is_one_of(int status, const int wanted[5])
{
	for (int i = 0; i < 5 && wanted[i]; i++)
		if (wanted[i] == status)
			return true;
	return false;
}

static bool is_page(struct answer a)
{
	const char *type = header_of(a, "Content-Type");

	return !type || strncmp(type, "text/html", 9) == 0;
}

/* Returns what is wrong with the answer to a row; NULL: nothing. */
static const char *flaw_of(const struct row *row, struct answer a)
{
	if (a.status == 0)
		return row->page_ok && strcmp(a.error, "the connection ended") == 0 ? NULL : "no answer";
	if (!is_one_of(a.status, row->status))
		return "status";
	if (a.status < 400)
		return NULL;
	if (row->page_ok && is_page(a))
		return NULL;
	return problem_flaw(a, a.status, row->code, "none");
}

/* Records the exchange if the row has a valid request line. */
static void record(const struct row *row, struct answer a)
{
	char method[16], target[256];

	if (sscanf(row->request, "%15s %255s", method, target) == 2 && *target == '/' && header_of(a, "X-Request-ID"))
		exchange_record(method, target, a);
}

/* Returns /metrics, read over a separate connection. The caller frees. */
static char *metrics_text(void)
{
	struct client *c = client_open(patternd.port);
	char *text = strdup(http(c, "GET", "/metrics", NULL).body);

	client_close(c);
	return text;
}

/* Returns the sum of all numbers behind `series`. */
static long sum_of(const char *text, const char *series)
{
	long sum = 0;

	for (const char *at = text; (at = strstr(at, series)); at += strlen(series))
		sum += atol(at + strlen(series));
	return sum;
}

/* Returns by how much the sum has grown since `before`. */
static long added(const char *before, const char *series)
{
	char *now = metrics_text();
	long more = sum_of(now, series) - sum_of(before, series);

	free(now);
	return more;
}

#define MALFORMED "\npatternd_requests_malformed_total "
#define LEFT ",status=\"499\"} "

/*
 * Each refusal is counted once: the daemon's own refusals by their status, libmicrohttpd's as
 * malformed. No refusal counts as a client that left.
 */
static void assert_counted(struct answer a, const char *before)
{
	bool is_own = header_of(a, "X-Request-ID") != NULL;
	char of_status[32];

	snprintf(of_status, sizeof(of_status), ",status=\"%d\"} ", a.status);
	wait_until(added(before, is_own ? of_status : MALFORMED) >= 1, ANSWER_MS);
	assert_int_equal(added(before, MALFORMED), !is_own);
	if (is_own)
		assert_int_equal(added(before, of_status), 1);
	assert_int_equal(added(before, LEFT), 0);
}

static void test_row(void **state)
{
	const struct row *row = *state;
	char *before = metrics_text();
	struct raw *r = raw_connect(patternd.port);

	raw_send(r, row->request, row->len);
	struct answer a = raw_answer(r, ANSWER_MS), first = a;
	record(row, a);
	rows_record(row->name, a);
	const char *flaw = flaw_of(row, a);
	if (flaw) {
		answer_print(a);
		fail_msg("%s", flaw);
	}
	if (row->may_go_on && a.status && raw_text(r, SMUGGLED) && (a = raw_answer(r, ANSWER_MS)).status)
		assert_status(a, 200); /* the daemon may close; if it continues, it must serve */
	if (!row->may_go_on)
		assert_true(raw_closed(r, ANSWER_MS));
	assert_int_equal(raw_answers_left(r), 0);
	if (first.status >= 400)
		assert_counted(first, before);
	free(before);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

TEST_ROWS(test_row, rows, name);

/* ---- Requests too long for a table ---- */

struct long_row {
	const char *name;
	const char *before, *piece;
	size_t times;
	const char *after;
	int status[5];
	bool may_close; /* without an answer, within the deadlines */
};

#define CHUNK "10\r\n0123456789abcdef\r\n" /* 16 bytes */

static const struct long_row long_rows[] = {
	{ "5 chunk extension without end",
	  TAKE "Transfer-Encoding: chunked\r\n" END "1;",
	  "a",
	  1 << 20,
	  "",
	  { 400, 413, 431 },
	  true },
	{ "5 trailers of 1 MB",
	  TAKE "Transfer-Encoding: chunked\r\n" END "0\r\n",
	  "X-Trailer: 0123456789\r\n",
	  45000,
	  "\r\n",
	  { 400, 413, 431 },
	  true },
	{ "5 chunked to 1.5 times the limit",
	  TAKE "Transfer-Encoding: chunked\r\n" END,
	  CHUNK,
	  BODY_LIMIT * 3 / 32,
	  "0\r\n\r\n",
	  { 413 },
	  false },
	{ "5 chunked to 8 times the limit",
	  TAKE "Transfer-Encoding: chunked\r\n" END,
	  CHUNK,
	  BODY_LIMIT * 8 / 16,
	  "0\r\n\r\n",
	  { 413 },
	  true },
	{ "12 target of 9 kB", "GET /locks/", "a", 9000, " HTTP/1.1\r\n" HOST END, { 414 }, false },
	{ "12 target of 40 kB", "GET /locks/", "a", 40000, " HTTP/1.1\r\n" HOST END, { 414, 431 }, true },
	{ "12 2000 headers", GET("/healthz") HOST, "X-A: 0123456789\r\n", 2000, END, { 413, 431 }, true },
	{ "12 a header of 40 kB", GET("/healthz") HOST "X-A: ", "a", 40000, "\r\n" END, { 413, 431 }, true },
	{ "12 1000 parameters", "GET /locks?limit=1", "&x=1", 1000, " HTTP/1.1\r\n" HOST END, { 400, 414, 431 }, true },
	{ "12 1000 times the same parameter",
	  "GET /uv/combine?name=a",
	  "&name=a",
	  999,
	  " HTTP/1.1\r\n" HOST END,
	  { 400, 414, 431 },
	  true },
	{ "12 a parameter twice", "GET /locks?limit=1", "&limit=2", 1, " HTTP/1.1\r\n" HOST END, { 400 }, false },
};

static void test_long_row(void **state)
{
	const struct long_row *row = *state;
	char *before = metrics_text();
	struct raw *r = raw_connect(patternd.port);
	bool sent = raw_text(r, row->before) && raw_repeat(r, row->piece, row->times) && raw_text(r, row->after);
	struct answer a = raw_answer(r, BODY_MS + ANSWER_MS);
	if (a.status == 414)
		exchange_record("GET", "/locks", a);
	rows_record(row->name, a);
	if (a.status == 0) {
		/*
		 * A reset overtakes bytes that were sent before it. Only a request that the daemon
		 * read to the end must get an answer.
		 */
		assert_true(row->may_close);
		assert_string_equal(a.error, "the connection ended");
	} else {
		if (!is_one_of(a.status, row->status))
			answer_print(a);
		assert_true(is_one_of(a.status, row->status));
		assert_true(is_page(a) || !problem_flaw(a, a.status, NULL, "none"));
		assert_counted(a, before);
	}
	free(before);
	assert_true(sent || row->may_close);
	assert_true(raw_answers_left(r) == 0);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

TEST_ROWS(test_long_row, long_rows, name);

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--header-timeout-ms", "400", "--body-timeout-ms", "400",
		     "--idle-timeout-ms", "600", "--max-body-bytes", "65536");
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
