/*
 * queue_stage: what the tests of queues over HTTP share: a Redis, a daemon, a client, and requests
 * to one queue, `q`. A test program includes it once.
 */
#ifndef QUEUE_STAGE_H
#define QUEUE_STAGE_H

#include "api_stage.h"

enum { SOON_MS = 5000, VISIBILITY_MS = 30000, BATCH = 100 }; /* VISIBILITY_MS: a queue's default */

#define IDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define KEY "Idempotency-Key: "
/* Settings under which a rejected or timed-out message is ready again at once. */
#define AT_ONCE "\"backoff\":{\"base_ms\":0,\"max_ms\":0}"

static inline int start(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

/* ---- Requests ---- */

/* `key_header` is one more header, or NULL. */
static inline struct answer post(const char *tail, const char *body, const char *key_header)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/q%s", tail);
	return http(client, "POST", target, body, key_header);
}

static inline struct answer send_body(const char *body)
{
	return post("/messages", body, NULL);
}

static inline struct answer receive(const char *body)
{
	return post("/receive", body, NULL);
}

/* `verb` is "/extend", "/reject", or "" to acknowledge. */
static inline struct answer delivery(const char *queue, const char *receipt, const char *verb, const char *body)
{
	char target[512];

	snprintf(target, sizeof(target), "/queues/%s/deliveries/%s%s", queue, receipt, verb);
	return http(client, *verb ? "POST" : "DELETE", target, body);
}

static inline struct answer acknowledge(const char *receipt)
{
	return delivery("q", receipt, "", NULL);
}

static inline struct answer extend(const char *receipt, const char *body)
{
	return delivery("q", receipt, "/extend", body);
}

static inline struct answer reject(const char *receipt, const char *body)
{
	return delivery("q", receipt, "/reject", body);
}

static inline struct answer message(const char *method, const char *id, const char *body)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/q/messages/%s", id);
	return http(client, method, target, body);
}

/* A request to the queue itself. */
static inline struct answer queue(const char *method, const char *settings)
{
	return http(client, method, "/queues/q", settings);
}

static inline void configure(const char *settings)
{
	assert_in_range(queue("PUT", settings).status, 200, 201);
}

/* ---- Reading answers and Redis ---- */

/* Waits for the next millisecond of Redis, so that later events have a later time. */
static inline void next_ms(void)
{
	int64_t now_ms = server_now_ms(&redis);

	wait_until(server_now_ms(&redis) > now_ms, SOON_MS);
}

/* The number of messages in an answer to send or receive. */
static inline size_t count_in(struct answer a)
{
	assert_true(json_is_array(json_at(a, "/messages")));
	return json_array_size(json_at(a, "/messages"));
}

/* The answer has exactly these ids, in this order. `list` is "messages", or "items" for a page. */
static inline void assert_ids_of(struct answer a, const char *list, const char *const ids[])
{
	char pointer[64];
	size_t i;

	for (i = 0; ids[i]; i++) {
		snprintf(pointer, sizeof(pointer), "/%s/%zu/id", list, i);
		assert_string_equal(text_at(a, pointer), ids[i]);
	}
	assert_int_equal(json_array_size(json_object_get(a.json, list)), i);
}

static inline void assert_ids(struct answer a, const char *const ids[])
{
	assert_ids_of(a, "messages", ids);
}

/* The receipt of the first message. */
static inline const char *receipt_in(struct answer a)
{
	return text_at(a, "/messages/0/receipt");
}

/* A number of the answer to GET /queues/q. */
static inline int64_t count_of(const char *pointer)
{
	return int_at(queue("GET", NULL), pointer);
}

static inline void assert_counts(int64_t ready, int64_t delayed, int64_t in_flight, int64_t dead)
{
	struct answer a = queue("GET", NULL);

	assert_int_equal(int_at(a, "/ready"), ready);
	assert_int_equal(int_at(a, "/delayed"), delayed);
	assert_int_equal(int_at(a, "/in_flight"), in_flight);
	assert_int_equal(int_at(a, "/dead"), dead);
}

/* ---- Many messages ---- */

/*
 * Sends the messages 1 to `count` in batches. `more` is appended to each (",\"delay_ms\":5"), or is
 * "".
 */
static inline void send_many(int count, const char *more)
{
	char *body = malloc(BATCH * (strlen(more) + 32) + 64);

	assert_non_null(body);
	for (int sent = 0; sent < count;) {
		char *at = body + sprintf(body, "{\"messages\":[");
		for (int i = 0; i < BATCH && sent < count; i++)
			at += sprintf(at, "%s{\"body\":%d%s}", i ? "," : "", ++sent, more);
		strcpy(at, "]}");
		assert_status(send_body(body), 201);
	}
	free(body);
}

/* Makes one message in each state, with the state as its id, and a second ready one. */
static inline void send_each_state(void)
{
	struct answer a;

	send_body("{\"messages\":[{\"body\":1,\"id\":\"dead\"},{\"body\":2,\"id\":\"in_flight\"}]}");
	a = receive("{\"limit\":2}");
	assert_status(reject(receipt_in(a), "{\"dead\":true,\"reason\":\"why\"}"), 200);
	assert_status(extend(text_at(a, "/messages/1/receipt"), "{\"visibility_ms\":60000}"), 200);
	assert_status(
		send_body(
			"{\"messages\":[{\"body\":3,\"id\":\"delayed\",\"delay_ms\":60000},{\"body\":4,\"id\":\"ready\"},"
			"{\"body\":5,\"id\":\"urgent\",\"priority\":0,\"ttl_ms\":60000}]}"),
		201);
}

static inline struct answer list(const char *query)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/q/messages%s", query);
	return http(client, "GET", target, NULL);
}

#endif
