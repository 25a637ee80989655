/*
 * ratelimit_model: what the scripts of the rate limits must return, in whole numbers of 128 bits.
 * It knows only the times that callers pass, so the clock may leap.
 *
 *	struct limit_answer a = limit_model_decide(&m, now_ms, &rule, cost, &next);
 *	m = next;                                    if the call is granted
 *
 * A state is lost when Redis notices its end. So after each change of the clock, let Redis read the
 * key and then call limit_model_see.
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
	int64_t burst; /* for a leaky bucket; otherwise equal to `limit` */
	bool count_refused;
};

/* Instants are in ms. The fields are named as in the scripts' replies. */
struct limit_answer {
	int64_t allowed, capacity, remaining, retry_at, reset_at, more_at;
};

/* The content of one key. */
struct limit_model {
	int algorithm;
	bool exists;
	struct limit_rule rule; /* as written last */
	int64_t ends_at;
	int64_t at;    /* of the leaky bucket's level, the start of the fixed window, the last write of the log */
	int64_t level; /* the level of a leaky bucket, in its units; the count of a fixed window */
	size_t count;
	struct {
		int64_t at, cost;
	} log[LIMIT_LOG_MAX]; /* cost 0: the entry no longer counts */
};

/*
 * Computes the units of a leaky bucket: a drop is `drop` units, and `drain` units leave per
 * millisecond. Returns false if the bucket holds 2^52 units or more: results would not be
 * exact.
 */
bool limit_units(const struct limit_rule *rule, int64_t *drain, int64_t *drop);

void limit_model_see(struct limit_model *m, int64_t now_ms);

/* `next` is the state after the call if it is granted. Otherwise see limit_model_counts. */
struct limit_answer limit_model_decide(const struct limit_model *m, int64_t now_ms, const struct limit_rule *rule,
				       int64_t cost, struct limit_model *next);
bool limit_model_counts(const struct limit_model *m, const struct limit_rule *rule, int64_t cost, bool is_granted);

/* Refunds a call that was granted `age_ms` ago. Returns how much was refunded. */
int64_t limit_model_refund(struct limit_model *m, int64_t now_ms, int64_t cost, int64_t age_ms);

/*
 * Refunds a known call. `rule` granted it at `taken_at`, and the limit would have been whole at
 * `whole_at`.
 */
int64_t limit_model_compensate(struct limit_model *m, int64_t now_ms, const struct limit_rule *rule, int64_t cost,
			       int64_t taken_at, int64_t whole_at);

#endif
