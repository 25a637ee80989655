#!/usr/bin/env node
// A small shop that uses patternd, in JavaScript with the fetch of Node.js 18. What it shows
// is in ../README.md.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const base = process.env.PATTERND_URL ?? 'http://127.0.0.1:8379';

// The answer; or the problem, with `retryAfter`, when its code is one that may be.
//
// While patternd or its Redis is away (503: nothing happened; 504, or no answer: unknown) it
// asks again. By the same Idempotency-Key what happened already does not happen twice: the first
// answer comes again.
async function call(method, path, body, { mayBe = [], token = '' } = {}) {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID(), 'Lock-Token': token };
  for (let tries = 0; tries < 5; tries++) {
    const request = { method, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30000) };
    const response = await fetch(base + path, request).catch(() => null);
    const answer = JSON.parse((await response?.text().catch(() => '')) || '{}');
    if (response?.ok) return answer;
    const retryAfter = Number(response?.headers.get('Retry-After') ?? 1);
    if (mayBe.includes(answer.code)) return { ...answer, retryAfter };
    if (response && ![503, 504].includes(response.status)) throw new Error(`${method} ${path}: ${answer.detail}`);
    await sleep(retryAfter * 1000);
  }
  throw new Error(`${method} ${path}: patternd cannot be reached, or cannot reach its Redis`);
}

// The lock of ann's cart, so that two clicks in two tabs do not make two orders.
async function takeCart(tab) {
  const lock = await call('POST', '/locks/cart-ann', { owner: tab, ttl_ms: 10000 }, { mayBe: ['lock_held'] });
  if (lock.code) console.log(`checkout: ${tab} has to wait, ${lock.holder.owner} is at it`);
  return lock;
}

async function giveCartBack({ token }) {
  await call('DELETE', '/locks/cart-ann', undefined, { token, mayBe: ['not_holder'] }); // it had expired
}

// A holder that was suspended until another client got the lock has a lower fence, and is refused.
async function placeOrder(tab, { fence }) {
  const passed = await call('POST', '/fences/cart-ann', { fence }, { mayBe: ['stale_fence'] });
  if (passed.code) {
    console.log(`checkout: ${tab} comes too late, its fence is stale`);
    return undefined;
  }
  const { counters } = await call('POST', '/counters/shop/increment', { orders: 1 });
  const order = counters.orders;
  // A real shop waits half an hour for the money.
  await call('POST', '/queues/unpaid/messages', { id: `order-${order}`, body: { order }, delay_ms: 500 });
  console.log(`checkout: ${tab} placed order ${order}`);
  return order;
}

// A worker waits for a message, works, and acknowledges. Should it die before that, another one
// gets the message.
async function work() {
  const { messages } = await call('POST', '/queues/unpaid/receive', { wait_ms: 20000 });
  for (const { body, receipt } of messages) {
    console.log(`worker: order ${body.order} was not paid in time`);
    await call('DELETE', `/queues/unpaid/deliveries/${receipt}`, undefined, { mayBe: ['receipt_expired'] }); // it was too slow
  }
}

// Three in a row, and then one in three seconds.
async function comment(number) {
  const limit = { key: 'ann:comment', limit: 20, window_ms: 60000, burst: 3 };
  for (;;) {
    const { allowed, retryAfter } = await call('POST', '/ratelimit', limit, { mayBe: ['rate_limited'] });
    if (allowed) break;
    console.log(`comment ${number}: not yet`);
    await sleep(retryAfter * 1000);
  }
  console.log(`comment ${number}: sent`);
}

const first = await takeCart('tab 1');
await takeCart('tab 2');
const paid = await placeOrder('tab 1', first);
await giveCartBack(first);
const second = await takeCart('tab 2');
await placeOrder('tab 2', second);
await placeOrder('tab 1', first);
await giveCartBack(second);
const unpaid = await call('DELETE', `/queues/unpaid/messages/order-${paid}`, undefined, {
  mayBe: ['not_found', 'message_in_flight'],
});
console.log(`payment: ${unpaid.code ? 'too late' : 'in time'} for order ${paid}`);
await work();
for (const number of [1, 2, 3, 4]) await comment(number);
const at = (member, longitude, latitude) => ({ member, longitude, latitude });
await call('POST', '/geo/couriers/members', {
  members: [at('bea', 13.3889, 52.517), at('cem', 13.405, 52.52), at('dan', 13.0645, 52.3906)],
});
const near = await call('GET', '/geo/nearby?name=couriers&longitude=13.3777&latitude=52.5163&radius=5&unit=km');
for (const { member, distance } of near.items) console.log(`courier: ${member} is ${distance.toFixed(1)} km away`);
await call('POST', '/uv/shop', { visitors: ['ann', 'bob', 'ann'] });
console.log(`visitors: ${(await call('GET', '/uv/shop')).count} today`);
