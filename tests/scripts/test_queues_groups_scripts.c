/*
 * Groups of queues: thousands of random steps with each order and rule. After each step the keys
 * must be as lua/queues/groups/lib_queue_groups.lua promises, and first deliveries must be in
 * order. Bugs planted in the scripts must be found. The test sets Redis's clock.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "random_walk.h"
#include "script_stage.h"
#include "test.h"

enum { GROUPS = 4, STEPS = 1000, HELD_MAX = 64, RECEIPT_BYTES = 64, IDS = 12, SENT_MAX = 5 * STEPS };

/* A row of settings, first as queue_put gets them, then as the checks do. */
struct rules {
	const char *order, *group_concurrency, *concurrency, *rate, *group_rate;
	int strict, limit, at_once;
	const char *result_ms;
};

static void put_rules(const char *queue, const struct rules *rules)
{
	run(&r, &queue_put_script, queue_keys(queue),
	    ARGS("-1", "-1", "0", "0", "40", "-1", "0", rules->result_ms ? rules->result_ms : "-1", "-1", "", "-1",
		 rules->order, rules->group_concurrency, rules->concurrency, rules->rate, rules->group_rate));
	assert_int_equal(outcome(&r), 1);
}

/*
 * Returns what is wrong with the keys, or ''. ARGV: whether the queue is strict, the most in flight
 * per group (0: any), and in all (0: any).
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
	"  if limit > 0 and x.n + #x.heads > limit then bad[#bad + 1] = 'too many ' .. g end "
	"  if x.blocked > 0 and not x.heads[1] and not x.held and not (limit > 0 and x.n >= limit) then "
	"    bad[#bad + 1] = 'forgotten ' .. g end end "
	"seen = seen + redis.call('ZCARD', KEYS[1] .. ':delayed') + redis.call('ZCARD', KEYS[1] .. ':dead') "
	"local contents = 0 for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do "
	"  if f:find('^%d+$') then contents = contents + 1 end end "
	"if contents ~= seen then bad[#bad + 1] = 'contents ' .. contents .. ', places ' .. seen end "
	"return table.concat(bad, '; ')";

/* Returns what is wrong, or "". The text lives until the next command. */
static const char *broken(const char *queue, const struct rules *rules)
{
	return server_command(&r, "EVAL %s 1 p:queue:{%s} %d %d %d", invariants, queue, rules->strict, rules->limit,
			      rules->at_once)
		->str;
}

/* A message that was sent without an id and without a delay, and was not changed. */
struct plain {
	int64_t seq;
	int priority;
	const char *group;
	bool is_delivered;
};

static struct {
	char receipts[HELD_MAX][RECEIPT_BYTES]; /* of deliveries that should be current */
	int count;
	char nonce[17];
	struct plain sent[SENT_MAX]; /* sorted by sequence */
	int sent_count;
	char wrong_order[96];
	bool extends_late; /* which may exceed a limit */
} world;

static int any(int below)
{
	return (int)random_below(below);
}

static struct plain *plain_of(int64_t seq)
{
	int low = 0, high = world.sent_count;

	while (low < high) {
		int middle = (low + high) / 2;
		if (world.sent[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < world.sent_count && world.sent[low].seq == seq ? &world.sent[low] : NULL;
}

/*
 * Checks the promise: a message's first delivery is after the first deliveries of all earlier ones
 * of its group and priority, unless one was delayed or changed.
 */
static void see_delivery(int64_t seq)
{
	struct plain *m = plain_of(seq);

	if (!m || !m->group || m->is_delivered)
		return;
	m->is_delivered = true;
	for (struct plain *later = m + 1; later < world.sent + world.sent_count; later++)
		if (later->group == m->group && later->priority == m->priority && later->is_delivered)
			snprintf(world.wrong_order, sizeof(world.wrong_order), "%s: %" PRId64 " after %" PRId64,
				 m->group, seq, later->seq);
}

/* From now on the message may be delivered in any order. */
static void forget_order(const char *id)
{
	struct plain *m = plain_of(strtoll(id, NULL, 10));

	if (m)
		m->group = NULL;
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
	static const char *const duplicates[] = { NULL, "r", "e", "e50", "a" };
	static char large[9000], ids[5][8];
	struct outgoing batch[5] = { 0 };
	int count = 1 + any(5);

	memset(large, 'x', sizeof(large) - 1);
	large[0] = large[sizeof(large) - 2] = '"';
	for (int i = 0; i < count; i++) {
		batch[i].body = any(20) ? "1" : large;
		batch[i].group = any(12) ? group_name(any(GROUPS)) : NULL;
		batch[i].priority = any(5) ? 4 : any(9);
		batch[i].delay_ms = any(6) ? 0 : 1 + any(30);
		batch[i].ttl_ms = any(8) ? 0 : 40 + any(40);
		batch[i].max_receives = any(4) ? 0 : 2;
		if (!any(3)) {
			snprintf(ids[i], sizeof(ids[i]), "m%d", any(IDS));
			batch[i].id = ids[i];
			batch[i].on_duplicate = duplicates[any(5)];
		}
	}
	queue_send_all(&r, "q", batch, (size_t)count);
	for (int i = 0; i < count; i++)
		if (!batch[i].id && batch[i].group && !batch[i].delay_ms)
			world.sent[world.sent_count++] =
				(struct plain){ .seq = strtoll(sent(&r, (size_t)i, QUEUE_SENT_ID)->str, NULL, 10),
						.priority = batch[i].priority,
						.group = batch[i].group };
	return "send";
}

static const char *receive_some(void)
{
	for (int i = 15, carry = 1; carry && i >= 0; i--) {
		carry = world.nonce[i] == 'f';
		world.nonce[i] = carry ? '0' : world.nonce[i] == '9' ? 'a' : (char)(world.nonce[i] + 1);
	}
	int max = any(3) ? 1 + any(3) : 10;
	bool takes = !any(12);
	int64_t count = takes ? queue_take(&r, "q", max)
			      : queue_message_receive(&r, "q", max, any(3) ? 300 : 1 + any(20), world.nonce);
	for (size_t i = 0; i < (size_t)count; i++) {
		const char *receipt = received(&r, i, RECEIVED_RECEIPT)->str;
		if (!takes && world.count < HELD_MAX)
			snprintf(world.receipts[world.count++], RECEIPT_BYTES, "%s", receipt);
		char seq[24];
		snprintf(seq, sizeof(seq), "%.16s", receipt);
		see_delivery(strtoll(seq, NULL, 10));
	}
	return takes ? "take" : "receive";
}

/* Any message of a state, or "". */
static const char *any_message(const char *state)
{
	static char id[64];

	run(&r, &queue_message_list_script, queue_keys("q"), ARGS(state, "20", "-1", "-1", "", "1"));
	size_t count = r.reply->elements - QUEUE_MESSAGE_LIST_MESSAGES;
	snprintf(id, sizeof(id), "%s",
		 count ? item_field(&r, QUEUE_MESSAGE_LIST_MESSAGES + (size_t)any((int)count), ITEM_ID)->str : "");
	return id;
}

/* With a receipt that counts although its visibility has ended. */
static const char *end_late(const char *receipt)
{
	int how = any(5);

	if (how == 0) {
		queue_delivery_reject_late(&r, "q", receipt, any(2) ? 0 : any(30));
		return "reject late";
	} else if (how == 1 && world.extends_late) {
		queue_delivery_extend_late(&r, "q", receipt, 1 + any(30));
		return "extend late";
	}
	queue_delivery_acknowledge_late(&r, "q", receipt);
	return "acknowledge late";
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
		queue_delivery_list_extend(&r, "q", ARGS(receipt), 1 + any(30));
		return "extend";
	} else if (how == 3) {
		queue_delivery_uncount(&r, "q", receipt, any(2) ? 0 : any(30));
		return "reject uncounted";
	}
	if (how == 4)
		return end_late(receipt);
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

	snprintf(id, sizeof(id), "%s", any_message(how == 2 ? "in_flight" : states[any(4)]));
	if (!*id)
		return "nothing to change";
	if (how == 0) {
		queue_message_delete(&r, "q", id);
		return "cancel";
	} else if (how == 2) {
		queue_message_cancel(&r, "q", id);
		return "cancel in flight";
	}
	forget_order(id);
	queue_message_patch(&r, "q", id, any(3) ? -1 : any(30), -1, any(2) ? any(9) : 4);
	return "patch";
}

/* Redrives the dead letters of q into their own queue or into the other. */
static const char *redrive_some(void)
{
	if (any(2)) {
		queue_redrive(&r, "q", -1, NULL);
		return "redrive";
	}
	queue_redrive_to(&r, "q", "p", any(2) ? 0 : any(10), 100, NULL, NULL);
	return "redrive to p";
}

static const char *do_something(void)
{
	static const char *const states[] = { "ready", "delayed", "in_flight", "dead", "blocked", "" };
	int what = any(100);

	if (what < 32)
		return send_some();
	if (what < 62)
		return receive_some();
	if (what < 82) {
		for (int more = any(6); more > 0; more--)
			end_one(any(3) ? 0 : any(6));
		return end_one(what % 6);
	}
	if (what < 93)
		return change_one(what % 3);
	if (what < 96)
		return redrive_some();
	if (what < 97) {
		queue_purge(&r, "q", states[any(6)], NULL);
		return "purge";
	} else if (what < 98) {
		queue_take(&r, "p", 10);
		return "take from p";
	}
	*script_clock_us += any(6000);
	return "wait";
}

/* Returns the first promise that is broken, or NULL if all steps keep all promises. */
static const char *walk(const struct rules *rules, uint64_t seed, int steps)
{
	static char found[512];

	script_stage_empty(NULL);
	memset(&world, 0, sizeof(world));
	memset(world.nonce, '0', 16);
	put_rules("q", rules);
	put_rules("p", rules);
	random_begin(seed);
	world.extends_late = rules->strict || (!rules->limit && !rules->at_once);
	for (int step = 0; step < steps; step++) {
		*script_clock_us += any(seed % 2 ? 300 : 1500);
		const char *what = do_something();
		snprintf(found, sizeof(found), "seed %d, step %d, %s: ", (int)seed, step, what);
		size_t n = strlen(found);
		snprintf(found + n, sizeof(found) - n, "%s", broken("q", rules));
		if (!found[n] && strcmp(what, "redrive to p") == 0)
			snprintf(found + n, sizeof(found) - n, "%s", broken("p", rules));
		if (!found[n])
			snprintf(found + n, sizeof(found) - n, "%s", world.wrong_order);
		if (found[n])
			return found;
	}
	return NULL;
}

static const struct rules fair = { "fair", "-2", "-2", "-2", "-2", 0, 0, 0, NULL };
static const struct rules strict = { "strict", "-2", "-2", "-2", "-2", 1, 1, 0, NULL };
static const struct rules two_each = { "fair", "2", "-2", "-2", "-2", 0, 2, 0, "60000" };
static const struct rules three_in_all = { "fair", "2", "3", "-2", "-2", 0, 2, 3, NULL };
static const struct rules strict_rates = { "strict", "-2", "-2", "1000 1000 5", "300 1000 2", 1, 1, 0, "60000" };
static const struct rules fair_rates = { "fair", "3", "4", "-2", "300 1000 2", 0, 3, 4, NULL };

static void keeps(const struct rules *rules)
{
	int seeds = getenv("PATTERND_FULL") ? 20 : 1;

	for (int seed = 34; seed < 34 + seeds; seed++) {
		const char *found = walk(rules, (uint64_t)seed, STEPS);
		if (found)
			fail_msg("%s", found);
	}
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);

TEST(a_fair_queue)
{
	keeps(&fair);
}

TEST(a_strict_queue)
{
	keeps(&strict);
}

TEST(with_group_concurrency)
{
	keeps(&two_each);
}

TEST(with_concurrency)
{
	keeps(&three_in_all);
}

TEST(with_rates)
{
	keeps(&strict_rates);
	keeps(&fair_rates);
}

/* Bugs to plant in the scripts, and the rules under which the walk must find them. */
static const struct {
	const char *what, *right, *wrong;
	const struct rules *rules;
} bugs[] = {
	{ "the next message is forgotten when one dies", "or m.place == keys[5] then\nreturn\n",
	  "or m.place == keys[5] or (m.reason or ''):find('max_receives') then\nreturn\n", &strict },
	{ "one more than the limit is promoted", "if count >= limit then\n", "if count > limit then\n", &two_each },
	{ "the head is lost when its group is held", "if until_us then\nif not is_head then\n",
	  "if until_us then\nif not is_head then\ncall('ZREM', keys[10], first)\n", &fair_rates },
	{ "the last that is blocked comes first",
	  "local first =\ncall('ZRANGE', keys[10], '[' .. group .. '\\0', '(' .. group .. '\\1', 'BYLEX', 'LIMIT', '0', '1')[1]\n",
	  "local first =\ncall('ZRANGE', keys[10], '(' .. group .. '\\1', '[' .. group .. '\\0', 'BYLEX', 'REV', 'LIMIT', '0', '1')[1]\n",
	  &strict },
};

TEST(bugs_are_found)
{
	for (size_t i = 0; i < COUNT(bugs); i++) {
		run_with_bug(bugs[i].right, bugs[i].wrong);
		const char *found = NULL;
		for (uint64_t seed = 34; seed < 44 && !found; seed++)
			found = walk(bugs[i].rules, seed, STEPS);
		int places = places_of_bug();
		run_with_bug(NULL, NULL);
		if (!places)
			fail_msg("no script has a place for: %s", bugs[i].what);
		if (!found)
			fail_msg("it is not found that %s", bugs[i].what);
	}
}
