// The sender, workers and lock holders of tests/test_libraries.py, in JavaScript: worker.mjs URL
// NAME. Prints a line of JSON for each step, and ends when its stdin does.
import { writeSync } from 'node:fs';
import { Client, LockHeld, LockLost } from '../../clients/javascript/patternd.js';

const [url, name] = process.argv.slice(2);
const client = new Client(url, { timeoutMs: 20000, attemptMs: 700 });
const stop = new AbortController();

const say = (step, more) => writeSync(1, `${JSON.stringify({ at: Number(process.hrtime.bigint()), step, ...more })}\n`);
const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 10));

async function send() {
  for (let number = 0; number < Number(process.env.MESSAGES) && !stop.signal.aborted; number++) {
    await client.queue('work').send(`${name}-${number}`);
    say('sent', { message: `${name}-${number}` });
    await pause();
  }
}

async function handle({ body: message }) {
  say('begin', { message });
  await pause();
  say('end', { message });
}

async function loop() {
  for await (const message of client.queue('work').messages({ stop: stop.signal, waitMs: 300, visibilityMs: 3000 })) {
    await handle(message);
  }
}

function work() {
  const options = { concurrency: 2, waitMs: 300, visibilityMs: 3000, stop: stop.signal };
  return client.queue('work').work(handle, options);
}

async function hold() {
  while (!stop.signal.aborted) {
    try {
      await client.lock('one', { ttlMs: 3000, waitMs: 500 }, async (lock) => {
        say('enter', { fence: lock.fence });
        await pause();
        say('leave', { fence: lock.fence, lost: lock.lost.aborted });
      });
    } catch (error) {
      if (error instanceof LockLost) {
        say('lost');
      } else if (!(error instanceof LockHeld)) {
        throw error;
      }
    }
  }
}

process.stdin.on('end', () => stop.abort()).resume();
await Promise.all(
  [send, loop, work, hold].map((role) =>
    role().catch((error) => {
      say('failed', { role: role.name, error: String(error) });
      process.exit(1);
    }),
  ),
);
