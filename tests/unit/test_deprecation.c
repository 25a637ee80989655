/* Tests of the headers of a deprecated operation. The contract has no such operation so far. */
#include <string.h>

#include "asked.h"
#include "request/answer.h"
#include "request/deprecation.h"
#include "request/operation.h"

static const struct text successor[] = { TEXT("sets"), TEXT(""), TEXT("members"), TEXT("") };
static const struct deprecation since_2027 = { "@1798761600", successor, 4 };

static struct request *answered_by(const struct operation *op)
{
	struct request *req = asked("GET", TEXT("/old/a%2Fb/parts/caf%C3%A9"), NOTHING);

	req->op = op;
	req->asked.path_values[0] = TEXT("a/b");
	req->asked.path_values[1] = TEXT("caf\xc3\xa9");
	answer_empty(req, 204);
	deprecation_announce(req);
	return req;
}

TEST(it_is_announced_with_its_successor)
{
	static const struct operation old = { .id = "old", .method = "GET", .deprecation = &since_2027 };
	struct request *req = answered_by(&old);

	assert_string_equal(answer_header_of(req, "Deprecation"), "@1798761600");
	assert_string_equal(answer_header_of(req, "Link"),
			    "</sets/a%2Fb/members/caf%C3%A9>; rel=\"successor-version\"");
	asked_end(req);
}

TEST(others_have_neither_header)
{
	static const struct operation current = { .id = "current", .method = "GET" };
	const struct operation *const none[] = { &current, NULL };

	for (size_t i = 0; i < 2; i++) {
		struct request *req = answered_by(none[i]);
		assert_int_equal(req->answer.header_count, 0);
		asked_end(req);
	}
}
