/*
 * Tests of scopes: how the tokens file writes them and what they cover, above all with hostile
 * names.
 */
#include "access/scope.h"
#include "test.h"

static struct arena arena;

static int open_arena(void **state)
{
	return arena_new(1, &arena) ? 0 : -1;
}

static int close_arena(void **state)
{
	arena_free(&arena);
	return 0;
}

SUITE(.open = open_arena, .close = close_arena);

TEST(forms)
{
	static const char *const good[] = { "*",
					    "locks:*",
					    "locks:list",
					    "metrics:read",
					    "queues:orders:receive",
					    "queues:orders-*:send",
					    "queues:*:send",
					    "queues:orders:*",
					    "queues:*:*",
					    "ratelimit:a%3Ab:take",
					    "ratelimit:%2A:take",
					    "ratelimit:%25:take",
					    "policies:*:manage",
					    "locks:#1:read",
					    "locks:\xc3\xa9:read" };
	static const char *const bad[] = { "",
					   ":",
					   "::",
					   ":::",
					   "**",
					   "locks",
					   "locks:",
					   ":list",
					   "lo*:list",
					   "*:list",
					   "*:a:read",
					   "*:*",
					   "Locks:list",
					   "locks:li*",
					   "locks:a:re*",
					   "locks::read",
					   "locks:a:",
					   "locks:a:b:read",
					   "locks:a*b:read",
					   "locks:**:read",
					   "locks:*a:read",
					   "locks:%:read",
					   "locks:%4:read",
					   "locks:%zz:read",
					   "locks:%3:read",
					   "locks:%00:read",
					   "locks:a%00b:read",
					   "locks:a%:read",
					   "locks:a%3*:read" };
	struct scope s;

	for (size_t i = 0; i < COUNT(good); i++) {
		const char *flaw = scope_parse(&arena, text_of(good[i]), &s);
		if (flaw)
			fail_msg("'%s': %s", good[i], flaw);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!scope_parse(&arena, text_of(bad[i]), &s))
			fail_msg("'%s' should be refused", bad[i]);
}

#define NONE            \
	{               \
		NULL, 0 \
	}

struct row {
	const char *written;
	struct scope_need need;
	bool covers;
};

#define W(kind, name, action)                                 \
	{                                                     \
		TEXT_OF(kind), TEXT_OF(name), TEXT_OF(action) \
	}
#define TEXT_OF(literal)                       \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}
#define WITHOUT(kind, action)                        \
	{                                            \
		TEXT_OF(kind), NONE, TEXT_OF(action) \
	}

static const struct row rows[] = {
	{ "*", W("locks", "a", "acquire"), true },
	{ "*", WITHOUT("metrics", "read"), true },
	{ "locks:*", W("locks", "a", "acquire"), true },
	{ "locks:*", W("locks", "a", "manage"), true },
	{ "locks:*", W("locks", "*", "acquire"), true },
	{ "locks:*", WITHOUT("locks", "list"), true },
	{ "locks:*", W("queues", "a", "send"), false },
	{ "locks:*", W("locksmith", "a", "read"), false },
	{ "locks:*", W("lock", "a", "read"), false },
	{ "metrics:read", WITHOUT("metrics", "read"), true },
	{ "metrics:read", WITHOUT("info", "read"), false },
	{ "locks:list", WITHOUT("locks", "list"), true },
	{ "locks:list", W("locks", "list", "read"), false },
	{ "locks:list", W("locks", "list", "list"), false },
	{ "locks:list", W("locks", "", "list"), false },
	{ "queues:orders:receive", W("queues", "orders", "receive"), true },
	{ "queues:orders:receive", W("queues", "orders", "send"), false },
	{ "queues:orders:receive", W("queues", "orders", "received"), false },
	{ "queues:orders:receive", W("queues", "orders", "recei"), false },
	{ "queues:orders:receive", W("queues", "order", "receive"), false },
	{ "queues:orders:receive", W("queues", "orders2", "receive"), false },
	{ "queues:orders:receive", W("queues", "Orders", "receive"), false },
	{ "queues:orders:receive", W("queues", "orders ", "receive"), false },
	{ "queues:orders:receive", W("queues", "orders:receive", "receive"), false },
	{ "queues:orders:receive", W("queues", "x:orders", "receive"), false },
	{ "queues:orders:receive", W("queues", "*", "receive"), false },
	{ "queues:orders:receive", W("queues", "", "receive"), false },
	{ "queues:orders:receive", WITHOUT("queues", "receive"), false },
	{ "queues:orders:receive", WITHOUT("queues", "list"), false },
	{ "queues:orders:receive", W("queues", "orders\0", "receive"), false },
	{ "queues:orders:*", W("queues", "orders", "send"), true },
	{ "queues:orders:*", W("queues", "orders2", "send"), false },
	{ "queues:orders:*", WITHOUT("queues", "list"), false },
	{ "queues:orders-*:send", W("queues", "orders-1", "send"), true },
	{ "queues:orders-*:send", W("queues", "orders-", "send"), true },
	{ "queues:orders-*:send", W("queues", "orders-*", "send"), true },
	{ "queues:orders-*:send", W("queues", "orders", "send"), false },
	{ "queues:orders-*:send", W("queues", "orders-1", "receive"), false },
	{ "queues:orders-*:send", W("queues", "my-orders-1", "send"), false },
	{ "queues:*:send", W("queues", "a:b", "send"), true },
	{ "queues:*:send", W("queues", "a", "read"), false },
	{ "queues:*:send", WITHOUT("queues", "send"), false },
	{ "queues:*:*", WITHOUT("queues", "list"), false },
	/* A name that looks like several parts is one part all the same. */
	{ "queues:a%3Ab:send", W("queues", "a:b", "send"), true },
	{ "queues:a%3ab:send", W("queues", "a:b", "send"), true },
	{ "queues:a%3Ab:send", W("queues", "a", "send"), false },
	{ "queues:a%3Ab:send", W("queues", "a%3Ab", "send"), false },
	{ "queues:a:send", W("queues", "a:b", "send"), false },
	{ "queues:a:send", W("queues", "a:send", "send"), false },
	{ "queues:a%3A*:send", W("queues", "a:b", "send"), true },
	{ "queues:a%3A*:send", W("queues", "ab", "send"), false },
	{ "queues:%2A:send", W("queues", "*", "send"), true },
	{ "queues:%2A:send", W("queues", "a", "send"), false },
	{ "queues:%2A*:send", W("queues", "*a", "send"), true },
	{ "queues:%2A*:send", W("queues", "a", "send"), false },
	{ "queues:a%25:send", W("queues", "a%", "send"), true },
	{ "queues:a%2525:send", W("queues", "a%25", "send"), true },
	{ "queues:%c3%a9:send", W("queues", "\xc3\xa9", "send"), true },
	{ "queues:\xc3\xa9:send", W("queues", "\xc3\xa9", "send"), true },
	{ "queues:\xc3\xa9:send", W("queues", "e\xcc\x81", "send"), false }, /* looks the same */
	{ "queues:a%2Fb:send", W("queues", "a/b", "send"), true },
	{ "keys:%ff*:read", W("keys", "\xff\xfe", "read"), true },
};

TEST(coverage)
{
	struct scope s;

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_null(scope_parse(&arena, text_of(rows[i].written), &s));
		if (scope_covers(&s, &rows[i].need) != rows[i].covers)
			fail_msg("row %zu: '%s' and %s '%s' %s", i, rows[i].written, rows[i].need.kind.at,
				 rows[i].need.name.at ? rows[i].need.name.at : "(none)", rows[i].need.action.at);
	}
}

static bool some(const char *written, bool named)
{
	struct scope_need need = { TEXT("queues"), named ? TEXT("NAME") : (struct text)NONE, TEXT("send") };
	struct scope s;

	assert_null(scope_parse(&arena, text_of(written), &s));
	return scope_covers_some(&s, &need);
}

static bool all(const char *written)
{
	struct scope s;

	assert_null(scope_parse(&arena, text_of(written), &s));
	return scope_covers_all(&s, &(struct scope_need){ TEXT("queues"), TEXT("NAME"), TEXT("send") });
}

TEST(some_and_all_names)
{
	assert_true(some("*", true));
	assert_true(some("queues:*", true));
	assert_true(some("queues:a:send", true));
	assert_true(some("queues:a:*", true));
	assert_false(some("queues:a:read", true));
	assert_false(some("queues:send", true));
	assert_false(some("locks:*", true));
	assert_true(some("queues:send", false));
	assert_false(some("queues:a:send", false));
	assert_true(all("*"));
	assert_true(all("queues:*"));
	assert_true(all("queues:*:send"));
	assert_true(all("queues:*:*"));
	assert_false(all("queues:a*:send"));
	assert_false(all("queues:a:send"));
	assert_false(all("queues:*:read"));
	assert_false(all("queues:send"));
	assert_false(all("locks:*"));
}

/* A scope that is written for a name covers that name, whatever it is, and no other. */
TEST(every_name_is_itself)
{
	static const char alphabet[] = "a:*%#b /\t\n\x7f\xff\xc3\xa9{}2A";
	enum { ALL = sizeof(alphabet) - 1, LENGTH = 3 };
	struct scope last = { 0 }, s;
	char name[LENGTH + 1] = "";

	for (unsigned i = 0; i < ALL * ALL * ALL; i++) {
		name[0] = alphabet[i % ALL];
		name[1] = alphabet[i / ALL % ALL];
		name[2] = alphabet[i / ALL / ALL];
		struct arena_mark mark = arena_mark(&arena);
		struct scope_need need = { TEXT("keys"), { name, LENGTH }, TEXT("read") };
		struct text written = scope_written(&arena, &need);
		assert_null(memchr(written.at, ' ', written.len));
		assert_null(memchr(written.at, '\n', written.len));
		assert_null(scope_parse(&arena, written, &s));
		assert_true(scope_covers(&s, &need));
		assert_true(s.name.len == LENGTH && memcmp(s.name.at, name, LENGTH) == 0);
		assert_false(s.is_prefix);
		if (last.kind.at)
			assert_false(scope_covers(&last, &need));
		arena_rewind(&arena, mark);
		if (i % 97 == 0) {
			assert_null(scope_parse(&arena, scope_written(&arena, &need), &last));
			last.name = arena_copy(&arena, name, LENGTH);
		}
	}
	struct scope_need without = { TEXT("metrics"), NONE, TEXT("read") };
	assert_string_equal(scope_written(&arena, &without).at, "metrics:read");
}
