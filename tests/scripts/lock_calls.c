#include "lock_calls.h"

#include <inttypes.h>

#include "test.h"

enum { NAMES_MAX = 16, PARTS_MAX = 5, NAME_BYTES = 96, TTL_MS = 30000 };

const char *const parts_to_acquire[] = { "", ":fence", ":readers", ":waiters", NULL };
const char *const parts_to_release[] = { "", ":readers", ":waiters", ":released", NULL };
const char *const parts_to_change[] = { "", ":readers", ":waiters", NULL };
const char *const parts_to_look[] = { "", ":readers", ":waiters", ":fence", NULL };

/* ---- Keys and arguments ---- */

const char *lock_key(const char *name, const char *part)
{
	static char texts[8][NAME_BYTES];
	static size_t next;
	char *text = texts[next++ % 8];

	snprintf(text, NAME_BYTES, "p:lock:{%s}%s", name, part);
	return text;
}

const char *const *lock_keys(const char *names, const char *const parts[])
{
	static char texts[NAMES_MAX * PARTS_MAX][NAME_BYTES];
	static const char *keys[NAMES_MAX * PARTS_MAX + 1];
	size_t n = 0;

	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		for (size_t i = 0; parts[i]; i++, n++) {
			assert_true(n < NAMES_MAX * PARTS_MAX);
			snprintf(texts[n], NAME_BYTES, "p:lock:{%.*s}%s", (int)len, at, parts[i]);
			keys[n] = texts[n];
		}
		at += len;
	}
	keys[n] = NULL;
	return keys;
}

/* A number as an argument. Four more calls overwrite the text. */
static const char *number(int64_t value)
{
	static char texts[8][24];
	static size_t next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof(texts[0]), "%" PRId64, value);
	return text;
}

static const char *given(const char *text)
{
	return text ? text : "";
}

const char *const *lock_try_keys(const struct lock_try *t)
{
	return lock_keys(t->names ? t->names : "a", parts_to_acquire);
}

const char *const *lock_try_args(const struct lock_try *t)
{
	static const char *args[11];

	args[0] = number(t->ttl_ms ? t->ttl_ms : TTL_MS);
	args[1] = given(t->owner);
	args[2] = given(t->metadata);
	args[3] = given(t->presented);
	args[4] = given(t->token);
	args[5] = given(t->sealed);
	args[6] = given(t->mode);
	args[7] = given(t->ticket);
	args[8] = number(t->wait_ms);
	args[9] = number(t->queued_us);
	return args;
}

/* ---- Calls ---- */

int64_t lock_acquire(struct redis_server *r, struct lock_try t)
{
	run(r, &lock_acquire_script, lock_try_keys(&t), lock_try_args(&t));
	return outcome(r);
}

int64_t lock_extend(struct redis_server *r, const char *name, const char *token, int64_t ttl_ms)
{
	run(r, &lock_extend_script, lock_keys(name, parts_to_change), ARGS(number(ttl_ms), token));
	return outcome(r);
}

int64_t lock_release(struct redis_server *r, const char *name, const char *token)
{
	run(r, &lock_release_script, lock_keys(name, parts_to_release), ARGS(token, "0"));
	return outcome(r);
}

int64_t lock_force(struct redis_server *r, const char *name)
{
	run(r, &lock_release_script, lock_keys(name, parts_to_release), ARGS("", "1"));
	return outcome(r);
}

int64_t lock_leave(struct redis_server *r, const char *names, const char *ticket, const char *token)
{
	run(r, &lock_leave_script, lock_keys(names, parts_to_change), ARGS(ticket, token));
	return outcome(r);
}

int64_t lock_get(struct redis_server *r, const char *name)
{
	run(r, &lock_get_script, lock_keys(name, parts_to_look), ARGS());
	return outcome(r);
}

int64_t lock_get_holds(struct redis_server *r)
{
	int64_t holds = 0;

	for (size_t i = LOCK_GET_HOLDERS; i < r->reply->elements; i += LOCK_HOLDER_ITEMS)
		holds += item_int(r, i + LOCK_HOLDER_HOLDS);
	return holds;
}
