/*
 * lock_calls: the lock scripts as C calls, for their tests. Each call fails the test if the script
 * returns an error.
 *
 *	struct lock_try t = { .token = TOKEN_1 };
 *	assert_int_equal(lock_acquire(&r, t), LOCK_ACQUIRE_TAKEN);
 *	lock_acquire(&r, (struct lock_try){ .names = "a b", .token = TOKEN_2, .ticket = TICKET_1,
 *					    .wait_ms = 5000 });
 *	lock_release(&r, "a", TOKEN_1);
 *
 * Each call returns its outcome. The reply stays readable until the next call (run_script.h).
 */
#ifndef TEST_LOCK_CALLS_H
#define TEST_LOCK_CALLS_H

#include "run_script.h"

/* Hashes of tokens, in the form in which the scripts get them. */
#define TOKEN_1 "11111111111111111111111111111111"
#define TOKEN_2 "22222222222222222222222222222222"
#define TOKEN_3 "33333333333333333333333333333333"
#define TOKEN_4 "44444444444444444444444444444444"

/* Members that are 0 or NULL are not given. */
struct lock_try {
	const char *names; /* separated by blanks; NULL: "a" */
	const char *token, *presented, *owner, *metadata, *sealed;
	const char *mode, *ticket;
	int64_t ttl_ms; /* 0: 30000 */
	int64_t wait_ms, queued_us;
};

/* KEYS and ARGV of lock_acquire. They live until the next call. */
const char *const *lock_try_keys(const struct lock_try *t);
const char *const *lock_try_args(const struct lock_try *t);

/*
 * The keys of all names (separated by blanks), each with these parts, ended by NULL. They live
 * until the next call.
 */
extern const char *const parts_to_acquire[], *const parts_to_release[], *const parts_to_change[],
										*const parts_to_look[];
const char *const *lock_keys(const char *names, const char *const parts[]);

/*
 * The name of one key: part is "" for the bare key, ":waiters", ... The text lives for a few calls.
 */
const char *lock_key(const char *name, const char *part);

int64_t lock_acquire(struct redis_server *r, struct lock_try t);
int64_t lock_extend(struct redis_server *r, const char *name, const char *token, int64_t ttl_ms);
int64_t lock_release(struct redis_server *r, const char *name, const char *token);
int64_t lock_force(struct redis_server *r, const char *name);
int64_t lock_leave(struct redis_server *r, const char *names, const char *ticket, const char *token);
int64_t lock_get(struct redis_server *r, const char *name);
/* The number of tokens of the first 16 holders, from the latest reply of lock_get. */
int64_t lock_get_holds(struct redis_server *r);

#endif
