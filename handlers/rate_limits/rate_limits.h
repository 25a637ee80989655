/*
 * ratelimit: what the files ratelimit*.c share: limits, policies, and a decision on its way.
 *
 *	rate_limits/rate_limits.c            POST /ratelimit makes a take, ...
 *	rate_limits/authorize.c  ... so does /ratelimit/authorize
 *	rate_limits/policy_cache.c      fills in the policies that it names
 *	rate_limits/decide.c     asks Redis
 *	rate_limits/several_limits.c    asks several nodes of a Cluster
 *	rate_limits/rate_limit_response.c     tells what was decided
 *
 * A take lies in the request's arena, as req->work.
 */
#ifndef PATTERND_RATELIMIT_H
#define PATTERND_RATELIMIT_H

#include "handler.h"

enum { ALGORITHMS = 3, CHECKS_MAX = 16, PLAIN_NAME_MAX = 64 };

/* Their names, from 0; everywhere else an algorithm is its number in the contract's enums, from 1. */
extern const char *const algorithm_names[ALGORITHMS];
enum { FUNNEL = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };

/* What is allowed. */
struct limit {
	int algorithm;
	int64_t limit, window_ms;
	int64_t burst; /* what it holds at once: `limit`, unless it is a funnel of which more was said */
	bool has_burst;
	bool count_refused;
};

/* Of an input that says it; all have the same members. */
#define LIMIT_OF(in)                                                           \
	((struct limit){ .algorithm = (int)(in)->algorithm,                    \
			 .limit = (in)->limit,                                 \
			 .window_ms = (in)->window_ms,                         \
			 .burst = (in)->has_burst ? (in)->burst : (in)->limit, \
			 .has_burst = (in)->has_burst,                         \
			 .count_refused = (in)->count_refused })

struct policy {
	struct limit limit;
	bool open;                           /* grants when Redis cannot decide */
	bool shadow;                         /* always grants */
	char key_header[PLAIN_NAME_MAX + 1]; /* "": none */
};

/* What Redis decided of one check; times that are left, in milliseconds. */
struct decision {
	bool fits;
	int64_t capacity, remaining;
	int64_t retry_after_ms; /* -1: it fits */
	int64_t reset_after_ms; /* until it is whole again */
	int64_t more_after_ms;  /* until there is more than `remaining`; 0: it is full */
};

/* One limit that is asked. */
struct check {
	struct text name;        /* in the headers */
	struct text policy_name; /* absent: the limit stood in the request */
	struct text
		owner; /* what its state belongs to: the policy, `default`, or its name (see rate_limits/rate_limits.c) */
	struct text key;
	int64_t cost;
	struct policy policy; /* with a policy_name: once `known` */
	bool known;
	struct decision decision;
};

/* All that one request asks. */
struct take {
	bool several;           /* the request said `checks` */
	bool degraded;          /* Redis could not decide */
	bool granted;           /* once it was decided */
	enum problem refusal;   /* what a refusal is told as */
	struct text key_header; /* of /ratelimit/authorize: the header that has the key; absent: the policy's */
	void (*then)(struct request *req); /* the step after the policies */
	int64_t asked_us;                  /* when Redis was asked for policies */
	int64_t wait_ms;                   /* how long it may wait for room */
	size_t policies_owed;
	struct turns *turns; /* rate_limits/several_limits.c's, when several slots decide */
	size_t count;
	struct check checks[];
};

/* Returns new, as req->work; NULL: it was answered that there is no memory. */
struct take *take_new(struct request *req, size_t count);

/* The part of a state's key: "<owner>:<algorithm>". */
const char *state_part(struct request *req, struct text owner, int algorithm);

/* How much the limit may hold at once to be counted exactly. */
int64_t limit_largest_burst(const struct limit *limit);

/* False: a rule between its members is broken, which was answered; `at` is the pointer to what holds them. */
bool limit_is_sound(struct request *req, const struct limit *limit, const char *at);

/* The policies are known, the keys too: decides and answers. */
void ratelimit_decide(struct request *req);
/* Of one that waited: policies may have changed meanwhile. */
void ratelimit_retry(struct request *req);
/* The limits lie in several slots of a Cluster. */
void ratelimit_decide_in_turn(struct request *req, const struct slots *slots);
/* A call of ratelimit_take_all for some of the checks, to be sent; and what it said of them. */
struct call *ratelimit_call(struct request *req, const struct slot_group *some, bool is_refused);
void ratelimit_read(struct request *req, const struct slot_group *some, const struct reply *r);
/* What Redis says of one check, from item `at` on. */
struct decision decision_of(const struct request *req, const struct reply *r, bool fits, size_t at);

/* What stands in for Redis: grants when all that was asked is open. */
bool ratelimit_degrade(struct request *req);
void ratelimit_answer(struct request *req);

/* ---- rate_limits/policy_cache.c: policies that need not be asked for ---- */

/* Fills in what the checks name, asking Redis only for what this daemon does not know of the last second, then goes on. */
void policies_fill(struct request *req, void (*then)(struct request *req));

/* However long ago; NULL: never known, or deleted by this daemon. For when Redis cannot be asked. */
const struct policy *policy_known_last(struct text name);

/* Takes on what a file says. It goes before what Redis says, and stays. */
bool policy_fix(struct text name, const struct policy *p);
const struct policy *policy_fixed(struct text name);               /* NULL: it does not stand in the file */
const struct policy *policy_fixed_at(size_t i, struct text *name); /* in the file's order; NULL: there are no more */

/* This daemon itself has changed it, having asked at `asked_us`. NULL: deleted it. */
void policy_changed(struct text name, const struct policy *p, int64_t asked_us);

/* What ratelimit_policy_look.lua found. False: somebody else put it there. */
bool policy_read(const struct reply *r, struct policy *out);
void policy_answer_foreign(struct request *req, struct text name);

/* ---- rate_limits/policy_file.c ---- */

/* Reads the file of --policies. False: stderr says what is wrong where. */
bool policies_load(void);

/* What a request to store one says; false: it was answered. */
bool policy_of_input(struct request *req, const struct ratelimit_policy_put_input *in, struct policy *out);

#endif
