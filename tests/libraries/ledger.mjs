// A program of tests/test_ledger.py, in JavaScript: ledger.mjs URL NAME. Until SIGTERM it sends,
// works the queue, holds a lock, and ends calls at random instants. Prints a line of JSON for each
// step.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, LockHeld, LockLost, Problem } from '../../clients/javascript/patternd.js';

const [url, name] = process.argv.slice(2);
const given = Object.fromEntries(Object.entries(process.env).map(([variable, value]) => [variable, Number(value)]));
const { MESSAGES, SECONDS, SLOW_SHARE, WORK_MS, CONCURRENCY, DRAIN_MS, VISIBILITY_MS, LOCK_TTL_MS } = given;
const client = new Client(url, { timeoutMs: 20000, attemptMs: 700, warn: (text) => say('warned', { text }) });
const other = new Client(url, { timeoutMs: 20000, attemptMs: 700, warn: () => {} });
const stop = new AbortController();
const random = (ms) => sleep(Math.random() * ms);

function say(step, more) {
  writeSync(1, `${JSON.stringify({ at: Number(process.hrtime.bigint()), step, by: name, ...more })}\n`);
}

/**
 * Sends a message until it is stored, however long requests fail. Because of its id it is stored
 * once.
 */
async function store(queue, message, options) {
  for (let isStored = false; !isStored; ) {
    isStored = await client
      .queue(queue)
      .send(message, { id: message, ...options })
      .catch(failed);
  }
  say('sent', { message });
}

/** A call may fail by an outage that is longer than its time limit. */
function failed(error) {
  if (error.effect !== 'none' && error.effect !== 'unknown') {
    throw error;
  }
}

async function send() {
  for (let number = 0; number < MESSAGES && !stop.signal.aborted; number++) {
    await store('work', `${name}-${number}`);
    await random((SECONDS * 2000) / MESSAGES);
  }
  say('sent all');
}

async function handle(message) {
  const told = { message: message.body, receipt: message.receipt, receives: message.receives };
  say('begin', told);
  message.lost.addEventListener('abort', () => say('lost', told));
  await random(Math.random() < SLOW_SHARE ? 2 * VISIBILITY_MS : WORK_MS);
  say('end', { ...told, lost: message.lost.aborted });
}

function work() {
  const options = { concurrency: CONCURRENCY, visibilityMs: VISIBILITY_MS, waitMs: 1000, drainMs: DRAIN_MS };
  return client.queue('work').work(handle, { ...options, stop: stop.signal });
}

/** Works the queue `plain` by single calls, each ended by its signal at a random instant. */
async function receive() {
  for (let number = 0; !stop.signal.aborted; number++) {
    await store('plain', `${name}-plain-${number}`, { priority: number % 10 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), Math.random() * 30);
    const options = { waitMs: 5000, visibilityMs: VISIBILITY_MS, signal: controller.signal };
    const received = await client.queue('plain').receive(options).catch(ended(controller));
    await (received && settle(received));
    await random(100);
  }
}

async function settle(message) {
  await handle(message);
  await message.acknowledge();
}

/** The error of an ended call is the reason of its signal. */
const ended = (controller) => (error) => {
  if (error !== controller.signal.reason && !(error instanceof Problem)) {
    throw error;
  }
  return null;
};

async function hold() {
  while (!stop.signal.aborted) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), Math.random() * 500);
    try {
      const lock = await client.lock('one', { ttlMs: LOCK_TTL_MS, waitMs: 5000, signal: controller.signal });
      clearTimeout(timer);
      const told = { fence: lock.fence };
      say('enter', told);
      lock.lost.addEventListener('abort', () => say('left', told));
      await random(50);
      say('left', told);
      await lock.release();
      await random(100);
    } catch (error) {
      if (!(error instanceof LockLost) && !(error instanceof LockHeld)) {
        ended(controller)(error);
      }
    }
  }
}

/** On a busy machine a lock may expire before its release, or before its answer arrives. */
function expired(error) {
  if (!(error instanceof LockLost)) throw error;
}

/** A lock that is acquired while its call is ended is free after its time to live. */
async function interrupt() {
  const lock = `interrupted-${name}`;
  while (!stop.signal.aborted) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), Math.random() * 4);
    const options = { ttlMs: LOCK_TTL_MS, signal: controller.signal };
    const acquired = await client.lock(lock, options).catch(ended(controller));
    await acquired?.release().catch(expired);
    const began = performance.now();
    const next = await other.lock(lock, { ttlMs: LOCK_TTL_MS, waitMs: 20000 }).catch(expired);
    if (next) {
      say('freed', { ms: performance.now() - began });
      await next.release().catch(expired);
    }
    await random(50);
  }
}

process.on('SIGTERM', () => stop.abort());
const roles = [send, work, hold, ...(process.env.INTERRUPTS ? [receive, interrupt] : [])];
await Promise.all(
  roles.map((role) =>
    role().catch((error) => {
      say('failed', { role: role.name, error: String(error) });
      process.exit(1);
    }),
  ),
);
say('done');
