/*
 * lock_call: what the handlers of locks share: tokens, keys, and the one way to take locks, whether one or several, for a token or for
 * as long as a connection lives.
 *
 * Tokens are made here and told to their holder alone: Redis gets a digest of each, and, so that a retry with the same
 * Idempotency-Key can be answered, the token sealed with that key. Must never hand a plain token to Redis or the log.
 */
#ifndef PATTERND_LOCK_CALL_H
#define PATTERND_LOCK_CALL_H

#include "handler.h"
#include "kinds.h"

enum { LOCK_MOST = 16 }; /* at once */

/* What a grant is worth: on how many servers it is, of those that it could be on. */
struct lock_safety {
	const char *mode; /* "single", "replicated" or "quorum" */
	int64_t acked, of;
};

/* What is wanted, and how it goes. In the request's arena. */
struct lock_take {
	const struct text *names; /* (ref) 1 to LOCK_MOST */
	size_t count;
	int64_t ttl_ms, wait_ms;
	struct text owner;
	const struct json *metadata;
	struct text presented; /* a token, to enter again */
	const char *mode;      /* "exclusive", "shared" or "" */
	int64_t min_replicas;  /* that must have it */
	bool is_stream;        /* its answer cannot be replayed: no idempotency record */
	/* They are taken, until expires_at_ms; answers. The fence of name `i` is item LOCK_FENCES + i of the reply. */
	void (*taken)(struct request *req, const struct lock_take *take, const struct reply *r);
	struct text token, token_hash; /* the new one */
	struct lock_safety safety;     /* once it is taken */
	const struct reply *grant;     /* locks/grant.c: of a replay, while replicas are asked */
	int64_t asked_us;              /* when the latest try was sent */
};

enum { LOCK_OWNER = 2, LOCK_MODE, LOCK_HOLDS, LOCK_EXPIRES_AT, LOCK_SEALED, LOCK_FENCES };

/* What lua/locks/lock_look.lua tells, from LOCK_LOOK_MODE on only of a lock that is held. */
enum {
	LOCK_LOOK_WAITERS = 2,
	LOCK_LOOK_FENCE,
	LOCK_LOOK_MODE,
	LOCK_LOOK_HOLDS,
	LOCK_LOOK_EXPIRES_AT,
	LOCK_LOOK_METADATA,
	LOCK_LOOK_HOLDERS,
};

extern const struct lock_safety lock_single; /* on one server, which is all there is */

/* They were taken: answers once that is sure enough. locks/grant.c */
void lock_granted(struct request *req, struct lock_take *take, const struct reply *r);

/* Takes them, waits, or says why not. Copies `given`. */
void lock_take(struct request *req, const struct lock_take *given);

/* ---- locks/several_locks.c: locks in several slots of a Cluster ---- */

void lock_take_in_turn(struct request *req, const struct lock_take *given, const struct slots *slots);

/* ---- Steps of both ---- */

enum { TOKEN_DIGITS = 32 };

/* What a lock keeps of its `metadata`: JSON text, empty when there is none. */
struct text lock_metadata(struct request *req, const struct json *given);
/* lua/locks/lock_acquire.lua, to be sent. */
struct call *lock_call_acquire(struct request *req, const struct lock_take *take);
/* lua/locks/lock_leave.lua: releases what the new token holds. */
struct call *lock_call_leave(struct request *req, const struct lock_take *take);
/* The refusal's members: when trying again may help, and which of the names it is about. */
enum { LOCK_HELD_NEXT_AT = 2, LOCK_HELD_WHICH };
void lock_answer_held(struct request *req, struct text name, const struct reply *r);

/* A new token; and what Redis knows one by, 128 bits of its SHA-256. */
struct text lock_token_new(struct request *req);
struct text lock_token_hash(struct request *req, struct text token);

/* A lock's key and the other keys of its parts, ended by NULL. */
void lock_call_keys(struct call *c, struct text name, const char *const *parts);
extern const char *const lock_parts_to_release[], *const lock_parts_to_extend[], *const lock_parts_to_look[];

/* Members of an answer: who waited how long, and what the grant is worth. */
void lock_out_owner(struct json_out *o, struct text owner);
void lock_out_safety(struct json_out *o, const struct lock_safety *safety);
void lock_out_time(struct json_out *o, struct request *req, int64_t expires_at_ms);

void lock_answer_not_holder(struct request *req, struct text name);
/* It was acquired, but has expired by the time that the daemon can say so. */
void lock_answer_is_over(struct request *req, struct text name);

#endif
