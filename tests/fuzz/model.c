#include "model.h"

#include <stdlib.h>

enum { MOST_DEPTH = 7, MOST_DIGITS = 18, NOT_WHOLE = 0, NO_REPLY = -1 };

/* FNV-1a. */
static void add(uint64_t *digest, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*digest = (*digest ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static void add_text(uint64_t *digest, char kind, struct text t)
{
	add(digest, &kind, 1);
	add(digest, &t.len, sizeof(t.len));
	add(digest, t.at, t.len);
}

static void add_number(uint64_t *digest, char kind, int64_t n)
{
	add(digest, &kind, 1);
	add(digest, &n, sizeof(n));
}

/* Whether the whole text is a number of at most MOST_DIGITS digits. */
static bool number(struct text t, int64_t *out)
{
	bool negative = t.len && t.at[0] == '-';
	size_t i = negative, digits = t.len - i;

	if (digits == 0 || digits > MOST_DIGITS || (t.at[i] == '0' && (digits > 1 || negative)))
		return false;
	for (*out = 0; i < t.len; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
		*out = *out * 10 + (t.at[i] - '0');
	}
	*out = negative ? -*out : *out;
	return true;
}

static long read_reply(struct text bytes, uint64_t *digest, int depth);

static long read_bulk(struct text bytes, size_t head, int64_t len, uint64_t *digest)
{
	if (len == -1) {
		add_number(digest, '~', 0);
		return (long)head;
	}
	if (len < 0)
		return NO_REPLY;
	if ((uint64_t)len + 2 > bytes.len - head)
		return NOT_WHOLE;
	if (memcmp(bytes.at + head + len, "\r\n", 2) != 0)
		return NO_REPLY;
	add_text(digest, '$', (struct text){ bytes.at + head, (size_t)len });
	return (long)head + (long)len + 2;
}

static long read_array(struct text bytes, size_t head, int64_t count, uint64_t *digest, int depth)
{
	size_t at = head;

	if (count == -1) {
		add_number(digest, '~', 0);
		return (long)head;
	}
	if (count < 0 || depth > MOST_DEPTH)
		return NO_REPLY;
	add_number(digest, '*', count);
	for (int64_t i = 0; i < count; i++) {
		long n = read_reply((struct text){ bytes.at + at, bytes.len - at }, digest, depth + 1);
		if (n <= 0)
			return n;
		at += (size_t)n;
	}
	return (long)at;
}

static long read_reply(struct text bytes, uint64_t *digest, int depth)
{
	const char *end = bytes.len ? memmem(bytes.at, bytes.len, "\r\n", 2) : NULL;
	int64_t n;

	if (!end)
		return NOT_WHOLE;
	size_t head = (size_t)(end - bytes.at) + 2;
	struct text line = { bytes.at + 1, head - 3 };
	char kind = bytes.at[0];
	if (kind == '+' || kind == '-') {
		add_text(digest, kind, line);
		return (long)head;
	}
	if ((kind != ':' && kind != '$' && kind != '*') || head < 3 || !number(line, &n))
		return NO_REPLY;
	if (kind == '$')
		return read_bulk(bytes, head, n, digest);
	if (kind == '*')
		return read_array(bytes, head, n, digest, depth);
	add_number(digest, ':', n);
	return (long)head;
}

long model_reply(struct text bytes, uint64_t *digest)
{
	*digest = 0;
	return read_reply(bytes, digest, 1);
}

static void add_reply(uint64_t *digest, const struct reply *r)
{
	switch (r->type) {
	case REPLY_NIL:
		add_number(digest, '~', 0);
		break;
	case REPLY_INTEGER:
		add_number(digest, ':', r->integer);
		break;
	case REPLY_TEXT:
	case REPLY_STATUS:
	case REPLY_ERROR:
		add_text(digest, r->type == REPLY_TEXT ? '$' : r->type == REPLY_STATUS ? '+' : '-', r->text);
		break;
	case REPLY_ARRAY:
		add_number(digest, '*', (int64_t)r->count);
		for (size_t i = 0; i < r->count; i++)
			add_reply(digest, r->items[i]);
		break;
	}
}

uint64_t model_digest(const struct reply *reply)
{
	uint64_t digest = 0;

	add_reply(&digest, reply);
	return digest;
}
