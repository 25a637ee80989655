/*
 * lock_call: what the handlers of locks share: tokens, keys, calls, members of answers.
 *
 * Only the holder gets the token. Redis gets its digest and, for replays, the token masked by the
 * Idempotency-Key. This file must never pass a plain token to Redis or to the log.
 */
#ifndef PATTERND_LOCK_CALL_H
#define PATTERND_LOCK_CALL_H

#include "common/handler.h"
#include "common/key_kinds.h"

enum { LOCKS_MAX = 16 /* LOCKS_MAX: in one request */, LOCK_METADATA_BYTES = 65536 };

/* How many servers have the grant, of those that should have it. */
struct lock_safety {
	const char *mode; /* "single", "replicated" or "quorum" */
	int64_t acknowledged, servers;
};

/* What is to be acquired, and what was. In the request's arena. */
struct lock_acquisition {
	const struct text *names; /* (ref) 1 to LOCKS_MAX */
	size_t count;
	int64_t ttl_ms, wait_ms;
	struct text owner;
	struct text metadata;
	struct text presented;   /* a token, to enter its lock once more */
	const char *mode;        /* "exclusive", "shared" or "" */
	int64_t min_replicas;    /* replicas that must have the grant */
	struct text ticket_tail; /* see lock_ticket_tail; used if the request may wait */
	bool is_stream;          /* the answer is a stream, which cannot be replayed: no idempotency record */
	/*
	 * Called when all locks are held; answers. The fence of name `i` is item
	 * LOCK_ACQUIRE_FENCES + i.
	 */
	void (*acquired)(struct request *req, const struct lock_acquisition *acquisition, const struct reply *r);
	struct text token, token_hash; /* the new token */
	struct lock_safety safety;     /* set once the lock is held */
	const struct reply *grant;     /* the reply to be replayed, while replicas are asked */
	int64_t asked_us;              /* when the latest attempt was sent */
};

extern const struct lock_safety lock_single; /* for a grant on one server without replicas */

/*
 * Returns true if the metadata is small enough; GET returns the metadata of 16 holders at once.
 * Otherwise answers 400.
 */
bool lock_metadata_fits(struct request *req, struct text given);
/* Returns a lock's `metadata` as Redis stores it: JSON text, empty when there is none. */
struct text lock_metadata(struct text given);
/* Returns a call of lua/locks/lock_acquire.lua. The caller sends it. */
struct call *lock_call_acquire(struct request *req, const struct lock_acquisition *acquisition);
/* Returns a call of lua/locks/lock_leave.lua, which releases what the new token holds. */
struct call *lock_call_leave(struct request *req, const struct lock_acquisition *acquisition);
/* Answers 409. `r` is a lock_refusal (lua/locks/lock_acquire.lua) of that name. */
void lock_answer_held(struct request *req, struct text name, const struct reply *r);

/* Adds a lock's key, and the keys of its parts; NULL ends the list of parts. */
void lock_call_keys(struct call *c, struct text name, const char *const *parts);
extern const char *const lock_parts_to_change[], *const lock_parts_to_release[], *const lock_parts_to_get[];

/*
 * Each writes a member of an answer. A fence or an instant of 0, as a free lock has it, becomes
 * null.
 */
void lock_out_owner(struct json_out *o, struct text owner);
void lock_out_fence(struct json_out *o, int64_t fence);
void lock_out_safety(struct json_out *o, const struct lock_safety *safety);
void lock_out_time(struct json_out *o, struct request *req, int64_t expires_at_ms);
/* Writes a lock that was acquired. `r` is the reply of lua/locks/lock_acquire.lua. */
void lock_out_acquired(struct json_out *o, struct request *req, const struct lock_acquisition *acquisition,
		       const struct reply *r);
/*
 * Writes a release. `holds` is what is left to this holder; `is_held`: any client still holds the
 * lock.
 */
void lock_out_released(struct json_out *o, struct text name, int64_t holds, bool is_held);

/* A holder, as answers show it. */
struct lock_holder {
	struct text owner;
	int64_t fence, holds, ttl_ms, expires_at_ms;
};

/* Writes the members into an open object. */
void lock_out_holder(struct json_out *o, const struct lock_holder *holder);
/*
 * Writes `holders` from a reply: each is a lock_holder (lua/locks/lib_lock.lua), from item `first`
 * on.
 */
void lock_out_holders(struct json_out *o, struct request *req, const struct reply *r, size_t first, bool has_metadata);

void lock_answer_not_holder(struct request *req, struct text name);
/*
 * Answers 400 and returns true if the request has a Lock-Token. `what` is an operation that enters
 * no lock again.
 */
bool lock_has_no_entry(struct request *req, const char *what);
/* Answers that the lock was acquired, but expired before the daemon could report it. */
void lock_answer_expired(struct request *req, struct text name);

#endif
