/*
 * The lock scripts against a plain model: clients of three daemons acquire, share, wait for, leave
 * and release three locks at random, alone and several at once, while offers lapse. After each step
 * Redis must equal the model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"

enum { LOCKS = 3, CLIENTS = 12, STEPS = 4000, TOKENS_MAX = 64, WAIT_MS = 20000 };

/* ---- The model ---- */

struct hold {
	unsigned token;
	unsigned reader; /* the token that the reader presented */
};

struct lock {
	bool shared;
	struct hold holds[TOKENS_MAX];
	size_t count;
	size_t line[CLIENTS]; /* the waiters, the first one first */
	size_t waiters;
	bool offered, lapsed; /* to the first waiter */
};

struct client {
	unsigned names; /* a bit each */
	bool shared, waits;
	unsigned number; /* of the ticket */
};

static struct lock locks[LOCKS];
static struct client clients[CLIENTS];
static unsigned last_token, last_number;
static struct {
	unsigned taken, held, waited, several, dropped, offered;
} seen;

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
	for (size_t i = 0; i < l->waiters; i++) {
		if (l->line[i] != client)
			continue;
		memmove(&l->line[i], &l->line[i + 1], (l->waiters - i - 1) * sizeof(l->line[0]));
		l->waiters--;
		if (i == 0)
			l->offered = l->lapsed = false;
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

/* A call arrives; `asking` is CLIENTS for one without a ticket. */
static void settle(struct lock *l, size_t asking)
{
	size_t first = l->line[0], kept = 0;

	if (l->waiters == 0 || !l->lapsed || first == asking)
		return;
	bool lives = asking < CLIENTS && daemon_of(asking) == daemon_of(first);
	for (size_t i = 0; i < l->waiters; i++)
		if (l->line[i] != first && (lives || daemon_of(l->line[i]) != daemon_of(first)))
			l->line[kept++] = l->line[i];
	l->waiters = kept;
	l->offered = l->lapsed = false;
	seen.dropped++;
}

static void offer(struct lock *l)
{
	if (l->waiters && !l->offered && admits(l, clients[l->line[0]].shared)) {
		l->offered = true;
		seen.offered++;
	}
}

/* True when they were acquired. */
static bool model_try(size_t client, bool has_ticket, bool may_wait, unsigned token)
{
	const struct client *c = &clients[client];
	size_t asking = has_ticket ? client : CLIENTS, places = 0, wanted = 0;
	bool can_take = true;

	for (size_t i = 0; i < LOCKS; i++) {
		struct lock *l = &locks[i];
		if (!(c->names & 1U << i))
			continue;
		settle(l, asking);
		can_take = can_take && admits(l, c->shared) && (l->waiters == 0 || l->line[0] == asking);
		places += has_ticket && waits_in(l, client);
		wanted++;
	}
	for (size_t i = 0; i < LOCKS; i++) {
		struct lock *l = &locks[i];
		if (!(c->names & 1U << i))
			continue;
		if (has_ticket && (can_take || !may_wait || places < wanted))
			unline(l, client);
		if (can_take) {
			l->shared = c->shared;
			l->holds[l->count++] = (struct hold){ token, token };
			offer(l);
		} else if (has_ticket && may_wait && !waits_in(l, client)) {
			l->line[l->waiters++] = client;
		}
	}
	for (size_t i = 0; i < LOCKS && !can_take; i++) {
		struct lock *l = &locks[i];
		if (!(c->names & 1U << i))
			continue;
		if (l->waiters && l->line[0] == asking && admits(l, c->shared)) {
			l->offered = true; /* another of them makes the client wait */
			l->lapsed = false;
		} else {
			offer(l);
		}
	}
	return can_take;
}

/* Releases a token, if it has a hold; true then. */
static bool model_drop(struct lock *l, unsigned token)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->holds[i].token == token) {
			l->holds[i] = l->holds[--l->count];
			return true;
		}
	return false;
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

static void step_try(size_t client)
{
	struct client *c = &clients[client];
	bool waits = c->waits || below(3) > 0, last = c->waits && below(4) == 0;

	if (!c->waits) {
		c->names = 1 + below((1U << LOCKS) - 1);
		if (below(3) > 0)
			c->names = 1U << below(LOCKS);
		c->shared = (c->names & (c->names - 1)) == 0 && below(2);
		c->number = ++last_number;
	}
	unsigned token = ++last_token;
	const struct lock_try t = { .names = names_of(c->names),
				    .token = token_text(token),
				    .mode = c->shared ? "shared" : "exclusive",
				    .ticket = waits ? ticket_of(client) : NULL,
				    .wait_ms = waits && !last ? WAIT_MS : 0 };
	bool taken = model_try(client, waits, waits && !last, token);
	assert_int_equal(lock_acquire(&r, t), taken ? TAKEN : HELD);
	seen.several += taken && (c->names & (c->names - 1));
	seen.waited += taken && c->waits;
	c->waits = waits && !last && !taken;
	seen.taken += taken;
	seen.held += !taken;
}

static void step_enter_again(struct lock *l)
{
	unsigned token = ++last_token;

	if (l->count == 0 || l->count == TOKENS_MAX)
		return;
	struct hold of = l->holds[below((unsigned)l->count)];
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	const struct lock_try t = { .names = name, .presented = token_text(of.token), .token = token_text(token) };
	assert_int_equal(lock_acquire(&r, t), ENTERED);
	l->holds[l->count++] = (struct hold){ token, of.reader };
}

/* A release with a token that may have a hold, or with an unknown one. */
static void step_release(struct lock *l)
{
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	unsigned token = l->count && below(5) ? l->holds[below((unsigned)l->count)].token : 1 + below(last_token + 1);
	bool forced = below(12) == 0;

	if (forced) {
		assert_int_equal(lock_force(&r, name), l->count ? 1 : NOT_HOLDER);
		if (l->count == 0)
			return;
		l->count = 0;
	} else {
		bool held = model_drop(l, token);
		assert_int_equal(lock_release(&r, name, token_text(token)), held ? 1 : NOT_HOLDER);
		if (!held)
			return;
		assert_int_equal(item_int(&r, 2), l->count);
	}
	settle(l, CLIENTS);
	if (l->count == 0)
		offer(l);
}

/* The client left; its attempt may have acquired them meanwhile. */
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

static void step_lapse(struct lock *l)
{
	if (!l->offered || l->lapsed)
		return;
	line_lapse(&r, lock_key((char[]){ (char)('a' + (l - locks)), '\0' }, ""));
	l->lapsed = true;
}

static void compare(struct lock *l)
{
	const char name[] = { (char)('a' + (l - locks)), '\0' };
	char line[CLIENTS * 64] = "";

	for (size_t i = 0; i < l->waiters; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "", ticket_of(l->line[i]));
	assert_string_equal(line_tickets(&r, lock_key(name, "")), line);
	assert_string_equal(line_offered_to(&r, lock_key(name, "")), l->offered ? ticket_of(l->line[0]) : "");
	assert_int_equal(lock_get(&r, name), l->count ? 0 : -1);
	assert_int_equal(item_int(&r, LOOK_WAITERS), l->waiters);
	if (!l->count)
		return;
	assert_int_equal(item_int(&r, LOOK_HOLDS), l->count);
	assert_string_equal(item_text(&r, LOOK_MODE), l->shared ? "shared" : "exclusive");
}

static void steps_of(unsigned seed)
{
	print_message("seed %u\n", seed);
	srandom(seed);
	for (int i = 0; i < STEPS; i++) {
		struct lock *l = &locks[below(LOCKS)];
		size_t client = l->offered && below(3) ? l->line[0] : below(CLIENTS);
		unsigned what = below(100);

		if (what < 50 && locks[0].count + 1 < TOKENS_MAX && locks[1].count + 1 < TOKENS_MAX &&
		    locks[2].count + 1 < TOKENS_MAX)
			step_try(client);
		else if (what < 55)
			step_enter_again(l);
		else if (what < 90)
			step_release(l);
		else if (what < 95)
			step_leave(client);
		else
			step_lapse(l);
		for (size_t k = 0; k < LOCKS; k++)
			compare(&locks[k]);
	}
}

static void locks_do_as_the_model_does(void **state)
{
	const char *seed = getenv("PATTERND_SEED");

	(void)state;
	steps_of(seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)monotonic_us());
	print_message("taken %u (after waiting %u, several %u), held %u, offered %u, dropped %u\n", seen.taken,
		      seen.waited, seen.several, seen.held, seen.offered, seen.dropped);
	/* A run with few events proves little. */
	assert_true(seen.taken > STEPS / 20 && seen.waited > STEPS / 30 && seen.several > STEPS / 400);
	assert_true(seen.held > STEPS / 10 && seen.offered > STEPS / 20 && seen.dropped > STEPS / 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(locks_do_as_the_model_does, script_stage_empty),
	};

	return cmocka_run_group_tests_name("lock model", tests, script_stage_open, script_stage_close);
}
