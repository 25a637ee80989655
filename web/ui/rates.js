// Rates and percentiles of the time between two answers of GET /info, whose counts are since the
// daemon's start.

const NOTHING = { requests_per_second: null, p50_ms: null, p99_ms: null, redis_ms: null };

/**
 * The duration that `part` of the requests did not exceed, as near as the buckets show; at most the
 * longest since the start.
 */
function quantile(buckets, longest_ms, part) {
	const wanted = part * buckets.at(-1).count;
	const at = buckets.findIndex(({ count }) => count >= wanted);
	const { le_ms, count } = buckets[at];
	const before = buckets[at - 1] ?? { le_ms: 0, count: 0 };
	const high_ms = Math.min(le_ms ?? longest_ms, longest_ms);
	return before.le_ms + ((high_ms - before.le_ms) * (wanted - before.count)) / (count - before.count);
}

/** What happened between both; null where nothing did, and of two starts of the daemon. */
export function between(before, now) {
	if (before?.started_at_ms !== now.started_at_ms || before.uptime_ms >= now.uptime_ms) return NOTHING;
	const { requests, redis } = now.activity;
	const buckets = requests.buckets.map(({ le_ms, count }, at) => ({
		le_ms,
		count: count - before.activity.requests.buckets[at].count,
	}));
	const count = buckets.at(-1).count;
	const calls = redis.calls - before.activity.redis.calls;
	return {
		requests_per_second: (count * 1000) / (now.uptime_ms - before.uptime_ms),
		p50_ms: count ? quantile(buckets, requests.longest_ms, 0.5) : null,
		p99_ms: count ? quantile(buckets, requests.longest_ms, 0.99) : null,
		redis_ms: calls ? (redis.took_ms - before.activity.redis.took_ms) / calls : null,
	};
}
