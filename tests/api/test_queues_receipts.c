/*
 * Receipts over HTTP: each place that accepts one (acknowledge, extend, reject, both lists of
 * settle) gets each kind of receipt. A receipt is current, acknowledged, no longer current in each
 * way, of another queue, damaged, or foreign text. Each answer is as the contract documents it, and
 * a refusal changes nothing in Redis.
 */
#include "queue_stage.h"

enum place { ACKNOWLEDGE, EXTEND, REJECT, SETTLE_ACKNOWLEDGE, SETTLE_REJECT, PLACE_COUNT };
static const char *const place_names[] = { "acknowledge", "extend", "reject", "settle acknowledge", "settle reject" };

enum validity { CURRENT, REMEMBERED, STALE, INVALID, OVERSIZED, VALIDITY_COUNT };

/* The answer of each place: its status, and the outcome of a settle or the code of a problem. */
static const struct expected {
	int status;
	const char *outcome;
} expected[VALIDITY_COUNT][PLACE_COUNT] = {
	[CURRENT] = { { 204, NULL }, { 200, NULL }, { 200, NULL }, { 200, "acknowledged" }, { 200, "rejected" } },
	[REMEMBERED] = { { 204, NULL },
			 { 410, "receipt_expired" },
			 { 410, "receipt_expired" },
			 { 200, "acknowledged" },
			 { 200, "not_current" } },
	[STALE] = { { 410, "receipt_expired" },
		    { 410, "receipt_expired" },
		    { 410, "receipt_expired" },
		    { 200, "not_current" },
		    { 200, "not_current" } },
	[INVALID] = { { 400, "invalid_receipt" },
		      { 400, "invalid_receipt" },
		      { 400, "invalid_receipt" },
		      { 400, "invalid_receipt" },
		      { 400, "invalid_receipt" } },
	[OVERSIZED] = { { 400, "out_of_range" },
			{ 400, "out_of_range" },
			{ 400, "out_of_range" },
			{ 400, "out_of_range" },
			{ 400, "out_of_range" } },
};

static struct answer ask(enum place place, const char *receipt)
{
	char body[512];

	switch (place) {
	case ACKNOWLEDGE:
		return acknowledge(receipt);
	case EXTEND:
		return extend(receipt, "{\"visibility_ms\":60000}");
	case REJECT:
		return reject(receipt, NULL);
	case SETTLE_ACKNOWLEDGE:
		snprintf(body, sizeof(body), "{\"acknowledge\":[\"%s\"]}", receipt);
		return post("/settle", body, NULL);
	default:
		snprintf(body, sizeof(body), "{\"reject\":[{\"receipt\":\"%s\"}]}", receipt);
		return post("/settle", body, NULL);
	}
}

/*
 * All data of a queue in Redis. The fields of a hash are sorted, since their order changes while
 * Redis makes its table larger.
 */
static const char *picture_of(const char *name)
{
	static const char source[] =
		"local all = '' for _, part in ipairs({'', ':ready', ':delayed', ':flight', ':dead', ':ids', ':done'}) do "
		"local key, rows = KEYS[1] .. part, {} "
		"if redis.call('TYPE', key).ok == 'hash' then local fields = redis.call('HGETALL', key) "
		"for i = 1, #fields, 2 do rows[#rows + 1] = cjson.encode({ fields[i], fields[i + 1] }) end "
		"table.sort(rows) else rows[1] = redis.call('DUMP', key) or '' end "
		"all = all .. redis.sha1hex(table.concat(rows, ',')) end return all";

	return server_command(&redis, "EVAL %s 1 p:queue:{%s}", source, name)->str;
}

static void must_be_answered(const char *row, enum place place, const char *receipt, enum validity validity)
{
	const struct expected *e = &expected[validity][place];
	char *before = strdup(picture_of("q")), *before_other = strdup(picture_of("other"));
	struct answer a = ask(place, receipt);

	if (a.status != e->status)
		fail_msg("%s: %s of %s is %d, not %d: %s", row, place_names[place], receipt, a.status, e->status,
			 a.body);
	if (a.status >= 400)
		assert_problem(a, e->status, e->outcome, "none");
	else if (e->outcome)
		assert_string_equal(text_at(a, "/deliveries/0/outcome"), e->outcome);
	if (a.status == 400 && place >= SETTLE_ACKNOWLEDGE)
		assert_string_equal(text_at(a, "/errors/0/pointer"),
				    place == SETTLE_ACKNOWLEDGE ? "/acknowledge/0" : "/reject/0/receipt");
	if ((validity == CURRENT) == (strcmp(before, picture_of("q")) == 0))
		fail_msg("%s: %s changed too much or too little", row, place_names[place]);
	assert_string_equal(before_other, picture_of("other"));
	free(before);
	free(before_other);
}

/* ---- Kinds of receipts. Each function creates a queue, and stores a receipt of it ---- */

static char receipt[64];

static void receive_one(void)
{
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(receive(NULL)));
}

static void in_flight(void)
{
	send_body("{\"body\":1,\"id\":\"a\"}");
	receive_one();
}

static void acknowledged(void)
{
	in_flight();
	assert_status(acknowledge(receipt), 204);
}

static void settled(void)
{
	in_flight();
	assert_status(ask(SETTLE_ACKNOWLEDGE, receipt), 200);
}

/* Another message has its id now, and is in flight. */
static void acknowledged_and_sent_again(void)
{
	configure("{\"dedupe_ms\":0}");
	acknowledged();
	send_body("{\"body\":2,\"id\":\"a\"}");
	assert_int_equal(count_in(receive(NULL)), 1);
}

static void acknowledged_without_an_id(void)
{
	send_body("{\"body\":1}");
	receive_one();
	assert_status(acknowledge(receipt), 204);
}

/* As if 150 s had passed. */
static void acknowledged_long_ago(void)
{
	char member[32], state[64];

	acknowledged();
	snprintf(member, sizeof(member), "%.16ss", receipt);
	const redisReply *score = server_command(&redis, "ZSCORE p:queue:{q}:flight %s", member);
	assert_int_equal(score->type, REDIS_REPLY_STRING);
	int64_t until_ms = -atoll(score->str);
	assert_in_range(until_ms - server_now_ms(&redis), 150000 - SOON_MS, 150000);
	snprintf(state, sizeof(state), "%.16s%lldd", receipt + 17, (long long)server_now_ms(&redis));
	server_command(&redis, "HSET p:queue:{q} %s %s", member, state);
}

static void ended(void)
{
	configure("{" AT_ONCE "}");
	in_flight();
	int64_t until_ms = int_at(extend(receipt, "{\"visibility_ms\":1}"), "/visible_until_ms");
	wait_until(server_now_ms(&redis) >= until_ms, SOON_MS);
}

static void delivered_again(void)
{
	ended();
	assert_int_equal(count_in(receive(NULL)), 1);
}

static void acknowledged_by_another(void)
{
	ended();
	assert_status(acknowledge(receipt_in(receive(NULL))), 204);
}

static void rejected(void)
{
	in_flight();
	assert_status(reject(receipt, NULL), 200);
}

static void dead(void)
{
	in_flight();
	assert_status(reject(receipt, "{\"dead\":true}"), 200);
}

static void dropped(void)
{
	struct answer a;

	do { /* on a very slow machine it expires before it is received */
		send_body("{\"body\":1,\"ttl_ms\":60}");
		a = receive(NULL);
	} while (count_in(a) == 0);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(a));
	wait_until(server_now_ms(&redis) >= int_at(a, "/messages/0/sent_at_ms") + 60, SOON_MS);
	const json_t *due = json_at(reject(receipt, NULL), "/deliver_at_ms");
	assert_true(json_is_null(due));
}

static void cancelled(void)
{
	ended();
	assert_status(message("DELETE", "a", NULL), 204);
}

static void purged(void)
{
	in_flight();
	assert_int_equal(int_at(post("/purge", "{\"state\":\"in_flight\"}", NULL), "/purged"), 1);
}

static void acknowledged_and_purged(void)
{
	acknowledged();
	send_body("{\"body\":1,\"id\":\"b\"}");
	assert_int_equal(int_at(post("/purge", NULL, NULL), "/purged"), 1);
	assert_true(bool_at(send_body("{\"body\":1,\"id\":\"a\"}"), "/messages/0/duplicate")); /* its id stays */
}

static void acknowledged_and_purged_of_ready(void)
{
	acknowledged();
	assert_status(post("/purge", "{\"state\":\"ready\"}", NULL), 200);
}

static void deleted(void)
{
	in_flight();
	assert_status(queue("DELETE", NULL), 204);
}

static void acknowledged_and_deleted(void)
{
	acknowledged();
	assert_status(queue("DELETE", NULL), 204);
	in_flight();
	assert_status(acknowledge(receipt), 204);
	assert_status(queue("DELETE", NULL), 204);
	send_body("{\"body\":1}"); /* the queue is used again; the old receipt is not valid there */
	assert_int_equal(count_in(receive(NULL)), 1);
}

/* The receipt is sent to queue q, which has a message in flight as well. */
static void of_another_queue(void)
{
	in_flight();
	assert_status(http(client, "POST", "/queues/other/messages", "{\"body\":1}"), 201);
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(http(client, "POST", "/queues/other/receive", NULL)));
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(every_place_judges_every_receipt)
{
	static const struct row {
		const char *name;
		void (*make)(void);
		enum validity validity;
	} rows[] = {
		{ "current", in_flight, CURRENT },
		{ "acknowledged", acknowledged, REMEMBERED },
		{ "settled", settled, REMEMBERED },
		{ "acknowledged, its id sent again", acknowledged_and_sent_again, REMEMBERED },
		{ "acknowledged, without an id", acknowledged_without_an_id, REMEMBERED },
		{ "acknowledged, purged of another state", acknowledged_and_purged_of_ready, REMEMBERED },
		{ "acknowledged long ago", acknowledged_long_ago, STALE },
		{ "acknowledged, then purged", acknowledged_and_purged, STALE },
		{ "acknowledged, then deleted", acknowledged_and_deleted, STALE },
		{ "acknowledged by another delivery", acknowledged_by_another, STALE },
		{ "ended", ended, STALE },
		{ "delivered again", delivered_again, STALE },
		{ "rejected", rejected, STALE },
		{ "dead", dead, STALE },
		{ "dropped", dropped, STALE },
		{ "cancelled", cancelled, STALE },
		{ "purged", purged, STALE },
		{ "deleted", deleted, STALE },
		{ "of another queue", of_another_queue, INVALID },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		for (enum place place = 0; place < PLACE_COUNT; place++) {
			forget_all(NULL);
			rows[i].make();
			must_be_answered(rows[i].name, place, receipt, rows[i].validity);
		}
	}
}

/* ---- Texts that never were a receipt ---- */

static void at_every_place(const char *row, const char *text, enum validity validity)
{
	for (enum place place = 0; place < PLACE_COUNT; place++)
		must_be_answered(row, place, text, validity);
}

/* Tries the receipt with another digit at `i`; a letter is also tried as a capital. */
static void changed_at(const char *good, size_t i)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", good);
	text[i] = good[i] == '0' ? '1' : '0';
	at_every_place("one digit changed", text, INVALID);
	if (good[i] < 'a')
		return;
	text[i] = (char)(good[i] - 'a' + 'A');
	at_every_place("one digit a capital", text, INVALID);
}

TEST(a_damaged_one_is_refused)
{
	char good[64], text[64];

	in_flight();
	snprintf(good, sizeof(good), "%s", receipt);
	for (size_t i = 0; i < strlen(good); i++) {
		changed_at(good, i);
		snprintf(text, sizeof(text), "%.*s%s", (int)i, good, good + i + 1);
		at_every_place("one digit cut", text, INVALID);
		if (i > 0) {
			snprintf(text, sizeof(text), "%.*s", (int)i, good);
			at_every_place("cut short", text, INVALID);
		}
	}
	snprintf(text, sizeof(text), "%s0", good);
	at_every_place("one digit more", text, INVALID);
	must_be_answered("undamaged", ACKNOWLEDGE, good, CURRENT);
}

TEST(foreign_text_is_refused)
{
	static const char *const texts[] = {
		"x",
		"0",
		"-1",
		"null",
		"18446744073709551616",
		"1.1.1",
		"0.0.0",
		"*",
		"%20",
		"a%2Fb",
		"..%2F",
		"%27%22",
		"1795223759272486.2655667e4865d835",          /* a delivery in the form of the scripts */
		"1795223759272486.2655667e4865d835.00000000", /* invented */
		"179522375927248x.2655667e4865d835.00000000",
		"1795223759272486-2655667e4865d835-00000000",
		"1795223759272486.2655667e4865d835.0000000%01",
	};
	char longest[202];

	in_flight();
	for (size_t i = 0; i < COUNT(texts); i++)
		at_every_place("foreign text", texts[i], INVALID);
	memset(longest, 'x', sizeof(longest));
	longest[201] = '\0';
	at_every_place("too long", longest, OVERSIZED);
	longest[200] = '\0';
	at_every_place("long", longest, INVALID);
	must_be_answered("empty", SETTLE_ACKNOWLEDGE, "", OVERSIZED);
	must_be_answered("empty", SETTLE_REJECT, "", OVERSIZED);
	assert_problem(delivery("receive", receipt, "", NULL), 400, "reserved_name", "none");
	must_be_answered("undamaged", ACKNOWLEDGE, receipt, CURRENT);
}

/* The check of a receipt includes the name of its queue. */
TEST(a_receipt_belongs_to_one_queue)
{
	static const char *const names[] = { "q1", "Q", "qq", "q%20", "1", "other" };

	in_flight();
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_problem(delivery(names[i], receipt, "", NULL), 400, "invalid_receipt", "none");
		assert_problem(delivery(names[i], receipt, "/extend", NULL), 400, "invalid_receipt", "none");
		assert_problem(delivery(names[i], receipt, "/reject", NULL), 400, "invalid_receipt", "none");
	}
	must_be_answered("in its own queue", ACKNOWLEDGE, receipt, CURRENT);
}
