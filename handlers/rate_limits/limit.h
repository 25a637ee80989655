/*
 * limit: what the files of rate limits share: limits, policies, and the request for a decision.
 *
 *	rate_limits/rate_limits.c           POST /ratelimit makes a limit_request
 *	rate_limits/authorize.c             /ratelimit/authorize makes one, too
 *	rate_limits/policy_cache.c          adds the policies that it names
 *	rate_limits/address_keys.c          makes keys that are addresses canonical
 *	rate_limits/decide.c                asks Redis
 *	rate_limits/limit_slots.c           asks several nodes of a Cluster
 *	rate_limits/rate_limit_response.c   answers
 */
#ifndef PATTERND_LIMIT_H
#define PATTERND_LIMIT_H

#include "common/handler.h"
#include "rate_limits/limit_address.h"

enum { ALGORITHMS = 3, CHECKS_MAX = 16, PLAIN_NAME_MAX = 64 };

/*
 * The names of the algorithms, from index 0. Everywhere else an algorithm is its number in the
 * contract's enums, from 1.
 */
extern const char *const limit_algorithm_names[ALGORITHMS];
/* Returns the number of an algorithm, or 0 if the name is unknown. */
int limit_algorithm_of(struct text name);
enum { GCRA = 1, SLIDING_WINDOW = 2, FIXED_WINDOW = 3 };

struct limit {
	int algorithm;
	int64_t limit, window_ms;
	int64_t burst; /* capacity: `limit`, unless a leaky bucket sets another */
	bool has_burst;
	bool count_refused;
};

/* Takes the limit from an input. All inputs have the same members. */
#define LIMIT_OF(in)                                                           \
	((struct limit){ .algorithm = (int)(in)->algorithm,                    \
			 .limit = (in)->limit,                                 \
			 .window_ms = (in)->window_ms,                         \
			 .burst = (in)->has_burst ? (in)->burst : (in)->limit, \
			 .has_burst = (in)->has_burst,                         \
			 .count_refused = (in)->count_refused })

struct limit_policy {
	struct limit limit;
	struct limit_address address;
	bool open;                           /* grants when Redis cannot decide */
	bool shadow;                         /* always grants */
	char key_header[PLAIN_NAME_MAX + 1]; /* "": the policy names no header */
};

/*
 * The account that a limit counts in: a policy, or a check with its own limit. With neither, the
 * limit is in the request and has no name. A check must never reach the state of a policy.
 */
struct limit_account {
	struct text policy, check;
};

/* Redis's decision about one check. Times are milliseconds from now. */
struct limit_decision {
	bool fits;
	int64_t limit, window_ms; /* as configured */
	int64_t capacity, remaining;
	int64_t retry_after_ms; /* -1: the call fits */
	int64_t reset_after_ms; /* until all of it is available again */
	int64_t more_after_ms;  /* until there is more than `remaining`; 0: it is full */
};

/* One check: a limit, and what a request takes from it. */
struct limit_check {
	struct text name; /* its name in the headers */
	struct limit_account account;
	struct text key;   /* as it is limited */
	struct text given; /* the key in the request; used by rate_limits/address_keys.c only */
	bool is_other;     /* the key is not an address, even if it looks so: from_right names none in the header */
	int64_t cost;
	struct limit_policy policy; /* if account.policy is set: valid once has_policy */
	bool has_policy;
	struct limit_decision decision;
};

/* All limits of one request. In the request's arena, as req->work. */
struct limit_request {
	bool several;           /* the request has `checks` */
	bool degraded;          /* Redis could not decide */
	bool granted;           /* the decision; valid once it was made */
	bool counted_refusal;   /* the request was refused, and a limit with count_refused counted it */
	enum problem refusal;   /* the problem that answers a refusal */
	struct text key_header; /* for /ratelimit/authorize: the header that has the key; absent: the policy names it */
	const char *key_at;     /* the pointer to the key in the request. NULL: the `key` of the body, or of a check */
	const char *header;     /* for /ratelimit/authorize: the header that had the key; NULL: none had */
	bool may_lack_policy;   /* a check whose policy does not exist is served without it */
	void (*next)(struct request *req); /* the step that follows once the policies are known */
	/*
	 * Called if a policy does not exist, or if result->failed is set. NULL: the request is
	 * answered with that problem.
	 */
	void (*missing)(struct request *req);
	struct taking *taking;              /* used by rate_limits/policy_allowance.c only */
	void (*retry)(struct request *req); /* called when a request that waited tries again */
	int64_t asked_us;                   /* when Redis was asked for policies */
	int64_t wait_ms;                    /* how long the request may wait for room */
	bool waits;                         /* the request joined a wait queue in this attempt */
	char ticket_tail[TEXT_DIGITS];      /* the cost, as the end of the ticket */
	size_t policies_pending;
	struct limit_series *series; /* used by rate_limits/limit_slots.c only, when several slots decide */
	size_t count;
	struct limit_check checks[];
};

/*
 * Makes a request for `count` limits, as req->work. NULL: memory ran out, and the request was
 * answered.
 */
struct limit_request *limit_request_new(struct request *req, size_t count);
/* Answers 400 and returns false if a limit or a cost breaks a rule. */
bool limit_request_is_sound(struct request *req, const struct limit_request *limits);

/*
 * Returns the part of a state's key: "<policy>:<algorithm>", for a check "@<check>:<algorithm>",
 * for a limit without a name "@:<algorithm>". No name has an @, so the three cannot collide.
 */
const char *limit_state_part(struct request *req, struct limit_account account, int algorithm);
/* Cuts the account off a part. `part` is then the rest. */
struct limit_account limit_account_cut(struct text *part);
/* Writes the members `policy` and `check`. */
void limit_write_account(struct json_out *o, struct limit_account account);
/* Adds the key of a check's state. */
void limit_call_key(struct request *req, struct call *call, const struct limit_check *c);

/*
 * limit_call returns a call of ratelimit_take_all for some of the checks; the caller sends it.
 * limit_read takes its reply.
 */
struct call *limit_call(struct request *req, const struct slots_group *some, bool is_refused);
/* True if a refusal counts in this limit, too. */
bool limit_counts_refused(const struct limit_check *c);
void limit_read(struct request *req, const struct slots_group *some, const struct reply *r);
/* Reads a limit_decision of a reply, from item `at` on. */
struct limit_decision limit_decision_of(const struct request *req, const struct reply *r, bool fits, size_t at);
/* Returns the decision for a limit that was never used. */
struct limit_decision limit_unused(const struct limit *limit);

/*
 * limit_policy_read takes the reply of ratelimit_policy_get.lua. False: another program wrote the
 * key; limit_answer_foreign_policy answers that.
 */
bool limit_policy_read(const struct reply *r, struct limit_policy *out);
void limit_answer_foreign_policy(struct request *req, struct text name);
/*
 * limit_policy_of_input takes the policy from a PUT; limit_policy_merge applies a PATCH to the
 * policy in `out`. False: the request was answered.
 */
bool limit_policy_of_input(struct request *req, const struct ratelimit_policy_put_input *in, struct limit_policy *out);
bool limit_policy_merge(struct request *req, const struct ratelimit_policy_patch_input *in, struct limit_policy *out);

#endif
