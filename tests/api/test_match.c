/*
 * `match`: literal text with at most two stars, in every operation that has it; and what a page of the costliest pattern takes of
 * Redis.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract.h"
#include "stage.h"

enum { NAME_BYTES = 200, BIG = 5000, FOREIGN = 100000, FOREIGN_FULL = 1000000, REPEATS = 5, HELD_US_MAX = 5000 };

/* Calls `check` with a target of each operation that has `match`, that parameter last. */
static void each_list(void (*check)(const char *target, const char *match), const char *match)
{
	size_t seen = 0;

	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		for (size_t k = 0; k < op->parameter_count; k++) {
			if (strcmp(op->parameters[k].name, "match") != 0)
				continue;
			char *target = contract_target(op, "match", match);
			check(target, match);
			free(target);
			seen++;
		}
	}
	assert_true(seen >= 11);
}

static void is_refused(const char *target, const char *match)
{
	struct answer a = get(target);

	(void)match;
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?match");
}

static void is_taken(const char *target, const char *match)
{
	struct answer a = get(target);

	(void)match;
	if (a.status != 404) /* a set of geo that is not there */
		assert_status(a, 200);
}

static void two_stars_are_the_most(void **state)
{
	(void)state;
	each_list(is_taken, "a*b*c");
	each_list(is_taken, "**");
	each_list(is_taken, "[a]?%5C");
	each_list(is_refused, "a*b*c*");
	each_list(is_refused, "***");
}

static int found_by(const char *lead, const char *match)
{
	char target[256];

	snprintf(target, sizeof(target), "%s%s", lead, match);
	return (int)json_array_size(json_at(get_all(target), "/items"));
}

static void every_other_byte_is_literal(void **state)
{
	static const char *const names[] = { "a?b",   "a[x]b",     "a%5Cb", "a%5C%5Cb", "a%5Eb",
					     "a%5Db", "a[%5Eb]b", "axb",   "ab",       "a-b" };
	static const char *const lists[] = { "/sets/all?match=", "/geo/all/members?match=", "/queues?match=",
					     "/keys?match=queue:{" };
	char target[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool asks = strchr(names[i], '?');
		snprintf(target, sizeof(target), "/sets/all/members/%s", asks ? "a%3Fb" : names[i]);
		assert_true(http(client, "PUT", target, NULL).status < 300);
		snprintf(target, sizeof(target), "/geo/all/members/%s", asks ? "a%3Fb" : names[i]);
		assert_true(http(client, "PUT", target, "{\"longitude\":1,\"latitude\":1}").status < 300);
		snprintf(target, sizeof(target), "/queues/%s/messages", asks ? "a%3Fb" : names[i]);
		assert_status(post(target, "{\"body\":1}"), 201);
	}
	for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
		bool is_key = strstr(lists[l], "{");
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			snprintf(target, sizeof(target), "%s%s", names[i], is_key ? "}:meta" : "");
			assert_int_equal(found_by(lists[l], target), 1);
		}
		assert_int_equal(found_by(lists[l], is_key ? "a*}:meta" : "a*"), 10);
		assert_int_equal(found_by(lists[l], is_key ? "a*b}:meta" : "a*b"), 10);
		assert_int_equal(found_by(lists[l], is_key ? "a%5C*b}:meta" : "a%5C*b"), 2);
		assert_int_equal(found_by(lists[l], is_key ? "*%5E*}:meta" : "*%5E*"), 2);
		assert_int_equal(found_by(lists[l], is_key ? "?b}:meta" : "?b"), 0);
	}
}

/* ---- What the costliest pattern takes ---- */

static void make(const char *script)
{
	redisReply *reply = server_command(&redis, "EVAL %s 0 %d %d %d", script, BIG, NAME_BYTES,
					   getenv("PATTERND_FULL") ? FOREIGN_FULL : FOREIGN);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s", reply->str);
}

/* Members and keys of one letter, which differ at their end: a literal of that letter is compared almost whole at each byte. */
static void make_names(void)
{
	make("for i = 1, ARGV[1] do "
	     "  local n = string.rep('a', ARGV[2] - 6) .. string.format('%06d', i)"
	     "  redis.call('SADD', 'p:set:{big}', n) redis.call('GEOADD', 'p:geo:{big}', 1, 1, n)"
	     "  redis.call('HSET', 'p:lock:{' .. n .. '}', 'a', 1) redis.call('SET', 'p:foreign:' .. n, 1) "
	     "end "
	     "for i = 1, ARGV[3] do redis.call('SET', 'f' .. i, 1) end");
}

/* The longest that Redis was held by one command of a page, in microseconds. */
static long long longest(const char *target)
{
	long long held = 0;

	server_command(&redis, "SLOWLOG RESET");
	assert_status(get(target), 200);
	redisReply *log = server_command(&redis, "SLOWLOG GET -1");
	for (size_t i = 0; i < log->elements; i++)
		if (log->element[i]->element[2]->integer > held)
			held = log->element[i]->element[2]->integer;
	return held;
}

/* Others have the processor too: the least of a few tries is what the command needs. */
static void is_quick(const char *target)
{
	long long least = longest(target);

	for (int i = 1; i < REPEATS && least >= HELD_US_MAX; i++) {
		long long again = longest(target);
		least = again < least ? again : least;
	}
	if (least >= HELD_US_MAX)
		fail_msg("a command of GET %.40s... held Redis for %lld us", target, least);
}

static void no_pattern_holds_redis(void **state)
{
	static const char *const lists[] = { "/sets/big?limit=1000&match=", "/geo/big/members?limit=1000&match=",
					     "/locks?limit=1000&match=", "/keys?limit=1000&match=" };
	static const char *const letters[] = { "*a", "a*a", "**a", "*b*a" };
	char target[512];

	(void)state;
	if (redis.cluster)
		skip();
	make_names();
	assert_int_equal(int_at(get("/sets/big"), "/size"), BIG);
	assert_int_equal(int_at(get("/geo/big"), "/size"), BIG);
	server_command(&redis, "CONFIG SET slowlog-log-slower-than 1000");
	for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++)
		for (size_t k = 0; k < sizeof(letters) / sizeof(*letters); k++)
			for (size_t run = 1; run < NAME_BYTES; run += 33) {
				int n = snprintf(target, sizeof(target), "%s%.*s", lists[l],
						 (int)strlen(letters[k]) - 1, letters[k]);
				memset(target + n, 'a', run);
				snprintf(target + n + run, 2, "c");
				is_quick(target);
			}
	for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
		snprintf(target, sizeof(target), "%s*", lists[l]);
		is_quick(target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(two_stars_are_the_most, stage_forget),
		cmocka_unit_test_teardown(every_other_byte_is_literal, stage_forget),
		cmocka_unit_test_teardown(no_pattern_holds_redis, stage_forget),
	};

	return cmocka_run_group_tests_name("match", tests, stage_open, stage_close);
}
