/*
 * Tests of Redis URLs: the meaning of each part, and which URLs are refused rather than half
 * understood.
 */
#include "process/secret.h"
#include "redis/url.h"
#include "test.h"

struct good_row {
	const char *url, *password_apart; /* NULL: none */
	const char *host, *port, *path, *user, *password, *db, *address;
};

static const struct good_row good[] = {
	{ "redis://127.0.0.1:6379/0", NULL, "127.0.0.1", "6379", "", "", "", "0", "127.0.0.1:6379" },
	{ "redis://h", NULL, "h", "6379", "", "", "", "", "h:6379" },
	{ "redis://h/", NULL, "h", "6379", "", "", "", "", "h:6379" },
	{ "redis://h:1/15", NULL, "h", "1", "", "", "", "15", "h:1" },
	{ "redis://h:65535", NULL, "h", "65535", "", "", "", "", "h:65535" },
	{ "redis://[::1]", NULL, "::1", "6379", "", "", "", "", "[::1]:6379" },
	{ "redis://[::1]:7/2", NULL, "::1", "7", "", "", "", "2", "[::1]:7" },
	{ "redis://u:p@h", NULL, "h", "6379", "", "u", "p", "", "h:6379" },
	{ "redis://:p@h:7", NULL, "h", "7", "", "", "p", "", "h:7" },
	{ "redis://u@h", NULL, "h", "6379", "", "u", "", "", "h:6379" },
	{ "redis://u:p@[fe80::1]:7/1", NULL, "fe80::1", "7", "", "u", "p", "1", "[fe80::1]:7" },
	{ "redis://u:a:b@c/d@h", NULL, "h", "6379", "", "u", "a:b@c/d", "", "h:6379" },
	{ "redis://%75:%40%3a%2F%25@h", NULL, "h", "6379", "", "u", "@:/%", "", "h:6379" },
	{ "redis://u:p%ff@h", NULL, "h", "6379", "", "u", "p\xff", "", "h:6379" },
	{ "redis://u:p@h", "apart", "h", "6379", "", "u", "apart", "", "h:6379" },
	{ "redis://u:p@h", "", "h", "6379", "", "u", "p", "", "h:6379" },
	{ "redis://h", "%41 @", "h", "6379", "", "", "%41 @", "", "h:6379" }, /* not decoded */
	{ "rediss://h", NULL, "h", "6379", "", "", "", "", "h:6379" },
	{ "rediss://u:p@[::1]:7/1", "apart", "::1", "7", "", "u", "apart", "1", "[::1]:7" },
	{ "unix:///run/redis.sock", NULL, "", "", "/run/redis.sock", "", "", "", "/run/redis.sock" },
	{ "unix:///a?db=3", "p", "", "", "/a", "", "p", "3", "/a" },
};

TEST(good_urls)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		const struct good_row *r = &good[i];
		struct redis_url u;
		const char *why = redis_url_parse(&u, r->url, r->password_apart);
		if (why)
			fail_msg("%s is refused: %s", r->url, why);
		assert_string_equal(u.host, r->host);
		assert_string_equal(u.port, r->port);
		assert_string_equal(u.path, r->path);
		assert_string_equal(u.user, r->user);
		assert_string_equal(u.password, r->password);
		assert_string_equal(u.db, r->db);
		assert_string_equal(u.address, r->address);
		assert_int_equal(u.tls, strncmp(r->url, "rediss:", 7) == 0);
	}
}

static const struct {
	const char *url;
	const char *why; /* part of the reason */
} bad[] = {
	{ "", "scheme" },
	{ "h:6379", "scheme" },
	{ "redis:h", "scheme" },
	{ "redis:/h", "scheme" },
	{ "REDIS://h", "scheme" },
	{ "RedisS://h", "scheme" },
	{ "redisss://h", "scheme" },
	{ "rediss:/h", "scheme" },
	{ "rediss://", "host" },
	{ "rediss://h:x", "port" },
	{ "http://h", "scheme" },
	{ " redis://h", "scheme" },
	{ "redis://", "host" },
	{ "redis://:6379", "host" },
	{ "redis:///0", "host" },
	{ "redis://u:p@", "host" },
	{ "redis://[]", "host" },
	{ "redis://[]:1", "host" },
	{ "redis://::1", "host" },
	{ "redis://h:", "port" },
	{ "redis://h:65536", "port" },
	{ "redis://h:99999", "port" },
	{ "redis://h:123456", "port" },
	{ "redis://h:006379", "port" },
	{ "redis://h:-1", "port" },
	{ "redis://h:+1", "port" },
	{ "redis://h:1 ", "port" },
	{ "redis://h:x", "port" },
	{ "redis://h:1:2", "port" },
	{ "redis://fe80::1:6379", "port" },
	{ "redis://h/x", "database" },
	{ "redis://h/-1", "database" },
	{ "redis://h/1/2", "database" },
	{ "redis://h/65536", "database" },
	{ "redis://h/0?x=1", "database" },
	{ "redis://u:%@h", "escape" },
	{ "redis://u:%4@h", "escape" },
	{ "redis://u:%zz@h", "escape" },
	{ "redis://u:%00@h", "escape" },
	{ "redis://%0x:p@h", "escape" },
	{ "unix://", "absolute" },
	{ "unix://run/redis.sock", "absolute" },
	{ "unix://?db=1", "absolute" },
	{ "unix:///a?db=", "database" },
	{ "unix:///a?db=x", "database" },
};

TEST(bad_urls)
{
	struct redis_url u;

	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *why = redis_url_parse(&u, bad[i].url, NULL);
		if (!why)
			fail_msg("%s should be refused, not be %s", bad[i].url, u.address);
		if (!strstr(why, bad[i].why))
			fail_msg("%s is refused for another reason: %s", bad[i].url, why);
	}
}

/* A bracket is followed by a port or by nothing: never by a part of the host. */
TEST(brackets_are_whole)
{
	static const char *const odd[] = { "redis://[::1", "redis://[abc", "redis://[::1]x", "redis://[::1]x:1",
					   "redis://[::1]6379" };
	struct redis_url u;

	for (size_t i = 0; i < COUNT(odd); i++)
		if (!redis_url_parse(&u, odd[i], NULL))
			fail_msg("%s should be refused, not be the host '%s'", odd[i], u.host);
}

/* Each part at the largest size that fits, and one byte beyond. */
TEST(sizes)
{
	static const struct {
		const char *before, *after;
		size_t most;
	} rows[] = {
		{ "redis://", ":1", 255 },   /* host */
		{ "redis://", "@h", 127 },   /* user */
		{ "redis://u:", "@h", 511 }, /* password */
		{ "unix:///", "", 106 },     /* path, after its slash */
	};
	struct redis_url u;
	char part[600], url[700];

	for (size_t i = 0; i < COUNT(rows); i++) {
		memset(part, 'x', sizeof(part));
		snprintf(url, sizeof(url), "%s%.*s%s", rows[i].before, (int)rows[i].most, part, rows[i].after);
		const char *why = redis_url_parse(&u, url, NULL);
		if (why)
			fail_msg("%s is refused: %s", url, why);
		snprintf(url, sizeof(url), "%s%.*s%s", rows[i].before, (int)rows[i].most + 1, part, rows[i].after);
		assert_non_null(redis_url_parse(&u, url, NULL));
	}
	part[512] = '\0';
	assert_non_null(redis_url_parse(&u, "redis://h", part));
	part[511] = '\0';
	assert_null(redis_url_parse(&u, "redis://h", part));
	assert_string_equal(u.password, part);
}

static const struct {
	const char *url;
	enum redis_kind kind;
	size_t count;
	const char *master, *last_host, *last_port, *db, *user;
} several[] = {
	{ "redis://h:1/3", REDIS_SERVER, 1, "", "h", "1", "3", "" },
	{ "redis+cluster://h", REDIS_CLUSTER, 1, "", "h", "6379", "", "" },
	{ "redis+cluster://h:7000,h2/0", REDIS_CLUSTER, 2, "", "h2", "6379", "", "" },
	{ "redis+cluster://u:p@h:7000,[::1]:7", REDIS_CLUSTER, 2, "", "::1", "7", "", "u" },
	{ "redis+cluster://u:a,b@h,h3:1", REDIS_CLUSTER, 2, "", "h3", "1", "", "u" },
	{ "rediss+cluster://h:7000,h2", REDIS_CLUSTER, 2, "", "h2", "6379", "", "" },
	{ "rediss+sentinel://h/mymaster/2", REDIS_SENTINEL, 1, "mymaster", "h", "26379", "2", "" },
	{ "redis+sentinel://h/mymaster", REDIS_SENTINEL, 1, "mymaster", "h", "26379", "", "" },
	{ "redis+sentinel://u:p@h,h2:5/mymaster/7", REDIS_SENTINEL, 2, "mymaster", "h2", "5", "7", "u" },
};

TEST(several_hosts)
{
	static struct redis_urls urls;

	for (size_t i = 0; i < COUNT(several); i++) {
		const char *why = redis_urls_parse(&urls, several[i].url, NULL);
		if (why)
			fail_msg("%s is refused: %s", several[i].url, why);
		const struct redis_url *last = &urls.at[urls.count - 1];
		assert_int_equal(urls.kind, several[i].kind);
		assert_int_equal(urls.count, several[i].count);
		assert_int_equal(last->tls, strncmp(several[i].url, "rediss", 6) == 0);
		assert_int_equal(last->kind, several[i].kind);
		assert_string_equal(urls.master, several[i].master);
		assert_string_equal(last->host, several[i].last_host);
		assert_string_equal(last->port, several[i].last_port);
		assert_string_equal(last->db, several[i].db);
		assert_string_equal(last->user, several[i].user);
	}
	assert_null(redis_urls_parse(&urls, "redis+cluster://u@a,b", "apart"));
	assert_string_equal(urls.at[1].password, "apart");
}

static const struct {
	const char *url, *why;
} not_several[] = {
	{ "redis+cluster://", "host" },
	{ "redis+cluster://a,", "host" },
	{ "redis+cluster://,a", "host" },
	{ "redis+cluster://a,:1", "host" },
	{ "redis+cluster://a:x,b", "port" },
	{ "redis+cluster://a,b/1", "database" },
	{ "redis+cluster://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "16" },
	{ "redis+sentinel://h", "name of the master" },
	{ "redis+sentinel://h/", "name of the master" },
	{ "redis+sentinel://h//1", "name of the master" },
	{ "redis+sentinel://h/m/x", "database" },
	{ "redis+sentinel:///m", "host" },
	{ "redis+other://h", "scheme" },
	{ "redisss+cluster://h", "scheme" },
	{ "rediss+unix:///h", "scheme" },
};

TEST(bad_hosts)
{
	static struct redis_urls urls;

	for (size_t i = 0; i < COUNT(not_several); i++) {
		const char *why = redis_urls_parse(&urls, not_several[i].url, NULL);
		if (!why)
			fail_msg("%s should be refused", not_several[i].url);
		if (!strstr(why, not_several[i].why))
			fail_msg("%s is refused for another reason: %s", not_several[i].url, why);
	}
}

/* Nodes and Sentinels may return any bytes as an address. */
TEST(returned_addresses)
{
	struct redis_url like = { .user = "u", .password = "p", .port = "1" }, u;
	static const char longest[300] = { [0 ... 298] = 'x' };

	assert_true(redis_url_at(&u, &like, TEXT("10.0.0.1"), 7000));
	assert_string_equal(u.address, "10.0.0.1:7000");
	assert_string_equal(u.password, "p");
	assert_true(redis_url_at(&u, &like, TEXT("fe80::1"), 65535));
	assert_string_equal(u.address, "[fe80::1]:65535");
	assert_false(redis_url_at(&u, &like, TEXT(""), 1));
	assert_false(redis_url_at(&u, &like, TEXT("h"), 0));
	assert_false(redis_url_at(&u, &like, TEXT("h"), 65536));
	assert_false(redis_url_at(&u, &like, TEXT("h"), -1));
	assert_false(redis_url_at(&u, &like, text_of(longest), 1));
}

/* The list of processes must not show passwords; all else stays. */
TEST(passwords_are_hidden)
{
	static const struct {
		const char *url, *hidden;
	} rows[] = {
		{ "redis://u:pass@h:1/2", "redis://u:****@h:1/2" },
		{ "rediss://:pass@h", "rediss://:****@h" },
		{ "redis://:p@ss@h", "redis://:****@h" },
		{ "redis://u@h", "redis://u@h" },
		{ "redis://h:1", "redis://h:1" },
		{ "u:p@h", "*****" }, /* no URL: all of it may be secret */
	};
	char url[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(url, sizeof(url), "%s", rows[i].url);
		secret_hide(url);
		assert_string_equal(url, rows[i].hidden);
	}
}
