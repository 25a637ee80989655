// Rates per minute in /ui: no rate is shown before a whole minute was observed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Rates } from '../../web/ui/rates.js';

globalThis.matchMedia = () => new EventTarget(); // plot.js needs it when it is loaded
const { lately } = await import('../../web/ui/history.js');

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
