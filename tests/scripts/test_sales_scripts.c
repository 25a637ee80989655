/*
 * The sale scripts on a real Redis, compared with a plain model that gets the instants the scripts
 * used: holds expire all the while, and nothing is ever sold twice.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define S "p:sale:{s}"
#define SALE_KEYS KEYS(S, S ":claims", S ":holds", S ":users")

static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static const char *number(char out[24], int64_t n)
{
	snprintf(out, 24, "%lld", (long long)n);
	return out;
}

static int64_t configure(int64_t opens_at, int64_t closes_at, int64_t stock, int64_t per_user, int64_t hold)
{
	char text[5][24];

	run(&r, &sale_put_script, SALE_KEYS,
	    ARGS(number(text[0], opens_at), number(text[1], closes_at), number(text[2], stock),
		 number(text[3], per_user), number(text[4], hold), "0"));
	return outcome(&r);
}

/* Returns the outcome. `id` receives the claim's id, if any. */
static int64_t claim(const char *user, int64_t quantity, char id[40])
{
	static unsigned made;
	char text[24], nonce[24];

	snprintf(nonce, sizeof(nonce), "%016x", ++made);
	run(&r, &sale_claim_acquire_script, SALE_KEYS, ARGS(nonce, user, number(text, quantity)));
	if (outcome(&r) == 1)
		snprintf(id, 40, "%s", item_text(&r, SALE_CLAIM_ACQUIRE_CLAIM));
	return outcome(&r);
}

static int64_t confirm(const char *id)
{
	run(&r, &sale_claim_confirm_script, SALE_KEYS, ARGS(id));
	return outcome(&r);
}

static int64_t release(const char *id)
{
	run(&r, &sale_claim_release_script, SALE_KEYS, ARGS(id));
	return outcome(&r);
}

static int64_t look(void)
{
	run(&r, &sale_get_script, SALE_KEYS, ARGS());
	return outcome(&r);
}

/* ---- The model ---- */

enum { USERS = 4, CLAIMS = 4000 };
static const char *const users[USERS] = { "u", "v w", "Zoë", "held 1 2 x" };

struct entry {
	char id[40];
	int user;
	int64_t quantity, expires_at;
	enum { ENDED, IS_HELD, IS_CONFIRMED } state;
	bool released;
};

static struct {
	int64_t stock, per_user, hold, held, confirmed, has[USERS];
	struct entry claims[CLAIMS];
	size_t count;
} m;

static void model_end(struct entry *e)
{
	e->state = ENDED;
	m.held -= e->quantity;
	m.has[e->user] -= e->quantity;
}

static void model_settle(int64_t now)
{
	for (size_t i = 0; i < m.count; i++)
		if (m.claims[i].state == IS_HELD && m.claims[i].expires_at <= now)
			model_end(&m.claims[i]);
}

static void claim_step(void)
{
	int user = (int)next_random(USERS);
	int64_t quantity = 1 + next_random(4);
	char id[40];
	int64_t outcome = claim(users[user], quantity, id), now = item_int(&r, REPLY_NOW_MS);

	model_settle(now);
	int64_t remaining = m.stock - m.held - m.confirmed;
	if (m.per_user && m.has[user] + quantity > m.per_user) {
		assert_int_equal(outcome, SALE_CLAIM_ACQUIRE_LIMIT_REACHED);
		assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_CLAIMED), m.has[user]);
		return;
	}
	if (remaining < quantity) {
		assert_int_equal(outcome, SALE_CLAIM_ACQUIRE_SOLD_OUT);
		assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_LEFT), remaining);
		assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_HELD), m.held);
		return;
	}
	assert_int_equal(outcome, 1);
	assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_EXPIRES_AT_MS), now + m.hold);
	assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_REMAINING), remaining - quantity);
	m.held += quantity;
	m.has[user] += quantity;
	assert_true(m.count < CLAIMS);
	struct entry *e = &m.claims[m.count++];
	*e = (struct entry){ .user = user, .quantity = quantity, .expires_at = now + m.hold, .state = IS_HELD };
	snprintf(e->id, sizeof(e->id), "%s", id);
}

static void confirm_step(struct entry *e)
{
	int64_t outcome = confirm(e->id), now = item_int(&r, REPLY_NOW_MS);

	if (e->state == IS_CONFIRMED || (e->state == IS_HELD && e->expires_at > now)) {
		assert_int_equal(outcome, e->state == IS_HELD);
		assert_string_equal(item_text(&r, SALE_CLAIM_CONFIRM_USER), users[e->user]);
		assert_int_equal(item_int(&r, SALE_CLAIM_CONFIRM_QUANTITY), e->quantity);
		m.held -= e->state == IS_HELD ? e->quantity : 0;
		m.confirmed += e->state == IS_HELD ? e->quantity : 0;
		e->state = IS_CONFIRMED;
	} else {
		assert_int_equal(outcome, SALE_CLAIM_CONFIRM_EXPIRED);
	}
}

static void release_step(struct entry *e)
{
	int64_t outcome = release(e->id), now = item_int(&r, REPLY_NOW_MS);

	if (e->state == IS_HELD && e->expires_at > now) {
		assert_int_equal(outcome, 1);
		model_end(e);
		e->released = true;
	} else if (e->state == IS_CONFIRMED) {
		assert_int_equal(outcome, SALE_CLAIM_RELEASE_CONFIRMED);
	} else {
		assert_int_equal(outcome, e->released && e->expires_at > now ? SALE_CLAIM_RELEASE_KNOWN
									     : SALE_CLAIM_RELEASE_EXPIRED);
	}
}

static void configure_step(void)
{
	int64_t stock = m.stock + next_random(20), outcome;

	if (next_random(3) == 0)
		stock = next_random((uint32_t)m.stock);
	m.per_user = next_random(3) ? 5 + m.confirmed / 2 : 0;
	int64_t hold = 1 + next_random(12);
	outcome = configure(0, 0, stock, m.per_user, hold);
	model_settle(item_int(&r, REPLY_NOW_MS));
	assert_int_equal(outcome, stock < m.held + m.confirmed ? SALE_PUT_STOCK_BELOW_SOLD : SALE_PUT_REPLACED);
	if (outcome < 0)
		m.per_user = item_int(&r, SALE_PER_USER);
	m.stock = outcome < 0 ? m.stock : stock;
	m.hold = outcome < 0 ? m.hold : hold;
}

static void sale_is_as_the_model(void)
{
	assert_int_equal(look(), 0);
	model_settle(item_int(&r, REPLY_NOW_MS));
	assert_int_equal(item_int(&r, SALE_STOCK), m.stock);
	assert_int_equal(item_int(&r, SALE_PER_USER), m.per_user);
	assert_int_equal(item_int(&r, SALE_HOLD_MS), m.hold);
	assert_int_equal(item_int(&r, SALE_HELD), m.held);
	assert_int_equal(item_int(&r, SALE_CONFIRMED), m.confirmed);
	assert_true(m.held >= 0 && m.confirmed >= 0 && m.held + m.confirmed <= m.stock);
	for (int i = 0; i < USERS; i++) {
		const redisReply *has = server_command(&r, "HGET " S ":users %s", users[i]);
		assert_int_equal(has->type == REDIS_REPLY_NIL ? 0 : strtoll(has->str, NULL, 10), m.has[i]);
		assert_true(has->type == REDIS_REPLY_NIL || m.has[i] > 0);
	}
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(sales_follow_their_model)
{
	memset(&m, 0, sizeof(m));
	m.stock = 20;
	m.hold = 3;
	assert_int_equal(configure(0, 0, m.stock, 0, m.hold), SALE_PUT_NEW);
	seed = 3;
	for (int i = 0; i < 6000; i++) {
		/* Mostly one of the latest claims: earlier holds ended long ago. */
		struct entry *e =
			m.count ? &m.claims[m.count - 1 - next_random(m.count < 8 ? (uint32_t)m.count : 8)] : NULL;
		uint32_t what = next_random(20);
		if (what < 10)
			claim_step();
		else if (what == 10 && e)
			confirm_step(e);
		else if (what < 13 && e)
			release_step(e);
		else if (what == 13)
			configure_step();
		else
			sale_is_as_the_model();
	}
	assert_true(m.confirmed > 20 && m.count > 500);
}

/* ---- By hand ---- */

TEST(a_sale_opens_and_closes_to_the_millisecond)
{
	char id[40];

	int64_t opens_at = server_now_ms(&r) + 100, closes_at = opens_at + 100, outcome, now;
	configure(opens_at, closes_at, 100000, 0, 60000);
	bool was_open = false;
	do {
		outcome = claim("u", 1, id);
		now = item_int(&r, REPLY_NOW_MS);
		assert_int_equal(outcome, now >= opens_at && now < closes_at ? 1 : SALE_CLAIM_ACQUIRE_NOT_OPEN);
		was_open = was_open || outcome == 1;
	} while (now < closes_at);
	assert_true(was_open);
	assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_OPENS_AT_MS), opens_at);
	assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_CLOSES_AT_MS), closes_at);
	assert_int_equal(confirm(id), 1); /* claims may still be confirmed */
}

SUITE(.name = "by clock", .open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

/*
 * If more holds have ended than one call settles, the call reports that. It grants nothing that is
 * not in stock.
 */
TEST(many_ended_holds_take_several_calls)
{
	enum { HOLDS = 250 };
	char id[40];

	configure(0, 0, HOLDS, 0, 1500);
	for (int i = 0; i < HOLDS; i++)
		assert_int_equal(claim("u", 1, id), 1);
	int64_t ends_at = item_int(&r, SALE_CLAIM_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(claim("v", 1, id), SALE_CLAIM_ACQUIRE_SOLD_OUT);
	*script_clock_us = ends_at * 1000;
	assert_int_equal(configure(0, 0, 10, 0, 1000), SALE_PUT_AGAIN);  /* 100 are settled, 150 not */
	assert_int_equal(claim("v", 230, id), SALE_CLAIM_ACQUIRE_AGAIN); /* 200 are settled, 50 not */
	assert_int_equal(claim("v", 230, id), 1);
	assert_int_equal(item_int(&r, SALE_CLAIM_ACQUIRE_REMAINING), 20);
	assert_int_equal(look(), 0);
	assert_int_equal(item_int(&r, SALE_HELD), 230);
	assert_int_equal(configure(0, 0, 229, 0, 1000), SALE_PUT_STOCK_BELOW_SOLD);
	assert_int_equal(configure(0, 0, 230, 0, 1000), SALE_PUT_REPLACED);
}

TEST(a_look_reports_that_there_is_more)
{
	char id[40];

	configure(0, 0, 250, 250, 1500);
	for (int i = 0; i < 250; i++)
		assert_int_equal(claim("u", 1, id), 1);
	int64_t ends_at = item_int(&r, SALE_CLAIM_ACQUIRE_EXPIRES_AT_MS);
	*script_clock_us = ends_at * 1000;
	assert_int_equal(look(), SALE_GET_AGAIN);
	assert_int_equal(server_command(&r, "ZCARD " S ":holds")->integer, 150);
	run(&r, &sale_get_script, SALE_KEYS, ARGS("once"));
	assert_int_equal(item_int(&r, SALE_HELD), 50);
	assert_int_equal(look(), 0);
	assert_int_equal(item_int(&r, SALE_HELD), 0);
	assert_int_equal(redis_exists(&r, S ":claims") + redis_exists(&r, S ":holds") + redis_exists(&r, S ":users"),
			 0);
}

/* The user's own ended holds are among those that are not settled yet. */
TEST(a_limit_waits_for_what_is_not_settled)
{
	char id[40];

	configure(0, 0, 1000, 0, 1500);
	for (int i = 0; i < 120; i++)
		assert_int_equal(claim(i < 110 ? "u" : "v", 1, id), 1);
	int64_t ends_at = item_int(&r, SALE_CLAIM_ACQUIRE_EXPIRES_AT_MS);
	*script_clock_us = ends_at * 1000;
	/* Written by hand, since sale_put would settle. */
	server_command(&r, "HSET " S " per_user 5");
	assert_int_equal(claim("v", 1, id), SALE_CLAIM_ACQUIRE_AGAIN);
	assert_int_equal(claim("v", 1, id), 1);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

/* The existing keys expire at the instant `at`. -1: they do not expire. */
static void assert_expiry(int64_t at, int keys)
{
	static const char *const names[] = { S, S ":claims", S ":holds", S ":users" };

	for (int i = 0; i < 4; i++)
		if (redis_exists(&r, names[i])) {
			assert_int_equal(server_command(&r, "PEXPIRETIME %s", names[i])->integer, at);
			keys--;
		}
	assert_int_equal(keys, 0);
	look();
	assert_int_equal(item_int(&r, SALE_EXPIRES_AT_MS), at);
}

static void keep_for(const char *retention_ms)
{
	run(&r, &sale_patch_script, SALE_KEYS, ARGS("", "", "", "", "", retention_ms));
	assert_int_equal(outcome(&r), 1);
}

TEST(all_keys_of_a_sale_expire_together)
{
	char id[40], other[40];

	int64_t closes_at = server_now_ms(&r) + 100000;
	configure(0, closes_at, 100, 0, 60000);
	assert_expiry(-1, 1);
	claim("u", 1, id);
	assert_expiry(-1, 4);
	keep_for("5000");
	assert_expiry(closes_at + 60000 + 5000, 4);
	assert_int_equal(confirm(id), 1); /* no hold is left, so that key goes */
	assert_expiry(closes_at + 65000, 3);
	claim("v", 1, id); /* creates that key again */
	claim("w", 1, other);
	assert_expiry(closes_at + 65000, 4);
	assert_int_equal(release(other), 1);
	assert_expiry(closes_at + 65000, 4);
	/*
	 * A hold that ends later than the present settings allow keeps the sale, even if it was
	 * released.
	 */
	int64_t ends_at = strtoll(other, NULL, 10);
	run(&r, &sale_patch_script, SALE_KEYS, ARGS("", "1", "", "", "1", ""));
	assert_expiry(ends_at + 5000, 4);
	keep_for("0");
	assert_expiry(-1, 4);
	/* All of the sale is in the past, so it goes at once. */
	assert_int_equal(release(id), 1);
	server_command(&r, "ZADD " S ":holds 5 %s", id);
	server_command(&r, "ZREM " S ":holds %s", other);
	keep_for("1");
	wait_until(server_keys(&r) == 0, 5000);
}

TEST(a_sale_with_many_claims_is_deleted_in_no_time)
{
	char id[40];

	configure(0, 0, 1000, 0, 60000);
	for (int i = 0; i < 1000; i++)
		claim("u", 1, id);
	server_command(&r, "CONFIG RESETSTAT");
	run(&r, &sale_delete_script, SALE_KEYS, ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_keys(&r), 0);
	assert_non_null(strstr(server_command(&r, "INFO commandstats")->str, "cmdstat_unlink:calls=1,"));
	assert_null(strstr(server_command(&r, "INFO commandstats")->str, "cmdstat_del:"));
	run(&r, &sale_delete_script, SALE_KEYS, ARGS());
	assert_int_equal(outcome(&r), SALE_DELETE_ABSENT);
}
