/* request: life and death of a request, and the small services it offers; see request.h. Knows no socket and no pattern. */
#include "request.h"

#include <assert.h>
#include <ctype.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "loop.h"

enum { FIRST_BODY_BYTES = 2048 }; /* of a chunked body, whose size is not known */

static void (*on_answered)(struct request *req);

void request_on_answered(void (*answered)(struct request *req))
{
	on_answered = answered;
}

struct request *request_new(const char *target, size_t target_len)
{
	struct arena arena;
	struct request *req = arena_new(sizeof(*req), &arena);

	if (!req)
		return NULL;
	req->arena = arena;
	req->target = arena_copy(&req->arena, target, target_len);
	req->started_us = loop_now_us();
	req->request_id = TEXT("-"); /* until its headers say or make one */
	if (!req->target.at) {
		arena_free(&arena);
		return NULL;
	}
	return req;
}

bool request_expect_body(struct request *req, size_t len)
{
	req->body_size = len ? len : FIRST_BODY_BYTES;
	req->body.at = arena_grow(&req->arena, NULL, 0, req->body_size + 1);
	return req->body.at != NULL;
}

bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit)
{
	char *at = (char *)(uintptr_t)req->body.at;

	if (req->body_discarded || req->body.len + len > limit) {
		req->body_discarded += len;
		return req->body_discarded + req->body.len <= 2 * limit;
	}
	if (req->body.len + len > req->body_size) {
		size_t size = req->body_size * 2 > req->body.len + len ? req->body_size * 2 : req->body.len + len;
		at = arena_grow(&req->arena, at, req->body.len, size + 1);
		if (!at)
			return false;
		req->body_size = size;
	}
	memcpy(at + req->body.len, bytes, len);
	req->body = (struct text){ at, req->body.len + len };
	return true;
}

static void free_when_unneeded(struct request *req)
{
	if (!req->http_gone || req->calls_owed > 0)
		return;
	struct arena arena = req->arena; /* the request lies inside it */
	arena_free(&arena);
}

void request_move(struct request *req, enum request_state to)
{
	assert((req->state == READING && (to == CALLING || to == ANSWERED)) ||
	       (req->state == CALLING && to == ANSWERED));
	req->state = to;
	if (to == ANSWERED && !req->http_gone)
		on_answered(req);
}

void request_http_gone(struct request *req)
{
	assert(!req->http_gone);
	req->http_gone = true;
	free_when_unneeded(req);
}

void request_call_ended(struct request *req)
{
	assert(req->calls_owed > 0);
	req->calls_owed--;
	free_when_unneeded(req);
}

static const char hex_digits[] = "0123456789abcdef";

static void to_hex(const unsigned char *bytes, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		*out++ = hex_digits[bytes[i] >> 4];
		*out++ = hex_digits[bytes[i] & 15];
	}
	*out = '\0';
}

void random_hex(char *out, size_t digits)
{
	unsigned char bytes[64];

	assert(digits % 2 == 0 && digits / 2 <= sizeof(bytes));
	/* Up to 256 bytes come whole or not at all (getrandom(2)); not at all would mean predictable tokens. */
	ssize_t n = getrandom(bytes, digits / 2, 0);
	if (n != (ssize_t)(digits / 2))
		abort();
	to_hex(bytes, digits / 2, out);
}

struct text request_digest(struct request *req, struct text bytes)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char hex[2 * SHA256_DIGEST_LENGTH + 1];

	SHA256((const unsigned char *)bytes.at, bytes.len, digest);
	to_hex(digest, sizeof(digest), hex);
	return arena_copy(&req->arena, hex, sizeof(hex) - 1);
}

struct text request_scope(struct request *req)
{
	char digits[MAX_PATH_PARAMETERS][TEXT_DIGITS];
	struct text parts[3 * MAX_PATH_PARAMETERS + 3] = { text_of(req->op->id) };
	size_t count = 1;

	/* The decoded names, each with its length: spelled otherwise it is the same path, and no two paths look alike. */
	for (size_t i = 0; i < MAX_PATH_PARAMETERS && req->path_values[i].at; i++) {
		parts[count++] = text_of_int((int64_t)req->path_values[i].len, digits[i]);
		parts[count++] = TEXT(":");
		parts[count++] = req->path_values[i];
	}
	parts[count++] = TEXT("\n");
	parts[count++] = req->idempotency_key;
	return arena_join(&req->arena, parts, count);
}

static unsigned value_of_hex_digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a' + 10);
}

struct text request_seal(struct request *req, struct text hex32)
{
	char sealed[33];

	if (!req->idempotency_key.at || hex32.len != 32)
		return hex32;
	struct text pad =
		request_digest(req, arena_join(&req->arena, (struct text[]){ TEXT("seal\n"), request_scope(req) }, 2));
	if (!pad.at)
		return pad;
	for (size_t i = 0; i < 32; i++)
		sealed[i] = hex_digits[(value_of_hex_digit(hex32.at[i]) ^ value_of_hex_digit(pad.at[i])) & 15];
	return arena_copy(&req->arena, sealed, 32);
}

int64_t request_ms_until(const struct request *req, int64_t at_ms)
{
	return at_ms > req->now_ms ? at_ms - req->now_ms : 0;
}

bool request_accepts(struct request *req, const char *media_type)
{
	size_t len = strlen(media_type);

	for (const char *at = req->accept.at; at && *at; at++) {
		at += strspn(at, " \t,");
		if (strncasecmp(at, media_type, len) == 0 && strchr(" \t,;", at[len]))
			return true;
		at += strcspn(at, ",");
		if (!*at)
			break;
	}
	return false;
}
