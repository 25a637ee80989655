/* Queues over HTTP: the traceparent and the headers of a message, which it has beside its body. */
#include "queue_stage.h"

#define TRACE(version, id, span) version "-" id "-" span "-01"
#define ID "0af7651916cd43dd8448eb211c80319c"
#define OWN TRACE("00", ID, "b7ad6b7169203331")
#define REQUESTS TRACE("00", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
#define HEADER "traceparent: "
#define SCHEDULE "/queues/q/schedules/s"
#define ZEROS "0000000000000000"

enum { SEQUENCE = 16 };

/* The stored content of the only message in Redis, without the header in front of it. */
static const char *stored(void)
{
	const redisReply *all = server_command(&redis, "HGETALL p:queue:{q}");

	for (size_t i = 0; i + 1 < all->elements; i += 2)
		if (all->element[i]->len == SEQUENCE)
			return strchr(all->element[i + 1]->str, '\n') + 1;
	fail_msg("there is no message");
	return NULL;
}

/* Returns "" for an absent member. */
static const char *member(const json_t *message, const char *name)
{
	const char *text = json_string_value(json_object_get(message, name));

	return text ? text : "";
}

static void assert_carried(const char *where, const json_t *m, const char *traceparent, const char *headers)
{
	json_t *wanted = *headers ? json_loads(headers, 0, NULL) : NULL;
	const json_t *found = json_object_get(m, "headers");

	if (strcmp(member(m, "traceparent"), traceparent) != 0 || (wanted ? !json_equal(found, wanted) : found != NULL))
		fail_msg("%s: %s", where, json_dumps(m, 0));
	json_decref(wanted);
}

SUITE(.open = start, .close = stop, .after = forget_all);

/* Each operation that returns a message returns its headers and its traceparent, in each state. */
TEST(everything_that_shows_a_message_shows_them)
{
	static const struct {
		const char *fields, *traceparent, *headers;
	} rows[] = {
		{ "", "", "" },
		{ ",\"headers\":{}", "", "" },
		{ ",\"traceparent\":\"" OWN "\"", OWN, "" },
		{ ",\"headers\":{\"a\":\"b\"}", "", "{\"a\":\"b\"}" },
		{ ",\"traceparent\":\"" OWN
		  "\",\"headers\":{\"content-type\":\"a/b\",\"\\ttab\\\"\":\"\\t\\n\\u00e9\"}",
		  OWN, "{\"content-type\":\"a/b\",\"\\ttab\\\"\":\"\\t\\n\\u00e9\"}" },
	};
	static const char given[] = "{ \"order\":\t1.10 }";
	char body[512];

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *trace = rows[i].traceparent, *headers = rows[i].headers;
		snprintf(body, sizeof(body),
			 i % 2 ? "{\"messages\":[{\"id\":\"a\",\"body\":%s%s}]}" : "{\"id\":\"a\",\"body\":%s%s}",
			 given, rows[i].fields);
		assert_status(send_body(body), 201);
		assert_int_equal(strcmp(stored(), given) == 0, !*trace && !*headers);
		assert_carried("get", message("GET", "a", NULL).json, trace, headers);
		assert_carried("patch", message("PATCH", "a", "{\"priority\":1}").json, trace, headers);
		assert_carried("list", json_at(list(""), "/items/0"), trace, headers);
		struct answer a = receive(NULL);
		assert_carried("receive", json_at(a, "/messages/0"), trace, headers);
		assert_non_null(strstr(a.body, given));
		assert_status(reject(receipt_in(a), "{\"dead\":true}"), 200);
		assert_carried("dead letter", json_at(list("?state=dead"), "/items/0"), trace, headers);
		assert_status(post("/redrive", NULL, NULL), 200);
		a = receive("{\"acknowledge\":true}");
		assert_carried("for good", json_at(a, "/messages/0"), trace, headers);
		forget_all(NULL);
	}
}

TEST(a_message_without_a_content_type_has_its_requests)
{
	static const struct {
		const char *given, *kept;
	} rows[] = {
		{ REQUESTS, REQUESTS },
		{ TRACE("cc", ID, "b7ad6b7169203331") "-later", TRACE("cc", ID, "b7ad6b7169203331") },
		{ REQUESTS "-later", "" },
		{ TRACE("00", ZEROS ZEROS, "b7ad6b7169203331"), "" },
		{ "none", "" },
	};
	static const char both[] = "{\"messages\":[{\"body\":1},{\"body\":2,\"traceparent\":\"" OWN "\"}]}";
	char header[128];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(header, sizeof(header), HEADER "%s", rows[i].given);
		assert_status(http(client, "POST", "/queues/q/messages", both, header), 201);
		struct answer a = receive("{\"limit\":2}");
		assert_carried(rows[i].given, json_at(a, "/messages/0"), rows[i].kept, "");
		assert_carried(rows[i].given, json_at(a, "/messages/1"), OWN, "");
		assert_status(http(client, "POST", "/queues/q/messages", "{\"body\":3}", header), 201);
		assert_carried(rows[i].given, json_at(receive(NULL), "/messages/0"), rows[i].kept, "");
	}
}

/* A client that retries begins another span. */
TEST(a_retry_may_be_of_another_span)
{
	static const char target[] = "/queues/q/messages", body[] = "{\"body\":1}";

	assert_status(http(client, "POST", target, body, KEY "once", HEADER REQUESTS), 201);
	assert_status(http(client, "POST", target, body, KEY "once", HEADER OWN), 201);
	struct answer a = receive("{\"limit\":2}");
	assert_int_equal(count_in(a), 1);
	assert_carried("the first", json_at(a, "/messages/0"), REQUESTS, "");
}

TEST(a_traceparent_of_another_form_is_refused)
{
	static const char *const rows[] = { TRACE("ff", ID, "b7ad6b7169203331"), TRACE("00", ID, ZEROS),
					    TRACE("00", ZEROS ZEROS, "b7ad6b7169203331"),
					    TRACE("00", ID, "B7AD6B7169203331") };
	char body[512];

	for (size_t i = 0; i < 2 * COUNT(rows); i++) {
		bool alone = i % 2;
		snprintf(body, sizeof(body),
			 alone ? "{\"body\":1,\"traceparent\":\"%s\"}"
			       : "{\"messages\":[{\"body\":1,\"traceparent\":\"%s\"}]}",
			 rows[i / 2]);
		struct answer a = send_body(body);
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"),
				    alone ? "/traceparent" : "/messages/0/traceparent");
	}
	assert_counts(0, 0, 0, 0);
}

/* Headers with names of `name_len` and values of `value_len` bytes; the caller frees the text. */
static char *headers_of(int count, int name_len, int value_len)
{
	char *text = malloc((size_t)count * (size_t)(name_len + value_len + 6) + 3), *at = text + sprintf(text, "{");

	for (int i = 0; i < count; i++)
		at += sprintf(at, "%s\"%0*d\":\"%0*d\"", i ? "," : "", name_len, i, value_len, 0);
	strcpy(at, "}");
	return text;
}

/* Sends a message whose body, JSON text, is `body`, in a batch if `in_batch`. */
static struct answer send_with(const char *headers, const char *body, bool in_batch)
{
	char *text = NULL;

	assert_true(asprintf(&text, "%s{\"body\":%s,\"headers\":%s}%s", in_batch ? "{\"messages\":[" : "", body,
			     headers, in_batch ? "]}" : "") > 0);
	struct answer a = send_body(text);
	free(text);
	return a;
}

/* A name has at most 256 bytes; names and values have at most 64 KiB together. */
static const struct limits {
	const char *name;
	int count, name_len, value_len;
	const char *pointer; /* of the error; NULL: they are stored */
} limits[] = {
	{ "many", 16, 256, 3840, NULL },
	{ "one", 1, 1, 65535, NULL },
	{ "a byte more", 1, 1, 65536, "/headers" },
	{ "a byte more in 16", 16, 256, 3841, "/headers" },
	{ "a value", 1, 1, 65537, "/headers/0" },
	{ "a name", 1, 257, 1, NULL },
	{ "too many", 17, 2, 1, "/headers" },
};

static void their_limits(void **state)
{
	const struct limits *l = *state;
	char *headers = headers_of(l->count, l->name_len, l->value_len), pointer[64];
	bool fits = l->name_len <= 256 && !l->pointer;

	for (int in_batch = 0; in_batch < 2; in_batch++) {
		struct answer a = send_with(headers, "1", in_batch);
		if (fits) {
			assert_status(a, 201);
			assert_carried(l->name, json_at(receive(NULL), "/messages/0"), "", headers);
			continue;
		}
		assert_problem(a, 400, "out_of_range", "none");
		snprintf(pointer, sizeof(pointer), "%s%s", in_batch ? "/messages/0" : "", l->pointer ? l->pointer : "");
		if (l->pointer)
			assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	}
	free(headers);
	if (!fits)
		assert_counts(0, 0, 0, 0);
}

TEST_ROWS(their_limits, limits, name);

/* What counts is the text, not its JSON: \u0001 is one byte. */
TEST(escaped_headers_count_as_texts)
{
	enum { MOST = 65535 };
	char *headers = malloc(6 * MOST + 16), *at = headers + sprintf(headers, "{\"a\":\"");

	for (int i = 0; i < MOST; i++)
		at = stpcpy(at, "\\u0001");
	strcpy(at, "\"}");
	assert_status(send_with(headers, "1", false), 201);
	assert_carried("escaped", json_at(receive(NULL), "/messages/0"), "", headers);
	free(headers);
}

/* Long headers go wherever a message goes: a schedule, a replaced and a moved message, a list. */
TEST(long_headers_are_kept_wherever_a_message_goes)
{
	char *headers = headers_of(16, 256, 3840), *body = NULL;

	assert_true(asprintf(&body, "{\"every_ms\":3600000,\"body\":1,\"headers\":%s}", headers) > 0);
	assert_status(http(client, "PUT", SCHEDULE, body), 201);
	free(body);
	assert_carried("schedule", http(client, "GET", SCHEDULE, NULL).json, "", headers);
	assert_status(http(client, "POST", SCHEDULE "/run", NULL), 200);
	assert_carried("its message", json_at(receive(NULL), "/messages/0"), "", headers);
	assert_status(send_body("{\"body\":1,\"id\":\"a\",\"delay_ms\":60000}"), 201);
	assert_true(asprintf(&body,
			     "{\"body\":2,\"id\":\"a\",\"delay_ms\":60000,\"on_duplicate\":\"replace\",\"headers\":%s}",
			     headers) > 0);
	assert_status(send_body(body), 200);
	free(body);
	assert_carried("replaced", message("GET", "a", NULL).json, "", headers);
	assert_carried("patched", message("PATCH", "a", "{\"delay_ms\":0}").json, "", headers);
	assert_carried("received", json_at(receive(NULL), "/messages/0"), "", headers);
	free(headers);
}

/* A message whose body has `--max-body-bytes` still has room for its trace and the most headers. */
TEST(the_largest_body_has_room_for_them)
{
	enum { MOST = 1 << 20 };
	char *headers = headers_of(16, 256, 3840), *body = malloc(MOST + 3), *text = NULL;

	body[0] = '"';
	memset(body + 1, 'x', MOST);
	strcpy(body + 1 + MOST, "\"");
	assert_true(asprintf(&text, "{\"body\":%s,\"headers\":%s}", body, headers) > 0);
	assert_status(http(client, "POST", "/queues/q/messages", text, HEADER REQUESTS), 201);
	struct answer a = receive(NULL);
	assert_int_equal(strlen(text_at(a, "/messages/0/body")), MOST);
	assert_carried("large", json_at(a, "/messages/0"), REQUESTS, headers);
	free(headers);
	free(body);
	free(text);
}

/* Content that another program wrote into Redis is not a message, and is not returned. */
TEST(damaged_content_is_refused)
{
	send_body("{\"id\":\"a\",\"body\":1}");
	char *seq = strdup(server_command(&redis, "HGET p:queue:{q}:ids a")->str);
	static const char *const damaged[] = { "\t", "\ta", "\ta\t{}", "\th{\t=1", "\th{}\t=", "\ts{}\th" };
	for (size_t i = 0; i < COUNT(damaged); i++) {
		char content[64];
		snprintf(content, sizeof(content), "17953132630324\t0\t0\ta\t\t\n%s", damaged[i]);
		server_command(&redis, "HSET p:queue:{q} %s %s", seq, content);
		assert_int_equal(message("GET", "a", NULL).status, 500);
	}
	free(seq);
}
