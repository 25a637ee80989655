/*
 * limit: what the files of rate limits share: limits, policies, and the request for a decision.
 *
 *	rate_limits/rate_limits.c           POST /ratelimit makes a limit_request, ...
 *	rate_limits/authorize.c             ... so does /ratelimit/authorize
 *	rate_limits/policy_cache.c          fills in the policies that it names
 *	rate_limits/decide.c                asks Redis
 *	rate_limits/limit_slots.c        asks several nodes of a Cluster
 *	rate_limits/rate_limit_response.c   answers
 */
#ifndef PATTERND_LIMIT_H
#define PATTERND_LIMIT_H

#include "common/handler.h"

enum { ALGORITHMS = 3, CHECKS_MAX = 16, PLAIN_NAME_MAX = 64 };

/*
 * Their names, from 0; everywhere else an algorithm is its number in the contract's enums, from 1.
 */
extern const char *const limit_algorithm_names[ALGORITHMS];
/* The number of an algorithm, 0 for a name that is none. */
int limit_algorithm_of(struct text name);
enum { GCRA = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };

struct limit {
	int algorithm;
	int64_t limit, window_ms;
	int64_t burst; /* what it holds at once: `limit`, unless a leaky bucket has another */
	bool has_burst;
	bool count_refused;
};

/* Of an input; all have the same members. */
#define LIMIT_OF(in)                                                           \
	((struct limit){ .algorithm = (int)(in)->algorithm,                    \
			 .limit = (in)->limit,                                 \
			 .window_ms = (in)->window_ms,                         \
			 .burst = (in)->has_burst ? (in)->burst : (in)->limit, \
			 .has_burst = (in)->has_burst,                         \
			 .count_refused = (in)->count_refused })

struct limit_policy {
	struct limit limit;
	bool open;                           /* grants when Redis cannot decide */
	bool shadow;                         /* always grants */
	char key_header[PLAIN_NAME_MAX + 1]; /* "": none */
};

/*
 * What a limit counts under: a policy, or a check with its own limit. With neither, the limit
 * is in the request and has no name. A check must never reach the state of a policy.
 */
struct limit_account {
	struct text policy, check;
};

/* What Redis decided of one check; times that are left, in milliseconds. */
struct limit_decision {
	bool fits;
	int64_t limit, window_ms; /* as configured */
	int64_t capacity, remaining;
	int64_t retry_after_ms; /* -1: it fits */
	int64_t reset_after_ms; /* until it is whole again */
	int64_t more_after_ms;  /* until there is more than `remaining`; 0: it is full */
};

/* One limit. */
struct limit_check {
	struct text name; /* in the headers */
	struct limit_account account;
	struct text key;
	int64_t cost;
	struct limit_policy policy; /* with account.policy: once has_policy */
	bool has_policy;
	struct limit_decision decision;
};

/* All limits of one request. In its arena, as req->work. */
struct limit_request {
	bool several;           /* the request has `checks` */
	bool degraded;          /* Redis could not decide */
	bool granted;           /* once it was decided */
	bool counted_refusal;   /* it was refused, and a limit with count_refused counted that */
	enum problem refusal;   /* the problem of a refusal */
	struct text key_header; /* of /ratelimit/authorize: the header that has the key; absent: the policy's */
	void (*next)(struct request *req); /* the step after the policies */
	/* A policy does not exist, or result->failed is set. NULL: that is answered. */
	void (*missing)(struct request *req);
	struct taking *taking;              /* rate_limits/policy_allowance.c's */
	void (*retry)(struct request *req); /* of a request that waited */
	int64_t asked_us;                   /* when Redis was asked for policies */
	int64_t wait_ms;                    /* how long it may wait for room */
	bool waits;                         /* it joined a wait queue in this attempt */
	char ticket_tail[TEXT_DIGITS];      /* the cost */
	size_t policies_pending;
	struct limit_series *series; /* rate_limits/limit_slots.c's, when several slots decide */
	size_t count;
	struct limit_check checks[];
};

/* Returns new, as req->work; NULL: it was answered that there is no memory. */
struct limit_request *limit_request_new(struct request *req, size_t count);
/* False: a limit or cost breaks a rule, which was answered. */
bool limit_request_is_sound(struct request *req, const struct limit_request *limits);

/*
 * The part of a state's key: "<policy>:<algorithm>", of a check "@<check>:<algorithm>", of a limit
 * without a name "@:<algorithm>". No name has an @, so the three never meet.
 */
const char *limit_state_part(struct request *req, struct limit_account account, int algorithm);
/* The account of a part; cuts it off, so that `part` is what follows. */
struct limit_account limit_account_cut(struct text *part);
/* The members `policy` and `check`. */
void limit_write_account(struct json_out *o, struct limit_account account);
/* The key of a check's state. */
void limit_call_key(struct request *req, struct call *call, const struct limit_check *c);

/* A call of ratelimit_take_all for some of the checks, to be sent; and its reply. */
struct call *limit_call(struct request *req, const struct slots_group *some, bool is_refused);
/* Whether a refusal counts in it, too. */
bool limit_counts_refused(const struct limit_check *c);
void limit_read(struct request *req, const struct slots_group *some, const struct reply *r);
/* The shape limit_decision in a reply, from item `at` on. */
struct limit_decision limit_decision_of(const struct request *req, const struct reply *r, bool fits, size_t at);
/* Of a limit that was never used. */
struct limit_decision limit_unused(const struct limit *limit);

/* The reply of ratelimit_policy_get.lua. False: another program put it there. */
bool limit_policy_read(const struct reply *r, struct limit_policy *out);
void limit_answer_foreign_policy(struct request *req, struct text name);
/* Of a request to store one, or to change the one that is in `out`; false: it was answered. */
bool limit_policy_of_input(struct request *req, const struct ratelimit_policy_put_input *in, struct limit_policy *out);
bool limit_policy_merge(struct request *req, const struct ratelimit_policy_patch_input *in, struct limit_policy *out);

#endif
