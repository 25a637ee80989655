// web/ui/rates.js: percentiles lie within the bucket of their request, grow, and are never above
// the longest request.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { between } from '../../web/ui/rates.js';

const BOUNDS_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000, null];

/** What GET /info serves after requests of these durations. */
function info(uptime_ms, durations, { started_at_ms = 1, calls = 0, took_ms = 0 } = {}) {
  const buckets = BOUNDS_MS.map((le_ms) => ({
    le_ms,
    count: durations.filter((ms) => ms <= (le_ms ?? Infinity)).length,
  }));
  return {
    started_at_ms,
    uptime_ms,
    activity: { requests: { buckets, longest_ms: Math.max(0, ...durations) }, redis: { calls, took_ms } },
  };
}

/** The bounds of the bucket of the request that this part of the requests does not exceed. */
function bucketOf(durations, part) {
  const exact = durations.toSorted((a, b) => a - b)[Math.ceil(part * durations.length) - 1];
  const at = BOUNDS_MS.findIndex((bound) => exact <= (bound ?? Infinity));
  return [BOUNDS_MS[at - 1] ?? 0, BOUNDS_MS[at] ?? Infinity];
}

test('percentiles lie in their bucket, and not above the longest', () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 2000; round++) {
    const some = () => Array.from({ length: 1 + random() * 20 }, () => random() * 2 ** ((round % 22) - 6));
    const earlier = some(),
      later = some(),
      all = [...earlier, ...later];
    const { p50_ms, p99_ms } = between(info(1000, earlier), info(2000, all));
    assert.ok(p50_ms <= p99_ms && p99_ms <= Math.max(...all), `${p50_ms} ${p99_ms} of ${later}`);
    for (const [part, ms] of [
      [0.5, p50_ms],
      [0.99, p99_ms],
    ]) {
      const [low, high] = bucketOf(later, part);
      assert.ok(low <= ms && ms <= high, `${part}: ${ms} is not in ${low}..${high}, of ${later}`);
    }
  }
});

test('rates are of the time between', () => {
  const before = info(1000, [1], { calls: 10, took_ms: 100 });
  const now = info(3000, [1, 2, 3, 4, 5], { calls: 14, took_ms: 102 });
  const { requests_per_second, redis_ms } = between(before, now);
  assert.deepEqual({ requests_per_second, redis_ms }, { requests_per_second: 2, redis_ms: 0.5 });
});

test('without requests, or of another start, there is none', () => {
  const nothing = { requests_per_second: null, p50_ms: null, p99_ms: null, redis_ms: null };
  const one = info(1000, [1]);
  assert.deepEqual(between(null, one), nothing);
  assert.deepEqual(between(one, one), nothing);
  assert.deepEqual(between(info(1000, [1], { started_at_ms: 0 }), info(2000, [1])), nothing);
  assert.deepEqual(between(one, info(2000, [1])), { ...nothing, requests_per_second: 0 });
});
