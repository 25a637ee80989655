/*
 * lock_call: what the handlers of locks share: tokens, keys, calls, members of answers.
 *
 * Only its holder gets a token. Redis gets its digest and, so that a retry with the same
 * Idempotency-Key can be answered, the token masked by that key. Must never hand a plain token to
 * Redis or the log.
 */
#ifndef PATTERND_LOCK_CALL_H
#define PATTERND_LOCK_CALL_H

#include "common/handler.h"
#include "common/kinds.h"

enum { LOCKS_MAX = 16 /* at once */, LOCK_METADATA_BYTES = 65536 };

/* On how many servers a grant is, of those that could have it. */
struct lock_safety {
	const char *mode; /* "single", "replicated" or "quorum" */
	int64_t acknowledged, servers;
};

/* What is acquisition, and what became of it. In the request's arena. */
struct lock_acquisition {
	const struct text *names; /* (ref) 1 to LOCKS_MAX */
	size_t count;
	int64_t ttl_ms, wait_ms;
	struct text owner;
	struct text metadata;
	struct text presented;   /* a token, to hold it once more */
	const char *mode;        /* "exclusive", "shared" or "" */
	int64_t min_replicas;    /* that must have it */
	struct text ticket_tail; /* lock_ticket_tail, when it may wait */
	bool is_stream;          /* its answer cannot be replayed: no idempotency record */
	/* They are held; answers. The fence of name `i` is item LOCK_ACQUIRE_FENCES + i. */
	void (*acquired)(struct request *req, const struct lock_acquisition *acquisition, const struct reply *r);
	struct text token, token_hash; /* the new one */
	struct lock_safety safety;     /* once it is held */
	const struct reply *grant;     /* of a replay, while replicas are asked */
	int64_t asked_us;              /* when the latest attempt was sent */
};

extern const struct lock_safety lock_single; /* on the only server */

/* False: the metadata is too large, which was answered. GET returns 16 holders' at once. */
bool lock_metadata_fits(struct request *req, struct text given);
/* A lock's `metadata` as Redis keeps it: JSON text, empty when there is none. */
struct text lock_metadata(struct text given);
/* lua/locks/lock_acquire.lua, to be sent. */
struct call *lock_call_acquire(struct request *req, const struct lock_acquisition *acquisition);
/* lua/locks/lock_leave.lua: releases what the new token holds. */
struct call *lock_call_leave(struct request *req, const struct lock_acquisition *acquisition);
/* `r` is a lock_refusal (lua/locks/lock_acquire.lua), and that name was refused. */
void lock_answer_held(struct request *req, struct text name, const struct reply *r);

/* A lock's key and the other keys of its parts, ended by NULL. */
void lock_call_keys(struct call *c, struct text name, const char *const *parts);
extern const char *const lock_parts_to_change[], *const lock_parts_to_release[], *const lock_parts_to_get[];

/* Members of an answer. Null: 0 as a fence or an instant, as a free lock has them. */
void lock_out_owner(struct json_out *o, struct text owner);
void lock_out_fence(struct json_out *o, int64_t fence);
void lock_out_safety(struct json_out *o, const struct lock_safety *safety);
void lock_out_time(struct json_out *o, struct request *req, int64_t expires_at_ms);
/* One lock that was acquired; `r` is the reply of lua/locks/lock_acquire.lua. */
void lock_out_acquired(struct json_out *o, struct request *req, const struct lock_acquisition *acquisition,
		       const struct reply *r);
/* `holds` of its holder are left; `is_held`: by any client. */
void lock_out_released(struct json_out *o, struct text name, int64_t holds, bool is_held);

/* A holder, as members of answers have it. */
struct lock_holder {
	struct text owner;
	int64_t fence, holds, ttl_ms, expires_at_ms;
};

/* The members of an open object. */
void lock_out_holder(struct json_out *o, const struct lock_holder *holder);
/* `holders`: of a reply, each a lock_holder (lua/locks/lib_lock.lua), from item `first` on. */
void lock_out_holders(struct json_out *o, struct request *req, const struct reply *r, size_t first, bool has_metadata);

void lock_answer_not_holder(struct request *req, struct text name);
/* True: a Lock-Token came with an operation that enters no lock again, which was answered. */
bool lock_has_no_entry(struct request *req, const char *what);
/* It was acquired, but expired before the daemon could report it. */
void lock_answer_expired(struct request *req, struct text name);

#endif
