/* Tests of push_answer: what the answer of a program means for its message. */
#include "push/push_answer.h"
#include "test.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/* 24 Nov 2026, 12:00:00 GMT */
static const int64_t now_ms = 1795521600000;
static struct arena arena;

static int free_arena(void **state)
{
	arena_free(&arena);
	arena = (struct arena){ 0 };
	return 0;
}

/*
 * Gives a header whose value ends with its memory, so that a sanitizer reports a read beyond it.
 */
static void give(struct push_answer *a, const char *name, struct text value)
{
	char *copy = malloc(value.len + 1);

	assert_non_null(copy);
	memcpy(copy + 1, value.at, value.len);
	push_answer_header(a, text_of(name), (struct text){ copy + 1, value.len }, now_ms);
	free(copy);
}

static struct outbound answered(int status, const char *body)
{
	return (struct outbound){ .outcome = OUTBOUND_ANSWERED,
				  .status = status,
				  .arena = &arena,
				  .timeout_ms = 30000,
				  .answer = text_of(body) };
}

/* ---- The verdict ---- */

SUITE(.after = free_arena);

TEST(statuses)
{
	for (int status = 200; status < 1000; status++) {
		struct push_answer a;
		struct outbound o = answered(status, "");
		push_answer_begin(&a);
		push_answer_judge(&a, &o);
		enum push_verdict wanted = status < 300                     ? PUSH_DONE
					   : status == 429 || status == 503 ? PUSH_BUSY
									    : PUSH_FAILED;
		assert_int_equal(a.verdict, wanted);
		assert_int_equal(*a.reason == '\0', wanted == PUSH_DONE);
		push_answer_begin(&a);
		give(&a, "patternd-DEAD", TEXT("no use"));
		push_answer_judge(&a, &o);
		assert_int_equal(a.verdict, PUSH_DEAD);
		assert_string_equal(a.reason, "no use");
	}
}

TEST(breaks)
{
	static const struct {
		enum outbound_outcome outcome;
		const char *why;
		enum push_verdict verdict;
		const char *reason;
	} rows[] = {
		{ OUTBOUND_UNSENT, "refused", PUSH_UNREACHED, "refused" },
		{ OUTBOUND_UNSENT, NULL, PUSH_UNREACHED, "no answer" },
		{ OUTBOUND_TIMED_OUT, "late", PUSH_FAILED, "no answer within 30000 ms" },
		{ OUTBOUND_BROKEN, "half", PUSH_FAILED, "half" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct push_answer a;
		struct outbound o = answered(200, "1");
		o.outcome = rows[i].outcome;
		o.why = rows[i].why;
		push_answer_begin(&a);
		/* Headers that came before the break do not count. */
		give(&a, "Patternd-Dead", TEXT("x"));
		give(&a, "Content-Type", TEXT("application/json"));
		push_answer_judge(&a, &o);
		assert_int_equal(a.verdict, rows[i].verdict);
		assert_string_equal(a.reason, rows[i].reason);
		assert_null(a.result.at);
	}
}

/* ---- The result ---- */

static bool has_result(const char *type, const char *body, bool is_larger)
{
	struct push_answer a;
	struct outbound o = answered(200, body);

	o.is_larger = is_larger;
	push_answer_begin(&a);
	if (type)
		give(&a, "content-type", text_of(type));
	push_answer_judge(&a, &o);
	assert_int_equal(a.verdict, PUSH_DONE);
	assert_true(!a.result.at || a.result.at == o.answer.at);
	return a.result.at != NULL;
}

TEST(results)
{
	assert_true(has_result("application/json", "{\"a\": 1}", false));
	assert_true(has_result("Application/JSON ; charset=utf-8", "null", false));
	assert_true(has_result("application/problem+json", " 1 ", false));
	assert_false(has_result("application/json", "{\"a\": 1}", true));
	assert_false(has_result("application/json", "", false));
	assert_false(has_result("application/json", "{\"a\": 1", false));
	assert_false(has_result("application/json", "{\"a\": 1, \"a\": 2}", false));
	assert_false(has_result("application/json", "1], [2", false));
	assert_false(has_result("application/json", "\"\xff\"", false));
	assert_false(has_result(NULL, "1", false));
	assert_false(has_result("", "1", false));
	assert_false(has_result("+json", "1", false));
	assert_false(has_result("application/jsonp", "1", false));
	assert_false(has_result("text/plain; application/json", "1", false));
	assert_false(has_result("text/plain;x=+json", "1", false));
}

/* A result has at most 28 levels, because the request that settles the message adds some. */
TEST(depths)
{
	char body[100];

	for (int depth = 1; depth <= 40; depth++) {
		memset(body, '[', (size_t)depth);
		memset(body + depth, ']', (size_t)depth);
		body[2 * depth] = '\0';
		assert_int_equal(has_result("application/json", body, false), depth <= 28);
	}
}

/* ---- Retry-After ---- */

static int64_t retry_after(struct text value)
{
	struct push_answer a;

	push_answer_begin(&a);
	assert_int_equal(a.retry_after_ms, -1);
	give(&a, "Retry-After", value);
	return a.retry_after_ms;
}

TEST(pauses, .after = no_fixture)
{
	static const char *const unread[] = { "",
					      "-1",
					      "+1",
					      "1.5",
					      "1 2",
					      "0x10",
					      "now",
					      "1day",
					      "1e3",
					      "1,2",
					      "\xff"
					      "1",
					      "Tue, 24 Nov 2026 12:00:00",
					      "Tue, 24 Nov 2026 12:00:00 GMT x",
					      "Tuesday, 24-Nov-26 12:00:00 GMT" };
	static const struct {
		const char *value;
		int64_t ms;
	} rows[] = {
		{ "0", 0 },
		{ "1", 1000 },
		{ "007", 7000 },
		{ "86400", DAY_MS },
		{ "31536000", 365LL * DAY_MS },
		{ "31536001", 365LL * DAY_MS },
		{ "9223372036854775807", 365LL * DAY_MS },
		{ "99999999999999999999999999999999999999", 365LL * DAY_MS },
		{ "Tue, 24 Nov 2026 12:00:00 GMT", 0 },
		{ "Tue, 24 Nov 2026 12:00:30 GMT", 30000 },
		{ "Tue, 24 Nov 2026 11:59:59 GMT", 0 },
		{ "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
		{ "Fri, 31 Dec 9999 23:59:59 GMT", 365LL * DAY_MS },
	};

	for (size_t i = 0; i < COUNT(unread); i++)
		if (retry_after(text_of(unread[i])) != -1)
			fail_msg("'%s' is read", unread[i]);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(retry_after(text_of(rows[i].value)), rows[i].ms);
	assert_int_equal(retry_after((struct text){ "1\0", 2 }), -1);
}

/* ---- The reason ---- */

static const char *reason(struct text value)
{
	static struct push_answer a;
	struct outbound o = answered(400, "");

	push_answer_begin(&a);
	give(&a, "Patternd-Dead", value);
	push_answer_judge(&a, &o);
	assert_int_equal(a.verdict, PUSH_DEAD);
	return a.reason;
}

TEST(reasons, .after = no_fixture)
{
	char many[1000];

	assert_string_equal(reason(TEXT("no such customer")), "no such customer");
	assert_string_equal(reason(TEXT("\xc3\xbc\xe2\x82\xac")), "\xc3\xbc\xe2\x82\xac");
	assert_string_equal(reason(TEXT("")), "HTTP 400");
	assert_string_equal(reason(TEXT("a\x01"
					"b\x7f"
					"c")),
			    "a?b?c");
	assert_string_equal(reason(TEXT("a\xff"
					"b")),
			    "a?b");
	assert_string_equal(reason((struct text){ "a\0b", 3 }), "a?b");
	/* A long reason is cut. A character that would be cut within its bytes becomes "?". */
	memset(many, 'x', sizeof(many));
	assert_int_equal(strlen(reason((struct text){ many, sizeof(many) })), PUSH_REASON_BYTES - 1);
	memcpy(many + PUSH_REASON_BYTES - 2, "\xc3\xbc", 2);
	assert_int_equal(reason((struct text){ many, sizeof(many) })[PUSH_REASON_BYTES - 2], '?');
}

TEST(plain_answers_have_neither)
{
	struct push_answer a;
	struct outbound o = answered(200, "1");

	push_answer_begin(&a);
	give(&a, "Content-Type", TEXT("application/json"));
	push_answer_judge(&a, &o);
	assert_non_null(a.result.at);
	push_answer_make_plain(&a);
	assert_null(a.result.at);
	assert_string_equal(a.reason, "");
}
