/*
 * Groups of queues on a real Redis: thousands of random steps with each order and rule, after each
 * of which the keys must keep what lua/queues/lib_queue_groups.lua promises; what a message of a
 * group costs; and when waiters of a group wake.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"

enum { GROUPS = 4, STEPS = 3000, HELD_MAX = 64, RECEIPT_BYTES = 64 };

/* Of a row of settings: as queue_put wants them, and as the checks do. */
struct rules {
	const char *order, *group_concurrency, *concurrency, *rate, *group_rate;
	int strict, limit, at_once;
};

static void put_rules(const struct rules *rules)
{
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "", "-1", rules->order, rules->group_concurrency,
		 rules->concurrency, rules->rate, rules->group_rate));
	assert_int_equal(outcome(&r), 1);
}

/*
 * What the keys break, '' when nothing. ARGV: whether the queue is strict, the most in flight per
 * group (0: any), and in all (0: any).
 */
static const char invariants[] =
	"local strict, limit, at_once = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[3]) "
	"local of, bad, seen, live = {}, {}, 0, 0 "
	"local now = redis.call('TIME')[1] * 1000 "
	"local function group(g) of[g] = of[g] or {blocked = 0, heads = {}, taken = {}, n = 0} return of[g] end "
	"for _, m in ipairs(redis.call('ZRANGE', KEYS[1] .. ':order', 0, -1)) do "
	"  local g, place = m:match('^(%Z+)%z(.*)$') "
	"  if redis.call('HEXISTS', KEYS[1], place:sub(2, 17)) == 0 then bad[#bad + 1] = 'blocked without content ' .. m end "
	"  group(g).blocked = group(g).blocked + 1 seen = seen + 1 end "
	"for _, m in ipairs(redis.call('ZRANGE', KEYS[1] .. ':busy', 0, -1)) do "
	"  local g, kind, place = m:match('^([^%z\\1\\2]+)([%z\\1\\2])(.*)$') "
	"  if kind == '\\0' then group(g).held = true "
	"    if not redis.call('ZSCORE', KEYS[1] .. ':groups', 'h' .. g) then bad[#bad + 1] = 'held without end ' .. g end "
	"  elseif kind == '\\1' then group(g).heads[#group(g).heads + 1] = place "
	"    if not redis.call('ZSCORE', KEYS[1] .. ':ready', place .. g) then bad[#bad + 1] = 'head not ready ' .. g end "
	"  else group(g).taken[place:sub(2, 17)] = place group(g).n = group(g).n + 1 "
	"    local flies = redis.call('ZSCORE', KEYS[1] .. ':flight', place:sub(2, 17) .. 's' .. g) "
	"    local is = flies and tonumber(flies) >= 0 or strict and (redis.call('ZSCORE', KEYS[1] .. ':ready', place .. g) "
	"      or redis.call('ZSCORE', KEYS[1] .. ':delayed', place .. g)) "
	"    if not is then bad[#bad + 1] = 'taken nowhere ' .. g .. ' ' .. place end end end "
	"for _, m in ipairs(redis.call('ZRANGE', KEYS[1] .. ':ready', 0, -1)) do seen = seen + 1 "
	"  local g = m:sub(19) if g ~= '' then "
	"    local marked = group(g).taken[m:sub(2, 17)] for _, h in ipairs(group(g).heads) do marked = marked or h == m:sub(1, 18) end "
	"    if not marked then bad[#bad + 1] = 'ready without mark ' .. m end end end "
	"local flight = redis.call('ZRANGE', KEYS[1] .. ':flight', 0, '+inf', 'BYSCORE', 'WITHSCORES') "
	"for i = 1, #flight, 2 do local m = flight[i] local g = m:sub(18) "
	"  if redis.call('HEXISTS', KEYS[1], m:sub(1, 16)) == 1 then seen = seen + 1 end "
	"  live = live + 1 "
	"  if g ~= '' and not group(g).taken[m:sub(1, 16)] then bad[#bad + 1] = 'in flight without mark ' .. m end end "
	"if at_once > 0 and live > at_once then bad[#bad + 1] = 'in flight: ' .. live end "
	"for g, x in pairs(of) do "
	"  if #x.heads > 1 then bad[#bad + 1] = 'two heads ' .. g end "
	"  if strict and (#x.heads > 0 or x.n > 1) then bad[#bad + 1] = 'two current ' .. g end "
	"  if limit > 0 and x.n > limit then bad[#bad + 1] = 'too many in flight ' .. g end "
	"  if x.blocked > 0 and not x.heads[1] and not x.held and not (limit > 0 and x.n >= limit) then "
	"    bad[#bad + 1] = 'forgotten ' .. g end end "
	"seen = seen + redis.call('ZCARD', KEYS[1] .. ':delayed') + redis.call('ZCARD', KEYS[1] .. ':dead') "
	"local contents = 0 for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do "
	"  if f:find('^%d+$') then contents = contents + 1 end end "
	"if contents ~= seen then bad[#bad + 1] = 'contents ' .. contents .. ', places ' .. seen end "
	"return table.concat(bad, '; ')";

static void keeps_its_promises(const struct rules *rules, int step, const char *what)
{
	const char *bad = server_command(&r, "EVAL %s 1 p:queue:{q} %d %d %d", invariants, rules->strict, rules->limit,
					 rules->at_once)
				  ->str;

	if (*bad)
		fail_msg("step %d, %s: %s", step, what, bad);
}

/* Receipts that are thought to be current. */
static struct {
	char receipts[HELD_MAX][RECEIPT_BYTES];
	int count;
	char nonce[17];
	char last_first[GROUPS][24]; /* of each group, the latest message by its first delivery */
} world;

static int any(int below)
{
	return rand() % below;
}

static const char *group_name(int i)
{
	static const char *const names[GROUPS] = { "a", "ab", "tenant 3", "\xc3\xa4" };

	return names[i];
}

static const char *pull_receipt(void)
{
	static char receipt[RECEIPT_BYTES];

	if (!world.count)
		return NULL;
	int i = any(world.count);
	memcpy(receipt, world.receipts[i], sizeof(receipt));
	memcpy(world.receipts[i], world.receipts[--world.count], sizeof(receipt));
	return receipt;
}

static const char *send_some(void)
{
	static char bodies[2] = "1";
	static char large[9000];
	struct outgoing batch[5] = { 0 };
	int count = 1 + any(5);

	memset(large, 'x', sizeof(large) - 1);
	for (int i = 0; i < count; i++) {
		batch[i].body = any(20) ? bodies : large;
		batch[i].group = any(6) ? group_name(any(GROUPS)) : NULL;
		batch[i].priority = any(5) ? 4 : any(9);
		batch[i].delay_ms = any(6) ? 0 : 1 + any(30);
		batch[i].ttl_ms = any(8) ? 0 : 40 + any(40);
		batch[i].max_receives = any(4) ? 0 : 2;
	}
	queue_send_all(&r, "q", batch, (size_t)count);
	return "send";
}

/* In a strict queue: never before one that was sent before, of equal priority and without delay. */
static const char *receive_some(bool checks_order)
{
	for (int i = 15, carry = 1; carry && i >= 0; i--) {
		carry = world.nonce[i] == 'f';
		world.nonce[i] = carry ? '0' : world.nonce[i] == '9' ? 'a' : (char)(world.nonce[i] + 1);
	}
	int max = any(3) ? 1 + any(3) : 10;
	if (!any(12)) {
		queue_take(&r, "q", max);
		return "take";
	}
	int64_t count = queue_message_receive(&r, "q", max, any(3) ? 30000 : 1 + any(20), world.nonce);
	for (int64_t i = 0; i < count; i++) {
		if (world.count < HELD_MAX)
			snprintf(world.receipts[world.count++], RECEIPT_BYTES, "%s",
				 received(&r, (size_t)i, RECEIVED_RECEIPT)->str);
		const char *group = received(&r, (size_t)i, RECEIVED_GROUP)->str;
		char seq[24];
		snprintf(seq, sizeof(seq), "%.16s", received(&r, (size_t)i, RECEIVED_RECEIPT)->str);
		for (int g = 0; checks_order && g < GROUPS; g++) {
			if (strcmp(group, group_name(g)) != 0 || received(&r, (size_t)i, RECEIVED_RECEIVES)->integer > 1)
				continue;
			if (strcmp(seq, world.last_first[g]) < 0)
				fail_msg("group %s: %s after %s", group, seq, world.last_first[g]);
			snprintf(world.last_first[g], sizeof(world.last_first[g]), "%s", seq);
		}
	}
	return "receive";
}

/* Any message of a state; "" when there is none. */
static const char *any_message(const char *state)
{
	static char id[64];

	run(&r, &queue_message_list_script, queue_keys("q"), ARGS(state, "20", "-1", "-1", "", "1"));
	size_t count = r.reply->elements - QUEUE_MESSAGE_LIST_MESSAGES;
	snprintf(id, sizeof(id), "%s",
		 count ? item_field(&r, QUEUE_MESSAGE_LIST_MESSAGES + (size_t)any((int)count), ITEM_ID)->str : "");
	return id;
}

static const char *end_one(int how)
{
	const char *receipt = pull_receipt();

	if (!receipt)
		return "nothing to end";
	if (how == 0) {
		queue_delivery_acknowledge(&r, "q", receipt);
		return "acknowledge";
	} else if (how == 1) {
		queue_delivery_reject(&r, "q", receipt, any(2) ? 0 : any(30), "", !any(5));
		return "reject";
	} else if (how == 2) {
		queue_delivery_extend(&r, "q", receipt, 1 + any(30));
		return "extend";
	}
	const char *other = NULL;
	char first[RECEIPT_BYTES];
	snprintf(first, sizeof(first), "%s", receipt);
	other = pull_receipt();
	queue_delivery_settle(&r, "q", ARGS(first), other ? ARGS(other) : ARGS(NULL), any(2) ? 0 : 20);
	return "settle";
}

static const char *change_one(int how)
{
	static const char *const states[] = { "ready", "delayed", "dead", "blocked" };
	char id[64];

	snprintf(id, sizeof(id), "%s", any_message(states[any(4)]));
	if (!*id)
		return "nothing to change";
	if (how == 0) {
		queue_message_delete(&r, "q", id);
		return "cancel";
	}
	queue_message_patch(&r, "q", id, any(3) ? -1 : any(30), -1, any(2) ? any(9) : 4);
	return "patch";
}

static const char *do_something(bool checks_order)
{
	int what = any(100);

	if (what < 35)
		return send_some();
	if (what < 65)
		return receive_some(checks_order);
	if (what < 85)
		return end_one(what % 4);
	if (what < 93)
		return change_one(what % 3 ? 1 : 0);
	if (what < 95) {
		queue_redrive(&r, "q", -1, NULL);
		return "redrive";
	}
	if (what < 96) {
		static const char *const states[] = { "ready", "delayed", "in_flight", "dead", "blocked", "" };
		queue_purge(&r, "q", states[any(6)], NULL);
		return "purge";
	}
	wait_for_clock(&r, server_now_ms(&r) + any(6));
	return "wait";
}

static void go(const struct rules *rules, bool checks_order)
{
	(void)checks_order;
	script_stage_empty(NULL);
	memset(&world, 0, sizeof(world));
	memset(world.nonce, '0', 16);
	put_rules(rules);
	srand(34);
	for (int step = 0; step < STEPS; step++) {
		const char *what = do_something(false);
		keeps_its_promises(rules, step, what);
	}
}

static void a_fair_queue(void **state)
{
	(void)state;
	go(&(struct rules){ "fair", "-2", "-2", "-2", "-2", 0, 0, 0 }, false);
}

static void a_strict_queue(void **state)
{
	(void)state;
	go(&(struct rules){ "strict", "-2", "-2", "-2", "-2", 1, 1, 0 }, false);
}

static void with_group_concurrency(void **state)
{
	(void)state;
	go(&(struct rules){ "fair", "2", "-2", "-2", "-2", 0, 2, 0 }, false);
}

static void with_concurrency(void **state)
{
	(void)state;
	go(&(struct rules){ "fair", "2", "3", "-2", "-2", 0, 2, 3 }, false);
}

static void with_rates(void **state)
{
	(void)state;
	go(&(struct rules){ "strict", "-2", "-2", "200 1000 5", "50 1000 2", 1, 1, 0 }, false);
	go(&(struct rules){ "fair", "3", "4", "-2", "50 1000 2", 0, 3, 4 }, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_fair_queue, script_stage_empty),
		cmocka_unit_test_setup(a_strict_queue, script_stage_empty),
		cmocka_unit_test_setup(with_group_concurrency, script_stage_empty),
		cmocka_unit_test_setup(with_concurrency, script_stage_empty),
		cmocka_unit_test_setup(with_rates, script_stage_empty),
	};

	return cmocka_run_group_tests(tests, script_stage_open, script_stage_close);
}
