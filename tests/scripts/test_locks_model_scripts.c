/*
 * The lock scripts against a plain model. Clients of three daemons acquire, share, wait for, leave
 * and release three locks at random, alone and several at once. Between the steps locks expire,
 * offers lapse, and daemons do not look when they should. After each step Redis must equal the
 * model. Whenever time alone may change something, two daemons must look.
 */
#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"
#include "test.h"

enum { LOCKS = 3, CLIENTS = 12, STEPS = 4000, TOKENS_MAX = 64, DAEMONS = 3 };
enum { WAIT_MS = 20000, OFFER_MS = 1000, SHORT_MS = 3000, LONG_MS = 30000, RELEASED_MS = 60000, NO_CLIENT = CLIENTS };
#define WAITERS_US (INT64_C(62000) * 1000)

/* ---- The model ---- */

struct hold {
	unsigned token;
	unsigned reader; /* the token that the reader presented */
	int64_t expires_at_ms;
};

struct lock {
	bool shared;
	struct hold holds[TOKENS_MAX];
	size_t count;
	size_t line[CLIENTS]; /* the waiters, in order */
	size_t waiters;
	size_t called; /* the waiter with the offer */
	int64_t until_ms;
	int64_t looks_at_ms[DAEMONS]; /* as stored in Redis; 0: it does not look */
	struct hold released;         /* the latest hold that its token released */
	int64_t released_at_ms;
};

struct client {
	unsigned names; /* a bit per lock */
	bool shared, waits;
	unsigned number; /* the number of the ticket */
	int64_t joined_us;
};

static struct lock locks[LOCKS];
static struct client clients[CLIENTS];
static unsigned last_token, last_number;
static struct {
	unsigned taken, held, waited, several, dropped, late, offered, again, expired, repeated;
} seen;

static int64_t now_ms(void)
{
	return *script_clock_us / 1000;
}

static char daemon_of(size_t client)
{
	return (char)('a' + client % 3);
}

static const char *ticket_of(size_t client)
{
	static char texts[8][64];
	static size_t next;
	char *text = texts[next++ % 8], daemon[17] = { 0 };

	memset(daemon, daemon_of(client), 16);
	snprintf(text, sizeof(texts[0]), "%s.%016x.%c", daemon, clients[client].number,
		 clients[client].shared ? 's' : 'x');
	return text;
}

static bool admits(const struct lock *l, bool shared)
{
	return l->count == 0 || (l->shared && shared);
}

static void unline(struct lock *l, size_t client)
{
	if (l->called == client)
		l->called = NO_CLIENT;
	for (size_t i = 0; i < l->waiters; i++) {
		if (l->line[i] != client)
			continue;
		memmove(&l->line[i], &l->line[i + 1], (l->waiters - i - 1) * sizeof(l->line[0]));
		l->waiters--;
		return;
	}
}

static bool waits_in(const struct lock *l, size_t client)
{
	for (size_t i = 0; i < l->waiters; i++)
		if (l->line[i] == client)
			return true;
	return false;
}

/* A waiter's place is by its arrival, even if it was dropped since. */
static void join(struct lock *l, size_t client)
{
	size_t i = l->waiters;

	if (waits_in(l, client))
		return;
	for (; i > 0 && clients[l->line[i - 1]].joined_us > clients[client].joined_us; i--)
		l->line[i] = l->line[i - 1];
	seen.again += i < l->waiters;
	l->line[i] = client;
	l->waiters++;
}

/* The first waiter without an offer, or NO_CLIENT. */
static size_t head_of(const struct lock *l)
{
	for (size_t i = 0; i < l->waiters; i++)
		if (l->line[i] != l->called)
			return l->line[i];
	return NO_CLIENT;
}

/* What any call does first; `asking` is NO_CLIENT for a call without a ticket. */
static void settle(struct lock *l, size_t asking)
{
	bool dead[DAEMONS] = { false };
	size_t kept = 0;

	for (size_t d = 0; d < DAEMONS; d++)
		dead[d] = l->looks_at_ms[d] && l->looks_at_ms[d] + OFFER_MS <= now_ms();
	if (l->called != NO_CLIENT && l->called != asking && l->until_ms <= now_ms()) {
		if (asking != NO_CLIENT && asking % DAEMONS == l->called % DAEMONS) {
			seen.late++;
			unline(l, l->called);
		} else {
			dead[l->called % DAEMONS] = true;
		}
	}
	if (asking != NO_CLIENT)
		dead[asking % DAEMONS] = false;
	for (size_t i = 0; i < l->waiters; i++)
		if (!dead[l->line[i] % DAEMONS])
			l->line[kept++] = l->line[i];
	seen.dropped += kept < l->waiters;
	l->waiters = kept;
	if (l->called != NO_CLIENT && dead[l->called % DAEMONS])
		l->called = NO_CLIENT;
}

static void offer(struct lock *l)
{
	size_t head = head_of(l);

	if (head == NO_CLIENT || l->called != NO_CLIENT || !admits(l, clients[head].shared))
		return;
	l->called = head;
	l->until_ms = now_ms() + OFFER_MS;
	seen.offered++;
}

static bool is_next(const struct lock *l, size_t asking)
{
	if (l->called != NO_CLIENT || l->waiters == 0)
		return l->called == asking || l->called == NO_CLIENT;
	return asking != NO_CLIENT && clients[asking].joined_us <= clients[l->line[0]].joined_us;
}

/* Returns true if the locks were acquired. */
static bool model_try(size_t client, bool has_ticket, bool may_wait, struct hold hold)
{
	const struct client *c = &clients[client];
	size_t asking = has_ticket ? client : NO_CLIENT;
	bool can_take = true, had_offer[LOCKS];

	for (size_t i = 0; i < LOCKS; i++) {
		struct lock *l = &locks[i];
		if (!(c->names & 1U << i))
			continue;
		settle(l, asking);
		can_take = can_take && admits(l, c->shared) && is_next(l, asking);
		had_offer[i] = has_ticket && l->called == asking;
		if (had_offer[i])
			l->called = NO_CLIENT;
	}
	for (size_t i = 0; i < LOCKS; i++) {
		struct lock *l = &locks[i];
		if (!(c->names & 1U << i))
			continue;
		if (has_ticket && (can_take || !may_wait))
			unline(l, client);
		else if (has_ticket)
			join(l, client);
		if (can_take) {
			l->shared = c->shared;
			l->holds[l->count++] = hold;
		} else if (has_ticket && may_wait && admits(l, c->shared) && (had_offer[i] || is_next(l, asking))) {
			l->called = asking; /* another lock makes the client wait */
			l->until_ms = now_ms() + WAIT_MS + OFFER_MS;
		}
		offer(l);
	}
	return can_take;
}

/* Extends the leases of one holder; a shared lock has one per reader. */
static void model_renew(struct lock *l, unsigned reader, int64_t expires_at_ms)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->shared || l->holds[i].reader == reader)
			l->holds[i].expires_at_ms = expires_at_ms;
}

/* Releases a token and returns its hold. The hold is zero if there is none. */
static struct hold model_drop(struct lock *l, unsigned token)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->holds[i].token == token) {
			struct hold dropped = l->holds[i];
			l->holds[i] = l->holds[--l->count];
			return dropped;
		}
	return (struct hold){ 0 };
}

/* How many tokens one holder has left. */
static size_t model_left(const struct lock *l, unsigned reader)
{
	size_t left = 0;

	for (size_t i = 0; i < l->count; i++)
		left += l->holds[i].reader == reader;
	return left;
}

static size_t model_holders(const struct lock *l)
{
	size_t holders = 0;

	for (size_t i = 0; i < l->count; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i; k++)
			is_first = is_first && l->holds[k].reader != l->holds[i].reader;
		holders += is_first;
	}
	return holders;
}

static void model_expire(struct lock *l)
{
	for (size_t i = l->count; i-- > 0;)
		if (l->holds[i].expires_at_ms < now_ms()) {
			l->holds[i] = l->holds[--l->count];
			seen.expired++;
		}
}

/* ---- Steps ---- */

static const char *names_of(unsigned names)
{
	static char text[2 * LOCKS + 1];
	size_t n = 0;

	for (size_t i = 0; i < LOCKS; i++)
		if (names & 1U << i) {
			text[n++] = (char)('a' + i);
			text[n++] = ' ';
		}
	text[n ? n - 1 : 0] = '\0';
	return text;
}

static const char *token_text(unsigned token)
{
	static char texts[4][33];
	static size_t next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%032x", token);
	return text;
}

static unsigned below(unsigned n)
{
	return (unsigned)random() % n;
}

static int64_t some_ttl_ms(void)
{
	return below(3) == 0 ? SHORT_MS : LONG_MS;
}

static void step_try(size_t client)
{
	struct client *c = &clients[client];
	bool waits = c->waits || below(3) > 0, last = c->waits && below(4) == 0;
	int64_t queued_us = c->waits ? *script_clock_us - c->joined_us : 0, ttl_ms = some_ttl_ms();

	if (!c->waits) {
		c->names = 1 + below((1U << LOCKS) - 1);
		if (below(3) > 0)
			c->names = 1U << below(LOCKS);
		c->shared = (c->names & (c->names - 1)) == 0 && below(2);
		c->number = ++last_number;
		c->joined_us = *script_clock_us;
	}
	unsigned token = ++last_token;
	const struct lock_try t = { .names = names_of(c->names),
				    .token = token_text(token),
				    .mode = c->shared ? "shared" : "exclusive",
				    .ticket = waits ? ticket_of(client) : NULL,
				    .ttl_ms = ttl_ms,
				    .wait_ms = waits && !last ? WAIT_MS : 0,
				    .queued_us = queued_us };
	bool taken = model_try(client, waits, waits && !last, (struct hold){ token, token, now_ms() + ttl_ms });
	assert_int_equal(lock_acquire(&r, t), taken ? LOCK_ACQUIRE_TAKEN : LOCK_ACQUIRE_HELD);
	seen.several += taken && (c->names & (c->names - 1));
	seen.waited += taken && c->waits;
	c->waits = waits && !last && !taken;
	seen.taken += taken;
	seen.held += !taken;
}

/* Both ways change when the lock ends. */
static void step_renew(struct lock *l)
{
	int64_t ttl_ms = some_ttl_ms(), expires_at_ms = now_ms() + ttl_ms;
	unsigned token = ++last_token;

	if (l->count == 0 || l->count == TOKENS_MAX)
		return;
	struct hold of = l->holds[below((unsigned)l->count)];
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	const struct lock_try t = {
		.names = name, .presented = token_text(of.token), .token = token_text(token), .ttl_ms = ttl_ms
	};
	if (below(2)) {
		assert_int_equal(lock_acquire(&r, t), LOCK_ACQUIRE_ENTERED);
		l->holds[l->count++] = (struct hold){ token, of.reader, expires_at_ms };
	} else {
		assert_int_equal(lock_extend(&r, name, token_text(of.token), ttl_ms), 1);
	}
	model_renew(l, of.reader, expires_at_ms);
	settle(l, NO_CLIENT);
	offer(l);
}

static bool was_last(const struct lock *l, unsigned token)
{
	bool is_known = l->released.token == token && now_ms() - l->released_at_ms <= RELEASED_MS;

	seen.repeated += is_known;
	return is_known;
}

/* Releases by a token that may have a hold, or by an unknown one. */
static void step_release(struct lock *l)
{
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	unsigned token = l->count && below(5) ? l->holds[below((unsigned)l->count)].token : 1 + below(last_token + 1);
	bool forced = below(12) == 0;

	if (l->released.token && below(3) == 0)
		token = l->released.token;
	if (forced) {
		assert_int_equal(lock_force(&r, name), l->count ? 1 : LOCK_RELEASE_NOT_HOLDER);
		if (l->count == 0)
			return;
		l->count = 0;
	} else {
		struct hold held = model_drop(l, token);
		bool is_known = !held.token && was_last(l, token);
		assert_int_equal(lock_release(&r, name, token_text(token)), held.token ? 1 : is_known ? 0 : -1);
		assert_int_equal(item_int(&r, LOCK_RELEASE_HELD_FENCE) > 0, l->count > 0);
		if (held.token) {
			l->released = held;
			l->released_at_ms = now_ms();
		}
		assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS),
				 held.token || is_known ? model_left(l, l->released.reader) : 0);
		if (!held.token)
			return;
	}
	settle(l, NO_CLIENT);
	offer(l);
}

/* A client leaves. Its attempt may have acquired the locks by then. */
static void step_leave(size_t client)
{
	struct client *c = &clients[client];
	unsigned token = below(3) == 0 && last_token ? 1 + below(last_token) : ++last_token;

	if (!c->waits)
		return;
	lock_leave(&r, names_of(c->names), ticket_of(client), token_text(token));
	for (size_t i = 0; i < LOCKS; i++) {
		if (!(c->names & 1U << i))
			continue;
		settle(&locks[i], client);
		unline(&locks[i], client);
		model_drop(&locks[i], token);
		offer(&locks[i]);
	}
	c->waits = false;
}

static void step_time(void)
{
	static const int64_t steps_ms[] = { 1, OFFER_MS / 2, OFFER_MS, SHORT_MS, LONG_MS };

	*script_clock_us += steps_ms[below(100) == 0 ? 4 : below(4)] * 1000;
}

/* Reads from Redis when each daemon looks. */
static void read_watchers(struct lock *l, const char *name)
{
	const redisReply *marks =
		server_command(&r, "ZRANGE %s:waiters -inf (100000000000000 BYSCORE WITHSCORES", lock_key(name, ""));

	memset(l->looks_at_ms, 0, sizeof(l->looks_at_ms));
	for (size_t i = 0; i + 1 < marks->elements; i += 2) {
		const char *mark = marks->element[i]->str;
		if (*mark == 'w' && !l->looks_at_ms[mark[1] - 'a']) /* the earliest marks come first */
			l->looks_at_ms[mark[1] - 'a'] = strtoll(marks->element[i + 1]->str, NULL, 10);
	}
}

/* How many daemons look by that time, apart from `but`. */
static size_t looks_by(const struct lock *l, int64_t at_ms, size_t but)
{
	size_t count = 0;

	for (size_t d = 0; d < DAEMONS; d++)
		count += d != but && l->looks_at_ms[d] && l->looks_at_ms[d] <= at_ms;
	return count;
}

/* If any one daemon is dead, the waiters of the others still get their turn. */
static void assert_watched(const struct lock *l)
{
	size_t others = 0, daemons = 0, busy = l->called == NO_CLIENT ? DAEMONS : l->called % DAEMONS;
	bool waits[DAEMONS] = { false };
	int64_t ends_at = 0;

	if (head_of(l) == NO_CLIENT)
		return;
	for (size_t i = 0; i < l->waiters; i++)
		waits[l->line[i] % DAEMONS] = true;
	for (size_t d = 0; d < DAEMONS; d++) {
		daemons += waits[d];
		others += waits[d] && d != busy;
	}
	if (busy < DAEMONS && others)
		assert_true(looks_by(l, l->until_ms, busy) > 0);
	for (size_t i = 0; i < l->count; i++)
		if (ends_at < l->holds[i].expires_at_ms)
			ends_at = l->holds[i].expires_at_ms;
	if (!ends_at)
		return;
	assert_true(looks_by(l, ends_at + 1, DAEMONS) > 0);
	assert_true(looks_by(l, ends_at + 1 + OFFER_MS, DAEMONS) >= (daemons > 1 ? 2 : 1));
}

static void compare(struct lock *l)
{
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	char line[CLIENTS * 64] = "";
	int64_t count = 0; /* of the waiters that a request can have */

	for (size_t i = 0; i < l->waiters; i++)
		count += clients[l->line[i]].joined_us >= *script_clock_us - WAITERS_US;
	for (size_t i = 0; i < l->waiters; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "", ticket_of(l->line[i]));
	assert_string_equal(line_tickets(&r, lock_key(name, "")), line);
	assert_string_equal(line_offered_to(&r, lock_key(name, "")),
			    l->called != NO_CLIENT ? ticket_of(l->called) : "");
	if (l->called != NO_CLIENT)
		assert_int_equal(line_offered_until(&r, lock_key(name, "")), l->until_ms);
	read_watchers(l, name);
	assert_watched(l);
	assert_int_equal(lock_get(&r, name), l->count ? 0 : -1);
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), count);
	if (!l->count)
		return;
	assert_int_equal(lock_get_holds(&r), l->count);
	assert_int_equal(item_int(&r, LOCK_GET_HOLDER_COUNT), model_holders(l));
	assert_string_equal(item_text(&r, LOCK_GET_MODE), l->shared ? "shared" : "exclusive");
}

static void steps_of(unsigned seed)
{
	print_message("seed %u\n", seed);
	srandom(seed);
	for (size_t k = 0; k < LOCKS; k++)
		locks[k].called = NO_CLIENT;
	for (int i = 0; i < STEPS; i++) {
		struct lock *l = &locks[below(LOCKS)];
		size_t client = l->called != NO_CLIENT && below(3) ? l->called : below(CLIENTS);
		unsigned what = below(100);

		if (what < 50 && locks[0].count + 1 < TOKENS_MAX && locks[1].count + 1 < TOKENS_MAX &&
		    locks[2].count + 1 < TOKENS_MAX)
			step_try(client);
		else if (what < 55)
			step_renew(l);
		else if (what < 90)
			step_release(l);
		else if (what < 95)
			step_leave(client);
		else
			step_time();
		*script_clock_us += 1000;
		for (size_t k = 0; k < LOCKS; k++)
			model_expire(&locks[k]);
		for (size_t k = 0; k < LOCKS; k++)
			compare(&locks[k]);
	}
}

TEST(locks_do_as_the_model_does)
{
	const char *seed = getenv("PATTERND_SEED");

	steps_of(seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)monotonic_us());
	print_message("taken %u (after waiting %u, several %u), held %u, offered %u, dropped %u, late %u, again %u, "
		      "expired %u, repeated %u\n",
		      seen.taken, seen.waited, seen.several, seen.held, seen.offered, seen.dropped, seen.late,
		      seen.again, seen.expired, seen.repeated);
	/* A run with few events proves little. */
	assert_true(seen.taken > STEPS / 20 && seen.waited > STEPS / 30 && seen.several > STEPS / 400);
	assert_true(seen.held > STEPS / 10 && seen.offered > STEPS / 20 && seen.dropped > STEPS / 500);
	assert_true(seen.late > 0 && seen.again > STEPS / 400 && seen.expired > STEPS / 400 &&
		    seen.repeated > STEPS / 400);
}

static int open_attended(void **state)
{
	script_stage_open_by_clock(state);
	for (size_t i = 0; i < LOCKS; i++)
		line_attend(&r, lock_key((char[]){ (char)('a' + i), '\0' }, ""));
	return 0;
}

SUITE(.open = open_attended, .close = script_stage_close, .after = script_stage_empty);
