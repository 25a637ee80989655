// Tests what the JavaScript client promises, with a daemon. tests/test_libraries.py starts it.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { Client, LockHeld, LockLost, Problem } from '../../clients/javascript/patternd.js';

const { PATTERND_URL, PATTERND_BAD_WAY, PATTERND_QUORUM } = process.env;
const client = new Client(PATTERND_URL);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const lost = (signal) => signal.aborted || new Promise((resolve) => signal.addEventListener('abort', resolve));
const EMPTY = { ready: 0, delayed: 0, in_flight: 0, dead: 0 };

async function thrown(kind, work) {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    assert(error instanceof kind, error);
    return error;
  }
  assert.fail(`no ${kind.name}`);
}

/** How often any client has asked for a value or the ticket to make it. */
async function fills() {
  const lines = (await client.request('GET', '/metrics')).body.split('\n');
  const counted = lines.filter((line) => line.startsWith('patternd_http_requests_total{operation="cache_fill"'));
  return counted.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

async function assertState(name, counts = {}) {
  const { ready, delayed, in_flight, dead } = (await client.request('GET', `/queues/${name}`)).body;
  assert.deepEqual({ ready, delayed, in_flight, dead }, { ...EMPTY, ...counts }, name);
}

/**
 * Passes the messages of a queue to `work` until it returns true, and then leaves the loop by
 * `break`.
 */
async function loop(name, work, options) {
  for await (const message of client.queue(name).messages(options)) {
    if (await work(message)) {
      break;
    }
  }
}

const tests = {
  async lockIsKeptAndReleased() {
    const fence = await client.lock('kept', { ttlMs: 2400, owner: 'test' }, async (lock) => {
      await sleep(4000);
      assert(!lock.lost.aborted);
      const problem = await thrown(LockHeld, client.lock('kept', { waitMs: 50 }));
      assert.deepEqual([problem.code, problem.status, problem.effect], ['lock_held', 409, 'none']);
      assert(
        problem.retryAfter >= 1 &&
          problem.retryAfter <= 3 &&
          problem.body.holders[0].owner === 'test' &&
          problem.detail.includes('kept'),
      );
      return lock.fence;
    });
    const error = await thrown(
      RangeError,
      client.lock('kept', {}, (lock) => {
        assert(lock.fence > fence);
        throw new RangeError('by the test');
      }),
    );
    assert.equal(error.message, 'by the test');
    assert.equal((await client.request('GET', '/locks/kept')).body.held, false);
  },

  async lockWaits() {
    const first = await client.lock('waited', { ttlMs: 9000 });
    setTimeout(() => first.release(), 2600);
    const second = await client.lock('waited', { ttlMs: 2400, waitMs: 9000 }); // longer than its time to live
    await sleep(3000);
    assert(second.fence > first.fence && !second.lost.aborted);
    await second.release();
  },

  async lostLockIsReported() {
    const problem = await thrown(
      LockLost,
      client.lock('lost', { ttlMs: 6000 }, async (lock) => {
        await client.request('DELETE', '/locks/lost', undefined, { query: { force: true } });
        assert(await Promise.race([lost(lock.lost), sleep(4000).then(() => false)]), 'not reported in time');
      }),
    );
    assert.equal(problem.code, 'not_holder');
  },

  // Such a daemon refuses an Idempotency-Key: 400 idempotency_unavailable.
  async quorumLockGoesWithoutAKey() {
    const quorum = new Client(PATTERND_QUORUM);
    await quorum.lock('quorum', { ttlMs: 2400 }, async (lock) => {
      await sleep(4000);
      assert(lock.fence && !lock.lost.aborted);
      await thrown(LockHeld, quorum.lock('quorum'));
    });
    assert.equal((await quorum.request('GET', '/locks/quorum')).body.held, false);
  },

  async messagesAreAcknowledged() {
    const queue = client.queue('acknowledged');
    const traceparent = '00-0000000000000000000000000000000a-000000000000000b-01';
    const sent = await queue.send({ n: 1 }, { id: 'one', headers: { 'x-Tenant': 'acme' }, traceparent });
    assert.deepEqual(
      [sent.id, sent.duplicate, (await queue.send(null, { id: 'one' })).duplicate],
      ['one', false, true],
    );
    assert(sent.deliverAtMs > 1e12);
    await queue.sendMany([
      { body: null, priority: 9 },
      { body: 'late', delayMs: 300, priority: 9 },
    ]);
    const stop = new AbortController();
    const seen = [];
    for await (const message of queue.messages({ stop: stop.signal })) {
      seen.push(message.body);
      if (message.id === 'one') {
        const { headers, receives } = message;
        assert.deepEqual([headers, message.traceparent, receives], [{ 'x-Tenant': 'acme' }, traceparent, 1]);
      }
      if (message.body === 'late') {
        stop.abort();
      }
    }
    assert.deepEqual(seen, [{ n: 1 }, null, 'late']);
    await assertState('acknowledged');
  },

  async leftLoopsReject() {
    await client.request('PUT', '/queues/rejected', { backoff: { base_ms: 0, max_ms: 0 } });
    await client.queue('rejected').send('a');
    await thrown(
      RangeError,
      loop('rejected', () => {
        throw new RangeError('by the test');
      }),
    );
    await assertState('rejected', { ready: 1 });
    await loop('rejected', () => true);
    await assertState('rejected', { ready: 1 });
    const [told] = (await client.request('GET', '/queues/rejected/messages')).body.items;
    assert.deepEqual([told.receives, told.reason], [2, 'the loop ended']);
    await loop('rejected', (message) => message.reject(200, { reason: 'ü'.repeat(2000) }));
    await assertState('rejected', { delayed: 1 });
    await loop('rejected', async (message) => (await message.acknowledge()) && !(await message.acknowledge()));
    await assertState('rejected');
  },

  async workIsExtended() {
    const queue = client.queue('extended');
    await queue.send('slow');
    const slow = await queue.receive({ visibilityMs: 2400, worker: 'w-1' });
    const { body: inFlight } = await client.request('GET', `/queues/${queue.name}/messages?state=in_flight`);
    assert.deepEqual(inFlight.items.map(({ worker }) => worker), ['w-1']);
    await sleep(4000);
    assert(!slow.lost.aborted);
    await assertState('extended', { in_flight: 1 });
    assert(await slow.acknowledge());
    await queue.send('forgotten');
    const forgotten = await queue.receive({ visibilityMs: 200, maxWorkMs: 300 });
    await lost(forgotten.lost);
    assert(await (await queue.receive({ waitMs: 1000 })).acknowledge());
    assert.equal(await forgotten.acknowledge(), false);
    assert.equal(await forgotten.acknowledge(undefined, { late: true }), false);
  },

  async lateEndsCount() {
    const queue = client.queue('late');
    const backoff = { base_ms: 60000, max_ms: 60000 };
    await client.request('PUT', '/queues/late', { backoff, result_ms: 60000 });
    for (const end of [
      (message) => message.acknowledge(undefined, { late: true }),
      (message) => message.acknowledge({ n: 1 }, { late: true }),
      (message) => message.reject(60000, { reason: 'late', late: true }),
    ]) {
      await queue.send('late');
      const message = await queue.receive({ visibilityMs: 200, maxWorkMs: 300 });
      await lost(message.lost);
      await sleep(300);
      await assertState('late', { delayed: 1 });
      assert.equal(await message.reject(), false);
      assert(await end(message));
    }
    await assertState('late', { delayed: 1 });
    const [told] = (await client.request('GET', '/queues/late/messages?state=delayed')).body.items;
    assert.equal(told.reason, 'late');
  },

  async idleWorkerStops() {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 100);
    const began = performance.now();
    await loop('idle', () => assert.fail('a message'), { stop: stop.signal });
    assert(performance.now() - began < 4000);
    setTimeout(() => client.queue('idle').send('late'), 2600);
    const message = await client.queue('idle').receive({ waitMs: 9000, visibilityMs: 2400 }); // waits for longer
    await sleep(3000);
    assert(!message.lost.aborted && (await message.acknowledge()));
  },

  async limit() {
    const options = { limit: 1, windowMs: 60000 };
    const granted = await client.limit('user', options);
    assert.deepEqual([granted.allowed, granted.remaining, granted.retryAfterMs], [true, 0, null]);
    const refused = await client.limit('user', options);
    assert(!refused.allowed && refused.retryAfterMs > 59000 && refused.limit === 1);
    await client.request('PUT', '/ratelimit/policies/slow', { limit: 10, window_ms: 1000, burst: 1 });
    for (let i = 0; i < 2; i++) {
      const waited = await client.limit('user', { policy: 'slow', waitMs: 2000 });
      assert.deepEqual([waited.allowed, waited.limit, waited.windowMs, waited.capacity], [true, 10, 1000, 1]);
    }
  },

  async cached() {
    let calls = 0;
    const fill = async () => {
      calls++;
      await sleep(300);
      return { n: calls };
    };
    const asked = await fills();
    const values = await Promise.all(Array.from({ length: 8 }, () => client.cached('value', { ttlMs: 60000, fill })));
    assert.deepEqual(values, Array(8).fill({ n: 1 }));
    assert.equal(calls, 1);
    assert.equal(await fills(), asked + 8); // the others wait at the daemon, without asking again
    const failing = () => {
      throw new RangeError('by the test');
    };
    await thrown(RangeError, client.cached('failing', { ttlMs: 60000, fill: failing, fillMs: 100 }));
    assert.equal(await client.cached('failing', { ttlMs: 60000, fill: () => 2 }), 2);
    const slow = () => sleep(300).then(() => 3); // its ticket has expired
    assert.equal(await client.cached('slow', { ttlMs: 60000, fill: slow, fillMs: 100 }), 3);
    assert.equal(await client.cached('slow', { ttlMs: 60000, fill: () => 4 }), 4);
  },

  async problems() {
    const problem = await thrown(Problem, client.limit('user', { limit: 0, windowMs: 60000 }));
    assert.deepEqual([problem.code, problem.status, problem.effect], ['out_of_range', 400, 'none']);
    assert.equal(problem.body.errors[0].pointer, '/limit');
    assert.equal((await thrown(Problem, () => client.queue('..').send(1))).code, 'reserved_name');
    for (const name of ['a/b', 'ü', 'a b?c#d', '%2F']) {
      await client.queue(name).send(1);
      await assertState(encodeURIComponent(name), { ready: 1 });
    }
    await thrown(TypeError, () => new Client('redis://127.0.0.1'));
  },

  async deadlines() {
    await client.request('GET', '/healthz'); // the first call of fetch is slow
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const mute = new Client(`http://127.0.0.1:${silent.address().port}`, { timeoutMs: 400, attemptMs: 100 });
    let began = performance.now();
    let problem = await thrown(Problem, mute.queue('q').send(1));
    assert.deepEqual([problem.code, problem.effect, problem.repeated], ['no_connection', 'unknown', true]);
    assert(performance.now() - began < 2000);
    assert.equal((await thrown(Problem, mute.request('GET', '/x'))).effect, 'none');
    silent.close();
    const nothing = new Client(`http://127.0.0.1:${await freePort()}`, { timeoutMs: 1500 });
    began = performance.now();
    problem = await thrown(Problem, nothing.queue('q').send(1));
    assert.deepEqual([problem.code, problem.effect], ['no_connection', 'none']);
    assert(performance.now() - began < 2000);
  },

  // Each request is refused with Retry-After, then lost, then answered: see BadWay.
  async failuresAreRepeatedByTheirEffect() {
    const bad = new Client(PATTERND_BAD_WAY);
    await Promise.all([
      bad.lock('bad', { ttlMs: 20000 }, async () => {
        assert((await client.request('GET', '/locks/bad')).body.held);
      }),
      bad
        .queue('bad-sent')
        .send('a')
        .then(() => assertState('bad-sent', { ready: 1 })),
      // One was counted and not answered.
      bad.limit('bad', { limit: 5, windowMs: 60000 }).then(({ remaining }) => assert.equal(remaining, 3)),
      bad.cached('bad', { ttlMs: 60000, fill: () => 7 }).then((value) => assert.equal(value, 7)),
      client
        .queue('bad')
        .send('a')
        .then(async () => {
          assert(await (await bad.queue('bad').receive({ waitMs: 100 })).acknowledge());
          await assertState('bad');
        }),
    ]);
    assert.equal((await client.request('GET', '/locks/bad')).body.held, false);
    assert.equal(await client.cached('bad', { ttlMs: 60000, fill: () => 8 }), 7);
  },
};

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function run(name) {
  const began = performance.now();
  await tests[name]();
  console.log(`${name} ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

await run('deadlines'); // alone: they are short
await Promise.all(Object.keys(tests).map((name) => name !== 'deadlines' && run(name))); // they mostly wait
process.exit(0); // sockets that get no answer are still open
