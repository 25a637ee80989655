/*
 * Keys over HTTP: lists, single keys, deletion, expiry, and elements of any bytes. A daemon reaches
 * no key outside its prefix.
 */
#include <ctype.h>

#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { TARGET_BYTES = 4096, KEYS_MAX = 600 };

/* "/keys/", the percent-encoded key, and the rest. The text is valid until the next call. */
static const char *target_of(const char *key, const char *rest)
{
	static char target[TARGET_BYTES];
	size_t n = (size_t)snprintf(target, sizeof(target), "/keys/");

	for (const char *c = key; *c; c++)
		n += (size_t)snprintf(target + n, sizeof(target) - n, isalnum((unsigned char)*c) ? "%c" : "%%%02X",
				      (unsigned char)*c);
	snprintf(target + n, sizeof(target) - n, "%s", rest);
	return target;
}

/* The number of keys on all pages of a list; `check` tests each item. */
static int list(struct client *c, const char *query, void (*check)(const json_t *item))
{
	char target[512], cursor[80] = "";
	int n = 0, pages = 0;

	do {
		snprintf(target, sizeof(target), "/keys?%s%s%s", query, *cursor ? "&cursor=" : "", cursor);
		struct answer a = http(c, "GET", target, NULL);
		assert_status(a, 200);
		size_t i;
		const json_t *item;
		json_array_foreach(json_at(a, "/items"), i, item) {
			if (check)
				check(item);
			n++;
		}
		snprintf(cursor, sizeof(cursor), "%s",
			 json_is_null(json_at(a, "/next_cursor")) ? "" : text_at(a, "/next_cursor"));
		assert_true(++pages <= 2 * KEYS_MAX);
	} while (*cursor);
	return n;
}

/* ---- Lists and single keys ---- */

static void make_one_of_each(void)
{
	static const char *const made[] = {
		"SET p:string 1",        "RPUSH p:list 1",   "SADD p:set 1", "ZADD p:zset 1 a", "HSET p:hash a 1",
		"XADD p:stream 1-1 a 1", "PFADD p:uv:{a} x", "SET string 1", "SET q:string 1",  "SET xp:string 1",
	};

	for (size_t i = 0; i < COUNT(made); i++)
		assert_int_not_equal(server_command(&redis, made[i])->type, REDIS_REPLY_ERROR);
}

static void is_named_after_its_type(const json_t *item)
{
	const char *key = json_string_value(json_object_get(item, "key"));
	const char *type = json_string_value(json_object_get(item, "type"));

	assert_string_equal(type, strcmp(key, "uv:{a}") == 0 ? "string" : key);
	assert_true(json_is_null(json_object_get(item, "ttl_ms")));
	assert_null(json_object_get(item, "key_base64"));
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(keys_are_listed_by_name_and_type)
{
	static const struct {
		const char *query;
		int count;
	} rows[] = {
		{ "", 7 },
		{ "limit=1", 7 },
		{ "type=string", 2 },
		{ "type=list", 1 },
		{ "type=set", 1 },
		{ "type=zset&limit=1", 1 },
		{ "type=hash", 1 },
		{ "type=stream", 1 },
		{ "match=*s*", 6 },
		{ "match=*s*&type=stream", 1 },
		{ "match=uv:{*", 1 }, /* braces are nothing special */
		{ "match=*%7Ba%7D", 1 },
		{ "match=string", 1 },
		{ "match=p:string", 0 },   /* the pattern applies after the prefix */
		{ "match=%5Bhz%5D*t", 0 }, /* brackets are nothing special */
		{ "match=%5C*", 0 },
	};

	assert_int_equal(list(client, "", NULL), 0);
	make_one_of_each();
	for (size_t i = 0; i < COUNT(rows); i++) {
		int n = list(client, rows[i].query, is_named_after_its_type);
		if (n != rows[i].count)
			fail_msg("/keys?%s has %d keys, not %d", rows[i].query, n, rows[i].count);
	}
	server_command(&redis, "PEXPIRE p:hash 60000");
	assert_in_range(int_at(get("/keys?match=hash"), "/items/0/ttl_ms"), 50000, 60000);
	assert_problem(get("/keys?type=module"), 400, "invalid_value", "none");
	assert_problem(get("/keys?cursor=x"), 400, "invalid_value", "none");
	assert_problem(get("/keys?limit=1001"), 400, "out_of_range", "none");
}

static bool came[KEYS_MAX];

static void note(const json_t *item)
{
	int n = atoi(json_string_value(json_object_get(item, "key")));

	assert_in_range(n, 0, KEYS_MAX - 1);
	came[n] = true;
}

/* Some keys may be listed twice, since Redis may resize its table between two pages. */
TEST(paging_finds_every_key)
{
	static const char *const queries[] = { "limit=1", "limit=7", "limit=1000", "limit=7&match=*" };

	for (int i = 0; i < KEYS_MAX; i++) {
		server_command(&redis, "SET p:%d x", i);
		server_command(&redis, "SET q:%d x", i);
	}
	for (size_t i = 0; i < COUNT(queries); i++) {
		memset(came, 0, sizeof(came));
		assert_in_range(list(client, queries[i], note), KEYS_MAX, 2 * KEYS_MAX);
		for (int n = 0; n < KEYS_MAX; n++)
			assert_true(came[n]);
		client_forget(client);
	}
}

TEST(a_key_is_looked_at_given_a_time_and_deleted)
{
	assert_problem(get("/keys/k"), 404, "not_found", "none");
	assert_problem(http(client, "DELETE", "/keys/k", NULL), 404, "not_found", "none");
	assert_problem(http(client, "PUT", "/keys/k/ttl", "{\"ttl_ms\":1}"), 404, "not_found", "none");
	server_command(&redis, "RPUSH p:k a b c");
	struct answer a = get("/keys/k");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/key"), "k");
	assert_string_equal(text_at(a, "/type"), "list");
	assert_int_equal(int_at(a, "/size"), 3);
	assert_true(json_is_null(json_at(a, "/ttl_ms")));
	a = http(client, "PUT", "/keys/k/ttl", "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/ttl_ms"), 60000);
	assert_int_equal(int_at(a, "/size"), 3);
	assert_in_range(int_at(get("/keys/k"), "/ttl_ms"), 50000, 60000);
	a = http(client, "PUT", "/keys/k/ttl", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/ttl_ms")));
	assert_int_equal(server_command(&redis, "PTTL p:k")->integer, -1);
	a = http(client, "PUT", "/keys/k/ttl", "{}");
	assert_problem(a, 400, "missing_field", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/ttl_ms");
	assert_problem(http(client, "PUT", "/keys/k/ttl", "{\"ttl_ms\":0}"), 400, "out_of_range", "none");
	assert_int_equal(server_command(&redis, "PTTL p:k")->integer, -1);
	assert_status(http(client, "DELETE", "/keys/k", NULL), 204);
	assert_int_equal(server_command(&redis, "EXISTS p:k")->integer, 0);
	server_command(&redis, "SET p:k 1");
	assert_status(http(client, "PUT", "/keys/k/ttl", "{\"ttl_ms\":10}"), 200);
	wait_until(get("/keys/k").status == 404, 5000);
}

/* A key is any bytes except NUL, at most 1024. The names of resources have stricter rules. */
TEST(keys_of_all_kinds)
{
	char longest[1026];
	const char *const keys[] = { "a", "{",        "}{",  "lock:{a}",    "a/b",      "..",
				     ".", "elements", "%41", "caf\xc3\xa9", "\xff\xfe", "\x01",
				     "*", "[a]",      "\\*", " ",           "?x=1&y#",  longest };

	memset(longest, '{', 1024);
	longest[1024] = '\0';
	for (size_t i = 0; i < COUNT(keys); i++) {
		server_command(&redis, "SADD p:%b m", keys[i], strlen(keys[i]));
		struct answer a = get(target_of(keys[i], ""));
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/type"), "set");
		if (strchr(keys[i], '\xff'))
			assert_string_equal(text_at(a, "/key_base64"), "//4=");
		else
			assert_string_equal(text_at(a, "/key"), keys[i]);
		assert_string_equal(text_at(get(target_of(keys[i], "/elements")), "/items/0/member"), "m");
		assert_status(http(client, "PUT", target_of(keys[i], "/ttl"), "{\"ttl_ms\":60000}"), 200);
		assert_status(http(client, "DELETE", target_of(keys[i], ""), NULL), 204);
		assert_int_equal(server_keys(&redis), 0);
		assert_problem(get(target_of(keys[i], "")), 404, "not_found", "none");
	}
	longest[1024] = '{';
	longest[1025] = '\0';
	struct answer a = get(target_of(longest, ""));
	assert_problem(a, 400, "invalid_name", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "{key}");
	assert_problem(get("/keys/a%00b"), 400, "malformed_request", "none");
	assert_problem(get("/keys/"), 400, "invalid_name", "none");
}

/* ---- Elements ---- */

TEST(elements_of_each_type)
{
	make_one_of_each();
	server_command(&redis, "HSET p:hash b \"\"");
	server_command(&redis, "ZADD p:zset +inf up -inf down 0.1 tenth 9007199254740993 wide");
	server_command(&redis, "RPUSH p:list two three");
	struct answer a = get("/keys/set/elements");
	assert_status(a, 200);
	assert_string_equal(a.body,
			    "{\"key\":\"set\",\"type\":\"set\",\"items\":[{\"member\":\"1\"}],\"next_cursor\":null}\n");
	a = get("/keys/list/elements");
	assert_string_equal(
		a.body,
		"{\"key\":\"list\",\"type\":\"list\",\"items\":[{\"index\":0,\"value\":\"1\"},{\"index\":1,\"value\":\"two\"},"
		"{\"index\":2,\"value\":\"three\"}],\"next_cursor\":null}\n");
	a = get("/keys/list/elements?limit=2");
	assert_string_equal(text_at(a, "/next_cursor"), "2");
	a = get("/keys/list/elements?limit=2&cursor=2");
	assert_string_equal(
		a.body,
		"{\"key\":\"list\",\"type\":\"list\",\"items\":[{\"index\":2,\"value\":\"three\"}],\"next_cursor\":null}\n");
	a = get("/keys/hash/elements");
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
	a = get("/keys/zset/elements");
	for (size_t i = 0; i < 5; i++) {
		const json_t *item = json_array_get(json_at(a, "/items"), i), *score = json_object_get(item, "score");
		const char *member = json_string_value(json_object_get(item, "member"));
		if (strcmp(member, "up") == 0)
			assert_string_equal(json_string_value(score), "inf");
		else if (strcmp(member, "down") == 0)
			assert_string_equal(json_string_value(score), "-inf");
		else
			assert_true(json_number_value(score) == (strcmp(member, "tenth") == 0  ? 0.1
								 : strcmp(member, "wide") == 0 ? 9007199254740992.0
											       : 1.0));
	}
	assert_problem(get("/keys/none/elements"), 404, "not_found", "none");
	assert_problem(get("/keys/string/elements"), 409, "no_elements", "none");
	assert_problem(get("/keys/stream/elements"), 409, "no_elements", "none");
	assert_problem(get("/keys/set/elements?cursor=x"), 400, "invalid_value", "none");
}

/* `match` filters members, fields and the values of a list. Pages work as without `match`. */
TEST(elements_are_filtered)
{
	static const struct {
		const char *make, *target, *path, *first;
		int count;
	} rows[] = {
		{ "SADD p:k red green grey", "/keys/k/elements?match=gre*", NULL, NULL, 2 },
		{ "SADD p:k 1 12 123", "/keys/k/elements?match=12", "/items/0/member", "12", 1 },
		{ "HSET p:k red gr green x grey x", "/keys/k/elements?match=*gr*", NULL, NULL, 2 },
		{ "ZADD p:k 1 red 2 green", "/keys/k/elements?match=*d", "/items/0/member", "red", 1 },
		{ "RPUSH p:k red green red", "/keys/k/elements?match=re*", "/items/1/value", "red", 2 },
		{ "SADD p:k g?e gre", "/keys/k/elements?match=g?e", "/items/0/member", "g?e", 1 },
		{ "SADD p:k [a] a", "/keys/k/elements?match=%5Ba%5D", "/items/0/member", "[a]", 1 },
		{ "SADD p:k a b", "/keys/k/elements?match=c", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&redis, rows[i].make);
		struct answer a = get(rows[i].target);
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/items")), rows[i].count);
		assert_true(json_is_null(json_at(a, "/next_cursor")));
		if (rows[i].path)
			assert_string_equal(text_at(a, rows[i].path), rows[i].first);
		stage_forget(NULL);
	}
	struct answer a = get("/keys/k/elements?match=*a*b*");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?match");
	for (int i = 0; i < 5000; i++)
		server_command(&redis, "HSET p:k field-%d x", i);
	assert_int_equal(json_array_size(json_at(get_all("/keys/k/elements?match=*-4*9"), "/items")), 111);
	assert_int_equal(json_array_size(json_at(get_all("/keys/k/elements?match=field-4711"), "/items")), 1);
}

/* A value that JSON cannot represent is returned twice: as readable text, and as exact base64. */
TEST(bytes_survive)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text, *base64;
	} rows[] = {
		{ "caf\xc3\xa9", 5, "caf\xc3\xa9", NULL },
		{ "a\x01\"\\", 4, "a\x01\"\\", NULL },
		{ "\xff", 1, "\xef\xbf\xbd", "/w==" },
		{ "a\xc3", 2, "a\xef\xbf\xbd", "YcM=" },
		{ "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd", "wK8=" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		stage_forget(NULL);
		server_command(&redis, "HSET p:h %b %b", rows[i].bytes, rows[i].len, rows[i].bytes, rows[i].len);
		struct answer a = get("/keys/h/elements");
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/items/0/field"), rows[i].text);
		assert_string_equal(text_at(a, "/items/0/value"), rows[i].text);
		if (rows[i].base64) {
			assert_string_equal(text_at(a, "/items/0/field_base64"), rows[i].base64);
			assert_string_equal(text_at(a, "/items/0/value_base64"), rows[i].base64);
		} else {
			assert_int_equal(json_object_size(json_at(a, "/items/0")), 2);
		}
	}
	server_command(&redis, "RPUSH p:l %b %b", "a\0b", (size_t)3, "\xac\xed\x00\x05", (size_t)4);
	assert_string_equal(
		get("/keys/l/elements").body, /* the second is the start of serialized Java objects */
		"{\"key\":\"l\",\"type\":\"list\",\"items\":[{\"index\":0,\"value\":\"a\\u0000b\"},{\"index\":1,\"value\":"
		"\"\xef\xbf\xbd\xef\xbf\xbd\\u0000\\u0005\",\"value_base64\":\"rO0ABQ==\"}],\"next_cursor\":null}\n");
	server_command(&redis, "SADD p:%b %b", "\xff{x}", (size_t)4, "\xfe", (size_t)1);
	struct answer a = get("/keys?type=set");
	assert_string_equal(text_at(a, "/items/0/key"), "\xef\xbf\xbd{x}");
	assert_string_equal(text_at(a, "/items/0/key_base64"), "/3t4fQ==");
	assert_string_equal(text_at(get("/keys/%FF%7Bx%7D/elements"), "/items/0/member_base64"), "/g==");
	assert_status(http(client, "DELETE", "/keys/%FF%7Bx%7D", NULL), 204);
}

TEST(long_texts_are_cut_and_marked)
{
	const size_t len = 3 * 1024 * 1024;
	char *text = malloc(len);

	memset(text, 'x', len);
	server_command(&redis, "SADD p:s %b", text, len);
	struct answer a = get("/keys/s/elements");
	assert_int_equal(json_string_length(json_at(a, "/items/0/member")), 1024 * 1024);
	assert_true(json_is_true(json_at(a, "/items/0/truncated")));
	memset(text, '\xff', len);
	server_command(&redis, "HSET p:h %b %b", text, len, text, len);
	a = get("/keys/h/elements");
	assert_int_equal(json_string_length(json_at(a, "/items/0/value")), 3 * 1024 * 1024);
	assert_int_equal(json_string_length(json_at(a, "/items/0/value_base64")), (1024 * 1024 + 2) / 3 * 4);
	free(text);
}

/* ---- The prefix ---- */

/* Each daemon has its own prefix. Some prefixes would match others as glob patterns. */
static const char *const prefixes[] = { "a:", "b:", "ab:", "*:", "?:", "[ab]:", "\\a:", "a\\:", "[^x]:" };
enum { DAEMONS = COUNT(prefixes) };

static const char *whose; /* the value of the one key that a list may have */

static void is_our_own(const json_t *item)
{
	assert_string_equal(json_string_value(json_object_get(item, "key")), whose);
}

/* Asks for the key of daemon `other` in each way that might leave the daemon's own prefix. */
static void reach_out(struct client *c, size_t other)
{
	static const char *const tries[][2] = { { "", "" },     { "../", "" }, { "../../", "" }, { "*", "" },
						{ "\r\n", "" }, { "", "*" },   { "{}", "" },     { "\"", "" } };
	char mine[64], key[128];

	snprintf(mine, sizeof(mine), "%zu", other);
	for (size_t i = 0; i < COUNT(tries); i++) {
		snprintf(key, sizeof(key), "%s%s%s%s", tries[i][0], prefixes[other], mine, tries[i][1]);
		assert_problem(http(c, "GET", target_of(key, ""), NULL), 404, "not_found", "none");
		assert_problem(http(c, "GET", target_of(key, "/elements"), NULL), 404, "not_found", "none");
		assert_problem(http(c, "DELETE", target_of(key, ""), NULL), 404, "not_found", "none");
		assert_problem(http(c, "PUT", target_of(key, "/ttl"), "{\"ttl_ms\":1}"), 404, "not_found", "none");
	}
	assert_problem(http(c, "DELETE", target_of(mine, ""), NULL), 404, "not_found", "none");
}

TEST(nothing_outside_the_prefix_is_reached)
{
	static const char *const queries[] = { "",         "match=*", "match=**", "match=*:*",
					       "match=:*", "limit=1", "type=set", "match=*%5C" };

	for (size_t i = 0; i < DAEMONS; i++)
		server_command(&redis, "SADD %s%d m", prefixes[i], (int)i);
	server_command(&redis, "SADD outside m");
	for (size_t i = 0; i < DAEMONS; i++) {
		struct daemon own = { 0 };
		char mine[8];
		daemon_start(&own, "--redis", redis.url, "--prefix", prefixes[i]);
		struct client *c = client_open(own.port);
		snprintf(mine, sizeof(mine), "%zu", i);
		whose = mine;
		for (size_t q = 0; q < COUNT(queries); q++) {
			int n = list(c, queries[q], is_our_own);
			bool matches = !strstr(queries[q], ":") && !strstr(queries[q], "%5C");
			if (n != matches)
				fail_msg("--prefix %s: /keys?%s has %d keys", prefixes[i], queries[q], n);
		}
		for (size_t other = 0; other < DAEMONS; other++)
			if (other != i)
				reach_out(c, other);
		assert_status(http(c, "GET", target_of(mine, ""), NULL), 200);
		client_close(c);
		daemon_stop(&own);
	}
	assert_int_equal(server_keys(&redis), DAEMONS + 1);
	for (size_t i = 0; i < DAEMONS; i++)
		assert_int_equal(server_command(&redis, "PTTL %s%d", prefixes[i], (int)i)->integer, -1);
}

/* ---- Waiters for a resource that loses a key ---- */

enum { MOMENT_MS = 1000 }; /* far below their wait_ms */

static struct raw *parked_at(const char *target, const char *body)
{
	long before = waiting_at(&patternd);
	struct raw *r = waiter_at(&patternd, target, body, "");

	wait_until(all_parked(&patternd, before + 1), 5000);
	return r;
}

static void must_be_served(struct raw *r, const char *target)
{
	assert_status(waiter_answer(r, target, MOMENT_MS), 201);
	raw_close(r);
}

TEST(a_removed_key_wakes_its_waiters)
{
	static const struct {
		const char *target, *body, *waits, *key;
	} rows[] = {
		{ "/locks/a", "{\"ttl_ms\":60000}", "{\"ttl_ms\":60000,\"wait_ms\":20000}", "lock:{a}" },
		{ "/locks/a", "{\"ttl_ms\":60000,\"mode\":\"shared\"}", "{\"ttl_ms\":60000,\"wait_ms\":20000}",
		  "lock:{a}" },
		{ "/semaphores/s/permits", "{\"limit\":1,\"ttl_ms\":60000}",
		  "{\"limit\":1,\"ttl_ms\":60000,\"wait_ms\":20000}", "semaphore:{s}:permits" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_status(post(rows[i].target, rows[i].body), 201);
		struct raw *w = parked_at(rows[i].target, rows[i].waits);
		assert_status(http(client, "DELETE", target_of(rows[i].key, ""), NULL), 204);
		must_be_served(w, rows[i].target);
		w = parked_at(rows[i].target, rows[i].waits);
		assert_status(http(client, "PUT", target_of(rows[i].key, "/ttl"), "{\"ttl_ms\":50}"), 200);
		must_be_served(w, rows[i].target);
		server_command(&redis, "FLUSHALL");
	}
}

/* When a wait queue is removed, all its waiters join again. */
TEST(a_removed_line_is_made_again)
{
	static const char body[] = "{\"ttl_ms\":60000,\"wait_ms\":20000}";
	struct raw *w[3];

	assert_status(post("/locks/a", body), 201);
	for (size_t i = 0; i < 3; i++)
		w[i] = parked_at("/locks/a", body);
	assert_status(http(client, "DELETE", target_of("lock:{a}:waiters", ""), NULL), 204);
	wait_until(tickets_at(&redis, "p:lock:{a}") == 3, 5000);
	for (size_t i = 0; i < 3; i++) {
		assert_status(http(client, "DELETE", "/locks/a?force=true", NULL), 200);
		must_be_served(w[i], "/locks/a");
	}
}

/* A lock that lost its TTL stays held, and can be released with force. */
TEST(a_lock_that_never_ends_is_freed_by_force)
{
	assert_status(post("/locks/a", "{}"), 201);
	assert_status(http(client, "PUT", target_of("lock:{a}", "/ttl"), "{\"ttl_ms\":null}"), 200);
	assert_true(bool_at(get("/locks/a"), "/held"));
	assert_problem(post("/locks/a", "{}"), 409, "lock_held", "none");
	assert_true(server_command(&redis, "PTTL p:lock:{a}")->integer > 0);
	assert_status(http(client, "PUT", target_of("lock:{a}", "/ttl"), "{\"ttl_ms\":null}"), 200);
	assert_status(http(client, "DELETE", "/locks/a?force=true", NULL), 200);
	assert_status(post("/locks/a", "{}"), 201);
}

/* ---- Sizes, indexes and cursors ---- */

TEST(a_key_has_type_and_size)
{
	static const struct {
		const char *make, *type;
		int size;
	} rows[] = {
		{ "SET p:k 12345", "string", 5 },    { "SETBIT p:k 800 1", "string", 101 },
		{ "RPUSH p:k a b", "list", 2 },      { "SADD p:k 1 2 3", "set", 3 },
		{ "ZADD p:k 1 a 2 b", "zset", 2 },   { "HSET p:k a 1 b 2", "hash", 2 },
		{ "XADD p:k 1-1 a 1", "stream", 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&redis, rows[i].make);
		struct answer a = get("/keys/k");
		assert_string_equal(text_at(a, "/type"), rows[i].type);
		assert_int_equal(int_at(a, "/size"), rows[i].size);
		stage_forget(NULL);
	}
}

/* A match compares the values of a list. The index of a value counts the whole list. */
TEST(a_matched_value_keeps_its_index)
{
	server_command(&redis, "RPUSH p:k a b a c");
	struct answer a = get("/keys/k/elements?match=a&limit=1");
	assert_int_equal(int_at(a, "/items/0/index"), 0);
	assert_string_equal(text_at(a, "/next_cursor"), "1");
	assert_int_equal(int_at(get("/keys/k/elements?match=a&limit=1&cursor=1"), "/items/0/index"), 2);
	a = get("/keys/k/elements?match=a&limit=1&cursor=3");
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
}

TEST(a_cursor_is_one_of_a_page)
{
	static const char *const makes[] = { "RPUSH p:k 1", "SADD p:k 1", "HSET p:k 1 1", "ZADD p:k 1 1" };
	static const char *const wrong[] = { "x", "-1", "0.zz", "1%20", "0.0.0", "99999999999999999999999" };
	char target[96];

	for (size_t i = 0; i < COUNT(makes) * COUNT(wrong); i++) {
		server_command(&redis, "DEL p:k");
		server_command(&redis, makes[i / COUNT(wrong)]);
		snprintf(target, sizeof(target), "/keys/k/elements?cursor=%s", wrong[i % COUNT(wrong)]);
		assert_problem(get(target), 400, "invalid_value", "none");
	}
	assert_status(get("/keys/k/elements?cursor=999999999999999"), 200); /* past the end */
}
