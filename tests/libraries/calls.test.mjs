// Tests how calls of the JavaScript client end: by their signal, by their time limit, or by a
// failure after which they may be repeated. Tests the ways to a daemon as well.
// `PATTERND=build/patternd node --test tests/libraries/`
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import dns from 'node:dns';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client, LockLost, Problem } from '../../clients/javascript/patternd.js';
import { daemon } from '../../clients/javascript/testing.js';
import { Gate, thrown, turns, until } from './gate.mjs';

let running, client;
const quiet = { warn: () => {} };
const run = promisify(execFile);

before(async () => {
  running = await daemon();
  client = running.client();
});

after(async () => {
  client.close();
  await running.stop();
});

async function gateOf(context) {
  const gate = await Gate.to(running.port);
  context.after(() => gate.shut());
  return gate;
}

/** Refusals that are decided before the body, in one attempt each. */
async function refusesEarly(c) {
  const refusals = { '/queues/early/messages': 'body_too_large', '/nowhere': 'unknown_path' };
  for (const [path, code] of Object.entries(refusals)) {
    const call = c._call('POST', path, { body: 'x'.repeat(8 << 20) });
    for (let n = 0; n < 10; n++) {
      assert.equal((await thrown(c._attempt(call, 10000))).error.code, code);
    }
  }
  const body = 'x'.repeat(1e6);
  await c.queue('early').send(body);
  const message = await c.queue('early').receive();
  assert.equal(message.body, body);
  await message.acknowledge();
}

const held = async (name) => (await client.request('GET', `/locks/${name}`)).body.held;

// Alone, since long bodies take the time of others.
test('an answer that comes before the body is read', async () => {
  await refusesEarly(client);
});

async function serve(context, server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

test('a long body is sent once, where none asks for it and where its answer is slow', async (context) => {
  for (const isAsked of [false, true]) {
    const server = createServer().on('checkContinue', (request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        setTimeout(() => response.end(String(Buffer.concat(parts).length)), isAsked ? 1500 : 0);
      });
      isAsked && response.writeContinue();
    });
    const c = new Client(await serve(context, server), { ...quiet, timeoutMs: 9000, attemptMs: 9000 });
    assert.equal((await c.request('POST', '/', 'x'.repeat(1e6))).body, '1000002');
    c.close();
  }
});

test('a page or a redirect is no answer: a proxy made it, and it grants nothing', async (context) => {
  const answers = { status_301: [301, 'none'], status_200: [200, 'unknown'], status_404: [404, 'none'] };
  for (const [code, [status, effect]] of Object.entries(answers)) {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'Content-Type': 'text/html', Location: 'https://x/' }).end('<p/>');
    });
    const c = new Client(await serve(context, server), { ...quiet, timeoutMs: 300 });
    for (const call of [() => c.lock('page'), () => c.queue('page').send(1), () => c.hold('page')]) {
      const { error } = await thrown(call());
      assert.equal(error.code, code);
      assert.ok([effect, 'none'].includes(error.effect), error.effect);
    }
    c.close();
  }
});

test('a body that a method does not have leaves the connection to the next call', async () => {
  const alone = running.client();
  assert.equal((await thrown(alone.request('DELETE', '/queues/zz', {}))).error.code, 'unexpected_body');
  await alone.queue('after').send('DELETE');
  assert.equal((await alone.request('OPTIONS', '/queues/zz', {})).status, 204);
  await alone.queue('after').send('OPTIONS');
  for (const method of ['GET', 'HEAD']) {
    assert.match((await thrown(alone.request(method, '/queues/zz', {}))).error.message, /has no body/);
    assert.equal((await alone.request(method, '/queues/zz', null)).status, 200);
  }
  alone.close();
});

// Alone, too.
test('https with an authority of its own and a client certificate; a Unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'patternd-'));
  const file = (name) => join(folder, name);
  for (const [name, subject] of [
    ['server', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
    ['client', 'subjectAltName=DNS:worker'],
  ]) {
    const paths = ['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)];
    const command = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ');
    await run('openssl', [...command, '-subj', `/CN=${name}`, '-addext', subject, ...paths]);
  }
  const tls = await daemon({
    options: [
      ['--tls-cert', file('server.crt'), '--tls-key', file('server.key'), '--tls-client-ca', file('client.crt')],
      ['--listen', `127.0.0.1:0,unix:${file('socket')}`],
    ].flat(),
  });
  try {
    const url = `https://localhost:${tls.port}`;
    const files = { caFile: file('server.crt'), certFile: file('client.crt'), keyFile: file('client.key') };
    const secure = new Client(url, files);
    const lock = await secure.lock('tls');
    const unix = new Client(`http+unix://${encodeURIComponent(file('socket'))}`);
    assert.equal((await unix.request('GET', '/locks/tls')).body.fence, lock.fence);
    await lock.release();
    for (const one of [secure, unix]) {
      await refusesEarly(one);
    }
    for (const options of [{}, { caFile: files.caFile }, { ...files, caFile: files.certFile }]) {
      const { error } = await thrown(new Client(url, { ...options, ...quiet, timeoutMs: 300 }).lock('tls'));
      assert.equal(error.code, 'no_connection');
    }
    const options = { ...quiet, timeoutMs: 3000 };
    const plainly = new Client(`http://localhost:${tls.port}`, options);
    assert.match((await thrown(plainly.queue('q').get())).error.detail, /is this address https:/);
    const securely = new Client(running.url.replace('http:', 'https:'), options);
    assert.match((await thrown(securely.queue('q').get())).error.detail, /is this address http:/);
    secure.close();
    unix.close();
  } finally {
    await tls.stop();
    rmSync(folder, { recursive: true });
  }
});

// Each test has its own names.
describe('calls', { concurrency: 20 }, () => {
  test('a signal ends each call that waits, with its reason, and closes its connection', async (context) => {
    const calls = {
      lock: (c, signal) => c.lock('a', { waitMs: 20000, signal }),
      hold: (c, signal) => c.hold('a', { waitMs: 20000, signal }),
      limit: (c, signal) => c.limit('a', { limit: 1, windowMs: 1000, waitMs: 20000, signal }),
      cached: (c, signal) => c.cached('a', { ttlMs: 1000, fill: () => 1, signal }),
      receive: (c, signal) => c.queue('a').receive({ waitMs: 20000, signal }),
      send: (c, signal) => c.queue('a').send(1, { signal }),
      getMessage: (c, signal) => c.queue('a').getMessage('b', { waitMs: 20000, signal }),
      listen: (c, signal) => c.listen('a', { signal }),
      publish: (c, signal) => c.publish('a', 1, { signal }),
      request: (c, signal) => c.request('GET', '/info', undefined, { signal }),
    };
    const reasons = [new RangeError('by the test'), null];
    const other = await Gate.to(undefined);
    context.after(() => other.shut());
    for (const [name, call, reason] of Object.entries(calls).flatMap((row) => reasons.map((one) => [...row, one]))) {
      const mute = await Gate.to(undefined);
      context.after(() => mute.shut());
      const controller = new AbortController();
      const ended = thrown(call(new Client(mute.url, quiet), controller.signal));
      await until(() => mute.sockets.size === 1, `${name} connects`);
      const [socket] = mute.sockets;
      controller.abort(reason);
      assert.equal((await ended).error, reason, name);
      await until(() => !mute.sockets.has(socket), `${name} closes its connection`);
      assert.equal((await thrown(call(new Client(other.url, quiet), controller.signal))).error, reason, name);
    }
    assert.equal(other.count, 0); // each had ended before it began
  });

  test('a waiter that is aborted leaves the wait queue', async () => {
    const first = await client.lock('line', { ttlMs: 60000 });
    const controller = new AbortController();
    const waits = thrown(client.lock('line', { waitMs: 20000, signal: controller.signal }));
    const waiters = async () => (await client.request('GET', '/locks/line/waiters')).body.items.length;
    await until(async () => (await waiters()) === 1, 'it waits');
    controller.abort();
    await waits;
    await until(async () => (await waiters()) === 0, 'it has left');
    await first.release();
    await until(async () => !(await held('line')), 'it is free');
  });

  for (const [how, options, spoil] of [
    ['a signal', {}, { delayMs: 60000 }],
    ['its time', { timeoutMs: 1000 }, { delayMs: 60000 }],
    ['a signal, while it may wait,', { waitMs: 20000 }, { delayMs: 60000 }],
    ['its time, with answers that are cut,', { timeoutMs: 1000 }, { isMute: true }],
  ]) {
    test(`what a call was granted when ${how} ended it is released`, async (context) => {
      const gate = await gateOf(context);
      const through = new Client(gate.url, quiet);
      const name = `given-up-${how}`;
      const queue = client.queue(name);
      await queue.send('a');
      const controller = new AbortController();
      const { signal } = controller;
      Object.assign(gate, spoil);
      const calls = [
        thrown(through.lock(name, { ttlMs: 60000, signal, ...options })),
        thrown(through.queue(name).receive({ visibilityMs: 60000, signal, ...options })),
      ];
      const path = `/locks/${encodeURIComponent(name)}`;
      const isHeld = async () => (await client.request('GET', path)).body.held;
      await until(async () => (await isHeld()) && (await queue.get()).inFlight === 1, 'both are granted');
      const { timeoutMs } = options;
      await (timeoutMs || controller.abort());
      for (const { error } of await Promise.all(calls)) {
        assert(timeoutMs ? error.effect === 'unknown' : error === signal.reason, error);
      }
      Object.assign(gate, { delayMs: 0, isMute: false });
      await until(async () => !(await isHeld()), 'the lock is free', 6000);
      await until(async () => (await queue.get()).ready === 1, 'the message is back', 6000);
      assert.equal((await queue.receive()).receives, 1);
    });
  }

  test('a call whose request did not leave sends nothing later', async (context) => {
    const gate = await gateOf(context);
    await gate.shut();
    const through = new Client(gate.url, quiet);
    const options = () => ({ timeoutMs: 5000, signal: AbortSignal.timeout(100) });
    const calls = [through.lock('unsent', options()), through.queue('unsent').receive(options())];
    await Promise.all(calls.map(thrown));
    await gate.open();
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(gate.count, 0);
  });

  // Ends a call that was sent.
  async function leaving(library, url) {
    const { Client } = await import(library);
    const signal = AbortSignal.timeout(200);
    await new Client(url).lock('left', { waitMs: 20000, signal }).catch((error) => console.log(error.name));
  }

  test('a call that ended keeps no program alive, and warns of nothing', async (context) => {
    const gate = await Gate.to(undefined);
    context.after(() => gate.shut());
    const library = new URL('../../clients/javascript/patternd.js', import.meta.url);
    const began = performance.now();
    const program = `(${leaving})(${JSON.stringify(library)}, ${JSON.stringify(gate.url)})`;
    const { stdout, stderr } = await run(process.execPath, ['-e', program]);
    assert.deepEqual([stdout, stderr], ['TimeoutError\n', '']);
    assert(performance.now() - began < 4500, `${performance.now() - began} ms`);
  });

  for (const [turn, count] of [
    ['microtask', 60],
    ['immediate', 60],
    ['timer', 15],
  ]) {
    test(`aborted at each ${turn}, a call leaves nothing held`, async () => {
      const queue = client.queue(`swept-${turn}`);
      const ids = Array.from({ length: count }, (_, n) => `m${n}`);
      await queue.sendMany(ids.map((id) => ({ body: id, id })));
      const done = [];
      for (let n = 0; n < count; n++) {
        const controller = new AbortController();
        const { signal } = controller;
        const settled = Promise.allSettled([
          client.lock(`swept-${turn}-${n}`, { ttlMs: 60000, waitMs: (n % 2) * 5000, signal }),
          queue.receive({ visibilityMs: 60000, waitMs: (n % 2) * 5000, signal }),
        ]);
        for (let i = 0; i < n; i++) {
          await turns[turn]();
        }
        controller.abort();
        const [lock, message] = (await settled).map(({ value }) => value);
        await lock?.release();
        if (message) {
          done.push(message.id);
          assert.equal(await message.acknowledge(), true);
        }
      }
      await until(async () => (await queue.get()).inFlight === 0, 'no message stays in flight', 8000);
      for (let n = 0; n < count; n++) {
        await until(async () => !(await held(`swept-${turn}-${n}`)), `lock ${n} is free`, 8000);
      }
      const { items } = (await client.request('GET', `/queues/${queue.name}/messages?limit=100`)).body;
      assert.deepEqual(items.map(({ id }) => id).sort(), ids.filter((id) => !done.includes(id)).sort());
      assert(items.every(({ receives }) => receives === 0));
    });
  }

  test('a receiver that is aborted takes no message along', async () => {
    const queue = client.queue('ghost');
    for (let i = 0; i < 20; i++) {
      const controller = new AbortController();
      const waits = thrown(queue.receive({ waitMs: 20000, signal: controller.signal }));
      setTimeout(() => controller.abort(), i % 5);
      await waits;
      await queue.send(i);
      const message = await queue.receive({ waitMs: 2000 });
      assert.deepEqual([message?.body, message?.receives], [i, 1]);
      await message.acknowledge();
    }
  });

  test('one lookup of a name is for all connections that wait for it', async (context) => {
    let count = 0;
    const { lookup } = dns;
    context.after(() => (dns.lookup = lookup));
    dns.lookup = (host, options, found) => {
      count += host === 'localhost';
      setTimeout(lookup, 300, host, options, found);
    };
    const named = new Client(running.url.replace('127.0.0.1', 'localhost'), quiet);
    const asked = [1, 2, 3].map(() => named.request('GET', '/readyz'));
    const ended = thrown(named.request('GET', '/readyz', undefined, { signal: AbortSignal.timeout(100) }));
    assert.deepEqual((await Promise.all(asked)).map(({ status }) => status), [200, 200, 200]);
    assert.equal((await ended).error.name, 'TimeoutError');
    assert.equal(count, 1);
    named.close();
  });

  test('the iterator stops at once while it waits', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 100);
    const began = performance.now();
    for await (const message of client.queue('idle').messages({ stop: stop.signal })) {
      assert.fail(message.body);
    }
    assert(performance.now() - began < 3000);
  });

  test('no call outlives its timeout', async (context) => {
    const gate = await gateOf(context);
    const through = new Client(gate.url, quiet);
    const lock = await through.lock('late', { ttlMs: 60000 });
    const hold = await through.hold('late-hold', { ttlMs: 60000 });
    await client.queue('late').send('a');
    const message = await through.queue('late').receive({ visibilityMs: 60000 });
    gate.sockets.forEach((socket) => socket.destroy());
    gate.target = undefined;
    through.timeoutMs = 400;
    const calls = {
      release: () => lock.release(),
      hold: () => hold.release(),
      acknowledge: () => message.acknowledge(),
      reject: () => message.reject(),
      extend: () => message.extend(),
      cached: () => through.cached('late', { ttlMs: 1000, fill: () => 1 }),
      acquire: () => through.lock('late-2'),
      listen: () => through.listen('late'),
      items: () => through.policies().next(),
    };
    for (const [name, call] of Object.entries(calls)) {
      const began = performance.now();
      await call().catch((error) => assert(error instanceof Problem, error));
      assert(performance.now() - began < 3000, `${name} took ${performance.now() - began} ms`);
    }
  });

  for (const [effect, spoil] of [
    ['none', (gate) => gate.shut()],
    ['unknown', async (gate) => (gate.isMute = true)],
  ]) {
    test(`what failed with the effect ${effect} can be repeated`, async (context) => {
      const gate = await gateOf(context);
      const through = new Client(gate.url, quiet);
      const queue = through.queue(`repeated-${effect}`);
      await queue.sendMany([{ body: 'acknowledge' }, { body: 'reject' }, { body: 'extend' }]);
      const messages = [];
      while (messages.length < 3) {
        messages.push(await queue.receive({ visibilityMs: 20000 }));
      }
      const calls = [
        () => messages[0].acknowledge(),
        () => messages[1].reject(60000, { reason: 'by the test' }),
        () => messages[2].extend(30000),
      ];
      through.close(); // a connection that ends when it is used again leaves the effect unknown
      await spoil(gate);
      through.timeoutMs = 1500; // for each of three attempts half a second
      for (const call of calls) {
        const { error } = await thrown(call());
        assert.deepEqual([error.effect, error.code], [effect, 'no_connection']);
      }
      through.timeoutMs = 30000;
      gate.isMute = false;
      if (effect === 'none') {
        await gate.open();
      }
      for (const call of calls) {
        assert.equal(await call(), true, String(call));
      }
      assert.deepEqual(
        messages.map((message) => message.lost.aborted),
        [false, false, false],
      );
      assert.deepEqual(await Promise.all([calls[0](), calls[1]()]), [false, false]); // they are settled
      const { ready, delayed, inFlight } = await queue.get();
      assert.deepEqual({ ready, delayed, inFlight }, { ready: 0, delayed: 1, inFlight: 1 });
      assert.equal(await messages[2].acknowledge(), true);
    });
  }

  test('a delivery is lost in time when its end could not be sent', async (context) => {
    const gate = await gateOf(context);
    const through = new Client(gate.url, quiet);
    await client.queue('lost').send('a');
    const message = await through.queue('lost').receive({ visibilityMs: 4000 });
    await gate.shut();
    through.timeoutMs = 300;
    await thrown(message.acknowledge());
    assert.equal(message.lost.aborted, false);
    const again = client.queue('lost').receive({ waitMs: 10000 });
    await until(() => message.lost.aborted, 'it is lost');
    assert.equal(await Promise.race([again, null]), null, 'it was delivered again before it was lost');
    assert.equal((await again).receives, 2);
    await gate.open();
    through.timeoutMs = 30000;
    assert.equal(await message.acknowledge(), false);
  });

  test('an extension for a shorter time is lost by that time', async () => {
    await client.queue('short').send('a');
    const message = await client.queue('short').receive({ visibilityMs: 60000, maxWorkMs: 0 });
    await message.extend(300);
    const again = client.queue('short').receive({ waitMs: 5000 });
    await until(() => message.lost.aborted, 'it is lost', 3000);
    assert.equal((await again).receives, 2);
  });

  test('a send may need its queue', async () => {
    const queue = client.queue('absent');
    const isAbsent = { detail: "queue 'absent' does not exist" };
    await assert.rejects(queue.send(1, { mustExist: true }), isAbsent);
    await assert.rejects(queue.sendMany([{ body: 1 }, { body: 2 }], { mustExist: true }), isAbsent);
    await queue.sendMany([{ body: 1 }, { body: 2 }]);
    await queue.sendMany([{ body: 1 }, { body: 2 }], { mustExist: true });
    assert.equal((await queue.get()).ready, 4);
  });

  test('annotations keep their names', async () => {
    const queue = client.queue('annotated');
    const annotations = { some_team: 'a', someOwner: 'b' };
    assert.deepEqual((await queue.put({ annotations })).settings.annotations, annotations);
    await queue.patch({ annotations: { someOwner: null } });
    const state = await queue.get();
    assert.deepEqual(state.settings.annotations, { some_team: 'a' });
    assert.ok(state.changedAtMs >= state.createdAtMs && state.createdAtMs > 1e12);
  });

  test('a duplicate is told from a retry', async () => {
    const queue = client.queue('deduped');
    const first = await queue.send(1, { dedupeId: 'd' });
    assert.equal(first.duplicate, false);
    const again = await queue.send(1, { dedupeId: 'd' });
    assert.deepEqual([again.duplicate, again.id, again.sequence], [true, first.id, first.sequence]);
    const message = await queue.receive();
    assert.deepEqual([message.dedupeId, message.sequence], ['d', first.sequence]);
    await message.acknowledge();
  });

  test('progress is shown; a delivery whose message is cancelled is lost', async () => {
    const queue = client.queue('cancelled');
    await queue.put({ resultMs: 60000 });
    await queue.sendMany([
      { body: 'a', id: 'a' },
      { body: 'b', id: 'b' },
    ]);
    const [first, second] = [await queue.receive(), await queue.receive({ visibilityMs: 3000 })];
    assert.equal(await first.extend(undefined, { percent: 40, note: 'page 4' }), true);
    assert.deepEqual((await queue.getMessage('a')).progress, { percent: 40, note: 'page 4' });
    await queue.deleteMessage('b', { inFlight: true });
    await until(() => second.lost.aborted, 'it is lost');
    assert.equal(second.lost.reason.code, 'message_cancelled');
    assert.equal(await second.acknowledge(), false);
    const answer = queue.getMessage('a', { waitMs: 5000 });
    assert.equal(await first.acknowledge({ page_count: 10 }), true);
    assert.deepEqual((await answer).result, { page_count: 10 });
    const { signal } = new AbortController();
    const asked = queue.send('c', { waitResultMs: 5000, signal });
    await (await queue.receive({ waitMs: 5000 })).acknowledge([1]);
    assert.deepEqual((await asked).result, [1]);
  });

  test('schedules, groups and policies need no raw request', async () => {
    const queue = client.queue('set-up');
    const put = await queue.putSchedule('nightly', { cron: '30 2 * * *', timeZone: 'Europe/Berlin', body: { a_b: 1 } });
    assert.deepEqual([put.timeZone, put.body, put.next.length], ['Europe/Berlin', { a_b: 1 }, 5]);
    await queue.patchSchedule('nightly', { everyMs: 60000, jitterMs: 10 });
    await queue.runSchedule('nightly');
    const message = await queue.receive();
    assert.deepEqual([message.body, message.schedule.id, message.schedule.requested], [{ a_b: 1 }, 'nightly', true]);
    await message[Symbol.asyncDispose](); // it was not settled, so it returns
    assert.equal((await queue.get()).delayed, 1);
    const listed = [];
    for (let n = 0; n < 3; n++) {
      await client.putPolicy(`policy-${n}`, { limit: 1, windowMs: 1000 });
    }
    for await (const { name } of client.policies({ query: { limit: 1 } })) {
      listed.push(name);
    }
    assert.deepEqual(listed.sort(), ['policy-0', 'policy-1', 'policy-2']);
    assert.equal((await client.patchPolicy('policy-0', { burst: 1 })).burst, 1);
    await client.deletePolicy('policy-0');
    assert.equal((await thrown(client.getPolicy('policy-0'))).error.code, 'not_found');
    await queue.deleteSchedule('nightly');
    assert.equal((await queue.schedules().next()).done, true);
    assert.ok((await queue.pause(60000)).pausedUntilMs > 0);
    assert.equal((await queue.pause()).pausedUntilMs, null);
    assert.equal((await queue.resume()).paused, false);
    const paused = await queue.pauseGroup('tenant-7', 60000);
    assert.deepEqual([paused.group, paused.reason], ['tenant-7', 'paused']);
    const groups = [];
    for await (const { group, reason } of queue.groups()) {
      groups.push([group, reason]);
    }
    assert.deepEqual(groups, [['tenant-7', 'paused']]);
    assert.equal((await queue.resumeGroup('tenant-7')).reason, null);
    await queue.delete();
  });

  test('a queue is purged, and its dead letters are redriven', async () => {
    const queue = client.queue('purged');
    await queue.sendMany(['a', 'b', 'c'].map((id) => ({ id, body: id, group: `group-${id}` })));
    for (let n = 0; n < 3; n++) {
      await (await queue.receive()).reject(undefined, { dead: true });
    }
    assert.deepEqual(await queue.redrive({ ids: ['b', 'd'] }), { name: 'purged', redriven: 1, duplicates: 0 });
    assert.equal((await queue.redrive({ limit: 1, to: 'purged-2', intervalMs: 1000 })).redriven, 1);
    assert.equal((await queue.redrive({ group: 'group-a' })).redriven, 0);
    assert.equal((await client.queue('purged-2').receive()).body, 'a');
    const { ready, dead } = await queue.get();
    assert.deepEqual([ready, dead], [1, 1]);
    assert.deepEqual(await queue.purge({ state: 'ready', group: 'group-b' }), { name: 'purged', purged: 1 });
    for (const call of [() => queue.purge({ stat: 'delayed' }), () => queue.redrive({ id: 'c' })]) {
      assert.equal((await thrown(call())).error.code, 'unknown_field');
    }
    const { signal } = new AbortController();
    assert.equal((await queue.purge({ signal, timeoutMs: 10000 })).purged, 1);
    assert.deepEqual([await queue.redrive(), (await queue.purge()).purged], [
      { name: 'purged', redriven: 0, duplicates: 0 },
      0,
    ]);
  });

  test('a first refused connection is one warning, and its end another', async () => {
    const warned = [];
    const closed = await Gate.to(running.port);
    const { url } = closed;
    await closed.shut();
    const c = new Client(url, { warn: (text) => warned.push(text), timeoutMs: 5000 });
    const sent = c.queue('warned').send('a');
    await until(() => warned.length === 1, 'it warns');
    assert.match(warned[0], new RegExp(`connection to ${url} fails.*ECONNREFUSED`));
    await new Promise((resolve) => setTimeout(resolve, 500)); // several attempts
    assert.equal(warned.length, 1);
    await closed.open();
    await sent;
    assert.match(warned[1], /works again/);
    assert.equal(warned.length, 2);
    c.close();
    await closed.shut();
  });

  test('a daemon for tests is ready whatever it logs, and at a Unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'patternd-'));
    const listen = `unix:${join(folder, 'socket')}`;
    const addresses = [];
    for (const options of [
      ['--log-level', 'error'],
      ['--log-format', 'text'],
      ['--listen', listen],
    ]) {
      const started = await daemon({ options });
      const asking = started.client();
      assert.equal((await asking.request('GET', '/readyz')).status, 200);
      addresses.push(started.port ?? started.url);
      asking.close();
      await started.stop();
    }
    assert.deepEqual(addresses.map(Number.isInteger), [true, true, false]);
    rmSync(folder, { recursive: true });
    const { error } = await thrown(daemon({ options: ['--log-level', 'loud'] }));
    assert.match(error.message, /has ended with 2[^]*loud/);
  });

  test('a held lock is free after it, and lost when its connection breaks', async (context) => {
    const gate = await gateOf(context);
    const hold = await client.hold('kept', { owner: 'test' });
    assert.equal(await held('kept'), true);
    await hold.release();
    assert.equal(await held('kept'), false);
    const through = new Client(gate.url, quiet);
    const broken = await through.hold('kept');
    gate.sockets.forEach((socket) => socket.destroy());
    await until(() => broken.lost.aborted, 'it is lost');
    assert((await thrown(broken.release())).error instanceof LockLost);
    const forced = await client.hold('forced', { ttlMs: 900 });
    await client.request('DELETE', '/locks/forced', undefined, { query: { force: true } });
    await until(() => forced.lost.aborted, 'it is lost');
  });

  test('a listener connects again, and yields a gap', async (context) => {
    const gate = await gateOf(context);
    const through = new Client(gate.url, quiet);
    const events = await through.listen(['prices', 'news.*']);
    await client.publish('prices', { price_in_cents: 1 });
    await client.publish('news.sport', [1]);
    const told = [(await events.next()).value, (await events.next()).value];
    assert.deepEqual(
      told.map(({ type, topic, body }) => [type, topic, body]),
      [
        ['message', 'prices', { price_in_cents: 1 }],
        ['message', 'news.sport', [1]],
      ],
    );
    gate.sockets.forEach((socket) => socket.destroy());
    assert.deepEqual((await events.next()).value, { type: 'gap' });
    await client.publish('prices', 2);
    assert.equal((await events.next()).value.body, 2);
    const waits = events.next();
    events.close();
    assert.equal((await waits).done, true);
    const controller = new AbortController();
    const others = await through.listen('prices', { signal: controller.signal });
    const ended = thrown(others.next());
    controller.abort();
    assert.equal((await ended).error.name, 'AbortError');
    assert.equal((await thrown(through.listen('a*b'))).error.code, 'invalid_name');
    through.close();
  });

  // Loads the library without node:http, as in a browser.
  async function byFetch(library, url) {
    delete globalThis.process;
    const { Client } = await import(library);
    const client = new Client(url, { warn: () => {} });
    const queue = client.queue('fetch');
    await client.lock('fetch', { ttlMs: 5000 }, () => queue.send({ n: 1 }));
    const stop = new AbortController();
    const seen = [];
    await queue.work(({ body }) => (seen.push(body.n), stop.abort()), { stop: stop.signal });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const { name } = await queue.receive({ waitMs: 20000, signal: controller.signal }).catch((error) => error);
    const hold = await client.hold('fetch-hold');
    const events = await client.listen('fetch');
    await client.publish('fetch', 2);
    seen.push((await events.next()).value.body, name, hold.lost.aborted);
    events.close();
    await hold.release();
    const refused = await new Client(`${url}/elsewhere`)
      .queue('q')
      .get()
      .catch((error) => error.code);
    const misused = await client.request('GET', '/queues/fetch', {}).catch((error) => error.name);
    console.log(JSON.stringify([...seen, refused, misused]));
  }

  test('address and token are by default those of the environment', async () => {
    const library = JSON.stringify(new URL('../../clients/javascript/patternd.js', import.meta.url));
    const program = `import(${library}).then(async ({ Client }) => console.log(await new Client().queue('q').get()))`;
    const env = { ...process.env, PATTERND_URL: running.url, PATTERND_TOKEN: 'no-token-is-needed' };
    assert.match((await run(process.execPath, ['-e', program], { env })).stdout, /name: 'q'/);
    env.PATTERND_URL = 'http://127.0.0.1:9';
    assert.rejects(run(process.execPath, ['-e', program], { env }), /127.0.0.1:9/);
  });

  test('where node:http is missing, calls go by fetch', async () => {
    const library = new URL('../../clients/javascript/patternd.js', import.meta.url);
    const program = `(${byFetch})(${JSON.stringify(library)}, ${JSON.stringify(running.url)})`;
    const { stdout } = await run(process.execPath, ['-e', program]);
    assert.deepEqual(JSON.parse(stdout), [1, 2, 'AbortError', false, 'unknown_path', 'TypeError']);
  });
});
