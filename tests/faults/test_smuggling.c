/*
 * Request smuggling. The test misspells header lines as public corpora do (smuggler,
 * http-request-smuggler, the tests of llhttp and ATS). It sends each line in the places where a
 * front end and the daemon could read it differently. In these names, the first part is the front
 * end's reading:
 *
 *	TE.CL, CL.TE, CL.CL, CL.0	a request is hidden in what the front end takes for a body
 *	refused				a header that refuses the whole request, however misspelt
 *
 * The test judges by what Redis holds afterwards, not by a status: a hidden request, or a request
 * that must be refused, would have incremented a counter.
 */
#include "../support/daemon.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "requests.h"
#include "test.h"

enum { OPEN = 256, END_MS = 5000, MOST = 20000, MOST_BYTES = 2048, REPORTED = 20 };

struct bytes {
	char at[MOST_BYTES];
	size_t len;
};

static void add(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* %c of 0 adds a NUL. */
static void add(struct bytes *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(b->at + b->len, sizeof(b->at) - b->len, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof(b->at) - b->len);
	b->len += (size_t)n;
}

static void add_bytes(struct bytes *b, const struct bytes *more)
{
	assert_true(b->len + more->len < sizeof(b->at));
	memcpy(b->at + b->len, more->at, more->len);
	b->len += more->len;
}

/* ---- Sending ---- */

static struct redis_server redis;
static struct daemon patternd;
static struct raw *under_way[OPEN];
static char *sent[MOST]; /* by serial: what was misspelt, and how it was sent */
static int serial;

/* Adds a hidden request that increments the counter of the current serial. */
static void add_counting(struct bytes *b, const char *headers, size_t headers_len)
{
	struct bytes given = { .len = headers_len };

	memcpy(given.at, headers, headers_len);
	add(b, "POST /counters/h%d/increment HTTP/1.1\r\n" HOST JSON "Content-Length: 20\r\n", serial);
	add_bytes(b, &given);
	add(b, "\r\n{\"counters\":{\"n\":1}}");
}

static void finish(int place)
{
	if (under_way[place] && !raw_closed(under_way[place], END_MS))
		fail_msg("the connection does not end");
	raw_close(under_way[place]);
	under_way[place] = NULL;
}

/*
 * Adds a last request that asks for the end of the connection, in case the connection continues,
 * and sends everything. The test prints `how` and `line` if the hidden request had an effect.
 */
static void send_it(struct bytes *b, const char *how, const struct bytes *line)
{
	int place = serial % OPEN;
	char *text = calloc(1, strlen(how) + 4 * line->len + 8);

	assert_in_range(serial, 0, MOST - 1);
	assert_non_null(text);
	char *at = text + sprintf(text, "%s: ", how);
	for (size_t i = 0; i < line->len; i++)
		at += line->at[i] >= ' ' && line->at[i] <= '~' ? sprintf(at, "%c", line->at[i])
							       : sprintf(at, "\\x%02x", (unsigned char)line->at[i]);
	sent[serial++] = text;
	add(b, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
	finish(place);
	under_way[place] = raw_connect(patternd.port);
	raw_send(under_way[place], b->at, b->len);
}

/* Sends a request with these header lines and this body. */
static void send_front(const char *how, const char *length, const struct bytes *line, const char *before,
		       const struct bytes *body)
{
	struct bytes b = { .len = 0 };

	add(&b, "POST /counters/front/increment HTTP/1.1\r\n" HOST JSON);
	if (before)
		add(&b, "%s%s\r\n", length, before);
	add_bytes(&b, line);
	add(&b, "\r\n\r\n");
	add_bytes(&b, body);
	send_it(&b, how, line);
}

/* A lenient front end reads `line` as Transfer-Encoding: chunked. */
static void send_chunked(const struct bytes *line)
{
	struct bytes hidden = { .len = 0 }, body = { .len = 0 };
	char length[32];

	add_counting(&hidden, "", 0);
	add(&body, "%zx\r\n", hidden.len);
	snprintf(length, sizeof(length), "%zu", body.len);
	add_bytes(&body, &hidden);
	add(&body, "\r\n0\r\n\r\n");
	send_front("TE.CL", "Content-Length: ", line, length, &body);

	hidden.len = body.len = 0;
	add_counting(&hidden, "", 0);
	add(&body, "0\r\n\r\n");
	add_bytes(&body, &hidden);
	snprintf(length, sizeof(length), "%zu", body.len);
	send_front("CL.TE", "Content-Length: ", line, length, &body);
}

typedef void spell(struct bytes *line, const char *name, const char *value, const void *how);

/*
 * The misspelt line is a Content-Length: the length of everything that follows, or of its first two
 * bytes.
 */
static void send_lengths(spell *misspell, const void *how)
{
	struct bytes hidden = { .len = 0 }, body = { .len = 0 }, line = { .len = 0 };
	char length[32];

	add_counting(&hidden, "", 0);
	snprintf(length, sizeof(length), "%zu", hidden.len);
	misspell(&line, "Content-Length", length, how);
	send_front("CL.0", "", &line, NULL, &hidden);

	for (int is_first = 0; is_first < 2; is_first++) {
		hidden.len = body.len = line.len = 0;
		add(&body, "{}");
		add_counting(&hidden, "", 0);
		add_bytes(&body, &hidden);
		snprintf(length, sizeof(length), "%zu", body.len);
		misspell(&line, "Content-Length", is_first ? length : "2", how);
		send_front("CL.CL", "Content-Length: ", &line, is_first ? "2" : length, &body);
	}
}

/* Each of these headers is a reason to refuse the request, if the daemon reads it at all. */
static void send_refused(spell *misspell, const void *how)
{
	static const char *const headers[][2] = {
		{ "Host", "evil.example" },    { "Origin", "https://evil.example" },
		{ "Accept", "text/html" },     { "Sec-Fetch-Site", "cross-site" },
		{ "Idempotency-Key", "\"\"" }, { "Content-Encoding", "gzip" },
		{ "Expect", "a-miracle" },     { "Content-Type", "text/plain" },
	};

	for (size_t i = 0; i < COUNT(headers); i++) {
		struct bytes line = { .len = 0 }, b = { .len = 0 };
		misspell(&line, headers[i][0], headers[i][1], how);
		struct bytes whole = line;
		add(&whole, "\r\n");
		add_counting(&b, whole.at, whole.len);
		send_it(&b, "refused", &line);
	}
}

static void send_all(spell *misspell, const void *how)
{
	struct bytes line = { .len = 0 };

	misspell(&line, "Transfer-Encoding", "chunked", how);
	send_chunked(&line);
	send_lengths(misspell, how);
	send_refused(misspell, how);
}

/* ---- Misspelling ---- */

/*
 * N: the name, V: the value, B: the byte; n and m: the parts of the name before and after its dash.
 */
struct pattern {
	const char *text;
	char byte;
};

static void by_pattern(struct bytes *line, const char *name, const char *value, const void *how)
{
	const struct pattern *p = how;
	size_t first = strcspn(name, "-");

	for (const char *at = p->text; *at; at++)
		if (*at == 'N')
			add(line, "%s", name);
		else if (*at == 'V')
			add(line, "%s", value);
		else if (*at == 'n')
			add(line, "%.*s", (int)first, name);
		else if (*at == 'm')
			add(line, "%s", name[first] ? name + first + 1 : "");
		else
			add(line, "%c", *at == 'B' ? p->byte : *at);
}

static bool is_tchar(int c)
{
	return c && strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c);
}

static void each_byte(const char *const *patterns, bool (*is_meant)(int))
{
	for (; *patterns; patterns++)
		for (int c = 0; c < 256; c++)
			if (is_meant(c))
				send_all(by_pattern, &(struct pattern){ *patterns, (char)c });
}

static bool is_not_tchar(int c)
{
	return !is_tchar(c) && (c < 0x30 || c == 0x7f || c == 0x85 || c == 0xa0 || c == 0xff);
}

static bool is_control(int c)
{
	return (c < ' ' && c != '\t') || c == 0x7f;
}

/* ---- What Redis holds ---- */

static void finish_all(void)
{
	for (int i = 0; i < OPEN; i++)
		finish(i);
}

static void nothing_counted(void)
{
	finish_all();
	redisReply *keys = server_command(&redis, "KEYS %s", "*{h*");
	for (size_t i = 0; i < keys->elements && i < REPORTED; i++)
		print_error("%s\n", sent[atoi(strstr(keys->element[i]->str, "{h") + 2)]);
	if (keys->elements)
		fail_msg("%zu of %d requests had an effect", keys->elements, serial);
}

/* ---- The tests ---- */

/* Sends names that are not tokens (RFC 9110, 5.6.2), and names with '_' for '-'. */
TEST(names)
{
	static const char *const patterns[] = { "BN: V", "NB: V", "nBm: V", NULL };
	static const char *const others[] = { "n_m: V",   "N : V",     "N\t: V",   ": N: V",
					      "N\r\n: V", ":\r\nN: V", " \r\nN: V" };

	each_byte(patterns, is_not_tchar);
	for (size_t i = 0; i < COUNT(others); i++)
		if (i > 0) /* Host, Origin, Accept and Expect have no dash */
			send_all(by_pattern, &(struct pattern){ others[i], 0 });
		else {
			struct bytes line = { .len = 0 };
			by_pattern(&line, "Transfer-Encoding", "chunked", &(struct pattern){ others[i], 0 });
			send_chunked(&line);
			send_lengths(by_pattern, &(struct pattern){ others[i], 0 });
		}
	nothing_counted();
}

/* Sends one line that some programs read as two, and two lines that some read as one. */
TEST(lines)
{
	static const char *const patterns[] = { "X: XBN: V",   "N: VBX: X",   "X: X\rBN: V", "N: V\rBX: X",
						"X: XB\nN: V", "N: VB\nX: X", "X:BN: V",     NULL };
	static const char *const folds[] = {
		"N:\r\n V",           "N:\r\n\tV",     "N:\n V",       "N:\r V",         "N: \r\n V",
		"N:\r\n \r\n V",      "N\r\n : V",     "N\n : V",      "X:\r\n N: V",    "X:\n N: V",
		"X: x\r\n N: V",      "X: x\n N: V",   "N: V\r\n ",    "N: V\r\n \r\n ", "N: V\n ",
		"N: V\r\n\t",         "N: V\r\n , x",  "N: V,\r\n x",  "N:\r\n\r V",     "N:\r\n x\r\n V",
		"Y: y\r\n z\r\nN: V", "N:\r\n V\r\n ", "N:\r\n  \t V", "N:\n\tV\n ",
	};

	each_byte(patterns, is_control);
	for (size_t i = 0; i < COUNT(folds); i++)
		send_all(by_pattern, &(struct pattern){ folds[i], 0 });
	nothing_counted();
}

/* Sends values that two programs may understand differently. */
TEST(values)
{
	static const char *const patterns[] = { "N:BV", "N: BV", "N: VB", "N: V B", "N: B V", "N: V,B", NULL };
	static const char *const encodings[] = {
		"chunked",
		" chunked ",
		"Chunked",
		"CHUNKED",
		"chunked, identity",
		"identity, chunked",
		"chunked,",
		",chunked",
		"\"chunked\"",
		"'chunked'",
		"chunked;q=1",
		"chunked chunked",
		"xchunked",
		"chunkedx",
		"chun ked",
		"cow",
		"identity",
		"",
		"gzip, chunked",
		"chunked\r\nTransfer-Encoding: cow",
		"cow\r\nTransfer-Encoding: chunked",
		"chunked\r\nTransfer-encoding: identity",
	};
	static const char *const lengths[] = {
		"N: +V",        "N: -V",        "N: V,V",       "N: V, V", "N: V V",   "N: 0xV",
		"N: V.0",       "N: Ve0",       "N: V;",        "N: 'V'",  "N: \"V\"", "N: 0V",
		"N: V\r\nN: 2", "N: 2\r\nN: V", "N: V\r\nN: V", "N: ",     "N: x",     "N: 18446744073709551616"
	};

	for (size_t i = 0; patterns[i]; i++)
		for (int c = 0; c < 256; c++) {
			struct pattern p = { patterns[i], (char)c };
			struct bytes line = { .len = 0 };
			by_pattern(&line, "Transfer-Encoding", "chunked", &p);
			send_chunked(&line);
			/* A digit makes another number: the daemon would wait for as many bytes. */
			if (c < '0' || c > '9')
				send_lengths(by_pattern, &p);
		}
	for (size_t i = 0; i < COUNT(encodings); i++) {
		struct bytes line = { .len = 0 };
		add(&line, "Transfer-Encoding:%s", encodings[i]);
		send_chunked(&line);
	}
	for (size_t i = 0; i < COUNT(lengths); i++)
		send_lengths(by_pattern, &(struct pattern){ lengths[i], 0 });
	nothing_counted();
}

/*
 * A header with another name hides a request. The hidden request is seen here, so this test can
 * detect one.
 */
TEST(hidden_ones_are_seen)
{
	int first = serial;

	send_all(by_pattern, &(struct pattern){ "X-N: V", 0 });
	int last = serial;
	finish_all();
	redisReply *keys = server_command(&redis, "KEYS %s", "*{h*");
	/* Two are missing: CL.TE, and where the first length covers everything. */
	assert_int_equal(keys->elements, last - first - 2);
}

/*
 * The daemon serves a valid head, wherever it lies in libmicrohttpd's buffer and in however many
 * pieces it arrives.
 */
TEST(right_ones_are_served, .before = no_fixture)
{
	static const char head[] = "GET /counters/a?x%3D=1&y HTTP/1.1\r\n" HOST
				   "Cookie: a=b; c=\"d\"\r\nX-Empty:\r\nX-Blank: \t \r\nX-Tab:\ta\tb \t\r\n"
				   "X-Text: \xc3\xa9\xff\r\n!#$%&'*+-.^_`|~09azAZ::v:\r\n";
	struct raw *r = raw_connect(patternd.port);

	for (size_t piece = 1; piece < 12000; piece = piece * 3 + 1) {
		char text[16384], filler[64];
		size_t len = (size_t)sprintf(text, "%s", head);
		for (size_t i = 0; i < 11; i++) {
			snprintf(filler, sizeof(filler), "X-Filler-%zu: ", i);
			len += (size_t)sprintf(text + len, "%s%0*d\r\n", filler, (int)(piece % 700), 0);
		}
		len += (size_t)sprintf(text + len, "\r\n%s\r\n", head); /* a second request follows the first */
		for (size_t at = 0; at < len; at += piece)
			raw_send(r, text + at, at + piece < len ? piece : len - at);
		for (int i = 0; i < 2; i++) {
			struct answer a = raw_answer(r, END_MS);
			assert_status(a, 400); /* refused for its query, so its head was read */
			assert_string_equal(text_at(a, "/code"), "unknown_field");
		}
		raw_forget(r);
	}
	raw_close(r);
}

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--header-timeout-ms", "500", "--body-timeout-ms", "500",
		     "--idle-timeout-ms", "1000");
	return 0;
}

static int start_clean(void **state)
{
	server_command(&redis, "FLUSHALL");
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	for (int i = 0; i < serial; i++)
		free(sent[i]);
	return 0;
}

SUITE(.open = set_up, .close = tear_down, .before = start_clean);
