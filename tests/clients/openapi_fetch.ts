// Uses the client that openapi-typescript and openapi-fetch make from the contract.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './patternd.js';

type Schemas = components['schemas'];

const patternd = createClient<paths>({ baseUrl: process.env.PATTERND_URL });

async function locks() {
  const name = { params: { path: { name: 'report' } } };
  const { data: lock, response } = await patternd.POST('/locks/{name}', {
    ...name,
    body: { ttl_ms: 30000, owner: 'ann' },
  });
  assert.equal(response.status, 201);
  assert(lock);
  const fence: number = lock.fence;
  const { error } = await patternd.POST('/locks/{name}', { ...name, body: { owner: 'bob' } });
  assert(error?.code === 'lock_held');
  const { holders: [holder] } = error as Schemas['LockHeldProblem'];
  assert.deepEqual([holder?.owner, holder?.fence], ['ann', fence]);
  const { data: released } = await patternd.DELETE('/locks/{name}', {
    params: { ...name.params, header: { 'Lock-Token': lock.token } },
  });
  assert.equal(released?.holds, 0);
}

async function queues() {
  const path = { name: 'orders' };
  const { data: sent } = await patternd.POST('/queues/{name}/messages', {
    params: { path },
    body: { id: 'order-15', body: { order: 15 } },
  });
  assert.equal(sent?.messages[0]?.id, 'order-15');
  const { data: received } = await patternd.POST('/queues/{name}/receive', {
    params: { path },
    body: { limit: 10, wait_ms: 5000 },
  });
  const message = received?.messages[0];
  assert.deepEqual(message?.body, { order: 15 });
  assert(message.receipt); // null if the receive acknowledges at once
  const { response } = await patternd.DELETE('/queues/{name}/deliveries/{receipt}', {
    params: { path: { ...path, receipt: message.receipt } },
  });
  assert.equal(response.status, 204);
}

async function rateLimits() {
  const body: Schemas['RateLimitRequest'] = { key: 'ann', limit: 1, window_ms: 60000 };
  const { data: first } = await patternd.POST('/ratelimit', { body });
  assert.equal(first?.remaining, 0);
  const { error, response } = await patternd.POST('/ratelimit', { body });
  assert.equal(response.status, 429);
  assert(error?.code === 'rate_limited');
  const { retry_after_ms } = error as Schemas['RateLimitedProblem'];
  assert(retry_after_ms > 0 && Number(response.headers.get('Retry-After')) * 1000 >= retry_after_ms);
}

async function mistakes() {
  const { error } = await patternd.POST('/ratelimit', { body: { key: 'ann', limit: 0, window_ms: 60000 } });
  assert(error?.code === 'out_of_range' && error.effect === 'none');
  const { errors } = error as Schemas['Problem'];
  assert.deepEqual(
    errors?.map(({ pointer }) => pointer),
    ['/limit'],
  );
  // @ts-expect-error a limit is a number
  const { response } = await patternd.POST('/ratelimit', { body: { key: 'ann', limit: 'one', window_ms: 60000 } });
  assert.equal(response.status, 400);
}

void Promise.all([locks(), queues(), rateLimits(), mistakes()]);
