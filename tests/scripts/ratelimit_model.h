/*
 * ratelimit_model: what the scripts of the rate limits must answer, in whole numbers of 128 bits.
 * It knows only the times that callers pass, so the clock may leap.
 *
 *	struct limit_answer a = limit_model_decide(&m, now_ms, &rule, cost, &next);
 *	m = next;                                    if the call is granted
 *
 * A state is lost when Redis sees its end: call limit_model_see after each change of the clock,
 * when Redis has looked at the key.
 */
#ifndef TEST_RATELIMIT_MODEL_H
#define TEST_RATELIMIT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GCRA = 1, SLIDING_WINDOW, FIXED_WINDOW, ALGORITHMS_END };
enum { LIMIT_LOG_MAX = 512 };

struct limit_rule {
	int64_t limit, window_ms;
	int64_t burst; /* `limit`, unless it is a leaky bucket */
	bool count_refused;
};

/* Instants in ms; as in the replies of the scripts. */
struct limit_answer {
	int64_t allowed, capacity, remaining, retry_at, reset_at, more_at;
};

/* The content of one key. */
struct limit_model {
	int algorithm;
	bool exists;
	struct limit_rule rule; /* as it was written last */
	int64_t ends_at;
	int64_t at;    /* of the leaky bucket's level, the start of the fixed window, the last write of the log */
	int64_t level; /* of a leaky bucket, in its units; the count of a fixed window */
	size_t count;
	struct {
		int64_t at, cost;
	} log[LIMIT_LOG_MAX]; /* cost 0: no longer counts */
};

/*
 * A drop is `drop` units, and `drain` units leave a leaky bucket in a millisecond. False: its room
 * is 2^52 units or more, which is not exact.
 */
bool limit_units(const struct limit_rule *rule, int64_t *drain, int64_t *drop);

void limit_model_see(struct limit_model *m, int64_t now_ms);

/* `next` is the state if the call is granted, and only then: see limit_model_counts. */
struct limit_answer limit_model_decide(const struct limit_model *m, int64_t now_ms, const struct limit_rule *rule,
				       int64_t cost, struct limit_model *next);
bool limit_model_counts(const struct limit_model *m, const struct limit_rule *rule, int64_t cost, bool is_granted);

/* Refunds what was taken `age_ms` ago. Returns how much. */
int64_t limit_model_refund(struct limit_model *m, int64_t now_ms, int64_t cost, int64_t age_ms);

/*
 * Does the same for a known call, which `rule` granted at `taken_at`, when the limit would have
 * been whole at `whole_at`.
 */
int64_t limit_model_compensate(struct limit_model *m, int64_t now_ms, const struct limit_rule *rule, int64_t cost,
			       int64_t taken_at, int64_t whole_at);

#endif
