/* request: see request.h. Knows no socket and no pattern. */
#include "request/request.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "core/budget.h"
#include "core/digest.h"
#include "core/hex.h"
#include "core/loop.h"

enum {
	FIRST_BODY_BYTES = 2048
}; /* of a chunked body, whose size is not known; only larger ones count against the budget */

static struct request_callbacks http;
static void (*wait_ended)(struct request *req);

void request_set_http(const struct request_callbacks *callbacks)
{
	http = *callbacks;
}

void request_set_wait(void (*ended)(struct request *req))
{
	wait_ended = ended;
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
	req->request_id = TEXT("-"); /* until its headers are read */
	if (!req->target.at) {
		arena_free(&arena);
		return NULL;
	}
	req->arena.bounded = true;
	return req;
}

struct request *request_background(const struct operation *op, void *work, void (*ended)(struct request *req))
{
	struct request *req = request_new("", 0);

	if (!req)
		return NULL;
	req->op = op;
	req->work = work;
	req->ended = ended;
	req->background = req->http_done = true;
	req->arena.bounded = false; /* the limit is for clients' requests */
	req->state = CALLING;
	req->calls_pending = 1; /* until request_background_start */
	return req;
}

void request_background_start(struct request *req)
{
	request_call_ended(req);
}

/* Room for a body of `size` bytes. False: there is none (arena.failed). */
static bool make_room(struct request *req, size_t size)
{
	char *at = (char *)(uintptr_t)req->body.at;

	if (size > FIRST_BODY_BYTES && !budget_admits_body(size - req->body.len)) {
		req->arena.failed = ARENA_OVER_BUDGET;
		return false;
	}
	at = arena_grow(&req->arena, at, req->body.len, size + 1);
	if (!at)
		return false;
	req->body.at = at;
	req->body_size = size;
	return true;
}

bool request_expect_body(struct request *req, size_t len)
{
	return make_room(req, len ? len : FIRST_BODY_BYTES);
}

bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit)
{
	if (req->body_discarded || req->body.len + len > limit) {
		req->body_discarded += len;
		return req->body_discarded + req->body.len <= 2 * limit;
	}
	if (req->body.len + len > req->body_size) {
		size_t size = req->body_size * 2 > req->body.len + len ? req->body_size * 2 : req->body.len + len;
		if (!make_room(req, size)) {
			req->body_discarded += len;
			return true;
		}
	}
	char *at = (char *)(uintptr_t)req->body.at;
	memcpy(at + req->body.len, bytes, len);
	req->body.len += len;
	at[req->body.len] = '\0';
	return true;
}

static void free_when_unneeded(struct request *req)
{
	if (!req->http_done || req->calls_pending > 0)
		return;
	if (req->waiter)
		wait_ended(req);
	if (req->ended)
		req->ended(req);
	struct arena arena = req->arena; /* the request lies inside it */
	arena_free(&arena);
}

static bool may_move(enum request_state from, enum request_state to)
{
	switch (from) {
	case READING:
		return to == CALLING || to == STREAMING || to == ANSWERED;
	case CALLING:
		return to == PARKED || to == STREAMING || to == ANSWERED;
	case PARKED:
		return to == CALLING || to == ANSWERED;
	default:
		return false;
	}
}

int64_t request_waited_us(const struct request *req)
{
	bool waits = req->state == PARKED || req->state == STREAMING;

	return req->waited_us + (waits ? loop_now_us() - req->waits_since_us : 0);
}

void request_move(struct request *req, enum request_state to)
{
	assert(may_move(req->state, to));
	req->waited_us = request_waited_us(req);
	req->waits_since_us = loop_now_us();
	req->state = to;
	if (to != ANSWERED && to != STREAMING)
		return;
	if (req->waiter)
		wait_ended(req);
	if (!req->http_done)
		http.answered(req);
}

void request_compensate(struct request *req, const struct reply *reply)
{
	void (*on_disconnect)(struct request *, const struct reply *) = req->on_disconnect;

	req->client_gone = true;
	req->on_disconnect = NULL;
	req->arena.bounded = false;
	if (!req->http_done)
		http.disconnected(req);
	if (on_disconnect)
		on_disconnect(req, reply);
	if (req->waiter)
		wait_ended(req);
}

void request_streamed(struct request *req)
{
	if (!req->http_done)
		http.streamed(req);
}

bool request_client_gone(struct request *req)
{
	return req->http_done || req->client_gone || (req->waiter && http.client_gone(req));
}

static struct text no_header(struct request *req, const char *name)
{
	(void)req;
	(void)name;
	return (struct text){ 0 };
}

void request_http_done(struct request *req)
{
	assert(!req->http_done);
	req->http_done = true;
	req->header = no_header;
	if (req->stream)
		req->stream_left(req->stream);
	if (req->state == PARKED) {
		request_move(req, CALLING);
		request_compensate(req, NULL);
	}
	free_when_unneeded(req);
}

/* Releases what an attempt allocated: thousands of attempts take no more memory than one. */
static void end_attempt(struct request *req)
{
	assert(!req->headers && !req->out);
	arena_rewind(&req->arena, req->attempt);
	req->arena.failed = ARENA_OK;
	req->arena.bounded = false; /* it was admitted: its later attempts and its response are owed */
}

void request_call_ended(struct request *req)
{
	assert(req->calls_pending > 0);
	req->calls_pending--;
	if (req->state == PARKED && req->calls_pending == 0)
		end_attempt(req);
	else
		free_when_unneeded(req);
}

void random_hex(char *out, size_t digits)
{
	unsigned char bytes[64];

	assert(digits % 2 == 0 && digits / 2 <= sizeof(bytes));
	/* Up to 256 bytes come whole or not at all (getrandom(2)). */
	ssize_t n = getrandom(bytes, digits / 2, 0);
	if (n != (ssize_t)(digits / 2))
		abort();
	hex_write(bytes, digits / 2, out);
}

struct text request_digest(struct request *req, struct text bytes)
{
	unsigned char digest[DIGEST_BYTES];
	char hex[2 * DIGEST_BYTES + 1];

	digest_sha256(bytes, digest);
	hex_write(digest, sizeof(digest), hex);
	return arena_copy(&req->arena, hex, sizeof(hex) - 1);
}

struct text request_scope(struct request *req)
{
	char digits[MAX_PATH_PARAMETERS][TEXT_DIGITS];
	struct text parts[3 * MAX_PATH_PARAMETERS + 5] = { text_of(req->op->id) };
	size_t count = 1;

	/* Decoded names with lengths: two spellings of a path have one scope, two paths two. */
	for (size_t i = 0; i < MAX_PATH_PARAMETERS && req->path_values[i].at; i++) {
		parts[count++] = text_of_int((int64_t)req->path_values[i].len, digits[i]);
		parts[count++] = TEXT(":");
		parts[count++] = req->path_values[i];
	}
	parts[count++] = TEXT("\n");
	parts[count++] = req->idempotency_key;
	if (req->caller.at) { /* a key has no line break */
		parts[count++] = TEXT("\n");
		parts[count++] = req->caller;
	}
	return arena_join(&req->arena, parts, count);
}

struct text request_mask(struct request *req, struct text hex32)
{
	char masked[33];

	if (!req->idempotency_key.at || hex32.len != 32)
		return hex32;
	struct text pad =
		request_digest(req, arena_join(&req->arena, (struct text[]){ TEXT("mask\n"), request_scope(req) }, 2));
	if (!pad.at)
		return pad;
	for (size_t i = 0; i < 32; i++)
		masked[i] = hex_digit((unsigned)(hex_value(hex32.at[i]) ^ hex_value(pad.at[i])));
	return arena_copy(&req->arena, masked, 32);
}

int64_t request_ms_until(const struct request *req, int64_t at_ms)
{
	return at_ms > req->now_ms ? at_ms - req->now_ms : 0;
}

bool request_is_past(const struct request *req, int64_t at_ms)
{
	return request_ms_until(req, at_ms) <= (loop_now_us() - req->asked_us) / 1000;
}

/* ---- Accept, RFC 9110 section 12.5.1 ---- */

/* In thousandths; anything but a number counts as 1. */
static int quality_of(const char *at)
{
	int quality = 0;

	if (*at != '0')
		return 1000;
	at += at[1] == '.' ? 2 : 1;
	for (int unit = 100; unit > 0 && isdigit((unsigned char)*at); unit /= 10)
		quality += unit * (*at++ - '0');
	return quality;
}

/* The parameters of a media range, up to its comma; returns where they end. */
static const char *read_parameters(const char *at, int *quality)
{
	*quality = 1000;
	for (bool quoted = false; *at && (quoted || *at != ','); at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at[1])
			at++;
		else if (!quoted && *at == ';' && strncasecmp(at + 1 + strspn(at + 1, " \t"), "q=", 2) == 0)
			*quality = quality_of(at + 1 + strspn(at + 1, " \t") + 2);
	}
	return at;
}

/* 3: the range is the type itself, 2: its family, 1: anything, 0: something else. */
static int specificity_of(struct text range, const char *type, size_t type_len)
{
	size_t family = strcspn(type, "/") + 1; /* with the slash */

	if (range.len == type_len && strncasecmp(range.at, type, type_len) == 0)
		return 3;
	if (range.len == family + 1 && range.at[family] == '*' && strncasecmp(range.at, type, family) == 0)
		return 2;
	return text_is(range, "*/*");
}

int request_accepts(struct request *req, const char *media_type)
{
	size_t len = strcspn(media_type, ";");
	int best = -1, specificity = 1, quality;

	if (req->accept.len == 0)
		return 1;
	for (const char *at = req->accept.at; *(at += strspn(at, " \t,"));) {
		struct text range = { at, strcspn(at, " \t,;") };
		int this_specificity = specificity_of(range, media_type, len);
		at = read_parameters(at + range.len, &quality);
		if (this_specificity < specificity)
			continue;
		int rank = quality ? 4 * quality + this_specificity : 0;
		best = this_specificity > specificity || rank > best ? rank : best;
		specificity = this_specificity;
	}
	return best;
}
