/*
 * Tests of route: a raw target leads to an operation and decoded values, or to the problem that
 * names the fault.
 */
#include <stdio.h>
#include <stdlib.h>

#include "asked.h"
#include "contract/route.h"
#include "stride.h"

/*
 * Returns "operation value... name=value..." for a target that was routed, else the problem's code.
 */
static const char *routed(const char *method, struct text target)
{
	static char out[1000];
	struct request *req = asked(method, target, NOTHING);

	if (!route_request(req)) {
		snprintf(out, sizeof(out), "%s", problem_of(req));
		if (!*out)
			fail_msg("%s %s was refused but not answered", method, target.at);
	} else {
		assert_int_equal(req->state, READING);
		size_t n = (size_t)snprintf(out, sizeof(out), "%s", req->op->id);
		for (size_t i = 0; i < MAX_PATH_PARAMETERS && req->asked.path_values[i].at; i++) {
			assert_int_equal(strlen(req->asked.path_values[i].at), req->asked.path_values[i].len);
			n += (size_t)snprintf(out + n, sizeof(out) - n, " %s", req->asked.path_values[i].at);
		}
		for (size_t i = 0; i < req->asked.query_count; i++)
			n += (size_t)snprintf(out + n, sizeof(out) - n, " %s=%s", req->asked.query[i].name.at,
					      req->asked.query[i].value.at);
	}
	asked_end(req);
	return out;
}

struct row {
	const char *method;
	struct text target;
	const char *wanted;
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = routed(rows[i].method, rows[i].target);
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s %s is '%s', not '%s'", rows[i].method, rows[i].target.at, got, rows[i].wanted);
	}
}

#define ROWS(rows) (rows), COUNT(rows)

TEST(paths)
{
	static const struct row rows[] = {
		{ "GET", TEXT("/healthz"), "healthz_get" },
		{ "GET", TEXT("/locks"), "lock_list" },
		{ "GET", TEXT("/locks/report"), "lock_get report" },
		{ "POST", TEXT("/locks/report"), "lock_acquire report" },
		{ "DELETE", TEXT("/locks/report"), "lock_release report" },
		{ "POST", TEXT("/locks/report/extend"), "lock_extend report" },
		{ "DELETE", TEXT("/queues/q/deliveries/r"), "queue_delivery_acknowledge q r" },
		{ "PATCH", TEXT("/queues/q/messages/1"), "queue_message_patch q 1" },
		{ "GET", TEXT("/openapi.json"), "openapi_get" },
		/* A literal path takes precedence over one with a parameter. */
		{ "GET", TEXT("/geo/nearby"), "geo_nearby_list" },
		{ "GET", TEXT("/geo/near"), "geo_get near" },
		{ "GET", TEXT("/uv/combine"), "uv_combine" },
		{ "POST", TEXT("/uv/combine"), "method_not_allowed" },
		{ "DELETE", TEXT("/geo/nearby"), "method_not_allowed" },
		/* The target is cut first, decoded afterwards. */
		{ "GET", TEXT("/locks/a%2Fb"), "lock_get a/b" },
		{ "GET", TEXT("/locks/a%2fextend"), "lock_get a/extend" },
		{ "GET", TEXT("/%6cocks/x"), "lock_get x" },
		{ "GET", TEXT("/locks/%3Fa%3D1"), "lock_get ?a=1" },
		{ "GET", TEXT("/locks/%C3%A9%e2%82%ac"), "lock_get \xc3\xa9\xe2\x82\xac" },
		{ "GET", TEXT("/locks/\xc3\xa9"), "lock_get \xc3\xa9" },
		{ "GET", TEXT("/locks/%ff"), "lock_get \xff" },      /* input reports that it is not UTF-8 */
		{ "GET", TEXT("/locks/a+b%2Bc"), "lock_get a+b+c" }, /* a plus in a path stays a plus */
		{ "GET", TEXT("/locks/%2525"), "lock_get %25" },     /* decoded once */
		{ "GET", TEXT("/locks/a:b;c,d@!$&'()*~"), "lock_get a:b;c,d@!$&'()*~" },
		{ "GET", TEXT("/locks/a=b&c"), "lock_get a=b&c" },
		{ "GET", TEXT("/locks/.."), "lock_get .." }, /* never a parent folder */
		{ "GET", TEXT("/locks/%2e%2E"), "lock_get .." },
		{ "GET", TEXT("/locks/../healthz"), "unknown_path" },
		/* Slashes count: an empty segment is an empty name, or an unknown path. */
		{ "GET", TEXT("/locks/"), "lock_get " },
		{ "GET", TEXT("/locks//"), "unknown_path" },
		{ "POST", TEXT("/locks//extend"), "lock_extend " },
		{ "GET", TEXT("//locks"), "unknown_path" },
		{ "GET", TEXT("/healthz/"), "unknown_path" },
		{ "GET", TEXT("/"), "unknown_path" },
		{ "GET", TEXT("//"), "unknown_path" },
		{ "GET", TEXT("/Locks/x"), "unknown_path" },
		{ "GET", TEXT("/lock/x"), "unknown_path" },
		{ "GET", TEXT("/lockss/x"), "unknown_path" },
		{ "GET", TEXT("/locks%2Fx"), "unknown_path" },
		{ "GET", TEXT("/1/2/3/4/5/6/7/8/9/10/11/12"), "unknown_path" },
		{ "GET", TEXT("/1/2/3/4/5/6/7/8/9/10/11/12/13"), "unknown_path" },
		{ "GET", TEXT("////////////////////////////////////////"), "unknown_path" },
		{ "GET", TEXT("/queues/../../../../../../../../../../../../etc"), "unknown_path" },
	};
	check(ROWS(rows));
}

TEST(malformed_targets)
{
	static const struct row rows[] = {
		{ "GET", TEXT(""), "malformed_request" },
		{ "GET", TEXT("?a=1"), "malformed_request" },
		{ "GET", TEXT("*"), "malformed_request" },
		{ "GET", TEXT("locks/x"), "malformed_request" },
		{ "GET", TEXT("http://evil.example/locks/x"), "malformed_request" },
		{ "GET", TEXT("/locks/a%00b"), "malformed_request" },
		{ "GET", TEXT("/locks/a\0b"), "malformed_request" },
		{ "GET", TEXT("/locks/%"), "malformed_request" },
		{ "GET", TEXT("/locks/%4"), "malformed_request" },
		{ "GET", TEXT("/locks/%4/x"), "malformed_request" }, /* the escape ends with its segment */
		{ "GET", TEXT("/locks/%zz"), "malformed_request" },
		{ "GET", TEXT("/locks/%4g"), "malformed_request" },
		{ "GET", TEXT("/locks/% 1"), "malformed_request" },
		{ "GET", TEXT("/locks/%-1"), "malformed_request" },
		{ "GET", TEXT("/locks/%0x"), "malformed_request" },
		{ "GET", TEXT("/locks/%u0041"), "malformed_request" },
		{ "GET", TEXT("/no/such/%path"), "malformed_request" },
		{ "GET", TEXT("/locks?match=%"), "malformed_request" },
		{ "GET", TEXT("/locks?match=%0"), "malformed_request" },
		{ "GET", TEXT("/locks?match=%00"), "malformed_request" },
		{ "GET", TEXT("/locks?match=a\0b"), "malformed_request" },
		{ "GET", TEXT("/locks?%00=a"), "malformed_request" },
		{ "GET", TEXT("/locks?%4=1"), "malformed_request" },
	};
	check(ROWS(rows));
}

TEST(queries)
{
	static const struct row rows[] = {
		{ "GET", TEXT("/locks?"), "lock_list" },
		{ "GET", TEXT("/locks?&&"), "lock_list" },
		{ "GET", TEXT("/locks?limit=5"), "lock_list limit=5" },
		{ "GET", TEXT("/locks?limit=5&match=a*&cursor="), "lock_list limit=5 match=a* cursor=" },
		{ "GET", TEXT("/locks?match"), "lock_list match=" },
		{ "GET", TEXT("/locks?=x"), "lock_list =x" },
		{ "GET", TEXT("/locks?match=a=b=c"), "lock_list match=a=b=c" },
		{ "GET", TEXT("/locks?match=a%3Db%26c"), "lock_list match=a=b&c" },
		{ "GET", TEXT("/locks?match=a+b%2Bc%20d"),
		  "lock_list match=a b+c d" }, /* a plus in a query is a space */
		{ "GET", TEXT("/locks?m%61tch=x"), "lock_list match=x" },
		{ "GET", TEXT("/locks?match=a/b?c"), "lock_list match=a/b?c" },
		{ "GET", TEXT("/locks?match=%ff"), "lock_list match=\xff" },
		{ "GET", TEXT("/uv/combine?name=a&name=b"), "uv_combine name=a name=b" },
		{ "GET", TEXT("/locks/x?y#z"), "lock_get x y#z=" },
	};
	char target[3000];
	size_t n = (size_t)snprintf(target, sizeof(target), "/locks?");

	check(ROWS(rows));
	for (int i = 0; i < MAX_QUERY_PARAMETERS - 1; i++, n += 4)
		memcpy(target + n, "a=1&", 5);
	assert_memory_equal(routed("GET", text_of(target)), "lock_list a=1", 13);
	memcpy(target + n, "&", 2);
	assert_string_equal(routed("GET", text_of(target)), "malformed_request");
}

TEST(methods)
{
	static const struct row rows[] = {
		{ "HEAD", TEXT("/locks/x"), "lock_get x" }, /* HEAD works where GET does */
		{ "HEAD", TEXT("/healthz"), "healthz_get" },
		{ "HEAD", TEXT("/geo/nearby"), "geo_nearby_list" },
	};
	static const struct {
		const char *method, *target, *allow;
	} refused[] = {
		{ "PUT", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" },
		{ "OPTIONS", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" },
		{ "TRACE", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" },
		{ "FOO", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" },
		{ "get", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" }, /* methods are case-sensitive */
		{ "", "/locks/x", "GET, HEAD, POST, DELETE, OPTIONS" },
		{ "PUT", "/locks", "GET, HEAD, POST, OPTIONS" },
		{ "HEAD", "/ratelimit", "POST, OPTIONS" },
		{ "GET", "/locks/x/extend", "POST, OPTIONS" },
		{ "POST", "/queues/q/messages/1", "GET, HEAD, PATCH, DELETE, OPTIONS" },
		{ "POST", "/queues/q", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS" },
		/* These are not the methods of /uv/{name}, because no name is "combine". */
		{ "PATCH", "/uv/combine", "GET, HEAD, OPTIONS" },
		{ "TRACE", "/queues/receive", "POST, OPTIONS" },
		{ "POST", "/geo/nearby", "GET, HEAD, OPTIONS" },
		{ "POST", "/sets/combine", "GET, HEAD, OPTIONS" },
	};

	check(ROWS(rows));
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct request *req = asked(refused[i].method, text_of(refused[i].target), NOTHING);
		assert_false(route_request(req));
		assert_string_equal(problem_of(req), "method_not_allowed");
		assert_string_equal(answer_header_of(req, "Allow"), refused[i].allow);
		asked_end(req);
	}
}

/* The answer to an unknown path suggests the path that was probably meant. */
TEST(near_paths)
{
	static const struct {
		const char *method, *target, *meant;
	} rows[] = {
		{ "POST", "/rate-limit", "; did you mean POST /ratelimit?" },
		{ "GET", "/ratelimit/authorise", "; did you mean GET /ratelimit/authorize?" },
		{ "GET", "/lock/x", "; did you mean GET /locks/{name}?" },
		{ "DELETE", "/Locks/x?force=true", "; did you mean DELETE /locks/{name}?" },
		{ "POST", "/queue/q/message", "; did you mean POST /queues/{name}/messages?" },
		{ "POST", "/locks/x/extends", "; did you mean POST /locks/{name}/extend?" },
		{ "BREW", "/helthz", "; did you mean GET /healthz?" },
		{ "GET", "/healthz/", "; did you mean GET /healthz?" },
		/* A segment is missing, or one too many. */
		{ "GET", "/geo/shops/nearby", "; did you mean GET /geo/nearby?name=shops?" },
		{ "GET", "/geo/a%2Fb%26/nearby?radius=1", "; did you mean GET /geo/nearby?name=a%2Fb%26?" },
		{ "GET", "/queues/q/order-15", "; did you mean GET /queues/{name}/messages/{id}?" },
		{ "POST", "/locks/x/acquire", "; did you mean POST /locks/{name}?" },
		{ "POST", "/locks/x/release", "; did you mean DELETE /locks/{name}?" },
		{ "POST", "/queues/q/send", "; did you mean POST /queues/{name}/messages?" },
		{ "POST", "/ratelimit/take", "; did you mean POST /ratelimit?" },
		{ "POST", "/feeds/home/push", "; did you mean POST /feeds/{name}/items?" },
		{ "POST", "/locks/acquire/report", "; did you mean POST /locks/{name}?" },
		{ "POST", "/locks/release/report", "; did you mean DELETE /locks/{name}?" },
		{ "POST", "/locks/extend/report", "; did you mean POST /locks/{name}/extend?" },
		{ "POST", "/queues/send/q", "; did you mean POST /queues/{name}/messages?" },
		{ "POST", "/ratelimit/user:7", "; did you mean POST /ratelimit?" },
		{ "POST", "/rate-limit/user/7", "; did you mean POST /ratelimit?" },
		{ "GET", "/info/redis", "; did you mean GET /info?" },
		/* Words of other systems. */
		{ "GET", "/openapi.yaml", "; did you mean GET /openapi.json?" },
		{ "GET", "/swagger.json", "; did you mean GET /openapi.json?" },
		{ "GET", "/version", "; did you mean GET /info?" },
		{ "GET", "/ping", "; did you mean GET /healthz?" },
		{ "GET", "/health", "; did you mean GET /healthz?" },
		{ "GET", "/queues/q/jobs", "; did you mean GET /queues/{name}/messages?" },
		{ "POST", "/queues/q/Jobs", "; did you mean POST /queues/{name}/messages?" },
		{ "DELETE", "/queues/q/tasks/7", "; did you mean DELETE /queues/{name}/messages/{id}?" },
		{ "GET", "/nothing/like/it",
		  "; /docs shows all paths; within a name, write / as %2F, or send the header Patternd-Name if a proxy decodes it" },
		{ "GET", "/locks/a/b",
		  "; /docs shows all paths; within a name, write / as %2F, or send the header Patternd-Name if a proxy decodes it" },
		{ "GET", "/",
		  "; /docs shows all paths; within a name, write / as %2F, or send the header Patternd-Name if a proxy decodes it" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request *req = asked(rows[i].method, text_of(rows[i].target), NOTHING);
		assert_false(route_request(req));
		assert_string_equal(problem_of(req), "unknown_path");
		const char *detail = answered(req, "detail");
		assert_string_equal(strchr(detail, ';'), rows[i].meant);
		asked_end(req);
	}
}

/*
 * For a path without the method, the answer names the methods of the path first. It also suggests
 * another path that has the method, if that path differs little.
 */
TEST(near_methods)
{
	static const struct {
		const char *method, *target, *use;
	} rows[] = {
		{ "GET", "/queues/q/receive", "POST" },
		{ "GET", "/ratelimit", "POST" },
		{ "HEAD", "/ratelimit", "POST" },
		{ "PUT", "/queues/q/messages", "GET or POST" },
		{ "BREW", "/locks/x", "GET, POST or DELETE" },
		{ "POST", "/geo/nearby", "GET" }, /* no set has that name */
		{ "POST", "/healthz", "GET" },
		/* One parameter more or less. PUT and POST are often mistaken for each other. */
		{ "DELETE", "/locks", "GET or POST; did you mean DELETE /locks/{name}?" },
		{ "POST", "/queues/q/schedules", "GET; did you mean PUT /queues/{name}/schedules/{id}?" },
		{ "PUT", "/queues/q/schedules", "GET; did you mean PUT /queues/{name}/schedules/{id}?" },
		{ "POST", "/queues", "GET; did you mean PUT /queues/{name}?" },
		{ "PUT", "/uv", "GET; did you mean POST /uv/{name}?" },
		{ "PUT", "/queues/q/messages/7", "GET, PATCH or DELETE; did you mean POST /queues/{name}/messages?" },
		{ "GET", "/feeds/home/items/7", "DELETE; did you mean GET /feeds/{name}/items?" },
		/* A last segment that is near. */
		{ "POST", "/queues/receve", "GET, PUT, PATCH or DELETE; did you mean POST /queues/receive?" },
		/* A word more after a name. */
		{ "POST", "/queues/orders", "GET, PUT, PATCH or DELETE; did you mean POST /queues/{name}/messages?" },
		{ "POST", "/semaphores/render", "GET or DELETE; did you mean POST /semaphores/{name}/permits?" },
		{ "POST", "/counters/likes", "GET, PATCH or DELETE; did you mean POST /counters/{name}/increment?" },
		{ "POST", "/cache/page", "GET, PUT or DELETE" }, /* not POST /cache/{key}/invalidate */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char wanted[300];
		struct request *req = asked(rows[i].method, text_of(rows[i].target), NOTHING);
		assert_false(route_request(req));
		assert_string_equal(problem_of(req), "method_not_allowed");
		snprintf(wanted, sizeof(wanted), "%s is not a method of this path; use %s", rows[i].method,
			 rows[i].use);
		const char *detail = answered(req, "detail");
		if (strcmp(detail, wanted) != 0)
			fail_msg("%s %s: '%s', not '%s'", rows[i].method, rows[i].target, detail, wanted);
		asked_end(req);
	}
}

/*
 * Some operations ignore the rest of the target. It is not decoded and not counted, and becomes no
 * parameter.
 */
TEST(tails)
{
	static const struct row rows[] = {
		{ "GET", TEXT("/ratelimit/authorize"), "ratelimit_authorize" },
		{ "GET", TEXT("/ratelimit/authorize?policy=p&key=k"), "ratelimit_authorize policy=p key=k" },
		{ "BREW", TEXT("/ratelimit/authorize"), "ratelimit_authorize" },
		{ "GET", TEXT("/ratelimit/authorize/p"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p/"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p/a/b?c=d&policy=q"), "ratelimit_path_authorize p" },
		{ "BREW", TEXT("/ratelimit/authorize/p/a"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p/%zz"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p/%00/x"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p?%zz"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p////////////////////"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/p/policies/x"), "ratelimit_path_authorize p" },
		{ "GET", TEXT("/ratelimit/authorize/a%2Fb/c"), "ratelimit_path_authorize a/b" },
		/* The usual rules hold before the rest. */
		{ "GET", TEXT("/ratelimit/authorize/%zz/a"), "malformed_request" },
		{ "GET", TEXT("/ratelimit/authorize?policy=%zz"), "malformed_request" },
		{ "GET", TEXT("/ratelimit/%zz"), "malformed_request" },
		{ "GET", TEXT("/ratelimit/keys/k/%zz"), "malformed_request" },
		{ "GET", TEXT("/ratelimit/authorize%2Fp/x"), "unknown_path" },
	};
	check(ROWS(rows));
}

TEST(any_target_is_routed_or_answered)
{
	static const char likely[] = "/%?&=+abc012fF";
	char target[60] = "/locks/";

	srand(8);
	for (int i = 0; i < 20000 / stride(); i++) {
		size_t n = 7;
		while (n < sizeof(target) && rand() % 30)
			target[n++] = rand() % 10 ? likely[(size_t)rand() % (sizeof(likely) - 1)] : (char)rand();
		const char *got = routed("GET", (struct text){ target, n });
		assert_true(*got != '\0');
	}
}
