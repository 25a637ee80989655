/* lock_holder: see locks/holder.h. */
#include "locks/holder.h"

static bool tells_of(const struct vote *v, const struct holder_at *at)
{
	return v->said && v->outcome == at->outcome;
}

/* The `nth` largest, from 1. */
static int64_t largest(const int64_t *list, size_t count, size_t nth)
{
	int64_t best = 0;

	for (size_t i = 0; i < count; i++) {
		size_t not_below = 0;
		for (size_t k = 0; k < count; k++)
			not_below += list[k] >= list[i];
		if (not_below >= nth && list[i] > best)
			best = list[i];
	}
	return best;
}

bool lock_find_holder(const struct round *r, const struct holder_at *at, struct holder *out)
{
	int64_t rests[ROUND_MOST];

	for (size_t i = 0; i < r->of; i++) {
		size_t same = 0;
		for (size_t k = 0; k < r->of && tells_of(&r->votes[i], at); k++) {
			const struct reply *one = r->votes[i].reply, *other = r->votes[k].reply;
			if (tells_of(&r->votes[k], at) && reply_int(one, at->fence) == reply_int(other, at->fence))
				rests[same++] = reply_int(other, at->expires_at) - reply_int(other, 1);
		}
		if (same < round_majority(r))
			continue;
		*out = (struct holder){ r->votes[i].reply, largest(rests, same, round_majority(r)), same };
		return true;
	}
	return false;
}
