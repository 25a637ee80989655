/*
 * What all kinds of named resources have in common: the list, GET, the expiry, the deletion, and a
 * key of another type in their place. Each kind has one row. (Which writes make a name:
 * test_names.c.)
 */
#include "contract.h"
#include "stage.h"
#include "test.h"

enum { TTL_MS = 60000, SOON_MS = 5000 };
enum {
	LISTED = 1,
	REPORTED = 2,
	DELETED = 4,
	EXPIRES = 8,
	NAMES = 16, /* its list has names only, from an index */
	MOST = LISTED | REPORTED | DELETED,
	ALL = MOST | EXPIRES
};

static const struct kind {
	const char *path, *key;             /* "/counters", "counter" */
	const char *method, *behind, *body; /* makes a resource; the target ends with `behind` */
	int absent;                         /* the status of GET if there is no resource */
	unsigned checks;
} kinds[] = {
	{ "/locks", "lock", "POST", "", "{\"ttl_ms\":60000,\"owner\":\"me\"}", 200, LISTED | REPORTED },
	{ "/semaphores", "semaphore", "POST", "/permits", "{\"limit\":9,\"ttl_ms\":60000}", 200, MOST },
	{ "/fences", "fence", "POST", "", "{\"fence\":9007199254740991}", 200, MOST },
	{ "/queues", "queue", "POST", "/messages", "{\"body\":1}", 200, MOST },
	{ "/sales", "sale", "PUT", "", "{\"stock\":7}", 404, MOST },
	{ "/cache", "cache", "PUT", "", "{\"value\":1,\"ttl_ms\":60000}", 404, MOST },
	{ "/bitmaps", "bitmap", "PUT", "/bits/9", "{\"value\":1}", 200, MOST },
	{ "/uv", "uv", "POST", "", "{\"visitors\":[\"v\"]}", 200, LISTED | DELETED | NAMES },
	{ "/pv", "pv", "POST", "", NULL, 200, LISTED | DELETED | NAMES },
	{ "/counters", "counter", "POST", "/increment", "{\"counters\":{\"n\":1}}", 200, ALL | NAMES },
	{ "/feeds", "feed", "POST", "/items", "{\"items\":[1],\"max_items\":5}", 200, ALL },
	{ "/sets", "set", "PUT", "/members/m", NULL, 200, ALL },
	{ "/checkins", "checkin", "PUT", "/days/2026-11-20", NULL, 200, ALL },
	{ "/bloom", "bloom", "POST", "/add", "{\"items\":[\"i\"]}", 404, ALL },
	{ "/leaderboards", "board", "PUT", "/members/m", "{\"scores\":{\"points\":1}}", 404, ALL },
	{ "/geo", "geo", "PUT", "/members/m", "{\"longitude\":1,\"latitude\":1}", 200, ALL },
};
enum { KINDS = COUNT(kinds) };

static struct answer ask(const struct kind *k, const char *method, const char *name, const char *behind,
			 const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "%s/%s%s", k->path, name, behind);
	return http(client, method, target, body);
}

static struct answer make(const struct kind *k, const char *name)
{
	struct answer a = ask(k, k->method, name, k->behind, k->body);

	assert_in_range(a.status, 200, 204);
	return a;
}

static struct answer look(const struct kind *k, const char *name)
{
	return ask(k, "GET", name, "", NULL);
}

static struct answer patch(const struct kind *k, const char *body)
{
	return ask(k, "PATCH", "a", "", body);
}

static struct answer list(const struct kind *k, const char *query)
{
	char target[128];

	snprintf(target, sizeof(target), "%s%s", k->path, query);
	struct answer a = get_all(target);
	assert_status(a, 200);
	return a;
}

static size_t listed(struct answer a)
{
	return json_array_size(json_at(a, "/items"));
}

/* Members that change with time, or of which GET returns more. */
static bool may_differ(const char *member)
{
	static const char *const these[] = { "ttl_ms", "oldest_ready_ms", "holders" };

	for (size_t i = 0; i < COUNT(these); i++)
		if (strcmp(member, these[i]) == 0)
			return true;
	return false;
}

/* The members of a list item are equal to the same members in the answer to GET. */
static void item_is_as_a_look(const struct kind *k, struct answer items, size_t at)
{
	const json_t *item = json_array_get(json_at(items, "/items"), at), *member;
	const char *name = json_string_value(json_object_get(item, json_object_get(item, "key") ? "key" : "name")), *of;
	struct answer a = look(k, name);
	size_t same = 0;

	assert_status(a, 200);
	json_object_foreach((json_t *)(uintptr_t)item, of, member) {
		const json_t *other = json_object_get(a.json, of);
		if (!other || may_differ(of))
			continue;
		if (!json_equal(member, other))
			fail_msg("%s of %s: %s", of, k->path, a.body);
		same++;
	}
	assert_true(same > 0);
}

/* The list has no other kinds, no key of another type, and no name that does not match. */
static void is_listed(void **state)
{
	const struct kind *k = *state;

	if (!(k->checks & LISTED))
		skip();
	for (size_t i = 0; i < KINDS; i++)
		if (&kinds[i] != k)
			make(&kinds[i], "other");
	assert_int_equal(listed(list(k, "")), 0);
	if (!(k->checks & NAMES)) {
		make(k, "foreign");
		server_command(&redis, "DEL p:%s:{foreign}", k->key);
		server_command(&redis, "RPUSH p:%s:{foreign} x", k->key);
	}
	make(k, "a");
	make(k, "b");
	struct answer all = list(k, ""), some = list(k, "?match=b*");
	assert_int_equal(listed(all), 2);
	for (size_t i = 0; i < 2; i++)
		item_is_as_a_look(k, all, i);
	assert_int_equal(listed(some), 1);
	const char *name = text_at(some, json_at(some, "/items/0/key") ? "/items/0/key" : "/items/0/name");
	assert_string_equal(name, "b");
	assert_int_equal(listed(list(k, "?match=c*")), 0);
}

TEST_ROWS(is_listed, kinds, path);

static void a_foreign_key_is_reported_and_kept(void **state)
{
	const struct kind *k = *state;

	if (!(k->checks & REPORTED))
		skip();
	server_command(&redis, "RPUSH p:%s:{a} x", k->key);
	assert_problem(ask(k, k->method, "a", k->behind, k->body), 500, "foreign_key", "none");
	assert_problem(look(k, "a"), 500, "foreign_key", "none");
	if (k->checks & DELETED)
		assert_problem(ask(k, "DELETE", "a", "", NULL), 500, "foreign_key", "none");
	if (k->checks & EXPIRES)
		assert_problem(patch(k, "{\"ttl_ms\":1}"), 500, "foreign_key", "none");
	assert_int_equal(server_keys(&redis), 1);
	assert_string_equal(server_command(&redis, "LINDEX p:%s:{a} 0", k->key)->str, "x");
}

TEST_ROWS(a_foreign_key_is_reported_and_kept, kinds, path);

static void is_absent(const struct kind *k)
{
	struct answer a = look(k, "a");

	assert_status(a, k->absent);
	if (a.status == 404)
		assert_problem(a, 404, "not_found", "none");
}

/* A later write and an empty PATCH keep the expiry; null removes it. */
static void expires(void **state)
{
	const struct kind *k = *state;

	if (!(k->checks & EXPIRES))
		skip();
	is_absent(k);
	assert_problem(patch(k, "{\"ttl_ms\":60000}"), 404, "not_found", "none");
	make(k, "a");
	assert_true(json_is_null(json_at(look(k, "a"), "/expires_at_ms")));
	struct answer a = patch(k, "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "a");
	int64_t at = int_at(a, "/expires_at_ms");
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:%s:{a}", k->key)->integer, at);
	assert_in_range(server_command(&redis, "PTTL p:%s:{a}", k->key)->integer, TTL_MS - SOON_MS, TTL_MS);
	make(k, "a");
	assert_int_equal(int_at(look(k, "a"), "/expires_at_ms"), at);
	if (!(k->checks & NAMES))
		assert_int_equal(int_at(list(k, ""), "/items/0/expires_at_ms"), at);
	assert_int_equal(int_at(patch(k, "{}"), "/expires_at_ms"), at);
	a = patch(k, "{\"ttl_ms\":null}");
	assert_status(a, 200);
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_true(json_is_null(json_at(look(k, "a"), "/expires_at_ms")));
	assert_int_equal(server_command(&redis, "PTTL p:%s:{a}", k->key)->integer, -1);
	assert_status(patch(k, "{\"ttl_ms\":1}"), 200);
	wait_until(listed(list(k, "")) == 0, SOON_MS);
	is_absent(k);
	wait_until(server_keys(&redis) == 0, SOON_MS);
}

TEST_ROWS(expires, kinds, path);

static void is_deleted(void **state)
{
	const struct kind *k = *state;

	if (!(k->checks & DELETED))
		skip();
	is_absent(k);
	assert_problem(ask(k, "DELETE", "a", "", NULL), 404, "not_found", "none");
	make(k, "a");
	make(k, "b");
	assert_status(ask(k, "DELETE", "a", "", NULL), 204);
	assert_problem(ask(k, "DELETE", "a", "", NULL), 404, "not_found", "none");
	is_absent(k);
	assert_int_equal(listed(list(k, "")), 1);
	assert_status(look(k, "b"), 200);
	assert_status(ask(k, "DELETE", "b", "", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
	assert_int_equal(listed(list(k, "")), 0);
	make(k, "a");
}

TEST_ROWS(is_deleted, kinds, path);

/* Each list with `match` belongs to a kind. Keys and topics have no row. */
TEST(no_kind_is_forgotten)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		bool has_match = false, has_row = strcmp(op->path, "/keys") == 0 || strcmp(op->path, "/topics") == 0;
		for (size_t p = 0; p < op->parameter_count; p++)
			has_match = has_match || strcmp(op->parameters[p].name, "match") == 0;
		for (size_t k = 0; k < KINDS; k++)
			has_row = has_row || strcmp(op->path, kinds[k].path) == 0;
		if (has_match && !strchr(op->path + 1, '/') && !has_row)
			fail_msg("%s has no row here", op->path);
	}
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);
