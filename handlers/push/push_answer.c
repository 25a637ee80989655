#include "push/push_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "json/read.h"

enum {
	RETRY_AFTER_MAX_S = 365 * 24 * 3600,
	SETTLE_LEVELS = 4, /* the nesting of a result in {"settle": {"complete": [{"result": ...}]}} */
};

void push_answer_begin(struct push_answer *a)
{
	*a = (struct push_answer){ .retry_after_ms = -1 };
}

static bool is_name(struct text name, const char *known)
{
	return name.len == strlen(known) && strncasecmp(name.at, known, name.len) == 0;
}

/*
 * Copies a reason. If it is not UTF-8, or has control characters, each byte outside printable ASCII
 * becomes '?'.
 */
static void copy_clean(char *to, struct text value)
{
	size_t len = value.len < PUSH_REASON_BYTES ? value.len : PUSH_REASON_BYTES - 1;

	memcpy(to, value.at, len);
	to[len] = '\0';
	struct text copy = { to, len };
	if (text_is_utf8(copy) && !text_has_control(copy))
		return;
	for (size_t i = 0; i < len; i++)
		if (to[i] < ' ' || to[i] >= 0x7f)
			to[i] = '?';
}

/*
 * Reads seconds or an IMF-fixdate (RFC 9110, 10.2.3). The obsolete forms of a date count as absent.
 */
static int64_t read_retry_after(struct text value, int64_t now_ms)
{
	const int64_t max_ms = 1000LL * RETRY_AFTER_MAX_S;
	char copy[64]; /* a copy that ends in NUL */
	struct tm tm = { 0 };

	snprintf(copy, sizeof(copy), "%.*s", (int)(value.len < sizeof(copy) ? value.len : 0), value.at);
	if (*copy && strspn(copy, "0123456789") == value.len) {
		int64_t seconds = strtoll(copy, NULL, 10);
		return seconds < RETRY_AFTER_MAX_S ? 1000 * seconds : max_ms;
	}
	const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (!end || *end)
		return -1;
	int64_t ms = (int64_t)timegm(&tm) * 1000 - now_ms;
	return ms < 0 ? 0 : ms < max_ms ? ms : max_ms;
}

/* True for application/json, with or without parameters, and for any type that ends in +json. */
static bool is_json_type(struct text value)
{
	size_t len = 0;

	while (len < value.len && !strchr("; \t", value.at[len]))
		len++;
	return is_name((struct text){ value.at, len }, "application/json") ||
	       (len > 5 && strncasecmp(value.at + len - 5, "+json", 5) == 0);
}

void push_answer_header(struct push_answer *a, struct text name, struct text value, int64_t now_ms)
{
	if (is_name(name, "Content-Type")) {
		a->is_json = is_json_type(value);
	} else if (is_name(name, "Retry-After")) {
		a->retry_after_ms = read_retry_after(value, now_ms);
	} else if (is_name(name, "Patternd-Dead")) {
		a->is_dead = true;
		copy_clean(a->dead, value);
	}
}

static enum push_verdict verdict_of(struct push_answer *a, const struct outbound *o)
{
	if (o->outcome == OUTBOUND_UNSENT)
		return PUSH_UNREACHED;
	if (o->outcome != OUTBOUND_ANSWERED)
		return PUSH_FAILED;
	if (a->is_dead)
		return PUSH_DEAD;
	if (o->status == 429 || o->status == 503)
		return PUSH_BUSY;
	return o->status >= 200 && o->status < 300 ? PUSH_DONE : PUSH_FAILED;
}

void push_answer_judge(struct push_answer *a, const struct outbound *o)
{
	a->verdict = verdict_of(a, o);
	if (a->verdict == PUSH_DONE) {
		bool has_result = a->is_json && o->answer.len > 0 && !o->is_larger &&
				  json_read_is_valid_within(o->arena, o->answer, SETTLE_LEVELS);
		a->result = has_result ? o->answer : (struct text){ 0 };
	} else if (a->verdict == PUSH_DEAD && *a->dead) {
		memcpy(a->reason, a->dead, sizeof(a->reason));
	} else if (o->outcome == OUTBOUND_TIMED_OUT) {
		snprintf(a->reason, sizeof(a->reason), "no answer within %lld ms", (long long)o->timeout_ms);
	} else if (o->outcome == OUTBOUND_ANSWERED) {
		snprintf(a->reason, sizeof(a->reason), "HTTP %d", o->status);
	} else {
		snprintf(a->reason, sizeof(a->reason), "%s", o->why ? o->why : "no answer");
	}
}

void push_answer_make_plain(struct push_answer *a)
{
	a->result = (struct text){ 0 };
	*a->reason = '\0';
}
