/*
 * Topics: one stream listens to several topics and to prefixes. A prefix matches what PSUBSCRIBE
 * matches. Each message comes once, after the name of its topic.
 */
#include <signal.h>

#include "../support/events.h"
#include "../support/leap.h"
#include "../support/proc.h"
#include "../support/stage.h"
#include "../support/tokens.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 3000, KEPT_S = 11, NAMES_MAX = 10 };

/* `query`: percent-encoded, "name=a&name=b*". */
static struct events *listen_to(int port, const char *query)
{
	char target[8192];

	snprintf(target, sizeof(target), "/topics/stream?%s", query);
	struct events *e = events_get(port, target);
	assert_string_equal(events_next_named(e, SOON_MS).name, "listening");
	return e;
}

static void publish(const char *topic, int number)
{
	char target[512], body[32];

	snprintf(target, sizeof(target), "/topics/%s", topic);
	snprintf(body, sizeof(body), "{\"body\":%d}", number);
	assert_status(post(target, body), 200);
}

static void assert_is(struct event v, const char *topic, int number)
{
	assert_string_equal(v.name, "message");
	assert_string_equal(json_string_value(json_object_get(v.json, "topic")), topic);
	assert_true(json_integer_value(json_object_get(v.json, "published_at_ms")) > 0);
	assert_int_equal(json_integer_value(json_object_get(v.json, "body")), number);
	assert_int_equal(json_object_size(v.json), 3);
	assert_true(strncmp(v.data, "{\"topic\":", 9) == 0);
}

static void assert_next(struct events *e, const char *topic, int number)
{
	assert_is(events_next_named(e, SOON_MS), topic, number);
}

SUITE(.open = stage_open_to_leap, .close = stage_close, .after = stage_forget);

TEST(one_stream_has_several_topics)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct events *here = listen_to(patternd.port, "name=prices&name=news.*&name=caf%C3%A9%20%22q%22");
	struct events *there = listen_to(other.port, "name=*");
	publish("prices", 1);
	assert_next(here, "prices", 1);
	publish("news.sport", 2);
	assert_next(here, "news.sport", 2);
	publish("pricesx", 3); /* a name is not a prefix */
	publish("news", 4);
	publish("news.", 5);
	assert_next(here, "news.", 5);
	publish("caf%C3%A9%20%22q%22", 6);
	assert_next(here, "caf\xc3\xa9 \"q\"", 6);
	for (int i = 0; i < 6; i++) /* in a Cluster, messages of several nodes may change places */
		assert_string_equal(events_next_named(there, SOON_MS).name, "message");
	events_close(here);
	events_close(there);
	daemon_stop(&other);
}

/* Line breaks between the tokens of a body arrive as in the stream of one topic. */
TEST(a_body_arrives_as_it_is)
{
	struct events *e = listen_to(patternd.port, "name=body.*&name=one");

	static const char *const topics[] = { "/topics/body.x", "/topics/one" };
	for (size_t i = 0; i < COUNT(topics); i++) {
		assert_status(post(topics[i], "{\"body\":{\"a\":\r\n1.10,\n\"b\":\"\\u00e4\\n\"}}"), 200);
		struct event v = events_next_named(e, SOON_MS);
		assert_string_equal(v.name, "message");
		assert_non_null(strstr(v.data, "\"body\":{\"a\":\n1.10,\n\"b\":\"\\u00e4\\n\"}}"));
		assert_non_null(v.json);
	}
	events_close(e);
}

/* ---- PSUBSCRIBE is the model ---- */

/* Escapes all but the last character of the pattern, for a glob of Redis. */
static void glob_of(const char *pattern, char *glob)
{
	size_t len = strlen(pattern);

	for (size_t i = 0; i < len; i++) {
		if (i + 1 < len && strchr("*?[]\\", pattern[i]))
			*glob++ = '\\';
		*glob++ = pattern[i];
	}
	*glob = '\0';
}

static void encode(const char *name, char *out)
{
	for (; *name; name++)
		out += sprintf(out, "%%%02X", (unsigned char)*name);
}

TEST(a_pattern_matches_what_psubscribe_matches)
{
	static const char *const patterns[] = { "*",     "a*",    "news.*",    "n?ws*", "n[e]ws*",
						"a\\b*", "\xc3*", "\xc3\xa4*", " *" };
	static const char *const names[] = { "a",    "news",      "news.",    "news.sport", "n?ws",
					     "nXws", "n[e]ws.x",  "newsx",    "a\\b",       "a\\bc",
					     "ab",   "\xc3\xa4x", "\xc3\xa5", " x",         "A" };
	redisContext *publisher = redisConnect("127.0.0.1", redis.port); /* the same node of a Cluster */
	int matched = 0;

	for (size_t p = 0; p < COUNT(patterns); p++) {
		char glob[64], query[256] = "name=", target[256];
		glob_of(patterns[p], glob);
		encode(patterns[p], query + strlen(query));
		if (strcmp(patterns[p], "\xc3*") == 0) { /* half a character is not UTF-8 */
			snprintf(target, sizeof(target), "/topics/stream?%s", query);
			assert_problem(get(target), 400, "invalid_name", "none");
			continue;
		}
		redisContext *model = redisConnect("127.0.0.1", redis.port);
		freeReplyObject(redisCommand(model, "PSUBSCRIBE %s", glob));
		struct events *e = listen_to(patternd.port, query);
		for (size_t i = 0; i < COUNT(names); i++) {
			redisReply *r = redisCommand(publisher, "PUBLISH %s x", names[i]);
			bool matches = r->integer == 1;
			freeReplyObject(r);
			encode(names[i], target);
			publish(target, (int)i);
			if (matches)
				assert_next(e, names[i], (int)i);
			matched += matches;
		}
		struct answer last = post("/topics/last", "{\"body\":0}"); /* no other topic arrived */
		assert_status(last, 200);
		if (strcmp(patterns[p], "*") == 0)
			assert_next(e, "last", 0);
		events_close(e);
		redisFree(model);
	}
	redisFree(publisher);
	assert_in_range(matched, 25, 60);
}

/* ---- What is refused ---- */

TEST(names_are_refused)
{
	static const struct {
		const char *query, *code;
	} rows[] = { { "", "missing_field" },
		     { "name=", "invalid_name" },
		     { "name=a*b", "invalid_name" },
		     { "name=**", "invalid_name" },
		     { "name=*a", "invalid_name" },
		     { "name=a&name=a", "invalid_value" },
		     { "name=a*&name=a*", "invalid_value" },
		     { "name=a*&name=ab*", "invalid_value" },
		     { "name=ab&name=x&name=a*", "invalid_value" },
		     { "name=*&name=a", "invalid_value" },
		     { "name=stream", "reserved_name" },
		     { "name=..", "reserved_name" },
		     { "name=a%7B", "invalid_name" },
		     { "name=a%01*", "invalid_name" },
		     { "names=a", "unknown_field" },
		     { "name=1&name=2&name=3&name=4&name=5&name=6&name=7&name=8&name=9&name=10&name=11",
		       "out_of_range" } };
	char target[512];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/topics/stream?%s", rows[i].query);
		assert_problem(get(target), 400, rows[i].code, "none");
	}
	assert_non_null(strstr(get("/topics/stream?name=a*&name=ab").body, "'a*' covers"));
}

/* No topic has a `*` in its name; the error names the operation that takes one. */
TEST(a_name_has_no_star)
{
	static const char *const methods[] = { "GET", "POST", "GET" };
	static const char *const targets[] = { "/topics/news.*", "/topics/a*b", "/topics/news.%2A/stream" };

	for (size_t i = 0; i < COUNT(targets); i++) {
		struct answer a = http(client, methods[i], targets[i], i == 1 ? "{\"body\":1}" : NULL);
		assert_problem(a, 400, "invalid_name", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "{name}");
		assert_non_null(strstr(text_at(a, "/detail"), "GET /topics/stream?name="));
	}
}

/* Ten of the longest names fit into a request's target. */
TEST(ten_long_names_fit)
{
	char query[8192] = "", *at = query, name[201];

	for (int i = 0; i < NAMES_MAX; i++) {
		memset(name, ' ', sizeof(name) - 1);
		name[0] = (char)('a' + i);
		name[sizeof(name) - 1] = '\0';
		if (i % 2)
			name[sizeof(name) - 2] = '*';
		at += sprintf(at, "%sname=", i ? "&" : "");
		encode(name, at);
		at += strlen(at);
	}
	struct events *e = listen_to(patternd.port, query);
	events_close(e);
}

TEST(each_name_needs_its_scope)
{
	static const char *const allowed[] = { "name=news.*", "name=news.sport&name=news.a*", "name=prices" };
	static const char *const refused[] = { "name=*",       "name=news*",         "name=n*",
					       "name=prices*", "name=prices&name=x", "name=news.a*&name=x*" };
	struct daemon other = { 0 };
	char target[128];

	daemon_start(&other, "--redis", redis.url, "--tokens",
		     tokens_file("secret-0123456789",
				 "topics:news.*:subscribe topics:prices:subscribe topics:x:publish"));
	struct client *c = client_open(other.port);
	for (size_t i = 0; i < COUNT(refused); i++) {
		snprintf(target, sizeof(target), "/topics/stream?%s", refused[i]);
		assert_problem(http(c, "GET", target, NULL, AUTHORIZATION("secret-0123456789")), 403, "forbidden",
			       "none");
	}
	client_close(c);
	for (size_t i = 0; i < COUNT(allowed); i++) {
		struct raw *r = raw_connect(other.port);
		char request[512];
		snprintf(request, sizeof(request),
			 "GET /topics/stream?%s HTTP/1.1\r\nHost: localhost\r\n" AUTHORIZATION(
				 "secret-0123456789") "\r\n\r\n",
			 allowed[i]);
		raw_text(r, request);
		assert_status(raw_head(r, SOON_MS), 200);
		raw_close(r);
	}
	daemon_stop(&other);
}

/* ---- What it costs the publisher ---- */

static long calls_of(const char *command)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "cmdstat_%s:calls=", command);
	const char *at = strstr(server_command(&redis, "INFO commandstats")->str, wanted);
	return at ? atol(at + strlen(wanted)) : 0;
}

static long listening_to_patterns(void)
{
	return server_command(&redis, "PUBSUB NUMSUB p:topic:{*}")->element[1]->integer;
}

TEST(without_patterns_nothing_is_published_twice)
{
	struct events *one = listen_to(patternd.port, "name=cost");

	leap(&patternd, KEPT_S); /* a subscription without listeners is kept for so long */
	wait_until(listening_to_patterns() == 0, SOON_MS);
	long before = calls_of("publish");
	struct answer a = post("/topics/cost", "{\"body\":1}");
	assert_int_equal(int_at(a, "/daemons"), 1);
	assert_int_equal(int_at(a, "/pattern_daemons"), 0);
	assert_int_equal(calls_of("publish"), before);
	assert_next(one, "cost", 1);
	struct events *some = listen_to(patternd.port, "name=other.*");
	a = post("/topics/cost", "{\"body\":2}"); /* no pattern of the daemon matches, and it knows that */
	assert_int_equal(int_at(a, "/daemons"), 1);
	assert_int_equal(int_at(a, "/pattern_daemons"), 1);
	assert_next(one, "cost", 2);
	assert_int_equal(int_at(get("/topics/other.x"), "/daemons"), 0);
	publish("other.x", 3);
	assert_next(some, "other.x", 3);
	events_close(one);
	events_close(some);
}

/* ---- Hostile publishers, and what is lost ---- */

TEST(what_others_publish_is_ignored)
{
	static const char *const junk[] = { "",
					    "x",
					    "\n",
					    "p:topic:{t.x}",
					    "p:topic:{t.x}\n",
					    "p:topic:{t.x}\nx",
					    "p:topic:{t.x\n{}",
					    "p:topic:{}\n{\"body\":1}",
					    "q:topic:{t.x}\n{\"body\":1}",
					    "p:topics:{t.x}\n{\"body\":1}",
					    "p:topic:{u.x}\n{\"body\":1}" };
	struct events *e = listen_to(patternd.port, "name=t.*");

	for (size_t i = 0; i < COUNT(junk); i++)
		server_command(&redis, "PUBLISH p:topic:{*} %s", junk[i]);
	publish("t.x", 7);
	assert_next(e, "t.x", 7);
	events_close(e);
}

/*
 * The loss of all connections is one gap. In a Cluster there may be one gap per node, since the
 * nodes come back one after the other.
 */
TEST(a_loss_of_all_is_one_gap)
{
	struct events *e = listen_to(patternd.port, "name=lost-a&name=lost-b&name=lost-c&name=lost.*");

	server_kill(&redis);
	wait_until(get("/topics/stream?name=gone").status == 503, SOON_MS);
	wait_until(get("/topics/stream?name=gone*").status == 503, SOON_MS);
	server_restart(&redis);
	assert_string_equal(events_next_named(e, SOON_MS).name, "gap");
	wait_until(get("/readyz").status == 200, SOON_MS);
	wait_until(post("/topics/lost-b", "{\"body\":1}").status == 200, SOON_MS);
	struct event v = events_next_named(e, SOON_MS);
	while (redis.cluster && strcmp(v.name, "gap") == 0)
		v = events_next_named(e, SOON_MS);
	assert_is(v, "lost-b", 1);
	publish("lost.x", 2);
	assert_next(e, "lost.x", 2);
	events_close(e);
}

TEST(a_drain_ends_it_in_order)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct events *e = listen_to(other.port, "name=end&name=end.*");
	kill(other.proc.pid, SIGTERM);
	assert_string_equal(events_next_named(e, SOON_MS).name, "closing");
	assert_true(events_ended(e, SOON_MS));
	events_close(e);
	daemon_stop(&other);
}
