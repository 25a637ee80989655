// The types of clients/javascript under the strictest settings, without those of the DOM or Node.js.
import { Client, LockLost, Problem, type Message, type TopicEvent, type WorkOptions } from 'patternd';
import { daemon } from 'patternd/testing';

await using started = await daemon();
const client = new Client(started.url, { timeoutMs: 5000, token: undefined, warn: () => {} });
const seen: number[] = [];

// A group's `await using`: what was acquired is released, what was not settled returns.
async function once(): Promise<number> {
  await using lock = await client.lock('strict', { ttlMs: 5000, owner: undefined });
  await using hold = await client.hold('strict-hold', { ttlMs: 5000 });
  const message: Message<{ n: number }> | null = await client.queue('strict').receive<{ n: number }>({ waitMs: 1000 });
  await using kept = message;
  if (kept !== null && !lock.lost.aborted && !hold.lost.aborted) {
    seen.push(kept.body.n);
    await kept.extend(30000, { percent: 50 }).catch((error: unknown) => error instanceof Problem);
    await kept.acknowledge();
  }
  return lock.fence;
}

await client.queue('strict').send({ n: 1 }, { id: 'one', delayMs: 0, group: undefined });
await once();
await client.queue('strict').sendMany([{ body: { n: 2 } }, { body: { n: 3 }, priority: 9 }]);
const options: WorkOptions = { concurrency: 2, visibilityMs: 5000, signals: false, stop: undefined, worker: undefined };
const work = (handler: (message: Message<{ n: number }>) => unknown) => client.queue('strict').work(handler, options);
void work;

await using events = await client.listen<{ n: number }>(['strict.*']);
await client.publish('strict.a', { n: 4 });
for await (const event of events) {
  const told: TopicEvent<{ n: number }> = event;
  if (told.type === 'message') {
    seen.push(told.body.n);
    break;
  }
}
for await (const message of client.queue('strict').messages<{ n: number }>({ waitMs: 1000 })) {
  seen.push(message.body.n);
  if (message.body.n === 3) {
    await message.acknowledge();
    break;
  }
}
await client.queue('strict').patch({ backoff: { baseMs: 10, maxMs: 20 }, paused: null });
const { settings } = await client.queue('strict').get();
const base: number | undefined = settings.backoff?.baseMs;
await client.queue('strict').putSchedule('nightly', { cron: '30 2 * * *', body: { report: 'sales' } });
for await (const schedule of client.queue('strict').schedules()) {
  seen.push(schedule.sent);
}
await client.putPolicy('strict', { limit: 10, windowMs: 1000 });
for await (const policy of client.policies()) {
  seen.push(policy.limit);
}
// @ts-expect-error a policy has a window
await client.putPolicy('strict', { limit: 10 }).catch((error: unknown) => error instanceof LockLost);
if (JSON.stringify([seen, base]) !== '[[1,4,2,3,0,10],10]') {
  throw new Error(JSON.stringify([seen, base]));
}
