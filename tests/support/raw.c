/* raw: sends bytes and parses answers; see raw.h. */
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "exchange.h"
#include "loopback.h"
#include "proc.h"
#include "test.h"

enum { SEND_MS = 5000 };

struct raw {
	int fd;
	SSL *tls;   /* NULL: plain */
	bool ended; /* FIN or an error was read */
	char *in;   /* read and not yet taken; owned, ends in NUL */
	size_t len;
	struct answer_memory *kept;
};

static struct raw *raw_of(int fd)
{
	struct raw *r = fd >= 0 ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	r->fd = fd;
	r->in = calloc(1, 1);
	assert_non_null(r->in);
	return r;
}

struct raw *raw_try_connect(int port)
{
	return raw_of(loopback_connect(port));
}

bool raw_listens(int port)
{
	struct raw *r = raw_try_connect(port);

	raw_close(r);
	return r != NULL;
}

struct raw *raw_connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		fail_msg("no program listens on %s", path);
	return raw_of(fd);
}

struct raw *raw_connect(int port)
{
	struct raw *r = raw_try_connect(port);

	if (!r)
		fail_msg("no program listens on port %d", port);
	return r;
}

void raw_close(struct raw *r)
{
	if (!r)
		return;
	if (r->tls)
		SSL_shutdown(r->tls);
	SSL_free(r->tls);
	close(r->fd);
	free(r->in);
	answer_memory_free(&r->kept);
	free(r);
}

void raw_forget(struct raw *r)
{
	answer_memory_free(&r->kept);
}

void raw_reset(struct raw *r)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	SSL_free(r->tls);
	r->tls = NULL;
	raw_close(r);
}

void raw_half_close(struct raw *r)
{
	shutdown(r->fd, SHUT_WR);
}

int raw_fd(const struct raw *r)
{
	return r->fd;
}

static bool poll_for(const struct raw *r, short events, int64_t timeout_ms)
{
	struct pollfd p = { .fd = r->fd, .events = events };

	return poll(&p, 1, timeout_ms > 0 ? (int)timeout_ms : 0) > 0;
}

/* Waits for what an unfinished step of TLS needs. False if it cannot continue, or at a timeout. */
static bool tls_waits(struct raw *r, int result, int64_t until_ms)
{
	int why = SSL_get_error(r->tls, result);

	if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
		return false;
	return poll_for(r, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until_ms - monotonic_ms());
}

bool raw_secure(struct raw *r)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int64_t until_ms = monotonic_ms() + patience_ms(SEND_MS);
	int result;

	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
	assert_non_null(context);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	r->tls = SSL_new(context);
	SSL_CTX_free(context);
	assert_non_null(r->tls);
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
	SSL_set_fd(r->tls, r->fd);
	while ((result = SSL_connect(r->tls)) != 1)
		if (!tls_waits(r, result, until_ms))
			return false;
	return true;
}

static bool send_secured(struct raw *r, const char *at, size_t len)
{
	int64_t until_ms = monotonic_ms() + patience_ms(SEND_MS);

	while (len > 0) {
		ERR_clear_error();
		int n = SSL_write(r->tls, at, (int)len);
		if (n <= 0 && !tls_waits(r, n, until_ms))
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool raw_send(struct raw *r, const void *bytes, size_t len)
{
	const char *at = bytes;
	int64_t until_ms = monotonic_ms() + patience_ms(SEND_MS);

	if (r->tls)
		return send_secured(r, bytes, len);
	while (len > 0) {
		ssize_t n = send(r->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0) {
			struct pollfd p = { .fd = r->fd, .events = POLLOUT };
			if (monotonic_ms() >= until_ms)
				return false;
			poll(&p, 1, 50);
			continue;
		}
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool raw_text(struct raw *r, const char *text)
{
	return raw_send(r, text, strlen(text));
}

static bool readable(const struct raw *r, int64_t timeout_ms)
{
	return (r->tls && SSL_pending(r->tls) > 0) || poll_for(r, POLLIN, timeout_ms);
}

void raw_drip(struct raw *r, const char *piece, int pause_ms, int max_ms)
{
	int64_t until_ms = monotonic_ms() + max_ms;

	for (const char *at = piece; monotonic_ms() < until_ms && raw_send(r, at, 1); at = at[1] ? at + 1 : piece)
		if (readable(r, pause_ms))
			return;
}

bool raw_repeat(struct raw *r, const char *piece, size_t times)
{
	size_t len = strlen(piece), per_block = 1 + 65536 / (len + 1);
	char *block = malloc(per_block * len + 1);
	bool sent = true;

	assert_non_null(block);
	for (size_t i = 0; i < per_block; i++)
		memcpy(block + i * len, piece, len);
	for (size_t n; times > 0 && sent; times -= n) {
		n = times < per_block ? times : per_block;
		sent = raw_send(r, block, n * len);
	}
	free(block);
	return sent;
}

/* Reads once. False at the timeout, or when nothing more will come. */
static bool read_more(struct raw *r, int64_t until_ms)
{
	char block[65536];

	if (r->ended || !readable(r, until_ms - monotonic_ms()))
		return false;
	ERR_clear_error(); /* else SSL_get_error would find the error of another connection */
	ssize_t n = r->tls ? SSL_read(r->tls, block, sizeof(block)) : recv(r->fd, block, sizeof(block), 0);
	if (n <= 0 && r->tls && SSL_get_error(r->tls, (int)n) == SSL_ERROR_WANT_READ)
		return true; /* only a part of a record */
	if (n <= 0) {
		r->ended = true;
		return false;
	}
	r->in = realloc(r->in, r->len + (size_t)n + 1);
	assert_non_null(r->in);
	memcpy(r->in + r->len, block, (size_t)n);
	r->len += (size_t)n;
	r->in[r->len] = '\0';
	return true;
}

bool raw_closed(struct raw *r, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);

	while (read_more(r, until_ms))
		continue;
	return r->ended;
}

size_t raw_answers_left(const struct raw *r)
{
	size_t n = 0;

	for (const char *at = r->in; (at = strstr(at, "HTTP/1.")); at += 7)
		n++;
	return n;
}

size_t raw_bytes_left(const struct raw *r)
{
	return r->len;
}

static void take(struct raw *r, size_t n)
{
	r->len -= n;
	memmove(r->in, r->in + n, r->len + 1);
}

/* The value of a header in the head that lies first in r->in, or NULL. */
static const char *head_value(const struct raw *r, size_t head_len, const char *name)
{
	const char *at = strcasestr(r->in, name);

	return at && (size_t)(at - r->in) < head_len ? at + strlen(name) : NULL;
}

/*
 * Joins the chunks of a body that begins at `from`; `used` gets where the body ends. NULL until the
 * body is complete.
 */
static char *dechunk(const struct raw *r, size_t from, size_t *len, size_t *used)
{
	char *body = malloc(r->len + 1);
	const char *at = r->in + from;

	assert_non_null(body);
	*len = 0;
	for (;;) {
		const char *line_end = strstr(at, "\r\n");
		size_t size = (size_t)strtoul(at, NULL, 16);
		if (!line_end || (size_t)(r->in + r->len - line_end) < size + 4)
			break;
		memcpy(body + *len, line_end + 2, size);
		*len += size;
		at = line_end + 2 + size + 2;
		if (size == 0) {
			*used = (size_t)(at - r->in);
			return body;
		}
	}
	free(body);
	return NULL;
}

/* Makes an answer whose head is complete. False until its body is complete as well. */
static bool body_is_whole(struct raw *r, size_t head_len, struct answer *out)
{
	const char *length = head_value(r, head_len, "\r\nContent-Length:");
	const char *coding = head_value(r, head_len, "\r\nTransfer-Encoding:");
	size_t body_len = 0, used = head_len;
	int status = atoi(r->in + 9);
	char *chunks = NULL;

	if (status >= 200 && status != 204 && status != 304) {
		if (coding) {
			chunks = dechunk(r, head_len, &body_len, &used);
			if (!chunks)
				return false;
		} else if (length) {
			body_len = (size_t)strtoul(length, NULL, 10);
			used = head_len + body_len;
		} else if (r->ended) {
			body_len = r->len - head_len;
			used = r->len;
		} else {
			return false;
		}
	}
	if (!chunks && r->len < used)
		return false;
	*out = answer_make(&r->kept, r->in, head_len, chunks ? chunks : r->in + head_len, body_len);
	free(chunks);
	take(r, used);
	return true;
}

struct answer raw_answer(struct raw *r, int timeout_ms)
{
	int64_t start_us = monotonic_us(), until_ms = monotonic_ms() + patience_ms(timeout_ms);
	struct answer a;

	for (;;) {
		char *end = strstr(r->in, "\r\n\r\n");
		if (end && body_is_whole(r, (size_t)(end - r->in) + 4, &a))
			break;
		if (read_more(r, until_ms))
			continue;
		if (r->ended && end && body_is_whole(r, (size_t)(end - r->in) + 4, &a))
			break;
		a = answer_missing(&r->kept, r->ended ? "the connection ended" : "no answer in time");
		break;
	}
	a.took_us = monotonic_us() - start_us;
	return a;
}

struct answer raw_head(struct raw *r, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);
	char *end;

	while (!(end = strstr(r->in, "\r\n\r\n")))
		if (!read_more(r, until_ms))
			return answer_missing(&r->kept, r->ended ? "the connection ended" : "no answer in time");
	size_t len = (size_t)(end - r->in) + 4;
	struct answer a = answer_make(&r->kept, r->in, len, "", 0);
	take(r, len);
	return a;
}

char *raw_chunk(struct raw *r, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);

	for (;;) {
		const char *line_end = strstr(r->in, "\r\n");
		size_t size = (size_t)strtoul(r->in, NULL, 16), lead = line_end ? (size_t)(line_end - r->in) + 2 : 0;
		if (lead && r->len >= lead + size + 2) {
			char *chunk = strndup(r->in + lead, size);
			assert_non_null(chunk);
			take(r, lead + size + 2);
			return chunk;
		}
		if (!read_more(r, until_ms))
			return NULL;
	}
}

struct answer raw_exchange(struct raw *r, const char *method, const char *target, const char *rest, int timeout_ms)
{
	char *line = NULL;

	if (asprintf(&line, "%s %s HTTP/1.1\r\n%s", method, target, rest) < 0)
		fail_msg("no memory");
	raw_text(r, line);
	free(line);
	struct answer a = raw_answer(r, timeout_ms);
	exchange_record(method, target, a);
	return a;
}
