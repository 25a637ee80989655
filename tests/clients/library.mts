// Uses the package of clients/javascript as npm packs it.
import assert from 'node:assert/strict';
import { Client, LockHeld, type Decision, type Message, type Sent } from 'patternd';

const client = new Client(process.env.PATTERND_URL ?? '', { timeoutMs: 5000 });

const fence: number = await client.lock('library', { ttlMs: 5000 }, async (lock) => {
  const signal: AbortSignal = lock.lost; // of the DOM or Node.js
  await assert.rejects(client.lock('library', { signal }), (error) => error instanceof LockHeld && error.retryAfter === 5);
  return lock.fence;
});
assert(fence > 0);
const sent: Sent = await client.queue('library').send({ n: 1 }, { id: 'one', delayMs: 10 });
assert.equal(sent.id, 'one');
const message: Message<{ n: number }> | null = await client.queue('library').receive<{ n: number }>({ waitMs: 5000 });
assert.equal(message?.body.n, 1);
assert.equal(await message?.acknowledge(), true);
const decision: Decision = await client.limit('library', { limit: 1, windowMs: 60000 });
assert(decision.allowed);
const value: number = await client.cached('library', { ttlMs: 60000, fill: async () => 7 });
assert.equal(value, 7);
const stop = new AbortController();
await client.queue('library').send({ n: 2 });
await client.queue('library').work<{ n: number }>(({ body }) => stop.abort(body.n), { stop: stop.signal });
assert.equal(stop.signal.reason, 2);
// @ts-expect-error a limit is a number
await assert.rejects(client.limit('library', { limit: 'one', windowMs: 60000 }));
