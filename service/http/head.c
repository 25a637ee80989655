#include "http/head.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

/* The value of a header that replaces the client's cookies; see http_head_hide. */
static const char no_cookies[] = " ";

struct wanted_header {
	const char *name;
	struct text value; /* of the first line; absent: not found */
	unsigned lines;
};

static enum MHD_Result find_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct wanted_header *wanted = cls;

	(void)kind;
	if (value == no_cookies || strcasecmp(name, wanted->name) != 0)
		return MHD_YES;
	if (wanted->lines++ == 0)
		wanted->value = text_of(value ? value : "");
	return MHD_YES;
}

struct text http_head_value(struct request *req, const char *name, unsigned *lines)
{
	struct client *c = req->exchange;
	struct wanted_header wanted = { .name = name };

	MHD_get_connection_values(c->connection, MHD_HEADER_KIND, find_header, &wanted);
	if (lines)
		*lines = wanted.lines;
	return wanted.value;
}

/*
 * libmicrohttpd (0.9.75 and 1.0.1) parses the query in place after this callback: for it, the query
 * ends where its first parameter would begin. Of several Cookie headers it parses the first.
 */
void http_head_hide(const char *target, struct MHD_Connection *connection)
{
	char *query = (char *)(uintptr_t)strchr(target, '?');

	if (query && query[1])
		query[1] = '\0';
	MHD_set_connection_value(connection, MHD_HEADER_KIND, "Cookie", no_cookies);
}

/*
 * The head of a request in the buffer of libmicrohttpd before 1.0, while its header lines are
 * walked in their order. libmicrohttpd parses in place: a NUL replaces each space of the request
 * line, and each colon, CR and LF that it takes for a delimiter. So a head that was read as in RFC
 * 9112 is one line after the other, without a gap. There is a gap (0.9.75, process_broken_line)
 * after a folded header, whose second line was appended to a copy of the header's name; after a
 * line that ends in a bare LF; and after a NUL, which cuts the line off. Two programs can read such
 * a head differently. libmicrohttpd 1.0 itself rejects all of these at this level of
 * MHD_OPTION_STRICT_FOR_CLIENT.
 */
struct header_walk {
	struct http_headers *headers;
	const char *next; /* where the next line must begin; NULL: there was a gap */
};

/* Returns true if the line at `at` follows without a gap. */
static bool is_next(const struct header_walk *h, const char *at)
{
	return h->next && h->next == at;
}

static const char *behind_crlf(const char *end)
{
	return end[0] == '\0' && end[1] == '\0' ? end + 2 : NULL;
}

static const char *behind_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header_walk *h = cls;

	(void)kind;
	if (value == no_cookies)
		return MHD_YES;
	if (!value)
		value = "";
	bool is_whole = is_next(h, name) && behind_blanks(name + strlen(name) + 1) == value;
	h->next = is_whole ? behind_crlf(value + strlen(value)) : NULL;
	http_headers_add(h->headers, name, value);
	return MHD_YES;
}

/* Returns where the first header must begin; NULL: a NUL has cut the target short. */
static const char *behind_request_line(const struct request *req, const char *version, const char *url)
{
	if (req->asked.method + strlen(req->asked.method) + 1 != url || url + req->asked.target.len + 1 != version)
		return NULL;
	return behind_crlf(version + strlen(version));
}

void http_head_read(struct precheck *p, struct client *c, const char *url)
{
	bool is_lenient = MHD_get_version()[0] == '0';
	struct header_walk h = { &p->headers, is_lenient ? behind_request_line(c->req, p->version, url) : NULL };

	MHD_get_connection_values(c->connection, MHD_HEADER_KIND, on_header, &h);
	p->head_bytes = MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
	if (is_lenient && (!h.next || behind_crlf(h.next) != c->req->asked.method + p->head_bytes))
		p->headers.flaw =
			"each line of the head must end with CRLF and contain no NUL; no header may continue on a second line";
}
