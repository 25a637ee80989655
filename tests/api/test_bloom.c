/*
 * Bloom filters over HTTP: requests of a thousand items, their replays, and many callers. No call
 * blocks Redis for long.
 */
#include <math.h>
#include <pthread.h>

#include "proxy.h"
#include "stage.h"
#include "test.h"

enum { AT_ONCE = 1000 };

/* {"items":["<family>-<from>", ...]}. The caller frees. */
static char *items_of(const char *family, int from, int to)
{
	char *body = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&body, &size);

	fputs("{\"items\":[", out);
	for (int i = from; i < to; i++)
		fprintf(out, "%s\"%s-%d\"", i > from ? "," : "", family, i);
	fputs("]}", out);
	fclose(out);
	return body;
}

static struct answer send_items(struct client *c, const char *target, const char *family, int from, int to,
				const char *header)
{
	char *body = items_of(family, from, to);
	struct answer a = http(c, "POST", target, body, header);

	free(body);
	return a;
}

/* The number of booleans that are true. */
static int trues(struct answer a, const char *pointer, int count)
{
	const json_t *list = json_at(a, pointer);
	int n = 0;

	assert_status(a, 200);
	assert_int_equal(json_array_size(list), count);
	for (int i = 0; i < count; i++) {
		assert_true(json_is_boolean(json_array_get(list, (size_t)i)));
		n += json_is_true(json_array_get(list, (size_t)i));
	}
	return n;
}

/* Adds or looks up any number of items. Returns the number of answers that were true. */
static int all_trues(const char *target, const char *pointer, const char *family, int from, int to)
{
	int n = 0;

	for (; from < to; from += AT_ONCE) {
		int end = to - from > AT_ONCE ? from + AT_ONCE : to;
		n += trues(send_items(client, target, family, from, end, "X-A: 1"), pointer, end - from);
		client_forget(client);
	}
	return n;
}

static struct answer put(const char *filter, const char *body)
{
	char target[64];

	snprintf(target, sizeof(target), "/bloom/%s", filter);
	return http(client, "PUT", target, body);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

/*
 * In the second half every twentieth item repeats an item of the first half. The repeat is the
 * first item of one step. The original is the last item of another step, which is pending at the
 * same time. The step with the original reaches Redis later, because each step needs several calls
 * here.
 */
TEST(a_thousand_items_with_repeats)
{
	char *body = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&body, &size);

	fputs("{\"items\":[", out);
	for (int i = 0; i < AT_ONCE; i++)
		fprintf(out, "%s\"u-%d\"", i ? "," : "", i >= 500 && i % 20 == 0 ? i - 21 : i);
	fputs("]}", out);
	fclose(out);
	put("seen", "{\"capacity\":300,\"error_rate\":0.000001}"); /* two layers more are created on the way */
	for (int round = 0; round < 2; round++) {
		struct answer a = post("/bloom/seen/add", body);
		assert_int_equal(trues(a, "/added", AT_ONCE), round ? 0 : 975);
		for (size_t i = 0; i < AT_ONCE && !round; i++)
			assert_int_equal(json_is_true(json_array_get(json_at(a, "/added"), i)), i < 500 || i % 20);
	}
	assert_int_equal(trues(post("/bloom/seen/lookup", body), "/exists", AT_ONCE), AT_ONCE);
	assert_int_equal(all_trues("/bloom/seen/lookup", "/exists", "other", 0, AT_ONCE), 0);
	free(body);
	struct answer a = get("/bloom/seen");
	assert_int_equal(int_at(a, "/size"), 975);
	assert_int_equal(json_array_size(json_at(a, "/layers")), 3);
	assert_int_equal(int_at(a, "/layers/0/size"), 300);
	assert_int_equal(int_at(a, "/layers/1/size"), 600);
	assert_int_equal(int_at(a, "/layers/2/size"), 75);
	assert_int_equal(int_at(a, "/layers/2/capacity"), 1200);
	assert_int_equal(int_at(a, "/hashes"), int_at(a, "/layers/2/hashes"));
	double right = 1; /* the probability that no layer is wrong */
	for (size_t i = 0; i < 3; i++) {
		const json_t *layer = json_array_get(json_at(a, "/layers"), i);
		right *= 1 - pow(json_number_value(json_object_get(layer, "fill")),
				 (double)json_integer_value(json_object_get(layer, "hashes")));
	}
	assert_true(right < 1 && fabs(real_at(a, "/expected_error") - (1 - right)) < 1e-12);
}

/* ---- No call blocks Redis for long: Redis's counters after a thousand items ---- */

TEST(a_thousand_items_are_many_short_calls)
{
	put("seen", "{\"capacity\":100000,\"error_rate\":0.01}");
	post("/bloom/seen/add", "{\"items\":[\"first\"]}");
	server_command(&redis, "CONFIG RESETSTAT");
	assert_int_equal(all_trues("/bloom/seen/add", "/added", "m", 0, AT_ONCE), AT_ONCE);
	assert_int_equal(server_calls(&redis, "setbit"), 8 * AT_ONCE);
	assert_in_range(server_calls(&redis, "evalsha"), 8 * AT_ONCE / 160, 8 * AT_ONCE / 160 + 2);
	server_command(&redis, "CONFIG RESETSTAT");
	assert_int_equal(all_trues("/bloom/seen/lookup", "/exists", "m", 0, AT_ONCE), AT_ONCE);
	assert_int_equal(server_calls(&redis, "getbit"), 8 * AT_ONCE);
	assert_in_range(server_calls(&redis, "evalsha"), 8 * AT_ONCE / 160, 8 * AT_ONCE / 160 + 2);
}

struct adder {
	pthread_t thread;
	char *body;
	bool added[AT_ONCE];
};

static void *add_all(void *arg)
{
	struct adder *self = arg;
	struct client *own = client_open(patternd.port);
	struct answer a = http(own, "POST", "/bloom/seen/add", self->body);

	for (size_t i = 0; i < AT_ONCE; i++)
		self->added[i] = json_is_true(json_array_get(json_at(a, "/added"), i));
	client_close(own);
	return NULL;
}

/*
 * Each step is atomic: when several callers add the same items at once, exactly one caller adds
 * each item.
 */
TEST(an_item_is_added_by_one_of_many)
{
	enum { ADDERS = 4 };
	static struct adder adders[ADDERS];
	char *body = items_of("raced", 0, AT_ONCE);

	put("seen", "{\"capacity\":400,\"error_rate\":0.000001}");
	for (int i = 0; i < ADDERS; i++) {
		adders[i].body = body;
		assert_int_equal(pthread_create(&adders[i].thread, NULL, add_all, &adders[i]), 0);
	}
	for (int i = 0; i < ADDERS; i++)
		pthread_join(adders[i].thread, NULL);
	for (int item = 0; item < AT_ONCE; item++) {
		int by = 0;
		for (int i = 0; i < ADDERS; i++)
			by += adders[i].added[item];
		assert_int_equal(by, 1);
	}
	free(body);
	assert_int_equal(int_at(get("/bloom/seen"), "/size"), AT_ONCE);
}

/* ---- Retries ---- */

#define KEY "Idempotency-Key: one"

TEST(a_retried_add_returns_the_first_answer)
{
	put("seen", "{\"capacity\":10000,\"error_rate\":0.000001}");
	assert_int_equal(all_trues("/bloom/seen/add", "/added", "m", 0, 50), 50);
	struct answer first = send_items(client, "/bloom/seen/add", "m", 0, AT_ONCE, KEY);
	assert_int_equal(trues(first, "/added", AT_ONCE), AT_ONCE - 50);
	for (int i = 0; i < 2; i++) {
		struct answer again = send_items(client, "/bloom/seen/add", "m", 0, AT_ONCE, KEY);
		assert_string_equal(again.body, first.body);
	}
	/*
	 * Another body under this key is refused whole, including the part that is longer than the
	 * first body.
	 */
	assert_problem(send_items(client, "/bloom/seen/add", "other", 0, AT_ONCE, KEY), 422, "idempotency_key_reused",
		       "none");
	assert_problem(send_items(client, "/bloom/seen/add", "m", 0, 30, KEY), 422, "idempotency_key_reused", "none");
	assert_int_equal(int_at(get("/bloom/seen"), "/size"), AT_ONCE);
	put("short", "{\"capacity\":10000,\"error_rate\":0.01}");
	assert_int_equal(trues(send_items(client, "/bloom/short/add", "m", 0, 1, KEY), "/added", 1), 1);
	assert_problem(send_items(client, "/bloom/short/add", "m", 0, AT_ONCE, KEY), 422, "idempotency_key_reused",
		       "none");
	assert_int_equal(int_at(get("/bloom/short"), "/size"), 1);
}

/*
 * The connection to Redis is lost after Redis answered some of the steps. The effect is unknown
 * until the client retries.
 */
TEST(a_retry_continues_where_the_first_broke_off)
{
	if (redis.cluster)
		skip(); /* the nodes of a Cluster announce their own addresses, so the daemon would bypass the proxy */
	struct proxy *proxy = proxy_open(redis.port);
	struct daemon behind = { 0 };

	daemon_start(&behind, "--redis", proxy_url(proxy), "--pool-size", "1");
	struct client *c = client_open(behind.port);
	for (size_t cut_at = 50; cut_at < 3000; cut_at += 700) {
		stage_forget(NULL);
		put("seen", "{\"capacity\":10000,\"error_rate\":0.000001}");
		assert_int_equal(all_trues("/bloom/seen/add", "/added", "m", 0, 100), 100);
		proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_at = cut_at });
		assert_problem(send_items(c, "/bloom/seen/add", "m", 0, AT_ONCE, KEY), 504, "no_answer", "unknown");
		proxy_set(proxy, (struct proxy_fault){ 0 });
		wait_until(http(c, "GET", "/bloom/seen", NULL).status == 200, 8000);
		struct answer settled = send_items(c, "/bloom/seen/add", "m", 0, AT_ONCE, KEY);
		assert_int_equal(trues(settled, "/added", AT_ONCE), AT_ONCE - 100);
		assert_int_equal(int_at(get("/bloom/seen"), "/size"), AT_ONCE);
	}
	client_close(c);
	daemon_stop(&behind);
	proxy_close(proxy);
}

/*
 * The first step is done when the other steps are refused: the error must not claim that nothing
 * happened.
 */
TEST(a_refusal_half_way_has_an_effect)
{
	struct daemon small = { 0 };

	daemon_start(&small, "--redis", redis.url, "--max-in-flight", "2");
	struct client *c = client_open(small.port);
	put("seen", "{\"capacity\":10000,\"error_rate\":0.01}");
	assert_problem(send_items(c, "/bloom/seen/add", "m", 0, AT_ONCE, "X-A: 1"), 503, "overloaded", "unknown");
	assert_true(int_at(get("/bloom/seen"), "/size") > 0);
	assert_problem(send_items(c, "/bloom/seen/lookup", "m", 0, AT_ONCE, "X-A: 1"), 503, "overloaded", "none");
	client_close(c);
	daemon_stop(&small);
}

/*
 * ceil(-n ln(p/2) / (ln 2)^2) bits and round(-log2(p/2)) hashes, since the first layer has half the
 * promised rate.
 */
TEST(a_filter_is_sized_by_the_textbook)
{
	static const struct {
		const char *body;
		int64_t bits, hashes;
	} rows[] = {
		{ "{\"capacity\":1000000,\"error_rate\":0.01}", 11027754, 8 },
		{ "{\"capacity\":1000,\"error_rate\":0.001}", 15821, 11 },
		{ "{\"capacity\":100000000,\"error_rate\":0.000001}", 3019787018, 21 },
		{ "{\"capacity\":100000,\"error_rate\":0.5}", 288540, 2 },
		{ "{\"capacity\":1,\"error_rate\":0.01}", 1024, 8 }, /* with fewer bits the rate is random */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = put("sized", rows[i].body);
		assert_int_equal(int_at(a, "/bits"), rows[i].bits);
		assert_int_equal(int_at(a, "/hashes"), rows[i].hashes);
		assert_status(http(client, "DELETE", "/bloom/sized", NULL), 204);
	}
}

TEST(a_hash_that_is_no_filter_stays)
{
#define HEAD "HSET p:bloom:{f} capacity 1 error_rate 0.1 "
	static const char *const foreign[] = {
		"HSET p:bloom:{f} a b",     HEAD "layers 1 segments 0",           HEAD "layers 9999999 segments 0",
		HEAD "layers x segments 0", HEAD "layers 1 segments 0 layer:1 0", HEAD "layers 1 segments 0 layer:1 %s"
	};

	for (size_t i = 0; i < COUNT(foreign); i++) {
		server_command(&redis, foreign[i], "9999999999 4 1 0 0"); /* more bits than a filter may have */
		char *before = server_picture(&redis);
		assert_problem(get("/bloom/f"), 500, "foreign_key", "none");
		assert_problem(put("f", "{}"), 500, "foreign_key", "none");
		assert_problem(http(client, "PATCH", "/bloom/f", "{\"ttl_ms\":1}"), 500, "foreign_key", "none");
		assert_problem(http(client, "DELETE", "/bloom/f", NULL), 500, "foreign_key", "none");
		assert_problem(post("/bloom/f/add", "{\"items\":[\"a\"]}"), 500, "foreign_key", "none");
		assert_problem(post("/bloom/f/lookup", "{\"items\":[\"a\"]}"), 500, "foreign_key", "none");
		char *after = server_picture(&redis);
		assert_string_equal(after, before);
		free(before);
		free(after);
		stage_forget(NULL);
	}
}
