// Rates per minute in /ui: no rate is shown before a whole minute was observed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Rates } from '../../web/ui/rates.js';

globalThis.matchMedia = () => new EventTarget(); // plot.js needs it when it is loaded
const { lately, samplesOf } = await import('../../web/ui/history.js');

const allowed = ({ total }) => total;
const samples = (...pairs) => pairs.map(([seconds, total]) => ({ at_ms: seconds * 1000, total }));

test('the history of a policy or a queue', () => {
  assert.equal(lately([], allowed), '–');
  assert.equal(lately(samples([0, 7]), allowed), '–');
  assert.equal(lately(samples([0, 7], [5, 7], [50, 9]), allowed), '–');
  assert.equal(lately(samples([0, 7], [30, 8], [60, 9]), allowed), '2');
  assert.equal(lately(samples([0, 0], [30, 8], [60, 9], [90, 18]), allowed), '10'); // since the sample at 30 s
  assert.equal(lately(samples([0, 7], [60, 7]), allowed), '0');
  assert.equal(lately(samples([0, 7], [60, 5]), allowed), '–'); // the counter began again
  assert.equal(lately(samples([0, 7], [200, 9]), allowed), '–'); // no sample of the latest minute
});

test('samples of two daemons are not mixed', async () => {
  const daemons = [1, 2].map((id) => ({
    started_at_ms: id,
    interval_ms: 5000,
    samples: samples([10 * id, id], [10 * id + 1, id]),
  }));
  let serving = daemons[0];
  const asked = [];
  const ask = async (_, where) => {
    const after = Number(/after_at_ms=(\d+)$/.exec(where)[1]);
    asked.push(after);
    return { ...serving, samples: serving.samples.filter(({ at_ms: at }) => at > after) };
  };
  const read = samplesOf({ ask }, '/queues/q', 3);
  assert.deepEqual((await read()).samples, daemons[0].samples);
  daemons[0].samples.push(...samples([12, 3], [13, 4]));
  assert.deepEqual((await read()).samples, daemons[0].samples.slice(-3));
  serving = daemons[1];
  assert.deepEqual((await read()).samples, daemons[1].samples);
  assert.deepEqual(asked, [0, 11_000, 13_000, 0]);
});

test('the list of queues', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const rates = new Rates();
  const look = (ms, ...queues) => {
    t.mock.timers.setTime(ms);
    rates.add(queues.map(([name, sent]) => ({ name, sent, ready: 0, blocked: 0, delayed: 0, in_flight: 0, dead: 0 })));
    return queues.map(([name]) => rates.words(name, 'sent'));
  };
  assert.deepEqual(look(0, ['old', 5]), ['–']);
  assert.deepEqual(look(30_000, ['old', 5], ['new', 1]), ['–', '–']);
  assert.deepEqual(look(60_000, ['old', 9], ['new', 1]), ['4', '–']);
  assert.deepEqual(look(90_000, ['old', 9], ['new', 4]), ['3', '3']);
});
