/*
 * http: the client over libcurl; see http.h. Each client has one easy handle, so that its
 * connection stays open between requests.
 */
#include "http.h"

#include <curl/curl.h>
#include <strings.h>

#include "exchange.h"
#include "proc.h"
#include "test.h"

enum { HEADERS_MAX = 32, TIMEOUT_MS = 60000, PAGES_MAX = 1000 };

struct bytes {
	char *at;
	size_t len, size;
};

struct client {
	CURL *curl;
	struct answer_memory *kept;
	struct bytes head, body; /* of the exchange under way */
	int port;
	const char *origin; /* up to the port */
	bool new_connection;
	bool heard; /* the first event of a stream came: it is the answer, and the connection is closed */
	char error[CURL_ERROR_SIZE];
};

static size_t gather(char *at, size_t size, size_t n, void *arg)
{
	struct bytes *b = arg;
	size_t len = size * n;

	if (b->len + len >= b->size) { /* doubled: a sanitizer's realloc copies each time */
		size_t doubled = 2 * (b->len + len) + 1;
		char *grown = realloc(b->at, doubled);
		if (!grown)
			return 0;
		b->at = grown;
		b->size = doubled;
	}
	memcpy(b->at + b->len, at, len);
	b->len += len;
	b->at[b->len] = '\0';
	return len;
}

static size_t gather_body(char *at, size_t size, size_t n, void *arg)
{
	struct client *c = arg;
	size_t taken = gather(at, size, n, &c->body);

	c->heard = c->head.at && strstr(c->head.at, "text/event-stream") && strstr(c->body.at, "\n\n");
	return c->heard ? 0 : taken;
}

/* Each status line starts the head again: the last answer counts, not a 100 before it. */
static size_t gather_head(char *at, size_t size, size_t n, void *arg)
{
	struct bytes *b = arg;

	if (size * n > 5 && memcmp(at, "HTTP/", 5) == 0)
		b->len = 0;
	return gather(at, size, n, b);
}

struct client *client_open(int port)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->port = port;
	c->origin = "http://127.0.0.1";
	c->curl = curl_easy_init();
	assert_non_null(c->curl);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(c->curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c->curl, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, gather_body);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, gather_head);
	curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, &c->head);
	client_timeout_ms(c, TIMEOUT_MS);
	return c;
}

void client_by_unix(struct client *c, const char *path)
{
	curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, path);
	c->origin = "http://localhost";
}

void client_by_tls(struct client *c, const char *ca, const char *cert, const char *key)
{
	c->origin = "https://localhost";
	curl_easy_setopt(c->curl, CURLOPT_CAINFO, ca);
	curl_easy_setopt(c->curl, CURLOPT_SSLCERT, cert);
	curl_easy_setopt(c->curl, CURLOPT_SSLKEY, key);
}

void client_close(struct client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	free(c->head.at);
	free(c->body.at);
	answer_memory_free(&c->kept);
	free(c);
}

void client_forget(struct client *c)
{
	answer_memory_free(&c->kept);
}

void client_timeout_ms(struct client *c, int ms)
{
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)patience_ms(ms));
}

void client_decode(struct client *c)
{
	curl_easy_setopt(c->curl, CURLOPT_ACCEPT_ENCODING, "gzip");
}

void client_reconnect(struct client *c)
{
	c->new_connection = true;
}

static bool names(const char *line, const char *name)
{
	return strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':';
}

/* The headers of the caller, and the client's headers that the caller did not name. */
static struct curl_slist *header_list(const char *const headers[], bool has_body)
{
	struct curl_slist *list = NULL;
	bool typed = false, expects = false;

	for (size_t i = 0; headers && headers[i]; i++) {
		list = curl_slist_append(list, headers[i]);
		typed = typed || names(headers[i], "Content-Type");
		expects = expects || names(headers[i], "Expect");
	}
	if (has_body && !typed)
		list = curl_slist_append(list, "Content-Type: application/json");
	/* libcurl would ask for 100-continue by itself before large bodies. */
	return expects ? list : curl_slist_append(list, "Expect:");
}

static void set_body(struct client *c, const char *method, const void *body, size_t len)
{
	curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(c->curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
	if (body) {
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	}
	curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_target(struct client *c, const char *target)
{
	char url[128];

	snprintf(url, sizeof(url), "%s:%d/", c->origin, c->port);
	curl_easy_setopt(c->curl, CURLOPT_URL, url);
	/* The target goes out byte by byte as the test wrote it. */
	curl_easy_setopt(c->curl, CURLOPT_REQUEST_TARGET, target);
}

struct answer http_bytes(struct client *c, const char *method, const char *target, const void *body, size_t len,
			 const char *const headers[])
{
	struct curl_slist *list = header_list(headers, body != NULL);
	struct answer a;

	c->head.len = c->body.len = 0;
	c->error[0] = '\0';
	set_body(c, method, body, len);
	set_target(c, target);
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c->curl, CURLOPT_FRESH_CONNECT, c->new_connection ? 1L : 0L);
	c->new_connection = c->heard = false;
	int64_t start_us = monotonic_us();
	CURLcode code = curl_easy_perform(c->curl);
	int64_t took_us = monotonic_us() - start_us;
	curl_slist_free_all(list);
	if (code == CURLE_OK || c->heard)
		a = answer_make(&c->kept, c->head.at, c->head.len, c->body.at, c->body.len);
	else
		a = answer_missing(&c->kept, *c->error ? c->error : curl_easy_strerror(code));
	a.took_us = took_us;
	exchange_record(method, target, a);
	return a;
}

struct answer http_exchange(struct client *c, const char *method, const char *target, const char *body, ...)
{
	const char *headers[HEADERS_MAX] = { NULL };
	va_list args;

	va_start(args, body);
	for (size_t i = 0; i < HEADERS_MAX - 1 && (headers[i] = va_arg(args, const char *)); i++)
		continue;
	va_end(args);
	return http_bytes(c, method, target, body, body ? strlen(body) : 0, headers);
}

/* Takes the items. */
static struct answer as_one_page(struct client *c, json_t *items)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
	json_t *page = json_pack("{s:o, s:n}", "items", items, "next_cursor");
	char *text = json_dumps(page, 0);

	assert_non_null(text);
	struct answer a = answer_make(&c->kept, head, sizeof(head) - 1, text, strlen(text));
	free(text);
	json_decref(page);
	return a;
}

struct answer http_all(struct client *c, const char *target)
{
	json_t *items = json_array();
	const char *cursor = NULL;
	char next[1024];

	for (int pages = 0; pages < PAGES_MAX; pages++) {
		snprintf(next, sizeof(next), "%s%s%s%s", target, cursor ? strchr(target, '?') ? "&" : "?" : "",
			 cursor ? "cursor=" : "", cursor ? cursor : "");
		struct answer a = http(c, "GET", next, NULL);
		if (a.status != 200) {
			json_decref(items);
			return a;
		}
		json_array_extend(items, (json_t *)(uintptr_t)json_at(a, "/items"));
		cursor = json_string_value(json_at(a, "/next_cursor"));
		if (!cursor)
			return as_one_page(c, items);
	}
	fail_msg("%s has no end", target);
	return answer_missing(&c->kept, "");
}

static const char *header_with(const char *name, const char *value)
{
	static _Thread_local char headers[4][256];
	static _Thread_local unsigned next;
	char *header = headers[next++ % 4];

	snprintf(header, sizeof(headers[0]), "%s: %s", name, value);
	return header;
}

const char *lock_token(const char *token)
{
	return header_with("Lock-Token", token);
}

const char *fill_ticket(struct answer a)
{
	assert_status(a, 201);
	return header_with("Fill-Ticket", text_at(a, "/ticket"));
}
