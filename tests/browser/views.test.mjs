// GET /ui: opens every view with data, without data, without permission, on a phone and in the dark
// scheme, checks it by axe, and tests what an operator can do there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

import {
  api,
  begin,
  counts,
  faults,
  give,
  go,
  guarded,
  HOSTILE,
  misshapen,
  name,
  row,
  rowHas,
  shows,
  SLOW,
} from './data.mjs';
import { open } from './stage.mjs';

const run = promisify(execFile);
// Each view: the word for one resource, and its name in a route unless it is 'plain'.
const VIEWS = {
  locks: { one: 'lock' },
  semaphores: { one: 'semaphore' },
  fences: { one: 'fence' },
  queues: { one: 'queue' },
  push: {},
  topics: {},
  limits: { one: 'policy', stored: 'replies' },
  sales: { one: 'sale' },
  counters: { one: 'group of counters' },
  visitors: {},
  leaderboards: { one: 'leaderboard' },
  checkins: { one: 'check-in list' },
  bloom: { one: 'Bloom filter' },
  bitmaps: { one: 'bitmap' },
  cache: { one: 'cached value' },
  feeds: { one: 'feed' },
  sets: { one: 'set' },
  geo: { one: 'geo set' },
  keys: { one: 'key', stored: `lock:{plain}` },
};
const dialog = (page) => page.getByRole('dialog');
const confirm = (page, label) => dialog(page).getByRole('button', { name: label, exact: true }).click();
const said = (page, text) => shows(page.getByRole('status').filter({ hasText: text }));
const press = (page, label) => page.getByRole('button', { name: label, exact: true }).click();

/** The routes of all views, and of one resource in each. */
const everywhere = () => [
  [''],
  ...Object.entries(VIEWS).flatMap(([view, { stored = 'plain' }]) => [[view], [view, stored]]),
  ['queues', 'plain', 'dead'],
  ['queues', 'plain', 'workers'],
  ['queues', 'plain', 'messages', 'plain ready'],
  ['queues', 'plain', 'schedules'],
  ['schedules'],
  ['queues', 'plain', 'schedules', 'plain nightly'],
  ['limits', '@', 'gcra', 'plain'],
  ['sets', 'absent'],
];

/** Waits until the view has been drawn. */
const drawn = (page) =>
  page.waitForFunction(() =>
    [...document.querySelectorAll('#view > div:not([hidden])')].some((one) => one.innerText.trim() !== ''),
  );

const SIZES_AND_THEMES = [1280, 390].flatMap((width) => ['light', 'dark'].map((scheme) => [width, scheme]));

for (const [width, colorScheme] of SIZES_AND_THEMES)
  test(`axe finds nothing in any view, ${width} wide, ${colorScheme}`, { timeout: 300_000 }, async (t) => {
    const { stage, page } = await begin(t, '--ui=write');
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    for (const view of everywhere()) {
      await go(page, ...view);
      await drawn(page);
      assert.deepEqual(await faults(page), [], view.join('/'));
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${view.join('/')} is too wide`,
      );
    }
    assert.deepEqual(stage.foreign, []);
    stage.assertClean();
  });

const LONG = 'tenant:4711:orders/eu-central-1/invoices-that-have-a-very-long-name-indeed';

/** Creates content that needs much room: long names, many digits, a zone, reasons, workers. */
async function fillMore(url) {
  await api(url, 'POST', '/counters/wide/increment', { counters: { ['W'.repeat(40)]: 1 } });
  const note = 'a text which is folded in a table since it is longer than eighty letters';
  const messages = Array.from({ length: 60 }, (_, at) => ({ group: `customer-${at % 7}`, body: { order: at, note } }));
  await api(url, 'POST', `/queues/${name(LONG)}/messages`, { messages });
  await api(url, 'POST', '/queues/orders/messages', { messages: messages.map(({ body }) => ({ body })) });
  const worker = 'host-1.eu-central-1.example/4711';
  const { messages: taken } = await api(url, 'POST', '/queues/orders/receive', { limit: 5, worker });
  const reason = 'smtp 550: mailbox unavailable, for a reason that takes a sentence';
  for (const { receipt } of taken.slice(1))
    await api(url, 'POST', `/queues/orders/deliveries/${receipt}/reject`, { dead: true, reason });
  const progress = { percent: 40, note: 'halfway' };
  await api(url, 'POST', `/queues/orders/deliveries/${taken[0].receipt}/extend`, { progress, visibility_ms: 600_000 });
  await api(url, 'PUT', `/queues/${name(LONG)}/schedules/daily`, { every_ms: 86_399_000, body: 1 });
  await api(url, 'PUT', '/queues/orders/schedules/every-minute', { every_ms: 60_000, body: 1 });
  const zone = { cron: '30 2 * * *', time_zone: 'America/Argentina/Buenos_Aires', body: 1 };
  await api(url, 'PUT', '/queues/orders/schedules/nightly', zone);
  await api(url, 'POST', '/fences/shop', { fence: Date.now() * 1000 });
  const counters = { likes: 4503599627370496, 'page:/very/long/path/of/a/page': 7 };
  await api(url, 'POST', '/counters/plain/increment', { counters });
}

for (const [width, colorScheme] of SIZES_AND_THEMES)
  test(`no word is on two lines, no table is cut, ${width} wide, ${colorScheme}`, { timeout: 300_000 }, async (t) => {
    const { stage, page } = await begin(t, '--ui=write');
    await fillMore(stage.url);
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    const views = ['blocked', 'in_flight', 'dead', 'schedules', 'workers'].flatMap((part) => [
      ['queues', 'orders', part],
      ['queues', LONG, part],
    ]);
    const long = [
      ['queues', 'orders', 'schedules', 'nightly'],
      ['keys', 'counter:{wide}'],
    ];
    for (const view of [...everywhere(), ...views, ...long]) {
      await go(page, ...view);
      await drawn(page);
      await page.waitForTimeout(100); // until the tables have their rows
      assert.deepEqual(await misshapen(page), [], view.join('/'));
    }
    await go(page, 'queues', 'orders', 'dead');
    await page.getByLabel('All on this page').check();
    await shows(page.getByText('4 selected'));
    await page.getByLabel('Find a message by its id').fill((await page.locator('td.id').first().innerText()).trim());
    await page.getByLabel('Find a message by its id').press('Enter');
    await shows(page.getByRole('heading', { name: /^Message '/ }));
    assert.deepEqual(await misshapen(page), [], 'found');
    await go(page, 'queues', 'orders', 'dead');
    for (const label of ['Purge orders', 'Redrive orders', 'Edit settings', 'Delete queue orders']) {
      await press(page, label);
      assert.deepEqual(await misshapen(page), [], label);
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(stage.foreign, []);
  });

test('the header of a page that only reads is one line on a phone', SLOW, async (t) => {
  const { page } = await begin(t);
  await page.setViewportSize({ width: 390, height: 800 });
  await shows(page.locator('#mode', { hasText: 'read only' }));
  const tops = await page.evaluate(() =>
    [...document.querySelectorAll('header > :is(.brand, #mode, #find, .theme, #menu)')].map((one) => {
      const { top, height } = one.getBoundingClientRect();
      return top + height / 2;
    }),
  );
  assert.ok(Math.max(...tops) - Math.min(...tops) < 10, `they are at ${tops}`);
});

test('a colour means one thing', SLOW, async (t) => {
  const { page } = await begin(t);
  for (const theme of ['light', 'dark']) {
    await page.getByLabel('Theme').selectOption(theme);
    const hues = await page.evaluate(() =>
      ['ready', 'delayed', 'blocked', 'in_flight', 'dead', 'accent', 'redis'].map((one) => {
        const text = getComputedStyle(document.documentElement).getPropertyValue(`--${one}`).trim();
        const [r, g, b] = text.match(/\w\w/g).map((pair) => parseInt(pair, 16));
        return [one, (Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) * 180) / Math.PI];
      }),
    );
    for (const [one, hue] of hues)
      for (const [other, that] of hues)
        if (one < other) {
          const apart = Math.abs(hue - that);
          assert.ok(Math.min(apart, 360 - apart) > 25, `${one} and ${other} look alike in the ${theme} theme`);
        }
  }
});

/** The contrast of two colours that are written as #rrggbb, by WCAG 2. */
function contrast(...colours) {
  const luminances = colours.map((colour) => {
    const [r, g, b] = colour.match(/\w\w/g).map((pair) => {
      const part = parseInt(pair, 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });
  const [dark, light] = luminances.sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test('dead letters have one colour, and what is not known has its own', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const overview = await api(stage.url, 'GET', '/overview');
  const unknown = [{ of: 'locks', code: 'redis_unavailable', detail: 'Redis does not answer' }];
  await page.route(/\/overview$/, (route) => route.fulfill({ json: { ...overview, locks: null, unknown } }));
  const style = (selector, what) =>
    page
      .locator(selector)
      .first()
      .evaluate((node, property) => getComputedStyle(node)[property], what);
  for (const theme of ['light', 'dark']) {
    await page.getByLabel('Theme').selectOption(theme);
    await go(page, 'queues');
    const dead = await style('.count.dead', 'color');
    const delayed = await style('.count.delayed', 'color');
    await go(page);
    for (const one of ['.attention .value.dead', '.findings .dead_letters .amount'])
      assert.equal(await style(one, 'color'), dead, one);
    assert.equal(await style('.findings .dead_letters', 'borderLeftColor'), dead);
    const own = await style('.attention .value.unknown', 'color');
    assert.equal(await style('.findings .unknown', 'borderLeftColor'), own);
    assert.ok(own !== dead && own !== delayed, `not known is ${own}`);
  }
  stage.assertClean();
});

test('colours can be read', SLOW, async (t) => {
  const { page } = await begin(t);
  for (const theme of ['light', 'dark']) {
    await page.getByLabel('Theme').selectOption(theme);
    const { card, ...others } = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const names = ['ready', 'delayed', 'blocked', 'in_flight', 'dead', 'redis', 'unknown', 'good', 'bad', 'card'];
      return Object.fromEntries(names.map((one) => [one, style.getPropertyValue(`--${one}`).trim()]));
    });
    for (const [one, colour] of Object.entries(others))
      assert.ok(contrast(colour, card) >= 4.5, `${one} in the ${theme} theme`);
  }
});

test('the list of queues has the next instant of their schedules', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'PUT', '/queues/soon/schedules/hourly', { every_ms: 3_600_000, body: 1 });
  await api(stage.url, 'PUT', '/queues/none', {});
  await page.route(/\/queues\?/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const one of json.items) if (one.name === 'plain') one.next_schedule_at_ms = Date.now() - 65_000;
    await route.fulfill({ response, json });
  });
  await go(page, 'queues');
  const next = (queue) => row(page, queue).locator('td[data-title="Next schedule"]');
  await shows(next('soon').filter({ hasText: /^in\s59\smin/ }));
  await shows(next(HOSTILE).filter({ hasText: /^in\s\d+\sd/ }));
  await shows(next('none').filter({ hasText: '–' }));
  await shows(next('plain').locator('.late', { hasText: /^due for 1\smin/ }));
  await press(page, 'Next schedule'); // the soonest first
  const order = await page.locator('td.head').allInnerTexts();
  assert.deepEqual(
    order.slice(0, 2).map((text) => text.trim()),
    ['plain', 'soon'],
  );
  stage.assertClean();
});

test('an empty view shows the command that fills it', { timeout: 300_000 }, async (t) => {
  const stage = await open('--ui=write');
  t.after(() => stage.close());
  const page = await stage.visit('/ui');
  for (const view of Object.keys(VIEWS)) {
    if (['push', 'topics', 'keys'].includes(view)) continue; // a file, a stream, keys of other views
    await go(page, view);
    const samples = page.locator('.nothing:not([hidden]) code:visible');
    await shows(samples.last());
    for (const command of await samples.allInnerTexts()) await run('sh', ['-c', `${command} -sS --fail-with-body`]);
    await shows(page.locator('#view td.head, #view .sale').first());
    if (view === 'limits') await shows(row(page, 'replies'));
  }
  await go(page, 'topics');
  await shows(page.getByText('No client listens to a topic.'));
  stage.assertClean();
});

test('a view without permission shows neither headings nor buttons', { timeout: 300_000 }, async (t) => {
  const stage = await guarded(t, 'info:read');
  const page = await stage.visit('/ui');
  await give(page, 'secret');
  for (const view of Object.keys(VIEWS)) {
    if (view === 'push') continue; // info:read covers it
    await go(page, view);
    await shows(page.getByRole('alert').filter({ hasText: /:(list|\*)|scope/ }));
    await counts(page.locator('#view th:visible, #view button:visible'), 0);
  }
});

test('a name that does not exist has a page without actions', { timeout: 300_000 }, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  for (const [view, { one }] of Object.entries(VIEWS).filter(([, kind]) => kind.one)) {
    await go(page, view, 'absent');
    await shows(page.getByText(`There is no ${one} 'absent'.`));
    const offered = await page.locator('#view button:visible').allInnerTexts();
    assert.deepEqual(
      offered.filter((text) => text !== 'Copy'),
      [],
      view,
    );
  }
  await api(stage.url, 'PUT', '/queues/empty', {});
  await go(page, 'queues', 'empty'); // it has no message, but exists
  await shows(page.getByRole('button', { name: 'Pause empty' }));
  assert.deepEqual(stage.foreign, []);
});

test('a filter without a match is reported as that', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  for (const [view, text] of [
    ['queues', "No queues match 'zzz'."],
    ['sets', "No sets match 'zzz'."],
    ['sales', "No sales match 'zzz'."],
  ]) {
    await go(page, view);
    await page.locator('#view .search input').fill('zzz');
    await shows(page.getByText(text));
  }
  stage.assertClean();
});

test('10000 queues are listed in pages', { timeout: 300_000 }, async (t) => {
  const stage = await open('--ui=write');
  t.after(() => stage.close());
  const names = Array.from({ length: 10_000 }, (_, at) => `q${String(at).padStart(5, '0')}`);
  const work = async () => {
    for (let one = names.pop(); one; one = names.pop()) await api(stage.url, 'PUT', `/queues/${one}`, {});
  };
  await Promise.all(Array.from({ length: 16 }, work));
  await api(stage.url, 'POST', '/queues/q00042/messages', { body: 1 });
  const page = await stage.visit('/ui');
  const began = Date.now();
  await go(page, 'queues');
  const position = page.locator('.pager span').first();
  await shows(position.filter({ hasText: '1 to 50 of' }));
  assert.ok(Date.now() - began < 5000, `the first page took ${Date.now() - began} ms`);
  t.diagnostic(`the first page took ${Date.now() - began} ms`);
  await counts(page.locator('#view tbody tr'), 50);
  const first = await page.locator('td.head').first().innerText();
  for (let turns = 0; turns < 12; turns++) {
    const before = await position.innerText();
    await press(page, 'Next');
    await page.waitForFunction((text) => document.querySelector('.pager span').textContent !== text, before);
  }
  assert.match(await position.innerText(), /^601 to 650 of/);
  await counts(page.locator('#view tbody tr'), 50);
  assert.notEqual(await page.locator('td.head').first().innerText(), first);
  await page.getByLabel('Filter queues by name').fill('q00042');
  await rowHas(page, 'q00042', '1');
  stage.assertClean();
});

test('a table is sorted by a column', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'POST', '/queues/deep/messages', { messages: Array.from({ length: 9 }, () => ({ body: 1 })) });
  await go(page, 'queues');
  await shows(row(page, 'deep'));
  const order = () => page.locator('td.head').allInnerTexts();
  await press(page, 'Ready');
  assert.equal((await order())[0], 'deep');
  assert.equal(
    await page.getByRole('columnheader', { name: 'Ready', exact: true }).getAttribute('aria-sort'),
    'descending',
  );
  await press(page, 'Ready');
  assert.equal((await order()).at(-1), 'deep');
  stage.assertClean();
});

test('figures of a list are those of the API', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const waiter = new AbortController();
  t.after(() => waiter.abort());
  fetch(`${stage.url}/locks/plain`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ttl_ms: 1000, wait_ms: 60_000, owner: 'night shift' }),
    signal: waiter.signal,
  }).catch(() => {});
  await go(page, 'locks');
  await shows(row(page, 'plain').locator('.count', { hasText: '1' })); // a waiter
  await go(page, 'locks', 'plain');
  await rowHas(page, 'night shift', '1', 'exclusive', 'waits');
  for (let takes = 0; takes < 9; takes++)
    await api(stage.url, 'POST', '/ratelimit', { key: 'plain', limit: 10, window_ms: 600_000 });
  await fetch(`${stage.url}/ratelimit`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key: 'plain', limit: 10, window_ms: 600_000 }),
  });
  await go(page, 'limits');
  await rowHas(page, 'plain', '0 of 10', 'refused for');
  await rowHas(page, HOSTILE, '9 of 10', 'allowed');
  await go(page, 'visitors');
  await rowHas(page, 'plain', '3', '17');
  const points = await row(page, 'plain').locator('.spark polyline').getAttribute('points');
  assert.equal(points.split(' ').length, 30);
  await go(page, 'semaphores', HOSTILE);
  await shows(page.locator('dd', { hasText: '1 of 3' }));
  await rowHas(page, HOSTILE, '9 min');
  stage.assertClean();
});

test('a sale that is sold out is not shown as open, and its claims are listed', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'PUT', '/sales/gone', { stock: 2, per_user: 2 });
  const { claim } = await api(stage.url, 'POST', '/sales/gone/claims', { user: 'ann', quantity: 2 });
  await go(page, 'sales', 'gone');
  await shows(page.locator('.badge', { hasText: 'all held' }));
  await api(stage.url, 'POST', `/sales/gone/claims/${claim}/confirm`);
  await shows(page.locator('.badge', { hasText: 'sold out' }));
  await rowHas(page, 'ann', 'confirmed', '2', claim);
  stage.assertClean();
});

test('a message is sent, found, redriven and deleted', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const queue = () => api(stage.url, 'GET', '/queues/plain');
  await go(page, 'queues', 'plain');
  await press(page, 'Send a message to plain');
  await page.getByLabel('Body, as JSON').fill('{oops');
  await confirm(page, 'Send');
  await shows(dialog(page)); // the browser explains what is wrong with the field
  await page.getByLabel('Body, as JSON').fill('{"big":12345678901234567890}');
  await page.getByLabel('Delay', { exact: true }).fill('1 h');
  await confirm(page, 'Send');
  await said(page, 'Sent');
  assert.equal((await queue()).delayed, 2);

  await api(stage.url, 'POST', '/queues/plain/messages', { id: 'exact', body: 1 });
  await fetch(`${stage.url}/queues/plain/messages`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"id":"digits","body":{"big":12345678901234567890}}',
  });
  await page.getByLabel('Find a message by its id').fill('digits');
  await press(page, 'Find');
  await shows(page.locator('pre', { hasText: '"big": 12345678901234567890' }));
  await shows(page.locator('dd', { hasText: /^ready$/ }));
  await go(page, 'queues', 'plain', 'messages', 'nothing');
  await shows(page.getByText("No message has the id 'nothing'."));

  await go(page, 'queues', 'plain', 'dead');
  await page.getByRole('button', { name: /^dead 1/ }).click();
  await shows(row(page, 'plain ready'));
  await counts(page.getByRole('button', { name: /^(Reschedule|Cancel)/ }), 0);
  await page.getByLabel('Select plain ready', { exact: true }).check();
  const [redrive] = await Promise.all([
    page.waitForRequest((one) => one.method() === 'POST'),
    press(page, 'Redrive'),
  ]);
  assert.deepEqual(redrive.postDataJSON(), { ids: ['plain ready'] });
  await said(page, 'Ready again: 1.');
  await page.getByRole('button', { name: /^ready 5/ }).click();
  await page.getByLabel('Select digits', { exact: true }).check();
  await page.getByLabel('Select exact', { exact: true }).check();
  await shows(page.getByText('2 selected'));
  await press(page, 'Delete');
  await confirm(page, 'Keep');
  assert.equal((await queue()).ready, 5);
  await press(page, 'Delete');
  await confirm(page, 'Delete 2 messages');
  await said(page, 'Deleted: 2.');
  assert.equal((await queue()).ready, 3);
  await page.getByLabel('All on this page').check();
  await shows(page.getByText('3 selected'));
  assert.deepEqual(stage.foreign, []); // Chromium itself reports the 404
});

test('groups show why they wait, and are paused and resumed', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const group = page.getByRole('table', { name: 'Groups' }).getByRole('row');
  const has = (name, ...texts) =>
    shows(texts.reduce((one, hasText) => one.filter({ hasText }), group.filter({ hasText: name })));
  await go(page, 'queues', 'plain');
  await shows(page.getByRole('heading', { name: 'Settings' }));
  await counts(page.getByRole('heading', { name: 'Groups' }), 0); // no message has one
  await api(stage.url, 'PUT', '/queues/plain', { order: 'strict' });
  const messages = ['acme', 'acme', 'acme', HOSTILE].map((group) => ({ group, body: 1, priority: 0 }));
  await api(stage.url, 'POST', '/queues/plain/messages', { messages });
  await api(stage.url, 'POST', '/queues/plain/receive', {});
  await has('acme', 'as many as allowed are in flight');
  await has(HOSTILE, '–');
  await shows(page.getByRole('button', { name: /^blocked 2/ }));
  await shows(page.locator('dd', { hasText: 'strict' }));

  await press(page, `Pause ${HOSTILE}`);
  await page.getByLabel('For how long').fill('10 min');
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === 'POST'), confirm(page, 'Pause')]);
  assert.deepEqual(request.postDataJSON(), { for_ms: 600000 });
  await said(page, 'is paused, ends in');
  await has(HOSTILE, 'paused');
  const end = group.filter({ hasText: HOSTILE }).locator('time', { hasText: ', ends in' });
  assert.match(await end.getAttribute('title'), /UTC$/);
  await press(page, `Resume ${HOSTILE}`);
  await said(page, 'continues.');
  await shows(page.getByRole('button', { name: `Pause ${HOSTILE}`, exact: true }));
  stage.assertClean();
});

test('a group is redriven and purged, and its dialogs say how many', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const messages = Array.from({ length: 4 }, () => ({ group: HOSTILE, body: 1 }));
  await api(stage.url, 'POST', '/queues/grouped/messages', { messages });
  await api(stage.url, 'POST', '/queues/grouped/messages', { group: HOSTILE, body: 1, delay_ms: 600_000 });
  await api(stage.url, 'POST', '/queues/grouped/messages', { group: 'other', body: 1 });
  const { messages: taken } = await api(stage.url, 'POST', '/queues/grouped/receive', { limit: 10 });
  for (const { group, receipt } of taken)
    if (group === HOSTILE)
      await api(stage.url, 'POST', `/queues/grouped/deliveries/${receipt}/reject`, { dead: true });
  await api(stage.url, 'POST', '/queues/grouped/messages', { group: HOSTILE, body: 1 });
  const { dead } = await api(stage.url, 'GET', '/queues/grouped');

  await go(page, 'queues', 'grouped');
  await press(page, `Redrive ${HOSTILE}`);
  await shows(dialog(page).getByText(`Dead letters of the group: ${dead}.`));
  const posted = page.waitForRequest((one) => one.method() === 'POST');
  await confirm(page, 'Redrive');
  assert.deepEqual((await posted).postDataJSON(), { group: HOSTILE });
  await said(page, `Ready again: ${dead}.`);

  await shows(page.getByRole('table', { name: 'Groups' }).getByRole('cell', { name: '4', exact: true }));
  await press(page, `Purge ${HOSTILE}`);
  const states = dialog(page).getByLabel('Messages that are');
  assert.equal(await states.inputValue(), '');
  const offered = await states.locator('option').allInnerTexts();
  assert.deepEqual(offered, [
    'choose which',
    'ready (1)',
    'blocked (4)',
    'delayed (1)',
    'in flight (0)',
    'dead (0)',
    'in any state (6)',
  ]);
  await states.selectOption({ label: 'in any state (6)' });
  await confirm(page, 'Purge messages');
  await said(page, 'Removed: 6.');
  const { ready, delayed, in_flight: flight } = await api(stage.url, 'GET', '/queues/grouped');
  assert.deepEqual([ready, delayed, flight], [0, 0, 1]); // the other group's message
  stage.assertClean();
});

test('settings of a queue are edited, and it is deleted', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await api(stage.url, 'PUT', '/queues/plain', { max_receives: 3 });
  await go(page, 'queues', 'plain');
  await press(page, 'Edit settings');
  assert.equal(await page.getByLabel('Dead letters kept for').inputValue(), '14 d');
  await page.getByLabel('Visibility').fill('5');
  await confirm(page, 'Save');
  await shows(dialog(page)); // 5 of what? The browser shows what to write
  await page.getByLabel('Visibility').fill('5 s');
  await page.getByLabel('First backoff').fill('10ms');
  await page.getByLabel('Longest backoff').fill('1 s');
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === 'PATCH'), confirm(page, 'Save')]);
  assert.deepEqual(request.postDataJSON(), { visibility_ms: 5000, backoff: { base_ms: 10, max_ms: 1000 } });
  await shows(page.locator('dd', { hasText: '10 ms to 1 s' }));
  assert.equal((await api(stage.url, 'GET', '/queues/plain')).settings.max_receives, 3);
  await press(page, 'Delete queue plain');
  await confirm(page, 'Delete queue');
  await said(page, "The queue 'plain' is deleted.");
  stage.assertClean();
});

test('a policy is made, edited and deleted', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'limits');
  await press(page, 'New policy');
  await dialog(page).getByLabel('Name').fill('login');
  await dialog(page).getByLabel('Limit').fill('5');
  await confirm(page, 'Create');
  await rowHas(page, 'login', '5 in 1 min', 'gcra');
  await row(page, 'login').getByRole('link').click();
  await press(page, 'Edit login');
  await dialog(page).getByLabel('Algorithm').selectOption('fixed_window');
  await confirm(page, 'Save');
  await shows(page.locator('dd', { hasText: 'fixed window' }));
  const { algorithm, burst, limit } = await api(stage.url, 'GET', '/ratelimit/policies/login');
  assert.deepEqual({ algorithm, burst, limit }, { algorithm: 'fixed_window', burst: null, limit: 5 });
  await press(page, 'Edit login');
  await dialog(page).getByLabel('Keys').selectOption('network addresses');
  await dialog(page).getByLabel('Bits of an IPv6 address').fill('56');
  await confirm(page, 'Save');
  await shows(page.locator('dd', { hasText: 'IPv6 by /56, IPv4 by /32; others are refused' }));
  await api(stage.url, 'PATCH', '/ratelimit/policies/login', { address: { from_right: 2 } });
  await press(page, 'Edit login');
  await dialog(page).getByLabel('What is not an address').selectOption('keep');
  await confirm(page, 'Save');
  await shows(page.locator('dd', { hasText: 'others as they are; in a header, number 2 from the right' }));
  const { address } = await api(stage.url, 'GET', '/ratelimit/policies/login');
  assert.deepEqual(address, { ipv6_prefix: 56, ipv4_prefix: 32, other: 'keep', from_right: 2 });
  await press(page, 'Delete login');
  await confirm(page, 'Delete policy');
  await shows(page.getByText("There is no policy 'login'."));
  assert.deepEqual(stage.foreign, []);
});

test('each kind is deleted after a question', { timeout: 300_000 }, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  for (const [view, { one }] of Object.entries(VIEWS)) {
    if (!one || ['locks', 'queues', 'limits', 'keys'].includes(view)) continue;
    await go(page, view, HOSTILE);
    await press(page, `Delete ${HOSTILE}`);
    await confirm(page, 'Keep');
    await press(page, `Delete ${HOSTILE}`);
    await confirm(page, `Delete ${one}`);
    await shows(page.getByText(`There is no ${one} '${HOSTILE}'.`));
    await go(page, view);
    await shows(page.getByText('plain', { exact: true }).first());
    await counts(page.getByText(HOSTILE, { exact: true }), 0);
  }
  assert.deepEqual(stage.foreign, []);
});

test('a topic is followed live', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'topics', HOSTILE);
  await said(page, 'Listening');
  const body = { text: HOSTILE, big: 1.5, lines: 'a\nb' };
  await api(stage.url, 'POST', `/topics/${name(HOSTILE)}`, { body });
  await shows(page.getByText(JSON.stringify(body)));
  await page.getByLabel('Message, as JSON').fill('"by hand"');
  await press(page, 'Publish');
  await shows(page.getByText('"by hand"', { exact: true }));
  assert.equal(
    await page
      .locator('#view tbody tr')
      .first()
      .innerText()
      .then((text) => text.includes('by hand')),
    true,
  );
  await press(page, 'Stop');
  await said(page, 'Stopped');
  await go(page, 'locks');
  for (let polls = 0; (await api(stage.url, 'GET', `/topics/${name(HOSTILE)}`)).daemons; polls++) {
    assert.ok(polls < 200, 'the page still listens');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  stage.assertClean();
});

test('topics of a prefix are followed live', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'topics', 'news.*');
  await said(page, 'Listening');
  await api(stage.url, 'POST', '/topics/news.sport', { body: 'won' });
  await shows(page.getByText('news.sport', { exact: true }));
  await shows(page.getByText('"won"', { exact: true }));
  await counts(page.getByRole('button', { name: 'Publish' }), 0);
  stage.assertClean();
});

test('a message in flight and a dead one name their worker', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await api(stage.url, 'POST', '/queues/plain/receive', { worker: 'host-1/4711' });
  await go(page, 'queues', 'plain', 'in_flight');
  await shows(page.getByText('host-1/4711', { exact: true }));
  await go(page, 'queues', HOSTILE, 'dead');
  await shows(page.getByText(HOSTILE, { exact: true }).first());
  stage.assertClean();
});

test('a message shows its progress, then its result', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await api(stage.url, 'PATCH', '/queues/replies', { result_ms: 60_000 });
  await api(stage.url, 'POST', '/queues/replies/messages', { id: 'one', body: { n: 1 } });
  const {
    messages: [{ receipt }],
  } = await api(stage.url, 'POST', '/queues/replies/receive', {});
  const progress = { percent: 40, note: HOSTILE };
  await api(stage.url, 'POST', `/queues/replies/deliveries/${receipt}/extend`, { progress });
  await go(page, 'queues', 'replies', 'in_flight');
  await shows(page.getByText(`40 %: ${HOSTILE}`, { exact: true }));
  await shows(page.locator('dd', { hasText: '1 min' }).last());
  await api(stage.url, 'POST', '/queues/replies/settle', { complete: [{ receipt, result: { said: HOSTILE } }] });
  await page.getByLabel('Find a message by its id').fill('one');
  await page.getByLabel('Find a message by its id').press('Enter');
  await shows(page.getByText('done', { exact: true }));
  await shows(page.locator('pre', { hasText: HOSTILE }));
  await counts(page.getByRole('button', { name: 'Delete one' }), 0); // it is not a message any more
  stage.assertClean();
});

test('a topic is followed with a token', SLOW, async (t) => {
  const stage = await guarded(t, 'info:read topics:*');
  const page = await stage.visit('/ui#/topics/news');
  await give(page, 'secret');
  await said(page, 'Listening');
  const answer = await fetch(`${stage.url}/topics/news`, {
    method: 'POST',
    headers: { Authorization: 'Bearer secret', 'Content-Type': 'application/json' },
    body: '{"body":"hello"}',
  });
  assert.ok(answer.ok);
  await shows(page.getByText('"hello"'));
});

test('what is inside of one is removed and set', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  const {
    items: [{ id }],
  } = await api(stage.url, 'GET', '/feeds/plain/items');
  await go(page, 'feeds', 'plain');
  await press(page, `Delete item ${id}`);
  await confirm(page, 'Keep');
  await press(page, `Delete item ${id}`);
  await confirm(page, 'Delete item');
  await said(page, `The item '${id}' is deleted.`);
  await shows(page.getByText('The feed has no item.')); // it exists, and is shown as existing
  await shows(page.locator('dd', { hasText: '0 of at most' }));
  await shows(page.getByRole('button', { name: 'Delete plain', exact: true }));
  await press(page, 'Delete plain');
  await confirm(page, 'Delete feed');
  await shows(page.getByText("There is no feed 'plain'."));

  const stars = 'a*b*c*d'; // more stars than `match` accepts
  await api(stage.url, 'PUT', `/bitmaps/${name(stars)}`, { base64: '' });
  await go(page, 'bitmaps', stars);
  await shows(page.getByRole('button', { name: `Delete ${stars}`, exact: true }));

  await go(page, 'counters', HOSTILE);
  await press(page, `Set counter ${HOSTILE}`);
  assert.equal(await page.getByLabel('Value').inputValue(), '41');
  await page.getByLabel('Value').fill('-7');
  await confirm(page, 'Set');
  await said(page, `The counter '${HOSTILE}' is set.`);
  await rowHas(page, HOSTILE, '-7');
  assert.deepEqual((await api(stage.url, 'GET', `/counters/${name(HOSTILE)}`)).counters, { [HOSTILE]: -7 });
  await api(stage.url, 'PUT', `/counters/${name(HOSTILE)}/fields/other`, { value: 1 });
  await press(page, 'Delete counter other');
  await confirm(page, 'Delete counter');
  await said(page, "The counter 'other' is deleted.");

  await api(stage.url, 'PUT', '/sets/plain/members/more');
  await go(page, 'sets', 'plain');
  await press(page, 'Delete member more');
  await confirm(page, 'Delete member');
  await said(page, "The member 'more' is deleted.");
  assert.equal((await api(stage.url, 'GET', '/sets/plain')).size, 1);
  assert.deepEqual(stage.foreign, []);
});

test('what is inside of one is only read without --ui=write', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  for (const [view, there] of [
    ['feeds', '{"said":"plain"}'],
    ['counters', '41'],
    ['sets', 'plain'],
  ]) {
    await go(page, view, 'plain');
    await shows(row(page, there));
    await counts(page.getByRole('button', { name: /^(Set|Delete) / }), 0);
  }
  stage.assertClean();
});

test('elements of a key are filtered, and ? is literal', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  await api(stage.url, 'POST', '/counters/plain/increment', { counters: { likes: 1, plays: 2, 'a?b': 3 } });
  await go(page, 'keys', 'counter:{plain}');
  await shows(row(page, 'likes'));
  await page.getByLabel('Filter elements').fill('a?');
  await row(page, 'likes').waitFor({ state: 'detached' });
  await shows(row(page, 'a?b'));
  await page.getByLabel('Filter elements').fill('pl?ys');
  await shows(page.getByText('? and [ match themselves; * matches any text.'));
  await page.getByLabel('Filter elements').fill('pl*ys');
  await shows(row(page, 'plays'));
  await go(page, 'sets');
  await page.getByLabel('Filter sets by name').fill('pl?in');
  await shows(page.getByText("No sets match 'pl?in'. ? and [ match themselves; * matches any text."));
  stage.assertClean();
});

test('keys are browsed by prefix and type', SLOW, async (t) => {
  const { stage, page } = await begin(t, '--ui=write');
  await go(page, 'keys');
  await shows(row(page, 'geo:{plain}'));
  await page.getByRole('button', { name: /^set: / }).click();
  await row(page, 'geo:{plain}').waitFor({ state: 'detached' });
  await row(page, 'set:{plain}').getByRole('link').click();
  await rowHas(page, 'plain', '–');
  await press(page, 'Set time to live set:{plain}');
  await page.getByLabel('From now').fill('1 min');
  await confirm(page, 'Set');
  await shows(page.locator('dd', { hasText: '59 s' }));
  await press(page, 'Delete set:{plain}');
  await confirm(page, 'Delete key');
  await shows(page.getByText("There is no key 'set:{plain}'."));
  await go(page, 'keys');
  await shows(row(page, 'geo:{plain}'));
  await page.getByLabel('Type').selectOption('stream');
  await row(page, 'geo:{plain}').waitFor({ state: 'detached' });
  await rowHas(page, 'feed:{plain}', 'stream', 'for ever');
  assert.deepEqual(
    await page
      .locator('#view td.head')
      .allInnerTexts()
      .then((all) => all.filter((key) => !key.startsWith('feed:'))),
    [],
  );
  assert.deepEqual(stage.foreign, []);
});

test('the theme is that of the system until one is chosen', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const becomes = (theme) => page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
  await page.emulateMedia({ colorScheme: 'light' });
  await becomes('light');
  const light = await back();
  await page.emulateMedia({ colorScheme: 'dark' });
  await becomes('dark');
  assert.notEqual(await back(), light);
  await page.getByLabel('Theme').selectOption('light');
  await becomes('light');
  assert.equal(await back(), light);
  await page.reload();
  await becomes('light');
  await page.getByLabel('Theme').selectOption('auto');
  await becomes('dark');
  stage.assertClean();
});

test('times have one form, below their zone', SLOW, async (t) => {
  const { stage, page } = await begin(t);
  const form = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
  await go(page, 'queues', 'plain', 'ready');
  const times = page.getByRole('table', { name: 'Messages' }).locator('td.when time');
  await shows(times.first());
  for (const time of await times.all()) {
    assert.match(await time.innerText(), form);
    assert.match(await time.getAttribute('title'), /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  }
  await shows(page.getByRole('columnheader', { name: /^Sent \(.+\)$/ }));
  stage.assertClean();
});
