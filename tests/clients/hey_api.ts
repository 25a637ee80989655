// Uses the client that @hey-api/openapi-ts generates from the contract.
import assert from 'node:assert/strict';
import {
  lockAcquire,
  lockRelease,
  queueDeliveryAcknowledge,
  queueMessageReceive,
  queueMessageSend,
  ratelimitTake,
} from './hey-api/index.js';
import { client } from './hey-api/client.gen.js';
import type { LockHeldProblem, Problem, RateLimitedProblem, RateLimitRequest } from './hey-api/index.js';

client.setConfig({ baseUrl: process.env.PATTERND_URL });

async function locks() {
  const path = { name: 'backup' };
  const { data: lock, response } = await lockAcquire({ path, body: { ttl_ms: 30000, owner: 'ann' } });
  assert.equal(response.status, 201);
  assert(lock);
  const fence: number = lock.fence;
  const { error } = await lockAcquire({ path, body: { owner: 'bob' } });
  assert(error?.code === 'lock_held');
  const { holders: [holder] } = error as LockHeldProblem;
  assert.deepEqual([holder?.owner, holder?.fence], ['ann', fence]);
  const { data: released } = await lockRelease({ path, headers: { 'Lock-Token': lock.token } });
  assert.equal(released?.holds, 0);
}

async function queues() {
  const path = { name: 'invoices' };
  const { data: sent } = await queueMessageSend({ path, body: { id: 'invoice-7', body: { invoice: 7 } } });
  assert.equal(sent?.messages[0]?.id, 'invoice-7');
  const { data: received } = await queueMessageReceive({ path, body: { limit: 10, wait_ms: 5000 } });
  const message = received?.messages[0];
  assert.deepEqual(message?.body, { invoice: 7 });
  assert(message.receipt); // null if the receive acknowledges at once
  const { response } = await queueDeliveryAcknowledge({ path: { ...path, receipt: message.receipt } });
  assert.equal(response.status, 204);
}

async function rateLimits() {
  const body: RateLimitRequest = { key: 'bob', limit: 1, window_ms: 60000 };
  const { data: first } = await ratelimitTake({ body });
  assert.equal(first?.remaining, 0);
  const { error, response } = await ratelimitTake({ body });
  assert.equal(response.status, 429);
  assert(error?.code === 'rate_limited');
  const { retry_after_ms } = error as RateLimitedProblem;
  assert(retry_after_ms > 0 && Number(response.headers.get('Retry-After')) * 1000 >= retry_after_ms);
}

async function mistakes() {
  const { error } = await ratelimitTake({ body: { key: 'bob', limit: 0, window_ms: 60000 } });
  assert(error?.code === 'out_of_range' && error.effect === 'none');
  const { errors } = error as Problem;
  assert.deepEqual(
    errors?.map(({ pointer }) => pointer),
    ['/limit'],
  );
  // @ts-expect-error a member that the contract does not know
  const { response } = await ratelimitTake({ body: { key: 'bob', limit: 1, windw_ms: 60000 } });
  assert.equal(response.status, 400);
}

void Promise.all([locks(), queues(), rateLimits(), mistakes()]);
