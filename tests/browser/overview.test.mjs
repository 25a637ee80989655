// /ui: the overview shows what needs attention, has a history as soon as it is opened, and fits the
// screen.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { open, redisOf } from './stage.mjs';

const SLOW = { timeout: 120_000 };

/** Sends a request to the daemon; a status that is not in the list fails the test. */
async function api(url, method, path, body, ...statuses) {
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok || statuses.includes(answer.status), `${method} ${path}: ${answer.status}`);
  return answer.json();
}

/** A queue with `count` dead letters. */
async function fail(url, queue, count) {
  await api(url, 'POST', `/queues/${queue}/messages`, { messages: Array(count).fill({ body: 1 }) });
  const { messages } = await api(url, 'POST', `/queues/${queue}/receive`, { limit: count });
  for (const { receipt } of messages)
    await api(url, 'POST', `/queues/${queue}/deliveries/${receipt}/reject`, { dead: true });
}

/** A queue with dead letters, one with an old message, a lock with a waiter, a full limit. */
async function trouble(url) {
  await fail(url, 'dead', 2);
  await api(url, 'POST', '/queues/old/messages', { body: 1 });
  await api(url, 'POST', '/locks/busy', { ttl_ms: 600_000 });
  for (let i = 0; i < 20; i++)
    await api(url, 'POST', '/ratelimit', { key: 'k', limit: 1, window_ms: 600_000 }, 429);
}

/** Waits for a lock until the daemon ends. */
const wait = (url) => api(url, 'POST', '/locks/busy', { ttl_ms: 1000, wait_ms: 30_000 }, 409, 503).catch(() => {});

const tile = (page, title) =>
  page.locator('.attention > div', { has: page.locator('dt', { hasText: new RegExp(`^${title}$`) }) });
const has = (page, title, text) => tile(page, title).filter({ hasText: text }).waitFor({ state: 'visible' });
const samplesOf = async (url) => (await api(url, 'GET', '/info/history')).samples;

async function until(condition) {
  const deadline = Date.now() + 30_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, 'it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('what needs a person comes first', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await trouble(stage.url);
  wait(stage.url);
  await until(async () => (await api(stage.url, 'GET', '/locks/busy')).waiter_count === 1);
  await until(async () => (await samplesOf(stage.url)).some((one) => one.refusals_per_second > 0));
  const page = await stage.visit('/ui');
  const finding = page.locator('.findings li', { hasText: 'Dead letters' });
  await finding.filter({ hasText: '2 messages' }).waitFor({ state: 'visible' });
  assert.equal(await finding.getByRole('link', { name: 'dead' }).getAttribute('href'), '#/queues/dead/dead');
  await has(page, 'Dead letters', 'in 1 of 2 queues');
  await has(page, 'Messages due', '1');
  await has(page, 'Waiting for locks', '1 lock held');
  await has(page, 'Refusals / s', /[0-9]/);
  await has(page, 'Errors / s', '0');
  await has(page, 'Redis', 'answers');
  await has(page, 'Memory of Redis', /[KM]iB/);
  await has(page, 'Requests / s', /to this daemon, 99 % within/);
  for (const title of ['Refusals / s', 'Errors / s']) await has(page, title, 'by this daemon');
  stage.assertClean();
});

test('an empty daemon reports that it is empty', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const page = await stage.visit('/ui');
  await has(page, 'Dead letters', 'in 0 of 0 queues');
  await has(page, 'Waiting for locks', '0 locks held');
  const calm = page.getByText(/^Nothing needs a person\. Looked at .* Other daemons,/);
  await calm.waitFor({ state: 'visible' });
  assert.match(await calm.locator('time').getAttribute('title'), /^\d{4}-\d\d-\d\d .* UTC$/);
  stage.assertClean();
});

test('a page just opened has a past, and asks for new samples only', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await until(async () => (await samplesOf(stage.url)).length >= 2);
  const page = await stage.visit('/healthz');
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  const polls = () => asked.filter(({ pathname }) => pathname === '/info/history');
  await page.goto(`${stage.url}/ui`);
  await page.locator('.plots canvas').nth(3).waitFor({ state: 'visible' });
  await page.getByText(/^Times in /).waitFor({ state: 'visible' });
  assert.equal(polls()[0].searchParams.get('after_at_ms'), '0');
  await until(() => polls().length >= 3);
  assert.ok(Number(polls()[2].searchParams.get('after_at_ms')) > 0);
  assert.equal(asked.filter(({ pathname }) => pathname === '/queues').length, 0); // only the daemon reads them
  const hide = (hidden) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  await page.waitForTimeout(200);
  const before = polls().length;
  await page.waitForTimeout(4500);
  assert.equal(polls().length, before); // a hidden page sends no polls
  await Promise.all([page.waitForResponse(/\/info\/history/), hide(false)]);
  stage.assertClean();
});

test('lists that a token may not read are named, and the rest is shown', SLOW, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'patternd-tokens-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const digest = createHash('sha256').update('informed').digest('hex');
  await writeFile(join(folder, 'tokens'), `${digest} info:read\n`);
  const stage = await open('--tokens', join(folder, 'tokens'));
  t.after(() => stage.close());
  const page = await stage.visit('/healthz');
  await page.evaluate(() => sessionStorage.setItem('patternd-token', 'informed'));
  await page.goto(`${stage.url}/ui`);
  await has(page, 'Redis', 'answers');
  for (const title of ['Dead letters', 'Messages due', 'Waiting for locks'])
    await has(page, title, /not known.*'(queues|locks):list'/s);
  await page.locator('.findings li.unknown', { hasText: "'queues:list'" }).waitFor({ state: 'visible' });
  assert.equal(await page.getByText('Nothing needs a person').isVisible(), false);
});

test('many findings of a kind are one row, which opens, and a page has all', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  for (let n = 0; n < 25; n++) await fail(stage.url, `q${n}`, 1);
  const page = await stage.visit('/ui');
  const row = page.locator('.findings li', { hasText: 'Dead letters' });
  await row.filter({ hasText: '25 messages' }).waitFor({ state: 'visible' });
  assert.equal(await page.locator('.findings li').count(), 1);
  await row.getByRole('button', { name: '25 queues' }).click();
  assert.equal(await page.locator('.findings li.part').count(), 21);
  await page.getByRole('link', { name: 'All 25' }).click();
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor({ state: 'visible' });
  await until(async () => (await page.locator('.findings li').count()) === 25);
  await page.getByRole('link', { name: 'Back to the overview' }).click();
  await row.getByRole('button', { name: '25 queues' }).waitFor({ state: 'visible' });
  stage.assertClean();
});

test('sums are of all queues, also of those beyond the 500 that are listed', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  for (let n = 0; n < 520; n++) await api(stage.url, 'PUT', `/queues/a-${n}`, {});
  await fail(stage.url, 'zz-payments', 3);
  const page = await stage.visit('/ui#/queues');
  const sum = page.locator('.tiles > div', { has: page.locator('dt', { hasText: /^Dead$/ }) });
  await sum.filter({ hasText: '3' }).waitFor({ state: 'visible' });
  await page.getByText('The table has 500 queues of 521, and sorts these.').waitFor({ state: 'visible' });
  stage.assertClean();
});

test('while Redis is away nothing is shown as 0, and the page is red', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await trouble(stage.url);
  const page = await stage.visit('/ui');
  await has(page, 'Dead letters', '2');
  const answer = await api(stage.url, 'GET', '/overview');
  const unknown = ['queues', 'locks'].map((of) => ({ of, code: 'redis_unavailable', detail: 'Redis does not answer' }));
  const away = { kind: 'redis_away', severity: 'error', count: null, since_at_ms: null };
  const kinds = [{ ...away, finding_count: 1 }];
  const one = { name: 'redis:6379', value: null, unit: null, message_id: null, until_ms: null };
  const findings = [{ ...away, ...one, detail: 'Redis cannot be used: refused' }];
  const json = { ...answer, queues: null, locks: null, unknown, kinds, findings, finding_count: 1 };
  await page.route(/\/overview\b/, (route) => route.fulfill({ json }));
  await page.locator('.findings li.error', { hasText: 'Redis is away' }).waitFor({ state: 'visible' });
  for (const title of ['Dead letters', 'Messages due', 'Waiting for locks'])
    await has(page, title, /not known.*Redis does not answer/s);
  await page.unroute(/\/overview\b/);
  await page.route(/\/overview\b/, (route) => route.fulfill({ json: { ...answer, complete: false } }));
  await has(page, 'Dead letters', 'at least 2');
  await page.locator('.findings li.unknown', { hasText: 'Not everything could be looked at' }).waitFor({ state: 'visible' });
  stage.assertClean();
});

test('while Redis hangs, its tile does not show that it answers', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  const redis = await redisOf(stage.daemon);
  const page = await stage.visit('/ui');
  await has(page, 'Redis', 'answers');
  process.kill(redis, 'SIGSTOP');
  try {
    await has(page, 'Dead letters', 'not known');
    for (let i = 0; i < 80; i++) {
      assert.doesNotMatch(await tile(page, 'Redis').innerText(), /answers/);
      await page.waitForTimeout(100);
    }
    await page.locator('.findings li.error', { hasText: 'Redis is away' }).waitFor({ state: 'visible' });
  } finally {
    process.kill(redis, 'SIGCONT');
  }
  await has(page, 'Redis', 'answers');
});

test('one sample makes a chart of a minute, with its times', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await until(async () => (await samplesOf(stage.url)).length >= 1);
  const page = await stage.visit('/healthz');
  await page.addInitScript(() => {
    const draw = CanvasRenderingContext2D.prototype.fillText;
    window.labels = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.labels.push(text);
      return draw.call(this, text, ...rest);
    };
  });
  await page.route(/\/info\/history/, async (route) => {
    const answer = await route.fetch();
    const { samples, ...rest } = await answer.json();
    const isFirst = route.request().url().endsWith('=0');
    await route.fulfill({ response: answer, json: { ...rest, samples: isFirst ? samples.slice(-1) : [] } });
  });
  await page.goto(`${stage.url}/ui`);
  await page.locator('.plots canvas').nth(3).waitFor({ state: 'visible' });
  const times = (await page.evaluate(() => window.labels)).filter((text) => /^\d\d:\d\d:\d\d$/.test(text));
  assert.ok(new Set(times).size >= 3, `the times of the axis: ${times}`);
  stage.assertClean();
});

test('a queue, a lock and a policy have a past', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await trouble(stage.url);
  await api(stage.url, 'PUT', '/ratelimit/policies/few', { limit: 1, window_ms: 60_000 });
  const decisions = 'Decisions per second, by this daemon';
  const places = { 'queues/dead': 'Depth', 'locks/busy': 'Holders and waiters', 'limits/few': decisions };
  const page = await stage.visit('/ui');
  for (const [place, title] of Object.entries(places)) {
    await page.evaluate((to) => (location.hash = `#/${to}`), place);
    const figure = page.locator('figure', { hasText: title });
    await figure.locator('canvas').waitFor({ state: 'visible' });
  }
  await page.evaluate(() => (location.hash = '#/queues/dead'));
  await page.locator('figure', { hasText: 'Depth' }).locator('.key.dead', { hasText: 'dead 2' }).waitFor();
  await page.locator('dt', { hasText: 'In / min' }).locator('xpath=..').filter({ hasText: '–' }).waitFor();
  stage.assertClean();
});

test('it fits a phone and a wide screen, light and dark', SLOW, async (t) => {
  const stage = await open();
  t.after(() => stage.close());
  await trouble(stage.url);
  await until(async () => (await samplesOf(stage.url)).length >= 2);
  const page = await stage.visit('/ui');
  for (const [width, colorScheme] of [
    [390, 'dark'],
    [390, 'light'],
    [1400, 'dark'],
    [1400, 'light'],
  ]) {
    await page.setViewportSize({ width, height: 1000 });
    await page.emulateMedia({ colorScheme });
    await page.locator('.plots canvas').nth(3).waitFor({ state: 'visible' });
    const { scrolls, heights, rests } = await page.evaluate(() => {
      const boxes = (all) => [...document.querySelectorAll(all)].map((one) => one.getBoundingClientRect());
      const right = boxes('.plots')[0].right;
      const rest = (cells) =>
        cells.filter(({ top }, at) => cells[at + 1]?.top !== top).map((last) => Math.round(right - last.right));
      return {
        scrolls: document.documentElement.scrollWidth > innerWidth,
        heights: boxes('.plots > *').map(({ height }) => Math.round(height)),
        rests: [...rest(boxes('.attention > *')), ...rest(boxes('.plots > *'))], // what is left of each row
      };
    });
    assert.equal(scrolls, false, `it scrolls sideways at ${width}`);
    assert.deepEqual(new Set(rests), new Set([0]), `rows are not full at ${width}`);
    if (width === 1400) assert.equal(new Set(heights).size, 1, `plots differ in height: ${heights}`);
    if (process.env.SHOTS) {
      await page.screenshot({ path: `${process.env.SHOTS}/${width}-${colorScheme}.png`, fullPage: true });
    }
  }
  stage.assertClean();
});
