/*
 * Retries of every operation whose answer lets a client proceed, after the world has changed.
 *
 * Some operations grant something for a time (x-replay). The test ends each grant in every way in
 * which it can end, with and without another holder afterwards. A replay by another daemon reports
 * what is held now, or that the grant has ended; it changes nothing.
 *
 * Other operations decide by a limit or a fence. A retry with the key of a request that passed is
 * decided again, and is now refused.
 */
#include <strings.h>

#include "contract.h"
#include "pair.h"
#include "test.h"

enum { SOON_MS = 5000 };

static char capability[128]; /* token, permit, receipt or claim of the grant */

static struct answer ask(int i, const char *method, const char *target, const char *body, const char *header)
{
	return http(pair.c[i], method, target, body, header);
}

/* Copies a target or body with the capability in place of $. */
static void fill(char to[256], const char *text, const char *with)
{
	const char *at = strchr(text, '$');

	if (at)
		snprintf(to, 256, "%.*s%s%s", (int)(at - text), text, with, at + 1);
	else
		snprintf(to, 256, "%s", text);
}

static struct answer with_capability(const char *method, const char *target, const char *body, const char *header)
{
	char where[256], what[256];

	fill(where, target, capability);
	fill(what, body ? body : "", capability);
	return ask(0, method, where, body ? what : NULL, header);
}

static void remember(struct answer a, const char *pointer)
{
	snprintf(capability, sizeof(capability), "%s", text_at(a, pointer));
}

/* ---- How grants end ---- */

static void lock_expires(void)
{
	assert_status(ask(0, "POST", "/locks/a/extend", "{\"ttl_ms\":100}", lock_token(capability)), 200);
	wait_until(!bool_at(ask(0, "GET", "/locks/a", NULL, NULL), "/held"), SOON_MS);
}

static void lock_is_released(void)
{
	assert_status(ask(0, "DELETE", "/locks/a", NULL, lock_token(capability)), 200);
}

static void lock_is_forced(void)
{
	assert_status(ask(0, "DELETE", "/locks/a?force=true", NULL, NULL), 200);
}

static void lock_key_is_deleted(void)
{
	assert_status(ask(0, "DELETE", "/keys/lock:%7Ba%7D", NULL, NULL), 204);
}

static void lock_is_anothers(void)
{
	assert_status(ask(0, "POST", "/locks/a", "{\"ttl_ms\":60000,\"owner\":\"another\"}", NULL), 201);
}

static void permit_expires(void)
{
	assert_status(with_capability("POST", "/semaphores/a/permits/$/extend", "{\"ttl_ms\":100}", NULL), 200);
	wait_until(int_at(ask(0, "GET", "/semaphores/a", NULL, NULL), "/permits_held") == 0, SOON_MS);
}

static void permit_is_released(void)
{
	assert_status(with_capability("DELETE", "/semaphores/a/permits/$", NULL, NULL), 204);
}

static void permit_is_anothers(void)
{
	assert_status(ask(0, "POST", "/semaphores/a/permits", "{\"limit\":1,\"ttl_ms\":60000}", NULL), 201);
}

static void delivery_is_acknowledged(void)
{
	assert_status(with_capability("DELETE", "/queues/a/deliveries/$", NULL, NULL), 204);
}

static void delivery_is_rejected(void)
{
	assert_status(with_capability("POST", "/queues/a/deliveries/$/reject", "{\"delay_ms\":0}", NULL), 200);
}

static void delivery_is_settled(void)
{
	assert_status(with_capability("POST", "/queues/a/settle", "{\"acknowledge\":[\"$\"]}", NULL), 200);
}

static void delivery_expires(void)
{
	assert_status(with_capability("POST", "/queues/a/deliveries/$/extend", "{\"visibility_ms\":1}", NULL), 200);
	wait_until(int_at(ask(0, "GET", "/queues/a", NULL, NULL), "/ready") == 1, SOON_MS);
}

static void message_is_cancelled(void)
{
	char target[128];
	struct answer a = ask(0, "GET", "/queues/a/messages?state=in_flight", NULL, NULL);

	snprintf(target, sizeof(target), "/queues/a/messages/%s?in_flight=true", text_at(a, "/items/0/id"));
	assert_status(ask(0, "DELETE", target, NULL, NULL), 204);
}

static void queue_is_deleted(void)
{
	assert_status(ask(0, "DELETE", "/queues/a", NULL, NULL), 204);
}

static void message_is_anothers(void)
{
	ask(0, "POST", "/queues/a/messages", "{\"body\":1}", NULL);
	assert_status(ask(0, "POST", "/queues/a/receive", "{\"limit\":10}", NULL), 200);
}

static void claim_is_released(void)
{
	assert_status(with_capability("DELETE", "/sales/a/claims/$", NULL, NULL), 204);
}

static void claim_expires(void)
{
	wait_until(int_at(ask(0, "GET", "/sales/a", NULL, NULL), "/remaining") == 1, SOON_MS);
}

static void stock_is_anothers(void)
{
	assert_status(ask(0, "POST", "/sales/a/claims", "{\"user\":\"v\",\"quantity\":1}", NULL), 201);
}

static void ticket_is_used(void)
{
	char header[160];

	snprintf(header, sizeof(header), "Fill-Ticket: %s", capability);
	assert_status(ask(0, "PUT", "/cache/a", "{\"value\":1,\"ttl_ms\":60000}", header), 201);
}

static void value_is_deleted(void)
{
	assert_status(ask(0, "DELETE", "/cache/a", NULL, NULL), 204);
}

static void ticket_is_anothers(void)
{
	ask(0, "DELETE", "/cache/a", NULL, NULL);
	assert_status(ask(0, "POST", "/cache/a/fill", "{}", NULL), 201);
}

/* ---- Preparations ---- */

static void nothing(void)
{
}

static void a_lock(void)
{
	remember(ask(0, "POST", "/locks/a", "{\"ttl_ms\":60000}", NULL), "/token");
}

static void a_permit(void)
{
	remember(ask(0, "POST", "/semaphores/a/permits", "{\"limit\":1,\"ttl_ms\":60000}", NULL), "/permit");
}

static void a_message(void)
{
	assert_status(ask(0, "POST", "/queues/a/messages", "{\"body\":1,\"backoff_base_ms\":0}", NULL), 201);
}

static void a_delivery(void)
{
	a_message();
	remember(ask(0, "POST", "/queues/a/receive", "{}", NULL), "/messages/0/receipt");
}

static void a_sale(void)
{
	assert_status(ask(0, "PUT", "/sales/a", "{\"stock\":1,\"hold_ms\":60000}", NULL), 201);
}

static void a_short_sale(void)
{
	assert_status(ask(0, "PUT", "/sales/a", "{\"stock\":1,\"hold_ms\":300}", NULL), 201);
}

/* ---- The table ---- */

typedef void step(void);

struct grant {
	const char *operation;
	step *prepare, *another; /* `another` acquires the resource after the grant has ended */
	const char *target, *body;
	const char *capability; /* pointer into the answer; NULL: from prepare */
	int status;             /* of a replay after the end; 200: the message is left out of /messages */
	const char *code;
	step *endings[6];
};

#define LOCK_ENDINGS                                                                \
	{                                                                           \
		lock_expires, lock_is_released, lock_is_forced, lock_key_is_deleted \
	}
#define DELIVERY_ENDINGS                                                                               \
	{                                                                                              \
		delivery_is_acknowledged, delivery_is_rejected, delivery_is_settled, delivery_expires, \
			message_is_cancelled, queue_is_deleted                                         \
	}

static const struct grant grants[] = {
	{ "lock_acquire", nothing, lock_is_anothers, "/locks/a", "{\"ttl_ms\":60000}", "/token", 409, "not_holder",
	  LOCK_ENDINGS },
	{ "lock_acquire", nothing, lock_is_anothers, "/locks/a", "{\"ttl_ms\":60000,\"mode\":\"shared\"}", "/token",
	  409, "not_holder", LOCK_ENDINGS },
	{ "lock_acquire",
	  a_lock,
	  lock_is_anothers,
	  "/locks/a",
	  "{\"ttl_ms\":60000}",
	  NULL,
	  409,
	  "not_holder",
	  { lock_expires, lock_is_forced } },
	{ "lock_list_acquire", nothing, lock_is_anothers, "/locks", "{\"names\":[\"b\",\"a\"],\"ttl_ms\":60000}",
	  "/token", 409, "not_holder", LOCK_ENDINGS },
	{ "lock_extend", a_lock, lock_is_anothers, "/locks/a/extend", "{\"ttl_ms\":60000}", NULL, 409, "not_holder",
	  LOCK_ENDINGS },
	{ "semaphore_permit_acquire",
	  nothing,
	  permit_is_anothers,
	  "/semaphores/a/permits",
	  "{\"limit\":1,\"ttl_ms\":60000}",
	  "/permit",
	  410,
	  "permit_expired",
	  { permit_expires, permit_is_released } },
	{ "semaphore_permit_extend",
	  a_permit,
	  permit_is_anothers,
	  "/semaphores/a/permits/$/extend",
	  "{\"ttl_ms\":60000}",
	  NULL,
	  410,
	  "permit_expired",
	  { permit_expires, permit_is_released } },
	{ "queue_message_receive", a_message, message_is_anothers, "/queues/a/receive", "{}", "/messages/0/receipt",
	  200, NULL, DELIVERY_ENDINGS },
	{ "queue_list_receive", a_message, message_is_anothers, "/queues/receive", "{\"queues\":[\"b\",\"a\"]}",
	  "/messages/0/receipt", 200, NULL, DELIVERY_ENDINGS },
	{ "queue_delivery_extend", a_delivery, message_is_anothers, "/queues/a/deliveries/$/extend",
	  "{\"visibility_ms\":60000}", NULL, 410, "receipt_expired", DELIVERY_ENDINGS },
	{ "cache_fill",
	  nothing,
	  ticket_is_anothers,
	  "/cache/a/fill",
	  "{}",
	  "/ticket",
	  410,
	  "ticket_expired",
	  { ticket_is_used, value_is_deleted } },
	{ "sale_claim_acquire",
	  a_sale,
	  stock_is_anothers,
	  "/sales/a/claims",
	  "{\"user\":\"u\",\"quantity\":1}",
	  "/claim",
	  410,
	  "claim_expired",
	  { claim_is_released } },
	{ "sale_claim_acquire",
	  a_short_sale,
	  stock_is_anothers,
	  "/sales/a/claims",
	  "{\"user\":\"u\",\"quantity\":1}",
	  "/claim",
	  410,
	  "claim_expired",
	  { claim_expires } },
};
enum { GRANTS = COUNT(grants) };

/*
 * Sends the request, which is the same for each retry. `before` is the capability that prepare
 * returned.
 */
static struct answer request(const struct grant *g, int i, const char *before)
{
	char target[256], body[256];

	fill(target, g->target, before);
	fill(body, g->body, before);
	return g->prepare == a_lock ? http(pair.c[i], "POST", target, body, lock_token(before), "Idempotency-Key: k")
				    : ask(i, "POST", target, body, "Idempotency-Key: k");
}

static void try_ending(const struct grant *g, step *ending, bool has_other)
{
	char before[128];

	g->prepare();
	snprintf(before, sizeof(before), "%s", capability);
	struct answer first = request(g, 0, before);
	assert_true(first.status == 200 || first.status == 201);
	if (g->capability)
		remember(first, g->capability);
	struct answer again = request(g, 1, before);
	assert_int_equal(again.status, first.status);
	if (g->capability)
		assert_string_equal(text_at(again, g->capability), capability);
	ending();
	if (has_other)
		g->another();
	char *picture = server_picture(&pair.redis);
	struct answer replay = request(g, 1, before);
	if (g->code)
		assert_problem(replay, g->status, g->code, "applied");
	else
		assert_int_equal(json_array_size(json_at(replay, "/messages")), 0);
	char *after = server_picture(&pair.redis);
	assert_string_equal(after, picture);
	free(picture);
	free(after);
	server_command(&pair.redis, "FLUSHALL");
}

static void a_replay_never_reports_a_grant_that_has_ended(void **state)
{
	const struct grant *g = *state;

	for (size_t i = 0; i < 6 && g->endings[i]; i++)
		for (int other = 0; other < 2; other++)
			try_ending(g, g->endings[i], other);
}

TEST_ROWS(a_replay_never_reports_a_grant_that_has_ended, grants, operation);

/* ---- Decisions ---- */

static void a_policy(void)
{
	assert_status(ask(0, "PUT", "/ratelimit/policies/p",
			  "{\"limit\":1,\"window_ms\":60000,\"key_header\":\"Idempotency-Key\"}", NULL),
		      201);
}

static void a_higher_fence_passes(void)
{
	assert_status(ask(0, "POST", "/fences/a", "{\"fence\":200}", NULL), 200);
}

/* Waits until the window of the first decision has passed, and uses up the next one. */
static void another_takes_the_next_window(void)
{
	wait_until(ask(0, "POST", "/ratelimit", "{\"key\":\"a\",\"limit\":1,\"window_ms\":300}", NULL).status == 200,
		   SOON_MS);
}

static void another_takes_the_next_sliding_window(void)
{
	wait_until(ask(0, "POST", "/ratelimit",
		       "{\"key\":\"a\",\"limit\":1,\"window_ms\":300,\"algorithm\":\"sliding_window\"}", NULL)
				   .status == 200,
		   SOON_MS);
}

static void another_takes_the_next_fixed_window(void)
{
	wait_until(ask(0, "POST", "/ratelimit",
		       "{\"key\":\"a\",\"limit\":1,\"window_ms\":300,\"algorithm\":\"fixed_window\"}", NULL)
				   .status == 200,
		   SOON_MS);
}

static const struct decision {
	const char *operation;
	step *prepare;
	const char *method, *target, *body;
	step *change; /* after this step a retry is refused */
	int status;
	const char *code;
} decisions[] = {
	{ "fence_check", nothing, "POST", "/fences/a", "{\"fence\":100}", a_higher_fence_passes, 409, "stale_fence" },
	{ "ratelimit_take", nothing, "POST", "/ratelimit", "{\"key\":\"a\",\"limit\":1,\"window_ms\":300}",
	  another_takes_the_next_window, 429, "rate_limited" },
	{ "ratelimit_take", nothing, "POST", "/ratelimit",
	  "{\"key\":\"a\",\"limit\":1,\"window_ms\":300,\"algorithm\":\"sliding_window\"}",
	  another_takes_the_next_sliding_window, 429, "rate_limited" },
	{ "ratelimit_take", nothing, "POST", "/ratelimit",
	  "{\"key\":\"a\",\"limit\":1,\"window_ms\":300,\"algorithm\":\"fixed_window\"}",
	  another_takes_the_next_fixed_window, 429, "rate_limited" },
	{ "ratelimit_take", nothing, "POST", "/ratelimit",
	  "{\"checks\":[{\"key\":\"a\",\"limit\":1,\"window_ms\":300},"
	  "{\"name\":\"other\",\"key\":\"b\",\"limit\":9,\"window_ms\":200}]}",
	  another_takes_the_next_window, 429, "rate_limited" },
	{ "ratelimit_authorize", a_policy, "GET", "/ratelimit/authorize?policy=p&key=a", NULL, nothing, 429,
	  "rate_limited" },
	{ "ratelimit_path_authorize", a_policy, "GET", "/ratelimit/authorize/p/", NULL, nothing, 429, "rate_limited" },
};
enum { DECISIONS = COUNT(decisions) };

static void a_retry_is_decided_again(void **state)
{
	const struct decision *d = *state;
	static const char key[] = "Idempotency-Key: k";

	d->prepare();
	assert_status(ask(0, d->method, d->target, d->body, key), 200);
	d->change();
	assert_problem(ask(1, d->method, d->target, d->body, key), d->status, d->code, "none");
}

TEST_ROWS(a_retry_is_decided_again, decisions, operation);

/* ---- No operation is forgotten ---- */

static bool is_in_table(const char *id)
{
	bool found = false;

	for (size_t i = 0; i < GRANTS; i++)
		found = found || strcmp(grants[i].operation, id) == 0;
	for (size_t i = 0; i < DECISIONS; i++)
		found = found || strcmp(decisions[i].operation, id) == 0;
	return found;
}

static bool has_member(const json_t *schema, const char *quoted)
{
	char *text = json_dumps(schema, JSON_ENCODE_ANY);
	bool has = text && strstr(text, quoted);

	free(text);
	return has;
}

/*
 * An operation lets a client proceed if the schema or example of its success has one of these
 * members, or if the action of its scope is a decision.
 */
static bool permits_something(const struct contract_operation *op)
{
	static const char *const members[] = { "\"token\"",   "\"permit\"", "\"ttl_ms\"", "\"visible_until_ms\"",
					       "\"allowed\"", "\"ticket\"" };
	const char *code;
	json_t *response;
	char *scope = json_dumps(op->scope, JSON_ENCODE_ANY);
	bool found = scope &&
		     (strstr(scope, "fences:{name}:write") || strstr(scope, ":authorize") || strstr(scope, ":take"));

	free(scope);
	json_object_foreach((json_t *)(uintptr_t)op->responses, code, response) {
		if (code[0] != '2')
			continue;
		for (size_t i = 0; i < COUNT(members); i++)
			found = found || has_member(response, members[i]);
	}
	return found;
}

/*
 * Two operations have no row. lock_hold ends with its connection. queue_delivery_list_extend
 * returns 200 with an outcome per delivery, so test_queues_settle.c tests it.
 */
static bool is_tried_elsewhere(const char *id)
{
	return strcmp(id, "lock_hold") == 0 || strcmp(id, "queue_delivery_list_extend") == 0;
}

/*
 * A patched message is never in flight, so its visible_until_ms is null (test_queues_messages.c). A
 * refund takes nothing: its `allowed` is what the next request would get.
 */
static bool permits_nothing(const char *id)
{
	return strcmp(id, "queue_message_patch") == 0 || strcmp(id, "ratelimit_refund") == 0;
}

/* An operation without x-replay reads no record. It is tried if a record would admit a retry. */
TEST(all_that_permit_are_marked_and_tried, .after = no_fixture)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		bool is_done = op->replay && strcmp(op->replay, "done") == 0;
		if (op->replay && !is_done && !is_in_table(op->id))
			fail_msg("%s has x-replay: %s, but no row here", op->id, op->replay);
		if (is_done && permits_something(op) && !permits_nothing(op->id))
			fail_msg("%s answers with something that lets a client go on: x-replay must not be done",
				 op->id);
		if (op->writes && strcmp(op->method, "POST") == 0 && !op->replay && permits_something(op) &&
		    !is_tried_elsewhere(op->id) && !is_in_table(op->id))
			fail_msg("%s decides, but has no row here", op->id);
	}
}

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);
