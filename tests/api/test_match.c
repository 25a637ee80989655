/* `match` is literal text with at most two stars, in every operation that has this parameter. */
#include "contract.h"
#include "stage.h"
#include "test.h"

/*
 * Calls `check` for each operation that has `match`, with a target that ends with this parameter.
 */
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
	assert_true(seen >= 12);
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
	if (a.status != 404) /* a geo set that does not exist */
		assert_status(a, 200);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(two_stars_are_the_most)
{
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

TEST(every_other_byte_is_literal)
{
	static const char *const names[] = { "a?b",   "a[x]b",    "a%5Cb", "a%5C%5Cb", "a%5Eb",
					     "a%5Db", "a[%5Eb]b", "axb",   "ab",       "a-b" };
	static const char *const lists[] = { "/sets/all/members?match=", "/geo/all/members?match=", "/queues?match=",
					     "/keys?match=queue:{", "/keys/set:%7Ball%7D/elements?match=" };
	char target[256];

	for (size_t i = 0; i < COUNT(names); i++) {
		bool asks = strchr(names[i], '?');
		snprintf(target, sizeof(target), "/sets/all/members/%s", asks ? "a%3Fb" : names[i]);
		assert_true(http(client, "PUT", target, NULL).status < 300);
		snprintf(target, sizeof(target), "/geo/all/members/%s", asks ? "a%3Fb" : names[i]);
		assert_true(http(client, "PUT", target, "{\"longitude\":1,\"latitude\":1}").status < 300);
		snprintf(target, sizeof(target), "/queues/%s/messages", asks ? "a%3Fb" : names[i]);
		assert_status(post(target, "{\"body\":1}"), 201);
	}
	for (size_t l = 0; l < COUNT(lists); l++) {
		bool is_key = strchr(lists[l], '{');
		for (size_t i = 0; i < COUNT(names); i++) {
			snprintf(target, sizeof(target), "%s%s", names[i], is_key ? "}:ready" : "");
			assert_int_equal(found_by(lists[l], target), 1);
		}
		assert_int_equal(found_by(lists[l], is_key ? "a*}:ready" : "a*"), 10);
		assert_int_equal(found_by(lists[l], is_key ? "a*b}:ready" : "a*b"), 10);
		assert_int_equal(found_by(lists[l], is_key ? "a%5C*b}:ready" : "a%5C*b"), 2);
		assert_int_equal(found_by(lists[l], is_key ? "*%5E*}:ready" : "*%5E*"), 2);
		assert_int_equal(found_by(lists[l], is_key ? "?b}:ready" : "?b"), 0);
	}
}
