#!/usr/bin/env node
// A small shop that uses patternd, in JavaScript with the client of clients/javascript. What it
// shows is in ../README.md.
import { setTimeout as sleep } from 'node:timers/promises';
// In your program, after `npm install ./clients/javascript`: from 'patternd'.
import { Client, LockHeld, LockLost } from '../../clients/javascript/patternd.js';

const patternd = new Client();
const unpaid = patternd.queue('unpaid');

// The lock of ann's cart, so that two clicks in two tabs do not make two orders.
async function lockCart(tab) {
  try {
    return await patternd.lock('cart-ann', { ttlMs: 10000, owner: tab });
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    console.log(`checkout: ${tab} has to wait, ${error.body.holders[0]?.owner} is at it`);
    return null;
  }
}

async function unlockCart(lock) {
  try {
    await lock.release();
  } catch (error) {
    if (!(error instanceof LockLost)) throw error; // it had expired
  }
}

// A holder that was suspended until another client got the lock has a lower fence, and is refused.
async function placeOrder(tab, { fence }) {
  try {
    await patternd.request('POST', '/fences/cart-ann', { fence });
  } catch (error) {
    if (error.code !== 'stale_fence') throw error;
    console.log(`checkout: ${tab} comes too late, its fence is stale`);
    return null;
  }
  const counted = await patternd.request('POST', '/counters/shop/increment', { counters: { orders: 1 } });
  const order = counted.body.counters.orders;
  // A real shop waits half an hour for the money.
  await unpaid.send({ order }, { id: `order-${order}`, delayMs: 500 });
  console.log(`checkout: ${tab} placed order ${order}`);
  return order;
}

// Cancels the order's timeout, unless a worker has it.
async function pay(order) {
  try {
    await patternd.request('DELETE', `/queues/unpaid/messages/order-${order}`);
    console.log(`payment: in time for order ${order}`);
  } catch (error) {
    if (!['not_found', 'message_in_flight'].includes(error.code)) throw error;
    console.log(`payment: too late for order ${order}`);
  }
}

// A real worker loops over unpaid.messages(). Should it die before it acknowledges, another one
// gets the message.
async function work() {
  const message = await unpaid.receive({ waitMs: 20000 });
  console.log(`worker: order ${message.body.order} was not paid in time`);
  await message.acknowledge();
}

// Three in a row, and then one in three seconds.
async function comment(number) {
  for (;;) {
    const decision = await patternd.limit('ann:comment', { limit: 20, windowMs: 60000, burst: 3 });
    if (decision.allowed) break;
    console.log(`comment ${number}: not yet`);
    await sleep(decision.retryAfterMs);
  }
  console.log(`comment ${number}: sent`);
}

const first = await lockCart('tab 1');
await lockCart('tab 2');
const paid = await placeOrder('tab 1', first);
await unlockCart(first);
const second = await lockCart('tab 2');
await placeOrder('tab 2', second);
await placeOrder('tab 1', first);
await unlockCart(second);
await pay(paid);
await work();
for (const number of [1, 2, 3, 4]) await comment(number);
const at = (member, longitude, latitude) => ({ member, longitude, latitude });
await patternd.request('POST', '/geo/couriers/members', {
  members: [at('bea', 13.3889, 52.517), at('cem', 13.405, 52.52), at('dan', 13.0645, 52.3906)],
});
const query = { name: 'couriers', longitude: 13.3777, latitude: 52.5163, radius: 5, unit: 'km' };
const near = await patternd.request('GET', '/geo/nearby', undefined, { query });
for (const { member, distance } of near.body.items) console.log(`courier: ${member} is ${distance.toFixed(1)} km away`);
await patternd.request('POST', '/uv/shop', { visitors: ['ann', 'bob', 'ann'] });
console.log(`visitors: ${(await patternd.request('GET', '/uv/shop')).body.count} today`);
