// /ui while looks fail: what is shown is marked as of an earlier time, whatever else is reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { api, begin, go, row, rowHas, shows, SLOW } from './data.mjs';
import { redisOf } from './stage.mjs';

const hides = (locator) => locator.waitFor({ state: 'hidden' });

test('a look that fails is shown beside the problem of an action, and what is shown is stale', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const redis = await redisOf(stage.daemon);
  await page.addInitScript(() => {
    let real;
    window.plots = [];
    const kept = { construct: (made, args) => (window.plots.push(Reflect.construct(made, args)), window.plots.at(-1)) };
    Object.defineProperty(window, 'uPlot', { get: () => new Proxy(real, kept), set: (made) => (real = made) });
  });
  await page.reload();
  await go(page, 'queues', 'plain');
  await shows(page.locator('figure canvas').first());
  for (let i = 0; i < 2; i++) await page.getByRole('button', { name: 'Run now plain nightly', exact: true }).click();
  const refused = page.getByRole('alert').filter({ hasText: 'is not done' });
  const failing = page.getByRole('alert').filter({ hasText: /Redis/ });
  const asOf = page.getByText(/^What is shown is as of \d\d:\d\d:\d\d\.$/);
  const faded = page.locator('#view.stale');
  await shows(refused);
  process.kill(redis, 'SIGSTOP');
  try {
    await shows(failing);
    await shows(refused);
    await shows(asOf);
    await shows(faded);
    await page.waitForFunction(() => {
      const { scales, data } = window.plots.at(-1);
      return scales.x.max > data[0].at(-1) + 10; // the axis continues
    });
  } finally {
    process.kill(redis, 'SIGCONT');
  }
  await hides(failing);
  await hides(asOf);
  await hides(faded);
  await shows(refused);
});

test('what a lost daemon has shown is stale until the next look', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await go(page, 'locks');
  await rowHas(page, 'plain', 'exclusive');
  await page.route(/\/(locks|healthz)/, (route) => route.abort());
  await shows(page.getByText('patternd does not answer, trying again.'));
  await shows(page.getByText(/^What is shown is as of /));
  await shows(page.locator('#view.stale'));
  await page.unroute(/\/(locks|healthz)/);
  await hides(page.locator('#view.stale'));
  await hides(page.getByText(/^What is shown is as of /));
  assert.deepEqual(stage.foreign, []);
});

test('a history that fails does not hide the rest of the page', SLOW, async (t) => {
  const { page } = await begin(t);
  await go(page, 'locks', 'plain');
  await shows(page.locator('figure canvas'));
  const problem = { status: 500, code: 'internal', title: 'Internal', detail: 'the history is broken' };
  await page.route(/\/history/, (route) =>
    route.fulfill({ status: 500, contentType: 'application/problem+json', json: problem }),
  );
  await shows(page.getByRole('alert').filter({ hasText: 'the history is broken' }));
  await shows(page.locator('.plots.stale'));
  await go(page, 'queues', 'plain', 'dead');
  await shows(page.getByRole('alert').filter({ hasText: 'the history is broken' }));
  await shows(row(page, 'plain ready'));
  await page.unroute(/\/history/);
  await hides(page.getByRole('alert').filter({ hasText: 'the history is broken' }));
});
