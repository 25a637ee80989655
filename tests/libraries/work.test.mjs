// Tests what queue.work of the JavaScript client promises (docs/adr/0029-work.md).
// `PATTERND=build/patternd node --test tests/libraries/`
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { format } from 'node:util';
import { Client, Problem } from '../../clients/javascript/patternd.js';
import { retryAfterMs } from '../../clients/javascript/outcomes.js';
import { daemon } from '../../clients/javascript/testing.js';
import { Gate, thrown, turns, until } from './gate.mjs';

let running, client;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const warned = [];
const stops = []; // of loops, also of tests that failed
const warn = (text, ...more) => warned.push([text, ...more].join(' '));
const warnedOf = (queue) => warned.filter((text) => text.includes(`'${queue}'`));
const alarms = []; // of Node.js, such as of durations that setTimeout does not take
process.on('warning', ({ name, message }) => name !== 'ExperimentalWarning' && alarms.push(message));

before(async () => {
  running = await daemon();
  client = running.client({ warn });
});

after(async () => {
  stops.forEach((stop) => stop.abort());
  client.close();
  await running.stop();
  assert.deepEqual(alarms, []);
});

/** Works a queue beside a test, until `end`. */
function working(queue, handler, options = {}) {
  const stop = new AbortController();
  stops.push(stop);
  const done = queue.work(handler, { signals: false, stop: stop.signal, ...options });
  done.catch(() => {}); // a test looks at it at its end
  return { done, end: () => (stop.abort(), done) };
}

async function filled(name, count, settings = {}) {
  const queue = client.queue(name);
  await queue.put({ backoff: { baseMs: 0, maxMs: 0 }, ...settings });
  for (let from = 0; from < count; from += 100) {
    const numbers = Array.from({ length: Math.min(100, count - from) }, (_, i) => from + i);
    await queue.sendMany(numbers.map((n) => ({ body: n, id: `m${n}` })));
  }
  return queue;
}

/** What programs throw and return at worst. */
const bad = {
  fail() {
    throw new Error('a hostile program');
  },
  proxy() {
    const { fail } = bad;
    return new Proxy(() => {}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail, apply: fail });
  },
  thrown() {
    const { fail } = bad;
    const errorWith = (member) => Object.defineProperty(new Error('by the test'), member, { get: fail });
    return {
      noPrototype: Object.create(null),
      toString: { toString: fail },
      toPrimitive: { [Symbol.toPrimitive]: fail },
      noText: { toString: () => ({}), valueOf: () => ({}) },
      name: errorWith('name'),
      message: errorWith('message'),
      stack: errorWith('stack'),
      cause: errorWith('cause'),
      inspect: { [Symbol.for('nodejs.util.inspect.custom')]: fail },
      proxy: bad.proxy(),
      symbol: Symbol('by the test'),
      undefined,
      null: null,
      empty: '',
      half: '\ud800'.repeat(2000),
      long: 'ü'.repeat(1e6),
    };
  },
  results() {
    const { fail } = bad;
    return {
      toJSON: { toJSON: fail },
      getter: Object.defineProperty({}, 'member', { get: fail, enumerable: true }),
      next: Object.defineProperty({}, 'next', { get: fail }),
      then: Object.defineProperty({}, 'then', { get: fail }),
      thenThrows: { then: fail },
      proxy: bad.proxy(),
      within: { deep: [{ toJSON: fail }] },
      nothing: { toJSON: () => undefined },
      throwsNull: { toJSON: () => Promise.reject.call(undefined) },
    };
  },
};

const isEmpty = async (queue) => {
  const { ready, delayed, inFlight, dead } = await queue.get();
  return ready + delayed + inFlight + dead === 0;
};

async function requests(operation) {
  const lines = (await client.request('GET', '/metrics')).body.split('\n');
  const counted = lines.filter((line) => line.startsWith(`patternd_http_requests_total{operation="${operation}"`));
  return counted.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

// Alone, since it counts requests.
test('a turn is one request: it settles and receives', async () => {
  const queue = await filled('turns', 20);
  const before = [await requests('queue_message_receive'), await requests('queue_delivery_settle')];
  const seen = [];
  const loop = working(queue, async (message) => seen.push(message.body) && sleep(300), {
    concurrency: 20,
    worker: 'test',
  });
  await until(() => seen.length === 20, 'all are received');
  await until(() => isEmpty(queue), 'all are done');
  await loop.end();
  const alone = await filled('turns-alone', 8);
  const slow = working(alone, () => sleep(60), { concurrency: 1, visibilityMs: 500 }); // nothing ahead
  await until(() => isEmpty(alone), 'all are done');
  await slow.end();
  const after = [await requests('queue_message_receive'), await requests('queue_delivery_settle')];
  // The first queue is received at once, and settled while a receive waits. In the second queue,
  // the receive of the next message settles the message before it.
  assert(after[0] - before[0] <= 1 + 1 + 8 + 4, `${after[0] - before[0]} receives`);
  assert(after[1] - before[1] <= 1 + 3, `${after[1] - before[1]} settles`);
});

// Alone, since it counts requests.
test('one request extends what is held, also what was received at other times', async () => {
  const queue = await filled('extended', 0);
  const counts = async () => [await requests('queue_delivery_list_extend'), await requests('queue_delivery_extend')];
  const before = await counts();
  const seen = [];
  const loop = working(queue, (message) => seen.push(message.body) && sleep(3000), {
    concurrency: 20,
    visibilityMs: 1500,
  });
  for (let n = 0; n < 20; n++) {
    await queue.send(n);
    await sleep(20);
  }
  await until(() => isEmpty(queue), 'all are done');
  await loop.end();
  const [extended, alone] = (await counts()).map((count, i) => count - before[i]);
  assert.equal(seen.length, 20, 'worked on twice');
  assert(extended >= 5 && extended <= 20 && alone === 0, `${extended} requests for 20 messages of 3 s, ${alone} of one`);
});

// Alone, since it counts requests.
test('a signal of the system stops it; a second one returns what runs, once', async () => {
  const queue = await filled('signalled', 2);
  let isLost = false;
  const loop = working(
    queue,
    ({ body, lost }) =>
      new Promise((resolve) => {
        if (body === 0) {
          resolve();
        }
        lost.addEventListener('abort', () => (isLost = true));
      }),
    { signals: true },
  );
  await until(async () => {
    const { inFlight, ready } = await queue.get();
    return inFlight === 1 && ready === 0;
  }, 'one runs');
  const before = await requests('queue_delivery_settle');
  process.kill(process.pid, 'SIGTERM');
  await sleep(300); // the last turn still waits; it must not receive what is returned
  assert.equal(isLost, false);
  process.kill(process.pid, 'SIGTERM');
  await loop.done;
  assert.equal(isLost, true);
  assert.equal((await queue.get()).ready, 1);
  assert.equal((await requests('queue_delivery_settle')) - before, 1);
  assert.equal(process.listenerCount('SIGTERM'), 0);
});

// Each test has its own names.
describe('work', { concurrency: 20 }, () => {
  test('as many at once as it may; what is fast is received ahead, in batches', async () => {
    const queue = await filled('fast', 2000);
    const seen = new Set();
    let atOnce = 0;
    let most = 0;
    const loop = working(queue, async (message) => {
      most = Math.max(most, ++atOnce);
      await null;
      seen.add(message.body);
      atOnce--;
    });
    await until(() => seen.size === 2000, 'all are worked on', 30000);
    await loop.end();
    assert.equal(most, 4);
    assert(await isEmpty(queue));
  });

  test('a worker is named by host and process, or as the program says', async () => {
    const usual = `${hostname()}/${process.pid}`;
    for (const [n, [worker, expected]] of [
      [undefined, usual],
      ['w-1', 'w-1'],
      [null, null],
      ['', null],
    ].entries()) {
      const queue = await filled(`named-${n}`, 3);
      const told = async () => {
        const { items } = (await client.request('GET', `/queues/${queue.name}/messages?state=in_flight`)).body;
        return items.length && items.map((item) => item.worker);
      };
      const received = await queue.receive({ worker });
      assert.deepEqual(await told(), [expected]);
      await received.acknowledge();
      for await (const message of queue.messages({ worker })) {
        assert.deepEqual(await told(), [expected]);
        await message.acknowledge();
        break;
      }
      const loop = working(queue, async () => assert.deepEqual(await told(), [expected]), { worker });
      await until(() => isEmpty(queue), 'all are done');
      await loop.end();
    }
  });

  test('what is slow is left for other workers', async () => {
    const queue = await filled('slow', 40);
    let most = 0;
    let count = 0;
    const loop = working(queue, async () => {
      count++;
      await sleep(200);
    });
    while (count < 20) {
      most = Math.max(most, (await queue.get()).inFlight);
      await sleep(20);
    }
    await loop.end();
    // 4 that run, what 4 do in 500 ms, and 4 whose acknowledgement is under way.
    assert(most >= 4 && most <= 4 + 10 + 4, `${most} in flight`);
  });

  test('a handler that throws rejects with its reason, and the loop goes on', async () => {
    const queue = await filled('throws', 3, { maxReceives: 2 });
    let count = 0;
    const loop = working(queue, ({ body }) => {
      count++;
      if (body === 1) {
        throw new RangeError('by the test');
      }
      if (body === 2) {
        throw new Error('\ud800'.repeat(2000)); // half a character is not JSON
      }
    });
    await until(async () => (await queue.get()).dead === 2, 'both are dead');
    await loop.end();
    assert.equal(count, 5);
    assert.match((await queue.getMessage('m1')).reason, /^RangeError: by the test/);
    assert.match((await queue.getMessage('m2')).reason, /^Error: \ufffd+/);
    assert.match(warnedOf('throws')[0], /its handler failed.*RangeError: by the test/);
  });

  for (const [name, warnOf] of [
    ['throws', () => bad.fail()],
    ['rejects', async () => bad.fail()],
    ['prints what it gets', format],
  ]) {
    test(`whatever a handler throws or returns, its slot lives on; warn ${name}`, async () => {
      const cases = [
        ...Object.values(bad.thrown()).map((value) => () => {
          throw value;
        }),
        ...Object.values(bad.results()).map((value) => () => value),
        async () => Promise.reject(Object.create(null)),
      ];
      const queue = await filled(`bad-${name.split(' ')[0]}`, cases.length, { maxReceives: 1 });
      const badly = new Client(running.url, { warn: warnOf }).queue(queue.name);
      const loop = working(badly, ({ body }) => cases[body]?.(), { concurrency: 1 });
      await until(async () => (await queue.get()).dead === cases.length, 'all are dead');
      await queue.send('good');
      await until(async () => (await queue.get()).ready === 0, 'the slot lives on');
      await loop.end();
      const { items } = (await client.request('GET', `/queues/${queue.name}/messages?state=dead&limit=100`)).body;
      const isReason = (text) => /^[^;]{3,1000}; max_receives$/.test(text); // the daemon adds the end
      assert.deepEqual(items.filter(({ reason }) => !isReason(reason)).map(({ reason }) => reason), []);
    });
  }

  test('toJSON of a result runs once', async () => {
    const queue = await filled('once', 1, { resultMs: 60000 });
    let count = 0;
    const toJSON = () => (count++ ? bad.fail() : { n: 1 });
    const loop = working(queue, () => ({ toJSON }));
    await until(() => isEmpty(queue), 'it is done');
    await loop.end();
    assert.deepEqual((await queue.getMessage('m0', { waitMs: 1000 })).result, { n: 1 });
  });

  test('a slot that dies ends the loop, with its error', async () => {
    const queue = await filled('dying', 3);
    const { done } = working(queue, (message) => {
      message.id = Object.create(null); // the client cannot name it
      throw new Error('by the test');
    });
    const { error, ms } = await thrown(done);
    assert(error instanceof TypeError && ms < 5000, `${error} after ${ms} ms`);
    await until(async () => (await queue.get()).ready === 3, 'all are back');
  });

  test('a message that the handler settled is left alone', async () => {
    const queue = await filled('own', 3);
    const loop = working(queue, async (message) => {
      if (message.body === 0) {
        await message.acknowledge();
        throw new Error('too late');
      } else if (message.body === 1) {
        message.reject(60000); // not awaited
      } else {
        await message.reject(undefined, { dead: true });
      }
    });
    await until(async () => (await queue.get()).dead === 1, 'one is dead');
    await until(async () => (await queue.get()).delayed === 1, 'one is delayed');
    await loop.end();
    const { ready, inFlight } = await queue.get();
    assert.deepEqual([ready, inFlight], [0, 0]);
  });

  test('results are kept; one that cannot be keeps no other from being settled', async () => {
    const queue = await filled('results', 5, { resultMs: 60000 });
    const results = [{ closed_by: 'test' }, 'x'.repeat(70000), '\ud800', null, 0];
    const loop = working(queue, ({ body }) => results[body]);
    await until(() => isEmpty(queue), 'all are done');
    await loop.end();
    const kept = [];
    for (let n = 0; n < results.length; n++) {
      kept.push((await queue.getMessage(`m${n}`, { waitMs: 1000 })).result);
    }
    assert.deepEqual(kept, [{ closed_by: 'test' }, null, null, null, 0]);
    assert.equal(warnedOf('results').length, 2, warnedOf('results'));
  });

  test('no message is done without work', async () => {
    const cycle = {};
    cycle.self = cycle;
    function* generator() {}
    const returned = [generator(), (async function* () {})(), 10n, Symbol('s'), () => {}, cycle];
    for (const handler of [generator, async function* () {}, (message, done) => done(message), undefined]) {
      await assert.rejects(
        client.queue('undone').work(handler, { signals: false }),
        TypeError,
      );
    }
    const queue = await filled('undone', returned.length, { maxReceives: 1 });
    const loop = working(queue, ({ body }) => returned[body]);
    await until(async () => (await queue.get()).dead === returned.length, 'all are dead');
    await loop.end();
  });

  test('a stop returns what has not begun, uncounted', async () => {
    const queue = await filled('unbegun', 60, { maxReceives: 1 }); // a delivery that counts is the last
    const seen = [];
    let goOn;
    const going = new Promise((resolve) => (goOn = resolve));
    const loop = working(
      queue,
      ({ body }) => {
        seen.push(body);
        return body < 10 ? null : going;
      },
      { concurrency: 2 },
    );
    const held = async () => (await queue.get()).inFlight;
    await until(async () => seen.length === 12 && (await held()) === 50, 'all are held, and two run');
    const done = loop.end();
    await until(async () => (await held()) === 2, 'what has not begun is returned');
    const { items } = (await client.request('GET', '/queues/unbegun/messages?limit=100')).body;
    assert.deepEqual(
      items.map(({ body, receives }) => [body, receives]),
      Array.from({ length: 48 }, (_, n) => [n + 12, 0]),
    );
    goOn();
    await done;
    const { inFlight, ready, dead } = await queue.get();
    assert.deepEqual([inFlight, ready, dead, seen.length], [0, 48, 0, 12]);
  });

  for (const [turn, count] of [
    ['microtask', 40],
    ['immediate', 40],
    ['timer', 30],
  ]) {
    test(`no handler begins after a stop, at each ${turn}`, async () => {
      const queue = await filled(`instants-${turn}`, 600, { maxReceives: 1 }); // a delivery that counts is the last
      const handled = new Set();
      let isStopped;
      const handler = async ({ body }) => {
        assert(!isStopped, 'it began late');
        handled.add(body);
        await sleep(5);
      };
      for (let n = 0; n < count; n += 2) {
        isStopped = false;
        const loop = working(queue, handler, { visibilityMs: 20000 });
        for (let i = 0; i < n; i++) {
          await turns[turn]();
        }
        isStopped = true;
        const began = performance.now();
        await loop.end();
        assert(performance.now() - began < 3000, `stopped after ${n}: ${performance.now() - began} ms`);
      }
      await until(async () => (await queue.get()).inFlight === 0, 'nothing stays in flight');
      const { ready, dead } = await queue.get();
      assert.equal(ready + dead, 600 - handled.size); // what was not worked on is there
      assert(dead <= 4, `${dead} are dead`); // on a busy machine the answer of a turn may come too late
    });
  }

  test('messages that a stop finds at their first extension are returned', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    const queue = await filled('doubtful', 20);
    const through = new Client(gate.url, { warn });
    gate.delayMs = 2100; // less than a third of the visibility is left for sure
    const extensions = await requests('queue_delivery_extend');
    const options = { visibilityMs: 3000, concurrency: 20 };
    const loop = working(through.queue('doubtful'), () => assert.fail('it began'), options);
    await until(async () => (await requests('queue_delivery_extend')) > extensions, 'it is extended');
    gate.delayMs = 0;
    await loop.end();
    await until(async () => (await queue.get()).ready === 20, 'all are back');
    assert.equal((await queue.receive()).receives, 1);
  });

  test('in an outage it ends within drainMs and 2 s', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    const through = new Client(gate.url, { warn: () => {} });
    for (const [n, spoil] of [() => gate.shut(), () => gate.freeze()].entries()) {
      const name = `outage-${n}`;
      await filled(name, 2);
      const goOn = new AbortController();
      let begun = 0;
      const handler = ({ body }) =>
        ++begun && body === 0 && new Promise((resolve) => goOn.signal.addEventListener('abort', resolve));
      const loop = working(through.queue(name), handler, { concurrency: 1, drainMs: 500, visibilityMs: 60000 });
      await until(() => begun, 'it runs');
      await spoil();
      goOn.abort();
      await sleep(100); // its end is being sent
      const began = performance.now();
      await loop.end();
      const ms = performance.now() - began;
      assert(ms > 2300 && ms < 4500, `${ms} ms`);
      await gate.thaw();
    }
  });

  test('in an outage it ends at once if it holds nothing', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    const through = new Client(gate.url, { warn: () => {} });
    for (const spoil of [() => gate.shut(), () => gate.freeze()]) {
      const loop = working(through.queue('outage-idle'), () => assert.fail('a message'));
      await sleep(200);
      await spoil();
      await sleep(1000); // it pauses, or waits for an answer
      const began = performance.now();
      await loop.end();
      const ms = performance.now() - began;
      assert(ms < 2000, `${ms} ms`);
      await gate.thaw();
    }
  });

  test('what could not be sent is tried again until the limit', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    const queue = await filled('retried', 1);
    const through = new Client(gate.url, { warn: () => {} });
    let goOn;
    const loop = working(through.queue('retried'), () => new Promise((resolve) => (goOn = resolve)));
    await until(() => goOn, 'it runs');
    await gate.shut();
    goOn();
    const done = loop.end();
    await sleep(5500);
    assert.equal((await queue.get()).inFlight, 1);
    await gate.open();
    await done;
    assert(await isEmpty(queue));
  });

  // Extends a message in an outage when it gets two signals.
  async function outlived(library, url) {
    const { Client } = await import(library);
    const queue = new Client(url, { warn: () => {} }).queue('outlived');
    await queue.work(() => console.log('begun') ?? new Promise(() => {}), { visibilityMs: 9000, drainMs: 60000 });
    console.log('ended');
  }

  test('a second signal ends it within 2 s, and its program then', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    await filled('outlived', 1);
    const library = new URL('../../clients/javascript/patternd.js', import.meta.url);
    const program = `(${outlived})(${JSON.stringify(library)}, ${JSON.stringify(gate.url)})`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    context.after(() => child.kill('SIGKILL'));
    const told = {};
    child.stdout.on('data', (data) => (told[String(data).trim()] = performance.now()));
    await until(() => told.begun, 'it runs');
    await gate.freeze();
    await sleep(3500); // an extension is under way
    child.kill('SIGTERM');
    await sleep(300);
    assert.equal(told.ended, undefined);
    const began = performance.now();
    child.kill('SIGTERM');
    await once(child, 'exit');
    const exited = performance.now();
    assert(told.ended - began < 3500, `${told.ended - began} ms`);
    assert(exited - told.ended < 1500, `the program lived ${exited - told.ended} ms longer`);
  });

  test('it obeys a Retry-After of up to a minute', () => {
    const waits = [null, 3, 86400].map((retryAfter) => retryAfterMs({ retryAfter }));
    assert.deepEqual(waits, [0, 3000, 60000]);
  });

  test('a stop takes no more, and finishes what runs', async () => {
    const queue = await filled('stopped', 50);
    const begun = [];
    const ended = [];
    const loop = working(queue, async ({ body }) => {
      begun.push(body);
      await sleep(50);
      ended.push(body);
    });
    await until(() => begun.length >= 20, 'it works');
    await loop.end();
    await until(async () => (await queue.get()).inFlight === 0, 'what the last turn took is back');
    const { ready, delayed } = await queue.get();
    assert.equal(delayed, 0);
    assert.deepEqual([...begun].sort(), [...ended].sort());
    assert(ended.length < 50 && ended.length + ready === 50, `${ended.length} and ${ready}`);
    const { items } = (await client.request('GET', '/queues/stopped/messages')).body;
    assert(items.every(({ receives }) => receives === 0));
  });

  test('an idle loop stops at once', async () => {
    const loop = working(client.queue('idle'), () => assert.fail('a message'));
    await sleep(100);
    const began = performance.now();
    await loop.end();
    assert(performance.now() - began < 3000);
    await client.queue('idle').send(1);
    assert.equal((await client.queue('idle').receive()).receives, 1); // the loop took nothing along
  });

  test('at the limit of a stop what still runs is told, and all go back', async () => {
    const queue = await filled('limited', 3, { maxReceives: 1 });
    const told = [];
    let begun = 0;
    const loop = working(
      queue,
      (message) =>
        new Promise(() =>
          ++begun && message.lost.addEventListener('abort', () => {
            told.push(message.lost.reason.detail);
          }),
        ),
      { concurrency: 2, drainMs: 200 },
    );
    await until(() => begun === 2, 'two run');
    const began = performance.now();
    await loop.end();
    assert(performance.now() - began < 5000);
    assert.equal(told.length, 2);
    assert.match(told[0], /the worker stopped/);
    const { items } = (await client.request('GET', '/queues/limited/messages')).body;
    assert.deepEqual(
      items.map(({ receives, reason }) => [receives, reason]),
      Array(3).fill([0, null]),
    );
  });

  test('it goes on after an outage, and warns of it once', async (context) => {
    const gate = await Gate.to(running.port);
    context.after(() => gate.shut());
    const told = [];
    const through = new Client(gate.url, { warn: (text) => told.push(text) });
    const queue = await filled('outage', 30);
    const seen = [];
    const loop = working(through.queue('outage'), async ({ body }) => seen.push(body) && sleep(20), {
      visibilityMs: 20000,
    });
    await until(() => seen.length >= 5, 'it works');
    await gate.freeze();
    await sleep(300); // a turn is under way, whose effect is unknown
    await gate.shut();
    const count = seen.length;
    await sleep(1500);
    assert(seen.length - count <= 4 + 100, 'what was received ahead');
    await gate.thaw();
    await until(() => isEmpty(queue), 'all are done');
    await loop.end();
    through.close();
    assert.equal(new Set(seen).size, 30);
    assert.equal(seen.length, 30, 'a message was worked on twice');
    assert.equal(told.length, 2, told.join('\n'));
    assert.match(told.join('\n'), /^the connection to .* fails.*\nthe connection to .* works again/);
  });

  test('what repetition cannot mend ends it', async () => {
    const lost = new Client(`${running.url}/elsewhere`, { warn });
    const { error, ms } = await thrown(lost.queue('q').work(() => {}, { signals: false }));
    assert(error instanceof Problem && error.code === 'unknown_path' && ms < 3000);
    await assert.rejects(
      client.queue('q').work(() => {}, { concurrency: 0 }),
      RangeError,
    );
    await assert.rejects(client.queue('q').work(undefined), TypeError);
  });

  test('a handler is told in time that its message is lost', async () => {
    const queue = await filled('lost', 1);
    const times = {};
    const loop = working(
      queue,
      async ({ lost }) => {
        times.began = performance.now();
        lost.addEventListener('abort', () => (times.lost = performance.now()));
        await until(() => times.lost, 'it is lost');
      },
      { visibilityMs: 900 },
    );
    await until(() => times.began, 'it runs');
    await client.request('POST', '/queues/lost/purge', {});
    await until(() => times.lost, 'it is told');
    await loop.end();
    assert(await isEmpty(queue));
  });

  test('what runs for long, or waits behind it, is extended', async () => {
    const queue = await filled('long', 6);
    const seen = [];
    const loop = working(
      queue,
      async ({ body, lost }) => {
        await sleep(body === 3 ? 5000 : 1); // the first are fast, so more are received ahead
        seen.push([body, lost.aborted]);
      },
      { visibilityMs: 2000, concurrency: 1 },
    );
    await until(() => isEmpty(queue), 'all are done');
    await loop.end();
    assert.deepEqual(
      seen,
      [0, 1, 2, 3, 4, 5].map((n) => [n, false]),
    );
  });
});
