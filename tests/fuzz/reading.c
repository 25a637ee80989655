#include "reading.h"

#include "fuzz.h"

/* One response's head. */
struct head {
	int status;
	bool is_ours;
	bool chunked;
	bool has_length;
	size_t length;
};

static bool starts(struct text t, const char *with)
{
	size_t len = strlen(with);

	return t.len >= len && strncasecmp(t.at, with, len) == 0;
}

static void skip(struct text *rest, size_t len)
{
	rest->at += len;
	rest->len -= len;
}

/* The next line without its end; absent when it is not whole. */
static struct text take_line(struct text *rest)
{
	const char *end = rest->len ? memmem(rest->at, rest->len, "\r\n", 2) : NULL;
	struct text line = { rest->at, end ? (size_t)(end - rest->at) : 0 };

	if (!end)
		return (struct text){ 0 };
	skip(rest, line.len + 2);
	return line;
}

static void take_header(struct head *h, struct reading *r, struct text line)
{
	CHECK(line.len < 8192 && memchr(line.at, ':', line.len) && !memchr(line.at, '\0', line.len));
	if (starts(line, "Content-Length: ")) {
		CHECK(!h->has_length);
		h->has_length = true;
		h->length = strtoul(line.at + 16, NULL, 10);
	} else if (starts(line, "Transfer-Encoding: chunked")) {
		h->chunked = true;
	} else if (starts(line, "Content-Type: text/event-stream")) {
		r->is_stream = true;
	} else if (starts(line, "Connection: close")) {
		r->was_to_be_last = true;
	} else if (starts(line, "X-Request-ID: ")) {
		h->is_ours = true;
	}
}

/* Returns false if it is not whole. */
static bool take_head(struct text *rest, struct head *h, struct reading *r)
{
	struct text line = take_line(rest);

	*h = (struct head){ 0 };
	r->is_stream = false;
	if (!line.at)
		return false;
	CHECK(line.len >= 12 && (starts(line, "HTTP/1.1 ") || starts(line, "HTTP/1.0 ")));
	h->status = (int)strtol(line.at + 9, NULL, 10);
	CHECK(h->status >= 100 && h->status <= 599);
	while ((line = take_line(rest)).len > 0)
		take_header(h, r, line);
	return line.at != NULL;
}

static bool take_chunks(struct text *rest)
{
	for (;;) {
		struct text line = take_line(rest);
		if (!line.at)
			return false;
		size_t size = strtoul(line.at, NULL, 16);
		CHECK(line.len > 0 && line.len < 9 && strspn(line.at, "0123456789abcdefABCDEF") == line.len);
		if (rest->len < size + 2)
			return false;
		skip(rest, size);
		CHECK(memcmp(rest->at, "\r\n", 2) == 0);
		skip(rest, 2);
		if (size == 0)
			return true;
	}
}

/*
 * An answer to HEAD has a length and no body, so the next answer or nothing follows. A stream has
 * no length, and in HTTP/1.0 no chunks either: it lasts as long as its connection.
 */
static bool take_body(struct text *rest, const struct head *h, bool is_stream)
{
	bool has_none = h->status == 204 || h->status == 304 || h->status < 200;

	if (has_none || starts(*rest, "HTTP/1."))
		return true;
	if (h->chunked)
		return rest->len == 0 || take_chunks(rest);
	CHECK(h->has_length || is_stream || rest->len == 0);
	if (!h->has_length)
		skip(rest, rest->len);
	if (rest->len < h->length) {
		bool is_head = rest->len == 0;
		skip(rest, rest->len);
		return is_head;
	}
	skip(rest, h->length);
	return true;
}

struct reading reading_of(struct text bytes)
{
	struct reading r = { .is_whole = true };
	struct head h;

	while (bytes.len > 0 && r.is_whole) {
		CHECK(!r.was_to_be_last);
		r.is_whole = take_head(&bytes, &h, &r);
		r.answers += h.status >= 200;
		/*
		 * When libmicrohttpd itself refuses a request, its answer is the last one. The
		 * rest is not read, because 0.9.75 writes some of these heads twice.
		 */
		if (h.status >= 200 && !h.is_ours && r.is_whole)
			break;
		r.is_whole = r.is_whole && take_body(&bytes, &h, r.is_stream);
	}
	return r;
}
