/*
 * Tests of Redis replies: each type is read, cut anywhere. Invalid bytes end in an error, never in
 * a crash or in growth.
 */
#include "redis/reply_reader.h"
#include "stride.h"
#include "test.h"

/*
 * Prints a reply in short: 1 for an integer, 'x' for text, +x, -x, ~ for nil, [..] for an array.
 */
static size_t render(const struct reply *r, char *out, size_t size)
{
	static const char *const marks[][2] = {
		[REPLY_TEXT] = { "'", "'" }, [REPLY_STATUS] = { "+", "" }, [REPLY_ERROR] = { "-", "" }
	};
	size_t n = 0;

	switch (r->type) {
	case REPLY_NIL:
		n = (size_t)snprintf(out, size, "~");
		break;
	case REPLY_INTEGER:
		n = (size_t)snprintf(out, size, "%lld", (long long)r->integer);
		break;
	case REPLY_ARRAY:
		n = (size_t)snprintf(out, size, "[");
		for (size_t i = 0; i < r->count && n < size; i++) {
			n += (size_t)snprintf(out + n, size - n, "%s", i ? " " : "");
			n += render(r->items[i], out + n, size - n);
		}
		n += (size_t)snprintf(out + n, size - n, "]");
		break;
	default:
		assert_int_equal(r->text.at[r->text.len], 0);
		n = (size_t)snprintf(out, size, "%s%s%s", marks[r->type][0], r->text.at, marks[r->type][1]);
	}
	assert_true(n < size);
	return n;
}

static struct reply_reader *reader;

static int open_reader(void **state)
{
	reply_reader_free(reader);
	reader = reply_reader_new(64 << 20);
	return reader ? 0 : -1;
}

static int close_reader(void **state)
{
	reply_reader_free(reader);
	return 0;
}

static void feed(const char *bytes, size_t n)
{
	assert_true(reply_reader_feed(reader, bytes, n));
}

static void assert_next(const char *wanted)
{
	const struct reply *reply;
	const char *why = NULL;
	char got[300];

	if (!reply_reader_next(reader, &reply, &why))
		fail_msg("%s is refused: %s", wanted, why);
	if (!reply)
		fail_msg("%s is not there yet", wanted);
	render(reply, got, sizeof(got));
	assert_string_equal(got, wanted);
	reply_reader_done(reader);
}

static void assert_not_yet(void)
{
	const struct reply *reply;
	const char *why = NULL;

	if (!reply_reader_next(reader, &reply, &why) || reply)
		fail_msg("more than nothing came of a cut reply: %s", why ? why : "a reply");
}

static const struct {
	struct text bytes;
	const char *wanted;
} good[] = {
	{ TEXT("+OK\r\n"), "+OK" },
	{ TEXT("-ERR no such thing\r\n"), "-ERR no such thing" },
	{ TEXT(":0\r\n"), "0" },
	{ TEXT(":-1\r\n"), "-1" },
	{ TEXT(":9223372036854775807\r\n"), "9223372036854775807" },
	{ TEXT(":-9223372036854775808\r\n"), "-9223372036854775808" },
	{ TEXT("*2\r\n+\r\n$0\r\n\r\n"), "[+ '']" },
	{ TEXT("$5\r\nhello\r\n"), "'hello'" },
	{ TEXT("$4\r\n\r\n\r\n\r\n"), "'\r\n\r\n'" },
	{ TEXT("$-1\r\n"), "~" },
	{ TEXT("*-1\r\n"), "~" },
	{ TEXT("*0\r\n"), "[]" },
	{ TEXT("*3\r\n:1\r\n$1\r\na\r\n+b\r\n"), "[1 'a' +b]" },
	{ TEXT("*2\r\n$-1\r\n*-1\r\n"), "[~ ~]" },
	{ TEXT("*2\r\n*2\r\n*0\r\n:1\r\n*1\r\n*1\r\n$2\r\nab\r\n"), "[[[] 1] [['ab']]]" },
	{ TEXT("*2\r\n-ERR inside\r\n:2\r\n"), "[-ERR inside 2]" },
	{ TEXT("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:5\r\n"), "[[[[[5]]]]]" },
};

enum { GOOD = COUNT(good) };

SUITE(.close = close_reader, .before = open_reader);

TEST(every_type_split_everywhere)
{
	for (size_t i = 0; i < GOOD; i++) {
		struct text b = good[i].bytes;
		feed(b.at, b.len);
		assert_next(good[i].wanted);
		assert_not_yet();
		for (size_t cut = 1; cut < b.len; cut++) {
			feed(b.at, cut);
			assert_not_yet();
			feed(b.at + cut, b.len - cut);
			assert_next(good[i].wanted);
		}
		for (size_t at = 0; at < b.len; at++) {
			assert_not_yet();
			feed(b.at + at, 1);
		}
		assert_next(good[i].wanted);
		assert_not_yet();
	}
}

/* Many replies come in one read, as in a pipeline. */
TEST(many_in_one_read)
{
	for (size_t i = 0; i < 100 * GOOD; i++)
		feed(good[i % GOOD].bytes.at, good[i % GOOD].bytes.len);
	for (size_t i = 0; i < 100 * GOOD; i++)
		assert_next(good[i % GOOD].wanted);
	assert_not_yet();
}

TEST(bytes_are_kept_as_they_are)
{
	static char big[1000000];
	const struct reply *reply;
	const char *why;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 31);
	feed("$1000000\r\n", 10);
	for (size_t at = 0; at < sizeof(big); at += 12500)
		feed(big + at, 12500);
	assert_not_yet();
	feed("\r\n:1\r\n", 6);
	assert_true(reply_reader_next(reader, &reply, &why));
	assert_non_null(reply);
	assert_int_equal(reply->text.len, sizeof(big));
	assert_memory_equal(reply->text.at, big, sizeof(big));
	reply_reader_done(reader);
	assert_next("1");
}

static const struct text bad[] = {
	TEXT("hello\r\n"), TEXT("HTTP/1.1 400 Bad Request\r\n\r\n"), TEXT("SSH-2.0-OpenSSH_9.2\r\n"),
	TEXT("\x15\x03\x01\x00\x02\x02\x28"), /* TLS: an alert */
	TEXT("\r\n"), TEXT("\0"), TEXT("@1\r\n"), TEXT(":\r\n"), TEXT(":x\r\n"), TEXT(":1x\r\n"), TEXT(":1.5\r\n"),
	TEXT(":9223372036854775808\r\n"), TEXT("$\r\n"), TEXT("$x\r\n"), TEXT("$-2\r\n"), TEXT("*x\r\n"),
	TEXT("*-2\r\n"), TEXT("*1\r\nx\r\n"), TEXT("*2\r\n:1\r\n?\r\n"),
	/* More items than any reply to the daemon has. In 32 bits the third count would be 1. */
	TEXT("*1048577\r\n"), TEXT("*2147483647\r\n"), TEXT("*4294967297\r\n"), TEXT("*9223372036854775807\r\n"),
	TEXT("*99999999999999999999\r\n"), TEXT("*1\r\n*1048577\r\n")
};

/* One invalid reply is enough: the error stays, because the connection is lost. */
TEST(garbage_is_an_error)
{
	const struct reply *reply;
	const char *why;

	for (size_t i = 0; i < COUNT(bad); i++) {
		feed("+OK\r\n", 5);
		feed(bad[i].at, bad[i].len);
		assert_next("+OK");
		why = "";
		if (reply_reader_next(reader, &reply, &why))
			fail_msg("row %zu is %s", i, reply ? "a reply" : "waited for");
		assert_string_not_equal(why, "");
		assert_null(reply);
		assert_false(reply_reader_feed(reader, "+OK\r\n", 5) && reply_reader_next(reader, &reply, &why));
		open_reader(NULL);
	}
}

/*
 * An array that only announces many items allocates memory at once, so the arrays of a reply share
 * one bound.
 */
TEST(nested_counts_are_bounded_together)
{
	const struct reply *reply;
	const char *why = NULL;

	for (int i = 0; i < 4; i++)
		feed("*1048576\r\n", 10);
	assert_false(reply_reader_next(reader, &reply, &why));
}

/*
 * The daemon never asks for RESP3. Its types end in an error, or in a reply that can be walked,
 * since later versions of hiredis know them.
 */
TEST(other_types_do_no_harm)
{
	static const struct text rows[] = { TEXT("_\r\n"),
					    TEXT("#t\r\n"),
					    TEXT(",1.5\r\n"),
					    TEXT(",inf\r\n"),
					    TEXT("(123456789012345678901\r\n"),
					    TEXT("=7\r\ntxt:abc\r\n"),
					    TEXT("%1\r\n+a\r\n:1\r\n"),
					    TEXT("~2\r\n:1\r\n:2\r\n"),
					    TEXT(">1\r\n:1\r\n"),
					    TEXT("*2\r\n,1.5\r\n#f\r\n"),
					    TEXT("|1\r\n+a\r\n:1\r\n") };
	const struct reply *reply;
	const char *why;
	char got[300];

	for (size_t i = 0; i < COUNT(rows); i++) {
		feed(rows[i].at, rows[i].len);
		if (reply_reader_next(reader, &reply, &why) && reply)
			render(reply, got, sizeof(got));
		open_reader(NULL);
	}
}

/*
 * Neither one long text nor many in an array can make the daemon allocate more than some dozens of
 * megabytes.
 */
TEST(a_reply_without_end_is_refused)
{
	static char chunk[1024 * 1024];
	const struct reply *reply;
	const char *why;
	int taken = 0;

	feed("$500000000\r\n", 12);
	while (taken < 100 && reply_reader_feed(reader, chunk, sizeof(chunk)))
		taken++;
	assert_in_range(taken, 32, 70);
	open_reader(NULL);
	feed("*1000\r\n", 7);
	for (taken = 0; taken < 100 && reply_reader_next(reader, &reply, &why); taken++) {
		feed("$1048576\r\n", 10);
		feed(chunk, sizeof(chunk));
		feed("\r\n", 2);
	}
	assert_in_range(taken, 32, 70);
}

TEST(random_bytes_never_crash)
{
	static const char likely[] = "*$:+-\r\n\r\n\r\n0123-1,#_%~>(=";
	const struct reply *reply;
	const char *why;
	char bytes[80], got[4000];

	srand(7);
	for (int i = 0; i < 20000 / stride(); i++) {
		size_t n = (size_t)rand() % sizeof(bytes), cut = n ? (size_t)rand() % n : 0;
		for (size_t j = 0; j < n; j++)
			bytes[j] = rand() % 20 ? likely[(size_t)rand() % (sizeof(likely) - 1)] : (char)rand();
		feed(bytes, cut);
		bool ok = reply_reader_next(reader, &reply, &why);
		if (ok && !reply) {
			feed(bytes + cut, n - cut);
			ok = reply_reader_next(reader, &reply, &why);
		}
		if (ok && reply)
			render(reply, got, sizeof(got));
		open_reader(NULL);
	}
}
