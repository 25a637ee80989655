/*
 * The access log names the resource of a request, escaped and bounded, and never has a secret. With
 * --log-names=off it names no resource. (Other lines of the log: test_daemon.c.)
 */
#include <jansson.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_cluster.h"
#include "../support/tokens.h"
#include "test.h"

enum { SOON_MS = 5000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

/* A new copy of a request's log line; NULL if it is not there yet. */
static char *line_of(struct daemon *d, const char *id)
{
	char *log = file_text(d->proc.err_path), *line = NULL;
	char *at = log ? strstr(log, id) : NULL;

	if (at && strchr(at, '\n')) {
		*strchr(at, '\n') = '\0';
		while (at > log && at[-1] != '\n')
			at--;
		line = strdup(at);
	}
	free(log);
	return line;
}

static json_t *last_line; /* the line of the latest resource_of() */

/* The resource that is logged for a request; NULL if none is. It is valid until the next call. */
static const char *resource_of(const char *method, const char *target, const char *body, int *count)
{
	static int number;
	char id[64], *text;

	snprintf(id, sizeof(id), "X-Request-ID: named-%d-", ++number);
	http(client, method, target, body, id);
	wait_until((text = line_of(&patternd, id + strlen("X-Request-ID: "))), SOON_MS);
	json_decref(last_line);
	last_line = json_loads(text, 0, NULL);
	if (!last_line)
		fail_msg("not JSON: %s", text);
	free(text);
	*count = (int)json_integer_value(json_object_get(last_line, "resources"));
	return json_string_value(json_object_get(last_line, "resource"));
}

static void assert_resource(const char *wanted, const char *method, const char *target, const char *body)
{
	int count;
	const char *found = resource_of(method, target, body, &count);

	if (!found || strcmp(found, wanted) != 0)
		fail_msg("%s %s: the resource is %s, not %s", method, target, found ? found : "absent", wanted);
}

TEST(what_a_request_is_about_is_named)
{
	int count;

	assert_resource("jobs", "POST", "/locks/jobs", "{\"ttl_ms\":1000}");
	assert_resource("orders", "DELETE", "/queues/orders/deliveries/receipt", NULL);
	assert_resource("me", "POST", "/ratelimit", "{\"key\":\"me\",\"limit\":1,\"window_ms\":1000}");
	assert_resource("a", "POST", "/ratelimit",
			"{\"checks\":[{\"name\":\"x\",\"key\":\"a\",\"limit\":1,\"window_ms\":1000}]}");
	assert_string_equal(resource_of("POST", "/locks", "{\"names\":[\"x\",\"y\"],\"ttl_ms\":1000}", &count), "x");
	assert_int_equal(count, 2);
	assert_null(resource_of("GET", "/locks", NULL, &count));
	assert_null(resource_of("GET", "/no/such/path", NULL, &count));
	assert_null(resource_of("POST", "/ratelimit", "{\"key\":3}", &count)); /* not known: it was refused */
}

/* A client's label for itself is logged where the contract demands it. */
TEST(the_worker_of_a_receive_is_named)
{
	static const char *const wanted[] = { "h\xc3\xb6st\t{1}/7", NULL, NULL, "w" };
	static const char *const asked[][2] = {
		{ "/queues/q/receive", "{\"worker\":\"h\\u00f6st\\t{1}/7\"}" },
		{ "/queues/q/receive", "{}" },
		{ "/queues/q/receive", "{\"worker\":1}" }, /* not known, since the request was refused */
		{ "/queues/receive", "{\"queues\":[\"q\"],\"worker\":\"w\"}" },
	};

	for (size_t i = 0; i < COUNT(asked); i++) {
		int count;
		resource_of("POST", asked[i][0], asked[i][1], &count);
		const char *worker = json_string_value(json_object_get(last_line, "worker"));
		assert_true(!worker == !wanted[i]);
		if (worker)
			assert_string_equal(worker, wanted[i]);
	}
}

/*
 * A JSON parser gets each name back unchanged, except that bytes that are not UTF-8 are replaced.
 */
TEST(names_are_escaped_and_bounded)
{
	char target[1024] = "/locks/", wanted[256] = "";

	assert_resource("a\"b\\c=d e", "GET", "/locks/a%22b%5Cc%3Dd%20e", NULL);
	assert_resource("\xc3\xa4\xe2\x82\xac", "GET", "/locks/%C3%A4%E2%82%AC", NULL);
	assert_resource("line\nbreak", "GET", "/locks/line%0Abreak", NULL); /* refused, but logged */
	assert_resource("bad\xef\xbf\xbd!", "GET", "/locks/bad%FF!", NULL);
	assert_resource("c\xc2\x85", "GET", "/locks/c%C2%85", NULL); /* a control character of two bytes */
	memset(target + strlen(target), 'n', 200);
	memset(wanted, 'n', 128);
	assert_resource(wanted, "GET", target, NULL);
}

static void start(struct daemon *d, const char *tokens, const char *names, const char *format)
{
	daemon_start(d, "--redis", redis.url, "--tokens", tokens, "--log-names", names, "--log-format", format);
}

/* A new copy of the log line of a request with a labelled token. */
static char *line_by_token(struct daemon *d, const char *method, const char *target, const char *body)
{
	struct client *c = client_open(d->port);
	char *line;

	assert_status(http(c, method, target, body, "X-Request-ID: by-token", AUTHORIZATION("secret-0123456789")), 200);
	wait_until((line = line_of(d, "by-token")), SOON_MS);
	client_close(c);
	return line;
}

TEST(names_can_be_left_out)
{
	struct daemon other = { 0 };

	const char *path = tokens_file("secret-0123456789", "locks:*:read queues:*:receive # team-a");
	start(&other, path, "on", "text");
	char *line = line_by_token(&other, "GET", "/locks/a%22%20status=200", NULL);
	assert_non_null(strstr(line, " caller=team-a "));
	assert_non_null(strstr(line, " resource=\"a\\\" status=200\" "));
	assert_null(strstr(line, "secret"));
	free(line);
	daemon_stop(&other);
	start(&other, path, "off", "text");
	line = line_by_token(&other, "GET", "/locks/a%22%20status=200", NULL);
	assert_null(strstr(line, "team-a"));
	assert_null(strstr(line, "resource"));
	free(line);
	daemon_stop(&other);
	start(&other, path, "off", "text"); /* a daemon with another log file */
	line = line_by_token(&other, "POST", "/queues/q/receive", "{\"worker\":\"w-1\"}");
	assert_null(strstr(line, "w-1"));
	free(line);
	daemon_stop(&other);
}

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
